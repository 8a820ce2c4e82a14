"""Sentences that promise something to people who are attacked, each with the tests that check it."""

import ast
from functools import cache

import pytest

from tests.docs.pages import ROOT, SITE

PROMISES = {
    "explanation/what-is-compared.md": {
        "So is a kind of line that occurs twice on a page": (
            "hosts/test_lines.py::test_lines_of_a_kind_that_a_page_has_twice_are_compared",
            "hosts/test_lines.py::test_a_table_of_lines_that_change_elsewhere_is_compared",
        ),
        "What one folder shows has no effect on others": (
            "attacks/test_shared_hosts.py::test_what_is_taught_in_one_holds_in_no_other",
        ),
        "no user may decide about the pages of another": (
            "attacks/test_shared_hosts.py::test_no_name_is_taken_for_that_of_another",
            "attacks/test_shared_hosts.py::test_pages_of_users_side_by_side_teach_nothing",
        ),
    },
    "explanation/security.md": {
        "All that is compared is hashed with it: words, texts, URLs, marks, sites, and lines with "
        "their numbers": (
            "attacks/test_forged_pages.py::test_every_hash_of_a_page_is_another_with_another_key",
            "hosts/test_lines.py::test_hashes_of_lines_depend_on_the_key_and_are_never_mmh3",
            "test_architecture.py::test_no_hash_that_anybody_can_aim_decides",
        ),
        "Of 60 pages behind one copy, none is lost": (
            "advice/test_rules.py::test_a_copy_of_a_users_own_costs_nobody_a_page",
        ),
        "keeps the worst pages of each kind below 500 MB": (
            "attacks/test_costly_pages.py::test_a_costly_page_is_held",
        ),
        "What a crawl notes of pages is bounded in bytes": (
            "hosts/test_lines.py::test_loads_are_bounded_in_bytes",
            "test_recent.py::test_values_are_bounded_in_number_and_in_bytes",
        ),
    },
    "explanation/limits.md": {
        "Smaller ones take up to a few seconds and 500 MB": (
            "attacks/test_costly_pages.py::test_a_costly_page_is_held",
        ),
    },
    "explanation/promises.md": {
        "a damaged row of a SQLite file": (
            "attacks/test_damaged_indexes.py::test_a_damaged_column_is_held",
        ),
        "something other than Redis answers | an error (`store`)": (
            "stores/redis/test_store.py::test_what_is_no_answer_is_an_error_of_the_store",
            "stores/redis/test_store.py::test_an_answer_that_no_redis_gives_is_an_error_of_the_store",
        ),
    },
    "reference/settings.md": {
        "No message shows a password, not even that of a wrong URL": (
            "stores/test_registry.py::test_passwords_are_not_shown",
            "stores/test_registry.py::test_no_wrong_url_shows_its_password",
        ),
    },
    "reference/commands.md": {
        "A password stands in no command line and in no environment then": (
            "commands/test_cli.py::test_a_file_names_the_store",
            "service/test_processes.py::test_no_other_process_gets_a_secret",
        ),
    },
    "how-to/save-downloads.md": {
        "One in twenty skipped requests is fetched as a check, of each target and of each folder": (
            "advice/test_rules.py::test_checks_are_made_of_each_target_whatever_others_there_are",
            "scrapy_plugin/test_rules.py"
            "::test_once_a_copy_is_confirmed_all_but_one_in_twenty_are_skipped",
        ),
    },
    "how-to/walls.md": {
        "A site is not closed while one of these pages still shows another text": (
            "scrapy_plugin/test_walls.py"
            "::test_copies_of_one_page_do_not_close_a_site_that_has_others",
        ),
    },
    "how-to/scan-a-collection.md": {
        "In CSV, what a spreadsheet would run begins with an apostrophe": (
            "commands/test_cli.py::test_a_cell_of_csv_is_no_formula_and_no_escape",
        ),
    },
}


@cache
def functions_of(name: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / name).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PROMISES)
def test_what_is_promised_is_tested(page: str) -> None:
    """Whoever changes such a sentence, or a test that it rests on, changes both."""
    text = " ".join((SITE / page).read_text("utf-8").split())
    for sentence, checks in PROMISES[page].items():
        assert sentence in text
        for check in checks:
            file, _, name = check.partition("::")
            assert name in functions_of(file), check
