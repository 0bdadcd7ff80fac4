"""The spirit of scikit-learn's checks for estimators whose input is not a table."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.conformance.discovery import other_cases

CASES = other_cases()
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def same(one, other):
    np.testing.assert_equal(one, other)


@each_case
def test_init_only_stores_and_clone_copies(case):
    estimator = case.make()
    before = dict(vars(estimator))
    copied = clone(estimator)
    assert type(copied) is type(estimator)
    assert vars(estimator).keys() == estimator.get_params(deep=False).keys()
    same(copied.get_params(deep=False).keys(), before.keys())
    assert repr(copied) == repr(estimator)
    assert repr(estimator).startswith(type(estimator).__name__)
    estimator.set_params(**estimator.get_params(deep=False))
    with pytest.raises(ValueError, match="no_such_parameter"):
        estimator.set_params(no_such_parameter=1)


@each_case
def test_fit_returns_self_and_leaves_parameters_alone(case):
    estimator = case.make()
    before = copy.deepcopy(estimator.get_params(deep=False))
    assert case.fit(estimator) is estimator
    same(estimator.get_params(deep=False), before)


def input_data(case):
    """Return the data that stands at the top of a case's module; fit works on it."""
    module = inspect.getmodule(case.fit)
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and name != "CASES" and not callable(value)
    }


@each_case
def test_fit_does_not_change_its_input(case):
    data = input_data(case)
    assert data, "put the input of fit at the top of the case's module, in capitals"
    before = copy.deepcopy(data)
    case.query(case.fit(case.make()))
    same(data, before)


@each_case
def test_equal_seeds_give_equal_models(case):
    same(case.query(case.fit(case.make())), case.query(case.fit(case.make())))


@each_case
def test_fitting_again_starts_afresh(case):
    estimator = case.fit(case.make())
    first = copy.deepcopy(case.query(estimator))
    same(case.query(case.fit(estimator)), first)


@each_case
def test_pickle_keeps_the_model(case):
    estimator = case.fit(case.make())
    same(case.query(pickle.loads(pickle.dumps(estimator))), case.query(estimator))
    same(case.query(copy.deepcopy(estimator)), case.query(estimator))


@each_case
def test_unfitted_use_says_so(case):
    assert case.unfitted, "declare at least one use that needs a fit"
    for use in case.unfitted:
        with pytest.raises(NotFittedError):
            use(case.make())


BAD = [(case, *entry) for case in CASES for entry in case.bad]


@pytest.mark.parametrize(
    ("case", "label", "attempt", "error", "words"), BAD, ids=[f"{b[0].name}-{b[1]}" for b in BAD]
)
def test_bad_input_says_what_is_wrong(case, label, attempt, error, words):
    with pytest.raises(error, match=words):
        attempt(case.make())


@each_case
def test_bad_cases_cover_the_usual_mistakes(case):
    labels = {label for label, *_ in case.bad}
    assert {"NaN", "empty", "shape", "type", "option"} <= labels, labels
