"""Find the name of a page as people see it.

Marks only have it in lower case and without punctuation.
"""

from collections.abc import Iterator
from typing import Final

from crawldedup.marks.values import ShownMarks
from crawldedup.reading import mark_words
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.mark_words import name_of, words_of
from crawldedup.reading.marks import LONGEST_HEADING, LONGEST_TITLE, headings_of

_BEGINNING: Final = 2_000


def shown_name(page: HtmlPage, marks: ShownMarks | None) -> str | None:
    """Return the name of a page, up to 500 characters, or None if it has no name.

    Args:
        page: The page.
        marks: The marks of the page. Without a name in them, the title of the page is its name.
    """
    wanted = marks.name if marks is not None else ""
    if wanted:
        for name in _names(page):
            if words_of(name) == wanted:
                return name.strip()
    return page.name[:LONGEST_TITLE] or None


def lacks_heading(text: str, name: str, page: HtmlPage) -> bool:
    """Return whether the main text of a page lacks the heading that is its name.

    If the text contains another first-level heading, that one is the heading of the text, and the
    name is the name of the site.

    Args:
        text: The main text.
        name: The name of the page.
        page: The page.
    """
    if name in text:
        return False
    wanted = words_of(name)
    if wanted in words_of(text[:_BEGINNING]):  # with other spaces or punctuation
        return False
    headings = list(headings_of(page.blocks))
    if any(heading.is_first and heading.text in text for heading in headings):
        return False
    return any(words_of(name_of(heading.text[:LONGEST_HEADING])) == wanted for heading in headings)


def _names(page: HtmlPage) -> Iterator[str]:
    """Yield the texts of a page that may be its name, before they are split into words."""
    for heading in headings_of(page.blocks):
        yield name_of(heading.text[:LONGEST_HEADING])
    yield name_of(page.name[:LONGEST_HEADING])
    title = mark_words.VERSION.sub("", name_of(page.title[:LONGEST_TITLE]))
    yield from mark_words.SEPARATOR.split(title)
