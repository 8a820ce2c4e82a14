"""A web site on the loopback, with real prose: pages are made of sentences of a small vocabulary."""

import gzip
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple, Self

from crawldedup.demo.site import LocalServer

_VOCABULARY = [
    left + middle + right
    for left in ("bar", "cor", "den", "fal", "gor", "kel", "lin", "mor")
    for middle in ("a", "e", "i", "o", "u")
    for right in ("ster", "ning", "ton", "mer", "dle", "ck", "ply", "rn")
]


class Answer(NamedTuple):
    body: bytes
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = {}
    missing_bytes: int = 0  # that are promised, before the connection ends


def article(seed: int, *, changed_words: int = 0, words: int = 300, head: str = "") -> Answer:
    """A page about `seed`. With `changed_words` it is a near duplicate of the page without."""
    chooser = random.Random(seed)
    text = [chooser.choice(_VOCABULARY) for _ in range(words)]
    for position in range(changed_words):
        text[position * 7 % words] = f"changed{position}"
    sentences = [
        " ".join(text[start : start + 15]).capitalize() + "." for start in range(0, words, 15)
    ]
    paragraphs = "".join(
        f"<p>{' '.join(sentences[at : at + 4])}</p>" for at in range(0, len(sentences), 4)
    )
    page = (
        f"<!DOCTYPE html><html><head><title>Article</title>{head}</head><body>"
        f"<nav><a href='/'>Home</a></nav><main><article><h1>Article</h1>{paragraphs}</article></main>"
        "<footer>All rights reserved</footer></body></html>"
    )
    return Answer(page.encode())


def compressed(answer: Answer) -> Answer:
    return answer._replace(body=gzip.compress(answer.body), headers={"Content-Encoding": "gzip"})


class Site:
    """Serves a dict of paths, with or without queries, to answers.

    It counts what is asked for, and does an action before it answers.
    """

    def __init__(self, pages: Mapping[str, Answer]) -> None:
        self.pages = dict(pages)
        self.asked: Counter[str] = Counter()
        self.actions: dict[str, Callable[[], None]] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one packet an answer, or each waits for an acknowledgement

            def do_GET(self) -> None:
                site.asked[self.path] += 1
                length = int(self.headers.get("Content-Length") or 0)
                posted = self.rfile.read(length).decode()
                path = self.path.split("?")[0]
                answer = site.pages.get(self.path + posted) or site.pages.get(
                    path + posted, Answer(b"not found", 404)
                )
                if action := site.actions.get(self.path):
                    action()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body) + answer.missing_bytes))
                self.close_connection = answer.missing_bytes > 0
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_POST = do_HEAD = do_GET  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = LocalServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
