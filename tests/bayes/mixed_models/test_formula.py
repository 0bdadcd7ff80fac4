"""Formulas give the same models as arrays."""

import numpy as np
import pytest

from octavo.bayes import VariationalMixedModel, fit_mixed_formula
from octavo.bayes.mixed_models.formula import parse_mixed_formula

rng = np.random.default_rng(0)
DATA = {
    "g": np.repeat(np.arange(15), 6),
    "h": np.tile(np.arange(6), 15) // 2,
    "x": rng.normal(size=90),
    "z": rng.normal(size=90),
    "kind": np.array(["a", "b", "c"] * 30),
    "y": rng.poisson(3.0, 90),
}


def test_parts_of_a_formula():
    parts = parse_mixed_formula("y ~ x + (1 + x | g) + z + (1 | h/k)")
    assert parts.response == "y"
    assert parts.fixed.replace(" ", "") == "x+z"
    assert parts.groupings == {"g": ("g",), "h": ("h",), "h:k": ("h", "k")}
    assert parts.slopes == {"g": ["x"], "h": [], "h:k": []}


def test_equal_to_arrays():
    model = fit_mixed_formula("y ~ x + z + (x | g) + (1 | h)", DATA, tol=1e-11)
    X = np.column_stack([DATA["x"], DATA["z"]])
    groups = {"g": DATA["g"], "h": DATA["h"]}
    other = VariationalMixedModel(random_slopes={"g": [0]}, tol=1e-11).fit(X, DATA["y"], groups)
    np.testing.assert_allclose(model.lower_bound_, other.lower_bound_)
    rows, labels = model.formula_.rows(DATA)
    np.testing.assert_allclose(model.predict(rows, labels), other.predict(X, groups))


def test_nested_groupings_and_no_intercept():
    model = fit_mixed_formula("y ~ 0 + x + (1 | g/h)", DATA)
    assert model.term_names_ == ["g", "g:h"]
    assert not model.fit_intercept
    assert len(model.levels_[1]) == 45


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y + x", "must read"),
        ("y ~ x + (0 + x | g)", "intercept in each random part"),
        ("y ~ x + (1 | g", "cannot be read"),
        ("y ~ x + (z | g)", "among the fixed effects"),
        ("y ~ (1 | g)", "at least one fixed effect"),
        ("y ~ w + (1 | g)", "the column 'w'"),
        ("y ~ x + (1 | g + h)", "groupings by columns"),
    ],
)
def test_bad_formulas(formula, words):
    with pytest.raises(ValueError, match=words):
        fit_mixed_formula(formula, DATA)


def test_factors_go_to_formulaic():
    pytest.importorskip("formulaic")
    pd = pytest.importorskip("pandas")
    model = fit_mixed_formula("y ~ x * kind + (1 | g)", pd.DataFrame(DATA))
    b, c = DATA["kind"] == "b", DATA["kind"] == "c"
    x = DATA["x"]
    X = np.column_stack([x, b, c, x * b, x * c])
    other = VariationalMixedModel().fit(X, DATA["y"], DATA["g"])
    np.testing.assert_allclose(model.lower_bound_, other.lower_bound_)
    rows, labels = model.formula_.rows(pd.DataFrame(DATA))
    np.testing.assert_allclose(model.predict(rows, labels["g"]), other.predict(X, DATA["g"]))


def test_factors_without_formulaic_say_so():
    try:
        import formulaic  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="formulaic"):
            fit_mixed_formula("y ~ kind + (1 | g)", DATA)
