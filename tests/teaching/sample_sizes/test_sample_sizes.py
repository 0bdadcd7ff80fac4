"""Sample sizes against arithmetic and simulation; shattering against enumeration."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, e, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from octavo.teaching import (
    ConceptClass,
    TightRectangle,
    growth_function,
    is_epsilon_net,
    margin_vc_bound,
    pac_error_bound,
    pac_sample_size,
    sauer_bound,
    shatters,
    vc_dimension,
    vc_sample_size,
)


def test_worked_numbers():
    assert pac_sample_size("rectangle", eps=0.1, delta=0.05) == 176
    assert sauer_bound(10, 4) == 386
    assert pac_sample_size("finite", eps=0.1, delta=0.05, n_hypotheses=1000) == 100  # 99.03
    assert pac_sample_size("agnostic", eps=0.1, delta=0.05, n_hypotheses=1000) == 2120  # 2119.3


@given(m=st.integers(0, 40), d=st.integers(0, 45))
def test_sauer_is_the_sum_of_binomials(m, d):
    assert sauer_bound(m, d) == sum(comb(m, i) for i in range(d + 1))
    if 1 <= d <= m:
        assert sauer_bound(m, d) <= (e * m / d) ** d * (1 + 1e-12)


@pytest.mark.parametrize(("eps", "delta", "d"), [(0.1, 0.05, 4), (0.3, 0.01, 1), (0.2, 0.1, 10)])
def test_double_sampling_is_the_smallest_number(eps, delta, d):
    m = vc_sample_size(eps, delta, d)

    def enough(m):  # in whole numbers, the power of two apart
        return log(2 * sauer_bound(2 * m, d)) - eps * m / 2 * log(2) <= log(delta)

    assert enough(m)
    assert not enough(m - 1)
    assert m >= 8 / eps * log(2)
    assert pac_sample_size("vc", eps=eps, delta=delta, vc_dim=d) == m


@pytest.mark.parametrize(("eps", "d"), [(0.3, 2), (0.1, 20), (0.01, 4), (1e-3, 4)])
def test_devroye_is_the_smallest_number(eps, d):
    m, half = vc_sample_size(eps, 0.1, d, agnostic=True), eps / 2

    def bound(m):  # the growth is of m² points, up to 10^18 here
        growth = log(sauer_bound(m * m, d))
        return log(4) + 4 * half + 4 * half**2 + growth - m * half**2 / 2 * log(2)

    assert bound(m) <= log(0.1) < bound(m - 1)
    assert pac_sample_size("agnostic", eps=eps, delta=0.1, vc_dim=d) == m
    found = pac_error_bound("agnostic", n_samples=m, delta=0.1, vc_dim=d)
    assert found == pytest.approx(eps, rel=max(1 / m, 1e-9))  # m is whole, and ε falls as √(1/m)


def test_double_sampling_for_tiny_errors():
    m = vc_sample_size(1e-12, 0.05, 4)
    # ε m / 2 = log2(2 Φ_d(2m) / δ), but for the whole number
    assert m == pytest.approx(2e12 * log(2 * sauer_bound(2 * m, 4) / 0.05) / log(2))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("rectangle", {}),
        ("finite", {"n_hypotheses": 50}),
        ("agnostic", {"n_hypotheses": 50}),
        ("vc", {"vc_dim": 3}),
        ("agnostic", {"vc_dim": 3}),
    ],
)
def test_errors_and_sizes_are_inverse(kind, options):
    m = pac_sample_size(kind, eps=0.1, delta=0.05, **options)
    assert pac_error_bound(kind, n_samples=m, delta=0.05, **options) <= 0.1 + 1e-9
    assert pac_error_bound(kind, n_samples=m - 1, delta=0.05, **options) > 0.1 - 1e-9
    assert pac_error_bound(kind, n_samples=1, delta=0.05, **options) == 1.0


def test_huge_classes_are_no_trouble():
    assert pac_sample_size("finite", eps=0.1, delta=0.05, n_hypotheses=2**5000) == 34688


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pac_sample_size("x", eps=0.1, delta=0.1), "kind must be one of.*got 'x'"),
        (lambda: pac_sample_size("finite", eps=0.1, delta=0.1), "n_hypotheses.*got None"),
        (lambda: pac_sample_size("finite", eps=0.0, delta=0.1, n_hypotheses=3), "eps must.*0.0"),
        (lambda: pac_sample_size("vc", eps=0.1, delta=1.0, vc_dim=3), "delta must be.*got 1.0"),
        (lambda: pac_error_bound("rectangle", n_samples=0, delta=0.1), "n_samples must.*got 0"),
        (lambda: sauer_bound(-1, 2), "whole number.*got -1"),
        (lambda: margin_vc_bound(1.0, 0.0), "must be a positive number; got 0.0"),
        (lambda: vc_sample_size(0.1, 0.1, 1.5), "vc_dim must be a whole number.*got 1.5"),
        (lambda: growth_function([[0, 1]], 3), "from 0 to the 2 points; got 3"),
        (lambda: shatters([[0.0, 1.0]], "circle"), "family must be one of.*got 'circle'"),
        (lambda: shatters([[0.0, 1.0]], "interval"), "points on a line; these have 2"),
        (lambda: shatters([0, 0], [[0, 1]]), "must be different columns of the table"),
        (lambda: is_epsilon_net([0], [[0, 1]], 0.0), "eps must be a number above 0.*got 0.0"),
        (lambda: is_epsilon_net([5], [[0, 1]], 0.1), "whole numbers from 0 to 1; got"),
    ],
)
def test_bad_input_is_a_sentence(call, words):
    with pytest.raises(ValueError, match=rf"(?s){words}.*\.$"):
        call()


def test_margin_bound():
    assert margin_vc_bound(2.0, 0.5) == 17.0
    assert margin_vc_bound(2.0, 0.5, 3) == 4.0


# --- shattering --------------------------------------------------------------------------------


def test_dimensions_of_the_notes():
    assert shatters([0.0, 1.0], "interval")
    assert not shatters([0.0, 1.0, 2.0], "interval")
    diamond = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    assert shatters(diamond, "rectangle")
    assert not shatters([*diamond, [0, 0]], "rectangle")
    assert shatters(diamond[:3], "linear")
    assert not shatters(diamond, "linear")


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_half_spaces_against_linprog_and_affine_independence(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    m = int(rng.integers(1, d + 3))
    points = rng.integers(-2, 3, size=(m, d)).astype(float)
    every = all(
        linprog(
            np.zeros(d + 1),
            -np.array(y)[:, None] * np.hstack([points, np.ones((m, 1))]),
            -np.ones(m),
            bounds=(None, None),
        ).status
        == 0
        for y in product((-1.0, 1.0), repeat=m)
    )
    independent = np.linalg.matrix_rank(np.hstack([points, np.ones((m, 1))])) == m
    assert shatters(points, "linear") == every == independent
    assert shatters(points * 1e5 + 3.0, "linear") == every


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_boxes_against_all_boxes_through_coordinates(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, size=(int(rng.integers(1, 5)), 2))
    found = {(False,) * len(points)}
    for x0, x1, y0, y1 in product(range(4), repeat=4):
        inside = (points >= [x0, y0]) & (points <= [x1, y1])
        found.add(tuple(inside.all(axis=1).tolist()))
    assert shatters(points, "rectangle") == (len(found) == 2 ** len(points))


def test_sines_shatter_powers_of_two():
    x = 2.0 ** -np.arange(1, 6)
    rows = []
    for code in range(32):
        labels = (code >> np.arange(5)) & 1
        omega = np.pi * (1 + sum((1 - y) * 2.0 ** (i + 1) for i, y in enumerate(labels)))
        rows.append(np.sin(omega * x) > 0)
    assert shatters(np.arange(5), np.array(rows))
    assert vc_dimension(np.array(rows)) == 5


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_growth_by_sets_and_sauer(seed):
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(int(rng.integers(2, 20)), 6)) < 0.5
    d = vc_dimension(table)
    for m in range(7):
        every = max(
            len({tuple(row) for row in table[:, list(c)].tolist()})
            for c in combinations(range(6), m)
        )
        assert growth_function(table, m) == every <= sauer_bound(m, d)
        assert (every == 2**m) == (m <= d)
    assert growth_function(ConceptClass.intervals(6), 3) == 7


# --- nets and boxes ----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_nets_by_enumeration_in_fractions(seed):
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(15, 8)) < 0.4
    weights = rng.integers(1, 5, size=8)
    chosen = rng.choice(8, size=3, replace=False)
    target, eps = int(rng.integers(15)), 0.25
    whole = int(weights.sum())
    expected = all(
        row[chosen].any()
        for row in table ^ table[target]
        if Fraction(int(weights[row].sum()), whole) >= Fraction(1, 4)
    )
    assert is_epsilon_net(chosen, table, eps, target=target, weights=weights) == expected
    assert is_epsilon_net(chosen, table, eps, target=table[target], weights=weights) == expected
    assert is_epsilon_net(np.arange(8), table, eps)


def test_the_rectangle_fails_less_often_than_promised():
    rng = np.random.default_rng(0)
    fails = 0
    for _ in range(400):
        X = rng.uniform(size=(176, 2))
        y = ((X > 0.2) & (X < 0.7)).all(axis=1)
        model = TightRectangle().fit(X, y)
        fails += 0.25 - np.prod(model.high_ - model.low_) > 0.1
    assert fails <= 20  # δ = 0.05 of 400
    assert model.error_bound(0.05) == pytest.approx(4 / 176 * log(80))


def test_the_rectangle_is_tight_and_consistent():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    y = np.where((np.abs(X) < 1).all(axis=1), "in", "out")
    model = TightRectangle().fit(X, y == "in")
    np.testing.assert_array_equal(model.predict(X), y == "in")
    np.testing.assert_array_equal(model.low_, X[y == "in"].min(axis=0))
    assert ((model.decision_function(X) > 0) == (y == "in")).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.error_bound(0.0)


def test_no_bound_is_promised_where_the_truth_is_no_box():
    model = TightRectangle().fit([[0.0], [1.0], [2.0]], [1, 0, 1])
    with pytest.warns(UserWarning, match="no box.* 1 of 3 rows"):
        model.error_bound(0.05)
