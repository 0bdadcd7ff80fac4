"""Conditional deep belief networks: conditional RBMs on top of each other.

Each layer learns the hidden probabilities of the one below, given their own past. All but the top
layer have recognition parameters (upwards) and generative ones (downwards), which start equal and
come apart in fine-tuning.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), "Two Distributed-State Models for
Generating High-Dimensional Time Series", Journal of Machine Learning Research 12, Section 3.4.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.contrastive.divergence import (
    contrastive_phases,
    draw_binary,
    gibbs_frame,
    sigmoid,
)
from octavo.engine.contrastive.draws import Draws
from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.namespaces import namespace_of, to_namespace
from octavo.sequence.conditional_rbm.crbm import CRBM
from octavo.sequence.conditional_rbm.frames import check_frames, check_long_enough, target_rows
from octavo.sequence.conditional_rbm.training import past_of
from octavo.sequence.conditional_rbm.wiring import differences

__all__ = ["ConditionalDBN"]


class ConditionalDBN(SoundEstimator):
    """Conditional deep belief network of stacked CRBMs.

    Parameters
    ----------
    layers : list of CRBM
        The layers, bottom first. Layers above the first are trained with binary visible units,
        whatever they say. Styles go to the top layer, as in the paper.
    random_state : int, RandomState instance or None, default=None
        Seed of fine-tuning, of sampling, and of layers that have none of their own.

    Attributes
    ----------
    layers_ : list of CRBM
        Fitted layers. Below the top their ``W_``, ``A_`` and ``a_`` generate.
    recognition_ : list of dict
        ``W``, ``B`` and ``b`` with which each layer below the top is inferred; equal to the
        layer's own until `finetune`.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    CRBM : One layer.

    Notes
    -----
    Do not use it before one layer has been seen to be too little: greedy layers have no common
    objective, and no likelihood is computed.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import CRBM, ConditionalDBN
    >>> t = np.arange(300)
    >>> X = np.stack([np.sin(t / 5), np.cos(t / 5)], axis=1)
    >>> rates = {"learning_rate": 0.01, "ar_learning_rate": 0.01, "n_epochs": 20, "random_state": 0}
    >>> net = ConditionalDBN([CRBM(8, **rates), CRBM(6, order=2, **rates)], random_state=0).fit(X)
    >>> net.finetune(2).sample(4, X[:5]).shape
    (4, 2)
    """

    _parameter_constraints: dict[str, Any] = {
        "layers": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(self, layers=None, random_state=None):
        self.layers = layers
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Train the layers one after the other.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            A label or a row of style numbers for each frame, for the top layer.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        self : object
            The fitted network.
        """
        layers = [CRBM(), CRBM()] if self.layers is None else list(self.layers)
        if not layers or not all(isinstance(layer, CRBM) for layer in layers):
            raise ValueError(
                "layers must be a list of at least one CRBM, bottom first, got "
                f"{[type(layer).__name__ for layer in layers]}."
            )
        frames = check_frames(X, lengths)
        spans = [_span(layer) for layer in layers]
        check_long_enough(frames, sum(spans))
        self.n_features_in_ = int(frames.rows.shape[1])
        rows, counts, styles = frames.rows[0 : frames.n_rows, :], frames.lengths, _styles(y)
        # hidden probabilities are the visible units above: already between 0 and 1
        fitted, rng = [], check_random_state(self.random_state)
        for number, layer in enumerate(layers):
            model = clone(layer)
            if model.random_state is None:
                model.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
            if number:
                model.set_params(visible="binary", standardize=False)
            top = number == len(layers) - 1
            model.fit(rows, styles if top else None, counts)
            if not top:
                # mean field, without sampling (Section 3.4)
                rows = model.transform(rows, None, counts)
                styles = _take_styles(styles, target_rows(counts, spans[number]))
                counts = counts - spans[number]
            fitted.append(model)
        self.layers_ = fitted
        self._training = (frames, _styles(y))  # for finetune; a reference, not a copy
        self.recognition_ = [{"W": model.W_, "B": model.B_, "b": model.b_} for model in fitted[:-1]]
        return self

    # --- fine-tuning ------------------------------------------------------------------------------

    def finetune(self, n_epochs: int) -> Self:
        """Fine-tune all layers on the training frames by the up-down algorithm (Section 3.4.2).

        Parameters
        ----------
        n_epochs : int
            Passes over the frames.

        Returns
        -------
        self : object
            The network.
        """
        check_is_fitted(self)
        if not isinstance(n_epochs, Integral) or isinstance(n_epochs, bool) or n_epochs < 0:
            raise ValueError(f"n_epochs must be an integer of at least 0, got {n_epochs!r}.")
        rng = check_random_state(self.random_state)
        like = self.layers_[0].a_
        draws = Draws(int(rng.randint(np.iinfo(np.int32).max)), like)
        frames, styles = self._training
        for _ in range(n_epochs):
            levels, counts = self._levels(frames.rows[0 : frames.n_rows, :], frames.lengths)
            top = target_rows(counts[-1], _span(self.layers_[-1]))
            size = self.layers_[-1].batch_size
            order = rng.permutation(top)
            for first in range(0, order.size, size):
                self._up_down(levels, counts, order[first : first + size], styles, draws)
        return self

    def _levels(self, rows: Any, counts: Ints) -> tuple[list[Any], list[Ints]]:
        """Return frames in standard units and mean-field hidden units of each layer below the top.

        They come with the lengths of the sequences, which lose a past with every layer.
        """
        values = [self.layers_[0].standard_frames(rows)]
        lengths = [counts]
        xp = namespace_of(values[0]).xp
        for layer, up in zip(self.layers_, self.recognition_, strict=False):
            span = _span(layer)
            index = to_namespace(target_rows(lengths[-1], span), values[-1])
            past = past_of(values[-1], index, span, xp)
            v = xp.take(values[-1], index, axis=0)
            values.append(_recognise(layer, up, past, v, xp))
            lengths.append(lengths[-1] - span)
        return values, lengths

    def _places(self, counts: list[Ints], rows: Ints) -> list[Ints]:
        """Return where some rows of the top layer's input stand in every layer."""
        found = [rows]
        for layer, lengths in zip(self.layers_[-2::-1], counts[-2::-1], strict=True):
            found.insert(0, target_rows(lengths, _span(layer))[found[0]])
        return found

    def _up_down(
        self, levels: list[Any], counts: list[Ints], rows: Ints, styles: Any, draws: Draws
    ) -> None:
        xp, n = namespace_of(levels[0]).xp, rows.size
        places = self._places(counts, rows)
        index = [to_namespace(place, levels[0]) for place in places]
        pasts = [
            past_of(level, place, _span(layer), xp)
            for level, place, layer in zip(levels, index, self.layers_, strict=True)
        ]
        v = xp.take(levels[0], index[0], axis=0)
        for layer, up, past in zip(self.layers_, self.recognition_, pasts, strict=False):  # wake
            p = _recognise(layer, up, past, v, xp)
            h = draw_binary(p, draws.uniform((n, layer.n_hidden)), xp)
            # wake: the generative model learns to give v back from a recognised h
            gap = v - _generate(layer, past, h, xp)
            seen = past[:, : layer.A_.shape[0]]
            layer.W_ = layer.W_ + layer.learning_rate * (gap.T @ h) / n
            layer.A_ = layer.A_ + layer.ar_learning_rate * (seen.T @ gap) / n
            layer.a_ = layer.a_ + layer.learning_rate * xp.mean(gap, axis=0)
            v = h
        x = self._top_step(pasts[-1], v, _take_styles(styles, places[0]), draws, xp)
        below = range(len(self.layers_) - 2, -1, -1)
        # sleep: recognition learns to find the h that made x
        for number in below:  # sleep
            layer, up, past = self.layers_[number], self.recognition_[number], pasts[number]
            h = draw_binary(x, draws.uniform((n, layer.n_hidden)), xp)
            x = _generate(layer, past, h, xp)
            gap = h - _recognise(layer, up, past, x, xp)
            heard = past[:, : up["B"].shape[0]]
            self.recognition_[number] = {
                "W": up["W"] + layer.learning_rate * (x.T @ gap) / n,
                "B": up["B"] + layer.learning_rate * (heard.T @ gap) / n,
                "b": up["b"] + layer.learning_rate * xp.mean(gap, axis=0),
            }

    def _top_step(self, past: Any, v: Any, styles: Any, draws: Draws, xp: Any) -> Any:
        """Make a contrastive step of the top layer; return its reconstruction."""
        layer = self.layers_[-1]
        params, wiring, style = layer.machine(styles, int(v.shape[0]))
        field, cache = wiring.field(params, past, style, xp)
        k = int(layer.cd_k) if isinstance(layer.cd_k, Integral) else 1
        phases = contrastive_phases(field, v, draws.uniform((k, v.shape[0], layer.n_hidden)))
        d = differences(phases, None, xp)
        gradient = wiring.gradient(params, past, style, cache, d, xp)
        for name, value in gradient.items():
            rate = layer.ar_learning_rate if name in wiring.slow else layer.learning_rate
            setattr(layer, f"{name}_", params[name] + rate * value)
        return phases.vk

    # --- questions --------------------------------------------------------------------------------

    def transform(self, X: Any, y: Any = None, lengths: Any = None) -> Any:
        """Return the probabilities of the top hidden units, layer by layer in mean field.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : array-like, optional
            Styles, for a network that was trained with them.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        probability : array of shape (n_frames, n_hidden)
            A row for each frame with a full past in all layers.
        """
        check_is_fitted(self)
        frames = check_frames(X, lengths, n_features=self.n_features_in_)
        check_long_enough(frames, sum(_span(layer) for layer in self.layers_))
        levels, counts = self._levels(frames.rows[0 : frames.n_rows, :], frames.lengths)
        place = np.arange(int(counts[-1].sum()))
        styles = _take_styles(_styles(y), self._places(counts, place)[0])
        if len(self.layers_) == 1:
            return self.layers_[0].transform(frames.rows[0 : frames.n_rows, :], styles, counts[-1])
        return self.layers_[-1].transform(levels[-1], styles, counts[-1])

    def sample(
        self, n_steps: int, init: Any, y: Any = None, gibbs: int = 50, *, random_state: Any = None
    ) -> Any:
        """Generate frames (Section 3.4.1).

        Parameters
        ----------
        n_steps : int
            How many frames.
        init : array of shape (T, D)
            The frames before, oldest first; as many as the orders of all layers add up to.
        y : array-like, optional
            A style, or one for each step.
        gibbs : int, default=50
            Alternations of the top layer for each frame.
        random_state : int, RandomState instance or None, default=None
            Seed; the network's own where it is None.

        Returns
        -------
        frames : array of shape (n_steps, D)
            Generated frames.
        """
        check_is_fitted(self)
        for name, value in (("n_steps", n_steps), ("gibbs", gibbs)):
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}.")
        need = sum(_span(layer) for layer in self.layers_)
        start = check_frames(init, n_features=self.n_features_in_, name="init")
        if start.n_rows < need:
            raise ValueError(
                f"init holds {start.n_rows} frames, but the layers look {need} frames back "
                f"together; give at least {need}."
            )
        given = self.random_state if random_state is None else random_state
        seed = int(check_random_state(given).randint(np.iinfo(np.int32).max))
        first = max(0, start.n_rows - max(need, 1))
        return self._generated(start.rows[first : start.n_rows, :], n_steps, y, gibbs, seed)

    def _generated(self, start: Any, n_steps: int, y: Any, gibbs: int, seed: int) -> Any:
        levels, _ = self._levels(start, np.array([start.shape[0]], dtype=np.int64))
        xp, top = namespace_of(levels[0]).xp, self.layers_[-1]
        draws = Draws(seed, levels[0])  # Section 3.4.1: N + M frames of past are needed
        params, wiring, style = top.machine(y, n_steps)
        pasts = [
            xp.reshape(xp.flip(level, axis=0)[: _span(layer), :], (1, -1))
            for level, layer in zip(levels, self.layers_, strict=True)
        ]
        rows = levels[-1].shape[0]
        x = levels[-1][rows - 1 : rows, :] if rows else xp.zeros_like(top.a_)[None, :]
        found = []
        for t in range(n_steps):
            part = None if style is None else style[t : t + 1, :]
            field, _ = wiring.field(params, pasts[-1], part, xp)
            # alternating Gibbs at the top, with the past of its layer
            x = gibbs_frame(field, x, draws.uniform((gibbs, 1, top.n_hidden)))
            made = [x]
            for number in range(len(self.layers_) - 2, -1, -1):
                # down by generative biases alone
                made.insert(0, _generate(self.layers_[number], pasts[number], made[0], xp))
            pasts = [
                xp.concat([v, past], axis=1)[:, : past.shape[1]]
                for v, past in zip(made, pasts, strict=True)
            ]
            found.append(made[0])
        return self.layers_[0].original_frames(xp.concat(found, axis=0))


def _span(layer: CRBM) -> int:
    return max(layer.order, layer.order if layer.order_hidden is None else layer.order_hidden)


def _recognise(layer: CRBM, up: dict[str, Any], past: Any, v: Any, xp: Any) -> Any:
    """Return the hidden probabilities of a layer by its recognition parameters."""
    return sigmoid(up["b"][None, :] + past[:, : up["B"].shape[0]] @ up["B"] + v @ up["W"], xp)


def _generate(layer: CRBM, past: Any, h: Any, xp: Any) -> Any:
    """Return the visible means of a layer by its generative parameters."""
    total = layer.a_[None, :] + past[:, : layer.A_.shape[0]] @ layer.A_ + h @ layer.W_.T
    return total if layer.visible == "gaussian" else sigmoid(total, xp)


def _styles(y: Any) -> Any:
    """Return styles of all sequences as one array, or a single one as it is."""
    if y is None or np.ndim(y) == 0:
        return y
    if isinstance(y, (list, tuple)) and len(y) and np.ndim(y[0]) >= 1 and hasattr(y[0], "dtype"):
        return np.concatenate([np.asarray(part) for part in y])
    return np.asarray(y)


def _take_styles(styles: Any, rows: Ints) -> Any:
    return styles if styles is None or np.ndim(styles) == 0 else styles[rows]
