"""TabularFeatures takes numbers of states, not a table."""

import numpy as np

from octavo.rl import TabularFeatures
from tests.conformance.discovery import Case

STATES = np.array([3, 0, 1, 3, 2])

CASES = [
    Case(
        make=TabularFeatures,
        fit=lambda maker: maker.fit(STATES),
        query=lambda maker: maker.transform(STATES),
        bad=[
            ("NaN", lambda m: m.fit([0.0, np.nan]), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.empty((0, 1))), ValueError, "0 sample"),
            ("shape", lambda m: m.fit([[0, 1], [1, 0]]), ValueError, "one variable"),
            ("type", lambda m: m.fit(["a", "b"]), ValueError, "could not convert"),
            ("option", lambda m: m.set_params(n_states=0).fit(STATES), ValueError, "'n_states'"),
        ],
        unfitted=[lambda m: m.transform(STATES)],
        iterative=False,
    )
]
