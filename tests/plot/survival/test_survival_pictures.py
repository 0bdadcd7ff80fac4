"""Pictures of the survival room show what they were given."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_two_arms
from octavo.plot import (
    plot_predicted_survival,
    plot_risk_groups,
    plot_sparse_path,
    plot_time_roc,
    plot_transformation,
    plot_utility_effects,
)
from octavo.survival import (
    MinlipRanker,
    MinlipSurvival,
    kaplan_meier,
    time_dependent_roc,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_pictures_hold_the_data():
    X, y = make_two_arms(60, random_state=0)
    model = MinlipSurvival().fit(X, y)
    times = np.linspace(0, 5, 20)
    ax = plot_predicted_survival(model, X[:10], times, labels=X[:10, 1])
    assert len(ax.lines) == 10
    np.testing.assert_allclose(
        sorted(line.get_ydata()[-1] for line in ax.lines),
        np.sort(model.predict_survival_function(X[:10], times)[:, -1]),
    )
    axes = plot_utility_effects(model, X, names=["age", "arm"])
    assert axes[1].get_xlabel() == "arm"
    slope = np.ptp(axes[1].lines[0].get_ydata())
    assert slope == pytest.approx(abs(model.coef_[1]))
    ranker = MinlipRanker().fit(X, y["time"])
    ax = plot_transformation(ranker.transform_function_, ranker.utility_train_, y["time"])
    assert (np.diff(ax.lines[1].get_ydata()) >= 0).all()
    ax = plot_sparse_path([0.1, 1.0], [[0.0, 0.0, 1.0], [0.0, 2.0, 1.5]])
    assert len(ax.lines) == 2
    curve = kaplan_meier(y["event"], y["time"])
    ax = plot_risk_groups(
        {"all": curve}, errors={"all": kaplan_meier(y["event"], y["time"])}, p_value=0.03
    )
    assert "0.03" in ax.get_title()
    assert ax.lines[0].get_ydata()[0] == 1
    roc = time_dependent_roc(y["event"], y["time"], model.predict(X), 3.0)
    assert f"{roc.auc:.2f}" in plot_time_roc({"model": roc}).get_legend().get_texts()[0].get_text()
