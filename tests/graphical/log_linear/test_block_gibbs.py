"""Blocks of variables that are drawn together: the law is that of the exact answer."""

import numpy as np
import pytest

from octavo.graphical import LogLinearMarkovNetwork

# Columns 0 to 2 code one of four letters; columns 3 to 5 that of a neighbour, mostly the same.
CARDS = [2] * 6
FORBIDDEN = [
    [(a, "==", 1), (b, "==", 1)] for g in (0, 3) for a in range(g, g + 3) for b in range(g, a)
]
SAME = [[(k, "==", 1), (k + 3, "==", 1)] for k in range(3)]


def one_hot_network(strength):
    features = [*FORBIDDEN, *SAME, *[[(k, "==", 1)] for k in range(6)]]
    weights = [-12.0] * len(FORBIDDEN) + [strength] * 3 + [0.3, -0.2, 0.1, 0.0, 0.2, -0.1]
    return LogLinearMarkovNetwork(features, weights, CARDS)


@pytest.mark.parametrize("blocks", [[[0, 1, 2], [3, 4, 5]], [[5, 0]], [list(range(6))]])
def test_marginals_are_those_of_the_junction_tree(blocks):
    network = one_hot_network(1.5)
    X = np.array([[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]])
    network_query = [0, 1, 2, 4]
    exact = network.conditional_marginals(X, network_query, "exact")
    sampled = network.conditional_marginals(
        X, network_query, blocks=blocks, n_iter=4100, random_state=0
    )
    # 40,000 correlated Rao-Blackwell draws: 0.02 is several standard errors where blocks mix
    if [0, 1, 2] in blocks or len(blocks[0]) == 6:
        np.testing.assert_allclose(sampled, exact, atol=0.02)
    np.testing.assert_allclose(sampled.sum(axis=2), 1.0, atol=1e-12)


def test_blocks_move_where_single_columns_stand_still():
    network = one_hot_network(6.0)
    single = network.conditional_marginals(
        np.zeros((1, 6), int), [0, 1, 2], n_chains=1, n_iter=300, burn_in=0, random_state=3
    )
    both = [[0, 1, 2, 3, 4, 5]]
    joint = network.conditional_marginals(
        np.zeros((1, 6), int), [0, 1, 2], n_chains=1, n_iter=300, burn_in=0, blocks=both,
        random_state=3,
    )  # fmt: skip
    exact = network.conditional_marginals(np.zeros((1, 6), int), [0, 1, 2], "exact")
    assert np.abs(joint - exact).max() < 1e-9 + np.abs(single - exact).max()


def test_samples_of_blocks_keep_the_coding(monkeypatch):
    from octavo.graphical.log_linear import queries

    monkeypatch.setattr(queries, "ENUMERATED", 0)
    X = one_hot_network(1.5).sample(2000, random_state=0, blocks=[[0, 1, 2], [3, 4, 5]])
    assert (X[:, :3].sum(axis=1) <= 1).mean() > 0.999
    exact = one_hot_network(1.5).conditional_marginals(np.zeros((1, 6), int), range(6), "exact")
    np.testing.assert_allclose(X.mean(axis=0), exact[0, :, 1], atol=5 / np.sqrt(4 * 2000))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ("all", "must list groups"),
        ([[0, 7]], "from 0 to 5"),
        ([[0, 1], [1, 2]], "Column 1 is in two blocks"),
        ([[0.5]], "by their numbers"),
        ([[]], "by their numbers"),
    ],
)
def test_bad_blocks(blocks, message):
    with pytest.raises(ValueError, match=message):
        one_hot_network(1.0).conditional_marginals(np.zeros((1, 6), int), [0], blocks=blocks)


def test_blocks_with_too_many_states_are_refused():
    network = LogLinearMarkovNetwork([[(0, "==", 1)]], [1.0], [2] * 13)
    with pytest.raises(ValueError, match="joint states"):
        network.conditional_marginals(np.zeros((1, 13), int), [0], blocks=[list(range(13))])
