"""Local scores against the formulas written out, and their invariances."""

import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from octavo.graphical import BayesianNetworkModel, local_score, network_score
from octavo.graphical.network_scores.parent_sets import largest_cell_prior
from tests.graphical.network_oracles import random_table, slow_score, subsets

SCORES = ["bic", "aic", "loglik", "bdeu", "k2"]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_the_formulas(score, seed):
    X = random_table(seed)
    for node in range(X.shape[1]):
        for parents in subsets([v for v in range(X.shape[1]) if v != node])[:12]:
            ours = local_score(X, node, sorted(parents), score, ess=5.0)
            assert ours == pytest.approx(
                slow_score(X, node, sorted(parents), score, 5.0), rel=1e-11, abs=1e-9
            )


def test_general_dirichlet_priors_include_the_named_ones():
    X = random_table(1)
    for node, parents in ((0, [1, 2]), (2, []), (1, [0])):
        shape = [len(np.unique(X[:, v])) for v in (*parents, node)]
        cells = math.prod(shape)

        def alpha(_node, _parents, value=3.0 / cells, shape=shape):
            return np.full(shape, value)

        uniform = [np.full(k, 1 / k) for k in X.max(axis=0) + 1]
        k2, bdeu = (local_score(X, node, parents, s, ess=3.0) for s in ("k2", "bdeu"))
        assert local_score(X, node, parents, "bd", alpha=1.0) == pytest.approx(k2)
        assert local_score(X, node, parents, "bd", alpha=alpha) == pytest.approx(bdeu)
        assert local_score(X, node, parents, "bde", ess=3.0) == pytest.approx(bdeu)
        by_prior = local_score(X, node, parents, "bde", ess=3.0, prior=uniform)
        assert by_prior == pytest.approx(bdeu)


def test_a_model_can_be_the_prior_of_bde():
    X = random_table(2, 3)
    model = BayesianNetworkModel.from_data(X, [(), (0,), (1,)])
    joint = model.joint((1, 2))
    expected = local_score(X, 2, [1], "bd", alpha=lambda *_: 4.0 * joint)
    assert local_score(X, 2, [1], "bde", ess=4.0, prior=model) == pytest.approx(expected)


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_turning_an_arc_that_can_be_turned_changes_no_score(seed):
    """Networks of one equivalence class have equal BIC, AIC and BDeu, but not K2."""
    X = random_table(seed, 4)
    chain, fork, reverse = [(), (0,), (1,), (1,)], [(1,), (), (1,), (1,)], [(1,), (2,), (), (1,)]
    for score in ("bic", "aic", "bdeu"):
        values = [network_score(X, dag, score, ess=2.0) for dag in (chain, fork, reverse)]
        assert values == pytest.approx([values[0]] * 3, rel=1e-11)


def test_k2_tells_equivalent_networks_apart():
    X = random_table(3, 3)
    assert network_score(X, [(), (0,), (1,)], "k2") != pytest.approx(
        network_score(X, [(1,), (2,), ()], "k2"), abs=1e-3
    )


def test_the_score_of_a_network_is_the_sum_over_nodes_and_graphs_are_accepted():
    X = pd.DataFrame(random_table(4, 3), columns=list("abc"))
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    parts = local_score(X, "a") + local_score(X, "b", ["a"]) + local_score(X, "c", ["b"])
    assert network_score(X, graph) == pytest.approx(parts, rel=1e-12)
    assert network_score(X, [(), (0,), (1,)]) == pytest.approx(parts, rel=1e-12)


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(lambda n: sum(n) > 0),
    st.floats(0.01, 3.0),
)
@settings(max_examples=200, deadline=None)
def test_lemmas_5_and_6_bound_what_counts_can_add(counts, alpha_row):
    n = np.array(counts)
    a = np.full(n.size, alpha_row / n.size)
    g = -gammaln(a.sum() + n.sum()) + gammaln((a + n)[n > 0]).sum()
    assert g <= -gammaln(1.4616321449683623) + 1e-12  # 0.1214...
    if n.sum() >= 2:
        assert g <= 1e-12


@given(st.integers(2, 12), st.integers(2, 12), st.floats(1e-6, 1.0))
@settings(max_examples=200, deadline=None)
def test_lemma_8_holds_up_to_the_largest_prior_of_the_node(r, occupied, fraction):
    occupied = min(occupied, r)
    alpha = fraction * largest_cell_prior(r)
    f = gammaln(alpha) - occupied * gammaln(alpha / r)
    assert f <= -occupied * math.log(r) + 1e-9


def test_the_constant_of_the_paper_is_that_of_two_states():
    assert 0.8349 <= largest_cell_prior(2) < 0.8350  # the paper cuts the decimals off
    bounds = [largest_cell_prior(r) for r in range(2, 9)]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda X: local_score(X, 9), "no node 9"),
        (lambda X: local_score(X, 0, score="mdl"), "score must be one of"),
        (lambda X: local_score(X, 0, score="bd", alpha=0.0), "alpha must be positive"),
        (lambda X: local_score(X, 0, [1], "bd", alpha=lambda *_: np.ones(2)), "of shape"),
        (lambda X: local_score(X, 0, score="bde", prior=[[0.5, 0.5]]), "prior"),
        (lambda X: network_score(X, [(1,), (0,), ()]), "cycle: 0 -> 1 -> 0"),
        (lambda X: network_score(X, [(), ()]), "parents of 3 nodes"),
        (lambda X: local_score(X * 0, 0), "single state"),
        (lambda X: local_score(X + 0.5, 0), "continuous"),
    ],
)
def test_bad_input(attempt, words):
    with pytest.raises(ValueError, match=words):
        attempt(random_table(0, 3))
