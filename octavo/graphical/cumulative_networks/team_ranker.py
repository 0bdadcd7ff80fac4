"""Ranking players of team games from their scores by a cumulative distribution network a game.

For each game the joint distribution function is Π g_n(x_n, r_n) Π h_{n,n+1}(r_n, r_{n+1}) times
Π s_k(x_k): g ties a team's place to the scores of its players, h orders neighbouring places, s is
what is known of a player. Each player's skill function is multiplied by the conditional
distribution function of the player's score given all places and all other scores (Sections 4.1,
4.2 and Appendix A.3).

The initial pairs for a missing neighbour are (1, 0) here, the derivative of a constant; Appendix
A.3 prints (1, 1). Places are ordinal: their derivatives are differences. Normal distribution
functions are computed, not sampled.

Reference: J. C. Huang and B. J. Frey (2011), "Cumulative Distribution Networks and the
Derivative-sum-product Algorithm", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import log_ndtr
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import NotFittedError

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.trees.derivatives import Logs, table_product
from octavo.graphical.cumulative_networks.factors import GaussianCDF, log_difference
from octavo.graphical.cumulative_networks.ordinal import CumulativeLinkRegression

__all__ = ["CDNTeamRanker"]

_SPAN = 8.0  # of the grid of scores, in standard deviations of the prior
_LARGEST_TEAM = 4
_ENOUGH = 20  # games from which cut-points are learned by regression
_NOTHING = np.array([0.0, -np.inf])  # logarithms of (1, 0): a constant


def _contract(table: Floats, message: Floats, steps: bool) -> Floats:
    # Table 2, or Table 1's difference g - ∂g at the step below
    """Differentiate table times message by the variable of the first axis: f' (g - c g') + f g'."""
    shape = (1,) * (table.ndim - 1)
    value, slope = (m.reshape(shape) if np.ndim(m) == 0 else m for m in message)
    before = Logs.minus(value, slope) if steps else value
    return np.logaddexp(table[1] + before, table[0] + slope)


def _pair_product(a: Floats, b: Floats) -> Floats:
    return table_product(a[:, None], b[:, None], [True], Logs)[:, 0]


@lru_cache(maxsize=64)
def _team_law(size: int, mu: float, sigma: float) -> GaussianCDF:
    """Return the law of the players' latent scores and their noisy sum."""
    cov = np.eye(size + 1)  # u ~ N(μ1, σ²I) and y = 1'u + N(0, σ²) of Eq. (2)
    cov[:size, size] = cov[size, :size] = 1.0
    cov[size, size] = size + 1.0
    mean = np.full(size + 1, mu)
    mean[size] = size * mu
    return GaussianCDF(mean, sigma**2 * cov)


@lru_cache(maxsize=256)
def _order_table(first: int, second: int, n: int, rho: float, sigma: float) -> Floats:
    """Return the log table of h_{n,n+1} at two places: means n and n + 1."""
    # h_{n,n+1}: normal, means n and n + 1
    law = GaussianCDF([n, n + 1.0], sigma**2 * np.array([[1.0, rho], [rho, 1.0]]))
    return law.log_table(np.array([[first, second]], dtype=float), [True, True], [True, True])[
        ..., 0
    ]


class CDNTeamRanker(CallbackSupportMixin, SoundEstimator):
    """Predict the order of teams from what their players scored in past games.

    Parameters
    ----------
    mu : float, default=25
        Mean score of a player who has not played.
    rho : float, default=-0.2
        Correlation of the places of neighbouring teams, in (-1, 1).
    beta : float, default=25/3
        Standard deviation of the prior skill function Φ(x; mu, beta²).
    sigma : float, default=25/6
        Noise of scores and places.
    n_grid : int, default=201
        Points at which skill functions are kept, over mu ± 8 beta.

    Attributes
    ----------
    skills_ : dict
        Of each player the predicted score, where the skill function rises most steeply.
    cutpoints_ : dict
        Of each number of teams the team scores that part the places.
    grid_ : ndarray of shape (n_grid,)
        Scores at which the skill functions are kept.
    n_games_ : int
        Games seen.

    Notes
    -----
    Do not use it where only the order of teams is known (`octavo.ranking.OnlineRanker`), or for
    teams of more than four players: the normal distribution functions of larger teams are too
    costly. A skill function is a product of conditional distribution functions, one a game, so
    that players with many games drift upwards: compare players who have played about as often. In
    simulated leagues it mis-orders more pairs than TrueSkill, whatever Figure 18 says of Halo 2.

    References
    ----------
    .. [1] J. C. Huang and B. J. Frey (2011). "Cumulative Distribution Networks and the
       Derivative-sum-product Algorithm". Journal of Machine Learning Research 12, Section 4.

    Examples
    --------
    >>> from octavo.graphical import CDNTeamRanker
    >>> games = [([["ann"], ["bob"]], [[31.0], [22.0]]), ([["bob"], ["eve"]], [[24.0], [35.0]])]
    >>> ranker = CDNTeamRanker().partial_fit(games)
    >>> ranker.predict_order([["bob"], ["ann"]])
    [1, 0]
    """

    _parameter_constraints: dict[str, Any] = {
        "mu": [Interval(Real, -1e100, 1e100, closed="neither")],
        "rho": [Interval(Real, -1, 1, closed="neither")],
        "beta": [Interval(Real, 0, 1e100, closed="neither")],
        "sigma": [Interval(Real, 0, 1e100, closed="neither")],
        "n_grid": [Interval(Integral, 5, 100_000, closed="both")],
    }

    def __init__(
        self,
        mu: float = 25.0,
        rho: float = -0.2,
        beta: float = 25.0 / 3.0,
        sigma: float = 25.0 / 6.0,
        *,
        n_grid: int = 201,
    ) -> None:
        self.mu = mu
        self.rho = rho
        self.beta = beta
        self.sigma = sigma
        self.n_grid = n_grid

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, games: Any, y: Any = None) -> Self:
        """Forget everything, learn the cut-points from all games, then play them in order.

        Parameters
        ----------
        games : list of (teams, scores)
            Players of each team, and what each of them scored.
        y : None
            Ignored.

        Returns
        -------
        self
            With the skills after the last game.
        """
        self._reset()
        return self._play(games)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, games: Any, y: Any = None) -> Self:
        """Play further games.

        Cut-points for a number of teams are learned from the first games with that many.

        Parameters
        ----------
        games : list of (teams, scores)
            As in `fit`.
        y : None
            Ignored.

        Returns
        -------
        self
            With the skills after the last game.
        """
        if not hasattr(self, "grid_"):
            self._reset()
        return self._play(games)

    def predict_order(self, teams: Sequence[Sequence[Hashable]]) -> list[int]:
        """Return the positions of the teams, the best first.

        Parameters
        ----------
        teams : list of lists of players
            Players who have not played count as the prior says.

        Returns
        -------
        list of int
            Ties in the order given.
        """
        return [int(k) for k in np.argsort(-self.predict_scores(teams), kind="stable")]

    def predict_scores(self, teams: Sequence[Sequence[Hashable]]) -> Floats:
        """Return the predicted scores of teams, the sums over their players.

        Parameters
        ----------
        teams : list of lists of players
            As in `predict_order`.

        Returns
        -------
        ndarray of shape (n_teams,)
            Scores.
        """
        self._require()
        named = _checked_teams(teams)
        return np.array([sum(self._mode(p) for p in team) for team in named])

    def skill_function(self, player: Hashable) -> Floats:
        """Return a player's skill function, a distribution function, on `grid_`.

        Parameters
        ----------
        player : hashable
            Who.

        Returns
        -------
        ndarray of shape (n_grid,)
            Values.
        """
        self._require()
        return np.exp(self._log_skill(player))

    def prequential_error(self, games: Any) -> float:
        """Return the share of mis-ordered pairs when each game is predicted before it is learned.

        Parameters
        ----------
        games : list of (teams, scores)
            As in `fit`; they are learned. A pair that is tied in truth does not count, one that is
            tied in prediction is wrong.

        Returns
        -------
        float
            Between zero and one; NaN is not possible, without any pair it is zero.
        """
        played = [_checked_game(g, k) for k, g in enumerate(_as_list(games))]
        if not hasattr(self, "grid_"):
            self._validate_params()
            self._reset()
        self._learn_cutpoints(played)
        wrong = pairs = 0
        for teams, scores in played:
            guess = self.predict_scores(teams)
            total = np.array([sum(s) for s in scores])
            better = total[:, None] > total
            wrong += int((better & ~(guess[:, None] > guess)).sum())
            pairs += int(better.sum())
            self._update(teams, scores)
        return wrong / max(pairs, 1)

    @property
    def skills_(self) -> dict[Hashable, float]:
        """Predicted score of each player."""
        self._require()
        return {player: self._mode(player) for player in self._skills}

    # --- the state ----------------------------------------------------------------------------

    def _reset(self) -> None:
        self.grid_ = self.mu + self.beta * np.linspace(-_SPAN, _SPAN, self.n_grid)
        self._prior = log_ndtr((self.grid_ - self.mu) / self.beta)
        self._skills: dict[Hashable, Floats] = {}
        self.cutpoints_: dict[int, Floats] = {}
        self.n_games_ = 0

    def _require(self) -> None:
        if not hasattr(self, "grid_"):
            raise NotFittedError(
                "This CDNTeamRanker has seen no game yet: call fit or partial_fit first."
            )

    def _log_skill(self, player: Hashable) -> Floats:
        return self._skills.get(player, self._prior)

    def _mode(self, player: Hashable) -> float:
        rise = np.diff(np.exp(self._log_skill(player)))
        k = int(rise.argmax())
        middle, step = 0.5 * (self.grid_[k] + self.grid_[k + 1]), self.grid_[1] - self.grid_[0]
        if 0 < k < len(rise) - 1:  # the top of the parabola through three points
            left, top, right = rise[k - 1 : k + 2]
            bend = left - 2.0 * top + right
            if bend < 0:
                middle += 0.5 * step * (left - right) / bend
        return float(middle)

    def _at(self, player: Hashable, x: float) -> Floats:
        """Return log s and log s' of a player at a score."""
        logs, grid = self._log_skill(player), self.grid_
        k = int(np.clip(np.searchsorted(grid, x) - 1, 0, len(grid) - 2))
        rise = np.exp(logs[k + 1]) - np.exp(logs[k])
        slope = (logs[k + 1] - logs[k]) / (grid[k + 1] - grid[k])
        value = min(float(np.interp(x, grid, logs)), 0.0)
        if rise > 0:
            return np.array([value, value + np.log(max(slope, 1e-300))])
        return np.array([value, -700.0])

    def _play(self, games: Any) -> Self:
        played = [_checked_game(g, k) for k, g in enumerate(_as_list(games))]
        self._learn_cutpoints(played)
        with FitProgress(self, len(played), None, step_name="game") as progress:
            for teams, scores in played:
                self._update(teams, scores)
                if progress.step():
                    break
        return self

    # --- one game -----------------------------------------------------------------------------

    def _learn_cutpoints(self, games: Iterable[Any]) -> None:
        by_size: dict[int, list[Floats]] = {}
        for _, scores in games:
            totals = np.sort([sum(s) for s in scores])
            by_size.setdefault(len(totals), []).append(totals)
        for n, found in by_size.items():
            if n not in self.cutpoints_:
                self.cutpoints_[n] = _cutpoints(np.array(found))

    def _update(self, teams: list[list[Hashable]], scores: list[list[float]]) -> None:
        totals = np.array([sum(s) for s in scores])
        order = np.argsort(totals, kind="stable")  # the lowest place first, as r̃_n = n
        ranked = [(teams[i], np.array(scores[i])) for i in order]
        falls = np.diff(totals[order]) > 0
        places = np.maximum.accumulate(np.where(np.append(True, falls), np.arange(len(order)), 0))
        cuts = np.concatenate([[-np.inf], self.cutpoints_[len(order)], [np.inf]])
        ends = [(cuts[r], cuts[r + 1]) for r in places]
        own = [[self._at(p, x) for p, x in zip(team, xs)] for team, xs in ranked]
        to_place = [
            self._to_place(self._team_table(xs, end), mine)
            for (_, xs), end, mine in zip(ranked, ends, own)
        ]
        outside = self._chain(to_place, places + 1)
        fresh = {}
        for n, (team, xs) in enumerate(ranked):
            for k, player in enumerate(team):
                rows = np.tile(xs, (self.n_grid + 1, 1))
                rows[:, k] = np.append(self.grid_, np.inf)
                table = self._team_table(rows, ends[n], skip=k)
                others = [m for j, m in enumerate(own[n]) if j != k]
                message = self._to_place(table, others)
                # times what the other teams say of this team's place
                message = _contract(message, outside[n], steps=True)  # μ_{g→X_k} on the grid
                if np.isfinite(message[-1]):
                    # conditional on the game: divided by the value at x → ∞
                    gain = np.minimum(message[:-1] - message[-1], 0.0)
                    fresh[player] = self._log_skill(player) + np.maximum(gain, -1e4)
        for player, logs in fresh.items():  # Z = the value at infinity is one
            self._skills[player] = logs
        for team, _ in ranked:
            for player in team:
                self._skills.setdefault(player, self._prior)
        self.n_games_ += 1

    def _team_table(self, xs: Floats, end: tuple[float, float], skip: int | None = None) -> Floats:
        """Return the log table of g at scores and place; the axis of one player may be left out."""
        rows = np.atleast_2d(xs)
        size = rows.shape[1]
        law = _team_law(size, float(self.mu), float(self.sigma))
        wanted = [j != skip for j in range(size)] + [False]
        corners: list[Floats | None] = []
        for cut in end:
            if np.isneginf(cut):
                corners.append(None)
                continue
            points = np.column_stack([rows, np.full(len(rows), cut)])
            corners.append(law.log_jet(points, wanted)[..., 0, :])
        high = corners[1]
        assert high is not None
        low = np.full_like(high, -np.inf) if corners[0] is None else corners[0]
        # the place is one of finitely many: Φ at its cut less Φ at the one below
        table = np.stack([high, log_difference(high, low)], axis=-2)
        if skip is not None:
            table = np.take(table, 0, axis=skip)
        return table if xs.ndim == 2 else table[..., 0]

    def _to_place(self, table: Floats, own: Sequence[Floats]) -> Floats:
        """Take the scores out of g: μ and λ at the place."""
        for message in own:
            table = _contract(table, message, steps=False)
        return table

    def _chain(self, inner: Sequence[Floats], places: Any) -> list[Floats]:
        """Return what the chain of places tells each team, without what the team itself says."""
        n = len(inner)
        rho, sigma = float(self.rho), float(self.sigma)
        tables = [
            _order_table(int(places[k]), int(places[k + 1]), k + 1, rho, sigma)
            for k in range(n - 1)
        ]
        left: list[Floats] = [_NOTHING]
        for k in range(n - 1):
            left.append(_scaled(_contract(tables[k], _pair_product(left[k], inner[k]), True)))
        right: list[Floats] = [_NOTHING]
        for k in range(n - 2, -1, -1):
            message = _pair_product(right[0], inner[k + 1])
            right.insert(0, _scaled(_contract(tables[k].T, message, True)))
        return [_pair_product(a, b) for a, b in zip(left, right)]


def _scaled(message: Floats) -> Floats:
    top = message.max()
    return message - top if np.isfinite(top) else message


def _cutpoints(totals: Floats) -> Floats:
    """Return the team scores that part the places, by ordinal regression of place on score."""
    n_games, n = totals.shape
    middle = (0.5 * (totals[:, 1:] + totals[:, :-1])).mean(axis=0)
    if n_games < _ENOUGH:
        return middle
    places = np.tile(np.arange(n), n_games)
    model = CumulativeLinkRegression("probit", alpha=1e-6).fit(totals.reshape(-1, 1), places)
    if model.coef_[0] <= 0:
        return middle
    return model.thresholds_ / model.coef_[0]


def _as_list(games: Any) -> list[Any]:
    if isinstance(games, (str, bytes)) or not hasattr(games, "__iter__"):
        raise TypeError(f"games must be a list of (teams, scores), got {type(games).__name__}.")
    found = list(games)
    if not found:
        raise ValueError("games must hold a game or more; this list is empty.")
    return found


def _checked_teams(teams: Any) -> list[list[Hashable]]:
    try:
        found = [list(team) for team in teams]
        players = [p for team in found for p in team]
        distinct = len(set(players)) == len(players)
    except TypeError:
        raise ValueError("teams must be lists of players, each hashable.") from None
    if len(found) < 2 or not all(found) or not distinct:
        raise ValueError(
            f"A game needs two teams or more, none empty and no player twice; got {teams!r}."
        )
    return found


def _checked_game(game: Any, number: int) -> tuple[list[list[Hashable]], list[list[float]]]:
    try:
        teams, scores = game
        values = [[float(x) for x in team] for team in scores]
    except (TypeError, ValueError):
        raise ValueError(
            f"Game {number} is not a pair (teams, scores) with a number for each player."
        ) from None
    found = _checked_teams(teams)
    if [len(t) for t in found] != [len(v) for v in values]:
        raise ValueError(f"Game {number} needs one score for each player of each team.")
    if not np.isfinite(np.concatenate([np.array(v) for v in values])).all():
        raise ValueError(f"Game {number} has scores that are NaN or infinite.")
    if max(len(t) for t in found) > _LARGEST_TEAM:
        raise ValueError(
            f"Game {number} has a team of {max(len(t) for t in found)} players; at most "
            f"{_LARGEST_TEAM} are possible."
        )
    return found, values
