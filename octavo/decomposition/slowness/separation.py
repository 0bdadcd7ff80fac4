"""xSFA: sources behind an unknown nonlinear mixture, one after the other, by their slowness.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Section 4.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.decomposition.slowness.episodes import in_the_form_of, validated
from octavo.decomposition.slowness.estimator import (
    check_width,
    refuse_constant,
    warn_of_short,
    warn_of_speed,
    warn_of_ties,
)
from octavo.decomposition.slowness.removal import (
    Removal,
    fit_removal,
    radial_functions,
    remove,
    shuffled_delta,
    slowest,
)
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.spectral.expansions import (
    BASES,
    blocks_of,
    box_of,
    column_by_column,
    expansion,
    frame_of,
    largest_degree,
    n_functions,
    streamed,
)

__all__ = ["XSFA", "ExtractionStep"]

# The paper's degrees are 7 for two mixtures and 3 for six; 20 for one source to remove and 4 for
# five. Both are the largest with at most so many functions.
EXPANDED, DEGREE = 100, 7
REMOVED, REMOVAL_DEGREE = 125, 20
SHUFFLES = 19

SUBTRACTED = 1e-12  # unit variances less what was explained have no digits below


class ExtractionStep(NamedTuple):
    """One source: its Δ-value, its weights, and what was removed before it was sought.

    ``weights`` are those of the first SFA's outputs; ``removal`` (None for the first source) holds
    functions of the sources before, whose coefficients in this and all later sources are its
    columns.
    """

    delta: float
    weights: Floats
    removal: Removal | None


class XSFA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, SoundEstimator):
    """Nonlinear blind source separation by slowness (xSFA).

    Mixtures are expanded in polynomials, and the slowest function of them is the first source, up
    to a monotone map. All its nonlinear functions are then projected out; the slowest function
    of what is left is the second source, and so on.

    Parameters
    ----------
    n_sources : int, default=None
        How many sources. By default they are counted: extraction ends where what is left is no
        slower than in a random order of time, or nothing is left. That rule is octavo's, not the
        paper's; it never finds more sources than mixtures.
    expansion_degree : int or "auto", default="auto"
        Degree of the polynomials of the mixtures; by default the largest up to 7 with at most
        100 functions (7 for two mixtures, 3 for six, as in the paper).
    removal_degree : int or "auto", default="auto"
        Degree of the polynomials of sources that are projected out; by default the largest up to
        20 with at most 125 functions (20 for two sources, 4 for six, as in the paper).
    basis : {"chebyshev", "legendre", "hermite", "monomial", "rbf"}, default="chebyshev"
        Polynomials whose products make up the expansion; all span the same functions. "rbf" takes
        Gaussians around as many points of the data instead.
    var_threshold : float, default=1e-7
        Directions of at most this variance are left out, the paper's ε.
    scale : {"minmax", "standard"}, default="minmax"
        Uncorrelated combinations of the mixtures, of which polynomials are taken, are brought to
        [-1, 1], or to unit variance (for "hermite").
    random_state : int, RandomState instance or None, default=None
        Seeds the random orders with which sources are counted; not used otherwise.

    Attributes
    ----------
    delta_values_ : ndarray of shape (`n_sources_`,)
        Δ-values of the sources, in the order in which they were found.
    n_sources_ : int
        Number of sources.
    removed_dims_ : ndarray of int of shape (`n_sources_`,)
        Directions that were left out before each source for lack of variance.
    rank_path_ : ndarray of int of shape (`n_sources_`,)
        Directions among which each source was sought.
    steps_ : list of ExtractionStep
        What was done for each source.
    n_features_in_ : int
        Number of mixtures seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of mixtures seen during fit.

    See Also
    --------
    SFA : The slowest functions alone.
    harmonics : What of a source can be recovered at best.
    PostNonlinearISA : Each mixture bent by itself; the order of time does not matter.
    sklearn.decomposition.FastICA : Linear mixtures.

    Notes
    -----
    Sources come back as monotone functions of themselves; those that have normal values, as they
    are. Their sign is set so that the strongest correlation with a mixture is positive.

    Do not use it for mixtures with delays or echoes, for rows without an order in time, or where
    sources are equally slow: `required_samples` says how long a series tells two apart, and a
    warning names neighbours that this one does not. Errors add up from source to source; beyond
    some six sources the last ones are not to be trusted.

    Polynomials know nothing outside the range of the training data: values beyond it count as at
    its border, and a warning tells how many.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_colored_noise, make_spiral_mixture
    >>> from octavo.decomposition import XSFA, source_match
    >>> S = make_colored_noise(20000, [200, 333], random_state=0)
    >>> S /= abs(S).max(axis=0)
    >>> X = make_spiral_mixture(S[:, 0], S[:, 1])
    >>> found = XSFA(2).fit_transform(X)
    >>> print(bool((source_match(found, S).cc > 0.9).all()))
    True
    """

    _parameter_constraints = {
        "n_sources": [Interval(Integral, 1, None, closed="left"), None],
        "expansion_degree": [Interval(Integral, 1, 100, closed="both"), StrOptions({"auto"})],
        "removal_degree": [Interval(Integral, 1, 100, closed="both"), StrOptions({"auto"})],
        "basis": [StrOptions({*BASES, "rbf"})],
        "var_threshold": [Interval(Real, 0, 1, closed="left")],
        "scale": [StrOptions({"minmax", "standard"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_sources=None,
        *,
        expansion_degree="auto",
        removal_degree="auto",
        basis="chebyshev",
        var_threshold=1e-7,
        scale="minmax",
        random_state=None,
    ):
        self.n_sources = n_sources
        self.expansion_degree = expansion_degree
        self.removal_degree = removal_degree
        self.basis = basis
        self.var_threshold = var_threshold
        self.scale = scale
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, lengths=None):
        """Find the sources of a mixture.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features), or list of such
            Mixtures, rows in the order of time; a list holds episodes.
        y : None
            Ignored.
        lengths : array-like of int, default=None
            Lengths of the episodes that are stacked in X.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._fit(X, lengths)
        return self

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None, lengths=None):
        """Find the sources of a mixture and return them.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features), or list of such
            Mixtures, rows in the order of time; a list holds episodes.
        y : None
            Ignored.
        lengths : array-like of int, default=None
            Lengths of the episodes that are stacked in X.

        Returns
        -------
        S : ndarray of shape (n_times, n_sources), or list of such
            The sources, slowest first; a list where X is one.
        """
        S, counts = self._fit(X, lengths)
        return in_the_form_of(X, S, counts)

    def _fit(self, X: Any, lengths: Any) -> tuple[Floats, Ints]:
        values, counts = validated(self, X, lengths, min_samples=2)
        values = column_by_column(values)
        n, d = values.shape
        most = d if self.n_sources is None else self.n_sources
        if most > d:
            raise ValueError(f"n_sources={most}, but X has {d} mixtures; at most as many sources.")
        if counts.max() < 2:
            raise ValueError("Every episode has one row; slowness needs two or more.")
        self._prepare(values, counts, most)
        with FitProgress(self, most, X, step_name="source") as progress:
            S = self._extract(values, counts, most, progress)
        warn_of_short(n, self._width)
        warn_of_speed(float(self.delta_values_[0]))
        warn_of_ties(self.delta_values_, n)
        return S, counts

    def _prepare(self, values: Floats, counts: Ints, most: int) -> None:
        """Choose the functions of the mixtures and those of the sources."""
        n, d = values.shape
        degree = self.expansion_degree
        if degree == "auto":
            degree = max(largest_degree(d, DEGREE, EXPANDED), min(2, DEGREE))
        self._removal_degree = self.removal_degree
        if self.removal_degree == "auto":
            self._removal_degree = max(largest_degree(most - 1, REMOVAL_DEGREE, REMOVED), 2)
        width = n_functions(d, degree)
        check_width(width, n)
        check_width(n_functions(most - 1, self._removal_degree), n)
        refuse_constant(box_of(values).scale)
        self._frame = frame_of(values, self.scale)
        inside = self._frame(values)
        self._low, self._high = inside.min(axis=0), inside.max(axis=0)
        if self.basis == "rbf":
            self._functions: Any = radial_functions(inside, width - d)
        else:
            self._functions = expansion(inside.shape[1], degree, self.basis)
        self._width = self._functions(inside[:1]).shape[1]

    def _first_signals(self, values: Floats, counts: Ints) -> tuple[Floats, Any]:
        """Return all outputs of SFA of the expanded mixture (steps 2 and 3)."""
        expand = self._expand
        moments = streamed(values, counts, expand, self._width, fresh=True)  # step 2
        # step 3, all outputs
        found = slowest(moments.covariance, moments.velocity_covariance, self.var_threshold)
        self._mean, self._whole = moments.mean, found.components
        if found.rank == 0:
            raise ValueError(
                f"No function of X has a variance above var_threshold={self.var_threshold:g}."
            )
        Z = np.empty((len(values), found.rank))
        offset = self._mean @ self._whole.T
        for rows in blocks_of(len(values), self._width):
            Z[rows] = expand(values[rows]) @ self._whole.T
            Z[rows] -= offset
        return Z, found

    def _expand(self, rows: Floats) -> Floats:
        return self._functions(self._frame(rows))

    def _extract(self, values: Floats, counts: Ints, most: int, progress: FitProgress) -> Floats:
        Z, found = self._first_signals(values, counts)
        rng = check_random_state(self.random_state)
        ranks, dropped = [found.rank], [self._width - found.rank]
        weights, removals, deltas = [np.eye(found.rank)[0]], [], [found.delta_values[0]]
        S = self._sign(Z[:, :1].copy(), weights[0], values)  # Z is changed in place
        covariance, second = np.eye(found.rank), None  # Z is white
        progress.step()
        for i in range(1, most):
            # steps 5 and 6
            fitted = fit_removal(S, Z, self._removal_degree, self.var_threshold, second)
            removal, second = fitted.removal, fitted.second
            covariance -= fitted.explained  # what a regression leaves
            velocity = remove(Z, S, removal, counts)
            # step 7: linear SFA of what is left
            found = slowest(covariance, velocity, max(self.var_threshold, SUBTRACTED))
            if self._is_over(Z, found, counts, rng, i):
                break
            removals.append(removal)
            weights.append(found.components[0].copy())
            S = np.hstack([S, self._sign(Z @ weights[-1][:, None], weights[-1], values)])
            deltas.append(found.delta_values[0])
            ranks.append(found.rank)
            dropped.append(Z.shape[1] - found.rank)
            if progress.step():
                break
        self._store(weights, removals, deltas)
        self.rank_path_, self.removed_dims_ = np.array(ranks), np.array(dropped)
        return S

    def _is_over(self, Z: Floats, found: Any, counts: Ints, rng: Any, i: int) -> bool:
        """Tell whether nothing is left, or nothing that chance would not make as slow."""
        if self.n_sources is not None:
            if found.rank == 0:
                raise ValueError(
                    f"n_sources={self.n_sources}, but nothing is left of the expanded mixtures "
                    f"once {i} sources are removed. Ask for fewer sources, raise expansion_degree "
                    "or lower removal_degree."
                )
            return False
        if found.rank == 0:
            return True
        return found.delta_values[0] >= shuffled_delta(Z, found, counts, SHUFFLES, rng)

    def _sign(self, source: Floats, weights: Floats, values: Floats) -> Floats:
        """Turn a source, and its weights in place, so that it goes with a mixture."""
        shared = source[:, 0] @ self._frame.units(values)
        if shared[np.abs(shared).argmax()] < 0:
            weights *= -1.0
            return -source
        return source

    def _store(self, weights: list[Floats], removals: list[Removal], deltas: list[float]) -> None:
        """Keep of each removal what this and the later sources need of it."""
        self.steps_ = []
        for i, (own, delta) in enumerate(zip(weights, deltas)):
            removal = None
            if i:
                later = np.column_stack(weights[i:])
                full = removals[i - 1]
                removal = full._replace(coefficients=full.coefficients @ later)
            self.steps_.append(ExtractionStep(float(delta), own, removal))
        self.delta_values_ = np.array(deltas)
        self.n_sources_ = len(weights)

    @property
    def _n_features_out(self):
        return self.n_sources_

    def transform(self, X):
        """Return the sources at every time.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features), or list of such
            Mixtures, or a list of episodes.

        Returns
        -------
        S : ndarray of shape (n_times, n_sources), or list of such
            Sources, slowest first; a list where X is one.
        """
        check_is_fitted(self, "steps_")
        values, counts = validated(self, X, reset=False)
        inside = self._frame(values)
        slack = 1e-9 * (self._high - self._low)
        beyond = (inside < self._low - slack) | (inside > self._high + slack)
        outside = int(beyond.any(axis=1).sum())
        if outside:
            warnings.warn(
                f"{outside} of {len(values)} rows lie outside the range of the training data and "
                "count as at its border.",
                UserWarning,
                stacklevel=3,
            )
            inside = np.clip(inside, self._low, self._high)
        W = self._whole.T @ np.column_stack([step.weights for step in self.steps_])
        S = np.empty((len(values), self.n_sources_))
        for rows in blocks_of(len(values), self._width):
            S[rows] = (self._functions(inside[rows]) - self._mean) @ W
            for i, step in enumerate(self.steps_):
                if step.removal is not None:
                    S[rows, i:] -= step.removal.predict(S[rows, :i])
        return in_the_form_of(X, S, counts)
