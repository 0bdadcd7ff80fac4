"""Shah and Meinshausen (2014): random intersection trees."""

from __future__ import annotations

import math
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import data, linear, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import Run, at_least, at_most, holds, stated, within

PAPER = Paper(
    key="intersection-trees",
    title="Random Intersection Trees",
    authors="R. D. Shah and N. Meinshausen",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("variance-of-theorem-4", "lines-found", "error-with-400"),
    tables={
        "Theorem 1": "theorem-1 a-tree-loses-at-most-q expected-sizes",
        "Theorem 4 and Lemma 5": "variance-of-theorem-4 equation-6 lemma-5 saves-samples",
        "Corollaries 2 and 3": "a-pair-without-main-effects",
        "Figure 1": "[a picture of one tree; the gallery draws one]",
        "Figure 2": "lines-found lines-among-the-40-most-frequent",
        "Section 5.1": "lines-in-one-setting error-in-one-setting",
        "Figure 3": "error-with-0 error-with-60 error-with-300 error-with-400 beats-the-forest "
        "linear-models-fail",
        "Figure 4": "topics-against-the-forest topics-against-the-linear-model reuters",
    },
    refutations={
        "a-tree-loses-at-most-q": "The proof multiplies chances of leaves that share their upper "
        "levels and are not independent; Theorem 1 itself has room enough.",
        "linear-models-fail": "On whole boards logistic regression with scikit-learn's penalty "
        "errs in 1.6 %; the text gives no figure for it.",
    },
    methods=(
        Method(
            name="RandomIntersectionTrees",
            room="linear",
            family="intersections",
            task="find interactions of any order among 0/1 columns",
            summary="Sets of columns that occur together in one class and not outside, found by "
            "intersecting random rows; a classifier and features made of them.",
            use_when="Rows are sparse or 0/1 (words, clicks, purchases, genotypes), the columns "
            "number hundreds to a hundred thousand, and what matters may be a combination of "
            "several of them, none of which says anything by itself.",
            avoid_when="Effects add up, or a handful of dense columns interacts in pairs.",
            instead="PolynomialFeatures(interaction_only=True) lists all pairs; a random forest "
            "finds interactions whose parts have effects of their own.",
            peers=("mlxtend", "Python"),
            plots=("plot_intersection_tree", "plot_pattern_prevalence", "plot_board_patterns"),
            trials={
                "RITClassifier": Trial(
                    (
                        {"theta0": 0.01, "smoothing": 0.001},
                        {"theta0": 0.05, "smoothing": 0.5},
                        {"theta0": 0.2, "smoothing": 0.5},
                    ),
                    {"n_trees": 1000, "max_nodes": 300},
                    row_limit=50_000,
                    feature_limit=5_000,
                    cost="rows, many trees",
                    rows_needed=40,
                )
            },
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
FULL_SEEDS = tuple(range(20))
# The classifier's min_count was chosen on seeds below 20: the boards that judge it are others.
FRESH_SEEDS = tuple(range(100, 105))
FRESH_FULL_SEEDS = tuple(range(100, 120))
NOISE = (
    "the paper does not say how its noise was drawn, nor its θ₀: Bernoulli(0.1) columns, θ₀ = 0.01"
)


def quiet(model: Any, *arrays: Any) -> Any:
    """Fit without the warning that a few trees were cut."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*arrays)


# --- Sections 2 and 3 ----------------------------------------------------------------------------
theory = PAPER.section(kind="theorem", seeds=SEEDS)


def random_law(seed: int) -> tuple[float, float, int, float]:
    """Return a prevalence, a prevalence of noise, a number of columns of noise, and an ε."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.02, 0.98), rng.uniform(0.05, 0.95), int(rng.integers(1, 200)), rng.random()


@theory.claim("M, D and B of the proof find a pattern with probability at least 1 - η")
@stated("≥ 1 - η", "Theorem 1 and its proof", seeds=FULL_SEEDS)
@at_most(1.0, because="the exact probability of missing it, over η, on 50 laws a seed")
def theorem_1(run: Run) -> float:
    worst = 0.0
    for k in range(50):
        theta1, nu, n_noise, eps = random_law(1000 * run.seed + k)
        for eta in (0.05, 0.5):
            plan = linear.plan_rit(theta1, nu, nu, n_noise + 2, eta, max(eps, 0.01))
            found = linear.rit_recovery(
                theta1, nu, n_noise, plan.branching, plan.depth, plan.n_trees
            )
            worst = max(worst, (1.0 - found) / eta)
    run.note("independent noise, for which the probability is a branching recursion")
    return worst


@theory.claim("A tree whose root holds the pattern loses it with probability at most q")
@stated("≤ q", "Proof of Theorem 1, Steps 1 and 2", seeds=FULL_SEEDS)
@at_most(1.0 + 1e-9, because="exact probabilities over q; rounding apart")
def a_tree_loses_at_most_q(run: Run) -> float:
    worst = 0.0
    for k in range(50):
        theta1, nu, n_noise, eps = random_law(1000 * run.seed + k)
        plan = linear.plan_rit(theta1, nu, nu, n_noise + 2, 0.05, max(eps, 0.01))
        kept = linear.rit_recovery(theta1, nu, n_noise, plan.branching, plan.depth) / theta1
        worst = max(worst, (1.0 - kept) / plan.miss)
    run.note(
        "the proof multiplies probabilities of leaves that share their upper levels and so are "
        "not independent; the number of trees leaves room enough for Theorem 1 itself"
    )
    return worst


@theory.claim("A node at depth d holds Σ δ_k^(d+1) columns on average")
@stated("equal", "Section 3", kind="figure")
@within(0.05, of=1.0, because="20,000 trees: the ratio's standard error is below 0.01")
def expected_sizes(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    X = (rng.random((80, 30)) < rng.uniform(0.2, 0.7, 30)).astype(int)
    y = np.arange(80) % 2
    deltas = X[y == 1].mean(axis=0)
    n_trees = 20_000
    model = linear.RandomIntersectionTrees(
        n_trees, 1, 2, None, min_count=1, random_state=run.seed
    ).fit(X, y)  # a tree without branches ends with one set, or with none
    total = sum(len(s) * n for s, n in zip(model.patterns_, model.counts_.tolist()))
    return total / n_trees / float((deltas**3).sum())


@PAPER.claim("{1, 2} is found where no column has a main effect, Y = 1{Z₁ + Z₂ ≠ 1}")
@stated("found", "Section 1", kind="ordering", seeds=SEEDS)
@holds(because="the pair must have the largest prevalence of all patterns found")
def a_pair_without_main_effects(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    p = 300 if run.full else 100
    X = (rng.random((4000, p)) < 0.5).astype(np.int8)
    y = (X[:, 0] + X[:, 1] != 1).astype(int)
    model = linear.RandomIntersectionTrees(
        100, 2, theta0=0.0, prevalence="exact", max_nodes=20_000, random_state=run.seed
    )
    quiet(model, X, y)
    best = model.top(1, by="prevalence")
    return float(bool(best) and best[0].pattern == (0, 1))


# --- Section 4 -----------------------------------------------------------------------------------


def hashed_columns(seed: int, n: int = 150) -> tuple[np.ndarray, float, float]:
    """Return two columns that often meet, and their π₁ and π₂."""
    rng = np.random.default_rng(seed)
    shared = rng.random(n) < rng.uniform(0.1, 0.4)
    X = np.column_stack([shared | (rng.random(n) < rng.uniform(0, 0.2)) for _ in range(2)])
    either = float(X.any(axis=1).mean())
    return X.astype(np.int8), float(X.all(axis=1).mean()) / either, either


@lru_cache(maxsize=32)
def estimates(seed: int, full: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return estimates of (8) with L = 200, and first places, one an order."""
    X, _, _ = hashed_columns(seed)
    found, first = [], []
    for part in range(16 if full else 8):
        model = linear.MinHashPrevalence(100_000, random_state=100 * seed + part).fit(X)
        table = model.hashes_
        first.append(table.min(axis=0))
        for at in range(0, 100_000, 200):  # five hundred tables of L = 200
            model.hashes_ = np.ascontiguousarray(table[:, at : at + 200])
            found.append(model.estimate([(0, 1)])[0])
    return np.array(found), np.concatenate(first)


hashing = PAPER.section(kind="theorem", seeds=SEEDS)


@hashing.claim(
    "The estimator's variance is π₂²π₁(1 - π₁π₂)(1 + ε(n)) / L",
    "equal",
    where="Theorem 4",
    kind="figure",
    expect=within(0.06, of=1.0, because="a variance over 4,000 estimates has an error of 2.2 %, "
    "its mean over seeds 1 %, an interval of 3 %; terms of order 1 / L are 1 %"),
)  # fmt: skip
def variance_of_theorem_4(run: Run) -> float:
    X, first, second = hashed_columns(run.seed)
    n = len(X)
    extra = (1 / n - second**2 - 2 * second / n) / (n * second * (second + 2 / n) * (1 + 1 / n))
    variance = second**2 * first * (1 - first * second) * (1 + extra) / 200
    return float(estimates(run.seed, run.full)[0].var() / variance)


@hashing.claim("The mean of the first place is (n + 1) / (π₂ n + 1)")
@stated("equal", "Equation (6)", kind="figure")
@within(0.01, of=1.0, because="800,000 orders: a standard error of 0.3 %")
def equation_6(run: Run) -> float:
    X, _, second = hashed_columns(run.seed)
    expected = (len(X) + 1) / (second * len(X) + 1)
    return float(estimates(run.seed, run.full)[1].mean() / expected)


@hashing.claim("The variance of the first place is r(n + 1)(n - r) / ((r + 1)²(r + 2))")
@stated("equal", "Lemma 5", kind="figure")
@within(0.03, of=1.0, because="800,000 orders: a standard error below 0.7 %")
def lemma_5(run: Run) -> float:
    X, _, second = hashed_columns(run.seed)
    n = len(X)
    r = round(second * n)
    expected = r * (n + 1) * (n - r) / ((r + 1) ** 2 * (r + 2))
    return float(estimates(run.seed, run.full)[1].var() / expected)


@hashing.claim("Subsampling would need about 1 / π₂ times as many samples")
@stated("1 / π₂", "Section 4, after Theorem 4", kind="figure")
@within(0.06, of=1.0, because="the errors of a variance over 4,000 estimates, as above")
def saves_samples(run: Run) -> float:
    _, first, second = hashed_columns(run.seed)
    share = first * second
    subsampling = share * (1 - share) / 200
    return float(subsampling / estimates(run.seed, run.full)[0].var() * second)


# --- Section 5.1: tic-tac-toe --------------------------------------------------------------------
game = PAPER.section(where="Section 5.1", seeds=FRESH_SEEDS, full_seeds=FRESH_FULL_SEEDS)


@lru_cache(maxsize=64)
def boards(n_noise: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return half of the won boards for training and the other half, with noise."""
    X, y = data.make_tic_tac_toe(n_noise, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    return X[train], y[train], X[test], y[test]


@lru_cache(maxsize=64)
def mined(n_noise: int, seed: int, branching: float = 5) -> dict[tuple[int, ...], int]:
    """Return the patterns of both players that two trees of 1,000 have found, with counts."""
    X, y, _, _ = boards(n_noise, seed)
    found: dict[tuple[int, ...], int] = {}
    for player in (1, 0):
        model = linear.RandomIntersectionTrees(
            1000, branching, n_hashes=200, target=player, random_state=seed
        )
        quiet(model, X, y)
        found |= dict(zip(model.patterns_, model.counts_.tolist()))
    return found


@game.claim(
    "All sixteen winning lines are found, from half of the boards with 100 columns of noise"
)
@stated(16, "Section 5.1 and Figure 2", stand_in=NOISE)
@at_least(15.5, because="all of them, up to one line in two runs")
def lines_found(run: Run) -> float:
    found = mined(100, run.seed)
    return float(sum(line in found for line in data.tic_tac_toe_lines()))


@game.claim("All sixteen are among the 40 most frequent patterns, with 100 columns of noise")
@stated(16, "Section 5.1 and Figure 2", stand_in=NOISE)
@at_least(15.5, because="all of them, up to one line in two runs")
def lines_among_the_40_most_frequent(run: Run) -> float:
    found = mined(100, run.seed)
    first = sorted(found, key=lambda s: -found[s])[:40]
    lines = data.tic_tac_toe_lines()
    if run.full:
        more = mined(100, run.seed, 10)
        wide = sorted(more, key=lambda s: -more[s])[:40]
        run.note(f"seed {run.seed}: {sum(s in wide for s in lines)} with ten branches, not five")
    return float(sum(line in first for line in lines))


@lru_cache(maxsize=128)
def error_of(n_noise: int, seed: int, min_count: int) -> float:
    """Return the error of the rule classifier on the other half of the boards."""
    X, y, X_test, y_test = boards(n_noise, seed)
    model = linear.RITClassifier(1000, min_count, branching=5, random_state=seed)
    return 1.0 - quiet(model, X, y).score(X_test, y_test)


@game.rows(
    {"0": 0.0, "60": 0.0, "300": 0.0, "400": 0.0},
    says="The rule classifier errs in {published} of the cases with {row} columns of noise",
    where="Figure 3",
    stand_in=NOISE,
    expect=at_most(0.03, because="a graph shows 0 %; three in a hundred boards"),
)
def error_with(run: Run, row: str) -> float:
    plain = error_of(int(row), run.seed, 2)
    run.note(f"seed {run.seed}: {plain:.3f} with patterns of two trees, as in the paper, not five")
    return error_of(int(row), run.seed, 5)


# Twenty runs left 300 columns undecided; sixty others, their number fixed before the first of them.
@game.claim("Sixty further halves of the boards with 300 columns of noise: it errs in at most 3 %")
@stated(0.0, "Figure 3", kind="own", full_seeds=tuple(range(120, 180)), stand_in=NOISE)
@at_most(0.03, because="three in a hundred boards, as above")
def error_with_300_again(run: Run) -> float:
    return error_of(300, run.seed, 5)


# Twelve branches and ten trees were chosen on seeds 1001 to 1006, which judge nothing.
@lru_cache(maxsize=32)
def one_setting(seed: int) -> tuple[int, float]:
    """Return the fewest lines that the classifier holds as it comes, and its largest error."""
    lines, errors = [], []
    for n_noise in (0, 60, 300, 400):
        X, y, X_test, y_test = boards(n_noise, seed)
        model = quiet(linear.RITClassifier(random_state=seed), X, y)
        lines.append(len(set(data.tic_tac_toe_lines()) & set(model.patterns_)))
        errors.append(1.0 - model.score(X_test, y_test))
    return min(lines), max(errors)


@game.claim("The classifier as it comes holds all sixteen lines, with 0 to 400 columns of noise")
@stated(16, kind="own")
@holds(because="all sixteen, with each of 0, 60, 300 and 400 columns")
def lines_in_one_setting(run: Run) -> float:
    return float(one_setting(run.seed)[0] == 16)


@game.claim(
    "In the same setting it errs in at most 3 % of the boards, with 0 to 400 columns of noise"
)
@stated(0.0, kind="own")
@at_most(0.03, because="the largest error over 0, 60, 300 and 400 columns")
def error_in_one_setting(run: Run) -> float:
    return one_setting(run.seed)[1]


@game.claim("A random forest errs more than the rule classifier with 400 columns of noise")
@stated("degrades after about a hundred", "Figure 3", kind="ordering", stand_in=NOISE)
@at_least(0.0, because="the forest's error less ours")
def beats_the_forest(run: Run) -> float:
    from sklearn.ensemble import RandomForestClassifier

    X, y, X_test, y_test = boards(400, run.seed)
    forest = RandomForestClassifier(500 if run.full else 200, random_state=run.seed).fit(X, y)
    return 1.0 - forest.score(X_test, y_test) - error_of(400, run.seed, 5)


@game.claim("Linear models do not work well at all on the boards without noise")
@stated("not well", kind="ordering")
@at_least(0.05, because="the error of logistic regression; the text's worst have 5 % on")
def linear_models_fail(run: Run) -> float:
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = boards(0, run.seed)
    return 1.0 - LogisticRegression(max_iter=1000).fit(X, y).score(X_test, y_test)


# --- Section 5.2: topics -------------------------------------------------------------------------
STAND_IN = "20 topics with planted words over a Zipf background: RCV1 cannot be had here"
topics = PAPER.section(
    where="Figure 4", seeds=SEEDS, kind="ordering", stand_in=STAND_IN, random=True
)


@lru_cache(maxsize=16)
def topic_study(seed: int, full: bool) -> dict[str, np.ndarray]:
    """Return the test error of the pattern that each method chooses for each topic."""
    n, n_topics = (12_000, 20) if full else (3000, 3)
    corpus = data.make_trigger_corpus(
        2 * n, 500, n_topics, length=25, rarity=0.1, random_state=seed
    )
    X, Y, X_test, Y_test = corpus.X[:n], corpus.Y[:n], corpus.X[n:], corpus.Y[n:]
    ours = linear.topic_patterns(
        X, Y, X_screen=X_test, n_trees=1000 if full else 150, max_nodes=500, random_state=seed
    )
    errors: dict[str, list[float]] = {"ours": [], "forest": [], "linear": []}
    for topic in range(n_topics):
        own = Y[:, topic]
        least = own.mean() / 10
        leaves = linear.forest_patterns(X, own, n_trees=100 if full else 30, random_state=seed)
        path = linear.positive_lasso_patterns(X, own)
        errors["ours"].append(loss_of(ours[topic].pattern, X_test, Y_test[:, topic]))
        best = chosen_pattern(leaves, X, own, X_test, least)
        errors["forest"].append(loss_of(best, X_test, Y_test[:, topic]))
        large = [s for s in path if holders(s, X).mean() >= least]
        best = large[-1] if large else ()
        errors["linear"].append(loss_of(best, X_test, Y_test[:, topic]))
    return {name: np.array(values) for name, values in errors.items()}


def holders(pattern: tuple[int, ...], X: Any) -> np.ndarray:
    """Return which rows hold a pattern."""
    return np.asarray(X[:, list(pattern)].sum(axis=1)).ravel() == len(pattern)


def loss_of(pattern: tuple[int, ...], X: Any, y: np.ndarray) -> float:
    """Return the share of rows outside the topic among those that hold the pattern."""
    held = holders(pattern, X) if pattern else np.ones(len(y), bool)
    return 1.0 - float(y[held].mean()) if held.any() else 1.0


def chosen_pattern(
    patterns: list[tuple[int, ...]], X: Any, y: np.ndarray, screen: Any, least: float
) -> tuple[int, ...]:
    """Return the pattern that maximises (11) in training among those that satisfy (12)."""
    best: tuple[int, ...] = ()
    share = -math.inf
    for pattern in patterns:
        held = holders(pattern, X)
        if held.any() and y[held].mean() > share and holders(pattern, screen).mean() >= least:
            best, share = pattern, y[held].mean()
    return best


@topics.rows(
    {"the forest": "all but 5 of 52 topics", "the linear model": "46 of 52 topics"},
    says="Patterns of intersection trees err less on new texts than those of {row}",
    expect=at_least(0.5, because="the share of topics on which ours err no more"),
    prefix="topics-against-",
)
def topics_against(run: Run, row: str) -> float:
    study = topic_study(run.seed, run.full)
    theirs = study["forest" if row == "the forest" else "linear"]
    run.note(f"seed {run.seed}: mean error {study['ours'].mean():.3f} against {theirs.mean():.3f}")
    return float(np.mean(study["ours"] <= theirs))


PAPER.not_measurable(
    "reuters",
    "The RCV1 texts cannot be had here; the claims on topics use a simulation.",
    "On RCV1 the trees take about as long in R as a forest in Fortran",
    stated("90 % to 110 %", "Section 5.2"),
)


@PAPER.claim("Compiled trees take a small part of the time of plain Python ones", seeds=SEEDS)
@stated("a significant speedup", "Section 5.2 expects it of C", unit="times", kind="own")
@at_least(50.0, because="a factor of fifty was set beforehand")
def compiled_speed(run: Run) -> float:
    corpus = data.make_trigger_corpus(2000, 500, 5, length=60, random_state=run.seed)
    y = corpus.Y[:, 0]
    settings: dict[str, Any] = {"branching": 5, "depth": 6, "theta0": 0.1, "max_nodes": 1000}
    start = time.process_time()
    tree = linear.intersection_tree(corpus.X, y, random_state=run.seed, **settings)
    plain = (time.process_time() - start) / len(tree.sets)
    settings["prevalence"] = "exact"
    quiet(linear.RandomIntersectionTrees(2, **settings, random_state=0), corpus.X, y)
    start = time.process_time()
    model = linear.RandomIntersectionTrees(200, **settings, random_state=run.seed)
    quiet(model, corpus.X, y)
    run.note("time a node; both count exactly, the one by sets of Python, the other by bits")
    return plain / ((time.process_time() - start) / model.n_nodes_)


@PAPER.figure("An intersection tree on tic-tac-toe (Figure 1)")
def one_tree():
    X, y = data.make_tic_tac_toe()
    names = [f"{player}{row}{column}" for player in "xo" for row in "abc" for column in "123"]
    tree = linear.intersection_tree(X, y, branching=3, theta0=0.01, random_state=5)
    return plot.plot_intersection_tree(tree, feature_names=names).figure


@PAPER.figure("The patterns found most often with 100 columns of noise (Figure 2)")
def found_boards():
    found = mined(100, 0)
    return plot.plot_board_patterns(list(found), list(found.values())).figure


@PAPER.figure("Patterns by their prevalence in a class and outside")
def prevalences():
    X, y, _, _ = boards(100, 0)
    model = quiet(linear.RandomIntersectionTrees(1000, random_state=0), X, y)
    return plot.plot_pattern_prevalence(model).figure
