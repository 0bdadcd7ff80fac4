"""`HierarchicalLSBP`: several data sets segmented at once, with atoms that they share.

Ren, Du, Carin and Dunson (2011), Logistic Stick-Breaking Process: Section 3, Appendix A.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.stick_breaking.allocation import categorical_step, gate_probabilities
from octavo.bayes.stick_breaking.climbing import ascend
from octavo.bayes.stick_breaking.gating import GateFitter, moments
from octavo.bayes.stick_breaking.locations import KernelBank, check_coords
from octavo.bayes.stick_breaking.mixture import COUNT, GATE_CONSTRAINTS, gate_bank
from octavo.bayes.stick_breaking.observations import (
    Observations,
    neighbours,
    pooled,
    read_blocks,
    rows_of,
    start_features,
)
from octavo.bayes.stick_breaking.shared_atoms import Shared, SharedMixture, merged_atoms
from octavo.bayes.stick_breaking.similarity import kl_similarity, rank_similar
from octavo.bayes.stick_breaking.starts import SURE, clusters, smoothed, start_sizes
from octavo.bayes.stick_breaking.weight_priors import named_prior
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.em import best_of, warn_unless_converged
from octavo.engine.variational.logistic_bound import expected_log_sigmoid

__all__ = ["HierarchicalLSBP"]


def check_lists(list_of_X: Any, list_of_coords: Any) -> tuple[list[Any], list[Any]]:
    """Return data sets and places as lists of one length."""
    for name, value in (("Data sets", list_of_X), ("Coordinates", list_of_coords)):
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"{name} must come as a list with one entry per data set; got a "
                f"{type(value).__name__}."
            )
    if not list_of_X or len(list_of_X) != len(list_of_coords):
        raise ValueError(
            "There must be at least one data set, and coordinates for each; got "
            f"{len(list_of_X)} data sets and {len(list_of_coords)} sets of coordinates."
        )
    return list(list_of_X), list(list_of_coords)


def local_start(labels: Indices, features: Floats, n_components: int, n_atoms: int) -> Any:
    """Return memberships of one data set in its K largest atoms, and which atoms those are."""
    counts = np.bincount(labels, minlength=n_atoms)
    kept = np.argsort(-counts, kind="stable")[:n_components]
    kept = kept[counts[kept] > 0]
    means = np.array([features[labels == l].mean(axis=0) for l in kept])
    place = np.full(n_atoms, -1)
    place[kept] = np.arange(kept.size)
    local = place[labels]
    lost = local < 0
    if lost.any():
        far = ((features[lost][:, None, :] - means) ** 2).sum(axis=2)
        local[lost] = far.argmin(axis=1)
    usage = np.full((n_components, n_atoms), (1.0 - SURE) / n_atoms)
    usage[np.arange(kept.size), kept] += SURE  # u_mkl: each stick is nearly sure of its atom
    usage[kept.size :] = 1.0 / n_atoms
    return smoothed(local, n_components), usage


class HierarchicalLSBP(CallbackSupportMixin, SoundEstimator):
    """Segments of several series, images or maps at once, with segment types that they share.

    Parameters
    ----------
    n_atoms : int, default=40
        The most segment types L in the shared library.
    n_components : int, default=10
        The most segment types K of one data set.
    observation : {"gaussian", "diag", "categorical", "multinomial"} or list of str, \
default="gaussian"
        What atoms are; see `LogisticStickBreakingMixture`.
    centers : "subsample" or array-like of shape (n_centers, n_coords), default="subsample"
        Places of the kernels: those of each data set, or the same for all.
    n_centers : int, default=100
        Number of kernels to take from each data set.
    bandwidths : "auto", float or list of float, default="auto"
        The library of widths; by default one for each data set.
    bandwidth_units : {"squared", "length"}, default="squared"
        Whether widths are in squared units of the coordinates, or their roots.
    bandwidth_inference : {"map", "sample", "fixed"}, default="map"
        How widths are chosen.
    weight_prior : {"student_t", "spike_slab"}, default="student_t"
        Prior of the gates' weights.
    a0, b0 : float, default=1e-6
        Shape and rate of the Gamma prior of the weights' precisions.
    allocation : {"categorical", "bernoulli"}, default="categorical"
        Which bound; see `LogisticStickBreakingMixture`.
    merge_moves : bool, default=True
        Try to merge atoms where the climb ends.
    n_init : int, default=3
        Number of starts: k-means of all rows with L clusters, then with fewer, down to two.
    max_iter : int, default=200
        The largest number of iterations of a start.
    tol : float, default=1e-5
        A climb ends when the bound rises by less than this, relatively, three times in a row.
    random_state : int, RandomState instance or None, default=None
        Seeds k-means and sampled widths.

    Attributes
    ----------
    labels_ : list of ndarray of shape (n_m,)
        The most probable atom of each point; numbers mean the same in every data set.
    atom_proba_ : list of ndarray of shape (n_m, n_atoms)
        Probabilities of atoms; rows sum to one.
    atom_usage_ : ndarray of shape (n_data_sets, n_atoms)
        Expected numbers of points of each data set in each atom.
    atom_histogram_ : ndarray of shape (n_data_sets, n_atoms)
        The same as shares; rows sum to one.
    atom_weights_ : ndarray of shape (n_atoms,)
        Expected weights of the atoms in the library.
    stick_atoms_ : ndarray of shape (n_data_sets, n_components, n_atoms)
        Which atom each stick of each data set uses: probabilities.
    resp_ : list of ndarray of shape (n_m, n_components)
        Probabilities of the data set's own sticks.
    gate_coef_ : list of ndarray of shape (n_components - 1, 1 + n_centers)
        Gates of each data set, the bias first.
    gate_cov_ : list of ndarray
        Their covariances.
    bandwidths_ : list of ndarray of shape (n_components - 1,)
        Widths of the gates.
    centers_ : list of ndarray
        Places of the kernels of each data set.
    active_atoms_ : ndarray of shape (n_active,)
        Atoms that are the most probable one of some point.
    atoms_ : dict of ndarray, or list of dict
        As `LogisticStickBreakingMixture`'s.
    lower_bound_ : float
        The variational bound.
    lower_bounds_ : ndarray of shape (n_iter + 1,)
        The bound at the start and after each iteration.
    n_iter_ : int
        Iterations of the best start.

    See Also
    --------
    LogisticStickBreakingMixture : One data set.
    kl_similarity : How alike data sets are by their atoms.

    Notes
    -----
    Data sets without anything in common are better fitted one by one: the shared library then only
    adds local optima.

    References
    ----------
    .. [1] L. Ren, L. Du, L. Carin and D. B. Dunson (2011). Logistic Stick-Breaking Process.
       JMLR 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import HierarchicalLSBP
    >>> rng, t = np.random.RandomState(1), np.arange(40.0)
    >>> one = np.where(t < 20, 0.0, 5.0)[:, None] + rng.normal(size=(40, 1))
    >>> two = np.where(t < 10, 5.0, 0.0)[:, None] + rng.normal(size=(40, 1))
    >>> model = HierarchicalLSBP(6, 3, n_centers=10, random_state=0).fit([one, two], [t, t])
    >>> first, second = model.labels_
    >>> bool(first[0] == second[-1]), bool(first[-1] == second[0])
    (True, True)
    """

    _parameter_constraints: dict = GATE_CONSTRAINTS | {
        "n_components": [COUNT],
        "n_atoms": [COUNT],
    }

    def __init__(
        self,
        n_atoms=40,
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
        self.n_atoms = n_atoms
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
    def fit(self, list_of_X: Any, list_of_coords: Any = None) -> Self:
        """Find segments of all data sets.

        Parameters
        ----------
        list_of_X : list of array-like of shape (n_m, n_features)
            One data set each, as `LogisticStickBreakingMixture.fit` takes it.
        list_of_coords : list of array-like of shape (n_m,) or (n_m, n_coords)
            Where their rows lie.

        Returns
        -------
        self : HierarchicalLSBP
            Fitted.
        """
        rng = check_random_state(self.random_state)
        sets, places = check_lists(list_of_X, list_of_coords)
        parts = [read_blocks(self, X, self.observation, reset=m == 0) for m, X in enumerate(sets)]
        coords = []
        for m, (place, part) in enumerate(zip(places, parts, strict=True)):
            try:
                coords.append(check_coords(place, rows_of(part)))
            except ValueError as error:
                raise ValueError(f"Data set {m}: {error}") from error
        starts = np.concatenate([[0], np.cumsum([len(c) for c in coords])])
        everything = pooled(parts)
        near = np.concatenate([a + neighbours(c) for a, c in zip(starts[:-1], coords, strict=True)])
        self._observations = Observations(everything, near)
        tables = self._observations.tables(everything)
        prior = named_prior(self.weight_prior, self.a0, self.b0)
        banks, centers, self._widths = zip(*(gate_bank(self, c) for c in coords), strict=True)
        self.centers_ = list(centers)
        fitters = [GateFitter(bank, prior, self.bandwidth_inference, rng) for bank in banks]
        features = start_features(everything)
        merge = merged_atoms if self.merge_moves else None
        with FitProgress(self, self.n_init * self.max_iter, sets[0]) as progress:

            def one(n_clusters: int) -> Any:
                mixture = SharedMixture(
                    tables, starts, self._observations, fitters, self.n_components,
                    self.n_atoms, self.allocation,
                )  # fmt: skip
                labels = clusters(features, n_clusters, rng)
                begun = [
                    local_start(labels[part], features[part], self.n_components, self.n_atoms)
                    for part in mixture.slices
                ]
                params = mixture.begin([resp for resp, _ in begun], np.stack([u for _, u in begun]))
                return ascend(
                    mixture, params, merge, max_iter=self.max_iter, tol=self.tol,
                    progress=progress,
                )  # fmt: skip

            run = best_of(one(size) for size in start_sizes(self.n_atoms, self.n_init))
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self._keep(run, [c.shape[1] for c in coords])
        return self

    def _keep(self, run: Any, n_coords: list[int]) -> None:
        """Store what the best climb found."""
        params: Shared = run.params
        self._n_coords = n_coords
        self.resp_ = [resp for resp, _ in run.expectations]
        self.stick_atoms_ = params.usage
        # Σ_k ξ_mnk u_mkl
        self.atom_proba_ = [r @ u for r, u in zip(self.resp_, params.usage, strict=True)]
        self.labels_ = [p.argmax(axis=1) for p in self.atom_proba_]
        self.active_atoms_ = np.unique(np.concatenate(self.labels_))
        self.atom_usage_ = np.array([p.sum(axis=0) for p in self.atom_proba_])
        total = self.atom_usage_.sum(axis=1, keepdims=True)
        self.atom_histogram_ = self.atom_usage_ / total
        self.atom_weights_ = params.sticks.weights()
        gatings = [task.gating for task in params.tasks]
        sizes = [1 + len(centers) for centers in self.centers_]
        self.gate_coef_ = [
            np.array([gate.coef for gate in g.gates]).reshape(-1, d)
            for g, d in zip(gatings, sizes, strict=True)
        ]
        self.gate_cov_ = [
            np.array([gate.cov for gate in g.gates]).reshape(-1, d, d)
            for g, d in zip(gatings, sizes, strict=True)
        ]
        self.bandwidths_ = [
            widths[g.widths] for g, widths in zip(gatings, self._widths, strict=True)
        ]
        self._atoms = params.atoms
        self.atoms_ = self._observations.describe(params.atoms)
        shift = sum(len(r) for r in self.resp_) * self._observations.log_unit
        self.lower_bound_ = float(run.objective + shift)
        self.lower_bounds_ = run.trace + shift
        self.n_iter_ = run.n_iter

    def _gate_moments(self, m: int, coords: Floats) -> tuple[Floats, Floats]:
        widths = self.bandwidths_[m]
        psi = widths**2 if self.bandwidth_units == "length" else widths
        bank = KernelBank(coords, self.centers_[m], psi)
        found = np.empty((2, len(coords), len(psi)))
        for j, (coef, cov) in enumerate(zip(self.gate_coef_[m], self.gate_cov_[m], strict=True)):
            found[:, :, j] = moments(bank.rows(j), coef, cov)
        return found[0], found[1]

    def gate_proba(self, coords: Any, data_set: int = 0) -> Floats:
        """Return the prior weight of each atom at places of one data set.

        Parameters
        ----------
        coords : array-like of shape (n,) or (n, n_coords)
            Any places.
        data_set : int, default=0
            Whose gates.

        Returns
        -------
        weights : ndarray of shape (n, n_atoms)
            Rows sum to one.
        """
        check_is_fitted(self)
        if isinstance(data_set, bool) or data_set not in range(len(self.centers_)):
            raise ValueError(
                f"The data set must be a number from 0 to {len(self.centers_) - 1}; got "
                f"{data_set!r}."
            )
        places = check_coords(coords, n_columns=self._n_coords[data_set])
        sticks = gate_probabilities(self._gate_moments(data_set, places)[0])
        return np.asarray(sticks @ self.stick_atoms_[data_set])  # Σ_k π_mk(s) u_mkl

    def predict(self, list_of_X: Any, list_of_coords: Any = None) -> list[Indices]:
        """Return the most probable atom of new points of the same data sets.

        Parameters
        ----------
        list_of_X : list of array-like of shape (n_m, n_features)
            New rows of each data set, in the order of `fit`.
        list_of_coords : list of array-like of shape (n_m,) or (n_m, n_coords)
            Where they lie.

        Returns
        -------
        labels : list of ndarray of shape (n_m,)
            Numbers of atoms.
        """
        check_is_fitted(self)
        sets, places = check_lists(list_of_X, list_of_coords)
        if len(sets) != len(self.centers_):
            raise ValueError(
                f"There must be new rows for each of the {len(self.centers_)} data sets of fit; "
                f"got {len(sets)}."
            )
        out = []
        for m, (X, c) in enumerate(zip(sets, places, strict=True)):
            blocks = read_blocks(self, X, self.observation, reset=False)
            where = check_coords(c, rows_of(blocks), self._n_coords[m])
            scores = self._observations.scores(self._atoms, self._observations.tables(blocks))
            u = self.stick_atoms_[m]
            log_yes, log_no = expected_log_sigmoid(*self._gate_moments(m, where))
            # Appendix A with q of atoms and gates held
            resp, _ = categorical_step(scores @ u.T, log_yes, log_no)
            out.append((resp @ u).argmax(axis=1))
        return out

    def similarity(self, smoothing: float = 1e-2) -> Floats:
        """Return how alike data sets are by their atoms: `kl_similarity` of `atom_histogram_`.

        Parameters
        ----------
        smoothing : float, default=1e-2
            Share that is spread evenly over the atoms.

        Returns
        -------
        similarity : ndarray of shape (n_data_sets, n_data_sets)
            exp(-KL), one on the diagonal.
        """
        check_is_fitted(self)
        return np.asarray(kl_similarity(self.atom_histogram_, smoothing))

    def kl_similarity(self, smoothing: float = 1e-2) -> Floats:
        """Return what `similarity` returns.

        Parameters
        ----------
        smoothing : float, default=1e-2
            Share that is spread evenly over the atoms.

        Returns
        -------
        similarity : ndarray of shape (n_data_sets, n_data_sets)
            exp(-KL), one on the diagonal.
        """
        return self.similarity(smoothing)

    def rank_similar(self, i: int, smoothing: float = 1e-2) -> Indices:
        """Return the other data sets, the one most similar to data set i first.

        Parameters
        ----------
        i : int
            Which data set is asked about.
        smoothing : float, default=1e-2
            Share that is spread evenly over the atoms.

        Returns
        -------
        order : ndarray of shape (n_data_sets - 1,)
            Numbers of data sets.
        """
        check_is_fitted(self)
        return np.asarray(rank_similar(self.atom_histogram_, i, smoothing))
