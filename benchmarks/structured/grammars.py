"""Sums over projective trees beside torch-struct, and sparse posteriors beside a cone program."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.harness import Contest
from octavo.engine.trees.projective import projective_marginals
from octavo.structured import L1LinfPosteriorRegularizer


def sentences():
    random = np.random.default_rng(0)
    return random.normal(size=(500, 10, 10)), random.normal(size=(500, 10))


def ours(problem):
    edges, roots = problem
    found = projective_marginals(edges[..., None], roots)
    return found.log_partition, found.edges[..., 0]


def by_torch(problem):
    import torch
    from torch_struct import DependencyCRF

    edges, roots = problem
    potentials = torch.tensor(edges)
    potentials[:, np.arange(10), np.arange(10)] = torch.tensor(roots)
    potentials = potentials.requires_grad_() * 1.0  # it writes into what it is given
    crf = DependencyCRF(potentials, multiroot=False)
    marginals = crf.marginals.detach().numpy().copy()
    marginals[:, np.arange(10), np.arange(10)] = 0.0
    return crf.partition.detach().numpy(), marginals


def same_sums(_, answers):
    (a, edges), (b, others) = answers.values()
    gap = max(float(np.abs(a - b).max()), float(np.abs(edges - others).max()))
    assert gap < 1e-6
    return f"They agree to {gap:.1e}."


def coins():
    random = np.random.default_rng(1)
    return random.random(200), np.arange(200) % 20


def by_dual(problem):
    chance, groups = problem

    def log_partition(lam):
        weight = chance * np.exp(-lam)
        return np.log(1 - chance + weight).sum(), weight / (1 - chance + weight)

    return L1LinfPosteriorRegularizer(2.0, tol=1e-7).project(log_partition, groups).value


def by_cone_program(problem):
    import cvxpy as cp

    chance, groups = problem
    q = cp.Variable(200)
    apart = cp.sum(cp.kl_div(q, chance) + cp.kl_div(1 - q, 1 - chance))
    largest = [cp.max(q[np.flatnonzero(groups == g)]) for g in range(20)]
    program = cp.Problem(cp.Minimize(apart + 2.0 * sum(largest)))
    program.solve(solver="CLARABEL")
    return program.value


def same_value(_, answers):
    a, b = answers.values()
    assert math.isclose(a, b, rel_tol=1e-5)
    return f"They agree to {abs(a - b):.1e}."


CONTESTS = [
    Contest(
        name="projective trees",
        problem="Log sums and edge marginals of 500 sentences of 10 tokens, edges weighted",
        setup=sentences,
        solvers={"octavo": ours, "torch-struct": by_torch},
        agree=same_sums,
        repeats=3,
        limit="products: n^3 spans of a sentence",
    ),
    Contest(
        name="sparse posteriors",
        problem="200 coins in 20 groups, sigma 2, to 1e-7",
        setup=coins,
        solvers={"octavo": by_dual, "cvxpy (Clarabel)": by_cone_program},
        agree=same_value,
        repeats=3,
        limit="sorting a group of 20 coins, a step",
    ),
]
