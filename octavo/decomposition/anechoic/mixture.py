"""`AnechoicMixture`: sources that each channel sees scaled and delayed.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.decomposition.anechoic.alternation import Factors, alternate, divided, energies
from octavo.decomposition.anechoic.delays import Search, least_squares_delays, wrapped
from octavo.decomposition.anechoic.device_sweeps import device_phases, mixed
from octavo.decomposition.anechoic.marginals import (
    Plan,
    by_group_delay,
    by_projections,
    draw_start,
    principal_start,
    redrawn,
)
from octavo.decomposition.anechoic.shifts import from_spectra, shift_phases, to_spectra
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.namespaces import (
    check_same_namespace,
    namespace_of,
    to_namespace,
    to_numpy,
)

__all__ = ["AnechoicMixture"]

_FIRST_SWEEPS = 15  # from every start
_KEPT = 3  # starts that are followed to the end
_REDRAWS = 10  # of a source of the best of them
_EXACT = 1e-6  # of the energy: what an error below it could still gain is nothing


class AnechoicMixture(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, SoundEstimator
):
    """Take channels apart into a few sources with a weight and a delay in each channel.

    x_i(t) = Σ_j α_ij s_j(t - τ_ij): principal component analysis that understands delays, for
    joint angles, muscle activity, shifted spectra, or objects at different places of images.

    Parameters
    ----------
    n_sources : int
        Number of sources, at most the number of channels for an answer that is unique.
    domain : {"fourier", "fresnel", "frft"}, default="fourier"
        Where the search starts: factors of power spectra, which delays do not change; of the
        squared Fresnel transform, where delays stay as they are; of a fractional Fourier
        transform, where they are multiplied by cos θ.
    chirp_rate : float, default=1.0
        Rate of the Fresnel transform.
    theta : float, default=π/4
        Angle of the fractional Fourier transform; not a multiple of π/2.
    delays : {"circular", "linear"}, default="circular"
        Whether sources wrap around. "linear" appends `max_delay` zeros to the channels.
    max_delay : int, default=None
        The largest delay, on both sides and along both axes of images; any by default, and half
        the number of times with "linear".
    subsample : bool, default=True
        Whether delays may lie between samples.
    nonneg_weights : bool, default=False
        Whether weights must not be negative, as in images.
    init : {"nmf", "random"}, default="nmf"
        Starts from nonnegative factors of marginals, or from random weights and delays.
    inner : {"nmf", "anmf"}, default="nmf"
        How marginals are factorized: least squares with delays, or sparse filters by
        multiplicative updates on an α-divergence, Eqs. (29) and (30).
    phase_update : {"least_squares", "group_delay", "gerchberg_saxton"}, default="least_squares"
        How sources are found after a start: alternating least squares on the mixtures
        themselves; phases from group delays, Eq. (33), as in section 4.1 (signals only); or from
        the moduli of two marginals by projections. The last two are the paper's and end where
        cross terms of the sources leave them.
    alpha : float, default=1e-8
        How strongly sources are drawn to what they were, relative to the weights: keeps
        frequencies at which delays cannot be told apart finite.
    n_init : int, default=20
        Number of starts. The best three are followed to the end, and sources of the best redrawn
        ten times; a single start is followed as it is.
    max_iter : int, default=200
        Most sweeps over delays and sources from a start.
    tol : float, default=1e-7
        Ends when a sweep lowers the squared error by less than this part of the energy of X.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    sources_ : ndarray of shape (n_sources, n_times) or (n_sources, height, width)
        Sources, of unit norm; longer than X by `max_delay` with linear delays.
    weights_ : ndarray of shape (n_channels, n_sources)
        Weights α.
    delays_ : ndarray of shape (n_channels, n_sources), or (n_channels, n_sources, 2) for images
        Delays τ in samples, down and to the right for images; those of each source have a circular
        mean of about zero.
    reconstruction_ : ndarray of the shape of X
        The channels as the model has them.
    quality_ : float
        1 - ‖X - reconstruction‖ / ‖X‖.
    objective_ : float
        The squared error, on the appended zeros too.
    objectives_ : ndarray
        The squared error after each sweep from the best start; never rises with "least_squares".
    start_qualities_ : ndarray of shape (n_starts,)
        The quality that each start came to before the best were chosen.
    n_iter_ : int
        Sweeps from the best start.
    n_features_in_ : int
        Size of the second axis of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of times seen during fit.

    See Also
    --------
    AnechoicNMF : For nonnegative sources.
    estimate_delays : For sources that are known.

    Notes
    -----
    Rows of X are channels. Order, sign, scale and a common delay of each source are arbitrary. The
    problem has many local optima; `start_qualities_` shows how many starts agree. The error is
    never above that of as many principal components (without centring), unless weights are
    constrained. With scikit-learn's ``array_api_dispatch``, images of any namespace are demixed on
    their device, in their precision (the default domain, factorization and phases only; single
    precision ends at qualities of about .9999); `transform` answers there too, from the host.
    Without delays, use `sklearn.decomposition.TruncatedSVD` or `FastICA`; for
    echoes, `MAIndependentSubspaceAnalysis`.

    References
    ----------
    .. [1] Omlor and Giese (2011). Anechoic blind source separation using Wigner marginals.
       Journal of Machine Learning Research 12:1111-1148.

    Examples
    --------
    >>> from octavo.data import make_anechoic_mixture
    >>> from octavo.decomposition import AnechoicMixture
    >>> sample = make_anechoic_mixture("smooth", n_channels=8, n_times=128, random_state=0)
    >>> model = AnechoicMixture(n_sources=2, random_state=0).fit(sample.X)
    >>> print(f"{model.quality_:.3f}")
    1.000
    """

    _parameter_constraints = {
        "n_sources": [Interval(Integral, 1, None, closed="left")],
        "domain": [StrOptions({"fourier", "fresnel", "frft"})],
        "chirp_rate": [Interval(Real, -1e6, 1e6, closed="both")],
        "theta": [Interval(Real, -100, 100, closed="both")],
        "delays": [StrOptions({"circular", "linear"})],
        "max_delay": [Interval(Integral, 0, None, closed="left"), None],
        "subsample": ["boolean"],
        "nonneg_weights": ["boolean"],
        "init": [StrOptions({"nmf", "random"})],
        "inner": [StrOptions({"nmf", "anmf"})],
        "phase_update": [StrOptions({"least_squares", "group_delay", "gerchberg_saxton"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    start_qualities_: Any  # set by whichever search there is

    def __init__(
        self,
        n_sources,
        *,
        domain="fourier",
        chirp_rate=1.0,
        theta=np.pi / 4,
        delays="circular",
        max_delay=None,
        subsample=True,
        nonneg_weights=False,
        init="nmf",
        inner="nmf",
        phase_update="least_squares",
        alpha=1e-8,
        n_init=20,
        max_iter=200,
        tol=1e-7,
        random_state=None,
    ):
        self.n_sources = n_sources
        self.domain = domain
        self.chirp_rate = chirp_rate
        self.theta = theta
        self.delays = delays
        self.max_delay = max_delay
        self.subsample = subsample
        self.nonneg_weights = nonneg_weights
        self.init = init
        self.inner = inner
        self.phase_update = phase_update
        self.alpha = alpha
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find sources, weights and delays.

        Parameters
        ----------
        X : array-like of shape (n_channels, n_times) or (n_channels, height, width)
            Channels, as signals or images.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        xp = namespace_of(X).xp
        X = validate_data(self, X, dtype=self._dtypes(X), allow_nd=True)
        images = self._as_images(X)
        plan = self._plan(images.shape[1:])
        self._check(X, plan)
        size = float(xp.max(xp.abs(images))) or 1.0
        spectra = to_spectra(self._padded(images / size, plan))
        rng = check_random_state(self.random_state)
        with FitProgress(self, None, X, step_name="sweep") as progress:
            if self.phase_update == "least_squares":
                factors, trace = self._search(spectra, plan, rng, progress)
            else:
                factors, trace = self._published(spectra, plan, rng, progress)
        self._keep(X, images, spectra, factors, plan, size)
        self.objectives_ = to_namespace(np.array(trace) * size**2, images)
        self.start_qualities_ = to_namespace(self.start_qualities_, images)
        self.objective_ = factors.error * size**2
        self.n_iter_ = len(trace)
        return self

    @staticmethod
    def _dtypes(X):
        """Doubles on the host; on a device, whatever precision X has."""
        xp, _, is_numpy = namespace_of(X)
        return np.float64 if is_numpy else [xp.float64, xp.float32]

    def _as_images(self, X):
        if X.ndim > 3:
            raise ValueError(
                "X must be of shape (n_channels, n_times) or (n_channels, height, width), got "
                f"{tuple(X.shape)}."
            )
        if 0 in X.shape:
            raise ValueError(f"X must have at least one sample in each axis, got {tuple(X.shape)}.")
        if isinstance(X, np.ndarray):
            check_squares(X)
        return X[:, None, :] if X.ndim == 2 else X

    def _plan(self, shape):
        linear = self.delays == "linear"
        height, width = shape
        most = self.max_delay
        if linear:
            most = max(height, width) // 2 if most is None else most
            if most > 100 * max(height, width):
                raise ValueError(
                    f"max_delay must be at most 100 times the length of X, got {most}."
                )
            height, width = height + most * (height > 1), width + most
        allowed = None
        if most is not None:
            down, right = np.ogrid[:height, :width]
            near_down = np.minimum(down, height - down) <= most
            allowed = near_down & (np.minimum(right, width - right) <= most)
        search = Search((height, width), self.nonneg_weights, self.subsample, allowed)
        return Plan(
            self.domain,
            float(self.chirp_rate),
            float(self.theta),
            self.inner,
            self.init,
            float(self.alpha),
            search,
        )

    def _check(self, X, plan):
        n_channels = X.shape[0]
        if not isinstance(X, np.ndarray):
            for name in ("domain", "inner", "phase_update"):
                default = {"domain": "fourier", "inner": "nmf"}.get(name, "least_squares")
                if (asked := getattr(self, name)) != default:
                    raise ValueError(
                        f"{name}={asked!r} takes NumPy arrays; on a device there is "
                        f"{name}={default!r} only."
                    )
        if self.domain == "frft" and abs(np.sin(2.0 * plan.theta)) < 1e-6:
            raise ValueError(
                f"theta must not be a multiple of π/2, where delays or frequencies are lost, got "
                f"{plan.theta}."
            )
        if self.phase_update == "group_delay" and plan.search.shape[0] > 1:
            raise ValueError(
                "phase_update='group_delay' is for signals; take 'least_squares' for images."
            )
        if n_channels < self.n_sources:
            warnings.warn(
                f"There are fewer channels ({n_channels}) than sources ({self.n_sources}): many "
                "sources explain them equally well. Ask for fewer sources.",
                stacklevel=3,
            )

    def _padded(self, images, plan):
        height, width = plan.search.shape
        down, right = height - images.shape[1], width - images.shape[2]
        if not (down or right):
            return images
        xp, device, is_numpy = namespace_of(images)
        if is_numpy:
            return np.pad(images, ((0, 0), (0, down), (0, right)))
        longer = xp.zeros((images.shape[0], height, width), dtype=images.dtype, device=device)
        longer[:, : images.shape[1], : images.shape[2]] = images
        return longer

    def _search(self, X, plan, rng, progress):
        """Try every start for a while, follow the best, never end above principal components."""

        def improve(start, max_iter):
            return alternate(
                X,
                start,
                plan.search,
                alpha=plan.alpha,
                max_iter=max_iter,
                tol=self.tol,
                report=progress.step,
            )

        first = min(self.max_iter, _FIRST_SWEEPS) if self.n_init > 1 else self.max_iter
        runs = []
        for _ in range(self.n_init):
            runs.append(improve(draw_start(X, self.n_sources, plan, rng), first))
        energy = float(energies(X, plan.search.shape).sum())
        errors = np.array([run[0].error for run in runs])
        # Q = 1 − ||X − F||/||X||
        self.start_qualities_ = 1.0 - np.sqrt(errors / energy) if energy else np.ones(len(errors))
        ends = []
        for k in np.argsort(errors, kind="stable")[:_KEPT]:
            factors, trace, converged = runs[k]
            if not converged and first < self.max_iter:
                factors, more, converged = improve(factors, self.max_iter - first)
                trace = trace + more
            ends.append((factors, trace, converged))
            if factors.error <= _EXACT * energy:
                break
        if self.n_init > 1:
            ends.append(
                self._redraw(min(ends, key=lambda end: end[0].error), X, plan, rng, improve)
            )
        if not self.nonneg_weights:
            principal = principal_start(X, self.n_sources, plan)
            if principal.error < min(end[0].error for end in ends):
                ends.append(improve(principal, self.max_iter))
        factors, trace, converged = min(ends, key=lambda end: end[0].error)
        if not converged and len(trace) >= self.max_iter:
            fell = (trace[-2] - trace[-1]) / energy if len(trace) > 1 else 1.0
            if fell > 100 * self.tol > 0:
                warnings.warn(
                    f"AnechoicMixture ended after max_iter={self.max_iter} sweeps, the last of "
                    f"which lowered the error by {fell:.1e} of the energy of X.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
        return factors, trace

    def _redraw(self, end, X, plan, rng, improve):
        """Redraw a source now and then, and go on from there where that is better."""
        energy = float(energies(X, plan.search.shape).sum())
        for _ in range(_REDRAWS):
            factors, trace, _ = end
            if factors.error <= _EXACT * energy:
                break
            other = improve(redrawn(X, factors, plan, rng), _FIRST_SWEEPS)
            if other[0].error < factors.error - self.tol * energy:
                more = improve(other[0], self.max_iter)
                gained = [error for error in (*other[1], *more[1]) if error < factors.error]
                end = more[0], [*trace, *gained], more[2]
        return end

    def _published(self, X, plan, rng, progress):
        """Run the paper's own phase retrieval from every start; keep the best."""
        solve = by_group_delay if self.phase_update == "group_delay" else by_projections
        fits = []
        for _ in range(self.n_init):
            fits.append(solve(X, self.n_sources, plan, rng, self.max_iter))
            if progress.step():
                break
        energy = float(energies(X, plan.search.shape).sum())
        errors = np.array([fit[0].error for fit in fits])
        self.start_qualities_ = 1.0 - np.sqrt(errors / energy) if energy else np.ones(len(errors))
        return min(fits, key=lambda fit: fit[0].error)

    def _keep(self, X, images, spectra, factors: Factors, plan, size):
        """Fix what is arbitrary, and store the model in the units of X."""
        shape = plan.search.shape
        norms = np.sqrt(energies(factors.sources, shape))
        norms = np.where(norms > 0, norms, 1.0)  # of unit norm, as the scale is free
        weights = factors.weights * norms
        largest = np.take_along_axis(weights, np.abs(weights).argmax(axis=0)[None], axis=0)[0]
        signs = np.where(largest < 0, -1.0, 1.0)  # and the sign
        weights, sources = weights * signs, divided(factors.sources, norms * signs)
        delays = np.where(weights[..., None] != 0, factors.delays, 0.0)
        # a whole common shift: a fraction would change the bin halfway round
        shared = np.stack(
            [_circular_mean(delays[..., a], np.abs(weights), shape[a]) for a in (0, 1)], axis=-1
        )
        delays = np.where(weights[..., None] != 0, wrapped(delays - shared, shape), 0.0)
        xp, _, is_numpy = namespace_of(images)
        if is_numpy:
            sources = sources * shift_phases(shared, shape)
            phases = shift_phases(delays, shape)
            model = from_spectra(np.einsum("ij,ijf,jf->if", weights, phases, sources), shape)
        else:
            sources = sources * device_phases(shared, shape, sources)
            phases = device_phases(delays.swapaxes(0, 1), shape, sources)
            model = from_spectra(mixed(weights, phases, sources), shape)
        model = size * model[:, : images.shape[1], : images.shape[2]]
        norm = float(xp.linalg.vector_norm(images / size))
        off = float(xp.linalg.vector_norm((images - model) / size))
        signal = X.ndim == 2
        found = from_spectra(sources, shape)
        self.sources_ = found[:, 0, :] if signal else found
        self.weights_ = to_namespace(weights * size, images)
        self.delays_ = to_namespace(delays[..., 1] if signal else delays, images)
        self.reconstruction_ = model[:, 0, :] if signal else model
        self.quality_ = 1.0 - off / norm if norm else 1.0
        self._shape, self._image_shape = shape, tuple(images.shape[1:])

    def reconstruct(self):
        """Return the channels as the model has them.

        Returns
        -------
        X : ndarray of the shape of X
            The sums of scaled and delayed sources.
        """
        check_is_fitted(self)
        return namespace_of(self.reconstruction_).xp.asarray(self.reconstruction_, copy=True)

    def transform(self, X):
        """Find weights and delays of the fitted sources in other channels.

        Parameters
        ----------
        X : array-like of shape (n_channels, n_times) or (n_channels, height, width)
            Channels.

        Returns
        -------
        found : ndarray of shape (n_channels, 2 n_sources), or (n_channels, 3 n_sources) for images
            Weights, then delays: first those down, in images, then those to the right.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="sources_", method="transform")
        given = X = validate_data(self, X, dtype=self._dtypes(X), allow_nd=True, reset=False)
        X, sources = (np.asarray(to_numpy(a), dtype=np.float64) for a in (X, self.sources_))
        images = self._as_images(X)
        if images.shape[1:] != self._image_shape:
            raise ValueError(
                f"X must have channels of the shape {self._image_shape[3 - X.ndim :]} seen in "
                f"fit, got {X.shape[1:]}."
            )
        plan = self._plan(self._image_shape)
        size = float(np.abs(images).max()) or 1.0
        sources = sources[:, None] if sources.ndim == 2 else sources
        weights, delays = least_squares_delays(
            to_spectra(self._padded(images / size, plan)), to_spectra(sources), plan.search
        )
        delays = np.where(weights[..., None] != 0, wrapped(delays, self._shape), 0.0)
        parts = [weights * size, delays[..., 1]]
        if X.ndim == 3:
            parts.insert(1, delays[..., 0])
        return to_namespace(np.hstack(parts), given)

    @property
    def _n_features_out(self):
        return self.n_sources * (2 if self.sources_.ndim == 2 else 3)


def _circular_mean(delays, weights, length):
    """Return the whole delay that is nearest to the mean direction of each column."""
    turns = np.exp(2j * np.pi * delays / length)
    mean = (weights * turns).sum(axis=0)
    angle = np.where(
        np.abs(mean) > 1e-12 * np.maximum(weights.sum(axis=0), 1e-300), np.angle(mean), 0
    )
    return np.rint(angle * length / (2 * np.pi))
