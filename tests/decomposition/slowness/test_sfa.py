"""SFA against the generalised eigenproblem; invariances; episodes; streams."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from octavo.data import make_colored_noise
from octavo.decomposition import SFA, PolynomialExpansion, delta_value
from tests.decomposition.slowness.test_directions import moments, series

X = series(0)


def up_to_sign(one, other):
    return one * np.sign((one * other).sum(axis=0)) - other


def test_deltas_to_ten_digits():
    C, D = moments(X)
    model = SFA().fit(X)
    np.testing.assert_allclose(model.delta_values_, eigh(D, C, eigvals_only=True), rtol=1e-10)
    expanded = PolynomialFeatures(2, include_bias=False).fit_transform(
        StandardScaler().fit_transform(X)
    )
    C, D = moments(expanded)
    model = SFA(expansion="poly2").fit(X)
    np.testing.assert_allclose(model.delta_values_, eigh(D, C, eigvals_only=True), rtol=1e-9)


@pytest.mark.parametrize("expansion", [None, "poly2", "poly3"])
def test_constraints(expansion):
    model = SFA(expansion=expansion)
    Y = model.fit_transform(X)
    n = len(X)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Y.T @ Y / n, np.eye(Y.shape[1]), atol=1e-7)
    steps = np.diff(Y, axis=0)
    np.testing.assert_allclose(steps.T @ steps / (n - 1), np.diag(model.delta_values_), atol=1e-7)
    assert (np.diff(model.delta_values_) >= 0).all()
    np.testing.assert_allclose(delta_value(Y), model.delta_values_, rtol=1e-7)


@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_linear_mixing_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0] * rng.uniform(0.5, 2.0, 6)
    for expansion in (None, "poly2"):
        plain = SFA(expansion=expansion).fit(X)
        mixed = SFA(expansion=expansion).fit(X @ turn + rng.normal(size=6))
        np.testing.assert_allclose(mixed.delta_values_, plain.delta_values_, rtol=1e-8)


def test_outputs_of_a_mixture_are_those_of_the_sources():
    rng = np.random.default_rng(5)
    turn = rng.normal(size=(6, 6))
    one = SFA(4, expansion="poly2").fit_transform(X)
    other = SFA(4, expansion="poly2").fit_transform(X @ turn - 3.0)
    np.testing.assert_allclose(up_to_sign(one, other), 0, atol=1e-5)


@pytest.mark.parametrize("size", [1e-5, 1e5, 1e150, 1e-150])
def test_any_scale(size):
    plain, scaled = SFA(3).fit(X), SFA(3).fit(size * X)
    np.testing.assert_allclose(scaled.delta_values_, plain.delta_values_, rtol=1e-9)
    np.testing.assert_allclose(scaled.transform(size * X), plain.transform(X), atol=1e-7)


def test_units_of_columns_do_not_matter():
    units = 10.0 ** np.array([-8, 8, 0, 3, -3, 5])
    np.testing.assert_allclose(
        SFA().fit(X * units).delta_values_, SFA().fit(X).delta_values_, rtol=1e-9
    )


def test_time_may_run_backwards():
    one, other = SFA(expansion="poly2").fit(X), SFA(expansion="poly2").fit(X[::-1])
    np.testing.assert_allclose(one.delta_values_, other.delta_values_, rtol=1e-9)


def test_episodes_in_three_forms():
    parts = [X[:1000], X[1000:1700], X[1700:]]
    listed = SFA(2).fit(parts)
    stacked = SFA(2).fit(X, lengths=[1000, 700, 1300])
    np.testing.assert_array_equal(listed.delta_values_, stacked.delta_values_)
    C = moments(X)[0]
    steps = np.concatenate([np.diff(part, axis=0) for part in parts])
    values = eigh(steps.T @ steps / len(steps), C, eigvals_only=True)
    np.testing.assert_allclose(listed.delta_values_, values[:2], rtol=1e-10)
    Y = listed.transform(parts)
    assert [len(y) for y in Y] == [1000, 700, 1300]
    np.testing.assert_array_equal(np.concatenate(Y), listed.transform(X))


def test_lists_of_rows_are_tables():
    np.testing.assert_array_equal(SFA(2).fit(X.tolist()).delta_values_, SFA(2).fit(X).delta_values_)


@pytest.mark.parametrize("expansion", [None, "poly2"])
@pytest.mark.parametrize("lag", [1, 3])
def test_streams_give_what_one_fit_gives(expansion, lag):
    whole = SFA(4, expansion=expansion, lag=lag).fit(X)
    stream = SFA(4, expansion=expansion, lag=lag)
    for start in range(0, len(X), 271):
        stream.partial_fit(X[start : start + 271])
    assert stream.n_samples_seen_ == len(X)
    np.testing.assert_allclose(stream.delta_values_, whole.delta_values_, rtol=1e-8)
    np.testing.assert_allclose(stream.transform(X), whole.transform(X), atol=1e-6)


def test_streams_row_by_row_and_episode_by_episode():
    whole, stream = SFA().fit(X[:60]), SFA()
    for row in X[:60]:
        stream.partial_fit(row[None])
    np.testing.assert_allclose(stream.delta_values_, whole.delta_values_, rtol=1e-8)
    parts = [X[:1000], X[1000:1700], X[1700:]]
    whole, stream = SFA().fit(parts), SFA()
    stream.partial_fit(parts[0]).partial_fit(parts[1], new_episode=True).partial_fit([parts[2]])
    np.testing.assert_allclose(stream.delta_values_, whole.delta_values_, rtol=1e-10)
    with pytest.raises(NotFittedError):
        SFA().partial_fit(X[:3]).transform(X)


def test_inverse_of_the_linear_map():
    model = SFA().fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)
    few = SFA(2).fit(X)
    Y = few.transform(X)
    design = np.column_stack([np.ones(len(X)), Y])
    best = design @ np.linalg.lstsq(design, X, rcond=None)[0]
    np.testing.assert_allclose(few.inverse_transform(Y), best, atol=1e-8)
    assert not hasattr(SFA(expansion="poly2"), "inverse_transform")


@pytest.mark.parametrize(
    "expansion",
    [
        PolynomialExpansion(2, basis="hermite", scale="standard"),
        PolynomialExpansion(2, basis="legendre"),
        PolynomialFeatures(2),
        make_pipeline(StandardScaler(), PolynomialFeatures(2)),
    ],
    ids=["hermite", "legendre", "scikit-learn", "pipeline"],
)
def test_any_basis_of_polynomials_finds_the_same(expansion):
    np.testing.assert_allclose(
        SFA(5, expansion=expansion).fit(X).delta_values_,
        SFA(5, expansion="poly2").fit(X).delta_values_,
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    "kernel",
    [
        Nystroem(gamma=0.1, n_components=40, random_state=0),
        RBFSampler(gamma=0.1, n_components=60, random_state=0),
    ],
    ids=["nystroem", "fourier"],
)
def test_kernel_features_find_a_hidden_slow_signal(kernel):
    rng = np.random.default_rng(0)
    slow = np.sin(np.arange(4000) * 0.005)
    fast = rng.uniform(-1, 1, 4000)
    Z = np.column_stack([slow + fast**2, fast])
    model = SFA(1, expansion=make_pipeline(StandardScaler(), kernel), rank_tol=1e-9)
    assert abs(np.corrcoef(model.fit_transform(Z)[:, 0], slow)[0, 1]) > 0.98


def test_products_of_sources_have_the_sum_of_their_deltas():
    # Theorem 1. Noise of one Δ per 100000 / 50 values has an error of a few hundredths.
    S = make_colored_noise(100_000, [1000, 2500], random_state=0)
    model = SFA(expansion="poly2").fit(S)
    one, two = delta_value(S)
    expected = np.sort([one, two, 2 * one, 2 * two, one + two])
    np.testing.assert_allclose(model.delta_values_, expected, rtol=0.05)
    k = int(np.argsort([one, two, 2 * one, 2 * two, one + two]).tolist().index(4))
    Y = model.transform(S)
    assert abs(np.corrcoef(Y[:, k], S.prod(axis=1))[0, 1]) > 0.99


def test_small_tolerances_decompose_the_rows():
    rng = np.random.default_rng(0)
    slow, fast = np.sin(np.arange(5000) * 0.01), rng.normal(size=5000)
    Z = np.column_stack([fast, fast + 1e-8 * slow])
    assert SFA().fit(Z).rank_ == 1
    model = SFA(rank_tol=1e-20).fit(Z)
    assert model.rank_ == 2
    assert model.delta_values_[0] < 1e-3


def test_names_and_float32():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = SFA(2).set_output(transform="pandas").fit(frame)
    assert model.transform(frame).columns.tolist() == ["sfa0", "sfa1"]
    np.testing.assert_allclose(
        SFA(2).fit(X.astype(np.float32)).delta_values_, model.delta_values_, rtol=1e-4
    )


def test_polynomial_expansion_names():
    expansion = PolynomialExpansion(2).fit(pd.DataFrame(X[:, :2], columns=["a", "b"]))
    assert expansion.get_feature_names_out().tolist() == ["a:1", "b:1", "a:2", "b:2", "a:1 b:1"]


def test_warnings():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 2))
    with pytest.warns(UserWarning, match="white noise"):
        SFA().fit(noise)
    with pytest.warns(UserWarning, match="chance"):
        SFA(expansion="poly3").fit(X[:200])
    t = np.arange(2000) * 2 * np.pi / 100  # a sine and a cosine are equally slow
    S = np.column_stack([np.sin(t), np.cos(t)])
    with pytest.warns(UserWarning, match="too close for 2000 rows"):
        SFA(2).fit(S)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SFA().fit(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SFA(expansion="poly3").fit(X[:80]), "n_samples=80 rows for 83"),
        (lambda: SFA().fit(np.column_stack([X, np.full(len(X), 2.0)])), "constant column.*6"),
        (lambda: SFA(7).fit(X), "only 6 directions"),
        (lambda: SFA(expansion="fourier").fit(X), "'fourier' is not known"),
        (lambda: SFA(lag=4000).fit(X), "more than lag=4000"),
        (lambda: SFA().fit(X, lengths=[1] * len(X)), "more than lag=1"),
        (lambda: SFA().fit(X, lengths=[5]), "add up to 5"),
        (lambda: SFA().fit([X, X[:, :2]]), "sequence 1"),
        (lambda: SFA().fit([X[:5], np.full((3, 6), np.nan)]), "sequence 1, position 0"),
        (lambda: SFA().fit(X[:1]), "minimum of 2"),
        (lambda: SFA(expansion="poly9").fit(np.ones((10, 20))), "10015004 functions"),
        (lambda: SFA().fit(X).inverse_transform(X[:, :2]), "2 columns"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("size", [1e-200, 1e-5, 1.0, 1e120, 1e200])
def test_deltas_do_not_depend_on_units_even_of_a_column_that_jumps_once(size):
    rng = np.random.default_rng(3)
    slow = np.cumsum(rng.normal(size=(4000, 3)), axis=0)
    jump = np.zeros(4000)
    jump[1111] = 1.0  # no row of a sample need show it
    expected = SFA().fit(np.column_stack([slow, jump])).delta_values_
    found = SFA().fit(np.column_stack([slow, size * jump])).delta_values_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_first_block_far_from_the_rest_costs_no_digits():
    """Moments are taken about the mean of the first block: here 1e7 deviations away."""
    rng = np.random.default_rng(4)
    rows = np.cumsum(rng.normal(size=(3000, 3)), axis=0)
    rows[5:] += 1e7 * np.array([1.0, 2.0, 3.0])
    whole = SFA().fit(rows)
    parts = SFA().partial_fit(rows[:5]).partial_fit(rows[5:])
    np.testing.assert_allclose(parts.delta_values_, whole.delta_values_, rtol=1e-8)


def test_nearly_constant_columns_are_judged_by_their_range():
    rng = np.random.default_rng(5)
    rows = np.cumsum(rng.normal(size=(500, 2)), axis=0)
    faint = 1e6 + 1e-3 * rows[:, 0] ** 2 / np.abs(rows).max() ** 2
    assert SFA().fit(np.column_stack([rows, faint])).rank_ == 3
    with pytest.raises(ValueError, match="constant column"):
        SFA().fit(np.column_stack([rows, 1.0 + 1e-15 * rng.integers(0, 2, 500)]))
