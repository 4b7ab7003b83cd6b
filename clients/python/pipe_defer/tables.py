"""Tables that pipe writes, as data frames: reports, decisions, cost tensors, logs."""

import os
import warnings
from pathlib import Path
from typing import Any, Literal

from .errors import Error, InputError

Library = Literal["pandas", "polars", "pyarrow"]

# Columns of CSV that are texts also where each value looks like a number.
_TEXTS = ("id", "expert", "advice", "name", "method", "group", "label", "split", "file")


def read(path: "str | os.PathLike[str]", library: Library = "pandas") -> Any:
    """A data frame of a file *.csv, *.jsonl (each may end in .gz) or *.parquet, or of a folder of Parquet parts."""
    return _as(_table(Path(path)), library)


def read_log(folder: "str | os.PathLike[str]", kind: Literal["decisions", "outcomes"] = "decisions", library: Library = "pandas") -> Any:
    """A data frame of the closed segments of a decision log (docs/log.md). Segments that are still open are left out, with a warning."""
    pyarrow = _pyarrow()
    closed = sorted(Path(folder).glob(f"{kind}-*.parquet"))
    left_out = [p.name for p in sorted(Path(folder).glob(f"{kind}-*.jsonl")) if p.with_suffix(".parquet") not in closed]
    if left_out:
        warnings.warn(f"{folder}: {', '.join(left_out)} is not closed and is left out; stopping the server closes it", stacklevel=2)
    if not closed:
        raise FileNotFoundError(f"{folder} has no closed segment of {kind}")
    return _as(pyarrow.concat_tables([_table(p) for p in closed], promote_options="default"), library)


def _table(path: Path) -> Any:
    pyarrow = _pyarrow()
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}")
    kind = Path(path.name.removesuffix(".gz")).suffix
    try:
        if path.is_dir() or kind == ".parquet":
            import pyarrow.parquet as parquet  # type: ignore[import-untyped]

            parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
            if not parts:
                raise InputError(f"the folder {path} has no Parquet files; of a report, read its report.csv")
            return pyarrow.concat_tables([parquet.ParquetFile(p).read() for p in parts], promote_options="default")
        with pyarrow.input_stream(str(path), compression="gzip" if path.name.endswith(".gz") else None) as stream:
            if kind == ".csv":
                import pyarrow.csv as csv  # type: ignore[import-untyped]

                types = {name: pyarrow.string() for name in _TEXTS}
                options = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
                return csv.read_csv(stream, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=options)
            if kind == ".jsonl":
                import pyarrow.json as lines  # type: ignore[import-untyped]

                return lines.read_json(stream)
    except FileNotFoundError:
        raise
    except (pyarrow.ArrowException, OSError) as err:  # OSError is of a broken .gz, too
        raise InputError(f"{path} cannot be read: {err}") from err
    raise InputError(f"{path} is no .csv, .jsonl or .parquet")


def _as(table: Any, library: Library) -> Any:
    if library == "pyarrow":
        return table
    if library == "pandas":
        return table.to_pandas()
    if library == "polars":
        import polars

        return polars.from_arrow(table)
    raise InputError(f"{library!r} is none of pandas, polars, pyarrow")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as err:
        raise Error("reading tables needs pyarrow: pip install 'pipe-defer[frames]'") from err
    return pyarrow
