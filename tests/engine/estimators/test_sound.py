"""Errors from inside become sentences; what somebody wrote is left alone."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from octavo.decomposition import AnechoicMixture
from octavo.engine.estimators.raw_errors import is_raw
from octavo.engine.estimators.sound import NotFiniteWarning, SoundEstimator
from octavo.network import signed_katz
from tests.conformance.hostile_estimators import estimator_classes


class Fragile(SoundEstimator):
    """What it does when it is asked is a parameter."""

    def __init__(self, act=None):
        self.act = act

    def fit(self, X, y=None):
        self.coef_ = np.asarray(X, dtype=float)[0]
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.act(X)

    # methods of octavo are guarded, those of a user's class are not
    fit.__module__ = predict.__module__ = "octavo.somewhere"


# They stand where octavo's own code would: a module called octavo.
OURS = {"np": np, "math": math, "__name__": "octavo.somewhere"}


def ours(source):
    return eval(f"lambda X: {source}", dict(OURS))


def model(act):
    return Fragile(act).fit([[1.0]])


@pytest.mark.parametrize(
    "act",
    [
        ours("np.linalg.inv(np.zeros((2, 2)))"),
        ours("1 / 0"),
        ours("math.exp(1e9)"),
        ours("[][3]"),
        ours("{}['a']"),
        ours("np.ones(2) + np.ones(3)"),
        ours("float('banana')"),
        ours("int(float('nan'))"),
        ours("np.zeros(0).max()"),
    ],
)
def test_errors_from_inside_are_told_in_a_sentence(act):
    with pytest.raises(ValueError, match=r"Fragile\.predict cannot use these values") as caught:
        model(act).predict([[1.0]])
    assert type(caught.value) is ValueError
    assert caught.value.__cause__ is not None
    assert str(caught.value).endswith(".")


def test_type_errors_stay_type_errors():
    with pytest.raises(TypeError, match=r"cannot use these values .*argument must be .* string"):
        model(ours("float({})")).predict([[1.0]])


def test_what_a_caller_raises_is_left_alone():
    def act(X):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model(act).predict([[1.0]])
    with pytest.raises(ZeroDivisionError):
        model(lambda X: 1 / 0).predict([[1.0]])


def test_wrong_calls_stay_type_errors():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Fragile().fit()
    with pytest.raises(NotFittedError):
        Fragile().predict([[1.0]])


def test_nan_is_refused_unless_it_was_given():
    silent = model(lambda X: np.full(len(X), np.nan))
    with pytest.raises(ValueError, match="comes out as NaN"):
        silent.predict([[1.0]])
    assert np.isnan(silent.predict([[np.nan]])).all()
    assert np.isnan(silent.predict(np.array([[np.nan]]))).all()
    with pytest.raises(ValueError, match="comes out as NaN"):
        model(lambda X: float("nan")).predict([[1.0]])


def test_infinity_is_warned_of():
    with pytest.warns(NotFiniteWarning, match=r"Fragile\.predict answers with infinite"):
        assert np.isinf(model(lambda X: np.full(len(X), np.inf)).predict([[1.0]])).all()


def test_a_model_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="ends with a coef_ that is not finite"):
        Fragile().fit([[np.inf]])


def test_subclasses_clone_and_call_their_parents():
    class Child(Fragile):
        def fit(self, X, y=None):
            return super().fit(X, y)

        def score(self, X):
            return [][3]

    with pytest.raises(IndexError):
        Child().score([[1.0]])
    assert clone(Child()).fit([[2.0]]).coef_ == 2.0


def test_lists_of_different_lengths_are_named():
    with pytest.raises(ValueError, match=r"X\[0\] has shape \(2,\) and X\[1\] has \(1,\)"):
        AnechoicMixture(1).fit([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match=r"A\[0\] has shape \(2,\) and A\[1\] has \(1,\)"):
        signed_katz([[0.0, 1.0], [1.0]], 0.1)


def test_sentences_are_not_raw():
    for error in (ValueError("X must be positive."), NotFittedError("no")):
        assert not is_raw(error)


@pytest.mark.parametrize(("package", "name", "cls"), estimator_classes())
def test_every_estimator_is_sound(package, name, cls):
    assert issubclass(cls, SoundEstimator)


def test_a_call_without_its_arguments_is_told_as_python_tells_it():
    from octavo.ranking import OnlineRanker

    with pytest.raises(TypeError, match="missing 2 required positional arguments") as caught:
        OnlineRanker().fit([0, 2])
    assert "cannot use these values" not in str(caught.value)
