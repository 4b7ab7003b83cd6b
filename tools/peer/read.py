#!/usr/bin/env python3
"""Time reading a cost tensor of 39,222 x 512 features in Go (BenchmarkReadFile) and in pyarrow, interleaved.

usage: read.py [--rows N] [--dim D] [--rounds N]

Both sides end with all features as one float32 matrix and the losses as another; Go also checks
every value, id and split. The files are written by pyarrow, as it does by default and plain.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
ACTIONS = ('{"format":1,"experts":[{"name":"a","fee":0},{"name":"b","fee":0.04},{"name":"c","fee":0.08}],'
           '"advice":[{"name":"none","fee":0},{"name":"x","fee":0.03},{"name":"y","fee":0.06},{"name":"z","fee":0.09}]}')


def make_table(rows, dim, pairs=12):
    rng = np.random.default_rng(0)
    lists = lambda width, values: pa.ListArray.from_arrays(
        np.arange(0, rows * width + 1, width, dtype=np.int32), values.astype(np.float32).ravel())
    return pa.table({
        "id": [f"{i}" for i in range(rows)], "split": ["val" if i % 4 == 3 else "train" for i in range(rows)],
        "features": lists(dim, rng.standard_normal((rows, dim))),
        "loss": lists(pairs, rng.integers(0, 2, (rows, pairs))),
    }).replace_schema_metadata({"pipe.actions": ACTIONS})


def by_pyarrow(path, dim):
    start = time.perf_counter()
    table = pq.read_table(path)
    for name in ("features", "loss"):
        column = table[name].combine_chunks()
        column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    assert table.num_rows and column is not None
    return time.perf_counter() - start


def by_go(binary, path):
    done = subprocess.run([binary, "-test.run", "^$", "-test.bench", "^BenchmarkReadFile$", "-test.benchtime", "3x"],
                          cwd=os.path.join(ROOT, "costs"), env={**os.environ, "PIPE_BENCH_COSTS": path},
                          check=True, capture_output=True, text=True)
    return float(re.search(r"([0-9.e+]+) ns/op", done.stdout).group(1)) / 1e9


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=39222)
    p.add_argument("--dim", type=int, default=512)
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "costs.test")
        subprocess.run(["go", "test", "-c", "-o", binary, "./costs"], cwd=ROOT, check=True)
        table = make_table(a.rows, a.dim)
        for kind, options in (("pyarrow's defaults", {}), ("plain", {"use_dictionary": False, "compression": "none"})):
            path = os.path.join(folder, "t.parquet")
            pq.write_table(table, path, **options)
            by_pyarrow(path, a.dim)  # warms the page cache for both
            pairs = [(by_pyarrow(path, a.dim), by_go(binary, path)) for _ in range(a.rounds)]
            theirs, ours = (statistics.median(c) for c in zip(*pairs))
            ratio = statistics.median(t / o for t, o in pairs)
            print(f"{a.rows} x {a.dim}, {kind}: pyarrow {theirs:.3f} s, ours {ours:.3f} s, pyarrow / ours {ratio:.2f}")


if __name__ == "__main__":
    main()
