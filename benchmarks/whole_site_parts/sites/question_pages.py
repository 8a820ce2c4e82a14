"""The templates of a question-and-answer site: questions, lists, revisions, profiles, and walls."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import bullets, document, link, paragraphs

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "Tidewater Answers"


@dataclass(frozen=True)
class Member:
    """Who asks and answers; most say nothing about themselves."""

    number: int
    name: str
    reputation: int
    since: str
    place: str
    about: str

    @property
    def path(self) -> str:
        return f"/users/{self.number}/{self.name.lower()}"


@dataclass(frozen=True)
class Answer:
    """An answer, with its votes and the comments on it."""

    number: int
    member: Member
    date: str
    votes: int
    lines: Sequence[str]
    comments: Sequence[tuple[Member, str]]
    is_accepted: bool = False


@dataclass(frozen=True)
class Question:
    """A question with its answers, the most voted first. `before` is what it said before an edit;
    `duplicate_of` the question for whose sake it has been closed.
    """

    number: int
    content: str
    title: str
    slug: str
    member: Member
    date: str
    votes: int
    tags: Sequence[str]
    lines: Sequence[str]
    answers: Sequence[Answer]
    comments: Sequence[tuple[Member, str]] = ()
    before: str = ""
    duplicate_of: Question | None = None

    @property
    def short_path(self) -> str:
        return f"/questions/{self.number}"

    @property
    def path(self) -> str:
        return f"{self.short_path}/{self.slug}"


def framed(title: str, main: str, side: str, head: str = "") -> bytes:
    """A page in the theme; `side` is the column beside it."""
    ways = [("/questions", "Questions"), ("/unanswered", "Unanswered"), ("/tags", "Tags")]
    body = (
        f"<header class=s-topbar>{link('/', NAME)}<form role=search><input name=q placeholder="
        '"Search…"></form><ol class=s-topbar--content><li>Log in<li>Sign up</ol></header>\n<div '
        f"class=container><div class=left-sidebar>{bullets(link(*way) for way in ways)}</div><div "
        f"id=content class=snippet-hidden><div id=mainbar role=main>{main}</div>\n<div id=sidebar "
        f"class=show-votes>{side}</div></div></div>\n<footer class=site-footer><p>{NAME} is run by "
        "its members. What they write here may be used by everybody who names them.</p><p>¤¤¤ "
        "members online | rev 2026.11.26.4711</p></footer>"
    )
    return document(f"{title} - {NAME}", body, head)


def question_main(question: Question, answers: Sequence[Answer], pages: str = "") -> str:
    """The main column of a question's page."""
    closed = ""
    original = question.duplicate_of
    if original is not None:
        closed = (
            "<aside class=js-post-notice><p><b>Has an answer elsewhere</b>: "
            f"{link(f'{original.short_path}?noredirect=1', original.title)}</p><p>Closed 2 years "
            "ago.</p></aside>"
        )
    tags = " ".join(link(f"/questions/tagged/{tag}", tag) for tag in question.tags)
    ways = [link(wall(question, "vote"), "Follow"), link(f"{question.path}/print", "Print")]
    if question.before:
        ways.append(link(f"/posts/{question.number}/revisions", "edited"))
    orders = " ".join(
        link(f"{question.path}?answertab={order}", title)
        for order, title in (("votes", "Highest score (default)"), ("oldest", "Date created"))
    )
    shown = "".join(_answer(question, answer) for answer in answers)
    return (
        '<div class=inner-content itemscope itemtype="https://schema.org/Question"><div '
        f"id=question-header><h1 itemprop=name>{link(question.path, question.title)}</h1>"
        f"{link('/questions/ask', 'Ask Question')}</div><div class=post-stats>Asked {question.date}"
        f" Modified {_modified(question)} Viewed ¤¤¤ times</div>{closed}<div class=question "
        f"data-questionid={question.number}>{_votes(question.votes)}<div class=postcell><div "
        f'class="s-prose js-post-body" itemprop=text>{paragraphs(question.lines)}</div><div '
        f"class=post-taglist>{tags}</div>{bullets(ways)}{_card('asked', question.date, question.member)}"
        f"</div>{_remarks(question.comments)}</div><div id=answers><div class=answers-header><h2>"
        f"{len(question.answers)} Answers</h2>{orders}</div>{shown}{pages}</div><div class=bottom-notice>"
        f"{link(wall(question, 'answer'), 'Log in to write an answer')}</div></div>"
    )


def _answer(question: Question, answer: Answer) -> str:
    accepted = "<div class=js-accepted-answer-indicator>✓</div>" if answer.is_accepted else ""
    ways = [link(permalink(question, answer), "Share")]
    return (
        f"<div id=answer-{answer.number} class=answer data-answerid={answer.number} "
        f"itemprop=suggestedAnswer>{_votes(answer.votes)}{accepted}<div class=answercell><div "
        f'class="s-prose js-post-body" itemprop=text>{paragraphs(answer.lines)}</div>'
        f"{bullets(ways)}{_card('answered', answer.date, answer.member)}</div>"
        f"{_remarks(answer.comments)}</div>"
    )


def permalink(question: Question, answer: Answer) -> str:
    return f"{question.path}/{answer.number}#{answer.number}"


def wall(question: Question, action: str) -> str:
    back = f"{question.path}#{action}".replace("/", "%2F").replace("#", "%23")
    return f"/users/login?ssrc={action}&returnurl={back}"


def _votes(votes: int) -> str:
    return f"<div class=votecell><div class=js-vote-count itemprop=upvoteCount>{votes}</div></div>"


def _card(action: str, date: str, member: Member) -> str:
    return (
        f"<div class=user-info><div class=user-action-time>{action} {date}</div><div "
        f"class=user-details>{link(member.path, member.name)} <span class=reputation-score>"
        f"{member.reputation}</span></div></div>"
    )


def _remarks(comments: Sequence[tuple[Member, str]]) -> str:
    rows = "".join(
        f"<li class=comment><span class=comment-copy>{escape(text)}</span> – "
        f"{link(member.path, member.name)}</li>"
        for member, text in comments
    )
    return f"<ul class=comments-list>{rows}</ul>"


def printed(question: Question, answers: Sequence[Answer]) -> bytes:
    """All texts of a page, and nothing else."""
    return document(f"{question.title} - {NAME}", _bare(question, answers) + "<p>Printed 10:¤¤</p>")


def mobile(question: Question, answers: Sequence[Answer], base: str) -> bytes:
    bar = f"<div class=topbar>{link('/', NAME)} ¤¤ online</div>"
    foot = (
        f"<div class=foot>{link(base + question.path, 'Full site')} {link('/', 'Questions')}</div>"
    )
    head = f'<link rel="canonical" href="{base}{question.path}">'
    return document(question.title, bar + _bare(question, answers) + foot, head)


def _bare(question: Question, answers: Sequence[Answer]) -> str:

    def remarks(comments: Sequence[tuple[Member, str]]) -> str:
        return bullets(f"{escape(text)} – {member.name}" for member, text in comments)

    shown = "".join(
        f"<hr><p>{answer.votes} votes, answered {answer.date} by {answer.member.name}</p>"
        f"{paragraphs(answer.lines)}{remarks(answer.comments)}"
        for answer in answers
    )
    return (
        f"<h1>{escape(question.title)}</h1><p>{question.votes} votes, asked {question.date} by "
        f"{question.member.name}</p>{paragraphs(question.lines)}{remarks(question.comments)}"
        f"<h2>{len(question.answers)} answers</h2>{shown}"
    )


def revisions(question: Question) -> str:
    """What was changed in a question, with its text before and after the edit."""
    first, *others = question.lines
    old = f"<span class=diff-delete>{escape(question.before)}</span>"
    new = f"<span class=diff-add>{escape(first)}</span>"
    return (
        f"<h1>Revisions to {link(question.path, question.title)}</h1><div class=js-revisions><div "
        f"class=js-revision><b>2</b> edited {question.date}<p>{old} {new}</p>{paragraphs(others)}"
        f"</div><div class=js-revision><b>1</b> asked {question.date} "
        f"{link(question.member.path, question.member.name)}<p>{escape(question.before)}</p>"
        f"{paragraphs(others)}</div></div>"
    )


def summary(url: str, question: Question) -> str:
    """What lists show of a question."""
    tags = " ".join(link(f"/questions/tagged/{tag}", tag) for tag in question.tags)
    return (
        f"<div class=s-post-summary><div class=s-post-summary--stats>{question.votes} votes "
        f"{len(question.answers)} answers {_views(question)} views</div><div class=s-post-summary--content><h3>"
        f"{link(url, question.title)}</h3><div class=s-post-summary--content-excerpt>"
        f"{escape(question.lines[0][:120])}</div>{tags} {link(question.member.path, question.member.name)} "
        f"modified {_modified(question)}</div></div>"
    )


def _modified(question: Question) -> str:
    """Every third question is talked about at the moment."""
    return "¤¤ mins ago" if question.number % 3 == 0 else f"{question.number % 11 + 1} months ago"


def _views(question: Question) -> str:
    """Lists give round numbers of what has been seen often."""
    return f"{question.number % 17 + 1}k" if question.number % 2 else "¤¤¤"


def profile(member: Member, counts: tuple[int, int]) -> str:
    about = member.about or "This member has not filled in the box about themselves yet."
    asked, answered = counts
    return (
        f"<div class=user-card><h1>{member.name}</h1><ul><li>Member since {member.since}<li>Last "
        f"seen this week<li>{member.place}</ul></div>{bullets(_tabs(member))}<div class=stats>"
        f"{member.reputation} reputation, {answered} answers, {asked} questions, ¤¤ people "
        f"reached</div><h2>About</h2><p>{escape(about)}</p>"
    )


def activity(member: Member, rows: Sequence[str]) -> str:
    return (
        f"<h1>{member.name}</h1>{bullets(_tabs(member))}<h2>Answers by {member.name}</h2>"
        f"{bullets(rows)}"
    )


def _tabs(member: Member) -> list[str]:
    return [
        link(f"{member.path}?tab=profile", "Profile"),
        link(f"{member.path}?tab=answers", "Answers"),
    ]


def login(returns: str, action: str) -> str:
    """The wall; a field of its form repeats the address that it stands before."""
    return (
        f'<h1>Log in</h1><form action=/users/login><input type=hidden name=returnurl value="'
        f'{escape(returns)}"><input type=hidden name=ssrc value={action}><label>Email <input '
        "name=email></label><label>Password <input name=password type=password></label><button>"
        "Log in</button></form><p>You need an account to vote, to follow and to answer. It takes a "
        "minute, and we ask for nothing but an address to which we can write.</p>"
    )
