"""A patient under propofol as an environment, with gymnasium's interface.

Simulation, not a medical device.

Reference: Moore et al. (2014), "Reinforcement learning for closed-loop propofol anesthesia: a study
in human volunteers", JMLR 15:655-696, sections 3.1 and 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.rl.infusion.numbers_in import positive, real, whole
from octavo.rl.infusion.percepts import MG_PER_ML, RATES_ML, filter_share
from octavo.rl.infusion.pharmacodynamics import FittedPD, SigmoidPD
from octavo.rl.infusion.pharmacokinetics import SchniderPK, propagators
from octavo.rl.infusion.variability import PatientVariability

__all__ = ["PropofolEnv", "infusion_rates"]

# Exploring starts: the paper prints no ranges; these are ours. C1, C2, C3 and Ce in µg/ml.
HIGHEST_START = np.array([8.0, 4.0, 4.0, 6.0])
TARGETS = (30, 70)


def infusion_rates() -> np.ndarray:
    """Return the fifteen rates of section 3.1.3, in mg/min of propofol.

    Simulation, not a medical device.

    Returns
    -------
    ndarray of shape (15,)
        From 0 to 60 mg/min: 0 to 6 ml/min of 10 mg/ml.

    Examples
    --------
    >>> from octavo.rl import infusion_rates
    >>> infusion_rates()[[0, 1, -1]].tolist()
    [0.0, 1.0, 60.0]
    """
    return RATES_ML * MG_PER_ML


def prototype(ke0: float = 0.17) -> SchniderPK:
    """Return the patient of the paper's training: male, 21 years, 75 kg, 170 cm."""
    return SchniderPK(21, 75, 170, "male", ke0)


class PropofolEnv:
    """Keep the bispectral index of a simulated patient at a target, five seconds at a time.

    Simulation, not a medical device.

    Parameters
    ----------
    patient : SchniderPK, default=None
        The patient; None for the paper's prototype, or with `variability` for another one in each
        episode.
    target : float, default=50
        BIS to keep.
    variability : PatientVariability, default=None
        What is hidden: ke0, constant shifts and stimuli. Its noise replaces `noise`.
    dt : float, default=5.0
        Seconds for which a rate is held.
    noise : float, default=3.0
        Standard deviation of a measurement of BIS.
    pd : SigmoidPD or FittedPD, default=None
        From concentration to BIS; None for `SigmoidPD()`.
    horizon : int, default=1000
        Steps of an episode.
    time_constant : float, default=15.0
        Of the low-pass filter, in seconds; 0 for none.
    lag : int, default=2
        Steps over which the change of the error is taken.
    exploring : bool, default=False
        Exploring starts: each episode draws a target from 30 to 70, concentrations and a ke0
        within 25 % of the patient's.

    Attributes
    ----------
    rates : ndarray of shape (15,)
        Rates in mg/min, by action.
    n_actions : int
        Number of actions.

    See Also
    --------
    WatkinsQLambda : Learns in it; the loop is compiled.
    run_trial : Controllers on many patients.

    Notes
    -----
    An observation is (error, change): the smoothed BIS less the target, and its change over `lag`
    steps. The reward is minus the size of the error. Where a measurement is missing, the last
    observation is repeated and ``info["measured"]`` is NaN. gymnasium need not be installed.

    References
    ----------
    .. [1] Moore et al. (2014). Reinforcement learning for closed-loop propofol anesthesia: a study
       in human volunteers. JMLR 15:655-696.

    Examples
    --------
    >>> from octavo.rl import PropofolEnv
    >>> env = PropofolEnv(noise=0.0)
    >>> observation, info = env.reset(seed=0)
    >>> for _ in range(36):  # three minutes at 40 mg/min
    ...     observation, reward, terminated, truncated, info = env.step(12)
    >>> print(round(info["bis"], 1), round(reward, 1))
    54.8 -10.2
    """

    def __init__(
        self,
        patient: Any = None,
        target: Any = 50,
        variability: Any = None,
        dt: Any = 5.0,
        noise: Any = 3.0,
        *,
        pd: Any = None,
        horizon: Any = 1000,
        time_constant: Any = 15.0,
        lag: Any = 2,
        exploring: Any = False,
    ) -> None:
        for name, value, kind in (
            ("patient", patient, SchniderPK),
            ("variability", variability, PatientVariability),
            ("pd", pd, (SigmoidPD, FittedPD)),
        ):
            if value is not None and not isinstance(value, kind):
                names = " or ".join(k.__name__ for k in np.atleast_1d(np.array(kind, dtype=object)))
                raise ValueError(f"Parameter `{name}` must be a {names} or None; got {value!r}.")
        if not isinstance(exploring, (bool, np.bool_)):
            raise ValueError(f"Parameter `exploring` must be True or False; got {exploring!r}.")
        self.patient, self.variability, self.pd = patient, variability, pd or SigmoidPD()
        self.target, self.dt = real("target", target, 0, 100), positive("dt", dt)
        if self.target == 0:
            raise ValueError("A target of 0 has no relative error; give one above 0.")
        self.noise = real("noise", noise, 0) if variability is None else variability.noise
        self.horizon, self.lag = whole("horizon", horizon), whole("lag", lag)
        self.time_constant = real("time_constant", time_constant, 0)
        self.exploring = bool(exploring)
        self.rates = infusion_rates()
        self.n_actions = len(self.rates)
        self.share = filter_share(self.dt, self.time_constant)
        self._rng = check_random_state(None)
        self.concentrations: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"PropofolEnv(target={self.target:g}, dt={self.dt:g}, noise={self.noise:g})"

    def starts(self, n: int, rng: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draw how n episodes of a known patient begin.

        Returns steps (n, 4, 5), concentrations (n, 4), targets (n,) and constant shifts (n,).
        """
        pk = self.patient or prototype()
        shift = np.zeros(n)
        if self.exploring:
            ke0 = pk.ke0 * rng.uniform(0.75, 1.25, n)  # 0.17 ± 25 %, Section 3.2.5
            first = rng.uniform(size=(n, 4)) * HIGHEST_START
            targets = rng.randint(TARGETS[0], TARGETS[1] + 1, n).astype(np.float64)
        else:
            ke0, first = np.full(n, pk.ke0), np.zeros((n, 4))
            targets = np.full(n, self.target)
        return propagators(pk, ke0, self.dt), first, targets, shift

    def _hidden(self) -> None:
        """Draw what the controller does not see."""
        if self.variability is None:
            self._offsets = np.zeros(self.horizon)
            return
        drawn = self.variability.draw()
        pk = self.patient or drawn.pharmacokinetics()
        self._step = propagators(pk, np.array([drawn.ke0]), self.dt)[0]
        self._offsets = self.variability.disturbance(drawn, self.horizon, self.dt)
        self._shift = drawn.sensitivity + drawn.procedure

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode.

        Parameters
        ----------
        seed : int, default=None
            Seeds this and later episodes.
        options : dict, default=None
            ``"target"`` replaces the target.

        Returns
        -------
        observation : ndarray of shape (2,)
            Error and its change.
        info : dict
            ``bis``, ``measured``, ``Ce``, ``rate`` and ``target``.
        """
        if seed is not None:
            self._rng = check_random_state(seed)
            if self.variability is not None:
                self.variability.rng = self._rng
        steps, first, targets, _ = self.starts(1, self._rng)
        self._step, self._shift, self.n_steps = steps[0], 0.0, 0
        self.concentrations = first[0]
        self.current_target = targets[0]
        if options and "target" in options:
            self.current_target = real("target", options["target"], 1e-9, 100)
        self._hidden()
        bis = float(self.pd.predict(self.concentrations[3]))
        self._smoothed = float(np.clip(bis + self._shift, 0, 100))
        self._errors = [self._smoothed - self.current_target] * (self.lag + 1)
        self.rate = 0.0
        return self._observation(), self._info(bis, self._smoothed)

    def _observation(self) -> np.ndarray:
        # E(t) and E(t) - E(t - lag), Section 3.1.2
        return np.array([self._errors[-1], self._errors[-1] - self._errors[0]])

    def _info(self, bis: float, measured: float) -> dict[str, Any]:
        assert self.concentrations is not None
        return {
            "bis": bis,
            "measured": measured,
            "Ce": float(self.concentrations[3]),
            "rate": self.rate,
            "target": float(self.current_target),
        }

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Infuse for one step.

        Parameters
        ----------
        action : int
            Which of `rates`.

        Returns
        -------
        observation : ndarray of shape (2,)
            Error and its change.
        reward : float
            Minus the size of the error.
        terminated, truncated : bool
            Never, and at the horizon.
        info : dict
            As from `reset`.
        """
        value = np.asarray(action)
        if value.size != 1 or value.dtype.kind not in "iuf" or value.item() not in range(15):
            raise ValueError(f"An action must be one of 0..14; got {action!r}.")
        return self.infuse(self.rates[int(value.item())])

    def infuse(self, rate: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Infuse for one step at any rate.

        Parameters
        ----------
        rate : float
            mg/min.

        Returns
        -------
        tuple
            As from `step`.
        """
        if self.concentrations is None:
            raise ValueError("Call reset before step: no episode has begun.")
        self.rate = real("rate", rate, 0.0)
        self.concentrations = self._step[:, :4] @ self.concentrations + self._step[:, 4] * self.rate
        bis = float(self.pd.predict(self.concentrations[3]))
        offset = self._offsets[min(self.n_steps, self.horizon - 1)]
        if self.variability is None:
            offset = self.noise * self._rng.standard_normal() if self.noise else 0.0
        measured = bis + offset
        if np.isfinite(measured):
            measured = min(max(measured, 0.0), 100.0)
            self._smoothed += self.share * (measured - self._smoothed)
        self._errors = [*self._errors[1:], self._smoothed - self.current_target]
        self.n_steps += 1
        ended = self.n_steps >= self.horizon
        return (
            self._observation(), -abs(self._errors[-1]), False, ended, self._info(bis, measured)
        )  # fmt: skip
