"""`SuperpixelFeatures`: an image as superpixels with places and histograms of visual words.

Section 5.3: an image is cut into small coherent patches; pixels are coded by colour, hue and
texture with a codebook of 32 words each, and a patch is three histograms of words.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["SuperpixelFeatures", "Superpixels"]

SMOOTHING = 1.0  # pixels: without, SLIC joins the patches of a noisy image (11 where 60 were asked)
WORDS_FROM = 5000  # pixels of all images from which a codebook is learned


class Superpixels(NamedTuple):
    """An image in patches.

    ``segments`` (height, width) holds numbers of patches, ``coords`` (patches, 2) centroids as
    (row, column), and ``blocks`` one table of counts of words (patches, codebook) per feature.
    """

    segments: Ints
    coords: Floats
    blocks: list[Floats]


def _skimage(part: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"skimage.{part}")
    except ImportError as error:
        raise ImportError(
            "SuperpixelFeatures needs scikit-image; install the extra: pip install "
            "'octavo[images]'."
        ) from error


def check_image(image: Any) -> Floats:
    """Return an image as (height, width, 3) between 0 and 1."""
    found = np.asarray(image)
    if found.ndim == 2:
        found = np.repeat(found[:, :, None], 3, axis=2)
    if found.ndim != 3 or found.shape[2] not in (3, 4) or min(found.shape[:2]) < 2:
        raise ValueError(
            "An image must have the shape (height, width) or (height, width, 3); got "
            f"{np.shape(image)}."
        )
    whole = found.dtype.kind in "iu"
    flat = check_array(
        found[:, :, :3].reshape(len(found), -1), dtype=np.float64, input_name="image"
    )
    out = flat.reshape(*found.shape[:2], 3) / (255.0 if whole else 1.0)
    if out.min() < 0.0 or out.max() > 1.0:
        raise ValueError(
            "An image must hold whole numbers from 0 to 255 or numbers from 0 to 1; got "
            f"{np.min(image)} to {np.max(image)}."
        )
    return np.asarray(out)


def texture_responses(grey: Floats) -> Floats:
    """Return responses (height, width, 12) of filters: edges, bars and blobs at 3 scales."""
    out = []
    for scale in (1.0, 2.0, 4.0):
        across = gaussian_filter(grey, scale, order=(0, 1)) * scale
        down = gaussian_filter(grey, scale, order=(1, 0)) * scale
        second = [
            gaussian_filter(grey, scale, order=order) * scale**2
            for order in ((0, 2), (2, 0), (1, 1))
        ]
        size = np.hypot(across, down)
        blob = second[0] + second[1]
        # the difference of the Hessian's eigenvalues: the same however the image is turned
        bar = np.hypot(second[0] - second[1], 2.0 * second[2])
        out += [
            size,
            blob,
            bar,
            gaussian_filter(np.abs(grey - gaussian_filter(grey, scale)), scale),
        ]
    return np.stack(out, axis=2)


class SuperpixelFeatures(SoundEstimator):
    """Cut images into superpixels and count their visual words.

    Parameters
    ----------
    n_segments : int, default=1000
        About how many patches an image is cut into ("slic").
    method : {"slic", "felzenszwalb"}, default="slic"
        Which of scikit-image's functions cuts.
    features : list of {"color", "hue", "texture"}, default=("color", "hue", "texture")
        What is coded, one block each: CIE Lab, hue and saturation, or responses of filters.
    codebook_size : int, default=32
        Number of words of each kind.
    random_state : int, RandomState instance or None, default=None
        Seeds the codebooks.

    Attributes
    ----------
    codebooks_ : list of ndarray of shape (n_words, n_channels)
        Words of each kind.

    Notes
    -----
    Needs scikit-image, the extra ``images``. Where a network's features are at hand, their means
    over patches with ``observation="diag"`` say more than words of filters.

    References
    ----------
    .. [1] L. Ren, L. Du, L. Carin and D. B. Dunson (2011). Logistic Stick-Breaking Process.
       JMLR 12, Section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import SuperpixelFeatures
    >>> SuperpixelFeatures(n_segments=50, features=["color"]).get_params()["codebook_size"]
    32
    """

    _parameter_constraints: dict = {
        "n_segments": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"slic", "felzenszwalb"})],
        "features": [list, tuple],
        "codebook_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_segments=1000,
        method="slic",
        features=("color", "hue", "texture"),
        codebook_size=32,
        random_state=None,
    ):
        self.n_segments = n_segments
        self.method = method
        self.features = features
        self.codebook_size = codebook_size
        self.random_state = random_state

    def _channels(self, image: Floats) -> list[Floats]:
        """Return the channels of each kind at each pixel."""
        color = _skimage("color")
        out = []
        for kind in self.features:
            if kind == "color":
                out.append(color.rgb2lab(image))
            elif kind == "hue":
                hsv = color.rgb2hsv(image)
                angle = 2.0 * np.pi * hsv[:, :, 0]
                circle = np.stack([np.cos(angle), np.sin(angle)], axis=2)
                # hue is an angle; colours without saturation have none
                out.append(circle * hsv[:, :, 1:2])
            else:
                out.append(texture_responses(color.rgb2gray(image)))
        return out

    def _images(self, images: Any) -> list[Floats]:
        several = isinstance(images, (list, tuple)) and all(np.ndim(i) >= 2 for i in images)
        found = list(images) if several else [images]
        if not found:
            raise ValueError("There must be at least one image; got none.")
        return [check_image(image) for image in found]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, images: Any, y: Any = None) -> Self:
        """Learn the codebooks.

        Parameters
        ----------
        images : array-like of shape (height, width[, 3]), or list of those
            One image or several; whole numbers up to 255 or numbers from 0 to 1.
        y : None
            Ignored.

        Returns
        -------
        self : SuperpixelFeatures
            Fitted.
        """
        unknown = [kind for kind in self.features if kind not in ("color", "hue", "texture")]
        if unknown or not self.features:
            raise ValueError(
                "The 'features' parameter must name some of 'color', 'hue' and 'texture'; got "
                f"{self.features!r}."
            )
        checked = self._images(images)
        rng = check_random_state(self.random_state)
        channels = [self._channels(image) for image in checked]
        self.codebooks_ = []
        for kind in range(len(self.features)):
            pixels = np.concatenate([c[kind].reshape(-1, c[kind].shape[2]) for c in channels])
            some = pixels[rng.choice(len(pixels), min(WORDS_FROM, len(pixels)), replace=False)]
            size = min(self.codebook_size, len(np.unique(some, axis=0)))
            means = MiniBatchKMeans(size, n_init=1, random_state=rng).fit(some)
            self.codebooks_.append(np.asarray(means.cluster_centers_, dtype=np.float64))
        return self

    def _cut(self, image: Floats) -> Ints:
        segmentation = _skimage("segmentation")
        if self.method == "slic":
            found = segmentation.slic(image, self.n_segments, sigma=SMOOTHING, start_label=0)
        else:
            found = segmentation.felzenszwalb(image, min_size=max(2, image[:, :, 0].size // 2000))
        return np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.int64)

    def _one(self, image: Floats) -> Superpixels:
        segments = self._cut(image)
        flat = segments.ravel()
        n = int(flat.max()) + 1
        counts = np.bincount(flat, minlength=n)
        rows, columns = np.indices(segments.shape)
        coords = np.stack(
            [np.bincount(flat, axis.ravel(), n) / counts for axis in (rows, columns)], axis=1
        )
        blocks = []
        for channels, words in zip(self._channels(image), self.codebooks_, strict=True):
            pixels = channels.reshape(-1, channels.shape[2])
            # ‖pixel - word‖² but for the pixel's own part
            codes = ((words**2).sum(axis=1) - 2.0 * pixels @ words.T).argmin(axis=1)
            table = np.bincount(flat * len(words) + codes, minlength=n * len(words))
            blocks.append(table.reshape(n, len(words)).astype(np.float64))
        return Superpixels(segments, coords, blocks)

    def transform(self, images: Any) -> Any:
        """Cut images and count words.

        Parameters
        ----------
        images : array-like of shape (height, width[, 3]), or list of those
            One image or several.

        Returns
        -------
        patches : Superpixels, or list of Superpixels
            Patches of each image; ``model.fit(patches.blocks, patches.coords)`` segments it with
            ``observation="multinomial"``.
        """
        check_is_fitted(self)
        several = isinstance(images, (list, tuple)) and all(np.ndim(i) >= 2 for i in images)
        found = [self._one(image) for image in self._images(images)]
        return found if several else found[0]

    def fit_transform(self, images: Any, y: Any = None) -> Any:
        """Learn codebooks from images and return their patches.

        Parameters
        ----------
        images : array-like of shape (height, width[, 3]), or list of those
            One image or several.
        y : None
            Ignored.

        Returns
        -------
        patches : Superpixels, or list of Superpixels
            Patches of each image.
        """
        return self.fit(images).transform(images)

    def segment(self, image: Any, model: Any) -> Ints:
        """Segment one image in one call.

        Parameters
        ----------
        image : array-like of shape (height, width[, 3])
            The image.
        model : LogisticStickBreakingMixture
            What finds segments, with ``observation="multinomial"``; it is fitted.

        Returns
        -------
        labels : ndarray of shape (height, width)
            The atom of each pixel.
        """
        patches = self.fit_transform(image)
        return np.asarray(model.fit(patches.blocks, patches.coords).labels_[patches.segments])
