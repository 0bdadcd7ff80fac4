"""A lasso from second moments is scikit-learn's lasso."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LassoLars

from octavo.engine.proximal.gram_lasso import gram_lasso, gram_lasso_kkt


def data(seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((30, 6)), rng.standard_normal((30, 4))


def test_columns_are_lassos():
    X, Y = data()
    G, B = (X.T @ X / 30)[None], (X.T @ Y / 30)[None]
    W = gram_lasso(G, B, 0.2)[0]
    for c in range(4):
        ours = Lasso(0.1, fit_intercept=False, tol=1e-14).fit(X, Y[:, c]).coef_
        assert W[:, c] == pytest.approx(ours, abs=1e-8)
    assert gram_lasso_kkt(G, B, 0.2, W[None]) < 1e-9
    assert gram_lasso_kkt(G, B, 0.2, W[None] + 0.01) > 1e-3


def test_groups_stand_alone_and_a_start_changes_nothing():
    moments = [(X.T @ X / 30, X.T @ Y / 30) for X, Y in (data(1), data(2))]
    G, B = (np.array(part) for part in zip(*moments, strict=True))
    both = gram_lasso(G, B, 0.1)
    assert both[1] == pytest.approx(gram_lasso(G[1:], B[1:], 0.1)[0], abs=1e-9)
    again = gram_lasso(G, B, 0.1, np.ones_like(B))
    assert again == pytest.approx(both, abs=1e-8)


def test_no_penalty_is_least_squares_also_without_full_rank():
    X, Y = data()
    X = np.hstack([X, X[:, :1]])
    W = gram_lasso((X.T @ X)[None], (X.T @ Y)[None], 0.0)[0]
    assert pytest.approx(np.linalg.lstsq(X, Y, rcond=None)[0], abs=1e-8) == W


@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5])
def test_many_more_coefficients_than_rows(alpha):
    rng = np.random.RandomState(3)
    X, Y = np.abs(rng.standard_normal((5, 60))), rng.standard_normal((5, 4))
    value = 0.0
    for c in range(4):
        w = LassoLars(alpha / 2, fit_intercept=False).fit(X, Y[:, c]).coef_
        value += ((X @ w - Y[:, c]) ** 2).sum() / 5 + alpha * np.abs(w).sum()
    G, B = (X.T @ X / 5)[None], (X.T @ Y / 5)[None]
    W = gram_lasso(G, B, alpha)
    ours = ((X @ W[0] - Y) ** 2).sum() / 5 + alpha * np.abs(W).sum()
    assert ours == pytest.approx(value, rel=1e-8)
    # every coefficient nearly twice: flat directions
    X = np.hstack([X, X * (1.0 + 1e-6)])
    G, B = (X.T @ X / 5)[None], (X.T @ Y / 5)[None]
    # a sweep that moves no slope by 1e-10 of the largest may leave a few times that for each of 120
    assert gram_lasso_kkt(G, B, alpha, gram_lasso(G, B, alpha)) < 1e-7 * np.abs(B).max()
