"""A forum as old board software makes it.

- Every link contains a session ID. Each answer picks one of three, so each page appears under all
  three.
- A topic has pages of eight posts, print views of these pages, and a permalink for each post, which
  shows the page that the post is on.
- A clock, visitors and the server's times are in the header and the footer of all pages except
  print views, and each topic shows its views. All of them change with every load.
- Profiles have some sixty words. The links to answer all lead to one login form.
- Boards and their lists don't count as content.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.counters import choice
from benchmarks.whole_site_parts.pages import Page, bullets, document, link, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.whole_site_parts.pages import Plan

TOPICS: Final = 150
MEMBERS: Final = 80
_PER_PAGE: Final = 8
_PER_BOARD: Final = 25
_NAME: Final = "The Quayside Board"
_SESSIONS: Final = 3


class ForumSite:
    """All pages of the forum."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._base = plan, plan.hosts.own
        random = plan.prose.random("sessions")
        self._sessions = [f"{random.randrange(16**32):032x}" for _ in range(_SESSIONS)]
        self._session = choice(*self._sessions)
        self._members = [_Member(plan, number) for number in range(plan.count(MEMBERS))]
        self._posts = 0

    def pages(self) -> Iterator[Page]:
        topics = [self._topic(number) for number in range(self._plan.count(TOPICS))]
        boards = [topics[start : start + _PER_BOARD] for start in range(0, len(topics), _PER_BOARD)]
        names = [
            self._plan.prose.writer(f"board {number}").title() for number in range(len(boards))
        ]
        ways = [self._link(f"viewforum.php?f={number}", name) for number, name in enumerate(names)]
        home = f"<h1>{_NAME}</h1>{bullets(ways)}"
        yield Page(f"{self._base}/", "front page", "", self._framed(_NAME, home))
        yield from self._at("index.php?style=1", "front page", "", self._framed(_NAME, home))
        for number, (name, board) in enumerate(zip(names, boards, strict=True)):
            rows = bullets(
                f"{self._link(f'viewtopic.php?f={number}&t={topic.number}', topic.title)} "
                f"<span>Replies: {len(topic.posts)}, views: ¤¤¤</span>"
                for topic in board
            )
            body = self._framed(name, f"<h1>{escape(name)}</h1>{rows}")
            yield from self._at(f"viewforum.php?f={number}", "board", "", body)
            for topic in board:
                yield from self._of_topic(number, topic)
        for member in self._members:
            yield from self._at(
                member.path,
                "forum: profile",
                f"member-{member.number}",
                self._framed(member.name, member.profile()),
            )

    def _topic(self, number: int) -> _Topic:
        writer = self._plan.prose.writer(f"topic {number}")
        posts = []
        for _ in range(writer.random.randint(1, 12)):
            self._posts += 1
            member = writer.random.choice(self._members)
            when = (
                f"{writer.date()}, {writer.random.randint(1, 12)}:{writer.random.randint(10, 59)}"
            )
            posts.append(_Post(self._posts, member, when, [writer.paragraph(1, 7)]))
        return _Topic(number, " ".join(writer.title().split()[-5:]), posts)

    def _of_topic(self, board: int, topic: _Topic) -> Iterator[Page]:
        base = f"viewtopic.php?f={board}&t={topic.number}"
        starts = range(0, len(topic.posts), _PER_PAGE)
        others = bullets(
            self._link(base + (f"&start={start}" if start else ""), f"Page {start}")
            for start in starts
        )
        answer = f"posting.php?mode=reply&f={board}&t={topic.number}"
        for start in starts:
            path = base + (f"&start={start}" if start else "")
            content, shown = f"topic-{topic.number}-{start}", topic.posts[start : start + _PER_PAGE]
            ways = bullets(
                [self._link(answer, "Post a reply"), self._link(path + "&view=print", "Print view")]
            )
            main = (
                f"<h1>{escape(topic.title)}</h1>{ways}<p class=views>{len(topic.posts)} posts, ¤¤¤ "
                "views</p>"
                f"{''.join(self._post(topic, post) for post in shown)}{others}"
            )
            body = self._framed(topic.title, main)
            yield from self._at(path, "forum: topic", content, body)
            for post in shown:
                yield from self._at(
                    f"viewtopic.php?p={post.number}", "forum: permalink", content, body
                )
            yield from self._at(
                path + "&view=print", "forum: print", content, self._printed(topic, shown)
            )
        yield from self._at(
            answer, "forum: login wall", "login-wall", self._framed("Log in", _WALL)
        )

    def _post(self, topic: _Topic, post: _Post) -> str:
        member = post.member
        return (
            f"<div class=post id=p{post.number}><div "
            f"class=author>{self._link(member.path, member.name)}<br>"
            f"Posts: {member.posts}<br>Joined: {member.joined}</div><p class=date>"
            f"{self._link(f'viewtopic.php?p={post.number}', 'Re: ' + topic.title)} by "
            f"{member.name}, {post.when}</p>"
            f"<div class=body>{paragraphs(post.lines)}</div>"
            f"{member.signature and f'<div class=sig>{escape(member.signature)}</div>'}</div>"
        )

    def _printed(self, topic: _Topic, posts: Sequence[_Post]) -> bytes:
        shown = "<hr>".join(
            f"<h3>Re: {escape(topic.title)}</h3><p>Posted: {post.when}</p><p>by "
            f"<b>{post.member.name}</b></p>"
            f"{paragraphs(post.lines)}"
            for post in posts
        )
        body = (
            f"<h2>{_NAME}</h2><h1>{escape(topic.title)}</h1><p>{self._base}/viewtopic.php?t={topic.number}</p>{shown}"
            "<p>All times are UTC. Printed at 10:¤¤ on Thursday.</p>"
        )
        return document(topic.title, body)

    def _framed(self, title: str, main: str) -> bytes:
        ways = bullets(
            [self._link("index.php?style=1", "Board index"), "FAQ", "Search", "Members", "Log in"]
        )
        body = (
            f"<div id=hdr><h2>{_NAME}</h2><p>All about boats, nets and the weather</p><p>It is "
            "currently Thu Nov 26, "
            f"2026, 10:¤¤ am</p>{ways}</div>\n<div id=page>{main}</div>\n"
            "<div id=ftr><h3>Who is online</h3><p>In total there are ¤¤ users online: ¤ "
            "registered, ¤ hidden and ¤¤ "
            "guests</p><p>Most users ever online was 317 on 3 May 2024</p><p>Powered by a board of "
            "our own</p>"
            "<p>Time: 0.¤¤¤s | Queries: ¤¤ | GZIP: On</p></div>"
        )
        return document(f"{title} - {_NAME}", body)

    def _link(self, path: str, title: str) -> str:
        return link(f"/{path}&sid={self._session}", title)

    def _at(self, path: str, kind: str, content: str, body: bytes) -> Iterator[Page]:
        """The page with each session id."""
        for session in self._sessions:
            yield Page(f"{self._base}/{path}&sid={session}", kind, content, body)


class _Member:
    """Who writes posts, and what is told of them."""

    def __init__(self, plan: Plan, number: int) -> None:
        self._writer = writer = plan.prose.writer(f"member {number}")
        self.number, self.name, self.joined = number, writer.name().replace(" ", ""), writer.date()
        self.posts, self.signature = (
            writer.random.randint(1, 900),
            writer.sentence() if number % 3 == 0 else "",
        )
        self.path = f"memberlist.php?mode=viewprofile&u={number}"

    def profile(self) -> str:
        random = self._writer.random
        rows = {
            "Username": self.name,
            "Location": self._writer.name(),
            "Occupation": f"{self._writer.term()} {self._writer.term()}",
            "Interests": self._writer.sentence(),
            "Joined": self.joined,
            "Last visited": self._writer.date(),
            "Total posts": f"{self.posts} | {random.random():.2f} posts per day, {random.random():.2f}% of all posts",
        }
        shown = "".join(f"<dt>{name}:</dt><dd>{escape(value)}</dd>" for name, value in rows.items())
        return (
            f"<h1>Viewing profile - {self.name}</h1><dl>{shown}</dl><p>Contact {self.name}: send a "
            "message</p>"
        )


class _Post:
    def __init__(self, number: int, member: _Member, when: str, lines: Sequence[str]) -> None:
        self.number, self.member, self.when, self.lines = number, member, when, lines


class _Topic:
    def __init__(self, number: int, title: str, posts: Sequence[_Post]) -> None:
        self.number, self.title, self.posts = number, title, posts


_WALL: Final = (
    "<h1>Log in</h1><p>The board requires you to be registered and logged in to answer. Members "
    "see pictures in full "
    "size, may send each other letters, and get a note when somebody answers them.</p><form><input "
    "name=user>"
    "<input name=password type=password><button>Log in</button></form><p>Registering takes a few "
    "moments, and gives "
    "you more rights. Have you forgotten your password? Write to the keepers of the board.</p>"
)
