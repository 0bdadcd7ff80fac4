"""Cousins and Shawe-Taylor (2017): high-probability minimax probability machines."""

from __future__ import annotations

import warnings
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from octavo import data, plot, svm
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import (
    Expectation,
    NotMeasurable,
    Run,
    at_least,
    at_most,
    holds,
    measured,
    stated,
    within,
)

machine = partial(Method, room="svm", family="minimax")

PAPER = Paper(
    key="minimax-probability",
    title="High-probability minimax probability machines",
    authors="S. Cousins and J. Shawe-Taylor",
    year=2017,
    venue="Machine Learning 106; chapter 3 of S. Cousins's thesis at University College London, "
    "whose sections and tables the claims name",
    headlines=(
        "ionosphere-hp-mpm-10-percent",
        "ionosphere-gain-over-mpm",
        "worst-case-is-attained",
    ),
    tables={
        "Table 3.2": "*-hp-mpm-10-percent ionosphere-mpm-10-percent best-of-four sonar-dip",
        "Table 3.3": "*-gaussian",
        "Table 3.4": "german-bias german-bias-gain",
        "Table 3.5": "adult-*",
        "Figures 3.4 and 3.5": "label-noise",
        "Corollary 8": "worst-case-is-attained solvers-agree",
    },
    methods=(
        machine(
            name="HighProbabilityMPM",
            task="classify from few rows by what is certain of their moments",
            summary="HP-MPM: the best worst-case accuracy when each class's mean and covariance "
            "may be wrong by what its number of rows leaves open.",
            use_when="There are tens to hundreds of rows, perhaps more features than rows, noisy "
            "labels, or one class that was seen much less than the other.",
            avoid_when="There are many thousand rows, or the boundary is not smooth: moments then "
            "say less than the rows near the boundary.",
            instead="LinearSVC or LogisticRegression; LinearDiscriminantAnalysis with shrinkage "
            "also regularises covariances, the same for both classes.",
            peers=("scikit-learn", "cvxpy"),
            plots=("plot_moment_ellipsoids", "plot_guarantee_by_uncertainty", "plot_accuracy_by"),
            quadratic=True,
        ),
        machine(
            name="MinimaxProbabilityMachine",
            modules=("minimax.curve", "minimax.machine", "minimax.moment_space"),
            task="classify with a guarantee that holds for every distribution with given moments",
            summary="MPM: the hyperplane whose worst-case accuracy is the best that two means and "
            "covariances allow, linear or with a kernel.",
            use_when="Moments are known well and nothing else is: the guarantee needs no model of "
            "the classes.",
            avoid_when="The moments come from a few dozen rows (HighProbabilityMPM), or the "
            "classes are of very different size (MinimumErrorMPM).",
            instead="LinearDiscriminantAnalysis, which assumes normal classes of one covariance "
            "and guarantees nothing.",
            peers=("scikit-learn", "cvxpy"),
            plots=("plot_moment_ellipsoids",),
            quadratic=True,
        ),
        machine(
            name="BiasedMPM",
            modules=("minimax.biased",),
            task="guarantee the accuracy of one class, or weigh the guarantees of both",
            summary="BMPM and MEMPM: minimax probability machines for errors of unequal cost and "
            "classes of unequal size.",
            use_when="One class must be right with a prescribed worst-case accuracy, or the "
            "classes are not equally common.",
            avoid_when="Moments come from few rows: the guarantee is about the moments given.",
            instead="class_weight in any classifier, or TunedThresholdClassifierCV, without a "
            "guarantee.",
            peers=("cvxpy",),
            plots=("plot_guarantee_curve",),
            quadratic=True,
            trials={"BiasedMPM": Trial(({},), {"on_infeasible": "warn"})},
        ),
    ),
)

RHOS = (1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.3, 0.6, 0.9)
REGS = tuple(10.0**e for e in range(-6, 1))
PENALTIES = tuple(10.0**e for e in range(-3, 4))
QUICK, FULL = tuple(range(10)), tuple(range(50))
# Standard deviations of accuracies over our partitions; the thesis prints none.
SPREAD = {
    "australian": 1.3,
    "wisconsin": 0.6,
    "pima": 1.9,
    "ionosphere": 4.4,
    "sonar": 5.5,
    "twonorm": 0.2,
    "ringnorm": 0.6,
    "german": 2.0,
}


def three_errors(name: str) -> Expectation:
    """Expect a published mean over 50 partitions, with ours over as many."""
    return within(
        round(0.6 * SPREAD[name], 2),
        because="three standard errors of the difference of two means over 50 partitions",
    )


better = at_least(0.0, because="on the claimed side at all; the size stands beside")


class Partition(NamedTuple):
    """Training, validation and test rows, with the classes as True and False."""

    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@lru_cache(maxsize=8)
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a data set as Section 3.4 prepares it: every feature with mean 0 and variance 1."""
    from sklearn.preprocessing import OneHotEncoder

    if name in ("twonorm", "ringnorm"):  # Breiman's two, as many rows as in the thesis
        rng = np.random.default_rng(7400)
        y = np.arange(7400) % 2 == 0
        far = 2 / np.sqrt(20)
        X = rng.normal(size=(7400, 20))
        if name == "twonorm":
            X += np.where(y, far, -far)[:, None]
        else:
            X = np.where(y[:, None], 2 * X, X + far)
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    found = data.load_dataset(f"uci/{name}")
    if name == "german":
        words = OneHotEncoder(sparse_output=False).fit_transform(found.nominal)
        X = np.hstack([found.numeric, words])
    else:
        X = np.asarray(found.data, dtype=float)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), found.target > 0


def partition(name: str, share: float, seed: int) -> Partition:
    """Split at random: a share for training, a fifth for validation, the rest for testing."""
    X, y = table(name)
    order = np.random.default_rng(seed).permutation(len(y))
    first = round(share * len(y))
    second = first + round(0.2 * len(y))
    parts = order[:first], order[first:second], order[second:]
    return Partition(*(array for part in parts for array in (X[part], y[part])))


def chosen(models: list[Any], split: Partition) -> float:
    """Return the test accuracy in per cent of the model that is best in validation.

    Of equals the last is taken: models come with increasing regularisation.
    """
    scores = [model.score(split.X_valid, split.y_valid) for model in models]
    best = max(i for i, score in enumerate(scores) if score >= max(scores) - 1e-12)
    return 100.0 * float(models[best].score(split.X_test, split.y_test))


def high_probability(split: Partition, **options: Any) -> list[Any]:
    """Return a machine for each share of the largest feasible uncertainty."""
    top = svm.HighProbabilityMPM(**options).fit(split.X, split.y).nu_max_
    models = [svm.HighProbabilityMPM(uncertainty=rho * top, **options) for rho in RHOS]
    return [model.fit(split.X, split.y) for model in models]


class LinearRule(NamedTuple):
    """Weights and a threshold."""

    w: np.ndarray
    b: float

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Return the accuracy."""
        return float(np.mean((X @ self.w >= self.b) == y))


def fisher(split: Partition) -> list[LinearRule]:
    """Return Fisher's discriminant for each ridge, with the threshold of Eq. (3.4)."""
    zero, one = svm.class_moments(split.X, split.y)
    pooled = (zero.n * zero.cov + one.n * one.cov) / (zero.n + one.n)
    rules = []
    for ridge in PENALTIES:
        w = np.linalg.solve(pooled + ridge * np.eye(len(pooled)), one.mean - zero.mean)
        rules.append(LinearRule(w, 0.5 * w @ (one.mean + zero.mean) - np.log(one.n / zero.n)))
    return rules


def support_vectors(split: Partition) -> list[Any]:
    """Return a linear SVM for each penalty."""
    from sklearn.svm import SVC

    return [SVC(kernel="linear", C=C).fit(split.X, split.y) for C in PENALTIES[::-1]]


def plain(split: Partition) -> list[LinearRule]:
    """Return the minimax machine as the thesis tunes it: δ in the least-squares problems."""
    # Every solution lies in the span of the rows, where the problems are smaller.
    basis = np.linalg.svd(split.X.T, full_matrices=False)[0]
    moments = svm.class_moments(split.X @ basis, split.y)
    planes = [svm.iterated_least_squares(*moments, delta=delta) for delta in REGS]
    return [LinearRule(basis @ plane.coef, plane.threshold) for plane in planes]


def ridged(split: Partition) -> list[Any]:
    """Return a minimax machine for each ridge on the covariances, a share of their variance."""
    models = [svm.MinimaxProbabilityMachine(alpha=alpha) for alpha in REGS]
    return [model.fit(split.X, split.y) for model in models]


COLUMNS = {"mpm": plain, "hp-mpm": high_probability, "svm": support_vectors, "fda": fisher}
MACHINES = {**COLUMNS, "ridge-mpm": ridged}


@lru_cache(maxsize=8192)
def accuracy(name: str, share: float, seed: int, machine: str, noise: float = 0.0) -> float:
    """Return the test accuracy of one algorithm on one partition, tuned in validation.

    With `noise`, that share of the labels of training and validation rows is switched.
    """
    split = partition(name, share, seed)
    if noise:
        rng = np.random.default_rng([seed, 7])
        split = split._replace(
            y=split.y ^ (rng.random(len(split.y)) < noise),
            y_valid=split.y_valid ^ (rng.random(len(split.y_valid)) < noise),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outlying rows; the radius cancels here
        return chosen(MACHINES[machine](split), split)


# --- Table 3.2 ----------------------------------------------------------------------------------
DELTA = (
    "how δ enters the least-squares problems is not printed; here it is added to Σ₁/β + Σ₀/η, and "
    "tuned in validation it does better than the thesis's"
)
OTHER_DATA = {
    "ionosphere": "33 features that vary, where the thesis has 32",
    "wisconsin": "683 rows of 9 features, where the thesis has 682 of 10",
    "twonorm": "drawn anew from Breiman's distribution",
    "ringnorm": "drawn anew from Breiman's distribution",
}
TABLE_3_2 = {  # accuracies of MPM and HP-MPM by data set and share of the rows
    ("ionosphere", 10): (72.45, 82.18),
    ("sonar", 10): (63.59, 69.88),
    ("sonar", 30): (57.42, 74.71),
    ("australian", 10): (84.21, 85.01),
    ("wisconsin", 10): (96.20, 97.12),
    ("pima", 10): (72.74, 73.14),
    ("twonorm", 10): (97.59, 97.67),
    ("ringnorm", 10): (74.43, 76.51),
}
TABLE_3_3 = {"ionosphere": 91.04, "sonar": 70.09, "australian": 85.06, "pima": 73.15}
TABLE_3_3 |= {"wisconsin": 97.07}
TABLE_3_5 = {"50": 79.35, "100": 81.37, "200": 82.37, "500": 83.30, "1000": 83.79}
GAINS: dict[str, Any] = {"ionosphere mpm": 9.73, "sonar mpm": 6.29}
GAINS |= dict.fromkeys(("ionosphere ridge-mpm", "sonar ridge-mpm"), "not tried")
accuracies = PAPER.section(seeds=FULL, unit="%")


@accuracies.rows(
    {
        f"{name} {machine} {share}": {
            "published": value,
            "expect": three_errors(name),
            "stand_in": DELTA if machine == "mpm" else OTHER_DATA.get(name, ""),
            "method": "HighProbabilityMPM" if machine == "hp-mpm" else "MinimaxProbabilityMachine",
        }
        for (name, share), pair in TABLE_3_2.items()
        for machine, value in zip(("mpm", "hp-mpm"), pair)
    },
    name="{row}-percent",
    says="{row} % of the rows for training: test accuracy of the linear machine",
    where="Table 3.2",
)
def table_3_2(run: Run, row: str) -> float:
    name, machine, share = row.split()
    return accuracy(name, int(share) / 100, run.seed, machine)


differences = PAPER.section(
    where="Table 3.2", seeds=QUICK, full_seeds=FULL, unit="points", kind="ordering", expect=better
)


@differences.table(
    "{row}: with 10 % of the rows, allowing for uncertain moments gains over the plain one",
    name={row: row.replace(" ", "-gain-over-") for row in GAINS},
    kind={row: "own" for row, points in GAINS.items() if points == "not tried"},
)
@stated(GAINS)
def gain_over(run: Run, row: str) -> float:
    name, baseline = row.split()
    ours, theirs = (accuracy(name, 0.1, run.seed, m) for m in ("hp-mpm", baseline))
    return ours - theirs


@differences.claim(
    "On sonar the plain machine gets worse as its training share grows from 10 to 30 %, because "
    "as many rows as features make the worst covariances.",
    method="MinimaxProbabilityMachine",
)
@stated(6.17, "Table 3.2 and Section 3.4, linear experiments", unit="points lost", stand_in=DELTA)
def sonar_dip(run: Run) -> float:
    return accuracy("sonar", 0.1, run.seed, "mpm") - accuracy("sonar", 0.3, run.seed, "mpm")


FIVE = ("australian", "wisconsin", "pima", "ionosphere", "sonar")  # ahead on all but pima


@differences.claim(
    "With 10 % of the rows HP-MPM is nearly always the best of MPM, HP-MPM, SVM and FDA: over the "
    "five data sets at hand it is 0.67 points ahead of the SVM, the best rival on each."
)
@stated(0.67, "Table 3.2 and Section 3.4, linear experiments")
def best_of_four(run: Run) -> float:
    ours, svms = ([accuracy(n, 0.1, run.seed, m) for n in FIVE] for m in ("hp-mpm", "svm"))
    return float(np.mean(np.subtract(ours, svms)))


# --- Tables 3.3 to 3.5 --------------------------------------------------------------------------


@lru_cache(maxsize=512)
def gaussian_accuracy(name: str, seed: int, bias: str = "minimax") -> float:
    """Return HP-MPM's accuracy with a Gaussian kernel exp(-|x - z|²/σ), 10 % of the rows."""
    split = partition(name, 0.1, seed)
    models: list[Any] = []
    for sigma in PENALTIES:
        models += high_probability(split, kernel="rbf", gamma=1.0 / sigma, bias=bias)
    return chosen(models, split)


@accuracies.table(
    "{row}: test accuracy of HP-MPM with a Gaussian kernel and 10 % of the rows",
    name="{row}-gaussian",
    stand_in=OTHER_DATA,
    seeds=QUICK,
    full_seeds=FULL,
    expect={name: three_errors(name) for name in SPREAD},
)
@stated(TABLE_3_3, "Table 3.3")
def gaussian(run: Run, row: str) -> float:
    return gaussian_accuracy(row, run.seed)


CODED = "words as indicator columns, where the thesis has 24 numbers"


@accuracies.claim(
    "Test accuracy of bHP-MPM, with the threshold of the fewest training errors, on german.",
    expect=three_errors("german"),
)
@stated(73.04, "Table 3.4", seeds=QUICK, full_seeds=FULL, stand_in=CODED)
def german_bias(run: Run) -> float:
    return gaussian_accuracy("german", run.seed, "accuracy")


@differences.claim(
    "Moving the threshold to the fewest training errors corrects for unequal classes: 2.41 points "
    "on german."
)
@stated(2.41, "Table 3.4", stand_in=CODED)
def german_bias_gain(run: Run) -> float:
    return german_bias(run) - gaussian_accuracy("german", run.seed)


@lru_cache(maxsize=1)
def census() -> tuple[np.ndarray, np.ndarray]:
    """Return adult with words as indicator columns, standardised."""
    from sklearn.preprocessing import OneHotEncoder

    found = data.load_dataset("adult")
    complete = ~found.missing.any(axis=1)
    words = OneHotEncoder(sparse_output=False).fit_transform(found.nominal[complete])
    X = np.hstack([found.numeric[complete], words])
    return (X - X.mean(axis=0)) / X.std(axis=0), found.target[complete] > 0


@lru_cache(maxsize=64)
def adult_accuracy(m: int, seed: int, bias: str) -> float:
    """Return the test accuracy of m training rows of adult, tuned on as many others."""
    X, y = census()
    order = np.random.default_rng(seed).permutation(len(y))
    parts = order[:m], order[m : 2 * m], order[2 * m : 2 * m + 10_000]
    split = Partition(*(array for part in parts for array in (X[part], y[part])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outlying rows; the radius cancels here
        return chosen(high_probability(split, bias=bias), split)


INDICATORS = "numbers and indicators of words, where the thesis has 123 binary features"


@accuracies.table(
    "{row} rows of adult: test accuracy of bHP-MPM, whose threshold has the fewest errors",
    name={"1000": "adult-bias"} | {m: f"adult-bias-{m}" for m in ("50", "100", "200", "500")},
)
@stated(TABLE_3_5, "Table 3.5", seeds=QUICK, stand_in=INDICATORS)
@within(1.0, because="three standard errors of our mean; the thesis gives no spread")
def adult_rows(run: Run, row: str) -> float:
    return adult_accuracy(int(row), run.seed, "accuracy")


@differences.claim(
    "Moving the threshold to the fewest training errors corrects for unequal classes: 3.72 "
    "points on 1,000 rows of adult.",
)
@stated(3.72, "Table 3.5 and Section 3.4, accounting for class imbalance")
@measured(seeds=QUICK, full_seeds=QUICK, stand_in=INDICATORS)
def adult_bias_gain(run: Run) -> float:
    return adult_accuracy(1000, run.seed, "accuracy") - adult_accuracy(1000, run.seed, "minimax")


# --- noise --------------------------------------------------------------------------------------


@differences.claim(
    "Switching 30 % of the labels costs HP-MPM less than it costs a linear SVM (breast, 20 % of "
    "the rows for training)."
)
@stated(
    "HP-MPM degrades marginally, the SVM drops sharply",
    "Figure 3.4 and Section 3.4, impact of label noise",
)
def label_noise(run: Run) -> float:
    shown = partial(accuracy, "wisconsin", 0.2, run.seed)
    lost = {machine: shown(machine) - shown(machine, 0.3) for machine in ("hp-mpm", "svm")}
    return lost["svm"] - lost["hp-mpm"]


# --- guarantees ---------------------------------------------------------------------------------
theory = PAPER.section(kind="theorem", seeds=(0, 1, 2), method="MinimaxProbabilityMachine")


@theory.claim(
    "1/(1 + κ²) is the largest error of a class over all distributions with its two moments."
)
@stated("equal", "Section 3.2.1, Eq. (3.3) to (3.9)")
@at_most(2e-3, because="a linear program over distributions on a grid of 4,001 points")
def worst_case_is_attained(run: Run) -> float:
    from scipy.optimize import linprog

    split = partition("pima", 0.5, run.seed)
    machine = svm.MinimaxProbabilityMachine().fit(split.X, split.y)
    w, b = np.ravel(machine.coef_), float(np.ravel(machine.intercept_)[0])
    gaps = []
    for label, side in ((False, 1.0), (True, -1.0)):
        scores = side * (split.X[split.y == label] @ w + b)
        mean, deviation = scores.mean(), scores.std()
        grid = np.linspace(mean - 8 * deviation, mean + 8 * deviation, 4001)
        moments = np.vstack([np.ones_like(grid), grid, (grid - mean) ** 2])
        wrong = np.where(grid >= 0.0, -1.0, 0.0)
        found = linprog(wrong, A_eq=moments, b_eq=[1.0, mean, deviation**2], method="highs")
        gaps.append(abs(-found.fun - machine.worst_case_error_))
        run.note(f"linear program {-found.fun:.4f}, machine {machine.worst_case_error_:.4f}")
    return float(max(gaps))


@PAPER.claim(
    "Fractions of 0.05 to 1 of the moment uncertainty are what the experiments chose from: "
    "0.05 of it leaves a meaningful solution on ionosphere.",
)
@stated(0.05, "Section 3.4, before the linear experiments")
@measured(kind="own", unit="largest feasible fraction", seeds=QUICK, full_seeds=FULL)
@at_least(0.05, because="from nu_max on, no hyperplane has κ > 0 (Corollary 8)")
def feasible_fractions(run: Run) -> float:
    run.note("the radius is the largest norm of a training row of standardised features")
    split = partition("ionosphere", 0.7, run.seed)
    return float(svm.HighProbabilityMPM().fit(split.X, split.y).nu_max_)


@theory.claim(
    "The machine minimises √(wᵀΣ₁w) + √(wᵀΣ₀w) subject to w·(mean₁ - mean₀) = 1; its κ is that of "
    "the cone program."
)
@stated("equal", "Eq. (3.7), Theorem 6")
@holds(because="interior-point solutions are good to 1e-6; the duality gap is ours")
def equals_cone_program(run: Run) -> float:
    try:
        import cvxpy as cp
    except ImportError:
        raise NotMeasurable("cvxpy is not installed") from None
    split = partition("pima", 0.5, run.seed)
    zero, one = svm.class_moments(split.X, split.y)
    w = cp.Variable(len(zero.mean))
    spreads = [cp.norm(np.linalg.cholesky(m.cov).T @ w) for m in (zero, one)]
    program = cp.Problem(cp.Minimize(sum(spreads)), [w @ (one.mean - zero.mean) == 1])
    program.solve(solver="CLARABEL")
    plane = svm.minimax_hyperplane(zero, one)
    run.note(f"κ {plane.kappas[0]:.9f}, cone program {1 / program.value:.9f}, gap {plane.gap:.1e}")
    return float(abs(plane.kappas[0] * program.value - 1) < 1e-6 and plane.gap < 1e-9)


@theory.claim(
    "The alternating scheme (Algorithm 1, with its test and its κ corrected) reaches the optimum "
    "of (3.15): a cone program in a bisection and tangent steps find the same κ."
)
@stated("equal", "Eq. (3.15), Algorithm 1", method="HighProbabilityMPM")
@holds(because="the bisection is run to 1e-8")
def solvers_agree(run: Run) -> float:
    split = partition("pima", 0.1, run.seed)
    top = svm.HighProbabilityMPM().fit(split.X, split.y).nu_max_
    kappas = {}
    for solver in ("direct", "alternating", "socp"):
        model = svm.HighProbabilityMPM(uncertainty=0.1 * top, solver=solver)
        try:
            kappas[solver] = model.fit(split.X, split.y).kappa_
        except ImportError:
            raise NotMeasurable("cvxpy is not installed") from None
        run.note(f"{solver}: {model.n_iter_} steps, κ {model.kappa_:.9f}")
    return float(max(kappas.values()) - min(kappas.values()) < 1e-7 * max(kappas.values()))


# --- unequal classes ----------------------------------------------------------------------------


@lru_cache(maxsize=128)
def unequal(seed: int) -> tuple[Any, Any, Partition]:
    """Return the plain and the minimum-error machine on half of pima, 35 % of it one class."""
    split = partition("pima", 0.5, seed)
    return (
        svm.MinimaxProbabilityMachine().fit(split.X, split.y),
        svm.MinimumErrorMPM().fit(split.X, split.y),
        split,
    )


@differences.claim(
    "Where classes are not equally common, minimising one worst-case rate is not optimal: weighing "
    "two lowers the worst-case error (pima).",
    method="BiasedMPM",
)
@stated("lower", "Eq. (3.17), Sections 3.2.1 and 3.5", unit="of the worst-case error", kind="own")
def minimum_error_gain(run: Run) -> float:
    one_rate, two_rates, split = unequal(run.seed)
    if run.seed == 0:
        run.note(
            f"worst-case error {one_rate.worst_case_error_:.3f} and "
            f"{two_rates.worst_case_error_:.3f}, test accuracy "
            f"{one_rate.score(split.X_test, split.y_test):.3f} and "
            f"{two_rates.score(split.X_test, split.y_test):.3f} in partition 0"
        )
    return one_rate.worst_case_error_ - two_rates.worst_case_error_


@theory.claim(
    "The biased machine controls the largest error of one class and is then the best for the "
    "other: the solution of the fractional program."
)
@stated("optimal", "Section 3.5, class imbalance", method="BiasedMPM")
@holds(because="interior-point solutions are good to 1e-6")
def biased_is_optimal(run: Run) -> float:
    try:
        import cvxpy as cp
    except ImportError:
        raise NotMeasurable("cvxpy is not installed") from None
    split = partition("pima", 0.5, run.seed)
    zero, one = svm.class_moments(split.X, split.y)
    plane = svm.biased_hyperplane(zero, one, 0.3)
    kappa = float(svm.accuracy_to_kappa(0.3))
    w = cp.Variable(len(zero.mean))
    roots = [np.linalg.cholesky(m.cov).T for m in (zero, one)]
    behind = w @ (one.mean - zero.mean) - kappa * cp.norm(roots[0] @ w) >= 1
    program = cp.Problem(cp.Minimize(cp.norm(roots[1] @ w)), [behind])
    program.solve(solver="CLARABEL")
    run.note(f"κ₁ {plane.kappas[1]:.9f}, cone program {1 / program.value:.9f}")
    return float(abs(plane.kappas[1] * program.value - 1) < 1e-6)


def two_clouds() -> tuple[np.ndarray, np.ndarray]:
    """Return 20 and 200 rows of two classes in the plane, as in Figure 3.3."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=(20, 2)) @ np.array([[1.2, 0.5], [0.0, 0.5]]) + [2.5, 1.0]
    zero = rng.normal(size=(200, 2)) @ np.array([[0.6, -0.6], [0.0, 0.9]]) - [2.0, 0.5]
    return np.concatenate([zero, one]), np.repeat([0, 1], [200, 20])


@PAPER.figure(
    "Ellipsoids of the plain machine touch at the hyperplane (Figure 3.1)",
    method="MinimaxProbabilityMachine",
)
def ellipsoids():
    X, y = two_clouds()
    return plot.plot_moment_ellipsoids(svm.MinimaxProbabilityMachine().fit(X, y), X, y).figure


@PAPER.figure("Regularised ellipsoids of 20 and 200 rows, and the hyperplane (Figure 3.3)")
def regularised_ellipsoids():
    X, y = two_clouds()
    return plot.plot_moment_ellipsoids(svm.HighProbabilityMPM().fit(X, y), X, y).figure


@PAPER.figure("The guarantee as the uncertainty grows to the largest feasible")
def guarantee():
    return plot.plot_guarantee_by_uncertainty(svm.HighProbabilityMPM(), *two_clouds()).figure


@PAPER.figure(
    "Best pairs of guarantees for two classes: the minimax, biased and minimum-error machines",
    method="BiasedMPM",
)
def guarantee_curve():
    X, y = two_clouds()
    machines = {
        "minimax": svm.MinimaxProbabilityMachine().fit(X, y),
        "biased, 95 % of class 0": svm.BiasedMPM(0.95).fit(X, y),
        "minimum error": svm.MinimumErrorMPM().fit(X, y),
    }
    frontier = [svm.BiasedMPM(a).fit(X, y) for a in np.linspace(0.0, 0.98, 80)]
    return plot.plot_guarantee_curve(frontier, machines).figure
