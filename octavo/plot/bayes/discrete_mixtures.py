"""Pictures of discrete mixtures: the climb of the likelihood, and what topics are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from octavo._outside_text import literal

__all__ = ["plot_latent_words", "plot_likelihood_climb"]


def plot_likelihood_climb(models: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how much the log-likelihood still lacks after each iteration of EM.

    Parameters
    ----------
    models : mapping of str to estimator, or estimator
        Fitted, with `log_likelihoods_`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Distance from the best end of all, on a logarithmic axis.
    """
    ax = ax or plt.subplots()[1]
    if not isinstance(models, Mapping):
        models = {type(models).__name__: models}
    best = max(float(np.max(model.log_likelihoods_)) for model in models.values())
    floor = max(1e-9, 1e-12 * abs(best))
    for name, model in models.items():
        lack = np.maximum(best - np.asarray(model.log_likelihoods_), floor)
        ax.plot(lack, label=literal(name))
    ax.set(xlabel="iteration", ylabel="log-likelihood below the best", yscale="log")
    ax.legend()
    return ax


def plot_latent_words(
    model: Any,
    component: int = 0,
    *,
    names: Sequence[str] | None = None,
    n_words: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the most probable words, or columns, of one component.

    Parameters
    ----------
    model : PLSA, MultinomialMixture or BernoulliMixture
        Fitted.
    component : int, default=0
        Which one.
    names : sequence of str, optional
        Names of the columns.
    n_words : int, default=10
        How many.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Bars, the longest on top.
    """
    ax = ax or plt.subplots()[1]
    table = model.words_ if hasattr(model, "words_") else model.means_
    row = np.asarray(table)[component]
    top = np.argsort(-row, kind="stable")[:n_words][::-1]
    labels = [literal(names[j]) if names is not None else str(j) for j in top]
    ax.barh(range(len(top)), row[top], color="C0")
    ax.set_yticks(range(len(top)), labels)
    ax.set(
        xlabel="probability", title=f"component {component}, weight {model.weights_[component]:.2f}"
    )
    return ax
