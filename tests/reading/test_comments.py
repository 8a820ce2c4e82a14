"""Comments, replies and reviews: content where they are most of a page, and beside it elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from crawldedup import Deduplicator, Page, compare
from crawldedup.reading.comments import PageComments, comments_beside
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.reading.html import HtmlPage
from crawldedup.verdict import Kind
from tests.reading.prose import main_text_of

WORDS = ["harbor", "ferry", "lantern", "copper", "bridge", "market", "winter", "river", "signal"]
WORDS += ["engine", "garden", "kitchen", "tower", "baker", "sailor", "letter", "window", "carries"]
WORDS += ["follows", "repairs", "counts", "sells", "quiet", "narrow", "broken", "yellow", "across"]
TITLE = "A lantern beside the harbor"

Discussion = Callable[[str, Sequence[str]], str]
"""Makes a page of a post and of what others wrote below it."""


def prose(seed: object, words: int) -> str:
    random = Random(str(seed))
    sentences = []
    while words > 0:
        sentence = [random.choice(WORDS) for _ in range(min(words, 9))]
        words -= len(sentence)
        sentences.append(f"{' '.join(sentence).capitalize()}.")
    return " ".join(sentences)


def remarks(seed: str, count: int, words: int = 30) -> list[str]:
    return [prose(f"{seed} {number}", words) for number in range(count)]


def document(body: str) -> str:
    return (
        f"<html><head><title>{TITLE}</title></head><body><nav><a href=/>Home</a></nav>{body}"
        "<footer>All rights reserved by the people of the harbor.</footer></body></html>"
    )


def wordpress(post: str, written: Sequence[str], when: str = "3 hours ago") -> str:
    comments = "".join(
        f'<li id="comment-{number}" class="comment even depth-1"><article class="comment-body">'
        f'<footer class="comment-meta"><b class="fn">Ann</b> says: <a href="#">{when}</a></footer>'
        f'<div class="comment-content"><p>{text}</p></div></article></li>'
        for number, text in enumerate(written)
    )
    return document(
        f'<main><article class="post"><h1>{TITLE}</h1><div class="entry-content"><p>{post}</p></div>'
        f'</article><div id="comments" class="comments-area"><h2>{len(written)} comments</h2>'
        f'<ol class="commentlist">{comments}</ol><form><p>Your address will not be shown to anybody '
        "who reads this page.</p><textarea></textarea></form></div></main>"
    )


def news_list(post: str, written: Sequence[str]) -> str:
    comments = "".join(
        f'<tr class="athing comtr" id="{number}"><td class="default"><span class="comhead">'
        f'<a href="user?id=ann">ann</a> <span class="age">2 hours ago</span></span>'
        f'<div class="comment"><div class="commtext c00">{text}</div></div></td></tr>'
        for number, text in enumerate(written)
    )
    return document(
        f'<table class="fatitem"><tr><td class="title"><a href="https://x.example/">{TITLE}</a></td>'
        f'</tr><tr><td><div class="toptext">{post}</div></td></tr></table>'
        f'<table class="comment-tree">{comments}</table>'
    )


def tree(post: str, written: Sequence[str]) -> str:
    comments = "".join(
        f'<div class="thing id-t1_{number}x comment"><form class="usertext"><div class="md"><p>{text}'
        "</p></div></form></div>"
        for number, text in enumerate(written)
    )
    return document(
        f'<div class="thing self"><p class="title">{TITLE}</p><div class="md"><p>{post}</p></div>'
        f'</div><div class="commentarea">{comments}</div>'
    )


def board(post: str, written: Sequence[str]) -> str:
    posts = "".join(
        f'<div id="p{number}" class="post"><dl class="postprofile"><dt>ann</dt><dd>Posts: 3</dd></dl>'
        f'<h3><a href="#p{number}">Re: {TITLE}</a></h3><div class="content">{text}</div></div>'
        for number, text in enumerate([post, *written], 10)
    )
    return document(f"<h2>{TITLE}</h2>{posts}")


def answers(post: str, written: Sequence[str]) -> str:
    posts = "".join(
        f'<div id="answer-{number}" class="answer"><div class="s-prose"><p>{text}</p></div></div>'
        for number, text in enumerate(written)
    )
    return document(
        f'<h1>{TITLE}</h1><div id="question"><div class="s-prose"><p>{post}</p></div></div>{posts}'
    )


def microdata(post: str, written: Sequence[str]) -> str:
    posts = "".join(
        f'<div id="post_{number}" itemprop="comment" class="topic-body crawler-post"><div class="post"'
        f' itemprop="text"><p>{text}</p></div></div>'
        for number, text in enumerate(written, 2)
    )
    return document(
        f'<h1>{TITLE}</h1><div id="post_1" class="topic-body crawler-post"><div class="post" '
        f'itemprop="text"><p>{post}</p></div></div>{posts}'
    )


def reviews(post: str, written: Sequence[str]) -> str:
    comments = "".join(
        f'<li class="review" id="li-comment-{number}"><div class="comment-text"><p>{text}</p></div>'
        "</li>"
        for number, text in enumerate(written)
    )
    return document(
        f'<h1>{TITLE}</h1><p class="price">$24.00</p><div id="tab-description"><p>{post}</p></div>'
        f'<div id="reviews"><div id="comments"><ol class="commentlist">{comments}</ol></div></div>'
    )


def review_items(post: str, written: Sequence[str]) -> str:
    items = "".join(
        f'<li class="item review-item" itemprop="review"><div class="review-content">{text}</div></li>'
        for text in written
    )
    return document(
        f'<main><h1>{TITLE}</h1><div class="product description"><p>{post}</p></div>'
        f'<div id="customer-reviews" class="block review-list"><ol>{items}</ol></div></main>'
    )


DISCUSSIONS = [review_items, wordpress, news_list, tree, board, answers, microdata, reviews]
WITH_APPENDIX = [wordpress, news_list, tree, reviews]


def is_dropped(first: str, second: str, *urls: str) -> bool:
    pages = [Page(url, html=html) for url, html in zip(urls, (first, second), strict=True)]
    return compare(*pages).drops > 0


@pytest.mark.parametrize("discussion", DISCUSSIONS)
@pytest.mark.parametrize(("post", "count"), [(12, 12), (60, 8), (150, 15)])
def test_discussions_of_one_post_are_told_apart(
    discussion: Discussion, post: int, count: int
) -> None:
    first = discussion(prose("post", post), remarks("a", count))
    second = discussion(prose("post", post), remarks("b", count))
    # Even where nothing but the text can tell them apart.
    assert not is_dropped(first, second, "https://a.example/1", "https://b.example/2")


@pytest.mark.parametrize("discussion", DISCUSSIONS)
@pytest.mark.parametrize("url", ["?page=", "/page/", "/comment-page-"])
def test_pages_of_a_long_discussion_are_told_apart(discussion: Discussion, url: str) -> None:
    """They are, even if what was written on each of them is less than the post."""
    post = prose("post", 600)
    first, second = (discussion(post, remarks(name, 6)) for name in "ab")
    urls = [f"https://a.example/story{url}{number}" for number in (2, 3)]
    assert not is_dropped(first, second, *urls)


@pytest.mark.parametrize("discussion", WITH_APPENDIX)
@pytest.mark.parametrize("url", ["?page=", "/page/", "/comment-page-"])
def test_the_last_page_of_a_long_discussion_may_have_few_comments(
    discussion: Discussion, url: str
) -> None:
    post = prose("post", 600)
    last = discussion(post, ["This is the one remark that was written on the last page."])
    full = discussion(post, remarks("b", 12))
    urls = "https://a.example/story", f"https://a.example/story{url}3"
    assert not is_dropped(last, full, *urls)
    assert not is_dropped(full, last, *urls)
    # A view without comments is still a copy.
    assert is_dropped(discussion(post, []), full, *urls)


@pytest.mark.parametrize("discussion", WITH_APPENDIX)
def test_articles_with_more_or_fewer_comments_are_copies(discussion: Discussion) -> None:
    post, written = prose("post", 500), remarks("a", 5)
    few, many = discussion(post, written[:3]), discussion(post, written)
    for other in ("https://b.example/2", "https://a.example/2", "https://a.example/1?print=1"):
        assert is_dropped(few, many, "https://a.example/1", other)
        assert is_dropped(many, few, "https://a.example/1", other)
        assert is_dropped(discussion(post, []), many, "https://a.example/1", other)


@pytest.mark.parametrize("discussion", DISCUSSIONS)
@pytest.mark.parametrize("words", [12, 500])
def test_a_new_comment_makes_a_known_page_a_changed_one(discussion: Discussion, words: int) -> None:
    post, written = prose("post", words), remarks("a", 4)
    dedup = Deduplicator(key=0)
    url = "https://a.example/story"
    visits = [[], written, written, [*written, "I would not buy this one again, thanks."]]
    seen = [dedup.check(url, html=discussion(post, comments)) for comments in visits]
    assert [verdict.changed for verdict in seen] == [False, True, False, True]
    assert seen[2].kind is Kind.REVISIT


@pytest.mark.parametrize("discussion", DISCUSSIONS)
def test_a_growing_post_brings_no_new_comments(discussion: Discussion) -> None:
    """They are part of the text as long as they are most of the page, which ends at some length."""
    url = "https://a.example/story"
    written = remarks("a", 6)
    seen = set[tuple[str, ...]]()
    for words in range(40, 240, 20):
        dedup = Deduplicator(key=0)
        dedup.check(url, html=discussion(prose("post", words), written))
        grown = discussion(prose("post", words + 60), written)
        seen.add(dedup.check(url, html=grown).changed_by)
    assert seen == {("text",)}


def test_dates_and_the_order_of_comments_are_no_news() -> None:
    post, written = prose("post", 500), remarks("a", 4)
    dedup = Deduplicator(key=0)
    url = "https://a.example/story"
    dedup.check(url, html=wordpress(post, written))
    for when in ("4 hours ago", "a day ago", "March 3, 2026 at 5:10 pm"):
        assert not dedup.check(url, html=wordpress(post, written[::-1], when)).changed


def test_who_ignores_comments_learns_of_none() -> None:
    post, written = prose("post", 500), remarks("a", 4)
    dedup = Deduplicator(key=0, ignore_marks={"a.example": ["comments"]})
    url = "https://a.example/story"
    dedup.check(url, html=wordpress(post, written[:3]))
    assert not dedup.check(url, html=wordpress(post, written)).changed


def comments_of(html: str) -> PageComments:
    page = extract_page(html, None, get_extractor("blocks"), min_words=20)
    return page.comments


def test_forms_dates_and_links_are_no_comments() -> None:
    written = [*remarks("a", 2), "Thanks, Bob.", "12", "an hour ago"]
    found = comments_of(wordpress(prose("post", 500), written))
    assert sorted(found.lines) == sorted(written[:3])
    assert not found.are_content
    assert len(found.remarks) == 2


def test_numbered_posts_are_replies_but_teasers_and_a_single_article_are_not() -> None:
    article = (
        f'<div id="post-1"><h1>{TITLE}</h1><p>{prose("post", 300)}</p><p>Shared 3 times</p></div>'
    )
    teasers = "".join(
        f'<div id="post-{number}"><h2><a href="/{number}">Other</a></h2><p>{prose(number, 20)}</p></div>'
        for number in (2, 3)
    )
    assert comments_of(document(article)).lines == ()
    found = comments_of(document(article + teasers))
    assert not any(prose(number, 20) in found.lines for number in (2, 3))


def test_a_single_element_named_review_is_not_a_comment() -> None:
    review = (
        f'<div class="review"><h1>{TITLE}</h1><p>{prose("post", 300)}</p><p>Seen 3 times</p></div>'
    )
    assert comments_of(document(review)).lines == ()


def test_comments_in_the_main_text_are_not_repeated() -> None:
    post, written = prose("post", 60), remarks("a", 8)
    page = extract_page(board(post, written), None, get_extractor("blocks"), min_words=20)
    lines = page.compared.split("\n")
    assert all(lines.count(text) == 1 for text in (post, *written))


def test_thousands_of_nested_comments_take_no_quadratic_time() -> None:
    html = "".join(f'<div id="post-{n}" class="comment">x {n} ' for n in range(4000))
    page = HtmlPage.read(document(html), None)
    assert len(comments_beside(page, "").lines) <= 5000


@pytest.mark.parametrize("name", ["product-reviews", "js-customer-reviews", "buyer_reviews"])
def test_reviews_below_a_product_are_no_part_of_its_text(name: str) -> None:
    own = "".join(
        f"<p>The lamp has {number} lights, and each of them is lit by hand.</p>"
        for number in range(9)
    )
    review = "<p>We have had this one for years, and the cat likes it as much as we do.</p>"
    shop = f"<h1>{TITLE}</h1><div class=text>{own}</div>"
    assert "cat" not in main_text_of(f"{shop}<div class={name}><div>{review * 4}</div></div>")
    # On a page of nothing else they are what it says.
    assert "cat" in main_text_of(
        f"<h1>{TITLE}</h1><div class={name}><div>{review * 10}</div></div>"
    )


def page_of_comments(number: int, name: str, texts: Sequence[str]) -> Page:
    comments = "".join([f"<div class=one><p>{text}</p></div>" for text in texts])
    post = "".join([f"<p>{prose(place, 60)}</p>" for place in range(8)])
    body = (
        f"<main><article><h1>{TITLE}</h1>{post}</article><div class={name}>{comments}</div></main>"
    )
    return Page(f"https://a.example/{number}", html=document(body))


@pytest.mark.parametrize(
    "name", ["comments", "kommentare", "commentaires-liste", "comentarios", "responses", "отзывы"]
)
def test_comments_are_known_by_their_names_in_other_languages(name: str) -> None:
    second, third = (page_of_comments(n, name, remarks(f"{n}", 6)) for n in (2, 3))
    assert compare(second, third).verdict.kind is Kind.NEW


def test_a_japanese_comment_with_a_date_says_more_than_when() -> None:
    words = ["雨の港", "船の灯り", "古い橋", "朝の市場", "赤い塔", "遠い川", "静かな庭", "青い窓"]
    texts = [
        f"3月{number}日に{'と'.join(Random(number).sample(words, 5))}を見ました"
        for number in range(1, 13)
    ]
    second, third = (page_of_comments(n, "comments", texts[n::4]) for n in (2, 3))
    assert compare(second, third).verdict.kind is Kind.NEW
