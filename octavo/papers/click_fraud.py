"""Oentaryo et al. (2014): detecting click fraud in online advertising."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from octavo import data, linear, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import Run, at_least, at_most, holds, stated, within

PAPER = Paper(
    key="click-fraud",
    title="Detecting Click Fraud in Online Advertising: A Data Mining Approach",
    authors="R. Oentaryo, E.-P. Lim, M. Finegold, D. Lo, F. Zhu, C. Phua, E.-Y. Cheu, G.-E. Yap, "
    "K. Sim, M. N. Nguyen, K. Perera, B. Neupane, M. Faisal, Z. Aung, W. L. Woon, W. Chen, "
    "D. Patel and D. Berrar",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("table-21-gaps", "table-16-device-runs", "trees-above-logistic"),
    tables={
        "Table 6": "[counts of the competition's data, which are not to be had]",
        "Table 7": "larc-above-other-teams",
        "Table 8": "[influences of features in a model of data that are not to be had]",
        "Table 13": "table-13-visits",
        "Table 16": "table-16-device-runs",
        "Table 19": "blend-above-its-models",
        "Table 21": "table-21-gaps",
        "Table 23": "[click profiles alone, on data that are not to be had]",
        "Table 24": "[two final forests, on data that are not to be had]",
        "Table 25": "larc-has-257-columns",
        "Table 26": "trees-above-logistic",
        "Table 27": "elimination-not-below",
        "Figure 7": "redflag-ranks-fraud",
        "Section 4.3.2": "observation-as-honest",
    },
    methods=(
        Method(
            name="EventFeatures",
            room="linear",
            family="event_features",
            task="rank entities of an event log by fraud, or make features of any log",
            summary="Hundreds of features a publisher from millions of clicks in seconds, models "
            "for few positives, backward elimination and a report of drift.",
            use_when="The examples are senders, publishers, accounts or machines, and all that is "
            "known of them is a log of events with times, sources and attributes.",
            avoid_when="Rows are the examples already, or a single long series is to be forecast.",
            instead="RandomForestClassifier and ExtraTreesClassifier rank the rows once there are "
            "features; there is nothing that makes them from a log.",
            peers=("pandas", "scikit-learn"),
            plots=(
                "plot_click_timeline",
                "plot_country_shares",
                "plot_elimination",
                "plot_gap_profile",
                "plot_precision_recall",
                "plot_redflags",
            ),
            trials={
                "StratifiedBootstrapForest": Trial(
                    ({"min_samples_leaf": 1}, {"min_samples_leaf": 3}, {"min_samples_leaf": 10}),
                    {"n_estimators": 100},
                    200_000,
                    5000,
                    "trees times rows of the rarest class",
                ),
                "RotationForest": Trial(
                    ({"group_size": 3}, {"group_size": 8}),
                    {"n_estimators": 30},
                    20_000,
                    300,
                    "trees times rows times features squared",
                ),
                "LogitBoost": Trial(
                    tuple(
                        {"n_estimators": n, "learning_rate": rate}
                        for n in (50, 150)
                        for rate in (0.3, 1.0)
                    ),
                    {},
                    50_000,
                    1000,
                    "rounds times rows times features",
                ),
                "MetaCost": Trial(
                    ({"n_estimators": 10}, {"n_estimators": 30}),
                    {},
                    100_000,
                    2000,
                    "bags times a tree",
                ),
                "APBlender": Trial(
                    ({},), {"cv": 3}, 20_000, 2000, "three folds of two forests and a linear model"
                ),
            },
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
STAND_IN = "simulated windows: the competition's logs are not to be had"
WINDOWS = {"train": 0.0, "validation": 0.2, "test": 0.4}  # drift of the archetypes
PRESETS = ("larc257", "masdar41", "db2", "tea", "gbm118")

# --- worked tables ------------------------------------------------------------------------------
TIMES_16 = [
    "02:55:50",
    "02:56:36",
    "03:53:12",
    "04:49:42",
    "04:51:58",
    "05:33:51",
    "06:30:02",
    "07:09:23",
    "07:31:21",
    "07:53:16",
    "07:55:14",
]
# Day, time, first letters of the URL; then the column "gap" of Table 21.
CLICKS_21 = """09 08:53:21 24,09 09:02:01 24,09 09:02:30 24,09 09:59:33 24,09 10:18:31 24,
09 10:23:32 14,09 10:23:57 14,09 10:25:42 24,09 11:23:23 3g,09 11:23:42 14,09 11:24:50 14,
09 11:25:05 14,09 11:25:51 14,09 11:28:31 14,09 11:35:50 23,09 11:50:32 23,10 10:18:52 3c,
10 10:33:56 4j,10 10:39:47 1r,10 10:40:17 3c,10 10:52:51 3c,11 10:34:38 1r,11 13:01:12 1r,
11 13:02:09 3c,11 13:02:38 3c"""
GAPS = """0 520 29 3423 1138 301 25 105 3461 19 68 15 46 160 439 882
0 904 351 30 754 0 8794 57 29"""
GAPS_21 = tuple(int(gap) for gap in GAPS.split())
SAME_URL_21 = "0111101000111101000010101"


def one_feature(clicks: dict[str, Any], name: str) -> float:
    """Return a feature of the only publisher of a log."""
    log = linear.ClickLog.from_frame(clicks)
    model = linear.db2().fit(log)
    return float(model.to_array(log)[0, model.feature_names_.index(name)])


@PAPER.claim("Five clicks of one address in a minute: average 5, standard deviation 0, count 5")
@stated("5, 0, 5", "Section 5.1.2 and Table 13", kind="figure")
@holds(because="whole numbers")
def table_13_visits(run: Run) -> float:
    clicks = {
        "publisherid": ["8kxij"] * 5,
        "numericip": [2_919_155_822] * 5,
        "clicktime": [f"2012-02-09 07:23:{s}" for s in (13, 13, 13, 19, 19)],
    }
    found = [one_feature(clicks, f"{name}_IP_min") for name in ("avg", "std", "count")]
    return float(found == [5.0, 0.0, 5.0])


@PAPER.claim("The share of clicks followed by one from the same device is 8/11 in Table 16")
@stated(8 / 11, "Section 5.1.3 and Table 16")
@within(1e-12, because="a ratio of whole numbers")
def table_16_device_runs(run: Run) -> float:
    clicks = {
        "publisherid": ["8jk0d"] * 11,
        "numericip": list(range(11)),
        "deviceua": ["MSIE_6.0"] * 4 + ["Nokia2600c"] + ["MSIE_6.0"] * 6,
        "clicktime": [f"2012-02-11 {time}" for time in TIMES_16],
    }
    return one_feature(clicks, "deviceua1")


@PAPER.claim("Gaps between 25 clicks of one address, and whether they stay on one URL, as printed")
@stated("50 entries", "Section 6.1.2 and Table 21", kind="figure")
@holds(because="whole seconds and flags")
def table_21_gaps(run: Run) -> float:
    rows = [row.split() for row in CLICKS_21.replace("\n", "").split(",")]
    log = linear.ClickLog.from_frame(
        {
            "publisherid": ["8ih09"] * 25,
            "numericip": [1] * 25,
            "clicktime": [f"2012-02-{day} {time}" for day, time, _ in rows],
            "referredurl": [url for *_, url in rows],
        }
    )
    gaps = linear.click_gaps(log)
    flags = "".join("01"[int(flag)] for flag in gaps.same_url)
    return float(tuple(gaps.gap.tolist()) == GAPS_21 and flags == SAME_URL_21)


@PAPER.claim("17 basic, 24 spatial and 216 time series features: 257")
@stated(257, "Section 7.1 and Table 25")
@within(0.0, because="a count")
def larc_has_257_columns(run: Run) -> float:
    clicks, publishers = data.make_click_fraud(40, 1, random_state=0, as_frame=False)
    log = linear.ClickLog.from_frame(clicks, publishers)
    return float(linear.larc257().fit(log).to_array(log).shape[1])


# --- simulated windows --------------------------------------------------------------------------


class Window(NamedTuple):
    """A window's log, what its publishers are, and the truth behind it."""

    log: Any
    y: np.ndarray
    archetype: np.ndarray


@lru_cache(maxsize=4)
def windows(seed: int, full: bool) -> dict[str, Window]:
    """Return three windows, two weeks apart, whose archetypes drift."""
    found = {}
    n, days, mix = (3000, 3, None) if full else (500, 1, 0.08)
    starts = ("2012-02-09", "2012-02-23", "2012-03-08")
    for k, (name, drift) in enumerate(WINDOWS.items()):
        clicks, publishers = data.make_click_fraud(
            n, days, mix, drift, random_state=10 * seed + k, start=starts[k], as_frame=False
        )
        log = linear.ClickLog.from_frame(clicks, publishers)
        found[name] = Window(log, log.labels(), publishers["archetype"])
    return found


@cache
def labels(seed: int, full: bool, observation: str = "ok") -> dict[str, np.ndarray]:
    """Return who is a fraud in each window."""
    return {name: window.log.labels(observation) for name, window in windows(seed, full).items()}


@lru_cache(maxsize=40)
def tables(seed: int, full: bool, preset: str) -> dict[str, np.ndarray]:
    """Return a preset's features of the three windows, learned on the first."""
    model = getattr(linear, preset)(scale=True)
    found = windows(seed, full)
    model.fit(found["train"].log)
    return {name: model.to_array(window.log) for name, window in found.items()}


def extra_trees(seed: int) -> Any:
    """Return the organisers' best model (Table 26)."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(200, max_features=28, random_state=seed)


def logistic() -> Any:
    """Return the organisers' logistic regression (Table 26), by LIBLINEAR as theirs."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=512, class_weight="balanced", solver="liblinear", max_iter=5000)


def score_of(model: Any, X: np.ndarray) -> np.ndarray:
    """Return a score for ranking."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    return np.asarray(model.decision_function(X))


def later_precision(run: Run, model: Any, preset: str = "larc257", name: str = "") -> float:
    """Fit on the training window; return the test window's average precision."""
    if preset == "masdar41" or preset == "tea":
        model = model.set_params(max_features="sqrt")
    return precision_of(run, model, tables(run.seed, run.full, preset), name or preset)


def precision_of(run: Run, model: Any, X: dict[str, np.ndarray], name: str) -> float:
    """Fit on the first table; return the average precision on the last, and note its interval."""
    y = labels(run.seed, run.full)
    score = score_of(model.fit(X["train"], y["train"]), X["test"])
    interval = linear.average_precision_interval(y["test"], score, 200, random_state=0)
    run.note(f"{name}: {interval}")
    return interval.value


simulated = PAPER.section(kind="ordering", seeds=SEEDS, stand_in=STAND_IN)


@simulated.claim("Extra trees on all 257 features rank better than logistic regression")
@stated("54.04 % against 29.65 %", "Table 26")
@at_least(0.0, because="difference of average precision on the test window")
def trees_above_logistic(run: Run) -> float:
    trees = later_precision(run, extra_trees(run.seed), name="extra trees")
    return trees - later_precision(run, logistic(), name="logistic regression")


@simulated.claim("The organisers' features rank better than those of the other teams")
@stated("55.64 % against 51.55 % and less", "Table 7")
@at_least(0.0, because="difference to the best of the others, all with extra trees")
def larc_above_other_teams(run: Run) -> float:
    from sklearn.base import clone

    model = extra_trees(run.seed)
    found = {name: later_precision(run, clone(model), name) for name in PRESETS}
    return found.pop("larc257") - max(found.values())


@PAPER.claim(
    says="What the organisers' features lack are repeats of one key: with the third team's counts "
    "by address, subnetwork, campaign and device beside them extra trees rank better",
    where="simulator",
    published="> 0",
    kind="own",
    seeds=SEEDS,
    full_seeds=tuple(range(20, 40)),  # fresh: the first five left it undecided
    stand_in=STAND_IN,
    expect=at_least(0.0, because="difference of average precision on the test window"),
)
def keys_are_what_larc_lacks(run: Run) -> float:
    alone, keys = (tables(run.seed, run.full, name) for name in ("larc257", "db2"))
    both = {name: np.hstack([alone[name], keys[name]]) for name in alone}
    more = precision_of(run, extra_trees(run.seed), both, "larc257 and db2")
    return more - later_precision(run, extra_trees(run.seed))


@simulated.claim("Backward elimination is not below all features on the test window")
@stated("55.64 % against 54.04 %", "Table 27, extra trees")
@at_least(-0.02, because="two points, half of the interval of one window's precision")
def elimination_not_below(run: Run) -> float:
    X, y = tables(run.seed, run.full, "larc257"), labels(run.seed, run.full)
    model = extra_trees(run.seed).set_params(n_estimators=200 if run.full else 50)
    kept = linear.BackwardElimination(model, min_features=28, step=5 if run.full else 40)
    kept.fit(X["train"], y["train"], X["validation"], y["validation"])
    less = score_of(kept.estimator_, X["test"][:, kept.support_])
    every = score_of(model.fit(X["train"], y["train"]), X["test"])
    run.note(f"{kept.n_features_} of 257 features")
    return linear.average_precision(y["test"], less) - linear.average_precision(y["test"], every)


@simulated.claim("A blend of models ranks better than each of them")
@stated("52.3 % against 49.3 %", "Table 19")
@at_least(0.0, because="difference to the best of its models on the test window")
def blend_above_its_models(run: Run) -> float:
    X, truth = tables(run.seed, run.full, "db2"), labels(run.seed, run.full)
    blend = linear.APBlender(cv=5, random_state=run.seed).fit(X["train"], truth["train"])
    y = truth["test"]
    single = [linear.average_precision(y, score_of(m, X["test"])) for m in blend.estimators_]
    run.note(f"weights {np.round(blend.weights_, 2).tolist()}")
    return linear.average_precision(y, blend.decision_function(X["test"])) - max(single)


@simulated.claim("Publishers under observation are better taken as honest than as fraudulent")
@stated("50.37 % against 46.1 %", "Section 4.3.2")
@at_least(0.0, because="difference of average precision, a tree with leaves of five")
def observation_as_honest(run: Run) -> float:
    from sklearn.tree import DecisionTreeClassifier

    X, y = tables(run.seed, run.full, "masdar41"), labels(run.seed, run.full)["test"]
    values = []
    for policy in ("ok", "fraud"):
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=run.seed)
        tree.fit(X["train"], labels(run.seed, run.full, policy)["train"])
        values.append(linear.average_precision(y, score_of(tree, X["test"])))
    return values[0] - values[1]


@simulated.claim(
    "The red flag is larger for frauds and publishers under observation (Kruskal and Wallis)"
)
@stated("P < 0.001", "Section 6.1.5 and Figure 7")
@at_most(0.001, because="the paper's level")
def redflag_ranks_fraud(run: Run) -> float:
    from scipy.stats import kruskal

    log = windows(run.seed, run.full)["train"].log
    flags, status = redflags(log), log.labels("class")
    groups = [flags[status == name] for name in ("fraud", "observation", "ok")]
    return float(kruskal(*groups).pvalue)


# Parts of the names of an archetype's own features. Seeds 45 to 84 were added after seeds 0 to 4
# had left the claim undecided, .965 [.949, .981]: with one named feature each, now a claim of its
# own, and on rotators that did not yet wait between clicks.
OWN = {
    "burst": ("spiky_numericip", "_IP_sec"),
    "rotator": ("_sip2_",),
    "farm": ("country_", "referredurl_missing"),
    "hammer": ("_campaignid_min",),
}


@PAPER.claim("Each archetype of the simulator is told from honest publishers by its own features")
@stated("AUC > 0.95", "simulator", kind="own", seeds=SEEDS, full_seeds=tuple(range(45, 85)))
@at_least(0.95, because="what the simulator is made for; trees that have not seen a row")
def archetypes_are_separate(run: Run) -> float:
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    mix = dict.fromkeys(OWN, 0.02)
    clicks, publishers = data.make_click_fraud(
        1000 if run.full else 400, 3, mix, random_state=run.seed, as_frame=False
    )
    log = linear.ClickLog.from_frame(clicks, publishers)
    model = linear.EventFeatures(families=("spatial", "spiky", "keys")).fit(log)
    X, kind = model.to_array(log), publishers["archetype"]
    found = {}
    for name, parts in {**OWN, "rotator by runs of a device": ("deviceua1",)}.items():
        own = [any(part in column for part in parts) for column in model.feature_names_]
        rows = (kind == name.split()[0]) | (kind == "honest")
        trees = extra_trees(run.seed).set_params(n_estimators=100, max_features="sqrt")
        table, y = X[np.ix_(rows, own)], kind[rows] != "honest"
        score = cross_val_predict(trees, table, y, cv=5, method="predict_proba")[:, 1]
        found[name] = float(roc_auc_score(y, score))
    run.note(", ".join(f"{name} {value:.3f}" for name, value in found.items()))
    return min(found[name] for name in OWN)


# The one feature of each archetype that comes nearest to what it does.
NAMED = {
    "burst": "avg_spiky_numericip",
    "rotator": "avg_sip2_hour",
    "farm": "referredurl_missing_fraction",
    "hammer": "avg_campaignid_min",
}


@PAPER.claim("One named feature alone tells each archetype of the simulator from honest publishers")
@stated("AUC > 0.95", "simulator", kind="own", seeds=SEEDS, full_seeds=tuple(range(45, 85)))
@at_least(0.95, because="the harder reading of what the simulator is made for")
def archetypes_by_one_feature(run: Run) -> float:
    from sklearn.metrics import roc_auc_score

    clicks, publishers = data.make_click_fraud(
        1000 if run.full else 400,
        3,
        dict.fromkeys(NAMED, 0.02),
        random_state=run.seed,
        as_frame=False,
    )
    log = linear.ClickLog.from_frame(clicks, publishers)
    model = linear.EventFeatures(families=("spatial", "spiky", "keys")).fit(log)
    X, kind = model.to_array(log), publishers["archetype"]
    found = {}
    for name, feature in NAMED.items():
        rows = (kind == name) | (kind == "honest")
        column = X[rows, model.feature_names_.index(feature)]
        found[name] = float(roc_auc_score(kind[rows] == name, column))
    run.note(", ".join(f"{name} {value:.3f}" for name, value in found.items()))
    return min(found.values())


def redflags(log: Any) -> np.ndarray:
    """Return the red flag of each publisher."""
    model = linear.EventFeatures(families=("profiles",)).fit(log)
    return model.to_array(log)[:, model.feature_names_.index("redflag")]


@PAPER.figure("Publishers by red flag, frauds in black (Figure 7); clicks a minute of one of them")
def suspicious_publishers():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    log = windows(0, False)["train"].log
    flags = redflags(log)
    plot.plot_redflags(flags, log.labels("class"), ax=left)
    plot.plot_click_timeline(log, log.entities[int(np.argmax(flags))], ax=right)
    return figure


@PAPER.figure("Shares of clicks by country and status (Figure 5), and gaps by status (Figure 6)")
def where_and_when():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    log = windows(0, False)["train"].log
    plot.plot_country_shares(log, log.labels("class"), ax=left)
    model = linear.EventFeatures(families=("profiles",)).fit(log)
    plot.plot_gap_profile(model.to_array(log), model.feature_names_, log.labels("class"), ax=right)
    return figure


@PAPER.figure("Average precision against the number of features (Table 27), and on a later window")
def elimination_path():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    X, found = tables(0, False, "larc257"), windows(0, False)
    model = extra_trees(0).set_params(n_estimators=50)
    kept = linear.BackwardElimination(model, min_features=28, step=20)
    kept.fit(X["train"], found["train"].y, X["validation"], found["validation"].y)
    plot.plot_elimination(kept.path_, ax=left)
    scores = {"extra trees": score_of(kept.estimator_, X["test"][:, kept.support_])}
    baseline = logistic().fit(X["train"], found["train"].y)
    scores["logistic regression"] = score_of(baseline, X["test"])
    plot.plot_precision_recall(found["test"].y, scores, ax=right)
    return figure
