"""Pictures of infusion show the data that they are given."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_bolus_family,
    plot_dose_response,
    plot_infusion,
    plot_infusion_policy,
    plot_trial,
)
from octavo.rl import (
    PIDController,
    PropofolEnv,
    SchniderPK,
    SigmoidPD,
    WatkinsQLambda,
    infusion_rates,
    run_trial,
    simulate_patients,
)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_signals():
    record = simulate_patients(PIDController(), minutes=30, random_state=0)
    top, low = plot_infusion(record)
    assert np.array_equal(top.lines[1].get_ydata(), record.smoothed[0])
    assert low.get_ylabel() == "mg/min"


def test_policy():
    agent = WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), 20)
    ax = plot_infusion_policy(agent)
    image = ax.images[0]
    shown = image.get_array()
    assert shown.shape == (19, 19)
    left, right, bottom, top = image.get_extent()
    # the middle of each cell of the picture, BIS above target to the right, its change upwards
    x = left + (right - left) * (np.arange(19) + 0.5) / 19
    y = bottom + (top - bottom) * (np.arange(19) + 0.5) / 19
    assert image.origin == "lower"
    states = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    rates = infusion_rates()[agent.predict(states)].reshape(19, 19)
    np.testing.assert_allclose(shown**2, rates, atol=1e-9)
    assert len(np.unique(rates)) > 2


def test_boxes_and_criteria():
    trial = run_trial(PIDController(), 5, minutes=60, random_state=0)
    axes = plot_trial({"PID": trial}, measures=("mdpe", "mdape"))
    assert len(axes) == 2
    assert axes[1].lines[-1].get_ydata()[0] == 7.5


def test_curves():
    ax = plot_dose_response(SigmoidPD(), shifts=(5,))
    assert ax.lines[-1].get_ydata()[0] == 95.0
    ax = plot_bolus_family({"0.17": SchniderPK(21, 75, 170, "male")}, SigmoidPD())
    assert ax.lines[1].get_xdata()[0] == pytest.approx(2.17, abs=0.01)
