"""What the four estimators share: tables in, chains, draws out, summaries of partitions."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.bayes.enriched_dp.base_measure import make_base
from octavo.bayes.enriched_dp.chain import join_chains, run_chain
from octavo.bayes.enriched_dp.columns import (
    column_kinds,
    design_matrix,
    encode_categories,
    frame_columns,
    in_units,
    make_plan,
    with_means,
)
from octavo.bayes.enriched_dp.partitions import co_clustering, partition_estimate
from octavo.bayes.enriched_dp.prediction import Predictor, weighted_quantiles
from octavo.bayes.enriched_dp.state import Table
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators, check_schedule, run_chains
from octavo.engine.mcmc.diagnostics import effective_sample_size, split_rhat

POSITIVE = Interval(Real, 0, None, closed="neither")
COUNT = Interval(Integral, 1, None, closed="left")
CONSTRAINTS: dict[str, Any] = {
    "n_iter": [COUNT],
    "burn_in": [Interval(Integral, 0, None, closed="left")],
    "thin": [COUNT],
    "alpha_theta": [POSITIVE, tuple, list],
    "beta0": [None, "array-like"],
    "C": [None, "array-like"],
    "mu0": [StrOptions({"mean"}), Real, "array-like"],
    "c_x": [POSITIVE, "array-like"],
    "a_x": [POSITIVE, "array-like"],
    "b_x": [StrOptions({"auto"}), POSITIVE, "array-like"],
    "column_kinds": [str, list, tuple, dict, np.ndarray],
    "collapsed": ["boolean"],
    "n_chains": [COUNT],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}
NESTED: dict[str, Any] = {
    "alpha_psi": [POSITIVE, tuple, list],
    "mh_moves": ["boolean"],
    "model": [StrOptions({"edp", "dp"})],
}
NOISE: dict[str, Any] = {
    "a_y": [Interval(Real, 1, None, closed="neither")],
    "b_y": [StrOptions({"auto"}), POSITIVE],
}


def check_level(level: Any) -> float:
    """Return a probability between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    return float(level)


def check_count(n_samples: Any) -> None:
    """Refuse a number of draws that is no whole number of at least 1."""
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number of at least 1; got {n_samples!r}.")


class NestedMixture(CallbackSupportMixin, SoundEstimator):
    """Chains of nested partitions and what is read off them.

    Parameters
    ----------
    a_x : float or array-like of shape (n_features,), default=2.0
        Shape of the gamma law of 1/σ_x².
    burn_in : int, default=1000
        Sweeps at the start that are not used.
    n_iter : int, default=5000
        Sweeps of a chain, those of the burn-in included.

    Attributes
    ----------
    n_iter_ : int
        Sweeps of a chain.
    """

    def _table(self, X: Any, *, reset: bool) -> Floats:
        """Return X as numbers, NaN where missing, categories as codes."""
        frame = frame_columns(X)
        wants = not isinstance(self.column_kinds, str) or self.column_kinds != "auto"
        if frame is None and not wants:
            return self._numbers(X, reset=reset, owner=True)
        validate_data(self, X, skip_check_array=True, reset=reset)
        p = self.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        if reset:
            self._kinds = column_kinds(self.column_kinds, X, p, names)
            self._categories: list[Any] = [None] * p
        if frame is None:
            array = np.asarray(X) if not hasattr(X, "toarray") else X
            if not any(kind == "categorical" for kind in self._kinds):
                return self._numbers(array, reset=reset)
            array = check_array(array, dtype=None, ensure_all_finite=False)
            frame = [array[:, h] for h in range(p)]
        columns = []
        for h, column in enumerate(frame):
            if self._kinds[h] == "categorical":
                codes, self._categories[h] = encode_categories(
                    column, None if reset else self._categories[h], h
                )
            else:
                codes = np.asarray(column, dtype=np.float64)
            columns.append(codes)
        return self._numbers(np.column_stack(columns), reset=reset)

    def _numbers(self, X: Any, *, reset: bool, owner: bool = False) -> Floats:
        options: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        if reset:
            options["ensure_min_samples"] = 2
        if not owner:
            return check_array(X, estimator=self, input_name="X", **options)
        X = validate_data(self, X, reset=reset, **options)
        if reset:
            self._kinds, self._categories = ["gaussian"] * X.shape[1], [None] * X.shape[1]
        return X

    def _run(self, X: Floats, y: Floats, response: int, outputs: int, units: Any) -> None:
        """Run the chains on a numeric table and a response in standard units."""
        schedule = check_schedule(self.n_iter, self.burn_in, self.thin)
        plan = make_plan(X, self._kinds)
        values, gaps = with_means(in_units(X, plan), plan)
        design, n = design_matrix(values, plan), len(y)
        is_dp = getattr(self, "model", "dp") == "dp"
        moves = getattr(self, "mh_moves", False) and not is_dp
        modes = (response, outputs, int(is_dp), int(self.collapsed), int(moves))
        base = make_base(self, X, y, design, plan, modes, units)
        rows = np.zeros((5, n))
        rows[1] = y
        table = Table(values, design, rows, gaps)
        parts = self._chains(table, base, schedule)
        draws = join_chains(parts)
        seed = (
            int(chain_generators(self.random_state, self.n_chains + 1)[-1].integers(2**31))
            if (isinstance(self.random_state, Integral))
            else int(draws.x_labels.sum() % 2**31)
        )
        self._predictor = Predictor(draws, base, plan, n, seed)
        self._units = units
        self._summaries: dict[str, Any] = {}
        self.n_iter_ = int(self.n_iter)
        self._set_traces(draws, parts)

    def _chains(self, table: Table, base: Any, schedule: Any) -> list[Any]:
        if self.n_chains == 1:
            with FitProgress(self, self.n_iter, step_name="sweep") as progress:
                rng = chain_generators(self.random_state, 1)[0]
                step = progress.step if getattr(self, "_skl_callbacks", None) else None
                return [run_chain(rng, table, base, schedule, step)]
        chain = partial(run_chain, table=table, base=base, schedule=schedule)
        with FitProgress(self, self.n_chains, step_name="chain") as progress:
            return run_chains(
                chain,
                self.n_chains,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                finished=progress.step,
            )

    def _set_traces(self, draws: Any, parts: list[Any]) -> None:
        self.k_trace_, self.kx_trace_ = draws.k, draws.kx
        self.alpha_theta_trace_ = draws.alpha_theta
        tried = draws.tried
        self.acceptance_ = tried[0] / np.maximum(tried[1], 1.0)
        traces = np.array([[part.k, part.kx, part.alpha_theta] for part in parts], dtype=float)
        traces = traces.transpose(0, 2, 1)
        if traces.shape[1] >= 4:
            self.rhat_, self.ess_ = split_rhat(traces), effective_sample_size(traces)
        else:
            self.rhat_ = self.ess_ = np.full(3, np.nan)

    @property
    def alpha_psi_trace_(self) -> Floats:
        """Concentrations of x-clusters: draws x y-clusters, NaN where there are fewer."""
        check_is_fitted(self)
        draws = self._predictor.draws
        out = np.full((draws.k.size, int(draws.k.max())), np.nan)
        out[np.arange(out.shape[1]) < draws.k[:, None]] = draws.alpha_psi
        return out

    @property
    def acceptance_rates_(self) -> Floats:
        """The same as `acceptance_`."""
        check_is_fitted(self)
        return self.acceptance_

    def _summary(self, name: str) -> Any:
        check_is_fitted(self)
        if name not in self._summaries:
            draws = self._predictor.draws
            if name == "partition":
                self._summaries[name] = partition_estimate(draws.y_labels)
            elif name == "frequent":
                found, counts = np.unique(self.y_labels_draws_, axis=0, return_counts=True)
                self._summaries[name] = found[counts.argmax()].astype(np.int64)
            else:
                labels = draws.y_labels if name == "y" else draws.x_labels
                self._summaries[name] = co_clustering(labels)
        return self._summaries[name]

    @property
    def y_labels_draws_(self) -> Ints:
        """y-cluster of each row in each draw, numbered in order of appearance."""
        check_is_fitted(self)
        labels = self._predictor.draws.y_labels
        first = np.full((len(labels), int(labels.max()) + 1), labels.shape[1])
        for i in range(labels.shape[1] - 1, -1, -1):
            first[np.arange(len(labels)), labels[:, i]] = i
        ranks = np.argsort(np.argsort(first, axis=1), axis=1)
        return np.take_along_axis(ranks, labels.astype(np.int64), axis=1)

    @property
    def y_partition_(self) -> Ints:
        """The y-partition with the least expected variation of information."""
        return self._summary("partition")

    @property
    def most_frequent_partition_(self) -> Ints:
        """The y-partition that the chains visited most often."""
        return self._summary("frequent")

    @property
    def co_clustering_y_(self) -> Floats:
        """Posterior probabilities that two rows share a y-cluster."""
        return self._summary("y")

    @property
    def co_clustering_x_(self) -> Floats:
        """Posterior probabilities that two rows share a y- and an x-cluster."""
        return self._summary("x")

    def geweke_z(self, row: int = 0, *, first: float = 0.1, last: float = 0.5) -> Floats:
        """Return Geweke's z-scores of a row's own regression: early draws against late ones.

        Parameters
        ----------
        row : int, default=0
            Which row of the training data (Table 6 has one subject).
        first : float, default=0.1
            Share of the draws that are early.
        last : float, default=0.5
            Share of the draws that are late.

        Returns
        -------
        z : ndarray of shape (n_outputs * n_design + 1,)
            Of the coefficients in standard units, and of log σ²; beyond 2 or 3 the first chain has
            not settled.
        """
        check_is_fitted(self)
        draws = self._predictor.draws
        if (
            isinstance(row, bool)
            or not isinstance(row, Integral)
            or not (0 <= row < draws.y_labels.shape[1])
        ):
            raise ValueError(
                f"row must be a row of the training data, 0 to {draws.y_labels.shape[1] - 1}; got "
                f"{row!r}."
            )
        for name, value in (("first", first), ("last", last)):
            if not isinstance(value, Real) or not 0 < value < 1:
                raise ValueError(f"{name} must lie between 0 and 1; got {value!r}.")
        size = draws.k.size // self.n_chains
        place = (self._predictor.first_y[:-1] + draws.y_labels[:, row])[:size]
        values = np.column_stack([draws.beta[place].reshape(size, -1), np.log(draws.noise[place])])
        early, late = values[: int(first * size)], values[size - int(last * size) :]
        if min(len(early), len(late)) < 4:
            raise ValueError(f"geweke_z needs at least four early draws; there are {len(early)}.")
        spread = sum(  # Monte Carlo variances of both means, by effective numbers of draws
            part.var(axis=0, ddof=1) / np.maximum(effective_sample_size(part[None]), 1.0)
            for part in (early, late)
        )
        gap = early.mean(axis=0) - late.mean(axis=0)
        return np.divide(gap, np.sqrt(spread), out=np.zeros_like(gap), where=spread > 0.0)

    def _parts(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._predictor.parts(self._table(X, reset=False))

    def _bands(self, part: Any, values: Floats, new: Floats, level: float) -> Floats:
        """Return ends of credible intervals of a mean of `values` over clusters, by draws."""
        predictor = self._predictor
        mass = predictor.by_draw(part.weights) + part.new
        each = (predictor.by_draw(part.weights * values) + part.new * new) / np.maximum(
            mass, 1e-300
        )
        tail = 0.5 * (1.0 - level)
        return weighted_quantiles(each, mass, (tail, 1.0 - tail))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.non_deterministic = False
        return tags
