"""Pictures of teaching show what they are given."""

import matplotlib.pyplot as plt
import pytest

from octavo.plot import (
    plot_concept_matrix,
    plot_set_sizes,
    plot_teaching_dimensions,
    plot_teaching_hierarchy,
)
from octavo.teaching import ConceptClass, TeachingAnalysis


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_chosen_examples_are_boxed():
    model = TeachingAnalysis("rtd").fit(ConceptClass.monomials(2))
    ax = plot_concept_matrix(model)
    assert (ax.images[0].get_array() == model.concepts_.matrix).all()
    boxes = {(round(p.get_y() + 0.42), round(p.get_x() + 0.42)) for p in ax.patches}
    assert boxes == {(i, j) for i in range(10) for j, _ in model.teach(i)}


def test_levels_sizes_and_dimensions():
    model = TeachingAnalysis("rtd").fit(ConceptClass.monomials(2))
    ax = plot_teaching_hierarchy(model)
    assert [len(line.get_xdata()) for line in ax.lines] == [1, 4, 4, 1]
    ax = plot_set_sizes(TeachingAnalysis("std").fit(ConceptClass.monomials(2)))
    assert ax.lines[-1].get_ydata().tolist() == [4, 3, 2]
    ax = plot_teaching_dimensions([2, 3], {"TD": [4, 8], "RTD": [2, 2]})
    assert [bar.get_height() for bar in ax.patches] == [4, 8, 2, 2]
