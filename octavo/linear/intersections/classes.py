"""The class of interest and the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.classes import encode_classes


def split_classes(
    y: Any, target: Any = None, owner: Any = None
) -> tuple[NDArray[Any], NDArray[np.bool_], Any]:
    """Return the classes, which rows are in the target class, and that class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    target : object, optional
        One of them; the second of two by default.
    owner : object, optional
        The estimator, whose name the error begins with.

    Returns
    -------
    classes : ndarray
        All classes.
    inside : ndarray of shape (n_rows,), dtype bool
        The rows of the target class: two or more, and two or more outside.
    target : object
        The class of interest.
    """
    classes, codes = encode_classes(y, owner=owner)
    if target is None:
        if len(classes) > 2:
            raise ValueError(
                f"target must name the class of interest, because y has {len(classes)} classes; "
                "got None."
            )
        code = 1
    else:
        found = [c for c, label in enumerate(classes.tolist()) if label == target]
        if not found:
            raise ValueError(f"target={target!r} is none of the classes of y: {classes.tolist()}.")
        code = found[0]
    inside = codes == code
    need_two_rows(int(inside.sum()), f"the class {classes[code]!s}")
    need_two_rows(int((~inside).sum()), f"what is not the class {classes[code]!s}")
    return classes, inside, classes[code]


def need_two_rows(n: int, what: str) -> None:
    """Raise unless there are two rows or more."""
    if n < 2:
        raise ValueError(
            f"Intersections need at least two rows of {what}; y has {n}. Shares of fewer rows "
            "say nothing."
        )
