#!/usr/bin/env python3
"""Write the theorem-aligned synthetic problem as a cost tensor, with pyarrow alone.

usage: sample.py OUT.parquet [ROWS]      for machines without the real data
       sample.py --usage OUT.parquet     its pairs use tokens and calls, whose prices make measured fees
"""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEE = 0.08
MEANS = np.array([[0.38, 1.08, 0.50, 0.51], [0.55, 0.18, 0.30, 0.90]])  # first coordinate < 0, >= 0


PRICES = {"currency": "USD", "models": {"first": [{"in": 4, "out": 16, "call": 0.01}], "second": [{"in": 8, "cached": 2, "out": 20}]}}
PER_LOSS = 0.5


def use(x):
    """What every pair uses, and what it costs, rows x 4. How many tokens are cached is known of the second expert alone."""
    size = np.stack([x[:, 0] > 0, x[:, 1] > 0, x[:, 0] < x[:, 1], x[:, 0] < 0], 1) + 0.5
    tokens_in, tokens_out, calls = np.round(8000 * size), np.round(1500 * (2 - size)), np.tile([1.0, 1, 1, 2], (len(x), 1))
    cached = np.round(tokens_in * [0, 0, 0.25, 0.5])
    rates = {k: np.repeat([PRICES["models"][e][0].get(k, 0) for e in ("first", "second")], 2) for k in ("in", "cached", "out", "call")}
    fee = ((tokens_in - cached) * rates["in"] + cached * rates["cached"] + tokens_out * rates["out"]) / 1e6 + calls * rates["call"]
    cached[:, :2] = np.nan
    usage = {"tokens_in": tokens_in, "tokens_cached": cached, "tokens_out": tokens_out, "calls": calls}
    return {"fee": fee / PER_LOSS, **usage}


def main():
    usage = sys.argv[1] == "--usage"
    out, *count = sys.argv[1 + usage:]
    rows = int(count[0]) if count else 2000
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
    chance = MEANS[(x[:, 0] >= 0).astype(int)] - np.array([0, FEE, 0, FEE])
    loss = (rng.random((rows, 4)) < chance).astype(np.float32)
    actions = {"format": 1, "experts": [{"name": "first", "fee": 0}, {"name": "second", "fee": 0}],
               "advice": [{"name": "none", "fee": 0}, {"name": "hint", "fee": FEE}],
               "features": {"name": "synthetic", "dim": 2}}
    lists = {"features": x, "loss": loss, **(use(x) if usage else {})}
    meta = {"pipe.actions": json.dumps(actions)}
    if usage:
        meta |= {"pipe.money": json.dumps({"currency": "USD", "per_loss": PER_LOSS}), "pipe.prices": json.dumps(PRICES)}
    table = pa.table({
        "id": [f"row{i}" for i in range(rows)],
        "split": ["val" if i % 4 == 3 else "train" for i in range(rows)],
        **{name: pa.array(list(v), pa.list_(pa.float32())) for name, v in lists.items()},
    }).replace_schema_metadata(meta)
    pq.write_table(table, out)


if __name__ == "__main__":
    main()
