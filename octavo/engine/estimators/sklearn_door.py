"""The one door to what scikit-learn keeps private.

Estimators need a few of its helpers that have no public name. They are imported here and nowhere
else (a test sees to it), under public names, so that a release that moves one is answered in one
file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _array_api as array_api
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

if TYPE_CHECKING:
    from sklearn.mixture._gaussian_mixture import (
        _compute_precision_cholesky as precision_cholesky,
    )
    from sklearn.model_selection._search import BaseSearchCV

# What few estimators need and takes long to import: module and name there.
_ON_FIRST_USE = {
    "BaseSearchCV": ("sklearn.model_selection._search", "BaseSearchCV"),
    "precision_cholesky": ("sklearn.mixture._gaussian_mixture", "_compute_precision_cholesky"),
}


def __getattr__(name: str) -> Any:
    if name in _ON_FIRST_USE:
        module, private = _ON_FIRST_USE[name]
        return getattr(importlib.import_module(module), private)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BaseComposition",
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "array_api",
    "check_sample_weight",
    "fit_context",
    "ovr_decision_function",
    "precision_cholesky",
    "safe_indexing",
    "validate_parameter_constraints",
    "validate_params",
]
