"""Pictures of closed-loop infusion: signals, policy, trials, curves. Simulation only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

__all__ = [
    "plot_bolus_family",
    "plot_dose_response",
    "plot_infusion",
    "plot_infusion_policy",
    "plot_trial",
]


def plot_infusion(record: Any, patient: int = 0, *, axes: Sequence[Axes] | None = None) -> Any:
    """Draw BIS with its target, and the infusion with Ce, over time (Figures 9 to 12).

    Simulation, not a medical device.

    Parameters
    ----------
    record : TrialRecord
        From `simulate_patients`.
    patient : int, default=0
        Which patient.
    axes : pair of matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes : pair of matplotlib axes
        BIS above, rate and Ce below; stimuli are shaded.
    """
    if axes is None:
        axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, height_ratios=(3, 2))[1]
    top, low = axes
    t = record.time
    top.plot(t, record.measured[patient], ".", markersize=1.5, color="0.75", label="measured")
    top.plot(t, record.smoothed[patient], color="C0", linewidth=1, label="smoothed")
    top.plot(t, record.target[patient], color="black", linestyle="--", label="target")
    moved = record.stimuli[patient]
    for sign, colour in ((1, "C3"), (-1, "C2")):
        top.fill_between(
            t, 0, 1, where=sign * moved > 0, transform=top.get_xaxis_transform(), color=colour,
            alpha=0.2, linewidth=0, label="arousing" if sign > 0 else "depressing",
        )  # fmt: skip
    top.set(ylabel="BIS", ylim=(20, 100), title="Simulation, not a medical device")
    top.legend(frameon=False, ncols=5, fontsize="small", loc="upper right")
    low.step(t, record.rate[patient], where="pre", color="C1", linewidth=0.7)
    low.set(xlabel="minutes", ylabel="mg/min")
    beside = low.twinx()
    beside.plot(t, record.Ce[patient], color="C4")
    beside.set_ylabel("Ce in µg/ml", color="C4")
    return axes


def plot_infusion_policy(agent: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the rate that a policy takes for every error and change.

    Simulation, not a medical device.

    Parameters
    ----------
    agent : WatkinsQLambda or CountedModelPolicy
        Fitted with `FuzzyBins` of two variables.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes; cells that were never visited are hatched.
    """
    ax = ax or plt.subplots()[1]
    bins = agent.encoder_
    n = 2 * bins.n_bins - 1
    wide, narrow = (float(w) for w in bins.widths)
    rates = agent.rates_[agent.policy_table_].reshape(n, n)
    visited = (agent.n_visits_.sum(axis=1) > 0).reshape(n, n)
    extent = (-wide, wide, -narrow, narrow)
    image = ax.imshow(
        np.sqrt(rates.T), origin="lower", extent=extent, aspect="auto", cmap="viridis",
        vmin=0, vmax=np.sqrt(60),
    )  # fmt: skip
    ax.contourf(
        np.linspace(-wide, wide, n), np.linspace(-narrow, narrow, n), (~visited).T.astype(float),
        levels=[0.5, 1.5], colors="none", hatches=["////"],
    )  # fmt: skip
    bar = ax.figure.colorbar(image, ax=ax, label="mg/min")
    ticks = np.array([0, 2, 10, 20, 40, 60])
    bar.set_ticks(np.sqrt(ticks), labels=[str(v) for v in ticks])
    ax.set(xlabel="BIS above target", ylabel="change of it in 10 s", title="Policy (simulation)")
    return ax


def plot_trial(
    trials: Mapping[str, Mapping[str, Any]],
    *,
    measures: Sequence[str] = ("mdpe", "mdape", "wobble", "rmse", "controlled"),
    axes: Any = None,
) -> Any:
    """Draw boxes of the measures of trials beside the criteria of Table 2.

    Simulation, not a medical device.

    Parameters
    ----------
    trials : dict of str to dict
        What `run_trial` returned, by the name to show.
    measures : sequence of str
        Which measures.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each measure; new axes by default.

    Returns
    -------
    axes : sequence of matplotlib axes
        The axes; the criterion is a dashed line.
    """
    bounds = {"mdpe": (-5, 5), "mdape": (7.5,), "wobble": (5,), "rmse": (5,), "controlled": (80,)}
    if axes is None:
        axes = plt.subplots(1, len(measures), figsize=(2.4 * len(measures), 3.4))[1]
    axes = np.atleast_1d(axes)
    for ax, name in zip(axes, measures):
        values = [np.asarray(t[name], float) for t in trials.values()]
        ax.boxplot([v[np.isfinite(v)] for v in values], showfliers=False, widths=0.6)
        ax.set_xticks(range(1, len(trials) + 1), list(trials), rotation=30, ha="right")
        for bound in bounds.get(name, ()):
            ax.axhline(bound, color="C3", linestyle="--", linewidth=1)
        ax.set_title(name)
    axes[0].figure.tight_layout()
    return axes


def plot_dose_response(
    pd: Any, *, shifts: Sequence[float] = (-10, -5, 5, 10), ax: Axes | None = None
) -> Axes:
    """Draw BIS against the concentration, with patients who are more or less sensitive (Figure 3).

    Simulation, not a medical device.

    Parameters
    ----------
    pd : SigmoidPD or FittedPD
        The curve.
    shifts : sequence of float
        Shifts of BIS of other patients.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    Ce = np.linspace(0, 8, 300)
    bis = np.asarray(pd.predict(Ce))
    for shift in shifts:
        ax.plot(Ce, np.clip(bis + shift, 0, 100), color="0.8", linewidth=1)
    ax.plot(Ce, bis, color="C0")
    ax.set(xlabel="Ce in µg/ml", ylabel="BIS", ylim=(0, 100))
    return ax


def plot_bolus_family(
    patients: Mapping[str, Any], pd: Any, *, amount: float = 100.0, ax: Axes | None = None
) -> Axes:
    """Draw BIS after a bolus for several patients, with the peaks (Figure 5).

    Simulation, not a medical device.

    Parameters
    ----------
    patients : dict of str to SchniderPK
        Patients by the name to show.
    pd : SigmoidPD or FittedPD
        The curve from Ce to BIS.
    amount : float, default=100.0
        Milligrams.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = ax or plt.subplots()[1]
    minutes = np.arange(1, 121) / 12
    for name, pk in patients.items():
        bis = pd.predict(pk.simulate(np.zeros(120), 5.0, start=pk.bolus(amount))[:, 3])
        (line,) = ax.plot(minutes, bis, label=name)
        low = int(np.argmin(bis))
        ax.plot(minutes[low], bis[low], "o", color=line.get_color())
    ax.set(xlabel="minutes after the bolus", ylabel="BIS")
    ax.legend(frameon=False)
    return ax
