"""Pictures of grammars show what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.plot import (
    plot_dependency_arcs,
    plot_dependency_kinds,
    plot_grammar_bounds,
    plot_sigma_path,
)
from octavo.structured import DMV

TAGS = [["D", "N", "V"], ["N", "V"]]


def test_pictures():
    model = DMV(n_iter=3).fit(TAGS)
    proba = model.predict_proba(TAGS)
    ax = plot_dependency_arcs(TAGS[0], proba[0], heads=[2, 3, 0])
    assert {"D", "N", "V"} <= {text.get_text() for text in ax.texts}
    ax = plot_dependency_kinds(proba, TAGS)
    shown = np.asarray(ax.images[0].get_array())
    assert shown.shape == (4, 3)
    assert shown[0, 2] == max(proba[0][0, 2], proba[1][0, 1])  # the root and V
    ax = plot_dependency_kinds(proba, TAGS, reference=proba)
    assert not np.asarray(ax.images[0].get_array()).any()
    ax = plot_grammar_bounds({"EM": model})
    assert ax.lines[0].get_ydata().tolist() == model.lower_bounds_.tolist()
    ax = plot_sigma_path([0, 1], [0.5, 0.6], [9, 7])
    assert ax.lines[0].get_xdata().tolist() == [9, 7]


def test_bad_shapes():
    with pytest.raises(ValueError, match="Posteriors must"):
        plot_dependency_arcs(["N"], np.zeros((3, 3)))
    with pytest.raises(ValueError, match="as many"):
        plot_sigma_path([0], [0.5, 0.6], [9, 7])
