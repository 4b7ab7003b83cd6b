"""Draws the tables of docs/monitor.md: python3 tables.py, or python3 tables.py big for those of the speed measurement."""
import json, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq

EXPERTS, ADVICE = ["small", "large"], ["none", "docs"]
ACTIONS = {"format": 1, "experts": [{"name": "small", "fee": 0}, {"name": "large", "fee": 0.05}],
           "advice": [{"name": "none", "fee": 0}, {"name": "docs", "fee": 0.02}]}

def draw(random, rows, features, shift=0.0, worse=0.0):
    x = random.normal(size=(rows, features)).astype("float32")
    x[:, 0] += shift
    x[:, 3] = random.integers(0, 3, rows)  # a category
    a, b = np.tanh(x[:, 0]), np.tanh(x[:, 1])
    wrong = np.stack([0.45 - 0.25 * a, 0.40 - 0.3 * a, 0.30 + 0.1 * b, 0.15 + 0.1 * b], axis=1) + worse
    return x, (random.random((rows, 4)) < wrong).astype("float32")

def lists(x):
    return pa.ListArray.from_arrays(np.arange(0, x.size + 1, x.shape[1], dtype="int32"), pa.array(x.ravel()))

def tensor(path, x, loss):
    rows = np.arange(len(x))
    table = pa.table({"id": rows, "split": np.where(rows % 4 == 0, "val", "train"), "features": lists(x), "loss": lists(loss)})
    pq.write_table(table.replace_schema_metadata({"pipe.actions": json.dumps(ACTIONS)}), path)

def log(path, random, x, loss):  # docs with either expert, at random
    expert = random.integers(0, 2, len(x))
    table = pa.table({"id": np.arange(len(x)), "features": lists(x), "expert": np.array(EXPERTS)[expert], "advice": ["docs"] * len(x),
                      "loss": loss[np.arange(len(x)), 2 * expert + 1]})
    pq.write_table(table, path, compression="none", use_dictionary=["expert", "advice"])

random = np.random.default_rng(1)
if sys.argv[1:] == ["big"]:
    tensor("big-costs.parquet", *draw(random, 40_000, 64))
    log("big-log.parquet", random, *draw(random, 1_000_000, 64))
else:
    tensor("costs.parquet", *draw(random, 8000, 8))
    tensor("same.parquet", *draw(random, 3000, 8))
    tensor("drift.parquet", *draw(random, 3000, 8, shift=0.5, worse=0.12))
