"""Oglic (2018), Chapter 2: knowledge-based kernel principal component analysis."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from octavo import data, kernel, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, stated, within

PAPER = Paper(
    key="knowledge-kernel-pca",
    title="Knowledge-Based Kernel Principal Component Analysis (Constructive Approximation and "
    "Learning by Greedy Algorithms, Chapter 2)",
    authors="D. Oglic",
    year=2018,
    venue="PhD thesis, University of Bonn",
    headlines=("clusters-discovered", "clusters-hidden", "global-minimum"),
    tables={
        "Table 2.1": "g241c-hundred-labels g241c-ten-labels g241d-hundred-labels g241d-ten-labels "
        "g241c-beats-sgt digit1-labels usps-labels bci-labels text-labels coil-labels",
        "Figure 2.1": "stable-maps",
        "Figure 2.2": "flexible-maps",
        "Figure 2.3": "clusters-discovered clusters-discovered-in-the-plane clusters-hidden",
        "Figures 2.4 and 2.5": "[the cocktails of Paurat et al. are not at hand, and clouds of "
        "ingredients are judged by eye]",
        "Section 2.4": "global-minimum plain-kernel-pca",
        "Section 2.7": "closed-form-gradient",
    },
    refutations={
        "power-iteration": "Power iteration finds the eigenvalue of largest magnitude, which is "
        "not the smallest one of an indefinite matrix.",
    },
    methods=(
        Method(
            name="KnowledgeKernelPCA",
            room="kernel",
            family="steered",
            task="steer a two-dimensional picture of data by dragging points",
            summary="Kernel PCA that obeys: pin points, link or separate pairs, label a few; the "
            "whole map re-solves, globally optimal, in milliseconds.",
            use_when="An analyst knows where some points belong and wants a map of all of them "
            "that agrees, for any kernel and for points that come later.",
            avoid_when="There is nothing to say about the map, or a label for every sample.",
            instead="sklearn.decomposition.KernelPCA takes no constraints; "
            "sklearn.neighbors.NeighborhoodComponentsAnalysis needs labels for all samples.",
            peers=("scikit-learn KernelPCA", "scipy SLSQP"),
            plots=(
                "plot_steered_map",
                "plot_before_and_after",
                "plot_map_distortion",
                "plot_draggable_map",
            ),
            quadratic=True,
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
TEN = tuple(range(10))  # "all the reported results are averaged over ten runs"
TABLE = {  # Table 2.1: error in percent with 10 and with 100 labels
    "Digit1": (8.18, 1.96),
    "USPS": (19.87, 6.40),
    "BCI": (48.69, 29.25),
    "Text": (30.76, 24.98),
    "COIL": (17.51, 7.31),
}
G241 = {
    "c": "drawn anew by the benchmark's recipe, 1500 rows",
    "d": "drawn anew as the benchmark's book describes it: the thesis does not print the recipe",
}
DIGITS = "scikit-learn's digits in place of the benchmark"
solver = PAPER.section(kind="theorem", seeds=SEEDS)


def median_gamma(X) -> float:
    """Return γ of the Gaussian kernel whose bandwidth is the median distance."""
    from scipy.spatial.distance import pdist

    rows = X if len(X) <= 1000 else X[np.random.default_rng(0).permutation(len(X))[:1000]]
    return 0.5 / float(np.median(pdist(rows))) ** 2


@lru_cache(maxsize=4)
def digits(n: int):
    """Return a few of scikit-learn's digits, which stand in for the benchmark's data sets."""
    from sklearn.datasets import load_digits

    X = load_digits().data
    return X[np.random.default_rng(0).permutation(len(X))[:n]] / 16.0


# --- the solver ----------------------------------------------------------------------------------


@solver.claim("Without constraints the components are those of kernel PCA")
@stated("equal", "Sections 2.1 and 2.3")
@at_most(1e-8, because="an identity, exact up to rounding")
def plain_kernel_pca(run: Run) -> float:
    from sklearn.decomposition import KernelPCA

    X = np.random.default_rng(run.seed).standard_normal((200, 6))
    peer = KernelPCA(3, kernel="rbf").fit_transform(X)
    worst = 0.0
    for variant in ("variance", "norm"):
        ours = kernel.KnowledgeKernelPCA(3, variant=variant).fit_transform(X)
        gaps = [np.minimum(abs(a - b).max(), abs(a + b).max()) for a, b in zip(ours.T, peer.T)]
        worst = max(worst, *gaps)
    return float(worst)


@solver.claim("The indefinite quadratic is minimised on the sphere globally")
@stated("globally optimal", "Section 2.4")
@at_most(1e-8, because="rounding of the objective, whose values are of order 10")
def global_minimum(run: Run) -> float:
    from scipy.optimize import minimize

    rng = np.random.default_rng(run.seed)
    excess = []
    for _ in range(10):
        n = int(rng.integers(2, 13))
        S, b = rng.standard_normal((n, n)), rng.standard_normal(n)
        S, radius = S + S.T, float(rng.uniform(0.2, 3.0))
        ours = kernel.minimize_quadratic_on_sphere(S, b, radius).objective

        def value(w, S=S, b=b, radius=radius):
            u = w / np.linalg.norm(w)
            z = radius * u
            slope = 2 * radius * (S @ z - b)
            return z @ S @ z - 2 * b @ z, (slope - u * (u @ slope)) / np.linalg.norm(w)

        starts = rng.standard_normal((25, n))
        excess.append(ours - min(minimize(value, w, jac=True, tol=1e-12).fun for w in starts))
    run.note("excess over the best of 25 starts of BFGS, largest of ten problems of size 2 to 12")
    return float(max(excess))


@solver.claim("The secular iteration always converges in few iterations to machine precision")
@stated("few", "Section 2.5.1.1", unit="iterations", kind="figure")
@at_most(10, because='"few" read as at most ten')
def few_iterations(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    most = 0
    for _ in range(100):
        A = rng.standard_normal((30, 30))
        b = rng.standard_normal(30) * 10.0 ** rng.uniform(-3, 3)
        found = kernel.minimize_quadratic_on_sphere(A + A.T, b, 1.0)
        most = max(most, found.n_iter)
    run.note("the most of 100 random problems, linear terms over six orders of magnitude")
    return float(most)


@solver.claim("Roots after a rank-one change usually take 5 to 10 iterations")
@stated("5-10", "Section 2.6.2.1", unit="iterations", kind="figure")
@at_most(10, because="the upper end that the text gives, here for every root")
def rank_one_iterations(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    return float(kernel.rank_one_eigh(rng.random(300), None, rng.standard_normal(300)).n_iter)


@solver.claim("Power iteration on -S finds the smallest eigenvalue of S")
@stated("smallest eigenvalue", "Section 2.5.1.1")
@holds(because="the limit must be the smallest eigenvalue to 1 %")
def power_iteration(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    X = rng.standard_normal((60, 5))
    sigma = 1.0 / np.linalg.eigvalsh(np.exp(-((X[:, None] - X) ** 2).sum(2) / 10.0))
    U = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    S = (U * sigma) @ U.T
    v = rng.standard_normal(60)
    for _ in range(20_000):
        v = -S @ v
        v /= np.linalg.norm(v)
    limit, smallest = float(v @ S @ v), float(sigma.min())
    run.note(
        f"it converges to the eigenvalue of largest magnitude: {limit:.3g}, the smallest is "
        f"{smallest:.3g}; Lanczos for the smallest algebraic eigenvalue finds it"
    )
    return float(abs(limit - smallest) <= 0.01 * smallest)


@solver.claim("The hyper-parameter gradient has a closed form", "exact", "Section 2.7")
@at_most(1e-4, because="relative; central differences are good to about 1e-6")
def closed_form_gradient(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    X, y = rng.standard_normal((25, 3)), rng.standard_normal(10) * 0.3
    H = np.eye(25) - 1 / 25
    # A ridge makes the centred kernel invertible, as the text supposes it to be.
    K = H @ np.exp(-((X[:, None] - X) ** 2).sum(2) / 4.0) @ H + 0.01 * np.eye(25)
    A = np.diag(np.arange(25) < 5) / 5.0

    def solve(strength):
        S = np.linalg.inv(K) + strength**2 * A
        b = strength**2 * A[:, :5] @ y[:5]
        found = kernel.minimize_quadratic_on_sphere(S, b, 1.5, tol=1e-8)
        return S, b, found

    def loss(strength):
        return float(np.mean((solve(strength)[2].z[5:10] - y[5:]) ** 2))

    strength = 1.3
    S, b, found = solve(strength)
    z, P = found.z, S - found.multiplier * np.eye(25)
    iota = K[:, 5:10] @ (2 / 5 * (z[5:10] - y[5:]))
    nu = np.linalg.solve(P, z)

    def gradient(u):
        delta = u - (u @ z) / (nu @ z) * nu
        return 2 * delta @ (b / strength - strength * A @ z)

    right = gradient(np.linalg.solve(P, np.linalg.solve(K, iota)))
    printed = gradient(np.linalg.solve(K, np.linalg.solve(P, iota)))
    exact = (loss(strength + 1e-5) - loss(strength - 1e-5)) / 2e-5
    run.note(
        "with K solved first and S - µI second; in the order in which the text prints the two "
        f"systems the gradient is {printed / exact:.3g} times what it should be"
    )
    return abs(right - exact) / abs(exact)


# --- what it learns ------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def label_error(kind: str, n_labels: int, seed: int, full: bool) -> tuple[float, float]:
    """Return the test errors in percent of 1-NN on the tuned projection, and of its sign."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y = data.make_g241(kind, random_state=seed)
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.permutation(len(X))[:n_labels]
        if min(np.sum(y[rows] == 1), np.sum(y[rows] == -1)) >= 2:
            break
    model = kernel.KnowledgeKernelPCA(
        1,
        gamma=median_gamma(X),
        radius=np.sqrt(len(X)),
        low_rank=600 if full else 300,
        random_state=0,
    )
    tuner = kernel.KnowledgeKernelPCACV(
        model,
        params=("lambda_label", "radius"),
        loss="sq_hinge",
        max_iter=30,
        tol=1e-3,
        random_state=0,
    )
    z = tuner.fit(X, labels={int(i): int(y[i]) for i in rows}).embedding_
    others = np.setdiff1d(np.arange(len(X)), rows)
    nearest = KNeighborsClassifier(1).fit(z[rows], y[rows])
    by_sign = float(np.mean(np.sign(z[others, 0]) != y[others]))
    return 100.0 * float(np.mean(nearest.predict(z[others]) != y[others])), 100.0 * by_sign


labels = PAPER.section(where="Table 2.1", unit="%", seeds=SEEDS, full_seeds=TEN)
run_to_run = "a draw of the data and of the labels moves the error by that much"


@labels.rows(
    {
        f"{kind} {number}": {
            "name": f"g241{kind}-{word}-labels",
            "published": published,
            "stand_in": G241[kind],
            "expect": within(tolerance, because=run_to_run),
        }
        for kind, number, word, published, tolerance in (
            ("c", 100, "hundred", 12.41, 2.0),
            ("c", 10, "ten", 14.58, 4.0),
            ("d", 100, "hundred", 22.54, 4.0),
            ("d", 10, "ten", 43.79, 4.0),
        )
    },
    says="g241, kind and labels {row}: {published:g} % of the test rows are misclassified",
)
def g241_error(run: Run, row: str) -> float:
    kind, number = row.split()
    run.note(
        "Gaussian kernel with the median distance as bandwidth; strength and radius tuned on the "
        "labels by 5-fold squared hinge loss; 1-NN on the one-dimensional projection, tested on "
        f"the rows without labels; Nyström factor of rank {600 if run.full else 300}"
    )
    error, by_sign = label_error(kind, int(number), run.seed, run.full)
    run.note(f"seed {run.seed}: the sign of the projection errs in {by_sign:.1f} %")
    return error


@labels.claim("g241c with 100 labels: fewer errors than the spectral graph transducer, 17.41 %")
@stated(5.0, unit="points below it", kind="ordering", stand_in=G241["c"])
@at_least(0.0, because="below the published error of the rival")
def g241c_beats_sgt(run: Run) -> float:
    return 17.41 - g241_error(run, "c 100")


@labels.claim("g241c: 100 labels are needed, the first component without any errs by a point more")
@stated("not tried", kind="own")
@at_least(13.41, because="a point above the 12.41 % that the table has with labels")
def g241c_needs_labels(run: Run) -> float:
    X, y = data.make_g241("c", random_state=run.seed)
    z = kernel.KnowledgeKernelPCA(1, kernel="linear").fit_transform(X)[:, 0]
    wrong = float(np.mean(np.sign(z) != y))
    run.note("error of the sign of the first principal component, no label used but to name it")
    return 100.0 * min(wrong, 1.0 - wrong)


for _name, (_ten, _hundred) in TABLE.items():
    PAPER.not_measurable(
        f"{_name.lower()}-labels",
        "the semi-supervised learning benchmark is not at hand",
        f"{_name}: {_hundred} % of the test rows are misclassified with 100 labels "
        f"({_ten} % with 10)",
        stated(_hundred, "Table 2.1", unit="%"),
    )


# --- what it shows -------------------------------------------------------------------------------
pictures = PAPER.section(where="Section 2.9 and Figure 2.3", seeds=SEEDS, full_seeds=TEN)
pure = at_least(0.95, because="purity of 3-means; the clusters barely touch")


def purity(Z, cluster) -> float:
    """Return the share of points whose 3-means cluster is mostly theirs."""
    from sklearn.cluster import KMeans

    found = KMeans(3, n_init=10, random_state=0).fit_predict(Z)
    counts = [np.bincount(cluster[found == k]).max(initial=0) for k in range(3)]
    return float(sum(counts)) / len(cluster)


def six_placements(X, cluster, baseline):
    """Move the two most distant points of each cluster apart along the first axis."""
    placements = {}
    for k, side in enumerate((1.0, 0.0, -1.0)):
        rows = np.flatnonzero(cluster == k)
        apart = np.linalg.norm(X[rows, None] - X[rows], axis=2)
        for i in rows[list(np.unravel_index(apart.argmax(), apart.shape))]:
            placements[int(i)] = (side * 1.2 * baseline[:, 0].std(), baseline[i, 0])
    return placements


@lru_cache(maxsize=16)
def hidden(seed: int, full: bool):
    """Return three hidden clusters with their plain and their steered map."""
    X, cluster = data.make_hidden_clusters(300 if full else 100, random_state=seed)
    model = kernel.KnowledgeKernelPCA(kernel="linear", lambda_place=1000.0)
    baseline = model.fit(X).baseline_
    model.fit(X, placements=six_placements(X, cluster, baseline))
    return X, cluster, model


@pictures.claim("Six displacements discover three clusters that kernel PCA hides")
@stated("discovered", expect=pure)
def clusters_discovered(run: Run) -> float:
    _, cluster, model = hidden(run.seed, run.full)
    run.note("linear kernel; along the axis in which the six points were moved apart")
    return purity(model.embedding_[:, :1], cluster)


@pictures.claim(
    "Six displacements discover three clusters that kernel PCA hides; 3-means in the plane"
)
@stated("shown in a picture", kind="own", expect=pure)
def clusters_discovered_in_the_plane(run: Run) -> float:
    _, cluster, model = hidden(run.seed, run.full)
    run.note("linear kernel; the second axis keeps its variance and spreads every cluster")
    return purity(model.embedding_, cluster)


@pictures.claim("The clusters remain hidden in kernel PCA", "hidden")
@at_most(0.5, because="purity of 3-means; chance is a third and what it makes of it")
def clusters_hidden(run: Run) -> float:
    _, cluster, model = hidden(run.seed, run.full)
    run.note("the largest of the two axes and the plane")
    maps = (model.baseline_, model.baseline_[:, :1], model.baseline_[:, 1:])
    return max(purity(Z, cluster) for Z in maps)


def perturbed(X, fraction: float, seed: int, n_points: int = 10) -> tuple[float, float]:
    """Return distortion of the map and of the placements when these are perturbed."""
    from scipy.spatial.distance import pdist

    rng = np.random.default_rng(seed)
    model = kernel.KnowledgeKernelPCA(gamma=median_gamma(X), average=False)
    baseline = model.fit(X).baseline_
    unit = float(np.median(pdist(baseline)))
    rows = rng.permutation(len(X))[:n_points]
    at = baseline[rows][rng.permutation(n_points)]
    noise = rng.standard_normal(at.shape) * fraction * unit
    before = model.fit(X, placements=(rows.tolist(), at)).embedding_
    after = model.fit(X, placements=(rows.tolist(), at + noise)).embedding_
    moved = float(np.linalg.norm(noise, axis=1).mean()) / unit
    return kernel.map_distortion(after, before, baseline), moved


@pictures.claim("Small perturbations of control points perturb the map little")
@stated("stable", "Section 2.9 and Figure 2.1", stand_in=DIGITS)
@at_most(1.0, because="the map's distortion over that of the control points themselves")
def stable_maps(run: Run) -> float:
    run.note("ten points, perturbed by a tenth of the median")
    distortion, moved = perturbed(digits(600 if run.full else 200), 0.1, run.seed)
    run.note(f"seed {run.seed}: {distortion / moved:.2f}")
    return distortion / moved


def laplacian_kernel(X, n_neighbors: int = 10):
    """Return the pseudo-inverse Laplacian of the cosine neighbour graph."""
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, n_neighbors, metric="cosine").toarray()
    graph = np.maximum(graph, graph.T)
    return np.linalg.pinv(np.diag(graph.sum(axis=1)) - graph, hermitian=True)


def recovered(X, seed: int, counts) -> list[float]:
    """Return distortions to the Laplacian map as control points take their places in it."""
    from sklearn.metrics.pairwise import rbf_kernel

    parts = [rbf_kernel(X, gamma=median_gamma(X)), laplacian_kernel(X)]
    H = np.eye(len(X)) - 1 / len(X)
    parts = [H @ K @ H for K in parts]
    parts = [K / np.trace(K) * len(X) for K in parts]
    model = kernel.KnowledgeKernelPCA(kernel="precomputed", average=False, lambda_place=10.0)
    target = model.fit(parts[1]).baseline_
    K = parts[0] + parts[1]
    start = model.fit(K).baseline_
    target = target * (np.linalg.norm(start, axis=0) / np.linalg.norm(target, axis=0))
    order = np.random.default_rng(seed).permutation(len(X)).tolist()
    found = []
    for count in counts:
        rows = order[:count]
        Z = model.fit(K, placements=(rows, target[rows]) if rows else None).embedding_
        found.append(kernel.map_distortion(Z, target, start))
    return found


@pictures.claim("Few re-arranged points recover another kernel's map from a sum of kernels")
@stated("recovered", "Section 2.9 and Figure 2.2", stand_in=DIGITS)
@at_most(0.5, because="distortion left after 40 points, as a share of that before any")
def flexible_maps(run: Run) -> float:
    run.note("Gaussian plus Laplacian kernel, target Laplacian")
    first, last = recovered(digits(600 if run.full else 200), run.seed, (0, 40))
    return last / first


@PAPER.figure("Three hidden clusters: plain kernel PCA, and after six placements (Figure 2.3)")
def hidden_clusters():
    _, cluster, model = hidden(0, False)
    return plot.plot_before_and_after(model, color=cluster)[0].figure


@PAPER.figure("Distortion of the map as its control points are perturbed (compare Figure 2.1)")
def distortion_curves():
    fractions = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    X = digits(200)
    runs = [[perturbed(X, f, seed)[0] for f in fractions] for seed in range(3)]
    return plot.plot_map_distortion(
        fractions, {"digits": runs}, xlabel="perturbation of control points (median distances)"
    ).figure


@PAPER.figure("Recovering the Laplacian map from a sum of kernels (compare Figure 2.2)")
def recovery_curves():
    counts = [0, 5, 10, 20, 40]
    runs = [recovered(digits(200), seed, counts) for seed in range(3)]
    return plot.plot_map_distortion(
        counts, {"digits": runs}, xlabel="re-arranged control points"
    ).figure
