"""Small problems with explicit features, and their solutions by an interior-point method."""

import numpy as np
import pytest


def features_of(seed, n=40, sizes=(3, 2, 3)):
    """Return feature blocks per kernel, in groups, and labels that three of them explain."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    blocks, groups = [], []
    for j, size in enumerate(sizes):
        for k in range(size):
            block = rng.normal(size=(n, 2))
            if k == 0:
                block[:, 0] += y * (1.2 - 0.4 * j)
            blocks.append(block / np.sqrt((block**2).sum()))  # unit trace
            groups.append(j)
    return blocks, np.array(groups), y


def kernels_of(blocks):
    return np.array([block @ block.T for block in blocks])


def primal_by_cvxpy(blocks, groups, targets, C, q, loss="hinge"):
    """Return the optimum of problem (1), with explicit features."""
    cvxpy = pytest.importorskip("cvxpy")
    w = [cvxpy.Variable(block.shape[1]) for block in blocks]
    b = cvxpy.Variable()
    f = sum(block @ part for block, part in zip(blocks, w)) + b
    lengths = cvxpy.hstack(
        [sum(cvxpy.norm(w[m]) for m in np.flatnonzero(groups == j)) for j in np.unique(groups)]
    )
    if q == np.inf:
        size = cvxpy.max(lengths)
    elif q == 0.5:
        size = cvxpy.sum(lengths)
    else:
        size = cvxpy.pnorm(lengths, 2 * q)
    if loss == "hinge":
        risk = cvxpy.sum(cvxpy.pos(1 - cvxpy.multiply(targets, f)))
    elif loss == "squared":
        risk = 0.5 * cvxpy.sum_squares(targets - f)
    else:
        risk = cvxpy.sum(cvxpy.pos(cvxpy.abs(targets - f) - 0.1))
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.square(size) + C * risk))
    problem.solve(solver="CLARABEL")
    return float(problem.value)
