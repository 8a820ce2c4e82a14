"""Encode values as JSON or MessagePack for other processes and machines. Nothing is pickled."""

import base64
import json
from dataclasses import is_dataclass
from typing import Any, Final, TypeVar, cast

import msgspec
import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.bits import Fingerprint, Floats, check_fingerprint
from crawldedup.verdict import CheckedText, Coverage, Verdict

T = TypeVar("T")
_DERIVED: Final = {
    Verdict: ("is_duplicate", "is_partial", "is_across_sites"),
    Coverage: ("share_new",),
}
_NUMBERS: Final = ("search", "digest", "key_id")


def from_weights(weights: Floats) -> bytes:
    """Convert weights to bytes, so that msgspec can encode them."""
    return weights.astype("<f4", copy=False).tobytes()


def to_weights(_: type, content: Any) -> Floats:
    """Convert bytes, or Base64 of them, back to weights.

    Raises ValueError and TypeError for anything else.
    """
    content = base64.b64decode(content, validate=True) if isinstance(content, str) else content
    return np.frombuffer(content, "<f4").astype(np.float32, copy=False)


def plain(value: Any) -> Any:
    """Convert a public value, such as a verdict, to plain values, ready for JSON.

    A dataclass becomes a dict of its attributes. A verdict and its coverage also get their
    properties. The `match` of a candidate, and the verdict of a `CheckedText`, are merged into the
    dict. In a fingerprint, 64-bit numbers are in hexadecimal, and bytes and float32 weights in
    Base64.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Fingerprint):
        values = msgspec.to_builtins(value, builtin_types=(), enc_hook=from_weights)
        return (
            values
            | {name: f"{values[name]:016x}" for name in _NUMBERS}
            | {"full": plain(value.full)}
        )
    if is_dataclass(value):
        values = {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
        if "match" in values:
            values = {**values.pop("match"), **values}
        if isinstance(value, CheckedText):
            values = {**values.pop("verdict"), **values}
        return values | {name: getattr(value, name) for name in _DERIVED.get(type(value), ())}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return str(value) if isinstance(value, str) else value


def from_plain(kind: type[T], values: Any) -> T:
    """Convert plain values, as `plain` makes them, back to a value of type `kind`.

    Unknown keys are ignored. Raises ConfigurationError for invalid values.
    """
    try:
        if kind is Fingerprint:
            full = values.get("full") and {**_numbered(values["full"]), "full": None}
            values = {**_numbered(values), "full": full}
            return cast(
                "T", check_fingerprint(msgspec.convert(values, Fingerprint, dec_hook=to_weights))
            )
        if kind is CheckedText:
            values = {**values, "verdict": values}
        if "candidate" in values:
            values = {**values, "candidate": {**values["candidate"], "match": values["candidate"]}}
        if isinstance(values.get("candidates"), list):  # in a verdict, it is their number
            values = {
                **values,
                "candidates": [{**each, "match": each} for each in values["candidates"]],
            }
        return msgspec.convert(values, kind)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise ConfigurationError(f"these values cannot be a {kind.__name__}: {error}") from error


def _numbered(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, **{name: int(values.get(name, "0"), 16) for name in _NUMBERS}}


def encode(value: Any) -> bytes:
    """Encode a public value as JSON.

    Lone surrogates, which a URL may contain, are escaped.
    """
    return json.dumps(plain(value)).encode("ascii")
