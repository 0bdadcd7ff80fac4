"""Garnet problems and studies."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from octavo.rl import (
    LSTD,
    TD,
    coefficient_path,
    error_curve,
    garnet_evaluators,
    garnet_study,
    lstd_limit,
    make_boyan,
    make_garnet,
)


@pytest.mark.parametrize("seed", range(5))
def test_a_garnet_is_what_its_definition_says(seed):
    garnet = make_garnet(30, 2, 3, 8, random_state=seed)
    assert ((garnet.P > 0).sum(axis=2) == 3).all()
    np.testing.assert_allclose(garnet.P.sum(axis=2), 1.0)
    assert connected_components(garnet.P.sum(axis=0) > 0, connection="strong")[0] == 1
    rewards = garnet.action_rewards()
    np.testing.assert_array_equal(rewards[:, 0], rewards[:, 1])
    for drawn in (rewards, garnet.features):
        assert 0 <= drawn.min() < drawn.max() <= 1


def test_probabilities_are_gaps_of_uniform_cuts():
    P = make_garnet(2000, 1, 2, 1, irreducible=False, random_state=0).P
    gaps = P[P > 0]
    # With one cut a gap is uniform: mean 1/2, variance 1/12, on 4000 dependent pairs.
    assert gaps.mean() == pytest.approx(0.5)
    assert gaps.var() == pytest.approx(1 / 12, rel=0.06)
    policy = make_garnet(2000, 4, 1, 1, irreducible=False, random_state=0).random_policy(0)
    # Gaps of three cuts are Dirichlet(1, 1, 1, 1): mean 1/4, variance 3/80.
    assert policy.var() == pytest.approx(3 / 80, rel=0.06)


def test_equal_seeds_make_equal_garnets():
    one, other = make_garnet(random_state=3), make_garnet(random_state=3)
    np.testing.assert_array_equal(one.P, other.P)
    np.testing.assert_array_equal(one.features, other.features)


def test_error_curve_is_the_error_of_the_path():
    garnet = make_garnet(random_state=0)
    log = garnet.sample(500, garnet.random_policy(0), random_state=1)
    path = coefficient_path(LSTD(0.95, 0.5), log, [100, 500])
    curve = error_curve(LSTD(0.95, 0.5), log, [100, 500], lambda theta: float(theta.sum()))
    np.testing.assert_allclose(curve, path.coefs.sum(axis=1))


def test_divergence_is_an_error_not_a_failure():
    log = make_boyan().sample(3000, random_state=0)
    curve = error_curve(TD(0.95, learning_rate=50.0), log, 3, lambda theta: theta @ theta)
    assert curve[-1] > 1e12
    unbounded = error_curve(
        TD(0.95, learning_rate=50.0), log, 3, lambda theta: np.exp(np.abs(theta).max())
    )
    assert np.isinf(unbounded[-1])


def test_lstd_nears_its_limit_in_a_study():
    garnet = make_garnet(random_state=4)
    pi = garnet.random_policy(0)
    limit = lstd_limit(garnet, pi, lam=0.7).theta
    log = garnet.sample(40_000, pi, random_state=0)
    gap = error_curve(LSTD(0.95, 0.7), log, [400, 40_000], lambda t: np.linalg.norm(t - limit))
    assert gap[1] < 0.5 * gap[0]  # errors fall as one over the root: a tenth is expected


def test_a_small_study_has_all_its_parts():
    every = garnet_evaluators()
    methods = {name: (every[name][0], {"lam": [0.0, 0.7]}) for name in ("LSTD", "TD", "BRM")}
    study = garnet_study(
        off_policy=True, methods=methods, n_tune=3, n_test=2, tune_steps=500, test_steps=1000
    )
    for name in methods:
        first, second = study.tuning[name]
        assert first.mean <= second.mean
        assert first.errors.shape == (3,)
        assert study.curves[name].errors.shape[0] == 2
        assert study.curves[name].times[-1] == 1000
    assert garnet_study(methods=methods, n_tune=1, n_test=0, tune_steps=200).curves == {}


def test_the_grids_are_those_of_the_paper():
    sizes = {
        name: np.prod([len(v) for v in g.values()]) for name, (_, g) in garnet_evaluators().items()
    }
    assert sizes == {
        "LSTD": 5, "LSPE": 5, "FPKF": 5, "BRM": 5, "TD": 45, "gBRM": 45, "TDC": 405, "GTD2": 405
    }  # fmt: skip


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_garnet(0), "n_states must be at least 1"),
        (lambda: make_garnet(5, 1, 6), "branching must lie in 1..n_states = 5, got 6"),
        (lambda: make_garnet(200, 1, 1), "No irreducible chain in 1000 draws"),
        (lambda: garnet_study("huge"), "size must be one of"),
        (lambda: garnet_study(choose="mode"), "'mean' or 'median', got 'mode'"),
        (lambda: garnet_study(n_tune=0), "problems to tune on"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
