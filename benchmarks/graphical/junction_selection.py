"""JunctionTreeUGMS beside one EBIC path of graphical lassos and scikit-learn's GraphicalLassoCV."""

from __future__ import annotations

import warnings

from sklearn.covariance import GraphicalLassoCV, graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Contest
from octavo.graphical import (
    JunctionTreeUGMS,
    MaskedGraphicalLasso,
    graph_recovery,
    make_weak_edge_network,
    masked_graphical_lasso,
)


def sample(p):
    """A chain of cycles with 20 weak variables, n = 500."""
    return make_weak_edge_network("CY1", 500, 7, n_features=p)


def cross_validated(network):
    """scikit-learn's choice of one penalty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GraphicalLassoCV().fit(network.X)


def edits(network, answers):
    """How far each graph is from the truth: the three are different estimates."""
    found = {}
    for name, model in answers.items():
        adjacency = getattr(model, "adjacency_", None)
        if adjacency is None:
            adjacency = abs(model.precision_) > 1e-8
        found[name] = graph_recovery(adjacency, network.adjacency).edit_distance
    return "Edits from the truth: " + ", ".join(f"{n} {e}" for n, e in found.items()) + "."


def one_penalty(S):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return graphical_lasso(S, 0.1, tol=1e-6)


def correlations(network):
    units = network.X.std(axis=0)
    return (network.X / units).T @ (network.X / units) / len(network.X)


def same_solution(network, answers):
    gap = abs(answers["octavo"].precision - answers["scikit-learn"][1]).max()
    assert gap < 1e-3
    return f"Precision matrices differ by {gap:.0e} at most."


CONTESTS = [
    Contest(
        name="p = 100",
        problem="A graph of 100 variables from 500 rows (CY1)",
        setup=lambda: sample(100),
        solvers={
            "octavo": lambda network: JunctionTreeUGMS().fit(network.X),
            "octavo, one EBIC path": lambda network: MaskedGraphicalLasso().fit(network.X),
            "scikit-learn GraphicalLassoCV": cross_validated,
        },
        agree=edits,
        repeats=3,
        target="Aim: at most twice the time of one EBIC path by the same engine.",
        limit="Eigendecompositions of the regions' matrices, and refits for the criterion.",
    ),
    Contest(
        name="p = 500",
        problem="A graph of 500 variables from 500 rows (CY1)",
        setup=lambda: sample(500),
        solvers={
            "octavo": lambda network: JunctionTreeUGMS().fit(network.X),
            "octavo, one EBIC path": lambda network: MaskedGraphicalLasso().fit(network.X),
        },
        agree=edits,
        repeats=1,
        target="Aim: less time than one EBIC path by the same engine.",
        limit="graphical lassos of the junction tree's regions",
    ),
    Contest(
        name="masked lasso",
        problem="The graphical lasso without masks, 60 variables, alpha = 0.1, to 1e-6",
        setup=lambda: correlations(sample(60)),
        solvers={
            "octavo": lambda S: masked_graphical_lasso(S, 0.1, tol=1e-6),
            "scikit-learn": one_penalty,
        },
        agree=same_solution,
        repeats=5,
        target="What the masks leave of the solver's speed when there are none.",
        limit="coordinate steps of the lasso: a dot product each",
    ),
]
