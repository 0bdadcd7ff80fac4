"""Covariance selection: the likelihood equations, decomposable graphs in closed form, scale."""

import networkx as nx
import numpy as np
import pytest

from octavo.engine.glasso.pattern_mle import pattern_mle


def sample(d, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    return np.cov(X.T, bias=True)


def random_pattern(d, chance, seed):
    upper = np.triu(np.random.default_rng(seed).random((d, d)) < chance, 1)
    return upper | upper.T


@pytest.mark.parametrize("chance", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_covariance_agrees_on_the_pattern_and_precision_is_zero_off_it(chance, seed):
    S, pattern = sample(8, 60, seed), random_pattern(8, chance, seed)
    fit = pattern_mle(S, pattern)
    whole = pattern | np.eye(8, dtype=bool)
    np.testing.assert_allclose(fit.covariance[whole], S[whole], rtol=1e-7, atol=1e-8)
    assert (fit.precision[~whole] == 0).all()
    np.testing.assert_allclose(fit.precision @ fit.covariance, np.eye(8), atol=1e-8)
    assert fit.residual <= 1e-9


def test_a_decomposable_pattern_has_the_closed_form():
    """Lauritzen (1996), Proposition 5.9: cliques less separators."""
    S = sample(5, 40, 0)
    cliques, separators = [[0, 1, 2], [1, 2, 3], [3, 4]], [[1, 2], [3]]
    pattern = np.zeros((5, 5), dtype=bool)
    expected = np.zeros((5, 5))
    for clique in cliques:
        pattern[np.ix_(clique, clique)] = True
        expected[np.ix_(clique, clique)] += np.linalg.inv(S[np.ix_(clique, clique)])
    for separator in separators:
        expected[np.ix_(separator, separator)] -= np.linalg.inv(S[np.ix_(separator, separator)])
    np.testing.assert_allclose(pattern_mle(S, pattern).precision, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_units_do_not_matter(factor):
    S, pattern = sample(6, 50, 1), nx.to_numpy_array(nx.cycle_graph(6)) > 0
    units = factor ** np.array([0, 1, 0, 1, 0, 1])
    plain = pattern_mle(S, pattern).precision
    moved = pattern_mle(S * np.outer(units, units), pattern).precision
    np.testing.assert_allclose(moved * np.outer(units, units), plain, rtol=1e-6, atol=1e-10)


def test_fewer_rows_than_columns_suffice_on_a_sparse_pattern():
    S, pattern = sample(12, 6, 2), nx.to_numpy_array(nx.path_graph(12)) > 0
    fit = pattern_mle(S, pattern)
    assert np.linalg.eigvalsh(fit.precision)[0] > 0
    assert fit.residual < 1e-9


def test_a_pattern_without_maximum_is_said():
    S = sample(6, 3, 0)
    with pytest.raises(ValueError, match="no maximum under this pattern"):
        pattern_mle(S, np.ones((6, 6), dtype=bool))
