"""The hook for generalised linear models against the compiled softmax and against a plain loop."""

import warnings

import numpy as np
import pytest

from octavo.linear import AveragedSGDClassifier, averaged_sgd_glm


def rows_of(X, y, n_classes):
    for x, label in zip(X, y, strict=True):
        yield np.kron(np.eye(n_classes), x), int(label)


@pytest.mark.parametrize("schedule", ["decay", "constant", "doubling", "distance"])
def test_softmax_is_a_special_case(schedule):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (100, 3)), rng.integers(0, 3, 100)
    rho = np.linalg.norm(X, axis=1).max()
    options = {"schedule": schedule, "horizon": 100, "dist": 1.5}
    found = averaged_sgd_glm(rows_of(X, y, 3), rho, **options)
    model = AveragedSGDClassifier(R=2 * rho, fit_intercept=False, shuffle=False, **options)
    model.fit(X, y)
    np.testing.assert_allclose(found.coef.reshape(3, 3), model.coef_, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.last_coef.reshape(3, 3), model.last_coef_, rtol=1e-11)
    assert found.n_seen == 100
    assert found.step == pytest.approx(model.step_)


def test_base_measure_is_a_shift_of_the_scores():
    """Two responses with log h = (0, log 3): the first gradient is (1/4, 3/4) minus the choice."""
    rows = [(np.array([[1.0], [-1.0]]), 0)]
    found = averaged_sgd_glm(rows, 1.0, base=lambda table: np.log([1.0, 3.0]), c=1.0)
    assert found.coef.tolist() == [0.0]
    assert found.last_coef[0] == pytest.approx(0.25 * (0.75 + 0.75))  # γ = 1/R² = 1/4


@pytest.mark.parametrize(
    ("rows", "bound", "words"),
    [
        ([], 1.0, "empty"),
        ([(np.ones((2, 2)), 0)], 1.0, "length 1.41421"),
        ([(np.ones((2, 2)), 2)], 2.0, "0 to 1"),
        ([(np.ones((2, 2)), 0), (np.ones((2, 3)), 0)], 2.0, r"\(n_responses, 2\)"),
        ([(np.full((2, 2), np.nan), 0)], 2.0, "finite"),
        ([(np.ones((2, 2)), 0)], 0.0, "bound must"),
    ],
)
def test_bad_rows_are_named(rows, bound, words):
    with pytest.raises(ValueError, match=words):
        averaged_sgd_glm(rows, bound)


def test_schedules_are_checked():
    with pytest.raises(ValueError, match="schedule must"):
        averaged_sgd_glm([(np.ones((2, 2)), 0)], 2.0, schedule="steep")
    with pytest.raises(ValueError, match="needs a horizon"):
        averaged_sgd_glm([(np.ones((2, 2)), 0)], 2.0, schedule="constant")


@pytest.mark.parametrize("chunks", [False, True])
def test_rows_that_are_short_beside_the_intercept_are_warned_of(chunks):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)

    def given(Z):
        return ([(Z[:100], y[:100]), (Z[100:], y[100:])],) if chunks else (Z, y)

    options = {"classes": [0, 1]} if chunks else {}
    with pytest.warns(UserWarning, match=r"No row is longer than 0\.01"):
        AveragedSGDClassifier().fit(*given(X * 1e-5), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        AveragedSGDClassifier().fit(*given(X), **options)
        AveragedSGDClassifier(fit_intercept=False).fit(*given(X * 1e-5), **options)
