"""Pictures of decisions: what a threshold costs, and how beliefs move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from octavo._outside_text import literal

__all__ = ["plot_belief_updates", "plot_expected_cost"]


def plot_expected_cost(model: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the mean loss against the probability from which on the second class is chosen.

    Parameters
    ----------
    model : BayesRiskClassifier
        Fitted, of two classes.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Their classes.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The curve, the threshold of least expected loss, and one half.
    """
    ax = ax or plt.subplots()[1]
    if len(model.classes_) != 2:
        raise ValueError(f"A threshold needs two classes; the model has {len(model.classes_)}.")
    loss = np.asarray(model.loss_)[:2]
    second = model.predict_proba(X)[:, 1]
    truth = (np.asarray(y) == model.classes_[1]).astype(int)
    thresholds = np.unique(np.concatenate([[0.0, 1.0], second]))
    # decided for the second class from the threshold on
    order = np.argsort(second)
    gain = loss[1, truth] - loss[0, truth]
    above = np.concatenate([[0.0], np.cumsum(gain[order][::-1])])[::-1]
    start = np.searchsorted(second[order], thresholds, side="left")
    costs = (loss[0, truth].sum() + above[start]) / len(truth)
    ax.step(thresholds, costs, where="post", color="C0", label="mean loss")
    # choose 1 where p L(1,1) + (1-p) L(1,0) < p L(0,1) + (1-p) L(0,0)
    rise = (loss[1, 0] - loss[0, 0]) + (loss[0, 1] - loss[1, 1])
    if rise > 0:
        best = (loss[1, 0] - loss[0, 0]) / rise
        ax.axvline(best, color="C3", ls="--", label=f"Bayes decision, {best:.3g}")
    ax.axvline(0.5, color="0.6", ls=":", label="most probable class")
    ax.set(
        xlabel=literal(f"threshold on P({model.classes_[1]} | x)"),
        ylabel="mean loss",
        xlim=(0, 1),
    )
    ax.legend()
    return ax


def plot_belief_updates(
    belief: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the probability of each hypothesis after each observation.

    Parameters
    ----------
    belief : SequentialBayes
        Updated some times.
    names : sequence of str, optional
        Names of the hypotheses.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        One line per hypothesis.
    """
    ax = ax or plt.subplots()[1]
    trace = belief.posteriors_
    names = names or [f"hypothesis {i}" for i in range(trace.shape[1])]
    for column, name in zip(trace.T, names, strict=True):
        ax.plot(column, marker="." if len(trace) < 40 else None, label=literal(name))
    ax.set(xlabel="observations", ylabel="probability", ylim=(-0.02, 1.02))
    ax.legend()
    return ax
