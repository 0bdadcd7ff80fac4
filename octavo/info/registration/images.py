"""Registration of two images by any estimator of dependence.

The rotation and shift that make the grey values (or small patches) of two images most
dependent bring them over each other, also where one shows tissue dark that the other shows
bright: only dependence counts, not equality.

References: Viola and Wells (1997), "Alignment by maximization of mutual information",
International Journal of Computer Vision 24:137-154; Neemuchwala, Hero and Carson (2005),
"Image matching using alpha-entropy measures and entropic graphs", Signal Processing
85:277-296, for patches.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import map_coordinates
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.info.dependence.distance import DistanceCorrelation
from octavo.info.registration.gradient_free import SearchResult, optimize_estimate

__all__ = ["ImageRegistration", "register_images", "registration_profile"]


class ImageRegistration(NamedTuple):
    """How one image lies over another: ``angle`` in degrees, ``shift`` (rows, columns).

    ``fixed[p] ≈ moving[c + R(angle)(p − c) + shift]`` with c the centre of the images. ``value`` is
    the dependence there, ``n_evaluations`` the estimates made, ``converged`` whether both stages
    of the search settled.
    """

    angle: float
    shift: np.ndarray
    value: float
    n_evaluations: int
    converged: bool


class PixelPairs:
    """Grey values of the same places of two images, for any rotation and shift of the second."""

    def __init__(
        self,
        fixed: np.ndarray,
        moving: np.ndarray,
        patch: int,
        n_pixels: int,
        margin: float,
        random_state: Any,
    ) -> None:
        self.moving = moving
        self.centre = (np.array(fixed.shape) - 1.0) / 2.0
        half = (patch - 1) // 2
        steps = np.arange(-half, half + 1)
        self.offsets = np.array([(i, j) for i in steps for j in steps], dtype=np.float64)
        # In a disc about the centre, so that no rotation leaves the image.
        radius = self.centre.min() - margin - np.sqrt(2.0) * half
        places = np.argwhere(np.ones(fixed.shape, dtype=bool)) - self.centre
        places = places[np.hypot(*places.T) <= radius]
        if len(places) < 10:
            raise ValueError(
                f"Only {len(places)} pixels of an image of shape {fixed.shape} stay inside under "
                f"shifts of {margin:g} and patches of {patch}; use a larger image, a smaller "
                "max_shift or a smaller patch."
            )
        if n_pixels < len(places):
            rng = check_random_state(random_state)
            places = places[np.sort(rng.choice(len(places), n_pixels, replace=False))]
        self.places = places
        self.fixed_values = self.read(fixed, 0.0, np.zeros(2))

    def read(self, image: np.ndarray, angle: float, shift: np.ndarray) -> np.ndarray:
        """Return the patches of an image about the turned and shifted places, one a row."""
        turn = np.deg2rad(angle)
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        points = self.places[:, None, :] + self.offsets[None]
        turned = points @ R.T + self.centre + shift  # about the centre, then shifted
        values = map_coordinates(image, turned.reshape(-1, 2).T, order=1, mode="nearest")
        return values.reshape(len(self.places), len(self.offsets))

    def at(self, angle: float, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of both images for one rotation and shift of the second."""
        return self.fixed_values, self.read(self.moving, angle, shift)


def check_images(fixed: ArrayLike, moving: ArrayLike, patch: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two grey images as float arrays of one shape."""
    images = [np.asarray(image, dtype=np.float64) for image in (fixed, moving)]
    for name, image in zip(("fixed", "moving"), images):
        if image.ndim != 2:
            raise ValueError(
                f"{name} must be a grey image, an array of two axes; got {image.ndim}."
            )
        if not np.isfinite(image).all():
            raise ValueError(f"{name} holds NaN or infinity.")
        if image.min() == image.max():
            raise ValueError(f"{name} is {image.min():g} throughout: there is nothing to register.")
    if images[0].shape != images[1].shape:
        raise ValueError(
            f"The images must have one shape, got {images[0].shape} and {images[1].shape}."
        )
    if patch < 1 or patch % 2 == 0:
        raise ValueError(f"patch must be an odd number of pixels, got {patch}.")
    return images[0], images[1]


@checked
def registration_profile(
    fixed: ArrayLike,
    moving: ArrayLike,
    angles: ArrayLike,
    estimator: Any = None,
    *,
    patch: int = 1,
    n_pixels: int = 2000,
    random_state: Any = 0,
) -> np.ndarray:
    """Return the dependence of two images for every rotation of the second.

    Parameters
    ----------
    fixed : array-like of shape (height, width)
        A grey image.
    moving : array-like of shape (height, width)
        The image that is turned.
    angles : array-like of shape (n_angles,)
        Degrees.
    estimator : MutualInformationEstimator, default=None
        Any estimator of dependence; `DistanceCorrelation` by default.
    patch : int, default=1
        Edge, odd, of the patch of grey values that describes a place.
    n_pixels : int, default=2000
        Places compared, drawn once.
    random_state : int, RandomState instance or None, default=0
        Seed of that draw.

    Returns
    -------
    ndarray of shape (n_angles,)
        The dependence.

    References
    ----------
    .. [1] Viola and Wells (1997). Alignment by maximization of mutual information. International
       Journal of Computer Vision 24:137-154.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import registration_profile
    >>> rows, columns = np.mgrid[-30:31, -30:31]
    >>> image = np.exp(-((rows / 20) ** 2) - (columns / 6) ** 2)
    >>> found = registration_profile(image, image.max() - image, [-20, 0, 20])
    >>> int(np.argmax(found))
    1
    """
    fixed, moving = check_images(fixed, moving, patch)
    estimator = DistanceCorrelation() if estimator is None else estimator
    pairs = PixelPairs(fixed, moving, patch, n_pixels, 0.0, random_state)
    none = np.zeros(2)
    turned = [pairs.at(float(angle), none) for angle in np.ravel(np.asarray(angles))]
    return np.array([estimator.estimate(*samples) for samples in turned])


def search_ranges(transform: str, max_angle: float, max_shift: float) -> np.ndarray:
    """Return the largest value of each parameter of the transform."""
    ranges = {
        "rigid": np.array([max_angle, max_shift, max_shift]),
        "rotation": np.array([max_angle]),
        "translation": np.array([max_shift, max_shift]),
    }
    if transform not in ranges:
        raise ValueError(f"transform must be one of {tuple(ranges)}, got {transform!r}.")
    if not (np.isfinite(ranges[transform]) & (ranges[transform] > 0)).all():
        raise ValueError(
            f"max_angle and max_shift must be positive, got {max_angle:g} and {max_shift:g}."
        )
    return ranges[transform]


def search_from_afar(
    estimator: Any, arrange: Any, limits: np.ndarray, random_state: Any, options: dict[str, Any]
) -> tuple[SearchResult, SearchResult]:
    """Return what draws over the whole range found, and what a simplex made of it."""
    with warnings.catch_warnings():  # told by the caller in its own words
        warnings.simplefilter("ignore", ConvergenceWarning)
        afar = optimize_estimate(
            estimator,
            arrange,
            np.zeros_like(limits),
            spread=limits / 2.0,
            method="cross_entropy",
            tol=0.05,
            random_state=random_state,
            **options,
        )
        near = optimize_estimate(
            estimator, arrange, afar.x, spread=limits / 20.0, tol=1e-3, **options
        )
    return afar, near


@checked
def register_images(
    fixed: ArrayLike,
    moving: ArrayLike,
    estimator: Any = None,
    *,
    transform: str = "rigid",
    max_angle: float = 30.0,
    max_shift: float = 5.0,
    patch: int = 1,
    n_pixels: int = 2000,
    max_evaluations: int = 600,
    random_state: Any = 0,
) -> ImageRegistration:
    """Find the rotation and shift that make two images most dependent.

    Draws from afar (the cross-entropy method) find the valley, a simplex its lowest point.

    Parameters
    ----------
    fixed : array-like of shape (height, width)
        A grey image.
    moving : array-like of shape (height, width)
        The image that is turned and shifted to lie over it.
    estimator : MutualInformationEstimator, default=None
        Any estimator of dependence; `DistanceCorrelation` by default.
    transform : {"rigid", "rotation", "translation"}, default="rigid"
        What is searched for.
    max_angle : float, default=30.0
        The largest rotation expected, in degrees.
    max_shift : float, default=5.0
        The largest shift expected, in pixels.
    patch : int, default=1
        Edge, odd, of the patch of grey values that describes a place.
    n_pixels : int, default=2000
        Places compared, drawn once.
    max_evaluations : int, default=600
        The most estimates of either stage.
    random_state : int, RandomState instance or None, default=0
        Seed of the places and of the draws.

    Returns
    -------
    ImageRegistration
        The rotation, the shift and the dependence.

    Notes
    -----
    For images of one kind (equal grey values up to noise), phase correlation, as in
    scikit-image's `phase_cross_correlation`, is faster.

    References
    ----------
    .. [1] Viola and Wells (1997). Alignment by maximization of mutual information. International
       Journal of Computer Vision 24:137-154.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import rotate
    >>> from octavo.info import register_images
    >>> rows, columns = np.mgrid[-30:31, -30:31]
    >>> image = np.exp(-((rows / 20) ** 2) - (columns / 6) ** 2) + 0.01 * rows
    >>> moving = -rotate(image, 12, reshape=False, order=1, mode="nearest")  # and inverted
    >>> print(f"{register_images(image, moving, transform='rotation').angle:.0f}")
    12
    """
    fixed, moving = check_images(fixed, moving, patch)
    limits = search_ranges(transform, max_angle, max_shift)
    estimator = DistanceCorrelation() if estimator is None else estimator
    margin = 0.0 if transform == "rotation" else 2.0 * max_shift
    pairs = PixelPairs(fixed, moving, patch, n_pixels, margin, random_state)

    def unpack(x: np.ndarray) -> tuple[float, np.ndarray]:
        angle = 0.0 if transform == "translation" else float(x[0])
        return angle, np.zeros(2) if transform == "rotation" else x[-2:]

    options = {"maximize": True, "max_evaluations": max_evaluations}
    afar, near = search_from_afar(
        estimator, lambda x: pairs.at(*unpack(x)), limits, random_state, options
    )
    converged = afar.converged and near.converged
    if not converged:
        warnings.warn(
            f"The registration stopped after {max_evaluations} estimates a stage before its "
            f"parameters settled; the dependence there is {near.value:.6g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    evaluations = afar.n_evaluations + near.n_evaluations
    return ImageRegistration(*unpack(near.x), near.value, evaluations, converged)
