"""PyTorch contenders: each one is a training loop that a worker process runs for a time slice.

All of them train the augmented surrogate at tau = 1 with AdamW and clip 10, gathering minibatches
of a fresh permutation per epoch from tensors in memory; the costs are formed once, outside the loop.
"""

import multiprocessing
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

import method

CLIP, RATE = 10.0, 1e-3


@dataclass(frozen=True)
class Shape:
    name: str
    rows: int  # as in BenchmarkTrain
    batch: int
    sizes: tuple  # d, hidden...
    experts: int
    levels: int
    decay: float


SHAPES = {s.name: s for s in (
    Shape("fever", 4096, 128, (384, 128, 64), 3, 5, 1e-4),
    Shape("synthetic", 5120, 256, (2, 32, 32), 2, 2, 0.0),
    Shape("clip", 4096, 256, (512, 512, 256), 3, 4, 1e-3),
)}


def make_rows(shape):
    """Random features, rows x d, and costs, rows x A: the time of a step does not depend on them."""
    gen = torch.Generator().manual_seed(1)
    return (torch.randn(shape.rows, shape.sizes[0], generator=gen),
            torch.rand(shape.rows, shape.experts * shape.levels, generator=gen))


def batches(shape, models):
    """Endless row indices, models x batch; every model has its own order; the short tail is dropped."""
    while True:
        order = torch.stack([torch.randperm(shape.rows) for _ in range(models)])
        for start in range(0, shape.rows - shape.batch + 1, shape.batch):
            yield order[:, start:start + shape.batch]


class Single:
    """One model as most people write it; options turn on compilation and the fused optimiser."""

    def __init__(self, shape, head, models, compiled=False, fused=False):
        self.models = 1
        self.x, self.costs = make_rows(shape)
        self.model = method.make_scorer(shape.sizes, shape.experts, shape.levels, head)
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=shape.decay,
                                      fused=fused or None)
        self.next = batches(shape, 1)
        loss = lambda x, c: method.augmented(self.model(x), c)
        self.loss = torch.compile(loss) if compiled else loss

    def step(self):
        rows = next(self.next)[0]
        self.adam.zero_grad()
        self.loss(self.x[rows], self.costs[rows]).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.adam.step()


def stack_scores(params, x, experts, head):
    """Scores of S models at once: params are stacked S x ..., x is S x B x d, result S x B x A."""
    *layers, last = params
    for w, b in layers:
        x = torch.relu(torch.baddbmm(b[:, None, :], x, w))
    if head == "linear":
        return torch.baddbmm(last[1][:, None, :], x, last[0])
    rho, delta, a, m, g = last
    pair = (a[:, :, None, :] + m[:, :, None, :] * g[:, None, :, :]).flatten(1, 2)
    bias = (rho[:, :, None] + delta[:, None, :]).flatten(1)
    return torch.baddbmm(bias[:, None, :], x, pair.transpose(1, 2))


def stack_loss(params, x, weights, experts, head):
    """Sum over models of the mean augmented loss at tau = 1; weights are max c - c, S x B x A."""
    log_p = F.log_softmax(stack_scores(params, x, experts, head), dim=-1)
    return -(weights * log_p).sum() / x.shape[1]


def stack_params(shape, head, models):
    """Parameters of `models` scorers, one tensor per kind; dense weights are stored in x out."""
    scorers = [method.make_scorer(shape.sizes, shape.experts, shape.levels, head) for _ in range(models)]
    stack = lambda pick: torch.stack([pick(s).detach().clone() for s in scorers]).contiguous().requires_grad_()
    params = [[stack(lambda s: s.layers[i].weight.T), stack(lambda s: s.layers[i].bias)]
              for i in range(len(shape.sizes) - 1)]
    if head == "linear":
        params.append([stack(lambda s: s.head.weight.T), stack(lambda s: s.head.bias)])
    else:
        params.append([stack(lambda s, n=n: getattr(s.head, n)) for n in ("rho", "delta", "a", "m", "g")])
    return params


def clip_each(grads):
    """Scale the gradients of every model (leading axis) to a global norm of at most CLIP."""
    square = sum(g.flatten(1).square().sum(1) for g in grads)
    factor = torch.clamp(CLIP / (square.sqrt() + 1e-6), max=1.0)
    return [g * factor.view(-1, *[1] * (g.dim() - 1)) for g in grads]


class Stack:
    """S models on a leading axis, compiled loss and clipping, PyTorch's fused AdamW."""

    def __init__(self, shape, head, models):
        self.models, self.shape, self.head = models, shape, head
        x, costs = make_rows(shape)
        self.x, self.weights = x, costs.max(1, keepdim=True).values - costs
        self.params = stack_params(shape, head, models)
        self.flat = [p for group in self.params for p in group]
        self.next = batches(shape, models)
        self.prepare()

    def prepare(self):
        self.adam = torch.optim.AdamW(self.flat, lr=RATE, weight_decay=self.shape.decay, fused=True)
        self.loss = torch.compile(self.gathered_loss)
        self.clip = torch.compile(clip_each)

    def gathered_loss(self, rows):
        return stack_loss(self.params, self.x[rows], self.weights[rows], self.shape.experts, self.head)

    def step(self):
        grads = torch.autograd.grad(self.loss(next(self.next)), self.flat)
        for p, g in zip(self.flat, self.clip(grads)):
            p.grad = g
        self.adam.step()


class Whole(Stack):
    """S models, and the step compiled whole: gather, loss, gradient, clipping and AdamW."""

    def prepare(self):
        for p in self.flat:
            p.requires_grad_(False)
        self.m = [torch.zeros_like(p) for p in self.flat]
        self.v = [torch.zeros_like(p) for p in self.flat]
        self.count = torch.zeros(())
        self.update = torch.compile(self.whole)

    def whole(self, flat, m, v, count, rows):
        def loss(flat):
            it = iter(flat)
            params = [[next(it) for _ in group] for group in self.params]
            return stack_loss(params, self.x[rows], self.weights[rows], self.shape.experts, self.head)

        grads = clip_each(torch.func.grad(loss)(flat))
        count = count + 1
        rate, unbias = RATE / (1 - 0.9 ** count), 1 / (1 - 0.999 ** count)
        for p, mean, square, g in zip(flat, m, v, grads):
            mean.mul_(0.9).add_(g, alpha=0.1)
            square.mul_(0.999).add_(g * g, alpha=0.001)
            p.mul_(1 - RATE * self.shape.decay).sub_(rate * mean / ((square * unbias).sqrt() + 1e-8))
        return count

    def step(self):
        with torch.no_grad():
            self.count = self.update(self.flat, self.m, self.v, self.count, next(self.next))


# name -> how to build it; "plain" is the reference, the others compete for "best".
KINDS = {
    "plain": lambda s, h, n: Single(s, h, n),
    "fused": lambda s, h, n: Single(s, h, n, fused=True),
    "compiled": lambda s, h, n: Single(s, h, n, compiled=True, fused=True),
    "stack": Stack,
    "whole": Whole,
}


def worker(pipe, kind, shape, head, models, threads):
    """Build one contender, warm it up, then answer each time slice with (model steps, seconds)."""
    torch.set_num_threads(threads)
    torch.manual_seed(3)
    try:
        loop = KINDS[kind](SHAPES[shape], head, models)
        for _ in range(20):
            loop.step()
    except Exception as e:  # a contender that cannot run is reported, never fatal
        pipe.send(str(e).splitlines()[0] if str(e) else type(e).__name__)
        return
    pipe.send(None)
    while (seconds := pipe.recv()) is not None:
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            loop.step()
            steps += 1
        pipe.send((steps * loop.models, time.perf_counter() - start))


class Contender:
    """`copies` worker processes that run the same loop at the same time."""

    def __init__(self, kind, shape, head, models, threads, copies):
        self.name = kind if kind in ("plain", "fused", "compiled") else f"{kind}, {models} models"
        if copies > 1:
            self.name += f", {copies} processes"
        context = multiprocessing.get_context("spawn")
        self.workers = []
        for _ in range(copies):
            here, there = context.Pipe()
            process = context.Process(target=worker, args=(there, kind, shape, head, models, threads), daemon=True)
            process.start()
            there.close()
            self.workers.append((process, here))
        answers = [self.receive(pipe) for _, pipe in self.workers]
        self.fault = next((a for a in answers if a), None)

    @staticmethod
    def receive(pipe):
        try:
            return pipe.recv()
        except EOFError:
            return "the worker process died"

    def measure(self, seconds):
        """Microseconds per step and model over one time slice."""
        for _, pipe in self.workers:
            pipe.send(seconds)
        rates = [steps / took for steps, took in (pipe.recv() for _, pipe in self.workers)]
        return 1e6 / sum(rates)

    def close(self):
        for process, pipe in self.workers:
            if process.is_alive():
                try:
                    pipe.send(None)
                except BrokenPipeError:
                    pass
            process.join(10)
