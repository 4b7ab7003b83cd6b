"""Compares results of package risk, a JSON list of cases, with MAPIE's. Prints the number of compared ones by kind, or what differs."""
import json
import sys

import numpy as np
from mapie.risk_control.fwer_control import FWERFixedSequenceTesting, control_fwer
from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value, find_best_predict_param, get_r_hat_plus

wrong, kinds = [], {}


def check(kind, n, ours, theirs, rel=1e-8, within=0.0):
    kinds[kind] = kinds.get(kind, 0) + 1
    if not abs(ours - theirs) <= rel * abs(theirs) + 1e-280 + within:
        wrong.append((kind, n, ours, theirs))


def log_wealth(losses, grid, delta):
    """The running log wealth against every R of a grid, as the paper of RCPS has it."""
    n = len(losses)
    mean = (0.5 + np.cumsum(losses)) / (np.arange(1, n + 1) + 1)
    var = (0.25 + np.cumsum((losses - mean) ** 2)) / (np.arange(1, n + 1) + 1)
    var = np.concatenate([[0.25], var[:-1]])
    nu = np.minimum(1, np.sqrt(2 * np.log(1 / delta) / (n * var)))
    with np.errstate(divide="ignore"):
        return np.cumsum(np.log1p(-nu[:, None] * (losses[:, None] - grid[None, :])), axis=0)


def first(grid, wins):
    return grid[np.argmax(wins)] if wins.any() else 1.0


for n, c in enumerate(json.load(open(sys.argv[1]))):
    scores, losses = np.array(c["Scores"], dtype=np.float32), np.array(c["Losses"])
    grid = np.array(c["Thresholds"], dtype=np.float32)
    alpha, delta = c["Alpha"], c["Delta"]
    accepted = scores[:, None] <= grid[None, :]
    count = accepted.sum(axis=0)
    mean = np.where(count > 0, (losses[:, None] * accepted).sum(axis=0) / np.maximum(count, 1), 0.0)
    whole = np.round(mean * count, 9)
    mean = np.where(np.ceil(mean * count) != np.ceil(whole), np.nextafter(mean, 0), mean)  # MAPIE does not round a sum of losses
    p = compute_hoeffding_bentkus_p_value(mean, count, alpha, binary=c["Binary"])[:, 0]
    p = np.where(count == 0, 1.0, p)
    for ours, theirs in zip(c["P"], p):
        check("p-value", n, ours, theirs, 1e-7)
    valid = control_fwer(p, delta, FWERFixedSequenceTesting(n_starts=c["Starts"]))
    check("threshold by LTT", n, c["LTT"], valid.max() if len(valid) else -1)

    joint = losses[:, None] * accepted
    mean_all, plus = get_r_hat_plus(joint, grid, "crc", None, None, None)
    for ours, theirs in zip(c["Conformal"], plus):
        check("conformal risk", n, ours, theirs)
    if plus.min() < alpha and plus[0] < plus[-1]:
        best = find_best_predict_param(grid, plus, np.array([alpha]))[0]
        check("threshold by CRC", n, c["CRC"], int(np.flatnonzero(grid == best)[0]) if plus[0] < alpha else -1)

    few = losses[:200]
    steps = np.linspace(0.0, 1.0, 101)
    wealth = log_wealth(few, steps, delta)
    ours = first(steps, steps >= c["Bound"] - 1e-9) if c["Bound"] < 1 else 1.0
    check("betting bound", n, ours, first(steps, wealth.max(axis=0) > -np.log(delta)))
    columns = np.repeat(few[:, None], len(steps), axis=1)
    mapie = get_r_hat_plus(columns, steps, "rcps", "wsr", delta, 0.25)[1][0]
    # MAPIE adds the maxima of the two halves, which is more than the maximum of the whole, and its bound is then too small, unless
    # the first half ends at its own maximum.
    half, below = len(few) // 2, max(0, int(round(ours * 100)) - 1)
    if np.argmax(wealth[:half, below]) == half - 1:
        check("betting bound of MAPIE", n, ours, mapie)
    elif mapie > ours + 1e-9:
        wrong.append(("MAPIE's halves", n, ours, mapie))
print("wrong", wrong[:10], " ".join(f"{k}:{v}" for k, v in sorted(kinds.items())))
