"""Searches against the published runs, exact planes and known tops; comparisons against scipy."""

import math

import numpy as np
import pytest
from scipy.stats import wilcoxon

from octavo.data import load_ilp_runs
from octavo.search import (
    FactorialDesign,
    ScreeningResult,
    StepwiseOLS,
    compare_systems,
    factorial_search,
    quadratic_step,
    response_surface_search,
    screen,
    section_search,
    steepest_ascent,
)
from octavo.search.screening.runs import Experiments
from octavo.search.screening.search import _Local, _new_plane

BOX = dict.fromkeys("abcd", (0, 2))


def replay(name, search=response_surface_search, **options):
    runs = load_ilp_runs(name)
    found = search(runs, runs.factors, defaults=runs.defaults, limits=runs.limits, **options)
    return runs, found


# Figures 9, 10 and 12: the factors, the length of the path, experiments and the best accuracy.
@pytest.mark.parametrize(
    ("name", "relevant", "steps", "experiments", "best"),
    [
        ("mutagenesis-min", ("Minacc", "Minpos"), 5, 13, 0.793),
        ("mutagenesis-max", ("Minpos", "Minacc"), 6, 14, 0.911),
    ],
)
def test_the_published_ascents_are_replayed(name, relevant, steps, experiments, best):
    runs, found = replay(name)
    assert found.screening.relevant == relevant
    assert len(found.path.responses) == steps
    assert found.n_experiments == experiments
    assert found.best_response == best
    printed = runs.responses[[s == "Figure 10" for s in runs.sources]]
    np.testing.assert_array_equal(found.path.responses, printed)
    columns = [list(runs.factors).index(factor) for factor in relevant]
    coded = runs.coded[[s == "Figure 10" for s in runs.sources]][:, columns]
    np.testing.assert_allclose(found.path.coded, coded, atol=0.03)


def test_the_published_grids_are_replayed():
    """8 + 25 runs, of which two corners of the grid are runs of the screening as well."""
    for name, best in (("mutagenesis-min", 0.799), ("mutagenesis-max", 0.911)):
        _, found = replay(name, factorial_search)
        assert found.best_response == best
        assert found.n_experiments == 31
    assert len(found.tied_params) > 1


def test_no_adequate_model_keeps_the_defaults():
    for search in (response_surface_search, factorial_search):
        with pytest.warns(UserWarning, match="No factor is relevant"):
            runs, found = replay("carcinogenesis-min", search)
        assert not found.adequate
        assert found.screening.relevant == ()
        assert found.best_params == runs.defaults
        assert found.best_response is None
        assert found.n_experiments == 8


def test_the_third_ascent_from_the_printed_model():
    """Figure 10(c): its screening is misprinted, so that the printed model is taken."""
    runs = load_ilp_runs("carcinogenesis-max")
    design = FactorialDesign(runs.factors, limits=runs.limits)
    model = StepwiseOLS().fit(design.coded_, runs.responses[:8])
    assert model.selected_.size == 0
    model.coef_, model.intercept_ = np.array([0, 0, -0.028, 0]), 0.554
    given = ScreeningResult(runs.responses[:8], model, ("Minacc",), True, design)
    path = steepest_ascent(runs, given, defaults=runs.defaults)
    assert len(path.responses) == 11
    assert path.best_response == 0.609
    np.testing.assert_allclose(path.coded[:, 0], -0.5 * np.arange(11))


def test_figure_19():
    found = quadratic_step([0, -0.5, -1.5, -2.0], [0.769, 0.793, 0.781, 0.692])
    np.testing.assert_allclose(found.coef, [0.7637, -0.1175, -0.0753], atol=5e-5)
    assert round(found.step, 2) == -0.78
    with pytest.warns(UserWarning, match="no highest"):
        assert quadratic_step([0, 1, 2], [0, 1, 4]).step == 2
    with pytest.raises(ValueError, match="three different"):
        quadratic_step([0, 1, 1], [0, 1, 2])


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6, 1e8])
def test_a_parabola_has_its_top_wherever_the_steps_begin(shift):
    steps = np.array([0.0, 0.25, 0.75, 1.0])  # sums with the shift are exact
    found = quadratic_step(shift + steps, 2 - (steps - 0.625) ** 2)
    assert found.step - shift == pytest.approx(0.625, abs=2e-8)  # one digit of 1e8
    assert found.coef == pytest.approx([2 - (shift + 0.625) ** 2, 2 * (shift + 0.625), -1.0])


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize("maximize", [True, False])
def test_a_plane_is_climbed_to_its_hard_end(scale, maximize):
    """On a plane the direction is closed: (b_i / b_j) step, until all are clipped."""
    sign = 1 if maximize else -1

    def plane(p):
        return sign * scale * (3 * p["a"] - 1.5 * p["c"])

    limits = dict.fromkeys(BOX, (-3, 5))
    found = response_surface_search(plane, BOX, limits=limits, maximize=maximize)
    assert found.screening.relevant == ("a", "c")
    np.testing.assert_allclose(found.path.coded[1], [0.5, -0.25])
    assert found.best_params["a"] == 5
    assert found.best_params["c"] == -3
    assert found.best_response == pytest.approx(sign * scale * 19.5)


def test_patience_counts_runs_that_are_no_better():
    values = iter([0, 1, 1, 2, 2, 1, 2, 9])
    design = FactorialDesign(BOX)
    screening = screen(lambda p: p["a"], design)
    path = steepest_ascent(lambda p: next(values), screening)
    assert path.responses.tolist() == [0, 1, 1, 2, 2, 1, 2]


def test_runs_are_made_once():
    seen = []

    def count(p):
        seen.append(tuple(p.values()))
        return p["a"] + 0.01 * p["b"] * p["c"]

    found = response_surface_search(count, BOX, limits={"a": (0, 2)})
    assert len(seen) == len(set(seen)) == found.n_experiments == len(found.history)


def test_replicates_are_run_anew():
    rng = np.random.RandomState(0)
    design = FactorialDesign(BOX, replicates=2, center_points=3)
    result = screen(lambda p: p["b"] + 0.01 * rng.standard_normal(), design)
    assert result.n_experiments == 19
    assert len(set(result.responses)) == 19
    assert result.relevant[0] == "b"


def bowl(p):
    return -((p["a"] - 3.1) ** 2) - 2 * (p["b"] - 0.7) ** 2 - 0.5 * p["a"] * p["b"]


def test_a_second_order_model_finds_the_top():
    H = np.array([[2, 0.5], [0.5, 4]])
    top = np.linalg.solve(H, [6.2, 2.8])
    plain = response_surface_search(bowl, BOX)
    found = response_surface_search(bowl, BOX, second_order=True)
    assert found.surface is not None
    np.testing.assert_allclose([found.best_params[n] for n in "ab"], top, atol=1e-8)
    assert found.best_response >= plain.best_response


def test_new_first_order_models_are_climbed():
    def hill(p):  # steep in a at first, so that one ascent hardly moves b
        return -((p["a"] - 4) ** 2) - 0.1 * (p["b"] - 20) ** 2

    one = response_surface_search(hill, BOX)
    many = response_surface_search(hill, BOX, n_rounds=6)
    assert many.best_response > one.best_response
    assert many.n_experiments > one.n_experiments


def test_include_screening_may_return_a_corner():
    def spike(p):
        return 100.0 if (p["a"], p["b"], p["c"], p["d"]) == (2, 2, 0, 0) else 50 * p["a"] + p["b"]

    design = FactorialDesign(BOX)
    screening = screen(spike, design)
    if not screening.adequate:
        pytest.fail("the spike was to leave a model")
    plain = steepest_ascent(lambda p: 1.0, screening)
    both = steepest_ascent(lambda p: 1.0, screening, include_screening=True)
    assert plain.best_response == 1.0
    assert both.best_response == screening.responses.max()


@pytest.mark.parametrize("method", ["golden", "fibonacci"])
def test_sections_shrink_as_they_should(method):
    for top in (0.1, 0.5, 0.93):
        calls = []

        def hill(s, top=top, calls=calls):
            calls.append(s)
            return -abs(s - top)

        step, response = section_search(hill, 0, 1, method=method, n_evaluations=14)
        assert len(calls) <= 14
        assert abs(step - top) <= 0.62**12
        assert response == hill(step)


def test_signed_ranks_of_figures_14_to_17():
    aleph = {"default": [0.504, 0.846, 0.857, 0.714, 0.792, 0.527, 0.551, 0.647]}
    aleph["so"] = [0.591, 0.883, 0.857, 0.802, 0.872, 0.774, 0.674, 0.731]
    toplog = {"default": [0.641, 0.840, 0.881, 0.704, 0.672, 0.640, 0.526, 0.618]}
    toplog["so"] = [0.623, 0.867, 0.881, 0.704, 0.699, 0.635, 0.653, 0.618]
    fig14 = compare_systems(aleph["so"], aleph["default"])
    # computed from the table the carcinogenesis difference is 0.087, printed 0.089: ranks 3 and 4
    assert fig14.rank_sum == 28
    assert (fig14.pvalue, fig14.pvalue_greater) == (0.015625, 0.0078125)
    fig16 = compare_systems(toplog["so"], toplog["default"])
    assert fig16.signed_ranks.tolist() == [-2, 3.5, 0, 0, 3.5, -1, 5, 0]
    assert fig16.rank_sum == 9
    assert fig16.pvalue > 0.05
    fig17a = compare_systems(aleph["so"], toplog["so"])
    assert fig17a.signed_ranks.tolist() == [-4, 1, -3, 5, 8, 7, 2, 6]
    assert fig17a.rank_sum == 22
    assert fig17a.pvalue > 0.05
    fig17b = compare_systems(aleph["so"], toplog["default"])
    assert fig17b.rank_sum == 28
    assert round(fig17b.pvalue, 2) == 0.05


@pytest.mark.parametrize("n", [5, 9, 12, 30])
def test_p_values_against_scipy(n):
    rng = np.random.RandomState(n)
    a, b = rng.standard_normal((2, n))
    found = compare_systems(a + 0.5, b)
    method = "exact" if n < 10 else "asymptotic"
    assert found.pvalue == pytest.approx(wilcoxon(a + 0.5, b, method=method).pvalue)
    one_sided = wilcoxon(a + 0.5, b, method=method, alternative="greater").pvalue
    assert found.pvalue_greater == pytest.approx(one_sided)


def test_equal_scores_are_decided_by_experiments():
    found = compare_systems([0.5, 0.5, 0.6], [0.5, 0.5, 0.5], experiments_a=[8, 9, 9],
                            experiments_b=[9, 9, 1])  # fmt: skip
    assert (found.n_wins, found.n_losses, found.n_ties) == (2, 0, 1)
    assert compare_systems([1, 2], [1, 2]).pvalue == 1.0
    with pytest.raises(ValueError, match="same problems"):
        compare_systems([1], [1, 2])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: screen(len, FactorialDesign(dict.fromkeys("abc", (0, 1)))), "saturated.*8 runs"),
        (lambda: screen(lambda p: math.nan, FactorialDesign(BOX)), "nan"),
        (lambda: screen(lambda p: "x", FactorialDesign(BOX)), "must return a number"),
        (lambda: screen(3, FactorialDesign(BOX)), "objective"),
        (lambda: screen(len, BOX), "FactorialDesign"),
        (lambda: response_surface_search(bowl, BOX, defaults={"a": 9}), "outside its range"),
        (lambda: response_surface_search(bowl, BOX, defaults={"z": 1}), "no factor"),
        (lambda: response_surface_search(bowl, BOX, step=0), "step"),
        (lambda: response_surface_search(bowl, BOX, patience=0), "patience"),
        (lambda: factorial_search(bowl, BOX, levels=1), "levels"),
        (lambda: load_ilp_runs("mutagenesis"), "one of"),
        (lambda: load_ilp_runs()({"C": 1, "Nodes": 1, "Minacc": 1, "Minpos": 1}), "no run"),
        (lambda: section_search(abs, 1, 0), "low < high"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_an_inadequate_screening_cannot_be_climbed():
    screening = screen(lambda p: 1.0, FactorialDesign(BOX))
    assert not screening.adequate
    with pytest.raises(ValueError, match="no relevant factor"):
        steepest_ascent(lambda p: 1.0, screening)


def test_an_ascent_without_end_says_so():
    with pytest.warns(UserWarning, match="still rose"):
        response_surface_search(lambda p: p["a"], BOX, max_iter=5)


@pytest.mark.parametrize(("slope", "bends"), [(0.8, True), (1.5, False)])
def test_a_plane_that_bends_more_than_it_rises_is_not_climbed(slope, bends):
    def score(p):  # corners lie 1 below the middle, whatever the slope
        return slope * p["a"] - 0.5 * (p["a"] ** 2 + p["b"] ** 2)

    space = FactorialDesign({"a": (-1, 1), "b": (-1, 1)}).space_
    local = _Local(Experiments(score), space, ("a", "b"), {"a": 0.0, "b": 0.0}, 1.0)
    gradient, found = _new_plane(local, 0.1, 0.15)
    np.testing.assert_allclose(gradient, [slope, 0.0], atol=1e-12)
    assert found == bends
