"""Estimators: certificates, invariances, sparse input, scales and bad input."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_classifiers_multilabel_output_format_predict,
    check_classifiers_multilabel_representation_invariance,
)

from octavo.data import make_label_chain
from octavo.structured import (
    MaxMarginTrees,
    RandomSpanningTreeMultiLabel,
    SpanningTreeMultiLabel,
    chow_liu_label_tree,
    exponential_weights_choice,
)
from octavo.structured.label_trees.label_structure import pair_informations
from octavo.structured.label_trees.parities import label_pairs
from octavo.structured.label_trees.random_trees import tree_max_marginals

MODELS = [SpanningTreeMultiLabel, RandomSpanningTreeMultiLabel, MaxMarginTrees]


@pytest.fixture(scope="module")
def chain():
    X, Y, _ = make_label_chain(120, n_labels=5, random_state=0)
    return X, Y


@pytest.mark.parametrize("k_best", ["auto", 1, 5])
def test_certified_sets_score_most_of_all(chain, k_best):
    X, Y = chain
    model = SpanningTreeMultiLabel(k_best=k_best, tol=1e-2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short lists may leave a gap open in training
        model.fit(X[:60], Y[:60])
    labels, exact, gap = model.predict_certified(X[60:])
    sets = np.array(list(itertools.product((0, 1), repeat=5)))
    scores = np.array([model.labelling_scores(X[60:], np.tile(y, (len(X) - 60, 1))) for y in sets])
    own = model.labelling_scores(X[60:], labels)
    assert (scores.max(axis=0) <= own + gap + 1e-9).all()
    assert_allclose(own[exact], scores.max(axis=0)[exact], atol=1e-9)
    assert (gap[exact] == 0.0).all()
    assert (gap[~exact] > 0.0).all()
    if k_best == "auto":
        assert exact.all()
    assert (labels == model.predict(X[60:])).all()


def test_objective_is_that_of_the_scores(chain):
    """Slacks from public scores, norms from a kernel written out in pair indicators."""
    X, Y = chain[0][:30], chain[1][:30]
    model = SpanningTreeMultiLabel(C=0.3, random_state=0).fit(X, Y)
    sets = np.array(list(itertools.product((0, 1), repeat=5)))
    own = model.labelling_scores(X, Y)
    worst = np.max(
        [model.labelling_scores(X, np.tile(y, (30, 1))) + (y != Y).mean(axis=1) for y in sets],
        axis=0,
    )
    slack = 0.3 * np.maximum(worst - own, 0.0).sum()
    assert_allclose(model.edge_weights_.sum(), 2 * 4)
    assert_allclose(model.edge_weights_, model.edge_weights_.T)
    assert slack < model.objective_
    # F is linear in the moments: the norm is half the margin that they give in sum
    signs = model.moments_
    K = X[model.support_] @ X[model.support_].T + 1.0
    pairs = label_pairs(5)
    lam = model.edge_weights_[pairs.first, pairs.second] / 4 / 4
    nodes = np.bincount(pairs.first, lam, 5) + np.bincount(pairs.second, lam, 5)
    squares = np.einsum("kf,kl,lf->f", signs, K, signs)
    half = 0.5 * np.sum(squares / np.concatenate([nodes, lam]))
    assert_allclose(half + slack, model.objective_, rtol=1e-8)


@pytest.mark.parametrize("make", MODELS)
def test_forms_of_input_do_not_matter(chain, make):
    X, Y = chain[0][:60], chain[1][:60]
    dense = make(random_state=0).fit(X, Y)
    for labels in (sp.csr_array(Y), sp.coo_matrix(Y), Y.astype(bool), Y.astype(float), Y.tolist()):
        assert make(random_state=0).fit(X, labels).objective_ == dense.objective_
    sparse = make(random_state=0).fit(sp.csr_array(X), Y)
    gram = make(kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=0.2), Y)
    rbf = make(kernel="rbf", gamma=0.2, n_jobs=2, random_state=0).fit(X, Y)
    # kernels differ by rounding, after which visits may part ways: each end is within its gap
    for one, other in ((sparse, dense), (gram, rbf)):
        apart = abs(one.objective_ - other.objective_)
        assert apart <= max(one.duality_gap_, other.duality_gap_)
    assert (sparse.predict(sp.csr_array(X)) == dense.predict(X)).mean() > 0.95
    assert (gram.predict(rbf_kernel(X, gamma=0.2)) == rbf.predict(X)).mean() > 0.95
    assert (sparse.predict(X) == sparse.predict(sp.csr_array(X))).all()


def test_permuted_labels_permute_the_weights(chain):
    X, Y = chain
    order = np.array([3, 0, 4, 1, 2])
    plain = SpanningTreeMultiLabel(C=0.1, tol=1e-5, max_outer=400, random_state=0).fit(X, Y)
    other = SpanningTreeMultiLabel(C=0.1, tol=1e-5, max_outer=400, random_state=0)
    other.fit(X, Y[:, order])
    # both objectives are within their gaps of one optimum
    assert abs(plain.objective_ - other.objective_) <= max(plain.duality_gap_, other.duality_gap_)
    assert_allclose(other.edge_weights_, plain.edge_weights_[np.ix_(order, order)], atol=0.1)


@pytest.mark.parametrize("scale", [1e5, 1e-5])
def test_a_rescaled_kernel_with_a_rescaled_price_is_the_same_problem(chain, scale):
    X, Y = chain[0][:40], chain[1][:40]
    plain = SpanningTreeMultiLabel(random_state=0).fit(X, Y)
    other = SpanningTreeMultiLabel(C=1 / scale**2, intercept_scaling=scale, random_state=0).fit(
        scale * X, Y
    )
    assert_allclose(other.objective_ * scale**2, plain.objective_, rtol=1e-3)
    assert (other.predict(scale * X) == plain.predict(X)).mean() > 0.98


def test_planted_pairs_are_found_and_need_the_constant():
    found = {}
    X, Y, edges = make_label_chain(1000, random_state=100)
    true = np.zeros((10, 10))
    true[edges[:, 0], edges[:, 1]] = 1.0
    pairs = np.triu_indices(10, 1)
    for constant in (1.0, 0.0):
        model = SpanningTreeMultiLabel(C=0.1, intercept_scaling=constant, random_state=0)
        model.fit(X, Y)
        found[constant] = roc_auc_score(true[pairs], model.edge_weights_[pairs])
    # Without any relation the area has mean 1/2 and deviation √(46 / (12 · 9 · 36)) = 0.11.
    assert found[1.0] > 0.5 + 4 * 0.11
    assert found[0.0] < 0.5 + 2.5 * 0.11


def test_max_marginals_are_those_of_enumeration():
    random = np.random.RandomState(0)
    n, pairs = 6, label_pairs(6)
    from octavo.engine.graphs.spanning import random_tree
    from octavo.structured.label_trees.parities import parities
    from octavo.structured.label_trees.tree_weights import pair_numbers

    tree = random_tree(n, random)
    coefficients = np.zeros((5, 21))
    coefficients[:, :n] = random.standard_normal((5, n))
    coefficients[:, n + pair_numbers(tree, n)] = random.standard_normal((5, n - 1))
    sets = np.array(list(itertools.product((0, 1), repeat=n)))
    totals = coefficients @ parities(sets, pairs).T.astype(float)
    expected = np.array(
        [
            totals[:, sets[:, i] == 1].max(axis=1) - totals[:, sets[:, i] == 0].max(axis=1)
            for i in range(n)
        ]
    ).T
    assert_allclose(tree_max_marginals(coefficients, tree, pairs), expected, atol=1e-10)


def test_chow_liu_is_the_heaviest_tree_of_mutual_information(chain):
    import networkx as nx
    from sklearn.metrics import mutual_info_score

    Y = chain[1]
    graph = nx.Graph()
    for i, j in itertools.combinations(range(5), 2):
        value = mutual_info_score(Y[:, i], Y[:, j])
        assert_allclose(pair_informations(Y)[i, j], value, atol=1e-12)
        graph.add_edge(i, j, weight=value)
    expected = {frozenset(e) for e in nx.maximum_spanning_tree(graph).edges}
    parent = chow_liu_label_tree(sp.csr_array(Y))
    assert {frozenset((v, p)) for v, p in enumerate(parent.tolist()) if p >= 0} == expected
    assert parent[0] == -1


def test_exponential_weights_follow_the_printed_recursion():
    random = np.random.default_rng(0)
    votes, Y = random.integers(0, 2, (3, 20, 4)), random.integers(0, 2, (20, 4))
    before = np.array([1.0, 0.5, 2.0])
    choice = exponential_weights_choice(votes, Y, before, learning_rate=0.5)
    v = np.exp(-0.5 * before) / np.exp(-0.5 * before).sum()
    for t in range(20):
        assert_allclose(choice.weights[t], v)
        assert (choice.predictions[t] == (v @ votes[:, t] >= 0.5)).all()
        v = v * np.exp(-0.5 * (votes[:, t] != Y[t]).mean(axis=1))
        v /= v.sum()
    assert_allclose(choice.weights[-1], v)
    # the bound of exponential weights on the mean loss of its experts
    best = (votes != Y).mean(axis=2).sum(axis=1).min()
    mean = np.einsum("tj,jt->", choice.weights[:-1], (votes != Y).mean(axis=2))
    assert mean <= best + (np.log(3) + 0.5 * 1.5) / 0.5 + 0.5 * 20 / 8


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predictions": np.zeros((2, 3))}, "shape"),
        ({"Y": np.full((3, 2), 2)}, "0 and 1"),
        ({"learning_rate": 0.0}, "positive"),
        ({"training_losses": [1.0]}, "one per expert"),
    ],
)
def test_bad_expert_input_is_named(change, words):
    good = {"predictions": np.zeros((2, 3, 2), int), "Y": np.zeros((3, 2), int)}
    with pytest.raises(ValueError, match=words):
        exponential_weights_choice(**(good | change))


@pytest.mark.parametrize("make", MODELS)
def test_labels_that_cannot_be_used(chain, make):
    X, Y = chain[0][:20], chain[1][:20].copy()
    model = make(tol=0.05, random_state=0)
    with pytest.raises(ValueError, match="at least two labels"):
        model.fit(X, Y[:, :1])
    with pytest.raises(ValueError, match="one column per label"):
        model.fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="0 and 1 only"):
        model.fit(X, Y + 1)
    with pytest.raises(ValueError, match="0 and 1 only"):
        model.fit(X, np.where(Y > 0, np.nan, 0.0))
    with pytest.raises(ValueError, match="0 and 1 only"):
        model.fit(X, np.full(Y.shape, "word"))
    with pytest.raises(ValueError, match="k_best"):
        make(k_best=0).fit(X, Y)
    Y[:, 2] = 1
    with pytest.warns(UserWarning, match=r"Label\(s\) \[2\]"):
        fitted = model.fit(X, Y)
    assert (fitted.predict(X)[:, 2] == 1).all()
    with pytest.raises(ValueError, match="rows of 5 labels"):
        fitted.labelling_scores(X, Y[:, :3])
    repeated = sp.csr_array((np.ones(4), ([0, 0, 1, 2], [0, 0, 1, 2])), shape=(20, 5))
    with pytest.raises(ValueError, match="0 and 1 only"):  # two entries at one place make a 2
        model.fit(X, repeated)


@pytest.mark.parametrize("make", MODELS)
def test_tags_and_checks_for_label_sets(make):
    tags = get_tags(make())
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.multi_output
    model = make(tol=0.05, random_state=0)
    check_classifiers_multilabel_output_format_predict(make.__name__, model)
    check_classifiers_multilabel_representation_invariance(make.__name__, model)
