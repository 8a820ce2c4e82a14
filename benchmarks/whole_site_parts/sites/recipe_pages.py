"""The templates of a food blog: a theme, a recipe card as plugins print it, AMP, and print views."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.counters import choice
from benchmarks.whole_site_parts.pages import bullets, document, link, paragraphs
from benchmarks.whole_site_parts.sites.recipe_texts import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.whole_site_parts.sites.recipe_texts import Comment, Dish

NAME: Final = "The Salted Larder"
_DISCLOSURE: Final = (
    "<p class=disclosure-text>Some links in this post earn us a small commission, at no cost to "
    "you.</p>"
)
_INVITATION: Final = (
    "<p>Did you make this recipe? Leave a star rating and a comment below, so that other readers "
    "know how it went.</p>"
)
_ABOUT: Final = (
    "<div class=block-about><p class=is-style-heading>Welcome to our kitchen</p><p>We are three "
    "friends who cook for busy families with what the market has. Every recipe here has been made "
    "at least four times before you read it.</p></div>"
)
_NEWSLETTER: Final = (
    '<section class="newsletter-signup"><h2>Dinner, solved</h2><p>Five new recipes in your inbox '
    "every Friday. No spam, and you can leave whenever you like.</p><form><input type=email "
    'name=email placeholder="Your email"><button>Sign me up</button></form></section>'
)


@dataclass(frozen=True)
class CardView:
    """How a card is asked for: so many servings, and in which units."""

    servings: int = 0
    metric: bool = False


PLAIN: Final = CardView()


def framed(title: str, main: str, head: str = "", popular: str = "") -> bytes:
    """A page in the theme."""
    ways = bullets(link(f"/category/{name}/", name.title()) for name in CATEGORIES)
    body = (
        "<div class=site-container><div class=top-hat><p>New here? Start with our most loved "
        f"dinners</p></div><header class=site-header>{link('/', NAME)}"
        f"<nav class=nav-menu>{ways}</nav></header>\n<div class=site-inner><main "
        f"class=site-main>{main}</main>\n<aside class=sidebar-primary>{_ABOUT}{popular}</aside>"
        f"</div>\n{_NEWSLETTER}<footer class=site-footer><p>{NAME}. All photographs and texts are "
        "ours.</p><p>Privacy policy | Accessibility | Contact</p></footer></div>"
    )
    return document(f"{title} - {NAME}", body, head)


def canonical(url: str) -> str:
    return f'<link rel="canonical" href="{url}">'


def teaser(url: str, dish: Dish) -> str:
    """What lists and boxes show of a recipe."""
    return (
        f'<article class=post-summary><div class=post-summary__image><img src="{dish.picture}'
        f'-320x320.jpg" alt=""></div><div class=post-summary__content><p class=entry-category>'
        f"{dish.course.title()}</p><h3 class=post-summary__title>{link(url, dish.title)}</h3>"
        "</div></article>"
    )


def box(title: str, shown: Sequence[Dish]) -> str:
    tiles = "".join(teaser(dish.path, dish) for dish in shown)
    return (
        f"<section class=block-post-listing><h2>{title}</h2><div "
        f"class=block-post-listing__inner>{tiles}</div></section>"
    )


def card(dish: Dish, view: CardView = PLAIN, tools: str = "") -> str:
    """The recipe card."""
    servings = view.servings or dish.servings
    lines = []
    for each in dish.ingredients:
        amount, unit = each.shown(servings / dish.servings, metric=view.metric)
        lines.append(
            "<li class=wprm-recipe-ingredient><span class=wprm-recipe-ingredient-amount>"
            f"{amount}</span> <span class=wprm-recipe-ingredient-unit>{unit}</span> <span "
            f"class=wprm-recipe-ingredient-name>{each.name}</span></li>"
        )
    done = "".join(
        f"<li class=wprm-recipe-instruction><div class=wprm-recipe-instruction-text>{escape(step)}"
        "</div></li>"
        for step in dish.steps
    )
    return (
        f'<div id="wprm-recipe-container-{dish.number}" class=wprm-recipe-container><div '
        f'class="wprm-recipe wprm-recipe-template-larder"><div class=wprm-recipe-image><img src="'
        f'{dish.picture}-500x500.jpg" alt=""></div><h2 class=wprm-recipe-name>{dish.title}</h2>'
        f"<span class=wprm-recipe-author>By {dish.author}</span>"
        f"<div class=wprm-recipe-summary>{escape(dish.summary)}</div>"
        f"<div class=wprm-recipe-meta-container>Prep: 15 mins Cook: {dish.minutes} mins Course: "
        f"{dish.course.title()} Cuisine: {dish.cuisine}</div>{tools}"
        f"<div>Servings: <span class=wprm-recipe-servings>{servings}</span></div>"
        f"<h3>Ingredients</h3><ul class=wprm-recipe-ingredients>{''.join(lines)}</ul>"
        f"<h3>Instructions</h3><ul class=wprm-recipe-instructions>{done}</ul>"
        f"<h3>Notes</h3><div class=wprm-recipe-notes>{paragraphs(dish.notes)}</div>"
        f"<h3>Nutrition</h3><div class=wprm-nutrition-label>Calories: {dish.minutes * 7} kcal | "
        f"Fat: {dish.minutes // 3} g | Sodium: {dish.minutes * 9} mg</div></div></div>"
    )


def post(dish: Dish, base: str, view: CardView, shown: Sequence[Comment], reply: str = "") -> str:
    """The article of a recipe: its story, the card, and some of the comments."""
    half = len(dish.story) // 2
    gallery = "".join(
        f"<figure class=wp-block-image>{photo_link(dish, place)}<figcaption>{escape(caption)}"
        "</figcaption></figure>"
        for place, caption in enumerate(dish.captions, 1)
    )
    hero = f'<figure class=post-hero><img src="{dish.picture}-1200x822.jpg" alt=""></figure>'
    if dish.is_sponsored:
        # A partner's picture takes the place of the recipe's, another at each load.
        partner = choice(*(f"partner-{dish.number}-{place}.jpg" for place in "abc"))
        hero = f'<figure class=post-hero><img src="/sponsored/{partner}" alt=""></figure>'
    story = (
        f"<h2>Why we love it</h2>{paragraphs(dish.story[:half])}{gallery}<h2>Tips and "
        f"storage</h2>{paragraphs(dish.story[half:])}"
        if dish.story
        else ""
    )
    return (
        f"<article class=type-post><p class=breadcrumb>{link('/', 'Home')} › "
        f"{link(f'/category/{dish.course}/', dish.course.title())}</p><h1 class=entry-title>"
        f"{dish.title}</h1><div class=post-header__info><p class=entry-author>By {dish.author}"
        f"</p><p class=entry-rating>4.7 from {dish.votes}¤ votes</p><p class=post-date>{dish.date}</p>"
        f'<a href="#wprm-recipe-container-{dish.number}">Jump to Recipe</a></div>{_DISCLOSURE}'
        f"{hero}{story}{card(dish, view, _tools(dish, base))}<p class=made-it>¤¤¤ people made "
        f"this</p>{_INVITATION}<p class=post-terms>"
        f"{' '.join(link(f'/tag/{tag}/', tag) for tag in dish.tags)}</p></article>"
        f"{_comments(dish, shown, reply)}"
    )


def _tools(dish: Dish, base: str) -> str:
    """The links of a card to its other views."""
    ways = [link(f"{dish.path}?servings={count}", f"{count} servings") for count in (4, 8)]
    ways += [link(f"{dish.path}?units=metric", "Metric"), link(f"{dish.path}amp/", "Mobile view")]
    ways += [link(print_path(dish), "Print"), link(f"{base}{dish.path}?utm_source=pin", "Pin")]
    return f"<div class=wprm-recipe-tools>{' '.join(ways)}</div>"


def print_path(dish: Dish) -> str:
    return f"/wprm_print/{dish.slug}"


def photo_path(dish: Dish, place: int) -> str:
    return f"{dish.path}{dish.slug}-{place}/"


def photo_link(dish: Dish, place: int) -> str:
    picture = f'<img src="{dish.picture}-{place}-768x512.jpg" alt="">'
    return f'<a href="{photo_path(dish, place)}">{picture}</a>'


def _comments(dish: Dish, shown: Sequence[Comment], reply: str) -> str:
    rows = "".join(
        f'<li id="comment-{comment.number}" class=comment><article class=comment-body><b class=fn>'
        f"{comment.name}</b> <span class=says>says:</span> <time>{comment.date}</time><p>"
        f"{escape(comment.text)}</p>"
        f"{link(f'{dish.path}?replytocom={comment.number}#respond', 'Reply')}</article></li>"
        for comment in shown
    )
    heading = f"Leave a reply to {reply}" if reply else "Leave a comment"
    count = len(dish.comments)
    pages = (
        f"<nav>{link(f'{dish.path}comment-page-1/', 'Older comments')} "
        f"{link(f'{dish.path}comment-page-2/', 'Newer comments')}</nav>"
        if count > len(shown)
        else ""
    )
    return (
        f"<div id=comments class=entry-comments><h2 class=comments-title>{count} Comments</h2><ol "
        f"class=comment-list>{rows}</ol>{pages}<div id=respond class=comment-respond><h2 "
        f"class=comment-reply-title>{heading}</h2><form><p>Your email address will not be "
        "published. Required fields are marked *</p><textarea name=comment></textarea><input "
        f"name=author><input name=email><input type=hidden name=comment_post_ID value="
        f"{dish.number}><button>Post Comment</button></form></div></div>"
    )


def declared(dish: Dish, url: str) -> str:
    """What stands in the head of a recipe's page."""
    data = {
        "@context": "https://schema.org/",
        "@type": "Recipe",
        "name": dish.title,
        "author": {"@type": "Person", "name": dish.author},
        "image": f"{dish.picture}.jpg",
        "recipeYield": str(dish.servings),
        "totalTime": f"PT{dish.minutes + 15}M",
        "recipeIngredient": [
            " ".join((*each.shown(1, metric=False), each.name)) for each in dish.ingredients
        ],
        "recipeInstructions": [{"@type": "HowToStep", "text": step} for step in dish.steps],
        "aggregateRating": {
            "@type": "AggregateRating",
            "ratingValue": "4.7",
            "ratingCount": str(dish.votes),
        },
    }
    return (
        f'{canonical(url)}<meta property="og:title" content="{dish.title}"><meta '
        f'property="og:image" content="{dish.picture}.jpg"><script type="application/ld+json">'
        f"{json.dumps(data)}</script>"
    )


def printed(dish: Dish) -> bytes:
    """The print view, which has the card alone."""
    body = (
        f"<div id=wprm-print-header>{link(dish.path, 'Go back')}<button>Print</button><label>"
        f"<input type=checkbox checked>Recipe image</label></div><div id=wprm-print-content>"
        f"{card(dish)}</div>"
    )
    return document(f"{dish.title} - {NAME}", body, '<meta name="robots" content="noindex">')


def amp(dish: Dish, url: str) -> bytes:
    """The AMP view: the story and the card, without comments and boxes."""
    body = (
        f"<header class=amp-wp-header>{link('/', NAME)}</header><article class=amp-wp-article><h1 "
        f"class=amp-wp-title>{dish.title}</h1><div class=amp-wp-meta>{dish.author}, {dish.date}"
        f'</div><amp-img src="{dish.picture}-1200x822.jpg"></amp-img><div '
        f"class=amp-wp-article-content>{paragraphs(dish.story)}{card(dish)}</div></article>"
        f"<footer class=amp-wp-footer>{link(dish.path + '#comments', 'Leave a comment')}</footer>"
    )
    return document(f"{dish.title} - {NAME}", body, canonical(url))


def photo(dish: Dish, place: int) -> str:
    """The page that the blog makes for each photograph."""
    others = [each for each in range(1, len(dish.captions) + 1) if each != place]
    ways = " ".join(link(photo_path(dish, each), "Next image") for each in others)
    return (
        f"<article class=type-attachment><h1 class=entry-title>{dish.slug}-{place}</h1><p "
        f'class=attachment><img src="{dish.picture}-{place}-1024x683.jpg" alt=""></p>'
        f"<p class=wp-caption-text>{escape(dish.captions[place - 1])}</p><p>Published in "
        f"{link(dish.path, dish.title)}</p>{ways}</article>"
    )
