"""Where propofol goes: Schnider's three compartments with an effect site, stepped exactly.

Simulation, not a medical device.

References: Schnider et al. (1998), "The influence of method of administration and covariates on the
pharmacokinetics of propofol in adult volunteers", Anesthesiology 88:1170-1182; Moore et al. (2014),
"Reinforcement learning for closed-loop propofol anesthesia", JMLR 15:655-696, section 3.2.1.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import expm

from octavo.rl.infusion.numbers_in import positive, real, series

__all__ = ["SchniderPK", "lean_body_mass"]

MALE, FEMALE = {"m", "male"}, {"f", "female"}
AGES, WEIGHTS, HEIGHTS, BMI = (18, 81), (44, 123), (155, 196), (15, 42)


def is_male(sex: Any) -> bool:
    """Return whether a word stands for a man; refuse what stands for neither sex."""
    word = sex.lower() if isinstance(sex, str) else None
    if word not in MALE | FEMALE:
        raise ValueError(f"Parameter `sex` must be 'male' or 'female'; got {sex!r}.")
    return word in MALE


def lean_body_mass(weight: Any, height: Any, sex: Any) -> Any:
    """Return lean body mass by James' formula.

    It turns over for obese patients, where more weight gives less lean mass: from a body mass index
    of 43 (men) and 36 (women) on it is not to be used. Simulation, not a medical device.

    Parameters
    ----------
    weight : float
        Kilograms.
    height : float
        Centimetres.
    sex : {"male", "female"}
        Also "m" and "f".

    Returns
    -------
    float
        Kilograms.

    Examples
    --------
    >>> from octavo.rl import lean_body_mass
    >>> round(lean_body_mass(75, 170, "male"), 2)
    57.59
    """
    male = is_male(sex)
    weight, height = positive("weight", weight), positive("height", height)
    ratio = (weight / height) ** 2
    return 1.1 * weight - 128 * ratio if male else 1.07 * weight - 148 * ratio


def warn_outside(age: float, weight: float, height: float) -> None:
    """Warn where the volunteers from whom the model was made say nothing."""
    index = weight / (height / 100) ** 2
    seen = (
        ("Age", age, AGES, "years"),
        ("Weight", weight, WEIGHTS, "kg"),
        ("Height", height, HEIGHTS, "cm"),
        ("Body mass index", index, BMI, "kg/m²"),
    )
    outside = [
        f"{name} {value:.4g} {unit} is outside {low}-{high}"
        for name, value, (low, high), unit in seen
        if not low <= value <= high
    ]
    if outside:
        warnings.warn(
            f"{'; '.join(outside)}: Schnider's model was not made for such patients.",
            UserWarning,
            stacklevel=3,
        )


class SchniderPK:
    """Schnider's model of propofol: three compartments and an effect site.

    Simulation, not a medical device.

    Parameters
    ----------
    age : float
        Years.
    weight : float
        Kilograms.
    height : float
        Centimetres.
    sex : {"male", "female"}
        Also "m" and "f".
    ke0 : float, default=0.17
        Rate into the effect site in 1/min. 0.17 is Doufas et al. (2004), which the paper uses;
        Schnider's own is 0.456.
    constants : {"clearances", "rates"}, default="clearances"
        Volumes and clearances as Schnider prints them, or the rounded rate constants that pumps
        and the package PyTCI use; they differ in the third digit.

    Attributes
    ----------
    volumes : ndarray of shape (3,)
        V1, V2 and V3 in litres.
    clearances : ndarray of shape (3,)
        Cl1, Cl2 and Cl3 in l/min.
    matrix : ndarray of shape (4, 4)
        Rates of change of the concentrations C1, C2, C3 and Ce, in 1/min.
    inflow : ndarray of shape (4,)
        Change of the concentrations for 1 mg/min.
    concentrations : ndarray of shape (4,)
        C1, C2, C3 and Ce now, in µg/ml; `step` changes them.

    See Also
    --------
    SigmoidPD : From Ce to the bispectral index.
    PropofolEnv : The patient as an environment.

    Notes
    -----
    A rate is held during a step, so that a step is a product with a matrix exponential, without
    error of discretisation. Not for patients outside the ages, weights and heights of Schnider's
    volunteers: a warning says which.

    References
    ----------
    .. [1] Schnider et al. (1998). The influence of method of administration and covariates on the
       pharmacokinetics of propofol in adult volunteers. Anesthesiology 88:1170-1182.

    Examples
    --------
    An hour of 10 mg/min, by minutes.

    >>> from octavo.rl import SchniderPK
    >>> SchniderPK(21, 75, 170, "male").simulate([10.0] * 60, 60.0)[-1].round(2).tolist()
    [3.86, 3.55, 0.61, 3.78]
    """

    def __init__(
        self,
        age: Any,
        weight: Any,
        height: Any,
        sex: Any,
        ke0: Any = 0.17,
        *,
        constants: str = "clearances",
    ) -> None:
        if constants not in ("clearances", "rates"):
            raise ValueError(
                f"Parameter `constants` must be 'clearances' or 'rates'; got {constants!r}."
            )
        self.age, self.weight = positive("age", age), positive("weight", weight)
        self.height, self.sex = positive("height", height), "male" if is_male(sex) else "female"
        self.ke0, self.constants = positive("ke0", ke0), constants
        warn_outside(self.age, self.weight, self.height)
        lean = lean_body_mass(self.weight, self.height, self.sex)
        self.volumes = np.array([4.27, 18.9 - 0.391 * (self.age - 53), 238.0])
        self.clearances = self._clearances(lean)
        if self.volumes.min() <= 0 or self.clearances.min() <= 0:
            raise ValueError(
                f"Volumes and clearances must be above 0; Schnider's formulas give "
                f"{self.volumes.round(3)} l and {self.clearances.round(3)} l/min for such a "
                f"patient, who is too far outside the model."
            )
        self.matrix, self.inflow = self._system()
        self.concentrations = np.zeros(4)
        self._steps: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def __repr__(self) -> str:
        return (
            f"SchniderPK({self.age:g}, {self.weight:g}, {self.height:g}, {self.sex!r}, "
            f"ke0={self.ke0:g})"
        )

    def _clearances(self, lean: float) -> np.ndarray:
        years, kilos, tall = self.age - 53, self.weight - 77, self.height - 177
        second = 1.29 - 0.024 * years
        # Schnider's clearances, around age 53, 77 kg, 177 cm and 59 kg lean
        if self.constants == "clearances":
            first = 1.89 + 0.0456 * kilos - 0.0681 * (lean - 59) + 0.0264 * tall
            return np.array([first, second, 0.836])
        # the same model as rate constants, times V1
        first = 0.443 + 0.0107 * kilos - 0.0159 * (lean - 59) + 0.0062 * tall
        return np.array([4.27 * first, second, 4.27 * 0.196])

    def _system(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ċ = A c + b u for the concentrations."""
        v, cl = self.volumes, self.clearances
        k12, k13 = cl[1] / v[0], cl[2] / v[0]
        back = np.array([cl[1] / v[1], cl[2] / v[2]])
        if self.constants == "rates":
            k12, back[1] = 0.302 - 0.0056 * (self.age - 53), 0.0035
        # amounts: k12 x1 leaves for the second compartment, k21 x2 comes back
        amounts = np.array(
            [
                [-cl[0] / v[0] - k12 - k13, back[0], back[1]],
                [k12, -back[0], 0.0],
                [k13, 0.0, -back[1]],
            ]
        )
        A = np.zeros((4, 4))
        A[:3, :3] = amounts * v[None, :] / v[:, None]  # amounts over volumes are concentrations
        A[3, 0], A[3, 3] = self.ke0, -self.ke0  # ċ_e = k_e0 (c_1 - c_e)
        return A, np.array([1.0 / v[0], 0.0, 0.0, 0.0])

    def propagator(self, dt: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return E and F of the exact step c ← E c + F u.

        Parameters
        ----------
        dt : float
            Seconds.

        Returns
        -------
        E : ndarray of shape (4, 4)
            What becomes of the concentrations.
        F : ndarray of shape (4,)
            What 1 mg/min adds.
        """
        dt = positive("dt", dt)
        if dt not in self._steps:
            block = np.zeros((5, 5))
            # d/dt (c, u) = [[A, b], [0, 0]] (c, u): one exponential gives E and F
            block[:4, :4], block[:4, 4] = self.matrix, self.inflow
            whole = expm(block * (dt / 60.0))
            self._steps[dt] = whole[:4, :4].copy(), whole[:4, 4].copy()
        return self._steps[dt]

    def step(self, u: Any, dt: Any) -> np.ndarray:
        """Infuse at a rate for some seconds; return and keep the concentrations after it.

        Parameters
        ----------
        u : float
            Rate in mg/min.
        dt : float
            Seconds.

        Returns
        -------
        ndarray of shape (4,)
            C1, C2, C3 and Ce in µg/ml.
        """
        E, F = self.propagator(dt)
        self.concentrations = E @ self.concentrations + F * real("u", u, 0.0)
        return self.concentrations.copy()

    def simulate(self, u: Any, dt: Any, *, start: Any = None) -> np.ndarray:
        """Infuse at one rate after the other, from an empty patient.

        Parameters
        ----------
        u : array-like of shape (n_steps,)
            Rates in mg/min.
        dt : float
            Seconds of a step.
        start : array-like of shape (4,), default=None
            Concentrations at the beginning in µg/ml; None for none.

        Returns
        -------
        ndarray of shape (n_steps, 4)
            C1, C2, C3 and Ce in µg/ml after each step.
        """
        rates = series("u", u)
        if rates.size and rates.min() < 0:
            raise ValueError(
                f"Rates must be at least 0, since nothing takes propofol out; got {rates.min():g}."
            )
        E, F = self.propagator(dt)
        c = np.zeros(4) if start is None else series("start", start, 4).copy()
        if c.min() < 0:
            raise ValueError(f"Concentrations must be at least 0; got {c.min():g}.")
        out = np.empty((len(rates), 4))
        for t, rate in enumerate(rates):
            c = E @ c + F * rate
            out[t] = c
        return out

    def bolus(self, amount: Any) -> np.ndarray:
        """Return the concentrations right after a dose that is given at once.

        Parameters
        ----------
        amount : float
            Milligrams.

        Returns
        -------
        ndarray of shape (4,)
            To `start` from in `simulate`.
        """
        return self.inflow * real("amount", amount, 0.0)


def propagators(pk: SchniderPK, ke0: np.ndarray, dt: float) -> np.ndarray:
    """Return E and F side by side for many ke0 of one patient, shape (n, 4, 5)."""
    block = np.zeros((len(ke0), 5, 5))
    block[:, :4, :4], block[:, :4, 4] = pk.matrix, pk.inflow
    block[:, 3, 0], block[:, 3, 3] = ke0, -ke0
    return np.ascontiguousarray(expm(block * (dt / 60.0))[:, :4])
