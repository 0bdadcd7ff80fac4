"""The refitted graphical lasso beside scikit-learn's lasso and scipy's normal density."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import graphical_lasso

from octavo.data import make_sparse_precision
from octavo.graphical import RefitGraphicalLasso


def rows(n=200, d=8, seed=0):
    return make_sparse_precision(d, n, graph="band", random_state=seed).X * np.arange(1, d + 1)


def test_graph_is_the_lassos_and_moments_agree_on_it():
    X = rows()
    model = RefitGraphicalLasso(0.2, tol=1e-7).fit(X)
    R = np.corrcoef(X, rowvar=False)
    theirs = graphical_lasso(R, 0.2, tol=1e-4, max_iter=1000)[1]
    off = ~np.eye(8, dtype=bool)
    np.testing.assert_array_equal(model.adjacency_, (np.abs(theirs) > 1e-8) & off)
    # The maximum under a pattern (Dempster): moments agree on it, zeros of the precision off it.
    S = np.cov(X, rowvar=False, ddof=0)
    on = model.adjacency_ | ~off
    np.testing.assert_allclose(model.covariance_[on], S[on], rtol=1e-6)
    assert (model.precision_[~on] == 0).all()
    np.testing.assert_allclose(model.precision_ @ model.covariance_, np.eye(8), atol=1e-7)
    expected = multivariate_normal(model.location_, model.covariance_).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, atol=1e-6)


def test_the_choice_on_a_second_part():
    X = rows(400)
    second = np.arange(200, 400)
    model = RefitGraphicalLasso(holdout=second).fit(X)
    best = model.heldout_scores_[:, 1].argmax()
    assert model.alpha_ == model.alphas_[best]
    assert model.score(X[second]) == pytest.approx(model.heldout_scores_[best, 1])
    assert model.n_edges_ == model.n_edges_path_[best]
    assert model.n_edges_path_[0] == 0
    again = RefitGraphicalLasso(holdout=second, refit=True).fit(X)
    fixed = RefitGraphicalLasso(model.alpha_).fit(X)
    np.testing.assert_allclose(again.precision_, fixed.precision_, rtol=1e-4, atol=1e-8)


def test_no_maximum_is_met_by_a_sentence():
    with pytest.raises(ValueError, match="no maximum"):
        RefitGraphicalLasso(0.01).fit(np.random.RandomState(0).normal(size=(5, 12)))
    with pytest.raises(ValueError, match="Column 0 is constant"):
        RefitGraphicalLasso(0.1).fit(np.column_stack([np.ones(30), np.arange(30.0)]))


def test_columns_that_determine_each_other_are_said():
    X = np.random.default_rng(0).standard_normal((200, 3))
    with pytest.warns(UserWarning, match="The path ends at 0 edges"):
        model = RefitGraphicalLasso(random_state=0).fit(np.column_stack([X, X[:, 0]]))
    assert model.n_edges_ == 0
