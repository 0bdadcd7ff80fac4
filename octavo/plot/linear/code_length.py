"""Pictures of description lengths: step by step, by code, and what was selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_code_costs",
    "plot_description_length",
    "plot_selection_scores",
    "plot_support_map",
]

SHOWN = 60  # features that a map has room for


def plot_description_length(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw bits of the model, bits saved on the data, and the description length, step by step.

    Parameters
    ----------
    model : estimator
        Fitted, with ``description_length_path_``: `MICSelector` and its kin, `MICGroup`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes. All bits are relative to the model without features.
    """
    ax = ax or plt.subplots()[1]
    data, bits, total = np.asarray(model.description_length_path_).T
    steps = np.arange(len(total))
    ax.bar(steps, bits, color="C1", alpha=0.5, label="model")
    ax.bar(steps, data - data[0], color="C0", alpha=0.5, label="data, against no features")
    ax.plot(steps, total - total[0], "k.-", label="both")
    best = int(np.argmin(total))
    ax.axvline(best, color="0.6", linewidth=0.8, linestyle=":")
    ax.axhline(0.0, color="0.4", linewidth=0.6)
    ax.set(xlabel="step", ylabel="bits")
    ax.set_title(f"{total[best] - total[0]:.1f} bits at step {best}", fontsize="small")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_support_map(
    support: Any,
    *,
    truth: Any = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which task uses which of the selected features.

    Parameters
    ----------
    support : array-like of shape (n_features, n_tasks)
        Of a `MICSelector`: ``selector.support_``; or any other, with a column a task.
    truth : array-like of shape (n_features, n_tasks), optional
        What should have been selected: then what is missing and what is wrong have colours of
        their own, and features that are in either are shown.
    names : sequence of str, optional
        Names of all features; their numbers by default.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes, features down, tasks across. At most 60 features, the most used first.
    """
    ax = ax or plt.subplots()[1]
    found = np.asarray(support, dtype=bool)
    real = found if truth is None else np.asarray(truth, dtype=bool)
    used = np.flatnonzero((found | real).any(axis=1))
    used = used[np.argsort(-(found | real)[used].sum(axis=1), kind="stable")][:SHOWN]
    kinds = found[used] * 1 + real[used] * 2  # 1 wrong, 2 missing, 3 right
    colours = np.array([[1.0, 1, 1], [0.84, 0.15, 0.16], [1.0, 0.73, 0.47], [0.12, 0.47, 0.71]])
    ax.imshow(colours[kinds], aspect="auto", interpolation="nearest")
    labels = [str(j) if names is None else names[j] for j in used.tolist()]
    ax.set_yticks(range(len(used)), labels, fontsize="x-small")
    ax.set(xlabel="task", ylabel="feature")
    if truth is not None:
        counts = [int((kinds == kind).sum()) for kind in (3, 2, 1)]
        ax.set_title(
            "{} right (blue), {} missing (orange), {} wrong (red)".format(*counts),
            fontsize="small",
        )
    return ax


def plot_code_costs(costs: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the bits of one feature against the number of tasks that use it.

    Parameters
    ----------
    costs : dict of str to array-like
        Bits for k = 1, 2, ... by the name of the code, for instance from `codelength`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, bits in costs.items():
        ax.plot(np.arange(1, len(bits) + 1), bits, ".-", label=name)
    ax.set(xlabel="tasks that use the feature", ylabel="bits")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_selection_scores(
    scores: Mapping[str, tuple[float, float]], *, ax: Axes | None = None
) -> Axes:
    """Draw precision and recall of selections side by side.

    Parameters
    ----------
    scores : dict of str to (float, float)
        Precision and recall by method.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    places = np.arange(len(scores))
    for shift, (i, name) in zip((-0.2, 0.2), enumerate(("precision", "recall"))):
        ax.bar(places + shift, [pair[i] for pair in scores.values()], 0.4, label=name)
    ax.set_xticks(places, list(scores), fontsize="small")
    ax.set_ylim(0, 1.05)
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower right")
    return ax
