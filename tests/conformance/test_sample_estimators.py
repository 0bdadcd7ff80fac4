"""Estimators of information-theoretic quantities keep one contract: nothing is fitted."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import octavo.info
from octavo.info import find_estimator, list_estimators

RNG = np.random.default_rng(0)
RECORDS = [r for r in list_estimators() if hasattr(octavo.info, r.name)]
CLASSES = [getattr(octavo.info, record.name) for record in RECORDS]
each_class = pytest.mark.parametrize("cls", CLASSES, ids=[cls.__name__ for cls in CLASSES])


def make(cls):
    """Return a default instance; what is random gets a seed."""
    seeded = "random_state" in inspect.signature(cls).parameters
    return cls(random_state=0) if seeded else cls()


def data(cls, n=60):
    """Return the arguments of ``estimate`` on a small valid sample."""
    rng = np.random.default_rng(0)
    d = 2 if cls.dimensions is None else cls.dimensions[0]
    if cls.kind in ("mutual_info", "association"):  # each column is a group of its own
        d = 3 if cls.__name__ == "LancasterInteraction" else 2
    X, Y = rng.normal(size=(n, d)), rng.normal(0.5, 1.0, size=(n, d))
    return (X, Y) if cls.kind in ("divergence", "cross_entropy", "kernel") else (X,)


def plain_params(estimator):
    """Return parameters with their values, those of inner estimators by their names alone."""
    given = estimator.get_params()
    return {name: value for name, value in given.items() if not hasattr(value, "get_params")}


def test_names_find_one_class_each():
    keys = [(record.kind, record.measure, record.method) for record in RECORDS]
    assert len(keys) == len(set(keys))
    assert [find_estimator(*key) for key in keys] == CLASSES


def test_every_measure_has_a_default_method():
    for kind, measure in {(record.kind, record.measure) for record in RECORDS}:
        assert find_estimator(kind, measure)


@each_class
def test_metadata_is_complete(cls):
    for name in ("kind", "measure", "method", "estimates", "cost", "assumptions"):
        assert getattr(cls, name), name
    assert cls.measure == cls.measure.lower().replace("-", "_")
    assert cls.method == cls.method.lower().replace("-", "_")


@each_class
def test_docstring_tells_parameters_and_references(cls):
    text = inspect.getdoc(cls)
    for name in inspect.signature(cls).parameters:
        assert f"{name} : " in text, name
    assert "References\n----------" in text


@each_class
def test_parameters_are_stored_cloned_and_printed(cls):
    estimator = make(cls)
    assert vars(estimator).keys() == estimator.get_params(deep=False).keys()
    assert repr(plain_params(clone(estimator))) == repr(plain_params(estimator))
    assert repr(estimator).startswith(cls.__name__)
    with pytest.raises(ValueError, match="no_such_parameter"):
        estimator.set_params(no_such_parameter=1)


@each_class
def test_estimate_is_a_float_that_leaves_everything_alone(cls):
    estimator, arguments = make(cls), data(cls)
    before = copy.deepcopy((plain_params(estimator), arguments))
    value = estimator.estimate(*arguments)
    assert isinstance(value, float)
    assert np.isfinite(value)
    np.testing.assert_equal(vars(estimator).keys(), estimator.get_params(deep=False).keys())
    np.testing.assert_equal(arguments, before[1])
    assert repr(plain_params(estimator)) == repr(before[0])


@each_class
def test_equal_settings_give_equal_estimates(cls):
    arguments = data(cls)
    estimator = make(cls)
    value = estimator.estimate(*arguments)
    assert make(cls).estimate(*arguments) == value
    assert pickle.loads(pickle.dumps(estimator)).estimate(*arguments) == value
    assert find_estimator(cls.kind, cls.measure, cls.method) is cls


@each_class
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: np.where(np.arange(len(X))[:, None] == 3, np.nan, X), "NaN"),
        (lambda X: np.where(np.arange(len(X))[:, None] == 3, np.inf, X), "infinity"),
        (lambda X: X[:0], "sample"),
        (lambda X: X[:1], "sample"),
        (lambda X: X[None], "dim"),
    ],
    ids=["NaN", "infinity", "empty", "single", "shape"],
)
def test_bad_samples_say_what_is_wrong(cls, spoil, words):
    first, *rest = data(cls)
    with pytest.raises(ValueError, match=words):
        make(cls).estimate(spoil(first), *rest)


@each_class
def test_columns_must_match(cls):
    if cls.kind not in ("divergence", "cross_entropy", "kernel"):
        pytest.skip("one sample")
    X, Y = data(cls)
    with pytest.raises(ValueError, match="same number of columns"):
        make(cls).estimate(X, np.hstack([Y, Y**2]))


@each_class
def test_numbers_out_of_range_are_refused(cls):
    estimator = make(cls)
    declared = {*inspect.signature(cls).parameters}
    assert declared == set(cls._parameter_constraints), "a parameter has no constraint"
    for name in declared:
        with pytest.raises(ValueError, match=name):
            clone(estimator).set_params(**{name: object()}).estimate(*data(cls))
