"""What a rule does with a URL, and that a rule from elsewhere is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer

from crawldedup.advice.address import Address
from crawldedup.advice.export import deny_patterns, discarder_rules
from crawldedup.advice.kept import KeptRules
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import Rule, RuleBook
from tests.advice.known_site import WWW, evidence_of, known_site, verdicts

E = "https://e.com"
TOKEN = "0a1b2c3d4e5f"

CASES = [
    (Rule("query", E, "sid"), "/a?b=1&sid=2#top", "/a?b=1"),
    (Rule("query", E, "sid"), "/a?sid=2", "/a"),
    (Rule("query", E, "sid"), "/a?side=2", None),
    (Rule("query", E, "a&b"), "/x?b=1&c=2&a=3", "/x?c=2"),
    (Rule("query", E, "a&b"), "/x?a=1", None),
    (Rule("query", E, "view=print"), "/x?view=print", "/x"),
    (Rule("query", E, "view=print"), "/x?view=prints", None),
    (Rule("query", E, "sid", section="/forum/"), "/forums?sid=1", None),
    (Rule("prefix", E, "/print/", "/news/"), "/print/1.html?b=1", "/news/1.html?b=1"),
    (Rule("prefix", E, "/print/", "/"), "/print/", None),
    (Rule("prefix", E, "/print/", "/"), "/print/a/print/b", "/a/print/b"),
    (Rule("suffix", E, "/index.html", "/"), "/a/index.html", "/a/"),
    (Rule("suffix", E, "/index.html", "/"), "/a/windex.html", None),
    (Rule("session", E, ";jsessionid"), f"/a;JSESSIONID={TOKEN}?x=1", "/a?x=1"),
    (Rule("session", E, "/s/", "/"), f"/s/{TOKEN}/page", "/page"),
    (Rule("session", E, "/s/", "/"), "/s/products/page", None),
    (Rule("session", E, "/s/", "/"), f"/s/{TOKEN}/", None),
    (Rule("host", E, E, "https://www.e.com"), "/a?b=1", None),
]


@pytest.mark.parametrize(("rule", "path", "expected"), CASES)
def test_a_rule_rewrites_what_it_is_for(rule: Rule, path: str, expected: str | None) -> None:
    wanted = f"https://www.e.com{path}" if rule.kind == "host" else E + (expected or path)
    assert rule.rewrite(E + path) == wanted
    assert rule.applies(E + path) == (wanted != E + path)
    assert rule.rewrite(f"https://other.com{path}") == f"https://other.com{path}"


def test_rules_work_together() -> None:
    address = Address.of("http://m.e.com/print/1?sid=1&utm=2")
    assert address is not None
    rules = [
        Rule("host", "http://m.e.com", "http://m.e.com", E),
        Rule("prefix", E, "/print/", "/news/"),
        Rule("query", E, "utm"),
        Rule("query", "http://m.e.com", "sid"),
    ]
    target, used = RuleBook(rules).rewritten(address)
    assert target.url() == f"{E}/news/1"
    assert {*used} == {*rules}


def test_rules_that_undo_each_other_end() -> None:
    address = Address.of(f"{E}/a/1")
    assert address is not None
    RuleBook([Rule("prefix", E, "/a/", "/b/"), Rule("prefix", E, "/b/", "/a/")]).rewritten(address)


def test_rules_are_kept_as_they_are() -> None:
    rules = tuple(rule for rule, _, _ in CASES)
    kept = KeptRules(rules[:4], rules[4:])
    assert KeptRules.from_text(kept.to_text()) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"rules": {}}',
        '{"rules": [1, null, {}, {"kind": "query"}]}',
        json.dumps({"rules": [{"kind": "prefix", "site": E, "find": "", "replace": "/"}]}),
        json.dumps({"rules": [{"kind": "prefix", "site": E, "find": "/a/", "replace": "x"}]}),
        json.dumps({"rules": [{"kind": "host", "site": E, "find": E, "replace": "javascript:x"}]}),
        json.dumps({"rules": [{"kind": "query", "site": E, "find": "a", "support": "9"}]}),
        json.dumps({"rules": [{"kind": "query", "site": "x" * 10_000, "find": "a"}]}),
    ],
)
def test_what_is_no_rule_is_left_out(text: str) -> None:
    assert KeptRules.from_text(text) == KeptRules()


def test_what_one_crawler_withdraws_is_withdrawn() -> None:
    one, other = Rule("query", E, "a"), Rule("query", E, "b")
    ours, theirs = KeptRules((one,), ()), KeptRules((other,), (one,))
    assert ours.merged(theirs) == theirs.merged(ours) == KeptRules((other,), (one,))


def test_duplicate_url_discarder_does_what_the_rules_say(tmp_path: Path) -> None:
    pages = known_site()
    for number in range(12):
        pages += [page._replace(url=f"{WWW}/m/{number}", content=f"/guides/{number}") for page in pages[:1]]
    rules = mine(evidence_of(verdicts(pages)).pages)
    made = discarder_rules(rules)
    (tmp_path / "rules.json").write_text(json.dumps(made))
    process = UrlCanonicalizer([tmp_path / "rules.json"]).process_url
    removing = [rule for rule in rules if rule.kind == "query"]
    assert len(made) == len(removing) == 4
    for page in pages:
        address = Address.of(page.url)
        assert address is not None
        assert process(page.url) == RuleBook(removing).rewritten(address)[0].url()


def test_duplicate_url_discarder_removes_folders(tmp_path: Path) -> None:
    rules = [Rule("prefix", E, "/docs/print/", "/docs/"), Rule("prefix", E, "/print/", "/news/")]
    made = discarder_rules(rules)
    assert len(made) == 1
    (tmp_path / "rules.json").write_text(json.dumps(made))
    process = UrlCanonicalizer([tmp_path / "rules.json"]).process_url
    for path in ("/docs/print/a/print/b?c=1", "/docs/print/", "/docs/a", "/print/a"):
        assert process(E + path) == rules[0].rewrite(E + path)


def test_links_are_denied_that_a_rule_is_for() -> None:
    from scrapy.http import HtmlResponse
    from scrapy.linkextractors import LinkExtractor

    for rule, path, expected in CASES:
        seen = Rule(rule.kind, rule.site, rule.find, rule.replace, rule.section, 5, 0, 1.0, 1.0)
        body = f'<a href="{E}{path}">x</a>'.encode()
        links = LinkExtractor(deny=deny_patterns([seen])).extract_links(HtmlResponse(f"{E}/here", body=body))
        is_rewritten = expected is not None or rule.kind == "host"
        assert len(links) == (not is_rewritten), (rule, path)


def test_links_without_another_form_are_followed() -> None:
    assert deny_patterns([Rule("query", E, "sid", support=9, targets=1.0, linked=0.5)]) == []
