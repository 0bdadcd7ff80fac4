"""Ailon, Begleiter and Ezra (2014): active learning by smooth relative regret approximations."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np

from octavo import plot, search
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, measured, stated, within

PAPER = Paper(
    key="smooth-regret",
    title="Active Learning Using Smooth Relative Regret Approximations with Applications",
    authors="N. Ailon, R. Begleiter and E. Ezra",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("near-the-best-order", "coefficient-grows", "printed-bands-are-unbiased"),
    tables={
        "Theorem 3": "theorem-3",
        "Section 4.2": "coefficient-grows uniform-pairs-are-doomed",
        "Theorem 11": "printed-bands-are-unbiased",
        "Corollary 13": "near-the-best-order uniform-pairs-at-that-budget noise-falls-with-n",
        "Section 5.2": "coefficient-of-clusterings",
        "Proposition 19": "region-is-small",
        "Figure 1": "[a drawing of a hyperplane and a cell, without numbers]",
    },
    refutations={
        "printed-bands-are-unbiased": "With bands up to 2^(i+1)p some pairs can be drawn in two "
        "bands and are counted twice.",
    },
    methods=(
        Method(
            name="SRRARanker",
            room="search",
            family="active_pairs",
            task="rank or cluster items from few answers about pairs",
            summary="Asks about pairs that stand close under the current order, about others with "
            "falling probability, and minimises the weighted disagreement with all answers.",
            use_when="A person or a language model judges pairs, each answer costs something, and "
            "answers may be wrong: preference data, tournaments, entity resolution.",
            avoid_when="All pairs are affordable, or items can be scored one by one, or answers "
            "were collected before: fit a Bradley-Terry model to those.",
            instead="Nothing in scikit-learn asks about pairs; `sorted` with a comparison function "
            "trusts every answer.",
            peers=("choix",),
            plots=(
                "plot_query_curve",
                "plot_queried_pairs",
                "plot_pair_weights",
                "plot_cluster_pairs",
            ),
        ),
    ),
)

# Fixed before anything was run: n = 300 (full: 1,000), noise ½|Δ|^-1, p = 2, four rounds.
SEEDS = (10, 11, 12, 13, 14)
PRACTICE = (
    "p = 2 and pooled answers in place of p = O(ε⁻³ log³n), which exceeds n; a local search in "
    "place of an exact minimiser; ν is the error of a local search that knows all answers"
)


@lru_cache(maxsize=16)
def tournament(seed: int, n: int):
    """Return the ranker, ν, and the error of uniform pairs with as many questions."""
    truth = np.random.RandomState(seed).permutation(n)
    oracle = search.noisy_preference_oracle(truth, 1.0, random_state=seed)
    u, v = np.triu_indices(n, 1)
    W = np.zeros((n, n))
    W[u, v] = oracle.peek(np.column_stack([u, v]))
    W[v, u] = 1.0 - W[u, v]
    best = min(search.mfast_local_search(W, start)[1] for start in (np.argsort(truth), None)) / len(
        u
    )
    model = search.SRRARanker(p=2, random_state=seed).fit(n, oracle)
    uniform = search.uniform_rank(n, oracle, model.n_queries_, random_state=seed)
    errors = (search.pair_error(x, oracle) for x in (model.position_, np.argsort(uniform)))
    return (model, best, *errors)


practice = PAPER.section(
    where="Corollary 13 and Section 4.3", kind="ordering", seeds=SEEDS, stand_in=PRACTICE
)


@practice.claim("The error approaches ν with few of all pairs", "(1 + O(ε)) ν")
@at_most(1.05, because="five per cent, with at most a quarter of the pairs")
def near_the_best_order(run: Run) -> float:
    n = 1000 if run.full else 300
    model, best, error, _ = tournament(run.seed, n)
    share = model.n_queries_ / (n * (n - 1) / 2)
    run.note(f"seed {run.seed}: {100 * share:.1f} % of the pairs, error {error:.4f}, ν {best:.4f}")
    return error / best if share <= 0.25 else float("inf")


@practice.claim("Uniform pairs do not reach it: their error over ν at the same number of questions")
@stated("the entire pool is needed", "Remark 10")
@at_least(2.0, because="twice ν or more; Remark 10 says no number")
def uniform_pairs_at_that_budget(run: Run) -> float:
    _, best, _, uniform = tournament(run.seed, 1000 if run.full else 300)
    return uniform / best


@PAPER.claim("Even without noise uniform pairs must be nearly all asked: half of them leave errors")
@stated("all O(n²) labels", "Remark 10", kind="ordering", seeds=SEEDS)
@at_least(1.0, because="pairs in wrong order; an exact ranking has none")
def uniform_pairs_are_doomed(run: Run) -> float:
    n = 400 if run.full else 200
    truth = np.random.RandomState(run.seed).permutation(n)
    oracle = search.noisy_preference_oracle(truth, np.inf)
    order = search.uniform_rank(n, oracle, n * (n - 1) // 4, random_state=run.seed)
    exact = search.SRRARanker(p=1, n_rounds=1, random_state=run.seed).fit(n, oracle)
    run.note(f"SRRARanker: {search.pair_error(exact.position_, oracle):g}")
    return search.pair_error(np.argsort(order), oracle) * n * (n - 1) / 2


@PAPER.claim("With error probability |Δ|^-ρ the noise is n^-ρ: its exponent for ρ = 1/2")
@stated(-0.5, "Section 4.3", seeds=SEEDS)
@measured(stand_in="½|Δ|^-ρ, since a probability of 1 for neighbours would only turn them round")
@within(0.05, because="sizes 200 and 1,600, where lower powers of n still show")
def noise_falls_with_n(run: Run) -> float:
    errors = []
    for n in (200, 1600):
        oracle = search.noisy_preference_oracle(np.arange(n), 0.5, random_state=run.seed)
        errors.append(search.pair_error(np.arange(n), oracle))
    return float(np.log(errors[1] / errors[0]) / np.log(8.0))


def all_rankings(n: int):
    """Return what every ranking says of every pair, and the pairs."""
    orders = np.array(list(permutations(range(n))))
    u, v = np.triu_indices(n, 1)
    return (orders[:, u] < orders[:, v]).astype(np.int8), u, v


@PAPER.claim(
    "The minimiser of an (ε, 0)-approximation errs at most ν + ε(2 dist(h, h*) + dist(h1, h*))"
)
@stated("always", "Theorem 3, Equation (3)", seeds=SEEDS)
@holds(because="ε is the approximation's own, over all rankings of six items")
def theorem_3(run: Run) -> float:
    n = 6
    H, u, v = all_rankings(n)
    rng = np.random.RandomState(run.seed)
    Y = rng.randint(0, 2, len(u))
    h = rng.randint(len(H))
    pivot = np.array(list(permutations(range(n)))[h])
    sample = search.bernoulli_sample(pivot, 1, rng)
    w = np.zeros((n, n))
    np.add.at(w, tuple(sample.pairs.T), sample.weights)
    weights = (w + w.T)[u, v] / (n * (n - 1))
    wrong = np.abs(H - Y)
    f, error = (wrong - wrong[h]) @ weights, wrong.mean(axis=1)
    distance = np.not_equal(H, H[h]).mean(axis=1)
    apart = distance > 0
    eps = (np.abs(f - (error - error[h]))[apart] / distance[apart]).max()
    found, best = int(np.argmin(f)), int(np.argmin(error))
    bound = error[best] + eps * (2 * distance[best] + (H[found] != H[best]).mean())
    return bool(error[found] <= bound + 1e-12)


@PAPER.claim("The disagreement coefficient of rankings grows with n: its ratio to n")
@stated("Ω(n)", "Section 4.2", kind="ordering")
@at_least(0.25, because="a swap of the two ends turns 2n - 3 of n(n - 1)/2 pairs")
def coefficient_grows(run: Run) -> float:
    sizes = (3, 4, 5, 6) if run.full else (3, 4, 5)
    found = [search.disagreement_coefficient(all_rankings(n)[0]) for n in sizes]
    run.note("θ for n = 3, ...: " + ", ".join(f"{theta:.2f}" for theta in found))
    return min(theta / n for theta, n in zip(found, sizes))


@PAPER.claim("So does that of clusterings into two: its ratio to n")
@stated("Θ(n)", "Section 5.2", kind="ordering")
@at_least(0.25, because="a moved item turns n - 1 of n(n - 1)/2 pairs")
def coefficient_of_clusterings(run: Run) -> float:
    ratios = []
    for n in (4, 6, 8, 10) if run.full else (4, 6, 8):
        labels = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
        u, v = np.triu_indices(n, 1)
        ratios.append(search.disagreement_coefficient(labels[:, u] == labels[:, v]) / n)
    return min(ratios)


@PAPER.claim(
    "f is an unbiased estimator of the relative regret, with bands up to 2^(i+1)p as printed"
)
@stated("unbiased", "Section 4.3", kind="theorem", seeds=SEEDS)
@at_most(1e-9, because="an expectation, computed exactly")
def printed_bands_are_unbiased(run: Run) -> float:
    # E f sums every band's pairs once; pairs of two bands, which overlap, are summed twice.
    n, p = 60, 2
    rng = np.random.RandomState(run.seed)
    pivot, other = np.arange(n), rng.permutation(n)
    Y = rng.randint(0, 2, (n, n))
    gap = np.abs(pivot[:, None] - pivot)
    times = np.zeros((n, n))
    for i in range(int(np.ceil(np.log2(n))) + 1):
        times += ((2**i - 1) * p < gap) & (gap < 2 ** (i + 1) * p)
    u, v = np.triu_indices(n, 1)
    change = np.abs((other[u] < other[v]) - Y[u, v]) - np.abs(1.0 - Y[u, v])
    expected, true = 2 * times[u, v] @ change, 2 * change.sum()
    run.note(f"seed {run.seed}: {expected / (n * (n - 1)):.4f} for {true / (n * (n - 1)):.4f}")
    return float(abs(expected - true) / (n * (n - 1)))


@PAPER.claim("Pairs that linear rankings within r disagree on have measure at most 8rn: the ratio")
@stated("at most 1", "Proposition 19", kind="theorem", seeds=SEEDS)
@at_most(1.0, because="the peeled region covers that of the proposition")
def region_is_small(run: Run) -> float:
    n, rng = 50, np.random.RandomState(run.seed)
    X, w = rng.standard_normal((n, 3)), rng.standard_normal(3)
    ratios = []
    for inversions in (1, 2, 4) if run.full else (1, 2):
        r = 2.0 * inversions / (n * (n - 1))
        measure = len(search.disagreement_region_linear(X, w, r)) / (n * (n - 1) / 2)
        ratios.append(measure / (8.0 * r * n))
    return max(ratios)


@PAPER.figure("Error against questions, and which pairs were asked, for 300 items")
def error_and_pairs():
    import matplotlib.pyplot as plt

    model, best, _, uniform = tournament(SEEDS[0], 300)
    truth = np.random.RandomState(SEEDS[0]).permutation(300)
    oracle = search.noisy_preference_oracle(truth, 1.0, random_state=SEEDS[0])
    errors = [search.pair_error(row.hypothesis, oracle) for row in model.history_]
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    curves = {
        "SRRARanker": ([row.n_queries for row in model.history_], errors),
        "uniform pairs": ([model.n_queries_], [uniform]),
    }
    plot.plot_query_curve(curves, best=best, ax=left)
    plot.plot_queried_pairs(model, ax=right)
    return fig
