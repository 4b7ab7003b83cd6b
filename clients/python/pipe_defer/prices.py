"""Prices and pairs of a request, as inputs of a policy."""

from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from .errors import PriceError

Prices = TypedDict(
    "Prices",
    {"lambda": float, "experts": Mapping[str, float], "advice": Mapping[str, float], "pairs": Mapping[str, float]},
    total=False,
)
"""What differs from the prices of the file, as in POST /v1/decide: fees of advice are before lambda, those of pairs are added."""


_LARGEST = 1e12  # fee and lambda, as in pipe


class Unavailable(TypedDict, total=False):
    """What must not be chosen, by name; a pair is "expert/advice"."""

    experts: Sequence[str]
    advice: Sequence[str]
    pairs: Sequence[str]


class Actions:
    """The pairs of a policy, in the order of its actions, and the prices of its file."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.experts: tuple[str, ...] = tuple(e["name"] for e in about["experts"])
        self.advice: tuple[str, ...] = tuple(a["name"] for a in about["advice"])
        self.pairs: tuple[str, ...] = tuple(f"{e}/{a}" for e in self.experts for a in self.advice)
        gone = {(p["expert"], p["advice"]) for p in about.get("unavailable", ())}
        self.exists = np.array([(e, a) not in gone for e in self.experts for a in self.advice])
        self._about = about

    def allowed(self, unavailable: Unavailable) -> NDArray[np.bool_]:
        """Which actions remain."""
        _known("unavailable", unavailable, Unavailable.__annotations__)
        grid = np.ones((len(self.experts), len(self.advice)), bool)
        grid[_indices("expert", unavailable.get("experts", ()), self.experts)] = False
        grid[:, _indices("advice", unavailable.get("advice", ()), self.advice)] = False
        allowed: NDArray[np.bool_] = grid.ravel() & self.exists
        allowed[_indices("pair", unavailable.get("pairs", ()), self.pairs)] = False
        if not allowed.any():
            raise PriceError("no pair is left to choose")
        return allowed

    def inputs(self, prices: Prices, allowed: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """The inputs of an any-price policy, one row each."""
        times, experts, advice, pairs = self._at(prices)
        given = {name: np.array([row], np.float32) for name, row in self._about["prices"]["inputs"].items() if name.startswith("price_")}
        return given | {
            "expert_fees": experts[None].astype(np.float32),
            "advice_fees": (times * advice)[None].astype(np.float32),
            "pair_fees": pairs[None].astype(np.float32),
            "available": allowed[None],
        }

    def promised(self, prices: Prices, allowed: NDArray[np.bool_]) -> bool:
        """Whether the guarantee of the file, if it has one, is about decisions at these prices. One over random prices is about none alone."""
        guarantee = self._about.get("guarantee")
        if guarantee is None or "law" in guarantee or not np.array_equal(allowed, self.exists):
            return False
        (times, *here), (_, *usual) = self._at(prices), self._at({})
        return any(at["lambda"] == times for at in guarantee["at"]) and all(map(np.array_equal, here, usual))

    def _at(self, prices: Prices) -> "tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
        """Lambda, and the fees of experts, of advice before lambda, and of pairs beside these."""
        _known("prices", prices, Prices.__annotations__)
        times = _amount("lambda", prices.get("lambda", self._about["lambda"]))
        experts = self._fees("expert", self._about["experts"], prices.get("experts", {}), self.experts)
        advice = self._fees("advice", self._about["advice"], prices.get("advice", {}), self.advice)
        if advice[0] != 0:
            raise PriceError(f"{self.advice[0]!r} is the absence of advice, which is free")
        return times, experts, advice, self._fees("pair", [{}] * len(self.pairs), prices.get("pairs", {}), self.pairs)

    def _fees(self, kind: str, trained: Sequence[Mapping[str, Any]], changed: Mapping[str, float], names: Sequence[str]) -> NDArray[np.float64]:
        fees = np.array([part.get("fee", 0) for part in trained], np.float64)
        _mapping(f"the fees of {kind}", changed)
        for name, fee in changed.items():
            fees[_index(kind, name, names)] = _amount(f"the fee of {kind} {name!r}", fee)
        return fees


def _indices(kind: str, given: Collection[str], names: Sequence[str]) -> list[int]:
    if isinstance(given, str) or not isinstance(given, Collection):
        raise PriceError(f"unavailable, by {kind}: {given!r} is not a list of names")
    return [_index(kind, name, names) for name in given]


def _index(kind: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise PriceError(f"there is no {kind} {name!r}; known are {', '.join(map(repr, names))}")
    if names.count(name) > 1:
        raise PriceError(f"two pairs have the name {name!r}, because names have a slash in them: name the expert or the advice")
    return names.index(name)


def _amount(what: str, value: float) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise PriceError(f"{what} is {value!r}, not a number from 0 to {_LARGEST:g}")
    return float(value)


def _mapping(what: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise PriceError(f"{what} are {given!r}, not a dict")


def _known(what: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    _mapping(what, given)
    other = sorted(set(given) - set(known), key=str)
    if other:
        raise PriceError(f"{what} has {other}, which is none of {sorted(known)}")
