"""`DynamicRankingModel`: strengths of players that change over time, as in Section 6.4."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, ndtr
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.latent_gaussian.ready import COMMON_CONSTRAINTS, FixedPrior, ReadyModel
from octavo.engine.estimators.arrays import Floats, Ints, Numbers
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context

__all__ = ["DynamicRankingModel"]


def strength_prior(
    theta: Floats, n_times: int, n_players: int, initial: float, rho: float, drift: float | None
) -> sp.csr_array:
    """Return the precision of strengths, time by time.

    x_1 ~ N(0, initial), x_t ~ N(ρ x_{t-1}, drift); theta is (log drift,) where that is None.
    """
    variance = np.exp(np.clip(theta[0], -50.0, 50.0)) if drift is None else drift
    diagonal = np.full(n_times, (1.0 + rho * rho) / variance)
    diagonal[-1] = 1.0 / variance
    # x_1 ~ N(0, initial), then a step of variance `variance` to the next
    diagonal[0] = 1.0 / initial + (rho * rho / variance if n_times > 1 else 0.0)
    side = np.full(n_times - 1, -rho / variance)
    one = sp.diags_array([side, diagonal, side], offsets=[-1, 0, 1])
    # Section 6.4: players' autoregressions are independent a priori
    return sp.csr_array(sp.kron(one, sp.eye_array(n_players)))


def drift_prior(theta: Floats) -> float:
    """Return the log density of log drift: normal about log 0.1 with standard deviation two."""
    return -0.125 * float(theta[0] - np.log(0.1)) ** 2


class DynamicRankingModel(ReadyModel):
    """Posterior of players' strengths over time from who beat whom.

    Player i beats j at time t with probability Φ(x_it - x_jt); each strength is an autoregression,
    and at every time the strengths sum to zero.

    Parameters
    ----------
    initial_variance : float, default=1.0
        Prior variance of strengths at the first time.
    drift_variance : float or None, default=0.1
        Variance of a step in time; None integrates over it.
    rho : float, default=1.0
        Autoregression; one is a random walk.
    likelihood : {"probit", "logit"}, default="probit"
        The link of a game.
    center : bool, default=True
        Whether strengths sum to zero at every time.
    method : {"ep", "laplace"}, default="ep"
        The global approximation.
    tol : float, default=1e-6
        As in `LatentGaussianModel`.
    max_iter : int, default=200
        Most iterations of the global approximation.
    n_jobs : int, default=None
        Processes over nodes of the hyper-grid.

    Attributes
    ----------
    players_ : ndarray of shape (n_players,)
        Who was seen.
    times_ : ndarray of shape (n_times,)
        Times; whole numbers are filled up from the first to the last.
    mean_, var_ : ndarray of shape (n_times, n_players)
        Posterior of the strengths.
    model_ : LatentGaussianModel
        Of all strengths, time by time.
    log_evidence_ : float
        Log p(y).
    converged_ : bool
        Whether the approximation at the mode has converged.
    n_iter_ : int
        Its iterations.

    See Also
    --------
    octavo.ranking.OnlineRanker : One pass over games, for millions of them.

    Notes
    -----
    Do not use it for millions of games or for games of many teams: ratings that are updated game by
    game are made for those. scikit-learn has no model of paired comparisons.

    References
    ----------
    .. [1] B. Cseke and T. Heskes (2011). "Approximate Marginals in Latent Gaussian Models". Journal
       of Machine Learning Research 12, Section 6.4.

    Examples
    --------
    >>> from octavo.bayes import DynamicRankingModel
    >>> games = [["A", "B", 1], ["A", "C", 1], ["B", "C", 2], ["A", "C", 3]]
    >>> model = DynamicRankingModel().fit(games)
    >>> model.players_.tolist(), bool(model.mean_[-1, 0] > 0 > model.mean_[-1, 2])
    (['A', 'B', 'C'], True)
    """

    _parameter_constraints: dict[str, Any] = {
        **COMMON_CONSTRAINTS,
        "initial_variance": [Interval(Real, 0, None, closed="neither")],
        "drift_variance": [Interval(Real, 0, None, closed="neither"), None],
        "rho": [Interval(Real, -1, 1, closed="both")],
        "likelihood": [StrOptions({"probit", "logit"})],
        "center": ["boolean"],
    }

    def __init__(
        self,
        initial_variance: float = 1.0,
        drift_variance: float | None = 0.1,
        rho: float = 1.0,
        likelihood: str = "probit",
        center: bool = True,
        method: str = "ep",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.initial_variance = initial_variance
        self.drift_variance = drift_variance
        self.rho = rho
        self.likelihood = likelihood
        self.center = center
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, games: Any, y: Any = None) -> Self:
        """Fit games.

        Parameters
        ----------
        games : array-like of shape (n_games, 3)
            Player, opponent and time of each game.
        y : array-like of shape (n_games,), default=None
            1 where the player won and -1 or 0 where the opponent did; None: the player always did.

        Returns
        -------
        self : DynamicRankingModel
            The fitted model.
        """
        first, second, when = _columns(games)
        self.players_ = np.unique(np.concatenate([first, second]))
        self.times_ = _all_times(when)
        if self.players_.size < 2:
            raise ValueError("games should have two players or more.")
        A = self._rows(first, second, when)
        outcomes = np.ones(first.size) if y is None else np.asarray(y, dtype=np.float64)
        if outcomes.shape != (first.size,):
            raise ValueError(f"y should have one entry per game ({first.size}).")
        T, p = self.times_.size, self.players_.size
        constraints = None
        if self.center:
            # Section 6.4: strengths of each time sum to zero
            constraints = (np.kron(np.eye(T), np.ones((1, p))), np.zeros(T))
        parts = (T, p, self.initial_variance, self.rho, self.drift_variance)
        prior: Any = FixedPrior(strength_prior, *parts)
        theta0, hyperprior = None, None
        if self.drift_variance is None:
            theta0, hyperprior = [np.log(0.1)], drift_prior
        else:
            prior = prior(np.empty(0))
        model = self._inner(self.likelihood, prior, hyperprior, theta0, constraints)
        with FitProgress(self, 1) as progress:
            self._keep(model.fit(outcomes, A))
            progress.step()
        self.mean_, self.var_ = model.mean_.reshape(T, p), model.var_.reshape(T, p)
        return self

    def _rows(self, first: Numbers, second: Numbers, when: Numbers) -> sp.csr_array:
        i, j = _position(self.players_, first, "player"), _position(self.players_, second, "player")
        t = _position(self.times_, when, "time")
        if (i == j).any():
            at = int(np.flatnonzero(i == j)[0])
            raise ValueError(
                f"A player cannot play against himself: {first[at].item()!r} in row {at}."
            )
        p, m = self.players_.size, first.size
        rows = np.repeat(np.arange(m), 2)
        columns = np.column_stack([t * p + i, t * p + j]).ravel()
        shape = (m, self.times_.size * p)
        # Section 6.4: Φ(x_t^(i) - x_t^(j))
        return sp.csr_array((np.tile([1.0, -1.0], m), (rows, columns)), shape=shape)

    def marginal(self, player: Any, time: Any, method: str | None = None) -> Marginal:
        """Return the posterior density of one strength.

        Parameters
        ----------
        player : label
            One of `players_`.
        time : label
            One of `times_`.
        method : str, default=None
            How it is corrected, see `LatentGaussianModel`.

        Returns
        -------
        marginal : Marginal
            The density.
        """
        check_is_fitted(self, "mean_")
        i = _position(self.players_, np.array([player]), "player")[0]
        t = _position(self.times_, np.array([time]), "time")[0]
        return self.model_.marginal(int(t * self.players_.size + i), method)

    def predict_proba(self, games: Any) -> Floats:
        """Return the probability that the player beats the opponent.

        Parameters
        ----------
        games : array-like of shape (n_games, 3)
            Players, opponents and times that were seen in `fit`.

        Returns
        -------
        proba : ndarray of shape (n_games, 2)
            That the opponent wins, that the player wins.
        """
        check_is_fitted(self, "mean_")
        mean, var = self.model_.combination_moments(self._rows(*_columns(games)))
        if self.likelihood == "probit":
            p = ndtr(mean / np.sqrt(1.0 + var))  # ∫ Φ(d) N(d; m, v) dd
        else:
            nodes, weights = np.polynomial.hermite_e.hermegauss(32)
            at = mean[:, None] + np.sqrt(var)[:, None] * nodes
            p = expit(at) @ weights / np.sqrt(2.0 * np.pi)
        return np.column_stack([1.0 - p, p])


def _columns(games: Any) -> tuple[Numbers, Numbers, Numbers]:
    table = [list(row) for row in games]
    if not table or any(len(row) != 3 for row in table):
        raise ValueError("games should be rows of player, opponent and time.")
    first, second, when = (np.array(column) for column in zip(*table, strict=True))
    for name, column in (("player", first), ("opponent", second), ("time", when)):
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            at = int(np.flatnonzero(~np.isfinite(column))[0])
            raise ValueError(f"games should have no NaN, got one as {name} of row {at}.")
    return first, second, when


def _all_times(when: Numbers) -> Numbers:
    times = np.unique(when)
    if times.dtype.kind in "iu" or (times.dtype.kind == "f" and (times == np.floor(times)).all()):
        if times[-1] - times[0] > 100_000:
            raise ValueError(f"Times from {times[0]} to {times[-1]} are too many steps.")
        return np.arange(times[0], times[-1] + 1)
    return times


def _position(known: Numbers, labels: Numbers, name: str) -> Ints:
    at = np.searchsorted(known, labels)
    at = np.minimum(at, known.size - 1)
    unknown = known[at] != labels
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(f"The {name} {labels[row].item()!r} of row {row} was not seen in fit.")
    return at.astype(np.int64)
