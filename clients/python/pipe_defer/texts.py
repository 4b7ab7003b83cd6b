"""Texts: the tokenizer of a file makes the ids, the graph does the rest."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray

from .errors import PolicyError
from .rows import Floats, texts

_TEXTS = 32  # of a batch, at most


class Tokens:
    """The tokenizer of a file."""

    def __init__(self, tokenizer: str, most: int, inputs: Sequence[str]) -> None:
        try:
            import tokenizers
        except ImportError as err:
            raise PolicyError("the file takes texts, which needs tokenizers: pip install 'pipe-defer[text]'") from err
        self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
        self._tokenizer.enable_truncation(most)
        self._tokenizer.no_padding()
        self._inputs = inputs

    def batches(self, items: list[str]) -> Iterator[tuple[list[int], dict[str, NDArray[np.int64]]]]:
        """Inputs of the graph, with the numbers of their texts. Only texts of equal length are together, as in pipe, so nothing is padded."""
        encoded = self._tokenizer.encode_batch(items)
        order = sorted(range(len(items)), key=lambda i: len(encoded[i].ids))
        start = 0
        for end in range(1, len(order) + 1):
            length = len(encoded[order[start]].ids)
            if end < len(order) and end - start < _TEXTS and len(encoded[order[end]].ids) == length:
                continue
            rows, start = order[start:end], end
            some = [encoded[i] for i in rows]
            made = {"input_ids": [t.ids for t in some], "attention_mask": [t.attention_mask for t in some], "token_type_ids": [t.type_ids for t in some]}
            yield rows, {name: np.array(made[name], np.int64).reshape(len(rows), length) for name in self._inputs}


class TextEncoder:
    """An encoder of texts that `pipe convert` wrote: texts to the features of a policy. It is safe for concurrent use."""

    def __init__(self, path: "str | os.PathLike[str]", *, threads: int = 0, providers: Sequence[str] = ("CPUExecutionProvider",)) -> None:
        self._session = session(content(os.fspath(path)), os.fspath(path), threads, providers)
        about = self._session.get_modelmeta().custom_metadata_map
        info = json.loads(about.get("pipe.encoder.info", "{}"))
        if about.get("pipe.kind") != "encoder" or info.get("input") != "text":
            raise PolicyError(f"{os.fspath(path)} is no encoder of texts that pipe convert wrote")
        self._tokens = Tokens(about["pipe.encoder.tokenizer"], info["max_length"], [v.name for v in self._session.get_inputs()])

    def encode(self, data: Any) -> Floats:
        """The features of texts, rows x width."""
        items = texts(data)
        out = np.empty((len(items), self._session.get_outputs()[0].shape[1]), np.float32)
        for rows, feeds in self._tokens.batches(items):
            out[rows] = self._session.run(None, feeds)[0]
        return out


def content(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as err:
        raise PolicyError(f"{path} cannot be read: {err.strerror}") from err


def session(model: bytes, path: str, threads: int, providers: Sequence[str]) -> Any:
    """A session of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(model, options, providers=list(providers))
    except Exception as err:  # its errors have no common class but this one
        raise PolicyError(f"ONNX Runtime cannot open {path} ({len(model)} bytes, SHA-256 {hashlib.sha256(model).hexdigest()[:8]}): {err}") from err
