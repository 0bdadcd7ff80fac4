"""Step sizes of the gradient methods.

References
----------
H. Robbins and S. Monro (1951), "A Stochastic Approximation Method": steps that fall as a power.
M. Geist and B. Scherrer (2014), Section 5: α₀α_c / (α_c + i) and β₀β_c / (β_c + i^{2/3}).
W. Dabney and A. G. Barto (2012), "Adaptive Step-Size for Online Temporal Difference Learning",
AAAI: the bound that ``schedule="adaptive"`` applies, inside the recursion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = ["step_sizes"]

SCHEDULES = ("constant", "power", "harmonic", "adaptive")


@checked
def step_sizes(
    t: ArrayLike,
    step: float,
    schedule: str = "constant",
    *,
    decay: float = 1000.0,
    power: float = 1.0,
) -> NDArray[np.float64]:
    """Return the step sizes at times t = 1, 2, ...

    Parameters
    ----------
    t : array-like
        Times, counted from 1.
    step : float
        The first step size, up to the schedule.
    schedule : {"constant", "power", "harmonic", "adaptive"}, default="constant"
        ``step``; ``step * t**-power``; ``step * decay / (decay + t**power)``; or ``step`` as the
        largest value, which the recursion lowers.
    decay : float, default=1000.0
        When a harmonic schedule has halved (for ``power=1``).
    power : float, default=1.0
        Exponent of t.

    Returns
    -------
    sizes : ndarray
        One a time.

    Examples
    --------
    >>> from octavo.rl import step_sizes
    >>> step_sizes([1, 10, 100], 0.5, "harmonic", decay=10)
    array([0.45454545, 0.25      , 0.04545455])
    """
    t = real_array(t, "t")
    for name, value in (("step", step), ("decay", decay), ("power", power)):
        if not np.isfinite(value):
            raise ValueError(f"{name} must be a finite number; got {value!r}.")
    if (t < 1).any():
        raise ValueError(f"t must be counted from 1; got {t.min():g}.")
    if schedule == "power":
        return step * t**-power
    if schedule == "harmonic":
        return step * decay / (decay + t**power)
    if schedule in SCHEDULES:
        return np.full(t.shape, float(step))
    raise ValueError(f"schedule must be one of {SCHEDULES}, got {schedule!r}.")
