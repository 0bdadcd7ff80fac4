"""Pictures of inverse reinforcement learning: controllers, rewards, learning curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_controller", "plot_inverse_values", "plot_reward_bars"]


def plot_controller(policy: Any, pomdp: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a controller: nodes with their actions, arrows with what is seen (Figure 5).

    Parameters
    ----------
    policy : FSCPolicy
        The controller.
    pomdp : POMDP
        The model, for names and for what can be seen at all.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    reached = policy.reachable_beliefs(pomdp)
    labels: dict[tuple[int, int], list[str]] = {}
    for n, b in zip(reached.nodes, reached.beliefs):
        seen = pomdp.observation_probabilities(b, int(policy.actions[n]))
        for z in np.flatnonzero(seen > 1e-12):
            names = labels.setdefault((int(n), int(policy.successors[n, z])), [])
            if pomdp.observation_names[z] not in names:
                names.append(pomdp.observation_names[z])
    graph = nx.DiGraph(list(labels))
    graph.add_node(policy.start)
    place = nx.circular_layout(graph)
    colours = ["tab:orange" if n == policy.start else "tab:blue" for n in graph]
    nx.draw_networkx_nodes(graph, place, ax=ax, node_size=1800, node_color=colours, alpha=0.25)
    actions = {n: pomdp.action_names[policy.actions[n]] for n in graph}
    nx.draw_networkx_labels(graph, place, actions, font_size=8, ax=ax)
    style = "arc3,rad=0.15"
    nx.draw_networkx_edges(graph, place, ax=ax, node_size=1800, connectionstyle=style, alpha=0.6)
    all_seen = pomdp.n_observations
    texts = {e: "any" if len(s) == all_seen else ", ".join(s) for e, s in labels.items()}
    nx.draw_networkx_edge_labels(
        graph, place, texts, ax=ax, font_size=7, connectionstyle=style, rotate=False
    )
    ax.margins(0.2)
    ax.set_axis_off()
    return ax


def plot_reward_bars(
    rewards: Mapping[str, ArrayLike],
    *,
    state_names: Any = None,
    action_names: Any = None,
    axes: Any = None,
) -> np.ndarray:
    """Draw rewards by state, a panel for each action (Figures 6 and 7).

    Parameters
    ----------
    rewards : dict of str to array-like of shape (n_states, n_actions)
        Such as the true and the learned reward, by the name to show.
    state_names, action_names : sequence of str, optional
        Names; numbers by default.
    axes : sequence of matplotlib axes, optional
        One for each action; new axes by default.

    Returns
    -------
    axes : ndarray of matplotlib axes
        The axes.
    """
    tables = {name: np.asarray(R, dtype=float) for name, R in rewards.items()}
    n_states, n_actions = next(iter(tables.values())).shape
    if axes is None:
        axes = plt.subplots(
            1,
            n_actions,
            sharey=True,
            squeeze=False,
            figsize=(3 * n_actions, 3),
            layout="constrained",
        )[1]
    axes = np.ravel(axes)
    at, width = np.arange(n_states), 0.8 / len(tables)
    for a, ax in enumerate(axes[:n_actions]):
        for i, (name, R) in enumerate(tables.items()):
            ax.bar(at + (i - (len(tables) - 1) / 2) * width, R[:, a], width, label=name)
        ax.axhline(0.0, color="0.3", linewidth=0.6)
        ax.set(title=str(a) if action_names is None else action_names[a], xlabel="state")
        if state_names is not None:
            ax.set_xticks(at, state_names, rotation=30, fontsize=8)
    axes[0].set_ylabel("reward")
    axes[0].legend(frameon=False)
    return axes


def plot_inverse_values(
    values: Mapping[str, ArrayLike],
    expert: float,
    *,
    at: ArrayLike | None = None,
    xlabel: str = "iteration",
    ax: Axes | None = None,
) -> Axes:
    """Draw values of learned policies with the expert's as a line (Figures 9 and 10).

    Parameters
    ----------
    values : dict of str to array-like
        Values of shape (n,), or (n_runs, n) of which means are drawn, by the name to show.
    expert : float
        The value of the expert.
    at : array-like of shape (n,), optional
        Where they stand, such as numbers of trajectories; 1, 2, ... by default.
    xlabel : str, default="iteration"
        What that is.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    for name, curve in values.items():
        table = np.atleast_2d(np.asarray(curve, dtype=float))
        x = np.arange(1, table.shape[1] + 1) if at is None else np.asarray(at)
        ax.plot(x, table.mean(axis=0), marker=".", label=name)
    ax.axhline(expert, color="0.3", linestyle="--", linewidth=0.8, label="expert")
    ax.set(xlabel=xlabel, ylabel="value under the true reward")
    ax.legend(frameon=False)
    return ax
