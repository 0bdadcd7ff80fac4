"""Agarwal, Chapelle, Dudík and Langford (2014): a terascale linear learning system."""

from __future__ import annotations

import functools
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import data, linear, plot
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import NotMeasurable, Run, at_least, at_most, measured, stated

PAPER = Paper(
    key="terascale-linear",
    title="A Reliable Effective Terascale Linear Learning System",
    authors="A. Agarwal, O. Chapelle, M. Dudík and J. Langford",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=(
        "converges-for-any-sharding",
        "hybrid-beats-online-on-splice",
        "subsampling-costs-precision",
    ),
    tables={
        "Table 1": "ads-precision subsampling-costs-precision a-tenth-costs-precision",
        "Table 2": "[times of 1,000 nodes; speculation-removes-the-slow-node shows the mechanism]",
        "Table 3": "[times of 100 to 1,000 nodes, of which there are none here]",
        "Table 4": "resident-data-beat-starting-over",
        "Table 5": "[formulas of communication cost, without measurements to compare]",
        "Figure 2": "speed-up-of-a-cluster",
        "Figure 3": "warm-start-*",
        "Figure 4": "hybrid-beats-online-on-splice hybrid-beats-batch-early splice-precision",
        "Figure 5": "overcomplete-lags-on-splice overcomplete-competes-on-ads",
    },
    methods=(
        Method(
            name="HybridLinearClassifier",
            room="linear",
            family="sharded",
            task="fit a linear model to data that does not fit one process",
            summary="Linear models fitted to full accuracy over shards in memory, on disk or on a "
            "cluster: online pass, confidence-weighted average, preconditioned L-BFGS.",
            use_when="Sparse rows by the million, in files larger than memory or spread over "
            "machines, and the optimum matters: clicks, text, genomes.",
            avoid_when="The table is small and dense, or has many classes.",
            instead="LogisticRegression on one machine in memory; SGDClassifier.partial_fit out "
            "of core, without reaching the optimum.",
            peers=("scikit-learn", "vowpalwabbit"),
            plots=("plot_suboptimality", "plot_speedup", "plot_time_split", "plot_node_times"),
            trials={
                "HybridLinearClassifier": Trial(
                    ({"alpha": 0.1}, {"alpha": 1.0}, {"alpha": 10.0}), {"max_iter": 300}
                ),
                "HybridLinearRegressor": Trial(
                    ({"alpha": 0.1}, {"alpha": 10.0}, {"alpha": 1000.0}), {"max_iter": 300}
                ),
            },
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
ADS = "simulated clicks in place of Yahoo's log: Zipf users, pages and ads, all pairs hashed"
SPLICE = (
    "simulated acceptor sites in place of the human splice data: 60 letters, degrees 1 to 12, "
    "positives 10 %"
)
PENALTY = 10.0  # the best of 1, 3, 10, 30 and 100 on the later day of clicks simulated with seed 0
better = at_least(0.0, because="on the claimed side at all; the size stands beside")
clicks = PAPER.section(seeds=SEEDS, stand_in=ADS, kind="ordering", unit="points", expect=better)
sites = PAPER.section(seeds=SEEDS, stand_in=SPLICE, kind="ordering", unit="points", expect=better)
system = PAPER.section(seeds=SEEDS, unit="times", kind="speed", random=True)
# The paper's two problems: nonzeros, dimension, and Table 3 (nodes, seconds).
SPLICE_NNZ, SPLICE_DIMENSION = 50e6 * 3300, 11_725_480
TABLE_3 = {100: 3677, 200: 2120, 500: 938, 1000: 813}


@lru_cache(maxsize=8)
def ads(seed: int, full: bool):
    """Return hashed clicks and those of a later day."""
    sizes = (300_000, 100_000) if full else (8_000, 4_000)
    X, y, later, y_later = data.make_clicks(*sizes, random_state=seed)
    hasher = linear.ConjunctionHasher(n_bits=20 if full else 16).fit(X)
    return hasher.transform(X), y, hasher.transform(later), y_later


@lru_cache(maxsize=8)
def splice(seed: int, full: bool):
    """Return weighted-degree features of training and test sequences."""
    n = 60_000 if full else 2_000
    sequences, y = data.make_splice_sites(n + 2_000, random_state=seed)
    features = linear.WeightedDegreeFeatures(degree=12, n_bits=10 if full else 6)
    X = features.fit_transform(sequences)
    return X[:n], y[:n], X[n:], y[n:]


def precision(model, X, y) -> float:
    """Return the area under the precision/recall curve, in points."""
    from sklearn.metrics import average_precision_score

    return 100 * float(average_precision_score(y, model.decision_function(X)))


def fitted(estimator, X, y):
    """Fit without complaints about an early stop, which is what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


@lru_cache(maxsize=64)
def path(problem, seed: int, full: bool, online: int):
    """Return the objective after each L-BFGS iteration that follows some online passes."""
    X, y, *_ = problem(seed, full)
    model = linear.HybridLinearClassifier(
        alpha=PENALTY, n_online_passes=online, n_shards=8, max_iter=200, tol=1e-7
    )
    return fitted(model, X, y).objectives_


def iterations_to(problem, run: Run, online: int, gap: float = 1e-4) -> int:
    """Return the L-BFGS iterations to a relative gap."""
    best = min(path(problem, run.seed, run.full, k)[-1] for k in (0, 1))
    return int(np.sum(path(problem, run.seed, run.full, online) > best * (1 + gap)))


# --- the optimum ---------------------------------------------------------------------------------


@sites.claim("The hybrid always converges to the optimum, on any number of nodes")
@stated("equal", "Section 4.1", unit="", kind="theorem", stand_in="")
@at_most(1e-6, because="relative difference of objectives; both solvers are run tighter")
def converges_for_any_sharding(run: Run) -> float:
    from sklearn.linear_model import LogisticRegression

    X, y, *_ = (part[:300] for part in splice(run.seed, False))
    run.note("1, 2, 4 and 7 shards of 300 rows against LogisticRegression(solver='lbfgs')")
    theirs = LogisticRegression(C=0.1, tol=1e-7, max_iter=3000).fit(X, y)
    margins = (2 * y - 1) * theirs.decision_function(X)
    best = float(np.logaddexp(0, -margins).sum() + 5.0 * np.sum(theirs.coef_**2))
    options: dict[str, Any] = {"alpha": PENALTY, "tol": 1e-11, "max_iter": 300}
    models = [linear.HybridLinearClassifier(n_shards=m, **options) for m in (1, 2, 4, 7)]
    return float(max(abs(model.fit(X, y).objective_ / best - 1) for model in models))


# --- Table 1: subsampling ------------------------------------------------------------------------


PAPER.not_measurable(
    "ads-precision",
    "Yahoo's 2.3 billion visits are not public; see the stand-in claims",
    "Display advertising: 100 % of the data reach an auPRC of 0.4856",
    stated(48.56, "Table 1", unit="points"),
)


@clicks.claim("Training on 1 % of the clicks costs precision on a later day")
@stated(3.51, "Table 1: auPRC 45.05 against 48.56")
def subsampling_costs_precision(run: Run) -> float:
    X, y, later, y_later = ads(run.seed, run.full)
    scores = []
    for share in (0.01, 1.0):
        n = int(share * len(y))
        # The penalty is tuned on the later day for each size, as in the paper.
        models = (fitted(linear.HybridLinearClassifier(alpha=a), X[:n], y[:n]) for a in (3, 10))
        scores.append(max(precision(model, later, y_later) for model in models))
    return scores[1] - scores[0]


@clicks.claim("10 % of the clicks lie in between", 1.03, "Table 1: auPRC 47.53 against 48.56")
def a_tenth_costs_precision(run: Run) -> float:
    X, y, later, y_later = ads(run.seed, run.full)
    n = len(y) // 10
    models = [
        fitted(linear.HybridLinearClassifier(alpha=PENALTY), X[:k], y[:k]) for k in (n, len(y))
    ]
    few, every = (precision(model, later, y_later) for model in models)
    return every - few


# --- Figures 3 and 4: the hybrid -----------------------------------------------------------------


@clicks.table(
    "{row}: the online pass saves 10 to 15 L-BFGS iterations",
    dict.fromkeys(("ads", "splice"), "10 to 15"),
    "Figure 3 and Section 3.2.4",
    unit="iterations",
    kind="figure",
    stand_in={"splice": SPLICE},
)
@at_least(10.0, because="the lower end of what the paper reads from its figure")
def warm_start_saves_iterations_on(run: Run, row: str) -> float:
    run.note("iterations to a relative gap of 1e-4, both with the Jacobi preconditioner")
    problem = {"ads": ads, "splice": splice}[row]
    return iterations_to(problem, run, 0) - iterations_to(problem, run, 1)


@clicks.claim("L-BFGS after one online pass starts nearer to the optimum than from zero")
@stated("nearer", "Figure 3", unit="of the gap left")
@at_most(0.5, because="an order of magnitude in the figure; half is asked for")
def warm_start_begins_nearer(run: Run) -> float:
    best = min(path(ads, run.seed, run.full, k)[-1] for k in (0, 1))
    cold, warm = (path(ads, run.seed, run.full, k)[0] - best for k in (0, 1))
    return float(warm / cold)


@sites.claim("Splice sites: after ten passes the hybrid is more precise than online learning alone")
@stated("higher", "Figure 4")
def hybrid_beats_online_on_splice(run: Run) -> float:
    X, y, later, y_later = splice(run.seed, run.full)
    hybrid = fitted(linear.HybridLinearClassifier(alpha=PENALTY, n_shards=8, max_iter=8), X, y)
    online = fitted(linear.RepeatedOnlineAveraging(n_epochs=10, n_shards=8), X, y)
    return precision(hybrid, later, y_later) - precision(online, later, y_later)


@clicks.claim("Advertising: after three passes the hybrid is more precise than L-BFGS alone")
@stated("higher", "Figure 4")
def hybrid_beats_batch_early(run: Run) -> float:
    run.note("one online pass and one iteration against two iterations")
    X, y, later, y_later = ads(run.seed, run.full)
    early: dict[str, Any] = {"alpha": PENALTY, "n_shards": 8, "tol": 0.0}
    hybrid, batch = (
        fitted(linear.HybridLinearClassifier(n_online_passes=k, max_iter=2 - k, **early), X, y)
        for k in (1, 0)
    )
    return precision(hybrid, later, y_later) - precision(batch, later, y_later)


PAPER.not_measurable(
    "splice-precision",
    "the 50 million splice sequences (3 TB of features) are not at hand",
    "Splice sites: one online pass and 14 iterations reach an auPRC of 0.581 in 1,960 s on "
    "500 machines",
    stated(58.1, "Section 3.2.4", unit="points"),
)


# --- Figure 5: baselines -------------------------------------------------------------------------


@lru_cache(maxsize=16)
def tuned_overcomplete(problem, seed: int, full: bool, replicas: int) -> float:
    """Return the precision of oversampled SGD, its rate tuned on a tenth of the data."""
    X, y, later, y_later = problem(seed, full)
    n = len(y) // 10
    grid = [(L, gamma) for L in (1.0, 10.0) for gamma in (0.1, 1.0)]

    def sgd(rate, k):
        L, gamma = rate
        return linear.OvercompleteSGD(alpha=PENALTY, n_replicas=k, n_shards=8, L=L, gamma=gamma)

    def held_out(rate):
        return precision(fitted(sgd(rate, 1), X[:n], y[:n]), X[n : 2 * n], y[n : 2 * n])

    return precision(fitted(sgd(max(grid, key=held_out), replicas), X, y), later, y_later)


@sites.claim(
    "Splice sites: oversampled SGD with averaging is far behind the hybrid at equal passes"
)
@stated("slower", "Figure 5 and Section 3.3.2")
def overcomplete_lags_on_splice(run: Run) -> float:
    run.note("eight passes each, SGD's rate tuned on a tenth of the data")
    X, y, later, y_later = splice(run.seed, run.full)
    hybrid = fitted(linear.HybridLinearClassifier(alpha=PENALTY, n_shards=8, max_iter=6), X, y)
    return precision(hybrid, later, y_later) - tuned_overcomplete(splice, run.seed, run.full, 8)


@clicks.claim("Advertising: oversampled SGD with averaging is competitive")
@stated("competitive", "Figure 5 and Section 3.3.2", unit="points behind", kind="figure")
@at_most(1.0, because='"competitive" read as one point of auPRC')
def overcomplete_competes_on_ads(run: Run) -> float:
    run.note("eight passes each, SGD's rate tuned on a tenth of the data")
    X, y, later, y_later = ads(run.seed, run.full)
    hybrid = fitted(linear.HybridLinearClassifier(alpha=PENALTY, n_shards=8, max_iter=6), X, y)
    return precision(hybrid, later, y_later) - tuned_overcomplete(ads, run.seed, run.full, 8)


# --- systems -------------------------------------------------------------------------------------


def workers(n: int):
    """Return a client of a Dask cluster of threads in this process."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise NotMeasurable("the package distributed is not installed") from None
    import logging

    quiet = {"silence_logs": logging.CRITICAL, "dashboard_address": None}
    cluster = LocalCluster(n_workers=n, threads_per_worker=1, processes=False, **quiet)
    return Client(cluster, set_as_default=False), cluster


def lagging(X, y, laggard: str, seconds: float):
    """Yield some rows, slowly on one worker."""
    from distributed import get_worker

    time.sleep(10 * seconds if get_worker().address == laggard else seconds)
    yield X, y


@system.claim(
    "Speculative copies of the first pass take out a node that is ten times slower: the slowest "
    "node's time falls from 758 s to 63 s"
)
@stated(758 / 63, "Table 2", kind="own", seeds=(0,), random=False)
@at_least(5.0, because="of a slowdown of ten that is put in, half must go")
def speculation_removes_the_slow_node(run: Run) -> float:
    run.note(
        "four shards on six Dask workers in one process, one of which waits 0.2 s in a pass where "
        "the others wait 0.02 s"
    )
    X, y, *_ = (part[:100] for part in splice(0, False))
    client, cluster = workers(6)
    try:
        slowest = []
        for copies in (1, 2):
            laggard = sorted(client.nthreads())[1]
            shards = [functools.partial(lagging, X[k::4], y[k::4], laggard, 0.02) for k in range(4)]
            model = linear.HybridLinearClassifier(
                alpha=PENALTY, max_iter=2, tol=0.0,
                comm=linear.DaskCommunicator(client, copies=copies, timeout=60),
            )  # fmt: skip
            phases = fitted_streams(model, shards, X.shape[1]).timing_.of("probe")
            slowest.append(np.mean([phase.busy.max() for phase in phases]))
    finally:
        client.close()
        cluster.close()
    return float(slowest[0] / slowest[1])


def fitted_streams(model, factories, n_features: int):
    """Fit to streams whose width is known, so that none is read outside the workers."""
    from octavo.engine.distributed.shards import StreamShard

    shards = [StreamShard(own, n_features, f"part {k}") for k, own in enumerate(factories)]
    return fitted(model, shards, None)


@system.claim("A node processes 4.7 million features a second")
@stated(4.7, "Section 3.2.3", unit="million/s", kind="own")
@at_least(4.7, because="the speed of a node of 2011: today's clock against that one")
def features_per_node_and_second(run: Run) -> float:
    X, y, *_ = splice(run.seed, False)
    model = fitted(linear.HybridLinearClassifier(alpha=PENALTY, max_iter=9, tol=0.0), X, y)
    run.note("one core, online pass, nine L-BFGS iterations and the driver's own work included")
    return model.n_epochs_ * X.nnz / model.timing_.total()["wall"] / 1e6


PAPER.not_measurable(
    "cluster-throughput",
    "there is no cluster of 1000 machines here; a model of one is drawn beside Table 3",
    "1000 nodes learn from 470 million features a second (16 billion examples in 70 minutes)",
    stated(470, "Section 3.2.3", unit="million/s"),
)
PAPER.not_measurable(
    "speed-up-of-a-cluster",
    "there are no 100 machines here",
    "Ten times as many nodes reach a fixed test error nearly ten times as fast",
    stated("close to ideal", "Figure 2", kind="speed"),
)


def parsed(lines, n_features: int):
    """Parse rows in svmlight's text form, as every MapReduce job does again."""
    import io

    from sklearn.datasets import load_svmlight_file

    yield load_svmlight_file(io.BytesIO(lines), n_features=n_features)


@system.claim(
    "An iteration that starts over from stored text takes longer than one on resident data "
    "(MapReduce 1,690 s, AllReduce 670 s)"
)
@stated(1690 / 670, "Table 4", stand_in=ADS)
@at_least(1690 / 670, because="the smaller of the two published ratios")
def resident_data_beat_starting_over(run: Run) -> float:
    import io

    from sklearn.datasets import dump_svmlight_file

    X, y, *_ = ads(run.seed, False)
    run.note("text parsed in every pass against rows kept in memory, both one process")
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer)
    text = functools.partial(parsed, buffer.getvalue(), X.shape[1])
    seconds = []
    for given in ((text,), (X, y)):
        model = linear.HybridLinearClassifier(alpha=PENALTY, max_iter=3, tol=0.0)
        phases = fitted(model, *given, *([None] if len(given) == 1 else [])).timing_.of("probe")
        seconds.append(np.mean([phase.wall for phase in phases]))
    return float(seconds[0] / seconds[1])


@system.claim("Mini-batch SGD takes 40 hours where L-BFGS takes one: communication")
@stated(40.0, "Section 3.3.3", stand_in=SPLICE)
@at_least(40, because="the published ratio; a pass is 500 updates there, 100 here")
def mini_batches_communicate_too_much(run: Run) -> float:
    X, y, *_ = splice(run.seed, False)
    run.note("one pass each on two Dask workers in one process")
    client, cluster = workers(2)
    try:
        batches = linear.ParallelMiniBatchSGD(
            batch_size=len(y) // 100, n_epochs=1, n_shards=2, comm=client
        ).fit(X, y)
        batch = sum(phase.wall for phase in batches.timing_.of("batch"))
        hybrid = linear.HybridLinearClassifier(
            alpha=PENALTY, n_shards=2, max_iter=6, tol=0.0, comm=client
        )
        probes = [phase.wall for phase in fitted(hybrid, X, y).timing_.of("probe")]
    finally:
        client.close()
        cluster.close()
    run.note(
        f"{batches.n_updates_} updates took {batch:.2f} s, an L-BFGS pass {np.median(probes):.3f} s"
    )
    return float(batch / np.median(probes))


@lru_cache(maxsize=1)
def cluster_model():
    """Return a model of Dask workers on this machine, fitted to a hybrid fit's phases."""
    X, y, *_ = splice(0, False)
    client, cluster = workers(2)
    try:
        model = linear.HybridLinearClassifier(
            alpha=PENALTY, n_shards=2, max_iter=12, tol=0.0, comm=client
        )
        timing = fitted(model, X, y).timing_
    finally:
        client.close()
        cluster.close()
    return linear.ClusterModel.from_timing(timing)


def paper_network(model):
    """Return the model with the paper's network, one gigabit a second."""
    return model._replace(seconds_per_byte=8e-9)


@system.claim("Even with 1000 nodes of this machine's speed communication is not the bottleneck")
@stated("not tried", "Table 3 has 16 s beside 34 s, on nodes of 2011")
@measured(kind="own", unit="of a pass", seeds=(0,), random=False)
@at_most(0.5, because="less than half of a pass")
def communication_is_no_bottleneck(run: Run) -> float:
    model = paper_network(cluster_model())
    time_of = model.predict(SPLICE_NNZ, SPLICE_DIMENSION, 1000, pipelined=True)
    run.note(
        "prediction for the paper's splice data and its network of 1 Gb/s from the speed of this "
        f"machine: {time_of.median:.2f} s computing, {time_of.communication:.2f} s communicating; "
        f"a core here reads {model.nonzeros_per_second / 1e6:.0f} million nonzeros a second, a "
        "node of the paper 4.7 million"
    )
    return time_of.communication / (time_of.median + time_of.communication)


PAPER.not_measurable(
    "weighted-degree-dimension",
    "neither the length of the sequences nor the layout of buckets is published; with 175 letters, "
    "which give 3,310 nonzeros, this layout has dimension 10,248,412",
    "The weighted degree features have dimension 11,725,480 with about 3,300 nonzeros",
    stated(11_725_480, "Section 3.1.2"),
)


@PAPER.figure("Objective above the optimum by passes over simulated clicks (compare Figures 3, 4)")
def convergence():
    curves = {}
    for name, online in (("L-BFGS", 0), ("hybrid, 1 online pass", 1), ("hybrid, 5 passes", 5)):
        own = path(ads, 0, False, online)[:25]
        curves[name] = (online + 1 + np.arange(own.size), own)
    best = min(path(ads, 0, False, online).min() for online in (0, 1, 5))
    X, y, *_ = ads(0, False)
    losses = []
    for k in range(1, 13):
        model = fitted(linear.RepeatedOnlineAveraging(n_epochs=k, n_shards=8), X, y)
        margins = (2 * y - 1) * model.decision_function(X)
        losses.append(np.logaddexp(0, -margins).sum() + 5.0 * np.sum(model.coef_**2))
    curves["online"] = (np.arange(1, 13), losses)
    return plot.plot_suboptimality(curves, best).figure


@PAPER.figure("Predicted time of 15 passes over the paper's splice data beside its Table 3")
def machines_needed():
    machines = [10, 100, 200, 500, 1000]
    try:
        model = cluster_model()
    except NotMeasurable:  # speeds of a core and a loopback, where there is no cluster to ask
        model = linear.ClusterModel(2e8, 0.1, 3e-3, 1e-9)
    times = {"paper, Table 3": [TABLE_3.get(m, np.nan) for m in machines]}
    for name, own in (("this machine's cores", model), ("the same, 1 Gb/s", paper_network(model))):
        predicted = [
            own.predict(SPLICE_NNZ, SPLICE_DIMENSION, m, pipelined=True).total for m in machines
        ]
        times[f"{name}: {predicted[0]:.0f} to {predicted[-1]:.0f} s"] = predicted
    return plot.plot_speedup(machines, times, seconds=True).figure


@PAPER.figure("Computing, stalling and communicating on four threads")
def time_split():
    X, y, *_ = splice(0, False)
    model = linear.HybridLinearClassifier(
        alpha=PENALTY, n_shards=4, comm=linear.ThreadCommunicator(4)
    )
    return plot.plot_time_split(fitted(model, X, y).timing_).figure


@PAPER.figure("Simulated times of 1000 nodes with and without a second copy (compare Table 2)")
def node_times():
    rng = np.random.default_rng(0)
    # Quantiles as in Table 2: median 34 s, 95 % below 60 s, and one node in a thousand stuck.
    once, again = 34 * np.exp(0.3 * rng.normal(size=(2, 1000)))
    once[rng.integers(1000)] = 758.0
    return plot.plot_node_times({"one copy": once, "two copies": np.minimum(once, again)}).figure
