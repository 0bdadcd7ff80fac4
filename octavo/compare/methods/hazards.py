"""Baselines for survival: Kaplan-Meier, ridge Cox, boosted hazards; scores from the engine.

Targets are records with fields ``event`` and ``time``. A model's ``predict`` returns a risk: the
larger, the sooner the event is expected.

Reference: M. LeBlanc and J. Crowley (1992), "Relative Risk Trees for Censored Survival Data"
(hazards as Poisson rates).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.survival.concordance import concordance, concordance_ipcw
from octavo.engine.survival.curves import Steps, kaplan_meier, nelson_aalen
from octavo.survival import CoxRegression

__all__ = [
    "KaplanMeierBaseline",
    "PoissonHazard",
    "RidgeCox",
    "Steps",
    "concordance",
    "concordance_ipcw",
    "kaplan_meier",
    "nelson_aalen",
]

RidgeCox = CoxRegression  # what the baseline was called before the room had it


class KaplanMeierBaseline(BaseEstimator):
    """The same risk for all: what a model without features achieves.

    Attributes
    ----------
    curve_ : Steps
        The Kaplan-Meier curve of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.compare.methods.hazards import KaplanMeierBaseline
    >>> y = np.array([(True, 1.0), (False, 2.0)], [("event", bool), ("time", float)])
    >>> KaplanMeierBaseline().fit(np.ones((2, 1)), y).curve_(1.5)
    np.float64(0.5)
    """

    def fit(self, X: Any, y: Any) -> KaplanMeierBaseline:
        """Estimate the curve."""
        self.curve_ = kaplan_meier(np.asarray(y["event"], bool), np.asarray(y["time"], float))
        return self

    def predict(self, X: Any) -> Floats:
        """Return the same risk for every row."""
        check_is_fitted(self, "curve_")
        return np.zeros(X.shape[0])


class PoissonHazard(BaseEstimator):
    """Hazards relative to the average by any regressor with a Poisson loss.

    With the cumulative hazard of all rows as clock, an event is a Poisson count whose exposure is
    the clock's time (LeBlanc and Crowley 1992); the regressor learns the rate.

    Parameters
    ----------
    regressor : regressor, default=None
        With a Poisson loss and ``sample_weight``; None is scikit-learn's histogram boosting.

    Attributes
    ----------
    regressor_ : regressor
        The fitted one.
    """

    def __init__(self, regressor: Any = None) -> None:
        self.regressor = regressor

    def fit(self, X: Any, y: Any) -> PoissonHazard:
        """Fit the rates."""
        event, time = np.asarray(y["event"], bool), np.asarray(y["time"], float)
        clock = nelson_aalen(event, time)(time)
        exposure = np.maximum(clock, 1e-3 * max(float(clock.mean()), 1e-12))
        base = (
            HistGradientBoostingRegressor(loss="poisson")
            if self.regressor is None
            else self.regressor
        )
        self.regressor_ = clone(base).fit(X, event / exposure, sample_weight=exposure)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the predicted rate of each row."""
        check_is_fitted(self, "regressor_")
        return self.regressor_.predict(X)
