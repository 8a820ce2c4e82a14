"""Check the links inside a built site: `python docs/_ext/internal_links.py docs/_build`.

Sphinx warns of references that it resolves itself. It does not look at plain links, images, and fragments of pages.
Needs the standard library alone, and no network: links to other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "object": "data"}
# Places that every page has.
_OWN_FRAGMENTS = frozenset({"", "top"})


class Link(NamedTuple):
    """A link as it is written on a page."""

    line: int
    target: str


class Page(HTMLParser):
    """The links of a page, and the names of its places."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.places: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the link and the name of an element."""
        values = dict(attrs)
        for name in ("id", "name") if tag == "a" else ("id",):
            if place := values.get(name):
                self.places.add(place)
        if target := values.get(_LINKS.get(tag, "")):
            self.links.append(Link(self.getpos()[0], target))


def broken_links(site: Path) -> list[str]:
    """Return the links of a site that lead nowhere inside it, a line each."""
    root = site.resolve()
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(root.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link.target)
            if parts.scheme or parts.netloc:
                continue
            fault = _fault(root, path, unquote(parts.path), unquote(parts.fragment), pages)
            if fault:
                broken.append(f"{path.relative_to(root)}:{link.line}: {link.target}: {fault}")
    return broken


def _fault(root: Path, page: Path, target: str, fragment: str, pages: dict[Path, Page]) -> str | None:
    """Return why a link leads nowhere, or None."""
    # What begins with / is looked for where the site is put.
    found = page if not target else (root / target.lstrip("/") if target.startswith("/") else page.parent / target)
    found = found.resolve()
    if found.is_dir():
        found /= "index.html"
    if not found.is_relative_to(root):
        return "it leaves the site"
    if not found.is_file():
        return "there is no such file"
    if found in pages and fragment not in _OWN_FRAGMENTS and fragment not in pages[found].places:
        return "the page has no such place"
    return None


def main(site: str) -> int:
    """Print the broken links of a site, and return the exit status."""
    broken = broken_links(Path(site))
    print("\n".join(broken), end="\n" if broken else "")
    if not any(Path(site).rglob("*.html")):
        print(f"there are no pages in {site}")
        return 1
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
