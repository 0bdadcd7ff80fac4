"""Classify and annotate sequences with a mixture of hidden Markov models for each class or tag.

One mixture of HMMs describes the sequences of a class, or those that carry a tag; Bayes' rule turns
likelihoods into probabilities. Learning by variational hierarchical EM models small groups of
sequences first and reuses those models in all tags that they carry.

Reference: E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models
with Variational HEM", Journal of Machine Learning Research 15: Section 6.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.mixtures import log_sum, safe_log
from octavo.engine.smooth.em import Restarts
from octavo.sequence.hmm.bank import check_rows, pack_hmms, sequence_logliks, unpack_hmms
from octavo.sequence.hmm.emissions import COVARIANCE_TYPES
from octavo.sequence.hmm.params import HMMParams
from octavo.sequence.hmm.sequence_sets import Mixture, SequenceSets, gather_sets
from octavo.sequence.hmm.starts import Shape
from octavo.sequence.hmm_mixtures.base import warn_of_noise
from octavo.sequence.hmm_mixtures.hierarchical_mixture import ShardModels, fit_shards
from octavo.sequence.hmm_mixtures.mixture import fit_mixture, shape_of
from octavo.sequence.hmm_mixtures.ppk_spectral import PPKSpectralClustering
from octavo.sequence.hmm_mixtures.sampled_clustering import fit_sampled
from octavo.sequence.hmm_mixtures.vhem import ANNEALING, Collection, fit_vhem

__all__ = ["HMMMixtureClassifier"]

ESTIMATORS = ("vhem", "em", "shem", "ppk", "ppk_hybrid")


def pick_sets(data: SequenceSets, chosen: NDArray[np.bool_]) -> SequenceSets:
    """Return the sets that are chosen."""
    sequences = np.repeat(chosen, data.sets)
    rows = np.repeat(sequences, data.lengths)
    return SequenceSets(
        data.rows[rows], data.lengths[sequences], data.sets[chosen], data.names[chosen]
    )


def shard_by_labels(labels: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """Return a shard for each row of labels: neighbours of equal labels, at most size together."""
    _, kind = np.unique(labels, axis=0, return_inverse=True)
    shard = np.empty(len(labels), dtype=np.int64)
    done = 0
    for k in np.unique(kind):
        mine = np.flatnonzero(kind.ravel() == k)
        n_shards = -(-mine.size // size)
        shard[mine] = done + np.arange(mine.size) * n_shards // mine.size
        done += n_shards
    return shard


class HMMMixtureClassifier(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """Classify or tag sequences with one mixture of HMMs for each class.

    Parameters
    ----------
    n_components : int, default=2
        Number of HMMs in the mixture of a class; fewer where a class has fewer sequences.
    estimator : {"vhem", "em", "shem", "ppk", "ppk_hybrid"}, default="vhem"
        How a mixture is learnt: EM on all sequences of the class; or from HMMs of small groups of
        sequences, reduced by variational hierarchical EM, by EM on sequences drawn from
        them, or by spectral clustering with medoids or with learnt centres.
    n_states : int, default=3
        Number of hidden states of every HMM.
    n_mix : int, default=1
        Number of Gaussians in the mixture that a state emits.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the covariances.
    shard_size : int, default=3
        Number of sequences of a class that share an HMM in the first stage; with groups, each
        group is a shard.
    base_n_components : int, default=1
        Number of HMMs that describe a shard.
    virtual_per_hmm : float, default=10
        Virtual sequences, or for "shem" sequences drawn, for each HMM of the first stage.
    tau : int, default=10
        Length of the virtual sequences.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Prior probabilities of the classes.
    length_normalized : bool, default=True
        Whether Bayes' rule takes the geometric mean of the likelihood over positions, as the
        paper does (footnote 12): otherwise long sequences make all probabilities zero or one.
    n_init : int, default=5
        Number of random starts of the final mixtures.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the objective rises by less than this, relative to its size.
    reg_covar : float, default=1e-6
        As in `HMMMixture` and `HMMClustering`.
    base_n_init : int, default=1
        Number of random starts of the HMMs of a shard.
    n_jobs : int, optional
        Number of joblib workers for shards of several HMMs.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.
    emissions : {"gaussian", "discrete"}, default="gaussian"
        Whether sequences hold rows of numbers, or symbols 0, 1, 2, ...

    Attributes
    ----------
    classes_ : ndarray
        The classes; the numbers of the tags where y is a matrix.
    multilabel_ : bool
        Whether y was a matrix of tags.
    class_hmms_ : list of list of HMMParams
        The HMMs of each class.
    class_weights_ : list of ndarray
        Their mixture weights.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities.
    base_hmms_ : list of HMMParams
        The HMMs of the first stage; empty for "em".

    See Also
    --------
    HMMMixture : One mixture, without classes.

    Notes
    -----
    Do not use it where classes differ by a few positions only, or where accuracy is all that
    counts: generative models lose to discriminative ones, and EM on all data beats the
    two stages where it is affordable. For fixed-length summaries of sequences scikit-learn has
    classifiers of every kind.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_hmm_sequences
    >>> from octavo.sequence import HMMMixtureClassifier
    >>> X, y = make_hmm_sequences("variances", n_per_class=12, random_state=0)
    >>> Z, z = make_hmm_sequences("variances", n_per_class=12, random_state=1)
    >>> model = HMMMixtureClassifier(1, n_states=3, random_state=0).fit(X, y)
    >>> model.score(Z, z) > 0.7
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "estimator": [StrOptions(set(ESTIMATORS))],
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "n_mix": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "shard_size": [Interval(Integral, 1, None, closed="left")],
        "base_n_components": [Interval(Integral, 1, None, closed="left")],
        "virtual_per_hmm": [Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Integral, 1, None, closed="left")],
        "priors": [StrOptions({"uniform", "empirical"}), "array-like"],
        "length_normalized": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "base_n_init": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "emissions": [StrOptions({"gaussian", "discrete"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        estimator: str = "vhem",
        n_states: int = 3,
        n_mix: int = 1,
        covariance_type: str = "diag",
        shard_size: int = 3,
        base_n_components: int = 1,
        virtual_per_hmm: float = 10.0,
        tau: int = 10,
        priors: Any = "uniform",
        length_normalized: bool = True,
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        *,
        base_n_init: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        emissions: str = "gaussian",
    ) -> None:
        self.n_components = n_components
        self.estimator = estimator
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.shard_size = shard_size
        self.base_n_components = base_n_components
        self.virtual_per_hmm = virtual_per_hmm
        self.tau = tau
        self.priors = priors
        self.length_normalized = length_normalized
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.base_n_init = base_n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.emissions = emissions

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    # --- learning ---------------------------------------------------------------------------

    def _labels(self, y: Any, n: int) -> NDArray[np.bool_]:
        """Set the classes; return which of them each of n sets belongs to."""
        labels = np.asarray(y)
        if labels.ndim not in (1, 2) or len(labels) != n:
            raise ValueError(f"y must have one entry or row for each of {n}, got {labels.shape}.")
        if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
            raise ValueError("y has a value that is NaN or infinite.")
        self.multilabel_ = labels.ndim == 2
        if self.multilabel_:
            if not np.isin(labels, [0, 1]).all():
                raise ValueError("A matrix y must hold 0 and 1 only: which tags a sequence has.")
            for tag in np.flatnonzero(labels.sum(axis=0) == 0)[:1]:
                raise ValueError(f"No sequence has tag {tag}.")
            self.classes_ = np.arange(labels.shape[1])
            return labels.astype(bool)
        self.classes_, place = encode_classes(labels, owner=self)
        return np.eye(len(self.classes_), dtype=bool)[place]

    def _check_priors(self, members: NDArray[np.bool_]) -> Floats:
        if isinstance(self.priors, str):
            if self.priors == "empirical":
                return members.sum(axis=0) / members.sum()
            return np.full(members.shape[1], 1.0 / members.shape[1])
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != (members.shape[1],) or not (priors >= 0).all() or priors.sum() == 0:
            raise ValueError(
                f"priors must be {members.shape[1]} numbers that are not negative, got "
                f"{self.priors!r}."
            )
        return priors / priors.sum()

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn a mixture of HMMs for each class or tag.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        y : array-like of shape (n_sequences,) or (n_sequences, n_tags)
            The class of each sequence, or a matrix of 0 and 1 that says which tags it has. With
            groups: of each group, in the order of `numpy.unique`.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries, such as the fragments of a song, belong together.

        Returns
        -------
        self : HMMMixtureClassifier
            The fitted classifier.
        """
        discrete = self.emissions == "discrete"
        data = gather_sets(*check_rows(X, lengths, discrete=discrete), groups)
        members = self._labels(y, data.sets.size)
        self.class_prior_ = self._check_priors(members)
        rng = check_random_state(self.random_state)
        shape = shape_of(self, data.rows)
        if not discrete:
            warn_of_noise(self.reg_covar, data.rows.var(axis=0))
        self.base_hmms_: list[HMMParams] = []
        with FitProgress(self, None, X, y) as progress:
            if self.estimator == "em":
                mixtures = [
                    self._from_sequences(pick_sets(data, mine), shape, rng, progress)
                    for mine in members.T
                ]
            else:
                base, owners = self._first_stage(data, members, groups, shape, rng, progress)
                self.base_hmms_ = base.hmms
                mixtures = [
                    self._from_models(base, owners[:, c], shape, rng, progress)
                    for c in range(members.shape[1])
                ]
        self.class_hmms_ = [unpack_hmms(mixture.bank) for mixture in mixtures]
        self.class_weights_ = [mixture.weights for mixture in mixtures]
        return self

    def _noise(self) -> float:
        return 0.0 if self.emissions == "discrete" else float(self.reg_covar)

    def _from_sequences(
        self, data: SequenceSets, shape: Shape, rng: np.random.RandomState, progress: FitProgress
    ) -> Mixture:
        """Return the mixture that EM finds for some sequences, each on its own."""
        alone = data._replace(
            sets=np.ones(data.lengths.size, dtype=np.int64), names=np.arange(data.lengths.size)
        )
        run = fit_mixture(
            alone,
            min(self.n_components, data.lengths.size),
            shape,
            Restarts(self.n_init, self.max_iter, self.tol),
            noise=self._noise(),
            rng=rng,
            progress=progress,
        )
        return run.params

    def _first_stage(
        self,
        data: SequenceSets,
        members: NDArray[np.bool_],
        groups: Any,
        shape: Shape,
        rng: np.random.RandomState,
        progress: FitProgress,
    ) -> tuple[ShardModels, NDArray[np.bool_]]:
        """Return HMMs of all shards, and the classes that each belongs to."""
        if groups is None:
            shards = shard_by_labels(members, self.shard_size)
            data = gather_sets(data.rows, data.lengths, shards)
            members = np.array([members[shards == name][0] for name in data.names])
        base = fit_shards(
            data,
            self.base_n_components,
            shape,
            Restarts(self.base_n_init, self.max_iter, self.tol),
            noise=self._noise(),
            rng=rng,
            n_jobs=self.n_jobs,
            progress=progress,
        )
        return base, members[base.shards]

    def _from_models(
        self,
        base: ShardModels,
        mine: NDArray[np.bool_],
        shape: Shape,
        rng: np.random.RandomState,
        progress: FitProgress,
    ) -> Mixture:
        """Return the mixture that the HMMs of a class's shards are reduced to."""
        chosen = np.flatnonzero(mine)
        hmms = [base.hmms[i] for i in chosen]
        weights = base.masses[chosen] / base.masses[chosen].sum()
        k = min(self.n_components, len(hmms))
        if self.estimator in ("ppk", "ppk_hybrid"):
            centers = "medoid" if self.estimator == "ppk" else "hybrid"
            rules: dict[str, Any] = {
                "max_iter": self.max_iter,
                "tol": self.tol,
                "reg_covar": self.reg_covar,
            }
            spectral = PPKSpectralClustering(
                k, tau=self.tau, centers=centers, random_state=rng, **rules
            ).fit(hmms)
            progress.step()
            return Mixture(spectral.weights_, pack_hmms(spectral.cluster_hmms_))
        bank = pack_hmms(hmms).widened(self._noise())
        restarts = Restarts(self.n_init, self.max_iter, self.tol)
        source: dict[str, Any] = {"rng": rng, "progress": progress}
        drawn = self.virtual_per_hmm * len(hmms)
        if self.estimator == "shem":
            drawn = max(1, round(drawn))
        base_models = Collection(bank, weights, drawn * weights, int(self.tau))
        if self.estimator == "shem":
            noise = self._noise()
            return fit_sampled(base_models, k, shape, restarts, noise=noise, **source).params
        return fit_vhem(base_models, k, shape, restarts, annealing=ANNEALING, **source).params

    # --- answers ----------------------------------------------------------------------------

    def decision_function(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Floats:
        """Return the log-likelihood of each sequence, or each group, under each class.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        logliks : ndarray of shape (n_sequences or n_groups, n_classes)
            Sums over the sequences of a group; with ``length_normalized`` means over positions,
            then over the sequences of a group.
        """
        check_is_fitted(self, "class_hmms_")
        banks = [pack_hmms(hmms) for hmms in self.class_hmms_]
        data = gather_sets(*check_rows(X, lengths, banks[0]), groups)
        found = []
        for bank, weights in zip(banks, self.class_weights_):
            each = sequence_logliks(bank, data.rows, data.lengths)
            loglik = log_sum(safe_log(weights) + each.T)
            if self.length_normalized:
                loglik = loglik / data.lengths
            total = np.add.reduceat(loglik, np.cumsum(data.sets) - data.sets)
            found.append(total / data.sets if self.length_normalized else total)
        return np.stack(found, axis=1)

    def predict_proba(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Floats:
        """Return the probability of each class or tag: the semantic multinomial of the paper.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        probability : ndarray of shape (n_sequences or n_groups, n_classes)
            Rows add up to one, also for tags.
        """
        joint = self.decision_function(X, lengths, groups) + safe_log(self.class_prior_)
        total = log_sum(joint)
        possible = np.isfinite(total)
        share = np.exp(joint - np.where(possible, total, 0.0)[:, None])
        share[~possible] = self.class_prior_
        return share

    def predict(
        self,
        X: Any,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        n_tags: int = 10,
    ) -> NDArray[Any]:
        """Return the most probable class, or for tags which are among the most probable.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.
        n_tags : int, default=10
            Number of tags to give.

        Returns
        -------
        y : ndarray of shape (n,) or (n, n_tags)
            Classes, or a matrix of 0 and 1.
        """
        scores = self.decision_function(X, lengths, groups) + safe_log(self.class_prior_)
        if not self.multilabel_:
            return self.classes_[scores.argmax(axis=1)]
        top = np.argsort(-scores, axis=1, kind="stable")[:, :n_tags]
        tags = np.zeros(scores.shape, dtype=np.int64)
        np.put_along_axis(tags, top, 1, axis=1)
        return tags

    def annotate(
        self,
        X: Any,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        n_tags: int = 10,
    ) -> NDArray[Any]:
        """Return the most probable classes or tags of each sequence, best first.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.
        n_tags : int, default=10
            How many; all where there are fewer.

        Returns
        -------
        tags : ndarray of shape (n_sequences or n_groups, n_tags)
            Entries of ``classes_``.
        """
        chance = self.predict_proba(X, lengths, groups)
        return self.classes_[np.argsort(-chance, axis=1, kind="stable")[:, :n_tags]]

    def rank(
        self,
        X: Any,
        tag: Any,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Return the sequences in the order of a class's or tag's probability: retrieval.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        tag : object
            An entry of ``classes_``.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        order : ndarray of int
            Indices of the sequences, or groups, best first.
        """
        check_is_fitted(self, "class_hmms_")
        place = np.flatnonzero(self.classes_ == tag)
        if place.size == 0:
            raise ValueError(f"tag must be one of {list(self.classes_)}, got {tag!r}.")
        chance = self.predict_proba(X, lengths, groups)[:, place[0]]
        return np.argsort(-chance, kind="stable")
