"""Pictures of topics that know the label: weights by class, words, profiles, sweeps, documents."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "plot_class_topics",
    "plot_document_topics",
    "plot_topic_sweeps",
    "plot_topic_weights",
    "plot_topic_words",
]


def _weights(model: Any) -> Any:
    """Return weights (rows x topics) and the names of the rows."""
    check_is_fitted(model)
    if not hasattr(model, "coef_"):
        raise ValueError(f"{type(model).__name__} has no weights: its topics know no label.")
    weights = np.atleast_2d(model.coef_)
    names = [str(name) for name in getattr(model, "classes_", ["weight"])]
    return weights, names[-len(weights) :]


def plot_topic_weights(
    model: Any, feature_names: Any = None, *, n: int = 3, ax: Axes | None = None
) -> Axes:
    """Draw the weight of each topic for each class as a heat map.

    Parameters
    ----------
    model : estimator
        A fitted max-margin topic model.
    feature_names : array-like of shape (n_words,), optional
        The words, by which topics are labelled.
    n : int, default=3
        How many words name a topic.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Classes down, topics across; red is for a class, blue against it.
    """
    weights, names = _weights(model)
    ax = ax or plt.subplots(figsize=(1 + 0.5 * weights.shape[1], 1.5 + 0.4 * len(weights)))[1]
    top = float(np.abs(weights).max()) or 1.0
    image = ax.imshow(weights, cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto")
    words = [" ".join(map(str, topic)) for topic in model.top_words(feature_names, n)]
    ax.set_xticks(range(len(words)), words, rotation=60, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.figure.colorbar(image, ax=ax, label="weight")
    return ax


def plot_class_topics(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the mean topics of each class's documents as bars (Figure 12).

    Parameters
    ----------
    model : estimator
        A fitted `GibbsMedLDAClassifier` or `GibbsMedLDAMultilabel`.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        One group of bars a topic.
    """
    check_is_fitted(model)
    profile = model.class_topic_profile_
    ax = ax or plt.subplots()[1]
    width = 0.8 / len(profile)
    for i, (name, row) in enumerate(zip(model.classes_, profile, strict=True)):
        ax.bar(np.arange(row.size) + i * width, row, width, label=str(name))
    ax.set(xlabel="topic", ylabel="mean share in a document")
    ax.legend(frameon=False, title="class")
    return ax


def plot_topic_words(
    model: Any, topic: int, feature_names: Any = None, *, n: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the most probable words of a topic, coloured by the sign of its weight.

    Parameters
    ----------
    model : estimator
        A fitted topic model.
    topic : int
        Which topic.
    feature_names : array-like of shape (n_words,), optional
        The words.
    n : int, default=12
        How many.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Bars of probabilities; red for the class (or the one of the largest weight), blue against
        it, grey for plain topics.
    """
    words = model.top_words(feature_names, n)[topic]
    probs = -np.sort(-model.components_[topic])[: len(words)]
    ax = ax or plt.subplots()[1]
    color, title = "0.5", f"topic {topic}"
    if hasattr(model, "coef_"):
        weights, names = _weights(model)
        i = int(np.abs(weights[:, topic]).argmax())
        color = "tab:red" if weights[i, topic] > 0 else "tab:blue"
        title += f": {weights[i, topic]:+.1f} for {names[i]}"
    ax.barh([str(word) for word in words][::-1], probs[::-1], color=color)
    ax.set(xlabel="probability", title=title)
    return ax


def plot_topic_sweeps(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the log-likelihood of words, and the loss of labels, after each sweep.

    Parameters
    ----------
    model : estimator
        A fitted topic model.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The loss has an axis of its own, at the right.
    """
    check_is_fitted(model)
    ax = ax or plt.subplots()[1]
    sweeps = np.arange(1, len(model.log_likelihoods_) + 1)
    ax.plot(sweeps, model.log_likelihoods_, color="tab:blue")
    ax.set_xlabel("sweep")
    ax.set_ylabel("log p(words, topics)", color="tab:blue")
    if hasattr(model, "losses_"):
        right = ax.twinx()
        right.plot(sweeps, model.losses_, color="tab:red")
        right.set_ylabel("loss of the labels", color="tab:red")
    return ax


def plot_document_topics(
    model: Any, x: Any, feature_names: Any = None, *, n: int = 25, ax: Axes | None = None
) -> Axes:
    """Draw the words of one document, sized by their counts and coloured by their topic.

    Parameters
    ----------
    model : estimator
        A fitted topic model.
    x : {array-like, sparse matrix} of shape (1, n_words)
        Counts of one document.
    feature_names : array-like of shape (n_words,), optional
        The words.
    n : int, default=25
        How many words, the most frequent first.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A word has the colour of its most probable topic given the document.
    """
    shares = model.transform(x)[0]
    counts = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float).ravel()
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", range(counts.size))
    names = np.asarray(feature_names)
    order = np.argsort(-counts, kind="stable")[:n]
    order = order[counts[order] > 0]
    topics = (shares[:, None] * model.components_[:, order]).argmax(axis=0)
    ax = ax or plt.subplots(figsize=(6, 4))[1]
    colors = plt.get_cmap("tab20")
    for place, (word, topic) in enumerate(zip(order, topics, strict=True)):
        ax.text(
            (place % 5 + 0.5) / 5,
            1.0 - (place // 5 + 0.5) / max(1, -(-len(order) // 5)),
            str(names[word]),
            fontsize=8 + 8 * counts[word] / counts.max(),
            color=colors(int(topic) % 20),
            ha="center",
            va="center",
        )
    for topic in np.unique(topics):
        ax.plot([], [], "s", color=colors(int(topic) % 20), label=f"topic {topic}")
    ax.set_axis_off()
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=5)
    return ax
