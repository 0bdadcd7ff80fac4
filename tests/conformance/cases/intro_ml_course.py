"""Methods of the course: losses need a classifier, moments need features."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from octavo.bayes import BayesRiskClassifier, BernoulliMixture, MultinomialMixture
from octavo.info import InfeasibleConstraints, MaxEntDistribution
from tests.conformance.discovery import Case

DIE = np.arange(1.0, 7.0)[:, None]

SPARSE_CHECK = "it looks for the tags of a classifier wherever there is a predict_proba"
NO_CLASSES = dict.fromkeys(
    ["check_estimator_sparse_array", "check_estimator_sparse_matrix"], SPARSE_CHECK
)

CASES = [
    Case(make=lambda: BayesRiskClassifier(GaussianNB()), iterative=False),
    # Rows of the checks are real numbers; a threshold makes ones and zeros of them.
    Case(make=lambda: BernoulliMixture(binarize=0.0, n_init=2), expected_failures=NO_CLASSES),
    Case(make=MultinomialMixture, expected_failures=NO_CLASSES),
    Case(
        make=lambda: MaxEntDistribution(DIE),
        fit=lambda m: m.fit([4.2]),
        query=lambda m: m.prob_,
        bad=[
            ("NaN", lambda m: m.fit([np.nan]), ValueError, "NaN"),
            ("empty", lambda m: m.fit([]), ValueError, "one moment per column"),
            ("shape", lambda m: m.fit([1.0, 2.0]), ValueError, "one moment per column"),
            ("type", lambda m: m.fit("a"), ValueError, "real numbers"),
            ("option", lambda m: m.set_params(solver="x").fit([4.2]), ValueError, "'solver'"),
            ("outside", lambda m: m.fit([6.5]), InfeasibleConstraints, "direction"),
            ("prior", lambda m: m.set_params(prior=[1.0]).fit([4.2]), ValueError, "prior"),
        ],
        unfitted=[lambda m: m.expectation(np.ones(6)), lambda m: m.sample()],
        iterative=False,
    ),
]
