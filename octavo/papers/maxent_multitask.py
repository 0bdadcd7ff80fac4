"""Jebara (2011): tasks that share sparse switches, by maximum entropy discrimination."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache

import numpy as np

from octavo import data, kernel, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import NotMeasurable, Run, at_least, at_most, measured, stated, within

PAPER = Paper(
    key="maxent-multitask",
    title="Multitask Sparsity via Maximum Entropy Discrimination",
    authors="T. Jebara",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("switches-make-ordinary-machines", "shared-features-help", "bound-holds"),
    tables={
        "Figure 1": "shared-features-help digits-one-against-rest dermatology",
        "Figure 2": "shared-kernels-help landmine",
        "Figure 3": "heart-against-independent heart-against-pooled",
        "Figure 4": "edges-against-and edges-against-or",
        "Figure 5": "[a sketch of an upper and a lower bound, without data]",
        "Figure 6": "penalty-of-small-alpha penalty-of-large-alpha printed-penalty-equation",
    },
    refutations={
        "printed-penalty-equation": "With 1 + 1/(e^h − 1) in the last display both sides agree to "
        "1e-13.",
    },
    methods=(
        Method(
            name="MEDMultitaskSVC",
            room="kernel",
            family="multitask",
            task="learn several related tasks with few rows each, and which features or kernels "
            "they share",
            summary="Support vector machines of several tasks behind shared soft switches of "
            "features, kernels or a pooled model; convex, with a duality gap.",
            use_when="Sites, endpoints or customers have a table each with the same columns, few "
            "labels, and probably need the same few columns, kernels or a common model.",
            avoid_when="Every task has plenty of rows, or tasks have nothing in common.",
            instead="MultiTaskLasso shares features over responses of the same rows, for "
            "regression; a loop over SVC shares nothing.",
            peers=("scikit-learn LinearSVC and SVC, one a task", "scikit-learn MultiTaskLasso"),
            plots=(
                "plot_switch_path",
                "plot_task_switches",
                "plot_switch_penalty",
                "plot_edge_scores",
            ),
            trials={
                "MEDMultitaskSVC": Trial(
                    grid=tuple({"alpha": a, "C": C} for a in (1.0, 100.0) for C in (0.1, 1.0)),
                    row_limit=3000,
                    feature_limit=20_000,
                    cost="the square of the rows times columns",
                ),
                "MEDMultitaskSVR": Trial(
                    grid=tuple({"alpha": a, "C": C} for a in (1.0, 100.0) for C in (0.1, 1.0)),
                    row_limit=2000,
                    feature_limit=20_000,
                    cost="the square of the rows times columns",
                ),
                "MEDSparseRegressor": Trial(
                    grid=tuple({"alpha": a, "C": C} for a in (1.0, 100.0) for C in (0.1, 1.0)),
                    row_limit=2000,
                    feature_limit=20_000,
                    cost="the cube of the rows",
                ),
                "MEDMultitaskPath": Trial(
                    grid=({},),
                    params={"alphas": (1, 100), "Cs": (0.1, 1.0), "cv": 3},
                    row_limit=1000,
                    feature_limit=2000,
                    cost="the square of the rows times columns, for each fold and setting",
                ),
                "MEDAdaptivePoolingSVC": Trial(
                    grid=tuple({"C": C} for C in (0.01, 0.1, 1.0)),
                    row_limit=2000,
                    cost="the square of the rows",
                ),
                "MEDAdaptivePoolingSVR": Trial(
                    grid=tuple({"C": C} for C in (0.01, 0.1, 1.0)),
                    row_limit=2000,
                    cost="the square of the rows",
                ),
            },
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
TWENTY = tuple(range(20))
HUNDRED = tuple(range(100))
SAMPLING = "sampling: the whole 95 % interval over seeds must lie on the claimed side"
ALPHAS = (1.0, 10.0, 100.0, 1000.0)
CS = (0.01, 0.1, 1.0)


def task_auc(y, values, task) -> float:
    """Return the mean over tasks of the area under the ROC curve (the paper's MAUC)."""
    from sklearn.metrics import roc_auc_score

    parts = [task == m for m in np.unique(task)]
    areas = [roc_auc_score(y[p], values[p]) for p in parts if 0 < y[p].sum() < p.sum()]
    return float(np.mean(areas))


def chosen_auc(train, check, test, settings, **options) -> float:
    """Fit with each setting, choose by one part of the rows, and return the score on another."""
    best, score = -np.inf, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alpha, C in settings:
            model = kernel.MEDMultitaskSVC(alpha=alpha, C=C, tol=1e-3, **options).fit(*train)
            found = task_auc(check[1], model.decision_function(check[0], check[2]), check[2])
            if found > best:
                values = model.decision_function(test[0], test[2])
                best, score = found, task_auc(test[1], values, test[2])
    return score


def gain(train, check, test, **options) -> float:
    """Return how much higher the mean area is with shared switches than with machines alone."""
    shared = chosen_auc(train, check, test, [(a, C) for C in CS for a in ALPHAS], **options)
    alone = chosen_auc(train, check, test, [(0.0, C) for C in CS], **options)
    return shared - alone


# --- theorems -------------------------------------------------------------------------------


@PAPER.claim("log(α + exp(u'u/2)) lies below the quadratic of Theorem 1, which touches it at v")
@stated("≥ 0", "Theorem 1", kind="theorem", seeds=SEEDS)
@at_least(-1e-9, because="rounding of terms up to some hundreds")
def bound_holds(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    n = 200_000 if run.full else 20_000
    u, v = rng.standard_normal((2, n, 3)) * rng.uniform(0, 6, size=(2, n, 1))
    alpha = 10.0 ** rng.uniform(-3, 6, size=n)
    q = 0.5 * (v * v).sum(axis=1)
    L = np.log(alpha) - q
    G = np.tanh(0.5 * L) / (2.0 * L)
    d = u - v
    along = (v * d).sum(axis=1)
    left = np.logaddexp(np.log(alpha), 0.5 * (u * u).sum(axis=1))
    right = np.logaddexp(np.log(alpha), q) + along / (1.0 + alpha * np.exp(-q))
    right += 0.5 * ((d * d).sum(axis=1) + G * along**2)
    return float((right - left).min())


@PAPER.claim("⌈log(1/ε)/log min(1 + 1/α, 2)⌉ steps are enough for (1 − ε) of the maximum")
@stated("≤ 1 of the bound", "Theorem 2", kind="theorem", seeds=SEEDS)
@at_most(1.0, because="the largest share of the bound that α = 0.1, 1, 10 and 100 took")
def steps_within_the_bound(run: Run) -> float:
    tasks = data.make_shared_sparse_tasks(1, 80, 20, random_state=run.seed)
    eps, worst = 1e-3, 0.0
    for alpha in (0.1, 1.0, 10.0, 100.0):
        best = kernel.MEDMultitaskSVC(alpha=alpha, tol=1e-7).fit(tasks.X, tasks.y).dual_objective_
        steps = kernel.MEDMultitaskSVC(alpha=alpha, solver="bound", tol=1e-6, max_sweeps=2000)
        duals = steps.fit(tasks.X, tasks.y).history_[:, 1]
        needed = int(np.argmax(duals >= (1 - eps) * best)) + 1
        bound = kernel.med_iteration_bound(alpha, eps)
        run.note(f"α={alpha:g}: {needed} of {bound}")
        worst = max(worst, needed / bound)
    return worst


@PAPER.claim("A task's machine is an ordinary one on the kernel that the switches make")
@stated("equal", "Section 7", kind="theorem", seeds=SEEDS)
@at_most(1e-3, because="decision values of scikit-learn's SVC, refitted for each task")
def switches_make_ordinary_machines(run: Run) -> float:
    from sklearn.svm import SVC

    tasks = data.make_shared_sparse_tasks(4, 60, 15, random_state=run.seed)
    worst = 0.0
    for alpha in (1.0, 30.0):
        model = kernel.MEDMultitaskSVC(alpha=alpha, tol=1e-8, max_sweeps=1000)
        model.fit(tasks.X, tasks.y, tasks.task)
        values = model.decision_function(tasks.X, tasks.task)
        for m in range(4):
            rows = tasks.task == m
            X = tasks.X[rows]
            K = (X * model.switches_) @ X.T
            machine = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(K, tasks.y[rows])
            worst = max(worst, float(np.abs(machine.decision_function(K) - values[rows]).max()))
    return worst


@PAPER.claim("With α = 0 the tasks decouple into independent support vector machines")
@stated("equal", "Section 6", kind="theorem", seeds=SEEDS)
@at_most(1e-4, because="coefficients of scikit-learn's SVC, one a task")
def alpha_zero_is_independent(run: Run) -> float:
    from sklearn.svm import SVC

    tasks = data.make_shared_sparse_tasks(4, 40, 10, random_state=run.seed)
    model = kernel.MEDMultitaskSVC(alpha=0.0, tol=1e-8).fit(tasks.X, tasks.y, tasks.task)
    worst = 0.0
    for m in range(4):
        rows = tasks.task == m
        machine = SVC(kernel="linear", tol=1e-9).fit(tasks.X[rows], tasks.y[rows])
        worst = max(worst, float(np.abs(machine.coef_[0] - model.coef_[m]).max()))
    return worst


# --- penalties ------------------------------------------------------------------------------


@PAPER.claim("The implicit equation for h(w) holds")
@stated("equal", "Appendix C, last display", kind="theorem")
@at_most(1e-6, because="relative difference of its two sides at h = φ(a(w)) + const")
def printed_penalty_equation(run: Run) -> float:
    alpha, w = 20.0, np.array([0.2, 0.7, 1.5, 3.0])
    E = np.exp(kernel.med_penalty(w, alpha, form="appendix") + np.log1p(1 / alpha)) - 1
    printed = 2 * np.log(alpha * E) / (1 - 1 / E) ** 2
    corrected = 2 * np.log(alpha * E) / (1 + 1 / E) ** 2
    run.note(f"with 1 + 1/(e^h − 1): {np.abs(corrected / w**2 - 1).max():.1g}")
    return float(np.abs(printed / w**2 - 1).max())


SHAPE = "h(1/2)/h(1) is 0.25 for a square and 0.5 for an absolute value"


@PAPER.claim("For small α the penalty resembles the square", 0.25, "Appendix C, Figure 6(a)")
@within(0.01, because=SHAPE)
def penalty_of_small_alpha(run: Run) -> float:
    half, one = kernel.med_penalty([0.5, 1.0], 0.01, form="appendix")
    return float(half / one)


@PAPER.claim("As α increases a behaviour resembling an absolute value emerges")
@stated(0.5, "Appendix C, Figure 6(a)", stand_in="α = 10⁶, as the text names no value")
@within(0.05, because=SHAPE)
def penalty_of_large_alpha(run: Run) -> float:
    half, one = kernel.med_penalty([0.5, 1.0], 1e6, form="appendix")
    dual = kernel.med_penalty([0.5, 1.0], 1e6)
    run.note(f"of the convex penalty that the dual implies: {dual[0] / dual[1]:.3f}")
    return float(half / one)


# --- tasks that share features or kernels -----------------------------------------------------

PAPER.not_measurable(
    "dermatology",
    says="Multitask feature selection has a higher mean AUC than independent machines",
    where="Figure 1",
    published="p < 0.05",
    why="the six-class Dermatology data cannot be had here",
)
PAPER.not_measurable(
    "landmine",
    says="Multitask kernel selection has a higher mean AUC than independent machines",
    where="Figure 2",
    published="p < 0.05",
    why="the Landmine data cannot be had here",
)


def split_rows(task, n_train, rng):
    """Return rows to learn from, to choose by and to test on, task by task."""
    parts: list[list[np.ndarray]] = [[], [], []]
    for m in np.unique(task):
        rows = rng.permutation(np.flatnonzero(task == m))
        half = n_train + (len(rows) - n_train) // 2
        for part, piece in zip(parts, np.split(rows, [n_train, half])):
            part.append(piece)
    return [np.concatenate(part) for part in parts]


@PAPER.claim(
    "Tasks that share their features have a higher mean AUC together than alone",
    stand_in="simulated tasks: 6 of 40 rows and 34 features, 5 of which matter, for Dermatology",
)
@stated("> 0", "Section 11, Figure 1", kind="ordering", seeds=SEEDS, full_seeds=TWENTY)
@at_least(0.0, because=SAMPLING)
def shared_features_help(run: Run) -> float:
    tasks = data.make_shared_sparse_tasks(6, 240, 34, random_state=run.seed)
    parts = split_rows(tasks.task, 40, np.random.default_rng(run.seed))
    return gain(*[(tasks.X[p], tasks.y[p], tasks.task[p]) for p in parts])


@PAPER.claim(
    "Classes against the rest share features: together they have a higher mean AUC than alone",
    stand_in="the ten digits of scikit-learn, 40 images a task, for Dermatology",
)
@stated("> 0", "Section 11, Figure 1", kind="ordering", seeds=SEEDS, full_seeds=TWENTY)
@at_least(0.0, because=SAMPLING)
def digits_one_against_rest(run: Run) -> float:
    from sklearn.datasets import load_digits

    images = load_digits()
    rng = np.random.default_rng(run.seed)
    X = (images.data - images.data.mean(axis=0)) / np.maximum(images.data.std(axis=0), 1e-9)
    parts: list[list[tuple]] = [[], [], []]
    for digit in range(10):
        y = (images.target == digit).astype(int)
        ones, rest = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(1 - y))
        for part, (a, b) in zip(parts, ((0, 20), (20, 70), (70, 120))):
            rows = np.concatenate([ones[a:b], rest[a:b]])
            part.append((X[rows], y[rows], np.full(len(rows), digit)))
    joined = [tuple(np.concatenate(column) for column in zip(*part)) for part in parts]
    return gain(*joined)


def many_kernels(n_features):
    """Return one linear kernel a feature and nine RBF kernels, as for the Landmine data."""
    linear = [(f"x{d}", "linear", {"columns": [d]}) for d in range(n_features)]
    ladder = [(f"rbf {k}", "rbf", {"gamma": 2.0**k / n_features}) for k in range(-4, 5)]
    return linear + ladder


@PAPER.claim("Tasks that share kernels have a higher mean AUC together than alone")
@stated("> 0", "Section 11, Figure 2(a)", kind="ordering", seeds=SEEDS, full_seeds=TWENTY)
@measured(stand_in="simulated tasks: 10 of 40 rows and 9 features, 3 of which matter, for Landmine")
@at_least(0.0, because=SAMPLING)
def shared_kernels_help(run: Run) -> float:
    tasks = data.make_shared_sparse_tasks(10, 140, 9, n_informative=3, random_state=run.seed)
    parts = split_rows(tasks.task, 40, np.random.default_rng(run.seed))
    options = {"select": "kernels", "kernels": many_kernels(9)}
    return gain(*[(tasks.X[p], tasks.y[p], tasks.task[p]) for p in parts], **options)


# --- pooling --------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def heart_tasks():
    """Return Heart with columns in [0, 1], labels, and ten tasks of equal size by age."""
    try:
        found = data.load_dataset("uci/heart")
    except data.DatasetNotFoundError as error:
        raise NotMeasurable(str(error)) from error
    X = np.asarray(found.data, dtype=float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    task = np.empty(len(X), dtype=int)
    task[np.argsort(X[:, 0], kind="stable")] = np.arange(len(X)) * 10 // len(X)
    return X, (np.asarray(found.target) > 0).astype(int), task


@lru_cache(maxsize=128)
def heart_scores(seed):
    """Return test AUCs of independent, pooled and adaptive machines on one split in thirds."""
    X, y, task = heart_tasks()
    rng = np.random.default_rng(seed)
    parts: list[list[np.ndarray]] = [[], [], []]
    for m in range(10):
        for label in (0, 1):  # every task must have both classes to learn from
            rows = rng.permutation(np.flatnonzero((task == m) & (y == label)))
            for part, piece in zip(parts, np.array_split(rows, 3)):
                part.append(piece)
    train, check, test = (np.concatenate(part) for part in parts)
    K = (X @ X.T + 1.0) ** 3
    return tuple(
        chosen_by(fit, K, y, task, train, check, test)
        for fit in (independent_machines, one_machine, adaptive_machines)
    )


def chosen_by(fit, K, y, task, train, check, test) -> float:
    """Return the AUC on test rows at the C that is best on others."""
    from sklearn.metrics import roc_auc_score

    best, score = -np.inf, 0.0
    for C in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = fit(K[:, train], y[train], task, train, C)
        found = roc_auc_score(y[check], values[check])
        if found > best:
            best, score = found, float(roc_auc_score(y[test], values[test]))
    return score


# The communal kernel has a factor 1/10, the tasks' own (9/10) M.
COMMUNAL, OWN = 0.1, 9.0


def one_machine(K, y, task, train, C):
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed", C=C).fit(COMMUNAL * K[train], y)
    return machine.decision_function(COMMUNAL * K)


def independent_machines(K, y, task, train, C):
    from sklearn.svm import SVC

    values = np.zeros(len(K))
    for m in np.unique(task):
        rows, own = task == m, task[train] == m
        machine = SVC(kernel="precomputed", C=C)
        machine.fit(OWN * K[np.ix_(train[own], np.flatnonzero(own))], y[own])
        values[rows] = machine.decision_function(OWN * K[np.ix_(rows, own)])
    return values


def adaptive_machines(K, y, task, train, C):
    model = kernel.MEDAdaptivePoolingSVC(
        "precomputed", OWN, 1e5, C, communal_scale=COMMUNAL, tol=1e-3
    )
    return model.fit(K[train], y, task[train]).decision_function(K, task)


HEART = PAPER.section(
    where="Section 11, Figure 3",
    unit="AUC",
    kind="ordering",
    seeds=SEEDS,
    full_seeds=HUNDRED,
    stand_in="the area over all test rows, splits that keep classes within tasks, and the garbled "
    "scale of the specialised kernels read as (9/10)M",
)


@HEART.claim("Adaptive pooling at α = 1e5 has a higher AUC than independent machines", "> 0")
@at_least(0.0, because=SAMPLING)
def heart_against_independent(run: Run) -> float:
    independent, _, adaptive = heart_scores(run.seed)
    return adaptive - independent


@HEART.claim("Adaptive pooling at α = 1e5 has a higher AUC than one machine on all tasks", "> 0")
@at_least(0.0, because=SAMPLING)
def heart_against_pooled(run: Run) -> float:
    _, pooled, adaptive = heart_scores(run.seed)
    return adaptive - pooled


# --- graphs ---------------------------------------------------------------------------------
UPPER = np.triu_indices(5, 1)
EDGE_CS = (0.03, 0.1, 0.3, 1.0)


def ten_graphs(seed):
    """Return ten random models of five nodes, 60 rows each in which every node takes two values."""
    found = []
    for k in range(10):
        sample, draw = None, 100 * seed + k
        while sample is None or np.any(sample.X.min(axis=0) == sample.X.max(axis=0)):
            sample = data.make_ising(5, 60, random_state=draw)
            draw += 10_000
        found.append(sample)
    return found


def best_auc(samples, models) -> float:
    """Return the best mean AUC over the samples of functions from rows to scores of pairs."""
    from sklearn.metrics import roc_auc_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        areas = [
            [roc_auc_score(s.adjacency[UPPER], model(s.X)[UPPER]) for s in samples]
            for model in models
        ]
    return float(np.mean(areas, axis=1).max())


@lru_cache(maxsize=64)
def edge_aucs(seed):
    """Return the best mean AUC over ten random models: MED, l1 with AND, l1 with OR."""
    samples = ten_graphs(seed)
    penalties = (0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0)
    med = [kernel.MEDIsingStructure(a, C, tol=1e-3) for a in (1.0, 10.0, 100.0) for C in EDGE_CS]
    rivals = [[kernel.NodewiseL1Ising(nu, rule) for nu in penalties] for rule in ("and", "or")]
    return tuple(
        best_auc(samples, [lambda X, m=m: m.fit(X).edge_scores_ for m in models])
        for models in (med, *rivals)
    )


@lru_cache(maxsize=64)
def hinge_auc(seed):
    """Return the best mean AUC of a support vector machine a node, by AND or by OR."""

    def scores(X, C, rule):
        size = np.abs(kernel.MEDIsingStructure(0.0, C, tol=1e-3).fit(X).coef_)
        return rule(size, size.T)

    rules = [(C, rule) for C in EDGE_CS for rule in (np.minimum, np.maximum)]
    return best_auc(ten_graphs(seed), [lambda X, r=r: scores(X, *r) for r in rules])


EDGES = PAPER.section(
    where="Section 12, Figure 4",
    unit="AUC",
    kind="ordering",
    seeds=SEEDS,
    full_seeds=TWENTY,
    stand_in="couplings of ±2 at half of the pairs, balanced fields, and the best of each method's "
    "settings: the text gives none",
)


@EDGES.claim("MED ranks the edges of 5-node models better than nodewise l1 regressions with AND")
@stated("> 0")
@at_least(0.0, because=SAMPLING)
def edges_against_and(run: Run) -> float:
    med, both, _ = edge_aucs(run.seed)
    return med - both


@EDGES.claim("MED ranks the edges of 5-node models better than nodewise l1 regressions with OR")
@stated("> 0")
@at_least(0.0, because=SAMPLING)
def edges_against_or(run: Run) -> float:
    med, _, either = edge_aucs(run.seed)
    return med - either


OWN_EDGES = PAPER.section(
    where="Section 12",
    unit="AUC",
    kind="own",
    seeds=tuple(range(20, 25)),
    full_seeds=tuple(range(20, 40)),
)


@OWN_EDGES.claim(
    "A switch for both directions of a pair ranks edges better than the same machines alone, "
    "with AND or with OR",
    "> 0",
)
@at_least(0.0, because=SAMPLING)
def one_switch_for_two_directions(run: Run) -> float:
    return edge_aucs(run.seed)[0] - hinge_auc(run.seed)


@OWN_EDGES.claim(
    "The hinge is what costs: l1 logistic regressions of the nodes rank edges better than "
    "their machines",
    "> 0",
)
@at_least(0.0, because=SAMPLING)
def the_hinge_costs(run: Run) -> float:
    return max(edge_aucs(run.seed)[1:]) - hinge_auc(run.seed)


# --- cost -----------------------------------------------------------------------------------


@PAPER.claim("A path over α takes less than 50 times an independent machine for each task")
@stated("< 50", "Section 11", unit="times", kind="speed", seeds=SEEDS)
@at_most(50.0, because="ten alphas from 0 to 1000, warm, in the time of α = 0 alone")
def path_in_independent_runs(run: Run) -> float:
    size = (29, 150, 100) if run.full else (10, 80, 50)
    tasks = data.make_shared_sparse_tasks(*size, random_state=run.seed)
    alphas = [0.0, *np.geomspace(1.0, 1000.0, 9)]
    kernel.MEDMultitaskSVC(alpha=1.0).fit(tasks.X[:160], tasks.y[:160], tasks.task[:160])
    model = kernel.MEDMultitaskSVC(warm_start=True)
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alpha in alphas:
            began = time.process_time()
            model.set_params(alpha=alpha).fit(tasks.X, tasks.y, tasks.task)
            times.append(time.process_time() - began)
    return sum(times) / times[0]


@PAPER.claim("Algorithm 1 takes 2 to 40 sweeps")
@stated("2 to 40", "Section 11", seeds=SEEDS)
@measured(stand_in="simulated tasks, and a distance to the maximum in place of the change of λ")
@at_most(40.0, because="the most sweeps over α = 0.1 to 100 for J within 1e-3")
def sweeps_of_the_algorithm(run: Run) -> float:
    tasks = data.make_shared_sparse_tasks(6, 60, 34, random_state=run.seed)
    most = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alpha in (0.1, 1.0, 10.0, 100.0):
            best = kernel.MEDMultitaskSVC(alpha=alpha, C=0.1, tol=1e-6)
            best.fit(tasks.X, tasks.y, tasks.task)
            steps = kernel.MEDMultitaskSVC(
                alpha=alpha, C=0.1, solver="bound", tol=1e-5, max_sweeps=100
            )
            duals = steps.fit(tasks.X, tasks.y, tasks.task).history_[:, 1]
            reached = duals >= (1 - 1e-3) * best.dual_objective_
            most = max(most, int(np.argmax(reached)) + 1 if reached.any() else 100)
    return float(most)


@PAPER.figure("Switches of 30 features along alpha; the five that matter in colour")
def switches_along_alpha():
    tasks = data.make_shared_sparse_tasks(8, 40, 30, random_state=0)
    path = kernel.MEDMultitaskPath(np.geomspace(0.1, 1e4, 12), (0.3,), 2)
    path.fit(tasks.X, tasks.y, tasks.task)
    found = path.switches_path_[0]
    return plot.plot_switch_path(path.alphas_, found, truth=tasks.informative).figure


@PAPER.figure("The penalty that switches imply (compare Figure 6(a))")
def penalties():
    w = np.linspace(-1.0, 1.0, 401)
    curves = {f"alpha={a:g}": kernel.med_penalty(w, a) for a in (0.01, 1.0, 100.0, 1e4)}
    return plot.plot_switch_penalty(w, curves).figure


@PAPER.figure("Scores of pairs of an Ising model from 60 rows; rings are true edges")
def edges():
    sample = data.make_ising(random_state=0)
    model = kernel.MEDIsingStructure(10.0, 0.1).fit(sample.X)
    return plot.plot_edge_scores(model.edge_scores_, truth=sample.adjacency).figure
