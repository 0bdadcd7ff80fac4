"""Pictures of signed networks show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_weakly_balanced
from octavo.network import SignedCompletion, balance_report
from octavo.plot import (
    plot_cycle_surprise,
    plot_embeddedness_curve,
    plot_sign_accuracy,
    plot_signed_matrix,
    plot_signed_spectrum,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_matrix_stands_in_groups():
    network = make_weakly_balanced([4, 6], 1.0, random_state=0)
    order = np.random.RandomState(0).permutation(10)
    ax = plot_signed_matrix(network.A[order][:, order], network.groups[order])
    drawn = ax.images[0].get_array()
    assert (drawn[:4, 4:] == -1).all()
    assert drawn[:4, :4].sum() == 12
    assert len(ax.lines) == 2


def test_bars_and_curves_hold_their_numbers():
    report = balance_report(make_weakly_balanced([10, 10], 0.5, random_state=0).A)
    ax = plot_cycle_surprise(report)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights[: len(report.shares)] == pytest.approx(list(report.shares.values()))
    ax = plot_sign_accuracy([0.1, 0.2], {"a": [0.5, 0.9]})
    assert ax.lines[0].get_ydata().tolist() == [0.5, 0.9]
    ax = plot_embeddedness_curve([0, 3], [0.7, 0.8], label="a")
    assert ax.lines[0].get_xdata().tolist() == [0, 3]


def test_the_spectrum_is_the_completions():
    model = SignedCompletion(3, random_state=0).fit(
        make_weakly_balanced([10, 10, 10], 0.8, random_state=0).A
    )
    heights = plot_signed_spectrum(model).containers[0].markerline.get_ydata()
    expected = np.linalg.svd(model.W_ @ model.H_.T, compute_uv=False)[:3]
    assert heights == pytest.approx(expected)
