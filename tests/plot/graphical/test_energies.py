"""What the pictures of energies show is what the results hold."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.graphical import grid_mrf, minimize_mrf

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def mrf():
    rng = np.random.default_rng(0)
    return grid_mrf(rng.uniform(0, 10, (5, 6, 5)), 3.0, truncation=2)


def test_energy_curves_end_at_the_energies(mrf):
    results = {m: minimize_mrf(mrf, m) for m in ("range_expansion", "icm")}
    ax = plot.plot_energy_curves(results)
    ends = [line.get_ydata()[-1] for line in ax.lines[:2]]
    assert ends == [results[m].energy for m in results]
    assert ax.lines[2].get_ydata()[0] == max(r.lower_bound for r in results.values())


def test_label_maps_show_labels(mrf):
    result = minimize_mrf(mrf)
    ax = plot.plot_label_map(result)
    np.testing.assert_array_equal(ax.images[0].get_array(), result.labels)
    assert f"{result.energy:.6g}" in ax.get_title()
    with pytest.raises(ValueError, match="those of an image"):
        plot.plot_label_map([0, 1])


def test_potentials_are_cut_at_the_truncation(mrf):
    ax = plot.plot_truncated_potentials(mrf)
    assert ax.lines[1].get_ydata().max() == 2.0
    assert ax.lines[0].get_ydata().max() == 4.0
    assert ax.lines[0].get_xdata().tolist() == list(range(-4, 5))
