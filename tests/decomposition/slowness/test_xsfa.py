"""xSFA against its listing written out with singular value decompositions and least squares."""

import warnings

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from octavo.data import make_colored_noise, make_postnonlinear_mixture, make_spiral_mixture
from octavo.decomposition import SFA, XSFA, delta_value, source_match
from octavo.engine.spectral.expansions import expansion

T = 6000


def spiral(seed, n=T):
    S = make_colored_noise(n, [n / 100, n / 60], random_state=seed)
    S /= np.abs(S).max(axis=0)
    return make_spiral_mixture(S[:, 0], S[:, 1]), S


def bent(seed, n=T, d=3, strength=0.5):
    S = make_colored_noise(n, [np.sqrt(i) * n / 50 + 1 for i in range(1, d + 1)], random_state=seed)
    return make_postnonlinear_mixture(S, strength, random_state=seed), S


def linear_sfa(Z, threshold):
    """Return all outputs, slowest first, by a decomposition of the rows."""
    Z = Z - Z.mean(axis=0)
    _, sizes, rows = np.linalg.svd(Z / np.sqrt(len(Z)), full_matrices=False)
    white = Z @ (rows[sizes**2 > threshold].T / sizes[sizes**2 > threshold])
    turn = np.linalg.svd(np.diff(white, axis=0), full_matrices=False)[2][::-1]
    return white @ turn.T


def listing(X, n_sources, degree, removal, threshold=1e-7):
    """Return the sources by Section 4.1, with the reduced z of step 7 carried on."""
    U = (X - X.mean(axis=0)) / X.std(axis=0)
    U = U @ np.linalg.svd(U, full_matrices=False)[2].T
    U = (U - U.min(axis=0)) / np.ptp(U, axis=0) * 2 - 1
    z = linear_sfa(expansion(U.shape[1], degree)(U), threshold)
    found = [z[:, 0]]
    for _ in range(1, n_sources):
        S = np.column_stack(found)
        S = (S - S.min(axis=0)) / np.ptp(S, axis=0) * 2 - 1
        design = expansion(S.shape[1], removal)(S)
        z = z - z.mean(axis=0)
        design = design - design.mean(axis=0)
        z = z - design @ np.linalg.lstsq(design, z, rcond=1e-12)[0]
        z = linear_sfa(z, threshold)
        found.append(z[:, 0])
    return np.column_stack(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_sources_are_those_of_the_listing(seed):
    X, _ = bent(seed)
    ours = XSFA(3, expansion_degree=3, removal_degree=4).fit_transform(X)
    match = source_match(ours, listing(X, 3, 3, 4))
    assert match.order.tolist() == [0, 1, 2]
    np.testing.assert_allclose(match.cc, 1.0, atol=1e-8)


def test_sources_are_white_slow_and_ordered():
    X, _ = bent(2)
    model = XSFA(3)
    S = model.fit_transform(X)
    np.testing.assert_allclose(S.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(S.T @ S / len(S), np.eye(3), atol=1e-6)
    np.testing.assert_allclose(delta_value(S), model.delta_values_, rtol=1e-6)
    assert model.delta_values_[0] == pytest.approx(
        SFA(1, expansion="poly6").fit(X).delta_values_[0], rel=1e-6
    )
    np.testing.assert_allclose(model.transform(X), S, atol=1e-8)
    assert len(model.steps_) == model.n_sources_ == 3
    np.testing.assert_array_equal(
        model.rank_path_[0] + model.removed_dims_[0], len(expansion(3, 6).parents)
    )
    assert (np.diff(model.rank_path_) < 0).all()


def test_later_sources_correlate_with_no_function_of_the_earlier():
    X, _ = spiral(3)
    S = XSFA(2).fit_transform(X)
    first = S[:, 0] / np.abs(S[:, 0]).max()
    powers = PolynomialFeatures(8, include_bias=False).fit_transform(first[:, None])
    # projected out: what is left is rounding, times the condition of eight powers
    assert np.abs(np.corrcoef(powers.T, S[:, 1])[-1, :-1]).max() < 1e-10


def test_the_spiral_comes_apart():
    # The acceptance run of the paper's first task, at a seed: the claim has twenty.
    X, S = spiral(0, 20_000)
    cc = source_match(XSFA(2).fit_transform(X), S).cc
    assert cc[0] > 0.98
    assert cc[1] > 0.9


@pytest.mark.parametrize("basis", ["legendre", "hermite", "monomial"])
def test_all_polynomials_find_the_same(basis):
    X, _ = bent(4)
    scale = "standard" if basis == "hermite" else "minmax"
    options = {"expansion_degree": 3, "removal_degree": 4, "var_threshold": 1e-10}
    one = XSFA(2, **options).fit_transform(X)
    other = XSFA(2, basis=basis, scale=scale, **options).fit_transform(X)
    np.testing.assert_allclose(source_match(one, other).cc, 1.0, atol=1e-6)


def test_linear_mixing_changes_nothing():
    X, _ = bent(5)
    turn = np.random.default_rng(0).normal(size=(3, 3))
    one = XSFA(3, expansion_degree=3).fit_transform(X)
    other = XSFA(3, expansion_degree=3).fit_transform(X @ turn + 5.0)
    np.testing.assert_allclose(source_match(one, other).cc, 1.0, atol=1e-6)


@pytest.mark.parametrize("size", [1e-5, 1e5, 1e150])
def test_any_scale(size):
    X, _ = bent(6)
    np.testing.assert_allclose(
        XSFA(2).fit(size * X).delta_values_, XSFA(2).fit(X).delta_values_, rtol=1e-6
    )


def test_radial_functions():
    X, S = spiral(7, 20_000)
    cc = source_match(XSFA(1, basis="rbf").fit_transform(X), S).cc
    assert cc[0] > 0.95


def test_episodes_in_three_forms():
    X, _ = bent(8)
    parts = [X[:2000], X[2000:3500], X[3500:]]
    model = XSFA(2)
    listed = model.fit_transform(parts)
    stacked = XSFA(2).fit_transform(X, lengths=[2000, 1500, 2500])
    np.testing.assert_array_equal(np.concatenate(listed), stacked)
    np.testing.assert_allclose(np.concatenate(model.transform(parts)), stacked, atol=1e-8)
    whole = XSFA(2).fit(X)
    assert not np.array_equal(whole.delta_values_, model.delta_values_)


def test_duplicated_and_dependent_mixtures():
    X, S = bent(9)
    more = np.column_stack([X, X[:, 0], X @ [1.0, 2.0, 3.0]])
    one = XSFA(3, expansion_degree=3, removal_degree=4).fit_transform(X)
    other = XSFA(3, expansion_degree=3, removal_degree=4).fit_transform(more)
    np.testing.assert_allclose(source_match(one, other).cc, 1.0, atol=1e-6)
    del S


def test_sources_are_counted():
    # Two slow sources and a channel of white noise: what is left after them has no order in time.
    S = make_colored_noise(4000, [40, 70], random_state=0)
    noise = np.random.default_rng(0).normal(size=4000)
    X = np.column_stack([S, noise])
    model = XSFA(expansion_degree=1, removal_degree=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert model.n_sources_ == 2
    with pytest.raises(ValueError, match="nothing is left"):
        XSFA(2, expansion_degree=1, removal_degree=1).fit(np.column_stack([S[:, 0], S[:, 0] * 2]))


def test_new_rows_outside_the_range_count_as_at_its_border():
    X, _ = bent(10)
    model = XSFA(2).fit(X)
    with pytest.warns(UserWarning, match="1 of 6000 rows"):
        far = model.transform(np.vstack([X[:-1], 100 * X[-1:]]))
    assert np.isfinite(far).all()
    assert np.abs(far[-1]).max() < 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(X[:10])


def test_warnings():
    with pytest.warns(UserWarning, match="white noise"):
        XSFA(1).fit(np.random.default_rng(0).normal(size=(1000, 2)))
    X, _ = bent(11)
    with pytest.warns(UserWarning, match="rows for 83 expanded"):
        XSFA(1, expansion_degree=6).fit(X[:300])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: XSFA(4).fit(X), "n_sources=4, but X has 3"),
        (lambda X: XSFA(2).fit(X[:60]), "n_samples=60 rows for 83"),
        (lambda X: XSFA(2).fit(np.column_stack([X, np.ones(T)])), "constant column"),
        (lambda X: XSFA(2).fit(X, lengths=[1] * T), "one row"),
        (lambda X: XSFA(2).fit(np.where(X[5, 1] == X, np.nan, X)), "NaN"),
        (lambda X: XSFA(2, basis="fourier").fit(X), "basis"),
        (lambda X: XSFA(2, expansion_degree=40).fit(X), "12340 functions"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call(bent(0)[0])
