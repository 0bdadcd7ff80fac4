"""Kernel learners take a kernel with pairs, maps take dissimilarities."""

import numpy as np

from octavo.metric import LowRankKernelLearner, OnlineMDS
from tests.conformance.discovery import Case

POINTS = np.random.default_rng(0).standard_normal((8, 3))
KERNEL = POINTS @ POINTS.T + np.eye(8)
PAIRS = np.array([[0, 1], [2, 3], [4, 5], [6, 7], [0, 7], [1, 6]])
TARGET = np.array([0.5, 0.5, 0.5, 0.5, 9.0, 9.0])
DISTANCES = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)


def fit_kernel(model):
    return model.fit(KERNEL, PAIRS, TARGET)


def fit_map(model):
    return model.fit(DISTANCES)


CASES = [
    Case(
        make=lambda: LowRankKernelLearner(random_state=0),
        fit=fit_kernel,
        query=lambda m: m.get_kernel(),
        bad=[
            ("NaN", lambda m: m.fit(KERNEL * np.nan, PAIRS, TARGET), ValueError, "NaN"),
            ("empty", lambda m: m.fit(KERNEL, np.zeros((0, 2)), []), ValueError, "at least one"),
            ("shape", lambda m: m.fit(KERNEL[:3], PAIRS, TARGET), ValueError, "square"),
            ("type", lambda m: m.fit(KERNEL, [["a", "b"]], [1.0]), ValueError, "real numbers"),
            (
                "option",
                lambda m: fit_kernel(m.set_params(geometry="round")),
                ValueError,
                "'geometry'",
            ),
        ],
        unfitted=[lambda m: m.get_kernel()],
    ),
    Case(
        make=lambda: OnlineMDS(random_state=0),
        fit=fit_map,
        query=lambda m: m.embedding_,
        bad=[
            ("NaN", lambda m: m.fit(DISTANCES * np.nan), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.zeros((0, 0))), ValueError, "at least two"),
            ("shape", lambda m: m.fit(DISTANCES[:3]), ValueError, "square"),
            ("type", lambda m: m.fit([["a", "b"], ["c", "d"]]), ValueError, "real numbers"),
            ("option", lambda m: fit_map(m.set_params(init="best")), ValueError, "'init'"),
        ],
        unfitted=[lambda m: m.update(0, 1, 1.0)],
    ),
]
