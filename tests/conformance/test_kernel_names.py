"""Every kernel that a user may name, in every estimator that takes one, is scikit-learn's.

Estimators are found by discovery: whatever has a parameter `kernel` and computes blocks with
`octavo.engine.kernels.gram`. A fit with a name must be the fit with a function that asks
`pairwise_kernels` for that name with the same parameters; a name that nobody knows is met by one
sentence that lists the known ones.
"""

import inspect

import numpy as np
import pytest
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels

from octavo.engine.kernels.gram import ALIASES, KERNEL_PARAMETERS
from octavo.kernel import KernelStack, nystroem_report, select_landmarks
from tests.conformance.discovery import estimators

RNG = np.random.default_rng(5)
X = np.abs(RNG.standard_normal((40, 3)))  # the chi2 kernels are for histograms
Y = np.arange(40) % 2
X[:, 0] += 4.0 * Y
NAMES = sorted(kernel_metrics())
GIVEN = {"gamma": 0.3, "degree": 2, "coef0": 0.7}
ANSWERS = ("decision_function", "transform", "predict_utility", "predict")
FITTED = ("radius_", "weights_")  # for what answers nothing


def kernel_estimators():
    """Return the estimators whose kernel is a name of scikit-learn's or a function."""
    found = []
    for cls in estimators():
        parameters = inspect.signature(cls).parameters
        if {"kernel", "coef0"} <= set(parameters):
            found.append(cls)
    return found


def takes(cls, name):
    constraint = cls._parameter_constraints["kernel"]
    return any(option is str or name in getattr(option, "options", ()) for option in constraint)


def parameters(cls, **more):
    """Return small settings for a class, those of `more` that it knows among them."""
    wanted = {"n_components": 2, "n_estimators": 2, "random_state": 0, "min_accuracy": 0.1, **more}
    wanted |= {"tol": 1e-7, "aggregation": "mean"}
    if cls.__name__ == "AESVCCV":  # it chooses gamma and degree from grids, and nothing else
        wanted |= {"gammas": [GIVEN["gamma"]], "degree_grid": [GIVEN["degree"]], "Cs": [1.0]}
        wanted |= {"cv": 2}
    known = inspect.signature(cls).parameters
    return {name: value for name, value in wanted.items() if name in known}


def answers(model):
    target = Y
    if hasattr(model, "predict_survival_function"):
        target = np.column_stack([X[:, 0], X[:, 0]])
    elif hasattr(model, "predict_comparisons"):
        target = np.column_stack([np.arange(38), np.arange(2, 40), np.arange(1, 39)])
    model.fit(X, target)
    found = {name: getattr(model, name)(X) for name in ANSWERS if hasattr(model, name)}
    return found or {name: getattr(model, name) for name in FITTED if hasattr(model, name)}


def alike(a, b):
    return np.shape(a) == np.shape(b) and np.allclose(a, b, atol=2e-5)


def by_pairwise_kernels(name):
    used = {key: value for key, value in GIVEN.items() if key in KERNEL_PARAMETERS[name]}
    return lambda A, B: pairwise_kernels(A, B, metric=name, **used)


def test_discovery_finds_the_kernel_machines():
    names = {cls.__name__ for cls in kernel_estimators()}
    assert {
        "NoOffsetSVC",
        "NystroemLandmarks",
        "KnowledgeKernelPCA",
        "AESVC",
        "EnsembleSVC",
    } < names


def test_every_name_of_scikit_learn_is_known():
    assert set(NAMES) == (set(KERNEL_PARAMETERS) - {"precomputed"}) | set(ALIASES)


@pytest.mark.parametrize(
    ("cls", "name"),
    [(cls, name) for cls in kernel_estimators() for name in NAMES if takes(cls, name)],
    ids=lambda value: getattr(value, "__name__", value),
)
@pytest.mark.filterwarnings("ignore")
def test_a_named_kernel_is_pairwise_kernels(cls, name):
    plain = ALIASES.get(name, name)
    named = answers(cls(**parameters(cls, kernel=name, **GIVEN)))
    called = answers(cls(**parameters(cls, kernel=by_pairwise_kernels(plain))))
    for method, value in named.items():
        np.testing.assert_allclose(np.abs(value), np.abs(called[method]), atol=2e-5)
    if KERNEL_PARAMETERS[plain]:  # and a parameter that matters moves the answer
        other = answers(cls(**parameters(cls, kernel=name, **GIVEN | {"gamma": 2.1})))
        if cls.__name__ != "AESVCCV":
            assert not all(alike(other[m], named[m]) for m in named)


@pytest.mark.parametrize("cls", kernel_estimators(), ids=lambda cls: cls.__name__)
def test_an_unknown_name_is_a_sentence(cls):
    with pytest.raises(
        ValueError, match=r"(?s)kernel.*(must be|be a str).*'poly'.*[gG]ot 'banana'"
    ):
        cls(kernel="banana").fit(X, Y)


@pytest.mark.parametrize("cls", kernel_estimators(), ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("factor", [1e155, 1e160])
@pytest.mark.filterwarnings("ignore")
def test_rows_whose_squares_overflow_are_refused(cls, factor):
    with pytest.raises(ValueError, match=r"infinity|overflow|large values|point can hold"):
        cls(**parameters(cls, kernel="rbf", gamma=1.0)).fit(factor * X, Y)


def test_unknown_names_elsewhere():
    with pytest.raises(ValueError, match=r"'additive_chi2'.*'sigmoid'.*got 'banana'\."):
        KernelStack([("b", "banana")]).fit(X)
    with pytest.raises(ValueError, match="got 'banana'"):
        select_landmarks(X, 2, "banana")
    with pytest.raises(ValueError, match="got 'banana'"):
        nystroem_report(X, [0, 1], "banana")


@pytest.mark.parametrize("name", NAMES)
def test_the_stack(name):
    plain = ALIASES.get(name, name)
    used = {key: value for key, value in GIVEN.items() if key in KERNEL_PARAMETERS[plain]}
    K = KernelStack([("a", name, used)], normalize=None).fit_transform(X)
    np.testing.assert_allclose(K[0], pairwise_kernels(X, metric=name, **used), atol=1e-12)


def test_a_stack_ignores_no_parameter():
    with pytest.raises(ValueError, match=r"is 'rbf' and takes gamma, columns; got \['gama'\]"):
        KernelStack([("a", "rbf", {"gama": 1.0})]).fit(X)
    with pytest.raises(ValueError, match=r"takes columns; got \['gamma'\]"):
        KernelStack([("a", "linear", {"gamma": 1.0})]).fit(X)

    def scaled(A, B, gamma=1.0):  # gamma is the function's own here
        return gamma * A @ B.T

    K = KernelStack([("a", scaled, {"gamma": 5.0})], normalize=None).fit_transform(X)
    np.testing.assert_allclose(K[0], 5.0 * X @ X.T)


@pytest.mark.parametrize(
    "cls",
    [cls for cls in kernel_estimators() if "kernel_params" in inspect.signature(cls).parameters],
    ids=lambda cls: cls.__name__,
)
def test_parameters_of_a_callable_are_refused_with_a_name(cls):
    with pytest.raises(ValueError, match=r"callable kernel; 'rbf' takes gamma, got \['gamma'\]"):
        cls(kernel="rbf", kernel_params={"gamma": 2.0}).fit(X, Y)
