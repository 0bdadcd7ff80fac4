"""Metrics by hand, and the generator by its description."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.graphical import (
    detect_nodes,
    make_node_perturbed_networks,
    network_column_norms,
    node_network_metrics,
)

KINDS = ("erdos-renyi", "scale-free", "community")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_networks_differ_only_at_perturbed_nodes(kind, seed):
    sample = make_node_perturbed_networks(30, 5, kind, seed, n_networks=3)
    precisions = sample.precisions
    assert (np.linalg.eigvalsh(precisions) >= 0.1 - 1e-9).all()
    for k in (1, 2):
        rows, columns = np.nonzero(np.abs(precisions[0] - precisions[k]) > 1e-12)
        touched = np.isin(rows, sample.perturbed_nodes) | np.isin(columns, sample.perturbed_nodes)
        assert touched.all()
    assert not set(sample.perturbed_nodes) & set(sample.cohub_nodes)
    np.testing.assert_allclose(
        precisions @ sample.covariances, np.repeat(np.eye(30)[None], 3, axis=0), atol=1e-8
    )


@pytest.mark.parametrize("kind", KINDS)
def test_hubs_and_perturbed_nodes_reach_all_others(kind):
    sample = make_node_perturbed_networks(50, 5, kind, 0)
    degree = (np.abs(sample.precisions) > 1e-12).sum(axis=1) - 1
    full = 49 if kind != "community" else 29
    assert (degree[:, sample.cohub_nodes] >= full - 1).all()
    # Co-hubs are drawn later and overwrite nothing but their own rows.
    assert (degree[:, sample.perturbed_nodes].max(axis=0) >= full - 1).all()


def test_communities_do_not_touch():
    sample = make_node_perturbed_networks(100, 5, "community", 0)
    assert not sample.precisions[:, :40, 60:].any()
    assert sample.precisions[:, :60, :60].any()


def test_effects_and_density():
    sample = make_node_perturbed_networks(200, 5, random_state=0, n_perturbed=0, n_cohubs=0)
    upper = sample.precisions[0][np.triu_indices(200, 1)]
    effects = np.abs(upper[upper != 0])
    assert ((effects >= 0.3) & (effects <= 0.6)).all()
    # 19,900 pairs at 2 %: 398 expected, standard deviation 20.
    assert abs(len(effects) - 398) < 100


def test_scale_free_edges_are_counted_by_links():
    sample = make_node_perturbed_networks(
        60, 5, "scale-free", 0, n_perturbed=0, n_cohubs=0, n_links=2
    )
    assert np.count_nonzero(np.triu(sample.precisions[0], 1)) == 2 * 58


def test_samples_have_the_covariance():
    sample = make_node_perturbed_networks(5, [40_000, 3], random_state=0)
    assert (sample.groups == 0).sum() == 40_000
    S = np.cov(sample.X[sample.groups == 0], rowvar=False)
    scale = np.abs(sample.covariances[0]).max()
    # A covariance of n rows is off by about scale·sqrt(2/n) = 0.7 %; ten times that.
    np.testing.assert_allclose(S, sample.covariances[0], atol=0.07 * scale)


def test_generator_says_what_is_wrong():
    with pytest.raises(ValueError, match="must not exceed n_features=3"):
        make_node_perturbed_networks(3, 5, n_perturbed=2, n_cohubs=2)
    with pytest.raises(ValueError, match="'kind'"):
        make_node_perturbed_networks(kind="ring")


def test_metrics_by_hand():
    truth = np.zeros((2, 3, 3))
    truth[:, 0, 1] = truth[:, 1, 0] = 0.5
    estimate = np.zeros((2, 3, 3))
    estimate[0, 0, 1] = estimate[0, 1, 0] = 0.2
    estimate[1, 0, 2] = estimate[1, 2, 0] = 0.4
    estimate[1, 1, 2] = 1e-7  # below the threshold of an edge
    found = node_network_metrics(estimate, truth, found_nodes=[0, 2], true_nodes=[0, 1])
    assert found[:4] == (2, 1, 2, 1)
    assert found.error == pytest.approx(0.3 + np.sqrt(0.25 + 0.16))


def test_diagonals_do_not_count():
    truth = np.repeat(np.eye(4)[None], 2, axis=0)
    found = node_network_metrics(5 * truth, truth)
    assert (found.positive_edges, found.error) == (0, 0.0)


def test_column_norms_by_hand():
    A = np.array([np.diag([1.0, 2, 3]), np.ones((3, 3)), np.zeros((3, 3))])
    np.testing.assert_allclose(network_column_norms(A, of="networks")[1], np.sqrt(2))
    np.testing.assert_allclose(network_column_norms(A)[1], 0.0)  # diag − 0, no diagonal
    assert network_column_norms(A).shape == (3, 3)


def test_detection_rule():
    norms = np.zeros((2, 100))
    norms[0, [3, 8]] = norms[1, [8, 9]] = 1.0
    assert detect_nodes(norms, how="any").tolist() == [3, 8, 9]
    assert detect_nodes(norms, how="all").tolist() == [8]
    assert detect_nodes(np.eye(1, 31)).size == 0  # sqrt(30) < 5.5: nothing can stand out
    assert detect_nodes(np.eye(1, 32)).tolist() == [0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: network_column_norms(np.eye(3)), "three dimensions"),
        (lambda: network_column_norms(np.ones((2, 2, 2)), of="rows"), "of must be"),
        (lambda: detect_nodes(np.ones((1, 3)), how="most"), "how must be"),
        (lambda: node_network_metrics(np.ones((1, 2, 2)), np.ones((2, 2, 2))), "one shape"),
    ],
    ids=["dimensions", "of", "how", "shape"],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
