"""The rule of FrugalML on the cost tensors that are named, beside `pipe train --cascade` (docs/results.md, "Cascades").

A base service answers every row. Each of its labels has a threshold of confidence, and an add-on service that is asked below it and whose
answer is then taken. At a factor on the fees, the choices of the labels do not depend on each other, so the rule that costs least on the
training rows is found by trying everything. FrugalML's own program solves this for a budget, with randomized choices between two rules.
The tensors need observed_label and observed_confidence, and no advice. It needs numpy and pyarrow:
    python frugalml.py digit.parquet ferplus.parquet
"""

import json
import sys

import numpy as np
import pyarrow.parquet as pq

FACTORS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6]


def best(loss, sure, label, fees):
    """The base, and (threshold, add-on) per label: they cost least on these rows."""
    found = (np.inf, 0, {})
    for base in range(len(fees)):
        total, rule = fees[base] * len(loss), {}
        for value in np.unique(label[:, base]):
            rows = np.flatnonzero(label[:, base] == value)
            rows = rows[np.argsort(sure[rows, base], kind="stable")]
            c = sure[rows, base]
            cuts = np.flatnonzero(np.r_[True, c[1:] > c[:-1], True])  # so many rows, the least sure ones, go on
            stay = np.r_[np.cumsum(loss[rows, base][::-1])[::-1], 0.0][cuts]
            pick = (stay[0], -np.inf, base)
            for more in set(range(len(fees))) - {base}:
                cost = stay + np.r_[0.0, np.cumsum(loss[rows, more] + fees[more])][cuts]
                if cost.min() < pick[0] - 1e-12:
                    cut = cuts[np.argmin(cost)]
                    pick = (cost.min(), np.inf if cut == len(c) else (c[cut - 1] + c[cut]) / 2, more)
            total += pick[0]
            rule[value] = pick[1:]
        if total < found[0]:
            found = (total, base, rule)
    return found[1:]


def play(base, rule, loss, sure, label, fees):
    """Mean loss and mean fees; a label that no training row has is accepted."""
    more = np.array([rule[v][1] if v in rule and s < rule[v][0] else base for v, s in zip(label[:, base], sure[:, base])])
    return loss[np.arange(len(loss)), more].mean(), fees[base] + np.where(more == base, 0, fees[more]).mean()


for path in sys.argv[1:]:
    table = pq.read_table(path, columns=["split", "loss", "observed_confidence", "observed_label"])
    experts = json.loads(table.schema.metadata[b"pipe.actions"])["experts"]
    fees = np.array([e["fee"] for e in experts])
    data = [np.array(table[name].to_pylist()) for name in ("loss", "observed_confidence", "observed_label")]
    train, val = ([d[np.array(table["split"].to_pylist()) == split] for d in data] for split in ("train", "val"))
    print(f"{path}\nfactor  base  training rows: loss, fees  validation rows: loss, fees, cost at factor 1")
    for factor in FACTORS:
        base, rule = best(*train, factor * fees)
        (a, b), (c, d) = play(base, rule, *train, fees), play(base, rule, *val, fees)
        print(f"{factor:g}  {experts[base]['name']}  {a:.4f}, {b:.4f}  {c:.4f}, {d:.4f}, {c + d:.4f}")
