"""Richard, Gaïffas and Vayatis (2014): link prediction in graphs with autoregressive features.

Seeds, sizes, grids of penalties and headlines were fixed before any claim was run, but for `FRESH`,
which was added when the first 50 seeds had been seen; the grids were looked at on seeds 1000 and
1001 only.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from octavo import data, network, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, stated

PAPER = Paper(
    key="link-prediction-autoregressive",
    title="Link Prediction in Graphs with Autoregressive Features",
    authors="E. Richard, S. Gaïffas and N. Vayatis",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("algorithm-1-reaches-the-minimum", "variance-terms", "features-autoregress"),
    tables={
        "Table 1": "[a scheme of the method, nothing to measure]",
        "Figure 1": "[unit balls of norms, nothing to measure]",
        "Figure 2": "joint-beats-* few-snapshots-favour-static longer-is-better "
        "lower-rank-is-better sparsity-helps three-snapshots-* four-snapshots-free "
        "five-snapshots-free six-snapshots-free eight-snapshots-free ten-snapshots-free",
        "Figure 3": "[a plot of private sales data]",
        "Table 2": "sales-volumes",
    },
    refutations={
        "algorithm-1-reaches-the-minimum": "Two proximal maps one after the other are not the map "
        "of their sum, so that the algorithm stops near the minimum and not at it.",
        "variance-terms": "On six nodes the printed closed forms differ from the definitions by "
        "factors of about three, one upwards and one downwards.",
    },
    methods=(
        Method(
            name="AutoregressiveLinkPredictor",
            room="network",
            family="autoregressive",
            task="predict the next graph of a series: who links to whom, and how much",
            summary="The coming graph of a series, sparse and of low rank, with linear features "
            "that continue those of the past: one convex problem.",
            use_when="Snapshots of one weighted or bipartite graph (sales, contacts, traffic) "
            "whose groups move in a way that their past tells.",
            avoid_when="Links only pile up: their sum, `link_heuristics` or "
            "`SparseLowRankDenoiser` are as good and faster; signs: `SignedCompletion`.",
            instead="networkx scores one static graph; statsmodels' VAR has no graph.",
            peers=("networkx", "statsmodels"),
            plots=(
                "plot_graph_forecast",
                "plot_auc_by_length",
                "plot_phase_transition",
                "plot_graph_spectrum",
                "plot_var_coefficients",
            ),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
FULL = tuple(range(50))  # as many as the paper
FRESH = tuple(range(50, 200))  # taken where those 50, at .009 on the claimed side, decided nothing
OPEN = (
    "V, U and K of Section 4.2 and the choice of penalties are not given; "
    "make_autoregressive_graphs says what was taken"
)
SAMPLING = "sampling: the whole 95 % interval over seeds must lie on the claimed side"
TAU_SHARES, GAMMA_SHARES = (0.1, 0.03, 0.01, 0.003), (1e-2, 1e-3, 1e-4)
KAPPA_SHARES = (1e-1, 1e-2, 1e-3)


@PAPER.claim("Algorithm 1 reaches the minimum with a constant step below 2/L")
@stated("converges", "Section 4.1", kind="theorem", seeds=SEEDS)
@at_most(
    1e-6, because="the relative gap to the exact minimum after 20,000 steps of 0.49, where 2/L is 1"
)
def algorithm_1_reaches_the_minimum(run: Run) -> float:
    Y = np.random.RandomState(run.seed).standard_normal((8, 8)) * 2.0
    tau, gamma, step = 1.0, 0.5, 0.49

    def value(X):
        penalty = tau * np.linalg.norm(X, "nuc") + gamma * np.abs(X).sum()
        return ((X - Y) ** 2).sum() + penalty

    A = np.zeros_like(Y)
    for _ in range(20_000):
        Z = A - step * 2.0 * (A - Y)
        Z = Z - np.clip(Z, -step * gamma, step * gamma)
        U, s, Vt = np.linalg.svd(Z)
        before, A = A, (U * np.maximum(s - step * tau, 0.0)) @ Vt
        if np.abs(A - before).max() < 1e-14:
            break
    best = value(network.prox_nuclear_l1(Y, tau / 2.0, gamma / 2.0))
    return value(A) / best - 1.0


@PAPER.claim("v_op and v_inf of the features vec(A Psi) are the closed forms of Section 4.2")
@stated("equal", "Section 4.2, Eq. (7)", kind="theorem", seeds=SEEDS)
@at_most(1e-9, because="an identity, up to rounding; read as squares, n = 6, r = 2")
def variance_terms(run: Run) -> float:
    n, r = 6, 2
    psi = np.random.RandomState(run.seed).standard_normal((n, r))
    designs = [np.outer(np.eye(n)[i], psi[:, part]) for part in range(r) for i in range(n)]
    d = n * r
    v_op = max(
        np.linalg.norm(sum(o.T @ o for o in designs) / d, 2),
        np.linalg.norm(sum(o @ o.T for o in designs) / d, 2),
    )
    v_inf = (sum(o * o for o in designs) / d).max()
    printed_op = max(np.linalg.norm(psi @ psi.T, 2), (psi**2).sum()) / d
    printed_inf = (psi**2).sum(axis=0).max() / n
    run.note(f"v_op² {v_op:.4f}, printed {printed_op:.4f}; v_inf² {v_inf:.4f}, {printed_inf:.4f}")
    return max(abs(printed_op / v_op - 1.0), abs(printed_inf / v_inf - 1.0))


@PAPER.claim("The features vec(A Psi) of A = U Vᵀ follow an autoregression with K ⊗ I")
@stated("equal", "Section 4.2", kind="theorem", seeds=SEEDS)
@at_most(1e-9, because="an identity, up to rounding, relative to the largest feature")
def features_autoregress(run: Run) -> float:
    made = data.make_autoregressive_graphs(density=0.5, random_state=run.seed)
    psi = np.linalg.pinv(made.V.T)
    whole = np.kron(np.eye(50), made.K)
    features = (made.snapshots @ psi).reshape(10, -1)
    noise = (made.U[1:10] - made.U[:9] @ made.K).reshape(9, -1)
    return float(np.abs(features[1:] - features[:-1] @ whole - noise).max() / features.max())


def folds(snapshots, n_splits=2):
    """Yield the past and what came, for the last snapshots."""
    for t in range(len(snapshots) - n_splits, len(snapshots)):
        yield snapshots[:t], snapshots[t]


@lru_cache(maxsize=256)
def joint_auc(seed: int, T: int, rank: int = 5, sparse: bool = True) -> float:
    """Return the area under the curve of the joint predictor, penalties chosen over time."""
    made = data.make_autoregressive_graphs(rank=rank, T=T, random_state=seed)
    model = network.AutoregressiveLinkPredictorCV(
        gammas=None if sparse else [0.0],
        estimator=network.AutoregressiveLinkPredictor(rank=rank, tol=1e-4),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return network.link_auc(made.A_next, model.fit(made.snapshots).predict_scores())


@lru_cache(maxsize=256)
def static_auc(seed: int, T: int) -> float:
    """Return that of the static sparse low-rank predictor, chosen on the same folds."""
    made = data.make_autoregressive_graphs(T=T, random_state=seed)
    total = made.snapshots.sum(axis=0)
    best, choice = -np.inf, None
    for tau_share in TAU_SHARES:
        for gamma_share in GAMMA_SHARES:
            tau = 2.0 * tau_share * np.linalg.norm(total, 2)
            gamma = 2.0 * gamma_share * total.max()
            model = network.SparseLowRankDenoiser(tau, gamma, tol=1e-4)
            scores = [
                network.link_auc(came, model.fit(past.sum(axis=0)).predict_scores())
                for past, came in folds(made.snapshots)
            ]
            if np.mean(scores) > best:
                best, choice = np.mean(scores), model
    return network.link_auc(made.A_next, choice.fit(total).predict_scores())


synthetic = PAPER.section(
    where="Section 5.1 and Figure 2", kind="ordering", seeds=SEEDS, full_seeds=FULL, stand_in=OPEN
)


@synthetic.claim("With ten snapshots the joint predictor ranks links better than the static one")
@stated("outperforms")
@at_least(0.02, because="two points of area: what the eye tells apart in Figure 2")
def joint_beats_static(run: Run) -> float:
    joint, static = joint_auc(run.seed, 10), static_auc(run.seed, 10)
    run.note(f"joint {joint:.3f}, static {static:.3f}")
    return joint - static


@synthetic.claim("With four snapshots the static predictor is to be preferred")
@stated("preferred up to T = 4")
@at_least(0.0, because=SAMPLING)
def few_snapshots_favour_static(run: Run) -> float:
    joint, static = joint_auc(run.seed, 4), static_auc(run.seed, 4)
    run.note(f"joint {joint:.3f}, static {static:.3f}")
    return static - joint


@synthetic.claim("The joint predictor gains from a longer past: ten snapshots against four")
@stated("clearly better")
@at_least(0.0, because=SAMPLING)
def longer_is_better(run: Run) -> float:
    return joint_auc(run.seed, 10) - joint_auc(run.seed, 4)


@synthetic.claim("The joint predictor is better the lower the rank: 2 against 10", "clearly better")
@at_least(0.0, because=SAMPLING)
def lower_rank_is_better(run: Run) -> float:
    return joint_auc(run.seed, 10, 2) - joint_auc(run.seed, 10, 10)


@synthetic.claim("Sparsity adds to low rank in the joint predictor", "the sparse one on top")
@at_least(0.0, because=SAMPLING)
def sparsity_helps(run: Run) -> float:
    return joint_auc(run.seed, 10) - joint_auc(run.seed, 10, 5, False)


@synthetic.claim(
    "The joint predictor ranks links better than neighbours, Katz, Adamic-Adar and popularity",
    "outperforms",
)
@at_least(0.0, because=SAMPLING + "; the best of the four")
def joint_beats_heuristics(run: Run) -> float:
    made = data.make_autoregressive_graphs(random_state=run.seed)
    total = made.snapshots.sum(axis=0)
    kinds = ("common_neighbours", "katz", "adamic_adar", "preferential_attachment")
    rivals = {
        kind: network.link_auc(made.A_next, network.link_heuristics(total, kind)) for kind in kinds
    }
    run.note(", ".join(f"{kind} {value:.3f}" for kind, value in rivals.items()))
    return joint_auc(run.seed, 10) - max(rivals.values())


def free_joint(snapshots, rank: int):
    """Return the joint predictor with any W, as printed, all three penalties chosen over time."""
    from sklearn.base import clone

    n_splits = min(2, len(snapshots) - 2)
    plain = network.AutoregressiveLinkPredictor(
        kappa=0.0, rank=rank, var_structure="full", tol=1e-3
    )
    largest = clone(plain).set_params(max_iter=1).fit(snapshots[:-n_splits]).kappa_max_
    return network.AutoregressiveLinkPredictorCV(
        kappas=[share * largest for share in KAPPA_SHARES], estimator=plain, n_splits=n_splits
    ).fit(snapshots)


def shared_joint(snapshots, rank: int):
    """Return the joint predictor with coefficients that nodes share."""
    plain = network.AutoregressiveLinkPredictor(rank=rank, tol=1e-4)
    n_splits = min(2, len(snapshots) - 2)
    return network.AutoregressiveLinkPredictorCV(estimator=plain, n_splits=n_splits).fit(snapshots)


def static(snapshots):
    """Return the static predictor, its penalties chosen on the same folds."""
    total = snapshots.sum(axis=0)
    judged = list(folds(snapshots, min(2, len(snapshots) - 2)))

    def quality(model):
        return np.mean(
            [network.link_auc(came, model.fit(past).predict_scores()) for past, came in judged]
        )

    models = [
        network.SparseLowRankDenoiser(
            2.0 * tau * np.linalg.norm(total, 2), 2.0 * gamma * total.max(), tol=1e-4
        )
        for tau in TAU_SHARES
        for gamma in GAMMA_SHARES
    ]
    return max(models, key=quality).fit(total)


def joint_lead(run: Run, T: int, joint=free_joint) -> float:
    """Return by how much of the area the joint predictor leads after T snapshots."""
    n, rank = (50, 5) if run.full else (20, 3)
    made = data.make_autoregressive_graphs(n, rank, T, random_state=run.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (
            network.link_auc(made.A_next, model.predict_scores())
            for model in (joint(made.snapshots, rank), static(made.snapshots))
        )
    run.note(f"joint {ours:.3f}, static {theirs:.3f}")
    return ours - theirs


crossover = PAPER.section(
    where="Section 5.1 and Figure 2, left",
    kind="ordering",
    seeds=SEEDS,
    full_seeds=FULL,
    stand_in=OPEN + "; T counts snapshots, and W is any d x d matrix, as printed, or K ⊗ I",
    expect=at_least(0.0, because=SAMPLING),
)
FEW, MANY = "static is to be preferred (T <= 4)", "autoregressive outperforms"


@crossover.claim("With three snapshots the static predictor leads the joint one of free W", FEW)
def three_snapshots_free(run: Run) -> float:
    return -joint_lead(run, 3)


@crossover.claim("With four snapshots the static predictor leads the joint one of free W")
@stated(FEW, full_seeds=FRESH)
def four_snapshots_free(run: Run) -> float:
    return -joint_lead(run, 4)


@crossover.claim("With five snapshots the joint predictor of free W leads", MANY, full_seeds=FRESH)
def five_snapshots_free(run: Run) -> float:
    return joint_lead(run, 5)


@crossover.claim("With six snapshots the joint predictor of free W leads", MANY)
def six_snapshots_free(run: Run) -> float:
    return joint_lead(run, 6)


@crossover.claim("With eight snapshots the joint predictor of free W leads", MANY)
def eight_snapshots_free(run: Run) -> float:
    return joint_lead(run, 8)


@crossover.claim("With ten snapshots the joint predictor of free W leads", MANY)
def ten_snapshots_free(run: Run) -> float:
    return joint_lead(run, 10)


@crossover.claim("With three snapshots the static predictor leads the one of shared W", FEW)
def three_snapshots_shared(run: Run) -> float:
    return -joint_lead(run, 3, shared_joint)


PAPER.not_measurable(
    "sales-volumes",
    "The sales of 200 books over 25 weeks are private.",
    "The relative error of sales volumes of the joint predictor is at most that of ridge "
    "and lasso, order 2, 25 weeks",
    stated("0.328 against 0.336 and 0.329", "Table 2"),
)


@PAPER.figure("The graph that came and the one that was foreseen (30 nodes, rank 3)")
def forecast():
    made = data.make_autoregressive_graphs(30, 3, random_state=0)
    model = network.AutoregressiveLinkPredictor(1e-3, 1e-5, 1e-3, rank=3).fit(made.snapshots)
    return plot.plot_graph_forecast(made.A_next, model.predict_scores())[0].figure
