"""Mizutani (2014): ellipsoidal rounding for NMF under noisy separability."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache, partial

import numpy as np

from octavo import data, decomposition, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, holds, measured, stated, within

separable = partial(Method, room="decomposition", family="separable")

PAPER = Paper(
    key="ellipsoidal-rounding",
    title="Ellipsoidal Rounding for Nonnegative Matrix Factorization Under Noisy Separability",
    authors="T. Mizutani",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("er-improves-spa", "er-improves-xray-dist", "correctness"),
    tables={
        "Figure 3": "er-improves-spa er-improves-xray-dist er-improves-xray-greedy",
        "Table 1": "er-spa-80 er-spa-70 spa-* xray-* er-xray-*",
        "Table 2": "active-*-noise cost-of-*",
        "Table 3": "reuters er-spa-clusters-better low-rank-clusters-better",
        "Table 4": "newsgroups er-spa-clusters-better low-rank-clusters-better",
        "Table 5": "bbc-news",
        "Table 6": "[words of the topics of a corpus that cannot be had]",
    },
    refutations={
        "er-xray-dist-80": "Ours finds more anchors than the published figure, 88 % for 80 %; why "
        "is not known.",
    },
    methods=(
        separable(
            name="EllipsoidalRoundingNMF",
            task="find the pure samples or anchor words of which all data are mixtures",
            summary="Non-negative factors that are rows or columns of the data: where the smallest "
            "ellipsoid touches them, thinned by SPA or XRAY.",
            use_when="Some samples are pure (endmembers of an image, prototypes) or some features "
            "belong to one factor alone (anchor words), and there is noise.",
            avoid_when="No sample is pure, or single outliers have not been removed: each becomes "
            "an anchor.",
            instead="NMF finds components outside of the data, from a random start to a local "
            "minimum.",
            peers=("scikit-learn NMF", "scipy pivoted QR"),
            plots=("plot_contact_ellipsoid", "plot_contact_values", "plot_recovery"),
        ),
        separable(
            name="AnchorTopics",
            modules=("separable.anchor_topics",),
            task="find topics, their anchor words and clusters of documents",
            summary="Topics of documents by anchor words, without restarts or sampling.",
            use_when="Word counts of many documents, topics that have words of their own, and an "
            "answer that must be the same every time.",
            avoid_when="A few short documents, or topics that share all their words.",
            instead="LatentDirichletAllocation or NMF on tf-idf weights.",
            peers=("scikit-learn NMF", "scikit-learn LatentDirichletAllocation"),
            plots=("plot_anchor_words",),
        ),
        separable(
            name="min_volume_ellipsoid",
            modules=("separable.enclosing_ellipsoid",),
            task="find the smallest ellipsoid around points, or a D-optimal design",
            summary="The minimum-volume enclosing ellipsoid, centred at the origin or anywhere, "
            "with a duality gap.",
            use_when="A tight ellipsoid around all points is wanted, its points of contact, or "
            "the D-optimal design among candidate experiments.",
            avoid_when="The scatter of data with outliers is wanted: they alone decide the "
            "ellipsoid.",
            instead="MinCovDet and EllipticEnvelope estimate scatter; nothing encloses.",
            peers=("cvxpy",),
            plots=("plot_contact_ellipsoid",),
        ),
    ),
)

SETS = tuple(range(50))  # as many data sets as the paper has
FEW = tuple(range(10))
SAMPLING = "sampling: the whole 95 % interval over data sets must lie on the claimed side"
ELLIPSOID, TOPICS = "min_volume_ellipsoid", "AnchorTopics"


def recovered(sample, method: str) -> float:
    """Return the share of anchors that a method finds: 'spa', 'xray-max', 'er-spa' and so on."""
    r = len(sample.anchors)
    if method.startswith("er-"):
        candidates = decomposition.ellipsoidal_candidates(sample.X, r).candidates
        found = candidates[choose(sample.X[candidates], r, method.removeprefix("er-"))]
    else:
        found = choose(sample.X, r, method)
    return len(set(found.tolist()) & set(sample.anchors.tolist())) / r


def choose(X, r: int, selector: str) -> np.ndarray:
    """Choose r rows by SPA or XRAY."""
    if selector == "spa":
        return decomposition.successive_projection(X, r)
    return decomposition.xray_anchors(X, r, policy=selector.removeprefix("xray-"))


@lru_cache(maxsize=4096)
def recoveries(seed: int, noise: float, methods: tuple[str, ...], n_points: int = 5_000):
    """Return what each method recovers from one matrix of section 6.1."""
    sample = data.make_separable(n_points, noise=noise, random_state=seed)
    return tuple(recovered(sample, method) for method in methods)


# Table 1: the largest noise level with a recovery of 90, 80 and 70 %, by method. ER-SPA at 90 % is
# left out: SPA recovers as much there, up to the error of a mean of 50 sets. XRAY(max) is SPA.
TABLE_1 = {
    "er-spa": (None, 0.32, 0.37),
    "spa": (0.21, 0.27, 0.31),
    "er-xray-dist": (0.23, 0.29, 0.36),
    "xray-dist": (0.10, None, None),
    "er-xray-greedy": (0.23, 0.29, 0.35),
    "xray-greedy": (0.08, None, None),
}
SLOW = ("xray-dist", "xray-greedy")
A_STEP = "two standard errors of the published mean, and a step of the noise"
# Standard deviation of the recovery between data sets, at 90, 80 and 70 %.
SPREADS = (0.11, 0.15, 0.18)


def table_1() -> dict[str, dict]:
    """Return a row for every method and rate: what it recovers at the level of the table."""
    rows = {}
    for method, levels in TABLE_1.items():
        for rate, level, spread in zip((90, 80, 70), levels, SPREADS):
            if level is None:
                continue
            # One step of 0.01 in the level loses 0.012, or 0.033 where XRAY's curves are steep.
            tolerance = 2 * spread / 50**0.5 + (0.033 if method in SLOW else 0.012)
            rows[f"{method} {level}"] = {
                "name": f"{method}-{rate}",
                "says": f"{method.upper()} recovers {rate} % of anchors up to δ = {level}",
                "published": rate / 100,
                "expect": within(round(tolerance, 3), because=A_STEP),
                "full_seeds": tuple(range(30 if method in SLOW else 200)),
            }
    return rows


@PAPER.section(where="Table 1", seeds=SETS).rows(table_1())
def share(run: Run, row: str) -> float:
    method, level = row.split()
    if method in SLOW and not run.full:
        raise NotMeasurable("a matrix takes seconds; measured in the full form only")
    return recoveries(run.seed, float(level), (method,))[0]


ordered = PAPER.section(kind="ordering", expect=at_least(0.0, because=SAMPLING))
robust = ordered.section(where="Figure 3 and Table 1")


@robust.claim(
    "The ellipsoid makes SPA more robust: at δ = 0.3 it recovers more anchors, 83 % against 73 % "
    "if the table is interpolated"
)
@stated(0.10, seeds=SETS)
def er_improves_spa(run: Run) -> float:
    spa, er_spa = recoveries(run.seed, 0.3, ("spa", "er-spa"))
    return er_spa - spa


@robust.rows(
    {"dist": 0.24, "greedy": 0.26},
    says="The ellipsoid makes XRAY({row}) more robust: where it recovers 70 % alone (δ = 0.16 and "
    "0.14), {published} more if the table is interpolated",
    seeds=FEW,
)
def er_improves_xray(run: Run, policy: str) -> float:
    n_points, noise = 5_000 if run.full else 1_000, {"dist": 0.16, "greedy": 0.14}[policy]
    if not run.full:
        run.note("1,000 points in place of 5,000")
    plain, rounded = recoveries(run.seed, noise, (f"xray-{policy}", f"er-xray-{policy}"), n_points)
    return rounded - plain


@PAPER.claim("XRAY(max) recovers as much as SPA")
@stated("equal", "Table 1: equal to two decimals in every column", kind="figure", seeds=SETS)
@holds(because="as much in every data set at δ = 0.31, where both lose 30 %")
def xray_max_is_spa(run: Run) -> float:
    spa, xray = recoveries(run.seed, 0.31, ("spa", "xray-max"))
    return float(spa == xray)


def n_active(run: Run, noise: float) -> float:
    """Return the number of points of contact."""
    sample = data.make_separable(noise=noise, random_state=run.seed)
    return float(len(decomposition.ellipsoidal_candidates(sample.X, 10).candidates))


contact = PAPER.section(where="Table 2", unit="points", seeds=SETS)


@contact.claim("Without noise the ellipsoid touches 10 points", 10, kind="theorem")
@within(0.0, because="Theorem 5")
def active_points_without_noise(run: Run) -> float:
    return n_active(run, 0.0)


MEAN_OF_50 = "rounding by 0.5, and two standard errors of a mean of 50 sets that differ by about 2"


@contact.claim("At δ = 0.25 it touches 12 points", 12)
@within(1.1, because=MEAN_OF_50)
def active_points_with_noise(run: Run) -> float:
    return n_active(run, 0.25)


@contact.claim("At δ = 0.5 it touches 23 points", 23)
@within(1.1, because=MEAN_OF_50)
def active_points_with_much_noise(run: Run) -> float:
    return n_active(run, 0.5)


@PAPER.claim("Without noise, exactly the vertices are found")
@stated("exact", "Theorem 5", seeds=tuple(range(20)))
@holds(because="a theorem; rounding apart")
def correctness(run: Run) -> float:
    sample = data.make_separable(500, 50, n_components=8, random_state=run.seed)
    found = decomposition.ellipsoidal_candidates(sample.X, 8).candidates
    return float(set(found.tolist()) == set(sample.anchors.tolist()))


def noisy_mixture(seed: int):
    """Return a separable matrix with noise just below equation (3), its anchors first."""
    rng = np.random.default_rng(seed)
    basis, weights = rng.random((6, 40)), rng.dirichlet(np.ones(6), 300)
    clean = np.vstack([basis, weights @ basis])
    bound = decomposition.noise_bound(basis, weights)
    noise = rng.standard_normal(clean.shape)
    return clean + 0.99 * bound * noise / np.linalg.norm(noise, 2), bound


@PAPER.claim("Noise below σ_r(F)(1 − μ)/4 leaves the anchors and no other point of contact")
@stated("exact", "Theorem 9", seeds=tuple(range(20)), full_seeds=tuple(range(100)))
@holds(because="a theorem; the noise has 0.99 times the norm it allows")
def robustness(run: Run) -> float:
    X, _ = noisy_mixture(run.seed)
    return float(decomposition.ellipsoidal_candidates(X, 6).candidates.tolist() == list(range(6)))


@PAPER.claim("The factorisation then leaves less than 2ε of every point")
@stated("≤ 1", "Corollary 10", kind="theorem", seeds=tuple(range(20)))
@at_most(1.0, because="a corollary: the largest residual over 2ε")
def residual_bound(run: Run) -> float:
    X, bound = noisy_mixture(run.seed)
    model = decomposition.EllipsoidalRoundingNMF(6, selector=None).fit(X)
    left = np.linalg.norm(X - model.transform(X) @ model.components_, axis=1)
    return float(left.max() / (2 * bound))


def best_of_three(job) -> float:
    """Return the shortest of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


times = PAPER.section(where="Table 2 and section 6.1, δ = 0.25", unit="times", kind="speed")


@times.claim("ER-SPA takes 103 times as long as SPA (3.08 s against 0.03 s)", 103)
@at_most(103, because="the ratio published; both are timed in one run, best of three")
def cost_of_rounding(run: Run) -> float:
    sample = data.make_separable(noise=0.25, random_state=0)
    er_spa = best_of_three(lambda: recovered(sample, "er-spa"))
    return er_spa / best_of_three(lambda: recovered(sample, "spa"))


@times.claim("XRAY(dist) takes 5.5 times as long as ER-SPA (16.8 s against 3.08 s)", 5.45)
@at_least(5.45, because="the ratio published; both are timed in one run")
def cost_of_xray(run: Run) -> float:
    sample = data.make_separable(noise=0.25, random_state=0)
    er_spa = best_of_three(lambda: recovered(sample, "er-spa"))
    start = time.perf_counter()
    recovered(sample, "xray-dist")
    return (time.perf_counter() - start) / er_spa


# --- the ellipsoid --------------------------------------------------------------------------
ellipsoid = PAPER.section(method=ELLIPSOID, kind="theorem", seeds=FEW)


@ellipsoid.claim("Around a simplex with vertices G and its mirror image, L = (GGᵀ)⁻¹")
@stated("equal", "Proposition 3")
@at_most(1e-4, because="relative: a duality gap of 1e-9 allows its square root in L")
def simplex_has_a_closed_form(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    G, K = rng.standard_normal((8, 8)), rng.dirichlet(np.ones(8), 500)
    found = decomposition.min_volume_ellipsoid(np.vstack([G, K @ G]), tol=1e-9)
    exact = np.linalg.inv(G.T @ G)
    return float(np.linalg.norm(found.L - exact) / np.linalg.norm(exact))


@ellipsoid.claim("At least as many points touch the ellipsoid as there are dimensions")
@stated("holds", "Lemma 11")
@holds(because="a lemma")
def enough_active_points(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    found = (decomposition.min_volume_ellipsoid(rng.standard_normal((300, d))) for d in range(1, 9))
    return float(all(len(one.active) >= d for d, one in enumerate(found, 1)))


@ellipsoid.claim("Cutting planes solve the whole problem on few points")
@stated("equal", "Proposition 13 and Algorithm 3")
@at_most(2e-7, because="two duality gaps of 1e-7 in -log det L")
def cutting_planes_solve_it_all(run: Run) -> float:
    points = np.random.default_rng(run.seed).standard_normal((5_000, 8))
    found = (decomposition.min_volume_ellipsoid(points, method=m) for m in ("fw", "cutting-plane"))
    whole, cut = (np.linalg.slogdet(one.L)[1] for one in found)
    return float(abs(whole - cut))


@PAPER.claim(
    "A hybrid of interior points and cutting planes takes under 30 s for d = 30, m = 30,000"
)
@stated("< 30", "Section 3, from Sun and Freund (2004)", unit="s", kind="own", method=ELLIPSOID)
@at_most(30.0, because="the bound published, on hardware of 2004; to a gap of 1e-7")
def large_ellipsoid(run: Run) -> float:
    points = np.random.default_rng(0).standard_normal((30_000, 30))
    start = time.perf_counter()
    found = decomposition.min_volume_ellipsoid(points, tol=1e-7)
    run.note(f"duality gap {found.gap:.1e}")
    return time.perf_counter() - start


# --- documents ------------------------------------------------------------------------------
CORPUS = (
    "simulated corpora in place of newswire: six topics with anchor words, documents of 100 words "
    "from latent Dirichlet allocation with concentration 0.1"
)


def accuracy(truth, labels) -> float:
    """Return the share of documents whose cluster is matched with their class (section 6.2)."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(truth, labels)
    rows, columns = linear_sum_assignment(-counts)
    return float(counts[rows, columns].sum() / len(truth))


@lru_cache(maxsize=128)
def clustering(seed: int, full: bool, method: str, contributions: str) -> float:
    """Return the accuracy of clusters of a simulated corpus."""
    size = (6_000, 5_000) if full else (600, 1_000)
    corpus = data.make_anchor_corpus(*size, random_state=seed)
    model = decomposition.AnchorTopics(6, method=method, contributions=contributions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without an anchor word
        return accuracy(corpus.labels, model.fit(corpus.counts).labels_)


topics = ordered.section(method=TOPICS, seeds=FEW, stand_in=CORPUS)


@topics.claim(
    "Clusters by ER-SPA are more accurate than by SPA: 0.652 against 0.508 for six newsgroups"
)
@stated(0.144, "Tables 3 to 5")
def er_spa_clusters_better(run: Run) -> float:
    er_spa = clustering(run.seed, run.full, "er-spa", "low-rank")
    return er_spa - clustering(run.seed, run.full, "spa", "low-rank")


@topics.claim(
    "The approximation of low rank clusters better than the matrix itself: 0.652 against 0.441"
)
@stated(0.211, "Tables 3 and 4")
def low_rank_clusters_better(run: Run) -> float:
    low = clustering(run.seed, run.full, "er-spa", "low-rank")
    return low - clustering(run.seed, run.full, "er-spa", "original")


@topics.claim("Six newsgroups: ER-SPA has an accuracy of 0.652, SPA of 0.508")
@stated(0.144, "Table 4", full_seeds=SETS)
@measured(stand_in="scikit-learn's newsgroups, words in at least 5 documents, in place of Cai's")
def newsgroups(run: Run) -> float:
    counts, target = newsgroup_counts()
    classes = np.random.default_rng(run.seed).choice(20, 6, replace=False)
    rows = np.flatnonzero(np.isin(target, classes))
    X = counts[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents without any topic
        er_spa, spa = (
            accuracy(target[rows], decomposition.AnchorTopics(6, method=m).fit(X).labels_)
            for m in ("er-spa", "spa")
        )
    return er_spa - spa


@lru_cache(maxsize=1)
def newsgroup_counts():
    """Return word counts and classes of 20 Newsgroups where scikit-learn has them on disk."""
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction.text import CountVectorizer

    try:
        bunch = fetch_20newsgroups(
            subset="all", remove=("headers", "footers", "quotes"), download_if_missing=False
        )
    except OSError:
        raise NotMeasurable(
            "20 Newsgroups is not on this machine: sklearn.datasets.fetch_20newsgroups fetches it"
        ) from None
    counts = CountVectorizer(stop_words="english", min_df=5).fit_transform(bunch.data)
    filled = np.asarray(counts.sum(axis=1)).ravel() > 0
    return counts[filled], bunch.target[filled]


PAPER.not_measurable(
    "bbc-news",
    "the stemmed BBC corpus is on no package index; see the stand-in claims",
    "BBC news: ER-SPA has an accuracy of 0.939, SPA of 0.675",
    stated(0.939, "Table 5", method=TOPICS),
)
PAPER.not_measurable(
    "reuters",
    "Cai's Reuters-21578 is on no package index; see the stand-in claims",
    "Six classes of Reuters-21578: ER-SPA has an accuracy of 0.658, SPA of 0.636",
    stated(0.022, "Table 3", kind="ordering", method=TOPICS),
)


@PAPER.figure("Recovery against noise (compare Figure 3; 20 data sets)")
def recovery_curves():
    levels, methods = np.arange(15, 43, 3) / 100, ("er-spa", "spa")
    mean = [np.mean([recoveries(s, d, methods) for s in range(20)], 0) for d in levels.tolist()]
    return plot.plot_recovery(levels, dict(zip(("ER-SPA", "SPA"), np.array(mean).T))).figure


@PAPER.figure("All eight methods on smaller matrices: 500 points in 100 dimensions, 5 data sets")
def recovery_of_eight():
    levels = np.arange(0, 51, 10) / 100
    selectors = {"SPA": "spa", **{f"XRAY({p})": f"xray-{p}" for p in ("max", "dist", "greedy")}}
    names = {
        f"{er}{name}": f"{er.lower()}{m}" for name, m in selectors.items() for er in ("ER-", "")
    }
    shares = []
    for level in levels.tolist():
        samples = [data.make_separable(500, 100, noise=level, random_state=s) for s in range(5)]
        found = [[recovered(sample, method) for method in names.values()] for sample in samples]
        shares.append(np.mean(found, axis=0))
    return plot.plot_recovery(levels, dict(zip(names, np.array(shares).T))).figure


@PAPER.figure("The points that the ellipsoid touches, in three dimensions (compare Figure 2)")
def touching_ellipsoid():
    sample = data.make_separable(200, 30, n_components=3, noise=0.01, random_state=0)
    model = decomposition.EllipsoidalRoundingNMF(3).fit(sample.X)
    return plot.plot_contact_ellipsoid(
        model.reduced_points_, model.ellipsoid_, model.candidate_indices_
    ).figure


@PAPER.figure("How near each point comes to the ellipsoid, at three noise levels")
def contact_values():
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True)
    for ax, noise in zip(axes, (0.0, 0.25, 0.5)):
        sample = data.make_separable(noise=noise, random_state=0)
        plot.plot_contact_values(decomposition.EllipsoidalRoundingNMF(10).fit(sample.X), ax=ax)
        ax.set_title(f"δ = {noise}")
    fig.tight_layout()
    return fig


@PAPER.figure("The smallest ellipse around points, with a free centre", method=ELLIPSOID)
def free_centre():
    points = np.random.default_rng(0).standard_normal((300, 2)) @ [[2.0, 1.0], [0.0, 0.7]] + 5
    found = decomposition.min_volume_ellipsoid(points, centered=False)
    return plot.plot_contact_ellipsoid(points, found.L, found.active, center=found.center).figure


@PAPER.figure("Anchor words and the heaviest words of each topic (compare Table 6)", method=TOPICS)
def anchor_words():
    corpus = data.make_anchor_corpus(600, 1_000, random_state=0)
    return plot.plot_anchor_words(decomposition.AnchorTopics(6).fit(corpus.counts)).figure
