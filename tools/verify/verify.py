#!/usr/bin/env python3
"""Decide the same rows in four runtimes and compare: Go, Python, node and WebAssembly.

usage: verify.py POLICY.onnx TENSOR.parquet --pipe BIN --modules NODE_MODULES
       verify.py MERGED.onnx ROWS.jsonl --parts POLICY.onnx ENCODER --pipe BIN --modules NODE_MODULES

The first form gives a policy the features of a tensor; the second gives a file of pipe convert --merge the token ids of
claims, made by Python's tokenizers, or the pixels that pictures.py wrote, and holds it against policy and encoder, run by Go one
after the other from the text or the image file on. An any-price policy decides at drawn prices, another one in every row,
and is held against the files of pipe convert that have these prices fixed. If it knows what calls use, their prices are drawn too.
The reference is Python's onnxruntime, all rows in one batch. Actions, expert and advice must be identical in every row;
scores and what is expected may differ in the last bits, which is printed. Exit status 1 on any difference.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq


def read_features(path):
    """Input of a policy: features, rows x d float32, of a tensor file or a folder of parts."""
    column = ds.dataset(path, format="parquet").to_table(columns=["features"])["features"].combine_chunks()
    width = len(column[0])
    values = column.flatten().cast(pa.float32()).to_numpy()
    return {"features": np.ascontiguousarray(values.reshape(len(column), width))}


def read_tokens(path, about):
    """Inputs of a merged file: ids, mask and types of claims, rows x longest int64, by the tokenizer in its metadata."""
    import tokenizers

    with open(path) as f:
        claims = [json.loads(line)["claim"] for line in f if line.strip()]
    tokenizer = tokenizers.Tokenizer.from_str(about["pipe.encoder.tokenizer"])
    tokenizer.enable_truncation(json.loads(about["pipe.encoder.info"])["max_length"])
    tokenizer.enable_padding()
    texts = tokenizer.encode_batch(claims)
    values = {"input_ids": [t.ids for t in texts], "attention_mask": [t.attention_mask for t in texts],
              "token_type_ids": [t.type_ids for t in texts]}
    return {name: np.array(rows, np.int64) for name, rows in values.items()}


def read_pixels(path, _):
    """Input of a merged file: the pixels of the pictures beside their list, rows x height x width x 3 uint8."""
    return {"pixels": np.load(os.path.join(os.path.dirname(path), "pixels.npy"))}


# What an encoder reads: the flags that name a row's field to pipe decide, and the inputs of a merged file.
RAW = {"text": (["--text", "claim"], read_tokens), "image": (["--image", "image"], read_pixels)}


QUANTITIES = {"tokens_in": "in", "tokens_cached": "cached", "tokens_out": "out", "calls": "call"}  # with their names in price files


def draw_usage(about, rng, path):
    """Prices of what calls use, for a policy that knows it: the flags that set them for pipe, by the price file at path, and the inputs."""
    if "pipe.usage" not in about:
        return [], {}
    experts, usage, money = json.loads(about["pipe.actions"])["experts"], json.loads(about["pipe.usage"]), json.loads(about["pipe.money"])
    models = [{QUANTITIES[q]: round(old[j] * rng.uniform(0, 3), 3) for q, old in usage["prices"].items() if usage["known"][q][j]} for j in range(len(experts))]
    with open(path, "w") as f:
        json.dump({"currency": money["currency"], "models": {e["name"]: [m] for e, m in zip(experts, models)}}, f)
    prices = {"price_" + QUANTITIES[q]: [m.get(QUANTITIES[q], m["in"] if q == "tokens_cached" else 0) for m in models] for q in usage["prices"]}
    return ["--prices", path], {k: np.array([v], np.float32) / np.float32(money["per_loss"]) for k, v in prices.items()}


def draw_prices(about, number, folder):
    """Prices of an any-price policy: the flags that set them for pipe, and the inputs, one row each."""
    rng, actions = np.random.default_rng(0), json.loads(about["pipe.actions"])
    experts, advice = actions["experts"], actions["advice"]
    names = [f"{e['name']}/{v['name']}" for e in experts for v in advice]
    gone = {(u["expert"], u["advice"]) for u in actions.get("unavailable", [])}
    exists = np.array([(e["name"], v["name"]) not in gone for e in experts for v in advice])
    drawn = []
    for n in range(number):
        lam = float(round(rng.uniform(0, 8), 2))
        fees = [[float(round(rng.uniform(0, 0.3), 3)) for _ in some] for some in (experts, advice[1:])]
        out = exists & (rng.random(len(names)) < 0.2) if n % 2 else np.zeros(len(names), bool)
        out[np.flatnonzero(exists)[0]] = False
        priced, usage = draw_usage(about, rng, os.path.join(folder, f"prices{n}.yaml"))
        flags = ["--lambda", str(lam), *priced]
        for kind, some, own in (("expert", experts, fees[0]), ("advice", advice[1:], fees[1])):
            for item, fee in zip(some, own):
                flags += ["--fee", f"{kind}={item['name']}:{fee}"]
        for i in np.flatnonzero(out):
            flags += ["--without", f"pair={names[i]}"]
        drawn.append((flags, {
            "expert_fees": np.array([fees[0]], np.float32), "advice_fees": np.array([[0] + [lam * f for f in fees[1]]], np.float32),
            "pair_fees": np.zeros((1, len(names)), np.float32), "available": ~out[None], **usage}))
    return drawn


def check_prices(a, features, folder):
    """Compare an any-price policy in all runtimes, at another price in every row; the actions that were chosen, and whether all agree."""
    prices = draw_prices(check_file(a.policy), 6, folder)
    rows = len(features["features"])
    which = np.arange(rows) % len(prices)
    feeds = dict(features, **{k: np.concatenate([p[1][k] for p in prices])[which] for k in prices[0][1]})
    want = by_python(a.policy, feeds, rows)

    def merged(decide):
        """Decisions of a run per price, each row from the run of its price."""
        runs = [decide(n, flags, values) for n, (flags, values) in enumerate(prices)]
        return tuple(np.stack([r[i] for r in runs])[which, np.arange(rows)] for i in (0, 1)) + (runs[0][2],)

    def frozen(n, flags, _):
        cut = os.path.join(folder, f"fixed{n}.onnx")
        subprocess.run([a.pipe, "convert", a.policy, *flags, "--out", cut], check=True, capture_output=True)
        check_file(cut)
        return by_python(cut, features, rows)

    ok = compare_all(want, {
        "python, row by row": lambda: by_python(a.policy, feeds, 1),
        "python, one row of prices": lambda: merged(lambda n, _, values: by_python(a.policy, dict(features, **values), None)),
        "python, prices fixed": lambda: merged(frozen),
        "go": lambda: merged(lambda n, flags, _: by_go(a.policy, a.source, a.pipe, folder, flags)),
        "onnxruntime-node": lambda: by_javascript("node", a.policy, feeds, a.modules, folder),
        "onnxruntime-web wasm": lambda: by_javascript("web", a.policy, feeds, a.modules, folder),
    })
    return want, ok


def count(feeds):
    return len(next(iter(feeds.values())))


def by_python(policy, feeds, batch):
    """Decisions (rows x 3), and scores with all that is expected (rows x outputs x pairs), `batch` rows at a time; None: all at
    once, whatever the rows of the other inputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(policy, options, providers=["CPUExecutionProvider"])
    names = ["action", "expert", "advice", "scores", *(v.name for v in session.get_outputs() if v.name.startswith("expected_"))]
    if batch is None:
        batch = count(feeds)
    parts = [session.run(names, {k: v[at:at + batch] for k, v in feeds.items()}) for at in range(0, count(feeds), batch)]
    a, e, k, *s = (np.concatenate(column) for column in zip(*parts))
    return np.stack([a, e, k], 1).astype(np.int32), np.stack(s, 1), onnxruntime.__version__


def by_go(policy, source, pipe, folder, raw=()):
    """Decisions, scores, and expected losses and costs."""
    out = os.path.join(folder, "decisions.parquet")
    subprocess.run([pipe, "decide", "--policy", policy, "--in", source, "--out", out, "--scores", *raw], check=True,
                   stderr=subprocess.DEVNULL if not sys.stderr.isatty() else None)
    rows = pq.read_table(out)
    lists = [rows[n].to_pylist() for n in ("scores", "expected_losses", "expected_costs") if n in rows.column_names]
    return (np.stack([rows[n].to_numpy() for n in ("action", "expert_index", "advice_index")], 1).astype(np.int32),
            np.stack([np.array(v, np.float32) for v in lists], 1), "")


def by_javascript(runtime, policy, feeds, modules, folder):
    """Batches of different sizes, the last one short, try the free batch dimension as well."""
    folder = os.path.join(folder, runtime)
    os.mkdir(folder)
    out = os.path.join(folder, "decisions")
    few = next(iter(feeds.values())).ndim > 2  # pictures take memory
    batch = {"node": "16" if few else "1000", "web": "7" if few else "257"}[runtime]
    judge = os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge.mjs")
    inputs = []
    for name, v in feeds.items():
        raw = os.path.join(folder, name)
        v.tofile(raw)
        inputs += [name, str(v.dtype), "x".join(map(str, v.shape[1:])), raw]
    done = subprocess.run(["node", judge, runtime, modules, policy, batch, out, *inputs], check=True, capture_output=True, text=True)
    blob, rows = open(out, "rb").read(), count(feeds)
    decisions = np.frombuffer(blob, "<i4", rows * 3).reshape(rows, 3)
    about = json.loads(done.stdout.splitlines()[-1])
    return decisions, np.frombuffer(blob, "<f4", offset=rows * 12).reshape(about["outputs"], rows, -1).swapaxes(0, 1), about["version"]


def check_file(policy):
    """The file's metadata, after onnx.checker with shape inference; standard operators only, and boosted trees."""
    onnx.checker.check_model(policy, full_check=True)
    model = onnx.load(policy)
    foreign = {n.domain or n.op_type for n in model.graph.node
               if n.domain not in ("", "ai.onnx") and (n.domain, n.op_type) != ("ai.onnx.ml", "TreeEnsembleRegressor")}
    if foreign:
        raise SystemExit(f"verify: error: {policy}: operators outside the standard set: {sorted(foreign)}")
    about = {p.key: p.value for p in model.metadata_props}
    if "pipe.actions" not in about:
        raise SystemExit(f"verify: error: {policy}: no pipe.actions in its metadata")
    return about


def compare(name, got, want):
    """Print one line; true if all decisions are the same."""
    decisions, scores, version = got
    wanted = want[1][:, :scores.shape[1]] if name == "go" else want[1]  # the files of pipe decide have no tokens
    if decisions.shape != want[0].shape or scores.shape != wanted.shape:
        print(f"FAIL {name}: decisions {decisions.shape}, scores {scores.shape}; expected {want[0].shape}, {wanted.shape}")
        return False
    known = np.isfinite(wanted) & (np.abs(wanted) < 1e29)  # others are of pairs that do not exist, and of tokens that are not known
    gap = np.max(np.abs(scores - wanted)[known] / np.maximum(1, np.abs(wanted[known])))
    wrong = np.flatnonzero((decisions != want[0]).any(1))
    ok = len(wrong) == 0 and gap < 1e-4 and np.isnan(scores[np.isnan(wanted)]).all()
    line = f"{name + ' ' + version:28s} {len(decisions) - len(wrong)} of {len(decisions)} rows the same"
    print(f"{'ok  ' if ok else 'FAIL'} {line}, scores and what is expected within {gap:.1e}")
    for n in wrong[:5]:
        top = np.sort(want[1][n][0])[::-1]
        print(f"     row {n}: {decisions[n].tolist()} against {want[0][n].tolist()}, the two best scores are {top[0] - top[1]:.1e} apart")
    return ok


def compare_all(want, judges):
    """Compare what each of the judges, which run at the same time, decides with what is wanted; true if all agree."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = {name: pool.submit(decide) for name, decide in judges.items()}
        return all([compare(name, decided.result(), want) for name, decided in running.items()])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("policy")
    p.add_argument("source")
    p.add_argument("--parts", nargs=2, metavar=("POLICY", "ENCODER"))
    p.add_argument("--pipe", required=True)
    p.add_argument("--modules", required=True)
    a = p.parse_args()
    about = check_file(a.policy)
    levels = len(json.loads(about["pipe.actions"])["advice"])
    print(f"ok   onnx.checker {onnx.__version__}: full check, ONNX operators only")
    plain, raw = a.policy, []
    if a.parts:
        plain, encoder = a.parts
        flags, read = RAW[json.loads(about["pipe.encoder.info"])["input"]]
        raw, feeds = ["--encoder", encoder, *flags], read(a.source, about)
    else:
        feeds = read_features(a.source)
    rows = count(feeds)
    if "pipe.prices" in about:
        with tempfile.TemporaryDirectory() as folder:
            want, ok = check_prices(a, feeds, folder)
        used = len(np.unique(want[0][:, 0]))
        print(f"{'ok  ' if ok else 'FAIL'} {rows} rows, {used} of {want[1].shape[2]} actions chosen at least once")
        return 0 if ok else 1
    want = by_python(a.policy, feeds, rows)
    action, expert, advice = want[0].T
    ok = True
    if not (action == expert * levels + advice).all():
        print("FAIL action is not expert * levels + advice")
        ok = False
    with tempfile.TemporaryDirectory() as folder:
        ok = compare_all(want, {
            "python, row by row": lambda: by_python(a.policy, feeds, 1),
            "go": lambda: by_go(plain, a.source, a.pipe, folder, raw),
            "onnxruntime-node": lambda: by_javascript("node", a.policy, feeds, a.modules, folder),
            "onnxruntime-web wasm": lambda: by_javascript("web", a.policy, feeds, a.modules, folder),
        }) and ok
    used = len(np.unique(action))
    print(f"{'ok  ' if ok else 'FAIL'} {rows} rows, {used} of {want[1].shape[2]} actions chosen at least once")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
