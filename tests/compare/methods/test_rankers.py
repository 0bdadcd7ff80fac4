"""Rankers of games beside what they stand for."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from octavo.compare.methods.rankers import BradleyTerry, PreferenceRanker, pairs_of_games
from octavo.data import make_games
from octavo.ranking import MultinomialPreferenceModel


def test_bradley_terry_is_ridge_logistic_regression_on_differences():
    games, _ = make_games(80, 6, n_teams=(2, 4), draw_margin=2.0, random_state=0)
    pairs = pairs_of_games(games)
    rows = np.zeros((len(pairs), 6))
    for row, (one, other, _) in zip(rows, pairs):
        row[one[0]] += 1
        row[other[0]] -= 1
    result = np.array([pair[2] for pair in pairs])
    design, y = np.vstack([rows, rows]), np.repeat([1, 0], len(pairs))
    weight = np.concatenate([result, 1 - result])
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(design[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    ours = BradleyTerry(C=0.5).fit(games)
    np.testing.assert_allclose([ours.skill_[i] for i in range(6)], theirs.coef_[0], atol=1e-5)


def test_two_teams_have_the_odds_of_their_games():
    games = [([["a", "b"], ["c"]], [1, 2])] * 3 + [([["a", "b"], ["c"]], [2, 1])]
    chance = BradleyTerry(C=1e9).fit(games).predict_win([["a", "b"], ["c"]])
    np.testing.assert_allclose(chance, [0.75, 0.25], atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*no item both wins")
def test_the_preference_model_answers_by_its_own_chance():
    games, _ = make_games(60, 5, random_state=1)
    ranker = PreferenceRanker(MultinomialPreferenceModel(alpha=1e-3)).fit(games)
    first, second = sorted(ranker.skill_, key=ranker.skill_.__getitem__)[-2:]
    place = list(ranker.skill_)
    expected = ranker.ranker_.pair_proba(place.index(second), place.index(first))
    assert ranker.predict_win([[second], [first]])[0] == pytest.approx(expected)
    assert ranker.predict_win([["never seen"], [first]]).sum() == pytest.approx(1)
