"""The changes that a batch of pages makes to an index, until they are written to the file."""

from collections.abc import Collection, Iterable

from crawldedup.marks.exact_keys import ExactKeys
from crawldedup.stores.contract import Query
from crawldedup.stores.sqlite.candidates import Candidate
from crawldedup.stores.sqlite.crawlers import Crawlers
from crawldedup.stores.sqlite.index import SqliteIndex
from crawldedup.stores.sqlite.pages import PageRow


class Changes:
    """The current state of all pages that a batch affects, and the changes that must be written.

    A search of the file doesn't see changes that haven't been written yet. So this also knows which
    pages no longer have the text that the file was searched for (`is_outdated`), which pages have
    the text of a query of the batch (`page_with_text`), and which pages have other exact keys than
    in the searched file (`is_refiled`, `refiled_under`).
    """

    def __init__(self, index: SqliteIndex, crawlers: Crawlers) -> None:
        self._index = index
        self._crawlers = crawlers
        # The pages by their numbers, and their numbers by their URL keys. A page that was removed
        # keeps its row, but not its URL key.
        self._pages: dict[int, PageRow] = {}
        self._numbers: dict[int, int] = {}
        # Changes that aren't written yet. The keys are numbers of pages, except for `_pending`,
        # which has URL keys.
        self._rows: set[int] = set()
        self._keys: dict[int, tuple[int, ...]] = {}
        self._texts: dict[int, bytes] = {}
        self._removed: dict[int, PageRow] = {}
        self._pending: dict[int, bool] = {}
        # Pages whose stored text is outdated, and which page has the text of which query, by the
        # places of queries and the numbers of pages.
        self._outdated: set[int] = set()
        self._page_of_query: dict[int, int] = {}
        self._query_of_page: dict[int, int] = {}
        # Pages whose exact keys differ from those in the searched file. For each table of exact
        # keys, `_refiled_under` has these pages by their key. `_unfiled` aren't written yet.
        self._refiled: set[int] = set()
        self._refiled_under: list[dict[int, set[int]]] = [{} for _ in ExactKeys._fields]
        self._unfiled: dict[int, ExactKeys] = {}

    def load_urls(self, url_keys: Iterable[int]) -> None:
        """Read the pages with these URL keys, so `page_with_url` knows them."""
        for page in self._index.pages_with(url_keys):
            self._pages[page.number] = page
            self._numbers[page.url_key] = page.number

    def load(self, numbers: Collection[int]) -> None:
        """Read the pages with these numbers at once, except those that are known already."""
        missing = set(numbers).difference(self._pages)
        if missing:
            for page in self._index.pages_of(missing):
                self._pages[page.number] = page

    def page(self, number: int) -> PageRow:
        """Return the current row of a page that was loaded or added.

        Raises:
            KeyError: The page was neither loaded nor added, so the file is damaged.
        """
        return self._pages[number]

    def current(self, page: PageRow) -> PageRow:
        """Return a page that was read from the file, with the changes that aren't written yet."""
        return self._pages.get(page.number, page)

    def marks(self, candidate: Candidate) -> bytes:
        """Return the current marks of a candidate, with the changes of this batch."""
        page = self._pages.get(candidate.number)
        return candidate.marks if page is None else page.marks

    def page_with_url(self, url_key: int) -> PageRow | None:
        """Return the loaded or added page that has a URL key, unless it was removed."""
        number = self._numbers.get(url_key)
        return None if number is None else self._pages[number]

    def page_with_text(self, place: int) -> PageRow | None:
        """Return the page with the text of the query at this place in the batch, or None."""
        number = self._page_of_query.get(place)
        return None if number is None else self._pages[number]

    def is_outdated(self, number: int) -> bool:
        """Return whether a page was removed or got new text since the batch began."""
        return number in self._outdated

    def is_refiled(self, number: int) -> bool:
        """Return whether the exact keys of a page are no longer those in the file.

        This includes pages that were added or removed.
        """
        return number in self._refiled

    def refiled_under(self, table: int, key: int) -> Collection[int]:
        """Return the refiled pages that now have an exact key, by their numbers.

        See `is_refiled`.
        """
        return self._refiled_under[table].get(key, ())

    def text(self, number: int) -> bytes:
        """Return the text of a page, or b"" if none is stored."""
        if number in self._texts:
            return self._texts[number]
        return self._index.text(number)

    def put(self, page: PageRow) -> None:
        """Change the row of a page, but neither its text nor its search keys.

        If its new marks lead to other exact keys, these change as well.
        """
        former = self._pages[page.number]
        if page.marks != former.marks and page.exact_keys != former.exact_keys:
            self._unfile(former)
            self._file(page)
        self._set_row(page)

    def put_text(self, number: int, text: bytes) -> None:
        """Store the text of a page that was remembered without its text."""
        self._texts[number] = text

    def renew(self, page: PageRow, place: int, query: Query) -> None:
        """Replace the text of a page with that of a query. `page` is its new row."""
        number = page.number
        if number not in self._keys:
            self._index.remove_keys([self._pages[number]])
        self._keys[number] = query.keys
        self._texts[number] = query.record.packed_text
        self._set_text_of(number, place)
        self._unfile(self._pages[number])
        self._file(page)
        self._set_row(page)

    def add(self, page: PageRow, place: int, query: Query) -> None:
        """Add the page of a query to the index, with its keys and its text."""
        self._set_row(page)
        self._file(page)
        self._numbers[page.url_key] = page.number
        self._keys[page.number] = query.keys
        if query.record.packed_text:
            self._texts[page.number] = query.record.packed_text
        self._set_text_of(page.number, place)

    def remove(self, page: PageRow) -> None:
        """Remove a page, unless it was removed before."""
        number = page.number
        if number in self._removed:
            return
        page = self.current(page)
        self._removed[number] = page
        self._keys.pop(number, None)
        self._texts.pop(number, None)
        self._rows.discard(number)
        self._forget_text_of(number)
        self._forget_filing(page)
        if self._numbers.get(page.url_key) == number:
            del self._numbers[page.url_key]
        self._index.freed += 1

    def note_pending(self, url_key: int, *, is_pending: bool) -> None:
        """Note whether this crawler still has to deliver a page."""
        self._pending[url_key] = is_pending

    def write(self) -> None:
        """Write all changes to the file, so that searches see them."""
        if self._removed:
            self._index.remove(self._removed.values())
        if self._rows:
            self._index.put_pages([self._pages[number] for number in self._rows])
        if self._keys:
            pages = [self._pages[number] for number in self._keys]
            self._index.add_keys(pages, self._keys.values())
        if self._unfiled:
            self._index.add_exact_keys(self._unfiled)
        self._index.put_texts(self._texts)
        self._crawlers.note_pending(self._pending)
        self._index.write_head()
        self._rows.clear()
        self._keys.clear()
        self._unfiled.clear()
        self._texts.clear()
        self._removed.clear()
        self._pending.clear()

    def _set_row(self, page: PageRow) -> None:
        self._pages[page.number] = page
        self._rows.add(page.number)

    def _file(self, page: PageRow) -> None:
        """Note under which exact keys a page can be found from now on."""
        self._refiled.add(page.number)
        keys = page.exact_keys
        self._unfiled[page.number] = keys
        for pages, key in zip(self._refiled_under, keys, strict=True):
            if key is not None:
                pages.setdefault(key, set()).add(page.number)

    def _unfile(self, page: PageRow) -> None:
        """Remove a page from the places where it is filed by exact keys."""
        if page.number not in self._unfiled:
            self._index.remove_exact_keys([page])
        self._forget_filing(page)

    def _forget_filing(self, page: PageRow) -> None:
        """Note that a page can no longer be found under its exact keys."""
        self._refiled.add(page.number)
        self._unfiled.pop(page.number, None)
        for pages, key in zip(self._refiled_under, page.exact_keys, strict=True):
            if key is not None and key in pages:
                pages[key].discard(page.number)

    def _set_text_of(self, number: int, place: int) -> None:
        self._forget_text_of(number)
        self._page_of_query[place] = number
        self._query_of_page[number] = place

    def _forget_text_of(self, number: int) -> None:
        """Note that a page no longer has its text, which the file or an earlier query has."""
        self._outdated.add(number)
        place = self._query_of_page.pop(number, None)
        if place is not None:
            del self._page_of_query[place]
