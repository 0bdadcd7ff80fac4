"""XSFA beside the authors' own in MDP, which runs in an environment of its own."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.decomposition.slowness._mdp import solvers, with_mdp
from benchmarks.harness import Contest
from octavo.data import make_colored_noise, make_postnonlinear_mixture
from octavo.decomposition import XSFA, source_match

T = 100_000


def mixture():
    S = make_colored_noise(T, np.sqrt(np.arange(1, 7)) * T / 50 + 1, random_state=0)
    data = {"X": make_postnonlinear_mixture(S, 2.0, random_state=0), "S": S}
    XSFA(2, expansion_degree=2).fit(data["X"][:2000])
    return data


def ours(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = XSFA(6, expansion_degree=3, removal_degree=4)
        return model.fit_transform(data["X"])


def same_sources(data, answers):
    found = answers["octavo XSFA"]
    told = np.round(source_match(found, data["S"]).cc, 3).tolist()
    if len(answers) == 1:
        return f"Correlations with the sources: {told}."
    gap = 1.0 - source_match(answers["MDP XSFANode"], found).cc.min()
    assert gap < 1e-6, gap
    return f"Sources correlate by 1 - {gap:.0e}; with the truth by {told}."


CONTESTS = [
    Contest(
        name="six-sources",
        problem="six bent mixtures of six sources, T = 100,000, degrees 3 and 4",
        setup=mixture,
        solvers=solvers(
            {"octavo XSFA": ours}, {"MDP XSFANode": lambda data: with_mdp("xsfa", data["X"])}
        ),
        agree=same_sources,
        repeats=1,
        warm=False,
        target="at least ten times MDP, and 1.5 s",
        limit="matrix products: 9 thousand million multiplications, at the rate of BLAS",
    ),
]
