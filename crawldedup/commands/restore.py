"""The command `restore`: bring back items that a crawl has set aside."""

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import regex

from crawldedup.aside import Aside, items_in
from crawldedup.commands.command import STANDARD, Output, check_target, target_file
from crawldedup.errors import ConfigurationError
from crawldedup.scope import site_of
from crawldedup.text import pluralize, printable

_PATTERN_SECONDS: Final = 0.05


def restore(given: Namespace, output: Output) -> None:
    """Write the items that are wanted.

    Raises:
        ConfigurationError: A condition or the output is not allowed.
        OSError: A file cannot be read or written.
    """
    wanted = _Wanted(given)
    paths = [Path(name) for name in given.files]
    target = Path(given.output)
    if given.output != STANDARD:
        check_target(target, paths, force=given.force)
    read, restored, unreadable = 0, 0, 0
    with target_file(target, force=given.force) as out:
        for aside in _items_of(paths):
            if aside is None:
                unreadable += 1
                continue
            read += 1
            if wanted.holds_for(aside):
                restored += 1
                out.write(f"{json.dumps(aside.item)}\n".encode("ascii"))
    words = f"{restored:,} of {pluralize(read, 'item')} restored"
    if given.output == STANDARD:
        output.error(words)
    else:
        values = {"output": given.output, "restored": restored, "set_aside": read}
        output.show(values, f"{words} into {printable(given.output)}")
    if unreadable:
        output.unreadable(f"{pluralize(unreadable, 'part')} cannot be read and were left out")


def _items_of(paths: list[Path]) -> Iterator[Aside | None]:
    for path in paths:
        yield from items_in(path)


class _Wanted:
    """The conditions that an item must meet.

    Raises:
        ConfigurationError: One of them is not allowed.
    """

    def __init__(self, given: Namespace) -> None:
        self._evidence = given.evidence
        self._cluster = given.cluster
        self._similarity = given.similarity
        self._site = site_of(f"//{given.site}") if given.site else None
        if given.site and not self._site:
            raise ConfigurationError(f"--site is {given.site!r}; it must be a site")
        if self._similarity and self._similarity[0] > self._similarity[1]:
            raise ConfigurationError("--similarity takes the least one first, and then the most")
        try:
            self._pattern = regex.compile(given.pattern) if given.pattern else None
        except regex.error as error:
            raise ConfigurationError(f"--pattern is {given.pattern!r}: {error}") from None

    def holds_for(self, aside: Aside) -> bool:
        """Return whether an item meets all conditions."""
        if self._evidence is not None and aside.evidence != self._evidence:
            return False
        if self._cluster is not None and aside.cluster != self._cluster:
            return False
        if self._site is not None and site_of(aside.url) != self._site:
            return False
        return self._is_in_range(aside.similarity) and self._is_found(aside.url)

    def _is_in_range(self, similarity: float | None) -> bool:
        if not self._similarity:
            return True
        least, most = self._similarity
        return isinstance(similarity, int | float) and least <= similarity <= most

    def _is_found(self, url: str) -> bool:
        if self._pattern is None:
            return True
        try:
            return self._pattern.search(url, timeout=_PATTERN_SECONDS) is not None
        except TimeoutError:
            return True  # an item too many is better than one that stays lost
