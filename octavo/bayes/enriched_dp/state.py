"""What a chain holds: the table, the base measure and the nested clusters, as arrays for kernels.

Rows are in standard units (`columns`), Gaussian columns first. x-clusters stand in one list, each
with the y-cluster that owns it, so that a row's label is that of its x-cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints

GAUSSIAN, PROBIT, LOGIT, POISSON = 0, 1, 2, 3  # responses
NORMAL, CATEGORICAL, COUNT = 0, 1, 2  # columns
AUXILIARY = 3  # parameters from the prior offered to a row, in Neal's Algorithm 8


class Table(NamedTuple):
    """Rows: values of columns, the design of the regressions, responses, prior densities."""

    values: Floats  # (n, p)
    design: Floats  # (n, d), a constant first
    offset: Floats  # (n,), the design times beta0
    response: Floats  # (n,)
    log_hx: Floats  # (n,), log h_x(x_i)
    log_hy: Floats  # (n,), log h_y(y_i | x_i)
    gaps: Ints  # (n_missing, 2), row and column of missing entries


class Base(NamedTuple):
    """The base measure P_0θ x P_0ψ and the laws of the concentrations."""

    beta0: Floats
    C: Floats
    C_factor: Floats
    noise: Floats  # (a_y, b_y)
    mu0: Floats  # of Gaussian columns, as c, a, b
    c: Floats
    a: Floats
    b: Floats
    kinds: Ints  # of the other columns
    starts: Ints  # where each other column begins among the entries of a table of parameters
    widths: Ints
    others: Floats  # (n_others, 2): (shape, rate) of counts, (weight of a level, 0) of categories
    design_columns: Ints  # where each column begins in the design
    units: Floats  # (p, 2): centre and scale of a count in the design
    theta_prior: Floats  # (shape, rate) of alpha_theta; shape 0 keeps it
    psi_prior: Floats  # (shape, rate, fixed value)
    modes: Ints  # response, outputs, is a plain DP, is collapsed, moves


class Mixture(NamedTuple):
    """The nested clusters of a draw; all arrays are changed in place."""

    x_labels: Ints  # (n,)
    sizes: Ints  # (2,): numbers of y- and of x-clusters
    owner: Ints  # (cap_x,)
    n_x: Ints
    n_y: Ints  # (cap_y,)
    k_x: Ints
    beta: Floats  # (cap_y, outputs, d)
    noise: Floats
    alpha_psi: Floats
    alpha_theta: Floats  # (1,)
    mu: Floats  # (cap_x, n_gaussian)
    prec: Floats
    power: Floats
    const: Floats  # (cap_x,)
    table: Floats  # (cap_x, entries)
    s1: Floats
    s2: Floats
    counts: Floats
    latent: Floats  # (n,)
    factors: Floats  # (cap_y, d, d), of the collapsed sampler alone, as the next three
    moments: Floats
    solved: Floats
    squares: Floats
    auxiliary: Floats  # (AUXILIARY, outputs, d)
    tried: Floats  # (2, 3): accepted and proposed moves


def new_mixture(
    n: int, d: int, n_gaussian: int, entries: int, outputs: int, caps: tuple[int, int], deep: bool
) -> Mixture:
    """Return one y-cluster with one x-cluster, without parameters; `deep` for collapsed ones."""
    cap_y, cap_x = caps
    whole = np.zeros
    cap_deep = cap_y if deep else 1
    sizes = {"dtype": np.int64}
    mixture = Mixture(
        x_labels=whole(n, **sizes),
        sizes=np.ones(2, **sizes),
        owner=whole(cap_x, **sizes),
        n_x=whole(cap_x, **sizes),
        n_y=whole(cap_y, **sizes),
        k_x=whole(cap_y, **sizes),
        beta=whole((cap_y, outputs, d)),
        noise=np.ones(cap_y),
        alpha_psi=np.ones(cap_y),
        alpha_theta=np.ones(1),
        mu=whole((cap_x, n_gaussian)),
        prec=np.ones((cap_x, n_gaussian)),
        power=np.ones((cap_x, n_gaussian)),
        const=whole(cap_x),
        table=whole((cap_x, entries)),
        s1=whole((cap_x, n_gaussian)),
        s2=whole((cap_x, n_gaussian)),
        counts=whole((cap_x, entries)),
        latent=whole(n),
        factors=whole((cap_deep, d, d)),
        moments=whole((cap_deep, d)),
        solved=whole((cap_deep, d)),
        squares=whole(cap_deep),
        auxiliary=whole((AUXILIARY, outputs, d)),
        tried=whole((2, 3)),
    )
    mixture.n_x[0] = mixture.n_y[0] = n
    mixture.k_x[0] = 1
    return mixture


def grown(mixture: Mixture, deep: bool) -> Mixture:
    """Return the same clusters with room for twice as many."""
    n, caps = mixture.x_labels.size, (2 * mixture.n_y.size, 2 * mixture.n_x.size)
    _, outputs, d = mixture.beta.shape
    room = new_mixture(
        n, d, mixture.mu.shape[1], mixture.table.shape[1], outputs, caps, deep
    )
    for old, new in zip(mixture, room, strict=True):
        part: NDArray = new[: old.shape[0]]
        part[...] = old
    return room
