"""The search finds what its score says, and says what the survey tried."""

import numpy as np
import pytest

from octavo.rl import (
    BRM,
    LSTD,
    TD,
    coefficient_path,
    make_baird,
    make_boyan,
    survey_grid,
    tune_evaluator,
)


def test_the_score_is_the_weighted_mean_of_root_errors():
    problem = make_boyan()
    tuning = tune_evaluator(LSTD(0.95), {"eps": [10.0]}, problem, n_steps=300, n_trials=1)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    path = coefficient_path(LSTD(0.95, eps=10.0), problem.sample(300, random_state=seed), 20)
    errors = [problem.objectives().mspbe(theta) ** 0.5 for theta in path.coefs]
    assert tuning.score == pytest.approx(np.average(errors, weights=np.linspace(1, 2, 20)))


def test_the_best_parameters_have_the_smallest_score():
    grid = {"learning_rate": [1e-3, 1e-2, 1e-1]}
    tuning = tune_evaluator(TD(0.95), grid, make_boyan(), n_steps=500)
    assert tuning.score == tuning.scores.min()
    assert tuning.best.learning_rate == tuning.params[int(tuning.scores.argmin())]["learning_rate"]


def test_divergence_scores_infinity_without_a_warning():
    star = make_baird()
    model = TD(star.gamma, theta0=star.theta0)
    tuning = tune_evaluator(model, {"learning_rate": [0.0, 0.5]}, star, n_steps=20_000, n_trials=1)
    assert tuning.best.learning_rate == 0.0
    assert tuning.scores[1] > 1e9


def test_double_samples_are_drawn_when_asked_for():
    tuning = tune_evaluator(
        BRM(0.95), {"double_sample": [True]}, make_boyan(), n_steps=200, objective="msbe"
    )
    assert tuning.best.double_sample


def test_grids():
    assert len(survey_grid("TD")["learning_rate"]) == 25
    with pytest.raises(ValueError, match="no grid for 'GPTD'"):
        survey_grid("GPTD")
