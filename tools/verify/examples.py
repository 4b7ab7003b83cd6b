#!/usr/bin/env python3
"""Run every program of examples/ whose tools are there, and compare 1,000 decisions of each with pipe decide.

usage: examples.py FOLDER --pipe BIN --kept THIRD_PARTY_FOLDER --data DATA

The files are those that a service would run: an any-price policy, at several prices and with pairs left out; one that knows
what calls use, at prices of tokens; a policy whose prices were fixed; and, if DATA has texts and an encoder, policies behind
that encoder and behind one that is fitted to the texts. They go to FOLDER, and what is downloaded or built to
THIRD_PARTY_FOLDER. Expert and advice must be the same in every row, and expected costs must agree
within 1e-5, behind an encoder within 1e-4. A program is left out if its tools are not there, or if they cannot download what
it needs. Where CI=true, the second is an error, and so is a missing encoder. Exit status 1 on errors and on any difference.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers

import programs
from programs import run

ROWS = 1000
CI = os.environ.get("CI") == "true"
HERE = os.path.dirname(os.path.abspath(__file__))
EXPERTS = {"small": 0, 'the "large", one': 0.12, "Größe": 0.05}  # fees
ADVICE = {"none": 0, "search": 0.04, "web pages": 0.08}
PAIRS = [(e, a) for e in EXPERTS for a in ADVICE]


class Case:
    """A policy file, rows in the form of the examples, and the decisions of pipe: (expert, advice, expected cost) by row."""

    def __init__(self, pipe, name, policy, rows, source, flags=(), prices="", ids=""):
        self.name, self.policy, self.rows, self.prices, self.ids = name, policy, rows, prices, ids or rows
        self.within = 1e-4 if ids else 1e-5  # of expected costs: an encoder has many sums, whose order depends on the runtime's version
        out = os.path.join(os.path.dirname(rows), name.replace(" ", "-") + ".csv")
        run(pipe, "decide", "--policy", policy, "--in", source, "--out", out, "--quiet", *flags)
        with open(out, newline="", encoding="utf-8") as f:
            self.want = [(r["expert"], r["advice"], r["expected_cost"]) for r in csv.DictReader(f)]
        if len(self.want) != ROWS or len(set(self.want)) < ROWS / 2 or len({w[:2] for w in self.want}) < 3:
            raise SystemExit(f"verify: error: {name}: {len({w[:2] for w in self.want})} pairs in {len(self.want)} rows: too few to compare")


def train(pipe, folder, name, features, unavailable=(), used=None):
    """An any-price policy for features of that name. The losses of its costs depend on the first eight features. used(known)
    are lists and metadata of usage."""
    rng, dim = np.random.default_rng(1), features.shape[1]
    known = features[:, :8]
    known = (known - known.mean(0)) / known.std(0)
    chance = 1 / (1 + np.exp(known @ rng.normal(0, 1.5, (known.shape[1], len(PAIRS)))))
    loss = (rng.random(chance.shape) < chance).astype(np.float32)
    loss[:, [PAIRS.index(p) for p in unavailable]] = np.nan
    entries = [[{"name": n, "fee": f} for n, f in fees.items()] for fees in (EXPERTS, ADVICE)]
    actions = {"format": 1, "experts": entries[0], "advice": entries[1], "unavailable": [{"expert": e, "advice": a} for e, a in unavailable],
               "features": {"name": name, "dim": dim}}
    more, meta = used(known) if used else ({}, {})
    lists = {"features": features, "loss": loss, **more}
    table = {"id": [f"row{i}" for i in range(len(loss))], "split": ["val" if i % 4 == 3 else "train" for i in range(len(loss))]}
    table |= {k: pa.array(list(v), pa.list_(pa.float32())) for k, v in lists.items()}
    path, out = os.path.join(folder, name + ".parquet"), os.path.join(folder, "policy of " + name)
    pq.write_table(pa.table(table).replace_schema_metadata({"pipe.actions": json.dumps(actions), **meta}), path)
    run(pipe, "train", "--in", path, "--any-price", "--methods", "", "--config", os.path.join(HERE, "examples.yaml"), "--out", out, "--quiet")
    return os.path.join(out, "auto-any-price.onnx")


def draw_prices(seed, out=()):
    """Prices that leave out some pairs: the flags that set them for pipe, and the lists of the price inputs."""
    rng = np.random.default_rng(seed)
    lam = float(round(rng.uniform(0.5, 2), 2))
    fees = [[float(round(rng.uniform(0, 0.3), 3)) for _ in some] for some in (EXPERTS, list(ADVICE)[1:])]
    flags = ["--lambda", lam]
    for kind, names, own in (("expert", EXPERTS, fees[0]), ("advice", list(ADVICE)[1:], fees[1])):
        for name, fee in zip(names, own):
            flags += ["--fee", f"{kind}={name}:{fee}"]
    for e, a in out:
        flags += ["--without", f"pair={e}/{a}"]
    return flags, {"expert_fees": fees[0], "advice_fees": [0] + [lam * f for f in fees[1]], "available": [p not in out for p in PAIRS]}


def feature_cases(pipe, folder):
    features = np.random.default_rng(0).normal(0, 1, (3 * ROWS, 6)).astype(np.float32)
    policy = train(pipe, folder, "drawn", features[ROWS:], [PAIRS[8]])
    lines = [",".join(repr(float(v)) for v in row) for row in features[:ROWS]]
    rows, source = write(folder, "rows.txt", lines), write(folder, "rows.csv", [",".join(f"x{i}" for i in range(6)), *lines])
    yield Case(pipe, "any price as trained", policy, rows, source)
    for name, out in {"any price": (), "any price with a mask": (PAIRS[1], PAIRS[5])}.items():
        flags, prices = draw_prices(len(name), out)
        if out:  # the same prices as fees of pairs
            prices["pair_fees"] = [e + a for e in prices["expert_fees"] for a in prices["advice_fees"]]
            prices["expert_fees"], prices["advice_fees"] = [0] * len(EXPERTS), [0] * len(ADVICE)
        yield Case(pipe, name, policy, rows, source, flags, write(folder, name.replace(" ", "-") + ".json", [json.dumps(prices)]))
    frozen = os.path.join(folder, "frozen.onnx")
    run(pipe, "convert", policy, *flags, "--out", frozen)
    yield Case(pipe, "frozen", frozen, rows, source)
    yield usage_case(pipe, folder, features, rows, source)


def use(known):
    """Tokens and calls of every pair, and what they cost in dollars at 1 a loss; how many tokens are cached is known of the first expert alone."""
    size = 1 / (1 + np.exp(-known @ np.random.default_rng(2).normal(0, 1, (known.shape[1], len(PAIRS)))))
    usage = {"tokens_in": np.round(4000 * size), "tokens_cached": np.round(1000 * size), "tokens_out": np.round(2000 * (1 - size)), "calls": np.ones(size.shape)}
    usage["tokens_cached"][:, len(ADVICE):] = np.nan
    cached = np.nan_to_num(usage["tokens_cached"])
    fee = ((usage["tokens_in"] - cached) * 10 + cached * 1 + usage["tokens_out"] * 40) / 1e6 + 0.01
    models = {e: [{"in": 10, "cached": 1, "out": 40, "call": 0.01}] for e in EXPERTS}
    return {"fee": fee, **usage}, {"pipe.money": '{"currency": "USD", "per_loss": 1}', "pipe.prices": json.dumps({"currency": "USD", "models": models})}


def usage_case(pipe, folder, features, rows, source):
    """Prices of tokens and calls that differ by expert."""
    policy = train(pipe, folder, "used", features[ROWS:], used=use)
    names = ("in", "cached", "out", "call")
    models = {e: dict(zip(names, p)) for e, p in zip(EXPERTS, [(30.5, 7.25, 45, 0.02), (2.5, 2.5, 80, 0.07), (60, 60, 5, 0)])}
    file = write(folder, "prices.yaml", [json.dumps({"currency": "USD", "models": {e: [m] for e, m in models.items()}})])
    prices = write(folder, "used.json", [json.dumps({"price_" + n: [m[n] for m in models.values()] for n in names})])
    return Case(pipe, "prices of tokens", policy, rows, source, ["--prices", file], prices)


# Letters of foreign words, as first and last characters. Some scripts have marks that combine, some no spaces between words.
SCRIPTS = ["àÿ", "αω", "ая", "աֆ", "את", "اي", "कह", "ािੌ", "กฮ", "აჰ", "ぁん", "ァヴ", "一亿", "가갛", "ａｚ", "😀🙏", "𝐀𝐙", "٠٩"]


def foreign(texts):
    """The texts with foreign words in three of four; some have nothing else."""
    rng = np.random.default_rng(4)
    words = ["".join(chr(rng.integers(ord(s[0]), ord(s[-1]) + 1)) for _ in range(rng.integers(1, 5))) for s in SCRIPTS for _ in range(12)]
    for n, text in enumerate(texts):
        own = [words[i] + "!?;—。、"[rng.integers(6)] * int(i % 5 == 0) for i in rng.integers(len(words), size=n % 4 * 3)]
        yield " ".join(own if n % 12 == 11 else [text, *own])


def text_cases(pipe, folder, data):
    """Policies behind an encoder of random weights, for texts of which some are longer than its limit, and behind one that is
    fitted to texts, some of them foreign."""
    with open(os.path.join(data, "fever/paper_dev.jsonl"), encoding="utf-8") as f:
        claims = [" ".join(json.loads(line)["claim"].split()) for line, _ in zip(f, range(3 * ROWS))]
    encoder = os.path.join(folder, "encoder.onnx")
    run(pipe, "convert", os.path.join(data, "models/tiny-random/bert-tiny-random"), "--tokenizer", os.path.join(data, "models/all-MiniLM-L6-v2"),
        "--max-length", 48, "--out", encoder)
    yield text_case(pipe, folder, "merged", encoder, [c if n % 20 else " ".join([c] * 9) for n, c in enumerate(claims)])
    texts, fitted = list(foreign(claims)), os.path.join(folder, "fitted.onnx")
    source = write(folder, "fitted.jsonl", [json.dumps({"claim": c}) for c in texts[ROWS:]])
    run(pipe, "featurize", "--text", "claim", "--in", source, "--facts", "--max-length", 48, "--out", fitted)
    yield text_case(pipe, folder, "merged lexical", fitted, texts)


def text_case(pipe, folder, name, encoder, texts):
    """A policy behind an encoder, trained on the texts after the first ROWS."""
    ids, merged = token_ids(encoder, texts), os.path.join(folder, name + ".onnx")
    session = onnxruntime.InferenceSession(encoder, providers=["CPUExecutionProvider"])
    inputs = {"input_ids": lambda t: t, "attention_mask": lambda t: [1] * len(t), "token_type_ids": lambda t: [0] * len(t)}
    inputs = {v.name: inputs[v.name] for v in session.get_inputs()}
    vectors = np.concatenate([session.run(None, {n: np.array([of(t)], np.int64) for n, of in inputs.items()})[0] for t in ids])
    policy = train(pipe, folder, f"text {os.path.basename(encoder)}", vectors[ROWS:])
    run(pipe, "convert", encoder, "--merge", policy, *draw_prices(3)[0], "--out", merged)
    rows, source = write(folder, name + ".txt", texts[:ROWS]), write(folder, name + ".jsonl", [json.dumps({"claim": c}) for c in texts[:ROWS]])
    tokens = write(folder, f"ids of {name}.txt", [",".join(map(str, t)) for t in ids[:ROWS]])
    return Case(pipe, name, merged, rows, source, ["--text", "claim"], ids=tokens)


def token_ids(encoder, texts):
    about = {p.key: p.value for p in onnx.load(encoder).metadata_props}
    tokenizer = tokenizers.Tokenizer.from_str(about["pipe.encoder.tokenizer"])
    tokenizer.enable_truncation(json.loads(about["pipe.encoder.info"])["max_length"])
    tokenizer.no_padding()
    return [t.ids for t in tokenizer.encode_batch(texts)]


def write(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def compare(case, text):
    """The largest difference of expected costs. A wrong decision is a ValueError."""
    got = [tuple(line.split("\t")) for line in text.splitlines()]
    if len(got) != len(case.want):
        raise ValueError(f"{case.name}: {len(got)} decisions, not {len(case.want)}: {text[:200]}")
    wrong = [n for n, (g, w) in enumerate(zip(got, case.want)) if g[:2] != w[:2]]
    if wrong:
        raise ValueError(f"{case.name}: {len(wrong)} decisions differ, in row {wrong[0]} {got[wrong[0]]} and not {case.want[wrong[0]]}")
    gap = max(abs(float(g[2]) - float(w[2])) for g, w in zip(got, case.want))
    if not gap <= case.within:
        raise ValueError(f"{case.name}: expected costs differ by {gap}")
    return gap


def judge(program, cases):
    """One line about a program; true unless it failed."""
    start = time.monotonic()
    try:
        decided = program.decide(cases)
        gap = max(compare(c, text) for c, text in zip(cases, decided))
    except programs.Missing as missing:
        return f"skip {program.name:8s} {missing}", True
    except programs.NotFetched as failed:
        return f"{'FAIL' if CI else 'skip'} {program.name:8s} {failed}", not CI
    except (ValueError, OSError, RuntimeError) as failed:
        return f"FAIL {program.name:8s} {failed}", False
    return f"ok   {program.name:8s} {len(cases)} x {ROWS} decisions the same, expected costs within {gap:.1e}; {time.monotonic() - start:.1f} s", True


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--pipe", required=True)
    p.add_argument("--kept", required=True)
    p.add_argument("--data", required=True)
    a = p.parse_args()
    cases = list(feature_cases(a.pipe, a.folder))
    if all(os.path.exists(os.path.join(a.data, name)) for name in ("models/tiny-random/bert-tiny-random", "models/all-MiniLM-L6-v2", "fever/paper_dev.jsonl")):
        cases += text_cases(a.pipe, a.folder, a.data)
        ok = True
    else:
        print(f"{'FAIL' if CI else 'skip'} merged   no texts or no encoder in {a.data}")
        ok = not CI
    print("files: " + "; ".join(c.name for c in cases))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for line, good in pool.map(lambda program: judge(program, cases), programs.all_of(a.folder, a.kept)):
            print(line, flush=True)
            ok = ok and good
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
