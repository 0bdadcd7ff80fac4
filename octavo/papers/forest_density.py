"""Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011): forest density estimation.

Sizes, seeds, tolerances and headlines were fixed before anything was run. The paper shows curves
and orderings, no tables of numbers; its synthetic graphs are described in two sentences, so that
the generator is ours: random trees of up to eight variables with a tenth of their other pairs as
edges. The quick forms have 20 variables and half
the rows.

Two things changed after a first run, neither for a verdict: `sparse-models` read its lasso off a
path that had no graph so sparse, and now solves for one; and the quick forms of Figures 5 and 6
have grids of 64 points, for time.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from octavo import data, graphical, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, stated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = Paper(
    key="forest-density",
    title="Forest Density Estimation",
    authors="H. Liu, M. Xu, H. Gu, A. Gupta, J. Lafferty and L. Wasserman",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("bent-margins", "close-to-the-best-forest", "heldout-tree-overfits-uniform"),
    tables={
        "Figure 1": "close-to-the-best-forest a-quarter-of-the-best",
        "Figure 2": "fast-is-worse-than-medium fast-is-worse-than-slow",
        "Figure 3": "contours-of-two-edges",
        "Figure 4": "gaussian-margins sparse-models bent-margins sparser-graph",
        "Figure 5": "heldout-tree-* restricted-is-best-*",
        "Figure 6": "restricted-is-sparser",
        "Figure 7": "arabidopsis",
        "Figure 8": "hapmap",
    },
    methods=(
        Method(
            name="ForestDensityEstimator",
            room="graphical",
            family="forests",
            task="estimate a joint density and its graph without a Gaussian assumption",
            summary="Kernel densities of pairs joined along a forest that held-out rows choose: "
            "log-densities, draws, imputation and a sparse graph for any margins.",
            use_when="Many numbers (or categories) depend on each other mostly in pairs, in bends "
            "that a Gaussian cannot follow: scores of anomalies, graphs, synthetic rows.",
            avoid_when="Data are close to Gaussian, rows are fewer than a few dozen, or a variable "
            "depends on several others at once: a forest has no cycles.",
            instead="KernelDensity fails beyond a few columns; GaussianMixture and "
            "GraphicalLassoCV are Gaussian.",
            peers=("scikit-learn GraphicalLassoCV", "scikit-learn GaussianMixture"),
            plots=(
                "plot_heldout_edges",
                "plot_forest",
                "plot_pair_density",
                "plot_mutual_information",
                "plot_density_scores",
            ),
        ),
    ),
)

SEEDS, FULL_SEEDS = (0, 1, 2, 3, 4), tuple(range(10))
N_ALPHAS = 30
GENERATOR = "the paper's graphs are not given: random connected groups of up to eight variables"
SIDE = "sampling: the whole 95 % interval over seeds must lie on the claimed side"


def size(full: bool) -> tuple[int, int]:
    """Return the variables and the rows of a half."""
    return (100, 400) if full else (20, 200)


@functools.lru_cache(maxsize=64)
def halves(seed: int, margins: str, full: bool) -> tuple[Any, Any]:
    """Return the forest and the refitted lasso of Fig. 4 on one split."""
    d, n = size(full)
    X = data.make_connected_subgraphs(d, 2 * n, margins, random_state=seed).X
    second = np.arange(n, 2 * n)
    forest = graphical.ForestDensityEstimator(holdout=second, marginals="paper").fit(X)
    lasso = graphical.RefitGraphicalLasso(holdout=second, n_alphas=N_ALPHAS).fit(X)
    return forest, lasso


figure_4 = PAPER.section(
    where="Figure 4, section 6.1",
    kind="ordering",
    stand_in=GENERATOR,
    expect=at_least(0.0, because=SIDE),
    seeds=SEEDS,
    full_seeds=FULL_SEEDS,
)


@figure_4.claim(
    "Gaussian data: best held-out log-likelihood of the refitted lasso less the forest's", "> 0"
)
def gaussian_margins(run: Run) -> float:
    forest, lasso = halves(run.seed, "gaussian", run.full)
    refit, curve = lasso.heldout_scores_[:, 1].max(), forest.heldout_curve_.max()
    run.note(f"refitted lasso {refit:.2f}, forest {curve:.2f}")
    return float(refit - curve)


@figure_4.claim(
    "Gaussian data, about a quarter as many edges as variables: held-out log-likelihood of "
    "the forest less that of the graphical lasso with as many edges",
    "> 0",
)
def sparse_models(run: Run) -> float:
    from sklearn.covariance import graphical_lasso

    d, n = size(run.full)
    forest = halves(run.seed, "gaussian", run.full)[0]
    X = data.make_connected_subgraphs(d, 2 * n, "gaussian", random_state=run.seed).X
    mean, deviation = X[:n].mean(axis=0), X[:n].std(axis=0)
    Z = (X - mean) / deviation
    R = Z[:n].T @ Z[:n] / n
    alpha = np.sort(np.abs(R[np.triu_indices(d, 1)]))[-(d // 4) - 1]
    precision = graphical_lasso(R, alpha, tol=1e-3, max_iter=1000)[1]
    edges = int((np.abs(precision) > 1e-9).sum() - d) // 2
    spread = Z[n:].T @ Z[n:] / n
    score = 0.5 * (np.linalg.slogdet(precision)[1] - (spread * precision).sum())
    score -= 0.5 * d * np.log(2 * np.pi) + np.log(deviation).sum()
    run.note(f"{edges} edges: forest {forest.heldout_curve_[edges]:.2f}, lasso {score:.2f}")
    return float(forest.heldout_curve_[edges] - score)


@figure_4.claim(
    "Non-Gaussian data: best held-out log-likelihood of the forest less the refitted lasso's",
    "much better",
)
def bent_margins(run: Run) -> float:
    forest, lasso = halves(run.seed, "uniform", run.full)
    refit, curve = lasso.heldout_scores_[:, 1].max(), forest.heldout_curve_.max()
    run.note(f"forest {curve:.2f}, refitted lasso {refit:.2f}")
    return float(curve - refit)


@figure_4.claim("Gaussian data: edges of the refitted lasso at its best less those of the forest")
@stated("the forest is sparser")
def sparser_graph(run: Run) -> float:
    forest, lasso = halves(run.seed, "gaussian", run.full)
    run.note(f"{lasso.n_edges_} and {forest.n_edges_}")
    return float(lasso.n_edges_ - forest.n_edges_)


# --- Figures 5 and 6: three ways to choose, by the rows of the second half ------------------------


@functools.lru_cache(maxsize=64)
def chosen(seed: int, margins: str, n_second: int, full: bool) -> dict[str, tuple[float, int]]:
    """Return the log-likelihood of 2,000 further rows, and the edges, of the three methods."""
    d, n = size(full)
    n_more = 2000 if full else 500
    X = data.make_connected_subgraphs(d, n + 1200 + n_more, margins, random_state=1000 + seed).X
    used, rest = np.arange(n + n_second), X[n + 1200 :]
    found = {}
    for method in ("train-prune", "heldout", "t-restricted"):
        model = graphical.ForestDensityEstimator(
            method, holdout=np.arange(n, n + n_second), grid=128 if full else 64, marginals="paper"
        ).fit(X[used])
        found[method] = (model.score(rest), model.n_edges_)
    return found


figure_5 = PAPER.section(
    where="Figure 5, section 6.1",
    kind="ordering",
    stand_in=GENERATOR,
    expect=at_least(0.0, because=SIDE),
    seeds=SEEDS,
    full_seeds=SEEDS,
)
MARGINS = ("gaussian", "uniform")


@figure_5.rows(
    {
        margins: {
            "says": f"200 held-out rows, {margins} margins: log-likelihood of further rows by the "
            "pruned training tree less that by the held-out tree",
            "published": "> 0",
            "name": f"heldout-tree-overfits-{margins}",
        }
        for margins in MARGINS
    }
)
def heldout_tree_overfits(run: Run, row: str) -> float:
    found = chosen(run.seed, row, 200, run.full)
    run.note("; ".join(f"{name} {score:.2f}" for name, (score, _) in found.items()))
    return found["train-prune"][0] - found["heldout"][0]


@figure_5.rows(
    {
        margins: {
            "says": f"200 held-out rows, {margins} margins: log-likelihood of further rows by the "
            "restricted forest less that by the pruned training tree",
            "published": ">= 0",
            "name": f"restricted-is-best-{margins}",
        }
        for margins in MARGINS
    }
)
def restricted_is_best(run: Run, row: str) -> float:
    found = chosen(run.seed, row, 200, run.full)
    return found["t-restricted"][0] - found["train-prune"][0]


@figure_5.claim(
    "Uniform margins: log-likelihood by the held-out tree from 1,200 held-out rows less that "
    "from 200",
    "> 0",
)
def heldout_tree_needs_rows(run: Run) -> float:
    many = chosen(run.seed, "uniform", 1200, run.full)["heldout"][0]
    return many - chosen(run.seed, "uniform", 200, run.full)["heldout"][0]


@PAPER.claim(
    "Non-Gaussian data, 400 held-out rows: edges of the held-out tree less those of the "
    "restricted forest"
)
@stated("> 0", "Figure 6, section 6.1", kind="ordering", seeds=SEEDS, stand_in=GENERATOR)
@at_least(0.0, because=SIDE)
def restricted_is_sparser(run: Run) -> float:
    found = chosen(run.seed, "uniform", 400, run.full)
    run.note("; ".join(f"{name} {edges}" for name, (_, edges) in found.items()))
    return float(found["heldout"][1] - found["t-restricted"][1])


# --- Figure 1: restricted forests -----------------------------------------------------------------


def weight_of(graph: Any) -> float:
    """Return the weight of a forest."""
    return float(sum(w for _, _, w in graph.edges(data="weight")))


@PAPER.claim(
    "11 variables, trees of at most 7 edges, mutual informations as weights: weight of the "
    "approximate forest over that of the best",
    full_seeds=FULL_SEEDS,
)
@stated("close to optimal", "Figure 1, section 5", kind="figure", seeds=SEEDS, stand_in=GENERATOR)
@at_least(0.9, because="nine tenths of the best weight are close to it")
def close_to_the_best_forest(run: Run) -> float:
    X = data.make_connected_subgraphs(11, 400, random_state=run.seed).X
    M = graphical.mutual_information_matrix(X, grid=128 if run.full else 64)
    exact = weight_of(graphical.t_restricted_forest(M, 7, exact=True))
    return weight_of(graphical.t_restricted_forest(M, 7)) / exact


@PAPER.claim(
    "Random graphs of 7 vertices, t from 2 to 4: least weight of the approximate forest over "
    "that of the best"
)
@stated(0.25, "Theorem 16", kind="theorem", seeds=SEEDS, full_seeds=FULL_SEEDS)
@at_least(0.25, because="the guarantee, beside integer programs")
def a_quarter_of_the_best(run: Run) -> float:
    random = np.random.RandomState(run.seed)
    worst = 1.0
    for _ in range(20 if run.full else 3):
        W = random.pareto(1.0, size=(7, 7))  # heavy tails, which mislead a greedy choice
        W = W + W.T
        for t in (2, 3, 4):
            exact = weight_of(graphical.t_restricted_forest(W, t, exact=True))
            worst = min(worst, weight_of(graphical.t_restricted_forest(W, t)) / exact)
    return worst


# --- Figure 2: estimates of mutual information ----------------------------------------------------


@PAPER.section(
    where="Figure 2, section 6.1",
    kind="ordering",
    stand_in="the three pairs of variables are not given: the strongest edges of our graphs",
    expect=at_least(1.0, because="mean absolute error of I_fast over that of the other"),
    seeds=SEEDS,
).rows(
    {
        mi: {
            "says": f"Three pairs of a Gaussian: error of I_fast over that of I_{mi}, at n = 400",
            "published": "> 1",
            "name": f"fast-is-worse-than-{mi}",
        }
        for mi in ("medium", "slow")
    }
)
def fast_is_worse(run: Run, row: str) -> float:
    errors: dict[str, list[float]] = {"fast": [], row: []}
    for trial in range(20 if run.full else 4):
        drawn = data.make_connected_subgraphs(12, 400, random_state=100 * run.seed + trial)
        deviation = np.sqrt(np.diag(drawn.covariance))
        rho = drawn.covariance / np.outer(deviation, deviation)
        truth = -0.5 * np.log1p(-(np.where(np.eye(12) == 1, 0.0, rho) ** 2))
        pairs = sorted(itertools.combinations(range(12), 2), key=lambda pair: -truth[pair])[:3]
        for mi, found in errors.items():
            M = graphical.mutual_information_matrix(drawn.X, mi)
            found += [abs(M[pair] - truth[pair]) for pair in pairs]
    run.note("; ".join(f"{mi} {np.mean(found):.3f}" for mi, found in errors.items()))
    return float(np.mean(errors["fast"]) / np.mean(errors[row]))


PAPER.not_measurable(
    "contours-of-two-edges",
    "the figure shows contours of two edges of a sample that is not given, without a number",
    "Kernel densities of pairs fit the bivariate components reasonably",
    stated("reasonable fits", "Figure 3, section 6.1"),
)
PAPER.not_measurable(
    "arabidopsis",
    "the isoprenoid genes of Wille et al. (2004) are not among the data at hand",
    "Arabidopsis, 118 chips and 40 genes: the forest's curve peaks at 35 edges, above both lassos",
    stated(35, "Figure 7, section 6.2.1"),
)
PAPER.not_measurable(
    "hapmap",
    "the expression levels of Nayak et al. (2009) are not among the data at hand; the size is "
    "timed on a card by benchmarks/graphical/forests_card.py",
    "HapMap, 295 subjects and 4,238 genes: one component of more than 3,000 genes, all pairs "
    "on an array of GPUs in a day",
    stated("> 3000 genes", "Figure 8, section 6.2.2"),
)


# --- tables of today ------------------------------------------------------------------------------
TABLES = ("breast cancer", "wine", "diabetes")


def table(name: str) -> Any:
    """Return the columns of one of scikit-learn's tables."""
    from sklearn import datasets

    load = {"breast cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}
    return load.get(name, datasets.load_diabetes)().data


@PAPER.section(
    where="not in the paper",
    kind="own",
    expect=at_least(0.0, because="no rival is better; where it is below zero, it loses"),
    seeds=SEEDS,
).rows(
    {
        name: {
            "says": f"{name}, standardised, 70 % of the rows for fitting: mean log-likelihood of "
            "the rest by the forest less the best of GraphicalLassoCV and a Gaussian mixture",
            "published": "none",
            "name": "table-" + name.replace(" ", "-"),
        }
        for name in TABLES
    }
)
def tables(run: Run, row: str) -> float:
    import warnings

    from sklearn.covariance import GraphicalLassoCV
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    train, test = train_test_split(table(row), test_size=0.3, random_state=run.seed)
    scale = StandardScaler().fit(train)
    train, test = scale.transform(train), scale.transform(test)
    scores = {
        "forest": graphical.ForestDensityEstimator(refit=True, random_state=run.seed)
        .fit(train)
        .score(test)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        lasso = GraphicalLassoCV(cv=3).fit(train)
        mixtures = [
            GaussianMixture(k, reg_covar=1e-3, random_state=run.seed).fit(train)
            for k in (1, 2, 3, 4)
        ]
    scores["graphical lasso"] = lasso.score(test)
    scores["mixture"] = min(mixtures, key=lambda m: m.bic(train)).score(test)
    if (vine := _vine_score(train, test)) is not None:
        run.note(f"vine cut at its first tree {vine:.2f}")
    run.note("; ".join(f"{name} {score:.2f}" for name, score in scores.items()))
    return float(scores.pop("forest") - max(scores.values()))


def _vine_score(train: Any, test: Any) -> float | None:
    """Return the held-out log-likelihood of a vine of one tree with the forest's margins."""
    try:
        import pyvinecopulib as pv
    except ImportError:
        return None
    from scipy.stats import gaussian_kde

    margins = [gaussian_kde(column) for column in train.T]

    def ranks(X: Any) -> Any:
        u = [[kde.integrate_box_1d(-np.inf, x) for x in c] for kde, c in zip(margins, X.T)]
        return np.clip(np.column_stack(u), 1e-6, 1 - 1e-6)

    controls = pv.FitControlsVinecop(family_set=[pv.BicopFamily.tll], trunc_lvl=1)
    vine = pv.Vinecop.from_data(ranks(train), controls=controls)
    single = sum(kde.logpdf(c).mean() for kde, c in zip(margins, test.T))
    return float(single + np.log(vine.pdf(ranks(test))).mean())


@PAPER.figure(
    "Held-out log-likelihood by the number of edges: Gaussian and uniform margins (Fig. 4)"
)
def curves_figure() -> Figure:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, margins in zip(axes, MARGINS):
        forest, lasso = halves(0, margins, False)
        plot.plot_heldout_edges(forest, glasso=lasso, ax=ax)
        ax.set_title(f"{margins} margins")
    return figure


@PAPER.figure("The forest of thirteen measurements of wines, and their mutual informations")
def forest_figure() -> Figure:
    import matplotlib.pyplot as plt

    model = graphical.ForestDensityEstimator(random_state=0).fit(table("wine"))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    plot.plot_forest(model, ax=axes[0])
    plot.plot_mutual_information(model, ax=axes[1])
    return figure
