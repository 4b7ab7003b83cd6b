#!/usr/bin/env python3
"""Time sentence vectors of claims, from texts to vectors: the Go encoder beside PyTorch, interleaved.

usage: encode.py [--model DIR] [--claims FILE] [--count N] [--rounds N] [--ours FILE]

PyTorch in its usual form: transformers' AutoModel and fast AutoTokenizer, inference mode, all cores,
texts sorted by length, batches of 64 padded to their longest, mean pooling and normalisation. The Go
side is BenchmarkTextEncoder. A ratio is formed inside its round; the medians are printed, and the
smallest cosine between the vectors of both sides is that of the golden test.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

import torch
import transformers

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
DATA = os.environ.get("PIPE_DATA", os.path.join(ROOT, "../shared/data"))
BATCH, MOST = 64, 256


class Peer:
    def __init__(self, folder):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def encode(self, texts):
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out = torch.empty(len(texts), self.model.config.hidden_size)
        for start in range(0, len(order), BATCH):
            at = order[start:start + BATCH]
            fed = self.tokenizer([texts[i] for i in at], padding=True, truncation=True, max_length=MOST, return_tensors="pt")
            hidden = self.model(**fed).last_hidden_state
            mask = fed["attention_mask"].unsqueeze(-1).float()
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            out[at] = torch.nn.functional.normalize(mean)
        return out


def by_peer(peer, texts, seconds):
    """Claims per second over at least some seconds."""
    rounds, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        peer.encode(texts)
        rounds += 1
    return rounds * len(texts) / (time.perf_counter() - start)


def by_go(binary, seconds):
    done = subprocess.run([binary, "-test.run", "^$", "-test.bench", "^BenchmarkTextEncoder$", "-test.benchtime", f"{seconds}s"],
                          cwd=os.path.join(ROOT, "featurize"), text=True, capture_output=True, check=True)
    return float(re.search(r"([0-9.e+]+) claims/s", done.stdout).group(1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default=os.path.join(DATA, "models/all-MiniLM-L6-v2"))
    p.add_argument("--claims", default=os.path.join(DATA, "fever/paper_dev.jsonl"))
    p.add_argument("--count", type=int, default=2048)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=4.0)
    p.add_argument("--ours", help="compiled test binary of ./featurize")
    a = p.parse_args()
    with open(a.claims) as f:
        texts = [json.loads(line)["claim"] for line, _ in zip(f, range(a.count))]
    peer = Peer(a.model)
    peer.encode(texts[:256])  # warm
    with tempfile.TemporaryDirectory() as folder:
        binary = a.ours or os.path.join(folder, "featurize.test")
        if not a.ours:
            subprocess.run(["go", "test", "-c", "-o", binary, "./featurize"], cwd=ROOT, check=True)
        pairs = []
        for _ in range(a.rounds):
            pairs.append((by_go(binary, a.seconds), by_peer(peer, texts, a.seconds)))
            print(f"round {len(pairs)}: pipe {pairs[-1][0]:.0f} claims/s, PyTorch {pairs[-1][1]:.0f}", flush=True)
    ours, theirs = (statistics.median(c) for c in zip(*pairs))
    ratio = statistics.median(o / t for o, t in pairs)
    print(f"{len(texts)} claims, {torch.get_num_threads()} threads of PyTorch {torch.__version__}, transformers {transformers.__version__}")
    print(f"pipe {ours:.0f} claims/s, PyTorch {theirs:.0f} claims/s, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
