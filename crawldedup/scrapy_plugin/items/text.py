"""Read the texts that are compared, the name and the site of an item: decisions without I/O."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Container, Mapping
from decimal import Decimal
from typing import Any, Final

from itemadapter import ItemAdapter

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.markup.limits import MAX_BYTES
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.reading.fields import FIELD_SEPARATOR
from crawldedup.text.urls import canonical_url

_ANY_CLASS: Final = ""
_DEEPEST_LIST: Final = 10
_WEB_URL: Final = re.compile(r"https?://", re.IGNORECASE)


class ItemFields(dict[str, tuple[str, ...]]):
    """The fields that are compared, by names of item classes, short or dotted; "" stands for every class."""


def fields_of(item: object, fields: ItemFields) -> tuple[str, ...] | None:
    """Return the fields that are compared of such an item; None if its class is not among those named."""
    for cls in type(item).__mro__:
        for name in (_dotted(cls), cls.__name__):
            if name in fields:
                return fields[name]
    return fields.get(_ANY_CLASS)


def joined_fields(item: Any, fields: ItemFields) -> bytes:
    """Return the texts of an item's fields, for `fingerprint_fields`.

    All fields must be there: an item whose article could not be found by the spider would otherwise be compared by its
    title alone. Raises PageError: `class`, `no_field`, `field_type` or `too_large`.
    """
    names = fields_of(item, fields)
    if names is None:
        raise PageError("class", f"CRAWLDEDUP_ITEM_FIELDS names no fields for {_dotted(type(item))}")
    texts = []
    for name in names:
        text = _text_of(name, value_in(item, name))
        if not text.strip():
            raise PageError("no_field", f"the field {name!r} is missing or empty")
        texts.append(text)
    body = FIELD_SEPARATOR.join(text.replace(FIELD_SEPARATOR, " ") for text in texts).encode("utf-8", "replace")
    if len(body) > MAX_BYTES:
        raise PageError("too_large", f"the text has {len(body):,} bytes")
    return body


def value_in(item: Any, field: str, default: object = None) -> Any:
    """Return the value of an item's field; `default` if it has none, as a dataclass may have attributes not set yet."""
    try:
        return ItemAdapter(item)[field]
    except (KeyError, AttributeError):
        return default


def identity_in(item: Any) -> tuple[str, str]:
    """Return the URL (or other name) of an item, empty if it has none, and its identity.

    The fragment counts, for the posts of a thread differ in nothing else. An item without a name is never the same.
    """
    name = _name_in(item)
    return (name, named_identity(name)) if name else ("", f"item {uuid.uuid4().hex}")


def named_identity(name: str) -> str:
    """Return the identity of the item with this URL or other name. Names that are no URLs count as they are spelled."""
    return f"item {canonical_url(name, keep_fragment=True) if _WEB_URL.match(name) else name}"


def site_of_name(name: str) -> str | None:
    """Return the site of the item with this name; None for a URL of the web, which tells it by itself.

    Raises PageError, `no_site`, where no site is known: such items of all sites would be compared with each other.
    """
    if site := site_of(name):
        return None if _WEB_URL.match(name) else site
    raise PageError("no_site", "CRAWLDEDUP_SCOPE is 'site', and no field 'url' tells the site of the item")


def _name_in(item: Any) -> str:
    """Return the text of the field "url", which may be a number or a URL's object; empty if it is no name."""
    value = value_in(item, "url")
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]  # as item loaders leave it
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, bool | float | Container) or ItemAdapter.is_item(value):
        return ""
    name = str(value).strip()
    # Python's own text of an object is its address, which is another one each time.
    return "" if name == object.__repr__(value) else name


def _text_of(name: str, value: Any, depth: int = 0) -> str:
    """Return the text of a text, a number, or a list of them, as item loaders make; nothing for None."""
    if depth > _DEEPEST_LIST:
        raise PageError("field_type", f"the field {name!r} holds lists in lists in lists")
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            pass
        case int() | float() | Decimal():
            return str(value)
        case list() | tuple():
            return "\n".join(filter(None, (_text_of(name, part, depth + 1) for part in value)))
    raise PageError("field_type", f"the field {name!r} holds a {type(value).__name__}, which is no text")


def check_item_fields(name: str, given: Any) -> ItemFields:
    """Return the fields that a setting names. Raises ConfigurationError."""
    if isinstance(given, ItemFields):
        return given
    if isinstance(given, str) and given.lstrip().startswith(("{", "[")):
        # Scrapy's command line knows texts only, and Scrapy's own settings read dicts and lists from JSON there.
        try:
            given = json.loads(given)
        except ValueError:
            raise _refused(name, given) from None
    if isinstance(given, Mapping) and given:
        return ItemFields({_class_name(name, cls): _names(name, names) for cls, names in given.items()})
    return ItemFields({_ANY_CLASS: _names(name, given)})


def _names(setting: str, given: Any) -> tuple[str, ...]:
    names = given.split(",") if isinstance(given, str) else given
    # No sets: the order of the fields is the order of the text.
    if isinstance(names, list | tuple) and names and all(isinstance(name, str) and name.strip() for name in names):
        return tuple(name.strip() for name in names)
    raise _refused(setting, given)


def _class_name(setting: str, given: object) -> str:
    if isinstance(given, type):
        return _dotted(given)
    if isinstance(given, str) and given.strip():
        return given.strip()
    raise _refused(setting, given)


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _refused(name: str, value: object) -> ConfigurationError:
    return ConfigurationError(
        f"{name} is {value!r}; it must be a list of names of fields, or a dict of classes of items and such lists."
    )
