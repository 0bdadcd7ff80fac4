"""Oracles: scikit-learn's KernelPCA, and the objective written out as the thesis defines it."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel

from octavo.kernel import (
    KnowledgeKernelPCA,
    make_hidden_clusters,
    map_distortion,
    minimize_quadratic_on_sphere,
)

BOTH = pytest.mark.parametrize("variant", ["variance", "norm"])
PLACES = {0: (0.4, -0.1), 3: (-0.2, 0.3), 7: (0.1, None)}
LINKS = [(1, 2, 1), (4, 9, -1), (5, 6, -1, 0)]
LABELS = {2: 1, 8: -1, 10: (1, -1)}


def samples(n=12, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def centred(K):
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


def up_to_sign(A, B):
    """Return the largest difference of columns, each taken with the better sign."""
    return max(min(np.abs(a - b).max(), np.abs(a + b).max()) for a, b in zip(A.T, B.T))


# --- no constraints ------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("orthogonality", ["hard", "soft"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_without_constraints_it_is_kernel_pca(variant, orthogonality, kernel):
    X, new = samples(40, 5), samples(7, 5, seed=1)
    model = KnowledgeKernelPCA(3, kernel=kernel, variant=variant, orthogonality=orthogonality)
    peer = KernelPCA(3, kernel=kernel).fit(X)
    Z = model.fit_transform(X)
    assert up_to_sign(Z, peer.transform(X)) < 1e-8
    assert np.allclose(model.transform(X), Z, atol=1e-10)
    assert up_to_sign(model.transform(new), peer.transform(new)) < 1e-8
    assert np.allclose(Z, model.baseline_, atol=1e-10)
    assert model.hard_case_.all()


def test_linear_kernel_is_pca():
    X = samples(30, 4)
    Z = KnowledgeKernelPCA(3, kernel="linear").fit_transform(X)
    assert up_to_sign(Z, PCA(3).fit_transform(X)) < 1e-10


def test_zero_strengths_are_no_constraints():
    X = samples(20)
    zero = KnowledgeKernelPCA(lambda_place=0, lambda_link=0, lambda_label=0)
    Z = zero.fit_transform(X, placements=PLACES, links=LINKS, labels=LABELS)
    assert np.allclose(Z, zero.baseline_, atol=1e-12)


def test_an_eigenvalue_far_above_the_next_is_no_problem_when_orthogonality_is_hard():
    X = samples(30, 3) * [1e3, 1.0, 0.1]
    Z = KnowledgeKernelPCA(3, kernel="linear").fit_transform(X)
    assert up_to_sign(Z, PCA(3).fit_transform(X)) < 1e-8


# --- the objective as it is defined --------------------------------------------------------------


def neighbour_graph(K, k):
    """Return the symmetrised, row-normalised weights of the k nearest, by loops."""
    n = len(K)
    G = np.zeros((n, n))
    for i in range(n):
        apart = [(K[i, i] + K[j, j] - 2 * K[i, j], j) for j in range(n) if j != i]
        near = [j for _, j in sorted(apart)[:k]]
        for j in near:
            G[i, j] = K[i, j] / sum(K[i, m] for m in near)
    return (G + G.T) / 2


def penalty(z, s, G, lam, placements, links, labels, average=True):
    """Return Ω of Section 2.3.1.1 at the values z of a component."""
    placed = [(i, at[s]) for i, at in placements.items() if at[s] is not None]
    pairs = [(i, j, sign) for i, j, sign, *c in links if not c or c[0] == s]
    classes = {i: (v if np.ndim(v) else (v, 0))[s] for i, v in labels.items()}
    classes = {i: v for i, v in classes.items() if v}
    total = 0.0
    if placed:
        total += lam[0] * sum((z[i] - y) ** 2 for i, y in placed) / (len(placed) if average else 1)
    if pairs:
        apart = sum(sign * (z[i] - z[j]) ** 2 for i, j, sign in pairs)
        total += lam[1] * apart / (len(pairs) if average else 1)
    if classes:
        n = len(z)
        others = [i for i in range(n) if i not in classes]
        quadratic = sum(z[i] * (G[i] @ z) for i in others) / (len(others) if average else n)
        linear = sum(y * (G[i] @ z) for i, y in classes.items()) / (len(classes) if average else 1)
        total -= lam[2] * (quadratic + linear)
    return total


class Objective:
    """Eq. (2.11) or (2.10) of one component, in orthonormal coordinates of the range of K."""

    def __init__(self, K, variant, radius, penalty, before, soft=None):
        values, U = np.linalg.eigh(centred(K))
        self.p, self.U = values[1:], U[:, 1:]
        self.variant, self.radius, self.penalty, self.soft = variant, radius, penalty, soft
        self.before = before  # coefficients α of earlier components

    def values(self, c):
        return self.U @ (c if self.variant == "variance" else np.sqrt(self.p) * c)

    def __call__(self, c):
        z, n = self.values(c), len(self.U)
        alpha = self.U @ ((self.U.T @ z) / self.p)
        main = z @ alpha if self.variant == "variance" else -(z @ z) / n
        inner = sum((z @ a) ** 2 for a in self.before)
        return main + self.penalty(z) + (self.soft or 0.0) * inner

    def best(self, n_starts=5):
        """Minimise on the sphere, orthogonal to what came before unless that is soft."""
        size = len(self.p)
        free = np.eye(size)
        if self.before and self.soft is None:
            stretch = 1.0 if self.variant == "variance" else np.sqrt(self.p)
            L = np.column_stack([(self.U.T @ a) * stretch for a in self.before])
            free = np.linalg.qr(L, mode="complete")[0][:, L.shape[1] :]
        found = []
        for w in np.random.default_rng(0).standard_normal((n_starts, free.shape[1])):
            result = minimize(
                lambda w: self(self.radius * free @ w / np.linalg.norm(w)), w, tol=1e-14
            )
            found.append(result.fun)
        return min(found)


@BOTH
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("orthogonality", ["hard", "soft"])
def test_components_minimise_the_objective_as_defined(variant, average, orthogonality):
    X = samples(12)
    K = rbf_kernel(X, gamma=0.4)
    lam = (2.0, 0.7, 3.0)
    model = KnowledgeKernelPCA(
        gamma=0.4,
        variant=variant,
        average=average,
        orthogonality=orthogonality,
        n_neighbors=3,
        lambda_orth=50.0,
        lambda_place=lam[0],
        lambda_link=lam[1],
        lambda_label=lam[2],
    ).fit(X, placements=PLACES, links=LINKS, labels=LABELS)
    G = neighbour_graph(K, 3)
    inverse = np.linalg.pinv(centred(K), rtol=None, hermitian=True)
    before = []
    for s in range(2):
        objective = Objective(
            K,
            variant,
            model.radii_[s],
            lambda z, s=s: penalty(z, s, G, lam, PLACES, LINKS, LABELS, average),
            before,
            50.0 if orthogonality == "soft" else None,
        )
        z = model.embedding_[:, s]
        c = objective.U.T @ z
        c = c if variant == "variance" else c / np.sqrt(objective.p)
        assert np.linalg.norm(c) == pytest.approx(model.radii_[s])
        assert np.allclose(objective.values(c), z, atol=1e-10)
        # BFGS with finite differences stops at about the square root of rounding, from above.
        best = objective.best()
        assert objective(c) <= best + 1e-9
        assert objective(c) == pytest.approx(best, abs=1e-6)
        before.append(inverse @ z)
    if orthogonality == "hard":
        assert before[0] @ centred(K) @ before[1] == pytest.approx(0.0, abs=1e-9)


@BOTH
@pytest.mark.parametrize("kind", ["placements", "links", "labels", "all"])
def test_solvers_agree(variant, kind):
    X = samples(25, 4)
    given_ = {"placements": PLACES, "links": LINKS, "labels": LABELS}
    given_ = given_ if kind == "all" else {kind: given_[kind]}
    model = KnowledgeKernelPCA(3, variant=variant, lambda_link=0.5, lambda_label=5.0)
    if "placements" in given_:
        given_["placements"] = {i: (*at, None) for i, at in PLACES.items()}
    if "labels" in given_:
        given_["labels"] = {2: 1, 8: -1}
    direct = model.fit(X, **given_).embedding_
    assert model.kkt_residuals_.max() < 1e-10
    iterative = model.set_params(solver="cg").fit(X, **given_).embedding_
    assert np.allclose(direct, iterative, atol=1e-7)


def test_equals_the_sphere_solver_on_the_explicit_problem():
    # Eq. (2.12) with its matrices, in the space of the kernel.
    X = samples(30, 4)
    K = rbf_kernel(X, gamma=0.2)
    values, U = np.linalg.eigh(centred(K))
    U, values = U[:, 1:], values[1:]
    rows, y = [0, 4, 9], np.array([0.3, -0.2, 0.5])
    A = np.zeros((30, 30))
    A[rows, rows] = 2.0 / 3
    S = U.T @ (np.linalg.pinv(centred(K), rtol=None, hermitian=True) + A) @ U
    b = U.T @ (A[:, rows] @ y)
    found = minimize_quadratic_on_sphere(S, b, np.sqrt(values[-1]), tol=1e-8)
    model = KnowledgeKernelPCA(1, gamma=0.2, lambda_place=2.0)
    model.fit(X, placements=(rows, y))
    assert np.allclose(model.embedding_[:, 0], U @ found.z, atol=1e-7)
    assert model.multipliers_[0] == pytest.approx(found.multiplier, rel=1e-6)


# --- limits --------------------------------------------------------------------------------------


@BOTH
def test_soft_placements_become_hard_ones(variant):
    X = samples(25, 4)
    hard = KnowledgeKernelPCA(variant=variant)
    rows, places = [0, 5, 11], np.array([[0.3, 0.1], [-0.2, 0.2], [0.1, -0.3]])
    hard.fit(X, placements=(rows, places, [True] * 3))
    assert np.allclose(hard.embedding_[rows], places, atol=1e-10)
    gaps = []
    for strength in (1e2, 1e4, 1e6, 1e8):
        soft = KnowledgeKernelPCA(variant=variant, lambda_place=strength)
        soft.fit(X, placements=dict(zip(rows, places.tolist())))
        gaps.append(np.abs(soft.embedding_ - hard.embedding_).max())
    # The gap falls as 1 / strength.
    assert gaps[-1] < 1e-5
    assert all(after < 0.05 * before for before, after in pairwise(gaps[1:]))


def test_hard_and_soft_placements_mix():
    X = samples(25, 4)
    model = KnowledgeKernelPCA()
    model.fit(X, placements=([0, 5], [[0.3, 0.1], [np.nan, 0.5]], [True, False], [1.0, 2.0]))
    assert np.allclose(model.embedding_[0], [0.3, 0.1], atol=1e-10)
    assert model.constraint_residuals_["placements"][5] > 1e-3
    assert model.constraint_residuals_["placements"][0] < 1e-9


def test_must_links_join_and_cannot_links_part():
    X = samples(25, 4)
    distances = []
    for sign in (1, None, -1):
        model = KnowledgeKernelPCA(lambda_link=100.0)
        model.fit(X, links=None if sign is None else [(0, 1, sign)])
        distances.append(np.linalg.norm(model.embedding_[0] - model.embedding_[1]))
    assert distances[0] < 0.05 * distances[1]
    assert distances[2] > 2 * distances[1]


def test_weights_count_a_placement_so_many_times():
    # With average=False a weight of 2 is the strength twice, of which half is added by another.
    X = samples(20)
    model = KnowledgeKernelPCA(average=False)
    double = model.fit_transform(X, placements=([4], [[0.5, 0.5]], [False], [2.0]))
    strong = KnowledgeKernelPCA(average=False, lambda_place=2.0)
    assert np.allclose(double, strong.fit_transform(X, placements={4: (0.5, 0.5)}), atol=1e-12)


def test_anchor_keeps_the_map_from_turning():
    X = samples(60, 4)
    plain = KnowledgeKernelPCA(average=False)
    i = int(np.argmax(plain.fit(X).baseline_[:, 0]))
    across = {i: (-0.1, None)}
    turned = plain.fit(X, placements=across)
    assert turned.embedding_[:, 0] @ turned.baseline_[:, 0] < 0
    held = plain.set_params(anchor=5.0).fit(X, placements=across)
    assert held.embedding_[:, 0] @ held.baseline_[:, 0] > 0
    assert np.allclose(plain.fit_transform(X), plain.baseline_, atol=1e-10)


def test_pseudo_inverse_laplacian_is_the_spectral_graph_transducer():
    # K = L⁺ and placements of ±γ: min zᵀLz + C Σ (zᵢ − yᵢ)² over zᵀ1 = 0, zᵀz = n.
    X, y = make_blobs([20, 20], cluster_std=1.0, random_state=0)
    W = neighbour_graph(rbf_kernel(X, gamma=0.3), 5)
    laplacian = np.diag(W.sum(axis=1)) - W
    labelled, target = [0, 1, 20, 21], np.where(y[[0, 1, 20, 21]] == 1, 1.0, -1.0)
    model = KnowledgeKernelPCA(
        1, kernel="precomputed", radius=np.sqrt(40.0), lambda_place=4.0, average=True
    ).fit(np.linalg.pinv(laplacian, rtol=None, hermitian=True), placements=(labelled, target))
    C = np.zeros((40, 40))
    C[labelled, labelled] = 1.0
    b = np.zeros(40)
    b[labelled] = target
    found = minimize_quadratic_on_sphere(
        laplacian + C, b, np.sqrt(40.0), np.ones((40, 1)), [0.0], tol=1e-8
    )
    assert np.allclose(model.embedding_[:, 0], found.z, atol=1e-6)


# --- low rank ------------------------------------------------------------------------------------


@BOTH
def test_all_landmarks_give_the_whole_kernel(variant):
    X, new = samples(30, 6), samples(5, 6, seed=1)
    given_ = {"placements": PLACES, "links": LINKS, "labels": LABELS}
    full = KnowledgeKernelPCA(gamma=0.3, variant=variant).fit(X, **given_)
    low = KnowledgeKernelPCA(gamma=0.3, variant=variant, low_rank=30).fit(X, **given_)
    assert np.allclose(full.embedding_, low.embedding_, atol=1e-6)
    assert np.allclose(full.transform(new), low.transform(new), atol=1e-6)
    assert np.allclose(low.transform(X), low.embedding_, atol=1e-9)


def test_features_of_a_transformer():
    X = samples(50, 4)
    for low_rank in (RBFSampler(gamma=0.2, n_components=40, random_state=0),
                     Nystroem(gamma=0.2, n_components=20, random_state=0)):  # fmt: skip
        model = KnowledgeKernelPCA(low_rank=low_rank).fit(X, placements={0: (0.5, 0.5)})
        linear = KnowledgeKernelPCA(kernel="linear")
        features = low_rank.fit_transform(X)
        linear.fit(features, placements={0: (0.5, 0.5)})
        assert np.allclose(model.embedding_, linear.embedding_, atol=1e-8)
        assert np.allclose(model.transform(X), model.embedding_, atol=1e-9)
        assert model.low_rank is low_rank


def test_low_rank_of_a_precomputed_kernel():
    X = samples(40, 4)
    K = rbf_kernel(X, gamma=0.3)
    ours = KnowledgeKernelPCA(kernel="precomputed", low_rank=15, random_state=3)
    rows = KnowledgeKernelPCA(gamma=0.3, low_rank=15, random_state=3)
    given_ = {"placements": {0: (0.3, 0.2)}, "links": [(1, 2, -1)]}
    assert np.allclose(ours.fit_transform(K, **given_), rows.fit_transform(X, **given_), atol=1e-8)
    assert np.allclose(ours.transform(K), ours.embedding_, atol=1e-9)


def test_alphas_are_the_coefficients_of_the_map():
    X = samples(25, 4)
    model = KnowledgeKernelPCA(gamma=0.3).fit(X, placements=PLACES)
    K = centred(rbf_kernel(X, gamma=0.3))
    assert np.allclose(K @ model.alphas_, model.embedding_, atol=1e-10)


# --- invariances ---------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_permuting_the_points_permutes_the_map(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3))
    order = rng.permutation(20)
    where = np.argsort(order)  # old row i is new row where[i]
    model = KnowledgeKernelPCA(lambda_label=3.0, n_neighbors=4)
    Z = model.fit_transform(X, placements=PLACES, links=LINKS, labels=LABELS)
    turned = model.fit_transform(
        X[order],
        placements={int(where[i]): at for i, at in PLACES.items()},
        links=[(int(where[i]), int(where[j]), *rest) for i, j, *rest in LINKS],
        labels={int(where[i]): v for i, v in LABELS.items()},
    )
    assert np.allclose(turned, Z[order], atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_turning_the_data_changes_nothing(kernel):
    X = samples(20, 4)
    Q = np.linalg.qr(samples(4, 4, seed=2))[0]
    model = KnowledgeKernelPCA(kernel=kernel)
    Z = model.fit_transform(X, placements=PLACES)
    assert np.allclose(model.fit_transform(X @ Q, placements=PLACES), Z, atol=1e-8)


def test_sparse_input():
    X = sp.random(40, 20, density=0.3, random_state=0, format="csr")
    for kernel in ("rbf", "linear", "cosine"):
        model = KnowledgeKernelPCA(kernel=kernel)
        Z = model.fit_transform(X, placements=PLACES)
        assert np.allclose(Z, model.fit_transform(X.toarray(), placements=PLACES), atol=1e-8)
        assert np.allclose(model.fit(X).transform(X[:3]), model.transform(X.toarray()[:3]))


def test_precomputed_and_callable_kernels():
    X, new = samples(20), samples(4, seed=9)
    named = KnowledgeKernelPCA(gamma=0.5).fit(X, placements=PLACES)
    called = KnowledgeKernelPCA(kernel=rbf_kernel, kernel_params={"gamma": 0.5})
    called.fit(X, placements=PLACES)
    given_ = KnowledgeKernelPCA(kernel="precomputed")
    given_.fit(rbf_kernel(X, gamma=0.5), placements=PLACES)
    assert np.allclose(named.embedding_, called.embedding_, atol=1e-9)
    assert np.allclose(named.embedding_, given_.embedding_, atol=1e-9)
    assert np.allclose(named.transform(new), given_.transform(rbf_kernel(new, X, gamma=0.5)))


# --- what it is for ------------------------------------------------------------------------------


def purity(Z, cluster):
    found = KMeans(3, n_init=10, random_state=0).fit_predict(Z)
    return sum(np.bincount(cluster[found == k]).max(initial=0) for k in range(3)) / len(Z)


@pytest.mark.parametrize("seed", range(3))
def test_six_placements_show_three_hidden_clusters(seed):
    X, cluster = make_hidden_clusters(60, random_state=seed)
    plain = KnowledgeKernelPCA(kernel="linear").fit(X)
    placements = {}
    for k, height in enumerate((8.0, 0.0, -8.0)):
        rows = np.flatnonzero(cluster == k)
        apart = np.linalg.norm(X[rows, None] - X[rows], axis=2)
        for row in rows[list(np.unravel_index(apart.argmax(), apart.shape))]:
            placements[int(row)] = (height, plain.baseline_[row, 0])
    steered = KnowledgeKernelPCA(kernel="linear", lambda_place=1e3)
    Z = steered.fit_transform(X, placements=placements)
    assert purity(Z[:, :1], cluster) > 0.99
    assert purity(plain.embedding_, cluster) < 0.55


def test_labels_turn_the_first_component_to_the_classes():
    # Four clusters; most variance lies between the left and the right ones, the classes are
    # the upper and the lower ones. A label in each cluster is enough.
    centres = np.array([[0, 0], [6, 0], [0, 2.5], [6, 2.5]])
    X, cluster = make_blobs(100, centers=centres, cluster_std=0.4, random_state=0)
    y = np.where(cluster < 2, 1, -1)
    labels = {int(np.flatnonzero(cluster == k)[0]): (1 if k < 2 else -1) for k in range(4)}
    model = KnowledgeKernelPCA(1, gamma=0.5, lambda_label=100.0)
    plain, steered = (model.fit_transform(X, labels=given_)[:, 0] for given_ in (None, labels))
    assert np.mean(np.sign(steered) == y) > 0.99
    assert abs(np.mean(np.sign(plain) == y) - 0.5) < 0.1


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"placements": {99: (0, 0)}}, "numbered 0 to 11; got 99"),
        ({"placements": {-1: (0, 0)}}, "integer >= 0; got -1"),
        ({"placements": {0: (0,)}}, "2 coordinate"),
        ({"placements": {0: (np.inf, 0)}}, "finite"),
        ({"placements": {0: (None, None)}}, "finite coordinate"),
        ({"placements": {0: ("a", 0)}}, "must be a number"),
        ({"placements": [1, 2]}, "dictionary"),
        ({"placements": ([0, 0], [[0, 0], [1, 1]])}, "point 0 twice"),
        ({"placements": ([0, 1], [[0, 0]])}, "different lengths"),
        ({"placements": ([0], [[0, 0]], [False], [-1.0])}, "weight"),
        ({"links": [(0, 1, 2)]}, "[+]1 .must. or -1 .cannot., got 2"),
        ({"links": [(0, 0, 1)]}, "two points"),
        ({"links": [(0, 1)]}, "i, j, sign"),
        ({"links": [(0, 1, 1, 7)]}, "below 2, got 7"),
        ({"labels": {0: 2}}, "must be [+]1 or -1.*got 2"),
        ({"labels": {0: 0}}, "not all 0"),
        ({"labels": [1, 0]}, "one entry a sample .12."),
        ({"labels": np.full(12, 3)}, "must be [+]1 or -1"),
    ],
)
def test_bad_constraints(given_, words):
    with pytest.raises(ValueError, match=words):
        KnowledgeKernelPCA().fit(samples(), **given_)


def test_contradictory_hard_placements():
    X = samples()
    X[1] = X[0]
    model = KnowledgeKernelPCA()
    with pytest.raises(ValueError, match="Contradictory placements"):
        model.fit(X, placements=([0, 1], [[0.1, 0.1], [0.2, 0.1]], [True, True]))
    model.fit(X, placements=([0, 1], [[0.1, 0.1], [0.1, 0.1]], [True, True]))
    assert np.allclose(model.embedding_[:2], 0.1)
    model.fit(X, placements=([0, 1], [[0.1, 0.1], [0.2, 0.1]], [False, True]))
    assert np.allclose(model.embedding_[0], model.embedding_[1], atol=1e-9)


def test_hard_placements_beyond_the_radius_name_the_radius_they_need():
    X = samples(12)
    model = KnowledgeKernelPCA(1, gamma=0.4)
    with pytest.raises(ValueError, match="radius of at least") as error:
        model.fit(X, placements=([0, 1], [50.0, 20.0], [True, True]))
    least = float(str(error.value).split("at least ")[1].split(",")[0])
    assert least >= np.hypot(50.0, 20.0)
    model.set_params(radius=least * 1.001)
    model.fit(X, placements=([0, 1], [50.0, 20.0], [True, True]))
    assert model.embedding_[:2, 0] == pytest.approx([50.0, 20.0])


def test_hard_placements_that_leave_nothing_free():
    # Two features: a plane. One hard placement and orthogonality fix the second component.
    X = samples(12, 2)
    model = KnowledgeKernelPCA(kernel="linear")
    with pytest.raises(ValueError, match="leave nothing of a component free"):
        model.fit(X, placements=([0], [[0.3, 0.1]], [True]))
    model.fit(X, placements=([0], [[0.3, np.nan]], [True]))
    assert model.embedding_[0, 0] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"radius": [1.0, -1.0]}, "positive number or one a component"),
        ({"radius": [1.0]}, "one a component .2."),
        ({"n_components": 30}, "rank of the centred kernel"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        KnowledgeKernelPCA(**params).fit(samples())


def test_samples_without_a_map():
    with pytest.raises(ValueError, match="cannot tell any two samples apart"):
        KnowledgeKernelPCA().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="square"):
        KnowledgeKernelPCA(kernel="precomputed").fit(np.ones((5, 2)))


def test_a_component_that_is_not_solved_warns():
    with pytest.warns(ConvergenceWarning, match="KKT residual"):
        KnowledgeKernelPCA(tol=1e-30).fit(samples(), placements=PLACES)


def test_distortion():
    Z = samples(10, 2)
    assert map_distortion(Z, Z) == 0.0
    assert map_distortion(3 * Z + [1.0, 0.0], 3 * Z, Z) == pytest.approx(
        3 * map_distortion(3 * Z + [1.0, 0.0], 3 * Z)
    )
    with pytest.raises(ValueError, match="one shape"):
        map_distortion(Z, Z[:5])
    with pytest.raises(ValueError, match="coincide"):
        map_distortion(Z, np.zeros((10, 2)))


def test_a_kernel_that_knows_no_neighbours_still_has_a_map():
    # every eigenvalue of the centred identity is one: LAPACK's subset of a cluster came back empty
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = KnowledgeKernelPCA(kernel="rbf", gamma=1e9).fit(X)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=0), 1.0, rtol=1e-9)
