"""Completion of signs beside a plain NumPy version of alternating least squares."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_weakly_balanced
from octavo.network import SignedCompletion

RANK, SWEEPS = 40, 5


def network():
    return make_weakly_balanced([600] * 10, 0.02, 0.05, "power_law", random_state=0).A


def ours(A):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SignedCompletion(RANK, max_iter=SWEEPS, tol=0.0, random_state=0).fit(A)
    return model.losses_[-1]


def in_numpy(A):
    """Solve a ridge regression a row with NumPy: what one writes by hand."""
    H = np.random.RandomState(0).standard_normal((2, A.shape[0], RANK))[1] / np.sqrt(RANK)
    turned, penalty = A.T.tocsr(), np.eye(RANK)
    for _ in range(SWEEPS):
        W = rows(A, H, penalty)
        H = rows(turned, W, penalty)
    known = A.tocoo()
    off = np.einsum("ij,ij->i", W[known.row], H[known.col]) - known.data
    return (off**2).sum() + (W**2).sum() + (H**2).sum()


def rows(A, H, penalty):
    W = np.zeros_like(H)
    for i in range(A.shape[0]):
        known = slice(A.indptr[i], A.indptr[i + 1])
        near = H[A.indices[known]]
        W[i] = np.linalg.solve(near.T @ near + penalty, near.T @ A.data[known])
    return W


def same_objective(A, answers):
    values = list(answers.values())
    spread = np.ptp(values) / values[0]
    assert spread < 1e-6
    return f"objectives agree to {spread:.0e}."


CONTESTS = [
    Contest(
        name="signed-als",
        problem="five sweeps of rank 40 on 6,000 nodes with hubs",
        setup=network,
        solvers={"octavo": ours, "NumPy, a solve a row": in_numpy},
        agree=same_objective,
        repeats=3,
        target="at least twice",
        limit="flops: links times rank² multiplications a sweep and factor",
    ),
]
