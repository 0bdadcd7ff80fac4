"""What doubles can hold is said before they overflow."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.estimators.doubles import (
    check_finite_result,
    check_squares,
    has_small_squares,
    reachable_tolerance,
    real_array,
)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("entry", [1e155, -1e155, 1.34e154])
def test_squares_that_overflow_are_refused(form, entry):
    X = form(np.array([[1.0, entry], [entry, 2.0]]))
    with pytest.raises(ValueError, match=r"squared lengths of its rows overflow.*MaxAbsScaler\.$"):
        check_squares(X)
    check_squares(X / 1e20)


def test_empty_tables_have_no_squares():
    check_squares(np.zeros((0, 3)))
    check_squares(sp.csr_array((3, 3)))


def test_results_must_be_finite():
    check_finite_result(np.ones(3), "The weights")
    with pytest.raises(ValueError, match="The weights are not finite"):
        check_finite_result(np.array([1.0, np.nan]), "The weights")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1j], "real numbers, got complex"),
        (["a"], "array of real numbers, got list"),
        (object(), "array of real numbers, got object"),
        ([1.0, np.inf], "contains NaN or infinity"),
        ([[1.0], [1.0, 2.0]], "array of real numbers, got list"),
    ],
)
def test_real_arrays(values, words):
    with pytest.raises(ValueError, match=f"t must .*{words}"):
        real_array(values, "t")


def test_real_arrays_are_not_copied():
    values = np.ones(3)
    assert real_array(values, "t") is values
    assert real_array([1, 2], "t").dtype == np.float64
    assert np.isnan(real_array([np.nan], "t", finite=False)).all()


def test_tolerances_have_a_floor():
    assert reachable_tolerance(1e-3) == 1e-3
    assert reachable_tolerance(1e-308) == 16 * np.finfo(float).eps
    assert reachable_tolerance(0.0, floor=1e-9) == 1e-9


@pytest.mark.parametrize("sparse", [False, True])
def test_one_pass_proves_what_two_checks_would_accept(sparse):
    X = np.arange(12.0).reshape(3, 4)
    form = sp.csr_matrix if sparse else np.ascontiguousarray
    assert has_small_squares(form(X))
    for bad in (np.nan, np.inf, -np.inf, 1e154, 1e200):
        worse = X.copy()
        worse[1, 2] = bad
        assert not has_small_squares(form(worse))


def test_one_pass_says_nothing_of_other_tables():
    for unknown in ([[1.0]], np.ones((2, 2), order="F"), np.ones((2, 2), np.float32)):
        assert not has_small_squares(unknown)
    assert not has_small_squares(sp.csc_matrix(np.eye(2)))
