"""Hostile tables and settings for every public estimator, found by discovery.

A valid use of an estimator is a table of its kind, a pair of samples, or else what its docstring
does with it. It is spoilt in one place at a time. What may come of it: the same answer where only
the form of the data changed (layout, sparse form, frame, read-only), a finite answer, or a
sentence. What may not: an error from inside, NaN or infinity without a word, a changed input, or
a computation without end.
"""

from __future__ import annotations

import contextlib
import copy
import doctest
import functools
import inspect
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from tests.conformance.discovery import other_cases, public_objects, table_cases
from tests.conformance.hostile import SECONDS, Endless, is_sentence, limited, read_only

ANSWERS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "estimate",
)


@dataclass
class Use:
    """A valid use of an estimator: how it is made and what is called, in order."""

    name: str
    make: Callable[..., Any]
    calls: list[tuple[str, dict[str, Any]]]

    def arguments(self) -> dict[str, Any]:
        """Return what the first call is given: the data."""
        return self.calls[0][1]

    def with_arguments(self, **changes: Any) -> Use:
        first, given = self.calls[0]
        # what answers are asked about is spoilt too where it is the same table
        rest = [
            (method, {k: changes["X"] if v is given.get("X") and "X" in changes else v
                      for k, v in asked.items()})
            for method, asked in self.calls[1:]
        ]  # fmt: skip
        return Use(self.name, self.make, [(first, given | changes), *rest])


@dataclass
class Outcome:
    """What came of a use: answers by place, an error, warnings, whether the input was changed."""

    answers: dict[str, np.ndarray] = field(default_factory=dict)
    error: BaseException | None = None
    words: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


# --- valid uses ------------------------------------------------------------------------------


def estimator_classes() -> list[tuple[str, str, type]]:
    from sklearn.base import BaseEstimator

    return [
        (package, name, thing)
        for package, name, thing in public_objects()
        if inspect.isclass(thing)
        and issubclass(thing, BaseEstimator)
        and not inspect.isabstract(thing)
    ]


@functools.cache
def _table_makers() -> dict[str, Callable[[], Any]]:
    return {case.name: case.make for case in reversed(table_cases())}


def small_table(estimator: Any) -> dict[str, Any]:
    """Return a table of 30 rows and, where the estimator wants one, a target."""
    rng = np.random.default_rng(0)
    tags = get_tags(estimator)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 4)) + y[:, None]
    if tags.input_tags.positive_only:
        X = np.abs(X)
    X = X.astype(np.float32).astype(np.float64)  # single precision loses nothing
    if tags.estimator_type == "regressor":
        return {"X": X, "y": X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.normal(size=30)}
    if tags.estimator_type == "classifier" or tags.target_tags.required:
        return {"X": X, "y": y}
    return {"X": X}


def _seeded(estimator: Any) -> Any:
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=0)
    return estimator


def _table_use(name: str, cls: type) -> Use | None:
    make = _table_makers().get(name)
    if make is None:
        return None
    estimator = _seeded(make())
    table = small_table(estimator)
    answers = [(m, {"X": table["X"]}) for m in ANSWERS if hasattr(cls, m)]
    return Use(name, lambda: clone(estimator), [("fit", table), *answers])


def _sample_use(name: str, cls: Any) -> Use | None:
    if not hasattr(cls, "estimate") or not hasattr(cls, "dimensions"):
        return None
    rng = np.random.default_rng(0)
    d = 2 if cls.dimensions is None else cls.dimensions[0]
    if cls.kind in ("mutual_info", "association"):
        d = 3 if name == "LancasterInteraction" else 2
    X = rng.normal(size=(30, d)).astype(np.float32).astype(np.float64)
    Y = rng.normal(0.5, 1.0, size=(30, d)).astype(np.float32).astype(np.float64)
    pair = cls.kind in ("divergence", "cross_entropy", "kernel")
    data = {"X": X, "Y": Y} if pair else {"X": X}
    names = list(inspect.signature(cls.estimate).parameters)[1 : len(data) + 1]
    return Use(name, lambda: _seeded(cls()), [("estimate", dict(zip(names, data.values())))])


def _recorded(name: str, cls: type, act: Callable[[], Any]) -> Use | None:
    """Return what a piece of code makes of a class, and the first call of each of its methods."""
    made: list[Any] = []
    calls: list[tuple[str, dict[str, Any]]] = []
    inside = False

    def spy(method: str, original: Any) -> Any:
        @functools.wraps(original)
        def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside or (made and self is not made[0]):
                return original(self, *args, **kwargs)
            if not made:
                made.extend([self, copy.deepcopy(self)])
            if method not in [known for known, _ in calls]:
                bound = inspect.signature(original).bind(self, *args, **kwargs).arguments
                calls.append((method, {k: copy.deepcopy(v) for k, v in list(bound.items())[1:]}))
            inside = True
            try:
                return original(self, *args, **kwargs)
            finally:
                inside = False

        return recorded

    own = {m: vars(cls).get(m) for m in public_methods(cls)}
    for method in own:
        setattr(cls, method, spy(method, getattr(cls, method)))
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            act()
    finally:
        for method, original in own.items():
            if original is None:
                delattr(cls, method)
            else:
                setattr(cls, method, original)
    if not calls:
        return None
    pattern = made[1]
    return Use(name, lambda: clone(pattern, safe=False), calls)


def _declared_use(name: str, cls: type) -> Use | None:
    """Return what the conformance case of an estimator does with it."""
    for case in other_cases():
        if case.name == name:
            return _recorded(name, cls, lambda case=case: case.query(case.fit(case.make())))
    return None


def _documented_use(name: str, cls: type) -> Use | None:
    """Return what the docstring's example does with the class."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(cls) or "")

    def act() -> None:
        names: dict[str, Any] = {}
        for example in examples:
            with contextlib.suppress(Exception):
                exec(compile(example.source, name, "single"), names)

    return _recorded(name, cls, act)


def public_methods(cls: type) -> list[str]:
    known = ("get_params", "set_params", "get_metadata_routing", "get_feature_names_out")
    return [
        name
        for name in dir(cls)
        if not name.startswith("_")
        and name not in known
        and not name.endswith("_request")
        and name not in ("set_output", "set_callbacks")
        and inspect.isfunction(getattr(cls, name, None))
        and not isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod))
    ]


def valid_use(package: str, name: str, cls: type) -> Use | None:
    """Return the first of a table, a pair of samples and the docstring's example that works."""
    del package
    for find in (_table_use, _sample_use, _declared_use, _documented_use):
        use = find(name, cls)
        if use is not None and run(use).error is None:
            return use
    return None


# --- running -----------------------------------------------------------------------------------


def frozen(value: Any) -> Any:
    """Return something that compares equal as long as an input is unchanged."""
    if sp.issparse(value):
        return [part.tobytes() for part in (value.data, *_index_arrays(value))]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    return None


def _index_arrays(X: Any) -> list[np.ndarray]:
    return [X.indices, X.indptr] if hasattr(X, "indptr") else [*getattr(X, "coords", ())]


def run(use: Use, params: dict[str, Any] | None = None) -> Outcome:
    """Use an estimator and note everything that came of it."""
    outcome = Outcome()
    before = {k: frozen(v) for k, v in use.arguments().items()}
    try:
        with warnings.catch_warnings(record=True) as heard, np.errstate(all="ignore"), limited():
            warnings.simplefilter("always")
            with contextlib.redirect_stdout(io.StringIO()):
                estimator = use.make()
                if params:
                    estimator.set_params(**params)
                for method, given in use.calls:
                    answer = _call(getattr(estimator, method), given)
                    if answer is not estimator:
                        collect(outcome.answers, method, answer)
                for attribute, value in list(vars(estimator).items()):
                    if attribute.endswith("_") and not attribute.startswith("_"):
                        collect(outcome.answers, attribute, value)
    except (Exception, Endless) as error:
        outcome.error = error
    outcome.words = [
        str(w.message)
        for w in heard
        if not (issubclass(w.category, RuntimeWarning) and "encountered" in str(w.message))
    ]
    after = {k: frozen(v) for k, v in use.arguments().items()}
    outcome.changed = [k for k in before if before[k] != after[k]]
    return outcome


def _call(method: Any, given: dict[str, Any]) -> Any:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    parameters = inspect.signature(method).parameters
    in_order = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    for name, parameter in parameters.items():
        if name not in given:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += list(given[name])
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= given[name]
        elif parameter.kind is parameter.POSITIONAL_ONLY or (
            in_order and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ):
            positional.append(given[name])
        else:
            named[name] = given[name]
    return method(*positional, **named)


def collect(into: dict[str, np.ndarray], place: str, value: Any) -> None:
    """Keep numbers, arrays, and those in lists and tuples, by the place where they stood."""
    if isinstance(value, (float, np.floating)):
        into[place] = np.asarray(value)
    elif sp.issparse(value):
        into[place] = np.asarray(value.toarray())
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        into[place] = value
    elif isinstance(value, (list, tuple)):
        for k, part in enumerate(value[:20]):
            collect(into, f"{place}[{k}]", part)


# --- spoiling ----------------------------------------------------------------------------------

SAME = "same"  # the answer must be that of the plain table
ANY = "any"  # a finite answer or a sentence
REFUSED = "refused"  # a sentence

SCALES = {"1e-155": 1e-155, "1e-9": 1e-9, "1e9": 1e9, "1e155": 1e155}


def forms(X: np.ndarray) -> Iterator[tuple[str, str, Any]]:
    """Yield a label, what is expected, and a table in another form."""
    yield "Fortran", SAME, np.asfortranarray(X)
    yield "strided", SAME, np.repeat(X, 2, axis=0)[::2]
    yield "read-only", SAME, read_only(X)
    yield "big-endian", SAME, X.astype(">f8")
    yield "float32", ANY, X.astype(np.float32)
    yield "list", SAME, X.tolist()
    yield "object", SAME, X.astype(object)
    if X.ndim == 2:
        import pandas as pd

        yield "frame", SAME, pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        yield "CSR", SAME, sp.csr_array(X)
        yield "CSC", SAME, sp.csc_matrix(X)
        yield "COO", SAME, sp.coo_array(X)
        yield "duplicates", SAME, with_duplicates(X)
        yield "3-D", ANY, X[None]
        yield "no rows", REFUSED, X[:0]
        yield "one row", ANY, X[:1]
        yield "no columns", REFUSED, X[:, :0]
    yield "complex", ANY, X * (1 + 1j)
    yield "text", ANY, X.astype(str).astype(object) + "banana"


def with_duplicates(X: np.ndarray) -> Any:
    """Return CSR that names each column twice a row, halves that add up, 64-bit indices."""
    n, d = X.shape
    columns = np.tile(np.arange(d), 2 * n).astype(np.int64)
    starts = (np.arange(n + 1) * 2 * d).astype(np.int64)
    return sp.csr_array((np.hstack([X / 2, X / 2]).ravel(), columns, starts), shape=X.shape)


def values(X: np.ndarray) -> Iterator[tuple[str, str, Any]]:
    """Yield a label, what is expected, and a table with other numbers."""
    for label, entry in (("NaN", np.nan), ("inf", np.inf)):
        changed = X.copy()
        changed.flat[min(1, changed.size - 1)] = entry
        yield label, ANY, changed
    for label, scale in SCALES.items():
        yield f"times {label}", ANY, X * scale
    yield "plus 1e9", ANY, X + 1e9
    for label, scale in (("1e155", 1e155), ("1e-155", 1e-155)):
        changed = X.copy()
        changed[..., 0] *= scale
        yield f"first column times {label}", ANY, changed
    for label, entry in (("1e155", 1e155), ("1e300", 1e300)):
        changed = X.copy()
        changed.flat[min(1, changed.size - 1)] = entry
        yield f"one entry {label}", ANY, changed
    yield "constant", ANY, np.ones_like(X)
    yield "zero", ANY, np.zeros_like(X)
    yield "equal rows", ANY, np.repeat(X[:1], len(X), axis=0)


TARGETS: dict[str, Callable[[np.ndarray], Any]] = {
    "constant": lambda y: np.zeros_like(y),
    "short": lambda y: y[:-1],
    "NaN": lambda y: np.where(np.arange(len(y)) == 1, np.nan, y),
    "times 1e155": lambda y: y * 1e155,
    "times 1e-155": lambda y: y * 1e-155,
    "text": lambda y: np.array(["a", "b"])[(y > np.median(y)).astype(int)],
    "complex": lambda y: y * (1 + 1j),
    "nothing": lambda y: None,
    "three classes": lambda y: np.arange(len(y)) % 3,
    "two columns": lambda y: np.column_stack([y, y]),
}
SETTINGS = {
    "object": object(),
    "word": "banana",
    "nan": float("nan"),
    "inf": float("inf"),
    "negative": -1,
    "fraction": 2.5,
    "nothing": None,
    "empty": [],
    "complex": 1 + 2j,
    "zero": 0,
    "tiny": 1e-308,
    "huge": 1e155,
}


def _is_list_of_tables(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, np.ndarray) and first.dtype.kind == "f" and first.size > 0


def spoilt_tables(use: Use) -> Iterator[tuple[str, str, Use]]:
    for name, value in use.arguments().items():
        if name == "y" and isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            for label, change in TARGETS.items():
                yield f"y {label}", ANY, use.with_arguments(y=change(value))
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            for label, expected, X in (*forms(value), *values(value)):
                yield f"{name} {label}", expected, use.with_arguments(**{name: X})
        elif _is_list_of_tables(value):
            for label, expected, part in values(value[0]):
                changed = [part, *value[1:]]
                yield f"{name}[0] {label}", expected, use.with_arguments(**{name: changed})
        for label in ("object", "word", "nan", "empty", "complex"):
            yield f"{name}={label}", ANY, use.with_arguments(**{name: SETTINGS[label]})


def spoilt_settings(use: Use) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in use.make().get_params(deep=False):
        for label, value in SETTINGS.items():
            yield f"{name}={label}", {name: value}


# --- judging -----------------------------------------------------------------------------------


def complaint(plain: Outcome, outcome: Outcome, expected: str, *, finite: bool) -> str:
    """Return what is wrong with an outcome, or nothing."""
    error = outcome.error
    if isinstance(error, Endless):
        return f"it does not end within {SECONDS} seconds"
    if outcome.changed:
        return f"it changed the caller's {outcome.changed[0]}"
    if error is not None:
        if isinstance(error, (OSError, ImportError, MemoryError)):
            return ""
        return "" if is_sentence(error) else f"{type(error).__name__}: {str(error)[:200]}"
    if expected == REFUSED:
        return "it was accepted"
    places = plain.answers.keys() & outcome.answers.keys()
    for place in sorted(places):
        was, now = plain.answers[place], outcome.answers[place]
        if "gap" in place:  # infinite where nothing is known
            continue
        if finite and np.isfinite(was).all() and not np.isfinite(now).all() and not outcome.words:
            return f"{place} is not finite, without a word"
        # certificates and bases of subspaces may differ, answers may not
        if expected == SAME and place.split("[")[0] in ANSWERS and not _same(was, now):
            return f"{place} is another answer"
    return ""


def _same(was: np.ndarray, now: np.ndarray) -> bool:
    if was.shape != now.shape:
        return False
    size = np.abs(was[np.isfinite(was)]).max(initial=1e-300)
    return bool(np.allclose(now, was, rtol=1e-5, atol=1e-6 * size, equal_nan=True))
