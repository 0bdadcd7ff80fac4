"""The masked graphical lasso against cvxpy, scikit-learn and closed forms."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso

from octavo.graphical import (
    MaskedGraphicalLasso,
    gaussian_mle,
    junction_tree,
    make_weak_edge_network,
    masked_graphical_lasso,
)


def problem(seed, d=7, n=40):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** rng.uniform(-1, 1, d)
    S = np.cov(X, rowvar=False, bias=True)
    upper = np.triu(rng.uniform(size=(d, d)) < 0.6, 1)
    asked = np.triu(rng.uniform(size=(d, d)) < 0.6, 1) & upper
    return S, upper | upper.T, asked | asked.T


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_cvxpy(seed):
    cp = pytest.importorskip("cvxpy")
    S, allowed, asked = problem(seed)
    units = np.sqrt(np.diag(S))
    R = S / np.outer(units, units)
    alpha, d = 0.1, len(S)
    Theta = cp.Variable((d, d), symmetric=True)
    value = (
        cp.log_det(Theta)
        - cp.trace(R @ Theta)
        - alpha * cp.sum(cp.multiply(asked.astype(float), cp.abs(Theta)))
    )
    zero = ~allowed & ~np.eye(d, dtype=bool)
    cp.Problem(cp.Maximize(value), [cp.multiply(zero.astype(float), Theta) == 0]).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
    )
    fit = masked_graphical_lasso(R, alpha, allowed, asked)
    assert abs(fit.objective - value.value) <= 1e-6
    # cvxpy's value is good to 1e-11, its point to the root of that, 3e-6
    np.testing.assert_allclose(fit.precision, Theta.value, atol=1e-5)
    assert 0 <= fit.duality_gap <= 1e-6
    assert (fit.precision[zero] == 0).all()
    np.testing.assert_allclose(fit.covariance @ fit.precision, np.eye(d), atol=1e-9)


@pytest.mark.parametrize("seed", [3, 4])
def test_optimality_conditions(seed):
    S, allowed, asked = problem(seed)
    alpha = 0.05 * np.sqrt(np.outer(np.diag(S), np.diag(S)))[asked].min()
    fit = masked_graphical_lasso(S, alpha, allowed, asked, tol=1e-11)
    off = fit.covariance - S
    scale = np.sqrt(np.outer(np.diag(S), np.diag(S)))
    free = (allowed & ~asked) | np.eye(len(S), dtype=bool)
    assert np.abs(off / scale)[free].max() < 1e-6
    assert (np.abs(off) - alpha)[asked].max() < 1e-6 * scale.max()
    joined = asked & (fit.precision != 0)
    assert np.abs((off - alpha * np.sign(fit.precision)) / scale)[joined].max() < 1e-6


def test_full_masks_are_the_graphical_lasso():
    S = np.corrcoef(problem(5)[0])
    expected = graphical_lasso(S, 0.15, tol=1e-10, enet_tol=1e-10, max_iter=500)[1]
    np.testing.assert_allclose(masked_graphical_lasso(S, 0.15).precision, expected, atol=1e-5)


def test_without_penalty_a_chordal_mask_has_a_closed_form():
    S = problem(6)[0]
    chordal = np.zeros((7, 7), dtype=bool)
    for cluster in ([0, 1, 2], [1, 2, 3], [3, 4], [5, 6]):
        chordal[np.ix_(cluster, cluster)] = True
    tree = junction_tree(chordal)
    expected = np.zeros_like(S)
    for sign, parts in ((1.0, tree.clusters), (-1.0, tree.separators)):
        for part in parts:
            at = np.ix_(sorted(part), sorted(part))
            expected[at] += sign * np.linalg.inv(S[at])
    for found in (
        masked_graphical_lasso(S, 0.0, chordal, tol=1e-11).precision,
        gaussian_mle(S, chordal),
    ):
        size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.abs((found - expected) / size).max() < 1e-6


def test_units_do_not_matter_to_the_selector():
    sample = make_weak_edge_network("CY1", 200, 0, n_features=15, n_weak=3)
    plain = MaskedGraphicalLasso().fit(sample.X)
    units = 10.0 ** np.linspace(-5, 5, 15)
    moved = MaskedGraphicalLasso().fit(sample.X * units + 3.0 * units)
    assert (plain.adjacency_ == moved.adjacency_).all()
    np.testing.assert_allclose(plain.precision_, moved.precision_ * np.outer(units, units), 1e-6)
    raw = MaskedGraphicalLasso(0.2, standardize=False).fit(sample.X)
    S = np.cov(sample.X, rowvar=False, bias=True)
    expected = masked_graphical_lasso(S, 0.2).precision
    assert ((expected != 0) == (raw.precision_ != 0)).all()
    np.testing.assert_allclose(raw.precision_, expected, atol=0.02)


def test_criteria_and_a_penalty_of_ones_own():
    X = make_weak_edge_network("CH1", 300, 0, n_features=15, n_weak=5).X
    n_edges = [
        MaskedGraphicalLasso(gamma=gamma).fit(X).adjacency_.sum() // 2 for gamma in (0.0, 0.5, 5.0)
    ]
    assert n_edges[0] >= n_edges[1] >= n_edges[2]
    assert MaskedGraphicalLasso(1.0).fit(X).adjacency_.sum() == 0
    shrunken = MaskedGraphicalLasso(refit=False).fit(X)
    assert shrunken.score_ < MaskedGraphicalLasso().fit(X).score_


def test_bad_input():
    S = np.corrcoef(np.random.RandomState(0).standard_normal((5, 4)))  # 5 variables, rank 3
    with pytest.raises(ValueError, match="unbounded"):
        masked_graphical_lasso(S, 0.1, penalised=np.zeros((5, 5)))
    with pytest.raises(ValueError, match="unbounded"):
        masked_graphical_lasso(S, 0.0)
    twins = np.eye(5)
    twins[1, 3] = twins[3, 1] = 1.0
    with pytest.raises(ValueError, match=r"look at variable [13]\)"):
        masked_graphical_lasso(twins, 0.0)
    assert masked_graphical_lasso(S, 0.1).duality_gap < 1e-6  # penalised it has a solution
    mask = np.zeros((5, 5))
    mask[0, 1] = 1
    with pytest.raises(ValueError, match=r"allowed must be symmetric: entry \(0, 1\)"):
        masked_graphical_lasso(S, 0.1, mask)
    with pytest.raises(ValueError, match="shape"):
        masked_graphical_lasso(S, 0.1, np.ones((4, 4)))
    with pytest.raises(ValueError, match="alpha"):
        masked_graphical_lasso(S, -1.0)
    with pytest.raises(ValueError, match="symmetric"):
        masked_graphical_lasso(np.array([[1.0, 0.5], [0.1, 1.0]]), 0.1)
    with pytest.raises(ValueError, match="positive diagonal: variable 1"):
        gaussian_mle(np.diag([1.0, 0.0]), np.ones((2, 2)))
