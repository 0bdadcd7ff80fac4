"""HMM decoders take sequences, not a table."""

import numpy as np

from octavo.sequence import CountHMM, HybridDecoder, HybridDecoderCV
from tests.conformance.discovery import Case

X = [[0, 1, 1, 0], [1, 1], [0, 0, 1]]
Y = [[0, 1, 1, 0], [1, 1], [0, 1, 1]]
COIN = ([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7]])


def coin_density(values):
    """Log densities of two normal states."""
    return -0.5 * (np.asarray(values, dtype=float).reshape(-1, 1) - [0.0, 2.0]) ** 2


CASES = [
    Case(
        make=lambda: CountHMM(2),
        fit=lambda m: m.fit(X, Y),
        query=lambda m: (m.startprob_, m.transmat_, m.emissionprob_, m.score(X)),
        bad=[
            ("NaN", lambda m: m.fit([[0, np.nan]], [[0, 1]]), ValueError, "integer symbol"),
            ("empty", lambda m: m.fit([[0, 1], []], [[0, 1], []]), ValueError, "sequence 1 is emp"),
            ("shape", lambda m: m.fit([[0, 1]], [[0]]), ValueError, "lengths"),
            ("type", lambda m: m.fit([["a", "b"]], [[0, 1]]), ValueError, "integer symbol"),
            ("option", lambda m: m.set_params(pseudocount=-1).fit(X, Y), ValueError, "'pseudoc"),
        ],
        unfitted=[lambda m: m.score(X), lambda m: m.log_emission(X)],
    ),
    Case(
        make=lambda: HybridDecoder(COIN, alpha=0.3),
        fit=lambda d: d.fit(),
        query=lambda d: (d.predict(X), d.predict_proba(X), d.classes_),
        bad=[
            (
                "NaN",
                lambda d: d.set_params(model=(*COIN[:2], coin_density)).predict([[0.0, np.nan]]),
                ValueError,
                "nan at sequence 0, position 1",
            ),
            ("empty", lambda d: d.predict([[0], []]), ValueError, "sequence 1 is empty"),
            ("shape", lambda d: d.predict([0, 1, 1], [2, 2]), ValueError, "add up to 4"),
            ("type", lambda d: d.predict([["a"]]), ValueError, "integer symbol"),
            ("option", lambda d: d.set_params(method="best").predict(X), ValueError, "'method'"),
        ],
        unfitted=[lambda d: d.set_params(model=CountHMM(2)).predict(X)],
    ),
    Case(
        make=lambda: HybridDecoderCV(COIN, cv=3),
        fit=lambda s: s.fit(X, Y),
        query=lambda s: (s.alpha_, s.best_score_, s.predict(X), s.cv_results_["mean_test_score"]),
        bad=[
            ("NaN", lambda s: s.fit([[0, np.nan]] * 3, [[0, 1]] * 3), ValueError, "integer sym"),
            ("empty", lambda s: s.fit([[0], []], [[0], []]), ValueError, "sequence 1 is empty"),
            ("shape", lambda s: s.fit(X, [[0, 1]]), ValueError, "lengths"),
            ("type", lambda s: s.fit([["a"]] * 3, [[0]] * 3), ValueError, "integer symbol"),
            ("option", lambda s: s.set_params(scoring="luck").fit(X, Y), ValueError, "'scoring'"),
        ],
        unfitted=[lambda s: s.predict(X), lambda s: s.predict_proba(X)],
    ),
]
