"""Mutual informations of all pairs of thousands of columns on an accelerator."""

from __future__ import annotations

import numpy as np

from benchmarks.accelerator import cannot_run, hardware
from benchmarks.harness import Contest
from octavo.data import make_connected_subgraphs
from octavo.graphical import mutual_information_matrix

__all__ = ["CONTESTS", "cannot_run", "hardware"]

N_GENES, N_SUBJECTS = 4238, 295


def genes():
    """The size of the paper's HapMap table, simulated."""
    return make_connected_subgraphs(N_GENES, N_SUBJECTS, random_state=0).X.astype(np.float32)


def on_the_card(X):
    return mutual_information_matrix(X, device="cuda")


def as_on_the_host(X, answers):
    """Compare the first hundred columns with the same sums on the host."""
    host = mutual_information_matrix(X[:, :100])
    gap = float(np.abs(answers["octavo on a card"][:100, :100] - host).max())
    assert gap <= 1e-4, gap
    return f"The first hundred columns differ from the host's by {gap:.1e}."


def on_the_host(X):
    return mutual_information_matrix(X)


def some_genes():
    return genes()[:, :400]


def the_same(X, answers):
    card, host = answers.values()
    gap = float(np.abs(card - host).max())
    assert gap <= 1e-4, gap
    return f"Mutual informations differ by {gap:.1e}."


CONTESTS = [
    Contest(
        name="four hundred of them",
        problem=f"all pairs of 400 variables, {N_SUBJECTS} rows, grids of 128 x 128",
        setup=some_genes,
        solvers={"octavo on a card": on_the_card, "octavo on the host": on_the_host},
        agree=the_same,
        repeats=2,
        limit="the card's products of matrices: joint densities on grids",
    ),
    Contest(
        name="the HapMap size",
        problem=f"all pairs of {N_GENES:,} variables, {N_SUBJECTS} rows, grids of 128 x 128",
        setup=genes,
        solvers={"octavo on a card": on_the_card},
        agree=as_on_the_host,
        repeats=3,
        target="Aim: under two minutes (the paper: a day).",
        limit="the card's products of matrices: joint densities on grids",
    ),
]
