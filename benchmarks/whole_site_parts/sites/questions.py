"""A question-and-answer site.

- A question has these addresses: `/questions/12`, with its slug, with `?answertab=` in two orders,
  a permalink for each answer, `?show=` from its author's profile, `?rq=1` from the boxes of other
  questions, a print view, and a mobile host. All except print views name the slug as canonical.
  Unanswered questions are also listed with a session ID.
- Views, the number of members online and the box of hot questions change with every load, and so do
  the minutes since the last change of every third question.
- A fifth of the questions are short and have one short answer. Some have more answers than a page
  shows. The answers of page 2, below the same question, are a separate piece of content.
- Twelve questions are asked for five versions each. All their words are the same, except for the
  number of the version in the title and in the texts.
- A tenth of the questions are closed in favor of another question, whose title they name. They
  quote it, add their own words, and are separate pieces of content.
- One question in ten was edited. Its revisions are separate pages.
- Profiles have some thirty words, and most members say nothing about themselves. A member's answers
  are on another page.
- The links to answer, follow and ask lead to one login form, which repeats the address to return
  to.
- Lists by tag and by page count as content, one for each set of questions that a page leads to.
  Searches without results are one piece of content. Lists without questions, and the oldest answers
  of questions that have more than one page, don't count as content.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from benchmarks.whole_site_parts.counters import choice
from benchmarks.whole_site_parts.pages import Page, bullets, document, link
from benchmarks.whole_site_parts.sites.question_pages import (
    NAME,
    Answer,
    Member,
    Question,
    activity,
    framed,
    login,
    mobile,
    printed,
    profile,
    question_main,
    revisions,
    summary,
    wall,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Writer

QUESTIONS: Final = 150
MEMBERS: Final = 80
VERSIONED: Final = 12
_VERSIONS: Final = ("12", "13", "14", "15", "16")
_SHORT_EVERY: Final = 5
_EDITED_EVERY: Final = 4
_CLOSED_EVERY: Final = 10
_LONG_EVERY: Final = 15
_PER_PAGE: Final = 6
_PER_LIST: Final = 15
_TAGS: Final = ("tides", "rigging", "anchors", "charts", "engines", "knots", "weather", "sails")
_EMPTY_SEARCHES: Final = ("submarine+paint", "kite+license", "dragon", "zeppelin", "igloo", "yurt")
_SESSIONS: Final = 2


class QuestionSite:
    """All pages of the site."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._base, self._mobile = plan, plan.hosts.own, plan.hosts.mobile
        self._answers = 0
        self._members = [self._member(number) for number in range(plan.count(MEMBERS))]
        self._questions: list[Question] = []
        for number in range(plan.count(QUESTIONS)):
            self._questions.append(self._question(number))
        for number in range(plan.count(VERSIONED)):
            self._questions += self._in_versions(number)
        self._numbers = {each.number: place for place, each in enumerate(self._questions)}
        random = plan.prose.random("question sessions")
        self._sessions = [f"{random.randrange(16**26):026x}" for _ in range(_SESSIONS)]
        boxes = [
            bullets(plan.prose.writer(f"hot {place} {row}").title() for row in range(6))
            for place in range(3)
        ]
        self._hot = (
            "<div id=hot-network-questions class=module><h4>Hot questions of the network</h4>"
            f"{choice(*boxes)}</div>"
        )
        self._sets: dict[frozenset[int], str] = {}

    def pages(self) -> Iterator[Page]:
        newest = self._questions[::-1]
        asked = defaultdict[str, list[Question]](list)
        for question in newest:
            for tag in question.tags:
                asked[tag].append(question)
        yield self._home(newest)
        ways = bullets(link(each.path, each.title) for each in newest)
        telephones = document(NAME, f"<h1>{NAME}</h1>{ways}")
        yield Page(f"{self._mobile}/", "list", "", telephones)
        yield from self._list("/questions", "Newest Questions", newest, "tab=newest")
        for tag, chosen in asked.items():
            title = f"Newest '{tag}' Questions"
            yield from self._list(f"/questions/tagged/{tag}", title, chosen, "tab=newest")
        yield from self._unanswered([each for each in newest if not each.answers])
        yield self._tags(asked)
        for question in self._questions:
            yield from self._of_question(question)
        for member in self._members:
            yield from self._of_member(member)
        for term in _EMPTY_SEARCHES:
            shown = term.replace("+", " ")
            main = (
                f"<h1>Search Results</h1><p>Results for {shown}</p><form><input name=q value="
                f'"{shown}"></form><div class=empty><p>We could not find anything for <b>{shown}'
                "</b>. Try other words, or fewer of them.</p></div>"
            )
            page = framed(f"Search results for {shown}", main, self._hot)
            yield Page(f"{self._base}/search?q={term}", "questions: empty search", "empty", page)
        yield self._wall("/users/login?ssrc=ask&returnurl=%2Fquestions%2Fask")
        ask = Page(f"{self._base}/questions/ask", "redirect", "", b"", location=self._ask())
        yield ask

    def _ask(self) -> str:
        return f"{self._base}/users/login?ssrc=ask&returnurl=%2Fquestions%2Fask"

    def _home(self, newest: Sequence[Question]) -> Page:
        ways = [link(question.short_path, question.title) for question in newest]
        ways += [link(f"/search?q={term}", term) for term in _EMPTY_SEARCHES]
        ways += [link(f"/users/{member.number}", member.name) for member in self._members]
        ways.append(link(f"{self._mobile}/", "Mobile"))
        yours = framed(NAME, f"<h1>Top Questions</h1>{bullets(ways)}", self._hot)
        return Page(f"{self._base}/", "front page", "", yours)

    def _member(self, number: int) -> Member:
        writer = self._plan.prose.writer(f"answerer {number}")
        about = writer.paragraph(1, 2) if number % 4 == 0 else ""
        name = writer.name().replace(" ", "")
        reputation = writer.random.randint(1, 9000)
        return Member(number, name, reputation, writer.date(), writer.name(), about)

    def _question(self, number: int) -> Question:
        writer = self._plan.prose.writer(f"question {number}")
        random, content = writer.random, f"question-{number}"
        if number % _CLOSED_EVERY == 9:
            return self._closed(writer, number)
        title = f"{writer.title()}?"
        slug = _slug(title)
        member, date = random.choice(self._members), writer.date()
        tags = random.sample(_TAGS, 2)
        if number % _SHORT_EVERY == 0:
            answers = [self._answer(writer, [writer.sentence()])]
            lines = [f"{writer.sentence()[:-1]}?"]
            return Question(number, content, title, slug, member, date, 3, tags, lines, answers)
        count = 9 if number % _LONG_EVERY == 7 else random.choice((0, 1, 1, 2, 3, 4))
        answers = [self._answer(writer, writer.paragraphs(1, 3)) for _ in range(count)]
        answers.sort(key=lambda answer: -answer.votes)
        return Question(
            number,
            content,
            title,
            slug,
            member,
            date,
            random.randint(-2, 60),
            tags,
            writer.paragraphs(1, 3),
            answers,
            comments=self._remarks(writer),
            before=writer.paragraph(1, 3) if number % _EDITED_EVERY == 1 else "",
        )

    def _closed(self, writer: Writer, number: int) -> Question:
        """What asks the same as an earlier question, in other words and with a part of its own."""
        original = self._questions[number - _CLOSED_EVERY // 2 - 2]
        title = f"{writer.title()}?"
        lines = [f"{writer.sentence()} {original.lines[0]}", writer.sentence()]
        return Question(
            number,
            f"question-{number}",
            title,
            _slug(title),
            writer.random.choice(self._members),
            writer.date(),
            -1,
            original.tags,
            lines,
            [],
            comments=self._remarks(writer),
            duplicate_of=original,
        )

    def _in_versions(self, number: int) -> Iterator[Question]:
        """One question for five versions of what it is about."""
        writer = self._plan.prose.writer(f"versioned {number}")
        subject, lines, answered = writer.term(), writer.paragraphs(1, 2), writer.paragraph(1, 3)
        for place, version in enumerate(_VERSIONS):
            title = f"How do I set the {subject} in Tidewater {version}?"
            said = [f"I have installed Tidewater {version} on my boat. {lines[0]}", *lines[1:]]
            given = [f"In Tidewater {version}, open the settings and choose {subject}. {answered}"]
            answer = self._answer(writer, given)
            name = 1000 + number * len(_VERSIONS) + place
            yield Question(
                name,
                f"question-{name}",
                title,
                _slug(title),
                writer.random.choice(self._members),
                writer.date(),
                4,
                ("engines", f"tidewater-{version}"),
                said,
                [answer],
            )

    def _answer(self, writer: Writer, lines: Sequence[str]) -> Answer:
        self._answers += 1
        random = writer.random
        votes = random.randint(-1, 40)
        member = random.choice(self._members)
        remarks = self._remarks(writer)
        number = 5000 + self._answers
        return Answer(number, member, writer.date(), votes, lines, remarks, votes > 25)

    def _remarks(self, writer: Writer) -> list[tuple[Member, str]]:
        count = writer.random.choice((0, 0, 1, 2))
        return [(writer.random.choice(self._members), writer.sentence()) for _ in range(count)]

    def _of_question(self, question: Question) -> Iterator[Page]:
        for url, (kind, body) in self._views(question).items():
            yield Page(url, kind, question.content, body)
        if len(question.answers) > _PER_PAGE:
            yield from self._later_answers(question)
        original = question.duplicate_of
        if original is not None:
            body = self._page(original, original.answers[:_PER_PAGE])
            kind = "questions: original of a duplicate"
            url = f"{self._base}{original.short_path}?noredirect=1"
            yield Page(url, kind, original.content, body)
        if question.before:
            page = framed(f"Revisions to {question.title}", revisions(question), self._hot)
            url = f"{self._base}/posts/{question.number}/revisions"
            yield Page(url, "questions: revisions", f"revisions-{question.number}", page)
        for action in ("vote", "answer"):
            yield self._wall(wall(question, action))

    def _views(self, question: Question) -> dict[str, tuple[str, bytes]]:
        """The kinds and the bodies of all pages with the question's first answers, by URL."""
        url, shown = self._base + question.path, question.answers[:_PER_PAGE]
        plain = self._page(question, shown)
        views = {
            self._base + question.short_path: ("questions: by number", plain),
            url: ("questions: question", plain),
            f"{url}?answertab=votes": ("questions: by votes", plain),
            f"{url}?rq=1": ("questions: from a box", plain),
            f"{url}/print": ("questions: print", printed(question, shown)),
            self._mobile + question.path: (
                "questions: mobile",
                mobile(question, shown, self._base),
            ),
        }
        if len(shown) == len(question.answers):
            views[f"{url}?answertab=oldest"] = (
                "questions: by date",
                self._page(question, _by_date(shown)),
            )
        for answer in shown:
            views[f"{url}/{answer.number}"] = ("questions: permalink", plain)
            views[f"{url}?show={answer.number}"] = ("questions: from a profile", plain)
        if not question.answers:
            for session in self._sessions:
                views[f"{url}?sid={session}"] = ("questions: session", plain)
        return views

    def _later_answers(self, question: Question) -> Iterator[Page]:
        later = question.answers[_PER_PAGE:]
        # Some answers of both pages in one: neither a copy of these nor a content.
        body = self._page(question, _by_date(question.answers)[:_PER_PAGE])
        url = f"{self._base}{question.path}?answertab=oldest"
        yield Page(url, "oldest of many answers", "", body)
        body = self._page(question, later, "?page=2")
        for place in ("?page=2", *(f"/{answer.number}" for answer in later)):
            kind = "questions: page 2" if "page" in place else "questions: permalink"
            url = f"{self._base}{question.path}{place}"
            yield Page(url, kind, f"{question.content}-page-2", body)
        for answer in later:
            url = f"{self._base}{question.path}?show={answer.number}"
            kind = "questions: from a profile"
            yield Page(url, kind, f"{question.content}-page-2", body)

    def _page(self, question: Question, answers: Sequence[Answer], place: str = "") -> bytes:
        """A question's page with some of its answers; `place` is what its address ends in."""
        pages = ""
        if len(question.answers) > _PER_PAGE:
            ways = [link(question.path, "1"), link(f"{question.path}?page=2", "2")]
            pages = f"<div class=s-pagination>{' '.join(ways)}</div>"
        number = self._numbers[question.number]
        count = len(self._questions)
        others = [self._questions[(number + step) % count] for step in (1, 2, 5)]
        related = bullets(link(f"{each.path}?rq=1", each.title) for each in others)
        side = f"<div class=sidebar-related><h4>Related</h4>{related}</div>{self._hot}"
        head = f'<link rel="canonical" href="{self._base}{question.path}{place}">'
        main = question_main(question, answers, pages)
        return framed(question.title, main, side, head)

    def _wall(self, path: str) -> Page:
        action = path.partition("ssrc=")[2].partition("&")[0]
        page = framed("Log in", login(unquote(path.partition("returnurl=")[2]), action), "")
        return Page(self._base + path, "questions: login wall", "login-wall", page)

    def _of_member(self, member: Member) -> Iterator[Page]:
        asked = sum(question.member == member for question in self._questions)
        given = [
            (question, answer)
            for question in self._questions
            for answer in question.answers
            if answer.member == member
        ]
        page = framed(f"User {member.name}", profile(member, (asked, len(given))), "")
        content = f"member-{member.number}"
        views = {
            f"/users/{member.number}": "questions: profile by number",
            member.path: "questions: profile",
            f"{member.path}?tab=profile": "questions: profile's tab",
        }
        for path, kind in views.items():
            yield Page(self._base + path, kind, content, page)
        rows = [
            link(f"{question.path}?show={answer.number}", question.title)
            for question, answer in given
        ]
        page = framed(f"Answers by {member.name}", activity(member, rows), "")
        name = f"answers-of-{member.number}" if given else ""
        yield Page(
            f"{self._base}{member.path}?tab=answers", "questions: member's answers", name, page
        )

    def _list(
        self, path: str, title: str, chosen: Sequence[Question], default: str
    ) -> Iterator[Page]:
        """A list in pages; the first one stands with its default order in the address, too."""
        starts = range(0, len(chosen), _PER_LIST)
        places = ["" if start == 0 else f"?page={start // _PER_LIST + 1}" for start in starts]
        ways = [
            link(f"{path}?{default}", "Newest"),
            *(link(path + place, place) for place in places),
        ]
        for start, place in zip(starts, places, strict=True):
            shown = chosen[start : start + _PER_LIST]
            rows = "".join(summary(question.path, question) for question in shown)
            main = (
                f"<h1>{title}</h1>{link('/questions/ask', 'Ask Question')}<div>"
                f"{len(chosen)} questions</div>{rows}<div class=s-pagination>{' '.join(ways)}</div>"
            )
            content = self._list_content(path + place, shown)
            page = framed(title, main, self._hot)
            yield Page(self._base + path + place, "questions: list", content, page)
            if not place:
                kind = "questions: list's default order"
                yield Page(f"{self._base}{path}?{default}", kind, content, page)

    def _unanswered(self, chosen: Sequence[Question]) -> Iterator[Page]:
        session = choice(*self._sessions)
        for start in range(0, max(1, len(chosen)), _PER_LIST):
            shown = chosen[start : start + _PER_LIST]
            rows = "".join(summary(f"{each.path}?sid={session}", each) for each in shown)
            more = link(f"/unanswered?page={start // _PER_LIST + 2}", "Next")
            has_more = start + _PER_LIST < len(chosen)
            main = f"<h1>Unanswered Questions</h1>{rows}{more if has_more else ''}"
            place = "/unanswered" + (f"?page={start // _PER_LIST + 1}" if start else "")
            content = self._list_content(place, shown)
            page = framed("Unanswered Questions", main, self._hot)
            yield Page(self._base + place, "questions: list", content, page)

    def _list_content(self, name: str, shown: Sequence[Question]) -> str:
        leads = frozenset(question.number for question in shown)
        return self._sets.setdefault(leads, f"list-{name}") if leads else ""

    def _tags(self, asked: dict[str, list[Question]]) -> Page:
        rows = bullets(
            f"{link(f'/questions/tagged/{tag}', tag)} {len(chosen)} questions, ¤ asked today"
            for tag, chosen in asked.items()
        )
        page = framed("Tags", f"<h1>Tags</h1><p>A tag groups questions.</p>{rows}", self._hot)
        return Page(f"{self._base}/tags", "questions: list", "list-tags", page)


def _by_date(answers: Sequence[Answer]) -> list[Answer]:
    return sorted(answers, key=lambda answer: answer.number)


def _slug(title: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in title.lower()).split()
    return "-".join(words)
