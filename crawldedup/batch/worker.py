"""A worker process of a scan: it takes pages over a socket, and answers with columns, never with pickles."""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.connection import Connection

from crawldedup.batch.reading import BatchReader
from crawldedup.workers.memory import bound_memory
from crawldedup.workers.starting import inherited_socket

READY = b"ready"


def main() -> None:
    """Answer until the parent ends, or until this process is too large. Each answer begins with whether it is."""
    connection = Connection(inherited_socket().detach())
    # The parent is trusted, so that its messages may be pickles.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        reader = BatchReader(**connection.recv())
        is_large = bound_memory()
        connection.send_bytes(READY)
        ends = False
        while not ends:
            read = reader.read(connection.recv()).packed()
            ends = is_large()
            connection.send_bytes(bytes([ends]) + read)
