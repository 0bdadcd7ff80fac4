"""Oglic (2018): greedy algorithms with kernels; greedy Fourier features and Nyström landmarks."""

from __future__ import annotations

import itertools
import math
import time
from functools import lru_cache

import numpy as np

from octavo import data, kernel, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import NotMeasurable, Run, at_least, at_most, holds, measured, stated, within

PAPER = Paper(
    key="greedy-kernel",
    title="Constructive Approximation and Learning by Greedy Algorithms",
    authors="D. Oglic",
    year=2018,
    venue="PhD thesis, University of Bonn",
    headlines=("better-than-uniform", "friedman-margin-over-phases", "breiman-reaches-the-noise"),
    tables={
        "Table 3.1": "friedman-greedy friedman-greedy-500 breiman-greedy "
        "breiman-reaches-the-noise faster-than-a-la-carte wilcoxon real-tables",
        "Table 3.2": "friedman-a-la-carte",
        "Table 3.3": "[à la carte with 500 features takes hours a fold]",
        "Table 3.4": "friedman-*-phases",
        "Figure 4.1": "better-than-uniform better-than-leverage better-than-kdpp restarts-help",
        "Figure 4.2": "kdpp-is-slow",
        "Figure 4.3": "[the same comparison by rank; Section 4.5 prints no numbers]",
    },
    refutations={
        "proposition-for-any-kernel": "The bound needs a centred Gram matrix, or rank K in place "
        "of K − 1; brute force over seven rows shows the difference.",
        "laplace-of-the-euclidean-norm": "Products of Cauchy laws are the spectrum of the Laplace "
        "kernel of the ℓ₁ norm.",
        "matern-formula": "With √(2ν) in place of the printed 2√ν the special case comes out to "
        "rounding.",
    },
    methods=(
        Method(
            name="NystroemLandmarks",
            room="kernel",
            family="landmarks",
            task="approximate a kernel matrix or feature map by a few landmarks",
            summary="Nyström features on landmarks chosen by kernel K-means++ and eight other "
            "strategies, on any array namespace.",
            use_when="A kernel machine must scale to many rows and uniform landmarks waste their "
            "budget on dense regions.",
            avoid_when="The kernel is narrow against the spacing of the rows: no choice of "
            "landmarks helps. With a target at hand, features can be learned instead.",
            instead="sklearn.kernel_approximation.Nystroem draws landmarks uniformly.",
            peers=("scikit-learn Nystroem",),
            plots=("plot_lift", "plot_error_and_time", "plot_landmarks"),
            quadratic=True,
        ),
        Method(
            name="GreedyFourierRegressor",
            room="kernel",
            family="fourier",
            task="regress with a learned kernel, linear in the number of rows",
            summary="Fourier features fitted to residuals one at a time, then one ridge model; "
            "with its baselines, à la carte and random features of four kernels.",
            use_when="A smooth function of standardised columns is wanted from many rows, and "
            "nobody knows the kernel's width.",
            avoid_when="There are fewer than some hundred rows, or the target is a step function "
            "of single columns (trees).",
            instead="RBFSampler with Ridge draws frequencies at random for one kernel; KernelRidge "
            "is exact and cubic.",
            peers=("scikit-learn RBFSampler", "AlaCarteRegressor"),
            plots=("plot_descents", "plot_spectrum"),
            quadratic=True,
            # Five folds of a training part, each of 20 rows at least, inside two loops of folds.
            trials={
                "GreedyFourierRegressor": Trial(({},), {}, None, None, "rows times columns", 250)
            },
        ),
    ),
)

LANDMARKS, GREEDY = "NystroemLandmarks", "GreedyFourierRegressor"
SAMPLING = "sampling: the whole 95 % interval over seeds must lie on the claimed side"
SEEDS = (0, 1, 2, 3, 4)
FOLDS = tuple(range(10))

# --- chapter 4: landmarks ----------------------------------------------------------------------
STAND_IN = (
    "digits, letter, spambase and shuttle in place of the thirteen LIACC and UCI sets; "
    "standardised rows, Gaussian kernel with the bandwidths of Section 4.5"
)


@lru_cache(maxsize=8)
def table(name: str) -> np.ndarray:
    """Return all rows of a data set."""
    from sklearn.datasets import load_digits

    if name == "digits":
        return load_digits().data
    return np.asarray(data.load_dataset(f"uci/{name}").data, dtype=float)


@lru_cache(maxsize=64)
def rows(name: str, size: int, seed: int) -> np.ndarray:
    """Return standardised rows of a data set, a random sample of them if there are more."""
    X = table(name)
    X = X[np.random.default_rng(seed).permutation(len(X))[:size]]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


@lru_cache(maxsize=64)
def squared_distances(name: str, size: int, seed: int) -> np.ndarray:
    from sklearn.metrics import pairwise_distances

    X = rows(name, size, seed)
    return pairwise_distances(X, metric="sqeuclidean")


def bandwidths(apart: np.ndarray, n: int) -> np.ndarray:
    """Return the inverse 99th to inverse 1st percentiles of squared distances, the last ≥ 1."""
    pairs = apart[np.triu_indices(len(apart), 1)]
    low, high = 1.0 / np.percentile(pairs, 99), 1.0 / max(np.percentile(pairs, 1), 1e-12)
    return np.logspace(np.log10(low), np.log10(max(high, 1.0)), n)


def gram(apart: np.ndarray, bandwidth: float) -> np.ndarray:
    return np.exp(-0.5 * bandwidth * apart)


def missed(K: np.ndarray, indices: np.ndarray) -> float:
    """Return the Frobenius error of the Nyström approximation on some rows."""
    from octavo.engine.kernels.nystroem import nystroem_factor

    factor = nystroem_factor(K[:, indices], K[np.ix_(indices, indices)])
    return float(np.linalg.norm(K - factor @ factor.T))


def chosen(K: np.ndarray, k: int, seed: int, **options: object) -> np.ndarray:
    return kernel.select_landmarks(K, k, "precomputed", random_state=seed, **options).indices


def lift_over(run: Run, rival: dict, ours: dict) -> float:
    """Return the rival's error over ours, a geometric mean over data sets and bandwidths."""
    size, n_widths, k = (5_000, 10, 100) if run.full else (1_000, 3, 50)
    logs = []
    for name in ("digits", "letter", "spambase", "shuttle"):
        apart = squared_distances(name, size, run.seed)
        for bandwidth in bandwidths(apart, n_widths):
            K = gram(apart, bandwidth)
            theirs = missed(K, chosen(K, k, run.seed, **rival))
            logs.append(math.log(theirs / missed(K, chosen(K, k, 100 + run.seed, **ours))))
    return math.exp(float(np.mean(logs)))


PLAIN: dict = {"method": "kmeans++", "n_local": 1}


larger = at_least(1.0, because=SAMPLING)
lifts = PAPER.section(
    published="> 1", unit="times", kind="ordering", stand_in=STAND_IN, seeds=SEEDS, expect=larger
)


@lifts.claim("Kernel K-means++ landmarks approximate better than uniform ones")
@stated(where="Section 4.5 and Figure 4.1: best on 10 of 13 data sets")
def better_than_uniform(run: Run) -> float:
    return lift_over(run, {"method": "uniform"}, PLAIN)


@lifts.claim("Kernel K-means++ landmarks approximate better than approximate leverage scores")
@stated(where="Section 4.5: the best method on 10 of 13 data sets")
def better_than_leverage(run: Run) -> float:
    return lift_over(run, {"method": "leverage"}, PLAIN)


@lifts.claim("A k-DPP chain of 1,000 steps from a uniform start approximates worse")
@stated(where="Section 4.5: low lift values")
def better_than_kdpp(run: Run) -> float:
    return lift_over(run, {"method": "kdpp", "n_steps": 1_000}, PLAIN)


@lifts.claim("Local restarts improve the landmarks", where="Section 4.3.2")
def restarts_help(run: Run) -> float:
    return lift_over(run, PLAIN, {"method": "kmeans++"})


@lifts.claim("Lloyd refinements in the instance space can only improve the landmarks")
@stated(where="Sections 4.4 and 4.4.3")
def lloyd_helps(run: Run) -> float:
    size, n_widths, k = (5_000, 10, 100) if run.full else (1_000, 3, 50)
    logs = []
    for name in ("digits", "letter", "spambase", "shuttle"):
        X = rows(name, size, run.seed)
        for bandwidth in bandwidths(squared_distances(name, size, run.seed), n_widths):
            gamma = 0.5 * bandwidth
            options = {"gamma": gamma, "random_state": run.seed}
            found = [kernel.select_landmarks(X, k, lloyd=way, **options) for way in (False, True)]
            reports = [kernel.nystroem_report(X, one, gamma=gamma, n_uniform=0) for one in found]
            errors = [report.frobenius for report in reports]
            logs.append(math.log(errors[0] / errors[1]))
    return math.exp(float(np.mean(logs)))


def truncated_error(
    X: np.ndarray, gamma: float, k: int, setting: str, seed: int, method: str = "kmeans++"
):
    """Return the Frobenius error of rank k from l > k landmarks, and the best of that rank."""
    model = kernel.NystroemLandmarks(
        "rbf", k, setting, gamma=gamma, method=method, n_local=1, random_state=seed
    )
    report = kernel.nystroem_report(X, model.fit(X), n_uniform=0, optimal=True)
    return report.frobenius, report.optimal_frobenius


def digits_at_rank(run: Run):
    """Return rows of digits, the inverse median squared distance, and a rank."""
    size, k = (1_797, 100) if run.full else (600, 30)
    run.note(f"{size} rows, rank {k}")
    X = rows("digits", size, run.seed)
    return X, 0.5 / float(np.median(squared_distances("digits", size, run.seed))), k


more = PAPER.section(
    unit="times",
    stand_in="digits at the inverse median squared distance in place of the thirteen sets",
    seeds=SEEDS,
)


@more.claim("K ln K landmarks have the lift of K ln n for a rank-K approximation")
@stated(1.0, "Section 4.5: barely any difference between the lift curves")
@within(0.1, because='"barely any difference", read as ten per cent')
def log_k_suffices(run: Run) -> float:
    X, gamma, k = digits_at_rank(run)
    lift = {
        setting: truncated_error(X, gamma, k, setting, run.seed, "uniform")[0]
        / truncated_error(X, gamma, k, setting, run.seed)[0]
        for setting in ("k_log_k", "k_log_n")
    }
    return lift["k_log_k"] / lift["k_log_n"]


@more.claim("With K ln K landmarks the rank-K error is within a factor (1 + ε) of the best, ε ≤ 1")
@stated("≤ 2", "Section 4.5, after Gittens and Mahoney (2016)")
@at_most(2.0, because="ε ∈ [0, 1] as printed")
def log_k_is_near_the_best(run: Run) -> float:
    X, gamma, k = digits_at_rank(run)
    error, best = truncated_error(X, gamma, k, "k_log_k", run.seed)
    return error / best


@PAPER.claim("The clustering potential of landmarks bounds the trace of what they miss")
@stated("≤", "Proof of Theorem 4.8", seeds=SEEDS)
@holds(because="an inequality between squared distances, exact up to rounding (1e-9)")
def potential_bounds_the_trace(run: Run) -> float:
    K = gram(squared_distances("digits", 300, run.seed), 0.02)
    picks = (chosen(K, k, run.seed) for k in (1, 5, 20, 80))
    reports = [kernel.nystroem_report(K, pick, "precomputed", n_uniform=0) for pick in picks]
    return float(all(r.trace <= r.potential * (1 + 1e-9) for r in reports))


def best_potential(K: np.ndarray, k: int) -> float:
    """Return the potential of the best kernel K-means clustering, by brute force."""
    lowest = math.inf
    for labels in itertools.product(range(k), repeat=len(K)):
        which = np.array(labels)
        parts = [which == c for c in range(k) if (which == c).any()]
        kept = sum(K[np.ix_(part, part)].sum() / part.sum() for part in parts)
        lowest = min(lowest, float(np.trace(K) - kept))
    return lowest


@PAPER.section(published="≥", seeds=SEEDS, kind="theorem").rows(
    {
        "any": {
            "name": "proposition-for-any-kernel",
            "says": "The best clustering's potential is at least the best rank K − 1 error of any "
            "Gram matrix",
            "where": "Proposition 4.7",
        },
        "centred": {
            "name": "proposition-for-centred-kernels",
            "says": "The best clustering's potential is at least the best rank K − 1 error "
            "(centred kernel)",
            "where": "Proposition 4.7, for the centred data that its proof uses",
        },
    },
    expect=holds(because="brute force over clusterings of 7 rows, up to rounding (1e-10)"),
)
def proposition(run: Run, which: str) -> float:
    X = np.random.default_rng(run.seed).standard_normal((7, 2))
    K = gram(((X[:, None] - X[None]) ** 2).sum(axis=-1), 1.0)
    if which == "centred":
        H = np.eye(7) - 1.0 / 7
        K = H @ K @ H
    tail = float(np.sort(np.linalg.eigvalsh(K))[:-1].sum())
    potential = best_potential(K, 2)
    run.note(f"seed {run.seed}: best potential {potential:.3f}, best rank-1 error {tail:.3f}")
    return float(potential >= tail - 1e-10)


@PAPER.claim("A k-DPP chain of 10,000 steps costs far more time than K-means++")
@stated("> 1", "Section 4.5 and Figure 4.2: a huge runtime cost")
@measured(kind="speed", unit="times", seeds=SEEDS, stand_in="letter in place of the thirteen sets")
@at_least(2.0, because='"huge", read as twice at least; processor time')
def kdpp_is_slow(run: Run) -> float:
    size, k = (5_000, 100) if run.full else (2_000, 100)
    X = rows("letter", size, run.seed)
    run.note(f"{size} rows, K = {k}")
    seconds = []
    for options in ({"method": "kdpp", "n_steps": 10_000}, PLAIN):
        kernel.select_landmarks(X[:300], 10, gamma=0.05, random_state=0, **options)  # compiles
        start = time.process_time()
        kernel.select_landmarks(X, k, gamma=0.05, random_state=run.seed, **options)
        seconds.append(time.process_time() - start)
    return seconds[0] / seconds[1]


PAPER.not_measurable(
    "leverage-wins-cal-housing",
    "the cal-housing data cannot be had here",
    "Leverage scores approximate cal-housing better than K-means++",
    stated("< 1", "Section 4.5", kind="ordering"),
)


# --- chapter 3: greedy Fourier features --------------------------------------------------------


def breiman(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the data of Breiman et al. (1984) called 2dplanes: ten ternary columns, two planes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, 10)).astype(float)
    X[:, 0] = rng.choice([-1.0, 1.0], size=n)
    up = 3.0 + X[:, 1:4] @ [3.0, 2.0, 1.0]
    down = -3.0 + X[:, 4:7] @ [3.0, 2.0, 1.0]
    return X, np.where(X[:, 0] > 0, up, down) + rng.standard_normal(n)


@lru_cache(maxsize=24)
def regression_data(name: str, seed: int, n: int = 40_768):
    """Return standardised rows, targets with range one, and which rows are the tenth to test on."""
    from sklearn.datasets import make_friedman1

    drawn = make_friedman1(n, noise=1.0, random_state=seed) if name == "friedman" else None
    X, y = drawn or breiman(n, seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y / np.ptp(y), np.random.default_rng(seed).permutation(n) % 10 == 0


def test_error(name: str, seed: int, fit) -> float:
    """Return 100 × the root mean squared error on a fold of a model fitted on the others."""
    X, y, test = regression_data(name, seed)
    left = fit(X[~test], y[~test])(X[test]) - y[test]
    return 100.0 * math.sqrt(float((left**2).mean()))


@lru_cache(maxsize=128)
def greedy_error(name: str, seed: int, n_workers: int = 5, share: bool = True) -> float:
    """Greedy features; each descent sees its share n/M of the rows, or all of them."""

    def fit(X, y):
        size = len(y) // n_workers if share else None
        model = kernel.GreedyFourierRegressor(n_workers, 20, sample_size=size, random_state=seed)
        return model.fit(X, y).predict

    return test_error(name, seed, fit)


@lru_cache(maxsize=128)
def random_error(name: str, seed: int, law: str, paired: bool, m: int = 100) -> float:
    """Random kitchen sinks: the best of ten widths of the log-space [−3, 2] by GCV.

    Either the sine and cosine of m frequencies, or m cosines with random phases.
    """
    from octavo.kernel.fourier.gcv_ridge import ridge_gcv

    def fit(X, y):
        fits = []
        for width in np.logspace(-3, 2, 10):
            n = 2 * m if paired else m
            sampler = kernel.SpectralSampler(
                law, 1.0 / width, n_components=n, paired=paired, random_state=seed
            ).fit(X[:2])
            fits.append((ridge_gcv(sampler.transform, X, y), sampler))
        best, sampler = min(fits, key=lambda pair: pair[0].score)
        return lambda A: sampler.transform(A) @ best.coef + best.intercept

    return test_error(name, seed, fit)


# A seed is a draw of 40,768 rows, of which a tenth is tested. The range that errors are divided by
# deviates by 2 % from draw to draw, and the tables are from one draw.
RANGE = 0.021
fourier = PAPER.section(unit="%", seeds=SEEDS, full_seeds=FOLDS, method=GREEDY)


def printed(mean: float, deviation: float):
    """Return what is expected of a mean over ten folds of one draw."""
    error = math.sqrt(deviation**2 / 10 + (RANGE * mean) ** 2)
    return within(
        round(2 * error, 3),
        because="two standard errors: the printed deviation over ten folds, and 2 % for the range",
    )


def line(name: str, says: str, mean: float, deviation: float, **words):
    """Return a row of Table 3.1 or 3.4."""
    says = f"{says} err by {mean} % of the range on friedman"
    about = {"name": name, "says": says, "published": mean, "expect": printed(mean, deviation)}
    return about | words


A_FIFTH = "each descent on its share of the rows; the thesis does not say how many"


@fourier.rows(
    {
        "5 fifth": line("friedman-greedy", "100 greedy features", 3.29, 0.09, stand_in=A_FIFTH),
        "25 fifth": line(
            "friedman-greedy-500", "500 greedy features", 3.16, 0.03, stand_in=A_FIFTH
        ),
        "5 all": line(
            "friedman-greedy-on-all-rows",
            "100 greedy features by descents on all rows",
            3.29,
            0.09,
            kind="own",
        ),
    },
    where="Table 3.1",
)
def greedy(run: Run, row: str) -> float:
    n_workers, share = row.split()
    if n_workers == "25" and not run.full:
        raise NotMeasurable("25 descents on 36,691 rows: measured in the full form only")
    return greedy_error("friedman", run.seed, int(n_workers), share=share == "fifth")


PAIRED = {"kind": "own"}


@fourier.rows(
    {
        "rbf phases": line("friedman-random-phases", "100 Gaussian cosines", 5.15, 0.10),
        "laplace phases": line("friedman-laplace-phases", "100 Laplace cosines", 5.06, 0.32),
        "cauchy phases": line("friedman-cauchy-phases", "100 Cauchy cosines", 5.25, 0.16),
        "rbf pairs": line("friedman-random", "100 Gaussian pairs", 5.15, 0.10, **PAIRED),
        "laplace pairs": line("friedman-laplace", "100 Laplace pairs", 5.06, 0.32, **PAIRED),
        "cauchy pairs": line("friedman-cauchy", "100 Cauchy pairs", 5.25, 0.16, **PAIRED),
    },
    where="Table 3.4, √2 cos(w·x + b) of Section 3.2.1.2 or pairs of sine and cosine",
)
def random_features(run: Run, row: str) -> float:
    law, kind = row.split()
    if law != "rbf" and not run.full:
        raise NotMeasurable("measured in the full form only")
    return random_error("friedman", run.seed, law, kind == "pairs")


@fourier.rows(
    {
        "phases": {"name": "friedman-margin-over-phases"},
        "pairs": {"name": "friedman-margin", "kind": "own"},
    },
    where="Tables 3.1 and 3.4: 5.15 % against 3.29 %",
    says="On friedman, greedy features beat 100 random ones ({row}) by 1.86 points",
    published=1.86,
    unit="points",
    kind="ordering",
    expect=at_least(0.0, because=SAMPLING),
)
def margin(run: Run, kind: str) -> float:
    theirs = random_error("friedman", run.seed, "rbf", kind == "pairs")
    return theirs - greedy_error("friedman", run.seed, share=kind == "pairs")


@fourier.claim("On breiman, greedy features err by 4.01 % of the range", expect=printed(4.01, 0.03))
@stated(4.01, "Table 3.1", stand_in="taken to be the data called 2dplanes, with unit noise")
def breiman_greedy(run: Run) -> float:
    return greedy_error("breiman", run.seed)


@fourier.claim("On breiman, greedy features reach the noise, as all methods do")
@stated(1.0, "Table 3.1")
@measured(unit="of the noise", stand_in="taken to be the data called 2dplanes, with unit noise")
@within(0.02, because="4.01 is printed ± 0.03, and a fold's noise deviates by 1.1 %")
def breiman_reaches_the_noise(run: Run) -> float:
    _, _, test = regression_data("breiman", run.seed)
    raw, target = breiman(40_768, run.seed)
    plane = np.where(
        raw[:, 0] > 0, 3.0 + raw[:, 1:4] @ [3.0, 2.0, 1.0], -3.0 + raw[:, 4:7] @ [3.0, 2.0, 1.0]
    )
    noise = (target - plane)[test] / np.ptp(target)
    return greedy_error("breiman", run.seed) / (100.0 * math.sqrt(float((noise**2).mean())))


@fourier.claim("À la carte with one Gaussian errs by 3.16 % of the range on friedman with m = 100")
@stated(3.16, "Table 3.2", full_seeds=SEEDS, expect=printed(3.16, 0.03))
def friedman_a_la_carte(run: Run) -> float:
    if not run.full:
        raise NotMeasurable("takes minutes: measured in the full form only")

    def fit(X, y):
        return kernel.AlaCarteRegressor(1, 100, random_state=run.seed).fit(X, y).predict

    return test_error("friedman", run.seed, fit)


@fourier.claim(
    "Greedy features are faster than à la carte: 6:07 against 18:43 minutes with m = 100"
)
@stated(3.06, "Table 3.1, friedman", unit="times", kind="speed", full_seeds=SEEDS)
@at_least(3.06, because="the ratio published; both in one run, processor time")
def faster_than_a_la_carte(run: Run) -> float:
    n = 40_768 if run.full else 4_000
    X, y, _ = regression_data("friedman", run.seed)
    kernel.GreedyFourierRegressor(1, 1, random_state=0).fit(X[:500], y[:500])  # compiles
    start = time.process_time()
    kernel.GreedyFourierRegressor(random_state=run.seed).fit(X[:n], y[:n])
    greedy = time.process_time() - start
    start = time.process_time()
    # A start of 20 iterations is a twentieth of the 10 × 20 + 200 that a whole fit makes.
    kernel.AlaCarteRegressor(5, 100, 1, max_iter=0, random_state=run.seed).fit(X[:n], y[:n])
    run.note(f"{n} rows; à la carte timed over one start of 20 iterations, times 20")
    return 20.0 * (time.process_time() - start) / greedy


@PAPER.claim("Greedy with 500 features against à la carte with 100: Wilcoxon's T is 28")
@stated(28, "Section 3.3.2", method=GREEDY)
@within(0.5, because="a count from the printed errors; half a rank for ties")
def wilcoxon(run: Run) -> float:
    from scipy.stats import rankdata

    greedy = [2.20, 3.04, 2.59, 10.01, 3.79, 4.65, 2.60, 9.83, 3.30, 5.24, 4.51, 5.55, 3.12]
    greedy += [11.17, 4.01, 3.16]
    other = [0.78, 6.19, 3.82, 9.94, 3.73, 5.03, 2.68, 9.84, 3.24, 5.28, 4.89, 7.16, 3.37]
    other += [12.69, 4.06, 3.37]
    gap = np.round(np.array(other) - np.array(greedy), 2)
    ranks = rankdata(np.abs(gap))
    run.note("recomputed from the errors that Table 3.1 prints")
    return float(min(ranks[gap > 0].sum(), ranks[gap < 0].sum()))


@PAPER.claim("Greedy sequences approach a convex combination at the rate of Corollary 3.3")
@stated("≤ 1", "Corollary 3.3", unit="of the bound", kind="theorem", method=GREEDY, seeds=SEEDS)
@at_most(1.0, because="a theorem; the largest ratio over 300 steps")
def greedy_rate(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    x = rng.uniform(-3, 3, (200, 2))
    atoms = np.cos(x @ rng.standard_normal((2, 80)) + rng.uniform(-np.pi, np.pi, 80)).T
    atoms /= math.sqrt(200)
    target = rng.dirichlet(np.ones(80)) @ atoms
    radius = float(np.linalg.norm(atoms - target, axis=1).max())
    f, worst = atoms[0], 0.0
    for m in range(1, 300):
        worst = max(worst, np.linalg.norm(f - target) / kernel.greedy_rate_bound(m, radius))
        steps = (m * f + atoms) / (m + 1)
        f = steps[np.argmin(np.linalg.norm(steps - target, axis=1))]
    return float(worst)


@PAPER.claim("Products of Cauchy laws are the spectrum of exp(−‖x − x′‖₂/θ)")
@stated("equal", "Section 3.2.1.1, Laplace kernel", method=GREEDY, seeds=(0,))
@holds(because="an identity; 200,000 frequencies, five standard errors")
def laplace_of_the_euclidean_norm(run: Run) -> float:
    A = np.array([[0.0, 0.0], [1.0, 1.0]])
    Z = kernel.SpectralSampler(
        "laplace", n_components=400_000, paired=True, random_state=run.seed
    ).fit_transform(A)
    seen = float(Z[0] @ Z[1])
    run.note(f"at (1, 1): {seen:.3f}; exp(−√2) = {math.exp(-math.sqrt(2)):.3f}, exp(−2), that of "
             f"the ℓ₁ norm, = {math.exp(-2):.3f}")  # fmt: skip
    return float(abs(seen - math.exp(-math.sqrt(2))) < 5 * math.sqrt(0.5 / 200_000))


@PAPER.claim("The general Matérn formula gives the printed special case ν = 3/2")
@stated("equal", "Section 3.2.1.1, Matérn kernel with 2√ν", method=GREEDY)
@holds(because="an identity, exact up to rounding (1e-9)")
def matern_formula(run: Run) -> float:
    from scipy.special import gamma, kv

    r = np.linspace(0.1, 3.0, 20)
    special = (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r)

    def general(scaled):
        return 2 ** (1 - 1.5) / gamma(1.5) * scaled**1.5 * kv(1.5, scaled)

    printed = float(np.abs(general(2 * math.sqrt(1.5) * r) - special).max())
    usual = float(np.abs(general(math.sqrt(3.0) * r) - special).max())
    run.note(f"with 2√ν off by up to {printed:.3f}, with √(2ν) by {usual:.1e}")
    return float(printed < 1e-9)


PAPER.not_measurable(
    "real-tables",
    "the UCI and LIACC regression sets of Table 3.1 cannot be had here",
    "Greedy features beat à la carte on ct-slice and lose on parkinsons and pole (m = 500)",
    stated(
        2.59,
        "Table 3.1: 2.59 against 2.73 %, 2.20 against 0.31 %, 5.55 against 5.20 %",
        unit="%",
        method=GREEDY,
    ),
)


@PAPER.figure("Lift over uniform landmarks by bandwidth: digits, rank 50 (compare Figure 4.1)")
def lift_by_bandwidth():
    apart = squared_distances("digits", 800, 0)
    widths = bandwidths(apart, 6)
    strategies = {
        "K-means++": PLAIN,
        "K-means++ with restarts": {"method": "kmeans++"},
        "leverage scores": {"method": "leverage"},
        "k-DPP, 1,000 steps": {"method": "kdpp"},
    }
    lifts: dict[str, list[list[float]]] = {name: [] for name in strategies}
    for width in widths:
        K = gram(apart, width)
        uniform = [missed(K, chosen(K, 50, s, method="uniform")) for s in range(3)]
        for name, options in strategies.items():
            errors = [missed(K, chosen(K, 50, s, **options)) for s in range(3)]
            lifts[name].append([float(np.mean(uniform)) / e for e in errors])
    return plot.plot_lift(widths, lifts).figure


@PAPER.figure("What choosing landmarks costs and brings: letter, 1,500 rows, rank 50 (Figure 4.2)")
def error_and_time():
    X = rows("letter", 1_500, 0)
    strategies: dict[str, dict] = {
        "uniform": {"method": "uniform"},
        "K-means++": PLAIN,
        "K-means++ with restarts": {"method": "kmeans++"},
        "K-means++ and Lloyd": {"method": "kmeans++", "lloyd": True},
        "K-means of the rows": {"method": "kmeans"},
        "leverage scores": {"method": "leverage"},
        "k-DPP, 1,000 steps": {"method": "kdpp"},
    }
    seconds: dict[str, list[float]] = {name: [] for name in strategies}
    errors: dict[str, list[float]] = {name: [] for name in strategies}
    for name, options in strategies.items():
        for seed in range(3):
            start = time.perf_counter()
            found = kernel.select_landmarks(X, 50, gamma=0.03, random_state=seed, **options)
            seconds[name].append(time.perf_counter() - start)
            report = kernel.nystroem_report(X, found, gamma=0.03, n_uniform=0)
            errors[name].append(report.frobenius)
    return plot.plot_error_and_time(seconds, errors).figure


@PAPER.figure("Residuals along five greedy descents on friedman, 5,000 rows", method=GREEDY)
def residuals():
    X, y, _ = regression_data("friedman", 0)
    model = kernel.GreedyFourierRegressor(random_state=0).fit(X[:5_000], y[:5_000])
    return plot.plot_descents(model).figure


@PAPER.figure("Frequencies learned on friedman, 5,000 rows, by amplitude", method=GREEDY)
def spectrum():
    X, y, _ = regression_data("friedman", 0)
    model = kernel.GreedyFourierRegressor(random_state=0).fit(X[:5_000], y[:5_000])
    return plot.plot_spectrum(model).figure
