"""Selectors for categories."""

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from octavo.graphical import DiscretePCSkeletonUGMS, IsingNeighbourhoodLasso, JunctionTreeUGMS
from octavo.graphical.junction_selection.discrete import Codes, g_square

CHAIN = {(v, v + 1) for v in range(7)}


def coins(seed, n=800, d=8, flip=0.25):
    rng = np.random.RandomState(seed)
    return np.cumsum(rng.uniform(size=(n, d)) < flip, axis=1) % 2


def test_g_square_by_scipy():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randint(0, k, 300) for k in (3, 2, 4)]).astype(float)
    X[:, 1] = (X[:, 1] + (X[:, 0] > 1)) % 2
    data = Codes(X)
    table = np.array([[((X[:, 0] == a) & (X[:, 1] == b)).sum() for b in (0, 1)] for a in range(3)])
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    statistic, p = g_square(data, 0, 1, ())
    assert statistic == pytest.approx(expected.statistic)
    assert p == pytest.approx(expected.pvalue)
    parts = [g_square(Codes(X[X[:, 2] == c]), 0, 1, ())[0] for c in range(4)]
    statistic, p = g_square(data, 0, 1, (2,))
    assert statistic == pytest.approx(sum(parts))
    assert p == pytest.approx(chi2.sf(sum(parts), 2 * 4))


@pytest.mark.parametrize("base", [DiscretePCSkeletonUGMS(1, 0.001), IsingNeighbourhoodLasso()])
def test_a_chain_of_coins(base):
    X = coins(1)
    names = np.array(["no", "yes"])[X]  # the codes are what a table holds
    assert set(base.fit(X).graph_.edges) == CHAIN
    model = JunctionTreeUGMS(base).fit(3.0 * X + 2.0)
    assert set(model.graph_.edges) == CHAIN
    assert {step.selector for step in model.history_} == {type(base).__name__}
    assert names.shape == X.shape


def test_bad_input():
    X = np.random.RandomState(0).standard_normal((50, 3))
    with pytest.raises(ValueError, match="Column 0 has 50 different values"):
        DiscretePCSkeletonUGMS().fit(X)
    with pytest.raises(ValueError, match="Column 0 must have exactly two values, got 50"):
        IsingNeighbourhoodLasso().fit(X)
