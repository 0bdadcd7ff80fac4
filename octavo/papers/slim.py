"""Henao and Winther (2011): sparse linear identifiable multivariate modeling."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import data, graphical, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, measured, stated, within

PAPER = Paper(
    key="slim",
    title="Sparse Linear Identifiable Multivariate Modeling",
    authors="R. Henao and O. Winther",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("enumeration", "identifiable-chains"),
    tables={
        "Figure 5": "[clocks of 2011]",
        "Figure 6": "first-candidate ten-candidates",
        "Figure 7": "[curves whose numbers are not printed]",
        "Figure 8": "[one example; the gallery has one]",
        "Figure 9": "[curves for networks of 27 to 61 variables, whose numbers are not printed]",
        "Figure 10": "true-dags true-factor-models",
        "Section 6.4, confounded suite": "confounded-orders",
        "Figure 11": "identifiable-chains",
        "Figure 12": "nonlinear-orders",
        "Figure 13": "old-faithful",
        "Figure 14": "abalone",
        "Section 6.5, pairs": "cause-effect-pairs",
        "Figures 15 and 16": "proteins-true-positives proteins-errors",
        "Figure 17": "e-coli",
    },
    methods=(
        Method(
            name="SLIM",
            room="graphical",
            family="causal_orders",
            task="find who acts on whom from observations, with probabilities",
            summary="Causal orders, linear DAGs with edge probabilities and the choice between a "
            "DAG and a factor model, by Gibbs sampling with spikes and slabs.",
            use_when="Variables are continuous and not Gaussian, at most some dozens, and the "
            "uncertainty of edges and orders matters.",
            avoid_when="Sources are Gaussian, effects are cyclic, or a single fast guess of the "
            "order is enough.",
            instead="FastICA with deterministic_order (LiNGAM) for a point estimate.",
            peers=("lingam", "scikit-learn"),
            plots=("plot_causal_dag", "plot_order_candidates", "plot_effect_intervals"),
        ),
    ),
)

# All seeds, sizes and bounds of this module were fixed before any of its claims was run. The
# simulators have seeds from 10,000 on, which nothing else in octavo uses.
QUICK, FULL = (0, 1, 2, 3, 4), tuple(range(10))
FIRST_SET = 10_000
SETS = 10  # of each seed, in the full form: a hundred in all
SUITE = "the suite's effects and shapes are not printed: (0.5 + |N(0, 1)| / 2) with random signs"


def sweeps(full: bool) -> dict[str, Any]:
    """Return the paper's sweeps, or a fifth of them."""
    if full:
        return {"n_samples": (10_000, 3_000), "burn_in": (5_000, 1_000)}
    return {"n_samples": (2_000, 600), "burn_in": (1_000, 200)}


def set_numbers(run: Run) -> range:
    n = SETS if run.full else 1
    return range(FIRST_SET + run.seed * n, FIRST_SET + (run.seed + 1) * n)


@PAPER.claim("The Gibbs updates of Appendix A draw from the posterior, four misprints put right")
@stated("equal laws", "Appendix A, Eqs. (15) to (17)", kind="theorem", seeds=QUICK)
@at_most(0.03, because="Monte Carlo: 10,000 draws or more, five standard errors 0.025")
def enumeration(run: Run) -> float:
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(run.seed)
    psi, tau, inclusion = 0.5, 0.4, 0.3
    X = rng.standard_normal((15, 3))
    y = X @ [0.5, 0.2, 0.0] + 0.7 * rng.standard_normal(15)
    masks = np.arange(8)[:, None] >> np.arange(3) & 1 == 1
    logs = [
        multivariate_normal.logpdf(
            y, np.zeros(15), psi * (np.eye(15) + tau * X[:, mask] @ X[:, mask].T)
        )
        + mask.sum() * np.log(inclusion)
        + (~mask).sum() * np.log1p(-inclusion)
        for mask in masks
    ]
    law = np.exp(np.array(logs) - max(logs))
    exact = law @ masks / law.sum()
    model = graphical.SpikeSlabRegression(
        psi, tau, inclusion, n_samples=50_000 if run.full else 10_000, random_state=run.seed
    ).fit(X, y)
    run.note("largest gap between inclusion probabilities and the sum over all eight models")
    return float(np.abs(model.inclusion_prob_ - exact).max())


def chosen(make: Any, run: Run) -> list[str]:
    """Return what SLIM selects for each data set of a seed."""
    found = []
    for number in set_numbers(run):
        X = make(5, 500, random_state=number).X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(graphical.SLIM(random_state=number, **sweeps(run.full)).fit(X).selected_)
    return found


choices = PAPER.section(
    where="Section 6.3 and Figure 10, N = 500",
    unit="%",
    kind="figure",
    seeds=QUICK,
    full_seeds=FULL,
    stand_in=SUITE,
)


@choices.claim("Of true DAGs 96.78 % are taken for DAGs by held-out likelihood", 96.78)
@at_least(91.0, because="three standard errors of a hundred sets below 96.78 %")
def true_dags(run: Run) -> float:
    return 100 * float(np.mean([word == "dag" for word in chosen(data.make_linear_dag, run)]))


@choices.claim("Of true factor models 87.05 % are taken for factor models", 87.05)
@at_least(77.0, because="three standard errors of a hundred sets below 87.05 %")
def true_factor_models(run: Run) -> float:
    return 100 * float(np.mean([word == "factor" for word in chosen(data.make_factor_data, run)]))


def standardized_entropy(x: np.ndarray) -> float:
    """Return Hyvärinen's approximation of the entropy of a standardised variable."""
    k1, k2, gamma = 79.047, 7.4129, 0.37457
    tails = np.mean(np.log(np.cosh(x))) - gamma
    skew = np.mean(x * np.exp(-(x**2) / 2))
    return (1 + np.log(2 * np.pi)) / 2 - k1 * tails**2 - k2 * skew**2


def direct_lingam(X: np.ndarray) -> tuple[int, ...]:
    """Return the causal order of DirectLiNGAM (Shimizu et al. 2011), pairwise by entropies."""
    X = X - X.mean(axis=0)
    left, order = list(range(X.shape[1])), []
    while len(left) > 1:
        Z = X[:, left] / X[:, left].std(axis=0)
        h = [standardized_entropy(z) for z in Z.T]
        scores = []
        for a in range(len(left)):
            total = 0.0
            for b in range(len(left)):
                if a != b:
                    rho = float(np.mean(Z[:, a] * Z[:, b]))
                    width = np.sqrt(max(1 - rho**2, 1e-12))
                    r_b, r_a = (Z[:, b] - rho * Z[:, a]) / width, (Z[:, a] - rho * Z[:, b]) / width
                    gap = h[b] + standardized_entropy(r_a) - h[a] - standardized_entropy(r_b)
                    total += min(0.0, gap) ** 2
            scores.append(total)
        root = left[int(np.argmin(scores))]
        order.append(root)
        left.remove(root)
        for j in left:
            slope = np.mean(X[:, j] * X[:, root]) / np.mean(X[:, root] ** 2)
            X[:, j] -= slope * X[:, root]
    return (*order, left[0])


@lru_cache(maxsize=64)
def order_rates(seed: int, full: bool, numbers: tuple[int, ...]) -> tuple[float, float, float]:
    """Return rates of right orders: the first candidate, any of ten, DirectLiNGAM."""
    run = sweeps(full)
    found = []
    for number in numbers:
        sample = data.make_linear_dag(5, 200, random_state=number)
        search = graphical.SLIMOrderSearch(
            n_samples=run["n_samples"][0], burn_in=run["burn_in"][0], random_state=number
        ).fit(sample.X)
        right = [graphical.is_causal_order(c.order, sample.B) for c in search.ordering_candidates_]
        rival = graphical.is_causal_order(direct_lingam(sample.X.copy()), sample.B)
        found.append((right[0], any(right), rival))
    return tuple(float(v) for v in np.mean(found, axis=0))  # type: ignore[return-value]


# Ten seeds left both claims undecided (9 points, from 3.7 to 14.3, and -2, from -10 to 6); thirty
# were then taken at once.
orders = PAPER.section(
    where="Figure 6, d = 5, N = 200",
    unit="points",
    kind="ordering",
    seeds=QUICK,
    full_seeds=tuple(range(30)),
    stand_in=SUITE,
)


@orders.claim("The first candidate is right at least as often as LiNGAM's order")
@stated("at least as often")
@at_least(-5.0, because="the paper says as many; 5 points are a standard error")
def first_candidate(run: Run) -> float:
    first, _, rival = order_rates(run.seed, run.full, tuple(set_numbers(run)))
    run.note(f"seed {run.seed}: {first:.2f}, DirectLiNGAM {rival:.2f}, which is later than the "
             "paper's ICA-LiNGAM")  # fmt: skip
    return 100 * (first - rival)


@orders.claim("Ten candidates hold a right order almost 30 points more often than one", 30)
@at_least(5.0, because="clearly more often: a sixth of the published gain")
def ten_candidates(run: Run) -> float:
    first, ten, _ = order_rates(run.seed, run.full, tuple(set_numbers(run)))
    return 100 * (ten - first)


@PAPER.claim("With a latent common cause the search finds a right order in 78 of 100 sets")
@stated(78, "Section 6.4, d = 5, m = 1, N = 500")
@measured(kind="figure", unit="%", seeds=QUICK, full_seeds=FULL, stand_in=SUITE)
@at_least(65.0, because="three standard errors of a hundred sets below 78 %")
def confounded_orders(run: Run) -> float:
    settings, found = sweeps(run.full), []
    for number in set_numbers(run):
        sample = data.make_confounded_dag(5, 500, random_state=number)
        search = graphical.SLIMOrderSearch(
            n_latent=1, n_samples=settings["n_samples"][0], burn_in=settings["burn_in"][0],
            random_state=number,
        ).fit(sample.X)  # fmt: skip
        found.append(
            any(graphical.is_causal_order(c.order, sample.B) for c in search.ordering_candidates_)
        )
    return 100 * float(np.mean(found))


def right_chains(seed: int, latent: str, n_samples: int) -> int:
    """Return how many of ten chains find b = 1 and not 0, driving signals held at their size."""
    from octavo.engine.mcmc.compiled_draws import draw_state
    from octavo.graphical.causal_orders.model import Chain, priors
    from octavo.graphical.causal_orders.sources import ABSENT, FREE, HELD, LAPLACE, STUDENT

    rng = np.random.default_rng(seed)
    z = rng.laplace(size=(3, 500)) / np.sqrt(2)
    if latent == "cauchy":
        z[2] = rng.standard_cauchy(500)
    x1 = z[0] + z[2]
    X = np.array([x1, x1 - z[2] + z[1]])
    allowed = [[ABSENT, ABSENT, HELD, ABSENT, FREE], [FREE, ABSENT, ABSENT, HELD, FREE]]
    unit = (LAPLACE, np.sqrt(2.0))
    laws = [unit, unit, (STUDENT, 1.0) if latent == "cauchy" else unit]
    right = 0
    for child in rng.spawn(10):
        chain = Chain(X, allowed, X, laws, np.full(5, 0.99), priors())
        chain.start(child)
        chain.W[0, 2] = chain.W[1, 3] = 1.0
        draws = chain.sample(n_samples, n_samples // 3, draw_state(child))
        right += int(abs(np.median(draws.W[:, 1, 0]) - 1.0) < 0.5)
    return right


@PAPER.claim(
    "Ten of ten chains find the truth where the latent law differs from the driving ones",
    stand_in="the latent of the data is Cauchy, as in the model; the text does not say",
)
@stated(10, "Section 6.4 and Figure 11, model (i); model (u), of equal laws, 3 of 10", seeds=QUICK)
@measured(unit="chains", kind="figure")
@at_least(9.0, because="ten, with one chain that may not have come to rest")
def identifiable_chains(run: Run) -> float:
    n_samples = 6_000 if run.full else 900
    same = right_chains(run.seed, "laplace", n_samples)
    run.note(f"seed {run.seed}: with equal laws {same} of 10")
    return float(right_chains(run.seed, "cauchy", n_samples))


@PAPER.claim(
    "The held-out likelihood of all 24 orders is highest for one of the two right ones",
    stand_in="functions and shapes of sources are not printed: w², 4 √|w| and 2 (sin x + sin y)",
)
@stated("the two right orders are highest", "Section 6.5 and Figure 12, N = 100", seeds=QUICK)
@measured(full_seeds=FULL, kind="ordering")
@at_least(0.5, because="a right order more often than not; 1 in 12 by chance")
def nonlinear_orders(run: Run) -> float:
    if not run.full:
        raise NotMeasurable("24 chains of a thousand sweeps take minutes")
    sample = data.make_nonlinear_dag(100, random_state=FIRST_SET + run.seed)
    model = graphical.SNIM(random_state=run.seed).fit(sample.X)
    return float(graphical.is_causal_order(model.causal_order_, sample.B))


@PAPER.claim("SNIM tells the cause in 39 of 51 pairs", unit="%", kind="figure", seeds=QUICK)
@stated(76.5, "Section 6.5", stand_in="pairs 1 to 51 of a later release, at most 300 rows of each")
@within(12.0, because="two standard errors of a share of 51 pairs")
def cause_effect_pairs(run: Run) -> float:
    if not run.full:
        raise NotMeasurable("51 pairs take minutes")
    try:
        pairs = data.load_cause_effect_pairs()[:51]
    except data.DatasetNotFoundError as missing:
        raise NotMeasurable(str(missing)) from None
    right = [
        graphical.causal_direction(p.x, p.y, random_state=run.seed).direction == p.direction
        for p in pairs
    ]
    if run.seed == 0:
        rival = [direct_lingam(np.column_stack([p.x, p.y])) == (0, 1) for p in pairs]
        found = [
            forward == (p.direction == "x->y") for forward, p in zip(rival, pairs, strict=True)
        ]
        run.note(f"DirectLiNGAM is right in {sum(found)} of the same {len(pairs)}")
    return 100 * float(np.mean(right))


@PAPER.claim("Age acts on length, and on diameter, in subsets of 200 rows of Abalone")
@stated(100, "Section 6.5 and Figure 14", unit="%", kind="figure", seeds=QUICK, full_seeds=FULL)
@at_least(90.0, because="one subset of ten may differ")
def abalone(run: Run) -> float:
    try:
        pairs = {p.name: p for p in data.load_cause_effect_pairs()}
    except data.DatasetNotFoundError as missing:
        raise NotMeasurable(str(missing)) from None
    right = []
    for name in ("pair5", "pair7"):
        p, rows = pairs[name], np.random.default_rng(run.seed).permutation(4177)[:200]
        found = graphical.causal_direction(p.x[rows], p.y[rows], random_state=run.seed)
        right.append(found.direction == p.direction)
    return 100 * float(np.mean(right))


@lru_cache(maxsize=8)
def proteins(seed: int, full: bool) -> tuple[int, int, int]:
    """Return true positives, structural errors and reversed edges of the proteins' DAG."""
    try:
        found = data.load_protein_signals()
    except data.DatasetNotFoundError as missing:
        raise NotMeasurable(str(missing)) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = graphical.SLIM(random_state=seed, **sweeps(full)).fit(found.X)
    ours, truth = model.adjacency_, found.adjacency
    reversed_edges = int((ours & truth.T & ~truth).sum())
    positives = int((ours & truth).sum())
    false = int((ours & ~truth & ~truth.T).sum())
    missed = int((truth & ~ours & ~ours.T).sum())
    return positives, false + missed + reversed_edges, reversed_edges


cells = PAPER.section(
    where="Section 6.6 and Figure 15(c), 1,755 cells",
    unit="edges",
    kind="figure",
    seeds=QUICK,
    stand_in="edges of the collection's own file, which has 18 where the paper's figure has 20",
)


@cells.claim("SLIM finds 9 of the textbook's edges", 9)
@at_least(7.0, because="two edges for chains and splits that differ")
def proteins_true_positives(run: Run) -> float:
    positives, errors, backwards = proteins(run.seed, run.full)
    run.note(f"seed {run.seed}: {positives} right, {errors} errors, {backwards} reversed")
    return float(positives)


@cells.claim("with 12 structural errors, one of them a reversed edge", 12)
@at_most(15.0, because="three edges for chains, splits and the network's file")
def proteins_errors(run: Run) -> float:
    return float(proteins(run.seed, run.full)[1])


PAPER.not_measurable(
    "old-faithful",
    "the geyser's eruptions are not at hand",
    "Duration acts on interval in 10 of 10 splits",
    stated(10, "Section 6.5, Figure 13", unit="splits"),
)
PAPER.not_measurable(
    "e-coli",
    "the expression profiles of Kao et al. (2004) are not at hand",
    "CSLIM reconstructs with a mean squared error of 0.0264 and 0.0218",
    stated(0.0218, "Section 6.7 and Figure 17"),
)


@PAPER.figure("A DAG with probabilities as widths (compare Figure 8)")
def dag():
    sample = data.make_linear_dag(6, 400, density="sparse", random_state=3)
    model = graphical.SLIM(n_samples=(1500, 600), burn_in=(1000, 300), random_state=0)
    return plot.plot_causal_dag(model.fit(sample.X), truth=sample.B).figure
