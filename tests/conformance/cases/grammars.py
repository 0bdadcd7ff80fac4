"""DMV and SparseTagHMM take lists of tags or words, not tables."""

import numpy as np

from octavo.structured import DMV, SparseTagHMM
from tests.conformance.discovery import Case

TAGS = [["D", "N", "V"], ["N", "V"], ["D", "N", "V", "D", "N"], ["N", "V", "N"], ["V"]]

BAD = [
    ("NaN", lambda m: m.fit([["D", np.nan]]), TypeError, "sequence 0, position 1"),
    ("empty", lambda m: m.fit([["D"], []]), ValueError, "Sequence 1 is empty"),
    ("shape", lambda m: m.fit([np.zeros((2, 2), dtype=int)]), ValueError, "one-dimensional"),
    ("type", lambda m: m.fit(["words"]), TypeError, "must be a list of tags"),
    ("option", lambda m: m.set_params(sigma=-1.0).fit(TAGS), ValueError, "'sigma'"),
]


def grammar(**options):
    return Case(
        make=lambda: DMV(n_iter=5, sigma=2.0, random_state=0, **options),
        fit=lambda m: m.fit(TAGS),
        query=lambda m: np.concatenate([m.score_samples(TAGS), m.child_.ravel()]),
        bad=BAD,
        unfitted=[
            lambda m: m.predict(TAGS),
            lambda m: m.predict_proba(TAGS),
            lambda m: m.score_samples(TAGS),
            lambda m: m.log_prob(TAGS[1], [2, 0]),
            lambda m: m.sample(1),
        ],
    )


CASES = [
    grammar(),
    grammar(learning="sdp", init="random-pools"),
    grammar(learning="pr-s", stop_valence=3, child_valence=2, backoff=1 / 3),
    grammar(learning="pr-as", init="uniform"),
    Case(
        make=lambda: SparseTagHMM(2, sigma=1.0, n_iter=5, random_state=0),
        fit=lambda m: m.fit(TAGS),
        query=lambda m: m.score_samples(TAGS),
        bad=BAD,
        unfitted=[
            lambda m: m.predict(TAGS),
            lambda m: m.predict_proba(TAGS),
            lambda m: m.score_samples(TAGS),
        ],
    ),
]
