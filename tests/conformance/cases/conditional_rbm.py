"""Conditional machines take sequences of frames, some with styles."""

import numpy as np

from octavo.sequence import (
    CRBM,
    FCRBM,
    ConditionalDBN,
    FactoredCRBM,
    GatedCRBM,
    GaussianBernoulliRBM,
    NearestFrameImputer,
    VectorAutoRegression,
)
from tests.conformance.discovery import Case

FRAMES = [np.random.default_rng(n).normal(size=(n, 3)).cumsum(axis=0) for n in (12, 9, 15)]
STYLES = [np.full(len(x), q % 2) for q, x in enumerate(FRAMES)]
SHORT = {"n_epochs": 3, "random_state": 0}


def bad(fit, option):
    spoilt = [FRAMES[0], np.where(np.arange(9)[:, None] == 4, np.nan, FRAMES[1]), FRAMES[2]]
    empty = [FRAMES[0], np.zeros((0, 3)), FRAMES[2]]
    mixed = [FRAMES[0], FRAMES[1][:, :2], FRAMES[2]]
    words = [np.full((12, 3), "a"), FRAMES[1], FRAMES[2]]
    return [
        ("NaN", lambda m: fit(m, spoilt), ValueError, "sequence 1, position 4"),
        ("empty", lambda m: fit(m, empty), ValueError, "sequence 1 is empty"),
        ("shape", lambda m: fit(m, mixed), ValueError, "sequence 1 has 2 channels"),
        ("type", lambda m: fit(m, words), ValueError, "rows of numbers"),
        (
            "option",
            lambda m: fit(m.set_params(**option), FRAMES),
            ValueError,
            next(iter(option)),
        ),
    ]


def plain(model, X=FRAMES):
    return model.fit(X)


def styled(model, X=FRAMES):
    return model.fit(X, STYLES)


def of_machine(make, fit, y=None):
    return Case(
        make=make,
        fit=fit,
        query=lambda m: np.concatenate([m.transform(FRAMES, y).ravel(), m.free_energy(FRAMES, y)]),
        bad=bad(fit, {"n_hidden": -1}),
        unfitted=[
            lambda m: m.transform(FRAMES, y),
            lambda m: m.sample(2, FRAMES[0], y=0 if y else None),
            lambda m: m.impute(FRAMES),
        ],
    )


CASES = [
    of_machine(lambda: CRBM(4, **SHORT), plain),
    of_machine(lambda: FactoredCRBM(4, 3, **SHORT), plain),
    of_machine(lambda: GaussianBernoulliRBM(4, **SHORT), plain),
    of_machine(lambda: FCRBM(4, 3, **SHORT), styled, STYLES),
    of_machine(lambda: GatedCRBM(4, **SHORT), styled, STYLES),
    Case(
        make=lambda: ConditionalDBN(random_state=0),
        fit=plain,
        query=lambda m: m.transform(FRAMES),
        bad=bad(plain, {"layers": []}),
        unfitted=[lambda m: m.transform(FRAMES), lambda m: m.sample(2, FRAMES[0])],
        iterative=False,
    ),
    Case(
        make=lambda: VectorAutoRegression(1),
        fit=plain,
        query=lambda m: m.score_samples(FRAMES),
        bad=bad(plain, {"order": 0}),
        unfitted=[lambda m: m.predict(FRAMES[0])],
        iterative=False,
    ),
    Case(
        make=lambda: NearestFrameImputer(2),
        fit=plain,
        query=lambda m: m.impute(np.where(np.arange(3) == 1, np.nan, FRAMES[0])),
        bad=bad(plain, {"k": 0}),
        unfitted=[lambda m: m.impute(FRAMES)],
        iterative=False,
    ),
]
