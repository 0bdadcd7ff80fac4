"""What propofol does: from the concentration at the effect site to the bispectral index.

Simulation, not a medical device.

Reference: Moore et al. (2014), "Reinforcement learning for closed-loop propofol anesthesia: a study
in human volunteers", JMLR 15:655-696, section 3.2.1 and Figure 3. The median curve that the paper
fits by a perceptron is not printed; the constants of `SigmoidPD` agree with what the text says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import curve_fit
from sklearn.isotonic import IsotonicRegression
from sklearn.neural_network import MLPRegressor

from octavo.rl.infusion.numbers_in import positive, real, series, whole

__all__ = ["FittedPD", "SigmoidPD"]


def _concentrations(Ce: Any) -> np.ndarray:
    try:
        values = np.asarray(Ce)
    except ValueError:
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("Concentrations must be finite numbers of at least 0 µg/ml.")
    return values.astype(np.float64)


def hill(Ce: Any, E0: float, Emax: float, C50: float, g: float) -> Any:
    """Return E0 − Emax Ce^g / (C50^g + Ce^g)."""
    with np.errstate(over="ignore", divide="ignore"):
        return E0 - Emax / (1.0 + (C50 / np.maximum(Ce, 1e-300)) ** g)


class SigmoidPD:
    """BIS = E0 − Emax Ce^g / (C50^g + Ce^g).

    Simulation, not a medical device.

    Parameters
    ----------
    E0 : float, default=95.0
        BIS of a patient who is awake.
    Emax : float, default=80.0
        The most that the drug takes off.
    C50 : float, default=2.6
        Concentration of half of it, in µg/ml.
    g : float, default=3.0
        Steepness.

    See Also
    --------
    FittedPD : A curve from data, isotonic or by a perceptron.

    Notes
    -----
    The defaults are a guess: awake at 95, flat below 1, steep from 1 to 4 and almost flat beyond,
    which is all that the text says of its Figure 3. Fit your own where you have data.

    Examples
    --------
    >>> from octavo.rl import SigmoidPD
    >>> SigmoidPD().predict([0.0, 2.6, 1e6]).round(6).tolist()
    [95.0, 55.0, 15.0]
    """

    def __init__(self, E0: Any = 95.0, Emax: Any = 80.0, C50: Any = 2.6, g: Any = 3.0) -> None:
        self.E0, self.Emax = real("E0", E0, 0, 100), positive("Emax", Emax)
        self.C50, self.g = positive("C50", C50), positive("g", g)
        if self.Emax > self.E0:
            raise ValueError(f"Emax must be at most E0 = {self.E0:g}; got {self.Emax:g}.")

    def __repr__(self) -> str:
        return f"SigmoidPD(E0={self.E0:g}, Emax={self.Emax:g}, C50={self.C50:g}, g={self.g:g})"

    def predict(self, Ce: Any) -> Any:
        """Return BIS at concentrations of the effect site.

        Parameters
        ----------
        Ce : array-like
            Concentrations in µg/ml.

        Returns
        -------
        ndarray of the same shape
            BIS.
        """
        return hill(_concentrations(Ce), self.E0, self.Emax, self.C50, self.g)

    def inverse(self, bis: Any) -> float:
        """Return the concentration at which BIS has a value.

        Parameters
        ----------
        bis : float
            Above E0 − Emax and at most E0.

        Returns
        -------
        float
            µg/ml.
        """
        value = real("bis", bis)
        if not self.E0 - self.Emax < value <= self.E0:
            raise ValueError(
                f"BIS must lie above {self.E0 - self.Emax:g} and at most at {self.E0:g}; got "
                f"{value:g}, which no concentration reaches."
            )
        # Hill's curve solved for (Ce / C50)^g = share / (1 - share)
        share = (self.E0 - value) / self.Emax
        return float(self.C50 * (share / (1 - share)) ** (1 / self.g))

    @classmethod
    def fit(cls, Ce: Any, bis: Any) -> SigmoidPD:
        """Return the curve that fits measurements by least squares.

        Parameters
        ----------
        Ce : array-like of shape (n,)
            Concentrations in µg/ml.
        bis : array-like of shape (n,)
            BIS.

        Returns
        -------
        SigmoidPD
            The fitted curve.
        """
        x, y = _pairs(Ce, bis, 4)
        middle = max(float(np.median(x)), 1e-3)
        first = (min(float(y.max()), 99.0), max(float(np.ptp(y)), 1.0), middle, 3.0)
        low, high = (0, 1e-3, 1e-6, 0.1), (100, 100, 1e3, 50)
        found = curve_fit(
            hill, x, y, p0=np.clip(first, np.array(low) * 1.01 + 1e-9, high), bounds=(low, high)
        )[0]
        return cls(found[0], min(found[1], found[0]), found[2], found[3])

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the constants and an empty table, as compiled loops take them."""
        return np.array([self.E0, self.Emax, self.C50, self.g]), np.empty(0)


def _pairs(Ce: Any, bis: Any, least: int) -> tuple[np.ndarray, np.ndarray]:
    x = series("Ce", Ce)
    y = series("bis", bis)
    if len(x) != len(y) or len(x) < least:
        raise ValueError(
            f"A curve needs as many BIS as concentrations, at least {least}; got {len(y)} and "
            f"{len(x)}."
        )
    if x.min() < 0:
        raise ValueError(f"Concentrations must be at least 0; got {x.min():g}.")
    return x, y


class FittedPD:
    """A falling curve from concentration to BIS that is fitted to measurements.

    Simulation, not a medical device.

    Parameters
    ----------
    method : {"isotonic", "mlp"}, default="isotonic"
        The best falling step curve, interpolated, or a perceptron with one hidden layer as in the
        paper, made falling by an isotonic fit to its curve.
    highest : float, default=12.0
        The concentration up to which the curve is kept; beyond it BIS is constant.
    n_points : int, default=1201
        Points of the curve, between which it is linear.
    n_hidden : int, default=8
        Units of the hidden layer.
    random_state : int, RandomState instance or None, default=None
        Seeds the perceptron.

    Attributes
    ----------
    concentrations_ : ndarray of shape (n_points,)
        Where the curve is kept.
    bis_ : ndarray of shape (n_points,)
        Its values.

    See Also
    --------
    SigmoidPD : Four constants.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.rl import FittedPD, SigmoidPD
    >>> Ce = np.linspace(0, 8, 200)
    >>> pd = FittedPD().fit(Ce, SigmoidPD().predict(Ce))
    >>> round(float(pd.predict(2.6)), 1)
    55.0
    """

    def __init__(
        self,
        method: str = "isotonic",
        *,
        highest: Any = 12.0,
        n_points: Any = 1201,
        n_hidden: Any = 8,
        random_state: Any = None,
    ) -> None:
        if method not in ("isotonic", "mlp"):
            raise ValueError(f"Parameter `method` must be 'isotonic' or 'mlp'; got {method!r}.")
        self.method, self.highest = method, positive("highest", highest)
        self.n_points, self.n_hidden = whole("n_points", n_points, 2), whole("n_hidden", n_hidden)
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"FittedPD({self.method!r})"

    def fit(self, Ce: Any, bis: Any) -> FittedPD:
        """Fit the curve.

        Parameters
        ----------
        Ce : array-like of shape (n,)
            Concentrations in µg/ml.
        bis : array-like of shape (n,)
            BIS.

        Returns
        -------
        self : object
            The fitted curve.
        """
        x, y = _pairs(Ce, bis, 2)
        grid = np.linspace(0.0, self.highest, self.n_points)
        if self.method == "mlp":
            net = MLPRegressor(
                hidden_layer_sizes=(self.n_hidden,),
                activation="tanh",
                solver="lbfgs",
                max_iter=2000,
                alpha=1e-4,
                random_state=self.random_state,
            )
            net.fit(x[:, None], y / 100)
            x, y = grid, 100 * net.predict(np.clip(grid, x.min(), x.max())[:, None])
        falling = IsotonicRegression(increasing=False, out_of_bounds="clip", y_min=0, y_max=100)
        self.concentrations_, self.bis_ = grid, falling.fit(x, y).predict(grid)
        return self

    def predict(self, Ce: Any) -> Any:
        """Return BIS at concentrations of the effect site.

        Parameters
        ----------
        Ce : array-like
            Concentrations in µg/ml.

        Returns
        -------
        ndarray of the same shape
            BIS.
        """
        self._check()
        return np.interp(_concentrations(Ce), self.concentrations_, self.bis_)

    def inverse(self, bis: Any) -> float:
        """Return the lowest kept concentration at which BIS is no higher than a value.

        Parameters
        ----------
        bis : float
            BIS.

        Returns
        -------
        float
            µg/ml.
        """
        self._check()
        value = real("bis", bis)
        below = np.flatnonzero(self.bis_ <= value)
        if not below.size:
            raise ValueError(f"BIS of {value:g} is not reached; the lowest is {self.bis_[-1]:g}.")
        return float(self.concentrations_[below[0]])

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the spacing of the table and the table, as compiled loops take them."""
        self._check()
        gap = self.highest / (self.n_points - 1)
        return np.array([gap, 0.0, 0.0, 0.0]), np.ascontiguousarray(self.bis_)

    def _check(self) -> None:
        if not hasattr(self, "bis_"):
            raise ValueError("Call fit before this: the curve has not been fitted.")
