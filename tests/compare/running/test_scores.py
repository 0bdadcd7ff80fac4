"""Scores of folds."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from octavo.compare.running.scores import judge, silhouette_with_noise
from octavo.compare.table.problems import Problem
from octavo.compare.table.tasks import SURVIVAL


def test_noise_is_no_cluster_and_counts_as_nothing():
    points = np.array([[0.0], [0.1], [10.0], [10.1], [4.0], [6.0]])
    labels = np.array([0, 0, 1, 1, -1, -1])
    alone = silhouette_score(points[:4], labels[:4])
    assert silhouette_with_noise(points, labels) == pytest.approx(alone * 4 / 6)
    assert silhouette_with_noise(points[:4], labels[:4]) == pytest.approx(alone)
    assert silhouette_with_noise(points, np.full(6, -1)) == 0.0
    assert silhouette_with_noise(points, np.array([0, 0, 0, 0, -1, -1])) == 0.0


GAMES = [
    ([["a"], ["b"], ["c"]], [1, 2, 2]),
    ([["a"], ["b"]], [2, 1]),
    ([["b"], ["c"]], [1, 2]),
]


def judged(chances, score):
    def predict_win(teams):
        chance = chances["".join(team[0] for team in teams)]
        return [chance, 1 - chance]

    problem = Problem("ranking", GAMES, None, "games", "")
    return judge(SimpleNamespace(predict_win=predict_win), problem, problem, score)


def test_games_are_judged_by_their_pairs_and_have_a_value_each():
    told = judged({"ab": 0.8, "ac": 0.5, "bc": 0.4}, "pair_accuracy")
    # a before b: right; a before c at even odds, and b level with c: half; the other two: wrong
    assert told.score == told.extras["pair_accuracy"] == pytest.approx(2 / 5)
    logs = np.log([0.8, 0.5, np.sqrt(0.4 * 0.6), 0.2, 0.4])
    assert told.extras["neg_log_loss"] == pytest.approx(logs.mean())
    assert told.values == pytest.approx([2 * 3 / 5, 0.0, 0.0])
    assert told.predictions == [0.8, 0.5, 0.4, 0.8, 0.4]
    told = judged({"ab": 0.8, "ac": 0.5, "bc": 0.4}, "neg_log_loss")
    by_game = np.array([logs[:3].sum(), logs[3], logs[4]]) * 3 / 5
    assert told.values == pytest.approx(by_game, rel=1e-5)


def test_a_lost_game_that_was_certain_costs_no_infinity():
    told = judged({"ab": 1.0, "ac": 1.0, "bc": 1.0}, "neg_log_loss")
    lost, level = np.log(1e-12), 0.5 * np.log(1e-12)
    assert told.score == pytest.approx((lost + level) / 5, abs=1e-4)


@pytest.mark.parametrize(("sign", "expected"), [(-1.0, 1.0), (1.0, 0.0), (0.0, 0.5)])
def test_a_risk_is_large_where_the_event_is_early(sign, expected):
    y = np.empty(6, SURVIVAL)
    y["time"], y["event"] = [1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 0]
    problem = Problem("survival", y["time"], y, "s", "")
    told = judge(SimpleNamespace(predict=lambda X: sign * X), problem, problem, "concordance")
    assert told.extras == pytest.approx({"concordance": expected, "concordance_ipcw": expected})
