"""Steered maps: the tuner learns from placements, which a table does not hold."""

import numpy as np

from octavo.kernel import KnowledgeKernelPCA, KnowledgeKernelPCACV
from tests.conformance.discovery import Case

SAMPLES = np.random.default_rng(0).standard_normal((40, 3))
PLACES = {i: (0.3 * SAMPLES[i, 0], 0.3 * SAMPLES[i, 1]) for i in range(12)}


def tune(tuner, X=SAMPLES, placements=PLACES):
    return tuner.fit(X, placements=placements)


CASES = [
    Case(make=KnowledgeKernelPCA),
    Case(
        make=lambda: KnowledgeKernelPCA(kernel="precomputed"),
        expected_failures={
            "check_positive_only_tag_during_fit": "a kernel matrix less its mean has a negative "
            "diagonal; it is no kernel matrix, and fit says so"
        },
    ),
    Case(make=lambda: KnowledgeKernelPCA(low_rank=8, random_state=0)),
    Case(
        make=lambda: KnowledgeKernelPCACV(cv=3, random_state=0),
        fit=tune,
        query=lambda t: np.append(t.transform(SAMPLES).ravel(), t.best_loss_),
        bad=[
            ("NaN", lambda t: tune(t, np.full((40, 3), np.nan)), ValueError, "NaN"),
            ("empty", lambda t: tune(t, placements=None), ValueError, "there are 0 of them"),
            ("shape", lambda t: tune(t, SAMPLES[:5]), ValueError, "numbered 0 to 4"),
            ("type", lambda t: tune(t, placements={0: ("a", 1)}), ValueError, "must be a number"),
            ("option", lambda t: tune(t.set_params(loss="x")), ValueError, "'loss'"),
        ],
        unfitted=[lambda t: t.transform(SAMPLES)],
    ),
]
