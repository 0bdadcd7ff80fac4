"""Perturbed nodes need the groups of the rows beside the table."""

import numpy as np

from octavo.graphical import NodeJointGraphicalLassoCV, PerturbedNodeJointGraphicalLasso
from tests.conformance.discovery import Case

X = np.random.default_rng(0).standard_normal((24, 3)) @ np.triu(np.ones((3, 3)))
GROUPS = np.repeat(["a", "b"], 12)


def bad(option, value):
    return [
        (
            "NaN",
            lambda m: m.fit(np.full_like(X, np.nan), groups=GROUPS),
            ValueError,
            "NaN",
        ),
        ("empty", lambda m: m.fit(X[:0], groups=GROUPS[:0]), ValueError, "0 sample"),
        ("shape", lambda m: m.fit(X, groups=GROUPS[:-1]), ValueError, "inconsistent"),
        ("type", lambda m: m.fit(X.astype(str) + "x", groups=GROUPS), ValueError, "convert"),
        (
            "option",
            lambda m: m.set_params(**{option: value}).fit(X, groups=GROUPS),
            ValueError,
            f"'{option}'",
        ),
    ]


def case(make, option, value):
    return Case(
        make=make,
        fit=lambda m: m.fit(X, groups=GROUPS),
        query=lambda m: (m.precisions_, m.node_scores_, m.score(X, groups=GROUPS)),
        bad=bad(option, value),
        unfitted=[lambda m: m.score(X, groups=GROUPS)],
    )


CASES = [
    case(PerturbedNodeJointGraphicalLasso, "norm", 3),
    case(lambda: NodeJointGraphicalLassoCV(alphas_l1=2, alphas_joint=2, cv=3), "selection", "luck"),
]
