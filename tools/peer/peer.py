#!/usr/bin/env python3
"""Time training beside PyTorch in one sitting: microseconds per step and model, and ratios.

usage: peer.py [--shapes fever,synthetic,clip] [--head linear|low_rank] [--rounds N] [--seconds S]
               [--threads N] [--ours FILE | --no-ours] [--json FILE]

In every round each PyTorch loop and the Go benchmark BenchmarkTrain/<shape> run in turn for a time
slice; a ratio is formed inside its round, and the table shows the median over rounds and the range.
--ours takes a compiled test binary of ./models (go test -c); by default it is built here.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import contender

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
METRIC = re.compile(r"^(BenchmarkTrain/\S+?)(?:-\d+)?\s.*?([0-9.e+]+) us/step/model", re.M)
AIM = {"fever": (5, 1.5), "synthetic": (15, 3), "clip": (1.9, 1.3)}  # x plain, x best


def parse_args():
    p = argparse.ArgumentParser(description="training speed beside PyTorch in one sitting")
    p.add_argument("--shapes", default="fever,synthetic,clip")
    p.add_argument("--head", default="linear", choices=("linear", "low_rank"))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2.0, help="time slice of one contender in one round")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--ours", help="compiled test binary of ./models")
    p.add_argument("--no-ours", action="store_true", help="time PyTorch only")
    p.add_argument("--json", help="also write every measurement to this file")
    a = p.parse_args()
    a.shapes = a.shapes.split(",")
    unknown = [s for s in a.shapes if s not in contender.SHAPES]
    if unknown:
        p.error(f"unknown shape {unknown[0]!r}: {', '.join(contender.SHAPES)}")
    return a


def lineup(threads):
    """(kind, models, threads, copies): one process with all cores, and one process per core."""
    rows = [("plain", 1, threads, 1), ("fused", 1, threads, 1), ("compiled", 1, threads, 1),
            ("stack", 4, threads, 1), ("whole", 1, threads, 1), ("whole", 4, threads, 1), ("whole", 10, threads, 1)]
    return rows + ([("whole", 4, 1, threads), ("whole", 10, 1, threads)] if threads > 1 else [])


class Ours:
    """The Go benchmark, one sub-benchmark per line of its output."""

    def __init__(self, binary, folder):
        self.binary = os.path.abspath(binary) if binary else os.path.join(folder, "models.test")
        if not binary:
            subprocess.run(["go", "test", "-c", "-o", self.binary, "./models"], cwd=ROOT, check=True)

    def measure(self, shape, head, seconds):
        """name -> microseconds per step and model."""
        done = subprocess.run(
            [self.binary, "-test.run", "^$", "-test.bench", f"^BenchmarkTrain$/^{shape}$",
             "-test.benchtime", f"{seconds}s"], cwd=os.path.join(ROOT, "models"), text=True, capture_output=True)
        if done.returncode:
            raise SystemExit(f"peer: error: BenchmarkTrain/{shape}:\n{done.stdout}{done.stderr}")
        found = {name.removeprefix(f"BenchmarkTrain/{shape}").strip("/") or "default": float(value)
                 for name, value in METRIC.findall(done.stdout)}
        wanted = {n.removeprefix("low_rank/"): v for n, v in found.items()
                  if n.startswith("low_rank/") == (head == "low_rank")}
        if not wanted:
            raise SystemExit(f"peer: error: BenchmarkTrain/{shape} printed no us/step/model for head {head}")
        return {f"pipe, {n}": v for n, v in wanted.items()}


def sit(shape, args, ours):
    """All contenders of one shape, interleaved: list of rounds, each name -> microseconds."""
    torch_loops = []
    for kind, models, threads, copies in lineup(args.threads):
        c = contender.Contender(kind, shape, args.head, models, threads, copies)
        if c.fault:
            print(f"peer: {shape}: {c.name} left out: {c.fault}", file=sys.stderr)
            c.close()
            continue
        torch_loops.append(c)
    rounds = []
    for number in range(args.rounds):
        print(f"peer: {shape}: round {number + 1} of {args.rounds}", file=sys.stderr)
        times = {f"torch, {c.name}": c.measure(args.seconds) for c in torch_loops}
        if ours:
            times |= ours.measure(shape, args.head, args.seconds)
        rounds.append(times)
    for c in torch_loops:
        c.close()
    return rounds


def spread(values):
    return f"{statistics.median(values):8.3g}  ({min(values):.3g} to {max(values):.3g})"


def fastest(rounds, wanted):
    """The name with the smallest median among those that `wanted` accepts, or None."""
    names = [n for n in rounds[0] if wanted(n)]
    return min(names, key=lambda n: statistics.median(r[n] for r in rounds), default=None)


def report(shape, rounds):
    print(f"\n{shape}: microseconds per step and model, median (range) of {len(rounds)} rounds")
    for name in rounds[0]:
        print(f"  {name:44s} {spread([r[name] for r in rounds])}")
    best_of = {
        "plain loop": fastest(rounds, lambda n: n == "torch, plain"),
        "best PyTorch": fastest(rounds, lambda n: n.startswith("torch") and "processes" not in n),
        "best PyTorch, a process per core": fastest(rounds, lambda n: n.endswith("processes")),
    }
    mine = fastest(rounds, lambda n: n.startswith("pipe"))
    if not mine:
        return
    for (label, name), aim in zip(best_of.items(), (*AIM[shape], None)):
        if name:
            goal = f"  aim {aim:g}" if aim else ""
            print(f"  {label} / ours:".ljust(46), spread([r[name] / r[mine] for r in rounds]) + goal)


def main():
    args = parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        ours = None if args.no_ours else Ours(args.ours, folder)
        for shape in args.shapes:
            results[shape] = sit(shape, args, ours)
            report(shape, results[shape])
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"format": 1, "head": args.head, "threads": args.threads, "seconds": args.seconds,
                       "us_per_step_and_model": results}, f, indent=1)


if __name__ == "__main__":
    main()
