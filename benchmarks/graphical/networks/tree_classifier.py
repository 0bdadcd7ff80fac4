"""The optimal TAN beside scikit-learn's naive Bayes and pgmpy's TAN."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from benchmarks.harness import Contest
from octavo.graphical import TANClassifier, make_bayesian_network


def sample():
    model = make_bayesian_network(15, 30, n_states=(2, 4), concentration=1.0, random_state=0)
    X = model.sample(5000, random_state=0)
    return X[:, 1:], X[:, 0]


def pgmpy_tan(data):
    """Chow and Liu's tree given the class, all features: its structure alone."""
    import pandas as pd
    from pgmpy.estimators import TreeSearch

    X, y = data
    frame = pd.DataFrame(np.column_stack([y, X])).rename(columns=str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TreeSearch(frame, root_node="1", n_jobs=1).estimate(
            estimator_type="tan", class_node="0", show_progress=False
        )


def same_tree(data, answers):
    c = data[0].shape[1]
    ours = {
        frozenset((p, v))
        for v, of in enumerate(answers["octavo, all features"].parents_)
        for p in of
        if p != c
    }
    theirs = {frozenset((int(a) - 1, int(b) - 1)) for a, b in answers["pgmpy"].edges if a != "0"}
    assert ours == theirs
    return "The trees are the same."


CONTESTS = [
    Contest(
        name="TAN",
        problem="TAN, 14 features, 5,000 rows, all features, no penalty",
        setup=sample,
        solvers={
            "octavo, all features": lambda d: TANClassifier("loglik", select=False).fit(*d),
            "pgmpy": pgmpy_tan,
        },
        agree=same_tree,
        repeats=3,
        target="pgmpy finds the tree alone, octavo the probabilities as well.",
        limit="counts of pairs of features: a pass over the rows each",
    ),
    Contest(
        name="naive Bayes",
        problem="Classifier, 14 features, 5,000 rows: the optimal TAN, or naive Bayes",
        setup=sample,
        solvers={
            "octavo TAN": lambda d: TANClassifier().fit(*d),
            "scikit-learn CategoricalNB": lambda d: CategoricalNB().fit(*d),
        },
        repeats=3,
        target="Another model: what a user would otherwise pick.",
        limit="counts of pairs of features: a pass over the rows each",
    ),
]
