#!/usr/bin/env python3
"""Decide the same rows in four runtimes and compare: Go, Python, node and WebAssembly.

usage: verify.py POLICY.onnx TENSOR.parquet --pipe BIN --modules NODE_MODULES
       verify.py MERGED.onnx ROWS.jsonl --parts POLICY.onnx ENCODER --pipe BIN --modules NODE_MODULES

The first form gives a policy the features of a tensor; the second gives a file of pipe convert --merge the token ids of
claims, made by Python's tokenizers, or the pixels that pictures.py wrote, and holds it against policy and encoder, run by Go one
after the other from the text or the image file on.
The reference is Python's onnxruntime, all rows in one batch. Actions, expert and advice must be identical in every row;
scores may differ in the last bits, which is printed. Exit status 1 on any difference.
"""

import argparse
import csv
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


def count(feeds):
    return len(next(iter(feeds.values())))


def by_python(policy, feeds, batch):
    """Decisions (rows x 3) and scores, `batch` rows at a time."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(policy, options, providers=["CPUExecutionProvider"])
    names = ["action", "expert", "advice", "scores"]
    parts = [session.run(names, {k: v[at:at + batch] for k, v in feeds.items()}) for at in range(0, count(feeds), batch)]
    a, e, k, s = (np.concatenate(column) for column in zip(*parts))
    return np.stack([a, e, k], 1).astype(np.int32), s, onnxruntime.__version__


def by_go(policy, source, pipe, folder, raw=()):
    out = os.path.join(folder, "decisions.csv")
    subprocess.run([pipe, "decide", "--policy", policy, "--in", source, "--out", out, "--scores", *raw], check=True,
                   stderr=subprocess.DEVNULL if not sys.stderr.isatty() else None)
    with open(out, newline="") as f:
        rows = list(csv.reader(f))
    head, rows = rows[0], rows[1:]
    at = [head.index(n) for n in ("action", "expert_index", "advice_index")]
    scores = [i for i, n in enumerate(head) if n.startswith("score ")]
    return (np.array([[int(r[i]) for i in at] for r in rows], np.int32),
            np.array([[float(r[i]) for i in scores] for r in rows], np.float32), "")


def by_javascript(runtime, policy, feeds, modules, folder):
    """Batches of different sizes, the last one short, try the free batch dimension as well."""
    out = os.path.join(folder, runtime)
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
    return (decisions, np.frombuffer(blob, "<f4", offset=rows * 12).reshape(rows, -1),
            json.loads(done.stdout.splitlines()[-1])["version"])


def check_file(policy):
    """The file's metadata, after onnx.checker with shape inference; standard operators only."""
    onnx.checker.check_model(policy, full_check=True)
    model = onnx.load(policy)
    foreign = {o.domain for o in model.opset_import} - {"", "ai.onnx"}
    if foreign:
        raise SystemExit(f"verify: error: {policy}: operators outside the standard set: {sorted(foreign)}")
    about = {p.key: p.value for p in model.metadata_props}
    if "pipe.actions" not in about:
        raise SystemExit(f"verify: error: {policy}: no pipe.actions in its metadata")
    return about


def compare(name, got, want):
    """Print one line; true if all decisions are the same."""
    decisions, scores, version = got
    if decisions.shape != want[0].shape or scores.shape != want[1].shape:
        print(f"FAIL {name}: decisions {decisions.shape}, scores {scores.shape}; expected {want[0].shape}, {want[1].shape}")
        return False
    wrong = np.flatnonzero((decisions != want[0]).any(1))
    gap = np.nanmax(np.abs(np.where(np.isfinite(want[1]), scores - want[1], 0)))
    line = f"{name + ' ' + version:28s} {len(decisions) - len(wrong)} of {len(decisions)} rows the same"
    print(f"{'FAIL' if len(wrong) else 'ok  '} {line}, scores within {gap:.1e}")
    for n in wrong[:5]:
        top = np.sort(want[1][n])[::-1]
        print(f"     row {n}: {decisions[n].tolist()} against {want[0][n].tolist()}, the two best scores are {top[0] - top[1]:.1e} apart")
    return len(wrong) == 0


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
    print(f"ok   onnx.checker {onnx.__version__}: full check, standard operators only")
    plain, raw = a.policy, []
    if a.parts:
        plain, encoder = a.parts
        flags, read = RAW[json.loads(about["pipe.encoder.info"])["input"]]
        raw, feeds = ["--encoder", encoder, *flags], read(a.source, about)
    else:
        feeds = read_features(a.source)
    rows = count(feeds)
    want = by_python(a.policy, feeds, rows)
    action, expert, advice = want[0].T
    ok = compare("python, row by row", by_python(a.policy, feeds, 1), want)
    if not (action == expert * levels + advice).all():
        print("FAIL action is not expert * levels + advice")
        ok = False
    with tempfile.TemporaryDirectory() as folder:
        for name, got in (
            ("go", by_go(plain, a.source, a.pipe, folder, raw)),
            ("onnxruntime-node", by_javascript("node", a.policy, feeds, a.modules, folder)),
            ("onnxruntime-web wasm", by_javascript("web", a.policy, feeds, a.modules, folder)),
        ):
            ok = compare(name, got, want) and ok
    used = len(np.unique(action))
    print(f"{'ok  ' if ok else 'FAIL'} {rows} rows, {used} of {want[1].shape[1]} actions chosen at least once")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
