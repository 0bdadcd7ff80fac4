"""`SRRAFinite`: the best of finitely many rules, from few labels (Section 3.1)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.active_pairs.rounds import Problem, run_rounds
from octavo.search.active_pairs.shells import (
    as_hypotheses,
    disagreement_radii,
    shell_inclusion,
    shell_sample,
)

__all__ = ["SRRAFinite"]


class _Points:
    """Answers about points, each asked once, within a budget."""

    def __init__(self, oracle: Any, n: int, budget: int | None) -> None:
        self.oracle, self.budget, self.n_queries = oracle, budget, 0
        self.known = np.full(n, np.nan)
        if not callable(oracle):
            labels = np.asarray(oracle)
            if labels.shape != (n,) or labels.dtype.kind not in "biuf":
                raise ValueError(f"The oracle must be a function or a vector of {n} labels.")
            if not np.isin(labels, (0.0, 0.5, 1.0)).all():
                raise ValueError("A label is 1, 0 or 0.5 where it is open.")
            self.oracle = lambda point: labels[point]

    def ask(self, points: Ints) -> Floats:
        for point in points:
            if np.isnan(self.known[point]):
                if self.budget is not None and self.n_queries >= self.budget:
                    continue
                try:
                    label = float(self.oracle(int(point)))
                except TypeError:
                    label = np.nan
                if label not in (0.0, 0.5, 1.0):
                    raise ValueError(
                        f"A label must be 1, 0 or 0.5 where it is open; for point {point} it was "
                        f"{label:g}."
                    )
                self.known[point] = label
                self.n_queries += 1
        return self.known[points]


class SRRAFinite(CallbackSupportMixin, SoundEstimator):
    """Find the best of finitely many rules by asking for few labels.

    Points on which rules close to the pivot disagree are asked about first: shells of the region of
    disagreement, at radii μ 2^i, give m points each.

    Parameters
    ----------
    hypotheses : array-like of shape (n_hypotheses, n_points)
        What each rule says of each point, 0 or 1; a `ConceptClass` is taken as well.
    m : int, default=10
        Points drawn from each shell, in a round.
    mu : float or None, default=None
        The paper's μ, radius of the innermost shell; one point's share by default.
    n_rounds : int, default=4
        Rounds of questions.
    reuse : {"pool", "fresh"}, default="pool"
        Whether a round uses all labels ever bought, or, as printed, those of its own sample alone.
    init : int, default=0
        The first pivot, a row of `hypotheses`.
    budget : int or None, default=None
        Most labels that may be asked for.
    max_weight : float or None, default=None
        Largest ratio of two weights; None does not limit.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    hypothesis_ : int
        The row that was found.
    labels_ : ndarray of shape (n_points,)
        What it says of each point.
    n_queries_ : int
        Labels that were asked for.
    history_ : list of SRRARound
        For each round the labels so far, the points used, the estimated change of the error, and
        the row found.
    estimated_regret_ : float
        Estimated error of the rule less that of the last pivot.
    budget_exhausted_ : bool
        Whether the budget ended the fit.

    Notes
    -----
    The number of labels grows with the disagreement coefficient (`disagreement_coefficient`), which
    is as large as n for rankings and clusterings: use `SRRARanker` and `SRRAClusterer` for those.

    References
    ----------
    N. Ailon, R. Begleiter and E. Ezra (2014). Active Learning Using Smooth Relative Regret
    Approximations with Applications. Journal of Machine Learning Research 15, Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SRRAFinite
    >>> thresholds = np.tri(201, 200, -1, dtype=int)
    >>> model = SRRAFinite(thresholds, m=5, random_state=0).fit(thresholds[120])
    >>> print(model.n_queries_, abs(model.hypothesis_ - 120))
    99 0
    """

    _parameter_constraints: dict = {
        "hypotheses": "no_validation",
        "m": [Interval(Integral, 1, None, closed="left")],
        "mu": [Interval(Real, 0, 1, closed="right"), None],
        "n_rounds": [Interval(Integral, 1, 10_000, closed="both")],
        "reuse": [StrOptions({"pool", "fresh"})],
        "init": [Interval(Integral, 0, None, closed="left")],
        "budget": [Interval(Integral, 0, None, closed="left"), None],
        "max_weight": [Interval(Real, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        hypotheses: Any,
        m: int = 10,
        mu: float | None = None,
        n_rounds: int = 4,
        reuse: str = "pool",
        init: int = 0,
        budget: int | None = None,
        max_weight: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.m = m
        self.mu = mu
        self.n_rounds = n_rounds
        self.reuse = reuse
        self.init = init
        self.budget = budget
        self.max_weight = max_weight
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, oracle: Any) -> Self:
        """Ask for labels and choose.

        Parameters
        ----------
        oracle : callable or array-like of shape (n_points,)
            The label of a point, 0 or 1 (0.5 where it is open), as a function or as a vector.

        Returns
        -------
        self : SRRAFinite
            The fitted model.
        """
        H = as_hypotheses(self.hypotheses)
        if self.init >= len(H):
            raise ValueError(f"init = {self.init} is no row of the {len(H)} hypotheses.")
        n = H.shape[1]
        mu = max(1.0 / n if self.mu is None else float(self.mu), 1e-12)
        asked = _Points(oracle, n, self.budget)
        radii: dict[int, Floats] = {}

        def around(h: int) -> Floats:
            if h not in radii:
                radii[h] = disagreement_radii(H, h)
            return radii[h]

        def minimize(points: Ints, labels: Floats, weights: Floats, h: int) -> int:
            # Algorithm 1's f plus a constant: the pivot's own cost
            errors = np.abs(H[:, points] - labels) @ weights
            # The pivot stays where nothing is better, so that ties do not walk.
            best = errors.min()
            return h if errors[h] <= best * (1.0 + 1e-12) else int(np.argmin(errors))

        problem = Problem(
            sample=lambda h, rng: shell_sample(around(h), mu, self.m, rng),
            says=lambda h, points: H[h, points].astype(np.float64),
            minimize=minimize,
            inclusion=(lambda h, x: shell_inclusion(around(h), mu, self.m, x))
            if self.reuse == "pool"
            else None,
            total=n,
        )
        with FitProgress(self, self.n_rounds, step_name="round") as progress:
            found = run_rounds(
                problem,
                int(self.init),
                asked.ask,
                lambda: asked.n_queries,
                n_rounds=self.n_rounds,
                rng=check_random_state(self.random_state),
                max_weight=self.max_weight,
                step=progress.step,
            )
        self.hypothesis_ = int(found.hypothesis)
        self.labels_ = H[self.hypothesis_].astype(np.int64)
        self.n_queries_ = asked.n_queries
        self.history_ = found.history
        self.estimated_regret_ = found.history[-1].regret if found.history else 0.0
        self.budget_exhausted_ = found.budget_exhausted
        return self

    def predict(self, points: Any) -> Ints:
        """Return what the rule says of points.

        Parameters
        ----------
        points : array-like of int of shape (m,)
            Columns of `hypotheses`.

        Returns
        -------
        labels : ndarray of shape (m,)
            0 or 1.
        """
        check_is_fitted(self)
        wanted = np.asarray(points)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise ValueError("points must be a vector of numbers of points.")
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < len(self.labels_):
            raise ValueError(f"Points are numbered from 0 to {len(self.labels_) - 1}.")
        return self.labels_[wanted]
