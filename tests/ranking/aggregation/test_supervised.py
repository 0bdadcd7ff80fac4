"""Adherences from labels, the random field by enumeration, features by singular vectors."""

from itertools import permutations

import numpy as np
import pytest

from octavo.data import make_meta_search
from octavo.ranking import (
    CRFRankAggregator,
    PairwisePreferences,
    SupervisedPreferenceModel,
    SVDRankAggregator,
    crf_expected_ndcg,
    expert_report,
    ndcg_at,
    preference_svd_features,
    reciprocal_rank_fusion,
    refit_without_experts,
)
from octavo.ranking.aggregation.ranking_field import (
    _discounts,
    _positions,
    _visit,
    item_features,
    subsample,
)
from octavo.ranking.aggregation.svd_features import _lambda_slopes


def test_adherence_is_the_share_of_judged_pairs_in_the_right_order():
    R = np.array([[1, 3, np.nan, np.nan], [2, 2, 1, np.nan], [3, 1, 1, np.nan], [4, np.nan, 2, 1]])
    y = np.array([2, 1, 1, 0])
    expected = []
    for column in R.T:
        right = judged = 0
        for i in range(4):
            for j in range(4):
                if y[i] > y[j] and not np.isnan(column[[i, j]]).any() and column[i] != column[j]:
                    judged += 1
                    right += column[i] < column[j]
        expected.append(right / judged if judged else np.nan)
    expected[3] = np.nanmean(expected)  # one item: nothing to judge by
    model = SupervisedPreferenceModel().fit([R], [y])
    np.testing.assert_allclose(model.adherence_, expected)


def test_queries_of_one_table_are_those_of_a_list():
    rng = np.random.default_rng(0)
    tables = [np.stack([rng.permutation(5) + 1.0 for _ in range(3)], axis=1) for _ in range(4)]
    grades = [rng.integers(0, 3, 5) for _ in range(4)]
    one = SupervisedPreferenceModel().fit(tables, grades)
    qid = np.repeat([7, 3, 9, 1], 5)
    other = SupervisedPreferenceModel().fit(np.vstack(tables), np.concatenate(grades), qid=qid)
    np.testing.assert_array_equal(one.adherence_, other.adherence_)
    np.testing.assert_allclose(one.predict(tables[0]), one.aggregate(tables)[0], atol=1e-9)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[[1.0], [2.0]]], [[1, 1]], "nothing to learn from"),
        ([[[1.0], [2.0]]], [[1, 0, 0]], "query 0 holds 3 grades for 2 items"),
        ([[[1.0], [2.0]], [[0.0], [1.0]]], [[1, 0], [1, 0]], "Instance 1: Ranks must"),
        ([[[1.0], [2.0]], [[1.0, 2.0], [1.0, 2.0]]], [[1, 0], [1, 0]], "Instance 1 has 2 experts"),
        ([[[1.0], [2.0]]], None, "y is missing"),
        ([[[1.0], [np.nan]]], [[1, 0]], "no preference"),
    ],
)
def test_bad_input(X, y, words):
    with pytest.raises(ValueError, match=words):
        SupervisedPreferenceModel().fit(X, y)


RANKS = np.array([[1, 3, np.nan], [2, 1, 5], [4, np.nan, 2], [np.nan, 2, 1.0], [3, 7, np.nan]])
GRADES = np.array([2.0, 0, 1, 0, 1])


def by_enumeration(R, grades, W, transform):
    """E[NDCG] as Eq. (4) and (5) are written: over all permutations of the items."""
    prefs = PairwisePreferences.from_ranks(R, transform)
    n, places = len(R), np.arange(len(R))
    F = np.zeros((n, R.shape[1], 3))
    for e in range(R.shape[1]):
        Y = prefs.to_array(e)
        F[:, e] = np.stack([np.isnan(R[:, e]), Y.sum(axis=1), -Y.sum(axis=0)], axis=1)
    scores = np.einsum("iek,ek->i", F, W)
    weight, value = [], []
    for order in permutations(range(n)):
        order = np.array(order)
        weight.append(np.exp((scores[order] / np.log(places + 2)).sum() / n**2))
        value.append(((2 ** grades[order] - 1) / np.log2(places + 2)).sum())
    return np.average(value, weights=weight) / max(value), scores


@pytest.mark.parametrize("transform", ["binary", "rank_difference", "normalized", "log"])
def test_expected_ndcg_and_its_gradient(transform):
    W = np.random.default_rng(0).normal(size=(3, 3)) * 20
    value, gradient = crf_expected_ndcg(RANKS, GRADES, W, transform)
    expected, scores = by_enumeration(RANKS, GRADES, W, transform)
    assert value == pytest.approx(expected, abs=1e-12)
    for index in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[index] = 1e-3
        ahead, behind = (by_enumeration(RANKS, GRADES, W + s * step, transform)[0] for s in (1, -1))
        # The third derivative is below 1e-5 here, so that differences err by less than 1e-11.
        assert gradient[index] == pytest.approx((ahead - behind) / 2e-3, abs=1e-9)
    model = CRFRankAggregator(transform=transform)
    model.expert_weights_ = W
    np.testing.assert_allclose(model.predict(RANKS), scores, atol=1e-10)
    prefs = PairwisePreferences.from_ranks(RANKS, transform)  # by sorting, not by two loops
    np.testing.assert_allclose(model.predict(prefs), scores, atol=1e-10)


def test_the_most_probable_permutation_sorts_the_scores():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=5)
    best = max(
        permutations(range(5)), key=lambda p: (scores[list(p)] / np.log(np.arange(5) + 2)).sum()
    )
    assert list(best) == np.argsort(-scores).tolist()


def test_a_query_without_a_relevant_item_has_no_gradient():
    value, gradient = crf_expected_ndcg(RANKS, np.zeros(5), np.ones((3, 3)))
    assert value == 0
    assert not gradient.any()


def test_a_visit_of_all_items_is_the_exact_gradient():
    W = np.random.default_rng(2).normal(size=(3, 3))
    _, gradient = crf_expected_ndcg(RANKS, GRADES, W)
    F = item_features(PairwisePreferences.from_ranks(RANKS, "log")).reshape(5, 9)
    ours = np.zeros(9)
    _visit(
        F, 2**GRADES - 1, np.array([3, 0, 4, 1, 2]), _positions(5), *_discounts(5), W.ravel(), ours
    )
    np.testing.assert_allclose(ours, gradient.ravel(), atol=1e-14)


def test_a_subsample_has_every_grade():
    rng = np.random.RandomState(0)
    grades = np.array([0, 0, 0, 0, 0, 0, 0, 2, 0, 1.0])
    for _ in range(20):
        chosen = subsample(grades, 4, rng)
        assert len(set(chosen)) == 4
        assert set(grades[chosen]) == {0, 1, 2}
    assert sorted(subsample(grades[:3], 6, rng)) == [0, 1, 2]


def test_singular_vectors_are_those_of_the_strengths():
    prefs = PairwisePreferences.from_ranks(RANKS, "rank_difference")
    features = preference_svd_features(RANKS, 2, "rank_difference").reshape(5, 3, 7)
    for e in range(3):
        u, sigma, v = (features[:, e, k::3] for k in (1, 2, 3))
        seen = ~np.isnan(RANKS[:, e])
        assert (features[:, e, 0] == ~seen).all()
        assert (features[~seen, e][:, [1, 3, 4, 6]] == 0).all()
        Y = prefs.to_array(e)
        values = np.linalg.svd(Y, compute_uv=False)[:2]
        np.testing.assert_allclose(sigma, np.tile(values, (5, 1)), atol=1e-12)
        approximation = (u * values) @ v.T
        left, all_values, right = np.linalg.svd(Y)
        best = (left[:, :2] * all_values[:2]) @ right[:2]
        np.testing.assert_allclose(approximation, best, atol=1e-10)
        assert (u.sum(axis=0) >= 0).all()


def test_an_expert_without_rankings_has_no_features():
    R = np.array([[1, np.nan], [2, np.nan]])
    assert preference_svd_features(R)[:, 4:].tolist() == [[1, 0, 0, 0]] * 2


def test_lambdas_lift_what_is_more_relevant():
    rng = np.random.default_rng(3)
    scores, gains = rng.normal(size=6), 2.0 ** rng.integers(0, 3, 6) - 1
    slopes = _lambda_slopes(scores, gains, 1 / np.log2(np.arange(6) + 2))
    assert slopes.sum() == pytest.approx(0, abs=1e-14)
    assert slopes[np.argmax(gains)] > 0
    expected = np.zeros(6)
    place = np.argsort(np.argsort(-scores))
    disc = 1 / np.log2(np.arange(6) + 2)
    ideal = np.sort(gains)[::-1] @ disc
    for i in range(6):
        for j in range(6):
            if gains[i] > gains[j]:
                swapped = place.copy()
                swapped[[i, j]] = swapped[[j, i]]
                delta = abs(gains @ disc[place] - gains @ disc[swapped]) / ideal
                expected[i] += delta / (1 + np.exp(scores[i] - scores[j]))
                expected[j] -= delta / (1 + np.exp(scores[i] - scores[j]))
    np.testing.assert_allclose(slopes, expected, atol=1e-14)


@pytest.fixture(scope="module")
def planted():
    return make_meta_search(80, n_items=(5, 15), random_state=0)


@pytest.mark.parametrize("share", [False, True])
def test_the_field_learns_to_turn_inverted_experts_round(planted, share):
    R, y, kinds = planted
    model = CRFRankAggregator(n_epochs=15, share_weights=share, random_state=0).fit(R, y)
    W = model.expert_weights_
    assert W.shape == (25, 3)
    if share:
        assert (W[0] == W).all()
    else:
        assert W[kinds == "inverted", 1:].mean() < 0 < W[kinds == "informative", 1:].mean()
        report = expert_report(model)
        assert {row.expert for row in report} == set(range(25))
        assert abs(report[0].influence) >= abs(report[-1].influence)
        fewer = refit_without_experts(model, R, y, experts=[8, 9])
        assert fewer.expert_weights_.shape == (23, 3)
    orders = model.rank(R)
    assert all(sorted(o) == list(range(len(r))) for o, r in zip(orders, R))


@pytest.mark.parametrize("make", [CRFRankAggregator, SVDRankAggregator])
def test_a_table_with_query_numbers_is_a_list(make, planted):
    R, y = planted[0][:10], planted[1][:10]
    qid = np.repeat(np.arange(10)[::-1], [len(r) for r in R])
    one = make(n_epochs=2, random_state=0).fit(R, y)
    other = make(n_epochs=2, random_state=0).fit(np.vstack(R), np.concatenate(y), qid=qid)
    np.testing.assert_array_equal(one.expert_weights_, other.expert_weights_)
    np.testing.assert_allclose(other.predict(np.vstack(R), qid=qid), np.concatenate(one.predict(R)))
    np.testing.assert_array_equal(other.rank(np.vstack(R), qid=qid)[3], one.rank(R[3]))


def test_a_page_that_is_part_of_a_table_is_scored_as_its_copy(planted, monkeypatch):
    ranks, relevance = planted[:2]
    model = CRFRankAggregator(n_epochs=2, random_state=0).fit(ranks[:40], relevance[:40])
    wide = np.hstack([ranks[40], ranks[40]])[:, : ranks[40].shape[1]]
    expected = model.predict(ranks[40].copy())
    monkeypatch.setattr(model, "_score", None)  # the way through preferences is not taken
    for page in (wide, np.asfortranarray(ranks[40])):
        assert not page.flags.c_contiguous
        np.testing.assert_array_equal(model.predict(page), expected)


def test_known_experts_have_weights_of_their_own_and_new_ones_share(planted):
    R, y, _ = planted
    mask = np.arange(25) >= 20
    model = CRFRankAggregator(n_epochs=2, share_weights=mask, random_state=0).fit(R, y)
    W = model.expert_weights_
    assert (W[20:] == model.consensus_weights_).all()
    assert len(np.unique(W[:20, 1])) == 20
    more = np.hstack([R[0], R[0][:, :2]])  # two experts who were not there before
    whole = CRFRankAggregator()
    whole.expert_weights_ = np.vstack([W, W[20:22]])
    np.testing.assert_allclose(model.predict(more), whole.predict(more))
    with pytest.raises(ValueError, match="knows 25 experts; the query has 24"):
        model.predict(R[0][:, :24])
    with pytest.raises(ValueError, match="share_weights must be"):
        CRFRankAggregator(share_weights=[True, False]).fit(R, y)


def test_anonymous_experts_may_be_more_or_fewer(planted):
    R, y, _ = planted
    some = [r[:, : 5 + n % 3] for n, r in enumerate(R)]
    model = CRFRankAggregator(n_epochs=2, share_weights=True, random_state=0).fit(some, y)
    assert model.expert_weights_.shape == (7, 3)
    assert model.predict(some[0]).shape == (len(R[0]),)
    two = model.predict(PairwisePreferences.from_ranks(R[0][:, :2], "log"))
    np.testing.assert_allclose(two, model.predict(R[0][:, :2].copy()))


def test_singular_vectors_and_lambdas_beat_reciprocal_ranks(planted):
    R, y, _ = planted
    model = SVDRankAggregator(n_epochs=20, random_state=0).fit(R[:50], y[:50])
    fused = [reciprocal_rank_fusion(r) for r in R[50:]]
    assert ndcg_at(y[50:], model.predict(R[50:]), 5) > ndcg_at(y[50:], fused, 5)
    assert model.validation_scores_[model.best_epoch_] == model.validation_scores_.max()


@pytest.mark.parametrize("make", [CRFRankAggregator, SVDRankAggregator])
def test_bad_queries_are_named(make, planted):
    R, y = planted[0][:4], planted[1][:4]
    with pytest.raises(ValueError, match="nothing to learn from"):
        make().fit(R, [0 * g for g in y])
    with pytest.raises(ValueError, match="Instance 2: Ranks must be finite and at least 1"):
        make().fit([*R[:2], R[2] - 1, R[3]], y)
    model = make(n_epochs=1, random_state=0).fit(R, y)
    with pytest.raises(ValueError, match="knows 25 experts; the query has 3"):
        model.predict(R[0][:, :3])
