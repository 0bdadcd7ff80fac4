"""Code that refits the winner: a script that stands alone and runs as it is."""

from __future__ import annotations

import inspect
import pprint
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from octavo._outside_text import quoted, visible
from octavo.compare.methods.candidates import Candidate
from octavo.compare.table.problems import Problem


def public_module(thing: Any) -> str:
    """Return the shortest public module that a class or function can be imported from."""
    import importlib

    parts = thing.__module__.split(".")
    for length in range(2, len(parts) + 1):
        if any(part.startswith("_") for part in parts[:length]):
            break
        module = importlib.import_module(".".join(parts[:length]))
        if getattr(module, thing.__name__, None) is thing:
            return ".".join(parts[:length])
    return thing.__module__


def as_code(
    value: Any, imports: set[tuple[str, str]], indent: int = 0, names: dict[str, Any] | None = None
) -> str:
    """Write a value as the code that makes it, noting what has to be imported.

    Parameters
    ----------
    value : object
        Estimators, containers, numbers, strings, functions.
    imports : set of (str, str)
        Receives (module, name).
    indent : int
        Columns that further lines are moved by.
    names : dict of str to list, optional
        Lists that have a name in the script.

    Returns
    -------
    code : str
        An expression.
    """
    pad = " " * (indent + 4)
    for name, known in (names or {}).items():
        if isinstance(value, list) and value and value == known:
            return name
    # CatBoost's models are estimators by their manners, not by descent.
    if isinstance(value, BaseEstimator) or (
        hasattr(value, "get_params") and not isinstance(value, type)
    ):
        return _estimator_code(value, imports, indent, names)
    if isinstance(value, (list, tuple)):
        open_, close = "[]" if isinstance(value, list) else "()"
        inner = [as_code(part, imports, indent + 4, names) for part in value]
        single = "," if isinstance(value, tuple) and len(inner) == 1 else ""
        flat = f"{open_}{', '.join(inner)}{single}{close}"
        if len(flat) + indent < 80 and "\n" not in flat:
            return flat
        return f"{open_}\n" + "".join(f"{pad}{part},\n" for part in inner) + " " * indent + close
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{as_code(k, imports)}: {as_code(v, imports, indent + 4, names)}"
                for k, v in value.items()
            )
            + "}"
        )
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        imports.add(("math", "nan"))
        return "nan"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value) and hasattr(value, "__name__"):
        imports.add((public_module(value), value.__name__))
        return value.__name__
    return repr(value)


def _estimator_code(
    value: Any, imports: set[tuple[str, str]], indent: int, names: dict[str, Any] | None
) -> str:
    """Write the call that makes an estimator: only what differs from its defaults."""
    cls, called = type(value), type(value).__name__
    defaults = {k: p.default for k, p in inspect.signature(cls).parameters.items()}
    inner = []
    if isinstance(value, Pipeline) and [n for n, _ in value.steps] == _usual_names(value):
        cls, called = make_pipeline, "make_pipeline"
        inner = [as_code(step, imports, indent + 4, names) for _, step in value.steps]
    else:
        for k, v in value.get_params(deep=False).items():
            if not _same(v, defaults.get(k, inspect.Parameter.empty)):
                code = as_code(v, imports, indent + 4, names)
                inner.append(code if k in ("steps", "transformers") else f"{k}={code}")
    imports.add((public_module(cls), called))
    flat = f"{called}({', '.join(inner)})"
    if len(flat) + indent < 90 and "\n" not in flat:
        return flat
    pad = " " * (indent + 4)
    return f"{called}(\n" + "".join(f"{pad}{part},\n" for part in inner) + " " * indent + ")"


def _usual_names(pipeline: Pipeline) -> list[str]:
    return [type(step).__name__.lower() for _, step in pipeline.steps]


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if (
        isinstance(value, float)
        and isinstance(default, float)
        and value != value
        and default != default
    ):
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except (TypeError, ValueError):
        return False


def write_snippet(
    problem: Problem,
    candidate: Candidate,
    params: dict[str, Any],
    source: str | None,
    arguments: dict[str, Any],
    seed: int,
) -> str:
    """Return a script that cleans the data as before and refits the winner on all rows.

    Parameters
    ----------
    problem : Problem
        What was compared on.
    candidate : Candidate
        The winner.
    params : dict
        Its settings.
    source : str or None
        The file; None when a DataFrame was given, which the script expects as ``frame``.
    arguments : dict
        What `prepare` was told.
    seed : int
        For whatever is random.

    Returns
    -------
    code : str
        The script.
    """
    imports: set[tuple[str, str]] = {("octavo.compare", "prepare")}
    names = {"problem.numbers": problem.numbers, "problem.categories": problem.categories}
    model = as_code(candidate.build(problem, params, seed), imports, names=names)
    limited = candidate.row_limit is not None and candidate.row_limit < problem.n_rows
    given = ", ".join(
        f"{k}={as_code(v, set())}" for k, v in arguments.items() if v not in (None, "auto", (), [])
    )
    data = "frame" if source is None else as_code(source, set())
    lines = [
        f"# Refit {visible(candidate.name)} on {visible(problem.name)}, with the settings that "
        "most folds chose.",
        "",
    ]
    modules = sorted({module for module, _ in imports})
    for module in modules:
        brought = ", ".join(sorted(name for home, name in imports if home == module))
        lines.append(f"from {module} import {brought}")
    lines.append("")
    if source is None:
        lines.append("# `frame` is the DataFrame that was compared on.")
    lines.append(f"problem = prepare({data}{', ' + given if given else ''}, rows=0)")
    if limited:
        lines += [
            "# It learns from a random part: its cost grows with the square of the rows.",
            "problem = problem.take(range(0, problem.n_rows, max(1, problem.n_rows // "
            f"{candidate.row_limit})))",
        ]
    lines.append(f"model = {model}")
    if problem.task == "ranking":
        lines += [
            "model.fit(problem.X)",
            "teams = problem.X[0][0]",
            "print(teams, model.predict_win(teams))",
        ]
    else:
        lines.append(
            "model.fit(problem.X)"
            if problem.task == "clustering"
            else "model.fit(problem.X, problem.y)"
        )
        lines.append("print(model.predict(problem.X[:5]))")
        if problem.plan is not None:
            lines.append("# For later rows: model.predict(problem.plan.apply(new_frame))")
    return "\n".join(lines) + "\n"


def params_text(params: dict[str, Any]) -> str:
    """Return settings as short text."""
    return ", ".join(f"{k.split('__')[-1]}={pprint.pformat(v)}" for k, v in params.items())
