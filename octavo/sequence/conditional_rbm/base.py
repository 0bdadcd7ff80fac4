"""What every conditional machine can be asked once it is trained.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), "Two Distributed-State Models for
Generating High-Dimensional Time Series", Journal of Machine Learning Research 12, Section 3.3.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.contrastive.annealing import annealed_log_partition
from octavo.engine.contrastive.divergence import (
    Field,
    free_energy,
    gibbs_frame,
    hidden_probability,
    settle,
)
from octavo.engine.contrastive.draws import Draws
from octavo.engine.contrastive.partition import log_partition
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.namespaces import (
    check_same_namespace,
    namespace_of,
    to_namespace,
    to_numpy,
)
from octavo.sequence.conditional_rbm.frames import (
    BLOCK,
    Frames,
    Scaling,
    check_frames,
    check_long_enough,
    learn_scaling,
    learn_styles,
    target_rows,
)
from octavo.sequence.conditional_rbm.residuals import residual_units
from octavo.sequence.conditional_rbm.training import (
    Block,
    Schedule,
    Trainer,
    past_of,
    train,
)
from octavo.sequence.conditional_rbm.wiring import Params, Shape, Wiring

EXACT_UNITS = 20  # beyond which 2^H hidden states are too many
_ROWS = 4096  # frames that are answered at once


class ConditionalMachine(CallbackSupportMixin, SoundEstimator):
    """What every conditional machine can be asked; see `CRBM`.

    Parameters
    ----------
    batch_size : int, default=100
        Frames of a step.
    cd_k : int, list of int or callable, default=1
        Gibbs steps of contrastive divergence; see `CRBM`.
    history_noise : float, default=0.0
        Standard deviation of noise that is added to the past in training.
    learning_rate : float, default=1e-3
        Step size.
    momentum : float, default=0.9
        Share of the last step that is added to a step.
    n_hidden : int, default=100
        Number of binary hidden units.
    order : int, default=3
        How many frames back the autoregressive weights look.
    order_hidden : int, default=None
        How many frames back the hidden units look; `order` by default.
    reconstruction : {"mean", "sample"}, default="mean"
        Reconstructions of Gaussian channels in training: means as in the paper, which predict
        better, or draws, with which the density of held-out frames rises.
    sparsity_cost : float, default=0.0
        Strength of that wish.
    sparsity_target : float, default=None
        Share of time for which hidden units should be on.
    standardize : bool or "residual", default=True
        Whether channels are brought to mean zero and variance one; with ``"residual"`` they are
        also mixed so that residuals of a linear autoregression have variance one in every
        direction.
    visible : {"gaussian", "binary"}, default="gaussian"
        Kind of the channels.
    weight_decay : float, default=2e-4
        Shrinkage of weights, not of biases.

    Attributes
    ----------
    history_ : list of dict
        A record for each epoch; see `CRBM`.
    mean_, scale_ : ndarray of shape (D,)
        Scaling of the channels that vary.
    """

    _parameter_constraints: dict[str, Any] = {
        "n_hidden": [Interval(Integral, 0, None, closed="left")],
        "order": [Interval(Integral, 0, None, closed="left")],
        "order_hidden": [Interval(Integral, 0, None, closed="left"), None],
        "visible": [StrOptions({"gaussian", "binary"})],
        "cd_k": [Interval(Integral, 1, None, closed="left"), "array-like", callable],
        "learning_rate": [Interval(Real, 0, None, closed="left")],
        "ar_learning_rate": [Interval(Real, 0, None, closed="left")],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 0, None, closed="left")],
        "sparsity_target": [Interval(Real, 0, 1, closed="neither"), None],
        "sparsity_cost": [Interval(Real, 0, None, closed="left")],
        "history_noise": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean", StrOptions({"residual"})],
        "reconstruction": [StrOptions({"mean", "sample"})],
        "random_state": ["random_state"],
    }
    # Whether styles multiply weights, so that an all-zero one would switch the machine off.
    _gated = False
    # Fitted attributes that are parameters, by their names in the wiring.
    _arrays: tuple[str, ...] = ("W", "A", "B", "a", "b", "L")

    def _wiring(self, shape: Shape, style_size: float) -> Wiring:
        raise NotImplementedError

    # --- training ---------------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Train by contrastive divergence.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames, as a list or stacked; memory-mapped arrays are read in blocks.
        y : array-like of shape (n_rows,) or (n_rows, P), optional
            A label or a row of style numbers for each frame; a list for a list of sequences.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        self : object
            The fitted machine.
        """
        frames = self._begin(X, y, lengths)
        with FitProgress(self, self.n_epochs, X, y, step_name="epoch") as progress:
            self._train(frames, y, self.n_epochs, progress.step)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, lengths: Any = None, classes: Any = None) -> Self:
        """Make one more pass, over new frames.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames. Those of the first call set the scaling.
        y : array-like of shape (n_rows,) or (n_rows, P), optional
            A label or a row of style numbers for each frame.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        classes : array-like, optional
            All labels that may come; only read in the first call.

        Returns
        -------
        self : object
            The machine.
        """
        if not hasattr(self, "mean_"):
            frames = self._begin(X, y, lengths, classes)
        else:
            frames = check_frames(X, lengths, n_features=self.n_features_in_)
            check_long_enough(frames, self._shape().span)
        self._train(frames, y, 1, lambda: False)
        return self

    def _begin(self, X: Any, y: Any, lengths: Any, classes: Any = None) -> Frames:
        """Learn the scaling and the code of styles, and draw starting weights."""
        frames = check_frames(X, lengths)
        shape = Shape(1, self.n_hidden, self.order, self._order_hidden())
        check_long_enough(frames, shape.span)
        self.n_features_in_ = int(frames.rows.shape[1])
        standardize = bool(self.standardize) and self.visible == "gaussian"
        scaling = learn_scaling(frames, standardize)
        linear = None
        if standardize and self.standardize == "residual":
            scaling, linear = residual_units(frames, scaling, self.order)
        if self.visible == "binary" and (scaling.low.min() < 0 or scaling.high.max() > 1):
            raise ValueError(
                "Binary visible units need values between 0 and 1, got values from "
                f"{scaling.low.min():g} to {scaling.high.max():g}; scale them, or choose "
                "visible='gaussian'."
            )
        self._scaling = scaling
        self.mean_, self.scale_, self.kept_ = scaling.mean, scaling.scale, scaling.kept
        self.low_, self.high_, self.whitening_ = scaling.low, scaling.high, scaling.turn
        code = None if y is None else learn_styles(y, frames.n_rows, classes)
        if code is None and self._needs_style():
            raise ValueError(
                f"{type(self).__name__} needs y, a label or a row of style numbers for each "
                "frame; without styles use CRBM or FactoredCRBM."
            )
        self._code = code
        self.classes_ = None if code is None else code.classes
        self.n_styles_ = 0 if code is None else code.width
        self.history_: list[dict[str, Any]] = []
        self._speed = self._activity = None
        rng = check_random_state(self.random_state)
        self._seeds = rng.randint(np.iinfo(np.int32).max, size=2)
        self._style_size = 1.0 if y is None else self._mean_style(y, frames.n_rows)
        like = scaling.standard(frames.rows[:1, :])
        start = self._wiring(self._shape(), self._style_size).start(rng)
        if linear is not None and "A" in start and start["A"].shape == linear["A"].shape:
            start |= linear
        self._store({name: to_namespace(value, like) for name, value in start.items()})
        self._like = like
        return frames

    def _adopt(self, other: ConditionalMachine) -> None:
        """Take over the scaling of another fitted machine, without its styles."""
        for name in ("_scaling", "_like", "_seeds", "n_features_in_", "n_iter_"):
            setattr(self, name, getattr(other, name))
        for name in ("mean_", "scale_", "kept_", "low_", "high_", "history_", "whitening_"):
            setattr(self, name, getattr(other, name))
        self._code = self.classes_ = None
        self.n_styles_, self._style_size = 0, 1.0
        self._speed = self._activity = None

    def _mean_style(self, y: Any, n_rows: int) -> float:
        assert self._code is not None
        total = self._code.rows(y, n_rows, never_zero=self._gated).sum(axis=1)
        return max(float(np.mean(np.abs(total))), 1e-12)

    def _needs_style(self) -> bool:
        return self._gated

    def _order_hidden(self) -> int:
        return self.order if self.order_hidden is None else self.order_hidden

    def _shape(self) -> Shape:
        return Shape(
            int(self.scale_.size),
            int(self.n_hidden),
            int(self.order),
            int(self._order_hidden()),
            self.n_styles_,
            self.visible,
        )

    def _train(self, frames: Frames, y: Any, n_epochs: int, report: Any) -> None:
        wiring = self._wiring(self._shape(), self._style_size)
        style = self._style_rows(y, frames.n_rows)
        schedule = Schedule(
            self.learning_rate,
            self.ar_learning_rate,
            self.momentum,
            self.weight_decay,
            self.batch_size,
            self.sparsity_target,
            self.sparsity_cost,
            self.history_noise,
            self.reconstruction == "sample" and self.visible == "gaussian",
            max(1.0, self._scaling.size),
        )
        draws = Draws(int(self._seeds[0]) + len(self.history_), self._like)
        seed = int(self._seeds[1]) + len(self.history_)
        trainer = Trainer(wiring, self._params(), schedule, draws, seed)
        if self._speed is not None:
            trainer.resume(self._speed, self._activity)
        done = train(
            trainer,
            _blocks(frames, self._scaling, style, wiring.shape.span, self._like, seed),
            n_epochs,
            self.cd_k,
            first=len(self.history_),
            report=report,
        )
        self._store(done.params)
        self._speed, self._activity = done.speed, done.activity
        self.history_ = self.history_ + done.history
        self.n_iter_ = len(self.history_)
        if done.diverged is not None:
            self._warn_of_divergence(done.diverged)

    def _warn_of_divergence(self, diverged: dict[str, Any]) -> None:
        warnings.warn(
            f"{type(self).__name__}: learning diverged in epoch {diverged['epoch']} "
            f"(reconstruction error {diverged['reconstruction_error']:.3g}); the parameters before "
            f"that epoch are kept. Try learning_rate={self.learning_rate / 10:g} and "
            f"ar_learning_rate={self.ar_learning_rate / 10:g}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _store(self, params: Params) -> None:
        for name, value in params.items():
            setattr(self, f"{name}_", value)

    def _params(self) -> Params:
        check_is_fitted(self, "mean_")
        return {
            name: getattr(self, f"{name}_")
            for name in self._arrays
            if getattr(self, f"{name}_", None) is not None
        }

    def _style_rows(self, y: Any, n_rows: int) -> Any:
        """Return styles as rows of numbers on the machine's device, or None without styles."""
        if self._code is None:
            if y is not None:
                raise ValueError(
                    f"y is given, but this {type(self).__name__} was trained without styles; "
                    "leave y out."
                )
            return None
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} was trained with styles: give y, a style for each "
                "frame or a single one."
            )
        rows = self._code.rows(y, n_rows, never_zero=self._gated)
        return to_namespace(rows, self._like)

    # --- for machines that are built of this one --------------------------------------------------

    def machine(self, y: Any, n_rows: int) -> tuple[Params, Wiring, Any]:
        """Return the parameters, the wiring and the styles of some frames as rows of numbers.

        Parameters
        ----------
        y : array-like or None
            Styles.
        n_rows : int
            Number of frames.

        Returns
        -------
        params : dict of arrays
            In standard units.
        wiring : Wiring
            What they mean.
        style : array of shape (n_rows, P) or None
            On the device of the parameters.
        """
        params = self._params()
        return params, self._wiring(self._shape(), self._style_size), self._style_rows(y, n_rows)

    def standard_frames(self, X: Any) -> Any:
        """Return the channels that vary, in the units of the parameters.

        Parameters
        ----------
        X : array of shape (n_rows, n_features_in_)
            Frames in the units of the data.

        Returns
        -------
        frames : array of shape (n_rows, D)
            Standardised.
        """
        self._params()
        return self._standard(check_frames(X, n_features=self.n_features_in_).rows)

    def original_frames(self, frames: Any) -> Any:
        """Return frames in the units of the data, constant channels put back.

        Parameters
        ----------
        frames : array of shape (n_rows, D)
            Standardised frames.

        Returns
        -------
        X : array of shape (n_rows, n_features_in_)
            In the units of the data.
        """
        self._params()
        return self._scaling.original(frames)

    # --- questions about frames -------------------------------------------------------------------

    def _pieces(
        self, X: Any, y: Any, lengths: Any, limit: int = _ROWS
    ) -> Iterator[tuple[Field, Any]]:
        """Yield the machine of each frame and the frames, some at a time."""
        params = self._params()
        frames = check_frames(X, lengths, n_features=self.n_features_in_)
        wiring = self._wiring(self._shape(), self._style_size)
        span = wiring.shape.span
        check_long_enough(frames, span)
        self._check_home(frames.rows)
        style = self._style_rows(y, frames.n_rows)
        targets = target_rows(frames.lengths, span)
        xp = namespace_of(params["a"]).xp
        for first in range(0, targets.size, limit):
            chosen = targets[first : first + limit]
            begin = int(chosen[0]) - span
            rows = self._standard(frames.rows[begin : int(chosen[-1]) + 1, :])
            index = to_namespace(chosen - begin, rows)
            part = None
            if style is not None:
                part = xp.take(style, to_namespace(chosen, rows), axis=0)
            past = past_of(rows, index, span, xp)
            field, _ = wiring.field(params, past, part, xp)
            yield field, xp.take(rows, index, axis=0)

    def _standard(self, rows: Any) -> Any:
        return to_namespace(self._scaling.standard(rows), self._params()["a"])

    def _check_home(self, rows: Any) -> None:
        """Refuse arrays of another namespace or device than the parameters'."""
        if hasattr(rows, "__array__") or hasattr(rows, "__dlpack__"):
            check_same_namespace(rows, self, attribute="a_", method="the method")

    def free_energy(self, X: Any, y: Any = None, lengths: Any = None) -> Any:
        """Return the free energy of each frame given its past.

        Free energies are not comparable between models, nor between histories: the partition
        function depends on the past. `log_likelihood` is.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            Styles, for a machine that was trained with them.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        energy : array of shape (n_frames,)
            Eq. (19), a row for each frame that has a full past, sequences one after the other.
        """
        parts = [free_energy(field, v) for field, v in self._pieces(X, y, lengths)]
        return namespace_of(parts[0]).xp.concat(parts, axis=0)

    def transform(self, X: Any, y: Any = None, lengths: Any = None) -> Any:
        """Return the probabilities of the hidden units, which are exact and cheap.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            Styles, for a machine that was trained with them.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        probability : array of shape (n_frames, n_hidden)
            Eq. (8), a row for each frame that has a full past.
        """
        parts = [hidden_probability(field, v) for field, v in self._pieces(X, y, lengths)]
        return namespace_of(parts[0]).xp.concat(parts, axis=0)

    def log_likelihood(
        self,
        X: Any,
        y: Any = None,
        method: str = "exact",
        lengths: Any = None,
        *,
        n_runs: int = 100,
        n_temperatures: int = 200,
        random_state: Any = None,
        return_std: bool = False,
    ) -> Any:
        """Return the log density of each frame given its past, in the units of X.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            Styles, for a machine that was trained with them.
        method : {"exact", "ais"}, default="exact"
            Enumeration of the hidden states, for at most 20 of them; or annealed importance
            sampling of the partition function of every history.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        n_runs : int, default=100
            Chains for each history; only for ``"ais"``.
        n_temperatures : int, default=200
            Steps of a chain.
        random_state : int, RandomState instance or None, default=None
            Seed of ``"ais"``; the machine's own where it is None.
        return_std : bool, default=False
            Whether to return the standard errors, too (zero for ``"exact"``).

        Returns
        -------
        log_density : array of shape (n_frames,)
            A row for each frame that has a full past. Constant channels are not counted.
        std : array of shape (n_frames,)
            Only with ``return_std``.
        """
        if method not in ("exact", "ais"):
            raise ValueError(f"method must be 'exact' or 'ais', got {method!r}.")
        for name, value in (("n_runs", n_runs), ("n_temperatures", n_temperatures)):
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}.")
        self._params()
        if method == "exact" and self.n_hidden > EXACT_UNITS:
            raise ValueError(
                f"The exact likelihood sums over 2^{self.n_hidden} hidden states; with more than "
                f'{EXACT_UNITS} hidden units choose method="ais".'
            )
        seed = self._seed(random_state)
        limit = _ROWS if method == "exact" else max(1, 20_000 // n_runs)
        values, errors = [], []
        draws = Draws(seed, self._like)
        for field, v in self._pieces(X, y, lengths, limit):
            if method == "exact":
                log_z = log_partition(field)
                errors.append(log_z * 0.0)
            else:
                log_z, error = annealed_log_partition(
                    field, draws, n_runs=n_runs, n_temperatures=n_temperatures
                )
                errors.append(error)
            # log p(v_t | v_{<t}) = -F - log Z(v_{<t}), Eq. (17)
            values.append(-free_energy(field, v) - log_z)
        xp = namespace_of(values[0]).xp
        # the Jacobian of standardising
        found = xp.concat(values, axis=0) - self._scaling.log_volume
        return (found, xp.concat(errors, axis=0)) if return_std else found

    def score_samples(
        self, X: Any, y: Any = None, lengths: Any = None, exact: bool | str = "auto"
    ) -> Any:
        """Return how well each frame fits its past: a log density, or minus a free energy.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            Styles, for a machine that was trained with them.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        exact : {"auto", "ais"} or bool, default="auto"
            True: the exact log density; ``"ais"``: its estimate; False: minus the free energy.
            ``"auto"`` is what ``score_kind_`` says: True for at most 20 hidden units, else False.

        Returns
        -------
        score : array of shape (n_frames,)
            Higher is better. Minus a free energy is only comparable between values of one frame.
        """
        if exact not in (True, False, "auto", "ais"):
            raise ValueError(f"exact must be 'auto', 'ais', True or False, got {exact!r}.")
        self._params()
        if exact == "auto":
            exact = self.n_hidden <= EXACT_UNITS
        if exact is False:
            return -self.free_energy(X, y, lengths)
        return self.log_likelihood(X, y, "ais" if exact == "ais" else "exact", lengths)

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """Return the mean of `score_samples`.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            Styles, for a machine that was trained with them.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        score : float
            Of a frame.
        """
        return float(np.mean(to_numpy(self.score_samples(X, y, lengths))))

    @property
    def score_kind_(self) -> str:
        """What `score_samples` and `score` answer by default, in words."""
        self._params()
        exact = self.n_hidden <= EXACT_UNITS
        return "exact log-likelihood" if exact else "negative free energy"

    # --- frames that are not there yet ------------------------------------------------------------

    def _seed(self, random_state: Any) -> int:
        given = self.random_state if random_state is None else random_state
        return int(check_random_state(given).randint(np.iinfo(np.int32).max))

    def _beginning(self, init: Any, name: str) -> tuple[Any, bool]:
        """Return the past (n, span, D) in standard units, and whether one sequence was given."""
        self._params()
        span = self._shape().span
        xp, _, is_numpy = namespace_of(init) if hasattr(init, "dtype") else (np, None, True)
        if is_numpy:
            init = np.asarray(init)
        if init.ndim not in (2, 3):
            raise ValueError(
                f"{name} must hold the last {span} frames or more, (T, D), or several such "
                f"histories, (n, T, D); got shape {tuple(init.shape)}."
            )
        single = init.ndim == 2
        histories = init[None, ...] if single else init
        n, T, D = histories.shape
        if span > T:
            raise ValueError(
                f"{name} holds {T} frames, but the model looks {span} frames back; give at least "
                f"{span}."
            )
        if n == 0:
            raise ValueError(f"{name} holds no history; give at least one.")
        start = min(T, max(span, 1))
        last = xp.reshape(histories[:, T - start :, :], (n * start, D))
        frames = check_frames(last, n_features=self.n_features_in_, name=name)
        self._check_home(frames.rows)
        rows = self._standard(frames.rows)
        return namespace_of(rows).xp.reshape(rows, (n, start, rows.shape[1])), single

    def _roll(self, init: Any, n_steps: int, y: Any, name: str, advance: Any) -> Any:
        """Return frames that follow a history, each made by ``advance(field, frame before)``."""
        if not isinstance(n_steps, Integral) or isinstance(n_steps, bool) or n_steps < 1:
            raise ValueError(f"n_steps must be a positive integer, got {n_steps!r}.")
        params = self._params()
        histories, single = self._beginning(init, name)
        wiring = self._wiring(self._shape(), self._style_size)
        xp = namespace_of(params["a"]).xp
        style = self._style_rows(y, n_steps)
        n, start, D = histories.shape
        span = wiring.shape.span
        past = xp.reshape(xp.flip(histories, axis=1)[:, :span, :], (n, span * D))
        v, found = histories[:, start - 1, :], []
        for t in range(n_steps):
            part = None
            if style is not None:
                part = xp.broadcast_to(style[t : t + 1, :], (n, style.shape[1]))
            v = advance(wiring.field(params, past, part, xp)[0], v)
            found.append(v)
            if span:
                # v_{<t} moves on by one frame
                past = xp.concat([v, past[:, : (span - 1) * D]], axis=1)
        answer = self._scaling.original(xp.stack(found, axis=1))
        return answer[0, ...] if single else answer

    def predict(self, history: Any, n_steps: int = 1, y: Any = None) -> Any:
        """Return the frames that minimise the free energy, one after the other.

        Parameters
        ----------
        history : array of shape (T, D) or (n, T, D)
            The frames before, oldest first; the last ``order`` are used.
        n_steps : int, default=1
            How many frames to predict, each from those before.
        y : array-like, optional
            A style, or one for each step.

        Returns
        -------
        frames : array of shape (n_steps, D) or (n, n_steps, D)
            The model's best guess (Section 3.3.3).
        """
        return self._roll(history, n_steps, y, "history", settle)

    def sample(
        self,
        n_steps: int,
        init: Any,
        y: Any = None,
        gibbs: int = 50,
        noise: float = 0.0,
        *,
        clip: bool = False,
        random_state: Any = None,
    ) -> Any:
        """Generate frames by alternating Gibbs sampling.

        Parameters
        ----------
        n_steps : int
            How many frames.
        init : array of shape (T, D) or (n, T, D)
            The frames before, oldest first; the last ``order`` are used.
        y : array-like, optional
            A style, or one for each step (see `blend_styles`).
        gibbs : int, default=50
            Alternations for each frame.
        noise : float, default=0.0
            Standard deviation of noise on the hidden units' biases, which brings about transitions
            (Section 3.5.5).
        clip : bool, default=False
            Whether to keep frames in the range of the training frames.
        random_state : int, RandomState instance or None, default=None
            Seed; the machine's own where it is None.

        Returns
        -------
        frames : array of shape (n_steps, D) or (n, n_steps, D)
            Generated frames.
        """
        _check_gibbs(gibbs)
        if not isinstance(noise, Real) or not 0 <= noise < math.inf:
            raise ValueError(f"noise must be a number of at least 0, got {noise!r}.")
        self._params()
        draws, H = Draws(self._seed(random_state), self._like), int(self.n_hidden)

        def advance(field: Field, v: Any) -> Any:
            size = (gibbs, v.shape[0], H)
            shaken = noise * draws.normal(size) if noise else None
            v = gibbs_frame(field, v, draws.uniform(size), bias_noise=shaken)
            return self._scaling.clipped(v) if clip else v

        return self._roll(init, n_steps, y, "init", advance)

    def impute(
        self,
        X: Any,
        method: str = "gibbs",
        y: Any = None,
        lengths: Any = None,
        *,
        gibbs: int = 50,
        random_state: Any = None,
    ) -> Any:
        """Fill in missing values frame by frame, from the past and the channels that are there.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames with NaN where a value is missing. Missing values among the first
            ``order`` frames of a sequence take the frame before, or the training mean.
        method : {"gibbs", "map"}, default="gibbs"
            A sample with the known channels clamped, or the minimum of the free energy.
        y : array-like, optional
            Styles, for a machine that was trained with them.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        gibbs : int, default=50
            Alternations for each frame.
        random_state : int, RandomState instance or None, default=None
            Seed; the machine's own where it is None.

        Returns
        -------
        frames : array of shape (n_rows, D)
            X with numbers where it had NaN, sequences one after the other.
        """
        if method not in ("gibbs", "map"):
            raise ValueError(f"method must be 'gibbs' or 'map', got {method!r}.")
        _check_gibbs(gibbs)
        self._params()
        frames = check_frames(X, lengths, n_features=self.n_features_in_, allow_nan=True)
        raw = frames.rows[0 : frames.n_rows, :]
        self._check_home(raw)
        draws, H = Draws(self._seed(random_state), self._like), int(self.n_hidden)

        def fill(field: Field, v: Any, missing: Any) -> Any:
            held = {"missing": missing}
            if self._scaling.turn is not None:
                held = {"along": to_namespace(self._scaling.along(to_numpy(missing)[0]), v)}
            if method == "map":
                return settle(field, v, **held)
            return gibbs_frame(field, v, draws.uniform((gibbs, 1, H)), **held)

        scaled = to_namespace(self._scaling.scaled(raw), self._params()["a"])
        rows = self._filled(scaled, frames.lengths, y, fill)
        full = self._scaling.original(rows)
        xp = namespace_of(full).xp
        raw = to_namespace(np.asarray(raw, dtype=np.float64) if xp is np else raw, full)
        return xp.where(xp.isnan(raw), full, raw)

    def _filled(self, rows: Any, lengths: Any, y: Any, fill: Any) -> Any:
        params = self._params()
        wiring = self._wiring(self._shape(), self._style_size)
        span, xp = wiring.shape.span, namespace_of(rows).xp
        turned, unturned = self._scaling.turned, self._scaling.unturned
        style = self._style_rows(y, int(rows.shape[0]))
        missing = xp.isnan(rows)
        holes = to_numpy(xp.any(missing, axis=1))
        starts, found = np.cumsum(lengths) - lengths, []
        for begin, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            v = xp.zeros_like(rows[:1, :])
            done: list[Any] = []
            for t in range(begin, begin + length):
                if holes[t]:
                    # missing channels begin at the frame before (Section 3.3.3)
                    v = turned(xp.where(missing[t : t + 1, :], unturned(v), rows[t : t + 1, :]))
                    if t - begin >= span:
                        recent = done[len(done) - span :][::-1]
                        past = xp.concat(recent, axis=1) if span else v[:, :0]
                        part = None if style is None else style[t : t + 1, :]
                        field, _ = wiring.field(params, past, part, xp)
                        v = fill(field, v, missing[t : t + 1, :])
                else:
                    v = turned(rows[t : t + 1, :])
                done.append(v)
            found += done
        return xp.concat(found, axis=0)

    def _effective(self, y: Any) -> Params:
        """Return W, A, B, a and b of the plain machine that a style makes of this one."""
        params = self._params()
        style = None if self._code is None else self._style_rows(y, 1)
        wiring = self._wiring(self._shape(), self._style_size)
        return wiring.effective(params, style, namespace_of(params["a"]).xp)

    def spectral_radius(self, y: Any = None) -> float:
        """Return the spectral radius of the autoregressive part; above one, it explodes alone.

        Parameters
        ----------
        y : label or array-like, optional
            A style, for a machine that was trained with them.

        Returns
        -------
        radius : float
            The largest modulus of the companion matrix's eigenvalues.
        """
        A = to_numpy(self._effective(y)["A"])
        return companion_radius(A)


def companion_radius(A: Any) -> float:
    """Return the spectral radius of x(t) = Aᵀ (x(t-1), x(t-2), ...)."""
    size, D = A.shape
    if size == 0:
        return 0.0
    companion = np.zeros((size, size))
    companion[:D] = A.T
    companion[D:, : size - D] = np.eye(size - D)
    return float(np.max(np.abs(np.linalg.eigvals(companion))))  # the companion matrix of the lags


def _check_gibbs(gibbs: Any) -> None:
    if not isinstance(gibbs, Integral) or isinstance(gibbs, bool) or gibbs < 1:
        raise ValueError(f"gibbs must be a positive integer, got {gibbs!r}.")


def _blocks(frames: Frames, scaling: Scaling, style: Any, span: int, like: Any, seed: int) -> Any:
    """Return a function that yields the blocks of an epoch; frames on disk come in any order."""
    targets = target_rows(frames.lengths, span)
    if not frames.on_disk:
        block = Block(to_namespace(scaling.standard(frames.rows), like), style, targets)
        return lambda: iter((block,))
    rng = np.random.RandomState(seed)

    def read() -> Iterator[Block]:
        for first in rng.permutation(np.arange(0, targets.size, BLOCK)):
            chosen = targets[first : first + BLOCK]
            begin, end = int(chosen[0]) - span, int(chosen[-1]) + 1
            rows = to_namespace(scaling.standard(frames.rows[begin:end, :]), like)
            yield Block(rows, None if style is None else style[begin:end, :], chosen - begin)

    return read
