"""The method in plain PyTorch: scorers and losses, as a judge of the Go engine.

Shapes: B rows, d features, J experts, K+1 advice levels, A = J*(K+1) actions,
expert-major. Costs are given (fees already applied); scores are higher = better.
"""

from math import cos, floor, pi

import torch
from torch import nn


class LowRankHead(nn.Module):
    """score(j,k) = rho_j + <a_j, z> + delta_k + <m_j, g_k * z>."""

    def __init__(self, width, experts, levels):
        super().__init__()
        self.rho = nn.Parameter(torch.zeros(experts))
        self.delta = nn.Parameter(torch.zeros(levels))
        self.a = nn.Parameter(torch.empty(experts, width))
        self.m = nn.Parameter(torch.empty(experts, width))
        self.g = nn.Parameter(torch.empty(levels, width))
        for p in (self.a, self.m, self.g):
            nn.init.xavier_uniform_(p)

    def forward(self, z):
        pair = self.a[:, None, :] + self.m[:, None, :] * self.g[None, :, :]
        bias = self.rho[:, None] + self.delta[None, :]
        return z @ pair.flatten(0, 1).T + bias.flatten()


class Scorer(nn.Module):
    """ReLU backbone over the given hidden widths, then a head over its last layer."""

    def __init__(self, sizes, head):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(sizes, sizes[1:]))
        self.head = head

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def make_scorer(sizes, experts, levels, head):
    """sizes = d, hidden...; head is "linear" or "low_rank"."""
    width = sizes[-1]
    if head == "linear":
        return Scorer(sizes, nn.Linear(width, experts * levels))
    if head == "low_rank":
        return Scorer(sizes, LowRankHead(width, experts, levels))
    raise ValueError(f"unknown head {head!r}: linear, low_rank")


def comp_sum(log_p, tau):
    """Phi_tau of log-probabilities; tau = 1 is the logistic member."""
    if tau == 1:
        return -log_p
    return torch.expm1((tau - 1) * log_p) / (1 - tau)


def augmented(scores, costs, tau=1.0, available=None):
    """Mean over rows of sum_i (max c - c_i) Phi_tau(s, i), over the available actions."""
    if available is not None:
        scores, costs = scores[:, available], costs[:, available]
    weights = costs.max(dim=1, keepdim=True).values - costs
    log_p = torch.log_softmax(scores, dim=1)
    return (weights * comp_sum(log_p, tau)).sum(1).mean()


def separated(scores, costs):
    """Binary case, J = 2 and K = 1; score columns r, q_0, q_1."""
    soft = nn.functional.softplus
    router, query = scores[:, 0], scores[:, 1:3]
    cost = costs.view(-1, 2, 2)
    row = cost[..., 0] * soft(-query) + cost[..., 1] * soft(query)
    return (soft(-router) * row[:, 0] + soft(router) * row[:, 1]).mean()


def separated_softmax(scores, costs, experts):
    """Any J and K; score columns: J router logits, then the query logits expert-major."""
    def log_not(logits):  # log(1 - softmax) without cancellation
        log_p = torch.log_softmax(logits, dim=-1)
        others = [torch.cat([log_p[..., :i], log_p[..., i + 1:]], -1).logsumexp(-1)
                  for i in range(log_p.shape[-1])]
        return torch.stack(others, dim=-1)

    cost = costs.view(len(costs), experts, -1)
    query = scores[:, experts:].reshape(cost.shape)
    row = (cost * -log_not(query)).sum(-1)
    return (-log_not(scores[:, :experts]) * row).sum(1).mean()


def learning_rate(base, step, total, schedule, warmup=0.05):
    """Rate of 0-based step: linear warm-up over round(warmup*total) steps, at least one, then cosine to 0."""
    if schedule == "none":
        return base
    rising = max(1, floor(warmup * total + 0.5))
    if step < rising:
        return base * (step + 1) / rising
    return base * 0.5 * (1 + cos(pi * (step - rising) / (total - rising)))
