"""De Campos and Ji (2011): efficient structure learning of Bayesian networks using constraints."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import data, graphical, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, within

PAPER = Paper(
    key="bayesnet-constraints",
    title="Efficient Structure Learning of Bayesian Networks using Constraints",
    authors="C. P. de Campos and Q. Ji",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=(
        "zoo-bic",
        "pruning-is-exact",
    ),
    methods=(
        Method(
            name="BayesianNetworkStructureLearner",
            room="graphical",
            family="networks",
            modules=(
                "networks",
                "network_scores",
                "network_search",
            ),
            task="find the Bayesian network that explains categorical data best, with proof",
            summary="Provably optimal Bayesian networks under expert constraints, or with a bound "
            "on what is missing.",
            use_when="There are up to some fifty categorical variables and rules that experts "
            "insist on: risk, reliability, epidemiology.",
            avoid_when="Variables are continuous or count in the hundreds.",
            instead="GraphicalLasso finds undirected graphs of Gaussian variables; there are no "
            "Bayesian networks.",
            peers=("pgmpy",),
            plots=(
                "plot_bayesian_network",
                "plot_anytime_bounds",
                "plot_cache_sizes",
                "plot_cpdag",
            ),
        ),
        Method(
            name="TANClassifier",
            room="graphical",
            family="networks",
            modules=("networks.tree_classifier",),
            task="classify by categorical features with a network that can be read",
            summary="Naive and tree-augmented naive Bayes whose features and arcs are chosen "
            "together, optimally.",
            use_when="Features are categories, a joint distribution is wanted, and features "
            "depend on each other given the class.",
            avoid_when="Accuracy is all that counts and data are many.",
            instead="CategoricalNB is naive Bayes with all features; "
            "HistGradientBoostingClassifier takes categories.",
            peers=("scikit-learn", "pgmpy"),
            plots=("plot_bayesian_network",),
        ),
        Method(
            name="DynamicBNLearner",
            room="graphical",
            family="networks",
            modules=("networks.dynamic",),
            task="find how categorical variables drive each other from one step to the next",
            summary="Optimal dynamic Bayesian networks: an initial network and one for the "
            "transition.",
            use_when="Several categorical variables are observed over time and the next values "
            "depend on the present ones.",
            avoid_when="States are hidden, or dependences reach back further than one step.",
            instead="There is nothing like it.",
            peers=("pgmpy",),
            plots=("plot_two_slices",),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
ONE_DECIMAL = "the table prints one decimal, rounded or cut off"
STAND_IN = "random networks of 2n arcs, two or three states a node, in place of the paper's"


@lru_cache(maxsize=1)
def zoo():
    """Return the 101 x 17 table, legs with its six values."""
    found = data.load_dataset("uci/zoo")
    return np.column_stack([found.data, found.target]).astype(int)


@lru_cache(maxsize=1)
def adult():
    """Return the 30162 complete training rows, continuous columns cut at their mean."""
    found = data.load_dataset("adult")
    rows = found.train & ~found.missing.any(axis=1)
    numeric = np.asarray(found.numeric, float)[rows]
    nominal = np.asarray(found.nominal)[rows]
    cut = (numeric > numeric.mean(axis=0)).astype(int)
    codes = [np.unique(column, return_inverse=True)[1] for column in nominal.T]
    return np.column_stack([cut, *codes, found.target[rows] > 0]).astype(int)


@lru_cache(maxsize=64)
def random_data(seed: int, n_nodes: int, n_rows: int):
    """Return a random network and rows drawn from it, columns of one state left out."""
    model = graphical.make_bayesian_network(n_nodes, 2 * n_nodes, random_state=seed)
    X = model.sample(n_rows, random_state=seed)
    kept = np.flatnonzero([len(np.unique(column)) > 1 for column in X.T])
    return model, X[:, kept], kept


def size(run: Run) -> int:
    """Return the 30 nodes of Table 5, or fewer where seconds count."""
    if not run.full:
        run.note("16 nodes; the full form has 30")
    return 30 if run.full else 16


def true_rules(model, kept, seed: int):
    """Return about n random rules that the network satisfies, as in Table 5."""
    rng = np.random.default_rng(seed)
    n = len(kept)
    place = {int(node): k for k, node in enumerate(kept)}
    rules = []
    for _ in range(n):
        child = int(rng.integers(n))
        parents = {place[p] for p in model.parents[kept[child]] if p in place}
        other = int(rng.choice([v for v in range(n) if v != child]))
        if other in parents:
            rules.append(graphical.required_arc(other, child))
        else:
            rules.append(graphical.forbidden_arc(other, child))
    return rules


def learner(criterion: str = "bic", **options: Any) -> Any:
    """Return a learner with a fixed seed."""
    return graphical.BayesianNetworkStructureLearner(criterion, random_state=0, **options)


@PAPER.claim(
    says="The best network for zoo has a BIC of -773.4",
    where="Table 3",
    published=-773.4,
    expect=within(0.1, -773.4, because=ONE_DECIMAL),
)
def zoo_bic(run: Run) -> float:
    found = learner(method="bnb").fit(zoo())
    run.note(f"branch and bound closes the gap after {found.n_iter_} cases")
    return found.score_


@PAPER.claim(
    says="The best network for zoo has a BDeu of -794.1 at an equivalent sample size of 1",
    where="Table 3",
    published=-794.1,
    expect=within(0.1, -794.1, because=ONE_DECIMAL),
)
def zoo_bdeu(run: Run) -> float:
    run.note("the BIC of the same table is reproduced; the paper's prior or data must differ here")
    return learner("bdeu", ess=1.0).fit(zoo()).score_


@PAPER.claim(
    says="The best network for adult has a BIC of -286902.8",
    where="Table 3",
    published=-286902.8,
    expect=within(0.1, -286902.8, because=ONE_DECIMAL),
)
def adult_bic(run: Run) -> float:
    run.note("30162 complete training rows; the six continuous columns are cut at their mean")
    return learner().fit(adult()).score_


@PAPER.claim(
    says="The best network for breast has a BIC of -8254.8",
    where="Table 3",
    published=-8254.8,
    expect=within(0.1, -8254.8, because=ONE_DECIMAL),
)
def breast_bic(run: Run) -> float:
    found = data.load_dataset("uci/wisconsin")
    run.note("683 x 10, every column with its values as categories")
    return learner().fit(np.column_stack([found.data, found.target]).astype(int)).score_


@PAPER.claim(
    says="The cache of zoo takes 2^13.1 evaluations of the BIC instead of 2^20.1",
    where="Table 1",
    published=13.1,
    unit="bits",
    expect=within(0.05, 13.1, because="the table prints one decimal"),
)
def zoo_evaluations(run: Run) -> float:
    paper = graphical.ParentSetCache.build(zoo(), pruning="paper")
    ours = graphical.ParentSetCache.build(zoo())
    run.note(
        f"Theorems 2 and 4 alone; with the entropy rule of 2018 2^{np.log2(ours.n_evaluated):.2f}; "
        f"{len(ours)} sets are kept"
    )
    return float(np.log2(paper.n_evaluated))


@PAPER.claim(
    says="Pruning by Lemma 1 and Theorems 2, 4 and 9 loses no optimal network",
    where="Section 4",
    published="holds",
    expect=holds(because="theorems; scores are compared to 1e-9, relatively"),
    seeds=tuple(range(10)),
    full_seeds=tuple(range(60)),
)
def pruning_is_exact(run: Run) -> float:
    _, X, _ = random_data(run.seed, 6, 150)
    same = True
    for score, ess in (("bic", 1.0), ("aic", 1.0), ("bdeu", 1.0), ("bdeu", 5.0)):
        caches = [
            graphical.ParentSetCache.build(X, score, ess=ess, pruning=pruning)
            for pruning in ("none", "paper", "all")
        ]
        found = [graphical.solve_parent_sets(cache, "dp").score for cache in caches]
        same &= bool(np.ptp(found) <= 1e-9 * abs(found[0]))
    return float(same)


@PAPER.claim(
    says="Branch and bound, dynamic programming and an integer program find the same optimum",
    where="Sections 5 and 6, under constraints of section 3",
    published="equal",
    expect=holds(because="all are exact; scores are compared to 1e-9, relatively"),
    seeds=tuple(range(10)),
    full_seeds=tuple(range(100)),
)
def searches_agree(run: Run) -> float:
    model, X, kept = random_data(run.seed, 8, 200)
    cache = graphical.ParentSetCache.build(X, constraints=true_rules(model, kept, run.seed))
    found = [
        graphical.solve_parent_sets(cache, method, random_state=0).score
        for method in ("dp", "bnb", "ilp")
    ]
    return float(np.ptp(found) <= 1e-9 * abs(found[0]))


@PAPER.claim(
    says="Stopped early, branch and bound gives a network and a bound on the optimum",
    where="Section 5",
    published="holds",
    expect=holds(because="a bound; compared to 1e-9, relatively"),
    seeds=SEEDS,
    full_seeds=tuple(range(20)),
)
def bounds_are_valid(run: Run) -> float:
    _, X, _ = random_data(run.seed, 12, 300)
    cache = graphical.ParentSetCache.build(X, "aic", max_parents=4)
    best = graphical.solve_parent_sets(cache, "dp").score
    valid = True
    for steps in (1, 3, 10, 30):
        found = graphical.solve_parent_sets(cache, "bnb", max_iter=steps, random_state=0)
        valid &= found.score <= best + 1e-9 * abs(best) <= found.upper_bound + 2e-9 * abs(best)
    return float(valid)


@PAPER.claim(
    says="With 30 nodes and 500 instances the global optimum is found and proven",
    where="Table 5",
    published="holds",
    expect=holds(because="the gap is closed or it is not"),
    seeds=(0, 1),
    full_seeds=tuple(range(10)),
)
def thirty_nodes(run: Run) -> float:
    run.note(STAND_IN)
    _, X, _ = random_data(run.seed, size(run), 500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(learner(time_limit=600.0 if run.full else 20.0).fit(X).optimal_)


@PAPER.claim(
    says="About n constraints make the cache of 30 nodes and 500 instances smaller",
    where="Table 5: 61.4 sets against 75.6",
    published=0.81,
    expect=at_most(1.0, because="the whole 95 % interval over networks must lie below one"),
    seeds=SEEDS,
    full_seeds=tuple(range(10)),
)
def constraints_shrink_the_cache(run: Run) -> float:
    run.note(STAND_IN)
    model, X, kept = random_data(run.seed, size(run), 500)
    rules = true_rules(model, kept, run.seed)
    free, bound = (graphical.ParentSetCache.build(X, constraints=r) for r in (None, rules))
    return len(bound) / len(free)


@PAPER.claim(
    says="Search over orders ends above hill climbing",
    where="Table 3: up to 4.8 % for hill climbing, up to 3.3 % for orders",
    published="in almost all cases",
    unit="%",
    expect=at_least(0.0, because="the whole 95 % interval over networks must lie above zero"),
    seeds=SEEDS,
    full_seeds=tuple(range(20)),
)
def orders_beat_climbing(run: Run) -> float:
    run.note(STAND_IN)
    _, X, _ = random_data(run.seed, 20, 500)
    order, climb = (learner(method=m).fit(X).score_ for m in ("order", "hc"))
    return 100 * (order - climb) / abs(order)


@PAPER.claim(
    says="The constraints of TAN leave a fraction of the cache of adult",
    where="Tables 2 and 4: 114 sets against 2^9.3",
    published=0.18,
    expect=at_most(0.5, because="a fraction is read as less than half"),
    method="TANClassifier",
)
def tan_is_easier(run: Run) -> float:
    X = adult()
    network = graphical.TANClassifier().fit(X[:, :-1], X[:, -1])
    free = graphical.ParentSetCache.build(X)
    run.note(f"{len(network.cache_)} sets against {len(free)}; the forest is proven optimal")
    return len(network.cache_) / len(free)


@PAPER.claim(
    says="TAN with all features and no penalty is the maximum spanning tree of Friedman et al.",
    where="Section 3.1",
    published="equal",
    expect=holds(because="scores are compared to 1e-9, relatively"),
    seeds=SEEDS,
    method="TANClassifier",
)
def tan_is_a_spanning_tree(run: Run) -> float:
    from scipy.sparse.csgraph import minimum_spanning_tree

    _, X, _ = random_data(run.seed, 9, 400)
    c = X.shape[1] - 1
    score = graphical.TANClassifier("loglik", select=False).fit(X[:, :-1], X[:, -1]).score_
    alone = [graphical.local_score(X, a, [c], "loglik") for a in range(c)]
    gain = np.zeros((c, c))
    for a in range(c):
        for b in range(a):
            gain[a, b] = graphical.local_score(X, a, [b, c], "loglik") - alone[a]
    tree = -minimum_spanning_tree(-gain).sum()
    expected = graphical.local_score(X, c, [], "loglik") + sum(alone) + tree
    return float(abs(score - expected) <= 1e-9 * abs(expected))


@lru_cache(maxsize=8)
def sequences(seed: int):
    """Return sequences of five binary variables with a sparse random transition."""
    rng = np.random.default_rng(seed)
    parents = [rng.choice(5, 2, replace=False) for _ in range(5)]
    flip = rng.integers(0, 2, (5, 2, 2))
    drawn = []
    for _ in range(60):
        X = np.empty((20, 5), int)
        X[0] = rng.integers(0, 2, 5)
        for t in range(1, 20):
            for v, (a, b) in enumerate(parents):
                X[t, v] = flip[v, X[t - 1, a], X[t - 1, b]] ^ (rng.random() < 0.15)
        drawn.append(X)
    return drawn


@PAPER.claim(
    says="A dynamic network is learned by two ordinary problems, the second with twice the nodes",
    where="Section 3.2, Eqs. (3) to (5)",
    published="equal",
    expect=holds(because="scores are compared to 1e-9, relatively"),
    seeds=SEEDS,
    method="DynamicBNLearner",
)
def two_problems(run: Run) -> float:
    drawn = sequences(run.seed)
    found = graphical.DynamicBNLearner().fit(drawn)
    pairs = np.concatenate([np.hstack([X[:-1], X[1:]]) for X in drawn])
    first = learner().fit(np.stack([X[0] for X in drawn])).score_
    second = learner(constraints=graphical.two_slice_structure(5), method="bnb").fit(pairs).score_
    constant = graphical.network_score(pairs[:, :5], [()] * 5)
    expected = first + second - constant
    return float(abs(found.score_ - expected) <= 1e-9 * abs(expected))


def small_network():
    """Return a learner fitted under constraints, for the pictures."""
    model = graphical.make_bayesian_network(9, 12, random_state=3)
    X = model.sample(800, random_state=0)
    rules = [graphical.required_arc(0, 4), graphical.forbidden_arc(1, 2)]
    return learner(constraints=rules, on_constant="isolate").fit(X)


@PAPER.figure("A network under constraints")
def network():
    return plot.plot_bayesian_network(small_network()).figure


@PAPER.figure("Its equivalence class: arrows that data can tell")
def equivalence_class():
    return plot.plot_cpdag(small_network().cpdag_).figure


@PAPER.figure("Branch and bound with the paper's bound, stopped after 20000 cases")
def anytime():
    from octavo.graphical.network_search.branch_and_bound import solve_bnb
    from octavo.graphical.network_search.problem import whole_problem

    _, X, _ = random_data(0, 14, 500)
    cache = graphical.ParentSetCache.build(X, "aic", max_parents=3)
    found = solve_bnb(whole_problem(cache), bound="relaxed", max_iter=20_000, random_state=0)
    return plot.plot_anytime_bounds(found).figure


@PAPER.figure("Parent sets evaluated and kept, by what is allowed to cut them")
def cache_sizes():
    _, X, _ = random_data(0, 12, 200)
    caches = {
        pruning: graphical.ParentSetCache.build(X, pruning=pruning)
        for pruning in ("none", "lemma", "paper", "all")
    }
    return plot.plot_cache_sizes(caches).figure


@PAPER.figure("A tree-augmented naive network", method="TANClassifier")
def tan_network():
    _, X, _ = random_data(1, 9, 600)
    return plot.plot_bayesian_network(graphical.TANClassifier().fit(X[:, 1:], X[:, 0])).figure


@PAPER.figure("A transition network, the slice before on the left", method="DynamicBNLearner")
def transition():
    return plot.plot_two_slices(graphical.DynamicBNLearner().fit(sequences(0))).figure
