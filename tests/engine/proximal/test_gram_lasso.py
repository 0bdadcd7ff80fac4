"""A lasso from second moments is scikit-learn's lasso."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

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
