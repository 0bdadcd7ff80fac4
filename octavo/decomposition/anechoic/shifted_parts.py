"""`AnechoicNMF`: nonnegative sources that each channel sees scaled and delayed.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, section 3.2.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.decomposition.anechoic.nonnegative_factors import (
    euclidean_factors,
    filter_peaks,
    fitted_weights,
    shifted_sources,
    sparse_filters,
    weights_and_delays,
)
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["AnechoicNMF"]


class AnechoicNMF(CallbackSupportMixin, SoundEstimator):
    """Channels as sums of nonnegative sources with a weight and a delay each.

    x_i(t) ≈ Σ_j α_ij s_j(t - τ_ij), all nonnegative, delays whole and on a circle: spectra with
    shifted lines, counts, energies. Signals of both signs are for `AnechoicMixture`.

    Parameters
    ----------
    n_sources : int
        Number of sources.
    method : {"delays", "filters"}, default="delays"
        Estimate weights and delays by least squares; or learn a whole filter for each pair by
        multiplicative updates on the α-divergence that make it sparse, Eqs. (29) and (30).
    orthogonal : bool, default=False
        Whether sources are drawn to S Sᵀ = I, Eq. (32), for sources that do not overlap; "delays".
    mu : float, default=1.9
        How far a multiplicative step goes; up to 1 the divergence never rises. Only "filters".
    beta : float, default=2.0
        Order of the α-divergence; 1 is that of Kullback and Leibler. Only "filters".
    alpha_filters : float, default=0.02
        Filters are raised to the power 1 + alpha_filters, which sparsens them. Only "filters".
    alpha_sources : float, default=0.0
        The same for sources. Only "filters".
    n_init : int, default=10
        Number of random starts; the best is kept.
    max_iter : int, default=200
        Most iterations from each.
    tol : float, default=1e-7
        Ends when an iteration lowers the squared error by less than this part of the energy of X,
        or the divergence by less than this part of it.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    sources_ : ndarray of shape (n_sources, n_times)
        The sources, of unit norm.
    weights_ : ndarray of shape (n_channels, n_sources)
        Weights α.
    delays_ : ndarray of shape (n_channels, n_sources)
        Delays τ, whole numbers from 0 to n_times - 1.
    filters_ : ndarray of shape (n_channels, n_sources, n_times)
        The filters; where delays were estimated, each has one entry.
    quality_ : float
        1 - ‖X - model‖ / ‖X‖.
    objective_ : float
        The squared error; with "filters" the divergence.
    objectives_ : ndarray
        Its value after each iteration from the best start.
    n_iter_ : int
        Iterations from the best start.
    n_features_in_ : int
        Number of times seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of times seen during fit.

    See Also
    --------
    AnechoicMixture : For signals of both signs, and delays between samples.
    ConvolutiveNMF : For filters of several entries.

    Notes
    -----
    Order, scale and a common delay of each source are arbitrary. There are many local optima. With
    "filters" the delay is the place of a filter's largest entry, and weights are fitted to these
    delays by least squares: filters that stay broad say more than one delay can.

    References
    ----------
    .. [1] Omlor and Giese (2011). Anechoic blind source separation using Wigner marginals.
       Journal of Machine Learning Research 12:1111-1148, section 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import AnechoicNMF
    >>> t = np.arange(40)
    >>> peak, block = np.exp(-0.5 * ((t - 8) / 2) ** 2), 1.0 * (abs(t - 25) < 4)
    >>> X = np.array([peak + block, 2 * np.roll(peak, 5), np.roll(peak, 9) + np.roll(block, 2)])
    >>> model = AnechoicNMF(2, random_state=0).fit(X)
    >>> print(f"{model.quality_:.2f}")
    1.00
    """

    _parameter_constraints = {
        "n_sources": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"delays", "filters"})],
        "orthogonal": ["boolean"],
        "mu": [Interval(Real, 0, 2, closed="neither")],
        "beta": [Interval(Real, 0, 10, closed="right")],
        "alpha_filters": [Interval(Real, 0, 10, closed="both")],
        "alpha_sources": [Interval(Real, 0, 10, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_sources,
        *,
        method="delays",
        orthogonal=False,
        mu=1.9,
        beta=2.0,
        alpha_filters=0.02,
        alpha_sources=0.0,
        n_init=10,
        max_iter=200,
        tol=1e-7,
        random_state=None,
    ):
        self.n_sources = n_sources
        self.method = method
        self.orthogonal = orthogonal
        self.mu = mu
        self.beta = beta
        self.alpha_filters = alpha_filters
        self.alpha_sources = alpha_sources
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

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
        if len(X) < self.n_sources:
            warnings.warn(
                f"There are fewer channels ({len(X)}) than sources ({self.n_sources}): many "
                "sources explain them equally well. Ask for fewer sources.",
                stacklevel=2,
            )
        size = float(X.max()) or 1.0
        Y, rng = (X / size)[:, None], check_random_state(self.random_state)
        fit_once = self._fit_delays if self.method == "delays" else self._fit_filters
        with FitProgress(self, self.n_init * self.max_iter, X) as progress:
            fits = [fit_once(Y, rng, progress.step) for _ in range(self.n_init)]
        filters, trace = min(fits, key=lambda fit: fit[0])[1:]
        self.sources_, self.weights_, self.delays_, self.filters_ = filters
        self.weights_, self.filters_ = self.weights_ * size, self.filters_ * size
        scale = size**2 if self.method == "delays" else size
        self.objectives_ = np.array(trace) * scale
        self.objective_ = float(self.objectives_[-1])
        self.n_iter_ = len(trace)
        norm = np.linalg.norm(X)
        off = np.linalg.norm((X - self.reconstruct()) / size) / (norm / size) if norm else 0.0
        self.quality_ = float(1.0 - off)
        return self

    def _fit_delays(self, Y, rng, report):
        factors, trace, _ = euclidean_factors(
            Y,
            self.n_sources,
            rng,
            move=True,
            orthogonal=self.orthogonal,
            max_iter=self.max_iter,
            tol=self.tol,
            report=report,
        )
        weights, delays = factors.weights, factors.delays
        if self.orthogonal:  # the last sources have had no weights of their own yet
            weights, delays = weights_and_delays(Y, factors.sources, weights, delays, move=True)
        filters = np.zeros((*weights.shape, Y.shape[-1]))
        np.put_along_axis(filters, delays[..., None].astype(np.int64), weights[..., None], axis=2)
        return trace[-1], (factors.sources[:, 0], weights, delays, filters), trace

    def _fit_filters(self, Y, rng, report):
        found = sparse_filters(
            Y,
            self.n_sources,
            rng,
            filter_length=Y.shape[-1],
            mu=self.mu,
            beta=self.beta,
            alpha_filters=self.alpha_filters,
            alpha_sources=self.alpha_sources,
            max_iter=self.max_iter,
            tol=self.tol,
            report=report,
        )
        sources = found.sources[:, 0]
        norms = np.linalg.norm(sources, axis=1)
        norms = np.where(norms > 0, norms, 1.0)
        filters = found.filters * norms[:, None]
        delays = filter_peaks(filters)[1]
        weights = fitted_weights(Y, sources / norms[:, None], delays)
        kept = (sources / norms[:, None], weights, delays, filters)
        return found.objectives[-1], kept, found.objectives

    def reconstruct(self):
        """Return the channels as the weights and delays have them.

        Returns
        -------
        X : ndarray of shape (n_channels, n_times)
            The sum of scaled and delayed sources.
        """
        check_is_fitted(self)
        moved = shifted_sources(self.sources_[:, None], self.delays_)[:, :, 0]
        return np.einsum("ij,ijt->it", self.weights_, moved)
