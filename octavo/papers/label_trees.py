"""Cousins (thesis): multi-label learning over unknown graph structures."""

from __future__ import annotations

import itertools
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import data, plot, structured
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, holds, stated, within

PAPER = Paper(
    key="label-trees",
    title="Multi-label learning over unknown graph structures",
    authors="S. Cousins",
    year=2018,
    venue="Chapter 4 of a thesis at University College London, supervised by J. Shawe-Taylor, "
    "whose sections and tables the claims name",
    headlines=("certificates-are-right", "violating-tree-is-heaviest", "chain-edges-found"),
    tables={
        "Table 4.1": "[a summary of the data sets]",
        "Table 4.2": "yeast-label-sets yeast-over-* yeast-hamming-over-zero-one",
        "Table 4.3": "yeast-labels",
        "Table 4.4": "[returns of trades on stock prices that are not printed]",
        "Lemma 10": "certificates-are-right certified-share",
        "Definitions 3 and 5": "optimum-over-all-trees",
        "Algorithm 4": "violating-tree-is-heaviest chain-edges-found",
    },
    methods=(
        Method(
            name="SpanningTreeMultiLabel",
            room="structured",
            family="label_trees",
            task="predict sets of labels that hang together, without knowing how",
            summary="A margin machine for label sets that learns which pairs of labels matter, as "
            "a mixture of spanning trees, and certifies that a predicted set is the best one.",
            use_when="There are 5 to 50 labels that depend on one another beyond what the features "
            "say, whole label sets should be right, and the label graph is of interest.",
            avoid_when="Labels are independent given the features, or there are more than some ten "
            "thousand rows or hundreds of labels.",
            instead="MultiOutputClassifier for independent labels, ClassifierChain for dependent "
            "ones in a given order.",
            peers=("scikit-learn", "cvxpy"),
            plots=(
                "plot_label_graph",
                "plot_tree_gaps",
                "plot_certified_share",
                "plot_label_losses",
            ),
            quadratic=True,
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
CHAIN_C = 0.1  # chosen on seeds 100 to 102
BETTER = at_least(0.0, because="on the claimed side at all; the size stands beside")
CS = (1.0, 10.0, 100.0)


# --- the algorithm ------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def chain_fit(seed: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return a machine of a planted chain of 10 labels, other rows of it, and the true pairs."""
    X, Y, edges = data.make_label_chain(1500, random_state=seed)
    model = structured.SpanningTreeMultiLabel(C=CHAIN_C, random_state=seed)
    return model.fit(X[:1000], Y[:1000]), X[1000:], Y[1000:], edges


@PAPER.claim(
    "Where the best label set in the trees' K-best lists reaches the bound of the lists' "
    "ends, no label set scores more."
)
@stated("theorem", "Lemma 10", seeds=SEEDS)
@holds(because="compared with all label sets")
def certificates_are_right(run: Run) -> float:
    random = np.random.default_rng(run.seed)
    wrong = certified = 0
    for _ in range(60):
        n, n_trees = int(random.integers(3, 9)), int(random.integers(1, 5))
        parents = np.array([random_parents(n, random) for _ in range(n_trees)])
        scores = random.normal(size=(n_trees, n, 2, 2))
        found = structured.decode_over_trees(parents, scores, int(random.integers(1, 9)))
        everything = np.array(list(itertools.product((0, 1), repeat=n)))
        each = [scores_on_tree(p, s, everything) for p, s in zip(parents, scores)]
        totals = np.sum(each, axis=0)
        certified += found.exact
        wrong += bool(found.exact and totals.max() > found.score + 1e-9)
        wrong += bool(totals.max() > found.bound + 1e-9)
    run.note(f"{certified} of 60 problems certified")
    return float(wrong == 0)


def random_parents(n: int, random: np.random.Generator) -> np.ndarray:
    """Return a tree in which each vertex hangs from a random earlier one."""
    return np.array([-1] + [int(random.integers(0, v)) for v in range(1, n)])


def scores_on_tree(parent: np.ndarray, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the score of each labelling, vertex by vertex."""
    total = np.zeros(len(labels))
    for v, p in enumerate(parent):
        total += scores[v, labels[:, p] if p >= 0 else 0, labels[:, v]]
    return total


@PAPER.claim("The tree that violates optimality most is the maximum spanning tree under gamma.")
@stated("theorem", "Algorithm 4", seeds=SEEDS)
@holds(because="compared with all 1,296 trees of six labels")
def violating_tree_is_heaviest(run: Run) -> float:
    import networkx as nx

    from octavo.engine.graphs.spanning import maximum_forest

    weights = np.random.default_rng(run.seed).gamma(1.0, size=(6, 6))
    weights = weights + weights.T
    edges = maximum_forest(weights)
    best = max(
        sum(weights[i, j] for i, j in nx.from_prufer_sequence(list(code)).edges)
        for code in itertools.product(range(6), repeat=4)
    )
    return float(abs(weights[edges[:, 0], edges[:, 1]].sum() - best) < 1e-9)


@PAPER.claim(
    "Primal and dual meet at the optimum over all spanning trees: four labels, all 16 trees "
    "and label sets written out."
)
@stated("theorem", "Definitions 3 and 5", seeds=SEEDS)
@holds(because="both are solved to 1e-5")
def optimum_over_all_trees(run: Run) -> float:
    try:
        import cvxpy as cp
    except ImportError as error:
        raise NotMeasurable("cvxpy, the independent solver, is not installed") from error
    import networkx as nx

    random = np.random.default_rng(run.seed)
    X, Y = random.normal(size=(4, 2)), random.integers(0, 2, size=(4, 4))
    rows = np.hstack([X, np.ones((4, 1))])
    trees = [
        list(nx.from_prufer_sequence(list(code)).edges)
        for code in itertools.product(range(4), repeat=2)
    ]
    w, slack = [cp.Variable(3 * 4 * 3) for _ in trees], cp.Variable(4)

    def features(x: np.ndarray, y: Any, tree: Any) -> np.ndarray:
        parts = [np.kron(np.eye(4)[2 * y[i] + y[j]], x) for i, j in tree]
        return np.concatenate(parts) / np.sqrt(3.0)

    margins = []
    for k, y in itertools.product(range(4), itertools.product((0, 1), repeat=4)):
        apart = sum(
            w[t] @ (features(rows[k], Y[k], tree) - features(rows[k], y, tree))
            for t, tree in enumerate(trees)
        )
        margins.append(apart >= float(np.mean(Y[k] != np.array(y))) - slack[k])
    norms = sum(cp.norm(each) for each in w)
    program = cp.Problem(cp.Minimize(0.5 * cp.square(norms) + cp.sum(slack)), margins)
    program.solve(solver="CLARABEL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the gap leaves open is judged below
        model = structured.SpanningTreeMultiLabel(tol=1e-5, max_outer=500, random_state=0)
        model.fit(X, Y)
    run.note(f"objective {model.objective_:.6f}, cone program {program.value:.6f}")
    inside = model.objective_ - model.duality_gap_ - 1e-5 <= program.value
    return float(inside and abs(model.objective_ - program.value) < 1e-4)


# --- planted chains -----------------------------------------------------------------------------
chains = PAPER.section(where="not in the thesis", seeds=SEEDS, kind="own")


@chains.claim(
    "A planted chain of 10 labels, 1,000 rows: area under the ROC curve of the true pairs by their "
    "weights."
)
@stated("not tried", seeds=(300, 301, 302, 303, 304), full_seeds=tuple(range(300, 700)))
@at_least(0.95, because="fewer than one true pair in twenty behind a false one")
def chain_edges_found(run: Run) -> float:
    from sklearn.metrics import roc_auc_score

    if run.seed == 300:
        run.note(
            "trained to a relative gap of 1e-4, since 1e-3 leaves weights rough; so decided on "
            "seeds 100 to 107 after 0.957 [0.947, 0.967] over seeds 0 to 59 at 1e-3; seeds 200 to "
            "299 gave 0.957 [0.947, 0.966], too few to decide"
        )
    X, Y, edges = data.make_label_chain(1000, random_state=run.seed)
    model = structured.SpanningTreeMultiLabel(
        C=CHAIN_C, tol=1e-4, max_outer=300, random_state=run.seed
    ).fit(X, Y)
    true = np.zeros((10, 10))
    true[edges[:, 0], edges[:, 1]] = 1.0
    pairs = np.triu_indices(10, 1)
    return float(roc_auc_score(true[pairs], model.edge_weights_[pairs]))


@chains.claim("Planted chains: points of exact match gained over a linear SVM for each label.")
@stated("not tried", unit="points", expect=BETTER)
def chain_over_independent(run: Run) -> float:
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.svm import LinearSVC

    model, X, Y, _ = chain_fit(run.seed)
    train_X, train_Y, _ = data.make_label_chain(1500, random_state=run.seed)
    each = MultiOutputClassifier(LinearSVC(C=1.0)).fit(train_X[:1000], train_Y[:1000])
    ours, theirs = model.score(X, Y), each.score(X, Y)
    run.note(f"exact match {100 * ours:.1f} %, independent {100 * theirs:.1f} %")
    return float(100.0 * (ours - theirs))


@chains.claim(
    "Planted chains: share of new rows whose label set is certified by lists as long as there are "
    "labels, the thesis's choice of K."
)
@stated("not tried", "Section 4.4.7 has the length of the lists and no share")
@at_least(0.9, because="a certificate that is rarely given is of no use")
def certified_share(run: Run) -> float:
    model, X, Y, _ = chain_fit(run.seed)
    before = model.k_best
    try:
        model.k_best = Y.shape[1]
        labels, exact, _ = model.predict_certified(X)
    finally:
        model.k_best = before
    wrong = (labels != model.predict(X)).any(axis=1) & exact
    run.note(f"wrong among the certified: {int(wrong.sum())}")
    return float(exact.mean())


# --- yeast --------------------------------------------------------------------------------------
PARTS = (
    "splits into 1,500 rows for training and 917 for testing, C chosen on a third of the former, "
    "where the thesis has five folds; the quick form has 150 and 300 rows"
)


@lru_cache(maxsize=1)
def yeast() -> tuple[np.ndarray, np.ndarray]:
    """Return 103 features and 14 labels of 2,417 genes."""
    found = data.load_dataset("multilabel/yeast")
    return np.asarray(found.data, dtype=float), np.asarray(found.target)


@lru_cache(maxsize=256)
def yeast_losses(machine: str, kernel: str, seed: int, full: bool) -> tuple[float, float]:
    """Return shares of wrong label sets and of wrong labels in per cent, C chosen in validation."""
    X, Y = yeast()
    order = np.random.default_rng(seed).permutation(len(X))
    n_train, n_test = (1500, 917) if full else (150, 300)
    train, test = order[:n_train], order[n_train : n_train + n_test]
    cut = 2 * n_train // 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounds that end before the gap is closed
        scores = [
            np.mean(
                made(machine, kernel, C, full)
                .fit(X[train[:cut]], Y[train[:cut]])
                .predict(X[train[cut:]])
                == Y[train[cut:]]
            )
            for C in CS
        ]
        best = CS[int(np.argmax(scores))]
        found = made(machine, kernel, best, full).fit(X[train], Y[train]).predict(X[test])
    wrong = found != Y[test]
    return 100.0 * float(wrong.any(axis=1).mean()), 100.0 * float(wrong.mean())


def made(machine: str, kernel: str, C: float, full: bool) -> Any:
    """Return an unfitted machine."""
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
    from sklearn.svm import SVC

    gamma = "scale"
    if machine == "independent":
        return MultiOutputClassifier(SVC(kernel=kernel, C=C / 10, gamma=gamma))
    if machine == "chain":
        return ClassifierChain(
            SVC(kernel=kernel, C=C / 10, gamma=gamma), order="random", random_state=0
        )
    options: dict[str, Any] = {"kernel": kernel, "C": C, "gamma": gamma, "random_state": 0}
    options |= {"tol": 1e-3 if full else 1e-2, "max_outer": 100 if full else 40}
    if machine == "random trees":
        return structured.RandomSpanningTreeMultiLabel(**options)
    loss = "zero_one" if machine == "zero-one" else "hamming"
    return structured.SpanningTreeMultiLabel(loss=loss, **options)


yeasts = PAPER.section(seeds=SEEDS, unit="%", stand_in=PARTS)


@yeasts.claim("Yeast, linear kernel, Hamming training: wrong label sets.", 77.3, "Table 4.2")
@within(3.0, because="three standard errors of a share over five parts of 480 rows")
def yeast_label_sets(run: Run) -> float:
    return yeast_losses("trees", "linear", run.seed, run.full)[0]


@yeasts.claim("Yeast, linear kernel, Hamming training: wrong labels.", 19.3, "Table 4.3")
@within(0.7, because="three standard errors over five parts of 480 rows")
def yeast_labels(run: Run) -> float:
    return yeast_losses("trees", "linear", run.seed, run.full)[1]


@yeasts.rows(
    {
        "independent": {
            "published": 8.6,
            "says": "Yeast: fewer wrong label sets than linear SVMs for each label.",
        },
        "random trees": {
            "published": 0.4,
            "says": "Yeast: fewer wrong label sets than random trees of equal weight.",
        },
    },
    prefix="yeast-over-",
    where="Table 4.2",
    kind="ordering",
    unit="points",
    expect=BETTER,
)
def yeast_over(run: Run, row: str) -> float:
    theirs = yeast_losses(row, "linear", run.seed, run.full)[0]
    return theirs - yeast_losses("trees", "linear", run.seed, run.full)[0]


@yeasts.claim(
    "Yeast: training for the Hamming loss gives fewer wrong label sets than for the zero-one loss."
)
@stated(4.6, "Table 4.2", unit="points", kind="ordering", expect=BETTER)
def yeast_hamming_over_zero_one(run: Run) -> float:
    plain = yeast_losses("trees", "linear", run.seed, run.full)[0]
    return yeast_losses("zero-one", "linear", run.seed, run.full)[0] - plain


@yeasts.claim(
    "Yeast, RBF kernels throughout: points of wrong label sets fewer than a chain of SVMs."
)
@stated("not tried", "not in the thesis", unit="points", kind="own", expect=BETTER)
def yeast_rbf_over_chain(run: Run) -> float:
    found = {
        name: yeast_losses(name, "rbf", run.seed, run.full)
        for name in ("trees", "independent", "chain")
    }
    shown = ", ".join(f"{name} {a:.1f} | {b:.1f}" for name, (a, b) in found.items())
    run.note(f"wrong label sets | labels: {shown}, published (linear) 77.3 | 19.3")
    return found["chain"][0] - found["trees"][0]


@yeasts.claim(
    "Yeast, RBF kernels, trees trained for whole label sets: points of wrong label sets fewer than "
    "a chain of SVMs."
)
@stated("not tried", "not in the thesis", unit="points", kind="own", expect=BETTER)
def yeast_rbf_zero_one_over_chain(run: Run) -> float:
    found = {name: yeast_losses(name, "rbf", run.seed, run.full) for name in ("zero-one", "chain")}
    shown = ", ".join(f"{name} {a:.1f} | {b:.1f}" for name, (a, b) in found.items())
    run.note(f"wrong label sets | labels: {shown}")
    return found["chain"][0] - found["zero-one"][0]


@PAPER.figure("Pairs of labels by weight, and the planted chain they were drawn from (orange)")
def label_graph():
    model, _, _, edges = chain_fit(0)
    return plot.plot_label_graph(model.edge_weights_, true_edges=edges).figure


@PAPER.figure("Share of label sets that are certified, by the length of the trees' lists")
def certified():
    model, X, _, _ = chain_fit(0)
    return plot.plot_certified_share(model, X).figure


@PAPER.figure("The duality gap of each round")
def gaps():
    return plot.plot_tree_gaps(chain_fit(0)[0]).figure
