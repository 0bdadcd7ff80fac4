"""Chaudhuri, Monteleoni and Sarwate (2011): differentially private empirical risk minimisation."""

from __future__ import annotations

import warnings
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from octavo import data, linear, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, measured, stated, within

private = partial(Method, room="linear", family="private")

PAPER = Paper(
    key="private-erm",
    title="Differentially Private Empirical Risk Minimization",
    authors="K. Chaudhuri, C. Monteleoni and A. D. Sarwate",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=(
        "adult-huber-objective",
        "adult-objective-wins-huber",
        "objective-perturbation-is-private",
    ),
    tables={
        "Table 1": "adult-logistic-plain adult-logistic-output adult-logistic-objective "
        "adult-huber-plain adult-huber-output adult-huber-objective adult-small-penalties",
        "Table 2": "kdd-table connections-objective-wins",
        "Figure 2": "objective-wins-at-every-epsilon-* error-falls-with-epsilon-* adult-huber-wins",
        "Figure 3": "[KDDCup99 cannot be had here; Table 2 has a stand-in]",
        "Figures 4 and 5": "error-falls-with-records objective-wins-after-tuning",
        "Theorems 6 to 13": "objective-perturbation-is-private sensitivity",
        "Lemmas 16 and 19": "output-excess objective-excess",
        "Theorem 22": "kernels-as-printed",
        "Theorems 26 and 27": "selection-is-private selection-is-good",
    },
    refutations={
        "adult-small-penalties": "Below Λ = 2.2e-4 the added penalty makes all columns one model; "
        "0.8248 in each of them looks like one bad draw of noise that was used throughout.",
        "kernels-as-printed": "The norm of the printed features reaches √2, beyond the 1 that the "
        "noise is set for.",
    },
    methods=(
        private(
            name="PrivateLinearClassifier",
            task="publish a classifier trained on secret records",
            summary="Logistic regression and linear SVMs with pure ε-differential privacy.",
            use_when="A linear model of medical, financial or personnel records is to be handed "
            "out, there are thousands of records, and the guarantee must have no δ.",
            avoid_when="There are a few hundred records or many thousand features: the noise "
            "grows with features over records.",
            instead="LogisticRegression and LinearSVC are the same models without any privacy.",
            peers=("scikit-learn", "scipy"),
            plots=("plot_error_by_epsilon", "plot_error_by_penalty"),
        ),
        private(
            name="PrivateKernelClassifier",
            modules=("private.kernel_machine",),
            task="publish a kernel classifier trained on secret records",
            summary="Kernel classifiers with ε-differential privacy, on random Fourier features.",
            use_when="The classes are not linearly separable, the records have few features, and "
            "the model is to be handed out.",
            avoid_when="A linear model is nearly as good: every random feature adds noise.",
            instead="SVC, or RBFSampler before LogisticRegression, without any privacy.",
            peers=("scikit-learn",),
            plots=("plot_decision_regions",),
        ),
        private(
            name="PrivateModelSelector",
            modules=("private.tuning",),
            task="choose the parameters of a private model privately",
            summary="Tune private models on disjoint records, or on public ones, for one epsilon.",
            use_when="The penalty, or the kind of model, has to be chosen with the help of the "
            "secret records themselves.",
            avoid_when="Records are few: each of m candidates sees one part in m + 1 of them.",
            instead="GridSearchCV, which on private models spends epsilon once a fit and more.",
            peers=("scikit-learn",),
            plots=("plot_error_by_size",),
        ),
        private(
            name="privacy_audit",
            modules=("private.audit", "private.ledger"),
            task="check and keep account of the privacy that models spend",
            summary="The exact privacy loss of a private linear model, and a ledger that refuses "
            "to overspend.",
            use_when="A private model is to be released and somebody asks how it is known that "
            "epsilon is what it says, or how much was spent before.",
            avoid_when="The mechanism is another one: the densities are known in closed form for "
            "output and objective perturbation only.",
            instead="Nothing: scikit-learn has no notion of privacy.",
            peers=("numpy",),
            plots=("plot_privacy_loss", "plot_privacy_budget"),
        ),
    ),
)

CURVATURE = {"logistic": 0.25, "huber": 1.0}
ALPHAS = tuple(10.0**e for e in (-10, -7, -4, -3.5, -3, -2.5, -2, -1.5))
TABLE_1 = {  # errors on Adult at ε = 0.1 for those penalties
    ("logistic", "non-private"): (0.1540, 0.1533, 0.1654, 0.1694, 0.1758, 0.1895, 0.2322, 0.2478),
    ("logistic", "output"): (0.5318, 0.5318, 0.5175, 0.4928, 0.4310, 0.3163, 0.2395, 0.2456),
    ("logistic", "objective"): (0.8248, 0.8248, 0.8248, 0.2694, 0.2369, 0.2161, 0.2305, 0.2475),
    ("huber", "non-private"): (0.1527, 0.1521, 0.1632, 0.1669, 0.1719, 0.1793, 0.2454, 0.2478),
    ("huber", "output"): (0.5318, 0.5318, 0.5211, 0.5011, 0.4464, 0.3352, 0.2376, 0.2476),
    ("huber", "objective"): (0.2585, 0.2585, 0.2585, 0.2582, 0.2559, 0.2046, 0.2319, 0.2478),
}
FOLDS = tuple(range(10))
SEEDS = (0, 1, 2, 3, 4)
better = at_least(0.0, because="on the claimed side at all; the size stands beside")
census = PAPER.section(seeds=FOLDS, where="Table 1", kind="ordering", expect=better, random=True)


class Split(NamedTuple):
    """Training and test records; targets are -1.0 and +1.0."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@lru_cache(maxsize=1)
def adult_records() -> tuple[Any, np.ndarray]:
    """Return Adult as Section 7.1 prepares it: complete rows, columns by their maximum, rows to 1.

    These maxima and categories are taken from the records, as in the paper. That is a release of
    its own, which its guarantee does not cover.
    """
    import scipy.sparse as sp
    from sklearn.preprocessing import OneHotEncoder, normalize

    census = data.load_dataset("adult")
    complete = ~census.missing.any(axis=1)
    numbers = census.numeric[complete]
    words = OneHotEncoder().fit_transform(census.nominal[complete])
    X = sp.csr_array(sp.hstack([numbers / numbers.max(axis=0), words]))
    return normalize(X), census.target[complete].astype(float)


@lru_cache(maxsize=4)
def adult_fold(fold: int) -> Split:
    """Return one of ten folds of Adult as test records and the rest for training."""
    from sklearn.model_selection import KFold

    X, y = adult_records()
    train, test = list(KFold(10, shuffle=True, random_state=0).split(y))[fold]
    return Split(X[train], y[train], X[test], y[test])


def errors(
    split: Split, loss: str, method: str, alpha: float, epsilon: float, draws: int, seed: int = 0
) -> np.ndarray:
    """Return the test error of each of several private models of one training set."""
    if method == "non-private":
        method, epsilon, draws = "objective", np.inf, 1
    noise = linear.calibrate_perturbation(
        method, n_samples=len(split.y), alpha=alpha, epsilon=epsilon, curvature=CURVATURE[loss]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linear.ReproducibleNoiseWarning)  # a study, not a release
        models = linear.private_minimisers(
            split.X, split.y, loss, alpha, noise, n_draws=draws, random_state=seed
        )
    wrong = (split.X_test @ models.T > 0) != (split.y_test > 0)[:, None]
    return wrong.mean(axis=0)


@lru_cache(maxsize=256)
def adult_error(
    fold: int, full: bool, loss: str, method: str, exponent: float, epsilon: float = 0.1
) -> float:
    """Return the mean error of Table 1's cell on one fold, of 50 models as there or of 15."""
    draws = 50 if full else 15
    found = errors(adult_fold(fold), loss, method, 10.0**exponent, epsilon, draws, seed=fold)
    return float(found.mean())


# --- Table 1 and Figure 2 -----------------------------------------------------------------------

# The method of `errors` and the exponent of its best penalty.
BEST = {
    "plain": ("non-private", -7.0),
    "output": ("output", -2.0),
    "objective": ("objective", -2.5),
}


@census.table(
    "Adult, {row}, at its best penalty with ε = 0.1: the error is {published}", kind="figure"
)
@stated(
    {
        f"{loss} {way}": TABLE_1[loss, method][ALPHAS.index(10.0**exponent)]
        for loss in ("logistic", "huber")
        for way, (method, exponent) in BEST.items()
    }
)
@within(0.01, because="three standard errors of both means over ten folds of 4,522 rows and draws")
def adult(run: Run, row: str) -> float:
    loss, way = row.split()
    return adult_error(run.seed, run.full, loss, *BEST[way])


@census.table(
    "Adult, {row}: objective perturbation errs less than output, each at its best penalty"
)
@stated({"logistic": 0.0234, "huber": 0.033})
def adult_objective_wins(run: Run, row: str) -> float:
    output, objective = (adult_error(run.seed, run.full, row, *BEST[w]) for w in list(BEST)[1:])
    return output - objective


@census.claim(
    "On Adult, the Huber SVM under objective perturbation errs less than logistic regression"
)
@stated(0.0115, "Table 1: 0.2161 against 0.2046")
def adult_huber_wins(run: Run) -> float:
    losses = ("logistic", "huber")
    logistic, huber = (adult_error(run.seed, run.full, loss, "objective", -2.5) for loss in losses)
    return logistic - huber


figure_2 = census.section(where="Figure 2 and Section 7.2")
LOSSES = {"logistic": "lower", "huber": "lower"}


@figure_2.table(
    "Adult, {row}: objective perturbation errs less than output at ε = 0.05, 0.1, 0.2", LOSSES
)
def objective_wins_at_every_epsilon(run: Run, row: str) -> float:
    gains = []
    for epsilon in (0.05, 0.1, 0.2):
        output, objective = (
            adult_error(run.seed, run.full, row, *BEST[w], epsilon) for w in ("output", "objective")
        )
        gains.append(output - objective)
    return min(gains)


@figure_2.table("Adult, {row}: objective perturbation errs less at ε = 0.2 than at 0.05", LOSSES)
def error_falls_with_epsilon(run: Run, row: str) -> float:
    high, low = (adult_error(run.seed, run.full, row, "objective", -2.5, e) for e in (0.05, 0.2))
    return high - low


@census.claim(
    "Logistic regression with objective perturbation errs in 0.8248 when Λ is 10^-4 or less"
)
@stated(0.8248, "Table 1, first three columns", kind="figure")
@within(0.05, because="far more than sampling; the entry repeats in 3 columns")
def adult_small_penalties(run: Run) -> float:
    run.note(
        "below Λ = 2.2e-4 the added penalty Δ makes all columns one model; 0.8248 looks like a "
        "single draw of noise that was used throughout"
    )
    return float(errors(adult_fold(run.seed), "logistic", "objective", 1e-4, 0.1, 2).mean())


@census.claim("Always answering 'no' errs in about 0.25 of Adult")
@stated(0.25, "Section 7", kind="figure", seeds=(0,), random=False)
@within(0.005, because="the paper says 'about 0.25'")
def adult_constant(run: Run) -> float:
    return float((adult_records()[1] > 0).mean())


# --- Table 2 and Section 7.3: a stand-in for KDDCup99 -------------------------------------------
STAND_IN = (
    "simulated connections for KDDCup99: 119 features, 20 % attacks of three kinds, about as "
    "separable without privacy as in Table 2"
)
GROUPS = (3, 60, 11, 4, 4, 4, 4)  # one-hot features; 29 numbers follow
SHARES = (0.4, 0.25, 0.15, 0.165, 0.03, 0.005)  # three kinds of traffic, three of attacks


def profiles() -> tuple[list[np.ndarray], np.ndarray]:
    """Return what each kind of connection looks like: chances of categories, means of numbers.

    The two rare attacks are like a kind of traffic but for their numbers and one category.
    """
    world = np.random.default_rng(7)
    chances = [world.dirichlet(np.full(size, 0.3), 6) for size in GROUPS]
    numbers = world.uniform(0, 1, (6, 29)) * (world.random((6, 29)) < 0.4)
    for group in chances[:2] + chances[3:]:
        group[4:] = group[1:3]
    numbers[5] = np.where(world.random(29) < 0.2, numbers[2], numbers[5])
    return chances, numbers


def connections(n: int, seed: int) -> tuple[Any, np.ndarray]:
    """Return simulated network connections, attacks (+1) and others (-1)."""
    import scipy.sparse as sp
    from sklearn.preprocessing import normalize

    rng = np.random.default_rng([seed, 7])
    chances, means = profiles()
    kind = rng.choice(6, n, p=SHARES)
    blocks = []
    for group in chances:
        size = group.shape[1]
        edges = np.cumsum(group, axis=1)[kind]
        code = np.minimum((rng.random(n)[:, None] > edges).sum(axis=1), size - 1)
        blocks.append(sp.csr_array((np.ones(n), (np.arange(n), code)), shape=(n, size)))
    numbers = np.clip(means[kind] + 0.25 * rng.normal(size=(n, 29)), 0, 1)
    X = sp.csr_array(sp.hstack([*blocks, sp.csr_array(numbers)]))
    return normalize(X), np.where(kind >= 3, 1.0, -1.0)


@lru_cache(maxsize=8)
def connection_split(seed: int, n: int) -> Split:
    X, y = connections(n + 5000, seed)
    return Split(X[:n], y[:n], X[n:], y[n:])


PAPER.not_measurable(
    "kdd-table",
    "KDDCup99 cannot be had here; see the stand-in claims",
    "Huber SVM on KDDCup99 errs in 0.0064 with objective, 0.0092 with output perturbation",
    stated(0.0064, "Table 2"),
)
network = PAPER.section(seeds=SEEDS, kind="ordering", stand_in=STAND_IN, expect=better)


@network.claim(
    "On network connections too, objective perturbation errs less than output perturbation, each "
    "at its best penalty (logistic, ε = 0.1)"
)
@stated(0.0191, "Table 2: 0.0304 against 0.0113", full_seeds=tuple(range(6)))
def connections_objective_wins(run: Run) -> float:
    if not run.full:
        run.note("7,000 rows with ε = 1 for 70,000 with ε = 0.1")
    n, epsilon = (70_000, 0.1) if run.full else (7_000, 1.0)
    split = connection_split(run.seed, n)
    best = {
        method: min(
            errors(split, "logistic", method, 10.0**e, epsilon, 5, run.seed).mean()
            for e in (-3, -2.5, -2, -1.5)
        )
        for method in ("output", "objective")
    }
    return float(best["output"] - best["objective"])


def tuned_error(split: Split, method: str, epsilon: float, seed: int) -> float:
    """Return the test error after private tuning among the five penalties of Section 7.3."""
    penalties = {"alpha": [10.0**e for e in (-3.5, -3, -2.5, -2, -1.5)]}
    model = linear.PrivateLogisticRegression(method=method)
    selector = linear.PrivateModelSelector(model, epsilon, seed, param_grid=penalties)
    with warnings.catch_warnings(action="ignore", category=linear.ReproducibleNoiseWarning):
        selector.fit(split.X, split.y)
    return float(1 - selector.score(split.X_test, split.y_test))


@lru_cache(maxsize=64)
def learning_curve(seed: int, full: bool, method: str, part: int) -> float:
    """Return the tuned error with that many records a candidate; a tenth of them if quick."""
    n, epsilon, repeats = (part, 0.05, 2) if full else (part // 10, 0.5, 2)
    split = connection_split(seed, 6 * n)
    return float(
        np.mean([tuned_error(split, method, epsilon, 100 * seed + k) for k in range(repeats)])
    )


@network.claim(
    "Tuned privately, output perturbation errs less with 120,000 records a candidate than with "
    "60,000 (ε = 0.05)",
    full_seeds=tuple(range(12)),
)
@stated("falls", "Figures 4 and 5, Section 7.3", method="PrivateModelSelector")
def error_falls_with_records(run: Run) -> float:
    if not run.full:
        run.note("a tenth of the records with ten times ε")
    curve = [learning_curve(run.seed, run.full, "output", part) for part in (60_000, 120_000)]
    return curve[0] - curve[1]


@network.claim("Tuned privately, objective perturbation errs less than output perturbation")
@stated("in all cases", "Figures 4 and 5, Section 7.3")
@measured(method="PrivateModelSelector", full_seeds=tuple(range(12)))
def objective_wins_after_tuning(run: Run) -> float:
    if not run.full:
        run.note("a tenth of the records with ten times ε")
    output = learning_curve(run.seed, run.full, "output", 60_000)
    return output - learning_curve(run.seed, run.full, "objective", 60_000)


# --- theorems -----------------------------------------------------------------------------------
exact = at_most(1.0, because="exact densities: the largest log-quotient, in units of ε")
theory = PAPER.section(kind="theorem", unit="ε", method="privacy_audit", expect=exact)
quantile = at_most(1.0, because="the 90 % quantile of 100 draws against the bound for δ = 0.1")
lemmas = PAPER.section(kind="theorem", seeds=SEEDS, unit="of the bound", expect=quantile)


def opposite_records(n: int) -> tuple[Any, Any]:
    """Return neighbours on the line that attain the bounds of Theorem 9's proof."""
    sign = np.where(np.arange(n) % 2, 1, -1)
    neighbour = np.full((n, 1), -1.0)
    one = neighbour.copy()
    one[-1] = 1.0
    return (one * sign[:, None], sign), (neighbour * sign[:, None], sign)


@theory.claim("Algorithm 2 is ε-differentially private", 1.0, "Theorem 9 and Corollary 13")
def objective_perturbation_is_private(run: Run) -> float:
    largest, count = 0.0, 0
    settings = [(0.1, 100, 1e-4), (1.0, 1000, 1e-2), (4.0, 28_801, 1e-4)]
    for loss in ("logistic", "huber", "smooth_hinge"):
        for epsilon, n, alpha in settings if run.full else settings[1:2]:
            model = linear.PrivateLinearClassifier(epsilon, loss=loss, alpha=alpha)
            worst = linear.worst_case_neighbours(model, n)
            found = linear.privacy_audit(
                model, worst.data, worst.neighbour, 500, points=[worst.coef], random_state=run.seed
            )
            largest, count = max(largest, found / epsilon), count + 1
    run.note(f"worst neighbours found for {count} settings of loss, ε, n and Λ")
    return largest


@theory.claim(
    "The algorithm requires a slack of log(1 + 2c/(nΛ) + c²/(nΛ)²) in the privacy parameter"
)
@stated(1.0, "Section 3.2, where the proof needs it; that nothing less will do is not said")
@measured(kind="own", random=False)
@at_least(0.999, because="a slack that is needed is used up by some neighbours")
def slack_is_needed(run: Run) -> float:
    run.note(
        "the two Jacobians are rank-one updates of one matrix, so that 1 + c/(nΛ) is enough; with "
        "slack='tight' the audit attains ε exactly, with the paper's bound it stays below"
    )
    losses = {}
    for slack in ("paper", "tight"):
        model = linear.PrivateHuberSVM(0.1, alpha=1e-4, slack=slack)
        ratio = linear.log_density_ratio(model, *opposite_records(100), [[0.5 + 1e-12]])
        losses[slack] = float(ratio[0]) / 0.1
    run.note(f"tight: {losses['tight']:.4f} ε")
    return losses["paper"]


@lemmas.claim("Replacing one record moves the minimiser by at most 2/(nΛ)")
@stated(1.0, "Corollary 8", seeds=(0,))
@at_most(1.0 + 1e-9, because="a theorem; rounding")
def sensitivity(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    none = linear.calibrate_perturbation("output", n_samples=1, alpha=1.0, epsilon=np.inf)
    largest = 0.0
    for _ in range(2000 if run.full else 200):
        n, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        alpha = 10 ** rng.uniform(-2, 1.5)
        X = rng.normal(size=(n, d))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = rng.choice([-1.0, 1.0], n)
        opposite = np.vstack([X[:-1], -X[-1:]])
        one, other = (
            linear.private_minimisers(A, y, "huber", alpha, none)[0] for A in (X, opposite)
        )
        largest = max(largest, float(np.linalg.norm(one - other)) * n * alpha / 2)
    return largest


def excess_quantile(run: Run, method: str) -> float:
    """Return the (1 - δ)-quantile of J(private) - min J over the lemma's bound, δ = 0.1."""
    split, alpha, delta = connection_split(run.seed, 2000), 0.05, 0.1
    public: dict[str, Any] = {"n_samples": 2000, "alpha": alpha}
    noise = linear.calibrate_perturbation(method, epsilon=1.0, **public)
    none = linear.calibrate_perturbation(method, epsilon=np.inf, **public)

    def objective(f: np.ndarray) -> float:
        margin = split.y * (split.X @ f)
        return float(np.logaddexp(0, -margin).mean() + alpha / 2 * f @ f)

    with warnings.catch_warnings(action="ignore", category=linear.ReproducibleNoiseWarning):
        best = linear.private_minimisers(split.X, split.y, "logistic", alpha, none)[0]
        models = linear.private_minimisers(
            split.X, split.y, "logistic", alpha, noise, n_draws=100, random_state=run.seed
        )
    excess = np.array([objective(f) for f in models]) - objective(best)
    bound = linear.excess_objective_bound(noise, n_features=119, delta=delta, **public)
    return float(np.quantile(excess, 1 - delta) / bound)


@lemmas.claim("Output perturbation: J exceeds its minimum by at most 2d²(c + Λ)log²(d/δ)/(Λnε)²")
@stated(1.0, "Lemma 16")
def output_excess(run: Run) -> float:
    return excess_quantile(run, "output")


@lemmas.claim("Objective perturbation: J exceeds its minimum by at most 4d²log²(d/δ)/(Λn²ε'²)")
@stated(1.0, "Lemma 19")
def objective_excess(run: Run) -> float:
    return excess_quantile(run, "objective")


@theory.claim(
    "Algorithm 3 with v = √(2/D) cos(ω·x + ψ) and the noise of Algorithm 2 for records of norm 1 "
    "is ε-differentially private"
)
@stated(1.0, "Algorithm 3 and Theorem 22", method="PrivateKernelClassifier")
def kernels_as_printed(run: Run) -> float:
    """Audit the printed algorithm with D = 1, where records in the unit ball reach v = ±√2."""
    weights, offset = linear.random_fourier_map("rbf", 100.0, 1, 1, random_state=run.seed)
    x = (np.array([0.0, np.pi]) - offset) / weights[0]
    assert np.abs(x).max() <= 1
    high, low = np.sqrt(2.0) * np.cos(weights[0] * x + offset)
    n, epsilon, alpha, h = 1000, 1.0, 0.05, 0.5
    f = (1 - h + 1e-12) / high  # the record v = √2 stands where the Huber loss begins to bend

    def density(own: float, scale: float) -> float:
        """Return the log-density of f, up to a constant, from Eq. (6); all labels are +1."""
        v = np.append(np.full(n - 1, low), own)
        z = f * v
        slope = np.where(z < 1 - h, -1.0, -np.clip((1 + h - z) / (2 * h), 0, 1))
        curvature = np.where(np.abs(1 - z) <= h, 1 / (2 * h), 0.0)
        b = -n * alpha * f - v @ slope
        return float(-abs(b) / scale + np.log(n * alpha + curvature @ v**2))

    losses = []
    for norm in (1.0, np.sqrt(2.0)):
        noise = linear.calibrate_perturbation(
            "objective", n_samples=n, alpha=alpha, epsilon=epsilon, curvature=1.0, data_norm=norm
        )
        losses.append(density(high, noise.noise_scale) - density(low, noise.noise_scale))
    run.note(
        f"‖v‖ reaches √2, beyond the 1 that Theorem 9 needs; octavo calibrates for √2 (or takes "
        f"pairs of cosine and sine, of norm 1) and stays at {losses[1] / epsilon:.3f} ε here"
    )
    return losses[0] / epsilon


@theory.claim("Choosing with probability ∝ exp(-εz/2) is ε-differentially private")
@stated("holds", "Theorem 26, Eq. (30)", unit="", method="PrivateModelSelector")
@holds(because="every neighbour of every validation set of 4 records and 3 models")
def selection_is_private(run: Run) -> float:
    import itertools

    epsilon, largest = 0.7, 0.0
    wrong = np.array(list(itertools.product([0, 1], repeat=3)))
    for records in itertools.product(range(8), repeat=4):
        mistakes = wrong[list(records)].sum(axis=0)
        p = linear.selection_probabilities(mistakes, epsilon)
        for new in wrong:
            q = linear.selection_probabilities(mistakes - wrong[records[-1]] + new, epsilon)
            largest = max(largest, float(np.abs(np.log(p / q)).max()))
    run.note(f"largest log-quotient {largest / epsilon:.3f} ε")
    return float(largest <= epsilon)


@theory.claim("The model chosen makes at most 2 log(m/δ)/ε mistakes more than the best")
@stated("with probability 1 - δ", "Theorem 27", unit="", method="PrivateModelSelector")
@holds(because="exact probabilities for 500 random lists of mistakes")
def selection_is_good(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    for _ in range(500):
        m, epsilon, delta = int(rng.integers(2, 12)), rng.uniform(0.05, 2), rng.uniform(0.01, 0.5)
        z = rng.integers(0, 200, m)
        far = z > z.min() + linear.selection_excess_bound(m, epsilon, delta)
        if linear.selection_probabilities(z, epsilon)[far].sum() > delta:
            return 0.0
    return 1.0


def study() -> tuple[Split, str]:
    """Return a fold of Adult, or simulated connections where Adult is not at hand."""
    try:
        return adult_fold(0), "Adult"
    except data.DatasetNotFoundError:
        return connection_split(0, 40_000), "simulated connections"


@PAPER.figure(
    "Error by penalty at ε = 0.1 (Table 1): lines are ours, five draws of noise; crosses are "
    "published"
)
def error_by_penalty() -> Any:
    import matplotlib.pyplot as plt

    split, name = study()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    alphas = ALPHAS[2:]
    for ax, loss in zip(axes, ("logistic", "huber")):
        methods = ("non-private", "output", "objective")
        found = {
            m: [np.resize(errors(split, loss, m, a, 0.1, 5), 5) for a in alphas] for m in methods
        }
        published = {m: TABLE_1[loss, m][2:] for m in methods} if name == "Adult" else None
        constant = {"constant": float((split.y_test > 0).mean())}
        plot.plot_error_by_penalty(alphas, found, published=published, lines=constant, ax=ax)
        ax.set_title(f"{name}, {loss}")
    figure.tight_layout()
    return figure


@PAPER.figure("Error by privacy (Figure 2), each method at the penalty that is best at ε = 0.1")
def error_by_epsilon() -> Any:
    import matplotlib.pyplot as plt

    split, name = study()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    epsilons = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    for ax, loss in zip(axes, ("logistic", "huber")):
        found = {
            method: [errors(split, loss, method, alpha, e, 8) for e in epsilons]
            for method, alpha in (("output", 1e-2), ("objective", 10**-2.5))
        }
        lines = {
            "non-private": float(errors(split, loss, "non-private", 1e-7, 1.0, 1)[0]),
            "constant": float((split.y_test > 0).mean()),
        }
        plot.plot_error_by_epsilon(epsilons, found, lines=lines, ax=ax)
        ax.set_title(f"{name}, {loss}")
    figure.tight_layout()
    return figure


@PAPER.figure("Error by records a candidate after private tuning, simulated connections (Figure 4)")
def error_by_size() -> Any:
    sizes = (2000, 4000, 6000, 9000, 12_000)
    found = {
        method: [
            [tuned_error(connection_split(seed, 6 * n), method, 0.5, seed) for seed in range(4)]
            for n in sizes
        ]
        for method in ("output", "objective")
    }
    return plot.plot_error_by_size(sizes, found, lines={"constant": 0.2}).figure


@PAPER.figure(
    "Exact privacy loss over released coefficients on the worst neighbours, ε = 1 (Theorem 9)"
)
def privacy_loss() -> Any:
    coef = np.linspace(-1, 3, 1201)
    curves = {}
    for loss, slack in (("huber", "paper"), ("huber", "tight"), ("logistic", "paper")):
        model = linear.PrivateLinearClassifier(1.0, loss=loss, alpha=0.2, slack=slack)
        ratio = linear.log_density_ratio(model, *opposite_records(40), coef[:, None])
        curves[f"{loss}, slack='{slack}'"] = ratio
    return plot.plot_privacy_loss(coef, curves, 1.0).figure


@PAPER.figure("Kernel classifiers of 4,000 records: no privacy, and ε = 1")
def kernel_regions() -> Any:
    import matplotlib.pyplot as plt
    from sklearn.datasets import make_circles

    X, y = make_circles(4000, noise=0.12, factor=0.45, random_state=0)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    for ax, epsilon in zip(axes, (np.inf, 1.0)):
        model = linear.PrivateKernelClassifier(
            gamma=1.0, n_components=20, epsilon=epsilon, alpha=1e-3, feature_random_state=0
        ).fit(X, y)
        plot.plot_decision_regions(model, X[:400], y[:400], ax=ax)
        ax.set_title(f"ε = {epsilon:g}, error {1 - model.score(X, y):.3f}")
    figure.tight_layout()
    return figure
