"""Tree-augmented naive Bayes against spanning trees and brute force; selection of features."""

from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB

from octavo.graphical import NaiveBayesSelect, TANClassifier
from tests.graphical.network_oracles import is_acyclic, random_table, slow_score


def features_and_class(seed, n=4, rows=200):
    table = random_table(seed, n + 1, rows)
    return table[:, :-1], table[:, -1]


def best_tan(X, y, score, select):
    """Return the best score over all TAN networks, by enumeration."""
    Z, c = np.column_stack([X, y]), X.shape[1]
    options = []
    for j in range(c):
        sets = [(c,), *(tuple(sorted((k, c))) for k in range(c) if k != j)]
        sets = [(), *sets] if select else sets
        options.append([(slow_score(Z, j, of, score), of) for of in sets])
    root = slow_score(Z, c, (), score)
    return max(
        root + sum(value for value, _ in choice)
        for choice in product(*options)
        if is_acyclic([*(of for _, of in choice), ()])
    )


@pytest.mark.parametrize("score", ["bic", "bdeu", "loglik"])
@pytest.mark.parametrize("select", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_network_is_the_best_of_all_tans(score, select, seed):
    X, y = features_and_class(seed)
    model = TANClassifier(score, select=select).fit(X, y)
    assert model.optimal_
    assert model.score_ == pytest.approx(best_tan(X, y, score, select), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_all_features_without_penalty_is_the_tan_of_friedman(seed):
    """The maximum spanning tree of the conditional mutual information given the class."""
    X, y = features_and_class(seed, 5, 400)
    Z = np.column_stack([X, y])
    graph = nx.Graph()
    for a in range(5):
        for b in range(a):
            gain = slow_score(Z, a, (b, 5), "loglik") - slow_score(Z, a, (5,), "loglik")
            graph.add_edge(a, b, weight=gain)
    tree = nx.maximum_spanning_tree(graph)
    model = TANClassifier("loglik", select=False).fit(X, y)
    links = {frozenset((p, v)) for v, of in enumerate(model.parents_) for p in of if p != 5}
    assert links == {frozenset(edge) for edge in tree.edges}


def test_methods_find_the_same_forest():
    X, y = features_and_class(7, 8, 300)
    scores = [TANClassifier(method=m).fit(X, y).score_ for m in ("auto", "bnb", "dp", "ilp")]
    assert scores == pytest.approx([scores[0]] * 4, rel=1e-9)


def test_naive_bayes_with_all_features_is_that_of_scikit_learn():
    X, y = features_and_class(1)
    ours = NaiveBayesSelect(select=False).fit(X, y)
    theirs = CategoricalNB(alpha=1.0).fit(X, y)
    proba = theirs.predict_proba(X)
    # scikit-learn does not smooth the frequencies of the classes
    raw = np.bincount(y) / len(y)
    smoothed = (np.bincount(y) + 1) / (len(y) + len(raw))
    proba = proba / raw * smoothed
    np.testing.assert_allclose(
        ours.predict_proba(X), proba / proba.sum(axis=1, keepdims=True), atol=1e-12
    )
    assert ours.support_.all()


def test_features_that_tell_nothing_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 6))
    y = (X[:, 2] > 0) ^ (rng.random(500) < 0.1)
    for model in (NaiveBayesSelect(), TANClassifier()):
        assert np.flatnonzero(model.fit(X, y).support_).tolist() == [2]
        # Features without a link do not change what is predicted.
        other = X.copy()
        other[:, [0, 1, 3, 4, 5]] = rng.permuted(X[:, [0, 1, 3, 4, 5]], axis=0)
        np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(other))


def test_probabilities_are_those_of_the_model():
    X, y = features_and_class(2)
    frame = pd.DataFrame(X, columns=["a", "b", "class", "d"])
    model = TANClassifier().fit(frame, y)
    assert model.model_.names[-1] == "class_"
    whole = np.column_stack([X, y])
    np.testing.assert_allclose(
        model.predict_proba(frame), model.model_.predict_proba(whole, "class_"), atol=1e-12
    )
    assert set(model.dag_.nodes) == {"a", "b", "class", "d", "class_"}


def test_unknown_states_are_refused_or_summed_out():
    X, y = features_and_class(3)
    words = np.array([f"s{v}" for v in X.ravel()], dtype=object).reshape(X.shape)
    model = TANClassifier("loglik", select=False).fit(words, y)
    new = words[:4].copy()
    new[1, 2] = "blue"
    with pytest.raises(ValueError, match=r"Column '2' holds unknown states \['blue'\]"):
        model.predict(new)
    proba = model.set_params(handle_unknown="ignore").predict_proba(new)
    known = {k: new[1, k] for k in (0, 1, 3)}
    np.testing.assert_allclose(proba[1], model.model_.query([4], known))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("make", [TANClassifier, NaiveBayesSelect])
def test_bad_input(make):
    X, y = features_and_class(0)
    with pytest.raises(ValueError, match="at least two classes"):
        make().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="continuous"):
        make().fit(X + 0.5, y)
    with pytest.raises(ValueError, match="NaN"):
        make().fit(np.where(X[0] == X, np.nan, X), y)
    with pytest.raises(ValueError, match="'criterion' parameter"):
        make("mdl").fit(X, y)
    with pytest.warns(UserWarning, match="single state"):
        assert not make().fit(np.column_stack([X, X[:, :1] * 0]), y).support_[-1]
