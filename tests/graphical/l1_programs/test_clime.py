"""CLIME against HiGHS and closed forms, its path, its errors and its manners."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.covariance import empirical_covariance
from sklearn.exceptions import ConvergenceWarning

from octavo.graphical import CLIME, clime_path, make_sparse_precision


def shortest_by_highs(S, i, alpha):
    e = np.eye(len(S))[i]
    A = np.block([[S, -S], [-S, S]])
    return linprog(np.ones(2 * len(S)), A_ub=A, b_ub=np.concatenate([alpha + e, alpha - e])).fun


def sample(d=20, n=100, seed=0, graph="random"):
    return make_sparse_precision(d, n, graph=graph, random_state=seed).X


@pytest.mark.parametrize("standardize", [True, False])
def test_columns_equal_highs(standardize):
    X = sample()
    model = CLIME(alpha=0.13, standardize=standardize).fit(X)
    S = np.corrcoef(X.T) if standardize else empirical_covariance(X)
    for i in range(20):
        beta = model.beta_[:, i]
        assert np.abs(beta).sum() == pytest.approx(shortest_by_highs(S, i, 0.13), abs=1e-8)
        assert np.abs(S @ beta - np.eye(20)[i]).max() <= 0.13 + 1e-9
    assert np.abs(model.duality_gap_).max() <= 1e-10
    assert model.violation_.max() <= 1e-10
    assert (model.n_pivots_ > 0).all()


@pytest.mark.parametrize("rule", ["min", "max", "average", "none"])
def test_symmetrisation(rule):
    X = sample(d=12)
    model = CLIME(alpha=0.1, symmetrize=rule).fit(X)
    B = model.beta_
    assert np.abs(B - B.T).max() > 1e-3  # there is something to decide
    deviation = X.std(axis=0)
    omega = model.precision_ * np.outer(deviation, deviation)
    for i in range(12):
        for j in range(12):
            pair = sorted([B[i, j], B[j, i]], key=abs)
            expected = {
                "min": pair[0],
                "max": pair[1],
                "average": sum(pair) / 2,
                "none": B[i, j],
            }[rule]
            assert omega[i, j] == pytest.approx(expected, abs=1e-12)
    if rule != "none":
        np.testing.assert_array_equal(model.precision_, model.precision_.T)


def test_equal_magnitudes_of_opposite_sign_stay_symmetric():
    from octavo.graphical.l1_programs.columns import symmetrized

    B = np.array([[1.0, 0.5], [-0.5, 1.0]])
    for rule in ("min", "max", "average"):
        omega = symmetrized(B, rule)
        np.testing.assert_array_equal(omega, omega.T)


def test_diagonal_covariance_has_a_closed_form():
    variances = np.array([0.5, 1.0, 4.0])
    model = CLIME(alpha=0.3).fit(np.diag(variances), is_cov=True)
    np.testing.assert_allclose(model.precision_, np.diag(0.7 / variances), atol=1e-15)
    raw = CLIME(alpha=0.3, standardize=False).fit(np.diag(variances), is_cov=True)
    np.testing.assert_allclose(raw.precision_, np.diag(0.7 / variances), atol=1e-15)
    assert not model.adjacency_.any()


def test_at_zero_it_inverts_the_covariance():
    X = sample(d=8)
    model = CLIME(alpha=0.0).fit(X)
    np.testing.assert_allclose(model.precision_, np.linalg.inv(empirical_covariance(X)), rtol=1e-8)
    np.testing.assert_allclose(model.covariance_, empirical_covariance(X), rtol=1e-8)


def test_data_and_their_covariance_give_the_same():
    X = sample() + 5.0
    of_data = CLIME(alpha=0.1).fit(X)
    of_covariance = CLIME(alpha=0.1).fit(empirical_covariance(X), is_cov=True)
    np.testing.assert_allclose(of_data.precision_, of_covariance.precision_, atol=1e-12)
    np.testing.assert_allclose(of_data.location_, X.mean(axis=0))
    np.testing.assert_array_equal(of_covariance.location_, 0.0)
    np.testing.assert_allclose(of_data.sample_covariance_, empirical_covariance(X))


def test_assume_centered_and_ridge():
    X = sample() + 1.0
    model = CLIME(alpha=0.2, assume_centered=True).fit(X)
    np.testing.assert_allclose(model.sample_covariance_, X.T @ X / len(X))
    np.testing.assert_array_equal(model.location_, 0.0)
    ridged = CLIME(alpha=0.2, alpha_ridge=0.3).fit(X)
    S = np.corrcoef(X.T) + 0.3 * np.eye(20)
    assert np.abs(ridged.beta_).sum(axis=0)[4] == pytest.approx(shortest_by_highs(S, 4, 0.2))


def test_large_lam_gives_zero():
    model = CLIME(alpha=1.0).fit(sample())
    assert not model.precision_.any()
    assert not model.is_positive_definite_
    assert np.isneginf(model.score(sample()))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), alpha=st.floats(0.05, 0.6))
def test_scale_order_and_row_invariances(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6))
    assume(np.linalg.cond(np.corrcoef(X.T)) < 1e6)  # beyond, fits say that they are not solved
    units = 10.0 ** rng.uniform(-3, 3, 6)
    order = rng.permutation(6)
    base = CLIME(alpha=alpha).fit(X).precision_
    deviation = X.std(axis=0)
    unitless = base * np.outer(deviation, deviation)

    scaled = CLIME(alpha=alpha).fit(X * units).precision_ * np.outer(
        deviation * units, deviation * units
    )
    np.testing.assert_allclose(scaled, unitless, atol=1e-7)
    np.testing.assert_allclose(
        CLIME(alpha=alpha).fit(X[:, order]).precision_,
        base[np.ix_(order, order)],
        rtol=1e-6,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        CLIME(alpha=alpha).fit(X[::-1]).precision_, base, rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        CLIME(alpha=alpha).fit(np.vstack([X, X])).precision_, base, rtol=1e-6, atol=1e-9
    )


def test_shift_makes_it_positive_definite():
    X = sample(d=30, n=40, seed=3)
    plain = CLIME(alpha=0.12, symmetrize="max").fit(X)
    shifted = CLIME(alpha=0.12, symmetrize="max", psd="shift").fit(X)
    assert not plain.is_positive_definite_
    assert plain.shift_ == 0.0
    np.testing.assert_allclose(plain.covariance_, np.linalg.pinv(plain.precision_), atol=1e-8)
    assert shifted.is_positive_definite_
    deviation = X.std(axis=0)
    omega = shifted.precision_ * np.outer(deviation, deviation)
    eigenvalues = np.linalg.eigvalsh(omega)
    assert eigenvalues[-1] / eigenvalues[0] == pytest.approx(1000, rel=1e-6)
    difference = (shifted.precision_ - plain.precision_) * np.outer(deviation, deviation)
    np.testing.assert_allclose(difference, shifted.shift_ * np.eye(30), atol=1e-10)
    np.testing.assert_allclose(shifted.precision_ @ shifted.covariance_, np.eye(30), atol=1e-9)
    easy = CLIME(alpha=0.2, psd="shift").fit(sample(d=5, n=500))
    assert easy.shift_ == 0.0


def test_score_is_the_gaussian_log_likelihood():
    from scipy.stats import multivariate_normal

    X, other = sample(n=300), sample(n=50, seed=9)
    model = CLIME(alpha=0.1).fit(X)
    expected = multivariate_normal(model.location_, model.covariance_).logpdf(other).mean()
    assert model.score(other) == pytest.approx(expected)


class TestInfeasible:
    X = sample(d=24, n=12, seed=1)

    def smallest(self, S, i):
        d = len(S)
        ones, e = np.ones((d, 1)), np.eye(d)[i]
        return linprog(
            np.append(np.zeros(d), 1.0),
            A_ub=np.block([[S, -ones], [-S, -ones]]),
            b_ub=np.concatenate([e, -e]),
            bounds=[(None, None)] * d + [(0, None)],
        ).fun

    def test_raises_with_the_smallest_feasible_lam(self):
        S = np.corrcoef(self.X.T)
        needed = max(self.smallest(S, i) for i in range(24))
        with pytest.raises(ValueError, match="is not feasible for") as error:
            CLIME(alpha=0.02).fit(self.X)
        assert f"alpha >= {needed:.6g} is feasible for every column" in str(error.value)
        CLIME(alpha=needed * 1.0001).fit(self.X)

    def test_warns_and_solves_at_the_smallest_feasible_lam(self):
        S = np.corrcoef(self.X.T)
        with pytest.warns(UserWarning, match="smallest feasible alpha"):
            model = CLIME(alpha=0.02, on_infeasible="warn").fit(self.X)
        for i in (0, 11, 23):
            assert model.alpha_per_column_[i] == pytest.approx(self.smallest(S, i), abs=1e-8)
        off = np.abs(S @ model.beta_ - np.eye(24)).max(axis=0)
        np.testing.assert_allclose(off, model.alpha_per_column_, atol=1e-8)
        assert np.abs(model.duality_gap_).max() <= 1e-8

    def test_a_ridge_makes_it_feasible(self):
        model = CLIME(alpha=0.02, alpha_ridge=0.3).fit(self.X)
        assert np.abs(model.duality_gap_).max() <= 1e-9

    def test_path_says_which_lam_was_the_last(self):
        path = clime_path(self.X, alpha_min=0.0, n_alphas=None)
        S = np.corrcoef(self.X.T)
        assert path.status_per_column == ["infeasible"] * 24
        for i in (0, 5):
            assert path.alphas_per_column[i][-1] == pytest.approx(self.smallest(S, i), abs=1e-8)
            assert path.smallest_feasible[i] == path.alphas_per_column[i][-1]
        assert path.alpha_reached == path.smallest_feasible.max()
        assert np.abs(path.duality_gap(path.alpha_reached)).max() < 1e-8
        with pytest.raises(ValueError, match="is not feasible for"):
            path.precision(path.alpha_reached * 0.99)


class TestPath:
    X = sample(d=20, n=100)

    def test_is_exact_at_every_lam(self):
        path = clime_path(self.X, alpha_min=0.05, n_alphas=None)
        rng = np.random.default_rng(0)
        for alpha in [*rng.uniform(0.05, 1.0, 5), *path.alphas_per_column[3][-3:]]:
            direct = CLIME(alpha=alpha).fit(self.X)
            np.testing.assert_allclose(path.precision(alpha), direct.precision_, atol=1e-9)
            np.testing.assert_allclose(path.beta(alpha), direct.beta_, atol=1e-9)
            assert path.n_edges(alpha) == np.triu(direct.adjacency_).sum()
            assert np.abs(path.duality_gap(alpha)).max() <= 1e-10
        assert path.status_per_column == ["complete"] * 20
        assert np.isnan(path.smallest_feasible).all()
        assert path.alpha_reached == 0.05
        assert not path.precision(1.2).any()

    def test_degrees_of_freedom_count_coefficients(self):
        path = clime_path(self.X, alpha_min=0.05, n_alphas=None)
        for i in (0, 9):
            for alpha, count in zip(path.alphas_per_column[i], path.degrees_of_freedom[i]):
                assert np.count_nonzero(path.columns[i].at(alpha)) == count

    def test_number_of_breakpoints_is_bounded(self):
        path = clime_path(self.X, alpha_min=0.0, n_alphas=6)
        assert {len(alphas) for alphas in path.alphas_per_column} == {6}
        assert path.status_per_column == ["truncated"] * 20
        with pytest.raises(ValueError, match="more breakpoints with n_alphas"):
            path.precision(0.0)
        assert np.isfinite(path.precision(path.alpha_reached)).all()

    def test_covariance_input_and_threads(self):
        plain = clime_path(self.X, 0.1)
        other = clime_path(empirical_covariance(self.X), 0.1, is_cov=True, n_jobs=2)
        np.testing.assert_allclose(other.precision(0.2), plain.precision(0.2), atol=1e-12)

    def test_symmetrisation_and_scale_follow_the_estimator(self):
        options = {"symmetrize": "average", "standardize": False, "alpha_ridge": 0.1}
        path = clime_path(self.X, 0.2, **options)
        direct = CLIME(alpha=0.3, **options).fit(self.X)
        np.testing.assert_allclose(path.precision(0.3), direct.precision_, atol=1e-12)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha_min": -0.1}, "alpha_min must be >= 0"),
            ({"n_alphas": 0}, "n_alphas must be at least 1"),
            ({"symmetrize": "both"}, "symmetrize must be one of"),
            ({"alpha_ridge": -1.0}, "alpha_ridge must be >= 0"),
        ],
    )
    def test_bad_options_are_named(self, options, message):
        with pytest.raises(ValueError, match=message):
            clime_path(self.X, **options)


def test_threads_change_nothing():
    X = sample()
    np.testing.assert_array_equal(
        CLIME(alpha=0.1, n_jobs=2).fit(X).precision_, CLIME(alpha=0.1).fit(X).precision_
    )


def test_graph_counts_both_signs():
    S = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, -0.6], [0.0, -0.6, 1.0]])
    model = CLIME(alpha=0.1).fit(S, is_cov=True)
    assert model.precision_[0, 1] < 0 < model.precision_[1, 2]
    assert model.adjacency_[0, 1]
    assert model.adjacency_[1, 2]


def test_duplicated_variables_are_solved():
    """S has equal rows: no λ below 1/2 is feasible, and the solution is not unique."""
    X = sample(d=6)
    twice = np.hstack([X, X[:, :1]])
    model = CLIME(alpha=0.6).fit(twice)
    S = np.corrcoef(twice.T)
    for i in range(7):
        assert np.abs(model.beta_[:, i]).sum() == pytest.approx(shortest_by_highs(S, i, 0.6))
    with pytest.raises(ValueError, match=r"\{0: 0\.5, 6: 0\.5\}"):
        CLIME(alpha=0.2).fit(twice)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.ones((3, 4)), {"is_cov": True}, "a square matrix is expected, got shape"),
        ([[1.0, 0.5], [0.4, 1.0]], {"is_cov": True}, "symmetric matrix.*by up to 0.1"),
        ([[1.0, 0.0], [0.0, -1.0]], {"is_cov": True}, "got -1 for column 1"),
        ([[1.0, np.nan], [0.0, 1.0], [2.0, 2.0]], {}, "NaN"),
        ([[1.0, 2.0], [3.0, 2.0], [0.0, 2.0]], {}, r"variance of column\(s\) \[1\] is zero"),
        (np.full((5, 2), 0.1), {}, r"variance of column\(s\) \[0, 1\] is zero"),
        ([[1.0, 0.0], [0.0, 0.0]], {"is_cov": True}, r"variance of column\(s\) \[1\] is zero"),
    ],
)
def test_bad_input_is_named(X, options, message):
    with pytest.raises(ValueError, match=message):
        CLIME().fit(X, **options)


def test_negative_lam_is_an_error():
    with pytest.raises(ValueError, match="'alpha' parameter of CLIME"):
        CLIME(alpha=-0.1).fit(sample())


def test_unequal_variances_without_standardising_warn():
    X = sample() * np.linspace(1, 30, 20)
    with pytest.warns(UserWarning, match="span a factor above 100"):
        CLIME(alpha=0.5, standardize=False).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CLIME(alpha=0.5).fit(X)


def test_a_hopeless_tolerance_warns_with_the_certificate():
    with pytest.warns(ConvergenceWarning, match="largest duality gap is .*e-1"):
        CLIME(alpha=0.01, tol=1e-300).fit(sample())


def test_clone_and_metadata():
    model = CLIME(alpha=0.2, symmetrize="max")
    assert clone(model).get_params() == model.get_params()
    assert "store_precision" not in model.get_params()


@pytest.mark.slow
def test_path_at_the_size_of_the_paper():
    """d=400, n=200: fifty breakpoints of every column, each end point certified."""
    X = make_sparse_precision(400, 200, random_state=0).X
    path = clime_path(X, 0.1, 50)
    assert np.abs(path.duality_gap(path.alpha_reached)).max() < 1e-9
