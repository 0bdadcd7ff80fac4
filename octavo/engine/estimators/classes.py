"""Classes of a target: encoded, and refused in one sentence, in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets


def encode_classes(
    y: Any, *, classes: Any = None, owner: Any = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes and the position of each label among them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels; a continuous target is refused.
    classes : array-like, optional
        All classes, where they are known beforehand; labels outside are refused.
    owner : object, optional
        The estimator, whose name the error begins with.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Two or more.
    codes : ndarray of shape (n_samples,)
        Positions.

    Examples
    --------
    >>> from octavo.engine.estimators.classes import encode_classes
    >>> encode_classes(["b", "a", "b"])[1]
    array([1, 0, 1])
    """
    check_classification_targets(y)
    if classes is None:
        found, codes = np.unique(y, return_inverse=True)
    else:
        found = np.unique(np.asarray(classes))
        unknown = np.setdiff1d(y, found)
        if unknown.size:
            raise ValueError(
                f"y has labels that are not in classes={found.tolist()}: {unknown[:3].tolist()}."
            )
        codes = np.searchsorted(found, y)
    need_two_classes(found, owner)
    return found, codes.ravel()


def need_two_classes(classes: NDArray[Any], owner: Any = None) -> None:
    """Raise unless there are two classes or more; the one sentence for it."""
    if len(classes) < 2:
        name = "A classifier" if owner is None else type(owner).__name__
        held = f"one class: {classes.tolist()[0]!r}" if len(classes) else "none"
        raise ValueError(f"{name} needs at least two classes; y holds {held}.")
