"""Oglic (2018), Chapter 5: active search in spaces that can only be sampled."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from octavo import data, plot, search
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, holds, stated, within

PAPER = Paper(
    key="de-novo-search",
    title="Constructive Approximation and Learning by Greedy Algorithms, Chapter 5",
    authors="D. Oglic",
    year=2018,
    venue="PhD thesis, University of Bonn",
    headlines=("planar-is-emphasised", "hamiltonian-seven", "independent-chains-mix"),
    tables={
        "Proposition 5.18": "coupled-chains-mix",
        "Proposition 5.19": "independent-chains-mix",
        "Theorem 5.12": "weights-mend-the-sampling",
        "Table 5.1": "hamiltonian-seven planar-seven hamiltonian-ten planar-ten",
        "Figure 5.4": "planar-is-emphasised non-hamiltonian-is-emphasised emphasis-rises "
        "neighbours-find-more",
        "Figure 5.5": "planar-is-spread non-hamiltonian-is-spread",
        "Figure 5.6": "[docking with OpenEye FRED against the protein 4UM9, which cannot be had]",
        "Table 5.2": "[compounds beside measured ones: the same docking]",
    },
    refutations={
        "planar-seven": "The share of 61.88 % is exact, by a list of all graphs of seven vertices; "
        "the printed one was estimated by the thesis' sampler.",
    },
    methods=(
        Method(
            name="DeNovoSearch",
            room="search",
            family="de_novo",
            task="find many different objects with a property among those that can be sampled",
            summary="Metropolis-Hastings chains draw from the proposals reweighted by a kernel "
            "surrogate of the property, which is fitted anew to importance-weighted labels.",
            use_when="Objects (graphs, recipes, molecules) can be proposed, a test of each is "
            "expensive, and many different ones that pass it are wanted.",
            avoid_when="One best object is wanted, or the candidates are a list that is given, or "
            "proposals never hit a target.",
            instead="Nothing in scikit-learn proposes objects; Bayesian optimisers look for one "
            "best.",
            peers=("grakel",),
            plots=("plot_construction", "plot_dispersion", "plot_found_graphs"),
        ),
    ),
)

# Fixed before anything was run: five seeds, as in Section 5.6.1; decay 0.01; a warm start of five
# targets and five others; full: 50 rounds, pools of 5,000. Changed after a first run: the range of
# penalties, whose lowest end the folds had chosen, and the quick sizes (5 rounds of 10 in place of
# 10, pools of 1,000 in place of 2,000), for their cost.
SEEDS = (0, 1, 2, 3, 4)
SETTINGS = (
    "a burn-in by Proposition 5.19 in place of 50,000 steps, weights capped at 20, penalties "
    "between 1e-9 and 1 of the mean k(x, x), pools of 5,000 in place of 50,000"
)


@lru_cache(maxsize=4)
def atlas_share(is_target) -> float:
    """Return the exact percentage of targets among the 1,044 graphs of seven vertices."""
    from networkx.generators.atlas import graph_atlas_g

    graphs = [g for g in graph_atlas_g() if g.number_of_nodes() == 7]
    return 100.0 * sum(is_target(g) for g in graphs) / len(graphs)


def sampled_share(is_target, n: int, size: int, seed: int) -> float:
    """Return the percentage of targets in a sample of uniform unlabelled graphs."""
    sampler, rng = search.UnlabeledGraphSampler(n), np.random.default_rng(seed)
    return 100.0 * sum(is_target(sampler(None, rng)) for _ in range(size)) / size


fractions = PAPER.section(where="Table 5.1")


@fractions.claim("Hamiltonian graphs among those of seven vertices, %", 36.68)
@within(0.72, because="three printed deviations of 0.24; ours is exact")
def hamiltonian_seven(run: Run) -> float:
    return atlas_share(data.is_hamiltonian)


@fractions.claim("Connected planar graphs among those of seven vertices, %", 65.01)
@within(0.6, because="three printed deviations of 0.20; ours is exact")
def planar_seven(run: Run) -> float:
    return atlas_share(data.is_connected_planar)


@fractions.claim("Hamiltonian graphs among those of ten vertices, %", 77.45, seeds=SEEDS)
@within(1.5, because="sampling: ours has a standard error of 0.5 in the quick form")
def hamiltonian_ten(run: Run) -> float:
    return sampled_share(data.is_hamiltonian, 10, 50_000 if run.full else 1_500, run.seed)


@fractions.claim("Connected planar graphs among those of ten vertices, %", 8.68, seeds=SEEDS)
@within(1.0, because="sampling: ours has a standard error of 0.33 in the quick form")
def planar_ten(run: Run) -> float:
    return sampled_share(data.is_connected_planar, 10, 50_000 if run.full else 1_500, run.seed)


def random_chain(seed: int):
    """Return features, θ, p(y* | x), the law of the proposals and the transition matrix."""
    rng = np.random.default_rng(seed)
    n = 30
    features, theta = rng.standard_normal((n, 2, 3)), 0.4 * rng.standard_normal(3)
    scores = features @ theta
    p = 1.0 / (1.0 + np.exp(scores[:, 0] - scores[:, 1]))
    rho = rng.dirichlet(np.ones(n))
    move = rho[None] * np.minimum(1.0, p[None] / p[:, None])
    move[np.diag_indices(n)] += 1.0 - move.sum(axis=1)
    return features, theta, p, rho, move


mixing = PAPER.section(where="Section 5.4.2", seeds=SEEDS)


@mixing.claim(
    "An independent chain is within ε of its posterior after the steps of Proposition 5.19",
    "always",
)
@holds(because="powers of the transition matrix of a chain of 30 states, every start")
def independent_chains_mix(run: Run) -> bool:
    _, _, p, rho, move = random_chain(run.seed)
    posterior = rho * p / (rho @ p)
    c = p.max() / (rho @ p)
    steps = {eps: search.independence_burn_in(c, eps) for eps in (0.5, 0.1, 0.01, 1e-4)}
    run.note(f"seed {run.seed}: c = {c:.2f}, {steps[0.01]} steps for ε = 0.01")
    return all(
        np.abs(np.linalg.matrix_power(move, t) - posterior).sum(axis=1).max() <= eps
        for eps, t in steps.items()
    )


@mixing.claim("Chains are within ε of the posterior after the steps of Proposition 5.18", "always")
@holds(because="the same chain, with the largest norm of its features and ‖θ‖")
def coupled_chains_mix(run: Run) -> bool:
    features, theta, p, rho, move = random_chain(run.seed)
    posterior = rho * p / (rho @ p)
    r = np.linalg.norm(features, axis=2).max()
    met = []
    for eps in (0.5, 0.1, 0.01):
        t = search.coupling_burn_in(r, float(np.linalg.norm(theta)), eps)
        apart = np.abs(np.linalg.matrix_power(move, min(t, 2**40)) - posterior)
        met.append(0.5 * apart.sum(axis=1).max() <= eps)
    run.note(f"seed {run.seed}: {t} steps for ε = 0.01")
    return all(met)


@PAPER.claim(
    "Importance weights make the surrogate consistent: its error without them over with them",
    stand_in="a misspecified model of one feature; labelled points drawn from one fixed posterior",
)
@stated("converges with weights", "Theorem 5.12", kind="ordering", seeds=SEEDS)
@at_least(2.0, because="without them the limit is another parameter")
def weights_mend_the_sampling(run: Run) -> float:
    from octavo.search.de_novo.surrogate import fit_family

    rng = np.random.default_rng(run.seed)
    n = 100_000 if run.full else 20_000
    x = rng.uniform(-2, 2, (n, 1))
    y = (rng.random(n) < np.where(x[:, 0] < 0, 0.9, 0.6)).astype(int)
    p = 1.0 / (1.0 + np.exp(-2.0 * x[:, 0]))
    kept = rng.random(n) < p

    def slope(rows, labels, weights):
        return float(fit_family(rows, labels, weights, 1e-9).theta[0, 1])

    whole = slope(x, y, np.ones(n))
    mended = slope(x[kept], y[kept], 1.0 / p[kept])
    plain = slope(x[kept], y[kept], np.ones(int(kept.sum())))
    return abs(plain - whole) / max(abs(mended - whole), 1e-12)


BEDS = {
    "planar": lambda graph: int(data.is_connected_planar(graph)),
    "non-Hamiltonian": lambda graph: int(not data.is_hamiltonian(graph)),
}
SHARES = {"planar": 0.0877, "non-Hamiltonian": 0.225}  # Table 5.1, by our own counts


def propose(state, rng):
    """Return a uniform unlabelled graph of ten vertices."""
    return search.UnlabeledGraphSampler(10)(state, rng)


propose.independent = True  # type: ignore[attr-defined]


@lru_cache(maxsize=16)
def sample_of(bed: str, seed: int, size: int):
    """Return targets of a sample of proposals, and a warm start of five and five."""
    rng = np.random.default_rng(1000 + seed)
    graphs = [propose(None, rng) for _ in range(size)]
    labels = [BEDS[bed](g) for g in graphs]
    targets = [g for g, y in zip(graphs, labels) if y]
    others = [g for g, y in zip(graphs, labels) if not y]
    return targets[5:], (targets[:5] + others[:5], [1] * 5 + [0] * 5)


@lru_cache(maxsize=64)
def searched(bed: str, kind: str, seed: int, full: bool):
    """Return a search of 5 (full: 50) rounds of 10 questions after the same warm start."""
    _, start = sample_of(bed, seed, 50_000 if full else 1_000)

    def oracle(graphs):
        return [BEDS[bed](g) for g in graphs]

    pool = 5_000 if full else 1_000
    made = {
        "de novo": lambda: search.DeNovoSearch(
            oracle, propose, search.random_walk_kernel, random_state=seed
        ),
        "argmax": lambda: search.ArgmaxSearch(
            oracle,
            propose,
            search.random_walk_kernel,
            batch=1 if full else 10,
            pool_size=pool // 5,
            random_state=seed,
        ),
        "k-NN": lambda: search.KNNActiveSearch(
            oracle, propose, search.random_walk_kernel, pool_size=pool, random_state=seed
        ),
    }[kind]()
    return made.run(500 if full else 50, start=start)


def lift(bed: str, seed: int, full: bool, kind: str = "de novo") -> float:
    """Return how many times more distinct targets a search found than proposals would hold."""
    found = searched(bed, kind, seed, full)
    curve = search.construction_curve(found.states_, found.labels_)
    return float(search.lift_curve(curve, SHARES[bed])[-1])


def spread(bed: str, kind: str, seed: int, full: bool) -> float:
    """Return the mean of the dispersion curve."""
    targets, _ = sample_of(bed, seed, 50_000 if full else 1_000)
    found = searched(bed, kind, seed, full)
    curve = search.dispersion_curve(
        found.states_, found.labels_, targets, search.random_walk_kernel, random_state=seed
    )
    return float(curve.mean())


beds = PAPER.section(
    where="Section 5.6.2, Figure 5.4", kind="ordering", seeds=SEEDS, stand_in=SETTINGS
)
ABOVE = "the figure shows lifts above 1 without printing them"


@beds.claim("The search emphasises connected planar graphs of ten vertices: its lift")
@stated("above 1, rising with the rounds")
@at_least(1.0, because=ABOVE)
def planar_is_emphasised(run: Run) -> float:
    return lift("planar", run.seed, run.full)


@beds.claim("The search emphasises non-Hamiltonian graphs of ten vertices: its lift")
@stated("above 1, rising with the rounds")
@at_least(1.0, because=ABOVE)
def non_hamiltonian_is_emphasised(run: Run) -> float:
    return lift("non-Hamiltonian", run.seed, run.full)


@beds.claim(
    "The emphasis rises: planar graphs in the last half of the rounds over those in the first",
    "increasing over time",
)
@at_least(1.0, because="the text says no number")
def emphasis_rises(run: Run) -> float:
    labels = np.array(searched("planar", "de novo", run.seed, run.full).labels_)
    half = len(labels) // 2
    return float(labels[half:].sum() / max(labels[:half].sum(), 1))


@beds.claim(
    "k-NN active search finds more targets: its distinct planar graphs over those of the search",
    "more in all domains",
)
@at_least(1.0, because="the text says no number")
def neighbours_find_more(run: Run) -> float:
    ours, theirs = (lift("planar", run.seed, run.full, kind) for kind in ("de novo", "k-NN"))
    return theirs / max(ours, 1e-12)


diverse = PAPER.section(
    where="Section 5.6.2, Figure 5.5", kind="ordering", seeds=SEEDS, stand_in=SETTINGS
)
BEST = "the better of argmax and k-NN search has less; the mean over the curve, as none is printed"


def margin(bed: str, run: Run) -> float:
    """Return the spread of the search less that of the better rival."""
    ours = spread(bed, "de novo", run.seed, run.full)
    rivals = {kind: spread(bed, kind, run.seed, run.full) for kind in ("argmax", "k-NN")}
    words = ", ".join(f"{kind} {value:.3f}" for kind, value in rivals.items())
    run.note(f"seed {run.seed}: de novo {ours:.3f}, {words}")
    return ours - max(rivals.values())


@diverse.claim("Its planar graphs are more spread out than those of both rivals: the difference")
@stated("best in all domains")
@at_least(0.0, because=BEST)
def planar_is_spread(run: Run) -> float:
    return margin("planar", run)


@diverse.claim(
    "Its non-Hamiltonian graphs are more spread out than those of both rivals: the difference",
    "best in all domains",
)
@at_least(0.0, because=BEST)
def non_hamiltonian_is_spread(run: Run) -> float:
    return margin("non-Hamiltonian", run)


@PAPER.claim(
    "The docking search hits 2.8 times as often as its proposals; here the hit rate over the "
    "proposals' of the second half of a search for planar graphs"
)
@stated(2.8, "Section 5.6.3, Figure 5.6", kind="own", seeds=SEEDS)
@at_least(2.0, because="another test bed: only that it is a multiple")
def a_multiple_of_the_proposals(run: Run) -> float:
    labels = np.array(searched("planar", "de novo", run.seed, run.full).labels_)
    return float(labels[len(labels) // 2 :].mean() / SHARES["planar"])


@PAPER.figure("Targets found and their spread, connected planar graphs of ten vertices")
def found_and_spread():
    import matplotlib.pyplot as plt

    targets, _ = sample_of("planar", SEEDS[0], 1_000)
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    built, spreads = {}, {}
    for kind in ("de novo", "argmax", "k-NN"):
        found = searched("planar", kind, SEEDS[0], False)
        built[kind] = search.construction_curve(found.states_, found.labels_)
        spreads[kind] = search.dispersion_curve(
            found.states_, found.labels_, targets, search.random_walk_kernel, random_state=0
        )
    plot.plot_construction(built, rate=SHARES["planar"], ax=left)
    plot.plot_dispersion(spreads, ax=right)
    return fig
