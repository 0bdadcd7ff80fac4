"""Iterative estimators tell scikit-learn's callbacks how far they are."""

import inspect

import numpy as np
import pytest
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.estimator_checks import _enforce_estimator_tags_y

from tests.conformance.discovery import declared_cases, estimators, other_cases, table_cases

ITERATIVE = {"max_iter", "n_epochs", "n_restarts", "n_iter", "max_steps"}


class Recorder:
    """A callback that counts."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append("begin")

    def on_fit_task_end(self, estimator, context):
        self.events.append("end")


def test_iterative_estimators_support_callbacks():
    exempt = {case.name for case in declared_cases() if not case.iterative}
    for cls in estimators():
        if ITERATIVE & set(inspect.signature(cls).parameters) and cls.__name__ not in exempt:
            assert issubclass(cls, CallbackSupportMixin), cls


def fit_on_a_table(estimator):
    rng = np.random.RandomState(0)
    X = np.abs(rng.normal(size=(40, 4)))
    y = _enforce_estimator_tags_y(estimator, (X[:, 0] > X[:, 1]).astype(int))
    return (
        estimator.fit(X, y)
        if estimator.__sklearn_tags__().target_tags.required
        else estimator.fit(X)
    )


CALLED = [
    (case.name, case.make, case.fit or fit_on_a_table)
    for case in [*other_cases(), *table_cases()]
    if case.iterative and isinstance(case.make(), CallbackSupportMixin)
]


@pytest.mark.parametrize(("name", "make", "fit"), CALLED, ids=[name for name, *_ in CALLED])
def test_callbacks_are_called_in_order(name, make, fit):
    recorder = Recorder()
    fit(make().set_callbacks(recorder))
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"
    assert recorder.events.count("begin") == recorder.events.count("end") >= 2
