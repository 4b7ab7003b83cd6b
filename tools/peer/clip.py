#!/usr/bin/env python3
"""Compare both towers of CLIPs of real sizes, with random weights, with transformers.

usage: clip.py [--sizes b32 l14] [--layers N] [--threads N]

Each model is written in the layout of Hugging Face; `pipe convert` makes graphs from its weights, and ONNX
Runtime runs them on pixels, transformers on the result of CLIP's preprocessing. The output has the largest
differences of the vectors and, for images, the seconds per batch of 16, measured alternately.
l14 is in half precision, with the exact Gelu and the id of the end of old files.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
import torch
import transformers

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
DATA = os.environ.get("PIPE_DATA", os.path.join(ROOT, "../shared/data"))
TOKENIZER = os.path.join(DATA, "tokenizers/clip-vit-large-patch14")
MEAN, STD = np.float32([0.48145466, 0.4578275, 0.40821073]), np.float32([0.26862954, 0.26130258, 0.27577711])
TEXTS = ["a photo of a tench.", "art of the great white shark, in black and white.", "a plushie"]


def config(size, layers):
    if size == "b32":  # the defaults of the library
        return transformers.CLIPConfig(text_config={"num_hidden_layers": layers}, vision_config={"num_hidden_layers": layers})
    text = dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072, num_hidden_layers=layers, hidden_act="gelu", eos_token_id=2)
    vision = dict(hidden_size=1024, num_attention_heads=16, intermediate_size=4096, num_hidden_layers=2 * layers, patch_size=14, hidden_act="gelu")
    return transformers.CLIPConfig(projection_dim=768, text_config=text, vision_config=vision)


def draw(size, layers):
    torch.manual_seed(1)
    model = transformers.CLIPModel(config(size, layers)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1 and "norm" not in name:
                p.normal_(0, 0.05)  # biases start at 0
    return model.half() if size == "l14" else model


def convert(folder, tower, more=()):
    out = os.path.join(folder, tower + ".onnx")
    subprocess.run(["go", "run", "./cmd/pipe", "convert", folder, "--tower", tower, "--out", out, "--quiet", *more],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return out


def session(path, threads):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, o)


def texts(model, folder, threads):
    tokens = transformers.AutoTokenizer.from_pretrained(TOKENIZER)(TEXTS, padding=True, return_tensors="pt")
    want = model.text_projection(model.text_model(**tokens).pooler_output).numpy()
    run = session(convert(folder, "text", ["--tokenizer", TOKENIZER]), threads)
    got = run.run(None, {name: tokens[name].numpy() for name in ("input_ids", "attention_mask")})[0]
    return np.abs(got - want).max()


def images(model, folder, threads):
    pixels = np.random.default_rng(1).integers(0, 256, (16, 224, 224, 3), np.uint8)
    values = torch.tensor(((pixels.astype(np.float32) / 255 - MEAN) / STD).transpose(0, 3, 1, 2).copy())
    run = session(convert(folder, "vision"), threads)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        want = model.visual_projection(model.vision_model(pixel_values=values).pooler_output).numpy()
        middle = time.perf_counter()
        got = run.run(None, {"pixels": pixels})[0]
        seconds.append((time.perf_counter() - middle, middle - start))
    ours, theirs = (statistics.median(s) for s in zip(*seconds[1:]))
    return np.abs(got - want).max(), ours, theirs


@torch.inference_mode()
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sizes", nargs="+", default=["b32", "l14"], choices=["b32", "l14"])
    p.add_argument("--layers", type=int, default=12, help="of texts; l14 has twice as many of images")
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    print(f"{a.threads} threads, PyTorch {torch.__version__}, transformers {transformers.__version__}")
    for size in a.sizes:
        model = draw(size, a.layers)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            model = model.float()
            off = texts(model, folder, a.threads)
            worst, ours, theirs = images(model, folder, a.threads)
        print(f"{size}: texts off by {off:.1e}, images by {worst:.1e}; "
              f"16 images: pipe {ours:.2f} s, PyTorch {theirs:.2f} s, ratio {theirs / ours:.2f}")


if __name__ == "__main__":
    main()
