#!/usr/bin/env python3
"""Write models/testdata/torch_steps.json: a few AdamW steps by PyTorch in double precision.

usage: golden.py [OUTPUT]      (needs torch; no network, no data)

Layout of the file (every matrix is a list of rows, every number a float64):

  format    1
  data.k2   {experts, levels, beta, gamma, features [8][5], loss [8][J*(K+1)]}   J = 2, K = 2
  data.k1   the same eight feature rows with K = 1 (for the binary separated loss)
  initial   name -> weights; a case names its start here
  schedules [{base, total, warmup, rates [total]}]   cosine with linear warm-up, step by step
  cases     [{name, data, method, head, tau, lambda, unavailable, start,
              optimizer {lr, weight_decay, clip, betas, eps, schedule, total_steps, warmup},
              steps [3] {lr, loss, grad_norm, clip_factor},
              gradient  weights: of the first step, before clipping,
              final     weights after the third step}]

  weights   {layers [{w [out][in], b [out]}], head}
  head      linear:   {w [rows][z], b [rows]}
            low_rank: {rho [J], delta [K+1], a [J][z], m [J][z], g [K+1][z]}

Rows of a linear head: augmented = actions, expert-major; l2d = experts;
separated = r, q_0, q_1; separated_softmax = J router rows, then the query rows expert-major.

Every step uses all eight rows, so their order does not matter. cost = loss + beta_j + lambda*gamma_k;
the loss is the mean over rows before the update; an unavailable action is out of the softmax, of
the row maximum and of the sum. l2d sees the k = 0 columns only, for its maximum too. All parameters,
biases included, are decayed: p -= lr*wd*p, then the Adam step. clip_factor = min(1, clip/(norm+1e-6)).
Inputs and initial weights are multiples of 1/256, hence exact in float32; a float32 run by PyTorch
ends within 1e-6 of every weight.
"""

import json
import os
import sys

import torch

import method

BATCH, DIM, HIDDEN, EXPERTS = 8, 5, (7, 6), 2
BETA, GAMMA = [0.03125, 0.0625], [0.0, 0.015625, 0.046875]
STEPS, TOTAL = 3, 40
OUTPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/testdata/torch_steps.json")


def grid(values):
    return torch.round(values * 256) / 256


def make_data():
    features = grid(torch.randn(BATCH, DIM))
    data = {}
    for name, levels in (("k2", 3), ("k1", 2)):
        loss = grid(torch.rand(BATCH, EXPERTS * levels))
        data[name] = {"experts": EXPERTS, "levels": levels, "beta": BETA, "gamma": GAMMA[:levels],
                      "features": features, "loss": loss}
    return data


def rows_of(method_name, levels):
    return {"augmented": EXPERTS * levels, "l2d": EXPERTS, "separated": 1 + EXPERTS,
            "separated_softmax": EXPERTS + EXPERTS * levels}[method_name]


def start_of(case):
    return case["head"] + (str(rows_of(case["method"], case["levels"])) if case["head"] == "linear" else "")


def build(case):
    sizes = (DIM, *HIDDEN)
    if case["head"] == "low_rank":
        return method.make_scorer(sizes, EXPERTS, case["levels"], "low_rank")
    return method.make_scorer(sizes, 1, rows_of(case["method"], case["levels"]), "linear")


def randomise(model):
    for name, p in model.named_parameters():
        scale = 0.25 if p.dim() == 1 else 0.7 * p.shape[1] ** -0.5
        p.data = grid(torch.randn(p.shape) * scale)


def loss_of(case, scores, data):
    levels = data["levels"]
    fee = torch.tensor(data["beta"])[:, None] + case["lambda"] * torch.tensor(data["gamma"])[None, :]
    costs = data["loss"] + fee.flatten()
    if case["method"] == "augmented":
        keep = [i for i in range(EXPERTS * levels) if i not in case["unavailable"]]
        return method.augmented(scores, costs, case["tau"], keep) if case["unavailable"] else \
            method.augmented(scores, costs, case["tau"])
    if case["method"] == "l2d":
        return method.augmented(scores, costs[:, ::levels], case["tau"])
    if case["method"] == "separated":
        return method.separated(scores, costs)
    return method.separated_softmax(scores, costs, EXPERTS)


def tree(model, pick):
    """Weights (or gradients) of a model as nested lists; pick maps a parameter to a tensor."""
    layers = [{"w": pick(l.weight), "b": pick(l.bias)} for l in model.layers]
    head = model.head
    if isinstance(head, method.LowRankHead):
        return {"layers": layers, "head": {n: pick(getattr(head, n)) for n in ("rho", "delta", "a", "m", "g")}}
    return {"layers": layers, "head": {"w": pick(head.weight), "b": pick(head.bias)}}


def run(case, data, start):
    model = build(case)
    model.load_state_dict(start)
    o = case["optimizer"]
    adam = torch.optim.AdamW(model.parameters(), lr=o["lr"], betas=o["betas"], eps=o["eps"],
                             weight_decay=o["weight_decay"])
    steps, gradient = [], None
    for step in range(STEPS):
        adam.param_groups[0]["lr"] = method.learning_rate(o["lr"], step, o["total_steps"], o["schedule"], o["warmup"])
        adam.zero_grad()
        loss = loss_of(case, model(data["features"]), data)
        loss.backward()
        if step == 0:
            gradient = tree(model, lambda p: p.grad.clone())
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), o["clip"]).item()
        adam.step()
        steps.append({"lr": adam.param_groups[0]["lr"], "loss": loss.item(), "grad_norm": norm,
                      "clip_factor": min(1.0, o["clip"] / (norm + 1e-6))})
    return {"steps": steps, "gradient": gradient, "final": tree(model, lambda p: p.detach().clone())}


def optimizer(**changes):
    return {"lr": 0.02, "weight_decay": 0.0, "clip": 10.0, "betas": [0.9, 0.999], "eps": 1e-8,
            "schedule": "none", "total_steps": TOTAL, "warmup": 0.05, **changes}


def make_cases():
    def case(name, **over):
        c = {"name": name, "data": "k2", "method": "augmented", "head": "linear", "tau": 1.0, "lambda": 1.0,
             "unavailable": [], "optimizer": optimizer(), **over}
        c["levels"] = 3 if c["data"] == "k2" else 2
        return c

    cases = [case(f"{head}/tau={tau:g}", head=head, tau=float(tau))
             for head in ("low_rank", "linear") for tau in (0, 0.5, 1, 1.5, 2, 3)]
    cases += [
        case("low_rank/lambda=4", head="low_rank", **{"lambda": 4.0}),
        case("low_rank/decay=0.1", head="low_rank", optimizer=optimizer(weight_decay=0.1)),
        case("low_rank/clip=0.05", head="low_rank", optimizer=optimizer(clip=0.05)),
        case("low_rank/cosine,decay,clip", head="low_rank", tau=1.5,
             optimizer=optimizer(schedule="cosine", weight_decay=0.05, clip=0.1)),
        case("linear/cosine", optimizer=optimizer(schedule="cosine")),
        case("low_rank/unavailable", head="low_rank", unavailable=[1, 5]),
        case("linear/unavailable,tau=0.5", tau=0.5, unavailable=[4]),
        case("l2d", method="l2d"),
        case("l2d/tau=1.5", method="l2d", tau=1.5),
        case("separated", method="separated", data="k1"),
        case("separated_softmax/k1", method="separated_softmax", data="k1"),
        case("separated_softmax/k2", method="separated_softmax"),
    ]
    return cases


def plain(value):
    """Tensors to nested lists of short decimals."""
    if isinstance(value, torch.Tensor):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def write(path, golden):
    """One line per case keeps a change readable in a diff."""
    parts = [f'"{k}": {json.dumps(plain(v))}' for k, v in golden.items() if k != "cases"]
    cases = ",\n".join(json.dumps(plain(c)) for c in golden["cases"])
    with open(path, "w") as f:
        f.write("{" + ",\n".join(parts) + ',\n"cases": [\n' + cases + "\n]}\n")


def main():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)  # no gradient entry near zero, where a float32 Adam step is all rounding
    data, cases = make_data(), make_cases()
    starts, initial = {}, {}
    backbone = None
    for case in cases:
        name = case["start"] = start_of(case)
        if name in starts:
            continue
        model = build(case)
        randomise(model)
        if backbone is None:
            backbone = model.layers.state_dict()
        model.layers.load_state_dict(backbone)
        starts[name] = {k: v.clone() for k, v in model.state_dict().items()}
        initial[name] = tree(model, lambda p: p.detach().clone())
    for case in cases:
        case.update(run(case, data[case["data"]], starts[case["start"]]))
        case.pop("levels")
    rates = [{"base": 0.02, "total": t, "warmup": 0.05,
              "rates": [method.learning_rate(0.02, s, t, "cosine") for s in range(t)]} for t in (7, TOTAL)]
    write(sys.argv[1] if len(sys.argv) > 1 else OUTPUT,
          {"format": 1, "data": data, "initial": initial, "schedules": rates, "cases": cases})


if __name__ == "__main__":
    main()
