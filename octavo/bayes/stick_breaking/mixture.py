"""`LogisticStickBreakingMixture`: segments of data that have a place, their number not fixed.

Ren, Du, Carin and Dunson (2011), Logistic Stick-Breaking Process: Sections 2 and 4, Appendix A.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.stick_breaking.allocation import (
    bernoulli_step,
    categorical_step,
    gate_probabilities,
    memberships,
)
from octavo.bayes.stick_breaking.climbing import Mixture, ascend, merged
from octavo.bayes.stick_breaking.gating import GateFitter, moments
from octavo.bayes.stick_breaking.locations import (
    KernelBank,
    check_coords,
    choose_centers,
    width_library,
)
from octavo.bayes.stick_breaking.observations import (
    KINDS,
    Block,
    Observations,
    neighbours,
    read_blocks,
    rows_of,
    start_features,
)
from octavo.bayes.stick_breaking.starts import check_labels, clusters, smoothed, start_sizes
from octavo.bayes.stick_breaking.weight_priors import named_prior
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.em import Climb, warn_unless_converged
from octavo.engine.variational.logistic_bound import expected_log_sigmoid

__all__ = ["LogisticStickBreakingMixture"]

POSITIVE = Interval(Real, 0, None, closed="neither")
COUNT = Interval(Integral, 1, None, closed="left")
SHARED_CONSTRAINTS: dict[str, Any] = {
    "observation": [StrOptions(set(KINDS)), list, tuple],
    "centers": [StrOptions({"subsample"}), "array-like"],
    "n_centers": [Interval(Integral, 0, None, closed="left")],
    "bandwidths": [StrOptions({"auto"}), POSITIVE, "array-like"],
    "bandwidth_units": [StrOptions({"squared", "length"})],
    "n_init": [COUNT],
    "max_iter": [COUNT],
    "tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
}
GATE_CONSTRAINTS: dict[str, Any] = SHARED_CONSTRAINTS | {
    "bandwidth_inference": [StrOptions({"map", "sample", "fixed"})],
    "weight_prior": [StrOptions({"student_t", "spike_slab"})],
    "a0": [POSITIVE],
    "b0": [POSITIVE],
    "allocation": [StrOptions({"categorical", "bernoulli"})],
    "merge_moves": ["boolean"],
}
STICK_PASSES = 20  # over the sticks of new points, which start from the gates


def truncations(n_components: Any) -> list[int]:
    """Return the truncation levels to try: one, or those of a list."""
    sizes: list[Any] = [n_components] if isinstance(n_components, Integral) else list(n_components)
    good = all(isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1 for k in sizes)
    if not sizes or not good:
        raise ValueError(
            "The 'n_components' parameter must be a whole number of at least 1, or a list of "
            f"those; got {n_components!r}."
        )
    return [int(k) for k in sizes]


def gate_bank(estimator: Any, coords: Floats) -> tuple[KernelBank, Floats, Floats]:
    """Return kernels of a data set, their centres, and the widths in the user's units."""
    centers = choose_centers(estimator.centers, estimator.n_centers, coords)
    widths = width_library(estimator.bandwidths, estimator.bandwidth_units, coords, centers)
    psi = widths**2 if estimator.bandwidth_units == "length" else widths
    return KernelBank(coords, centers, psi), centers, widths


class LogisticStickBreakingMixture(ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Segments of a series, an image or a map by a logistic stick-breaking process.

    Points that lie close together share an atom more probably; boundaries are sharp; the number of
    segments is found. Each stick has a gate, a sparse logistic regression on kernels around places.

    Parameters
    ----------
    n_components : int or list of int, default=10
        The truncation level K: the most atoms. Of a list, the level with the largest
        `lower_bound_reduced_` is kept.
    observation : {"gaussian", "diag", "categorical", "multinomial"} or list of str, \
default="gaussian"
        What atoms are: Gaussians with full or diagonal covariance, probabilities of codes (each
        column apart), or of counts. A list has one for each block of X.
    centers : "subsample" or array-like of shape (n_centers, n_coords), default="subsample"
        Places of the kernels, or "subsample": evenly many of the distinct places of the data, in
        their order.
    n_centers : int, default=100
        Number of kernels to take from the data; with 0 gates are constant.
    bandwidths : "auto", float or list of float, default="auto"
        The library of widths ψ of kernels exp(-d² / ψ). By default 8 lengths, from twice the
        median distance between neighbouring centres to half the extent of the data.
    bandwidth_units : {"squared", "length"}, default="squared"
        Whether widths are in squared units of the coordinates, or their roots.
    bandwidth_inference : {"map", "sample", "fixed"}, default="map"
        Each gate takes the width with the largest bound, draws one by its probability in the
        first iterations (Section 4.2), or keeps the middle of the library.
    weight_prior : {"student_t", "spike_slab"}, default="student_t"
        Prior of the gates' weights.
    a0, b0 : float, default=1e-6
        Shape and rate of the Gamma prior of the weights' precisions.
    allocation : {"categorical", "bernoulli"}, default="categorical"
        Sum out the sticks that do not matter, which gives a tighter bound; or a probability for
        every stick, as in the paper's appendix.
    merge_moves : bool, default=True
        Try to merge atoms where the climb ends; a merge is kept where the bound rises.
    n_init : int, default=3
        Number of starts: k-means with K clusters, then with fewer, down to two.
    max_iter : int, default=200
        The largest number of iterations of a start.
    tol : float, default=1e-5
        A climb ends when the bound rises by less than this, relatively, three times in a row.
    random_state : int, RandomState instance or None, default=None
        Seeds k-means, sampled widths and draws of `sample`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The most probable atom of each point.
    resp_ : ndarray of shape (n_samples, n_components)
        Probabilities of atoms; rows sum to one.
    gate_coef_ : ndarray of shape (n_components - 1, 1 + n_centers)
        Posterior means of the gates' weights, the bias first.
    gate_cov_ : ndarray of shape (n_components - 1, 1 + n_centers, 1 + n_centers)
        Their posterior covariances.
    bandwidths_ : ndarray of shape (n_components - 1,)
        The width of each gate, in ``bandwidth_units``.
    centers_ : ndarray of shape (n_centers, n_coords)
        Places of the kernels.
    active_components_ : ndarray of shape (n_active,)
        Atoms that are the most probable one of some point.
    atoms_ : dict of ndarray, or list of dict
        Gaussians: ``means``, ``covariances``, ``mean_precisions``, ``degrees_of_freedom``; symbols:
        ``probabilities``, ``concentrations``. A list where there are several blocks.
    lower_bound_ : float
        The variational bound of the log evidence.
    lower_bound_reduced_ : float
        The same without the constants of the Gamma priors, which grow with K and the number of
        kernels: what truncation levels are compared by.
    lower_bounds_ : ndarray of shape (n_iter + 1,)
        The bound at the start and after each iteration.
    truncation_bounds_ : dict of int to float
        `lower_bound_reduced_` of each truncation level that was tried.
    n_components_ : int
        The truncation level that was kept.
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    HierarchicalLSBP : Several data sets at once, which share their atoms.
    KernelStickBreakingMixture : Weights by kernels around one place per atom.

    Notes
    -----
    Without coordinates, or where segments are no wider than the distance between points, use
    `sklearn.mixture.BayesianGaussianMixture`. For change points of one long series whose
    segments never come back, methods that search for them are faster.

    References
    ----------
    .. [1] L. Ren, L. Du, L. Carin and D. B. Dunson (2011). Logistic Stick-Breaking Process.
       JMLR 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import LogisticStickBreakingMixture
    >>> t = np.arange(60.0)
    >>> level = np.where((t < 20) | (t >= 40), 0.0, 5.0)
    >>> X = level[:, None] + np.random.RandomState(0).normal(size=(60, 1))
    >>> model = LogisticStickBreakingMixture(4, n_centers=20, random_state=0).fit(X, t)
    >>> model.active_components_.size, int(np.sum(model.labels_ != model.labels_[0]))
    (2, 19)
    """

    _parameter_constraints: dict = GATE_CONSTRAINTS | {
        "n_components": [COUNT, list, tuple, np.ndarray],
    }

    def __init__(
        self,
        n_components=10,
        observation="gaussian",
        centers="subsample",
        n_centers=100,
        bandwidths="auto",
        bandwidth_units="squared",
        bandwidth_inference="map",
        weight_prior="student_t",
        a0=1e-6,
        b0=1e-6,
        allocation="categorical",
        merge_moves=True,
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
        self.bandwidth_inference = bandwidth_inference
        self.weight_prior = weight_prior
        self.a0 = a0
        self.b0 = b0
        self.allocation = allocation
        self.merge_moves = merge_moves
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
        self : LogisticStickBreakingMixture
            Fitted.
        """
        rng = check_random_state(self.random_state)
        blocks = read_blocks(self, X, self.observation, reset=True)
        coords = check_coords(coords, rows_of(blocks))
        bank, self.centers_, self._widths = gate_bank(self, coords)
        self._n_coords = coords.shape[1]
        self._observations = Observations(blocks, neighbours(coords))
        tables = self._observations.tables(blocks)
        self._lengths = [_mean_length(block) for block in blocks]
        self._prior = named_prior(self.weight_prior, self.a0, self.b0)
        fitter = GateFitter(bank, self._prior, self.bandwidth_inference, rng)
        sizes = truncations(self.n_components)
        n_starts = 1 if init_labels is not None else self.n_init
        best: dict[int, Climb] = {}
        with FitProgress(self, len(sizes) * n_starts * self.max_iter, X) as progress:
            for size in sizes:
                merge = merged if self.merge_moves and size > 1 else None
                for resp in self._starts(blocks, size, init_labels, rng):
                    mixture = Mixture(tables, self._observations, fitter, size, self.allocation)
                    run = ascend(
                        mixture,
                        mixture.begin(resp),
                        merge,
                        max_iter=self.max_iter,
                        tol=self.tol,
                        progress=progress,
                    )
                    if size not in best or run.objective > best[size].objective:
                        best[size] = run
        self._keep(best, bank.n_columns)
        return self

    def _starts(self, blocks: list[Block], size: int, init_labels: Any, rng: Any) -> Any:
        """Yield memberships to start from."""
        if init_labels is not None:
            yield smoothed(check_labels(init_labels, rows_of(blocks), size), size)
            return
        features = start_features(blocks)
        for n_clusters in start_sizes(size, self.n_init):
            yield smoothed(clusters(features, n_clusters, rng), size)

    def _keep(self, best: dict[int, Climb], n_columns: int) -> None:
        """Store the truncation level with the largest reduced bound."""
        # p(λ)'s constant grows with the number of gates, whatever the data say
        constant = self._prior.normalizer(n_columns)
        shift = len(next(iter(best.values())).expectations[0]) * self._observations.log_unit
        self.truncation_bounds_ = {
            size: float(run.objective + shift - (size - 1) * constant) for size, run in best.items()
        }
        size = max(self.truncation_bounds_, key=lambda k: self.truncation_bounds_[k])
        run = best[size]
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        gating = run.params.gating
        self.n_components_ = size
        self.resp_ = run.expectations[0]
        self.labels_ = self.resp_.argmax(axis=1)
        self.active_components_ = np.unique(self.labels_)
        self.gate_coef_ = np.array([gate.coef for gate in gating.gates]).reshape(-1, n_columns)
        self.gate_cov_ = np.array([gate.cov for gate in gating.gates]).reshape(
            -1, n_columns, n_columns
        )
        self.bandwidths_ = self._widths[gating.widths]
        self._atoms = run.params.atoms
        self.atoms_ = self._observations.describe(self._atoms)
        self.lower_bound_ = float(run.objective + shift)
        self.lower_bound_reduced_ = self.truncation_bounds_[size]
        self.lower_bounds_ = run.trace + shift
        self.n_iter_ = run.n_iter
        divergence = float(self._observations.divergences(self._atoms).sum())
        self._global_bound = gating.bound - divergence

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

    def _gate_moments(self, coords: Floats) -> tuple[Floats, Floats]:
        """Return E g and E g² of each gate at places (n, K - 1)."""
        psi = self.bandwidths_**2 if self.bandwidth_units == "length" else self.bandwidths_
        distinct, which = np.unique(psi, return_inverse=True)
        bank = KernelBank(coords, self.centers_, distinct)
        found = [
            moments(bank.rows(j), coef, cov)
            for j, coef, cov in zip(which, self.gate_coef_, self.gate_cov_, strict=True)
        ]
        shape = (len(coords), len(self.gate_coef_))
        first = np.array([one for one, _ in found]).reshape(shape[::-1]).T
        second = np.array([two for _, two in found]).reshape(shape[::-1]).T
        return first, second

    def _local(self, X: Any, coords: Any) -> tuple[Floats, Floats]:
        """Return memberships of new points and their parts of the bound."""
        check_is_fitted(self)
        blocks = read_blocks(self, X, self.observation, reset=False)
        places = check_coords(coords, rows_of(blocks), self._n_coords)
        scores = self._observations.scores(self._atoms, self._observations.tables(blocks))
        log_yes, log_no = expected_log_sigmoid(*self._gate_moments(places))
        if self.allocation == "categorical":
            return categorical_step(scores, log_yes, log_no)
        sticks = 1.0 / (1.0 + np.exp(log_no - log_yes))  # σ(<g>), by Eq. (9)
        for _ in range(STICK_PASSES):
            sticks, local = bernoulli_step(scores, log_yes, log_no, sticks)
        return memberships(sticks), local

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
        resp = self._local(X, coords)[0]
        return np.asarray(resp / resp.sum(axis=1, keepdims=True))

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

    def score_samples(self, X: Any, coords: Any = None) -> Floats:
        """Return each point's part of the bound: about its log density given its place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of those
            As for `fit`.
        coords : array-like of shape (n_samples,) or (n_samples, n_coords)
            Where each row lies.

        Returns
        -------
        local : ndarray of shape (n_samples,)
            For comparing models on held-out points.
        """
        return self._local(X, coords)[1] + self._observations.log_unit

    def score(self, X: Any, coords: Any = None) -> float:
        """Return the bound per point, divergences of atoms and gates from their priors included.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of those
            As for `fit`.
        coords : array-like of shape (n_samples,) or (n_samples, n_coords)
            Where each row lies.

        Returns
        -------
        bound : float
            On the training data ``lower_bound_ / n_samples``.
        """
        local = self.score_samples(X, coords)
        return float((local.sum() + self._global_bound) / local.size)

    def gate_proba(self, coords: Any) -> Floats:
        """Return the prior weight of each atom at places, π_k(s), at the gates' posterior means.

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
        return gate_probabilities(self._gate_moments(places)[0])

    def sample(self, coords: Any, random_state: Any = None) -> tuple[Any, Indices]:
        """Draw data at places, at the posterior means of gates and atoms.

        Parameters
        ----------
        coords : array-like of shape (n,) or (n, n_coords)
            Any places.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws; by default the estimator's ``random_state``.

        Returns
        -------
        X : ndarray of shape (n, n_features), or list of those
            Rows; counts have the mean length of the training rows.
        labels : ndarray of shape (n,)
            Atoms they came from.
        """
        weights = self.gate_proba(coords)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        u = rng.random_sample((len(weights), 1))
        labels = (np.cumsum(weights, axis=1) < u).sum(axis=1).clip(max=weights.shape[1] - 1)
        return self._observations.draw(self._atoms, labels, self._lengths, rng), labels


def _mean_length(block: Block) -> int:
    """Return how many symbols a row has on average; one for codes."""
    if block.kind != "multinomial":
        return 1
    return max(1, round(float(block.table.sum()) / block.table.shape[0]))
