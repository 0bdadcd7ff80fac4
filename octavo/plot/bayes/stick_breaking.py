"""Pictures of stick-breaking segments: time lines, maps, gates, bounds, shared atoms."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import expit, xlogy
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "plot_atom_usage",
    "plot_gate_panels",
    "plot_gate_weights",
    "plot_membership_entropy",
    "plot_segmentation",
    "plot_set_similarity",
    "plot_similar_sets",
    "plot_stick_bounds",
    "plot_truncation_bounds",
]


def _places(coords: Any, n: int) -> Any:
    places = np.asarray(coords, dtype=float)
    places = places[:, None] if places.ndim == 1 else places
    if places.ndim != 2 or len(places) != n or places.shape[1] > 2:
        raise ValueError(
            f"Coordinates must be {n} places in one or two dimensions; got shape {places.shape}."
        )
    return places


def _grid(places: Any, values: Any) -> Any:
    """Return values as an image where places are all pixels of one, else None."""
    rows, columns = places.astype(int).T
    size = (int(rows.max()) + 1, int(columns.max()) + 1)
    if (
        (places == places.astype(int)).all()
        and places.min() == 0
        and size[0] * size[1] == len(rows)
    ):
        image = np.zeros(size)
        image[rows, columns] = values
        return image
    return None


def _colors(labels: Any) -> Any:
    return plt.get_cmap("tab10" if labels.max() < 10 else "tab20")(labels % 20)


def plot_segmentation(
    model: Any, coords: Any, *, labels: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the segments: a coloured time line, a map, or an image.

    Parameters
    ----------
    model : estimator
        A fitted stick-breaking mixture.
    coords : array-like of shape (n,) or (n, 2)
        The places it was fitted on.
    labels : array-like of shape (n,), optional
        Labels to draw in place of the model's.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        One colour per atom; along a line the weights of the atoms are drawn too.
    """
    check_is_fitted(model)
    found = np.asarray(model.labels_ if labels is None else labels)
    places = _places(coords, found.size)
    ax = ax or plt.subplots()[1]
    if places.shape[1] == 1:
        order = np.argsort(places[:, 0])
        t, weights = places[order, 0], model.gate_proba(places[order])
        for k in np.unique(found):
            color = _colors(np.array(k))
            ax.plot(t, weights[:, k], color=color, label=f"atom {k}")
        ax.scatter(t, np.full(t.size, -0.06), c=_colors(found[order]), marker="s", s=12)
        ax.set(xlabel="place", ylabel="weight of the atom")
        ax.legend(frameon=False)
        return ax
    image = _grid(places, found)
    if image is not None:
        ax.imshow(image, cmap="tab10" if found.max() < 10 else "tab20", interpolation="nearest")
    else:
        ax.scatter(places[:, 1], places[:, 0], c=_colors(found), s=12)
        ax.invert_yaxis()
        ax.set_aspect("equal")
    return ax


def plot_gate_weights(
    model: Any, coords: Any, *, component: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw the weight of one atom at each place, π_k(s).

    Parameters
    ----------
    model : estimator
        A fitted stick-breaking mixture of one data set.
    coords : array-like of shape (n,) or (n, 2)
        Places.
    component : int, default=0
        Which atom.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A curve, or a map.
    """
    weights = model.gate_proba(coords)[:, component]
    return _field(weights, coords, f"weight of atom {component}", ax, (0.0, 1.0))


def _field(values: Any, coords: Any, name: str, ax: Axes | None, limits: Any = None) -> Axes:
    places = _places(coords, len(values))
    ax = ax or plt.subplots()[1]
    low, high = limits or (None, None)
    if places.shape[1] == 1:
        order = np.argsort(places[:, 0])
        ax.plot(places[order, 0], values[order])
        ax.set(xlabel="place", ylabel=name)
        return ax
    image = _grid(places, values)
    if image is not None:
        drawn: Any = ax.imshow(image, vmin=low, vmax=high, interpolation="nearest")
    else:
        drawn = ax.scatter(places[:, 1], places[:, 0], c=values, s=12, vmin=low, vmax=high)
        ax.invert_yaxis()
    ax.figure.colorbar(drawn, ax=ax, label=name)
    return ax


def plot_membership_entropy(model: Any, coords: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how unsure the membership of each point is.

    Parameters
    ----------
    model : estimator
        A fitted stick-breaking mixture of one data set.
    coords : array-like of shape (n,) or (n, 2)
        The places it was fitted on.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Entropy in nats: zero where the atom is certain.
    """
    check_is_fitted(model)
    entropy = -xlogy(model.resp_, model.resp_).sum(axis=1)
    return _field(entropy, coords, "entropy of the membership", ax)


def plot_gate_panels(model: Any, coords: Any, *, axes: Any = None) -> Any:
    """Draw weights, gates, their probabilities and the weights of atoms along a line (Figure 10).

    Parameters
    ----------
    model : LogisticStickBreakingMixture
        Fitted on places along a line.
    coords : array-like of shape (n,)
        Places.
    axes : array of four matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : ndarray of four matplotlib axes
        w_k at the centres, g_k, σ(g_k) and π_k, the used atoms only.
    """
    check_is_fitted(model)
    t = np.sort(np.asarray(coords, dtype=float).ravel())
    if model.centers_.shape[1] != 1:
        raise ValueError("Panels of gates need places along a line.")
    axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")[1] if axes is None else axes
    axes = np.ravel(axes)
    weights = model.gate_proba(t)
    psi = model.bandwidths_**2 if model.bandwidth_units == "length" else model.bandwidths_
    for k in model.active_components_:
        color = _colors(np.array(k))
        if k < len(model.gate_coef_):
            w = model.gate_coef_[k]
            g = w[0] + np.exp(-((t[:, None] - model.centers_[:, 0]) ** 2) / psi[k]) @ w[1:]
            axes[0].plot(model.centers_[:, 0], w[1:], ".", color=color)
            axes[1].plot(t, g, color=color)
            axes[2].plot(t, expit(g), color=color)
        axes[3].plot(t, weights[:, k], color=color, label=f"atom {k}")
    for ax, name in zip(axes, ("w", "g", "σ(g)", "π"), strict=True):
        ax.set(xlabel="place", ylabel=name)
    axes[3].legend(frameon=False)
    return axes


def plot_stick_bounds(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the bound after each iteration (Figure 12a).

    Parameters
    ----------
    model : estimator
        A fitted stick-breaking mixture.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        A rising curve, but for iterations in which widths are sampled.
    """
    check_is_fitted(model)
    ax = ax or plt.subplots()[1]
    ax.plot(np.arange(len(model.lower_bounds_)), model.lower_bounds_)
    ax.set(xlabel="iteration", ylabel="lower bound")
    return ax


def plot_truncation_bounds(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the bound of each truncation level that was tried (Figure 12b).

    Parameters
    ----------
    model : LogisticStickBreakingMixture
        Fitted with a list of truncation levels.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The level that was kept is marked.
    """
    check_is_fitted(model)
    ax = ax or plt.subplots()[1]
    sizes = sorted(model.truncation_bounds_)
    bounds = [model.truncation_bounds_[size] for size in sizes]
    ax.plot(sizes, bounds, "o-")
    ax.plot([model.n_components_], [model.lower_bound_reduced_], "o", color="tab:red", ms=10)
    ax.set(xlabel="truncation level", ylabel="lower bound without constants")
    return ax


def plot_atom_usage(model: Any, *, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw how many points of each data set use each atom (Figure 16).

    Parameters
    ----------
    model : HierarchicalLSBP
        Fitted.
    names : list of str, optional
        Names of the data sets.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        Data sets down, used atoms across; squares as large as the share.
    """
    check_is_fitted(model)
    shares = model.atom_histogram_[:, model.active_atoms_]
    ax = ax or plt.subplots()[1]
    rows, columns = np.indices(shares.shape)
    ax.scatter(columns.ravel(), rows.ravel(), s=300.0 * shares.ravel(), marker="s", color="0.2")
    ax.set_xticks(range(shares.shape[1]), [str(l) for l in model.active_atoms_])
    labels = [str(m) for m in range(len(shares))] if names is None else [str(n) for n in names]
    ax.set_yticks(range(len(shares)), labels)
    ax.set(xlabel="atom", ylabel="data set", ylim=(len(shares) - 0.5, -0.5))
    return ax


def plot_set_similarity(model: Any, *, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw exp(-KL) between the data sets' atoms as a heat map (Figure 20).

    Parameters
    ----------
    model : HierarchicalLSBP
        Fitted.
    names : list of str, optional
        Names of the data sets.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        One on the diagonal.
    """
    check_is_fitted(model)
    table = model.similarity()
    ax = ax or plt.subplots()[1]
    drawn = ax.imshow(table, vmin=0.0, vmax=1.0, cmap="viridis")
    labels = [str(m) for m in range(len(table))] if names is None else [str(n) for n in names]
    ax.set_xticks(range(len(table)), labels)
    ax.set_yticks(range(len(table)), labels)
    ax.figure.colorbar(drawn, ax=ax, label="exp(-KL)")
    return ax


def plot_similar_sets(model: Any, images: Any, i: int, *, n: int = 4, axes: Any = None) -> Any:
    """Draw an image and the images most similar to it by their atoms (Figure 21).

    Parameters
    ----------
    model : HierarchicalLSBP
        Fitted on the images.
    images : list of array-like
        The images.
    i : int
        Which one is asked about.
    n : int, default=4
        How many others to show.
    axes : array of matplotlib axes, optional
        Where to draw, one more than others; new axes by default.

    Returns
    -------
    axes : ndarray of matplotlib axes
        The image asked about first.
    """
    order = model.rank_similar(i)[:n]
    if axes is None:
        axes = plt.subplots(1, 1 + len(order), figsize=(2.2 * (1 + len(order)), 2.2))[1]
    axes = np.ravel(axes)
    row = model.similarity()[i]
    for ax, m in zip(axes, [i, *order], strict=False):
        ax.imshow(np.asarray(images[m]), cmap="gray")
        ax.set_title(f"{m}: {row[m]:.2f}", fontsize=9)
        ax.set_axis_off()
    return axes
