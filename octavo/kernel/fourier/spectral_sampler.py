"""Random Fourier features of four stationary kernels; scikit-learn has those of one.

The frequencies are drawn from the kernel's spectrum: normal for the Gaussian kernel, products of
Cauchy laws for the Laplace kernel (of the ℓ₁ distance), products of Laplace laws for the Cauchy
kernel, a multivariate t for the Matérn kernel.

Reference: A. Rahimi and B. Recht (2008). "Random features for large-scale kernel machines". NIPS
20; thesis on kernel-based greedy algorithms (D. Oglic), Section 3.2.1. The thesis prints the ℓ₂
distance in the Laplace kernel and 2√ν in the Matérn kernel; its own spectra and special cases
belong to the ℓ₁ distance and to √(2ν).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows

__all__ = ["SpectralSampler"]


def draw_frequencies(
    kernel: str,
    n_features: int,
    size: int,
    rng: np.random.RandomState,
    *,
    length_scale: float = 1.0,
    nu: float = 1.5,
) -> np.ndarray:
    """Draw frequencies from the spectrum of a kernel, one a column.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "cauchy", "matern"}
        The kernel.
    n_features : int
        Dimension of the rows.
    size : int
        How many frequencies.
    rng : RandomState
        Source of randomness.
    length_scale : float, default=1.0
        θ of the kernel.
    nu : float, default=1.5
        ν of the Matérn kernel.

    Returns
    -------
    W : ndarray of shape (n_features, size)
        Frequencies.
    """
    shape = (n_features, size)
    if kernel == "laplace":
        W = rng.standard_cauchy(shape)  # ∏ 1/(1 + w²) is the spectrum of exp(-|δ|₁)
    elif kernel == "cauchy":
        W = rng.laplace(size=shape)  # and exp(-|w|₁) that of ∏ 1/(1 + δ²)
    else:
        W = rng.standard_normal(shape)
        if kernel == "matern":  # normal over the root of χ²/(2ν): a t law with 2ν degrees
            W /= np.sqrt(rng.chisquare(2.0 * nu, size=size) / (2.0 * nu))
    return W / length_scale


class SpectralSampler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator):
    """Approximate the feature map of a stationary kernel by random Fourier features.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "cauchy", "matern"}, default="rbf"
        With δ = x − x′ and θ the length scale: exp(−|δ|₂²/2θ²); exp(−|δ|₁/θ);
        Π 1/(1 + δ_i²/θ²); the Matérn kernel of √(2ν)|δ|₂/θ.
    length_scale : float, default=1.0
        θ.
    nu : float, default=1.5
        Smoothness ν of the Matérn kernel.
    n_components : int, default=100
        Number of features.
    paired : bool, default=False
        Use sin(w·x) and cos(w·x) of n_components / 2 frequencies instead of √2 cos(w·x + b) with
        random phases. For most pairs of rows the kernel's estimate has less variance.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    random_weights_ : ndarray of shape (`n_features_in_`, n_frequencies)
        Frequencies.
    random_offset_ : ndarray of shape (n_frequencies,)
        Phases b; None if paired.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    pointwise_fourier_bound : How many features are enough.
    GreedyFourierFeatures : Features that are learned for a target.

    Notes
    -----
    For the Gaussian kernel with random phases this is
    `sklearn.kernel_approximation.RBFSampler` with ``gamma = 1 / (2 length_scale²)``. Do not use
    it when there is a target and time to look at it: at a hundred features
    `GreedyFourierFeatures` is far better. Do not use it for kernels that are not stationary:
    `NystroemLandmarks` takes any.

    References
    ----------
    .. [1] A. Rahimi and B. Recht (2008). "Random features for large-scale kernel machines".
       NIPS 20.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import SpectralSampler
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> Z = SpectralSampler("laplace", n_components=20_000, random_state=0).fit_transform(X)
    >>> round(float(Z[0] @ Z[1]), 1), round(float(np.exp(-1)), 1)
    (0.4, 0.4)
    """

    _parameter_constraints: dict[str, Any] = {
        "kernel": [StrOptions({"rbf", "laplace", "cauchy", "matern"})],
        "length_scale": [Interval(Real, 0, None, closed="neither")],
        "nu": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "paired": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel="rbf",
        length_scale=1.0,
        nu=1.5,
        n_components=100,
        *,
        paired=False,
        random_state=None,
    ):
        self.kernel = kernel
        self.length_scale = length_scale
        self.nu = nu
        self.n_components = n_components
        self.paired = paired
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows; only their number of columns and their type matter.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X = validate_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if self.paired and self.n_components % 2:
            raise ValueError(
                f"paired features come in twos: n_components must be even; got {self.n_components}."
            )
        rng = check_random_state(self.random_state)
        size = self.n_components // 2 if self.paired else self.n_components
        weights = draw_frequencies(
            self.kernel, X.shape[1], size, rng, length_scale=self.length_scale, nu=self.nu
        )
        self.random_weights_ = weights.astype(X.dtype, copy=False)
        self.random_offset_ = None
        if not self.paired:
            self.random_offset_ = rng.uniform(-np.pi, np.pi, size).astype(X.dtype, copy=False)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return features whose inner products approximate the kernel.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            The features; if paired, the sines first.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        phase = safe_sparse_dot(X, self.random_weights_)
        scale = np.sqrt(2.0 / self.n_components)  # E 2 cos(w·x + b) cos(w·x' + b) = k(x, x')
        if self.paired:
            # sin sin + cos cos = cos of the difference
            return np.hstack([np.sin(phase), np.cos(phase)]) * phase.dtype.type(scale)
        phase += self.random_offset_
        np.cos(phase, phase)
        phase *= scale
        return phase

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
