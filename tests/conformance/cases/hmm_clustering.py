"""Estimators of HMMs take lists of HMMs, or sequences."""

import numpy as np

from octavo.sequence import (
    HierarchicalHMMClustering,
    HierarchicalHMMMixture,
    HMMClustering,
    HMMMixture,
    HMMMixtureClassifier,
    HMMParams,
    PPKSpectralClustering,
    SampledHMMClustering,
)
from tests.conformance.discovery import Case


def hmm(mean, stay=0.8, var=1.0):
    trans = [[stay, 1 - stay], [1 - stay, stay]]
    return HMMParams([0.5, 0.5], trans, [[1], [1]], [[[mean]], [[mean + 3]]], [[[var]], [[var]]])


HMMS = [hmm(0.0), hmm(0.2), hmm(9.0), hmm(9.3), hmm(30.0), hmm(30.2)]
SEQUENCES = [np.random.default_rng(n).normal(size=(n, 2)) + 5 * (n % 2) for n in (8, 5, 6, 9, 7, 4)]
LABELS = [n % 2 for n in (8, 5, 6, 9, 7, 4)]

BAD_HMMS = [
    ("NaN", lambda m: m.fit([*HMMS, hmm(np.nan)]), ValueError, "HMM 6: means"),
    ("empty", lambda m: m.fit([]), ValueError, "empty list"),
    (
        "shape",
        lambda m: m.fit([*HMMS, HMMParams([1], [[1]], [[1]], [[[0, 0]]], [[[1, 1]]])]),
        ValueError,
        "HMM 6 has 2 features",
    ),
    ("type", lambda m: m.fit([*HMMS, "an HMM"]), TypeError, "HMM 6 must be an HMMParams"),
    ("option", lambda m: m.set_params(tau="long").fit(HMMS), ValueError, "'tau'"),
]


def centres(model):
    return np.concatenate([[*h.means.ravel(), *h.transmat.ravel()] for h in model.cluster_hmms_])


def of_hmms(make, query):
    unfitted = [lambda m: m.predict(HMMS)]
    return Case(make=make, fit=lambda m: m.fit(HMMS), query=query, bad=BAD_HMMS, unfitted=unfitted)


def bad_sequences(fit):
    spoilt = [SEQUENCES[0], np.full((3, 2), np.nan)]
    mixed = [SEQUENCES[0], np.zeros((3, 1))]
    return [
        ("NaN", lambda m: fit(m, spoilt), ValueError, "sequence 1, position 0"),
        ("empty", lambda m: fit(m, [SEQUENCES[0], np.zeros((0, 2))]), ValueError, "1 is empty"),
        ("shape", lambda m: fit(m, mixed), ValueError, "sequence 1"),
        ("type", lambda m: fit(m, [np.array([["a", "b"]])] * 2), ValueError, "rows of numbers"),
        ("option", lambda m: fit(m.set_params(n_states=0), SEQUENCES), ValueError, "'n_states'"),
    ]


def fit_sequences(model, X=SEQUENCES):
    return model.fit(X)


def fit_labelled(model, X=SEQUENCES):
    return model.fit(X, LABELS[: len(X)])


CASES = [
    of_hmms(
        lambda: HMMClustering(3, n_init=2, random_state=0),
        lambda m: np.concatenate([m.labels_, centres(m), m.transform(HMMS).ravel()]),
    ),
    of_hmms(
        lambda: HierarchicalHMMClustering((3, 2), n_init=2, random_state=0),
        lambda m: np.concatenate([m.predict(HMMS), m.predict(HMMS, 1), m.linkage().ravel()]),
    ),
    of_hmms(
        lambda: SampledHMMClustering(3, n_init=2, random_state=0, tol=1e-2),
        lambda m: np.concatenate([m.labels_, centres(m), m.predict(HMMS)]),
    ),
    of_hmms(
        lambda: PPKSpectralClustering(3, centers="hybrid", random_state=0),
        lambda m: np.concatenate([m.labels_, centres(m), m.transform(HMMS).ravel()]),
    ),
    Case(
        make=lambda: HMMMixture(2, 2, n_init=2, tol=1e-3, random_state=0),
        fit=fit_sequences,
        query=lambda m: np.concatenate([m.labels_, centres(m), m.score_samples(SEQUENCES)]),
        bad=bad_sequences(fit_sequences),
        unfitted=[lambda m: m.predict(SEQUENCES), lambda m: m.bic(SEQUENCES)],
    ),
    Case(
        make=lambda: HierarchicalHMMMixture(
            1, n_components=2, n_states=2, n_init=2, tol=1e-3, random_state=0
        ),
        fit=fit_sequences,
        query=lambda m: np.concatenate([m.predict(SEQUENCES), centres(m), m.base_masses_]),
        bad=bad_sequences(fit_sequences),
        unfitted=[lambda m: m.predict(SEQUENCES)],
    ),
    Case(
        make=lambda: HMMMixtureClassifier(2, n_states=2, n_init=2, tol=1e-3, random_state=0),
        fit=fit_labelled,
        query=lambda m: m.predict_proba(SEQUENCES),
        bad=bad_sequences(fit_labelled),
        unfitted=[lambda m: m.predict(SEQUENCES), lambda m: m.rank(SEQUENCES, 0)],
    ),
]
