"""GraphClustering takes graphs, not a table."""

import numpy as np

from octavo.cluster import GraphClustering
from tests.conformance.discovery import Case

GRAPH = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
GRAPH[3, 4] = GRAPH[4, 3] = GRAPH[7, 8] = GRAPH[8, 7] = 1.0
WITH_NAN = np.where(np.eye(12) > 0, np.nan, GRAPH)

CASES = [
    Case(
        make=lambda: GraphClustering(random_state=0),
        fit=lambda model: model.fit(GRAPH),
        query=lambda model: np.concatenate([model.labels_, [model.quality_]]),
        bad=[
            ("NaN", lambda m: m.fit(WITH_NAN), ValueError, "finite weight"),
            ("empty", lambda m: m.fit(np.zeros((0, 0))), ValueError, "at least one node"),
            ("shape", lambda m: m.fit(np.ones((3, 4))), ValueError, "A graph is"),
            ("type", lambda m: m.fit([[0, "a"], ["a", 0]]), ValueError, "real numbers"),
            (
                "option",
                lambda m: m.set_params(optimizer="luck").fit(GRAPH),
                ValueError,
                "'optimizer'",
            ),
            ("negative", lambda m: m.fit(-GRAPH), ValueError, "at least 0"),
            ("directed", lambda m: m.fit(np.triu(GRAPH)), ValueError, "undirected"),
        ],
        unfitted=[lambda m: m.communities()],
    )
]
