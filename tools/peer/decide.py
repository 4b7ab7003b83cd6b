#!/usr/bin/env python3
"""Time a batch decision over many rows, Parquet to Parquet: pipe decide beside Python's onnxruntime.

usage: decide.py [--rows N] [--dim D] [--rounds N] [--pipe BIN] [--policy FILE]

Without --policy a small one is trained here on random losses. Python's side, pyarrow with
onnxruntime, is left out where onnxruntime is not installed.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import read


def by_pipe(pipe, policy, rows, out):
    start = time.perf_counter()
    subprocess.run([pipe, "decide", "--policy", policy, "--in", rows, "--out", out], check=True, capture_output=True)
    return time.perf_counter() - start


def by_python(policy, rows, out):
    import onnxruntime
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(policy, providers=["CPUExecutionProvider"])
    names = ["action", "expert", "advice"]
    writer = None
    for batch in pq.ParquetFile(rows).iter_batches(65536, columns=["id", "features"]):
        x = batch["features"].flatten().to_numpy().reshape(batch.num_rows, -1)
        part = pa.table({"id": batch["id"], **dict(zip(names, session.run(names, {"features": x})))})
        writer = writer or pq.ParquetWriter(out, part.schema)
        writer.write_table(part)
    writer.close()
    return time.perf_counter() - start


def make_policy(pipe, dim, folder):
    tensor = os.path.join(folder, "train.parquet")
    pq.write_table(read.make_table(2000, dim), tensor)
    subprocess.run([pipe, "train", "--in", tensor, "--recipe", "paper", "--seeds", "1", "--out", folder],
                   check=True, capture_output=True)
    return next(os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.startswith("ours") and n.endswith(".onnx"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--dim", type=int, default=64)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--pipe", default=os.path.join(read.ROOT, "bin/pipe"))
    p.add_argument("--policy")
    a = p.parse_args()
    contenders = {"pipe decide": lambda *files: by_pipe(a.pipe, *files)}
    try:
        import onnxruntime  # noqa: F401
        contenders["pyarrow and onnxruntime"] = by_python
    except ImportError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        policy = a.policy or make_policy(a.pipe, a.dim, folder)
        rows, out = os.path.join(folder, "rows.parquet"), os.path.join(folder, "out.parquet")
        x = np.random.default_rng(1).standard_normal(a.rows * a.dim, dtype=np.float32)
        offsets = np.arange(0, a.rows * a.dim + 1, a.dim, dtype=np.int32)
        pq.write_table(pa.table({"id": [str(i) for i in range(a.rows)],
                                 "features": pa.ListArray.from_arrays(offsets, x)}), rows)
        times = {name: [] for name in contenders}
        for _ in range(a.rounds):
            for name, run in contenders.items():
                times[name].append(run(policy, rows, out))
        for name, values in times.items():
            took = statistics.median(values)
            print(f"{a.rows} x {a.dim}, {name}: {took:.2f} s, {a.rows / took:.0f} rows/s")


if __name__ == "__main__":
    main()
