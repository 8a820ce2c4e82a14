"""Build the report on a crawl: its journals are loaded into DuckDB and queried with SQL.

The results are shown in a terminal, on a page and as JSON. The tables are in a temporary file, so
memory stays bounded. The queries are in the folder `sql`, each below its name. Lists hold only the
most important rows, so a report stays small. The docs say which figures are estimates.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from crawldedup.advice.evidence import MOST_PAGES, Page, pages_of, saved_by
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import FRAME, Address, Rule, RuleBook
from crawldedup.advice.views import VIEW_PARAMETERS
from crawldedup.errors import CrawlDedupError, MissingDependencyError
from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.index.queries import expected_recall
from crawldedup.journal import Journal
from crawldedup.marks.address import ACTION_PARAMETERS
from crawldedup.report.apart import SAME_TEXT, ignorable_in, in_words, named_in_words
from crawldedup.report.findings import findings_of
from crawldedup.scope import site_of
from crawldedup.search.decision import MAX_SIMILARITY, estimate_deviation
from crawldedup.urls import canonical_url, places_of

Progress = Callable[[str, float], None]
Row = dict[str, Any]
Report = dict[str, Any]  # everything that is shown about a crawl, ready for JSON

# The database schemas of a crawl, and of the earlier crawl that it is compared with.
CURRENT, FORMER = "current", "former"
# What can happen to a page after an earlier crawl.
CHANGES: Final = ("new", "changed", "same", "duplicated", "moved", "skipped", "gone")

# Parts of a report. Each contains the rows of the query with the same name.
_ROWS: Final = (
    "sites",
    "patterns",
    "parameters",
    "stale",
    "below",
    "alike",
    "clusters",
    "reasons",
    "refusals",
    "shells",
    "walls",
    "times",
    "savings",
    "over_budget",
)
# The fields of a mined rule that a report shows.
_ADVISED: Final = ("kind", "site", "what", "support", "copies", "confidence", "examples")
# A cluster is doubtful if it has at least this many copies, half of them with at most this many
# words; or if it has at least a few copies, and they are this share of the checked pages.
_COPIES_OF_DOUBTFUL: Final = 10
_WORDS_OF_DOUBTFUL: Final = 100
_FEW_OF_DOUBTFUL: Final = 5
_SHARE_OF_DOUBTFUL: Final = 0.25
_VIEWS: Final = f"^({VIEW_PARAMETERS}|{ACTION_PARAMETERS})(=|$)"
_MOST_STEPS: Final = 60
# Enough for a million pages. Journals of several processes may contain rings.
_MOST_STEPS_OF_CHAINS: Final = 20
_MAGIC: Final = re.compile(r"[*?\[]")
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def check_installed() -> None:
    """Raise MissingDependencyError unless DuckDB and Jinja, which reports need, are installed."""
    if missing := [package for package in ("duckdb", "jinja2") if find_spec(package) is None]:
        raise MissingDependencyError.of_extra("report", f"a report needs {' and '.join(missing)}")


class Database(AbstractContextManager["Database"]):
    """The journals of a crawl, loaded into tables of DuckDB.

    The view `pages` has one row for each response, with its `number` and its `moment` in seconds.
    The view `places` adds the `site` and `pattern` of each. `tell` is called with progress: the
    current step, and the share of it that is done, if known.
    """

    def __init__(self, tell: Progress = lambda _doing, _share: None) -> None:
        check_installed()
        import duckdb

        self.tell = tell
        self._queries: dict[str, str] = {}
        for name in ("journals.sql", "report.sql", "changes.sql"):
            self._queries |= _queries_in(name)
        self._temporary = TemporaryDirectory(
            prefix="crawldedup-report-", ignore_cleanup_errors=True
        )
        folder = Path(self._temporary.name)
        # The last one is raised for a line longer than DuckDB allows, which no journal contains.
        self._failures = (
            duckdb.OperationalError,
            duckdb.FatalException,
            duckdb.InvalidInputException,
        )
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": "600MB",  # the rest goes into the folder below
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
        }
        with self._errors():
            self._connection = duckdb.connect(folder / "journals.duckdb", config=config)
            self._connection.create_function("site_at", _site_at)
            self._connection.create_function("budget_places_of", _budget_places_of)
            self._connection.create_function("canonical_of", _canonical_of)
            self._connection.execute(self._queries["macros"])

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._temporary.cleanup()

    def load(self, journals: Sequence[Journal], schema: str = CURRENT) -> int:
        """Load journals into the tables of a schema, and return how many lines were unreadable.

        Raises ReportError.
        """
        self.tell("reading journals", 0)
        start = min(journal.started for journal in journals)
        with self._errors():
            self._connection.execute(f"CREATE SCHEMA {schema}")
        self.use(schema)
        paths = [str(journal.path) for journal in journals]
        offsets = [journal.started - start for journal in journals]
        # DuckDB reads each path as a pattern.
        patterns = [_MAGIC.sub(r"[\g<0>]", path) for path in paths]
        self.rows("make_lines", files=patterns, names=paths, offsets=offsets)
        self.rows("make_views")
        return int(self.row("unread_lines")["lines"])

    def use(self, schema: str) -> None:
        """Let all following queries run on the tables of this schema."""
        self._connection.execute(f"USE {schema}")

    def rows(self, name: str, **values: Any) -> list[Row]:
        """Run the query with this name, and return its rows as dicts.

        Raises ReportError if memory or disk space runs out.
        """
        with self._errors():
            result = self._connection.execute(self._queries[name], values)
            names = [column[0] for column in result.description]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def row(self, name: str, **values: Any) -> Row:
        """Run a query that has exactly one row, and return it. Raises ReportError."""
        (row,) = self.rows(name, **values)
        return row

    def write(self, name: str, path: str, layout: str, columns: str, **values: Any) -> None:
        """Run a query, and write columns of its rows to a file in a layout. Raises ReportError."""
        self.tell("writing", 0)
        query = self._queries[name].rstrip(";\n")
        columns = self._queries[columns].rstrip(";\n")
        copy = f"COPY (SELECT {columns} FROM ({query})) TO $path ({layout}, USE_TMP_FILE false)"
        with self._errors():
            self._connection.execute(copy, {"path": path, **values})

    def explain_by(self, rules: Sequence[Rule], pages: Sequence[Page]) -> None:
        """Mark the copies that these rules explain, given the pages of the crawl.

        Raises ReportError.
        """
        book = RuleBook(rules)
        contents = {page.key: page.content for page in pages if page.content}

        def is_explained(url: str, original: str) -> bool:
            """Return whether the rules rewrite a copy's address to its original or another copy.

            A rule for single pages explains all copies at these, as it was mined from nothing else.
            """
            copy = Address.of(url)
            kept = Address.of(original)
            if copy is None or kept is None:
                return False
            target, used = book.rewritten(copy)
            if any(rule.targets for rule in used):
                return True
            original_target, _ = book.rewritten(kept)
            if target.key() == original_target.key():
                return True
            # A print view may be rewritten to a mobile view, which is another copy of the page.
            content = contents.get(kept.key())
            return bool(used) and content is not None and contents.get(target.key()) == content

        with self._errors():
            self._connection.create_function("is_explained", is_explained)
        self.rows("make_explained", has_rules=bool(rules))

    def rules_in_use(self) -> set[str]:
        """Return the names of the rules that have skipped requests of the crawl.

        Raises ReportError.
        """
        return {name for row in self.rows("rules_in_use") for name in row["rule"].split("; ")}

    def evidence(self, most: int = MOST_PAGES) -> tuple[list[Page], list[Rule]]:
        """Return the pages from which rules are mined, in order, and the rules that were withdrawn.

        There are at most `most` pages. Raises ReportError.
        """
        with self._errors():
            verdicts = self._connection.execute(self._queries["evidence"])
            pages = pages_of(iter(verdicts.fetchone, None), most)
        withdrawn = []
        for row in self.rows("withdrawn_rules"):
            with suppress(msgspec.MsgspecError):
                withdrawn.append(msgspec.json.decode(row["withdrawn"], type=Rule))
        return pages, withdrawn

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            reason = str(error).partition("\n")[0]
            folder = Path(self._temporary.name).parent
            raise ReportError(
                f"cannot make the report with temporary files in {folder}: {reason}"
            ) from error


def _queries_in(name: str) -> dict[str, str]:
    text = (files("crawldedup.report") / "sql" / name).read_text("utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _site_at(origin: str) -> str:
    """Return the site of an origin (scheme and host), with a port unless it is the default."""
    scheme, _, authority = origin.partition("://")
    host = (
        authority.rpartition("@")[2]
        .lower()
        .removesuffix({"http": ":80", "https": ":443"}.get(scheme, ""))
    )
    site = site_of(f"//{host}")
    port = host.rpartition(":")[2]
    return f"{site}:{port}" if site and port != host and port.isdecimal() else site or host


def _budget_places_of(url: str) -> list[str]:
    """Return the URL patterns that a request counts for in the budget."""
    return list(places_of(url))


def _canonical_of(url: str) -> str:
    """Return the normal form of a URL."""
    return canonical_url(url)


class ReportError(CrawlDedupError):
    """Raised if a report runs out of memory or disk space, or a file cannot be read or written.

    Free some memory or disk space and try again.
    """

    counter = "report"


def make_report(
    database: Database, journals: Sequence[Journal], against: Sequence[Journal] = ()
) -> Report:
    """Load the journals of a crawl, and make the report on it.

    Optionally, it compares the crawl with an earlier one, whose journals are given in `against`.
    Raises ReportError.
    """
    left_out = (database.load(against, FORMER) if against else 0) + database.load(journals)
    database.tell("counting", 0)
    database.rows("make_clusters")
    crawl = _crawl(database, journals, left_out)
    _join_firsts(database)
    # A scan follows no links, so it has no downloads to save.
    pages, withdrawn = ([], []) if crawl["is_scan"] else database.evidence(most=100_000)
    rules = mine(pages, withdrawn)
    in_use = database.rules_in_use()
    # Many URLs of one page may still be a trap, unless a rule is already in use for them, or they
    # are those of a frameset, which end with the pages that it shows.
    explaining = [
        rule for rule in rules if not rule.targets or rule.find == FRAME or rule.name in in_use
    ]
    database.explain_by(explaining, pages)
    # A crawl with rules still fetches some of the copies, to check the rules.
    advised = [rule for rule in rules if not _parts_of(rule) <= in_use]
    database.rows("make_places")
    doubtful = database.rows(
        "doubtful",
        copies=_COPIES_OF_DOUBTFUL,
        words=_WORDS_OF_DOUBTFUL,
        few=_FEW_OF_DOUBTFUL,
        share=_SHARE_OF_DOUBTFUL,
    )
    apart = [in_words(row) for row in database.rows("apart", same_text=SAME_TEXT)]
    report = {
        "crawldedup_report": 1,
        "crawl": crawl,
        "totals": database.row("totals"),
        "timeline": _timeline(database, crawl["seconds"]),
        "similarity": _similarity(database, crawl["settings"]),
        "variants": database.rows("variants", views=_VIEWS),
        **{name: database.rows(name) for name in _ROWS},
        "doubtful": doubtful,
        "ended": _ended(database),
        "apart": apart,
        "apart_kinds": [
            named_in_words(row) for row in database.rows("apart_kinds", same_text=SAME_TEXT)
        ],
        "ignorable": ignorable_in(apart),
        "index": _index(database, journals),
        "stats": {
            row["name"]: row["text"] or _whole(row["number"]) for row in database.rows("stats")
        },
        "comparison": _comparison(database, journals, against) if against else None,
        "advice": [{name: getattr(rule, name) for name in _ADVISED} for rule in advised],
        "advice_saves": saved_by(advised, pages) if advised else 0,
        "withdrawn": [row["rule"] for row in database.rows("withdrawn")],
        "volatile": [row["line"] for row in database.rows("volatile")],
    }
    return report | {"findings": [finding._asdict() for finding in findings_of(report)]}


def _parts_of(rule: Rule) -> set[str]:
    """Return the names of simpler rules that together have the same effect: one per parameter."""
    if rule.kind != "query" or rule.targets:
        return {rule.name}
    return {replace(rule, find=name).name for name in rule.find.split("&")}


def _ended(database: Database) -> list[Row]:
    """Return the URL patterns that the budget ended, and what was fetched and skipped there."""
    # Few crawls have a budget, and the patterns of all their pages take seconds to make.
    return database.rows("ended") if database.row("count_ended")["patterns"] else []


def _join_firsts(database: Database) -> None:
    """Follow chains of pages that hardly differ from one another to the first page of each."""
    database.rows("make_firsts")
    for _ in range(_MOST_STEPS_OF_CHAINS):
        if database.row("count_links")["links"] == 0:
            break
        database.rows("shorten_links")


def _crawl(database: Database, journals: Sequence[Journal], left_out: int) -> Row:
    """Return facts about the crawl itself, such as when its processes began and ended.

    A process has no `end` while it is running, or if it was killed.
    """
    last = journals[-1]
    ends = database.rows("ends")
    processes = [
        {"host": journal.host, "pid": journal.pid, "started": journal.started, "end": row["end"]}
        for journal, row in zip(journals, ends, strict=True)
    ]
    return {
        "name": last.crawl,
        "spider": last.spider,
        "started": journals[0].started,
        "seconds": max(row["last"] for row in ends),
        "version": last.version,
        "settings": last.settings,
        "processes": processes,
        # A scan has no spider.
        "is_scan": not last.spider,
        "has_ended": all(process["end"] is not None for process in processes),
        "left_out": left_out,
    }


def _timeline(database: Database, seconds: float) -> Row:
    """Divide the crawl into at most 60 steps of a round length, and count pages in each.

    Steps without any page are included.
    """
    step: float = next((step for step in _STEPS if seconds / step < _MOST_STEPS), 0) or seconds / (
        _MOST_STEPS - 1
    )
    last = int(seconds // step)
    return {
        "step": step,
        "moments": database.rows("moments", step=step, last=last, last_step=seconds - last * step),
    }


def _similarity(database: Database, settings: Row) -> Row:
    """Count the near duplicates in each range of estimated similarity, and by other options.

    `limit` is the lowest estimate that this crawl accepted. `what_if` has the numbers for other
    values of `similarity`.
    """
    wanted = settings.get("similarity")
    limit = settings.get("threshold")
    what_if = []
    if wanted is not None and limit is not None:
        for similarity in (0.8, 0.85, 0.9, 0.95):
            tried = limit_at(similarity, wanted=wanted, limit=limit)
            counts = database.row("what_if", limit=tried, is_looser=similarity < wanted)
            what_if.append({"similarity": similarity, "limit": tried, **counts})
    bins = database.rows("bins", limit=limit or 1)
    least = database.rows("least_alike")
    return {"wanted": wanted, "limit": limit, "bins": bins, "what_if": what_if, "least": least}


def limit_at(similarity: float, *, wanted: float, limit: float) -> float:
    """Return the lowest estimate that a crawl would accept with another option `similarity`.

    `limit` is the lowest estimate that it accepts with `wanted` as its similarity.
    """
    # For the same recall, the limit lies the same number of standard deviations below: see
    # `accept_threshold`.
    margin = (wanted - limit) / estimate_deviation(min(wanted, MAX_SIMILARITY), VERIFY_BITS)
    return similarity - margin * estimate_deviation(similarity, VERIFY_BITS)


def _index(database: Database, journals: Sequence[Journal]) -> Row:
    """Return the size of the index, how much work it did, and its expected recall.

    The recall is that for pages exactly as similar as `similarity` asks for.
    """
    index = database.row("index")
    similarity, recall = map(journals[-1].settings.get, ("similarity", "recall"))
    expected = None
    if similarity and recall and index["known_after"] is not None:
        expected = expected_recall(similarity=similarity, recall=recall, pages=index["known_after"])
    return index | {"recall": expected, "work": database.rows("work")}


def _comparison(database: Database, journals: Sequence[Journal], former: Sequence[Journal]) -> Row:
    """Return what has become of the pages of an earlier crawl.

    Texts are compared as well if both crawls shared an index, because digests depend on the index.
    """
    by_text = have_one_index(database, former, journals)
    for schema in (FORMER, CURRENT):
        database.use(schema)
        database.rows("make_visited", by_text=by_text)
    database.rows("make_changes")
    return {
        "name": former[-1].crawl,
        "started": former[0].started,
        "by_text": by_text,
        "total": database.row("all_changes"),
        "sites": database.rows("changes_of_sites"),
        "examples": database.rows("changed_pages"),
    }


def have_one_index(
    database: Database, earlier: Sequence[Journal], later: Sequence[Journal]
) -> bool:
    """Return whether two crawls used the same persistent index, so their digests can be compared.

    An index that was emptied or replaced in between is another one, even at the same place. The
    journals of both crawls have been loaded; afterwards, queries are on those of the later one.
    """
    both = (*earlier, *later)
    stores = {str(each.settings.get("store")) for each in both}
    namespaces = {str(each.settings.get("namespace")) for each in both}
    if len(stores) > 1 or len(namespaces) > 1 or stores.pop().startswith("memory:"):
        return False
    # Journals of earlier versions don't name the index.
    if len({each.index for each in both if each.index is not None}) > 1:
        return False
    database.use(FORMER)
    known_then = database.row("index")["known_after"]
    database.use(CURRENT)
    return not (known_then and database.row("index")["known_before"] == 0)


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number
