"""Skill ratings from a stream of game results, for any number of teams of any size.

Each game moves every player's mean and variance by a few closed-form lines, derived from the
first two derivatives of the log-probability of the outcome; there is no message passing and
no iteration. Glicko and Elo are offered beside the five models for comparison.

Reference: R. C. Weng and C.-J. Lin (2011), "A Bayesian Approximation Method for Online
Ranking", Journal of Machine Learning Research 12. Implemented: Algorithms 1-5, the individual
update (Eq. 43-44), the rating-period form of Glicko (Section 5), Elo (Eq. 5-6) and the
evaluation of Section 6.1. The numerics are in `octavo.ranking.ratings.updates`.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import accumulate
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import NotFittedError

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.ranking.ratings.game_log import (
    FlatGames,
    Game,
    GameLog,
    checked_game,
    checked_teams,
    finite_float,
    indexed_pairs,
)
from octavo.ranking.ratings.json_format import SavedRatings, ratings_of_json, ratings_to_json
from octavo.ranking.ratings.prequential import PrequentialTrace, pair_predictions
from octavo.ranking.ratings.updates import (
    CONSTANT,
    ELO,
    GLICKO,
    INVERSE_K,
    MODELS,
    SIGMA_OVER_C,
    TABLE,
    TM,
    RatingRules,
    RatingState,
    Switches,
    add_drift,
    as_numbers,
    first_place,
    glicko_period,
    order_probability,
    play_game,
    rate_game,
    replay_duels,
    replay_games,
    switches,
    tabulated_gamma,
    team_sums,
    win_matrix,
)

__all__ = ["LeaderboardRow", "OnlineRanker", "Rating"]

_NO_FLOATS = np.empty(0)
_NO_TABLE = np.empty((0, 0))
_NO_PAIRS = np.empty((0, 2))
_CHUNK = 1 << 18  # games replayed between two reports of progress; bounds the memory of `fit`
_NUMBERS = ("mu", "sigma", "beta", "kappa", "tau", "draw_margin", "k_factor", "inactivity")
_SQUARED = ("sigma", "beta", "tau", "inactivity")
_asked = attrgetter(
    "model", "pairs", "beta", "draw_margin", "kappa", "gamma", "tau", "inactivity", "sigma",
    "k_factor", "link",
)  # fmt: skip
_LARGEST = 1e150  # its square, and sums of such squares, are finite
_HISTORY = np.dtype([("game", "i8"), ("player", "i8"), ("mu", "f8"), ("sigma", "f8")])


class Rating(NamedTuple):
    """A belief about one player's skill: its mean and standard deviation."""

    mu: float
    sigma: float


class LeaderboardRow(NamedTuple):
    """One line of a leaderboard; score is the skill that is almost surely exceeded."""

    player: Hashable
    mu: float
    sigma: float
    score: float


class OnlineRanker(CallbackSupportMixin, SoundEstimator):
    """Rate players online from the outcomes of games between teams.

    A player's skill is a normal belief with mean mu and standard deviation sigma; a team's
    is the sum of its players'. After a game every belief moves by a closed-form step.

    Parameters
    ----------
    model : {"bradley_terry", "thurstone_mosteller", "plackett_luce", "glicko", "elo"}, \
            default="bradley_terry"
        Likelihood of a game's outcome. The last two rate one player against another only,
        on the 400-point scale: give them ``mu=1500, sigma=350``.
    pairs : {"full", "partial"}, default="full"
        Whether a game of k teams counts as all its pairs or as the pairs of neighbours in
        rank. Only for the first two models.
    mu, sigma : float, default=25, 25/3
        Belief about a player who has not played.
    beta : float, default=25/6
        Standard deviation of a team's performance around its skill.
    kappa : float, default=1e-4
        Smallest factor by which one game may shrink a variance.
    gamma : {"sigma_over_c", "inverse_k"}, float or callable, default="sigma_over_c"
        Slows the shrinking of variances: σ_i/c (the paper's choice), one over the number of
        teams, a constant in [0, 1], or a function ``gamma(sigma_i, c, k)``.
    tau : float, default=0
        Skills drift: ``tau**2`` is added to a player's variance before each game.
    draw_margin : float, default=0.1
        Performances closer than this, the paper's ε, are a tie (Thurstone-Mosteller; elsewhere
        it only serves `predict_draw`).
    k_factor : float, default=32
        Step of Elo.
    link : {"logistic", "normal"}, default="logistic"
        Winning probability of Elo: ``1 / (1 + 10 ** (-d / 400))`` or ``Φ(d / (√2 β))``.
    inactivity : float, default=0
        ``inactivity**2`` is added per unit of time since the player's last game, up to the
        prior variance. Time is what `update` and `fit` are told, else the count of games.
    record_history : bool, default=False
        Keep every rating after every game in `history_`. Otherwise the state is two numbers
        a player, whatever the number of games.

    Attributes
    ----------
    players_ : list
        Ids of the players, in the order in which they were first seen.
    mu_, sigma_ : ndarray of shape (n_players,)
        Their beliefs.
    n_games_ : int
        Number of games played.
    history_ : ndarray
        Structured array with fields game, player (an index into `players_`), mu and sigma;
        only with ``record_history=True``.

    See Also
    --------
    posterior_moments_by_derivatives : The same update for a likelihood of your own.

    Notes
    -----
    Do not use it for a fixed set of comparisons whose order means nothing: the maximum
    likelihood fit of a Bradley-Terry model uses all of them at once. In scikit-learn that is
    `sklearn.linear_model.LogisticRegression` without intercept on a +1/-1 design. Do not use
    Thurstone-Mosteller with many teams and the default gamma: its variances collapse.

    References
    ----------
    .. [1] R. C. Weng and C.-J. Lin (2011). "A Bayesian Approximation Method for Online
       Ranking". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> from octavo.ranking import OnlineRanker
    >>> ranker = OnlineRanker()
    >>> ranker.update([["ann", "bob"], ["eve"]], ranks=[2, 1]).rating("eve").mu.round(3)
    np.float64(28.708)
    >>> ranker.predict_win([["eve"], ["ann"]]).round(3)
    array([0.638, 0.362])
    """

    _parameter_constraints: dict[str, Any] = {
        "model": [StrOptions(set(MODELS))],
        "pairs": [StrOptions({"full", "partial"})],
        "mu": [Interval(Real, None, None, closed="neither")],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "kappa": [Interval(Real, 0, 1, closed="neither")],
        "gamma": [
            StrOptions({"sigma_over_c", "inverse_k"}),
            Interval(Real, 0, 1, closed="both"),
            callable,
        ],
        "tau": [Interval(Real, 0, None, closed="left")],
        "inactivity": [Interval(Real, 0, None, closed="left")],
        "draw_margin": [Interval(Real, 0, None, closed="left")],
        "k_factor": [Interval(Real, 0, None, closed="neither")],
        "link": [StrOptions({"logistic", "normal"})],
        "record_history": ["boolean"],
    }

    def __init__(
        self,
        model: str = "bradley_terry",
        pairs: str = "full",
        mu: float = 25.0,
        sigma: float = 25.0 / 3.0,
        beta: float = 25.0 / 6.0,
        kappa: float = 1e-4,
        gamma: str | float | Callable[[float, float, int], float] = "sigma_over_c",
        tau: float = 0.0,
        draw_margin: float = 0.1,
        k_factor: float = 32.0,
        link: str = "logistic",
        *,
        inactivity: float = 0.0,
        record_history: bool = False,
    ) -> None:
        self.model = model
        self.pairs = pairs
        self.mu = mu
        self.sigma = sigma
        self.beta = beta
        self.kappa = kappa
        self.gamma = gamma
        self.tau = tau
        self.draw_margin = draw_margin
        self.k_factor = k_factor
        self.link = link
        self.inactivity = inactivity
        self.record_history = record_history

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    # --- state ------------------------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        for name in _NUMBERS:
            # A whole number may exceed every float, and the square of a float as well.
            value = finite_float(getattr(self, name), name)
            if name in _SQUARED and abs(value) > _LARGEST:
                raise ValueError(f"{name} must be at most {_LARGEST:g}, got {value:g}.")

    def _rules(self) -> RatingRules:
        try:
            return self._unchecked_rules()
        except OverflowError:
            self._validate_params()
            raise

    def _kept_rules(self) -> tuple[RatingRules, Switches, NDArray[np.float64]]:
        """Return the rules, what they need and their numbers, anew where a parameter changed."""
        asked = _asked(self)
        kept = self.__dict__.get("_kept")
        if kept is None or kept[0] != asked:
            rules = self._rules()
            kept = self._kept = (asked, (rules, switches(rules), as_numbers(rules)))
        return kept[1]

    def _unchecked_rules(self) -> RatingRules:
        gamma = self.gamma
        if isinstance(gamma, str):
            kind, value = (SIGMA_OVER_C if gamma == "sigma_over_c" else INVERSE_K), 0.0
        elif callable(gamma):
            kind, value = TABLE, 0.0
        else:
            kind, value = CONSTANT, float(gamma)
        return RatingRules(
            MODELS[self.model],
            self.pairs == "full",
            float(self.beta) ** 2,
            float(self.draw_margin),
            float(self.kappa),
            kind,
            value,
            float(self.tau) ** 2,
            float(self.inactivity) ** 2,
            float(self.sigma) ** 2,
            float(self.k_factor),
            self.link == "normal",
        )

    def _reset(self, n_players: int = 0) -> None:
        """Begin a new history with players 0..n-1 at the prior."""
        self._validate_params()
        if self.model == "glicko" and self.sigma < 50:
            warnings.warn(
                f"Glicko works on the 400-point scale and hardly moves from sigma={self.sigma:g}; "
                "mu=1500, sigma=350 are usual.",
                UserWarning,
                stacklevel=3,
            )
        self._ids: list[Hashable] | range = range(n_players)
        self._index: dict[Hashable, int] | None = None
        self._state = self._prior_state(n_players)
        self._history: list[NDArray[Any]] = []
        self.n_games_ = 0

    def _prior_state(self, n: int) -> RatingState:
        return RatingState(
            np.full(n, float(self.mu)),
            np.full(n, float(self.sigma) ** 2),
            np.full(n, np.nan),
        )

    def _require_games(self, method: str) -> None:
        if not hasattr(self, "_state"):
            raise NotFittedError(
                f"This OnlineRanker has no players yet: call update, partial_fit, fit or "
                f"set_rating before {method}."
            )

    def _register(self, players: Sequence[Hashable]) -> list[int]:
        """Return the players' places, giving one to those seen for the first time."""
        if "_state" not in self.__dict__:
            self._reset()
        if self._index is None:
            self._index = {player: place for place, player in enumerate(self._ids)}
            self._ids = list(self._ids)
        try:
            return [*map(self._index.__getitem__, players)]
        except KeyError:
            pass  # somebody is new
        places = []
        for player in players:
            place = self._index.get(player)
            if place is None:
                place = self._index[player] = len(self._ids)
                self._ids.append(player)  # type: ignore[union-attr]
            places.append(place)
        if len(self._ids) > self._state.mu.size:  # doubling keeps the cost per player constant
            more = self._prior_state(max(len(self._ids) - self._state.mu.size, self._state.mu.size))
            self._state = RatingState(
                *(np.concatenate([old, new]) for old, new in zip(self._state, more))
            )
        return places

    @property
    def players_(self) -> list[Hashable]:
        """Ids of the players, in the order in which they were first seen."""
        self._require_games("players_")
        return list(self._ids)

    @property
    def mu_(self) -> NDArray[np.float64]:
        """Means of the players' skills."""
        self._require_games("mu_")
        return self._state.mu[: len(self._ids)]

    @property
    def sigma_(self) -> NDArray[np.float64]:
        """Standard deviations of the players' skills."""
        self._require_games("sigma_")
        return np.sqrt(self._state.variance[: len(self._ids)])

    @property
    def history_(self) -> NDArray[Any]:
        """Every rating after every game."""
        if not self.record_history:
            raise AttributeError("history_ is kept only with record_history=True.")
        self._require_games("history_")
        return np.concatenate(self._history) if self._history else np.empty(0, _HISTORY)

    # --- playing ----------------------------------------------------------------------------

    def _check_supported(self, sizes: Sequence[int], weights: Any = None) -> None:
        """Refuse games that the model does not define."""
        if self.model in ("glicko", "elo") and (
            len(sizes) != 2 or any(n != 1 for n in sizes) or weights is not None
        ):
            raise ValueError(
                f"model={self.model!r} rates one player against another; got {len(sizes)} teams "
                f"of sizes {list(sizes)}{' with weights' if weights is not None else ''}."
            )

    def _warn_collapse(self, n_teams: int) -> None:
        if self.model == "thurstone_mosteller" and n_teams > 4 and self.gamma != "inverse_k":
            warnings.warn(
                f"Thurstone-Mosteller with {n_teams} teams and gamma={self.gamma!r} shrinks "
                "variances too fast (44.65 % error in the paper's Table 2); use "
                'gamma="inverse_k" or model="bradley_terry".',
                UserWarning,
                stacklevel=3,
            )

    def _play(self, log: GameLog, watch: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
        """Replay a log on the state; return the team sums before each game if watched."""
        rules = self._rules()
        n_teams, n_games = log.ranks.size, log.game_ptr.size - 1
        before = (np.empty(n_teams), np.empty(n_teams)) if watch else (_NO_FLOATS, _NO_FLOATS)
        after = np.empty((log.players.size, 2)) if self.record_history else _NO_PAIRS
        if rules.gamma == TABLE:
            for g in range(n_games):
                self._play_by_table(rules, log, g, before, after)
        elif log.players.size == 2 * n_games and not (
            log.weights.size or watch or after.size or rules.inactivity2
        ):
            needs, state = switches(rules), self._state
            replay_duels(
                rules, needs.margin, needs.duel, log.players, log.ranks, state.mu, state.variance
            )
        else:
            clock = float(self.n_games_)
            replay_games(rules, *switches(rules), log, self._state, clock, *before, after)
        if self.record_history:
            rows = np.empty(log.players.size, _HISTORY)
            sizes = np.diff(log.team_ptr[log.game_ptr])
            rows["game"] = self.n_games_ + np.repeat(np.arange(n_games), sizes)
            rows["player"] = log.players
            rows["mu"], rows["sigma"] = after[:, 0], np.sqrt(after[:, 1])
            self._history.append(rows)
        self.n_games_ += n_games
        return before

    def _play_by_table(
        self,
        rules: RatingRules,
        log: GameLog,
        g: int,
        before: tuple[NDArray[Any], NDArray[Any]],
        after: NDArray[Any],
    ) -> None:
        """Play game g of a log with γ from the user's function, tabulated before the game."""
        first, last = log.game_ptr[g], log.game_ptr[g + 1]
        k = last - first
        mu, variance = self._state.mu, self._state.variance
        arrays = log.team_ptr, log.players, log.weights
        players = log.players[log.team_ptr[first] : log.team_ptr[last]]
        now = log.times[g] if log.times.size else float(self.n_games_ + g)
        add_drift(rules, players, now, variance, self._state.last_time)
        team_mean, team_variance = np.empty(k), np.empty(k)
        team_sums(first, last, *arrays, mu, variance, team_mean, team_variance)
        gamma = cast("Callable[[float, float, int], float]", self.gamma)
        table = tabulated_gamma(rules, gamma, team_variance)
        if before[0].size:
            before[0][first:last], before[1][first:last] = team_mean, team_variance
        rate_game(rules, *switches(rules), first, last, *arrays, log.ranks, mu, variance, table)
        if after.size:
            slots = slice(log.team_ptr[first], log.team_ptr[last])
            after[slots, 0] = mu[log.players[slots]]
            after[slots, 1] = variance[log.players[slots]]

    def update(
        self,
        teams: Sequence[Sequence[Hashable]],
        ranks: Sequence[float] | None = None,
        scores: Sequence[float] | None = None,
        weights: Sequence[Sequence[float]] | None = None,
        time: float | None = None,
    ) -> Self:
        """Learn from one game.

        Parameters
        ----------
        teams : list of lists of player ids
            Ids are anything hashable.
        ranks : sequence of float, optional
            One per team, smaller is better; equal ranks are a tie. Only their order counts.
            Without ranks or scores the teams are taken to be listed from first to last.
        scores : sequence of float, optional
            One per team, larger is better, instead of ranks.
        weights : list of lists of float, optional
            Share of the game that each player took part in: the team's skill is Σ w θ.
        time : float, optional
            When the game was played, for ``inactivity``; the count of games by default.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        if "_state" not in self.__dict__:
            self._reset()
        game = checked_game(teams, ranks, scores, weights)
        if time is not None:
            time = finite_float(time, "time")
        sizes = [*map(len, game.teams)]
        rules, needs, numbers = self._kept_rules()
        if needs.duel:
            self._check_supported(sizes, game.weights)
        elif needs.margin is not None:
            self._warn_collapse(len(sizes))
        if rules.gamma == TABLE or self.record_history:
            log = self._pack([game])
            self._play(log if time is None else log._replace(times=np.array([time])))
            return self
        places = self._register(game.players)
        row = [*game.ranks, *accumulate(sizes, initial=0), *places]
        flat = np.fromiter(row, np.float64, len(row))  # faster than np.array from a short list
        shares: Any = _NO_FLOATS if game.weights is None else np.array(game.weights)
        now = float(self.n_games_) if time is None else time
        play_game(numbers, *needs, len(sizes), flat, shares, now, *self._state)
        self.n_games_ += 1
        return self

    def _pack(self, games: Sequence[Game]) -> GameLog:
        """Return checked games as flat arrays, registering their players."""
        teams = [team for game in games for team in game.teams]
        players = self._register([player for team in teams for player in team])
        weighted = any(game.weights is not None for game in games)
        weights = [
            w
            for game in games
            for w in (game.weights or [1.0] * sum(len(team) for team in game.teams))
        ]
        return GameLog(
            np.array(list(accumulate((len(game.teams) for game in games), initial=0))),
            np.array(list(accumulate((len(team) for team in teams), initial=0))),
            np.array(players, dtype=np.int64),
            np.array(weights) if weighted else _NO_FLOATS,
            np.array([rank for game in games for rank in game.ranks]),
            _NO_FLOATS,
        )

    def _checked_games(self, games: Iterable[Any]) -> list[Game]:
        """Check games given as (teams, ranks) or (teams, ranks, weights)."""
        checked = []
        for number, entry in enumerate(games):
            try:
                if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
                    raise TypeError(
                        f"A game is (teams, ranks) or (teams, ranks, weights), got {entry!r}."
                    )
                teams, ranks, *weights = entry
                game = checked_game(teams, ranks, None, weights[0] if weights else None)
                # A stream may hand over one list again and again.
                game = game._replace(teams=[[*team] for team in game.teams])
                self._check_supported([len(team) for team in game.teams], game.weights)
            except (TypeError, ValueError) as error:
                raise type(error)(f"Game {number}: {error}") from None
            checked.append(game)
        return checked

    def partial_fit(self, games: Iterable[Any]) -> Self:
        """Play on with a block of games.

        Parameters
        ----------
        games : iterable of (teams, ranks) or (teams, ranks, weights)
            As in `update`. If any game is refused, none is played.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        if not hasattr(self, "_state"):
            self._reset()
        checked = self._checked_games(games)
        if checked:
            self._warn_collapse(max(len(game.teams) for game in checked))
            self._play(self._pack(checked))
        return self

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        team_ptr: ArrayLike,
        player_idx: ArrayLike,
        ranks: ArrayLike,
        game_ptr: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> Self:
        """Start afresh and replay a log of games given as flat arrays.

        The arrays may be memory-mapped: beyond the ratings, the memory taken does not depend
        on the number of games.

        Parameters
        ----------
        team_ptr : array-like of int of shape (n_teams + 1,)
            Team t is ``player_idx[team_ptr[t]:team_ptr[t + 1]]``.
        player_idx : array-like of int of shape (n_slots,)
            Players as integers 0, 1, ...; these are their ids from then on.
        ranks : array-like of shape (n_teams,)
            Smaller is better, equal is a tie.
        game_ptr : array-like of int of shape (n_games + 1,), optional
            Game g is teams ``game_ptr[g]:game_ptr[g + 1]``; two teams a game by default.
        weights : array-like of shape (n_slots,), optional
            Share of the game that each player took part in.
        times : array-like of shape (n_games,), optional
            When each game was played, for ``inactivity``.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        arrays = FlatGames(team_ptr, player_idx, ranks, game_ptr, weights, times)
        new = copy.copy(self)
        new._reset(arrays.n_players)
        n_games = arrays.n_games
        with FitProgress(self, -(-n_games // _CHUNK), step_name="games") as progress:
            largest = 0
            for start in range(0, n_games, _CHUNK):
                log = arrays.chunk(start, min(start + _CHUNK, n_games))
                if game_ptr is not None:
                    sizes = np.diff(log.game_ptr)
                    largest = max(largest, int(sizes.max()))
                if self.model in ("glicko", "elo"):
                    sizes = np.diff(log.game_ptr)
                    bad = (sizes != 2) | (np.diff(log.team_ptr[log.game_ptr]) != 2)
                    if bad.any() or log.weights.size:
                        raise ValueError(
                            f"model={self.model!r} rates one player against another; game "
                            f"{start + int(np.argmax(bad))} is not such a game."
                        )
                new._play(log)
                if progress.step():
                    break
        self._warn_collapse(largest)
        for name in ("_ids", "_index", "_state", "_history", "n_games_"):
            setattr(self, name, getattr(new, name))
        return self

    def fit_pairs(self, winner: ArrayLike, loser: ArrayLike, draw: ArrayLike | None = None) -> Self:
        """Start afresh and replay one-on-one games given as two columns.

        Parameters
        ----------
        winner, loser : array-like of shape (n_games,)
            Labels of any kind, such as two columns of a data frame.
        draw : array-like of bool of shape (n_games,), optional
            Where true, the game was a tie.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        places, ranks, index = indexed_pairs(winner, loser, draw)
        self.fit(np.arange(places.size + 1), places, ranks)
        self._ids, self._index = list(index), index
        return self

    def update_period(self, games: Iterable[Any]) -> Self:
        """Learn from a rating period of Glicko: each game counts against the ratings at its start.

        Parameters
        ----------
        games : iterable of (teams, ranks)
            One player against another. If any game is refused, none is played.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        if self.model != "glicko":
            raise ValueError(f"Rating periods are Glicko's: model='glicko', got {self.model!r}.")
        if not hasattr(self, "_state"):
            self._reset()
        checked = self._checked_games(games)
        if not checked:
            return self
        log = self._pack(checked)
        one, other = log.ranks[0::2], log.ranks[1::2]
        score = np.where(one == other, 0.5, np.where(one < other, 1.0, 0.0))  # s of Algorithm 5
        # Eq. (81)-(88)
        glicko_period(self._rules(), log.players[0::2], log.players[1::2], score, self._state)
        if self.record_history:
            seen = np.unique(log.players)
            rows = np.empty(seen.size, _HISTORY)
            rows["game"], rows["player"] = self.n_games_ + len(checked) - 1, seen
            rows["mu"] = self._state.mu[seen]
            rows["sigma"] = np.sqrt(self._state.variance[seen])
            self._history.append(rows)
        self.n_games_ += len(checked)
        return self

    def set_rating(self, player: Hashable, mu: float, sigma: float) -> Self:
        """Set what is believed of a player, such as an informed prior.

        Parameters
        ----------
        player : hashable
            The player's id.
        mu, sigma : float
            Mean and standard deviation of the skill.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        mean, spread = finite_float(mu, "mu"), finite_float(sigma, "sigma")
        if not 0 < spread <= _LARGEST or not spread * spread > 0:
            raise ValueError(f"mu must be finite and sigma positive, got mu={mu}, sigma={sigma}.")
        [[player]] = checked_teams([[player]])
        [place] = self._register([player])
        self._state.mu[place], self._state.variance[place] = mean, spread**2
        return self

    # --- asking -----------------------------------------------------------------------------

    def rating(self, player: Hashable) -> Rating:
        """Return what is believed of a player: the prior if they have not played.

        Parameters
        ----------
        player : hashable
            The player's id.

        Returns
        -------
        rating : Rating
            Named tuple (mu, sigma).
        """
        place = self._place(player)
        if place is None:
            return Rating(np.float64(self.mu), np.float64(self.sigma))
        return Rating(self._state.mu[place], np.sqrt(self._state.variance[place]))

    def _place(self, player: Hashable) -> int | None:
        if not hasattr(self, "_state"):
            return None
        if self._index is not None:
            return self._index.get(player)
        # Ids are 0, 1, ... and equal to them is what a dictionary would find: 2.0 is 2.
        whole = isinstance(player, Integral) or (isinstance(player, float) and player.is_integer())
        place = int(cast("int", player)) if whole else -1
        return place if 0 <= place < len(self._ids) else None

    def _team_beliefs(self, teams: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and variance of each team's skill."""
        self._validate_params()
        members = checked_teams(teams)
        if len(members) < 2:
            raise ValueError(f"A prediction needs at least two teams, got {len(members)}.")
        self._check_supported([len(team) for team in members])
        ratings = [[self.rating(player) for player in team] for team in members]
        mean = np.array([sum(r.mu for r in team) for team in ratings])
        return mean, np.array([sum(r.sigma**2 for r in team) for team in ratings])

    def predict_win(self, teams: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
        """Return each team's probability of winning.

        Parameters
        ----------
        teams : list of lists of player ids
            The teams that meet.

        Returns
        -------
        probability : ndarray of shape (n_teams,)
            For two teams the model's own P(i beats q). For more, the Plackett-Luce choice
            probability, or under Thurstone-Mosteller the probability that the team's normal
            performance exceeds all others by the draw margin.
        """
        mean, variance = self._team_beliefs(teams)
        rules = self._rules()
        if mean.size > 2:
            return first_place(rules, mean, variance)
        margin = rules.margin if rules.model == TM else 0.0
        win = win_matrix(rules, mean, variance, margin)  # Eq. (57) or (65)
        return np.array([win[0, 1], win[1, 0]])

    def predict_draw(self, teams: Sequence[Sequence[Hashable]]) -> float:
        """Return the probability that two teams' performances differ by less than the margin.

        Parameters
        ----------
        teams : list of two lists of player ids
            The teams that meet.

        Returns
        -------
        probability : float
            Eq. (65) for Thurstone-Mosteller; the same window of the logistic distribution
            for Bradley-Terry and Plackett-Luce. Glicko and Elo have no draws and refuse.
        """
        mean, variance = self._team_beliefs(teams)
        if mean.size != 2:
            raise ValueError(f"predict_draw is for two teams, got {mean.size}.")
        rules = self._rules()
        if rules.model in (GLICKO, ELO):
            raise ValueError(f"model={self.model!r} gives draws no probability.")
        win = win_matrix(rules, mean, variance, rules.margin)
        return float(max(1.0 - win[0, 1] - win[1, 0], 0.0))  # what neither wins by the margin

    def predict_rank(self, teams: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
        """Return the expected rank of each team; they add to k(k+1)/2.

        Parameters
        ----------
        teams : list of lists of player ids
            The teams that meet.

        Returns
        -------
        ranks : ndarray of shape (n_teams,)
            One plus the expected number of teams ahead.
        """
        mean, variance = self._team_beliefs(teams)
        win = win_matrix(self._rules(), mean, variance, 0.0)
        np.fill_diagonal(win, 0.0)
        return 1.0 + win.sum(axis=0)  # 1 + Σ_q P(q beats i)

    def predict_order(self, teams: Sequence[Sequence[Hashable]]) -> float:
        """Return the probability that the teams finish in the order given.

        Parameters
        ----------
        teams : list of lists of player ids
            From first to last.

        Returns
        -------
        probability : float
            Over all orders of the teams these add to one.
        """
        return order_probability(self._rules(), *self._team_beliefs(teams))

    def quality(self, teams: Sequence[Sequence[Hashable]]) -> float:
        """Return how even and how well known a match is, from 0 to 1.

        Parameters
        ----------
        teams : list of lists of player ids
            The teams that would meet.

        Returns
        -------
        quality : float
            The chance that all performances coincide, relative to teams of equal and exactly
            known skill; ``4 p (1 - p)`` for Glicko and Elo.
        """
        mean, variance = self._team_beliefs(teams)
        rules = self._rules()
        if rules.model in (GLICKO, ELO):
            p = win_matrix(rules, mean, variance, 0.0)[0, 1]
            return float(4.0 * p * (1.0 - p))
        neighbours = np.diff(np.eye(mean.size), axis=0)  # differences of neighbours' performances
        known = rules.beta2 * neighbours @ neighbours.T
        total = known + neighbours @ np.diag(variance) @ neighbours.T
        gaps = neighbours @ mean
        log_ratio = np.linalg.slogdet(known)[1] - np.linalg.slogdet(total)[1]
        # The density at a tie, over that of skills known to be equal
        return float(np.exp(0.5 * log_ratio - 0.5 * gaps @ np.linalg.solve(total, gaps)))

    def leaderboard(self, k: float = 3.0) -> list[LeaderboardRow]:
        """Return the players by mu - k sigma, best first.

        Parameters
        ----------
        k : float, default=3
            How many standard deviations to subtract.

        Returns
        -------
        rows : list of LeaderboardRow
            Named tuples (player, mu, sigma, score).
        """
        mu, sigma = self.mu_, self.sigma_
        score = mu - finite_float(k, "k") * sigma
        players = self.players_
        return [
            LeaderboardRow(players[i], float(mu[i]), float(sigma[i]), float(score[i]))
            for i in np.argsort(-score, kind="stable")
        ]

    # --- evaluation -------------------------------------------------------------------------

    def prequential_trace(self, games: Iterable[Any]) -> PrequentialTrace:
        """Predict each game, then learn from it; the ranker itself is left as it is.

        Parameters
        ----------
        games : iterable of (teams, ranks) or (teams, ranks, weights)
            In the order of play.

        Returns
        -------
        trace : PrequentialTrace
            Named tuple (error, log_loss, wrong, probability, rank_gap, past_games): the
            fraction of pairs predicted wrongly, the mean -log probability given to what
            happened, and for each pair of teams with different ranks whether it was wrong,
            that probability, the difference in place, and the average number of games that
            the players of its game had played before.
        """
        player = copy.deepcopy(self)
        if not hasattr(player, "_state"):
            player._reset()
        checked = player._checked_games(games)
        if len(checked) < 2:
            raise ValueError(f"At least two games are needed, got {len(checked)}.")
        log = player._pack(checked)
        mean, variance = player._play(log, watch=True)
        return pair_predictions(player._rules(), log, mean, variance)

    def prequential_error(self, games: Iterable[Any]) -> tuple[float, float]:
        """Return the error and log-loss of predicting each game before learning from it.

        Parameters
        ----------
        games : iterable of (teams, ranks) or (teams, ranks, weights)
            In the order of play.

        Returns
        -------
        error, log_loss : float
            As in `prequential_trace`: the paper's error, as a fraction, over pairs of teams
            with different ranks, where equal means count as wrong.
        """
        trace = self.prequential_trace(games)
        return trace.error, trace.log_loss

    # --- JSON -------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return parameters and ratings as JSON text; floats are exact.

        Returns
        -------
        text : str
            Read it back with `from_json` or `load_json`. Histories are not included.
        """
        self._require_games("to_json")
        if callable(self.gamma):
            raise TypeError("A ranker whose gamma is a function cannot be written as JSON.")
        n = len(self._ids)
        state = RatingState(*(array[:n] for array in self._state))
        saved = SavedRatings(self.get_params(), list(self._ids), state, self.n_games_)
        return ratings_to_json(saved)

    def load_json(self, text: str) -> Self:
        """Replace parameters and ratings by those of a JSON text; on error nothing changes.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        self : OnlineRanker
            The ranker.
        """
        self.__dict__.update(self.from_json(text).__dict__)
        return self

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the ranker that `to_json` wrote.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        ranker : OnlineRanker
            A new ranker.
        """
        saved = ratings_of_json(text)
        try:
            ranker = cls(**saved.parameters)
            ranker._reset()
        except (TypeError, ValueError) as error:
            raise ValueError(f"Not the JSON of an OnlineRanker: {error}") from None
        ranker._ids, ranker._state, ranker.n_games_ = saved.ids, saved.state, saved.n_games
        ranker._index = {player: place for place, player in enumerate(saved.ids)}
        return ranker
