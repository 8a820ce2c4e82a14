"""A food blog in the markup of its plugins.

- A recipe has these addresses: its own, the links of campaigns, one with its usual number of
  servings, AMP, and one for each comment that can be answered (`?replytocom=`). All of them name
  the first one as canonical.
- `?servings=8` and `?units=metric` show the same recipe with other numbers. They count as copies.
  If you consider them separate content, leave out these two kinds.
- Two thirds of the posts tell a story around the card, and print views only have the card. Print
  views of posts without a story are copies. Other print views don't count as content.
- Some posts have more comments than a page shows. `comment-page-2/` shows the post again, with the
  comments that aren't on any other page, and is a separate piece of content. `comment-page-1/` is a
  copy of the post.
- Every eighth recipe has a gluten-free variation, and every eighth one a variation for two: all
  words are the same, except for the title and some ingredients. Four recipes of members at a time
  share a title and an introduction.
- Photographs have pages, which show little else.
- Every seventh recipe shows a sponsor's picture above its own, a different one with each load. The
  numbers of votes and of people who made the recipe, and the box of what else to cook, change with
  every load.
- Lists by category, tag, author, cuisine and search, and collections, count as content: one for
  each set of recipes that a page leads to, whatever its title is. Searches without results are one
  piece of content.

On the second day, some recipes are new, one in twelve has another amount, and one in twelve has
another note. Lists that lead to new recipes have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.whole_site_parts.counters import choice
from benchmarks.whole_site_parts.pages import Page, bullets, document, link
from benchmarks.whole_site_parts.sites.recipe_pages import (
    PLAIN,
    CardView,
    amp,
    box,
    canonical,
    declared,
    framed,
    photo,
    photo_path,
    post,
    print_path,
    printed,
    teaser,
)
from benchmarks.whole_site_parts.sites.recipe_texts import (
    AUTHORS,
    CATEGORIES,
    CUISINES,
    dishes,
    for_two,
    gluten_free,
    ingredients,
    steps,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.sites.recipe_texts import Dish

RECIPES: Final = 170
MEMBERS_RECIPES: Final = 24
COLLECTIONS: Final = 12
_NEW_SHARE: Final = 0.08
_PER_LIST: Final = 10
_PER_NEWSLETTER: Final = 8
_COMMENTS_SHOWN: Final = 5
_VARIED_EVERY: Final = 8
_SAME_TITLE: Final = 4
_MAIL: Final = "?utm_source=newsletter&utm_medium=email"
_PIN: Final = "?utm_source=pin"
_EMPTY_SEARCHES: Final = ("quinoa+fries", "gelatin", "air+fryer+ice", "haggis", "ramps", "yuzu")
_INTRODUCTIONS: Final = (
    "We have gathered the recipes that our readers come back to most often, and cooked each of "
    "them again to be sure. Pick one, put on some music, and enjoy an evening in the kitchen.",
    "All of these need little time, few pans and nothing that you cannot find in an ordinary "
    "store. Save this page for the next time that you ask yourself what to cook tonight.",
)


class _Listing(NamedTuple):
    """Recipes under a title; the list has pages of ten."""

    path: str
    title: str
    dishes: Sequence[Dish]
    introduction: str = ""
    kind: str = "recipes: list"


class RecipeSite:
    """All pages of the blog."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._base = plan, plan.hosts.own
        count = plan.count(RECIPES)
        self._first_day = count - round(count * _NEW_SHARE)
        # What was there on the first day is in boxes and collections on the second one, too.
        self._dishes = dishes(plan, count)[: count if plan.day > 1 else self._first_day]
        self._old = self._dishes[: self._first_day]
        self._popular = box("Popular now", self._sample("popular", 4))
        self._box = self._random_box()
        self._sets: dict[frozenset[int], str] = {}

    def pages(self) -> Iterator[Page]:
        listings = list(self._listings())
        letters = [self._letter(number) for number in range(self._letters())]
        members = list(self._members())
        ways = [link(listing.path, listing.title) for listing in listings]
        ways += [link(page.url, f"Newsletter {number}") for number, page in enumerate(letters, 1)]
        ways += [link(f"/?s={term}", term) for term in _EMPTY_SEARCHES]
        ways += [link(page.url, page.url) for page in members if page.kind.endswith("recipe")]
        home = f"<h1>The Salted Larder</h1>{bullets(ways)}"
        yield Page(f"{self._base}/", "front page", "", framed("Home", home))
        for listing in listings:
            yield from self._of_listing(listing)
        yield from letters
        yield from members
        for term in _EMPTY_SEARCHES:
            body = (
                f"<h1>Search results for: {term.replace('+', ' ')}</h1><p>Nothing matched what you "
                "were looking for. Try other words, or browse the categories above.</p><form>"
                f'<input type=search name=s value="{term}"><button>Search</button></form>'
            )
            page = framed(f"Search results for {term}", body, popular=self._popular)
            yield Page(f"{self._base}/?s={term}", "recipes: empty search", "search-empty", page)
        for dish in self._dishes:
            yield from self._of_dish(dish)
            yield from self._variations(dish)

    def _sample(self, name: str, count: int) -> list[Dish]:
        return self._plan.prose.random(name).sample(self._old, min(count, len(self._old)))

    def _of_dish(self, dish: Dish) -> Iterator[Page]:
        url, shown = self._base + dish.path, dish.comments[:_COMMENTS_SHOWN]
        plain = self._post(dish)
        views = {
            "": ("recipes: recipe", plain),
            _PIN: ("recipes: campaign", plain),
            _MAIL: ("recipes: campaign", plain),
            "?servings=4": ("recipes: same servings", plain),
            "?servings=8": ("recipes: other servings", self._post(dish, CardView(8))),
            "?units=metric": ("recipes: metric", self._post(dish, CardView(metric=True))),
            "amp/": ("recipes: AMP", amp(dish, url)),
        }
        if dish.number >= self._letters() * _PER_NEWSLETTER:
            del views[_MAIL]
        for place, (kind, body) in views.items():
            yield Page(url + place, kind, dish.content, body)
        for comment in shown:
            reply = self._post(dish, reply=comment.name)
            place = f"?replytocom={comment.number}"
            yield Page(url + place, "recipes: reply", dish.content, reply)
        yield self._printed(dish)
        for number, _ in enumerate(dish.captions, 1):
            photo_url = self._base + photo_path(dish, number)
            body = framed(f"{dish.slug}-{number}", photo(dish, number), canonical(photo_url))
            content = f"photo-{dish.number}-{number}"
            yield Page(photo_url, "recipes: photograph", content, body)
        if len(dish.comments) > len(shown):
            yield Page(f"{url}comment-page-1/", "recipes: first comments", dish.content, plain)
            yield from self._later_comments(dish)

    def _later_comments(self, dish: Dish) -> Iterator[Page]:
        """The post again, with the comments for which there is no room on its first page."""
        later = dish.comments[_COMMENTS_SHOWN:]
        url = f"{self._base}{dish.path}comment-page-2/"
        main = post(dish, self._base, PLAIN, later) + self._box
        page = framed(dish.title, main, declared(dish, url), self._popular)
        content = f"comments-of-{dish.content}"
        yield Page(url, "recipes: later comments", content, page)
        for comment in later:
            # A comment of the second page is answered on the first one.
            page = self._post(dish, reply=comment.name)
            place = f"{self._base}{dish.path}?replytocom={comment.number}"
            yield Page(place, "recipes: reply", dish.content, page)

    def _printed(self, dish: Dish) -> Page:
        kind, content = "recipes: print", dish.content
        if dish.story:
            kind, content = "card of a story", ""
        return Page(self._base + print_path(dish), kind, content, printed(dish))

    def _variations(self, dish: Dish) -> Iterator[Page]:
        if dish.number % _VARIED_EVERY == 1:
            yield from self._variation(gluten_free(dish), "recipes: gluten-free")
        if dish.number % _VARIED_EVERY == 4:
            yield from self._variation(for_two(dish), "recipes: for two")

    def _variation(self, dish: Dish, kind: str) -> Iterator[Page]:
        for place in ("", _PIN):
            url = f"{self._base}{dish.path}{place}"
            yield Page(url, kind, dish.content, self._post(dish))
        views = {"servings=4": CardView(4), "servings=8": CardView(8)}
        views["units=metric"] = CardView(metric=True)
        for query, view in views.items():
            own = "recipes: same servings" if view.servings == dish.servings else ""
            other = "recipes: metric" if view.metric else "recipes: other servings"
            url = f"{self._base}{dish.path}?{query}"
            yield Page(url, own or other, dish.content, self._post(dish, view))
        url = f"{self._base}{dish.path}"
        yield Page(f"{url}amp/", "recipes: AMP", dish.content, amp(dish, url))
        yield self._printed(dish)

    def _post(self, dish: Dish, view: CardView = PLAIN, reply: str = "") -> bytes:
        shown = dish.comments[:_COMMENTS_SHOWN]
        main = post(dish, self._base, view, shown, reply) + self._box
        head = declared(dish, self._base + dish.path)
        return framed(dish.title, main + self._varied(dish), head, self._popular)

    def _random_box(self) -> str:
        boxes = [
            "".join(teaser(dish.path, dish) for dish in self._sample(f"box {place}", 4))
            for place in range(3)
        ]
        return (
            "<section class=block-post-listing><h2>You may also like</h2><div "
            f"class=block-post-listing__inner>{choice(*boxes)}</div></section>"
        )

    def _varied(self, dish: Dish) -> str:
        """The link to a recipe's variation, which the recipe alone has."""
        if dish.content.partition(".")[0] != f"recipe-{dish.number}":
            return ""
        for place, variation in ((1, gluten_free), (4, for_two)):
            if dish.number % _VARIED_EVERY == place:
                other = variation(dish)
                return f"<p>See also: {link(other.path, other.title)}</p>"
        return ""

    def _listings(self) -> Iterator[_Listing]:
        newest = self._dishes[::-1]
        yield _Listing("/recipes/", "Recipe Index", newest)
        for name in CATEGORIES:
            chosen = [dish for dish in newest if dish.course == name]
            yield _Listing(f"/category/{name}/", name.title(), chosen)
        for tag in sorted({tag for dish in self._old for tag in dish.tags}):
            chosen = [dish for dish in newest if tag in dish.tags]
            yield _Listing(f"/tag/{tag}/", tag.replace("-", " ").title(), chosen)
        for author in AUTHORS:
            chosen = [dish for dish in newest if dish.author == author]
            path = f"/author/{author.lower().replace(' ', '-')}/"
            yield _Listing(path, f"Recipes by {author}", chosen)
        for cuisine in CUISINES:
            chosen = [dish for dish in newest if dish.cuisine == cuisine]
            yield _Listing(f"/cuisine/{cuisine.lower()}/", f"{cuisine} Recipes", chosen)
        for number in range(self._plan.count(COLLECTIONS)):
            title = self._plan.prose.writer(f"collection {number}").title()
            chosen = self._sample(f"collection {number}", 7)
            words = _INTRODUCTIONS[number % len(_INTRODUCTIONS)]
            kind = "recipes: collection"
            yield _Listing(f"/collections/{number}/", title, chosen, words, kind)
        for term in sorted({dish.title.split()[-1] for dish in self._old})[:6]:
            chosen = [dish for dish in newest if dish.title.endswith(term)]
            for path in (f"/?s={term}", f"/search/{term}/"):
                title, kind = f"Search results for: {term}", "recipes: search"
                yield _Listing(path, title, chosen[:_PER_LIST], kind=kind)

    def _of_listing(self, listing: _Listing) -> Iterator[Page]:
        known = [dish for dish in listing.dishes if dish.number < self._first_day]
        starts = range(0, max(1, len(listing.dishes)), _PER_LIST)
        places = [
            listing.path if start == 0 else f"{listing.path}page/{start // _PER_LIST + 1}/"
            for start in starts
        ]
        pages = bullets(link(place, f"Page {number}") for number, place in enumerate(places, 1))
        for start, place in zip(starts, places, strict=True):
            shown, before = (of[start : start + _PER_LIST] for of in (listing.dishes, known))
            tiles = "".join(
                f"{teaser(dish.path, dish)}<p>{dish.summary}</p><p>4.7 ({dish.votes} votes)</p>"
                for dish in shown
            )
            main = (
                f"<header class=archive-header><h1 class=archive-title>{listing.title}</h1>"
                f"<p>{listing.introduction}</p></header>{tiles}<nav class=pagination>{pages}</nav>"
            )
            page = framed(listing.title, main, popular=self._popular)
            content = self._list_content(place, shown, before)
            yield Page(self._base + place, listing.kind, content, page)

    def _list_content(self, place: str, shown: Sequence[Dish], before: Sequence[Dish]) -> str:
        """The content of a list, which is another one once it leads to other recipes."""
        leads = frozenset(dish.number for dish in shown)
        has_changed = bool(before) and leads != {dish.number for dish in before}
        name = f"list-{place}{'.2' if has_changed else ''}"
        return self._sets.setdefault(leads, name) if leads else ""

    def _letters(self) -> int:
        return max(1, len(self._old) // (2 * _PER_NEWSLETTER))

    def _written(self, number: int) -> Sequence[Dish]:
        """The recipes of a newsletter, which are those of no other one."""
        return self._old[number * _PER_NEWSLETTER : (number + 1) * _PER_NEWSLETTER]

    def _letter(self, number: int) -> Page:
        shown = self._written(number)
        rows = "".join(
            f"<h3>{link(dish.path + _MAIL, dish.title)}</h3><p>{dish.summary}</p>" for dish in shown
        )
        title = f"Newsletter {number + 1}"
        page = document(title, f"<table><tr><td><h1>{title}</h1>{rows}</table>")
        content = self._list_content(f"newsletter-{number}", shown, shown)
        return Page(f"{self._base}/newsletter/{number}/", "recipes: newsletter", content, page)

    def _members(self) -> Iterator[Page]:
        """Recipes that members sent in, and their print views; four of them at a time have one
        title.
        """
        for number in range(self._plan.count(MEMBERS_RECIPES)):
            writer = self._plan.prose.writer(f"member's recipe {number}")
            shared = self._plan.prose.writer(f"members' title {number // _SAME_TITLE}")
            title, food = f"Grandma's {shared.term().title()} Bread", shared.term()
            found = ingredients(writer.random, food, 5)
            rows = bullets(" ".join((*each.shown(1, metric=False), each.name)) for each in found)
            done = bullets(steps(writer.random, found))
            main = (
                f"<h1>{title}</h1><p>Sent in by {writer.name()}</p><p>{shared.paragraph(2, 3)}</p>"
                f"<h2>Ingredients</h2>{rows}<h2>Method</h2>{done}"
            )
            url, content = f"{self._base}/community/{number}/", f"member-{number}"
            full = f"{main}<p>¤¤ people made this</p>{link(f'{url}print/', 'Print')}"
            page = framed(title, full, canonical(url), self._popular)
            yield Page(url, "recipes: member's recipe", content, page)
            yield Page(f"{url}print/", "recipes: member's print", content, document(title, main))
