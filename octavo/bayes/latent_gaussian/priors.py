"""Gaussian priors as sparse precision matrices: walks, autoregressions, graphs and grids.

Walks, graphs and thin plates are improper: some directions (a constant, a line, a plane) cost
nothing, and data or constraints must fix them.

References
----------
H. Rue and L. Held. Gaussian Markov random fields: theory and applications. 2005.
F. Lindgren, H. Rue and J. Lindström. An explicit link between Gaussian fields and Gaussian Markov
random fields: the stochastic partial differential equation approach. JRSS B 73, 2011.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["GaussianPrior", "ar1", "icar", "matern_grid", "rw1", "rw2", "thin_plate_grid"]


class GaussianPrior:
    """A Gaussian prior, by its precision or by its covariance matrix.

    Use a precision where it is sparse (random fields), a covariance where the prior is a Gaussian
    process: its inverse is never formed.

    Parameters
    ----------
    precision : array-like or sparse matrix of shape (n, n), default=None
        Symmetric, positive semi-definite.
    covariance : array-like of shape (n, n), default=None
        Symmetric, positive semi-definite. Exactly one of the two is given.
    mean : array-like of shape (n,), default=None
        Zero if None.

    Examples
    --------
    >>> from octavo.bayes import GaussianPrior, LatentGaussianModel
    >>> prior = GaussianPrior(covariance=[[1.0, 0.5], [0.5, 1.0]])
    >>> model = LatentGaussianModel("gaussian", prior=prior).fit([1.0, 1.0])
    >>> model.mean_.round(3).tolist()
    [0.6, 0.6]
    """

    def __init__(
        self, precision: Any = None, covariance: Any = None, mean: ArrayLike | None = None
    ) -> None:
        if (precision is None) == (covariance is None):
            raise ValueError("Give either precision or covariance to GaussianPrior, not both.")
        self.precision = precision
        self.covariance = covariance
        self.mean = mean

    def __repr__(self) -> str:
        given = "covariance" if self.precision is None else "precision"
        return f"GaussianPrior({given}=..., mean={'None' if self.mean is None else '...'})"


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} should be a whole number, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} should be at least {least}, got {value}.")
    return int(value)


def _positive(name: str, value: Any) -> float:
    number = _number(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} should be a positive number, got {value!r}.")
    return number


def _number(value: Any) -> float:
    """Return a real number, or NaN for what is none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return float("nan")
    return float(value)


def _differences(n: int, order: int) -> sp.csr_array:
    """Return the matrix of differences of that order, of shape (n - order, n)."""
    stencil = {1: [-1.0, 1.0], 2: [1.0, -2.0, 1.0]}[order]
    diagonals = [np.full(n - order, value) for value in stencil]
    offsets = list(range(order + 1))
    return sp.csr_array(sp.diags_array(diagonals, offsets=offsets, shape=(n - order, n)))


@checked
def rw1(n: int) -> sp.csr_array:
    """Return the precision D'D of a random walk; a constant costs nothing.

    Parameters
    ----------
    n : int
        Length, at least 2.

    Returns
    -------
    Q : sparse array of shape (n, n)
        The precision matrix.

    Examples
    --------
    >>> from octavo.bayes import rw1
    >>> rw1(3).toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    """
    D = _differences(_whole("n", n, 2), 1)
    return sp.csr_array(D.T @ D)


@checked
def rw2(n: int) -> sp.csr_array:
    """Return the precision D'D of second differences; a line costs nothing.

    Parameters
    ----------
    n : int
        Length, at least 3.

    Returns
    -------
    Q : sparse array of shape (n, n)
        The precision matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import rw2
    >>> float(abs(rw2(6) @ np.arange(6.0)).max())
    0.0
    """
    D = _differences(_whole("n", n, 3), 2)
    return sp.csr_array(D.T @ D)


@checked
def ar1(n: int, rho: float, precision: float = 1.0) -> sp.csr_array:
    """Return the precision of a stationary autoregression x_t = rho x_{t-1} + e_t.

    Parameters
    ----------
    n : int
        Length.
    rho : float
        Between -1 and 1.
    precision : float, default=1.0
        Of the innovations e_t; the marginal variance is 1 / (precision (1 - rho²)).

    Returns
    -------
    Q : sparse array of shape (n, n)
        The precision matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import ar1
    >>> float(np.linalg.inv(ar1(4, 0.6).toarray())[2, 2].round(6))
    1.5625
    """
    n = _whole("n", n, 1)
    slope = _number(rho)
    if not -1.0 < slope < 1.0:
        raise ValueError(f"rho should lie between -1 and 1, got {rho!r}.")
    tau = _positive("precision", precision)
    diagonal = np.full(n, 1.0 + slope * slope)
    diagonal[[0, -1]] = 1.0  # the ends have one neighbour, and the stationary variance 1 / (1 - ρ²)
    if n == 1:
        diagonal[0] = 1.0 - slope * slope
    side = np.full(n - 1, -slope)
    return sp.csr_array(tau * sp.diags_array([side, diagonal, side], offsets=[-1, 0, 1]))


@checked
def icar(adjacency: Any) -> sp.csr_array:
    """Return degree minus adjacency: the intrinsic conditional autoregression on a graph.

    Parameters
    ----------
    adjacency : array-like or sparse matrix of shape (n, n)
        Symmetric weights of neighbours, zero on the diagonal.

    Returns
    -------
    Q : sparse array of shape (n, n)
        The precision matrix.

    Examples
    --------
    >>> from octavo.bayes import icar
    >>> icar([[0, 1], [1, 0]]).toarray().tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    W = sp.csr_array(adjacency, dtype=np.float64)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"adjacency should be square, got shape {W.shape}.")
    if not np.isfinite(W.data).all() or (W.data < 0).any():
        raise ValueError("adjacency should hold finite weights that are not negative.")
    if W.diagonal().any():
        at = int(np.flatnonzero(W.diagonal())[0])
        raise ValueError(f"adjacency should be zero on its diagonal, got {W[at, at]:g} at {at}.")
    if abs(W - W.T).max() > 1e-12 * max(1.0, abs(W).max()):
        raise ValueError("adjacency should be symmetric: who is a neighbour has one in return.")
    # x'Qx = Σ w_ij (x_i - x_j)² over the edges
    return sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W)


@checked
def thin_plate_grid(n_rows: int, n_columns: int) -> sp.csr_array:
    """Return the precision of a thin plate on a grid: ∫ f_rr² + 2 f_rc² + f_cc²; planes are free.

    Nodes are numbered row by row.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the grid, at least 3 each.

    Returns
    -------
    Q : sparse array of shape (n_rows n_columns, n_rows n_columns)
        The precision matrix, nodes row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import thin_plate_grid
    >>> plane = np.add.outer(2.0 * np.arange(4), 3.0 * np.arange(5)).ravel()
    >>> float(abs(thin_plate_grid(4, 5) @ plane).max())
    0.0
    """
    r, c = _whole("n_rows", n_rows, 3), _whole("n_columns", n_columns, 3)
    parts = [
        sp.kron(_differences(r, 2), sp.eye_array(c)),
        np.sqrt(2.0) * sp.kron(_differences(r, 1), _differences(c, 1)),
        sp.kron(sp.eye_array(r), _differences(c, 2)),
    ]
    D = sp.csr_array(sp.vstack(parts))
    Q = sp.csr_array(D.T @ D)
    Q.data = np.round(Q.data, 9)  # sqrt(2)² is not 2; the entries are whole numbers
    Q.eliminate_zeros()
    return Q


@checked
def matern_grid(n_rows: int, n_columns: int, length_scale: float, variance: float) -> sp.csr_array:
    """Return the precision of a Matérn field (smoothness 1) on a grid of unit spacing.

    The field solves (κ² - Δ) x = noise with κ = sqrt(8) / length_scale, so that the correlation
    has dropped to about 0.14 at distance `length_scale`; free boundaries raise the variance
    within a length scale of the edge.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the grid.
    length_scale : float
        In units of the spacing; two or more for the grid to resolve it.
    variance : float
        Marginal, away from the edge.

    Returns
    -------
    Q : sparse array of shape (n_rows n_columns, n_rows n_columns)
        The precision matrix, nodes row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import matern_grid
    >>> V = np.linalg.inv(matern_grid(31, 31, 8.0, 2.0).toarray())
    >>> round(float(V[480, 480]), 2)
    2.0
    """
    r, c = _whole("n_rows", n_rows, 2), _whole("n_columns", n_columns, 2)
    kappa2 = 8.0 / _positive("length_scale", length_scale) ** 2
    laplacian = sp.kron(rw1(r), sp.eye_array(c)) + sp.kron(sp.eye_array(r), rw1(c))
    # κ² - Δ; its square is the Matérn precision of smoothness 1
    K = sp.csr_array(kappa2 * sp.eye_array(r * c) + laplacian)
    return sp.csr_array(_lattice_variance(kappa2) / _positive("variance", variance) * (K @ K))


def _lattice_variance(kappa2: float) -> float:
    """Return the variance of K⁻¹ noise on an infinite grid; 1 / (4πκ²) in the limit of small κ.

    It is the mean over both frequencies of (κ² + 4 - 2 cos s - 2 cos t)⁻², whose inner mean is
    a (a² - 4)^(-3/2) with a = κ² + 4 - 2 cos s.
    """
    nodes = int(max(4096, 64.0 / np.sqrt(kappa2)))
    excess = kappa2 + 2.0 - 2.0 * np.cos(2.0 * np.pi * np.arange(nodes) / nodes)  # a - 2
    # ∫ of 1 / (κ² + 4 - 2 cos s - 2 cos t)² over both, one of them in closed form
    return float(np.mean((excess + 2.0) * (excess * (excess + 4.0)) ** -1.5))


def as_prior(prior: Any) -> GaussianPrior:
    """Return whatever a user may call a prior as a `GaussianPrior` (a pair is kept apart)."""
    if isinstance(prior, GaussianPrior):
        return prior
    if prior is None:
        raise ValueError("prior should be a precision matrix or a GaussianPrior, got None.")
    return GaussianPrior(precision=prior)


def linear_part(prior: Any) -> tuple[Any, Floats | None]:
    """Split a pair (Q, h) into its two parts."""
    if isinstance(prior, tuple):
        if len(prior) != 2:
            raise ValueError(f"prior should be a pair (Q, h), got a tuple of {len(prior)}.")
        return prior[0], np.asarray(prior[1], dtype=np.float64)
    return prior, None
