"""Methods and weightings by name, as in "simhash?distance=3&blocks=5"."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.methods.brute_force import BruteForce
from crawldedup.evaluation.methods.features import DEFAULT_KIND, FEATURE_KINDS, make_features
from crawldedup.evaluation.methods.minhash import MinHash
from crawldedup.evaluation.methods.simhash import BlockedSimhash, ProbabilisticSimhash
from crawldedup.evaluation.methods.weighting import DEFAULT_WEIGHTING
from crawldedup.search.query import TwoStage

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.search.method import Method

DEFAULT_METHOD: Final = "two-stage"

_CLASSES: Final[dict[str, Callable[..., Method]]] = {
    "two-stage": TwoStage,
    "simhash": BlockedSimhash,
    "psm": ProbabilisticSimhash,
    "minhash": MinHash,
    "brute-force": BruteForce,
}
METHODS: Final = tuple(_CLASSES)


def make_method(method: str = DEFAULT_METHOD, weighting: str = DEFAULT_WEIGHTING) -> Method:
    """Make a method by its name, with its options as in the query of a URL.

    two-stage, brute-force: features=words|words+pairs|shingles. simhash: distance, blocks, features. psm: distance,
    features. minhash: permutations, bands, rows, shingle, threshold. `weighting` weighs the features of all methods but
    minhash, which compares sets. Raises ConfigurationError.
    """
    name, options = _parsed(method)
    made = _CLASSES[name]
    if made is MinHash:
        if weighting != DEFAULT_WEIGHTING:
            raise ConfigurationError(f"weighting is {weighting!r}, but minhash compares sets: leave it out")
        return _make(MinHash, name, options)
    kind = options.pop("features", DEFAULT_KIND if made in (TwoStage, BruteForce) else "shingles")
    if kind not in FEATURE_KINDS:
        raise ConfigurationError(f"{method!r}: features is {kind!r}; it must be one of {', '.join(FEATURE_KINDS)}")
    return _make(made, name, {**options, "features": make_features(kind, weighting)})


def _parsed(method: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(method, str):
        raise ConfigurationError(f"method is {method!r}; it must be a name, one of {', '.join(METHODS)}")
    name, _, query = method.partition("?")
    if name not in _CLASSES:
        hint = did_you_mean(name, METHODS) or "."
        raise ConfigurationError(f"there is no method {name!r}{hint} It is one of {', '.join(METHODS)}")
    try:
        return name, dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError as error:
        raise ConfigurationError(f"the options of {method!r} are not of the form name=value&name=value") from error


def _make(made: Callable[..., Method], name: str, options: dict[str, Any]) -> Method:
    known = {field.name: field.type for field in fields(made)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for option, value in options.items():
        if option not in known:
            allowed = ", ".join(known) or "none"
            raise ConfigurationError(f"{name} has no option {option!r}; it has {allowed}")
        values[option] = _number(name, option, value) if isinstance(value, str) else value
    return made(**values)


def _number(name: str, option: str, value: str) -> int | float:
    try:
        return int(value) if value.lstrip("-").isdecimal() else float(value)
    except ValueError:
        raise ConfigurationError(f"{name}: {option} is {value!r}; it must be a number") from None
