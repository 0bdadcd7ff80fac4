"""Real data beside the maximum-likelihood fits that are known for them.

Fixed effects are compared in units of the other fit's standard errors. References: sleepstudy
(REML) and grouseticks (Laplace) as lme4's documentation prints them; epil, VerbAgg (Laplace) and
InstEval (maximum likelihood) as gpboost 1.8.0 fits them.
"""

import csv
import gzip
import io
import os
from pathlib import Path

import numpy as np
import pytest

from octavo.bayes import HeteroscedasticAdditiveRegressor, VariationalMixedModel

FOLDER = Path(os.environ.get("OCTAVO_DATA", "missing")) / "mixed-models"


def table(name):
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{name} is not in OCTAVO_DATA")
    text = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def close_to(model, coefficients, errors, within):
    found = np.r_[model.intercept_, model.coef_]
    assert (np.abs(found - coefficients) < within * np.asarray(errors)).all(), found
    ratio = np.sqrt(np.diag(model.coef_cov_)) / errors
    assert ((ratio > 0.85) & (ratio < 1.3)).all(), ratio


def test_sleepstudy():
    t = table("sleepstudy.csv")
    days = t["Days"].astype(float)[:, None]
    model = VariationalMixedModel("gaussian", random_slopes=[0])
    model.fit(days, t["Reaction"].astype(float), groups=t["Subject"])
    close_to(model, [251.405, 10.467], [6.825, 1.546], 0.02)
    assert abs(model.noise_variance_ / 654.94 - 1) < 0.05
    # 18 subjects: the posterior mean of a variance lies above its mode, REML's 612 and 35.
    sd = np.sqrt(model.sigma2_)
    assert 24.74 < sd[0] < 32
    assert 5.92 < sd[1] < 8


def test_epilepsy():
    t = table("epil.csv")
    drug, base = (t["trt"] == "progabide").astype(float), t["lbase"].astype(float)
    X = np.column_stack([base, drug, t["lage"].astype(float), t["V4"].astype(float), base * drug])
    model = VariationalMixedModel().fit(X, t["y"].astype(float), groups=t["subject"])
    laplace = [1.83261, 0.88317, -0.33352, 0.48224, -0.16003, 0.33996]
    close_to(model, laplace, [0.10520, 0.13089, 0.14756, 0.34619, 0.05459, 0.20285], 0.1)
    assert 0.25129 < model.sigma2_[0] < 0.33


def test_grouseticks():
    t = table("grouseticks.csv")
    X = np.column_stack([t["YEAR"] == "96", t["YEAR"] == "97", t["cHEIGHT"].astype(float)])
    model = VariationalMixedModel()
    model.fit(
        X.astype(float),
        t["TICKS"].astype(float),
        groups={name: t[name] for name in ("INDEX", "BROOD", "LOCATION")},
    )
    close_to(model, [0.3728, 1.1804, -0.9787, -0.0238], [0.1964, 0.2381, 0.2628, 0.0035], 0.25)
    assert (np.abs(model.sigma2_[:2] / [0.2932, 0.5625] - 1) < 0.1).all()
    assert 0.25 < model.sigma2_[2] < 0.5


def test_verbal_aggression():
    t = table("VerbAgg.csv")
    X = np.column_stack(
        [
            t["Anger"].astype(float),
            t["Gender"] == "M",
            t["btype"] == "scold",
            t["btype"] == "shout",
            t["situ"] == "self",
        ]
    ).astype(float)
    model = VariationalMixedModel("binomial")
    model.fit(X, (t["r2"] == "Y").astype(float), groups={"id": t["id"], "item": t["item"]})
    laplace = [0.19389, 0.05777, 0.32073, -1.06019, -2.10721, -1.05598]
    close_to(model, laplace, [0.38162, 0.01760, 0.19382, 0.25104, 0.23529, 0.20629], 0.1)
    assert abs(model.sigma2_[0] / 1.79856 - 1) < 0.1
    # 24 items, four of whose directions are fixed effects: the mean lies above the maximum.
    assert 0.24465 < model.sigma2_[1] < 0.5


@pytest.mark.slow
def test_instructors_and_students_cross():
    t = table("InstEval.csv.gz")
    X = (t["service"] == "1").astype(float)[:, None]
    model = VariationalMixedModel("gaussian")
    model.fit(X, t["y"].astype(float), groups={"s": t["s"], "d": t["d"]})
    assert model.converged_
    close_to(model, [3.28328, -0.09114], [0.01881, 0.01327], 0.05)
    assert (np.abs(model.sigma2_ / [0.10563, 0.27124] - 1) < 0.02).all()
    assert abs(model.noise_variance_ / 1.38660 - 1) < 0.002


def test_motorcycle_curves():
    t = table("mcycle.csv")
    times, accel = t["times"].astype(float)[:, None], t["accel"].astype(float)
    model = HeteroscedasticAdditiveRegressor().fit(times, accel)
    grid, mean, _, _ = model.partial_effect(0)
    assert 18 < grid[np.argmin(mean)] < 24  # the helmet's deepest deceleration
    assert -130 < mean.min() < -100
    sd = model.partial_effect(0, "sd", [5.0, 30.0])[1]
    assert sd[0] < 5 < 15 < sd[1]
    low, high = model.predict_interval(times, 0.9)
    assert 0.82 < np.mean((low < accel) & (accel < high)) < 0.97
