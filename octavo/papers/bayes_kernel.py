"""Zhang, Dai and Jordan (2011): Bayesian generalized kernel mixed models."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from octavo import data, kernel, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import NotMeasurable, Run, at_least, at_most, measured, stated, within

PAPER = Paper(
    key="bayes-kernel",
    title="Bayesian Generalized Kernel Mixed Models",
    authors="Z. Zhang, G. Dai and M. I. Jordan",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("enumeration", "ringnorm-beats-svm"),
    tables={
        "Table 2": "letters-*-fbgkm letters-*-sgpc other-table-2",
        "Table 3": "sparse-is-faster",
        "Tables 4 to 6": "newsgroups",
        "Table 7": "letters-a-b-fills-k-max letters-a-c-fills-k-max",
        "Tables 8 and 9": "learned-widths",
        "Tables 10 and 11": "mushrooms-beats-svm adult",
        "Table 12": "settles-by-5000",
        "Table 13": "ringnorm-* twonorm-* thyroid-and-waveform",
        "Figure 2": "settles-by-5000",
        "Figures 3 and 4": "[clocks of 2011: the logarithms of Tables 9 and 11]",
    },
    refutations={
        "letters-a-*-fills-k-max": "The sampler whose law equals exact enumeration visits half as "
        "many vectors; the published chain hardly moves away from its limit, which looks like slow "
        "mixing.",
    },
    methods=(
        Method(
            name="SparseBayesKernelClassifier",
            room="kernel",
            family="sparse_bayes",
            task="classify a few hundred or thousand rows with probabilities that can be trusted",
            summary="Kernel classification and regression that average over support points, widths "
            "and regularisation, drawn by reversible jump.",
            use_when="Samples are few enough for minutes of sampling, and probabilities, their "
            "uncertainty or the relevance of inputs matter.",
            avoid_when="There are more than some thousand rows, or only labels are wanted: a "
            "support vector machine is hundreds of times as fast.",
            instead="GaussianProcessClassifier (Laplace's method, one kernel), or SVC with "
            "CalibratedClassifierCV.",
            peers=("scikit-learn",),
            plots=(
                "plot_active_surface",
                "plot_active_trace",
                "plot_inclusion",
                "plot_reliability",
                "plot_relevance",
                "plot_hairiness",
            ),
            trials={
                "SparseBayesKernelClassifier": Trial(
                    params={"n_iter": 2000, "burn_in": 1000},
                    grid=({"model": "fbgkm"}, {"model": "sgpc"}),
                    row_limit=1000,
                ),
                "SparseBayesKernelRegressor": Trial(
                    params={"n_iter": 2000, "burn_in": 1000},
                    grid=({"model": "fbgkm"}, {"model": "sgpc"}),
                    row_limit=1000,
                ),
            },
        ),
    ),
)

QUICK, FULL = (0, 1, 2, 3, 4), tuple(range(20))
FIRST = "drawn anew from Breiman's distribution"
ONE_HOT = "5,644 of the 8,124 rows (those without missing values): 4,000 train, 1,644 test"
SVM = "SVC with the same width and C by five folds, in place of results cited from elsewhere"


class Split(NamedTuple):
    """Training and test rows, standardised by the training rows (Section 5.2)."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def breiman(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return twonorm or ringnorm: twenty features, two normal classes."""
    y, far = rng.integers(0, 2, n), 2 / np.sqrt(20)
    X = rng.normal(size=(n, 20))
    if name == "twonorm":
        return X + np.where(y == 1, far, -far)[:, None], y
    return np.where(y[:, None] == 1, X + far, 2 * X), y


@lru_cache(maxsize=4)
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a data set with two classes."""
    try:
        found = data.load_dataset("uci/letter" if name.startswith("letters") else "uci/mushroom")
    except data.DatasetNotFoundError as missing:
        raise NotMeasurable(str(missing)) from None
    if name == "mushrooms":
        from sklearn.preprocessing import OneHotEncoder

        X = OneHotEncoder(sparse_output=False).fit_transform(found.nominal)
        return X, np.asarray(found.target).astype(int)
    pair = [0, 1 if name.endswith("b") else 2]
    rows = np.isin(found.target, pair)
    return np.asarray(found.data, dtype=float)[rows], (found.target[rows] != 0).astype(int)


# Rows for training and testing, and the most active vectors: Table 1.
SIZES = {
    "ringnorm": (400, 7000, 400),
    "twonorm": (400, 7000, 400),
    "letters-a-b": (300, 1255, 100),
    "letters-a-c": (300, 1225, 100),
    "mushrooms": (4000, 1644, 200),
}


@lru_cache(maxsize=32)
def split(name: str, seed: int, full: bool) -> Split:
    """Return one of the paper's random partitions."""
    n, m, _ = SIZES[name]
    if name == "mushrooms" and not full:
        n = 400
    rng = np.random.default_rng(seed)
    if name in ("ringnorm", "twonorm"):
        X, y = breiman(name, n + m, rng)
    else:
        X, y = table(name)
        order = rng.permutation(len(y))[: n + m]
        X, y = X[order], y[order]
    X = X[:, X[:n].std(axis=0) > 0]
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return Split(X[:n], y[:n], X[n:], y[n:])


@lru_cache(maxsize=64)
def fitted(name: str, model: str, seed: int, full: bool) -> Any:
    """Return a classifier with the paper's settings, or with an eighth of the sweeps."""
    part = split(name, seed, full)
    sweeps = {} if full else {"n_iter": 1250, "burn_in": 625, "thin": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kernel.SparseBayesKernelClassifier(
            model, k_max=SIZES[name][2], random_state=seed, **sweeps
        ).fit(part.X, part.y)


@lru_cache(maxsize=256)
def error(name: str, model: str, seed: int, full: bool) -> float:
    """Return the error on the test rows in percent."""
    part, learner = split(name, seed, full), fitted(name, model, seed, full)
    return 100 * float(np.mean(learner.predict(part.X_test) != part.y_test))


@lru_cache(maxsize=64)
def svm_error(name: str, seed: int, full: bool) -> float:
    """Return the error of a support vector machine with the same width."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    part = split(name, seed, full)
    width = fitted(name, "fbgkm", seed, full).width_
    search = GridSearchCV(SVC(gamma=width**-2), {"C": np.logspace(-2, 3, 11)}, cv=5)
    return 100 * float(1 - search.fit(part.X, part.y).score(part.X_test, part.y_test))


def exact_law_of_sets(K: np.ndarray, signs: np.ndarray, g: float, eta: float) -> np.ndarray:
    """Return p(γ | y) for all sets of active vectors: prior times orthant probability."""
    from scipy.special import betaln
    from scipy.stats import multivariate_normal

    n, logs = len(K), []
    for code in range(2**n):
        inside = np.flatnonzero(code >> np.arange(n) & 1)
        Q = np.eye(n) + 1 / eta
        if inside.size:
            Q += K[:, inside] @ np.linalg.solve(g * K[np.ix_(inside, inside)], K[inside])
        zero = np.zeros(n)
        chance = multivariate_normal.cdf(
            zero, zero, Q * np.outer(signs, signs), maxpts=10**6, abseps=1e-7, releps=1e-7
        )
        logs.append(np.log(chance) + betaln(inside.size + 1, n - inside.size + 1))
    law = np.exp(np.array(logs) - max(logs))
    return law / law.sum()


@PAPER.claim("Reversible jump draws active sets from their posterior", kind="theorem", seeds=QUICK)
@stated("equal laws", "Section 3.2, with the steps in the order of a valid Gibbs sampler")
@at_most(0.06, because="Monte Carlo: 16 sets, some 2,000 effective draws")
def enumeration(run: Run) -> float:
    from scipy.spatial.distance import cdist

    rng = np.random.default_rng(run.seed)
    n, g, eta, held = 4, 0.3, 0.5, 1e9
    X = rng.normal(size=(n, 2))
    y = np.array([0, 1, 0, 1])
    K = np.exp(-(cdist(X, X) ** 2) / 1.5**2)
    model = kernel.SparseBayesKernelClassifier(
        width=1.5, k_max=n, n_moves=4, n_iter=20_000 if run.full else 4_000, burn_in=500, thin=1,
        a_g=held * g, b_g=held, a_eta=held * eta, b_eta=held, random_state=run.seed,
    )  # fmt: skip
    model.fit(X, y)
    codes = [int(np.sum(1 << index)) for index, *_ in model.draws_]
    seen = np.bincount(codes, minlength=2**n) / len(codes)
    exact = exact_law_of_sets(K, 2 * y - 1, g, eta)
    run.note("total variation between draws and exact enumeration; g and η held by their priors")
    return 0.5 * float(np.abs(seen - exact).sum())


errors = PAPER.section(unit="%", kind="figure", seeds=QUICK, full_seeds=FULL)


def printed(spread: float):
    """Expect a mean over twenty splits, with ours over as many."""
    return within(
        round(3 * spread * np.sqrt(2 / 20), 2),
        because="three standard errors of the difference of two means over twenty splits",
    )


@errors.rows(
    {
        f"{row} {model}": {
            "published": value,
            "says": f"{model.upper()} errs in {value} % of the test rows of {words}",
            "expect": printed(spread),
            "where": "Table 13" if "norm" in row else "Table 2",
            "stand_in": FIRST if "norm" in row else "",
        }
        for row, words, model, value, spread in (
            ("ringnorm", "ringnorm", "fbgkm", 1.51, 0.10),
            ("ringnorm", "ringnorm", "sgpc", 1.56, 0.12),
            ("twonorm", "twonorm", "fbgkm", 2.86, 0.21),
            ("twonorm", "twonorm", "sgpc", 2.79, 0.23),
            ("letters-a-b", "letters A and B", "fbgkm", 0.77, 0.24),
            ("letters-a-b", "letters A and B", "sgpc", 0.53, 0.19),
            ("letters-a-c", "letters A and C", "fbgkm", 0.84, 0.15),
            ("letters-a-c", "letters A and C", "sgpc", 0.65, 0.20),
        )
    },
    prefix="",
)
def table_error(run: Run, row: str) -> float:
    name, model = row.split(" ")
    value = error(name, model, run.seed, run.full)
    if name.endswith("norm"):
        run.note("Bayes errors: ringnorm 1.25 %, twonorm 2.28 %")
    return value


orders = PAPER.section(
    unit="points",
    kind="ordering",
    seeds=QUICK,
    full_seeds=FULL,
    expect=at_least(0.0, because="on the claimed side at all, whole interval over splits"),
)


@orders.claim("On ringnorm FBGKM errs less than a support vector machine: 1.51 for 2.03 %")
@stated(0.52, "Table 13", stand_in=f"{FIRST}; {SVM}")
def ringnorm_beats_svm(run: Run) -> float:
    ours = error("ringnorm", "fbgkm", run.seed, run.full)
    theirs = svm_error("ringnorm", run.seed, run.full)
    run.note(f"seed {run.seed}: {ours:.2f} for {theirs:.2f} %")
    return theirs - ours


@orders.claim("On mushrooms FBGKM errs less than a support vector machine: 0.19 for 0.55 %")
@stated(0.36, "Table 10", full_seeds=QUICK, stand_in=f"{ONE_HOT}; {SVM}")
def mushrooms_beats_svm(run: Run) -> float:
    ours = error("mushrooms", "fbgkm", run.seed, run.full)
    return svm_error("mushrooms", run.seed, run.full) - ours


fills = PAPER.section(
    where="Table 7, k_max = 100",
    unit="active vectors",
    kind="figure",
    seeds=QUICK,
    full_seeds=FULL,
    expect=at_least(80.0, because="the smallest number in 5,000 sweeps is 80 (column Min)"),
)


@fills.rows(
    {
        "letters-a-b fills k max": (
            "On letters A and B the chain stays between 80 and 100 of 100 vectors",
            99,
        ),
        "letters-a-c fills k max": (
            "On letters A and C the chain stays between 80 and 100 of 100 vectors",
            97,
        ),
    },
    prefix="",
)
def fills_k_max(run: Run, row: str) -> float:
    if not run.full:
        raise NotMeasurable("needs all 10,000 sweeps: a quick chain has not come to rest")
    model = fitted(row.removesuffix(" fills k max"), "fbgkm", run.seed, run.full)
    late = model.traces_["n_active"][model.burn_in :]
    run.note("mean number after the burn-in, by the sampler whose law equals exact enumeration")
    return float(late.mean())


@PAPER.claim("All chains settle within 5,000 sweeps by the cusum criterion", seeds=QUICK)
@stated("at most 3,924 sweeps (FBGKM)", "Table 12 and Figure 2", full_seeds=FULL, unit="sweeps")
@measured(
    stand_in="letters A and B in place of five other sets; every tenth sweep, as successive "
    "numbers of active vectors hardly differ",
    kind="figure",
)
@at_most(5_000, because="the burn-in that the paper uses")
def settles_by_5000(run: Run) -> float:
    if not run.full:
        raise NotMeasurable("needs all 10,000 sweeps: a quick chain ends before 5,000")
    model = fitted("letters-a-b", "fbgkm", run.seed, run.full)
    every = 10
    path, bounds = kernel.cusum_hairiness(model.traces_["n_active"][::every])
    outside = np.flatnonzero((path < bounds[:, 0]) | (path > bounds[:, 1]))
    return float(every * (outside[-1] + 2)) if outside.size else 1.0


@PAPER.claim(
    "Sparsity saves time: FBGKM takes 2.7 × 10³ s where BGKM takes 6.0 × 10³ s (n = 500)",
    stand_in="500 rows of ringnorm in place of USPS digits; our BGKM works in the eigenbasis, "
    "where a sweep is O(n²) and not O(n³)",
)
@stated(2.2, "Table 3, USPS (0 vs. 1)", unit="times", kind="speed", seeds=QUICK)
@at_least(1.0, because="faster at all; both are timed in one run")
def sparse_is_faster(run: Run) -> float:
    import time

    X, y = breiman("ringnorm", 500, np.random.default_rng(run.seed))
    seconds = {}
    for model in ("bgkm", "fbgkm"):
        learner = kernel.SparseBayesKernelClassifier(
            model, n_iter=2_000 if run.full else 300, burn_in=100, random_state=run.seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(X[:40], y[:40])
            start = time.process_time()
            learner.fit(X, y)
            seconds[model] = time.process_time() - start
    return seconds["bgkm"] / seconds["fbgkm"]


PAPER.not_measurable(
    "newsgroups",
    "the selection of 893 words by information gain is not given, and the corpus is not at hand",
    "FBGKM and SGPC err in 4.83 and 4.66 % of the newsgroup texts",
    stated(4.83, "Tables 2 and 4 to 6", unit="%"),
)
PAPER.not_measurable(
    "other-table-2",
    "BCI, Digit1, COIL2 and USPS digits are not at hand, nor code of the Bayesian SVMs",
    "FBGKM errs in 29.83, 4.85, 9.80 and 0.28 %",
    stated(0.28, "Table 2", unit="%"),
)
PAPER.not_measurable(
    "learned-widths",
    "the splice set in the coding of the LIBSVM pages, Astroparticle and the 123 columns of Adult "
    "are not at hand",
    "With one width per feature FBGKM errs in 7.49 % of splice, a full GP in 9.19 %",
    stated(7.49, "Table 8", unit="%"),
)
PAPER.not_measurable(
    "adult",
    "the 123 columns of Adult, Splice and Astroparticle in LIBSVM's coding are not at hand",
    "FBGKM errs in 15.24 % of Adult",
    stated(15.24, "Table 10", unit="%"),
)
PAPER.not_measurable(
    "thyroid-and-waveform",
    "the benchmark's thyroid splits are not at hand, and which waveforms form a class is not said",
    "FBGKM errs in 4.60 % of thyroid and 9.80 % of waveform",
    stated(4.60, "Table 13", unit="%"),
)


@PAPER.figure("Probabilities and active vectors: large dots are often active")
def surface():
    from sklearn.datasets import make_moons

    X, y = make_moons(120, noise=0.25, random_state=0)
    model = kernel.SparseBayesKernelClassifier(
        k_max=60, n_iter=1500, burn_in=500, n_moves=10, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return plot.plot_active_surface(model, X, y).figure


@PAPER.figure("Active vectors by sweep on ringnorm (compare Figure 2)")
def trace():
    return plot.plot_active_trace(fitted("ringnorm", "fbgkm", 0, False)).figure
