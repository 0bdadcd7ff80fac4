"""Machines that were trained elsewhere: their kernels, their pools, and whether they go together.

Claesen, De Smet, Suykens and De Moor (2014), EnsembleSVM, section 2.2 (merging of models).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from octavo.engine.kernels.gram import KERNEL_PARAMETERS, Kernel
from octavo.svm.ensembles.support_pool import SupportPool


def same_kernel(a: Kernel, b: Kernel) -> bool:
    """Return whether two kernels are one function."""
    fields = ("name", "function", *KERNEL_PARAMETERS.get(a.name, ()))
    return all(getattr(a, field) == getattr(b, field) for field in fields)


def kernel_of_svc(svc: Any) -> Kernel:
    """Return the kernel of a fitted machine, or say why it cannot be pooled."""
    if not isinstance(svc, (SVC, NuSVC, LinearSVC)):
        raise TypeError(f"Expected fitted SVC, NuSVC or LinearSVC; got {type(svc).__name__}.")
    check_is_fitted(svc)
    if len(svc.classes_) != 2:
        raise ValueError(
            f"from_svcs takes machines of two classes; one has {len(svc.classes_)}. Train one "
            "machine for each class against the others."
        )
    if isinstance(svc, LinearSVC):
        return Kernel("linear")
    if callable(svc.kernel):
        raise ValueError(
            "A machine with a callable kernel does not keep its support vectors: train it with "
            "EnsembleSVC, or with kernel='precomputed'."
        )
    return Kernel(svc.kernel, float(svc._gamma), svc.degree, svc.coef0)


def pool_of_svc(svc: Any) -> SupportPool:
    """Return the pool of one machine; a linear machine is its weight vector, used once."""
    intercept = np.ravel(np.asarray(svc.intercept_, dtype=np.float64))
    if isinstance(svc, LinearSVC):
        one = sp.csc_array(np.ones((1, 1)))
        return SupportPool(np.array([-1]), svc.coef_.astype(np.float64), one, intercept[:1])
    coef = svc.dual_coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    vectors = None if svc.kernel == "precomputed" else svc.support_vectors_
    return SupportPool(svc.support_.astype(np.intp), vectors, sp.csc_array(coef.T), intercept)


def check_alike(models: list[Any], kernels: list[Kernel]) -> None:
    """Refuse machines that differ in kernel, classes or features."""
    for model, kernel in zip(models, kernels):
        if not same_kernel(kernels[0], kernel):
            raise ValueError(
                f"Machines of one ensemble share one kernel; got {_kernel_text(kernels[0])} and "
                f"{_kernel_text(kernel)}. With gamma='scale' it depends on the rows: give a number."
            )
        if not np.array_equal(models[0].classes_, model.classes_):
            raise ValueError(
                f"Machines of one ensemble share their classes; got {models[0].classes_.tolist()} "
                f"and {model.classes_.tolist()}."
            )
        if models[0].n_features_in_ != model.n_features_in_:
            raise ValueError(
                f"Machines of one ensemble share their features; got {models[0].n_features_in_} "
                f"and {model.n_features_in_} of them."
            )


def _kernel_text(kernel: Kernel) -> str:
    return (
        f"{kernel.name} (gamma={kernel.gamma:.6g}, degree={kernel.degree}, coef0={kernel.coef0:g})"
    )
