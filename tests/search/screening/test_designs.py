"""Designs against the paper's tables, brute force over columns, and pyDOE3 where it is there."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.search import (
    FactorialDesign,
    central_composite,
    fold_over,
    fractional_factorial,
    full_factorial,
)

PAPER = np.array(  # Section 5.3
    [
        [-1, -1, -1, -1],
        [-1, -1, 1, 1],
        [-1, 1, -1, 1],
        [-1, 1, 1, -1],
        [1, -1, -1, 1],
        [1, -1, 1, -1],
        [1, 1, -1, -1],
        [1, 1, 1, 1],
    ]
)


def brute_aliases(coded):
    """Group all sets of columns by their product, as numbers."""
    k = coded.shape[1]
    groups = {}
    for size in range(1, k + 1):
        for columns in itertools.combinations(range(k), size):
            product = coded[:, list(columns)].prod(axis=1)
            groups.setdefault(product.tobytes(), set()).add(columns)
    return {frozenset(group) for group in groups.values()}


def brute_resolution(coded):
    k = coded.shape[1]
    for size in range(1, k + 1):
        for columns in itertools.combinations(range(k), size):
            if abs(coded[:, list(columns)].prod(axis=1).sum()) == len(coded):
                return size
    return k + 1


def test_the_paper_s_design_row_by_row():
    design = fractional_factorial(4)
    assert np.array_equal(design.coded, PAPER)
    assert design.generators == ((0, 1, 2),)
    assert design.resolution == 4
    assert ((0,), (1, 2, 3)) in design.aliases
    assert ((0, 2), (1, 3)) in design.aliases


@settings(max_examples=40, deadline=None)
@given(k=st.integers(1, 9), less=st.integers(0, 2))
def test_columns_are_orthogonal_and_the_report_is_true(k, less):
    p = max(len(fractional_factorial(k).generators) - less, 0)
    design = fractional_factorial(k, p)
    n = len(design.coded)
    assert n == 2 ** (k - p) >= k + 1
    assert np.array_equal(design.coded.T @ design.coded, n * np.eye(k))
    assert np.array_equal(design.coded.sum(axis=0), np.zeros(k))
    assert design.resolution == brute_resolution(design.coded)
    assert {frozenset(group) for group in design.aliases} == brute_aliases(design.coded)


@pytest.mark.parametrize("k", range(1, 32))
def test_the_default_is_the_smallest_design(k):
    runs = len(fractional_factorial(k).coded) if k < 26 else 32
    assert runs >= k + 1
    assert runs < 2 * (k + 1) or k == 1


# Highest resolutions, from Montgomery's table of fractional designs.
@pytest.mark.parametrize(
    ("k", "p", "resolution"),
    [(5, 1, 5), (5, 2, 3), (6, 1, 6), (6, 2, 4), (7, 1, 7), (7, 2, 4), (7, 3, 4), (7, 4, 3)]
    + [(8, 2, 5), (8, 3, 4), (8, 4, 4), (9, 2, 6), (9, 3, 4), (9, 4, 4), (9, 5, 3), (10, 3, 5)],
)
def test_resolution_is_the_highest_known(k, p, resolution):
    assert fractional_factorial(k, p).resolution == resolution


def test_generators_of_one_s_own():
    design = fractional_factorial(5, generators=[(0, 1), (1, 2)])
    assert np.array_equal(design.coded[:, 3], design.coded[:, 0] * design.coded[:, 1])
    assert np.array_equal(design.coded[:, 4], design.coded[:, 1] * design.coded[:, 2])
    assert design.resolution == 3


def test_peer():
    pydoe = pytest.importorskip("pyDOE3")
    assert np.array_equal(pydoe.fracfact("a b c abc"), fractional_factorial(4).coded)


def test_fold_over_removes_odd_words():
    design = fractional_factorial(7)
    both = fold_over(design)
    assert (design.resolution, both.resolution) == (3, 4)
    assert {frozenset(g) for g in both.aliases} == brute_aliases(both.coded)
    one = fold_over(design, 2)
    assert {frozenset(g) for g in one.aliases} == brute_aliases(one.coded)
    assert ((2,),) not in design.aliases
    with pytest.raises(ValueError, match="column must be"):
        fold_over(design, 7)


def test_full_factorial_counts_through_all_levels():
    levels = (2, 3, 4)
    expected = list(itertools.product(*map(range, levels)))
    assert full_factorial(levels).tolist() == [list(row) for row in expected]


def test_central_composite_is_rotatable():
    """The fourth moments of a rotatable design satisfy Σx_i⁴ = 3 Σ x_i² x_j²."""
    for k in (2, 3, 4):
        X = central_composite(k, center_points=3)
        assert X.shape == (2**k + 2 * k + 3, k)
        np.testing.assert_allclose((X[:, 0] ** 4).sum(), 3 * (X[:, 0] ** 2 * X[:, 1] ** 2).sum())
    assert np.abs(central_composite(3, "face")).max() == 1.0


def test_named_factors_are_decoded():
    factors = {"C": (4, 8, "int"), "nodes": (5000, 10000, "int"), "acc": (0.75, 0.9)}
    factors["rate"] = (1e-3, 1e-1, "log")
    design = FactorialDesign(factors, center_points=1, limits={"acc": (0, 1)})
    assert design.coded_.shape == (9, 4)
    assert design.resolution_ == 4
    first, middle = design.natural_[0], design.natural_[-1]
    assert first == pytest.approx({"C": 4, "nodes": 5000, "acc": 0.75, "rate": 1e-3})
    assert middle == pytest.approx({"C": 6, "nodes": 7500, "acc": 0.825, "rate": 1e-2})
    assert isinstance(middle["C"], int)
    far = design.space_.decode([0, 0, 9, 0])
    assert far["acc"] == 1.0
    np.testing.assert_allclose(design.space_.encode(middle), 0.0, atol=1e-12)


def test_replicates_and_order():
    factors = dict.fromkeys("abc", (0, 1))
    plain = FactorialDesign(factors, replicates=2)
    shuffled = FactorialDesign(factors, replicates=2, random_state=0)
    assert not np.array_equal(plain.coded_, shuffled.coded_)
    assert sorted(map(tuple, plain.coded_)) == sorted(map(tuple, shuffled.coded_))
    assert len(FactorialDesign(factors, resolution=4).coded_) == 8


@pytest.mark.parametrize(
    ("factors", "limits", "match"),
    [
        ({}, None, "at least one name"),
        ({"a": (1, 1)}, None, "low < high"),
        ({"a": (2, 1)}, None, "low < high"),
        ({"a": ("x", "y")}, None, "quantitative"),
        ({"a": ["linear", "poly", "rbf"]}, None, "quantitative"),
        ({"a": (0, 1, "log")}, None, "positive"),
        ({"a": (0.5, 1.5, "int")}, None, "integers"),
        ({"a": (0, np.nan)}, None, "finite"),
        ({"a": (-1e308, 1e308)}, None, "wider"),
        ({"a": (0, 1)}, {"a": (0.5, 1)}, "enclose"),
        ({"a": (0, 1)}, {"b": (0, 1)}, "no factor"),
    ],
)
def test_bad_factors(factors, limits, match):
    with pytest.raises(ValueError, match=match):
        FactorialDesign(factors, limits=limits)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: fractional_factorial(0), "k must be"),
        (lambda: fractional_factorial(3, 2), "too few runs"),
        (lambda: fractional_factorial(4, 5), "too few runs"),
        (lambda: fractional_factorial(10**6), "entries"),
        (lambda: fractional_factorial(5, generators=[(0, 1), (0, 1)]), "the same"),
        (lambda: fractional_factorial(4, generators=[(0, 3)]), "base columns"),
        (lambda: full_factorial([]), "at least one"),
        (lambda: full_factorial([2, 0]), "levels"),
        (lambda: central_composite(2, "round"), "alpha"),
        (lambda: central_composite(2, -1.0), "alpha"),
    ],
)
def test_bad_designs(call, match):
    with pytest.raises(ValueError, match=match):
        call()
