"""CoxRegression and the concordance index beside scikit-survival and lifelines."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from benchmarks.survival.minlip import patients
from octavo.survival import CoxRegression, concordance_index


def octavo_cox(log):
    return CoxRegression(alpha=1.0).fit(*log).coef_


def sksurv_cox(log):
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    return CoxPHSurvivalAnalysis(alpha=1.0, ties="efron", tol=1e-9).fit(*log).coef_


def same_coefficients(_, answers):
    gap = float(np.abs(answers["octavo"] - answers["scikit-survival"]).max())
    assert gap < 1e-6
    return f"Coefficients differ by {gap:.1e} at most."


def octavo_index(log):
    X, y = log
    return concordance_index(y["time"], np.where(y["event"], y["time"], np.inf), X[:, 0])


def lifelines_index(log):
    from lifelines.utils import concordance_index as index

    X, y = log
    return index(y["time"], X[:, 0], y["event"])


def same_index(_, answers):
    gap = abs(answers["octavo"] - answers["lifelines"])
    assert gap < 1e-9
    return f"The two indices differ by {gap:.1e}."


CONTESTS = [
    Contest(
        name="ridge Cox",
        problem="Cox's model with a ridge, 20,000 patients, 20 features, Efron's ties",
        setup=lambda: patients(20_000),
        solvers={"octavo": octavo_cox, "scikit-survival": sksurv_cox},
        agree=same_coefficients,
        unit="fit",
        target="Aim: 10 times scikit-survival.",
        limit="BLAS: products of 20,000 patients by 20 features, a Newton step",
    ),
    Contest(
        name="concordance index",
        problem="Concordance index of 20,000 patients",
        setup=lambda: patients(20_000),
        solvers={"octavo": octavo_index, "lifelines": lifelines_index},
        agree=same_index,
        unit="index",
        target="Aim: 10 times lifelines.",
        limit="sorting 20,000 patients, and a tree of counts",
    ),
]
