"""Judges of budgets on the streams that `go test ./serve/budget -run TestStreams -streams FOLDER` writes.

usage: python judges.py FOLDER

HiGHS (highspy 1.16) solves the linear program in hindsight of each period. The budget pacer of paretobandit 0.1.1 decides on
the same streams, with everything made easy for it: the policy's own expected costs in place of learned ones, the true number
of requests of each period, a hard stop like that of pipe, and of its modes and learning rates the best for each stream.
"""

import glob
import json
import sys

import highspy
import numpy as np
from pareto_bandit.budget_pacer import BudgetPacer, PacingMode


def program(costs, billed, budget):
    """Value of the linear program: least sum of costs with at most the budget."""
    n, k = costs.shape
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n * k, n + 1
    lp.col_cost_ = costs.ravel()
    lp.col_lower_, lp.col_upper_ = np.zeros(n * k), np.ones(n * k)
    lp.row_lower_ = np.append(np.ones(n), -highspy.kHighsInf)
    lp.row_upper_ = np.append(np.ones(n), budget)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = 2 * np.arange(n * k + 1)
    lp.a_matrix_.index_ = np.column_stack([np.repeat(np.arange(n), k), np.full(n * k, n)]).ravel()
    lp.a_matrix_.value_ = np.column_stack([np.ones(n * k), billed.ravel()]).ravel()
    h.passModel(lp)
    h.run()
    return h.getInfo().objective_function_value


def pace(costs, uses, billed, budget, bounds, mode, rate, stop):
    """Cost and money of the pacer, and the most by which a period was exceeded."""
    cost = used = over = 0.0
    ids = [str(a) for a in range(costs.shape[1])]
    pacer = None
    for first, last in zip(bounds, bounds[1:]):
        target = budget / (last - first)
        if pacer is None:
            pacer = BudgetPacer(target, mode=mode, lr=rate)
        pacer.target_avg_spend_usd = target
        left = budget
        for i in range(first, last):
            extra = pacer.get_extra_cost_penalties({a: uses[i][int(a)] / target for a in ids}) if pacer.uses_soft else {}
            most = np.maximum(3 * uses[i], billed[i])
            open_ = [a for a in range(len(ids)) if not stop or most[a] <= left]
            if pacer.uses_hard:
                ceiling = pacer.get_cost_ceiling_per_1k(float(uses[i].max()))
                under = [a for a in open_ if ceiling is None or uses[i][a] <= ceiling]
                open_ = under or open_[:1]
            if not open_:
                cost += 1
                continue
            pick = min(open_, key=lambda a: costs[i][a] + extra.get(ids[a], 0.0))
            cost += costs[i][pick]
            used += billed[i][pick]
            left -= billed[i][pick]
            pacer.observe(float(billed[i][pick]))
        over = max(over, -left)
    return cost, used, over


def main(folder):
    ours_all, theirs_all = [], []
    for file in sorted(glob.glob(folder + "/stream-*.json")):
        s = json.load(open(file))
        costs, uses, billed = (np.array(s[key]) for key in ("costs", "uses", "billed"))
        bounds = s["periods"] + [len(costs)]
        best = sum(program(costs[a:b], billed[a:b], s["budget"]) for a, b in zip(bounds, bounds[1:]))
        tried = {}
        for mode in (PacingMode.SOFT, PacingMode.ADAPTIVE):
            for rate in (0.05, 0.01, 0.001):
                tried[mode.value, rate] = pace(costs, uses, billed, s["budget"], bounds, mode, rate, True)
        usual = tried["adaptive", 0.05]
        free = pace(costs, uses, billed, s["budget"], bounds, PacingMode.ADAPTIVE, 0.05, False)
        name, (cost, used, _) = min(tried.items(), key=lambda x: x[1][0])
        ours_all.append(s["ours"] / best)
        theirs_all.append(cost / best)
        print(
            f"seed {s['seed']:2d} {s['name']:42s} program {best:.3f}, ours {s['hindsight']:.3f} ({abs(s['hindsight'] / best - 1):.1e} apart); "
            f"pipe {s['ours'] / best:.4f}; paretobandit best {cost / best:.4f} ({name[0]}, {name[1]}), usual {usual[0] / best:.4f}, "
            f"without a hard stop {free[0] / best:.4f}, over by {100 * free[2] / s['budget']:.1f}% of the budget",
            flush=True,
        )
    ours, theirs = np.array(ours_all), np.array(theirs_all)
    print(f"pipe: mean {ours.mean():.4f}, sd {ours.std(ddof=1):.4f}, worst {ours.max():.4f}; paretobandit at its best: mean {theirs.mean():.4f}, sd {theirs.std(ddof=1):.4f}, "
          f"least {theirs.min():.4f}; pipe is cheaper on {int((ours < theirs).sum())} of {len(ours)}")


main(sys.argv[1])
