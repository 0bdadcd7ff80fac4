"""What a chain holds: the table, the base measure and the nested clusters, as arrays for kernels.

Rows are in standard units (`columns`), Gaussian columns first. x-clusters stand in one list, each
with the y-cluster that owns it, so that a row's label is that of its x-cluster. Arrays are few and
packed: kernels with few arguments compile fast.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints

GAUSSIAN, PROBIT, LOGIT, POISSON = 0, 1, 2, 3  # responses
NORMAL, CATEGORICAL, COUNT = 0, 1, 2  # columns
AUXILIARY = 3  # parameters from the prior offered to a row, in Neal's Algorithm 8
OFFSET, RESPONSE, HX, HY, LATENT = 0, 1, 2, 3, 4  # of `Table.rows`
OWNER, SIZE = 0, 1  # of `Mixture.xi`
ROWS, PARTS = 0, 1  # of `Mixture.yi`
NOISE, ALPHA, SQUARES = 0, 1, 2  # of `Mixture.ys`
MU, PREC, POWER, SUM1, SUM2 = 0, 1, 2, 3, 4  # of `Mixture.xp`


class Table(NamedTuple):
    """Rows.

    Attributes
    ----------
    x : ndarray of shape (n, p)
        Values of columns.
    design : ndarray of shape (n, d)
        Of the regressions, a constant first.
    rows : ndarray of shape (5, n)
        The design times β0, responses, log h_x(x), log h_y(y | x), latent responses.
    gaps : ndarray of shape (n_missing, 2)
        Row and column of missing entries.
    """

    x: Floats
    design: Floats
    rows: Floats
    gaps: Ints


class Base(NamedTuple):
    """The base measure P_0θ x P_0ψ and the laws of the concentrations.

    Attributes
    ----------
    prior : ndarray of shape (2 d + 1, d)
        C, its Cholesky factor, and β0.
    scalars : ndarray of shape (8,)
        a_y, b_y; shape and rate of α_θ (shape 0 keeps it); shape, rate and value of α_ψ; α_θ.
    gauss : ndarray of shape (4, n_gaussian)
        μ0, c, a and b of the Gaussian columns.
    others : ndarray of shape (n_others, 5) or None
        Kind, first entry, number of entries, and two prior numbers of each other column: shape and
        rate of a count, weight of a level of a category.
    units : ndarray of shape (p, 3)
        Where a column begins in the design; centre and scale of a count there.
    modes : ndarray of shape (5,)
        Response, number of outputs, is a plain DP, is collapsed, has moves.
    """

    prior: Floats
    scalars: Floats
    gauss: Floats
    others: Floats | None
    units: Floats
    modes: Ints

    @property
    def n_entries(self) -> int:
        """Entries of a table of parameters beside those of Gaussian columns; one is a constant."""
        return 1 if self.others is None else 1 + int(self.others[:, 2].sum())


class Mixture(NamedTuple):
    """The nested clusters of a draw; all arrays are changed in place.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        x-cluster of each row.
    sizes : ndarray of shape (2,)
        Numbers of y- and of x-clusters.
    xi : ndarray of shape (cap_x, 2)
        Owner and number of rows of an x-cluster.
    yi : ndarray of shape (cap_y, 2)
        Numbers of rows and of x-clusters of a y-cluster.
    xp : ndarray of shape (cap_x, 5, n_gaussian)
        Means, precisions, powers of t densities, sums and sums of squares.
    xt : ndarray of shape (cap_x, 2, entries)
        Parameters and sums of other columns; entry 0 is the constant of log K(x | ψ).
    beta : ndarray of shape (cap_y, outputs, d)
        Coefficients.
    ys : ndarray of shape (cap_y, 3)
        σ², α_ψ, and rᵀr.
    deep : ndarray of shape (cap_y, d + 2, d) or None
        Of the collapsed sampler: the factor of Ĉ, Xᵀr, and the one solved by the other.
    auxiliary : ndarray of shape (AUXILIARY, outputs, d) or None
        Parameters offered by Algorithm 8.
    tried : ndarray of shape (2, 3)
        Accepted and proposed moves.
    """

    labels: Ints
    sizes: Ints
    xi: Ints
    yi: Ints
    xp: Floats
    xt: Floats
    beta: Floats
    ys: Floats
    deep: Floats | None
    auxiliary: Floats | None
    tried: Floats


def new_mixture(n: int, d: int, base: Base, caps: tuple[int, int]) -> Mixture:
    """Return one y-cluster with one x-cluster, without parameters."""
    cap_y, cap_x = caps
    outputs = int(base.modes[1])
    mixture = Mixture(
        labels=np.zeros(n, dtype=np.int64),
        sizes=np.ones(2, dtype=np.int64),
        xi=np.zeros((cap_x, 2), dtype=np.int64),
        yi=np.zeros((cap_y, 2), dtype=np.int64),
        xp=np.zeros((cap_x, 5, base.gauss.shape[1])),
        xt=np.zeros((cap_x, 2, base.n_entries)),
        beta=np.zeros((cap_y, outputs, d)),
        ys=np.ones((cap_y, 3)),
        deep=np.zeros((cap_y, d + 2, d)) if base.modes[3] else None,
        auxiliary=np.zeros((AUXILIARY, outputs, d)) if base.modes[0] > PROBIT else None,
        tried=np.zeros((2, 3)),
    )
    mixture.xi[0, SIZE] = mixture.yi[0, ROWS] = n
    mixture.yi[0, PARTS] = 1
    mixture.ys[0, ALPHA] = base.scalars[6]
    mixture.beta[:] = base.prior[-1]
    return mixture


def grown(mixture: Mixture, base: Base) -> Mixture:
    """Return the same clusters with room for twice as many."""
    caps = (2 * len(mixture.yi), 2 * len(mixture.xi))
    room = new_mixture(mixture.labels.size, mixture.beta.shape[2], base, caps)
    for old, new in zip(mixture, room, strict=True):
        if old is not None and new is not None:
            part: Any = new[: old.shape[0]]
            part[...] = old
    return room


def new_pair(n: int, d: int, base: Base) -> tuple[Any, ...]:
    """Return working arrays of two clusters, for splits and merges: sums, sides and an order."""
    two = new_mixture(n, d, base, (2, 2))
    return (
        two.xp, two.xt, two.ys, two.yi, np.zeros((2, d + 2, d)),
        *(np.zeros(n, dtype=np.int64) for _ in range(3)),
    )  # fmt: skip
