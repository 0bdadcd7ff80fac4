"""McFee and Lanckriet (2011): similarity spaces from comparisons and several kernels."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from octavo import data, metric, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, stated

PAPER = Paper(
    key="multimodal-similarity",
    title="Learning Multi-modal Similarity",
    authors="B. McFee and G. Lanckriet",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("noise-rejected", "beats-the-sum", "every-order-embeds"),
    tables={
        "Figure 5": "noise-rejected beats-the-* sum-degrades learning-helps",
        "Figures 6 and 7": "artists",
        "Figure 8": "artists",
        "Figure 9": "artists",
        "Table 2": "answers-left cleaning-costs-nothing",
        "Figure 10": "draws-do-not-matter",
        "Figure 11": "square-not-on-a-line",
        "Appendix A": "every-order-embeds",
        "Appendix B": "printed-gradient",
    },
    refutations={
        "printed-gradient": "The factor β/|C| of the loss is missing in the printed gradient."
    },
    methods=(
        Method(
            name="MultipleKernelPOE",
            room="metric",
            family="partial_order",
            task="learn a similarity space from comparisons of pairs and several kernels",
            summary="Embeds items so that answers of the form 'these two are more alike than "
            "those two' hold, from several kernels at once, after contradictory answers are "
            "removed.",
            use_when="People compared pairs or picked the odd one out, items have features of "
            "several kinds, and new items shall be placed too.",
            avoid_when="There are labels for all items, or distances as numbers.",
            instead="NeighborhoodComponentsAnalysis learns from labels; MDS from dissimilarities; "
            "nothing learns from comparisons.",
            peers=("metric-learn", "cblearn", "networkx"),
            plots=(
                "plot_kernel_shares",
                "plot_landmark_weights",
                "plot_view_accuracy",
                "plot_order_embedding",
                "plot_comparison_graph",
                "plot_beta_scores",
            ),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
SAMPLING = "sampling: the whole 95 % interval over seeds must lie on the claimed side"
DIGITS = (
    "scikit-learn's digits in place of ALOI's images: five views, five kernels of noise, a "
    "taxonomy of three groups by shape; 80 % of 200 items (quick: 100) train"
)
FULL_BETAS = tuple(10.0**power for power in range(-2, 7))  # Section 5.1
QUICK_BETAS = (10.0, 100.0, 1000.0)


def quiet(model, *args):
    """Fit a model whose warnings are part of what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args)


@lru_cache(maxsize=32)
def toy(seed: int, full: bool):
    """Return kernels, names, training and test items, and their comparisons."""
    views = data.make_digit_views(20 if full else 10, 5, random_state=seed)
    rng = np.random.RandomState(seed)
    n = len(views.labels)
    order = rng.permutation(n)
    train, test = np.sort(order[: n * 4 // 5]), np.sort(order[n * 4 // 5 :])
    C = data.make_taxonomy_comparisons(
        views.labels, views.groups, 40 if full else 20, random_state=seed
    )
    place = np.full(n, -1)
    place[train] = np.arange(len(train))
    inside = (place[C] >= 0).all(axis=1)
    # Tests are (i, j, i, k) with i new and j, k known; new items stand behind the others.
    tested = (place[C[:, 0]] < 0) & (place[C[:, 1]] >= 0) & (place[C[:, 3]] >= 0)
    behind = place.copy()
    behind[test] = len(train) + np.arange(len(test))
    return views, train, test, place[C[inside]], behind[C[tested]]


def spaces(views, train, test, chosen):
    """Return Gram matrices of the training items, and of test with training items."""
    kernels = [views.kernels[p] for p in chosen]
    return ([K[np.ix_(train, train)] for K in kernels], [K[np.ix_(test, train)] for K in kernels])


@lru_cache(maxsize=128)
def learned(seed: int, full: bool, chosen: tuple[int, ...], combine: str = "separate"):
    """Return the test accuracy and the kernel weights of a diagonal fit with β chosen."""
    views, train, test, C, tests = toy(seed, full)
    inner, cross = spaces(views, train, test, chosen)
    model = metric.MultipleKernelPOECV(
        "precomputed",
        "diagonal",
        FULL_BETAS if full else QUICK_BETAS,
        combine=combine,
        clean=False,  # consistent by construction, and drawn without redundant ones
        random_state=seed,
    )
    quiet(model, inner, C)
    return model.score(tests, cross), model.kernel_weights_


def native(seed: int, full: bool, p: int) -> float:
    """Return the test accuracy of a kernel's own distances."""
    views, train, test, _, tests = toy(seed, full)
    K = views.kernels[p][np.ix_(np.r_[train, test], np.r_[train, test])]
    own = np.diagonal(K)
    return metric.gauc_score(own[:, None] + own - 2.0 * K, tests)


REAL = (0, 1, 2, 3, 4)
ALL = tuple(range(10))

toys = PAPER.section(
    where="Section 5.1 and Figure 5", kind="ordering", seeds=SEEDS, stand_in=DIGITS
)


@toys.claim("MKPOE assigns negligible weight to random kernels", "negligible", kind="figure")
@at_most(0.01, because='"negligible" read as one percent of the regulariser')
def noise_rejected(run: Run) -> float:
    _, weights = learned(run.seed, run.full, ALL)
    return float(weights[5:].sum() / weights.sum())


@toys.claim("MKPOE is more accurate than the unweighted sum of kernels, learned too", 0.984 - 0.861)
@at_least(0.0, because=SAMPLING)
def beats_the_sum(run: Run) -> float:
    ours, theirs = learned(run.seed, run.full, ALL)[0], learned(run.seed, run.full, ALL, "sum")[0]
    run.note(f"accuracy {ours:.3f}, sum {theirs:.3f}")
    return ours - theirs


def best_single(run: Run) -> float:
    """Return the accuracy of the best of the five views after learning, judged on the tests."""
    return max(learned(run.seed, run.full, (p,))[0] for p in REAL)


@toys.claim(
    "MKPOE is more accurate than any single kernel after learning",
    0.984 - 0.951,
    expect=at_least(0.0, because=SAMPLING),
    full_seeds=tuple(range(15)),  # as many as five seeds said would decide
)
def beats_the_best_kernel(run: Run) -> float:
    ours, theirs = learned(run.seed, run.full, ALL)[0], best_single(run)
    run.note(f"accuracy {ours:.3f}, best kernel {theirs:.3f}")
    return ours - theirs


@toys.claim("The unweighted sum is less accurate than the best kernel, both learned", 0.951 - 0.861)
@at_least(0.0, because=SAMPLING)
def sum_degrades(run: Run) -> float:
    return best_single(run) - learned(run.seed, run.full, ALL, "sum")[0]


@toys.claim("Each view is more accurate after learning than in its native space", "higher")
@at_least(0.0, because=SAMPLING + "; the view that gains least")
def learning_helps(run: Run) -> float:
    return min(learned(run.seed, run.full, (p,))[0] - native(run.seed, run.full, p) for p in REAL)


NOISY = (
    "digits in place of aset400's artists: every third question of the taxonomy asked three times, "
    "a fifth of the answers turned round; the block view, full matrices, β = 1000"
)


@lru_cache(maxsize=64)
def noisy(seed: int, full: bool, steps: tuple[str, ...], draw: int = 0):
    """Return the test accuracy after some cleaning of contradictory answers."""
    views, train, test, C, tests = toy(seed, full)
    asked = np.repeat(C[::3], 3, axis=0)
    answers = data.flip_comparisons(asked, 0.2, random_state=seed)
    inner, cross = spaces(views, train, test, (3,))
    model = metric.MultipleKernelPOE(
        "precomputed", beta=1000.0, clean=steps, tol=1e-3, random_state=draw
    )
    return quiet(model, inner, answers).score(tests, cross)


STEPS = ("pairs", "acyclic", "reduce")
cleaning = PAPER.section(where="Section 5.2.4", seeds=SEEDS, stand_in=NOISY)


@cleaning.claim("Cleaning does not degrade the embedding", 0.716 - 0.715, kind="figure")
@at_least(-0.01, because="a point of accuracy, a quarter of the paper's deviation")
def cleaning_costs_nothing(run: Run) -> float:
    before, after = noisy(run.seed, run.full, ()), noisy(run.seed, run.full, STEPS)
    run.note(f"accuracy {before:.3f} with all answers, {after:.3f} cleaned")
    return after - before


@cleaning.claim("Which acyclic subset is drawn has little impact on the accuracy")
@stated(0.007, kind="figure")
@at_most(0.014, because="the largest standard deviation of the paper, and twice that")
def draws_do_not_matter(run: Run) -> float:
    draws = range(10 if run.full else 3)
    return float(np.std([noisy(run.seed, run.full, STEPS, draw) for draw in draws], ddof=1))


PAPER.not_measurable(
    "artists",
    "the aset400 answers and the artists' audio, tags and biographies are not among the data",
    "412 musicians, all kernels, full matrices: 0.795, with the best single kernel 0.777",
    stated(0.795, "Section 5.2.3, Figures 6 to 9"),
)

PAPER.not_measurable(
    "answers-left",
    "how many answers contradict each other is a property of aset400's, which are not here",
    "Cleaning leaves 4814.5 of 8951.3 comparisons",
    stated(4814.5, "Table 2"),
)

theory = PAPER.section(kind="theorem", seeds=SEEDS)


@theory.claim("Comparisons without cycles are satisfied with unit margins in n - 1 dimensions")
@stated(1.0, "Appendix A")
@at_least(1.0 - 1e-9, because="a theorem; the smallest margin, up to rounding")
def every_order_embeds(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    n = 30
    heights = rng.permutation(n * (n - 1) // 2)  # any total order of the pairs
    i, j = np.triu_indices(n, 1)
    a, b = rng.integers(len(i), size=(2, 600))
    a, b = a[a != b], b[a != b]
    low, high = np.where(heights[a] < heights[b], (a, b), (b, a))
    C = np.column_stack([i[low], j[low], i[high], j[high]])
    points = metric.partial_order_embedding(n, C)
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    return float((squared[C[:, 2], C[:, 3]] - squared[C[:, 0], C[:, 1]]).min())


@theory.claim("The sides and diagonals of a square cannot be ordered so on a line")
@stated("impossible", "Figure 11")
@at_most(0.99, because="the best share of eight comparisons over all orders on a line")
def square_not_on_a_line(run: Run) -> float:
    from itertools import permutations

    sides, diagonals = ((0, 1), (1, 2), (2, 3), (0, 3)), ((0, 2), (1, 3))
    C = np.array([[*s, *d] for s in sides for d in diagonals])
    rng, best = np.random.default_rng(run.seed), 0.0
    for order in permutations(range(4)):
        for gaps in rng.exponential(size=(200, 3)):
            x = np.empty(4)
            x[list(order)] = np.concatenate([[0.0], np.cumsum(gaps)])
            best = max(best, metric.gauc_score(np.abs(x[:, None] - x), C))
    return best


@theory.claim("The gradient of the objective is K + K (Σ E_ij - E_kl) K over violated comparisons")
@stated("equal", "Appendix B")
@at_most(1e-4, because="the relative error of a central difference along it")
def printed_gradient(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    X = rng.standard_normal((8, 3))
    K, beta = X @ X.T + np.eye(8), 100.0
    C = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [0, 2, 1, 3], [1, 4, 2, 5], [3, 6, 0, 7]])
    L = 0.05 * rng.standard_normal((8, 8))
    W = L @ L.T

    def apart(M):
        own = np.diagonal(K @ M @ K)
        D = own[:, None] + own - 2.0 * K @ M @ K
        return 1.0 + D[C[:, 0], C[:, 1]] - D[C[:, 2], C[:, 3]]

    def objective(M):
        return float(np.trace(M @ K)) + beta / len(C) * float(np.maximum(apart(M), 0.0).sum())

    E = np.zeros((8, 8))
    for i, j, k, l in C[apart(W) > 0.0]:
        for a, b, sign in ((i, j, 1.0), (k, l, -1.0)):
            e = np.eye(8)[a] - np.eye(8)[b]
            E += sign * np.outer(e, e)
    printed = K + K @ E @ K
    h = 1e-6 / np.linalg.norm(printed)
    slope = (objective(W + h * printed) - objective(W - h * printed)) / (2 * h)
    said = float(np.sum(printed**2))
    run.note("the factor β/|C| of the loss is missing in the printed gradient")
    return float(abs(slope - said) / abs(said))


@PAPER.figure("Shares of the kernels, and landmarks of each, for the digits (Figures 5 and 8)")
def landmarks():
    views, train, test, C, _ = toy(0, False)
    inner, _ = spaces(views, train, test, ALL)
    model = metric.MultipleKernelPOE("precomputed", "diagonal", beta=1000.0, clean=False)
    return plot.plot_landmark_weights(quiet(model, inner, C), views.names)
