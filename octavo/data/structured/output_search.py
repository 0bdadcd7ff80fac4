"""Grids and tagged sentences on which output-space search is tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked

__all__ = ["make_label_grids", "make_tagged_chunks"]


@checked
def make_label_grids(
    n_grids: int = 20,
    shape: tuple[int, int] = (6, 8),
    *,
    n_labels: int = 3,
    block: int = 2,
    sigma: float = 1.0,
    random_state: Any = None,
) -> tuple[list[Floats], list[Ints]]:
    """Make grids whose labels come in blocks, seen through noise.

    Parameters
    ----------
    n_grids : int, default=20
        How many.
    shape : tuple of two int, default=(6, 8)
        Height and width.
    n_labels : int, default=3
        Number of labels.
    block : int, default=2
        Side of the squares of one label.
    sigma : float, default=1.0
        Standard deviation of the noise on the one-hot labels.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    X : list of ndarray (height, width, n_labels)
        Observations.
    y : list of ndarray (height, width)
        Labels.

    Examples
    --------
    >>> from octavo.data import make_label_grids
    >>> X, y = make_label_grids(2, random_state=0)
    >>> X[0].shape, y[0][:2, :4].tolist()
    ((6, 8, 3), [[0, 0, 1, 1], [0, 0, 1, 1]])
    """
    height, width = shape
    if n_grids < 1 or height < 1 or width < 1 or n_labels < 1 or block < 1 or not sigma >= 0:
        raise ValueError(
            "n_grids, shape, n_labels and block must be positive and sigma not negative, got "
            f"{n_grids}, {shape}, {n_labels}, {block} and {sigma}."
        )
    rng = check_random_state(random_state)
    X, y = [], []
    for _ in range(n_grids):
        coarse = rng.randint(n_labels, size=(-(-height // block), -(-width // block)))
        labels = np.kron(coarse, np.ones((block, block), dtype=np.int64))[:height, :width]
        X.append(np.eye(n_labels)[labels] + sigma * rng.normal(size=(height, width, n_labels)))
        y.append(labels)
    return X, y


@checked
def make_tagged_chunks(
    n_sequences: int = 60, *, sigma: float = 0.7, random_state: Any = None
) -> tuple[list[Floats], list[NDArray[np.str_]]]:
    """Make sentences with rare chunks of several words, tagged B-x, I-x and O, seen through noise.

    Parameters
    ----------
    n_sequences : int, default=60
        How many, of 8 to 14 words each.
    sigma : float, default=0.7
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    X : list of ndarray (T, 5)
        Observations: the one-hot tag, with noise.
    y : list of ndarray (T,)
        Tags.

    Examples
    --------
    >>> from octavo.data import make_tagged_chunks
    >>> X, y = make_tagged_chunks(1, random_state=0)
    >>> X[0].shape, " ".join(y[0])
    ((12, 5), 'O B-b I-b O O O O O O B-a O B-a')
    """
    if n_sequences < 1 or not sigma >= 0:
        raise ValueError(
            f"n_sequences must be positive and sigma not negative, got {n_sequences} and {sigma}."
        )
    names = np.array(["B-a", "B-b", "I-a", "I-b", "O"])
    rng = check_random_state(random_state)
    X, y = [], []
    for _ in range(n_sequences):
        n = int(rng.randint(8, 15))
        tags: list[int] = []
        while len(tags) < n:
            if rng.uniform() < 0.65:
                tags.append(4)
            else:
                kind = int(rng.randint(2))
                tags += [kind, *[kind + 2] * int(rng.randint(3))]
        labels = np.array(tags[:n])
        X.append(np.eye(5)[labels] + sigma * rng.normal(size=(n, 5)))
        y.append(names[labels])
    return X, y
