"""Rankers: exact without noise, near the best order with it, honest about budgets."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.search import (
    PairwiseOracle,
    SRRALinearRanker,
    SRRARanker,
    adversarial_preference_oracle,
    bradley_terry_oracle,
    mfast_exact,
    mfast_local_search,
    noisy_preference_oracle,
    pair_error,
    quicksort_rank,
    uniform_rank,
)
from octavo.search.active_pairs.linear import ranking_svm


def violated(W, order):
    return np.tril(np.asarray(W)[np.ix_(order, order)], -1).sum()


@pytest.mark.parametrize("seed", range(3))
def test_exact_orders_equal_brute_force(seed):
    W = np.random.RandomState(seed).random_sample((6, 6)) * 10.0 ** (3 * seed - 3)
    best = min(violated(W, list(o)) for o in permutations(range(6)))
    order, weight = mfast_exact(W)
    assert weight == pytest.approx(best)
    assert violated(W, order) == pytest.approx(best)
    order, weight = mfast_local_search(W)
    assert weight >= best * (1 - 1e-12)
    assert violated(W, order) == pytest.approx(weight)
    assert mfast_exact(sp.csr_array(W))[1] == pytest.approx(best)


def test_local_search_is_never_worse_than_its_start():
    W = np.random.RandomState(0).random_sample((20, 20))
    start = np.random.RandomState(1).permutation(20)
    for weights in (W, sp.csr_array(W)):
        order, weight = mfast_local_search(weights, start)
        assert weight == pytest.approx(violated(W, order))
        assert weight < violated(W, start)
        for place in range(20):  # and no move of a single item improves it
            rest = np.delete(order, place)
            moved = [np.insert(rest, to, order[place]) for to in range(20)]
            assert weight <= min(violated(W, other) for other in moved) + 1e-9


@pytest.mark.parametrize("sampling", ["bernoulli", "bands"])
@pytest.mark.parametrize("reuse", ["pool", "fresh"])
@pytest.mark.parametrize("init", ["quicksort", "borda"])
def test_noise_free_orders_are_found(sampling, reuse, init):
    truth = np.random.RandomState(0).permutation(40)
    oracle = noisy_preference_oracle(truth, np.inf)
    model = SRRARanker(4, 2, sampling, reuse, init, random_state=0).fit(40, oracle)
    if init == "quicksort":  # sorting is exact; Borda's start leaves pairs that are never asked
        assert np.array_equal(model.position_, truth)
    assert pair_error(model.position_, oracle) < 0.01
    assert np.array_equal(model.position_[model.ranking_], np.arange(40))
    assert not model.budget_exhausted_
    assert model.n_queries_ == oracle.n_queries_
    assert [r.n_queries for r in model.history_] == sorted(r.n_queries for r in model.history_)


def test_pooled_rounds_beat_uniform_pairs():
    # n = 300, ρ = 1 of the sheet: at most a quarter of the pairs for 1.05 ν; uniform 2 ν.
    n = 300
    truth = np.random.RandomState(7).permutation(n)
    oracle = noisy_preference_oracle(truth, 1.0, random_state=7)
    full = oracle.peek(np.column_stack(np.triu_indices(n, 1)))
    W = np.zeros((n, n))
    W[np.triu_indices(n, 1)] = full
    W += np.tril(1.0 - W.T, -1)
    best = mfast_local_search(W, np.argsort(truth))[1] / (n * (n - 1) / 2)
    model = SRRARanker(p=2, random_state=7).fit(n, oracle)
    assert model.n_queries_ <= n * (n - 1) / 8
    assert pair_error(model.position_, oracle) <= 1.05 * best
    uniform = uniform_rank(n, oracle, model.n_queries_, random_state=7)
    assert pair_error(np.argsort(uniform), oracle) >= 2.0 * best


def test_exact_and_own_minimizers():
    oracle = bradley_terry_oracle(np.arange(9.0) / 2.0, random_state=0)
    exact = SRRARanker(2, 9, minimizer="exact", random_state=0).fit(9, oracle)
    W = np.array(
        [[oracle.peek([[u, v]])[0] if u != v else 0.0 for v in range(9)] for u in range(9)]
    )
    assert pair_error(exact.position_, oracle) == pytest.approx(mfast_exact(W)[1] / 36)
    seen = []
    own = SRRARanker(1, minimizer=lambda W, order: seen.append(W.shape) or order, random_state=0)
    assert own.fit(9, oracle).estimated_regret_ == 0.0
    assert seen == [(9, 9)]
    wrong = SRRARanker(1, minimizer=lambda W, order: order[:-1], random_state=0)
    with pytest.raises(ValueError, match="What minimizer returns must be a permutation"):
        wrong.fit(9, oracle)


def test_a_spent_budget_is_said():
    truth = np.random.RandomState(0).permutation(60)
    oracle = noisy_preference_oracle(truth, 1.0, 0, budget=500)
    model = SRRARanker(random_state=0).fit(60, oracle)
    assert model.budget_exhausted_
    assert model.n_queries_ == 500
    assert pair_error(model.position_, oracle) < 0.25
    again = SRRARanker(init=model.ranking_, random_state=0).fit(
        60, PairwiseOracle(truth_of(truth), 0)
    )
    assert np.array_equal(again.ranking_, model.ranking_)
    assert again.budget_exhausted_


def truth_of(position):
    return (position[:, None] < position[None, :]).astype(float)


def test_same_seed_same_answer_and_trivial_sizes():
    oracle = adversarial_preference_oracle(np.arange(30), 20)
    one, two = (SRRARanker(random_state=3).fit(30, oracle) for _ in range(2))
    assert np.array_equal(one.ranking_, two.ranking_)
    assert two.n_queries_ == 0
    assert SRRARanker().fit(1, lambda u, v: 1).ranking_.tolist() == [0]
    assert SRRARanker().fit(2, lambda u, v: 0).ranking_.tolist() == [1, 0]
    tied = SRRARanker(random_state=0).fit(10, lambda u, v: 0.5)
    assert sorted(tied.ranking_) == list(range(10))
    assert tied.estimated_regret_ == 0.0


def test_pairs_are_answered_by_the_ranking():
    model = SRRARanker(random_state=0).fit(6, lambda u, v: u > v)
    assert model.predict([[0, 5], [5, 0], [3, 2]]).tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="numbered from 0 to 5"):
        model.predict([[0, 6]])


def test_max_weight_bounds_the_ratio():
    model = SRRARanker(max_weight=2.0, random_state=0).fit(50, lambda u, v: u < v)
    assert model.weights_.max() / model.weights_.min() <= 2.0
    free = SRRARanker(random_state=0).fit(50, lambda u, v: u < v)
    assert free.weights_.max() / free.weights_.min() > 2.0  # the bound is what holds it


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SRRARanker().fit(0, lambda u, v: 1), "n_items must be"),
        (lambda: SRRARanker().fit(2.5, lambda u, v: 1), "whole number"),
        (lambda: SRRARanker().fit(3, lambda u, v: 2), "0.5 for a tie; about items"),
        (lambda: SRRARanker().fit(3, lambda u, v: "x"), "0.5 for a tie"),
        (lambda: SRRARanker().fit(3, np.ones((4, 4))), "4 items; 3"),
        (lambda: SRRARanker().fit(3, np.full((3, 3), 2.0)), "holds 2"),
        (lambda: SRRARanker(init=[0, 0, 1]).fit(3, lambda u, v: 1), "init must be a permutation"),
        (lambda: mfast_local_search(np.ones((3, 3)), [0, 1, 1]), "start must be a permutation"),
        (lambda: mfast_local_search(np.full((3, 3), np.nan)), "finite"),
        (lambda: mfast_exact(-np.ones((2, 2))), "not negative"),
        (lambda: mfast_exact(np.ones((2, 3))), "square"),
        (lambda: quicksort_rank(3, 3), "function of two items"),
        (lambda: PairwiseOracle(lambda u, v: 1, budget=-1), "budget must be at least 0"),
        (lambda: PairwiseOracle(lambda u, v: 1).ask([[1, 1]]), "two different items"),
        (lambda: noisy_preference_oracle([0, 1], -1.0), "rho must be"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_repeated_answers_are_averaged_and_contradictions_cannot_arise():
    said = iter([1, 0, 1, 1])
    oracle = PairwiseOracle(lambda u, v: next(said), cache=False)
    assert [oracle.ask([[0, 1]])[0] for _ in range(4)] == [1.0, 0.5, pytest.approx(2 / 3), 0.75]
    assert oracle.n_queries_ == 4
    both = PairwiseOracle(lambda u, v: 1)
    assert both.ask([[0, 1], [1, 0]]).tolist() == [1.0, 0.0]
    assert both.n_queries_ == 1
    assert both.ask([[1, 0]], symmetric=True).tolist() == [1.0]
    assert both.known([[1, 0], [0, 2]]).tolist() == [True, False]


# --- linear rankings --------------------------------------------------------------------------


def test_ranking_svm_equals_cvxpy():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.RandomState(0)
    X = rng.standard_normal((20, 3))
    pairs = np.column_stack(np.triu_indices(20, 1))
    answers = (rng.random_sample(len(pairs)) < 0.7).astype(float)
    weights = rng.uniform(0.5, 3.0, len(pairs))
    w = ranking_svm(X, pairs, answers, weights, 0.1, 1e-8, 1_000_000)
    y, D = 2.0 * answers - 1.0, X[pairs[:, 0]] - X[pairs[:, 1]]
    shares = weights / weights.mean()

    def objective(w):
        return 0.5 * w @ w + 0.1 * shares @ np.maximum(0.0, 1.0 - y * (D @ w))

    v = cp.Variable(3)
    loss = cp.sum(cp.multiply(shares, cp.pos(1 - cp.multiply(y, D @ v))))
    cp.Problem(cp.Minimize(cp.sum_squares(v) / 2 + 0.1 * loss)).solve(solver="CLARABEL")
    assert objective(w) <= objective(v.value) * (1 + 1e-6)


@pytest.mark.parametrize("sampling", ["bernoulli", "bands", "shells"])
def test_linear_scores_are_found(sampling):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((16 if sampling == "shells" else 60, 3))
    score = X @ [1.0, -2.0, 0.5]
    position = np.argsort(np.argsort(-score))
    oracle = PairwiseOracle(truth_of(position))
    model = SRRALinearRanker(10.0, 2, 2, sampling=sampling, max_iter=100_000, random_state=0)
    model.fit(X, oracle)
    assert pair_error(model.position_, oracle) < 0.02
    assert np.array_equal(np.argsort(-model.decision_function(X), kind="stable"), model.ranking_)


def test_the_unit_of_features_does_not_matter():
    X = np.random.RandomState(0).standard_normal((30, 2))
    oracle = truth_of(np.argsort(np.argsort(-X[:, 0])))
    models = [
        SRRALinearRanker(n_rounds=2, random_state=0).fit(X * scale, oracle)
        for scale in (1e-5, 1.0, 1e5)
    ]
    for model in models:
        assert np.array_equal(model.ranking_, models[1].ranking_)
    with pytest.raises(ValueError, match="at most 60"):
        SRRALinearRanker(sampling="shells").fit(np.ones((61, 2)), lambda u, v: 1)


@pytest.mark.parametrize("n_lies", [0, 1, 2, 3, 7, 36])
def test_lies_are_about_the_pairs_furthest_apart(n_lies):
    u, v = np.triu_indices(9, 1)
    pairs = np.column_stack([u, v])
    lied = adversarial_preference_oracle(np.arange(9), n_lies).ask(pairs) != 1.0
    assert lied.sum() == n_lies
    apart = v - u
    assert apart[lied].min(initial=9) >= apart[~lied].max(initial=0)


def test_weights_stand_for_all_pairs_where_a_budget_ends_early():
    n = 12  # with p of n or more every pair is drawn, and half are answered
    oracle = PairwiseOracle(lambda u, v: u < v, budget=33)
    model = SRRARanker(1, n, reuse="fresh", init=np.arange(n), random_state=0).fit(n, oracle)
    assert model.budget_exhausted_
    assert len(model.pairs_) == 33
    assert model.weights_.sum() == pytest.approx(n * (n - 1))


@pytest.mark.parametrize("reuse", ["fresh", "pool"])
def test_the_largest_weight_is_a_ratio(reuse):
    options = {"reuse": reuse, "init": np.arange(60), "random_state": 0}
    free = SRRARanker(1, 2, **options).fit(60, lambda u, v: u < v)
    capped = SRRARanker(1, 2, max_weight=3.0, **options).fit(60, lambda u, v: u < v)
    assert free.weights_.max() > 3 * free.weights_.min()
    np.testing.assert_allclose(
        np.sort(capped.weights_), np.sort(np.minimum(free.weights_, 3 * free.weights_.min()))
    )


def test_a_pair_of_a_shell_stands_for_both_of_its_orders():
    Z, position = np.random.RandomState(0).normal(size=(8, 2)), np.arange(8)
    sample, _ = SRRALinearRanker(p=4, sampling="shells")._samplers(Z, {})
    drawn = sample(position, np.random.RandomState(0))  # 32 draws of 28 pairs: the shell is whole
    assert drawn.weights.sum() == 8 * 7
    assert len(drawn.pairs) == 28
