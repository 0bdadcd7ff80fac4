"""Data with a place whose segments come back: blocks of an image, turns of speakers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_block_image", "make_speaker_series", "make_texture_mosaic"]


def _at_least(**sizes: tuple[int, int]) -> None:
    for name, (value, least) in sizes.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least}; got {value}.")


@checked
def make_block_image(size: int = 32, *, noise: float = 10.0, random_state: Any = None) -> Any:
    """Return pixels of an image with four blocks of two kinds on a background.

    The simulation of Ren et al. (2011), Section 5.1.

    Parameters
    ----------
    size : int, default=32
        Height and width; blocks are ten pixels wide in an image of 32.
    noise : float, default=10.0
        Standard deviation of a pixel; means are 5, 40 and 60.
    random_state : int, RandomState instance or None, default=None
        Seeds the noise.

    Returns
    -------
    X : ndarray of shape (size * size, 1)
        Intensities.
    coords : ndarray of shape (size * size, 2)
        Row and column.
    labels : ndarray of shape (size * size,)
        0 for the background; blocks in opposite corners have the same label.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_block_image
    >>> X, coords, labels = make_block_image(random_state=0)
    >>> X.shape, coords.shape, np.bincount(labels).tolist()
    ((1024, 1), (1024, 2), [624, 200, 200])
    """
    _at_least(size=(size, 8))
    if not noise >= 0:
        raise ValueError(f"noise must be at least 0; got {noise}.")
    rng = check_random_state(random_state)
    block, edge = round(size * 10 / 32), round(size * 2 / 32)
    labels = np.zeros((size, size), dtype=np.int64)
    one, two = slice(edge, edge + block), slice(size - edge - block, size - edge)
    labels[one, one] = labels[two, two] = 1
    labels[one, two] = labels[two, one] = 2
    X = rng.normal(np.array([5.0, 40.0, 60.0])[labels], noise)
    coords = np.indices((size, size)).reshape(2, -1).T.astype(np.float64)
    return X.reshape(-1, 1), coords, labels.ravel()


@checked
def make_speaker_series(
    *, n_features: int = 13, separation: float = 1.5, random_state: Any = None
) -> Any:
    """Return a series of 488 steps in which three speakers take four turns, the first one twice.

    Turns end where those of the recording of Ren et al. (2011, Section 5.2) do.

    Parameters
    ----------
    n_features : int, default=13
        Columns.
    separation : float, default=1.5
        Standard deviation of the speakers' means; the noise has one.
    random_state : int, RandomState instance or None, default=None
        Seeds means and noise.

    Returns
    -------
    X : ndarray of shape (488, n_features)
        Features.
    coords : ndarray of shape (488,)
        Steps from 1.
    labels : ndarray of shape (488,)
        Speakers 0, 1, 0, 2 in turns of 55, 184, 58 and 191 steps.

    Examples
    --------
    >>> from octavo.data import make_speaker_series
    >>> X, coords, labels = make_speaker_series(random_state=0)
    >>> X.shape, int(coords[-1]), labels[[0, 55, 239, 297]].tolist()
    ((488, 13), 488, [0, 1, 0, 2])
    """
    _at_least(n_features=(n_features, 1))
    if not separation >= 0:
        raise ValueError(f"separation must be at least 0; got {separation}.")
    rng = check_random_state(random_state)
    labels = np.repeat([0, 1, 0, 2], [55, 184, 58, 191])
    means = (
        rng.normal(0.0, separation, (3, n_features)) if separation else np.zeros((3, n_features))
    )
    X = means[labels] + rng.normal(size=(labels.size, n_features))
    return X, np.arange(1.0, labels.size + 1.0), labels


@checked
def make_texture_mosaic(
    textures: Any, size: int = 96, *, n_regions: int = 5, random_state: Any = None
) -> Any:
    """Return an image that is cut from textures by a random map of regions.

    Parameters
    ----------
    textures : list of ndarray
        Grey images at least as large as the mosaic, such as scikit-image's ``brick()``, ``grass()``
        and ``gravel()``.
    size : int, default=96
        Height and width.
    n_regions : int, default=5
        Number of regions: cells around random points; neighbouring cells may have one texture.
    random_state : int, RandomState instance or None, default=None
        Seeds points, textures of regions and where they are cut from.

    Returns
    -------
    image : ndarray of shape (size, size)
        Numbers from 0 to 1.
    labels : ndarray of shape (size, size)
        Which texture each pixel has.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_texture_mosaic
    >>> stripes = np.indices((64, 64))[0] % 4 / 4
    >>> image, labels = make_texture_mosaic([stripes, stripes.T], 32, random_state=0)
    >>> image.shape, sorted(set(labels.ravel().tolist()))
    ((32, 32), [0, 1])
    """
    _at_least(size=(size, 2), n_regions=(n_regions, 1))
    parts = [np.asarray(texture, dtype=np.float64) for texture in textures]
    if not parts or any(part.ndim != 2 or min(part.shape) < size for part in parts):
        raise ValueError(
            f"textures must be grey images of at least {size} x {size} pixels; got shapes "
            f"{[part.shape for part in parts]}."
        )
    rng = check_random_state(random_state)
    points = rng.uniform(0, size, (n_regions, 2))
    kinds = rng.permutation(np.arange(n_regions) % len(parts))
    places = np.indices((size, size)).transpose(1, 2, 0)
    cell = ((places[:, :, None, :] - points) ** 2).sum(axis=3).argmin(axis=2)
    labels = kinds[cell]
    image = np.empty((size, size))
    for kind, part in enumerate(parts):
        top = part.max() or 1.0
        down, across = (rng.randint(0, length - size + 1) for length in part.shape)
        crop = part[down : down + size, across : across + size] / top
        image[labels == kind] = crop[labels == kind]
    return image, labels
