"""Rows of features: from arrays and data frames to what a policy takes."""

import inspect
import sys
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .errors import InputError

Floats = NDArray[np.float32]

# What only a table with names of columns has. To read one by position could be wrong.
_NAMED = ("columns", "column_names", "schema", "__dataframe__")


def matrix(data: Any, names: Sequence[str], dim: int) -> Floats:
    """The features of rows, rows x dim. Of a data frame these are the columns with the names of the features, in any order. Where they are
    not all there, it is the column "features" of lists, as cost tensors have; other columns are not looked at. What already is a table of
    float32 is not copied."""
    try:
        frame = nw.from_native(_whole(data), eager_only=True, pass_through=True)
        columns = frame.columns if isinstance(frame, nw.DataFrame) else []
    except nw.exceptions.DuplicateError as err:
        raise InputError(f"the data frame has two columns of one name: {err}") from err
    if not isinstance(frame, nw.DataFrame):
        return _finite(_array(data, dim))
    missing = [name for name in names if name not in columns]
    if "features" in columns and "features" not in names and (missing or not names):
        return _finite(_lists(frame["features"], dim))
    if not names:
        raise InputError("the policy does not know names of features: give an array, with the columns in the order of the training")
    if missing:
        raise InputError(f"the data frame has no column {', '.join(map(repr, missing))}; the policy needs {', '.join(map(repr, names))}")
    return _finite(_columns(frame, list(names)))


def texts(data: Any) -> list[str]:
    """A list of texts, from a list or a column of a data frame."""
    column = nw.from_native(data, allow_series=True, pass_through=True)
    if isinstance(column, nw.Series):
        items = column.to_list()
    elif isinstance(data, (list, tuple, np.ndarray)):
        items = list(data)
    else:  # the names of a data frame's columns and the letters of a text are texts, too
        raise InputError(f"a {type(data).__name__}: give a list of texts, or the column of a data frame that has them")
    wrong = [i for i, item in enumerate(items) if not isinstance(item, str)]
    if wrong:
        raise InputError(f"row {wrong[0]} is {items[wrong[0]]!r}, not a text", wrong)
    halves = [i for i, item in enumerate(items) if not _whole_text(item)]
    if halves:
        raise InputError(f"row {halves[0]} has half of a character (a surrogate alone), which is not Unicode", halves)
    return items


def _whole_text(text: str) -> bool:
    """Whether a text has no surrogates, with which the libraries of tokens fail in ways of their own."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole(data: Any) -> Any:
    """A batch of pyarrow as its table, which narwhals knows."""
    pyarrow = sys.modules.get("pyarrow")  # without it, data is no batch
    return pyarrow.Table.from_batches([data]) if pyarrow and isinstance(data, pyarrow.RecordBatch) else data


def _array(data: Any, dim: int) -> Floats:
    kind = type(data).__module__.split(".")[0] + "." + type(data).__name__
    if any(inspect.getattr_static(data, name, None) is not None for name in _NAMED):
        raise InputError(f"a {kind} is not read: give an array or lists of numbers, or a data frame in memory of pandas, polars or pyarrow")
    try:
        values = np.ma.asarray(data) if _masked(data) else np.asarray(data)
    except ValueError as err:
        raise InputError(f"rows of different lengths: {err}") from err
    if values.shape == (0,):
        values = values.reshape(0, dim)  # a list of no rows does not say how long they are
    if values.ndim != 2 or values.shape[1] != dim:
        raise InputError(f"features of the shape {values.shape} ({kind}), not rows x {dim}: give a table of numbers, or a data frame in memory")
    return _float32(values, "the array")


def _masked(data: Any) -> bool:
    """Whether values can be masked, in an array or in a list of rows."""
    rows = data if isinstance(data, (list, tuple)) else [data]
    return any(isinstance(row, np.ma.MaskedArray) for row in rows)


def _float32(values: NDArray[Any], what: str) -> Floats:
    if values.dtype.kind not in "biuf":
        raise InputError(f"{what} has the type {values.dtype}; features are numbers")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, which is refused below
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float32), np.nan)  # missing, which is refused below
        return np.ascontiguousarray(values, np.float32)


def _columns(frame: "nw.DataFrame[Any]", names: list[str]) -> Floats:
    if frame.columns == names and frame.implementation.is_pandas() and all(kind == np.float32 for kind in frame.to_native().dtypes):
        return np.ascontiguousarray(frame.to_numpy(), np.float32)  # one block in memory: nothing is copied
    out = np.empty((len(frame), len(names)), np.float32)
    for i, name in enumerate(names):
        kind = frame[name].dtype
        if not (kind.is_integer() or kind.is_float() or kind == nw.Boolean):
            raise InputError(f"column {name!r} has the type {kind}; features are numbers")
        cast = frame[name].null_count() or kind in (nw.Int128, nw.UInt128)  # numpy has neither
        values = frame[name].cast(nw.Float32) if cast else frame[name]
        out[:, i] = _float32(values.to_numpy(), f"column {name!r}")
    return out


def _lists(column: "nw.Series[Any]", dim: int) -> Floats:
    try:
        native = column.to_native()
        lists = native.chunk(0) if getattr(native, "num_chunks", 0) == 1 else column.to_arrow()  # the latter copies a chunk of pyarrow
    except ImportError as err:
        raise InputError("a column of lists needs pyarrow: pip install 'pipe-defer[frames]'") from err
    except ValueError as err:
        raise InputError(f"the column 'features' has the type {column.dtype}, which pyarrow does not read: {err}") from err
    if not hasattr(lists, "flatten") or len(lists) and set(lists.value_lengths().to_pylist()) != {dim}:
        raise InputError(f"the column 'features' does not hold lists of {dim} numbers")
    return _float32(lists.flatten().to_numpy(zero_copy_only=False).reshape(len(lists), dim), "the column 'features'")


def _finite(values: Floats) -> Floats:
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()
    if bad:
        at = int(np.flatnonzero(~np.isfinite(values[bad[0]]))[0])
        raise InputError(f"{len(bad)} of {len(values)} rows have a feature that is missing or not finite: the first is row {bad[0]}, feature {at}", bad)
    return values
