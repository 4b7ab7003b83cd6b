#!/usr/bin/env python3
"""Write the theorem-aligned synthetic problem as a cost tensor, with pyarrow alone.

usage: sample.py OUT.parquet [ROWS]      for machines without the real data
"""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEE = 0.08
MEANS = np.array([[0.38, 1.08, 0.50, 0.51], [0.55, 0.18, 0.30, 0.90]])  # first coordinate < 0, >= 0


def main():
    out, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
    chance = MEANS[(x[:, 0] >= 0).astype(int)] - np.array([0, FEE, 0, FEE])
    loss = (rng.random((rows, 4)) < chance).astype(np.float32)
    actions = {"format": 1, "experts": [{"name": "first", "fee": 0}, {"name": "second", "fee": 0}],
               "advice": [{"name": "none", "fee": 0}, {"name": "hint", "fee": FEE}],
               "features": {"name": "synthetic", "dim": 2}}
    table = pa.table({
        "id": [f"row{i}" for i in range(rows)],
        "split": ["val" if i % 4 == 3 else "train" for i in range(rows)],
        "features": pa.array(list(x), pa.list_(pa.float32())),
        "loss": pa.array(list(loss), pa.list_(pa.float32())),
    }).replace_schema_metadata({"pipe.actions": json.dumps(actions)})
    pq.write_table(table, out)


if __name__ == "__main__":
    main()
