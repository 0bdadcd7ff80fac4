"""Distances in the place of points: the same answers as from the points themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from octavo.cluster import LevelSetSpectralClustering
from octavo.data import make_noisy_moons


@pytest.fixture(scope="module")
def moons():
    X, _ = make_noisy_moons(300, 60, random_state=0)
    return X, cdist(X, X)


def pair_of_models(X, D, **options):
    density = np.exp(-0.5 * (D / 0.15) ** 2).sum(axis=1)
    known = {"density": lambda P: density[: P.shape[0]], "drop_fraction": 0.2, "random_state": 0}
    points = LevelSetSpectralClustering(2, **known, **options).fit(X)
    given = LevelSetSpectralClustering(2, metric="precomputed", **known, **options)
    return points, given


@pytest.mark.parametrize("h", [0.25, 0.5, "auto"])
@pytest.mark.parametrize("assign_noise", [False, True])
def test_distances_of_points_give_what_points_give(moons, h, assign_noise):
    X, D = moons
    points, given = pair_of_models(X, D, h=h, assign_noise=assign_noise)
    given.fit(D)
    assert given.h_ == pytest.approx(points.h_)
    np.testing.assert_array_equal(given.labels_, points.labels_)
    np.testing.assert_array_equal(given.core_sample_indices_, points.core_sample_indices_)
    np.testing.assert_allclose(given.eigenvalues_[:3], points.eigenvalues_[:3], atol=1e-6)
    assert given.d_min_estimate_ == pytest.approx(points.d_min_estimate_)


def test_near_pairs_alone_are_enough(moons):
    X, D = moons
    points, given = pair_of_models(X, D, h=0.5)
    near = sp.csr_array(np.where(D <= 0.9, D, 0.0))  # the diagonal is not stored
    np.testing.assert_array_equal(given.fit(near).labels_, points.labels_)


@pytest.mark.parametrize("density", ["kde", "knn"])
def test_new_rows(moons, density):
    _, D = moons
    model = LevelSetSpectralClustering(2, metric="precomputed", density=density, h=0.5)
    model.set_params(random_state=0, drop_fraction=0.2).fit(D)
    np.testing.assert_array_equal(model.predict(D), model.labels_)  # a row's own eigenvector
    np.testing.assert_array_equal(model.predict(sp.csr_array(D)), model.labels_)
    core = model.core_sample_indices_
    vectors = model.eigenfunctions(D[core])
    similar = np.maximum(1.0 - (D[np.ix_(core, core)] / 0.5) ** 2, 0.0) ** 3
    np.testing.assert_allclose(
        similar @ vectors / similar.sum(axis=1, keepdims=True),
        vectors * model.eigenvalues_[: vectors.shape[1]],
        atol=1e-6,
    )


def test_scale_of_the_distances_does_not_matter(moons):
    _, D = moons
    found = [
        LevelSetSpectralClustering(metric="precomputed", drop_fraction=0.25, random_state=0)
        .fit(factor * D)
        .labels_
        for factor in (1.0, 1000.0)
    ]
    np.testing.assert_array_equal(*found)


def test_bad_distances(moons):
    X, D = moons
    model = LevelSetSpectralClustering(2, metric="precomputed")
    with pytest.raises(ValueError, match="square matrix of distances"):
        model.fit(X)
    wrong = D.copy()
    wrong[3, 4] = -1.0
    with pytest.raises(ValueError, match="row 3 has -1"):
        model.fit(wrong)
    wrong[3, 4] = D[3, 4] + 1.0
    with pytest.raises(ValueError, match="symmetric"):
        model.fit(wrong)
    wrong = D.copy()
    wrong[5, 5] = 1.0
    with pytest.raises(ValueError, match="row 5 to itself"):
        model.fit(wrong)
    with pytest.raises(ValueError, match="give a number"):
        model.set_params(bandwidth="cv").fit(D)
    with pytest.raises(ValueError, match="excess_mass"):
        model.set_params(bandwidth="scott", level="excess_mass").fit(D)
    apart = sp.block_diag([D[:20, :20], D[:20, :20], D[:20, :20]], format="csr")
    with pytest.raises(ValueError, match="no distances between them"):
        LevelSetSpectralClustering(2, metric="precomputed", h=9.0, drop_fraction=0.0).fit(apart)


def test_many_columns_by_products_are_exact():
    from octavo.cluster.level_sets.assignment import nearest_gap
    from octavo.engine.graphs.radius import radius_graph

    rng = np.random.RandomState(0)
    X, labels = rng.standard_normal((200, 20)), rng.randint(3, size=200)
    D = cdist(X, X)
    near = radius_graph(X, 5.5)
    assert near.nnz == (D <= 5.5).sum()
    np.testing.assert_allclose(near.toarray(), np.where(D <= 5.5, D, 0.0), rtol=1e-12)
    apart = np.where(labels[:, None] == labels, np.inf, D)
    assert nearest_gap(X, labels) == pytest.approx(apart.min(), rel=1e-12)
    assert nearest_gap(X, np.zeros(200, dtype=int)) == np.inf
