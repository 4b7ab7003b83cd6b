"""Decide with a policy file: python decide.py POLICY.onnx ROWS [PRICES.json]. See examples/README.md."""

import hashlib
import json
import sys

import numpy as np
import onnxruntime

TYPES = {"float32": np.float32, "int64": np.int64, "bool": np.bool_}


def open_policy(path):
    """The session of a policy file, and its description."""
    with open(path, "rb") as f, open(path + ".json", encoding="utf-8") as g:
        model, about = f.read(), json.load(g)
    if about["format"] > 1 or hashlib.sha256(model).hexdigest() != about["sha256"]:
        raise SystemExit(f"{path}.json describes another file than {path}")
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]), about


def feature_batches(about, lines, prices):
    """One batch of all rows, with one row of prices for an any-price policy."""
    values = dict(about["prices"]["inputs"]) if "prices" in about else {}
    if prices.keys() - values.keys():
        raise SystemExit(f"{sorted(prices.keys() - values.keys())} are no prices that the policy takes; it takes {sorted(values)}")
    values.update(prices)
    feeds = {v["name"]: np.array([values[v["name"]]], TYPES[v["type"]]) for v in about["inputs"] if v["name"] in values}
    yield {"features": np.array([line.split(",") for line in lines], np.float32).reshape(len(lines), about["dim"]), **feeds}


def text_batches(about, lines):
    """The token ids of each text. Texts are not padded, as in pipe, so that scores do not depend on other texts."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(about["tokenizer"]))
    tokenizer.enable_truncation(about["tokens"]["max_length"])
    tokenizer.no_padding()
    for line in lines:
        t = tokenizer.encode(line)
        made = {"input_ids": t.ids, "attention_mask": t.attention_mask, "token_type_ids": t.type_ids}
        yield {v["name"]: np.array([made[v["name"]]], np.int64) for v in about["inputs"]}


def decide(session, about, batches):
    """Names of expert and advice, and the expected cost, of every row; None for policies that expect no cost."""
    outputs = [v["name"] for v in about["outputs"]]
    for feeds in batches:
        out = dict(zip(outputs, session.run(outputs, feeds)))
        for row, action in enumerate(out["action"]):
            if action >= out["scores"].shape[1] or not out["scores"][row, action] > -1e30:
                raise SystemExit("no decision for a row: a feature is not a number, or no pair is available")
            expert, advice = about["experts"][out["expert"][row]], about["advice"][out["advice"][row]]
            yield expert["name"], advice["name"], out["expected_cost"][row, action] if "expected_cost" in out else None


def main(policy, rows, prices=None):
    session, about = open_policy(policy)
    lines = open(rows, encoding="utf-8").read().splitlines()
    encoder = about.get("encoder", {}).get("input")
    if encoder == "text":
        batches = text_batches(about, lines)
    elif encoder:
        raise SystemExit(f"{policy} takes an {encoder}, which this example does not read")
    else:
        batches = feature_batches(about, lines, json.load(open(prices)) if prices else {})
    for expert, advice, cost in decide(session, about, batches):
        print(expert, advice, "" if cost is None else cost, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
