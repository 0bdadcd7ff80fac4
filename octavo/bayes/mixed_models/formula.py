"""Mixed models from formulas such as ``y ~ x + (1 + x | group)``.

The random parts are read here. The fixed part goes to the formulaic package where it is installed
(factors, interactions, functions); columns of numbers joined by ``+`` are read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from octavo.bayes.mixed_models.estimator import VariationalMixedModel
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["fit_mixed_formula"]

_RANDOM = re.compile(r"\(([^()|]*)\|([^()|]*)\)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


class MixedFormula(NamedTuple):
    """A formula in parts: response, fixed part, and per grouping its columns and slopes."""

    response: str
    fixed: str
    groupings: dict[str, tuple[str, ...]]
    slopes: dict[str, list[str]]
    spec: Any = None

    def rows(self, data: Any) -> tuple[Floats, dict[str, Any]]:
        """Return fixed effects and labels of new rows, for `VariationalMixedModel.predict`."""
        X = _plain_columns(self.fixed, data)[0] if self.spec is None else _drop(self.spec, data)
        matrix = np.column_stack(list(X.values()))
        return matrix, {name: _labels(parts, data) for name, parts in self.groupings.items()}


def _column(data: Any, name: str) -> Any:
    try:
        return data[name]
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"data must have the column {name!r} of the formula; it has not.") from (
            error
        )


def _labels(parts: tuple[str, ...], data: Any) -> Any:
    columns = [np.asarray(_column(data, part)) for part in parts]
    if len(columns) == 1:
        return columns[0]
    return np.array([":".join(map(str, row)) for row in zip(*columns)])


def parse_mixed_formula(formula: str) -> MixedFormula:
    """Return the parts of a formula; fixed part and response are not looked into."""
    if not isinstance(formula, str) or formula.count("~") != 1:
        raise ValueError(f"formula must read 'response ~ terms'; got {formula!r}.")
    response, right = (side.strip() for side in formula.split("~"))
    groupings: dict[str, tuple[str, ...]] = {}
    slopes: dict[str, list[str]] = {}
    for inside, outside in _RANDOM.findall(right):
        words = [word.strip() for word in inside.split("+")]
        if "0" in words or "-1" in inside.replace(" ", "") or not all(words):
            raise ValueError(
                f"formula must have an intercept in each random part; got ({inside}|{outside})."
            )
        varying = [word for word in words if word != "1"]
        nested = [part.strip() for part in outside.split("/")]
        names = [":".join(nested[: k + 1]) for k in range(len(nested))]  # a/b is a and a:b
        for name in names:
            parts = tuple(part.strip() for part in name.split(":"))
            if not all(_NAME.fullmatch(part) for part in parts):
                raise ValueError(
                    f"formula must name groupings by columns; got {outside.strip()!r}."
                )
            groupings[":".join(parts)] = parts
            slopes[":".join(parts)] = varying
    fixed = re.sub(r"\+\s*(?=\+|$)", "", _RANDOM.sub("", right)).strip().strip("+").strip()
    if "|" in fixed:
        raise ValueError(f"formula has a random part that cannot be read in {right!r}.")
    return MixedFormula(response, fixed or "1", groupings, slopes)


def _plain_columns(fixed: str, data: Any) -> tuple[dict[str, Floats], bool]:
    """Return columns of numbers joined by +, and whether there is an intercept."""
    words = [word.strip() for word in fixed.replace("-", "+ -").split("+") if word.strip()]
    intercept = not {"0", "-1", "- 1"} & set(words)
    columns = {}
    for word in words:
        if word in ("0", "1", "-1", "- 1"):
            continue
        if not _NAME.fullmatch(word):
            raise ImportError(f"{word!r} in a formula needs the formulaic package; install it.")
        values = np.asarray(_column(data, word))
        if values.dtype.kind not in "biuf":
            raise ImportError(
                f"{word!r} is no column of numbers: a factor in a formula needs the formulaic "
                "package; install it."
            )
        columns[word] = values.astype(np.float64)
    return columns, intercept


def _drop(spec: Any, data: Any) -> dict[str, Floats]:
    matrix = spec.get_model_matrix(data)
    return {
        str(name): np.asarray(matrix[name], dtype=np.float64)
        for name in matrix.columns
        if name != "Intercept"
    }


@checked
def fit_mixed_formula(formula: str, data: Any, **params: Any) -> VariationalMixedModel:
    """Fit a mixed model that is written as a formula.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ x + (1 + x | group)"``: fixed effects, and for each grouping, in brackets,
        the intercept and slopes that vary. ``(1 | a/b)`` nests b in a; ``(1 | a:b)`` groups by
        both. Several brackets are crossed. Slopes must be fixed effects too.
    data : frame or dict
        The columns by name.
    **params : dict
        Parameters of `VariationalMixedModel`, and of its fit: ``offset``, ``sample_weight``.

    Returns
    -------
    model : VariationalMixedModel
        The fitted model. ``model.formula_.rows(data)`` returns fixed effects and labels of new
        rows, ready for ``model.predict``.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import fit_mixed_formula
    >>> rng = np.random.default_rng(0)
    >>> clinic, age = np.repeat(np.arange(40), 10), rng.random(400)
    >>> visits = rng.poisson(np.exp(1 + age + rng.normal(0, 0.3, 40)[clinic]))
    >>> data = {"clinic": clinic, "age": age, "visits": visits}
    >>> model = fit_mixed_formula("visits ~ age + (1 | clinic)", data)
    >>> model.term_names_, round(float(model.coef_[0]), 1)
    (['clinic'], 0.9)
    """
    parts = parse_mixed_formula(formula)
    if not (isinstance(data, Mapping) or hasattr(data, "columns")):
        raise ValueError(f"data must be a frame or a dict of columns; got {type(data).__name__}.")
    spec = None
    try:
        columns, intercept = _plain_columns(parts.fixed, data)
    except ImportError:
        from formulaic import ModelSpec
        from pandas import DataFrame

        frame = data if hasattr(data, "columns") else DataFrame(dict(data))
        spec = ModelSpec.from_spec(parts.fixed).get_model_matrix(frame).model_spec
        columns = _drop(spec, frame)
        intercept = "Intercept" in spec.column_names
    if not columns:
        raise ValueError("formula must have at least one fixed effect besides the intercept.")
    fitting = {name: params.pop(name) for name in ("offset", "sample_weight") if name in params}
    names = list(columns)
    slopes = {}
    for grouping, varying in parts.slopes.items():
        missing = [name for name in varying if name not in names]
        if missing:
            raise ValueError(
                f"formula must have {missing[0]!r}, whose slope varies, among the fixed effects."
            )
        slopes[grouping] = [names.index(name) for name in varying]
    model = VariationalMixedModel(
        **params,
        fit_intercept=intercept,
        random_slopes=slopes if any(slopes.values()) else None,
    )
    labels = {name: _labels(parts_, data) for name, parts_ in parts.groupings.items()}
    model.fit(
        np.column_stack(list(columns.values())),
        np.asarray(_column(data, parts.response)),
        groups=labels or None,
        **fitting,
    )
    model.formula_ = parts._replace(spec=spec)
    return model
