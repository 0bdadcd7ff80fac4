"""Private classifiers on scikit-learn's check data.

The default instances refuse what these checks feed them: rows beyond ``data_norm`` are an error,
because a norm taken from the data would leak. The instances here shorten such rows, and spend
an epsilon that leaves the checks' accuracy thresholds within reach; neither changes the code
under test.
"""

from octavo.linear import (
    PrivateHuberSVM,
    PrivateKernelClassifier,
    PrivateLinearClassifier,
    PrivateLogisticRegression,
    PrivateModelSelector,
)
from tests.conformance.discovery import Case

PARAMETERS = {"epsilon": 1e4, "clip": "clip", "data_norm": 4.0, "fit_intercept": True}


def selector():
    candidates = [PrivateLogisticRegression(**{**PARAMETERS, "alpha": a}) for a in (1e-2, 1e-3)]
    return PrivateModelSelector(candidates, epsilon=1e4)


CASES = [
    Case(make=lambda: PrivateLinearClassifier(**PARAMETERS)),
    Case(make=lambda: PrivateLinearClassifier(loss="smooth_hinge", method="output", **PARAMETERS)),
    Case(make=lambda: PrivateLogisticRegression(**PARAMETERS)),
    Case(make=lambda: PrivateHuberSVM(**PARAMETERS)),
    Case(make=lambda: PrivateKernelClassifier(epsilon=1e4, alpha=1e-3)),
    Case(make=selector),
]
