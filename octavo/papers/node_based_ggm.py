"""Mohan, London, Fazel, Witten and Lee (2014): node-based learning of Gaussian graphical models."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache, partial
from typing import Any

import numpy as np

from octavo import data, graphical, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, stated

joint_glasso = partial(Method, room="graphical", family="joint_glasso")

PAPER = Paper(
    key="node-based-ggm",
    title="Node-Based Learning of Multiple Gaussian Graphical Models",
    authors="K. Mohan, P. London, M. Fazel, D. Witten and S.-I. Lee",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=(
        "fused-is-perturbed-with-one",
        "screening-is-exact",
        "cnjgl-over-ggl-above-threshold",
    ),
    tables={
        "Figure 4": "time-of-many-variables",
        "Figure 6": "screening-saves-time screening-is-exact",
        "Figure 7": "pnjgl-*-edges pnjgl-*-error pnjgl-*-renyi-nodes "
        "pnjgl-over-fgl-above-threshold gain-is-largest-for-few-samples",
        "Figure 8": "cnjgl-*-edges cnjgl-*-error cnjgl-*-renyi-nodes "
        "cnjgl-over-ggl-above-threshold",
        "Figure 9": "pnjgl-over-fgl-on-scale-free-nodes cnjgl-over-ggl-on-scale-free-nodes",
        "Figure 10": "pnjgl-over-fgl-on-community-nodes cnjgl-over-ggl-on-community-nodes",
        "Figures 11 and 12": "gene-expression regulators",
        "Figures 13 and 14": "held-out-likelihood",
        "Figure 16": "perturbed-nodes-are-found cohubs-are-found",
        "Theorems 6 and 9": "screening-is-exact",
    },
    refutations={
        "cnjgl-over-*-nodes": "Over a hundred draws at the penalties of Figure 16, scaled by n, "
        "the rivals rank the two hubs higher; the paper's curves run over penalties that are not "
        "printed.",
    },
    methods=(
        joint_glasso(
            name="PerturbedNodeJointGraphicalLasso",
            task="find the variables whose relations changed between groups",
            summary="One sparse precision matrix a group, alike but for a few nodes whose whole "
            "neighbourhood is rewired.",
            use_when="Groups of samples share their variables, and the question is which variable "
            "changed its relations to the others.",
            avoid_when="There is one group, or the groups differ in scattered edges.",
            instead="Nothing; sklearn.covariance.GraphicalLasso estimates one group at a time.",
            peers=("cvxpy",),
            plots=(
                "plot_networks",
                "plot_network_difference",
                "plot_node_scores",
                "plot_penalty_surface",
                "plot_screening_speed",
                "plot_edge_recovery",
            ),
        ),
        joint_glasso(
            name="CohubNodeJointGraphicalLasso",
            modules=("joint_glasso.metrics",),
            task="find the hubs that several networks share",
            summary="One sparse precision matrix a group, its edges at a few hubs that all groups "
            "have in common.",
            use_when="A few variables are expected to be related to most others, in every group; "
            "one group will do.",
            avoid_when="The networks have no hubs.",
            instead="sklearn.covariance.GraphicalLasso, one group at a time, without hubs.",
            peers=("cvxpy",),
            plots=("plot_networks", "plot_node_scores"),
        ),
        joint_glasso(
            name="FusedJointGraphicalLasso",
            modules=("joint_glasso.edge_penalties",),
            task="estimate networks of groups that share most edges",
            summary="One sparse precision matrix a group: equal but for a few edges, with the same "
            "edges, or each on its own.",
            use_when="Groups share most of their edges, and each has few samples.",
            avoid_when="Whole nodes change: the node-based methods pool their evidence.",
            instead="sklearn.covariance.GraphicalLasso estimates one group at a time.",
            peers=("gglasso",),
            plots=("plot_networks", "plot_network_difference", "plot_edge_recovery"),
        ),
    ),
)

COHUB, EDGES = "CohubNodeJointGraphicalLasso", "FusedJointGraphicalLasso"
SEEDS = (0, 1, 2, 3, 4)
SEVERAL = tuple(range(8))
MANY = tuple(range(100))  # as many samples as Figures 7 and 8 average over
exact = at_most(1e-6, because="the solvers' tolerance; the paper's own solvers agree to 1e-4")
identities = PAPER.section(kind="theorem", seeds=SEEDS, expect=exact)
speed = PAPER.section(kind="speed", seeds=SEEDS, random=True)


def covariances(sample) -> np.ndarray:
    """Return the covariance of each network's rows."""
    labels = np.unique(sample.groups)
    return np.array([np.cov(sample.X[sample.groups == k], rowvar=False, bias=True) for k in labels])


# --- the optimisation -----------------------------------------------------------------------------


def by_cvxpy(S, n, alpha_l1, alpha_joint, kind, q, **options):
    """Return the solution of equation (6) or (7) by cvxpy."""
    try:
        import cvxpy as cp
    except ImportError as error:
        raise NotMeasurable("cvxpy is not installed") from error
    K, p, _ = S.shape
    Theta = [cp.Variable((p, p), symmetric=True) for _ in range(K)]
    objective: Any = sum(
        n[k] * (cp.trace(S[k] @ Theta[k]) - cp.log_det(Theta[k]))
        + alpha_l1 * cp.sum(cp.abs(Theta[k]))
        for k in range(K)
    )
    constraints = []
    if kind == "perturbed":
        for k in range(K):
            for other in range(k + 1, K):
                V = cp.Variable((p, p))
                constraints.append(Theta[k] - Theta[other] == V + V.T)
                objective = objective + alpha_joint * cp.sum(cp.norm(V, q, axis=0))
    else:
        parts = [cp.Variable((p, p)) for _ in range(K)]
        off = 1.0 - np.eye(p)
        constraints = [cp.multiply(off, T) == V + V.T for T, V in zip(Theta, parts)]
        objective = objective + alpha_joint * cp.sum(cp.norm(cp.vstack(parts), q, axis=0))
    cp.Problem(cp.Minimize(objective), constraints).solve(solver="SCS", **options)
    return np.array([T.value for T in Theta])


def node_model(kind: str, alpha_l1: float, alpha_joint: float, **options):
    """Return an estimator with penalties as they stand in equations (6) and (7)."""
    name = {
        "perturbed": "PerturbedNodeJointGraphicalLasso",
        "cohub": "CohubNodeJointGraphicalLasso",
    }[kind]
    return getattr(graphical, name)(alpha_l1, alpha_joint, scale_by_n=False, **options)


@identities.table(
    "The solution of the problem with {row} nodes equals that of a general convex solver"
)
@stated(
    {"perturbed": 1e-4, "cohub": 1e-4},
    "Section 4.2.3: error of the order of 1e-4",
    name="{row}-equals-cvxpy",
    method={"cohub": COHUB},
    seeds=(0,),
    full_seeds=(0, 1, 2),
)
def equals_cvxpy(run: Run, kind: str) -> float:
    p = 15 if run.full else 6
    worst = 0.0
    for K in (2, 3):
        sample = data.make_node_perturbed_networks(p, 30, random_state=run.seed, n_networks=K)
        S, n = covariances(sample), np.full(K, 30.0)
        for q in (1, 2, np.inf):
            exact = by_cvxpy(S, n, 3.0, 6.0, kind, q, eps=1e-10, max_iters=200_000)
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                model = node_model(kind, 3.0, 6.0, norm=q, tol=1e-9, max_iter=20_000)
                ours = model.fit_covariances(S, n).precisions_
            error = np.sqrt(((ours - exact) ** 2).sum(axis=(1, 2)) / (exact**2).sum(axis=(1, 2)))
            worst = max(worst, float(error.max()))
    run.note("p = 6 (quick) or 15 (full), K = 2 and 3, q = 1, 2 and ∞; SCS to 1e-10")
    return worst


def timed(call):
    """Return a result and the seconds that it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


@speed.table(
    "{row} variables: a general convex solver takes hundreds or thousands of times longer",
    where="Section 4.2.3: 7 minutes against 0.58 s, and 3.5 hours against 2.1 s",
    name={"50": "faster-than-cvxpy", "30": "faster-than-cvxpy-at-30"},
)
@stated({"50": 6000.0, "30": 724.0}, unit="times")
@at_least(
    20.0,
    because="today's conic solvers are of first order too and much faster than those of 2010; "
    "twenty times is still the difference between a tool and a proof of concept",
)
def faster_than_cvxpy(run: Run, row: str) -> float:
    p, n = int(row), int(row) // 2
    S = covariances(data.make_node_perturbed_networks(p, n, random_state=run.seed))
    sizes = np.full(2, float(n))
    model = node_model("perturbed", 0.1 * n, 0.5 * n, tol=1e-6)
    model.fit_covariances(S, sizes)  # nothing is left to compile
    ours = timed(lambda: model.fit_covariances(S, sizes))[1]
    theirs = timed(lambda: by_cvxpy(S, sizes, 0.1 * n, 0.5 * n, "perturbed", 2))[1]
    run.note("n = p/2; cvxpy's solver SCS at its default tolerance, ours at tol = 1e-6")
    run.note(f"{ours:.3f} s against {theirs:.2f} s")
    return theirs / ours


@speed.claim("The run-time at p = 500 never exceeds several minutes")
@stated("several minutes", "Section 4.2.3 and Figure 4", unit="s", kind="own")
@at_most(180.0, because="several is read as three, on today's clock")
def time_of_many_variables(run: Run) -> float:
    p = 500 if run.full else 150
    n = p // 2
    S = covariances(data.make_node_perturbed_networks(p, n, random_state=run.seed))
    model = node_model("perturbed", 0.1 * n, 0.5 * n)
    run.note("p = 500 (full) or 150 (quick), n = p/2, penalties 0.1 n and 0.5 n, tol = 1e-5")
    return timed(lambda: model.fit_covariances(S, [n, n]))[1]


@identities.claim("FGL is PNJGL with q = 1", "exact", "Remark 2", method=EDGES)
def fused_is_perturbed_with_one(run: Run) -> float:
    from octavo.engine.glasso.joint import JointProblem, Settings, as_weights, joint_graphical_lasso
    from octavo.engine.glasso.penalties import FusedEdges, PerturbedNodes

    p, tight = 20, Settings(tol=1e-9, max_iter=20_000)
    sample = data.make_node_perturbed_networks(p, 40, random_state=run.seed, n_networks=3)
    S, n = covariances(sample), np.full(3, 40.0)
    solve = [
        joint_graphical_lasso(JointProblem(S, n, as_weights(4.0, S), penalty), tight).precisions
        for penalty in (PerturbedNodes(3.0, 1), FusedEdges(np.full((p, p), 1.5)))
    ]
    run.note(
        "K = 3; PNJGL with alpha_joint against FGL with alpha_joint/2 on all entries: Ω_1 is "
        "half the l1 norm, "
        "and includes the diagonals, which equation (2) leaves out"
    )
    return float(np.abs(solve[0] - solve[1]).max())


@identities.claim("CNJGL with q = 1 is a graphical lasso for each network")
@stated("exact", "Remark 3", method=COHUB)
def cohub_with_one_is_separate(run: Run) -> float:
    from octavo.engine.glasso.joint import JointProblem, Settings, joint_graphical_lasso
    from octavo.engine.glasso.penalties import SeparateEdges

    sample = data.make_node_perturbed_networks(20, 40, random_state=run.seed)
    S, n = covariances(sample), np.full(2, 40.0)
    weights = np.full(S.shape, 4.0 + 1.5)
    weights[:, np.arange(20), np.arange(20)] = 4.0
    apart = joint_graphical_lasso(
        JointProblem(S, n, weights, SeparateEdges()), Settings(tol=1e-9, max_iter=20_000)
    )
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        model = node_model("cohub", 4.0, 3.0, norm=1, tol=1e-9, max_iter=20_000)
        model.fit_covariances(S, n)
    return float(np.abs(model.precisions_ - apart.precisions).max())


# --- screening ------------------------------------------------------------------------------------


def two_blocks(p: int, n: int, seed: int) -> np.ndarray:
    """Return covariances of two networks that consist of two blocks each (section 5.4)."""
    halves = [
        data.make_node_perturbed_networks(p // 2, n, random_state=2 * seed + half, n_cohubs=0)
        for half in (0, 1)
    ]
    X = np.hstack([half.X for half in halves])
    return np.array(
        [np.cov(X[:n], rowvar=False, bias=True), np.cov(X[n:], rowvar=False, bias=True)]
    )


def penalty_for_blocks(S, n: float, least: int) -> float:
    """Return an alpha_l1 at which screening finds at least that many blocks."""
    p = S.shape[-1]
    size = np.sort(n * np.abs(S).max(axis=0)[np.triu_indices(p, 1)])
    for share in np.linspace(0.5, 0.999, 60):
        alpha_l1 = float(np.quantile(size, share))
        found = graphical.node_screening_conditions(S, [n, n], alpha_l1, 1.0)
        if len(found.blocks) >= least:
            return alpha_l1
    return float(size[-1])


@identities.claim("Solving the blocks apart gives the same solution", "exact", "Theorems 6 and 9")
def screening_is_exact(run: Run) -> float:
    p = 60 if run.full else 24
    S = two_blocks(p, p, run.seed)
    alpha_l1 = penalty_for_blocks(S, p, p // 4)
    worst = 0.0
    for kind in ("perturbed", "cohub"):
        solver = partial(node_model, kind, alpha_l1, 1.0, tol=1e-9, max_iter=20_000)
        apart, whole = (solver(screening=on).fit_covariances(S, [p, p]) for on in (True, False))
        worst = max(worst, float(np.abs(apart.precisions_ - whole.precisions_).max()))
        run.note(f"seed {run.seed}: {len(apart.blocks_)} blocks of {p} variables")
    return worst


@speed.claim("The sufficient conditions lead to substantial speed-ups")
@stated("substantial", "Figure 6(a)", unit="of the time")
@at_most(0.5, because="substantial is read as half the time")
def screening_saves_time(run: Run) -> float:
    p = 500 if run.full else 120
    n = p // 2
    S = two_blocks(p, n, run.seed)
    alpha_l1 = penalty_for_blocks(S, n, p // 5)
    seconds = {}
    for on in (True, False):
        model = node_model("perturbed", alpha_l1, 1.0, screening=on)
        seconds[on] = timed(lambda model=model: model.fit_covariances(S, [n, n]))[1]
        if on:
            sizes = [len(block) for block in model.blocks_]
            run.note(f"seed {run.seed}: {len(sizes)} blocks, the largest of {max(sizes)}")
    run.note("p = 500 (full) or 120 (quick), n = p/2, alpha_joint = 1, at least p/5 blocks")
    return seconds[True] / seconds[False]


# --- nodes ----------------------------------------------------------------------------------------

# Figure 16, at n = 25, by multiples of n.
FIGURE_16 = {
    "PNJGL": ("PerturbedNodeJointGraphicalLasso", (2.5 / 25, 12.5 / 25)),
    "FGL": ("FusedJointGraphicalLasso", (2.5 / 25, 0.75 / 25)),
    "GL": ("SeparateGraphicalLasso", (1.5 / 25,)),
    "CNJGL": ("CohubNodeJointGraphicalLasso", (0.5 / 25, 37.5 / 25)),
    "GGL": ("GroupJointGraphicalLasso", (0.5 / 25, 2.5 / 25)),
    "GL for hubs": ("SeparateGraphicalLasso", (0.75 / 25,)),
}
SIMULATION = (
    "p = 100, two perturbed nodes and two co-hubs, penalties of Figure 16 by multiples of n, "
    "tol = 1e-4 as in the paper"
)


@lru_cache(maxsize=2048)
def ranked_recall(method: str, kind: str, n: int, seed: int) -> tuple[float, float, float]:
    """Return the share of the two true nodes in the top 2 and top 4 columns, and above t_s."""
    sample = data.make_node_perturbed_networks(100, n, kind, seed)
    name, penalties = FIGURE_16[method]
    model = getattr(graphical, name)(*penalties, tol=1e-4).fit(sample.X, groups=sample.groups)
    hubs = method in ("CNJGL", "GGL", "GL for hubs")
    norms = model.column_norms_
    if method == "GL":
        norms = graphical.network_column_norms(model.precisions_, of="differences")
    scores = np.sqrt((norms**2).sum(axis=0))
    truth = sample.cohub_nodes if hubs else sample.perturbed_nodes
    order = np.argsort(-scores, kind="stable")
    found = graphical.detect_nodes(norms, how="all" if hubs else "any")
    share = [np.isin(truth, part).mean() for part in (order[:2], order[:4], found)]
    return float(share[0]), float(share[1]), float(share[2])


nodes = PAPER.section(
    seeds=SEVERAL,
    full_seeds=MANY,
    kind="ordering",
    published="more",
    unit="of recall in the top 2",
    expect=at_least(0.01, because="none more is not more"),
)


@nodes.table(
    {
        "PNJGL": "The two perturbed nodes of one sample are identified as perturbed by PNJGL",
        "CNJGL": "The two co-hubs of one sample are identified by CNJGL",
    },
    where="Figure 16, Appendix G, of one sample at n = 25; of many the paper says nothing",
    name={"PNJGL": "perturbed-nodes-are-found", "CNJGL": "cohubs-are-found"},
)
@stated(1.0, kind="own", method={"CNJGL": COHUB})
@at_least(0.9, because="one node in ten may be unlucky")
def found_nodes(run: Run, row: str) -> float:
    run.note(SIMULATION)
    return ranked_recall(row, "erdos-renyi", 25, run.seed)[0]


# Ours, the rival, the networks, n and the place.
COMPARED = [
    (ours, rival, kind, n, f"{figure}({panel})")
    for kind, n, figures in (
        ("erdos-renyi", 25, (("Figure 7", "a"), ("Figure 8", "a"))),
        ("scale-free", 50, (("Figure 9", "a"), ("Figure 9", "b"))),
        ("community", 50, (("Figure 10", "a"), ("Figure 10", "b"))),
    )
    for (ours, rivals), (figure, panel) in zip(
        (("PNJGL", ("FGL", "GL")), ("CNJGL", ("GGL", "GL for hubs"))), figures
    )
    for rival in rivals
]


def compared_rows(above: bool) -> dict[str, dict[str, Any]]:
    """Return the comparisons of nodes found, by rank or above the threshold of Table 1."""
    rows: dict[str, dict[str, Any]] = {}
    for ours, rival, kind, n, where in COMPARED:
        if above and (rival.startswith("GL") or n != 25):
            continue
        ending = "above-threshold" if above else f"on-{kind}-nodes"
        what = "perturbed nodes" if ours == "PNJGL" else "co-hubs"
        rows[f"{ours}|{rival}|{kind}|{n}"] = {
            "name": f"{ours}-over-{rival.split()[0]}-{ending}".lower(),
            "says": f"{ours} finds more {what} than {rival.split()[0]} ({kind}, n = {n})",
            "where": where,
            "method": COHUB if ours == "CNJGL" else None,
        }
    return rows


def more_nodes(run: Run, row: str, rule: int) -> float:
    """Return by how much the recall of a method exceeds its rival's; rule 0 is the top 2."""
    ours, rival, kind, n = row.split("|")
    mine, theirs = (ranked_recall(name, kind, int(n), run.seed) for name in (ours, rival))
    run.note(SIMULATION)
    return mine[rule] - theirs[rule]


@nodes.rows(compared_rows(above=False))
def by_rank(run: Run, row: str) -> float:
    return more_nodes(run, row, 0)


@nodes.rows(
    compared_rows(above=True),
    unit="of recall above mean + 5.5 sd",
    # Samples of their own.
    seeds=tuple(range(100, 108)),
    full_seeds=tuple(range(100, 200)),
)
def above_threshold(run: Run, row: str) -> float:
    return more_nodes(run, row, 2)


# --- edges ----------------------------------------------------------------------------------------
PATHS = {
    "PNJGL": ("PerturbedNodeJointGraphicalLasso", (0.3, 0.5, 1.0, 2.0)),
    "FGL": ("FusedJointGraphicalLasso", (0.01, 0.05, 0.2)),
    "CNJGL": ("CohubNodeJointGraphicalLasso", (0.3, 0.6, 1.0, 1.5)),
    "GGL": ("GroupJointGraphicalLasso", (0.005, 0.01, 0.05)),
    "GL": ("SeparateGraphicalLasso", (0.0,)),
}
LAM1S = (0.5, 0.3, 0.2, 0.12, 0.07, 0.04, 0.02, 0.01)


@lru_cache(maxsize=256)
def edge_paths(method: str, p: int, n: int, seed: int) -> dict[float, np.ndarray]:
    """Return (positive edges, true positive edges, error) along alpha_l1 for each alpha_joint."""
    sample = data.make_node_perturbed_networks(p, n, random_state=seed)
    name, alphas_joint = PATHS[method]
    curves = {}
    for alpha_joint in alphas_joint:
        rows = []
        for alpha_l1 in LAM1S:
            penalties = (alpha_l1,) if method == "GL" else (alpha_l1, alpha_joint)
            model = getattr(graphical, name)(*penalties, tol=1e-4)
            model.fit(sample.X, groups=sample.groups)
            found = graphical.node_network_metrics(model.precisions_, sample.precisions)
            rows.append((found.positive_edges, found.true_positive_edges, found.error))
        curves[alpha_joint] = np.array(rows, dtype=float)
    return curves


def best_at(curves: dict[float, np.ndarray], n_edges: float, column: int, sign: float) -> float:
    """Return the best measure over alpha_joint at a number of positive edges, along alpha_l1.

    A path that does not reach that many edges counts with its densest networks.
    """
    values = []
    for rows in curves.values():
        order = np.argsort(rows[:, 0], kind="stable")
        values.append(np.interp(n_edges, rows[order, 0], rows[order, column]))
    return float(max(sign * np.array(values)) * sign)


def edge_gain(run: Run, ours: str, rival: str, column: int, n: int) -> float:
    """Return by how much a method by nodes is better than one by edges, as many edges found."""
    p = 100 if run.full else 40
    n_edges = 0.1 * p * (p - 1) / 2
    sign = 1.0 if column == 1 else -1.0
    mine, theirs = (
        best_at(edge_paths(method, p, n, run.seed), n_edges, column, sign)
        for method in (ours, rival)
    )
    run.note(
        "at p(p−1)/20 positive edges, interpolated along alpha_l1; each method with the best "
        "of its "
        f"alpha_joint = {PATHS[ours][1]} n and {PATHS[rival][1]} n; p = 100 (full) or 40 (quick)"
    )
    return sign * (mine - theirs)


gained = at_least(0.0, because="on the claimed side at all")
edges = PAPER.section(seeds=SEEDS, full_seeds=tuple(range(20)), kind="ordering", expect=gained)


@edges.rows(
    {
        f"{ours} {rival} {short}": {
            "name": f"{ours}-over-{rival}-{short}".lower(),
            "says": f"{ours} has {words} than {rival} for as many edges, n = 25",
            "where": f"Figure {7 if ours == 'PNJGL' else 8}(a)",
            "published": published,
            "unit": unit,
            "method": COHUB if ours == "CNJGL" else None,
        }
        for ours, rival in (("PNJGL", "FGL"), ("PNJGL", "GL"), ("CNJGL", "GGL"), ("CNJGL", "GL"))
        for short, published, words, unit in (
            ("true-edges", "more", "more true positive edges", "edges"),
            ("error", "lower", "a lower Frobenius error", "of error"),
        )
    }
)
def over(run: Run, row: str) -> float:
    ours, rival, short = row.split()
    if short == "error" and not run.full:
        raise NotMeasurable("with 40 variables the errors are ordered otherwise: full form only")
    return edge_gain(run, ours, rival, 1 if short == "true-edges" else 2, 25)


@edges.claim("PNJGL performs best relative to FGL when the number of samples is smallest")
@stated("largest gain at n = 25", "Section 6.2 and Figure 7", unit="edges")
def gain_is_largest_for_few_samples(run: Run) -> float:
    run.note("gain of true positive edges over FGL at n = 25 less that at n = 200")
    return edge_gain(run, "PNJGL", "FGL", 1, 25) - edge_gain(run, "PNJGL", "FGL", 1, 200)


# --- data -----------------------------------------------------------------------------------------
TCGA = "the TCGA gene expression data cannot be had here"
PAPER.not_measurable(
    "gene-expression",
    TCGA,
    "Of three frequently mutated genes PNJGL finds PTEN perturbed between two subtypes",
    stated("PTEN", "Section 7.1, Figure 11"),
)
PAPER.not_measurable(
    "regulators",
    TCGA,
    "All four co-hub genes that CNJGL detects are known to be regulators",
    stated("CDC6, MCM6, CCNB1, CCNB2", "Section 7.1, Figure 12", method=COHUB),
)


PAGES = "log breast cancer measurements, benign against malignant, for the web pages"


@PAPER.section(stand_in=PAGES).claim("PNJGL and FGL achieve comparable cross-validated likelihoods")
@stated("comparable", "Section 7.2, Figure 13(a), of student and faculty web pages", unit="nats")
@at_least(
    -0.1,
    because="comparable is read as a tenth of a nat for the two networks together, a "
    "thousandth of a nat for each of the paper's 100 variables",
)
def held_out_likelihood(run: Run) -> float:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    # Columns 20 to 29 repeat 0 to 9 at their worst: the first ten and ten standard errors.
    X = np.log1p(X[:, : 20 if run.full else 10])
    best = {}
    for penalty, alphas_joint in (
        ("perturbed", (0.6, 0.2, 0.06, 0.02)),
        ("fused", (0.1, 0.03, 0.01, 0.003)),
    ):
        model = graphical.NodeJointGraphicalLassoCV(
            penalty,
            alphas_l1=(0.1, 0.03, 0.01, 0.003),
            alphas_joint=alphas_joint,
            standardize=True,
            tol=1e-4,
        ).fit(X, groups=y)
        best[penalty] = float(model.cv_results_["mean_test_score"].max())
    run.note("5 folds, the best of 4 × 4 penalties of each method")
    run.note(f"PNJGL {best['perturbed']:.3f}, FGL {best['fused']:.3f}")
    return best["perturbed"] - best["fused"]


@lru_cache(maxsize=2)
def shown(kind: str):
    """Return a sample of 60 variables and a fit to it."""
    sample = data.make_node_perturbed_networks(60, 100, random_state=1)
    method = "PNJGL" if kind == "perturbed" else "CNJGL"
    name, penalties = FIGURE_16[method]
    return sample, getattr(graphical, name)(*penalties).fit(sample.X, groups=sample.groups)


@PAPER.figure("Column norms of V: the perturbed nodes, and the threshold of Table 1")
def perturbed_scores():
    sample, model = shown("perturbed")
    return plot.plot_node_scores(
        model.node_scores_, perturbed=sample.perturbed_nodes, cohubs=sample.cohub_nodes
    ).figure


@PAPER.figure("Two networks that differ by two nodes, estimated; nodes of largest score first")
def perturbed_networks():
    _, model = shown("perturbed")
    return plot.plot_networks(model.precisions_, scores=model.node_scores_)[0].figure


@PAPER.figure("Their difference, the perturbed nodes marked")
def difference():
    sample, model = shown("perturbed")
    return plot.plot_network_difference(model.precisions_, nodes=sample.perturbed_nodes).figure


@PAPER.figure("Column norms of V: the hubs that both networks share", method=COHUB)
def cohub_scores():
    sample, model = shown("cohub")
    return plot.plot_node_scores(
        model.node_scores_, perturbed=sample.perturbed_nodes, cohubs=sample.cohub_nodes
    ).figure


@PAPER.figure("True edges among as many edges found, p = 40, n = 25", method=EDGES)
def recovery():
    curves = {}
    for method, alpha_joint in (
        ("PNJGL", 1.0),
        ("FGL", 0.05),
        ("CNJGL", 0.6),
        ("GGL", 0.01),
        ("GL", 0.0),
    ):
        rows = edge_paths(method, 40, 25, 0)[alpha_joint]
        curves[method] = (rows[:, 0], rows[:, 1])
    return plot.plot_edge_recovery(curves).figure


@PAPER.figure("The held-out likelihood over both penalties")
def penalties():
    sample = data.make_node_perturbed_networks(20, 60, random_state=0)
    model = graphical.NodeJointGraphicalLassoCV(tol=1e-4, cv=3)
    return plot.plot_penalty_surface(model.fit(sample.X, groups=sample.groups)).figure


@PAPER.figure("Time with screening over time without, by the number of blocks")
def blocks():
    S, n = two_blocks(120, 60, 0), 60
    counts, ratios = [], []
    for least in (1, 10, 30, 60, 90):
        alpha_l1 = penalty_for_blocks(S, n, least)
        seconds = []
        for on in (True, False):
            model = node_model("perturbed", alpha_l1, 1.0, screening=on, tol=1e-4)
            seconds.append(timed(lambda model=model: model.fit_covariances(S, [n, n]))[1])
            if on:
                counts.append(len(model.blocks_))
        ratios.append(seconds[0] / seconds[1])
    return plot.plot_screening_speed(counts, ratios).figure
