"""Natural evolution strategies of any radial distribution (Section 3.3).

A radial distribution has a density that depends on r² = ‖s‖² alone, here through
``weight(r²) = -2 q'(r²) / q(r²)``; a Gaussian has weight one. Scores in the coordinates of the
distribution are ω s for the mean and (ω s sᵀ - I) / 2 for the logarithm of its factor. By
symmetry the Fisher matrix is a constant on each of three parts: mean, shape (the traceless
symmetric matrices) and scale. Only the scale correlates with the radial parameters τ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy.special import digamma, roots_legendre
from scipy.stats import beta as beta_distribution

from octavo.engine.estimators.checked import checked
from octavo.engine.smooth.natural_gradient import LARGEST_STEP, bent, default_rate, spectrum
from octavo.search.evolution.gaussian_search import GaussianSearch, positive
from octavo.search.evolution.xnes import scale_and_shape

__all__ = [
    "GaussianRadial",
    "HillClimberXNES",
    "RadialNES",
    "StudentRadial",
    "radial_natural_gradient",
]


class Radial(Protocol):
    """What a radial distribution must offer: a user may write one."""

    tau: np.ndarray

    def draw(self, n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
        """Return `n` points."""

    def weight(self, r2: np.ndarray, d: int) -> np.ndarray:
        """Return -2 q'/q at squared radii."""

    def tau_scores(self, r2: np.ndarray, d: int) -> np.ndarray:
        """Return the derivatives of log q with respect to τ, shape (n, len(tau))."""

    def moved(self, step: np.ndarray) -> Self:
        """Return the distribution after a step of τ."""


@dataclass(frozen=True)
class GaussianRadial:
    """The standard normal distribution; it has no radial parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import GaussianRadial
    >>> print(GaussianRadial().weight(np.array([0.5, 4.0]), d=3))
    [1. 1.]
    """

    @property
    def tau(self) -> np.ndarray:
        """No radial parameters."""
        return np.empty(0)

    def draw(self, n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
        """Return `n` points of `d` dimensions."""
        return rng.standard_normal((n, d))

    def weight(self, r2: np.ndarray, d: int) -> np.ndarray:
        """Return -2 q'/q, which is one."""
        return np.ones_like(r2)

    def tau_scores(self, r2: np.ndarray, d: int) -> np.ndarray:
        """Return an array without columns."""
        return np.empty((len(r2), 0))

    def moved(self, step: np.ndarray) -> GaussianRadial:
        """Return itself."""
        return self


@dataclass(frozen=True)
class StudentRadial:
    """Student's t, from Cauchy (df=1) to nearly Gaussian.

    Parameters
    ----------
    df : float, default=1.0
        Degrees of freedom.
    adapt_df : bool, default=False
        Let a search move log(df), the radial parameter τ.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import StudentRadial
    >>> print(StudentRadial(df=1.0).weight(np.array([0.0, 3.0]), d=3))
    [4. 1.]
    """

    df: float = 1.0
    adapt_df: bool = False

    @property
    def tau(self) -> np.ndarray:
        """The logarithm of df, if it is adapted."""
        return np.array([np.log(self.df)]) if self.adapt_df else np.empty(0)

    def draw(self, n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
        """Return `n` points of `d` dimensions."""
        # Section 3.3.2, whose radius and direction are one draw here
        return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(self.df, (n, 1)) / self.df)

    def weight(self, r2: np.ndarray, d: int) -> np.ndarray:
        """Return -2 q'/q = (ν + d) / (ν + r²)."""
        return (self.df + d) / (self.df + r2)

    def tau_scores(self, r2: np.ndarray, d: int) -> np.ndarray:
        """Return the derivative of log q with respect to log ν."""
        if not self.adapt_df:
            return np.empty((len(r2), 0))
        nu = self.df
        by_nu = (
            digamma((nu + d) / 2)
            - digamma(nu / 2)
            - d / nu
            - np.log1p(r2 / nu)
            + (nu + d) * (r2 / nu) / (nu + r2)
        ) / 2
        return (nu * by_nu)[:, None]

    def moved(self, step: np.ndarray) -> StudentRadial:
        """Return the distribution after a step of log ν, within [0.1, 10⁴]."""
        if not self.adapt_df:
            return self
        return StudentRadial(float(np.clip(self.df * np.exp(step[0]), 0.1, 1e4)), True)

    def squared_radii(self, d: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and weights for expectations: r²/(ν + r²) has a beta distribution."""
        nodes, weights = roots_legendre(n)
        share = beta_distribution.ppf((nodes + 1) / 2, d / 2, self.df / 2)
        share = np.clip(share, 1e-300, 1 - 1e-15)
        return self.df * share / (1 - share), weights / 2


@checked
def radial_natural_gradient(
    g1: np.ndarray, g_tau: np.ndarray, v: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve with the Fisher matrix [[I, v], [vᵀ, c]] of natural coordinates and τ.

    Parameters
    ----------
    g1 : ndarray of shape (m,)
        Gradient in coordinates whose own block is the identity.
    g_tau : ndarray of shape (t,)
        Gradient of the radial parameters.
    v : ndarray of shape (m, t)
        The block between them.
    c : ndarray of shape (t, t)
        The block of the radial parameters.

    Returns
    -------
    step1 : ndarray of shape (m,)
        g1 + v H (vᵀ g1 - g_tau) with H = (c - vᵀ v)⁻¹; both signs are misprinted in the paper.
    step_tau : ndarray of shape (t,)
        -H (vᵀ g1 - g_tau).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import radial_natural_gradient
    >>> one, tau = radial_natural_gradient(
    ...     np.array([1.0]), np.array([0.0]), np.array([[0.5]]), np.array([[1.0]])
    ... )
    >>> print(one.round(3), tau.round(3))
    [1.333] [-0.667]
    """
    # The inverse of Eq. (7) with H = (c - vᵀv)⁻¹; its two signs are flipped in print.
    excess = np.linalg.solve(c - v.T @ v, v.T @ g1 - g_tau)
    return g1 + v @ excess, -excess


@dataclass(frozen=True)
class RadialFisher:
    """The constants of a radial distribution's Fisher matrix, by part."""

    mean: float  # of δ
    shape: float  # of the traceless part of M
    scale: float  # of the coefficient of I/√d in M
    scale_tau: np.ndarray
    tau: np.ndarray


def radial_fisher(
    radial: Any, d: int, rng: np.random.RandomState, n_draws: int = 20_000
) -> RadialFisher:
    """Return the Fisher constants, by quadrature if the distribution offers it, else sampled.

    E[ω² r²] / d, E[ω² r⁴] / (2 d (d + 2)) and E[(ω r² - d)²] / (4 d): 1, ½ and ½ for a Gaussian.
    """
    if hasattr(radial, "squared_radii"):
        r2, p = radial.squared_radii(d)
    elif isinstance(radial, GaussianRadial):
        return RadialFisher(1.0, 0.5, 0.5, np.empty(0), np.empty((0, 0)))
    else:
        r2 = np.sum(radial.draw(n_draws, d, rng) ** 2, axis=1)
        p = np.full(n_draws, 1.0 / n_draws)
    omega = radial.weight(r2, d)  # g_M = -I/2 - (q'/q) s sᵀ (Section 3.3.1)
    scale = (omega * r2 - d) / (2 * np.sqrt(d))  # the coefficient of I/√d in g_M
    scores = radial.tau_scores(r2, d)
    return RadialFisher(
        mean=float(p @ (omega**2 * r2)) / d,
        shape=float(p @ (omega**2 * r2**2)) / (2 * d * (d + 2)),
        scale=float(p @ scale**2),
        scale_tau=(p * scale) @ scores,
        tau=(scores * p[:, None]).T @ scores,
    )


class RadialNES(GaussianSearch):
    """Natural evolution strategies with any radial search distribution.

    Parameters
    ----------
    x0 : array-like of shape (d,)
        First centre of the search distribution.
    sigma0 : float, default=1.0
        Its first scale.
    cov0 : array-like of shape (d, d), optional
        First A Aᵀ, instead of sigma0.
    radial : object, optional
        The distribution: `GaussianRadial` (the default, with which this is `XNES`),
        `StudentRadial`, or an object of your own with `tau`, `draw`, `weight`, `tau_scores` and
        `moved`.
    popsize : int, optional
        Points in a generation, by default 4 + ⌊3 ln d⌋.
    lr_mu : float, default=1.0
        Learning rate of the centre.
    lr_sigma, lr_B : float, optional
        Learning rates of scale and shape, by default (9 + 3 ln d) / (5 d √d).
    lr_tau : float, default=0.1
        Learning rate of the radial parameters.
    utilities : {"log", "linear"} or array-like of shape (popsize,), default="log"
        Utilities of the ranks.
    random_state : int, RandomState instance or None, default=None
        Source of the points.

    Attributes
    ----------
    mean_, sigma_, B_ : ndarray of shape (d,), float, ndarray of shape (d, d)
        Centre, scale and shape: points are mean + sigma B s.
    radial_ : object
        The distribution of s, with its radial parameters as they are now.
    best_x_, best_f_ : ndarray of shape (d,), float
        Best point told so far, and its value.
    n_evals_, n_iter_ : int
        Points and generations told so far.

    See Also
    --------
    HillClimberXNES : One point a step, which keeps a lucky draw from a heavy tail.

    Notes
    -----
    Averaging over a generation blurs what a heavy tail finds: on functions with many optima
    prefer `HillClimberXNES`; on others prefer `XNES`.

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import RadialNES, StudentRadial
    >>> search = RadialNES(np.ones(3), radial=StudentRadial(df=5), random_state=0)
    >>> for _ in range(300):
    ...     X = search.ask()
    ...     _ = search.tell(X, np.sum(X**2, axis=1))
    >>> print(search.best_f_ < 1e-8)
    True
    """

    def __init__(
        self,
        x0: Any,
        sigma0: float = 1.0,
        *,
        cov0: Any = None,
        radial: Any = None,
        popsize: int | None = None,
        lr_mu: float = 1.0,
        lr_sigma: float | None = None,
        lr_B: float | None = None,
        lr_tau: float = 0.1,
        utilities: Any = "log",
        random_state: Any = None,
    ) -> None:
        super().__init__(x0, popsize, lr_mu, utilities, random_state)
        d = self.n_dims
        self.radial_ = GaussianRadial() if radial is None else radial
        self.lr_sigma = default_rate(d) if lr_sigma is None else positive("lr_sigma", lr_sigma)
        self.lr_B = default_rate(d) if lr_B is None else positive("lr_B", lr_B)
        self.lr_tau = positive("lr_tau", lr_tau)
        self.eta_sigma_ = self.lr_sigma
        self.sigma_, self.B_ = positive("sigma0", sigma0), np.eye(d)
        if cov0 is not None:
            self.sigma_, self.B_ = scale_and_shape(cov0, d)
        self._fisher = radial_fisher(self.radial_, d, self._rng)

    @property
    def cov_(self) -> np.ndarray:
        """A Aᵀ; the covariance if the distribution of s is a Gaussian."""
        return self.sigma_**2 * self.B_ @ self.B_.T

    @property
    def sigma2_(self) -> float:
        """The value of ``|det A|^(2/d)``, below which a search is over."""
        return self.sigma_**2

    @property
    def spread_(self) -> float:
        """The largest scale of any coordinate."""
        return self.sigma_ * float(np.sqrt(np.max(np.sum(self.B_**2, axis=1))))

    def ask(self, n: int | None = None) -> np.ndarray:
        """Draw points from the search distribution.

        Parameters
        ----------
        n : int, optional
            How many; by default a generation, `popsize`.

        Returns
        -------
        X : ndarray of shape (n, d)
            The points, to be evaluated and told.
        """
        S = self.radial_.draw(self.popsize if n is None else n, self.n_dims, self._rng)
        X = self._place(S)
        self._asked = (X.copy(), S)
        return X

    def _place(self, S: np.ndarray) -> np.ndarray:
        # Section 3.3.1 prints Aᵀ s, which does not go with its A exp(M/2).
        return self.mean_ + self.sigma_ * (S @ self.B_.T)

    def _locate(self, X: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.sigma_ * self.B_, (X - self.mean_).T).T

    def _learn(self, X: np.ndarray, ranks: np.ndarray) -> None:
        d, fisher = self.n_dims, self._fisher
        S, u = self._coordinates(X), self._utilities_of(ranks)
        r2 = np.sum(S**2, axis=1)
        # Section 3.3.1: g_δ = -2 (q'/q) s, summed with the utilities.
        weighted = u * self.radial_.weight(r2, d)
        self.mean_ = (
            self.mean_ + self.lr_mu * self.sigma_ * (self.B_ @ (weighted @ S)) / fisher.mean
        )
        # In a basis of unit length the scale is the coefficient of I / √d in M.
        scale = (weighted @ r2 - d * u.sum()) / (2 * np.sqrt(d)) / np.sqrt(fisher.scale)
        step, step_tau = radial_natural_gradient(
            np.array([scale]),
            u @ self.radial_.tau_scores(r2, d),
            fisher.scale_tau[None, :] / np.sqrt(fisher.scale),
            fisher.tau,
        )
        log_scale = self.lr_sigma * step[0] / np.sqrt(fisher.scale) / np.sqrt(d)
        self.sigma_ *= float(np.exp(np.clip(log_scale / 2, -LARGEST_STEP, LARGEST_STEP)))
        self._bend(S, weighted / (2 * fisher.shape))
        if step_tau.size:
            limit = np.clip(self.lr_tau * step_tau, -LARGEST_STEP, LARGEST_STEP)
            self.radial_ = self.radial_.moved(limit)
            self._fisher = radial_fisher(self.radial_, d, self._rng)

    # A exp(M/2) of Section 3.3.1, its scale split off
    def _bend(self, S: np.ndarray, weights: np.ndarray) -> None:
        """Multiply B by the exponential of the traceless part of Σ w s sᵀ, times lr_B / 2."""
        self.B_ = bent(self.B_, *spectrum(S, weights), self.lr_B / 2)


class HillClimberXNES(RadialNES):
    """The (1+1) hill climber with a natural gradient and, by default, a heavy tail.

    One point a step: a better one becomes the centre and pulls the shape towards its direction;
    the scale follows the rule that a fifth of the steps should succeed. A lucky draw from the
    Cauchy tail is kept instead of being averaged away. The paper cites its update without
    printing it; the one here is ours, and experimental.

    Parameters
    ----------
    x0 : array-like of shape (d,)
        First centre.
    sigma0 : float, default=1.0
        First scale.
    radial : object, optional
        Distribution of the steps, by default `StudentRadial` with df=1 (Cauchy).
    lr_B : float, optional
        Learning rate of the shape, by default 2 / (d² + 6): a single point says less about it
        than a generation does.
    random_state : int, RandomState instance or None, default=None
        Source of the points.

    Attributes
    ----------
    mean_, sigma_, B_ : ndarray of shape (d,), float, ndarray of shape (d, d)
        Centre (the best point), scale and shape of the steps.
    best_x_, best_f_ : ndarray of shape (d,), float
        Best point told so far, and its value.
    n_evals_, n_iter_ : int
        Points told so far, and steps.

    See Also
    --------
    XNES : Whole generations; more robust on noisy functions.

    Notes
    -----
    Do not use it on noisy functions: it never forgets a value that was too good to be true.

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import HillClimberXNES
    >>> climber = HillClimberXNES(np.ones(3), random_state=0)
    >>> for _ in range(2000):
    ...     X = climber.ask()
    ...     _ = climber.tell(X, np.sum(X**2, axis=1))
    >>> print(climber.best_f_ < 1e-8)
    True
    """

    def __init__(
        self,
        x0: Any,
        sigma0: float = 1.0,
        *,
        radial: Any = None,
        lr_B: float | None = None,
        random_state: Any = None,
    ) -> None:
        radial = StudentRadial(df=1.0) if radial is None else radial
        lr_B = 2 / (np.size(x0) ** 2 + 6) if lr_B is None else lr_B
        super().__init__(x0, sigma0, radial=radial, lr_B=lr_B, random_state=random_state)
        self.popsize = 1
        self._centre_f = np.inf

    def ask(self, n: int | None = None) -> np.ndarray:
        """Draw points about the centre; the very first is the centre itself.

        Parameters
        ----------
        n : int, optional
            How many; one by default.

        Returns
        -------
        X : ndarray of shape (n, d)
            The points, to be evaluated and told.
        """
        X = super().ask(n)
        if self.n_evals_ == 0:
            X[0], self._asked[0][0], self._asked[1][0] = self.mean_, self.mean_, 0.0
        return X

    def tell(self, X: Any, f: Any, *, ranks: Any = None) -> HillClimberXNES:
        """Learn the values of points, one after the other.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The points.
        f : array-like of shape (n,)
            Their values; NaN counts as a failure.
        ranks : array-like, optional
            Ignored: a hill climber compares a point with its centre alone.

        Returns
        -------
        self : object
            The optimiser.
        """
        X, f = np.asarray(X, dtype=float), np.asarray(f, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_dims or f.shape != X.shape[:1]:
            raise ValueError(
                f"X must have shape (n, {self.n_dims}) and f one value a row; "
                f"got {X.shape} and {f.shape}."
            )
        for x, value, s in zip(X, f, self._coordinates(X)):
            self._climb(x, value, s)
        self.n_evals_ += len(f)
        self.n_iter_ += 1
        return self

    def _climb(self, x: np.ndarray, value: float, s: np.ndarray) -> None:
        d, first = self.n_dims, np.isinf(self._centre_f)
        if value <= self._centre_f:
            self.mean_, self._centre_f = x.copy(), float(value)
            self.best_x_, self.best_f_ = x.copy(), float(value)
            if not first:
                # success: with the failure's -0.2, a rule of one success in five
                self.sigma_ *= float(np.exp(0.8 / (1 + d / 2)))
                weight = self.radial_.weight(np.array([s @ s]), d)
                self._bend(s[None, :], weight / (2 * self._fisher.shape))
        else:
            # failure; Section 3.5 only cites its rule
            self.sigma_ *= float(np.exp(-0.2 / (1 + d / 2)))
