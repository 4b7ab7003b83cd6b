#!/usr/bin/env python3
"""Time sentence vectors of claims, from texts to vectors: the Go encoder beside PyTorch, interleaved.

usage: encode.py [--model DIR] [--claims FILE] [--count N] [--rounds N] [--seconds S] [--threads N] [--ours FILE]

PyTorch in its usual form: transformers' AutoModel and fast AutoTokenizer, inference mode, all cores,
texts sorted by length, batches of 64 padded to their longest, mean pooling and normalisation. The Go
side is BenchmarkTextEncoder. A ratio is formed inside its round, and the medians are printed. With
--threads 1 on both sides the CPU time of a claim hardly depends on what else the machine does.
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
    """Claims per second, and CPU microseconds per claim, over at least some seconds."""
    rounds, start, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        peer.encode(texts)
        rounds += 1
    done = rounds * len(texts)
    return done / (time.perf_counter() - start), 1e6 * (time.process_time() - cpu) / done


def by_go(binary, seconds, threads):
    done = subprocess.run([binary, "-test.run", "^$", "-test.bench", "^BenchmarkTextEncoder$", "-test.benchtime", f"{seconds}s"],
                          cwd=os.path.join(ROOT, "featurize"), env={**os.environ, "GOMAXPROCS": str(threads)},
                          text=True, capture_output=True, check=True)
    return tuple(float(re.search(rf"([0-9.e+]+) {unit}", done.stdout).group(1)) for unit in ("claims/s", "cpu-us/claim"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default=os.path.join(DATA, "models/all-MiniLM-L6-v2"))
    p.add_argument("--claims", default=os.path.join(DATA, "fever/paper_dev.jsonl"))
    p.add_argument("--count", type=int, default=2048)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=4.0)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--ours", help="compiled test binary of ./featurize")
    a = p.parse_args()
    with open(a.claims) as f:
        texts = [json.loads(line)["claim"] for line, _ in zip(f, range(a.count))]
    torch.set_num_threads(a.threads)
    peer = Peer(a.model)
    peer.encode(texts[:256])  # warm
    with tempfile.TemporaryDirectory() as folder:
        binary = a.ours or os.path.join(folder, "featurize.test")
        if not a.ours:
            subprocess.run(["go", "test", "-c", "-o", binary, "./featurize"], cwd=ROOT, check=True)
        rounds = [by_go(binary, a.seconds, a.threads) + by_peer(peer, texts, a.seconds) for _ in range(a.rounds)]
    median = lambda of: statistics.median(of(*r) for r in rounds)
    print(f"{len(texts)} claims, {a.threads} threads, PyTorch {torch.__version__}, transformers {transformers.__version__}")
    print(f"claims/s: pipe {median(lambda o, _, t, __: o):.0f}, PyTorch {median(lambda _, __, t, ___: t):.0f}, "
          f"ratio {median(lambda o, _, t, __: o / t):.2f}")
    print(f"CPU us per claim: pipe {median(lambda _, o, __, ___: o):.0f}, PyTorch {median(lambda _, __, ___, t: t):.0f}, "
          f"ratio {median(lambda _, o, __, t: t / o):.2f}")


if __name__ == "__main__":
    main()
