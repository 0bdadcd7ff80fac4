"""Where natural evolution strategies come from: plain search gradients (Algorithms 1 to 3).

They are here to be compared with, and to teach: a plain gradient cannot locate an optimum
precisely (Section 2.2), and the sampled Fisher matrix needs more points than parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.search.evolution.fitness_shaping import rank_utilities, shared_utilities
from octavo.search.evolution.gaussian_search import GaussianSearch, positive
from octavo.search.evolution.xnes import scale_and_shape

__all__ = ["CanonicalNES", "SearchGradient", "gaussian_log_derivatives"]

SMALLEST_VARIANCE = 1e-12  # relative to the mean variance; a plain step may lose definiteness


@checked
def gaussian_log_derivatives(
    Z: np.ndarray, mean: np.ndarray, cov: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of log π(z) with respect to mean and covariance.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Points.
    mean : ndarray of shape (d,)
        Mean of the Gaussian.
    cov : ndarray of shape (d, d)
        Its covariance.

    Returns
    -------
    by_mean : ndarray of shape (n, d)
        Eq. (3).
    by_cov : ndarray of shape (n, d, d)
        Eq. (4).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import gaussian_log_derivatives
    >>> by_mean, by_cov = gaussian_log_derivatives(np.array([[2.0]]), np.zeros(1), np.eye(1))
    >>> print(by_mean[0, 0], by_cov[0, 0, 0])
    2.0 1.5
    """
    inverse = np.linalg.inv(cov)
    by_mean = (Z - mean) @ inverse  # Eq. (3)
    by_cov = 0.5 * (by_mean[:, :, None] * by_mean[:, None, :] - inverse)  # Eq. (4)
    return by_mean, by_cov


class SearchGradient(GaussianSearch):
    """Plain search gradient of a Gaussian (Algorithm 2).

    Follows the gradient of the expected value itself, estimated from raw values. Steps grow as
    the distribution shrinks, so that it never settles: use it to see why `XNES` exists.

    Parameters
    ----------
    x0 : array-like of shape (d,)
        First mean.
    sigma0 : float, default=1.0
        First standard deviation in every direction.
    cov0 : array-like of shape (d, d), optional
        First covariance, instead of sigma0.
    popsize : int, optional
        Points in a generation, by default 4 + ⌊3 ln d⌋.
    learning_rate : float, default=0.01
        Step along the gradient.
    utilities : {"log", "linear"}, array-like of shape (popsize,) or None, default=None
        Utilities of the ranks, or None for the raw values of the paper's algorithm.
    random_state : int, RandomState instance or None, default=None
        Source of the points.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the search distribution.
    cov_ : ndarray of shape (d, d)
        Its covariance.
    best_x_, best_f_ : ndarray of shape (d,), float
        Best point told so far, and its value.
    n_evals_, n_iter_ : int
        Points and generations told so far.

    Notes
    -----
    Not for optimisation in earnest. A step that would leave a covariance without definiteness
    has its smallest eigenvalues raised.

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SearchGradient
    >>> search = SearchGradient([1.0], popsize=10, random_state=0)
    >>> for _ in range(100):
    ...     X = search.ask()
    ...     _ = search.tell(X, X[:, 0] ** 2)
    >>> print(search.mean_.shape)
    (1,)
    """

    def __init__(
        self,
        x0: Any,
        sigma0: float = 1.0,
        *,
        cov0: Any = None,
        popsize: int | None = None,
        learning_rate: float = 0.01,
        utilities: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(x0, popsize, 1.0, "log" if utilities is None else utilities, random_state)
        self.learning_rate = positive("learning_rate", learning_rate)
        self.raw = utilities is None
        d = self.n_dims
        sigma, B = (
            (positive("sigma0", sigma0), np.eye(d)) if cov0 is None else scale_and_shape(cov0, d)
        )
        self._set_cov(sigma**2 * B @ B.T)

    def _set_cov(self, cov: np.ndarray) -> None:
        # Algorithm 2 adds to Σ without a bound, so a step can leave the positive definite matrices.
        values, vectors = np.linalg.eigh((cov + cov.T) / 2)
        floor = SMALLEST_VARIANCE * max(abs(values).mean(), np.finfo(float).tiny)
        values = np.maximum(values, floor)
        self.cov_ = (vectors * values) @ vectors.T
        self._root = vectors * np.sqrt(values)

    @property
    def sigma2_(self) -> float:
        """The value of ``|det A|^(2/d)``, below which a search is over."""
        return float(np.exp(np.linalg.slogdet(self.cov_)[1] / self.n_dims))

    @property
    def spread_(self) -> float:
        """The largest standard deviation of any coordinate."""
        return float(np.sqrt(np.diag(self.cov_).max()))

    def _place(self, S: np.ndarray) -> np.ndarray:
        return self.mean_ + S @ self._root.T

    def tell(self, X: Any, f: Any, *, ranks: Any = None) -> SearchGradient:
        """Learn the values of points; see `XNES.tell`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The points.
        f : array-like of shape (n,)
            Their values, smaller is better.
        ranks : array-like of shape (n,), optional
            The order of the points where it differs from that of their values.

        Returns
        -------
        self : object
            The optimiser.
        """
        self._values = np.asarray(f, dtype=float)
        super().tell(X, f, ranks=ranks)
        return self

    def _fitness(self, ranks: np.ndarray) -> np.ndarray:
        """Return the weights of the points in the gradient: ascent on minus f, or utilities."""
        if not self.raw:
            own = rank_utilities(len(ranks), self.utilities)
            return shared_utilities(own, ranks)
        worst = np.nanmax(np.where(np.isfinite(self._values), self._values, np.nan))
        # Eq. (2): f / λ, with f maximised
        return -np.where(np.isfinite(self._values), self._values, worst) / len(ranks)

    def _learn(self, X: np.ndarray, ranks: np.ndarray) -> None:
        weights = self._fitness(ranks)
        by_mean, by_cov = gaussian_log_derivatives(X, self.mean_, self.cov_)
        self.mean_ = self.mean_ + self.learning_rate * weights @ by_mean  # Algorithm 2, last step
        self._set_cov(self.cov_ + self.learning_rate * np.tensordot(weights, by_cov, 1))


class CanonicalNES(SearchGradient):
    """Natural gradient with a Fisher matrix estimated from the points (Algorithm 3).

    Parameters
    ----------
    x0 : array-like of shape (d,)
        First mean.
    sigma0 : float, default=1.0
        First standard deviation in every direction.
    cov0 : array-like of shape (d, d), optional
        First covariance, instead of sigma0.
    popsize : int, optional
        Points in a generation, by default ten times the d + d (d + 1) / 2 parameters.
    learning_rate : float, default=0.1
        Step along the natural gradient.
    utilities : {"log", "linear"}, array-like of shape (popsize,) or None, default="log"
        Utilities of the ranks, or None for raw values.
    random_state : int, RandomState instance or None, default=None
        Source of the points.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the search distribution.
    cov_ : ndarray of shape (d, d)
        Its covariance.
    best_x_, best_f_ : ndarray of shape (d,), float
        Best point told so far, and its value.
    n_evals_, n_iter_ : int
        Points and generations told so far.

    Notes
    -----
    The Fisher matrix of d + d (d + 1) / 2 parameters is inverted in O(d⁶) operations. `XNES` has
    it in closed form: do not use this one except to compare.

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import CanonicalNES
    >>> search = CanonicalNES(np.ones(2), random_state=0)
    >>> for _ in range(150):
    ...     X = search.ask()
    ...     _ = search.tell(X, np.sum(X**2, axis=1))
    >>> print(search.best_f_ < 1e-6)
    True
    """

    def __init__(
        self,
        x0: Any,
        sigma0: float = 1.0,
        *,
        cov0: Any = None,
        popsize: int | None = None,
        learning_rate: float = 0.1,
        utilities: Any = "log",
        random_state: Any = None,
    ) -> None:
        d = np.size(x0)
        super().__init__(
            x0,
            sigma0,
            cov0=cov0,
            popsize=10 * (d + d * (d + 1) // 2) if popsize is None else popsize,
            learning_rate=learning_rate,
            utilities=utilities,
            random_state=random_state,
        )

    def _learn(self, X: np.ndarray, ranks: np.ndarray) -> None:
        d = self.n_dims
        upper = np.triu_indices(d)
        by_mean, by_cov = gaussian_log_derivatives(X, self.mean_, self.cov_)
        # Entries off the diagonal stand for two: the derivative by the pair is their sum.
        twice = np.where(upper[0] == upper[1], 1.0, 2.0)
        scores = np.hstack([by_mean, by_cov[:, upper[0], upper[1]] * twice])
        gradient = self._fitness(ranks) @ scores  # Algorithm 3: ∇J, Eq. (2)
        # Algorithm 3: the Fisher matrix of Section 2.3, sampled
        fisher = scores.T @ scores / len(X)
        # Algorithm 3: F⁻¹ ∇J; fewer points than parameters leave F singular, hence least squares.
        step = self.learning_rate * np.linalg.lstsq(fisher, gradient, rcond=1e-10)[0]
        self.mean_ = self.mean_ + step[:d]
        move = np.zeros((d, d))
        move[upper] = step[d:]
        self._set_cov(self.cov_ + move + np.triu(move, 1).T)
