"""Recipes as their authors write them: ingredients with amounts, steps, comments and photographs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Writer

_STYLES: Final = [
    "Easy",
    "Creamy",
    "Smoky",
    "Roasted",
    "Spicy",
    "Weeknight",
    "Crispy",
    "Lemony",
    "Slow-Cooked",
    "Skillet",
    "Rustic",
    "Baked",
    "Garlicky",
    "Honey-Glazed",
    "Sheet-Pan",
    "Braised",
]
_FOODS: Final = [
    "Chicken",
    "Mushroom",
    "Lentil",
    "Salmon",
    "Pumpkin",
    "Potato",
    "Tomato",
    "Spinach",
    "Chickpea",
    "Pork",
    "Apple",
    "Carrot",
    "Zucchini",
    "Beef",
    "Shrimp",
    "Cauliflower",
    "Eggplant",
    "Cabbage",
    "Leek",
    "Turkey",
]
_DISHES: Final = [
    "Soup",
    "Stew",
    "Pie",
    "Tacos",
    "Pasta",
    "Curry",
    "Casserole",
    "Salad",
    "Muffins",
    "Risotto",
    "Burgers",
    "Dumplings",
    "Bowls",
    "Bake",
]
_PANTRY: Final = (
    ("cup", "flour", "rice", "vegetable broth", "heavy cream", "grated cheese", "breadcrumbs"),
    ("cup", "chopped onion", "diced celery", "frozen peas", "cooked beans", "chopped parsley"),
    ("tablespoon", "olive oil", "butter", "tomato paste", "soy sauce", "honey", "lemon juice"),
    ("tablespoon", "Dijon mustard", "maple syrup", "cornstarch", "chopped chives", "capers"),
    ("teaspoon", "salt", "black pepper", "paprika", "ground cumin", "dried thyme", "turmeric"),
    ("teaspoon", "baking powder", "chili flakes", "vanilla extract", "cinnamon", "sugar"),
    ("", "cloves of garlic", "eggs", "bay leaves", "shallots", "lemons", "sprigs of rosemary"),
)
_METRIC: Final = {
    "cup": (240, "ml"),
    "tablespoon": (15, "ml"),
    "teaspoon": (5, "ml"),
    "pound": (454, "g"),
}
_QUARTERS: Final = ("", "1/4", "1/2", "3/4")
_VERBS: Final = (
    "Heat the {0} in a large pan over medium heat.",
    "Add the {0} and the {1}, and cook for {m} minutes, stirring often.",
    "Stir in the {0} and bring everything to a gentle simmer.",
    "In a medium bowl, whisk the {0} with the {1} until smooth.",
    "Season with the {0}, cover, and let it cook for {m} minutes.",
    "Fold in the {0}, then taste and adjust with the {1}.",
    "Spread the mixture in a dish, sprinkle with the {0}, and bake for {m} minutes.",
    "Serve warm, with the {0} on top.",
)
CUISINES: Final = ("American", "Italian", "Indian", "Mexican", "French", "Thai")
CATEGORIES: Final = ("dinner", "lunch", "soups", "baking", "sides", "vegetarian")
_TAGS: Final = ("one-pot", "freezer-friendly", "30-minutes", "kids", "holiday", "budget", "spring")
AUTHORS: Final = ("Nora Lind", "Tobias Marsh", "Priya Anand")


@dataclass(frozen=True)
class Ingredient:
    """So many quarters of a unit; the unit is empty for what is counted."""

    quarters: int
    unit: str
    name: str

    def shown(self, factor: float, *, metric: bool) -> tuple[str, str]:
        """Return the amount and the unit, for `factor` times the servings."""
        quarters = round(self.quarters * factor)
        if metric and self.unit:
            size, unit = _METRIC[self.unit]
            return f"{quarters * size / 4:g}", unit
        whole = str(quarters // 4) if quarters >= 4 else ""
        amount = " ".join(part for part in (whole, _QUARTERS[quarters % 4]) if part)
        plural = "s" if self.unit and quarters > 4 else ""
        return amount, self.unit + plural


@dataclass(frozen=True)
class Comment:
    """What a visitor says about a recipe."""

    number: int
    name: str
    date: str
    text: str


@dataclass(frozen=True)
class Dish:
    """A recipe and the post about it; its content has another name once it has changed."""

    number: int
    content: str
    title: str
    slug: str
    author: str
    date: str
    summary: str
    story: Sequence[str]
    ingredients: Sequence[Ingredient]
    steps: Sequence[str]
    notes: Sequence[str]
    servings: int
    minutes: int
    course: str
    cuisine: str
    tags: Sequence[str]
    comments: Sequence[Comment]
    captions: Sequence[str]
    picture: str
    votes: int
    is_sponsored: bool

    @property
    def path(self) -> str:
        return f"/{self.slug}/"


def dishes(plan: Plan, count: int) -> list[Dish]:
    """So many recipes under different titles, as they are on the day of the plan."""
    names = [f"{style} {food} {dish}" for style in _STYLES for food in _FOODS for dish in _DISHES]
    titles = plan.prose.random("recipe titles").sample(names, count)
    return [_dish(plan, number, title) for number, title in enumerate(titles)]


def _dish(plan: Plan, number: int, title: str) -> Dish:
    writer = plan.prose.writer(f"recipe {number}")
    random = writer.random
    found = ingredients(random, title.split()[1].lower(), random.randint(7, 12))
    # Every third post is little more than its card.
    story = [] if number % 3 == 0 else writer.paragraphs(4, 8)
    written = [
        Comment(number * 100 + place, writer.name(), writer.date(), writer.paragraph(1, 2))
        for place in range(random.choice((0, 1, 2, 3, 4, 7, 9)))
    ]
    captions = [writer.sentence() for _ in range(0 if number % 3 == 0 else 2)]
    slug = title.lower().replace(" ", "-")
    dish = Dish(
        number=number,
        content=f"recipe-{number}",
        title=title,
        slug=slug,
        author=AUTHORS[number % len(AUTHORS)],
        date=writer.date(),
        summary=writer.paragraph(1, 2),
        story=story,
        ingredients=found,
        steps=steps(random, found),
        notes=[writer.sentence() for _ in range(random.randint(1, 3))],
        servings=4,
        minutes=random.randrange(20, 95, 5),
        course=random.choice(CATEGORIES),
        cuisine=random.choice(CUISINES),
        tags=random.sample(_TAGS, 2),
        comments=written,
        captions=captions,
        picture=f"/wp-content/uploads/2024/{random.randint(1, 12):02}/{slug}",
        votes=random.randint(3, 400) + 7 * plan.day,
        is_sponsored=number % 7 == 3,
    )
    return _changed(writer, dish) if plan.day > 1 else dish


def _changed(writer: Writer, dish: Dish) -> Dish:
    """A recipe as its author left it on the first day, one in twelve with another amount, and one
    in twelve with a note more.
    """
    if dish.number % 12 == 5:
        first, *others = dish.ingredients
        more = replace(first, quarters=first.quarters + 4)
        return replace(dish, content=f"{dish.content}.2", ingredients=[more, *others])
    if dish.number % 12 == 7:
        noted = [*dish.notes, f"Update: {writer.paragraph(2, 3)}"]
        return replace(dish, content=f"{dish.content}.2", notes=noted)
    return dish


def gluten_free(dish: Dish) -> Dish:
    """The same post with other flour, in a variation at an address of its own."""
    other = Ingredient(6, "cup", "gluten-free flour blend")
    return replace(
        dish,
        content=f"recipe-{dish.number}-gluten-free",
        title=f"Gluten-Free {dish.title}",
        slug=f"gluten-free-{dish.slug}",
        ingredients=[other, *dish.ingredients[1:]],
        comments=(),
        captions=(),
    )


def for_two(dish: Dish) -> Dish:
    """The same post with half of each amount, in a variation at an address of its own."""
    halves = [replace(each, quarters=max(1, each.quarters // 2)) for each in dish.ingredients]
    return replace(
        dish,
        content=f"recipe-{dish.number}-for-two",
        title=f"{dish.title} for Two",
        slug=f"{dish.slug}-for-two",
        ingredients=halves,
        servings=2,
        comments=(),
        captions=(),
    )


def ingredients(random: Random, food: str, count: int) -> list[Ingredient]:
    """A main ingredient and so many of the pantry."""
    shelf = [(shelf[0], name) for shelf in _PANTRY for name in shelf[1:]]
    chosen = [("pound", food), *random.sample(shelf, count)]
    return [Ingredient(_quarters(random, unit), unit, name) for unit, name in chosen]


def _quarters(random: Random, unit: str) -> int:
    return random.randint(1, 8) if unit else 4 * random.randint(1, 4)


def steps(random: Random, found: Sequence[Ingredient]) -> list[str]:
    """Instructions, in the words that all recipes have in common."""
    chosen = random.sample(_VERBS, random.randint(4, 7))
    return [
        sentence.format(*(each.name for each in random.sample(found, 2)), m=random.randint(3, 45))
        for sentence in chosen
    ]
