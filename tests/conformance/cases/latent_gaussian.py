"""Latent Gaussian models take observations on latents, not a table."""

import numpy as np

from octavo.bayes import (
    BesagSpatialModel,
    DynamicRankingModel,
    LatentGaussianModel,
    LogGaussianCoxProcess,
    StochasticVolatility,
    ar1,
)
from tests.conformance.discovery import Case

LABELS = [1, 0, 1, 1, 0]
RETURNS = np.random.default_rng(0).standard_normal(12)
COUNTS = np.random.default_rng(0).poisson(2.0, (4, 5)).astype(float)
GAMES = [["a", "b", 1], ["b", "c", 1], ["a", "c", 2]]
RING = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
RATES = [2.0, 1.0, 4.0, 6.0, 5.0, 1.0]
PRIOR = ar1(5, 0.5).toarray()


def moments(model):
    return np.concatenate([np.ravel(model.mean_), np.ravel(model.var_)])


CASES = [
    Case(
        make=lambda: LatentGaussianModel(prior=PRIOR),
        fit=lambda m: m.fit(LABELS),
        query=lambda m: np.append(moments(m), m.marginal(0).pdf),
        bad=[
            ("NaN", lambda m: m.fit(LABELS, np.full((5, 5), np.nan)), ValueError, "nan in row 0"),
            ("labels", lambda m: m.fit([0, 1, 2, 1, 0]), ValueError, "got 2 in row 2"),
            ("shape", lambda m: m.fit([0, 1]), ValueError, "one entry per latent"),
            ("empty", lambda m: m.fit([]), ValueError, "y should be"),
            ("type", lambda m: m.fit(["x"] * 5), ValueError, "could not convert"),
            ("option", lambda m: m.set_params(method="vb").fit(LABELS), ValueError, "'method'"),
        ],
        unfitted=[lambda m: m.marginal(0), lambda m: m.sample(2), lambda m: m.predict([[1.0]])],
    ),
    Case(
        make=lambda: StochasticVolatility(method="laplace"),
        fit=lambda m: m.fit(RETURNS),
        query=moments,
        bad=[
            ("shape", lambda m: m.fit([1.0]), ValueError, "returns should be"),
            ("NaN", lambda m: m.fit([np.nan, np.nan]), ValueError, "NaN everywhere"),
            ("empty", lambda m: m.fit([]), ValueError, "returns should be"),
            ("type", lambda m: m.fit(["x", "y"]), ValueError, "could not convert"),
            ("infinite", lambda m: m.fit([1.0, np.inf]), ValueError, "finite"),
            ("option", lambda m: m.set_params(tol=-1).fit(RETURNS), ValueError, "'tol'"),
        ],
        unfitted=[lambda m: m.marginal(0)],
    ),
    Case(
        make=lambda: LogGaussianCoxProcess(field_precision=5.0),
        fit=lambda m: m.fit(COUNTS),
        query=moments,
        bad=[
            ("shape", lambda m: m.fit([1.0]), ValueError, "grid of 3 x 3"),
            ("counts", lambda m: m.fit(COUNTS - 5), ValueError, "whole counts"),
            ("NaN", lambda m: m.fit(COUNTS, COUNTS * np.nan), ValueError, "covariates should be"),
            ("empty", lambda m: m.fit([]), ValueError, "grid of 3 x 3"),
            ("type", lambda m: m.fit([["x"] * 3] * 3), ValueError, "could not convert"),
            ("option", lambda m: m.set_params(field="x").fit(COUNTS), ValueError, "'field'"),
        ],
        unfitted=[lambda m: m.marginal(0, 0)],
    ),
    Case(
        make=DynamicRankingModel,
        fit=lambda m: m.fit(GAMES),
        query=lambda m: np.append(moments(m), m.predict_proba(GAMES)),
        bad=[
            ("self", lambda m: m.fit([["a", "a", 1], ["a", "b", 1]]), ValueError, "himself"),
            ("shape", lambda m: m.fit([["a", "b"]]), ValueError, "player, opponent and time"),
            ("NaN", lambda m: m.fit([["a", "b", np.nan]]), ValueError, "got one as time of row 0"),
            ("empty", lambda m: m.fit([]), ValueError, "player, opponent and time"),
            ("type", lambda m: m.fit(GAMES, ["x"] * 3), ValueError, "could not convert"),
            ("option", lambda m: m.set_params(rho=2.0).fit(GAMES), ValueError, "'rho'"),
        ],
        unfitted=[lambda m: m.predict_proba(GAMES), lambda m: m.marginal("a", 1)],
    ),
    Case(
        make=lambda: BesagSpatialModel(RING, method="laplace"),
        fit=lambda m: m.fit(RATES),
        query=moments,
        bad=[
            ("shape", lambda m: m.fit([1.0]), ValueError, "one count per region"),
            ("counts", lambda m: m.fit([-1.0, *RATES[1:]]), ValueError, "got -1 in row 0"),
            ("NaN", lambda m: m.fit(RATES, np.full((6, 1), np.nan)), ValueError, "X should be"),
            ("empty", lambda m: m.fit([]), ValueError, "one count per region"),
            ("type", lambda m: m.fit(["x"] * 6), ValueError, "could not convert"),
            ("option", lambda m: m.set_params(tol=-1).fit(RATES), ValueError, "'tol'"),
            (
                "adjacency",
                lambda m: m.set_params(adjacency=np.triu(RING)).fit(RATES),
                ValueError,
                "symmetric",
            ),
        ],
        unfitted=[lambda m: m.marginal(0)],
    ),
]
