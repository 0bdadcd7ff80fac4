"""Every learner beside the name and parameters of its transcription, and the data sets."""

import numpy as np
import pytest

from octavo.data import DatasetNotFoundError, load_dataset
from octavo.online import (
    ALMA,
    AROW,
    NAROW,
    NHERD,
    ROMMA,
    SCW,
    ConfidenceWeighted,
    ImprovedEllipsoid,
    OGDClassifier,
    OnlinePerceptron,
    PassiveAggressive,
    SecondOrderPerceptron,
)

FIRST_ORDER = [
    (OnlinePerceptron(), "perceptron", {}),
    (ROMMA(), "romma", {}),
    (ROMMA(first_step="example"), "romma", {"first": "example"}),
    (ROMMA(aggressive=True), "aromma", {}),
    (ROMMA(aggressive=True, legacy=True), "aromma", {"legacy": True}),
    (ALMA(), "alma", {}),
    (ALMA(alpha=0.7, C=0.5, B=1.1), "alma", {"alpha": 0.7, "C": 0.5, "B": 1.1}),
    (ALMA(p=4), "alma", {"p": 4}),
    (OGDClassifier(), "ogd", {}),
    (OGDClassifier("log", C=0.5), "ogd", {"loss": "log", "C": 0.5}),
    (OGDClassifier("square", C=0.1), "ogd", {"loss": "square", "C": 0.1}),
    (OGDClassifier("zero_one"), "ogd", {"loss": "zero_one"}),
    (PassiveAggressive("pa"), "pa", {}),
    (PassiveAggressive("pa1"), "pa1", {}),
    (PassiveAggressive("pa1", C=0.1), "pa1", {"C": 0.1}),
    (PassiveAggressive("pa2"), "pa2", {}),
]
SECOND_ORDER = [
    (SecondOrderPerceptron(), "sop", {}),
    (SecondOrderPerceptron(update_on="all"), "sop", {"update_on": "all"}),
    (ImprovedEllipsoid(), "iellip", {}),
    (ImprovedEllipsoid(b=0.9, c=0.4), "iellip", {"b": 0.9, "c": 0.4}),
    (ConfidenceWeighted(), "cw", {"eta": 0.7}),
    (SCW(), "scw1", {"eta": 0.75, "C": 1.0}),
    (SCW(1, C=0.1, eta=0.9, a=0.5), "scw1", {"eta": 0.9, "C": 0.1, "a": 0.5}),
    (SCW(2, eta=0.9), "scw2", {"eta": 0.9, "C": 1.0}),
    (SCW(2, eta=0.9, legacy=True), "scw2", {"eta": 0.9, "C": 1.0, "legacy": True}),
    (AROW(), "arow", {}),
    (AROW(r=0.1, a=2.0), "arow", {"r": 0.1, "a": 2.0}),
    (NAROW(), "narow", {}),
    (NAROW(b=4.0), "narow", {"b": 4.0}),
    (NAROW(b=4.0, variant="libol"), "narow_release", {"b": 4.0}),
    (NHERD(), "nherd", {}),
    (NHERD(C=0.2), "nherd", {"C": 0.2}),
]
MULTICLASS = [
    (OnlinePerceptron("max"), "perceptron_max", {}),
    (OnlinePerceptron("uniform"), "perceptron_uniform", {}),
    (OnlinePerceptron("proportional"), "perceptron_proportional", {}),
    (OnlinePerceptron("uniform", legacy=True), "perceptron_uniform", {"legacy": True}),
    (OnlinePerceptron("proportional", legacy=True), "perceptron_proportional", {"legacy": True}),
    (ROMMA(), "romma", {}),
    (ROMMA(first_step="example", legacy=True), "romma", {"first": "example", "legacy": True}),
    (ROMMA(aggressive=True), "aromma", {}),
    (ROMMA(aggressive=True, legacy=True), "aromma", {"legacy": True}),
    (OGDClassifier(), "ogd", {}),
    (OGDClassifier("log"), "ogd", {"loss": "log"}),
    (OGDClassifier("square", C=0.1), "ogd", {"loss": "square", "C": 0.1}),
    (PassiveAggressive("pa"), "pa", {}),
    (PassiveAggressive("pa1", C=0.2), "pa1", {"C": 0.2}),
    (PassiveAggressive("pa2"), "pa2", {}),
    (ConfidenceWeighted(eta=0.75), "cw", {"eta": 0.75}),
    (ConfidenceWeighted(eta=0.75, legacy=True), "cw", {"eta": 0.75, "legacy": True}),
    (SCW(1, C=0.5), "scw1", {"eta": 0.75, "C": 0.5}),
    (SCW(1, legacy=True), "scw1", {"eta": 0.75, "C": 1.0, "legacy": True}),
    (SCW(2), "scw2", {"eta": 0.75, "C": 1.0}),
    (SCW(2, legacy=True), "scw2", {"eta": 0.75, "C": 1.0, "legacy": True}),
    (AROW(), "arow", {}),
]


def label_of(entry):
    return " ".join(str(entry[0]).split())


def load(name):
    """Return one of the five data sets of the release, or skip."""
    try:
        found = load_dataset(f"libol/{name}")
    except DatasetNotFoundError as reason:
        pytest.skip(str(reason))
    return found.data, found.target


def noisy_stream(n=120, d=7, n_classes=2, seed=0, sparsity=0.4):
    """Return rows with zeros, some all zero, and labels with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) > sparsity)
    X[::29] = 0.0
    scores = X @ rng.normal(size=(d, n_classes)) + 0.7 * rng.normal(size=(n, n_classes))
    return X, np.argmax(scores, axis=1)
