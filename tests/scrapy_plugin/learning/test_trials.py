"""When rules of a crawl are sampled, and when they are given up."""

from __future__ import annotations

from crawldedup.advice.kept import KeptRules
from crawldedup.advice.rules import Rule
from crawldedup.scrapy_plugin.learning.trials import FIRST_SAMPLES, SAMPLED, Trials

SITE = "https://e.com"
ONE, OTHER = Rule("query", SITE, "a", support=9), Rule("query", SITE, "b", support=7)


def trials(*rules: Rule) -> Trials:
    made = Trials()
    made.learn(rules)
    return made


def test_the_first_requests_are_samples_and_one_of_many_later() -> None:
    going = trials(ONE)
    for _ in range(4 * SAMPLED):
        going.fetched()
    samples = [going.is_sample([ONE]) for _ in range(10 * SAMPLED)]
    assert samples[:FIRST_SAMPLES] == [True] * FIRST_SAMPLES
    assert not any(samples[FIRST_SAMPLES:SAMPLED])
    # More would be more than the pages allow that were no samples.
    assert sum(samples) == 7
    for _ in range(SAMPLED):
        going.fetched()
    assert going.is_sample([ONE])


def test_one_miss_among_few_samples_ends_a_rule_and_one_among_many_does_not() -> None:
    going = trials(ONE)
    assert going.sampled([ONE], is_copy=False) == [ONE]
    assert going.book.rules == ()
    going = trials(ONE)
    for _ in range(30):
        assert going.sampled([ONE], is_copy=True) == []
    assert going.sampled([ONE], is_copy=False) == []
    assert going.sampled([ONE], is_copy=False) == [ONE]


def test_of_two_rules_the_one_that_is_less_proven_is_to_blame() -> None:
    going = trials(ONE, OTHER)
    going.sampled([OTHER], is_copy=True)
    assert going.sampled([ONE, OTHER], is_copy=False) == [ONE]
    assert going.book.rules == (OTHER,)


def test_a_withdrawn_rule_is_not_learned_again() -> None:
    going = trials(ONE)
    going.withdraw([ONE])
    assert going.learn([Rule("query", SITE, "a", support=99)]) == []
    in_news = Rule("query", SITE, "b", section="/news/")
    going.withdraw([in_news])
    assert going.learn([OTHER]) == []
    assert going.kept() == KeptRules((), (ONE, in_news))
    next_crawl = trials(ONE)
    next_crawl.take(going.kept())
    assert next_crawl.book.rules == ()


def test_last_pages_can_end_a_rule() -> None:
    going = trials(ONE, OTHER)
    told = [Rule("query", SITE, "a", support=10, against=1), Rule("query", SITE, "b", support=0, against=1)]
    assert going.weighed(told) == [ONE]
    assert going.book.rules == (OTHER,)


def test_what_a_rule_covers_is_not_learned() -> None:
    going = trials(ONE)
    narrower = Rule("query", SITE, "a", section="/news/")
    assert going.learn([narrower, OTHER]) == [OTHER]
