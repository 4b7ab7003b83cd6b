"""Judges of people on the weeks that `go test ./serve/people -run TestDays -days FOLDER` writes.

usage: python judges.py FOLDER

The minimum-cost flow in hindsight by ortools 9.15, and the linear program of the same by HiGHS (highspy 1.16): every request goes to the
network or to a person who may answer it; a person answers as many as the hours of the week have room for at the mean time. It knows all
requests before the first one, and no day, office hour or waiting time bounds it.
"""

import glob
import json
import statistics
import sys

import highspy
import numpy as np
from ortools.graph.python import min_cost_flow

SCALE = 1_000_000


def edges(week):
    for i, costs in enumerate(week["costs"]):
        for k, p in enumerate(week["people"]):
            if week["animal"][i] or not p["animals"]:
                yield i, k, costs[p["expert"]]


def flow(week):
    n, people = len(week["costs"]), week["people"]
    g = min_cost_flow.SimpleMinCostFlow()
    network, sink = n + len(people), n + len(people) + 1
    for i, costs in enumerate(week["costs"]):
        g.add_arc_with_capacity_and_unit_cost(i, network, 1, round(SCALE * costs[0]))
        g.set_node_supply(i, 1)
    for i, k, cost in edges(week):
        g.add_arc_with_capacity_and_unit_cost(i, n + k, 1, round(SCALE * cost))
    for k, p in enumerate(people):
        g.add_arc_with_capacity_and_unit_cost(n + k, sink, p["answers"], 0)
    g.add_arc_with_capacity_and_unit_cost(network, sink, n, 0)
    g.set_node_supply(sink, -n)
    assert g.solve() == g.OPTIMAL
    return g.optimal_cost() / SCALE


def program(week):
    n, people = len(week["costs"]), week["people"]
    all_edges = list(edges(week))
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(all_edges), n + len(people)
    lp.col_cost_ = np.array([cost - week["costs"][i][0] for i, _, cost in all_edges])
    lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), np.ones(lp.num_col_)
    lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
    lp.row_upper_ = np.append(np.ones(n), [float(p["answers"]) for p in people])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = 2 * np.arange(lp.num_col_ + 1)
    lp.a_matrix_.index_ = np.array([[i, n + k] for i, k, _ in all_edges]).ravel()
    lp.a_matrix_.value_ = np.ones(2 * lp.num_col_)
    h.passModel(lp)
    h.run()
    return h.getInfo().objective_function_value + sum(c[0] for c in week["costs"])


def main(folder):
    ratios = []
    for file in sorted(glob.glob(folder + "/week-*.json")):
        week = json.load(open(file))
        best, lp = flow(week), program(week)
        assert abs(best - lp) < 0.05, (best, lp)
        alone = sum(c[0] for c in week["costs"])
        ratios.append([r / best for r in week["results"]] + [alone / best])
        print(file.rsplit("/", 1)[1], "flow %.2f, linear program %.2f;" % (best, lp), "priced %.4f, greedy %.4f, one versus all %.4f, networks alone %.4f" % tuple(ratios[-1]))
    for name, column in zip(("priced", "greedy", "one versus all", "networks alone"), zip(*ratios)):
        print("%-15s mean %.4f, standard deviation %.4f, most %.4f" % (name, statistics.mean(column), statistics.stdev(column), max(column)))


main(sys.argv[1])
