"""Samples seen by several modalities of unequal strength, for kernels that come in groups.

A stand-in for the descriptors of an image in Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and
Raman (2011), "Variable Sparsity Kernel Learning", Journal of Machine Learning Research 12,
Section 4.1: every modality says something about the class, none of them everything.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["Modalities", "make_modalities"]


class Modalities(NamedTuple):
    """A sample X with labels y of -1 and 1, and groups: the modality of each feature."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "strengths": ["array-like"],
        "n_informative": [Interval(Integral, 1, None, closed="left")],
        "n_noise": [Interval(Integral, 0, None, closed="left")],
        "flip": [Interval(Real, 0, 0.5, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_modalities(
    n_samples=200,
    strengths=(2.0, 1.5, 1.0),
    n_informative=2,
    n_noise=3,
    flip=0.0,
    random_state=None,
):
    """Draw two classes that several modalities see, each with features of its own.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    strengths : array-like of shape (n_modalities,), default=(2.0, 1.5, 1.0)
        Distance between the class means within each modality, in standard deviations.
    n_informative : int, default=2
        Features of a modality along which the classes differ.
    n_noise : int, default=3
        Features of a modality that say nothing.
    flip : float, default=0.0
        Share of samples whose label is changed.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Modalities
        ``X`` of shape (n_samples, n_modalities * (n_informative + n_noise)), ``y`` of -1 and 1,
        and ``groups``, the modality of each feature.

    References
    ----------
    .. [1] Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and Raman (2011). Variable Sparsity Kernel
       Learning. JMLR 12, Section 4.1.

    Examples
    --------
    >>> from octavo.data import make_modalities
    >>> X, y, groups = make_modalities(1000, random_state=0)
    >>> X.shape, groups[:6].tolist()
    ((1000, 15), [0, 0, 0, 0, 0, 1])
    """
    rng = check_random_state(random_state)
    sizes = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    if sizes.ndim != 1 or not np.isfinite(sizes).all():
        raise ValueError(f"strengths must be a list of finite numbers, got {strengths!r}.")
    y = np.where(rng.permutation(n_samples) % 2 == 0, 1, -1)
    width = n_informative + n_noise
    X = rng.standard_normal((n_samples, sizes.size * width))
    for j, strength in enumerate(sizes):
        columns = slice(j * width, j * width + n_informative)
        X[:, columns] += 0.5 * strength / np.sqrt(n_informative) * y[:, None]
    labels = np.where(rng.random_sample(n_samples) < flip, -y, y)
    return Modalities(X, labels, np.repeat(np.arange(sizes.size), width))
