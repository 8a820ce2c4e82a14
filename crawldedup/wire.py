"""Encode and decode the values that cross a process or a network. Nothing is pickled."""

import base64
import json
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar, cast

import msgspec
import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.anchors import ANCHOR_BITS, EXCERPT, MOST_PARAGRAPHS, MOST_WORDS, Paragraph
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.reading.difference import Change
from crawldedup.verdict import Coverage, Verdict

__all__ = ["encode", "from_plain", "pack_fingerprint", "plain", "unpack_fingerprint"]

T = TypeVar("T")
_DERIVED: Final = {Verdict: ("is_duplicate", "is_partial", "is_across_sites"), Coverage: ("share_new",)}
_CHANGE: Final = tuple(Change.__annotations__)
_NUMBERS: Final = ("search", "digest", "facts", "key_id")
_WEIGHTS: Final = ("search_weights", "verify_weights")
_BYTES: Final = ("verify", "packed_text")
_MOST_WEIGHT: Final = 1e6  # They are at most the root of the number of features.
_Paragraphs = tuple[tuple[str, int, tuple[int, ...]], ...]
_Packed = tuple[int, bytes, bytes, bytes, int, int, bool, int, int, bytes, _Paragraphs]


def plain(value: Any) -> Any:
    """Return a public value as plain values, ready for JSON.

    A dataclass becomes a dict of its attributes and of what follows from them. Of a fingerprint, 64-bit numbers are in
    hexadecimal, bytes and float32 weights in Base64.
    """
    if isinstance(value, Fingerprint):
        values = _values_of(value)
        shown = {name: f"{values[name]:016x}" for name in _NUMBERS}
        shown |= {name: base64.b64encode(values[name]).decode("ascii") for name in (*_WEIGHTS, *_BYTES)}
        paragraphs = list(map(list, value.paragraphs))
        return {**shown, "words": value.words, "thin": value.thin, "paragraphs": paragraphs}
    if is_dataclass(value):
        values = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
        if "match" in values:
            values = {**values.pop("match"), **values}
        return values | {name: getattr(value, name) for name in _DERIVED.get(type(value), ())}
    if isinstance(value, Change):
        return dict(zip(_CHANGE, value, strict=True))
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return str(value) if isinstance(value, StrEnum) else value


def from_plain(kind: type[T], values: Any) -> T:
    """Return the value of which `plain` gave these; other keys are ignored. Raises ConfigurationError for others."""
    try:
        if kind is Fingerprint:
            given = {**values, "paragraphs": msgspec.convert(values["paragraphs"], _Paragraphs)}
            given |= {name: int(values[name], 16) for name in _NUMBERS}
            given |= {name: base64.b64decode(values[name], validate=True) for name in (*_WEIGHTS, *_BYTES)}
            return cast("T", _made(**given))
        if "candidate" in values:
            changes = [[change[name] for name in _CHANGE] for change in values["changes"]]
            candidate = {**values["candidate"], "match": values["candidate"]}
            values = {**values, "changes": changes, "candidate": candidate}
        # Of a verdict, it is their number.
        if isinstance(values.get("candidates"), list):
            values = {**values, "candidates": [{**each, "match": each} for each in values["candidates"]]}
        return msgspec.convert(values, kind)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise ConfigurationError(f"these values are no {kind.__name__}: {error}") from error


def encode(value: Any) -> bytes:
    """Return a public value as JSON. Halves of surrogate pairs, which a URL may hold, are escaped."""
    return json.dumps(plain(value)).encode("ascii")


def pack_fingerprint(fingerprint: Fingerprint) -> bytes:
    """Return the bytes of a fingerprint, for `unpack_fingerprint`."""
    return msgspec.msgpack.encode(list(_values_of(fingerprint).values()))


def unpack_fingerprint(data: bytes) -> Fingerprint:
    """Return the fingerprint that `pack_fingerprint` packed. Raises ConfigurationError for other bytes."""
    names = [each.name for each in fields(Fingerprint)]
    try:
        return _made(**dict(zip(names, msgspec.msgpack.decode(data, type=_Packed), strict=True)))
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise ConfigurationError(f"these bytes are no fingerprint: {error}") from error


def _values_of(fingerprint: Fingerprint) -> dict[str, Any]:
    values = {each.name: getattr(fingerprint, each.name) for each in fields(fingerprint)}
    return {**values, **{name: values[name].astype("<f4", copy=False).tobytes() for name in _WEIGHTS}}


def _made(*, search_weights: bytes, verify_weights: bytes, paragraphs: _Paragraphs, **values: Any) -> Fingerprint:
    """Return a fingerprint of values that may come from anywhere. Raises ValueError for those of none."""
    weights = [np.frombuffer(each, "<f4").astype(np.float32, copy=False) for each in (search_weights, verify_weights)]
    anchors = [anchor for _, _, anchors in paragraphs for anchor in anchors]
    if not (
        all(0 <= values[name] < 1 << 64 for name in _NUMBERS)
        and [len(each) for each in (*weights, values["verify"])] == [SEARCH_BITS, VERIFY_BITS, VERIFY_BITS // 8]
        and all((np.abs(each) <= _MOST_WEIGHT).all() for each in weights)
        and (type(values["words"]), type(values["thin"])) == (int, bool)
        and 0 <= values["words"] < 1 << 31
        and len(paragraphs) <= MOST_PARAGRAPHS
        and len(anchors) <= MOST_WORDS
        and all(0 <= anchor < 1 << ANCHOR_BITS for anchor in anchors)
        and all(len(excerpt) <= EXCERPT and 0 <= words < 1 << 31 for excerpt, words, _ in paragraphs)
    ):
        raise ValueError("they are out of bounds")
    own = tuple(Paragraph(*each) for each in paragraphs)
    return Fingerprint(search_weights=weights[0], verify_weights=weights[1], paragraphs=own, **values)
