"""Rules without a model, Kemeny and the choice models beside definitions and choix."""

from itertools import permutations

import numpy as np
import pytest

from octavo.ranking import (
    PairwisePreferences,
    best_fusion_k,
    borda,
    bradley_terry,
    condorcet,
    copeland,
    kemeny,
    kendall_distance,
    median_rank,
    plackett_luce,
    reciprocal_rank_fusion,
    svp,
)
from octavo.ranking.aggregation.choice_models import (
    _luce_oracle,
    _pair_oracle,
    _sorted_lists,
)

R = np.array([[1, 3, np.nan], [2, 1, 2], [3, np.nan, 1], [4, 2, 2]])
RULES = [borda, condorcet, copeland, median_rank, reciprocal_rank_fusion, svp]


@pytest.mark.parametrize("rule", [*RULES, bradley_terry, plackett_luce])
@pytest.mark.filterwarnings("ignore:.*no finite maximum")
def test_a_common_order_is_returned(rule):
    truth = np.array([2.0, 5, 1, 3, 4])
    scores = rule(np.stack([truth, truth, truth], axis=1))
    assert np.argsort(-scores).tolist() == np.argsort(truth).tolist()


def test_rules_by_hand():
    # Expert 0 gives 3, 2, 1, 0; expert 1 gives 0, 2, -, 1; expert 2 gives -, 0.5, 2, 0.5.
    np.testing.assert_allclose(borda(R) * 3, [3, 4.5, 3, 1.5])
    assert condorcet(R).tolist() == [3, 4, 3, 1]
    # Item 0 meets 1 once each way and beats 2 once; 3 once each way.
    assert copeland(R).tolist() == [1, 1, 0, -2]
    assert median_rank(R).tolist() == [-2, -2, -2, -2]
    np.testing.assert_allclose(reciprocal_rank_fusion(R)[0], 1 / 61 + 1 / 63)
    np.testing.assert_allclose(reciprocal_rank_fusion(R, k=0)[2], 1 / 3 + 1)
    assert median_rank([[1.0], [np.nan]]).tolist() == [-1, -2]


def test_the_constant_of_fusion_is_the_one_that_labels_ask_for():
    # 1 + 1/30 > 2/3, but 1/61 + 1/90 < 2/63: a first place outweighs two third ones at k = 0 alone.
    first_wins = np.array([[1.0, 30.0], [3.0, 3.0], [2.0, np.nan]])
    assert best_fusion_k([first_wins], [[1, 0, 0]], ks=[60, 0], at=1) == 0
    assert best_fusion_k([first_wins, first_wins], [[0, 1, 0]] * 2, ks=[0, 60], at=1) == 60
    assert best_fusion_k(first_wins, [0, 0, 1], at=1) == 60  # none of them: all are equal
    with pytest.raises(ValueError, match="ks must hold at least one number"):
        best_fusion_k(first_wins, [1, 0, 0], ks=[])
    with pytest.raises(ValueError, match="holds 2 grades for 3 items"):
        best_fusion_k([first_wins], [[1, 0]])


def test_svp_is_least_squares_over_compared_pairs():
    prefs = PairwisePreferences.from_ranks(R)
    Y, seen = prefs.to_array(), prefs.compared() > 0
    rows, target = [], []
    for i in range(4):
        for j in range(4):
            if seen[i, j]:
                row = np.zeros(4)
                row[i], row[j] = 1, -1
                rows.append(row)
                target.append(Y[i, j] - Y[j, i])
    expected = np.linalg.lstsq(np.array(rows), np.array(target))[0]
    np.testing.assert_allclose(svp(R), expected, atol=1e-12)
    partial = np.array([[1, np.nan], [2, np.nan], [np.nan, 1], [np.nan, 3]])
    np.testing.assert_allclose(svp(partial), [0.5, -0.5, 1, -1], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_kemeny_is_the_best_of_all_orders(seed):
    rng = np.random.default_rng(seed)
    ranks = np.stack([rng.permutation(6) + 1.0 for _ in range(5)], axis=1)
    ranks[rng.random(ranks.shape) < 0.2] = np.nan

    def disagreements(order):
        place = np.argsort(order).astype(float)
        return sum(kendall_distance(place, column) for column in ranks.T)

    order, count = kemeny(ranks)
    assert disagreements(order) == count == min(map(disagreements, permutations(range(6))))
    order, near = kemeny(ranks, method="local")
    assert disagreements(order) == near >= count
    for place in range(6):  # no move of a single item improves it
        rest = np.delete(order, place)
        assert near <= min(disagreements(np.insert(rest, to, order[place])) for to in range(6))


def games(seed, n_items=12, n_games=150):
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=n_items)
    pairs = [(i, (i + 1) % n_items) for i in range(n_items)]  # a cycle: the maximum exists
    for _ in range(n_games):
        i, j = rng.choice(n_items, 2, replace=False)
        wins = rng.random() < 1 / (1 + np.exp(skill[j] - skill[i]))
        pairs.append((int(i), int(j)) if wins else (int(j), int(i)))
    return pairs


@pytest.mark.parametrize("seed", range(3))
def test_bradley_terry_is_that_of_choix(seed):
    choix = pytest.importorskip("choix")
    pairs = games(seed)
    ours = bradley_terry(PairwisePreferences.from_pairs(pairs, 12))
    theirs = choix.ilsr_pairwise(12, pairs, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_plackett_luce_is_that_of_choix(seed):
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(seed)
    lists = [tuple(rng.permutation(8)[: rng.integers(2, 6)].tolist()) for _ in range(40)]
    ours = plackett_luce(PairwisePreferences.from_lists(lists, 8))
    theirs = choix.ilsr_rankings(8, lists, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-6)


def test_ties_are_chosen_from_what_is_left():
    """Breslow's rule, by a general optimiser on the likelihood as written."""
    from scipy.optimize import minimize

    ranks = np.array([[1, 2, 1], [1, 1, 3], [2, 1, 2], [3, 3, 2.0]])

    def loss(s):
        total = 0.0
        for column in ranks.T:
            for i in range(4):
                left = column >= column[i]
                total += np.log(np.exp(s[left]).sum()) - s[i]
        return total

    expected = minimize(loss, np.zeros(4), tol=1e-14).x
    expected -= expected.mean()
    np.testing.assert_allclose(plackett_luce(ranks), expected, atol=1e-5)


def test_a_penalty_makes_every_score_finite():
    from scipy.optimize import minimize

    prefs = PairwisePreferences.from_pairs([[0, 1], [0, 2], [1, 2]], 4)
    with pytest.warns(UserWarning, match="no finite maximum: item"):
        bradley_terry(prefs)

    def loss(s):
        margins = np.array([s[0] - s[1], s[0] - s[2], s[1] - s[2]])
        return np.logaddexp(0, -margins).mean() + 0.05 * (s @ s)

    scores = bradley_terry(prefs, alpha=0.1)
    np.testing.assert_allclose(scores, minimize(loss, np.zeros(4), tol=1e-12).x, atol=1e-6)


def test_hessians_are_the_same_in_all_forms():
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 5, (7, 9)).astype(float)  # with ties
    ranks[rng.random(ranks.shape) < 0.3] = np.nan
    lists = _luce_oracle(*_sorted_lists(PairwisePreferences.from_ranks(ranks)), 7)
    winner, loser = np.array([0, 1, 2, 3, 4, 5, 6, 0]), np.array([1, 2, 3, 4, 5, 6, 0, 3])
    pairs = _pair_oracle(winner, loser, rng.random(8), 7)
    s = rng.normal(size=7)
    for oracle in (lists, pairs):
        loss = oracle(s)
        H = loss.dense()
        np.testing.assert_allclose(np.diag(H), loss.diagonal, atol=1e-15)
        for step in np.eye(7):
            np.testing.assert_allclose(loss.product(step), H @ step, atol=1e-14)
        for step in 1e-5 * np.eye(7):
            change = oracle(s + step).gradient - oracle(s - step).gradient
            np.testing.assert_allclose(change / 2e-5, H @ step / 1e-5, atol=1e-8)


def test_a_long_chain_is_solved_by_factors():
    """Two hundred players who have met their neighbours only: far too loose for a few products."""
    n = 200
    pairs = [(i, i + 1) for i in range(n - 1) for _ in range(3)]
    pairs += [(i + 1, i) for i in range(n - 1)]
    scores = bradley_terry(PairwisePreferences.from_pairs(pairs, n))
    # On a chain each pair has its own odds: three to one.
    np.testing.assert_allclose(-np.diff(scores), np.log(3), atol=1e-5)


def test_votes_are_no_lists():
    with pytest.raises(ValueError, match="needs ranks, ratings or lists"):
        plackett_luce(PairwisePreferences.from_pairs([[0, 1]], 2))


@pytest.mark.parametrize("rule", [*RULES, bradley_terry, plackett_luce, kemeny])
def test_ranks_from_zero_are_refused(rule):
    with pytest.raises(ValueError, match="Ranks begin at 1"):
        rule([[0.0], [1.0]])
