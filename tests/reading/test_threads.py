"""Short answers below a long first post, on forums whose markup doesn't call them comments."""

from __future__ import annotations

import pytest

from tests.reading.prose import main_text_of, paragraphs, sentences

QUESTION = " ".join(sentences(1, 400))
ANSWERS = [" ".join(sentences(number, 30)) for number in range(20, 30)]

POSTS = {
    "divs of one class": '<div class="msg"><div class="u">Tom</div><div class="c">{}</div></div>',
    "Flarum without scripts": ('<div><h3>Tom</h3><div class="Post-body"><p>{}</p></div><hr></div>'),
}


@pytest.mark.parametrize("post", POSTS.values(), ids=POSTS)
def test_all_posts_of_a_thread_are_read(post: str) -> None:
    posts = "".join([post.format(text) for text in (QUESTION, *ANSWERS)])
    text = main_text_of(f"<h1>Topic</h1><div>{posts}</div>", "Topic")
    assert [answer for answer in ANSWERS if answer not in text] == []
    assert sentences(1, 400)[-1] in text


def test_boxes_without_a_class_next_to_a_text_are_left_out() -> None:
    boxes = f"<div>{paragraphs(ANSWERS[:2])}</div>"
    text = main_text_of(f"<div><div><h1>Topic</h1>{QUESTION}</div>{boxes}</div>", "Topic")
    assert ANSWERS[0] not in text
