"""Members below a description, which are content if they have more prose than it has."""

from __future__ import annotations

import pytest

from tests.reading.prose import main_text_of, paragraphs, sentences

DESCRIPTION = sentences(1, 150)
MEMBERS = [" ".join(sentences(number, 24)) for number in range(10, 24)]

# A page's description and its members, as generators of references write them.
PAGES = {
    "doxygen": (
        '<div class="contents"><div class="textblock">{}</div>{}</div>',
        '<h2 class="memtitle">pay()</h2><div class="memitem"><div class="memproto">'
        '<table class="memname"><tr><td>void Ferry::pay</td></tr></table></div>'
        '<div class="memdoc"><p>{}</p></div></div>',
    ),
    "javadoc 8": (
        '<div class="contentContainer"><div class="description"><div class="block">{}</div></div>'
        '<div class="summary"><table class="memberSummary">{}</table></div></div>',
        '<tr class="altColor"><td><code>int</code></td><td class="colLast"><code>'
        '<a href="#pay">pay</a>()</code><div class="block">{}</div></td></tr>',
    ),
    "yard": (
        '<div id="content"><div class="docstring">{}</div><div class="details">{}</div></div>',
        '<div class="method_details"><h3 class="signature">pay</h3><div class="discussion">'
        "<p>{}</p></div></div>",
    ),
    "typedoc": (
        '<div class="col-content"><section class="tsd-comment">{}</section>'
        '<section class="tsd-group">{}</section></div>',
        '<section class="tsd-member"><h3 class="tsd-anchor-link">pay</h3>'
        '<div class="tsd-comment"><p>{}</p></div></section>',
    ),
    "dokka": (
        '<div class="main-content"><div class="cover"><h1>Ferry</h1>{}</div>'
        '<div class="tabbedcontent">{}</div></div>',
        '<div class="table-row"><div><a href="pay.html">pay</a></div><div class="brief">'
        "<p>{}</p></div></div>",
    ),
}


def page(name: str, members: list[str], member: str = "") -> str:
    frame, usual = PAGES[name]
    parts = "".join([(member or usual).format(text) for text in members])
    return frame.format(paragraphs(DESCRIPTION), parts)


@pytest.mark.parametrize("name", PAGES)
def test_members_are_content(name: str) -> None:
    text = main_text_of(page(name, MEMBERS), "Ferry")
    assert [part for part in [*DESCRIPTION, *MEMBERS] if part not in text] == []


@pytest.mark.parametrize(
    "teaser",
    [
        '<div class="teaser"><h4><a href="/winter">The winter timetable</a></h4><p>{}</p></div>',
        '<div class="teaser"><a href="/winter">The winter timetable of the ferry</a>'
        '<div class="excerpt">{}</div></div>',
    ],
)
def test_teasers_next_to_an_article_are_not_members(teaser: str) -> None:
    # The article is shorter than all teasers together, but too long for the teasers to be the topic.
    article = sentences(1, 350)
    frame = f'<div class="text">{paragraphs(article)}</div><div class="more">{{}}</div>'
    text = main_text_of(frame.format("".join([teaser.format(text) for text in MEMBERS])), "Ferry")
    assert article[0] in text
    assert not any(member in text for member in MEMBERS)


def test_a_few_members_or_a_box_with_many_paragraphs_do_not_count() -> None:
    few = main_text_of(page("doxygen", [MEMBERS[0] * 3, *MEMBERS[1:5]]), "Ferry")
    assert not any(member in few for member in MEMBERS)
    box = f'<div class="box">{paragraphs(MEMBERS)}</div>'
    frame = f'<div class="all"><div class="text">{paragraphs(DESCRIPTION)}</div>{{}}</div>'
    assert DESCRIPTION[0] in main_text_of(frame.format(""), "Ferry")
    with_box = main_text_of(frame.format(f"{box}"), "Ferry")
    assert (DESCRIPTION[0] in with_box) != (MEMBERS[0] in with_box)
