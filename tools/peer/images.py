#!/usr/bin/env python3
"""Time the road from JPEG files to answers: the build's image experts beside a loop of Pillow and onnxruntime, interleaved.

usage: images.py [--rounds N] [--seconds S] [--ours FILE]

Python in its usual form: one image after the other is opened, converted, resized and cropped by Pillow, scaled by numpy,
and batches of 32 go through onnxruntime with its default of one thread per core. The Go side is BenchmarkImageRoad, once
per decoder that is there. Both read the 250 ImageNet files and run MobileNet v2 at 224. A ratio is formed inside its
round, from the runs before and after, and medians are printed. Steps are milliseconds per image: in Go on one core, in Python as they run.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
import PIL
from PIL import Image

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
DATA = os.environ.get("PIPE_DATA", os.path.join(ROOT, "../shared/data"))
BATCH, SIZE, SHORT = 32, 224, 256
STEPS = ["decode", "resize", "fill", "forward"]


class Peer:
    def __init__(self):
        folder = os.path.join(DATA, "imagenet/images")
        self.files = [os.path.join(folder, n) for n in sorted(os.listdir(folder))]
        self.session = onnxruntime.InferenceSession(os.path.join(DATA, "models/imagenet/mobilenet_v2_100_224.onnx"),
                                                    providers=["CPUExecutionProvider"])

    def run(self):
        """Images per second, and milliseconds per image of every step."""
        spent = dict.fromkeys(STEPS, 0.0)
        begin = last = time.perf_counter()

        def step(name):
            nonlocal last
            now = time.perf_counter()
            spent[name] += now - last
            last = now

        for start in range(0, len(self.files), BATCH):
            rows = []
            for file in self.files[start:start + BATCH]:
                with open(file, "rb") as f:
                    image = Image.open(f).convert("RGB")
                step("decode")
                image = crop(image)
                step("resize")
                rows.append((np.asarray(image, dtype=np.float32) / 127.5 - 1).transpose(2, 0, 1))
                step("fill")
            fed = np.stack(rows)
            step("fill")
            self.session.run(["probabilities"], {"pixel_values": fed})
            step("forward")
        return len(self.files) / (last - begin), {k: 1000 * v / len(self.files) for k, v in spent.items()}


def crop(image):
    w, h = image.size
    w, h = (SHORT, SHORT * h // w) if w <= h else (SHORT * w // h, SHORT)
    image = image.resize((w, h), Image.Resampling.BICUBIC)
    x, y = round((w - SIZE) / 2), round((h - SIZE) / 2)
    return image.crop((x, y, x + SIZE, y + SIZE))


def by_go(binary, decoder, seconds):
    """The same of the Go side; None where the decoder is missing."""
    done = subprocess.run([binary, "-test.run", "^$", "-test.bench", f"^BenchmarkImageRoad$/^decoder={decoder}$", "-test.benchtime", f"{seconds}s"],
                          cwd=os.path.join(ROOT, "experts/builder"), text=True, capture_output=True, check=True)
    if "images/s" not in done.stdout:
        return None
    number = lambda unit: float(re.search(rf"([0-9.e+-]+) {unit}", done.stdout).group(1))
    return number("images/s"), {s: number(f"{s}-ms") for s in STEPS}


def mean(a, b):
    return (a[0] + b[0]) / 2, {s: (a[1][s] + b[1][s]) / 2 for s in STEPS}


def median_steps(runs):
    return ", ".join(f"{s} {statistics.median(r[1][s] for r in runs):.2f}" for s in STEPS)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=4.0)
    p.add_argument("--ours", help="compiled test binary of ./experts/builder")
    a = p.parse_args()
    peer = Peer()
    peer.run()  # warms up
    with tempfile.TemporaryDirectory() as folder:
        binary = a.ours or os.path.join(folder, "build.test")
        if not a.ours:
            subprocess.run(["go", "test", "-c", "-o", binary, "./experts/builder"], cwd=ROOT, check=True)
        ours, theirs = {"standard": [], "libjpeg-turbo": []}, {"standard": [], "libjpeg-turbo": []}
        for _ in range(a.rounds):
            for decoder in ours:
                before, got, after = peer.run(), by_go(binary, decoder, a.seconds), peer.run()
                if got:
                    ours[decoder].append(got)
                    theirs[decoder].append(mean(before, after))
    print(f"{len(peer.files)} images, {os.cpu_count()} cores, Pillow {PIL.__version__}, onnxruntime {onnxruntime.__version__}")
    for decoder, runs in ours.items():
        if not runs:
            print(f"pipe, {decoder}: not installed")
            continue
        ratio = statistics.median(o[0] / t[0] for o, t in zip(runs, theirs[decoder]))
        print(f"pipe, {decoder}: {statistics.median(r[0] for r in runs):.1f} images/s, {ratio:.2f} times Python; ms per image on one core: {median_steps(runs)}")
    every = [r for runs in theirs.values() for r in runs]
    print(f"Python: {statistics.median(r[0] for r in every):.1f} images/s; ms per image: {median_steps(every)}")


if __name__ == "__main__":
    main()
