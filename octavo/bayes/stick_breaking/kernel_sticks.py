"""`KernelStickBreakingMixture`: each atom has a place and a width, and weighs less far from it.

Dunson and Park (2008); the paper's Eq. (2) and its rival in Section 5. q of the atoms is
variational; place, width and stick of each atom are modes, places and widths among a grid.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.stick_breaking.allocation import categorical_step, later_mass, log_weights
from octavo.bayes.stick_breaking.locations import (
    check_coords,
    choose_centers,
    width_library,
)
from octavo.bayes.stick_breaking.mixture import COUNT, SHARED_CONSTRAINTS
from octavo.bayes.stick_breaking.observations import (
    Observations,
    neighbours,
    read_blocks,
    rows_of,
    start_features,
)
from octavo.bayes.stick_breaking.starts import check_labels, clusters, smoothed, start_sizes
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.em import best_of, climb, warn_unless_converged

__all__ = ["KernelStickBreakingMixture"]

LARGEST = 1.0 - 1e-9  # of a stick


class Places(NamedTuple):
    """Atoms' q; centre, width and V of each of K - 1 sticks; log V K and log(1 - V K)."""

    atoms: Any
    centers: Indices
    widths: Indices
    sticks: Floats
    log_yes: Floats
    log_no: Floats


def stick_logs(squares: Floats, psi: float, stick: float) -> tuple[Floats, Floats]:
    """Return log V K and log(1 - V K) for squared distances."""
    log_kernel = squares / -psi
    # V K and 1 - V K of Eq. (2)
    return np.log(stick) + log_kernel, np.log1p(-stick * np.exp(log_kernel))


def best_place(
    squares: Floats, psi: Floats, stick: float, yes: Floats, no: Floats
) -> tuple[int, int]:
    """Return centre and width with the largest expected log probability of the memberships."""
    near = yes @ squares
    best = (-np.inf, 0, 0)
    for j, width in enumerate(psi):
        # Σ ξ_nk log K + Σ_n Σ_{l>k} ξ_nl log(1 - V K), for every centre at once
        value = near / -width + no @ np.log1p(-stick * np.exp(squares / -width))
        i = int(value.argmax())
        if value[i] > best[0]:
            best = float(value[i]), i, j
    return best[1], best[2]


def best_stick(kernel: Floats, yes: Floats, no: Floats, alpha: float) -> float:
    """Return the mode of V: yes log V + Σ no log(1 - V K) + (α - 1) log(1 - V), by bisection."""
    total = float(yes.sum())

    def slope(v: float) -> float:
        # the derivative falls in V wherever α ≥ 1: one root
        return total / v - float((no * kernel / (1.0 - v * kernel)).sum()) - (alpha - 1) / (1 - v)

    low, high = 1e-9, LARGEST
    if slope(high) >= 0:
        return high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return 0.5 * (low + high)


class KernelStickBreakingMixture(ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Segments by a kernel stick-breaking process: atoms that weigh most around one place each.

    Parameters
    ----------
    n_components : int, default=10
        The truncation level K: the most atoms.
    observation : {"gaussian", "diag", "categorical", "multinomial"} or list of str, \
default="gaussian"
        What atoms are; see `LogisticStickBreakingMixture`.
    centers : "subsample" or array-like of shape (n_centers, n_coords), default="subsample"
        The places that atoms may have.
    n_centers : int, default=100
        Number of places to take from the data.
    bandwidths : "auto", float or list of float, default="auto"
        The library of widths ψ of kernels exp(-d² / ψ).
    bandwidth_units : {"squared", "length"}, default="squared"
        Whether widths are in squared units of the coordinates, or their roots.
    alpha : float, default=1.0
        Concentration: sticks have the prior Beta(1, alpha).
    n_init : int, default=3
        Number of starts: k-means with K clusters, then with fewer, down to two.
    max_iter : int, default=200
        The largest number of iterations of a start.
    tol : float, default=1e-5
        A climb ends when the bound rises by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seeds k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The most probable atom of each point.
    resp_ : ndarray of shape (n_samples, n_components)
        Probabilities of atoms; rows sum to one.
    locations_ : ndarray of shape (n_components - 1, n_coords)
        The place of each stick, the paper's Γ.
    sticks_ : ndarray of shape (n_components - 1,)
        V, the weight that a stick takes at its place.
    bandwidths_ : ndarray of shape (n_components - 1,)
        Its width, in ``bandwidth_units``.
    active_components_ : ndarray of shape (n_active,)
        Atoms that are the most probable one of some point.
    atoms_ : dict of ndarray, or list of dict
        As `LogisticStickBreakingMixture`'s.
    lower_bound_ : float
        The variational bound at the modes of places, widths and sticks.
    lower_bounds_ : ndarray of shape (n_iter + 1,)
        The bound at the start and after each iteration.
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    LogisticStickBreakingMixture : Segments of any shape with sharp boundaries.

    Notes
    -----
    A baseline. An atom that is used at two places far apart needs two sticks here, and boundaries
    are soft: where segments come back or have edges use `LogisticStickBreakingMixture`.

    References
    ----------
    .. [1] D. B. Dunson and J.-H. Park (2008). Kernel stick-breaking processes. Biometrika 95.
    .. [2] L. Ren, L. Du, L. Carin and D. B. Dunson (2011). Logistic Stick-Breaking Process.
       JMLR 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import KernelStickBreakingMixture
    >>> t = np.arange(60.0)
    >>> X = np.where(t < 30, 0.0, 5.0)[:, None] + np.random.RandomState(0).normal(size=(60, 1))
    >>> model = KernelStickBreakingMixture(4, n_centers=20, random_state=0).fit(X, t)
    >>> set(model.labels_[:30].tolist()) & set(model.labels_[30:].tolist())
    set()
    """

    _parameter_constraints: dict = SHARED_CONSTRAINTS | {
        "n_components": [COUNT],
        "n_centers": [COUNT],
        "alpha": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        observation="gaussian",
        centers="subsample",
        n_centers=100,
        bandwidths="auto",
        bandwidth_units="squared",
        alpha=1.0,
        n_init=3,
        max_iter=200,
        tol=1e-5,
        random_state=None,
    ):
        self.n_components = n_components
        self.observation = observation
        self.centers = centers
        self.n_centers = n_centers
        self.bandwidths = bandwidths
        self.bandwidth_units = bandwidth_units
        self.alpha = alpha
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, coords: Any = None, init_labels: Any = None) -> Self:
        """Find segments.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of those
            Numbers, codes from 0 or counts, as ``observation`` says; a list of blocks for products.
        coords : array-like of shape (n_samples,) or (n_samples, n_coords)
            Where each row lies.
        init_labels : array-like of shape (n_samples,), optional
            Groups to start from, in place of all other starts.

        Returns
        -------
        self : KernelStickBreakingMixture
            Fitted.
        """
        rng = check_random_state(self.random_state)
        blocks = read_blocks(self, X, self.observation, reset=True)
        coords = check_coords(coords, rows_of(blocks))
        grid = choose_centers(self.centers, self.n_centers, coords)
        grid = grid if len(grid) else coords[:1]
        widths = width_library(self.bandwidths, self.bandwidth_units, coords, grid)
        psi = widths**2 if self.bandwidth_units == "length" else widths
        squares = ((coords[:, None, :] - grid) ** 2).sum(axis=2)
        self._n_coords = coords.shape[1]
        self._observations = Observations(blocks, neighbours(coords))
        tables = self._observations.tables(blocks)

        def maximize(old: Places | None, resp: Floats) -> Places:
            return self._places(tables, squares, psi, resp, old)

        def expect(params: Places) -> tuple[float, Any]:
            scores = self._observations.scores(params.atoms, tables)
            resp, local = categorical_step(scores, params.log_yes, params.log_no)
            # log Beta(V; 1, α), at the mode and not integrated out
            prior = (self.alpha - 1.0) * np.log1p(-params.sticks) + np.log(self.alpha)
            divergence = self._observations.divergences(params.atoms).sum()
            return float(local.sum() + prior.sum() - divergence), resp

        size = self.n_components
        features = start_features(blocks)
        if init_labels is not None:
            begun = iter([check_labels(init_labels, len(coords), size)])
        else:
            begun = (clusters(features, n, rng) for n in start_sizes(size, self.n_init))
        with FitProgress(self, self.n_init * self.max_iter, X) as progress:
            run = best_of(
                climb(
                    expect, maximize, maximize(None, smoothed(labels, size)),
                    max_iter=self.max_iter, tol=self.tol, progress=progress,
                )
                for labels in begun
            )  # fmt: skip
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self._keep(run, grid, widths)
        return self

    def _places(
        self, tables: Any, squares: Floats, psi: Floats, resp: Floats, old: Places | None
    ) -> Places:
        """Update atoms; then each stick's place and width at its V, then V."""
        n, n_sticks = len(resp), resp.shape[1] - 1
        atoms = self._observations.update(tables, resp)
        after = later_mass(resp)[:, 1:]
        centers, widths = np.zeros((2, n_sticks), dtype=np.intp)
        sticks = np.full(n_sticks, 0.5) if old is None else old.sticks.copy()
        log_yes, log_no = np.empty((2, n, n_sticks))
        for k in range(n_sticks):
            # coordinate ascent: the place at the last V, then V at that place
            i, j = best_place(squares, psi, sticks[k], resp[:, k], after[:, k])
            kernel = np.exp(squares[:, i] / -psi[j])
            sticks[k] = best_stick(kernel, resp[:, k], after[:, k], self.alpha)
            centers[k], widths[k] = i, j
            log_yes[:, k], log_no[:, k] = stick_logs(squares[:, i], psi[j], sticks[k])
        return Places(atoms, centers, widths, sticks, log_yes, log_no)

    def _keep(self, run: Any, grid: Floats, widths: Floats) -> None:
        params: Places = run.params
        self.resp_ = run.expectations
        self.labels_ = self.resp_.argmax(axis=1)
        self.active_components_ = np.unique(self.labels_)
        self.locations_ = grid[params.centers]
        self.sticks_ = params.sticks
        self.bandwidths_ = widths[params.widths]
        self._atoms = params.atoms
        self.atoms_ = self._observations.describe(params.atoms)
        shift = len(self.resp_) * self._observations.log_unit
        self.lower_bound_ = float(run.objective + shift)
        self.lower_bounds_ = run.trace + shift
        self.n_iter_ = run.n_iter

    def fit_predict(self, X: Any, coords: Any = None, init_labels: Any = None) -> Indices:
        """Find segments and return them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of those
            As for `fit`.
        coords : array-like of shape (n_samples,) or (n_samples, n_coords)
            Where each row lies.
        init_labels : array-like of shape (n_samples,), optional
            Groups to start from.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The most probable atom of each point.
        """
        return np.asarray(self.fit(X, coords, init_labels).labels_)

    def _logs(self, coords: Floats) -> tuple[Floats, Floats]:
        psi = self.bandwidths_**2 if self.bandwidth_units == "length" else self.bandwidths_
        log_yes, log_no = np.empty((2, len(coords), len(psi)))
        for k, (place, width, stick) in enumerate(
            zip(self.locations_, psi, self.sticks_, strict=True)
        ):
            squares = ((coords - place) ** 2).sum(axis=1)
            log_yes[:, k], log_no[:, k] = stick_logs(squares, width, stick)
        return log_yes, log_no

    def predict_proba(self, X: Any, coords: Any = None) -> Floats:
        """Return the probability of each atom at new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of those
            As for `fit`.
        coords : array-like of shape (n_samples,) or (n_samples, n_coords)
            Where each row lies.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_components)
            Rows sum to one.
        """
        check_is_fitted(self)
        blocks = read_blocks(self, X, self.observation, reset=False)
        places = check_coords(coords, rows_of(blocks), self._n_coords)
        scores = self._observations.scores(self._atoms, self._observations.tables(blocks))
        return categorical_step(scores, *self._logs(places))[0]

    def predict(self, X: Any, coords: Any = None) -> Indices:
        """Return the most probable atom of new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of those
            As for `fit`.
        coords : array-like of shape (n_samples,) or (n_samples, n_coords)
            Where each row lies.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Numbers of atoms.
        """
        return np.asarray(self.predict_proba(X, coords).argmax(axis=1))

    def gate_proba(self, coords: Any) -> Floats:
        """Return the prior weight of each atom at places (Eq. 2).

        Parameters
        ----------
        coords : array-like of shape (n,) or (n, n_coords)
            Any places.

        Returns
        -------
        weights : ndarray of shape (n, n_components)
            Rows sum to one.
        """
        check_is_fitted(self)
        places = check_coords(coords, n_columns=self._n_coords)
        # V_k K(s, Γ_k; ψ) ∏_{l<k} (1 - V_l K(s, Γ_l; ψ)), Eq. (2)
        return np.asarray(np.exp(log_weights(*self._logs(places))))
