"""Bent mixtures, unknown dynamics and complex mixtures reduce to independent subspace analysis."""

import numpy as np
import pytest
from scipy.special import ndtri

from octavo.data import make_subspace_mixture
from octavo.decomposition import (
    ARIndependentSubspaceAnalysis,
    ComplexISA,
    IndependentSubspaceAnalysis,
    NonparametricARISA,
    PostNonlinearISA,
    amari_index,
    kernel_regression,
)
from octavo.decomposition.subspaces.complex_subspaces import complex_rows


def index_of(model, sample):
    return amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)


@pytest.fixture(scope="module")
def letters():
    return make_subspace_mixture("letters", n_samples=1000, random_state=2)


# Post-nonlinear


def test_post_nonlinear_is_isa_of_normal_scores(letters):
    X = letters.X[:300]
    ranks = np.argsort(np.argsort(X, axis=0), axis=0) + 1
    scores = ndtri(ranks / 301)
    model = PostNonlinearISA(subspace_dims=[2, 2, 2], random_state=0).fit(X)
    plain = IndependentSubspaceAnalysis(subspace_dims=[2, 2, 2], random_state=0).fit(scores)
    np.testing.assert_allclose(model.transform(X), plain.transform(scores), atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)


def test_bends_change_nothing(letters):
    bends = [np.exp, np.cbrt, np.arctan, np.sinh, lambda x: x**5, lambda x: 3 * x + 1]
    bent = np.column_stack([bend(x) for bend, x in zip(bends, letters.X.T)])
    models = [
        PostNonlinearISA(subspace_dims=[2, 2, 2], random_state=0).fit(X) for X in (letters.X, bent)
    ]
    np.testing.assert_array_equal(models[0].unmixing_, models[1].unmixing_)


def test_bent_mixtures_are_separated_where_isa_fails():
    """Twelve coordinates: mixtures are near normal, as the method supposes."""
    sample = make_subspace_mixture("letters", n_subspaces=6, n_samples=2000, random_state=0)
    bent = np.sign(sample.X) * np.abs(sample.X) ** 3
    common = {"subspace_dims": [2] * 6, "random_state": 0}
    straight = IndependentSubspaceAnalysis(**common).fit(sample.X)
    model = PostNonlinearISA(**common).fit(bent)
    plain = IndependentSubspaceAnalysis(**common).fit(bent)
    assert index_of(straight, sample) < index_of(model, sample) < 0.5 * index_of(plain, sample)


# Dynamics of unknown shape


@pytest.mark.parametrize("leave", [True, False])
def test_kernel_regression_against_a_loop(leave):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    fitted = kernel_regression(Z, Y, 0.6, leave_one_out=leave)
    for i in range(40):
        w = np.exp(-((Z - Z[i]) ** 2).sum(axis=1) / (2 * 0.6**2))
        w[i] *= not leave
        np.testing.assert_allclose(fitted[i], w @ Y / w.sum(), atol=1e-10)


def test_kernel_regression_of_a_lonely_point_is_its_neighbour():
    fitted = kernel_regression([[0.0], [1.0], [1e6]], [[1.0], [2.0], [3.0]], 0.1)
    np.testing.assert_allclose(fitted[2], 2.0)


def unexplained(found, truth):
    """Return the share of the variance of true innovations that found ones do not tell."""
    design = np.column_stack([found, np.ones(len(found))])
    return np.linalg.lstsq(design, truth, rcond=None)[1].sum() / (len(truth) * truth.var(0).sum())


def test_error_of_bent_dynamics_falls_with_n():
    """Kernel regression of two columns errs by n^(-2/3) in the square; a line never fits."""
    A = np.array([[1.0, 0.5], [-0.4, 1.2]])
    shares = {"kernel": [], "linear": []}
    sizes = (250, 1000, 4000)
    for n in sizes:
        e = np.random.default_rng(n).uniform(-1, 1, size=(n, 2))
        S = e.copy()
        for t in range(1, n):
            S[t] += np.cos(2 * S[t - 1])
        common = {"subspace_dims": [1, 1], "random_state": 0}
        model = NonparametricARISA(**common).fit(S @ A.T)
        shares["kernel"].append(unexplained(model.innovations_, e[1:]))
        line = ARIndependentSubspaceAnalysis(**common).fit(S @ A.T)
        shares["linear"].append(unexplained(line.innovations(S @ A.T), e[1:]))
    slope = np.polyfit(np.log(sizes), np.log(shares["kernel"]), 1)[0]
    assert slope < -1 / 3, shares
    assert shares["kernel"][-1] < 0.1 * shares["linear"][-1]


# Complex


def test_complex_rows_are_real_parts():
    rng = np.random.default_rng(0)
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    rows = rng.normal(size=(2, 6))
    real = rows @ np.concatenate([z.real, z.imag])
    np.testing.assert_allclose((complex_rows(rows) @ z).real, real, atol=1e-12)


@pytest.fixture(scope="module")
def complex_mixture():
    S = make_subspace_mixture("letters", n_samples=1500, random_state=0).sources
    Z = S[:, [0, 2, 4]] + 1j * S[:, [1, 3, 5]]
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    return Z @ A.T, A


def test_complex_is_the_real_embedding(complex_mixture):
    Z, A = complex_mixture
    model = ComplexISA(subspace_dims=[1, 1, 1], optimizer="exhaustive", random_state=0).fit(Z)
    plain = IndependentSubspaceAnalysis(
        subspace_dims=[2, 2, 2], optimizer="exhaustive", random_state=0
    ).fit(np.hstack([Z.real, Z.imag]))
    np.testing.assert_allclose(model.real_unmixing_, plain.unmixing_, rtol=1e-9, atol=1e-12)
    # The plane that a complex row spans is that of its two real rows, up to estimation.
    p = Z.shape[1]
    for group, real in zip(model.subspaces_, model.real_subspaces_):
        w = model.unmixing_[group[0]]
        embedded = np.array([[*w.real, *-w.imag], [*w.imag, *w.real]])
        bases = [np.linalg.qr(rows.T)[0] for rows in (embedded, plain.unmixing_[real])]
        cosines = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
        assert cosines.min() > 1 - 10 / len(Z) * 2 * p


def test_complex_sources_are_separated(complex_mixture):
    Z, A = complex_mixture
    model = ComplexISA(random_state=0).fit(Z)
    assert model.subspace_dims_.tolist() == [1, 1, 1]
    assert amari_index(model.unmixing_, A, model.subspaces_) < 3 / np.sqrt(len(Z))
    S = model.transform(Z)
    np.testing.assert_allclose(np.mean(np.abs(S) ** 2, axis=0), 1.0, atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(S), Z, atol=1e-8)


def test_complex_mixtures_of_more_features_than_sources(complex_mixture):
    Z, A = complex_mixture
    rng = np.random.default_rng(2)
    wide = rng.normal(size=(5, 3)) + 1j * rng.normal(size=(5, 3))
    model = ComplexISA(random_state=0).fit(Z @ wide.T)
    assert model.unmixing_.shape == (3, 5)
    assert amari_index(model.unmixing_, wide @ A, model.subspaces_) < 3 / np.sqrt(len(Z))


def test_real_data_are_no_complex_mixture():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    with pytest.raises(ValueError, match="n_components=4"):
        ComplexISA(subspace_dims=[1, 1], random_state=0).fit(X)


def test_complex_sources_of_more_dimensions():
    S = make_subspace_mixture("letters", n_subspaces=4, n_samples=1500, random_state=0).sources
    scale = np.random.default_rng(0).exponential(size=(2, 1500, 1))
    Z = S[:, ::2] + 1j * S[:, 1::2]
    Z[:, :2] *= scale[0]  # two vectors of two complex coordinates each
    Z[:, 2:] *= scale[1]
    Z /= Z.std(axis=0)
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
    model = ComplexISA(subspace_dims=[2, 2], random_state=0).fit(Z @ A.T)
    assert amari_index(model.unmixing_, A, model.subspaces_, [[0, 1], [2, 3]]) < 0.1


# Bad input


def test_bad_input():
    with pytest.raises(ValueError, match="too few to learn dynamics"):
        NonparametricARISA(order=2).fit(np.random.default_rng(0).normal(size=(4, 2)))
    with pytest.raises(ValueError, match="bandwidth"):
        kernel_regression(np.eye(3), np.eye(3), 0.0)
    with pytest.raises(ValueError, match="'bandwidth'"):
        NonparametricARISA(bandwidth="scott").fit(np.eye(9))
    with pytest.raises(ValueError, match="does not vary"):
        PostNonlinearISA().fit(np.ones((9, 2)))
