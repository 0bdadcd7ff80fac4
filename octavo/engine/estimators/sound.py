"""`SoundEstimator`: what every estimator of octavo is built on.

Its public methods answer in finite numbers or in sentences. An error from inside (a singular
matrix, a division by zero, an index out of range) becomes a `ValueError` (a `TypeError` stays
one) that names the estimator and where to look, with the error itself as its cause; an answer
that holds NaN although the data held none is refused, and one that holds infinity is warned of.
Where nothing goes wrong, a call costs a look at its answer.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from octavo.engine.estimators.raw_errors import innermost, is_raw, refuse_uneven
from octavo.engine.estimators.shared_entries import complete_docstring

# What an estimator answers from: without it there is no model.
MODELS = (
    "amplitudes_",
    "centres_",
    "coef_",
    "components_",
    "covariance_",
    "high_",
    "intercept_",
    "low_",
    "objective_",
    "precision_",
    "random_weights_",
    "scale_",
)
_MODELS = frozenset(MODELS)
# Of scikit-learn, about the estimator and not its data.
_ABOUT = ("get_params", "set_params", "get_metadata_routing", "get_feature_names_out", "set_output")


class NotFiniteWarning(UserWarning):
    """An answer holds infinite numbers."""


def _numbers(value: Any) -> Any:
    """Return the float array in an answer or an argument, or None."""
    if sp.issparse(value):
        value = value.data
    if isinstance(value, float):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return value
    return None


def _all_finite(numbers: Any) -> bool:
    """Whether no number is NaN or infinite; a sum tells in one pass and without a copy."""
    if isinstance(numbers, float):
        return math.isfinite(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(numbers).all())  # sums may overflow


def _has_nan(value: Any) -> bool:
    numbers = _numbers(value)
    if numbers is None and isinstance(value, list):
        numbers = _as_numbers(value)
    if numbers is None and hasattr(value, "to_numpy"):
        numbers = _as_numbers(value.to_numpy())
    return numbers is not None and bool(np.isnan(numbers).any())


def _as_numbers(value: Any) -> Any:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _judge(owner: str, answer: Any, given: tuple[Any, ...]) -> None:
    """Refuse NaN in an answer to data without any; warn of infinity."""
    numbers = _numbers(answer)
    if numbers is None or any(answer is value for value in given) or _all_finite(numbers):
        return
    if np.isnan(numbers).any():
        if not any(_has_nan(value) for value in given):
            raise ValueError(
                f"{owner} has no answer in numbers here: it comes out as NaN. Look for data that "
                "are huge, tiny or constant, and for parameters at the ends of their ranges."
            )
        return
    if not any(np.isinf(n).any() for value in given if (n := _numbers(value)) is not None):
        warnings.warn(f"{owner} answers with infinite numbers.", NotFiniteWarning, stacklevel=4)


def _judge_fitted(estimator: Any, method: str) -> None:
    """Refuse a fit whose model is not finite."""
    fitted = vars(estimator)
    for name in _MODELS.intersection(fitted):
        numbers = _numbers(fitted[name])
        if name == "objective_" and np.isscalar(numbers) and numbers == -math.inf:
            continue  # what is minimised has no lower end here: a constant that is fitted exactly
        if numbers is not None and not _all_finite(numbers):
            raise ValueError(
                f"{type(estimator).__name__}.{method} ends with a {name} that is not finite. Look "
                "for data that are huge, tiny or constant, and for parameters at the ends of "
                "their ranges."
            )


def _is_ours(error: BaseException) -> bool:
    trace = innermost(error)
    name = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return str(name).startswith("octavo")


def _takes(method: Callable[..., Any], owner: Any, args: Any, kwargs: Any) -> bool:
    """Whether a method has these arguments, under whatever it is wrapped in."""
    try:
        inspect.signature(method).bind(owner, *args, **kwargs)
    except TypeError:
        return False
    return True


def sound(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a method whose errors are sentences and whose answers are numbers."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            answer = method(self, *args, **kwargs)
        except Exception as error:
            is_wrong_call = isinstance(error, TypeError) and not _takes(method, self, args, kwargs)
            if isinstance(error, ArithmeticError) and not is_raw(error) and _is_ours(error):
                raise ValueError(str(error)) from error  # well said, of a kind nobody expects
            if is_wrong_call or not is_raw(error):
                raise
            refuse_uneven(error, inspect.signature(method).bind(self, *args, **kwargs).arguments)
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"{type(self).__name__}.{name} cannot use these values "
                f"({type(error).__name__}: {error}). Look for data that are huge, tiny, constant, "
                "of a wrong kind or missing, and for parameters at the ends of their ranges."
            ) from error
        if answer is self:
            if not _MODELS.isdisjoint(self.__dict__):
                _judge_fitted(self, name)
        else:
            _judge(f"{type(self).__name__}.{name}", answer, (*args, *kwargs.values()))
        return answer

    guarded.__sound__ = True  # type: ignore[attr-defined]
    return guarded


class SoundEstimator(BaseEstimator):
    """An estimator whose public methods answer in finite numbers or in sentences.

    Methods that octavo's own mixins give a class are guarded as its own are.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete_docstring(cls)
        for name in dir(cls):
            if name.startswith("_") or name in _ABOUT or name.endswith("_request"):
                continue
            method = inspect.getattr_static(cls, name)
            ours = inspect.isfunction(method) and method.__module__.startswith("octavo")
            if ours and not hasattr(method, "__sound__"):
                setattr(cls, name, sound(method, name))
