"""Patients who differ: what the controller cannot see.

Simulation, not a medical device.

Reference: Moore et al. (2014), "Reinforcement learning for closed-loop propofol anesthesia: a study
in human volunteers", JMLR 15:655-696, section 3.3. The paper says what varies and prints neither
ranges nor rates; those are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.rl.infusion.numbers_in import pair, positive, real, whole
from octavo.rl.infusion.pharmacokinetics import SchniderPK

__all__ = ["PatientVariability", "VirtualPatient"]


class VirtualPatient(NamedTuple):
    """One simulated patient: covariates, and what is hidden from the controller.

    Simulation, not a medical device. `age` in years, `weight` in kg, `height` in cm, `sex`; `ke0`
    in 1/min, `sensitivity` (the paper's ΔBIS of the individual) and `procedure` (of the surgery, at
    least 0) in BIS.
    """

    age: float
    weight: float
    height: float
    sex: str
    ke0: float
    sensitivity: float
    procedure: float

    def pharmacokinetics(self) -> SchniderPK:
        """Return the patient's compartments."""
        return SchniderPK(self.age, self.weight, self.height, self.sex, self.ke0)


class PatientVariability:
    """The patient variability model: covariates, ke0, sensitivity, surgery, stimuli and noise.

    Simulation, not a medical device.

    Parameters
    ----------
    rng : int, RandomState instance or None, default=None
        Draws come from it.
    ke0 : pair of float, default=(0.1275, 0.2125)
        Range of ke0 in 1/min: 0.17 with 25 % to either side.
    sensitivity : pair of float, default=(-10.0, 10.0)
        Range of the constant shift of BIS of an individual.
    procedure : pair of float, default=(0.0, 10.0)
        Range of the constant shift by the surgery, at least 0.
    interval : float, default=30.0
        Mean minutes from one passing stimulus to the next; their times are a Poisson process.
    duration : pair of float, default=(0.5, 2.0)
        Range of the minutes that a stimulus lasts.
    magnitude : pair of float, default=(5.0, 15.0)
        Range of its size in BIS.
    p_arousing : float, default=0.8
        Probability that it arouses; otherwise it depresses.
    noise : float, default=3.0
        Standard deviation of a measurement.
    dropout : float, default=0.0
        Probability that a measurement is missing.
    ages : pair of float, default=(18.0, 65.0)
        Range of ages.

    See Also
    --------
    run_trial : A thousand such patients.

    Notes
    -----
    The paper prints 0.8 and the noise of 3; every other default is a choice of ours.

    Examples
    --------
    >>> from octavo.rl import PatientVariability
    >>> patient = PatientVariability(0).draw()
    >>> print(patient.sex, round(patient.ke0, 3))
    female 0.182
    """

    def __init__(
        self,
        rng: Any = None,
        *,
        ke0: Any = (0.1275, 0.2125),
        sensitivity: Any = (-10.0, 10.0),
        procedure: Any = (0.0, 10.0),
        interval: Any = 30.0,
        duration: Any = (0.5, 2.0),
        magnitude: Any = (5.0, 15.0),
        p_arousing: Any = 0.8,
        noise: Any = 3.0,
        dropout: Any = 0.0,
        ages: Any = (18.0, 65.0),
    ) -> None:
        self.rng = check_random_state(rng)
        self.ke0 = pair("ke0", ke0, 1e-6)
        self.sensitivity = pair("sensitivity", sensitivity, -100, 100)
        self.procedure = pair("procedure", procedure, 0, 100)
        self.interval = positive("interval", interval)
        self.duration = pair("duration", duration, 0)
        self.magnitude = pair("magnitude", magnitude, 0)
        self.p_arousing = real("p_arousing", p_arousing, 0, 1)
        self.noise, self.dropout = real("noise", noise, 0), real("dropout", dropout, 0, 1)
        self.ages = pair("ages", ages, 18, 81)

    def __repr__(self) -> str:
        return f"PatientVariability(ke0={self.ke0}, noise={self.noise:g})"

    def draw(self) -> VirtualPatient:
        """Draw a patient.

        Returns
        -------
        VirtualPatient
            Covariates inside Schnider's range, and what is hidden.
        """
        rng = self.rng
        sex = "male" if rng.random_sample() < 0.5 else "female"
        mean, spread = (177.0, 7.0) if sex == "male" else (165.0, 6.0)
        height = float(np.clip(rng.normal(mean, spread), 155, 196))
        index = rng.uniform(18.5, 30.0)
        return VirtualPatient(
            float(rng.uniform(*self.ages)),
            float(np.clip(index * (height / 100) ** 2, 45, 120)),
            height,
            sex,
            float(rng.uniform(*self.ke0)),
            float(rng.uniform(*self.sensitivity)),
            float(rng.uniform(*self.procedure)),
        )

    def stimuli(self, n_steps: Any, dt: Any = 5.0) -> np.ndarray:
        """Draw passing stimuli.

        Parameters
        ----------
        n_steps : int
            Number of steps.
        dt : float, default=5.0
            Seconds of a step.

        Returns
        -------
        ndarray of shape (n_steps,)
            What they add to BIS, step by step.
        """
        n, minutes = whole("n_steps", n_steps, 0), positive("dt", dt) / 60
        out, time = np.zeros(n), self.rng.exponential(self.interval)
        while time < n * minutes:
            last = time + self.rng.uniform(*self.duration)
            sign = 1.0 if self.rng.random_sample() < self.p_arousing else -1.0
            first, end = int(time / minutes), max(int(last / minutes), int(time / minutes) + 1)
            out[first:end] += sign * self.rng.uniform(*self.magnitude)
            time += self.rng.exponential(self.interval)
        return out

    def disturbance(self, patient: VirtualPatient, n_steps: Any, dt: Any = 5.0) -> np.ndarray:
        """Draw all that is added to the ideal BIS: ΔBIS of section 3.3.

        Parameters
        ----------
        patient : VirtualPatient
            Whose constant shifts are used.
        n_steps : int
            Number of steps.
        dt : float, default=5.0
            Seconds of a step.

        Returns
        -------
        ndarray of shape (n_steps,)
            Constant shifts, stimuli and noise; NaN where the measurement is missing.
        """
        stimuli = self.stimuli(n_steps, dt)
        # ΔBIS_static and ΔBIS_dynamic(t) of Section 3.3.2
        total = patient.sensitivity + patient.procedure + stimuli
        total = total + self.noise * self.rng.standard_normal(len(stimuli))  # N(0, 3)
        missing = self.rng.random_sample(len(stimuli)) < self.dropout
        return np.where(missing, np.nan, total)
