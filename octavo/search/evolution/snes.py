"""Separable natural evolution strategies (Algorithm 6): a standard deviation a coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.search.evolution.adaptation_sampling import TRIAL, adapted_rate, log_importance
from octavo.search.evolution.gaussian_search import GaussianSearch, positive

__all__ = ["SNES"]

LARGEST_STEP = 3.0  # in the exponent: no generation scales a coordinate by more than e³


def default_rate(d: int) -> float:
    """Return the learning rate of the standard deviations (Table 1)."""
    return (3 + np.log(d)) / (5 * np.sqrt(d))


class SNES(GaussianSearch):
    """Separable natural evolution strategies.

    As `XNES`, with a standard deviation for each coordinate instead of a covariance: a
    generation costs O(λ d), and the learning rate may be larger by a factor of order d. It is
    blind to the scale of every coordinate, but not to correlations between them.

    Parameters
    ----------
    x0 : array-like of shape (d,)
        First mean of the search distribution.
    sigma0 : float or array-like of shape (d,), default=1.0
        First standard deviation, of all coordinates or each.
    popsize : int, optional
        Points in a generation, by default 4 + ⌊3 ln d⌋.
    lr_mu : float, default=1.0
        Learning rate of the mean.
    lr_sigma : float, optional
        Learning rate of the standard deviations, by default (3 + ln d) / (5 √d).
    utilities : {"log", "linear"} or array-like of shape (popsize,), default="log"
        Utilities of the ranks.
    adapt : bool, default=False
        Tune lr_sigma by adaptation sampling (SNES-as).
    random_state : int, RandomState instance or None, default=None
        Source of the points.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the search distribution.
    sigma_ : ndarray of shape (d,)
        Its standard deviations.
    eta_sigma_ : float
        Learning rate of the standard deviations in the next generation.
    best_x_, best_f_ : ndarray of shape (d,), float
        Best point told so far, and its value.
    n_evals_, n_iter_ : int
        Points and generations told so far.

    See Also
    --------
    XNES : Full covariance, for functions whose coordinates interact.

    Notes
    -----
    Do not use it on ill-conditioned functions whose axes are not the coordinates: there `XNES`
    needs far fewer evaluations.

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SNES
    >>> search = SNES(np.ones(50), random_state=0)
    >>> for _ in range(500):
    ...     X = search.ask()
    ...     _ = search.tell(X, np.sum(X**2, axis=1))
    >>> print(search.best_f_ < 1e-3)
    True
    """

    def __init__(
        self,
        x0: Any,
        sigma0: Any = 1.0,
        *,
        popsize: int | None = None,
        lr_mu: float = 1.0,
        lr_sigma: float | None = None,
        utilities: Any = "log",
        adapt: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(x0, popsize, lr_mu, utilities, random_state)
        sigma = np.asarray(sigma0, dtype=float)
        if sigma.shape not in ((), (self.n_dims,)) or not (np.isfinite(sigma) & (sigma > 0)).all():
            raise ValueError(f"sigma0 must be positive, one number or {self.n_dims}; got {sigma0}.")
        d = self.n_dims
        self.adapt = adapt
        self.lr_sigma = default_rate(d) if lr_sigma is None else positive("lr_sigma", lr_sigma)
        self.eta_sigma_ = self.lr_sigma
        self.sigma_ = np.broadcast_to(sigma, d).copy()
        self._log_growth = np.zeros(d)

    @property
    def cov_(self) -> np.ndarray:
        """Covariance of the search distribution."""
        return np.diag(self.sigma_**2)

    @property
    def sigma2_(self) -> float:
        """The value of ``|det A|^(2/d)``, below which a search is over."""
        return float(np.exp(2 * np.log(self.sigma_).mean()))

    @property
    def spread_(self) -> float:
        """The largest standard deviation."""
        return float(self.sigma_.max())

    def _place(self, S: np.ndarray) -> np.ndarray:
        X = S * self.sigma_  # Algorithm 6: z = μ + σ s, coordinate by coordinate
        X += self.mean_
        return X

    def _locate(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.sigma_

    def _learn(self, X: np.ndarray, ranks: np.ndarray) -> None:
        S = self._coordinates(X)
        if self.adapt and self.n_iter_ > 0:
            weights = log_importance(S, self._log_growth)
            # Algorithm 4, of σ alone: the imagined and the true generation share their mean.
            self.eta_sigma_ = adapted_rate(
                self.eta_sigma_, self.lr_sigma, ranks, weights, self.n_dims
            )
        u = self._utilities_of(ranks)
        # Algorithm 6: the natural gradient of μ is Σ u s
        self.mean_ = self.mean_ + self.lr_mu * self.sigma_ * (u @ S)
        gradient = np.einsum("k,ki,ki->i", u, S, S) - u.sum()  # Algorithm 6: Σ u (s² - 1)
        step = np.clip(self.eta_sigma_ / 2 * gradient, -LARGEST_STEP, LARGEST_STEP)
        self._log_growth = (TRIAL - 1) * step  # Algorithm 4: what 1.5 η would have added to log σ
        self.sigma_ = self.sigma_ * np.exp(step)  # Algorithm 6: σ exp(η_σ/2 ∇_σ J)
