"""Controllers on a thousand patients who differ: the in-silico trial.

Simulation, not a medical device.

Reference: Moore et al. (2014), "Reinforcement learning for closed-loop propofol anesthesia: a study
in human volunteers", JMLR 15:655-696, sections 3.3 and 3.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit
from octavo.rl.infusion.agents import CountedModelPolicy, WatkinsQLambda
from octavo.rl.infusion.bins import FuzzyBins
from octavo.rl.infusion.controllers import EffectSiteTCI, PIDController, pid_rate
from octavo.rl.infusion.environment import infusion_rates
from octavo.rl.infusion.measures import (
    controlled_share,
    maintenance_mask,
    ohara_metrics,
    varvel_metrics,
)
from octavo.rl.infusion.numbers_in import positive, real, series, whole
from octavo.rl.infusion.percepts import advance, bis_of, cell_of, filter_share
from octavo.rl.infusion.pharmacodynamics import FittedPD, SigmoidPD
from octavo.rl.infusion.pharmacokinetics import propagators
from octavo.rl.infusion.variability import PatientVariability, VirtualPatient

__all__ = ["TrialRecord", "run_trial", "simulate_patients"]

CHUNK = 100  # patients whose signals are held at a time
MEASURES = ("mdpe", "mdape", "wobble", "divergence", "rmse")
TABLE, GAINS, GIVEN = 0, 1, 2


class TrialRecord(NamedTuple):
    """Signals of patients under control, one row each; simulation, not a medical device.

    `time` in minutes (n_steps,); `target`, `bis` (ideal), `measured` (NaN where missing),
    `smoothed`, `rate` in mg/min and `Ce` in µg/ml, of shape (n_patients, n_steps); `stimuli` in
    BIS; `held`, steps in which a rate was held for want of a measurement; `patients`, who they are.
    """

    time: np.ndarray
    target: np.ndarray
    bis: np.ndarray
    measured: np.ndarray
    smoothed: np.ndarray
    rate: np.ndarray
    Ce: np.ndarray
    stimuli: np.ndarray
    held: np.ndarray
    patients: list[VirtualPatient]


@njit(cache=True, error_model="numpy")
def control(
    kind, policy, rates, gains, given, steps, disturbance, targets, curve, table, share, lag,
    widths, n_bins, highest, out,
):  # fmt: skip
    """Run patients under a table of actions, PID gains or given rates; fill `out`.

    `out` holds ideal BIS, measured, smoothed, rate and Ce. Return how often a rate was held.
    """
    n, horizon = targets.shape
    held = np.zeros(n, dtype=np.int64)
    c, past = np.empty(4), np.empty(lag + 1)
    for i in range(n):
        step = steps[i]
        c[:] = 0.0
        bis = bis_of(curve, table, 0.0)
        first = disturbance[i, 0]
        smoothed = min(max(bis + (first if first == first else 0.0), 0.0), 100.0)
        past[:] = smoothed
        rate, integral, known = 0.0, 0.0, True
        for t in range(horizon):
            place = t % (lag + 1)
            past[place] = smoothed
            change = smoothed - past[(place + 1) % (lag + 1)]
            error = smoothed - targets[i, t]
            if kind == GIVEN:
                rate = given[i, t]
            elif not known:
                held[i] += 1
            elif kind == TABLE:  # E(t) - E(t - 2) of Section 3.1.2: a step of the target is in it
                moved = change - (targets[i, t] - targets[i, max(t - lag, 0)])
                rate = rates[policy[cell_of(error, moved, widths[0], widths[1], n_bins)]]
            else:
                rate, integral = pid_rate(error, change, gains, integral, highest)
            advance(step, c, rate)
            bis = bis_of(curve, table, c[3])
            measured = bis + disturbance[i, t + 1]  # BIS_ideal + ΔBIS_PVM (Section 3.3.2)
            known = measured == measured
            if known:
                measured = min(max(measured, 0.0), 100.0)
                smoothed += share * (measured - smoothed)
            out[0, i, t], out[1, i, t], out[2, i, t] = bis, measured, smoothed
            out[3, i, t], out[4, i, t] = rate, c[3]
    return held


class _Loop(NamedTuple):
    """What stays the same for all patients of a trial."""

    pd: Any
    dt: float
    time_constant: float
    lag: int
    horizon: int
    targets: np.ndarray


def _schedules(loop: _Loop, n: int, rng: Any) -> np.ndarray:
    """Return a target for each step: the targets in random order, for equal times."""
    parts = np.array_split(np.arange(loop.horizon), len(loop.targets))
    out = np.empty((n, loop.horizon))
    for i in range(n):
        for value, part in zip(rng.permutation(loop.targets), parts):
            out[i, part] = value
    return out


def _compiled_parts(controller: Any, loop: _Loop, patients: list, targets: np.ndarray) -> Any:
    """Return kind, policy, gains, given rates, widths, bins and highest; None for a Python loop."""
    policy, gains = np.zeros(1, dtype=np.int64), np.zeros(3)
    given, widths, n_bins, highest = np.zeros((1, 1)), np.ones(2), 10, 60.0
    if type(controller) in (WatkinsQLambda, CountedModelPolicy):
        encoder = getattr(controller, "encoder_", None)
        if type(encoder) is not FuzzyBins or len(encoder.widths) != 2:
            raise ValueError(
                "A policy for a trial must be fitted in a PropofolEnv, with FuzzyBins."
            )
        if controller.q_table_.shape[1] != len(infusion_rates()):
            raise ValueError(f"A policy must have 15 actions; got {controller.q_table_.shape[1]}.")
        policy, widths = controller.policy_table_, np.array(encoder.widths, dtype=float)
        return TABLE, policy.astype(np.int64), gains, given, widths, int(encoder.n_bins), highest
    if type(controller) is PIDController:
        same = (controller.dt, controller.time_constant, controller.lag)
        if same != (loop.dt, loop.time_constant, loop.lag):
            return None
        return GAINS, policy, controller.gains(), given, widths, n_bins, controller.highest
    if type(controller) is EffectSiteTCI and controller.dt == loop.dt:
        goals = {float(v): controller.pd.inverse(v) for v in np.unique(targets)}
        given = np.array(
            [
                controller.rates(p.pharmacokinetics(), [goals[float(v)] for v in row])
                for p, row in zip(patients, targets)
            ]
        )
        return GIVEN, policy, gains, given, widths, n_bins, highest
    return None


def _python_control(controller, loop, steps, disturbance, targets, patients, out):
    """Run any controller with ``act(bis, target)``; the filter is the trial's."""
    share, held = filter_share(loop.dt, loop.time_constant), np.zeros(len(targets), dtype=np.int64)
    for i, (patient, row) in enumerate(zip(patients, targets)):
        if callable(getattr(controller, "reset", None)):
            controller.reset(patient.pharmacokinetics())
        c, first = np.zeros(4), disturbance[i, 0]
        measured = float(np.clip(loop.pd.predict(0.0) + (first if first == first else 0.0), 0, 100))
        smoothed = measured
        for t, target in enumerate(row):
            rate = real("rate", controller.act(measured, float(target)), 0.0)
            c = steps[i, :, :4] @ c + steps[i, :, 4] * rate
            bis = float(loop.pd.predict(c[3]))
            measured = bis + disturbance[i, t + 1]
            if np.isfinite(measured):
                measured = min(max(measured, 0.0), 100.0)
                smoothed += share * (measured - smoothed)
            out[:, i, t] = bis, measured, smoothed, rate, c[3]
        held[i] = int(getattr(controller, "held_", 0))
    return held


def _check_controller(controller: Any) -> None:
    if isinstance(controller, (WatkinsQLambda, CountedModelPolicy)):
        if not hasattr(controller, "policy_table_"):
            raise ValueError(f"Fit the {type(controller).__name__} before its trial.")
    elif not callable(getattr(controller, "act", None)):
        raise ValueError(
            f"A controller must be a fitted WatkinsQLambda or have act(bis, target); got "
            f"{controller!r:.60}."
        )


def _loop(pd, dt, time_constant, lag, minutes, targets) -> _Loop:
    if pd is not None and not isinstance(pd, (SigmoidPD, FittedPD)):
        raise ValueError(f"Parameter `pd` must be a SigmoidPD or FittedPD; got {pd!r}.")
    goals = series("targets", targets)
    if not goals.size or goals.min() <= 0 or goals.max() > 100:
        raise ValueError(f"Targets must lie above 0 and at most at 100; got {targets!r}.")
    dt = positive("dt", dt)
    n_steps = positive("minutes", minutes) * 60 / dt
    if not len(goals) <= n_steps <= 10**6:
        raise ValueError(f"A trial must have {len(goals)} to 1,000,000 steps; got {n_steps:g}.")
    horizon = round(n_steps)
    return _Loop(
        pd or SigmoidPD(), dt, real("time_constant", time_constant, 0), whole("lag", lag), horizon,
        goals,
    )  # fmt: skip


def _simulate(controller: Any, loop: _Loop, n: int, variability: Any, rng: Any) -> TrialRecord:
    patients = [variability.draw() for _ in range(n)]
    steps = np.concatenate(
        [propagators(p.pharmacokinetics(), np.array([p.ke0]), loop.dt) for p in patients]
    )
    # every patient has a stream of their own, so that stimuli do not depend on the controller
    disturbance = np.empty((n, loop.horizon + 1))
    stimuli = np.empty((n, loop.horizon + 1))
    for i, p in enumerate(patients):
        stimuli[i] = variability.stimuli(loop.horizon + 1, loop.dt)
        noise = variability.noise * variability.rng.standard_normal(loop.horizon + 1)
        missing = variability.rng.random_sample(loop.horizon + 1) < variability.dropout
        disturbance[i] = p.sensitivity + p.procedure + stimuli[i] + noise
        disturbance[i, missing] = np.nan
    targets, out = _schedules(loop, n, rng), np.empty((5, n, loop.horizon))
    parts = _compiled_parts(controller, loop, patients, targets)
    if parts is None:
        held = _python_control(controller, loop, steps, disturbance, targets, patients, out)
    else:
        kind, policy, gains, given, widths, n_bins, highest = parts
        curve, table = loop.pd.curve()
        held = control(
            kind, policy, infusion_rates(), gains, given, steps, disturbance, targets, curve, table,
            filter_share(loop.dt, loop.time_constant), loop.lag, widths, n_bins, highest, out,
        )  # fmt: skip
    time = np.arange(1, loop.horizon + 1) * loop.dt / 60.0
    bis, measured, smoothed, rate, Ce = out
    return TrialRecord(
        time, targets, bis, measured, smoothed, rate, Ce, stimuli[:, 1:], held, patients
    )


def simulate_patients(
    controller: Any,
    n_patients: Any = 1,
    *,
    variability: Any = None,
    targets: Any = (40, 50, 60),
    minutes: Any = 240.0,
    pd: Any = None,
    dt: Any = 5.0,
    time_constant: Any = 15.0,
    lag: Any = 2,
    random_state: Any = None,
) -> TrialRecord:
    """Return the signals of a few patients under control.

    Simulation, not a medical device.

    Parameters
    ----------
    controller : WatkinsQLambda, CountedModelPolicy, PIDController, EffectSiteTCI or object
        As for `run_trial`.
    n_patients : int, default=1
        How many.
    variability : PatientVariability, default=None
        Who they are; None for the default.
    targets : array-like of float, default=(40, 50, 60)
        Targets, each for an equal time, in random order.
    minutes : float, default=240.0
        Length.
    pd : SigmoidPD or FittedPD, default=None
        From concentration to BIS; None for ``SigmoidPD()``.
    dt : float, default=5.0
        Seconds of a step.
    time_constant : float, default=15.0
        Of the low-pass filter, in seconds.
    lag : int, default=2
        Steps over which the change is taken.
    random_state : int, RandomState instance or None, default=None
        Seeds patients, stimuli, noise and orders; equal seeds give equal patients to every
        controller.

    Returns
    -------
    TrialRecord
        The signals.

    Examples
    --------
    >>> from octavo.rl import PIDController, simulate_patients
    >>> record = simulate_patients(PIDController(), minutes=60, targets=[50], random_state=0)
    >>> print(record.bis.shape, bool(abs(record.smoothed[0, -120:].mean() - 50) < 3))
    (1, 720) True
    """
    _check_controller(controller)
    n = whole("n_patients", n_patients)
    loop = _loop(pd, dt, time_constant, lag, minutes, targets)
    rng, variability = _seeded(variability, random_state)
    return _simulate(controller, loop, n, variability, rng)


def _seeded(variability: Any, random_state: Any) -> tuple[Any, PatientVariability]:
    """Return generators of orders and of patients that do not touch the caller's."""
    rng = check_random_state(random_state)
    if variability is not None and not isinstance(variability, PatientVariability):
        raise ValueError(
            f"Parameter `variability` must be a PatientVariability; got {variability!r}."
        )
    own = PatientVariability(int(rng.randint(2**31 - 1)))
    if variability is not None:
        own.__dict__.update(variability.__dict__, rng=own.rng)
    return rng, own


def _scores(record: TrialRecord, i: int) -> dict[str, float]:
    """Return the measures of one patient, over the maintenance of all targets."""
    t, target, smoothed = record.time, record.target[i], record.smoothed[i]
    mask = maintenance_mask(smoothed, target, t)
    edges = [0, *(np.flatnonzero(np.diff(target)) + 1), len(t)]
    first = ohara_metrics(smoothed[: edges[1]], float(target[0]), t[: edges[1]])
    out = {
        "t_ss": first.t_ss,
        "maintenance": float(mask.mean() * t[-1]),
        "infused": float(record.rate[i].sum() * t[0]),
        "held": float(record.held[i]),
    }
    if not mask.any():
        names = (*MEASURES, "controlled", "controlled_10", "controlled_smoothed")
        return out | dict.fromkeys(names, np.nan)
    found = varvel_metrics(smoothed[mask], target[mask], t[mask])
    seen = mask & np.isfinite(record.measured[i])
    measured, goal = record.measured[i][seen], target[seen]
    shares = {
        "controlled": controlled_share(measured, goal) if seen.any() else np.nan,
        "controlled_10": controlled_share(measured, goal, 10.0) if seen.any() else np.nan,
        "controlled_smoothed": found.controlled,
    }
    return out | {name: getattr(found, name) for name in MEASURES} | shares


def run_trial(
    controller: Any,
    n_patients: Any = 1000,
    *,
    variability: Any = None,
    targets: Any = (40, 50, 60),
    minutes: Any = 240.0,
    pd: Any = None,
    dt: Any = 5.0,
    time_constant: Any = 15.0,
    lag: Any = 2,
    random_state: Any = None,
) -> dict[str, np.ndarray]:
    """Run a controller on patients who differ, and measure how well it keeps its targets.

    Simulation, not a medical device.

    Parameters
    ----------
    controller : WatkinsQLambda, CountedModelPolicy, PIDController, EffectSiteTCI or object
        A fitted policy, or an object with ``act(bis, target)``, which gets the measured BIS (NaN
        where it is missing) and returns a rate in mg/min, and perhaps ``reset(patient)``.
    n_patients : int, default=1000
        How many patients.
    variability : PatientVariability, default=None
        Who they are; None for the default. Its own generator is not used.
    targets : array-like of float, default=(40, 50, 60)
        Targets, each for an equal time, in random order.
    minutes : float, default=240.0
        Length.
    pd : SigmoidPD or FittedPD, default=None
        From concentration to BIS; None for ``SigmoidPD()``.
    dt : float, default=5.0
        Seconds of a step.
    time_constant : float, default=15.0
        Of the low-pass filter, in seconds.
    lag : int, default=2
        Steps over which the change is taken.
    random_state : int, RandomState instance or None, default=None
        Seeds patients, stimuli, noise and orders; equal seeds give equal patients to every
        controller.

    Returns
    -------
    dict of str to ndarray of shape (n_patients,)
        ``mdpe``, ``mdape``, ``wobble``, ``divergence`` and ``rmse`` of the smoothed BIS over
        maintenance, ``controlled`` and ``controlled_10`` of the measured BIS, as the paper defines
        them, ``controlled_smoothed``; ``t_ss`` of the induction and ``maintenance`` in minutes,
        ``infused`` in mg, ``held`` steps; and ``age``, ``weight``, ``height``, ``male``, ``ke0``,
        ``sensitivity`` and ``procedure``. NaN for a patient who reached no target.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.rl import PIDController, run_trial
    >>> trial = run_trial(PIDController(), 20, random_state=0)
    >>> print(bool(np.median(trial["mdape"]) < 7.5))
    True
    """
    _check_controller(controller)
    n = whole("n_patients", n_patients)
    loop = _loop(pd, dt, time_constant, lag, minutes, targets)
    rng, variability = _seeded(variability, random_state)
    rows = []
    for start in range(0, n, CHUNK):
        record = _simulate(controller, loop, min(CHUNK, n - start), variability, rng)
        for i, p in enumerate(record.patients):
            who = p._asdict()
            who["male"] = float(who.pop("sex") == "male")
            rows.append(_scores(record, i) | who)
    return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}


def _warmup() -> None:
    """Compile every kernel of this module."""
    control(
        GIVEN, np.zeros(361, dtype=np.int64), np.zeros(15), np.zeros(3), np.zeros((1, 1)),
        np.zeros((1, 4, 5)), np.zeros((1, 2)), np.full((1, 1), 50.0), np.ones(4), np.empty(0), 0.3,
        2, np.ones(2), 10, 60.0, np.empty((5, 1, 1)),
    )  # fmt: skip
