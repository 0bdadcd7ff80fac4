"""The surrogate against scikit-learn's logistic regression and its own optimality."""

import networkx as nx
import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from octavo.search import ConditionalExponentialFamily, weisfeiler_lehman_kernel
from octavo.search.de_novo.surrogate import choose_alpha, fit_family

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
W = RNG.uniform(1.0, 20.0, 60)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_two_labels_equal_logistic_regression(alpha):
    y = (X[:, 0] + RNG.standard_normal(60) > 0).astype(int)
    ours = ConditionalExponentialFamily("linear", alpha=alpha).fit(X, y, sample_weight=W)
    peer = LogisticRegression(C=1 / (60 * alpha), fit_intercept=False, tol=1e-12, max_iter=10_000)
    peer.fit(X, y, sample_weight=W)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    logs = log_softmax(np.column_stack([np.zeros(60), X @ peer.coef_[0]]), axis=1)
    norm = float(peer.coef_[0] @ peer.coef_[0]) / 2
    objective = -(W * logs[np.arange(60), y]).mean() + alpha * norm
    assert ours.objective_ == pytest.approx(objective, rel=1e-8)
    assert ours.theta_norm_ == pytest.approx(np.sqrt(norm), rel=1e-5)


def test_kernel_features_equal_logistic_regression():
    y = (np.sin(2 * X[:, 0]) > 0).astype(int)
    K = np.exp(-0.25 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0))
    peer = LogisticRegression(C=1 / (60 * 0.01), fit_intercept=False, tol=1e-12, max_iter=10_000)
    peer.fit(features, y, sample_weight=W)
    for kernel, rows in (("rbf", X), ("precomputed", K)):
        ours = ConditionalExponentialFamily(kernel, alpha=0.01).fit(rows, y, W)
        np.testing.assert_allclose(
            ours.predict_proba(rows), peer.predict_proba(features), atol=1e-6
        )


def test_three_labels_equal_multinomial_regression():
    y = np.digitize(X[:, 0] + 0.5 * RNG.standard_normal(60), [-0.5, 0.5])
    ours = ConditionalExponentialFamily("linear", alpha=0.05).fit(X, y, sample_weight=W)
    peer = LogisticRegression(
        C=1 / (2 * 60 * 0.05), fit_intercept=False, tol=1e-12, max_iter=10_000
    ).fit(X, y, sample_weight=W)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_sets_of_labels_share_their_entries():
    """The joint kernel k(x, x') |y ∩ y'| by a feature for each elementary property."""
    binds, solves = X[:, 0] > 0, X[:, 1] > 0
    y = [frozenset(["b"] * bool(b) + ["s"] * bool(s)) for b, s in zip(binds, solves)]
    ours = ConditionalExponentialFamily("linear", alpha=0.05).fit(X, y, sample_weight=W)
    B = np.array([["b" in c, "s" in c] for c in ours.classes_], dtype=float)
    codes = np.array([list(ours.classes_).index(label) for label in y])
    theta = X.T @ ours.dual_coef_  # features of x against the four labels
    p = softmax(X @ theta, axis=1)
    chosen = np.eye(4)[codes]
    # scores are X M B' for a 4 x 2 matrix M, whose gradient must vanish
    M = theta @ np.linalg.pinv(B.T)
    np.testing.assert_allclose(M @ B.T, theta, atol=1e-8)
    gradient = X.T @ (W[:, None] * (p - chosen)) @ B / 60 + 2 * 0.05 * M
    assert np.abs(gradient).max() < 1e-6
    assert ours.predict(X)[0] in y


def test_graphs_need_no_table():
    graphs = [nx.path_graph(n) for n in range(3, 9)] + [nx.star_graph(n) for n in range(3, 9)]
    y = np.repeat([0, 1], 6)
    model = ConditionalExponentialFamily(weisfeiler_lehman_kernel, alpha=1e-4).fit(graphs, y)
    assert (model.predict(graphs) == y).all()
    with pytest.raises(ValueError, match="rows and"):
        ConditionalExponentialFamily(lambda a, b: np.ones((1, 1))).fit(graphs, y)
    with pytest.raises(ValueError, match="positive semidefinite"):
        ConditionalExponentialFamily("precomputed").fit(-np.eye(12), y)


def test_weights_are_repetitions():
    y = (X[:, 0] > 0).astype(int)
    twice = np.r_[np.arange(60), np.arange(20)]
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    one = fit_family(X, y, weights, 0.1)
    two = fit_family(X[twice], y[twice], np.ones(80), 0.1 * 60 / 80)
    np.testing.assert_allclose(one.theta, two.theta, atol=1e-8)


def test_importance_weights_mend_the_sampling():
    """Misspecified surrogate: with weights 1/p its parameter tends to that of the whole law."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (40_000, 1))
    y = (rng.random(40_000) < np.where(x[:, 0] < 0, 0.9, 0.6)).astype(int)
    keep = rng.random(40_000) < (p := 1 / (1 + np.exp(-2 * x[:, 0])))
    whole = fit_family(x, y, np.ones(40_000), 1e-9).theta[0, 1]
    mended = fit_family(x[keep], y[keep], 1 / p[keep], 1e-9).theta[0, 1]
    biased = fit_family(x[keep], y[keep], np.ones(keep.sum()), 1e-9).theta[0, 1]
    # seldom kept rows on the left pull down, rows on the right up; standard errors near 0.01
    assert whole < 0 < biased
    assert abs(mended - whole) < 0.05 < abs(biased - whole)


def test_folds_choose_the_penalty():
    y = (X[:, 0] > 0).astype(int)
    noise = RNG.permutation(y)
    alphas = 10.0 ** np.arange(-6.0, 3.0)
    clear = choose_alpha(X, y, np.ones(60), alphas, random_state=0)
    unclear = choose_alpha(X, noise, np.ones(60), alphas, random_state=0)
    assert clear <= 0.01 < unclear
    assert choose_alpha(X, np.zeros(60, int), np.ones(60), alphas) == alphas[-1]


def test_penalties_are_chosen_on_weighted_answers():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    y[40:] = rng.permutation(y[40:])  # the second half says nothing
    alphas = 10.0 ** np.arange(-5.0, 2.0)
    weights = np.where(np.arange(80) < 40, 1.0, 1e-6)
    clear = choose_alpha(X, y, weights, alphas, random_state=0)
    vague = choose_alpha(X, y, weights[::-1].copy(), alphas, random_state=0)
    assert clear <= 1e-3 < 1e-1 <= vague
