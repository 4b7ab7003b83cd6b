"""Policies: the file runs in ONNX Runtime, and this module names what goes in and comes out."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, PolicyError, PriceError
from .prices import Actions, Prices, Unavailable
from .rows import Floats, matrix, texts
from .texts import TextEncoder, Tokens, content, session

_FORMAT = 1  # of the description beside a policy, the newest that is read
_ROWS = 1024  # that the graph sees at once, as in pipe
_NEVER = -1e30  # the score of a pair that must not be chosen


@dataclass(frozen=True)
class Decisions:
    """What a policy chose for n rows. Arrays have an element, or a row of one value per pair, for each."""

    action: NDArray[np.int64]
    expert_index: NDArray[np.int64]
    advice_index: NDArray[np.int64]
    expert: NDArray[np.str_]
    advice: NDArray[np.str_]
    scores: Floats
    """n x pairs; higher is better."""
    expected_losses: "Floats | None"
    """n x pairs; None: the policy expects none. Above 1e29 where the pair does not exist."""
    expected_costs: "Floats | None"
    """The same with the fees."""
    accepted: "NDArray[np.bool_] | None"
    """Which decisions the policy accepts, as in pipe decide; None: it has no guarantee."""
    promised: bool
    """Whether its guarantee is about these prices and pairs. Elsewhere the same threshold accepts, but nothing is promised."""

    def __len__(self) -> int:
        return len(self.action)

    @property
    def expected_loss(self) -> "Floats | None":
        """That of the chosen pair."""
        return _chosen(self.expected_losses, self.action)

    @property
    def expected_cost(self) -> "Floats | None":
        """That of the chosen pair, with the fees."""
        return _chosen(self.expected_costs, self.action)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns that pipe decide writes, for pandas.DataFrame, polars.DataFrame or pyarrow.table."""
        names = ("action", "expert", "advice", "expert_index", "advice_index", "expected_loss", "expected_cost", "accepted")
        return {name: values for name in names if (values := getattr(self, name)) is not None}


class Policy:
    """A policy file and its description NAME.onnx.json. It is safe for concurrent use.

    experts, advice and pairs are names, in the order of the indices. feature_names are those of the columns that decide reads, empty if
    the file does not know them. any_price says whether decide takes prices. text says whether it takes texts. about is the whole
    description (docs/policy.md).
    """

    def __init__(
        self, path: "str | os.PathLike[str]", *, encoder: "TextEncoder | None" = None, threads: int = 0,
        providers: Sequence[str] = ("CPUExecutionProvider",),
    ) -> None:  # fmt: skip
        self.path = os.fspath(path)
        model = content(self.path)
        self.about = _description(self.path, model)
        self._actions = Actions(self.about)
        self.experts, self.advice, self.pairs = self._actions.experts, self._actions.advice, self._actions.pairs
        self.feature_names: tuple[str, ...] = tuple(self.about.get("feature_names", ()))
        self.any_price = "prices" in self.about
        self._encoder, self._tokens = encoder, None
        if "encoder" in self.about:
            if encoder is not None:
                raise PolicyError(f"{self.path} has its encoder inside, and another one cannot be used: leave out encoder=")
            self._tokens = Tokens(json.dumps(self.about["tokenizer"]), self.about["tokens"]["max_length"], [v["name"] for v in self.about["inputs"]])
        self.text = encoder is not None or self._tokens is not None
        self._session = session(model, self.path, threads, providers)

    def decide(self, data: Any, *, prices: "Prices | None" = None, unavailable: "Unavailable | None" = None) -> Decisions:
        """Decide on rows: a table of numbers (rows x features), a data frame of pandas, polars or pyarrow, or texts for a policy of texts.

        prices changes those of an any-price policy; unavailable leaves pairs out. A row on which no decision is possible is an InputError.
        """
        allowed = self._actions.allowed(unavailable or {})
        if prices and not self.any_price:
            raise PriceError(f"{self.path} has fixed prices: pipe train --any-price makes policies whose prices can be set")
        feeds = self._actions.inputs(prices or {}, allowed) if self.any_price else {}
        names = [v["name"] for v in self.about["outputs"] if v["name"] in ("action", "scores", "expected_loss", "expected_cost", "accepted")]
        order: list[int] = []
        parts: list[list[NDArray[Any]]] = []
        for rows, inputs in self._batches(data):
            order += rows
            parts.append(self._session.run(names, inputs | feeds))
        whole = [np.concatenate(part) for part in zip(*parts)]
        back = np.argsort(np.array(order, np.int64), kind="stable")
        out = {name: values[back] for name, values in zip(names, whole)}
        return self._named(out, allowed, self._actions.promised(prices or {}, allowed))

    def _batches(self, data: Any) -> "Iterator[tuple[Sequence[int], dict[str, NDArray[Any]]]]":
        """The numbers of rows, and their inputs. If there are no rows, it is one batch for none of them, because not every graph takes none."""
        if self._tokens is not None:
            items = texts(data)
            if items:
                yield from self._tokens.batches(items)
                return
            yield [], {v["name"]: np.ones((1, 1), np.int64) for v in self.about["inputs"]}
            return
        features = matrix(self._encoder.encode(data) if self._encoder else data, self.feature_names, self.about["dim"])
        if len(features) == 0:
            yield [], {"features": np.zeros((1, features.shape[1]), np.float32)}
        for start in range(0, len(features), _ROWS):
            block = features[start : start + _ROWS]
            yield range(start, start + len(block)), {"features": block}

    def _named(self, out: Mapping[str, NDArray[Any]], allowed: NDArray[np.bool_], promised: bool) -> Decisions:
        """Decisions with names. The graph of a policy with fixed prices takes no pairs that are left out: the best of the others is chosen."""
        action, scores, accepted = out["action"], out["scores"], out.get("accepted")
        bad = action >= len(self.pairs)
        if not self.any_price and not np.array_equal(allowed, self._actions.exists):
            action = np.where(bad, action, np.where(allowed, scores, -np.inf).argmax(axis=1))
            accepted = None if accepted is None else accepted & (action == out["action"])  # the guarantee is about no other choice
        bad |= ~(np.take_along_axis(scores, np.minimum(action, len(self.pairs) - 1)[:, None], 1)[:, 0] > _NEVER)
        if bad.any():
            rows = np.flatnonzero(bad).tolist()
            raise InputError(f"no decision on {len(rows)} of {len(bad)} rows, the first is row {rows[0]}: its features are too far out of range, or no pair remains", rows)
        expert, advice = np.divmod(action, len(self.advice))
        return Decisions(
            action, expert, advice, np.array(self.experts)[expert], np.array(self.advice)[advice], scores,
            out.get("expected_loss"), out.get("expected_cost"), accepted, promised,
        )  # fmt: skip


def _chosen(values: "Floats | None", action: NDArray[np.int64]) -> "Floats | None":
    return None if values is None else np.take_along_axis(values, action[:, None], 1)[:, 0]


def _description(path: str, model: bytes) -> dict[str, Any]:
    """The description beside a policy, which must be of this file."""
    beside = path + ".json"
    try:
        about = json.loads(content(beside))
    except FileNotFoundError as err:
        raise PolicyError(f"{beside} is missing: pipe writes it beside every policy, so keep both files together") from err
    except ValueError as err:
        raise PolicyError(f"{beside} is not JSON: {err}") from err
    if not isinstance(about, dict) or "sha256" not in about or "kind" not in about:
        raise PolicyError(f"{beside} is not the description of a policy")
    if about["sha256"] != hashlib.sha256(model).hexdigest():
        raise PolicyError(f"{beside} describes another file than {path}: copy both files again")
    if about["format"] > _FORMAT:
        raise PolicyError(f"{beside} has the format {about['format']}: install a newer pipe-defer")
    if about["kind"] != "policy":
        raise PolicyError(f"{path} is a {about['kind']}: pipe_defer.run('decide', ...) plays it through a table, and Server().decide(executed=...) decides its steps")
    if about.get("encoder", {"input": "text"})["input"] != "text":
        raise PolicyError(f"{path} takes an {about['encoder']['input']}, which only the program reads: use pipe_defer.run('decide', ...) or Server().decide(image=...)")
    return about
