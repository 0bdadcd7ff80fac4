"""The array API as scikit-learn dispatches it: which namespace and device an array lives in.

Code that is written against the array API asks `namespace_of` once, computes with ``xp`` and
ends where its input was. With scikit-learn's ``array_api_dispatch`` off (the default) the
answer is NumPy, whatever the input. This module alone touches scikit-learn's own helpers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.sklearn_door import array_api as dispatch


class Namespace(NamedTuple):
    """The functions ``xp``, the ``device``, and whether both are NumPy's on the host."""

    xp: Any
    device: Any
    is_numpy: bool


def namespace_of(*arrays: Any) -> Namespace:
    """Return the namespace and the device that the arrays share."""
    xp, _, device = dispatch.get_namespace_and_device(*arrays)
    return Namespace(xp, device, dispatch._is_numpy_namespace(xp))


_SEEN: dict[type, Any] = {}


def xp_of(array: Any) -> Any:
    """Return the namespace of an array that is known not to be NumPy's, looked up once a type.

    `namespace_of` takes a tenth of a millisecond under dispatch: too long for the steps of a loop.
    """
    found = _SEEN.get(type(array))
    if found is None:
        found, _, is_numpy = namespace_of(array)
        if not is_numpy:
            _SEEN[type(array)] = found
    return found


def to_numpy(array: Any, xp: Any = None) -> np.ndarray:
    """Return the array on the host.

    To find the namespace takes longer than to copy a few numbers: a loop that knows it gives it.
    """
    if xp is None:
        xp, _ = dispatch.get_namespace(array)
    return dispatch._convert_to_numpy(array, xp)


def to_namespace(array: Any, like: Any) -> Any:
    """Return a NumPy array as one of the namespace, the device and, for floats, the type of `like`.

    An array that is already there is not copied.
    """
    xp, device, is_numpy = namespace_of(like)
    if is_numpy:
        array = np.asarray(array)
        wanted = like.dtype if array.dtype.kind == "f" and like.dtype.kind == "f" else array.dtype
        return array.astype(wanted, copy=False)
    if isinstance(array, np.ndarray):
        array = xp.asarray(array, device=device)
    if xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, like.dtype, copy=False)
    return array


def set_to_zero(array: Any, indices: np.ndarray) -> None:
    """Set entries of a vector to zero, in one step where the namespace can assign by indices."""
    xp, device, is_numpy = namespace_of(array)
    if is_numpy or xp.__name__.rsplit(".", 1)[-1] in ("torch", "cupy"):
        array[xp.asarray(np.asarray(indices, dtype=np.int64), device=device)] = 0.0
        return
    for i in indices:  # the array API assigns to single entries and slices only
        array[int(i)] = 0.0


def check_same_namespace(X: Any, estimator: Any, *, attribute: str, method: str) -> None:
    """Refuse arrays of another namespace or device than those that an estimator was fitted on."""
    dispatch.check_same_namespace(X, estimator, attribute=attribute, method=method)
