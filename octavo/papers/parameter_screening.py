"""Srinivasan and Ramakrishnan (2011): screening and optimising a learner's parameters."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from octavo import data, plot, search
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, holds, stated, within

NO_DATA = "the mutagenesis, carcinogenesis, Alzheimer and DSSTox sets, and Aleph, are not to be had"

PAPER = Paper(
    key="parameter-screening",
    title="Parameter Screening and Optimisation for ILP using Designed Experiments",
    authors="A. Srinivasan and G. Ramakrishnan",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("screening-models", "ascent-coordinates", "signed-ranks"),
    tables={
        "Figure 9": "screening-models no-adequate-model",
        "Figure 10": "ascent-coordinates experiments-of-ascents",
        "Figure 11": "best-of-the-grids",
        "Figure 12": "tuning-beats-defaults ascent-equals-grid half-the-fits",
        "Figure 13": f"[{NO_DATA}]",
        "Figure 14": "signed-ranks",
        "Figure 15": f"[{NO_DATA}]",
        "Figure 16": "toplog-is-not-better",
        "Figure 17": "like-with-like",
        "Figure 19": "step-of-figure-19",
    },
    methods=(
        Method(
            name="ScreenedSearchCV",
            room="search",
            family="screening",
            task="tune a slow learner or simulator in some twenty runs, and learn what matters",
            summary="A two-level fraction of the settings, stepwise regression on its main "
            "effects, and steepest ascent along those that matter.",
            use_when="Each run is dear, there are four to fifteen numeric settings, and you want "
            "to know which of them matter.",
            avoid_when="Settings are categorical, interact strongly, or hundreds of runs are "
            "cheap: random or Bayesian search is better there.",
            instead="`RandomizedSearchCV` and `HalvingRandomSearchCV` search without saying what "
            "matters.",
            peers=("optuna", "pyDOE3", "statsmodels"),
            plots=(
                "plot_effects",
                "plot_half_normal",
                "plot_main_effects",
                "plot_ascent",
                "plot_response_surface",
                "plot_stepwise_residuals",
                "plot_experiments",
            ),
        ),
    ),
)

# Written down before anything was run: seeds, tasks, ranges and the sizes of both forms.
SEEDS = (0, 1, 2, 3, 4)
PRINTED = "the paper prints three decimals, and cuts -0.0095 to -0.009"
TASKS = "public tables of scikit-learn in place of the paper's relational ones: " + NO_DATA
FIGURE_14 = (
    (0.591, 0.883, 0.857, 0.802, 0.872, 0.774, 0.674, 0.731),
    (0.504, 0.846, 0.857, 0.714, 0.792, 0.527, 0.551, 0.647),
)
TOPLOG = (
    (0.623, 0.867, 0.881, 0.704, 0.699, 0.635, 0.653, 0.618),
    (0.641, 0.840, 0.881, 0.704, 0.672, 0.640, 0.526, 0.618),
)


def replay(name, procedure):
    """Run a search on the published runs."""
    runs = data.load_ilp_runs(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return runs, procedure(runs, runs.factors, defaults=runs.defaults, limits=runs.limits)


published = PAPER.section(kind="figure")


@published.claim(
    "Stepwise regression of the published runs gives the published models of mutagenesis"
)
@stated(
    "0.726 - 0.049 Minacc - 0.018 Minpos; 0.896 - 0.009 Minpos - 0.008 Minacc", "Figure 9(a), (b)"
)
@at_most(0.001, because=PRINTED)
def screening_models(run: Run) -> float:
    printed = {
        "mutagenesis-min": (0.726, 0, 0, -0.049, -0.018),
        "mutagenesis-max": (0.896, 0, 0, -0.008, -0.009),
    }
    worst = 0.0
    for name, numbers in printed.items():
        model = replay(name, search.response_surface_search)[1].screening.model
        worst = max(worst, float(np.abs(np.r_[model.intercept_, model.coef_] - numbers).max()))
    run.note("the runs of Figure 9(d) contradict the model below them and are not used")
    return worst


@published.claim(
    "No variable enters for carcinogenesis with little background, and the defaults are kept"
)
@stated("no adequate model", "Figure 9(c)", kind="theorem")
@holds(because="a statement that is true or false")
def no_adequate_model(run: Run) -> float:
    runs, found = replay("carcinogenesis-min", search.response_surface_search)
    return not found.adequate and found.best_params == runs.defaults


@published.claim("The paths of steepest ascent have the published coordinates")
@stated("(-0.50, -0.18), ...; (-0.50, -0.42), ...", "Figure 10(a), (b)")
@at_most(0.03, because="the paper prints multiples of a rounded step, up to five")
def ascent_coordinates(run: Run) -> float:
    worst = 0.0
    for name in ("mutagenesis-min", "mutagenesis-max"):
        runs, found = replay(name, search.response_surface_search)
        columns = [list(runs.factors).index(factor) for factor in found.screening.relevant]
        printed = runs.coded[[s == "Figure 10" for s in runs.sources]][:, columns]
        worst = max(worst, float(np.abs(found.path.coded - printed).max()))
    return worst


@published.claim("Screening and ascent take 13 and 14 experiments", 27, "Figures 10 and 12")
@within(0, because="counts, added up")
def experiments_of_ascents(run: Run) -> float:
    names = ("mutagenesis-min", "mutagenesis-max")
    return sum(replay(name, search.response_surface_search)[1].n_experiments for name in names)


@published.claim("The best of the five-level grid of mutagenesis with little background")
@stated(0.799, "Figure 11(a)")
@within(1e-9, because="a number that is looked up")
def best_of_the_grids(run: Run) -> float:
    found = replay("mutagenesis-min", search.factorial_search)[1]
    run.note(f"{found.n_experiments} different runs; the paper counts 33, two of them twice")
    return found.best_response


@published.claim("Tuned against default Aleph: probability of the signed ranks", 0.02, "Figure 14")
@within(0.005, because="the paper prints two decimals")
def signed_ranks(run: Run) -> float:
    return search.compare_systems(*FIGURE_14).pvalue


@published.claim("Tuned against default Toplog: sum of the signed ranks, not significant")
@stated(9, "Figure 16")
@within(0, because="a sum of ranks")
def toplog_is_not_better(run: Run) -> float:
    found = search.compare_systems(*TOPLOG)
    run.note(f"p = {found.pvalue:.3f}")
    return found.rank_sum


@published.claim("Tuned Aleph beats default Toplog (p = 0.05), but not tuned Toplog (p > 0.05)")
@stated("+28 (p = 0.05) and +22 (p > 0.05)", "Figure 17", kind="theorem")
@holds(because="both sums, and p-values to two decimals")
def like_with_like(run: Run) -> float:
    tuned, default = (search.compare_systems(FIGURE_14[0], other) for other in TOPLOG)
    run.note(f"p = {tuned.pvalue:.3f} and {default.pvalue:.3f}")
    sums = (tuned.rank_sum, default.rank_sum) == (22, 28)
    return sums and tuned.pvalue > 0.05 and round(default.pvalue, 2) == 0.05


@published.claim("A parabola through four runs of the ascent puts its top at -0.78")
@stated(-0.78, "Figure 19")
@within(0.005, because="the paper prints two decimals")
def step_of_figure_19(run: Run) -> float:
    return search.quadratic_step([0, -0.5, -1.5, -2.0], [0.769, 0.793, 0.781, 0.692]).step


def tasks(rows: int, seed: int):
    """Return nine tasks: estimator, four ranges with hard ends, table, target."""
    from sklearn import datasets as tables
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
    )
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC, SVR

    def part(X, y):
        chosen = np.random.RandomState(seed).permutation(len(y))[:rows]
        return X[chosen], y[chosen]

    machine = {"C": (0.1, 10, "log"), "gamma": (1e-3, 1e-1, "log"), "coef0": (0, 1)}
    machine["tol"] = (1e-4, 1e-2, "log")
    rough = {"C": (0.1, 10, "log"), "gamma": (1e-5, 1e-3, "log"), "coef0": (0, 1)}
    rough["tol"] = (1e-4, 1e-2, "log")
    forest = {"n_estimators": (10, 40, "int"), "max_depth": (3, 9, "int")}
    forest |= {"min_samples_leaf": (1, 8, "int"), "max_features": (0.2, 0.8)}
    boost = {"n_estimators": (10, 40, "int"), "learning_rate": (0.03, 0.3, "log")}
    boost |= {"max_depth": (1, 4, "int"), "subsample": (0.5, 0.9)}
    network = {"alpha": (1e-4, 1e-1, "log"), "learning_rate_init": (1e-3, 1e-2, "log")}
    network |= {"hidden_layer_sizes": (10, 40, "int"), "max_iter": (20, 60, "int")}
    whole = {"n_estimators": (1, 200), "max_depth": (1, None), "min_samples_leaf": (1, None)}
    share = {"max_features": (0.05, 1.0), "subsample": (0.1, 1.0)}
    ends = whole | share | {"coef0": (0, None), "hidden_layer_sizes": (2, 200)}
    ends |= {"max_iter": (5, 200)}
    cancer, digits = tables.load_breast_cancer, tables.load_digits
    made = tables.make_classification(1000, 20, n_informative=6, flip_y=0.05, random_state=seed)
    friedman = tables.make_friedman1(1000, noise=1.0, random_state=seed)
    curve = {"C": (1, 100, "log"), "gamma": (0.03, 3, "log"), "epsilon": (0.03, 0.3, "log")}
    curve["tol"] = (1e-4, 1e-2, "log")
    trees = RandomForestClassifier(random_state=0)
    several = [
        (SVC(), rough, *part(*cancer(return_X_y=True))),
        (SVC(kernel="sigmoid"), machine, *part(*made)),
        (SVC(), rough, *part(*tables.load_wine(return_X_y=True))),
        (trees, forest, *part(*digits(return_X_y=True))),
        (ExtraTreesClassifier(random_state=0), forest, *part(*made)),
        (GradientBoostingClassifier(random_state=0), boost, *part(*cancer(return_X_y=True))),
        (GradientBoostingRegressor(random_state=0), boost,
         *part(*tables.load_diabetes(return_X_y=True))),
        (MLPClassifier(random_state=0), network, *part(*digits(return_X_y=True))),
        (SVR(), curve, *part(*friedman)),
    ]  # fmt: skip
    for model, space, X, y in several:
        yield model, space, {name: ends[name] for name in space if name in ends}, X, y


@lru_cache(maxsize=8)
def tuned(seed: int, full: bool):
    """Return for each task: default, SO and SO' scores, their experiments, the standard error."""
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    found = []
    for model, space, limits, X, y in tasks(600 if full else 120, seed):
        kind = StratifiedKFold if is_classifier(model) else KFold
        cv = kind(10 if full else 3, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            default = cross_val_score(model, X, y, cv=cv)
            row = [default.mean()]
            for method in ("rsm", "factorial"):
                search_cv = search.ScreenedSearchCV(
                    model,
                    space,
                    method=method,
                    levels=5 if full else 3,
                    limits=limits,
                    cv=cv,
                    refit=True,
                    random_state=seed,
                ).fit(X, y)
                row += [search_cv.final_scores_.mean(), search_cv.n_experiments_]
            error = search_cv.final_scores_.std(ddof=1) / np.sqrt(len(search_cv.final_scores_))
        found.append((*row, error))
    return np.array(found)


tuning = PAPER.section(
    where="Figure 12 and Section 5.4", kind="ordering", seeds=SEEDS, stand_in=TASKS
)


@tuning.claim("Screening and ascent beat the default settings")
@stated("Wilcoxon probability 0.02, one-sided 0.01")
@at_most(0.05, because="the level at which the paper calls it significant, one-sided")
def tuning_beats_defaults(run: Run) -> float:
    table = tuned(run.seed, run.full)
    run.note("mean gain " + ", ".join(f"{gain:+.3f}" for gain in table[:, 1] - table[:, 0]))
    return search.compare_systems(table[:, 1], table[:, 0]).pvalue_greater


@tuning.claim("The ascent is as good as the factorial of all levels", "never lower")
@at_least(-1.0, because="within one standard error of the factorial's score, on average")
def ascent_equals_grid(run: Run) -> float:
    table = tuned(run.seed, run.full)
    return float(np.mean((table[:, 1] - table[:, 3]) / np.maximum(table[:, 5], 1e-9)))


@tuning.claim("The ascent needs at most half of the experiments of the factorial")
@stated("13 against 33, 14 against 33, 19 against 13")
@at_most(0.5, because="all experiments of one over all of the other; the paper: 0.58")
def half_the_fits(run: Run) -> float:
    table = tuned(run.seed, run.full)
    return float(table[:, 2].sum() / table[:, 4].sum())


TRIALS = 60  # fits that TPE gets, and at which who has not arrived is counted as one more


def widened(factor: tuple, ends: tuple) -> tuple[float, float, bool, bool]:
    """Return the box of a rival: twice as wide, where an ascent may go, within the hard ends."""
    low, high, *kind = factor
    log, whole = "log" in kind, "int" in kind
    a, b = (np.log(low), np.log(high)) if log else (low, high)
    a, b = (a + b) / 2 - (b - a), (a + b) / 2 + (b - a)
    a, b = (np.exp(a), np.exp(b)) if log else (a, b)
    a, b = (a if ends[0] is None else max(a, ends[0])), (b if ends[1] is None else min(b, ends[1]))
    return (int(np.ceil(a)), int(np.floor(b)), log, whole) if whole else (a, b, log, whole)


def tpe_path(objective, space: dict, limits: dict, seed: int) -> np.ndarray:
    """Return the scores that optuna's TPE sees, trial by trial."""
    try:
        import optuna
    except ImportError:
        raise NotMeasurable("optuna is not installed") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    boxes = {name: widened(space[name], limits.get(name, (None, None))) for name in space}

    def value(trial):
        made = {}
        for name, (low, high, log, whole) in boxes.items():
            ask = trial.suggest_int if whole else trial.suggest_float
            made[name] = ask(name, low, high, log=log)
        return objective(made)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(value, n_trials=TRIALS)
    return np.array([trial.value for trial in study.trials])


def arrived(scores, best: float) -> int:
    """Return the first fit within 1 % of the best known score, or one more than there are."""
    near = np.flatnonzero(np.asarray(scores) >= best - 0.01 * abs(best))
    return int(near[0]) + 1 if len(near) else TRIALS + 1


@tuning.claim("The ascent is within 1 % of the best known score in no more fits than TPE")
@stated("not in the paper", kind="own", full_seeds=SEEDS)
@at_most(0.0, because="median over tasks of its fits less TPE's; 61 who never arrive")
def no_more_fits_than_tpe(run: Run) -> float:
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    gaps, words = [], []
    for model, space, limits, X, y in tasks(600 if run.full else 120, run.seed):
        seen: list[float] = []
        parts = train_test_split(X, y, test_size=0.3, random_state=run.seed)

        def objective(params, model=model, parts=parts, seen=seen):
            fitted = clone(model).set_params(**params).fit(parts[0], parts[2])
            seen.append(fitted.score(parts[1], parts[3]))
            return seen[-1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.response_surface_search(
                objective, space, limits=limits, include_screening=True, random_state=run.seed
            )
            ours = np.array(seen)
            theirs = tpe_path(objective, space, limits, run.seed)
        best = max(ours.max(), theirs.max())
        gaps.append(arrived(ours, best) - arrived(theirs, best))
        words.append(f"{arrived(ours, best)}/{arrived(theirs, best)}")
    run.note(f"seed {run.seed}: {', '.join(words)}")
    return float(np.median(gaps))


@PAPER.figure("Effects and ascent of mutagenesis, from the published runs (Figures 9 and 10)")
def published_ascent():
    import matplotlib.pyplot as plt

    _, found = replay("mutagenesis-min", search.response_surface_search)
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    plot.plot_effects(found.screening, ax=left)
    plot.plot_response_surface(found.screening, found.path, ax=right)
    return fig
