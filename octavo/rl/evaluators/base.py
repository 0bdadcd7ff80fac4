"""What all policy evaluators share: how data come in, in blocks, and how values come out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.rl.processes.traces import OFF_POLICY, TraceDiagnostics, trace_decay
from octavo.rl.processes.transitions import Policy, Transitions, importance_ratios

UNIT = Interval(Real, 0, 1, closed="both")
POSITIVE = Interval(Real, 0, None, closed="neither")
WEIGHTING = StrOptions(set(OFF_POLICY))


class PolicyEvaluator(CallbackSupportMixin, SoundEstimator):
    """Base of the estimators of linear value functions from transitions.

    A subclass gives `_begin` (a state before the first transition), `_absorb` (take in a block)
    and `_finish` (set the fitted attributes).

    Parameters
    ----------
    gamma : float, default=0.95
        Discount of future rewards, in [0, 1].
    theta0 : array-like of shape (n_features,), default=None
        Where to start; zeros when None.

    Attributes
    ----------
    coef_ : ndarray of shape (`n_features_in_`,)
        Coefficients of the value function.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, when X has them.
    max_trace_factor_ : float
        Largest γλρ; traces are bounded for sure when it is below 1.
    n_transitions_ : int
        Number of transitions seen.
    trace_ess_ : float
        Effective sample size of the weights that traces and ratios give to the transitions.
    """

    gamma: float
    lam: float = 0.0
    _whole = False
    _sweeps = 1
    _needs_second_draw = False
    _block = 4096  # transitions held at a time in a form of their own

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags

    def _begin(self, n_features: int) -> None:
        raise NotImplementedError

    def _absorb(self, block: Transitions) -> bool:
        """Take in a block; return False to refuse any further data."""
        raise NotImplementedError

    def _finish(self) -> None:
        raise NotImplementedError

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        r: ArrayLike | None = None,
        X_next: Any = None,
        *,
        rho: ArrayLike | None = None,
        start: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        X_next2: Any = None,
        r2: ArrayLike | None = None,
        rho2: ArrayLike | None = None,
        terminal2: ArrayLike | None = None,
    ) -> Self:
        """Estimate the value function from transitions.

        Parameters
        ----------
        X : Transitions, or array-like or CSR matrix of shape (n_transitions, n_features)
            The whole batch, and nothing else then; or the features of the states.
        r : array-like of shape (n_transitions,)
            Rewards received on leaving those states.
        X_next : array-like or CSR matrix of shape (n_transitions, n_features)
            Features of the states that followed.
        rho : array-like of shape (n_transitions,), default=None
            Importance ratios of the actions taken.
        start, terminal : array-like of bool of shape (n_transitions,), default=None
            Where episodes begin and where they end for good.
        X_next2 : array-like or CSR matrix of shape (n_transitions, n_features), default=None
            A second, independent draw of the next states.
        r2, rho2 : array-like of shape (n_transitions,), default=None
            Its rewards and importance ratios.
        terminal2 : array-like of bool of shape (n_transitions,), default=None
            Where it ended in a terminal state; as ``terminal`` when None.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        columns = (r, X_next, rho, start, terminal, X_next2, r2, rho2, terminal2)
        batch = self._batch(X, *columns, first=True)
        if not np.any(batch.rho > 0):
            raise ValueError(
                "Every importance ratio is 0: the target policy takes none of these actions, so "
                "that the data say nothing about it."
            )
        self._start_afresh(batch)
        self._whole = True  # all of the data, as far as the estimator can know
        n_blocks = math.ceil(len(batch) / self._block)
        with FitProgress(self, n_blocks * self._sweeps, X, r, step_name="block") as progress:
            for block in self._blocks(batch):
                if not self._take(block) or progress.step():
                    break
        self.n_transitions_ = len(batch)
        self._end()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        r: ArrayLike | None = None,
        X_next: Any = None,
        *,
        rho: ArrayLike | None = None,
        start: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        X_next2: Any = None,
        r2: ArrayLike | None = None,
        rho2: ArrayLike | None = None,
        terminal2: ArrayLike | None = None,
    ) -> Self:
        """Go on with further transitions; what is kept does not grow with their number.

        Parameters
        ----------
        X : Transitions, or array-like or CSR matrix of shape (n_transitions, n_features)
            The whole batch, and nothing else then; or the features of the states.
        r : array-like of shape (n_transitions,)
            Rewards received on leaving those states.
        X_next : array-like or CSR matrix of shape (n_transitions, n_features)
            Features of the states that followed.
        rho : array-like of shape (n_transitions,), default=None
            Importance ratios of the actions taken.
        start, terminal : array-like of bool of shape (n_transitions,), default=None
            Where episodes begin and end. Without ``start`` the first transition continues the
            last one of the call before, unless that was terminal. A `Transitions` says so itself:
            one that was cut by `Transitions.chunks` continues, any other begins an episode.
        X_next2 : array-like or CSR matrix of shape (n_transitions, n_features), default=None
            A second, independent draw of the next states.
        r2, rho2 : array-like of shape (n_transitions,), default=None
            Its rewards and importance ratios.
        terminal2 : array-like of bool of shape (n_transitions,), default=None
            Where it ended in a terminal state; as ``terminal`` when None.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        first = not hasattr(self, "n_transitions_")
        self._whole = False
        columns = (r, X_next, rho, start, terminal, X_next2, r2, rho2, terminal2)
        batch = self._batch(X, *columns, first=first)
        if first:
            self._start_afresh(batch)
            self.n_transitions_ = 0
        for block in batch.chunks(self._block):
            if not self._take(block):
                break
        self.n_transitions_ += len(batch)
        self._end()
        return self

    def fit_from_policies(
        self,
        trajectory: Any,
        target_prob: Policy,
        behaviour_prob: Policy,
        features: ArrayLike | Callable[[Any], ArrayLike] | None = None,
    ) -> Self:
        """Estimate the value of a target policy from what a behaviour policy did.

        Parameters
        ----------
        trajectory : object
            With attributes ``states``, ``actions``, ``rewards``, ``next_states``, ``start`` and
            ``terminal``, such as `FiniteMDP.sample` returns.
        target_prob, behaviour_prob : array-like or callable
            The two policies: tables of shape (n_states, n_actions), functions
            ``prob(state, action)``, or the probabilities of the actions taken.
        features : array-like of shape (n_states, n_features) or callable, default=None
            Features of the states, as a table or a function of all states at once; the states are
            their own features when None.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        states, following = trajectory.states, trajectory.next_states
        if features is None:
            X, X_next = states, following
        elif callable(features):
            X, X_next = features(states), features(following)
        else:
            table = np.asarray(features, dtype=np.float64)
            X, X_next = table[np.asarray(states)], table[np.asarray(following)]
        return self.fit(
            X,
            trajectory.rewards,
            X_next,
            rho=importance_ratios(states, trajectory.actions, target_prob, behaviour_prob),
            start=trajectory.start,
            terminal=trajectory.terminal,
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the values of states.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_states, n_features)
            Features of the states.

        Returns
        -------
        values : ndarray of shape (n_states,)
            Estimated values.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_).ravel()

    # --- data -------------------------------------------------------------------------------

    def _batch(self, X: Any, *columns: Any, first: bool) -> Transitions:
        """Check the input and return it as one batch."""
        if isinstance(X, Transitions):
            if any(column is not None for column in columns):
                raise ValueError("X is a Transitions and holds everything: give nothing else.")
            batch = X
            validate_data(self, batch.X, skip_check_array=True, reset=first)
        else:
            r, X_next, rho, start = columns[:4]
            if r is None or X_next is None:
                raise ValueError(
                    f"{type(self).__name__} learns from transitions: give X, r and X_next, or a "
                    f"Transitions as X; got X of type {type(X).__name__} without "
                    f"{'r' if r is None else 'X_next'}."
                )
            batch = Transitions(X, *columns)
            validate_data(self, X, skip_check_array=True, reset=first)
            if not first:
                batch = batch._beginning(start is not None and bool(np.asarray(start)[0]))
        if batch.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {batch.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if self._needs_second_draw and batch.X_next2 is None:
            raise ValueError(
                "double_sample=True needs two independent draws of the next state: give X_next2 "
                "and r2 (and rho2 with rho)."
            )
        self._check_batch(batch)
        return batch

    def _check_batch(self, batch: Transitions) -> None:
        """Refuse data that the method does not define; a place for subclasses."""

    def _blocks(self, batch: Transitions) -> Iterator[Transitions]:
        for _ in range(self._sweeps):
            yield from batch.chunks(self._block)

    def _start_afresh(self, batch: Transitions) -> None:
        self._carried = 0.0  # ratio of the last transition, 0 when it ended an episode
        self._diagnostics = TraceDiagnostics()
        self._begin(batch.n_features)

    def _take(self, block: Transitions) -> bool:
        step = float(self.gamma) * float(self.lam)
        decay = trace_decay(block, self.gamma, self.lam, self._carried)
        self._diagnostics.absorb(decay, block.rho, step)
        go_on = self._absorb(block)
        self._carried = 0.0 if block.terminal[-1] else float(block.rho[-1])
        return go_on

    def _end(self) -> None:
        diagnostics = self._diagnostics
        step = float(self.gamma) * float(self.lam)
        self.max_trace_factor_ = diagnostics.max_factor
        self.trace_ess_ = diagnostics.effective_size
        growth = diagnostics.growth(step)
        if diagnostics.max_factor > 1.0 and growth >= 1.0:
            warnings.warn(
                f"The traces have no bounded variance: (γλ)² E[ρ²] is about {growth:.3g} and the "
                f"largest γλρ is {diagnostics.max_factor:.3g}, both should be below 1; a smaller "
                f"lam than {self.lam:g} is safer (effective sample size {self.trace_ess_:.4g} of "
                f"{int(diagnostics.n)}).",
                UserWarning,
                stacklevel=5,
            )
        self._finish()


def starting_point(theta0: Any, n_features: int) -> NDArray[np.float64]:
    """Return coefficients to start from."""
    if theta0 is None:
        return np.zeros(n_features)
    theta = np.array(theta0, dtype=np.float64)
    if theta.shape != (n_features,) or not np.all(np.isfinite(theta)):
        raise ValueError(
            f"theta0 must hold {n_features} finite numbers, one a feature, got shape {theta.shape}."
        )
    return theta
