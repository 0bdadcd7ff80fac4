"""Exponential natural evolution strategies (Algorithm 5): a full covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.smooth.natural_gradient import (
    bent,
    default_rate,
    scale_step,
    spectrum,
    times_function,
)
from octavo.search.evolution.adaptation_sampling import TRIAL, adapted_rate, log_importance
from octavo.search.evolution.gaussian_search import GaussianSearch, positive

__all__ = ["XNES"]

RENORMALISE = 100  # generations after which det B is set to one again
SMALLEST_FACTOR = 1e-2  # of a variance in one linear update, which could turn negative


class XNES(GaussianSearch):
    """Exponential natural evolution strategies.

    Points are drawn from a Gaussian whose mean, scale and shape follow the natural gradient of
    the expected utility of ranks. Nothing depends on the scale of the function's values, nor on
    the coordinates in which its argument is written.

    Parameters
    ----------
    x0 : array-like of shape (d,)
        First mean of the search distribution.
    sigma0 : float, default=1.0
        First standard deviation in every direction. The distance at which the optimum is
        suspected is a good choice.
    cov0 : array-like of shape (d, d), optional
        First covariance, instead of sigma0.
    popsize : int, optional
        Points in a generation, by default 4 + ⌊3 ln d⌋. More for noisy or rugged functions.
    lr_mu : float, default=1.0
        Learning rate of the mean.
    lr_sigma, lr_B : float, optional
        Learning rates of scale and shape, by default (9 + 3 ln d) / (5 d √d).
    utilities : {"log", "linear"} or array-like of shape (popsize,), default="log"
        Utilities of the ranks.
    adapt : bool, default=False
        Tune lr_sigma by adaptation sampling (xNES-as).
    update : {"exponential", "linear"}, default="exponential"
        "linear" takes the first order of the matrix exponential, the rank-μ update of CMA-ES;
        scale and shape then share lr_B.
    random_state : int, RandomState instance or None, default=None
        Source of the points.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the search distribution.
    sigma_ : float
        Its scale, ``|det A|^(1/d)``.
    B_ : ndarray of shape (d, d)
        Its shape: points are mean + sigma B s with standard normal s; ``|det B|`` is one.
    eta_sigma_ : float
        Learning rate of the scale in the next generation.
    best_x_, best_f_ : ndarray of shape (d,), float
        Best point told so far, and its value.
    n_evals_, n_iter_ : int
        Points and generations told so far.

    See Also
    --------
    SNES : Diagonal covariance, for hundreds of dimensions and more.
    minimize_nes : The loop around it: budget, bounds, workers, restarts.

    Notes
    -----
    A generation costs O(λ d²), not the O(d³) of the paper: the gradient of the shape has the
    rank of the generation, and so has the logarithm of its exponential.

    Do not use it when derivatives are at hand, for more than about a thousand dimensions (use
    `SNES`), or for a budget below some hundred evaluations (a surrogate model needs fewer).

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import XNES
    >>> search = XNES(np.ones(3), random_state=0)
    >>> for _ in range(200):
    ...     X = search.ask()
    ...     _ = search.tell(X, np.sum(X**2, axis=1))
    >>> print(search.best_f_ < 1e-12)
    True
    """

    def __init__(
        self,
        x0: Any,
        sigma0: float = 1.0,
        *,
        cov0: Any = None,
        popsize: int | None = None,
        lr_mu: float = 1.0,
        lr_sigma: float | None = None,
        lr_B: float | None = None,
        utilities: Any = "log",
        adapt: bool = False,
        update: str = "exponential",
        random_state: Any = None,
    ) -> None:
        super().__init__(x0, popsize, lr_mu, utilities, random_state)
        if update not in ("exponential", "linear"):
            raise ValueError(f"update must be 'exponential' or 'linear'; got {update!r}.")
        if adapt and update == "linear":
            raise ValueError("adapt=True needs update='exponential': scale has its own rate there.")
        d = self.n_dims
        self.adapt, self.update = adapt, update
        self.lr_sigma = default_rate(d) if lr_sigma is None else positive("lr_sigma", lr_sigma)
        self.lr_B = default_rate(d) if lr_B is None else positive("lr_B", lr_B)
        self.eta_sigma_ = self.lr_sigma
        self._log_growth = 0.0
        if cov0 is None:
            self.sigma_, self.B_ = positive("sigma0", sigma0), np.eye(d)
        else:
            self.sigma_, self.B_ = scale_and_shape(cov0, d)

    @property
    def cov_(self) -> np.ndarray:
        """Covariance of the search distribution."""
        return self.sigma_**2 * self.B_ @ self.B_.T

    @property
    def sigma2_(self) -> float:
        """The value of ``|det A|^(2/d)``, below which a search is over."""
        return self.sigma_**2

    @property
    def spread_(self) -> float:
        """The largest standard deviation of any coordinate."""
        return self.sigma_ * float(np.sqrt(np.max(np.sum(self.B_**2, axis=1))))

    def _place(self, S: np.ndarray) -> np.ndarray:
        # Algorithm 5, which prints Bᵀ: it does not go with B exp(·)
        return self.mean_ + self.sigma_ * (S @ self.B_.T)

    def _locate(self, X: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.sigma_ * self.B_, (X - self.mean_).T).T

    def _learn(self, X: np.ndarray, ranks: np.ndarray) -> None:
        S = self._coordinates(X)
        if self.adapt and self.n_iter_ > 0:
            # Algorithm 4: only σ differs between the two distributions, in units of which S is
            # drawn.
            weights = log_importance(S, self._log_growth)
            self.eta_sigma_ = adapted_rate(
                self.eta_sigma_, self.lr_sigma, ranks, weights, self.n_dims
            )
        u = self._utilities_of(ranks)
        # Algorithm 5: μ + η σ B ∇_δ J
        self.mean_ = self.mean_ + self.lr_mu * self.sigma_ * (self.B_ @ (u @ S))
        values, V = spectrum(S, u)  # Algorithm 5: ∇_M J = Σ u (s sᵀ - I), its first term
        if self.update == "linear":
            self._step_linearly(values, V, u.sum())
        else:
            self._step(values, V, u.sum())
        if self.n_iter_ % RENORMALISE == RENORMALISE - 1:
            # det B = 1 but for rounding
            self.B_ /= np.exp(np.linalg.slogdet(self.B_)[1] / self.n_dims)

    def _step(self, values: np.ndarray, V: np.ndarray, total: float) -> None:
        """Algorithm 5: the exponential of ∇_M, its trace in σ and the rest in B."""
        step = scale_step(values, self.n_dims, total, self.eta_sigma_)
        self._log_growth = (TRIAL - 1) * step
        self.sigma_ *= float(np.exp(step))  # Algorithm 5: σ exp(η_σ/2 ∇_σ J)
        self.B_ = bent(self.B_, values, V, self.lr_B / 2)  # Algorithm 5: B exp(η_B/2 ∇_B J)

    def _step_linearly(self, values: np.ndarray, V: np.ndarray, total: float) -> None:
        """Section 4: Σ ← (1 - Uη) Σ + η Σ u (z - μ)(z - μ)ᵀ, kept as its factor."""
        rest = max(1 - self.lr_B * total, SMALLEST_FACTOR)
        # the factors 1 + η(λ - U) of Σ, of which the root is taken
        factors = np.maximum(rest + self.lr_B * values, SMALLEST_FACTOR)
        others = self.n_dims - len(factors)
        log_scale = (np.log(factors).sum() + others * np.log(rest)) / (2 * self.n_dims)
        self.sigma_ *= float(np.exp(log_scale))
        B = times_function(self.B_, V, np.sqrt(rest), np.sqrt(factors))
        self.B_ = B / np.exp(log_scale)


def scale_and_shape(cov: Any, d: int) -> tuple[float, np.ndarray]:
    """Return σ and B with σ² B Bᵀ = cov and det B = 1."""
    cov = np.asarray(cov, dtype=float)
    if cov.shape != (d, d) or not np.allclose(cov, cov.T, rtol=1e-8, atol=0):
        raise ValueError(f"cov0 must be a symmetric matrix of shape ({d}, {d}).")
    try:
        A = np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        raise ValueError("cov0 must be positive definite.") from None
    sigma = float(np.exp(np.log(np.diag(A)).mean()))
    return sigma, A / sigma
