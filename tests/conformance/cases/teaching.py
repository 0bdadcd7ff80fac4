"""The analysis of teaching takes a class of concepts."""

import numpy as np

from octavo.teaching import TeachingAnalysis
from tests.conformance.discovery import Case

TABLE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1]])

CASES = [
    Case(
        make=TeachingAnalysis,
        fit=lambda m: m.fit(TABLE),
        query=lambda m: m.dims_,
        bad=[
            ("NaN", lambda m: m.fit(TABLE * np.nan), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.zeros((0, 3))), ValueError, "at least one concept"),
            ("shape", lambda m: m.fit(np.ones(3)), ValueError, "2D"),
            ("type", lambda m: m.fit([["a", "b"]]), ValueError, "zeros and ones"),
            ("option", lambda m: m.set_params(kind="x").fit(TABLE), ValueError, "'kind'"),
            ("equal", lambda m: m.fit(TABLE[[0, 1, 0]]), ValueError, "Concepts 0"),
        ],
        unfitted=[lambda m: m.teach(0), lambda m: m.learn([])],
        iterative=True,
    )
]
