"""Rivals of a learnt policy: a PID controller with anti-windup, and open-loop effect-site control.

Simulation, not a medical device.

References: Moore et al. (2014), JMLR 15:655-696, section 2.5; Shafer and Gregg (1992), "Algorithms
to rapidly achieve and maintain stable drug concentrations at the site of drug effect".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.compilation.copies import copy_row
from octavo.engine.compilation.kernel_cache import njit
from octavo.rl.infusion.environment import prototype
from octavo.rl.infusion.numbers_in import positive, real, series, whole
from octavo.rl.infusion.percepts import filter_share
from octavo.rl.infusion.pharmacodynamics import FittedPD, SigmoidPD
from octavo.rl.infusion.pharmacokinetics import SchniderPK

__all__ = ["EffectSiteTCI", "PIDController"]


@njit(cache=True, error_model="numpy")
def pid_rate(error, change, gains, integral, highest):
    """Return the rate and the integral; it stands still while the rate is at a limit it pushes."""
    kp, step, kd = gains[0], gains[1], gains[2]
    grown = integral + step * error
    wanted = kp * error + grown + kd * change  # proportional, integral and differential part
    # anti-windup: the integral would only push further past the limit
    if (wanted > highest and error > 0.0) or (wanted < 0.0 and error < 0.0):
        wanted = kp * error + integral + kd * change
    else:
        integral = grown
    return min(max(wanted, 0.0), highest), integral


class PIDController:
    """A PID controller with constant gains, limits and anti-windup.

    Simulation, not a medical device.

    Parameters
    ----------
    kp : float, default=1.1
        mg/min for each BIS above the target.
    ki : float, default=0.17
        mg/min for each BIS and minute.
    kd : float, default=0.32
        mg/min for each BIS per minute.
    highest : float, default=60.0
        Highest rate in mg/min; the lowest is 0.
    dt : float, default=5.0
        Seconds of a step.
    time_constant : float, default=15.0
        Of the low-pass filter on BIS, in seconds; 0 for none.
    lag : int, default=2
        Steps over which the change is taken.

    Attributes
    ----------
    held_ : int
        Steps in which BIS was missing and the last rate was held.

    See Also
    --------
    EffectSiteTCI : Uses the model, and no measurement.
    run_trial : Both beside a learnt policy.

    Notes
    -----
    The integral stands still while the rate is at a limit and the error would push it further. The
    default gains had the smallest MDAPE of 60 random draws on 100 patients of
    ``random_state=900``, and are rounded; tune them for other patients.

    Examples
    --------
    >>> from octavo.rl import PIDController
    >>> pid = PIDController(kp=1.0, ki=0.0, kd=0.0, time_constant=0.0)
    >>> pid.act(60.0, 50.0)
    10.0
    """

    def __init__(
        self,
        kp: Any = 1.1,
        ki: Any = 0.17,
        kd: Any = 0.32,
        *,
        highest: Any = 60.0,
        dt: Any = 5.0,
        time_constant: Any = 15.0,
        lag: Any = 2,
    ) -> None:
        self.kp, self.ki, self.kd = real("kp", kp, 0), real("ki", ki, 0), real("kd", kd, 0)
        self.highest, self.dt = positive("highest", highest), positive("dt", dt)
        self.time_constant, self.lag = real("time_constant", time_constant, 0), whole("lag", lag)
        self.reset()

    def __repr__(self) -> str:
        return f"PIDController(kp={self.kp:g}, ki={self.ki:g}, kd={self.kd:g})"

    def gains(self) -> np.ndarray:
        """Return the gains on error, its sum over steps, and its change over `lag` steps."""
        minutes = self.dt / 60.0
        return np.array([self.kp, self.ki * minutes, self.kd / (self.lag * minutes)])

    def reset(self, patient: Any = None) -> PIDController:
        """Forget what was seen.

        Parameters
        ----------
        patient : SchniderPK, default=None
            Ignored.

        Returns
        -------
        self : object
            The controller.
        """
        self._past: list[float] = []
        self._integral, self._rate = 0.0, 0.0
        self.held_ = 0
        return self

    def act(self, bis: Any, target: Any) -> float:
        """Return the rate after a measurement.

        Parameters
        ----------
        bis : float
            Measured BIS; NaN where it is missing, which holds the last rate.
        target : float
            Target, above 0.

        Returns
        -------
        float
            mg/min.
        """
        goal = positive("target", target)
        if isinstance(bis, float) and np.isnan(bis):
            self.held_ += 1
            self._past = [*self._past, *self._past[-1:]][-self.lag - 1 :]
            return self._rate
        value = min(max(real("bis", bis), 0.0), 100.0)
        share = filter_share(self.dt, self.time_constant)
        last = self._past[-1] if self._past else value  # low-pass filter
        self._past = [*self._past, last + share * (value - last)][-self.lag - 1 :]
        error, change = self._past[-1] - goal, self._past[-1] - self._past[0]
        self._rate, self._integral = pid_rate(
            error, change, self.gains(), self._integral, self.highest
        )
        return float(self._rate)


@njit(cache=True, error_model="numpy")
def tci_rate(c, free, pulse, goal, highest):
    """Return the rate of one step after which Ce, left alone, peaks at the goal."""
    rate = highest
    for k in range(pulse.shape[0]):
        ahead = free[k, 0] * c[0] + free[k, 1] * c[1] + free[k, 2] * c[2] + free[k, 3] * c[3]
        # superposition: what Ce would be without this step, and what the step adds
        rate = min(rate, (goal - ahead) / pulse[k])
    return max(rate, 0.0)


@njit(cache=True, error_model="numpy")
def tci_rates(E, F, free, pulse, goals, highest):
    """Return the rates of an open loop that follows the goals, from an empty patient."""
    c, new = np.zeros(4), np.zeros(4)
    rates = np.empty(goals.shape[0])
    for t in range(goals.shape[0]):
        rates[t] = tci_rate(c, free, pulse, goals[t], highest)
        for i in range(4):
            new[i] = F[i] * rates[t]
            for j in range(4):
                new[i] += E[i, j] * c[j]
        copy_row(new, c)
    return rates


class EffectSiteTCI:
    """Open-loop control of the effect site: the model says which rate brings Ce to the target.

    Simulation, not a medical device.

    Parameters
    ----------
    ke0 : float, default=0.17
        ke0 that the pump assumes for everybody, in 1/min.
    pd : SigmoidPD or FittedPD, default=None
        Curve that turns a target of BIS into one of Ce; None for ``SigmoidPD()``.
    highest : float, default=60.0
        Highest rate in mg/min.
    dt : float, default=5.0
        Seconds of a step.
    horizon : float, default=10.0
        Minutes that are looked ahead for the peak.

    See Also
    --------
    PIDController : Uses the measurements instead.

    Notes
    -----
    In each step the largest rate is taken after which Ce, with the pump stopped, would not exceed
    the target. Nothing is measured: an individual shift of BIS stays.

    Examples
    --------
    >>> from octavo.rl import EffectSiteTCI, SchniderPK
    >>> pk = SchniderPK(40, 70, 175, "female")
    >>> Ce = pk.simulate(EffectSiteTCI().rates(pk, [3.0] * 240), 5.0)[:, 3]
    >>> print(Ce.max().round(6), Ce[-1].round(6))
    3.0 3.0
    """

    def __init__(
        self,
        ke0: Any = 0.17,
        *,
        pd: Any = None,
        highest: Any = 60.0,
        dt: Any = 5.0,
        horizon: Any = 10.0,
    ) -> None:
        if pd is not None and not isinstance(pd, (SigmoidPD, FittedPD)):
            raise ValueError(f"Parameter `pd` must be a SigmoidPD or FittedPD; got {pd!r}.")
        self.ke0, self.pd = positive("ke0", ke0), pd or SigmoidPD()
        self.highest, self.dt = positive("highest", highest), positive("dt", dt)
        self.horizon = positive("horizon", horizon)
        if not 1 <= self.horizon * 60 / self.dt <= 100_000:
            raise ValueError(f"The horizon must hold 1 to 100,000 steps; got {self.horizon:g} min.")
        self.held_ = 0
        self._pk: SchniderPK | None = None

    def __repr__(self) -> str:
        return f"EffectSiteTCI(ke0={self.ke0:g})"

    def _model(self, patient: SchniderPK) -> tuple[np.ndarray, ...]:
        if not isinstance(patient, SchniderPK):
            raise ValueError(f"A patient must be a SchniderPK; got {patient!r}.")
        pk = SchniderPK(patient.age, patient.weight, patient.height, patient.sex, self.ke0)
        E, F = pk.propagator(self.dt)
        n = max(1, round(self.horizon * 60 / self.dt))
        free, pulse = np.empty((n, 4)), np.empty(n)
        row = np.array([0.0, 0.0, 0.0, 1.0])
        for k in range(n):
            pulse[k] = row @ F  # Ce k steps after one step at rate 1
            row = row @ E
            free[k] = row  # Ce k steps ahead, from each concentration now
        return E, F, free, pulse

    def rates(self, patient: Any, goals: Any) -> np.ndarray:
        """Return the rates that follow concentrations of the effect site.

        Parameters
        ----------
        patient : SchniderPK
            Age, weight, height and sex are used.
        goals : array-like of shape (n_steps,)
            Ce in µg/ml.

        Returns
        -------
        ndarray of shape (n_steps,)
            mg/min.
        """
        wanted = series("goals", goals)
        if wanted.size and wanted.min() < 0:
            raise ValueError(f"Concentrations must be at least 0; got {wanted.min():g}.")
        return tci_rates(*self._model(patient), np.ascontiguousarray(wanted), self.highest)

    def reset(self, patient: Any = None) -> EffectSiteTCI:
        """Begin with an empty patient.

        Parameters
        ----------
        patient : SchniderPK, default=None
            The patient; None for the paper's prototype.

        Returns
        -------
        self : object
            The controller.
        """
        self._pk = patient or prototype()
        self._parts = self._model(self._pk)
        self._c = np.zeros(4)
        return self

    def act(self, bis: Any, target: Any) -> float:
        """Return the next rate.

        Parameters
        ----------
        bis : float
            Ignored.
        target : float
            BIS to keep, above 0.

        Returns
        -------
        float
            mg/min.
        """
        if self._pk is None:
            self.reset()
        E, F, free, pulse = self._parts
        goal = self.pd.inverse(positive("target", target))
        rate = float(tci_rate(self._c, free, pulse, goal, self.highest))
        self._c = E @ self._c + F * rate
        return rate


def _warmup() -> None:
    """Compile every kernel of this module."""
    pid_rate(0.0, 0.0, np.zeros(3), 0.0, 60.0)
    c, free, pulse = np.zeros(4), np.zeros((1, 4)), np.ones(1)
    tci_rate(c, free, pulse, 1.0, 60.0)
    tci_rates(np.zeros((4, 4)), c, free, pulse, np.ones(1), 60.0)
