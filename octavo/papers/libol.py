"""Hoi, Wang and Zhao (2014): LIBOL, a library for online learning algorithms."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from typing import Any

import numpy as np

from octavo import data, online, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import Run, at_least, at_most, stated, within

learner = partial(Method, room="online", family="one_pass")

PAPER = Paper(
    key="libol",
    title="LIBOL: A Library for Online Learning Algorithms",
    authors="S. C. H. Hoi, J. Wang and P. Zhao",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("rate-of-arow", "rate-of-ogd"),
    tables={
        "Table 1": "rate-of-* updates-of-* scw-updates-half-as-often scw-on-ijcnn1 "
        "scw-beats-arow-on-a-large-stream arow-beats-the-perceptron-on-a-large-stream",
        "Figure 1": "scw-errs-least second-order-wins",
    },
    refutations={
        "rate-of-narow": "The released code makes no step on rows of small variance, and its rate "
        "varies with the order of rows; NAROW as its authors wrote it errs less.",
    },
    methods=(
        learner(
            name="AROW",
            modules=("one_pass.second_order",),
            task="classify a stream in one pass without tuning a learning rate",
            summary="One-pass linear classifiers that know how sure they are of each weight: "
            "AROW, SCW, CW, NAROW, NHERD, SOP, IELLIP.",
            use_when="Examples arrive one after the other (text, clicks, logs), the model must be "
            "usable after each, and memory is constant: AROW first, SCW if its two parameters can "
            "be tuned.",
            avoid_when="All data are at hand and many passes are affordable; or the classes are "
            "not linearly related to the features.",
            instead="SGDClassifier.partial_fit learns from a stream, with a learning rate to "
            "tune; LogisticRegression fits data in memory.",
            peers=("scikit-learn", "river"),
            plots=("plot_feature_confidence",),
            trials={
                "AROW": Trial(
                    ({"r": 0.1}, {"r": 1.0}, {"r": 10.0}), {"shuffle": True, "n_epochs": 3}
                )
            },
        ),
        learner(
            name="PassiveAggressive",
            modules=("one_pass.first_order",),
            task="classify a stream in one pass at the speed of reading it",
            summary="One-pass linear classifiers that keep a weight vector alone: perceptrons, "
            "ROMMA, ALMA, online gradient descent, PA, PA-I, PA-II.",
            use_when="Rows are many, sparse and high-dimensional, and each must cost no more than "
            "its nonzeros.",
            avoid_when="Labels are noisy: a second-order learner such as AROW makes fewer "
            "mistakes at a few times the cost.",
            instead="SGDClassifier with learning_rate='pa1' or 'pa2' takes the same steps as "
            "PA-I and PA-II; Perceptron is there too.",
            peers=("scikit-learn", "river"),
            plots=("plot_final_rates",),
            trials={
                "PassiveAggressive": Trial(
                    ({"C": 0.01}, {"C": 0.1}, {"C": 1.0}),
                    {"variant": "pa1", "shuffle": True, "average": True, "n_epochs": 3},
                )
            },
        ),
        learner(
            name="compare_online",
            task="compare update rules along a stream, or try one of your own",
            summary="Predict, score, then learn: mistakes, updates and time of many online "
            "learners over many random orders; a new rule is one function.",
            use_when="You want to know which online learner suits your stream, or to set a new "
            "update rule beside the known ones.",
            avoid_when="The data have no order and the question is accuracy on unseen rows: "
            "cross-validate instead.",
            instead="cross_validate judges batch learners; there is no predict-then-learn loop.",
            peers=("river",),
            plots=("plot_online_curves",),
        ),
    ),
)

FIRST = "PassiveAggressive"
SECOND = "AROW"
HARNESS = "compare_online"
SEEDS = (0, 1, 2, 3, 4)
FULL_SEEDS = tuple(range(10))
N_ORDERS = 20
TABLE_1 = {  # svmguide3: mistake rate and updates, each with its standard deviation
    "Perceptron": (0.332, 0.012, 412.4, 14.7),
    "ROMMA": (0.329, 0.019, 409.3, 23.2),
    "aROMMA": (0.328, 0.018, 500.1, 29.1),
    "ALMA": (0.230, 0.006, 592.9, 6.6),
    "OGD": (0.237, 0.003, 636.5, 4.2),
    "PA": (0.318, 0.013, 721.1, 18.3),
    "PA1": (0.236, 0.002, 763.4, 11.5),
    "PA2": (0.253, 0.007, 1131.5, 15.6),
    "SOP": (0.297, 0.012, 369.1, 14.8),
    "IELLIP": (0.332, 0.013, 412.7, 16.1),
    "CW": (0.299, 0.011, 704.6, 19.1),
    "NHERD": (0.217, 0.007, 1150.5, 27.7),
    "AROW": (0.222, 0.004, 1219.5, 8.1),
    "NAROW": (0.276, 0.042, 1193.8, 23.2),
    "SCW": (0.206, 0.004, 593.4, 13.9),
    "SCW2": (0.212, 0.009, 802.0, 73.2),
}
FIRST_ORDER = tuple(TABLE_1)[:8]
UNTUNED = ("Perceptron", "ROMMA", "aROMMA", "OGD", "PA", "SOP")
TUNED = (
    "parameters tuned as the paper does, on one random order of the rows that are then judged; "
    f"then {N_ORDERS} random orders"
)
OF_20_ORDERS = "two standard errors of the printed mean of 20 orders"
ABOVE = "the whole 95 % interval over seeds must lie above 0"


@lru_cache(maxsize=512)
def run_of(name: str, seed: int) -> tuple[float, float, dict[str, Any]]:
    """Return the mistake rate, the updates and the parameters of one line of Table 1."""
    table = data.load_dataset("libol/svmguide3")
    learner = online.libol_learners()[name]
    tuning = online.tune_online(
        learner, table.data, table.target, protocol="libol", random_state=seed
    )
    [row] = online.compare_online(
        {name: tuning.estimator},
        table.data,
        table.target,
        N_ORDERS,
        random_state=1000 + seed,
        ticks=1,
    ).table()
    return row["mistake_rate"], row["n_updates"], tuning.params


def rate_of(run: Run, name: str) -> float:
    """Return a mistake rate on svmguide3."""
    run.note(TUNED)
    return run_of(name, run.seed)[0]


table_1 = PAPER.section(where="Table 1", seeds=SEEDS, full_seeds=FULL_SEEDS, method=SECOND)


def expected_rate(name: str):
    """Return two standard errors around a printed rate: of 20 orders, and of one tuning."""
    spread = TABLE_1[name][1] / N_ORDERS**0.5
    # The mean of 20 orders deviates by about 0.004 with the order that parameters are tuned on.
    tuning = 0.0 if name in UNTUNED else 0.004
    return within(
        round(2 * (spread**2 + tuning**2) ** 0.5 + 0.0005, 4),
        because="two standard errors of the printed mean of 20 orders and of its tuning, and half "
        "a printed digit",
    )


@table_1.table(
    "{row} errs in {published:.1%} of the examples of svmguide3",
    name="rate-of-{row}",
    method=dict.fromkeys(FIRST_ORDER, FIRST),
    expect={name: expected_rate(name) for name in TABLE_1},
)
@stated({name: row[0] for name, row in TABLE_1.items()})
def rate(run: Run, name: str) -> float:
    if name == "NAROW":
        run.note(
            "as released it makes no step on rows of small variance, and its rate varies by 0.05 "
            "to 0.1 from order to order; NAROW(variant='dual'), as its authors wrote it, is at "
            "0.23 with a spread below 0.01"
        )
    found = rate_of(run, name)
    params = run_of(name, run.seed)[2]
    if params and run.seed == 0:
        run.note("seed 0 chose " + ", ".join(f"{k} = {v:g}" for k, v in params.items()))
    return found


@table_1.table(
    "{row} makes {published} updates on svmguide3",
    unit="updates",
    method=dict.fromkeys(FIRST_ORDER, FIRST),
    expect={
        name: within(round(2 * TABLE_1[name][3] / N_ORDERS**0.5 + 0.05, 1), because=OF_20_ORDERS)
        for name in UNTUNED
    },
)
@stated({name: TABLE_1[name][2] for name in UNTUNED})
def updates_of(run: Run, name: str) -> float:
    return run_of(name, run.seed)[1]


@table_1.claim("SCW errs least of all sixteen on svmguide3: 0.206, the next is 0.212 (SCW2)")
@stated(0.006, kind="ordering", method=HARNESS)
@at_least(0.0, because=ABOVE)
def scw_errs_least(run: Run) -> float:
    best = min(rate_of(run, name) for name in TABLE_1 if name != "SCW")
    return best - rate_of(run, "SCW")


@table_1.claim(
    "SCW errs less than the best first-order algorithm on svmguide3: 0.206 against 0.230 (ALMA)"
)
@stated(0.024, kind="ordering")
@at_least(0.0, because=ABOVE)
def second_order_wins(run: Run) -> float:
    return min(rate_of(run, name) for name in FIRST_ORDER) - rate_of(run, "SCW")


@table_1.claim("SCW needs half the updates of AROW on svmguide3: 593.4 against 1219.5", 0.487)
@within(0.1, because="the parameters tuned move updates by a tenth or two")
def scw_updates_half_as_often(run: Run) -> float:
    run.note(TUNED)
    return run_of("SCW", run.seed)[1] / run_of("AROW", run.seed)[1]


PAPER.not_measurable(
    "scw-on-ijcnn1",
    "the data set ijcnn1 is on no package index; see the stand-in claims",
    "SCW errs in 6.0 % of ijcnn1",
    stated(0.060, "Table 1", method=SECOND),
)


STAND_IN = (
    "141,691 rows (quick: a tenth) of 22 features from make_classification, "
    "10 % positive, 5 % of the labels wrong; parameters tuned on the first tenth"
)


@lru_cache(maxsize=32)
def ijcnn1_stand_in(seed: int, full: bool):
    """Return a stream of the size and imbalance of ijcnn1."""
    from sklearn.datasets import make_classification

    return make_classification(
        n_samples=141_691 if full else 14_169,
        n_features=22,
        n_informative=13,
        n_redundant=4,
        n_clusters_per_class=2,
        weights=[0.9],
        flip_y=0.05,
        class_sep=1.2,
        random_state=seed,
    )


def stand_in_rate(run: Run, name: str) -> float:
    """Return the mistake rate on the stand-in after the prefix that parameters are tuned on."""
    X, y = ijcnn1_stand_in(run.seed, run.full)
    tuning = online.tune_online(online.libol_learners()[name], X, y)
    order = np.arange(tuning.n_rows, len(y))
    return float(
        online.progressive_evaluate(tuning.estimator, X, y, order, ticks=1).mistake_rate[-1]
    )


@table_1.rows(
    {
        "AROW SCW": ("On ijcnn1 SCW errs less than AROW: 0.060 against 0.082", 0.022),
        "Perceptron AROW": (
            "On ijcnn1 AROW errs less than the perceptron: 0.082 against 0.106",
            0.024,
        ),
    },
    name={
        "AROW SCW": "scw-beats-arow-on-a-large-stream",
        "Perceptron AROW": "arow-beats-the-perceptron-on-a-large-stream",
    },
    kind="ordering",
    stand_in=STAND_IN,
    full_seeds=SEEDS,
)
@at_least(0.0, because=ABOVE)
def errs_less(run: Run, pair: str) -> float:
    worse, better = pair.split()
    return stand_in_rate(run, worse) - stand_in_rate(run, better)


def seconds_of_a_pass(run: Run, name: str) -> float:
    """Return the time of one pass over 141,691 rows of 22 features, best of three."""
    X, y = ijcnn1_stand_in(0, True)
    learner = online.libol_learners()[name]
    learner.fit(X[:100], np.arange(100) % 2)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        learner.fit(X, y)
        times.append(time.perf_counter() - start)
    run.note("141,691 x 22 stand-in, validation of the input included, best of three")
    return min(times)


@PAPER.table(
    "A pass of {row} over ijcnn1 takes {published} s",
    name="{row}-time",
    kind="own",
    method={"Perceptron": FIRST},
)
@stated({"Perceptron": 5.668, "SCW": 7.921}, "Table 1, MATLAB on a machine of 2012", unit="s")
@at_most(0.55, because="ten times faster, more than a machine of today explains")
def pass_time(run: Run, name: str) -> float:
    return seconds_of_a_pass(run, name)


@lru_cache(maxsize=1)
def figure_comparison():
    """Return all sixteen on svmguide3, or on the stand-in where that is absent, and a title."""
    try:
        table = data.load_dataset("libol/svmguide3")
        X, y, title = table.data, table.target, "svmguide3"
    except data.DatasetNotFoundError:
        X, y = ijcnn1_stand_in(0, False)
        X, y, title = X[:3000], y[:3000], "stand-in"
    tuned = {
        name: online.tune_online(learner, X, y, protocol="libol", random_state=0).estimator
        for name, learner in online.libol_learners().items()
    }
    return online.compare_online(tuned, X, y, N_ORDERS, random_state=0), title


@PAPER.figure(
    "Sixteen learners along svmguide3: mistakes, updates and time (Figure 1)", method=HARNESS
)
def curves():
    import matplotlib.pyplot as plt

    comparison, title = figure_comparison()
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2))
    for ax, value in zip(axes, ("mistake_rate", "n_updates", "cpu_time")):
        plot.plot_online_curves(comparison, value, ax=ax)
        if value != "n_updates":
            ax.get_legend().remove()
    axes[0].set_title(title)
    figure.tight_layout()
    return figure


@PAPER.figure(
    "Final mistake rates, mean and standard deviation of 20 orders (Table 1)", method=FIRST
)
def final_rates():
    return plot.plot_final_rates(figure_comparison()[0]).figure


@PAPER.figure("Weights of AROW on breast cancer against how sure it is of them", method=SECOND)
def confidence():
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import scale

    table = load_breast_cancer()
    model = online.AROW().fit(scale(table.data), table.target)
    return plot.plot_feature_confidence(model, feature_names=list(table.feature_names)).figure
