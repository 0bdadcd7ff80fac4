"""The multinomial preference model beside sums over all pairs."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from octavo.ranking import (
    CRFRankAggregator,
    MultinomialPreferenceModel,
    PairwisePreferences,
    SVDRankAggregator,
)
from octavo.ranking.aggregation.multinomial import (
    JointLikelihood,
    evidence_of,
    fit_scores,
    log_normalizer,
)

TRANSFORMS = ["binary", "rank_difference", "normalized", "log"]


def ranks(seed, n_items=6, n_experts=4, missing=0.25):
    rng = np.random.default_rng(seed)
    truth = np.arange(n_items) + 1.0
    R = (
        np.argsort(
            np.argsort(truth[:, None] + 2 * rng.normal(size=(n_items, n_experts)), axis=0), axis=0
        )
        + 1.0
    )
    R[rng.random(R.shape) < missing] = np.nan
    return R


def brute_log_likelihood(prefs, s, gamma=None, theta=None):
    """Σ Y log P over all ordered pairs, as Sections 2.3 to 2.5 write it."""
    n = len(s)
    width = np.ones((n, n)) if gamma is None else gamma[:, None] + gamma[None, :]
    off = ~np.eye(n, dtype=bool)
    total = 0.0
    for e in range(prefs.n_experts):
        logit = (1.0 if theta is None else theta[e]) * (s[:, None] - s[None, :]) / width
        Y = prefs.to_array(e)
        total += (Y[off] * (logit[off] - np.log(np.exp(logit[off]).sum()))).sum()
    return total


def test_three_ranks_have_the_scores_of_the_closed_form():
    model = MultinomialPreferenceModel().fit([[1.0], [2.0], [3.0]])
    np.testing.assert_allclose(model.scores_, [1.1615, 0, -1.1615], atol=5e-5)
    assert model.ranking_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_base_scores_are_those_of_a_softmax_over_all_pairs(transform):
    R = ranks(0)
    prefs = PairwisePreferences.from_ranks(R, transform)
    model = MultinomialPreferenceModel(transform=transform).fit(R)
    s, n = model.scores_, 6
    off = ~np.eye(n, dtype=bool)
    P = np.where(off, np.exp(s[:, None] - s[None, :]), 0)
    P /= P.sum()
    Y = prefs.to_array()
    # Moments: the model's mean balance of wins is that of the data.
    np.testing.assert_allclose(
        P.sum(axis=1) - P.sum(axis=0), (Y.sum(axis=1) - Y.sum(axis=0)) / Y.sum(), atol=1e-8
    )
    assert model.log_likelihood_ == pytest.approx(brute_log_likelihood(prefs, s), abs=1e-8)
    best = minimize(lambda x: -brute_log_likelihood(prefs, x), np.zeros(n), tol=1e-12)
    np.testing.assert_allclose(s, best.x - best.x.mean(), atol=2e-5)
    assert model.kkt_residual_ < 1e-9
    assert model.log_likelihood_ >= -best.fun - 1e-8


def test_normaliser_and_its_derivatives():
    s = np.random.default_rng(1).normal(size=5) * 3
    off = ~np.eye(5, dtype=bool)
    value, p, q = log_normalizer(s)
    assert value == pytest.approx(np.log(np.exp(s[:, None] - s[None, :])[off].sum()), abs=1e-12)
    numeric = approx_fprime(s, lambda x: log_normalizer(x)[0], 1e-7)
    np.testing.assert_allclose(p - q, numeric, atol=1e-6)
    assert np.isfinite(log_normalizer(s * 1e4)[0])


@pytest.mark.parametrize("variances", [False, True])
@pytest.mark.parametrize("learned", [False, True])
def test_joint_value_and_gradient(variances, learned):
    rng = np.random.default_rng(2)
    several = [PairwisePreferences.from_ranks(ranks(n, n_items=4 + n)) for n in (0, 1)]
    theta = rng.uniform(0.1, 1, 4)
    evidence = [evidence_of(one, by_expert=True, pairs=variances) for one in several]
    joint = JointLikelihood(
        evidence, variances=variances, adherence=None if learned else theta, alpha=0.01
    )
    x = rng.normal(size=joint.n_parameters) * 0.5
    if learned:
        x[-4:] = theta
    value, gradient = joint(x)
    np.testing.assert_allclose(gradient, approx_fprime(x, lambda z: joint(z)[0], 1e-7), atol=1e-6)
    scores, logs, t = joint.parts(x)
    expected = 0.0
    for one, s, beta in zip(several, scores, logs):
        gamma = len(s) * np.exp(beta) / np.exp(beta).sum() if variances else None
        expected += brute_log_likelihood(one, s, gamma, t)
    assert joint.log_likelihood(x) == pytest.approx(expected, abs=1e-8)
    own = x[:-4] if learned else x
    assert value == pytest.approx(-expected / joint.total + 0.005 * own @ own, abs=1e-10)


@pytest.mark.parametrize(("variances", "adherence"), [(False, True), (True, False), (True, True)])
def test_no_parameter_can_be_moved_to_gain_likelihood(variances, adherence):
    R = ranks(5, n_experts=5, missing=0.1)
    prefs = PairwisePreferences.from_ranks(R)
    model = MultinomialPreferenceModel(variances=variances, adherence=adherence, alpha=1e-8)
    model.fit(R)
    gamma = model.variances_ if variances else None
    theta = model.adherence_ if adherence else None
    here = brute_log_likelihood(prefs, model.scores_, gamma, theta)
    assert model.log_likelihood_ == pytest.approx(here, abs=1e-8)
    assert model.kkt_residual_ <= model.tol
    if variances:
        assert gamma.mean() == pytest.approx(1)
    if adherence:
        assert theta.max() == pytest.approx(1)
        assert theta.min() >= 0

    # Central differences: their error is a third derivative times 1e-8, over totals of 138.
    for step in 1e-4 * np.eye(6):
        ahead, behind = (
            brute_log_likelihood(prefs, model.scores_ + sign * step, gamma, theta)
            for sign in (1, -1)
        )
        assert abs(ahead - behind) / 2e-4 / prefs.totals.sum() < 1e-7
    base = MultinomialPreferenceModel().fit(R).log_likelihood_
    assert here > base - 1e-8


def test_scores_turn_round_with_the_preferences():
    R = ranks(7)
    reverse = np.where(np.isnan(R), np.nan, 20 - R)
    one, other = (MultinomialPreferenceModel().fit(table).scores_ for table in (R, reverse))
    np.testing.assert_allclose(one, -other, atol=1e-8)


def test_an_expert_who_speaks_twice_counts_twice():
    R = ranks(8)
    pairs = PairwisePreferences.from_ranks(R).pairs
    weights = pairs.strengths * np.where(pairs.experts == 0, 2, 1)
    rows = np.stack([pairs.preferred, pairs.other], axis=1)
    counted = PairwisePreferences.from_pairs(rows, 6, experts=pairs.experts, weights=weights)
    twice = MultinomialPreferenceModel().fit(np.hstack([R, R[:, :1]]))
    once = MultinomialPreferenceModel().fit(counted)
    np.testing.assert_allclose(twice.scores_, once.scores_, atol=1e-8)


def test_a_one_sided_pair_is_met_by_a_warning():
    with pytest.warns(UserWarning, match="no item both wins and loses"):
        model = MultinomialPreferenceModel().fit(PairwisePreferences.from_pairs([[0, 1]], 2))
    assert np.isfinite(model.scores_).all()
    assert model.scores_[0] > 0


def test_what_was_never_compared_stands_in_the_middle():
    R = np.vstack([np.array([[1.0], [2.0], [3.0]]), [[np.nan]]])
    model = MultinomialPreferenceModel().fit(R)
    assert model.scores_[3] == pytest.approx(0, abs=1e-6)


def test_the_chance_of_a_pair():
    model = MultinomialPreferenceModel().fit(ranks(3))
    s = model.scores_
    assert model.pair_proba(0, 3) == pytest.approx(1 / (1 + np.exp(-2 * (s[0] - s[3]))))
    assert model.pair_proba(0, 3) + model.pair_proba(3, 0) == pytest.approx(1)


def test_instances_share_their_experts():
    rng = np.random.default_rng(0)
    many = []
    for n in range(12):
        R = np.stack([rng.permutation(6) + 1.0 for _ in range(6)], axis=1)
        R[:, :4] = ranks(n, n_experts=4, missing=0.0)  # four who agree, two who guess
        many.append(R)
    model = MultinomialPreferenceModel(adherence=True).fit(many)
    assert len(model.scores_) == len(model.ranking_) == 12
    assert model.adherence_.shape == (6,)
    assert model.adherence_[4:].max() < model.adherence_[:4].min()
    new = model.aggregate(ranks(50, n_experts=6))
    assert new.shape == (6,)
    alone = fit_scores(
        *[
            f(
                evidence_of(
                    PairwisePreferences.from_ranks(ranks(50, n_experts=6)),
                    by_expert=False,
                    pairs=False,
                )
            )
            for f in (lambda e: e.balance[:, 0], lambda e: float(e.totals[0]))
        ],
        1e-10,
        100,
        1e-10,
    )[0]
    assert np.abs(new - alone).max() > 1e-3  # the adherences are used


def test_an_expert_who_is_silent_changes_nothing():
    R = ranks(5, n_experts=4, missing=0.1)
    silent = np.hstack([R, np.full((6, 1), np.nan)])
    one, other = (MultinomialPreferenceModel(adherence=True).fit(X) for X in (R, silent))
    np.testing.assert_allclose(other.scores_, one.scores_, atol=1e-6)
    np.testing.assert_allclose(other.adherence_[:4], one.adherence_, atol=1e-6)
    assert other.adherence_[4] == pytest.approx(other.adherence_[:4].mean())


def test_an_instance_without_a_preference_is_met_by_a_warning():
    nothing = np.array([[1, np.nan], [np.nan, 1.0]])
    with pytest.warns(UserWarning, match="nobody prefers an item"):
        model = MultinomialPreferenceModel().fit(nothing)
    assert model.scores_.tolist() == [0, 0]


def test_a_million_ratings_are_two_sums():
    """Sums alone are needed: no pair is enumerated, whatever the number of ratings."""
    rng = np.random.default_rng(0)
    L = rng.integers(1, 6, (300, 200)).astype(float)
    prefs = PairwisePreferences.from_ratings(L)
    MultinomialPreferenceModel().fit(prefs)
    assert "pairs" not in vars(prefs)


@pytest.mark.parametrize(
    "model",
    [MultinomialPreferenceModel(), CRFRankAggregator(n_epochs=1), SVDRankAggregator(n_epochs=1)],
)
def test_an_expert_without_rankings_is_named(model):
    R = np.array([[1.0, 2.0, np.nan], [2.0, 1.0, 1.0], [3.0, 3.0, np.nan]])
    X, y = ([R], None) if isinstance(model, MultinomialPreferenceModel) else ([R], [[2, 1, 0]])
    with pytest.warns(UserWarning, match="Expert 2 of 3 without a ranking of two items"):
        model.fit(X, y)
