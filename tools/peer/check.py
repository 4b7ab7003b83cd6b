#!/usr/bin/env python3
"""Check that every PyTorch contender computes the same training, and that the golden still holds.

usage: check.py      prints one line per check; exit status 1 if one fails
"""

import os
import sys
import tempfile

import torch

import contender
import golden
import method


def close(a, b, tolerance):
    return (a - b).abs().max().item() <= tolerance


def surrogate_family():
    log_p = torch.log_softmax(torch.randn(6, 5, dtype=torch.float64), 1)
    direct = {t: (log_p.exp() ** (t - 1) - 1) / (1 - t) for t in (0.0, 0.5, 1.5, 2.0, 3.0)}
    ok = all(close(method.comp_sum(log_p, t), phi, 1e-11) for t, phi in direct.items())
    return ok and close(method.comp_sum(log_p, 1 + 1e-7), method.comp_sum(log_p, 1), 1e-5)


def binary_is_a_case_of_softmax():
    scores, costs = torch.randn(9, 3, dtype=torch.float64), torch.rand(9, 4, dtype=torch.float64)
    zero = torch.zeros(9, dtype=torch.float64)
    r, q0, q1 = scores.T
    wide = torch.stack([zero, r, zero, q0, zero, q1], 1)
    return close(method.separated(scores, costs), method.separated_softmax(wide, costs, 2), 1e-12)


def golden_reproduces():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.json")
        sys.argv = ["golden.py", path]
        golden.main()
        torch.set_default_dtype(torch.float32)
        with open(path) as new, open(golden.OUTPUT) as kept:
            return new.read() == kept.read()


def trained(kind, head, models=1, steps=5):
    """Flat parameters of the first model after a few steps from the same start and order."""
    torch.manual_seed(5)
    loop = contender.KINDS[kind](contender.SHAPES["synthetic"], head, models)
    torch.manual_seed(6)
    for _ in range(steps):
        loop.step()
    if isinstance(loop, contender.Single):
        dense = lambda p: p.T if p.dim() == 2 else p
        body = [dense(p) for layer in loop.model.layers for p in (layer.weight, layer.bias)]
        h = loop.model.head
        last = [dense(h.weight), h.bias] if head == "linear" else [h.rho, h.delta, h.a, h.m, h.g]
        return torch.cat([p.detach().flatten() for p in body + last])
    return torch.cat([p.detach()[0].flatten() for p in loop.flat])


def contenders_agree():
    ok = True
    for head in ("linear", "low_rank"):
        plain = trained("plain", head)
        for kind in ("fused", "compiled", "stack", "whole"):
            gap = (trained(kind, head) - plain).abs().max().item()
            print(f"  {head} {kind}: within {gap:.1e} of plain after 5 steps")
            ok = ok and gap < 1e-4
    return ok


def main():
    torch.manual_seed(1)
    failed = 0
    for test in (surrogate_family, binary_is_a_case_of_softmax, golden_reproduces, contenders_agree):
        ok = bool(test())
        failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {test.__name__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
