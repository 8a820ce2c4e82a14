"""What a site repeats on nearly all pages is left out of their texts, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from crawldedup.crawling.repeated import RepeatedLines
from crawldedup.verdict import MainText

STORY = "The ferry of day {0} left pier {0} at noon, and the harbor was quiet until the evening."
NEWS = "Subscribe to our newsletter for more of this."
SHARE = "Share this story"


def texts(
    urls: Iterable[str], *more: str, name: str = "story {}", is_copy: bool = False
) -> list[str]:
    """The texts that pages with these lines leave, each with a story of its own."""
    repeated = RepeatedLines()
    return [
        repeated.own_text(
            url,
            MainText("\n".join([STORY.format(number), *more]).format(number), name.format(number)),
            is_copy=is_copy,
        )
        for number, url in enumerate(urls)
    ]


def blog(number: int) -> list[str]:
    return [f"https://e.com/blog/{n}" for n in range(number)]


def test_the_lines_of_nearly_all_pages_are_left_out_once_they_are_known() -> None:
    left = texts(blog(20), SHARE, NEWS)
    assert [SHARE in text for text in left] == [True] * 4 + [False] * 16
    assert left[19] == STORY.format(19)


def test_a_rarer_line_stays() -> None:
    repeated, left = RepeatedLines(), []
    for number, url in enumerate(blog(200)):
        state = "Sold out" if number % 3 else "In stock"
        text = f"{STORY.format(number)}\n{state}\n{SHARE}"
        left.append(repeated.own_text(url, MainText(text, f"{number}"), is_copy=False))
    assert all("Sold out" in text or "In stock" in text for text in left)
    assert not any(SHARE in text for text in left[10:])


def test_what_a_folder_repeats_is_left_out_there_although_the_host_has_other_pages() -> None:
    urls = [f"https://e.com/{folder}/{n}" for n in range(50) for folder in ("blog", "shop")]
    repeated = RepeatedLines()
    left = {
        url: repeated.own_text(
            url,
            MainText(f"{STORY.format(at)}\n{NEWS if 'blog' in url else 'Sold by weight'}", url),
            is_copy=False,
        )
        for at, url in enumerate(urls)
    }
    assert [url for url in urls if "\n" in left[url]] == urls[:8]


def test_the_text_of_copies_is_not_what_a_site_repeats() -> None:
    """One article has twenty addresses; and variants of one product have one name."""
    assert texts(blog(20), NEWS, is_copy=True)[-1].endswith(NEWS)
    assert texts(blog(20), NEWS, name="The lamp")[-1].endswith(NEWS)


def test_pages_that_live_from_what_their_site_repeats_keep_it() -> None:
    description = "The description of the lamp, which is long enough to say what it is like. " * 9
    assert texts(blog(20), description)[-1].endswith(description)


def test_nobody_has_lines_of_others_left_out() -> None:
    """Pages of many users stand side by side, or in folders of their own."""
    repeated = RepeatedLines()
    line = "I, Ann, wrote all of these stories."
    for number in range(50):
        url = f"https://e.com/~mallory/{number}"
        page = MainText(f"{STORY.format(number)}\n{line}", f"{number}")
        assert (line in repeated.own_text(url, page, is_copy=False)) == (number < 4)
    page = MainText(f"{STORY.format(1)}\n{line}", "Ann")
    assert line in repeated.own_text("https://e.com/~ann/1", page, is_copy=False)
    left = texts([f"https://user{n}.github.io/x" for n in range(20)], line)
    assert all(line in text for text in left)


def test_a_site_may_change() -> None:
    repeated, left = RepeatedLines(), []
    for number in range(900):
        line = NEWS if number < 450 else SHARE
        page = MainText(f"{STORY.format(number)}\n{line}", f"{number}")
        left.append(repeated.own_text(f"https://e.com/{number}", page, is_copy=False))
    assert left[449] == STORY.format(449)
    assert left[899] == STORY.format(899)
    assert SHARE in left[500]


def test_what_it_holds_is_bounded() -> None:
    repeated = RepeatedLines()
    many = "\n".join(f"line {number}" for number in range(20_000))
    for number in range(500):
        url = f"https://host{number}.example/{number}/x"
        repeated.own_text(url, MainText(many if number < 5 else "a\nb", f"{number}"), is_copy=False)
    assert len(repeated._folders) == 200
    for number in range(10):
        page = MainText(many.replace("line", f"line {number}"), f"{number}")
        repeated.own_text("https://e.com/x", page, is_copy=False)
    assert max(len(folder.lines) for folder in repeated._folders.values()) == 2_000
