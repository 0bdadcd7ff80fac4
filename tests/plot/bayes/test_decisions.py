"""Pictures of decisions and discrete mixtures show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from octavo.bayes import PLSA, BayesRiskClassifier, SequentialBayes
from octavo.plot import (
    plot_belief_updates,
    plot_expected_cost,
    plot_latent_words,
    plot_likelihood_climb,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_cost_curve_is_the_mean_loss_at_each_threshold():
    X, y = load_breast_cancer(return_X_y=True)
    loss = np.array([[0.0, 1.0], [20.0, 0.0]])
    model = BayesRiskClassifier(GaussianNB(), loss).fit(X, y)
    ax = plot_expected_cost(model, X, y)
    thresholds, costs = ax.lines[0].get_data()
    second = model.predict_proba(X)[:, 1]
    for at in (0, len(thresholds) // 2, len(thresholds) - 1):
        decided = (second >= thresholds[at]).astype(int)
        assert costs[at] == pytest.approx(loss[decided, y].mean())
    assert ax.lines[1].get_xdata()[0] == pytest.approx(20 / 21)


def test_beliefs_climbs_and_words():
    belief = SequentialBayes([lambda x: np.log(0.5), lambda x: np.log(0.6)]).update_all(range(3))
    ax = plot_belief_updates(belief)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), belief.posteriors_[:, 0])
    counts = np.random.default_rng(0).poisson(2.0, size=(12, 8)) + 1
    models = {str(s): PLSA(2, random_state=s).fit(counts) for s in (0, 1)}
    ax = plot_likelihood_climb(models)
    assert [len(line.get_xdata()) for line in ax.lines] == [m.n_iter_ + 1 for m in models.values()]
    ax = plot_latent_words(models["0"], 1, n_words=3)
    expected = np.sort(models["0"].words_[1])[-3:]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected)
