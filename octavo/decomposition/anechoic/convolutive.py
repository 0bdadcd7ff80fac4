"""`ConvolutiveNMF`: nonnegative sources behind nonnegative filters, by FFT.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, section 3.2.1.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.fft
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["ConvolutiveNMF"]

_FLOOR = np.finfo(np.float64).tiny


def convolved(filters: Floats, sources: Floats) -> Floats:
    """Return Σ_j a_ij * s_j on the circle: filters (m, n, L), sources (n, T), result (m, T)."""
    length = sources.shape[-1]
    spectra = scipy.fft.rfft(_wrapped(filters, length))
    return scipy.fft.irfft(np.einsum("ijf,jf->if", spectra, scipy.fft.rfft(sources)), n=length)


def _wrapped(filters: Floats, length: int) -> Floats:
    """Return filters of `length` entries, zeros behind their own."""
    padded = np.zeros((*filters.shape[:-1], length))
    padded[..., : filters.shape[-1]] = filters
    return padded


def update_filters(X: Floats, filters: Floats, sources: Floats, alpha: float) -> Floats:
    """Return the filters of the next iteration, Eq. (26)."""
    length, kept = sources.shape[-1], filters.shape[-1]
    back = scipy.fft.rfft(sources).conj()  # correlation with the sources: Sᵀ of Eq. (24) by FFT
    both = np.stack([X, convolved(filters, sources)])
    drawn = scipy.fft.irfft(back[None, None] * scipy.fft.rfft(both)[:, :, None], n=length)
    drawn = np.maximum(drawn[..., :kept], 0.0)
    return filters * (drawn[0] / np.maximum(drawn[1] + alpha, _FLOOR))  # Eq. (26)


def update_sources(X: Floats, filters: Floats, sources: Floats, alpha: float) -> Floats:
    """Return the sources of the next iteration, Eq. (27)."""
    length = sources.shape[-1]
    back = scipy.fft.rfft(_wrapped(filters, length)).conj()
    both = np.stack([X, convolved(filters, sources)])
    drawn = scipy.fft.irfft(np.einsum("ijf,bif->bjf", back, scipy.fft.rfft(both)), n=length)
    drawn = np.maximum(drawn, 0.0)
    return sources * (drawn[0] / np.maximum(drawn[1] + alpha * sources, _FLOOR))  # Eq. (27)


def objective(X: Floats, filters: Floats, sources: Floats, alpha: float) -> float:
    """Return ½‖X - A S‖² + alpha (Σ a + ½ Σ s²)."""
    residual = X - convolved(filters, sources)
    fit = 0.5 * float(np.einsum("it,it->", residual, residual))
    return fit + alpha * (
        float(filters.sum()) + 0.5 * float(np.einsum("jt,jt->", sources, sources))
    )


class ConvolutiveNMF(CallbackSupportMixin, SoundEstimator):
    """Channels as sums of nonnegative sources behind nonnegative filters.

    x_i(t) ≈ Σ_j Σ_u a_ij(u) s_j(t - u), on a circle. Multiplicative updates, computed by FFT, never
    raise the objective. With filters of one entry it is nonnegative matrix factorization.

    Parameters
    ----------
    n_sources : int
        Number of sources.
    filter_length : int
        Number of entries of each filter, at most the number of times.
    max_iter : int, default=200
        Most iterations.
    random_state : int, RandomState instance or None, default=None
        Seed of the random start.
    alpha : float, default=0.0
        Strength of ``alpha (Σ a + ½ Σ s²)``, relative to the largest entry of X for the filters:
        makes filters sparse. Without it the factors are far from unique.
    tol : float, default=1e-7
        Ends when an iteration lowers the objective by less than this part of it.

    Attributes
    ----------
    sources_ : ndarray of shape (n_sources, n_times)
        The sources.
    filters_ : ndarray of shape (n_channels, n_sources, filter_length)
        The filters.
    objective_ : float
        ½‖X - A S‖² with its penalty, at the end.
    objectives_ : ndarray
        The same after each iteration; never rises.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of times seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of times seen during fit.

    See Also
    --------
    AnechoicNMF : Filters of a single entry: a weight and a delay.

    Notes
    -----
    Rows of X are channels, columns are times. A filter as long as the signal can always
    reproduce X exactly from sources that say nothing: choose short ones, or a positive `alpha`.
    Append zeros to X where sources must not wrap around. Without delays, use
    `sklearn.decomposition.NMF`.

    References
    ----------
    .. [1] Omlor and Giese (2011). Anechoic blind source separation using Wigner marginals.
       Journal of Machine Learning Research 12:1111-1148, section 3.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import ConvolutiveNMF
    >>> rng = np.random.default_rng(0)
    >>> source = rng.exponential(size=32)
    >>> X = np.array([source + np.roll(source, 1), 2 * source + np.roll(source, 2)])
    >>> model = ConvolutiveNMF(1, filter_length=3, random_state=0).fit(X)
    >>> error = np.linalg.norm(X - model.reconstruct()) / np.linalg.norm(X)
    >>> print(error < 0.02)
    True
    """

    _parameter_constraints = {
        "n_sources": [Interval(Integral, 1, None, closed="left")],
        "filter_length": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_sources,
        filter_length,
        max_iter=200,
        random_state=None,
        *,
        alpha=0.0,
        tol=1e-7,
    ):
        self.n_sources = n_sources
        self.filter_length = filter_length
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha = alpha
        self.tol = tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Factorize channels.

        Parameters
        ----------
        X : array-like of shape (n_channels, n_times)
            Nonnegative channels.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_non_negative=True)
        check_squares(X)
        m, length = X.shape
        if self.filter_length > length:
            raise ValueError(
                f"filter_length must be at most the number of times, {length}, got "
                f"{self.filter_length}."
            )
        size = float(X.max()) or 1.0
        rng, Y = check_random_state(self.random_state), X / size
        mean = np.sqrt(max(Y.mean(), 1e-300) / self.n_sources)
        sources = mean * rng.uniform(0.5, 1.5, (self.n_sources, length))
        filters = mean * rng.uniform(0.5, 1.5, (m, self.n_sources, self.filter_length))
        filters /= self.filter_length
        trace = [objective(Y, filters, sources, self.alpha)]
        with FitProgress(self, self.max_iter, X) as progress:
            for _ in range(self.max_iter):
                filters = update_filters(Y, filters, sources, self.alpha)
                sources = update_sources(Y, filters, sources, self.alpha)
                trace.append(objective(Y, filters, sources, self.alpha))
                if trace[-2] - trace[-1] <= self.tol * trace[-1] or progress.step():
                    break
            else:
                fell = (trace[-2] - trace[-1]) / trace[-1]
                if 0 < 100 * self.tol < fell:
                    warnings.warn(
                        f"ConvolutiveNMF ended after max_iter={self.max_iter} iterations, the last "
                        f"of which lowered the objective by {fell:.1e} of it.",
                        ConvergenceWarning,
                        stacklevel=2,
                    )
        self.sources_, self.filters_ = sources, filters * size
        self.objectives_ = np.array(trace[1:]) * size**2
        self.objective_ = float(self.objectives_[-1])
        self.n_iter_ = len(self.objectives_)
        return self

    def reconstruct(self):
        """Return the channels as the model has them.

        Returns
        -------
        X : ndarray of shape (n_channels, n_times)
            The sum of filtered sources.
        """
        check_is_fitted(self)
        return convolved(self.filters_, self.sources_)
