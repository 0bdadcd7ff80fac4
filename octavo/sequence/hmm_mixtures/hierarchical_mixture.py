"""Mixtures of hidden Markov models from many sequences: small models of shards, then reduced.

The sequences are split into shards, each shard gets a small mixture of HMMs of its own by EM, and
variational hierarchical EM reduces the HMMs of all shards to the final mixture. Only models travel
between the stages, shards are independent of each other, and new data add shards to those saved.

Reference: E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models
with Variational HEM", Journal of Machine Learning Research 15: Sections 4.1 and 6; the little
bootstrap is Section 7, after Kleiner et al. (2011).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.em import Restarts, Steps, warn_unless_converged
from octavo.sequence.hmm.bank import check_rows, pack_hmms, unpack_hmms
from octavo.sequence.hmm.emissions import COVARIANCE_TYPES
from octavo.sequence.hmm.params import HMMParams
from octavo.sequence.hmm.sequence_sets import SequenceSets, gather_sets, parts_of_sets, take_sets
from octavo.sequence.hmm.starts import Shape
from octavo.sequence.hmm_mixtures.base import SequenceMixtureMixin, warn_of_noise
from octavo.sequence.hmm_mixtures.baum_welch import fit_own
from octavo.sequence.hmm_mixtures.mixture import fit_mixture, shape_of
from octavo.sequence.hmm_mixtures.vhem import ANNEALING, Collection, fit_vhem

__all__ = ["HierarchicalHMMMixture"]


class ShardModels(NamedTuple):
    """HMMs of shards: the models, how many sequences each stands for, and the shard of each."""

    hmms: list[HMMParams]
    masses: Floats
    shards: NDArray[np.int64]


def shard_sequences(n: int, size: int) -> NDArray[np.int64]:
    """Return the shard of each of n sequences: neighbours together, sizes as equal as can be."""
    n_shards = -(-n // size)
    return np.arange(n) * n_shards // n


def draw_subsamples(
    data: SequenceSets, n_draws: int, size: int, rng: np.random.RandomState
) -> SequenceSets:
    """Return a set for each of several draws of distinct sequences; draws may overlap."""
    n = data.lengths.size
    starts = np.cumsum(data.lengths) - data.lengths
    # Section 7: subsamples without replacement, each reduced as a shard
    drawn = [np.sort(rng.choice(n, min(size, n), replace=False)) for _ in range(n_draws)]
    sequences = np.concatenate(drawn)
    index = np.concatenate([np.arange(starts[q], starts[q] + data.lengths[q]) for q in sequences])
    sizes = np.array([len(some) for some in drawn])
    return SequenceSets(data.rows[index], data.lengths[sequences], sizes, np.arange(n_draws))


def fit_shards(
    data: SequenceSets,
    n_components: int,
    shape: Shape,
    restarts: Restarts,
    *,
    noise: float,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    progress: Steps | None = None,
) -> ShardModels:
    """Return a small mixture of HMMs for each set of sequences.

    Parameters
    ----------
    data : SequenceSets
        One set a shard.
    n_components : int
        HMMs of each shard; fewer where it has fewer sequences.
    shape : Shape
        What they look like.
    restarts : Restarts
        Number of starts, and the limits of each.
    noise : float
        As in `HMMMixture`.
    rng : RandomState
        Source of randomness.
    n_jobs : int, optional
        Joblib workers, where a shard has several HMMs.
    progress : FitProgress, optional
        Stepped once a shard, or a batch of shards.

    Returns
    -------
    models : ShardModels
        Named tuple (hmms, masses, shards).
    """
    if n_components == 1:
        hmms: list[HMMParams] = []
        for part in parts_of_sets(data, shape.n_states * max(shape.n_states, shape.n_mix)):
            hmms += unpack_hmms(fit_own(part, shape, restarts, noise=noise, rng=rng))
            if progress is not None:
                progress.step()
        return ShardModels(hmms, data.sets.astype(float), np.arange(data.sets.size))

    def one(shard: SequenceSets, seed: int) -> tuple[list[HMMParams], Floats]:
        alone = shard._replace(sets=np.ones(shard.lengths.size, dtype=np.int64))
        k = min(n_components, shard.lengths.size)
        own = np.random.RandomState(seed)
        run = fit_mixture(alone, k, shape, restarts, noise=noise, rng=own)
        # ω of the shard's models, as numbers of sequences
        return unpack_hmms(run.params.bank), run.params.weights * shard.lengths.size

    seeds = rng.randint(np.iinfo(np.int32).max, size=data.sets.size)
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(one)(take_sets(data, g, g + 1), seed) for g, seed in enumerate(seeds)
    )
    models, masses, shards = [], [], []
    for g, (some, mass) in enumerate(found):
        models += some
        masses.append(mass)
        shards += [g] * len(some)
        if progress is not None:
            progress.step()
    return ShardModels(models, np.concatenate(masses), np.array(shards))


class HierarchicalHMMMixture(SequenceMixtureMixin, CallbackSupportMixin, SoundEstimator):
    """Learn a mixture of HMMs from many sequences, shard by shard.

    Parameters
    ----------
    shard_size : int, default=10
        Number of sequences in a shard.
    base_n_components : int, default=1
        Number of HMMs that describe a shard.
    n_components : int, default=2
        Number of HMMs in the final mixture.
    n_states : int, default=3
        Number of hidden states of every HMM.
    n_mix : int, default=1
        Number of Gaussians in the mixture that a state emits.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the covariances.
    virtual_per_hmm : float, default=10
        Number of virtual sequences that an HMM of a shard stands for, on average.
    tau : int, default=10
        Length of the virtual sequences.
    n_init : int, default=5
        Number of random starts of the final mixture.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the objective rises by less than this, relative to its size.
    reg_covar : float, default=1e-6
        As in `HMMMixture` and `HMMClustering`.
    anneal : bool, default=True
        As in `HMMClustering`.
    n_bootstraps : int, optional
        Instead of splitting the sequences, draw this many overlapping shards of ``shard_size``
        distinct sequences each: a little bootstrap, for data too large to be worked through.
    base_n_init : int, default=1
        Number of random starts of the HMMs of a shard.
    n_jobs : int, optional
        Number of joblib workers for shards of several HMMs; shards of one HMM are fitted together.
    random_state : int, RandomState instance or None, default=None
        Seeds shards and starts.
    emissions : {"gaussian", "discrete"}, default="gaussian"
        Whether sequences hold rows of numbers, or symbols 0, 1, 2, ...

    Attributes
    ----------
    cluster_hmms_ : list of HMMParams
        The HMMs of the mixture.
    weights_ : ndarray of shape (n_components,)
        Their mixture weights.
    base_hmms_ : list of HMMParams
        The HMMs of all shards.
    base_masses_ : ndarray
        Number of sequences that each of them stands for.
    base_labels_ : ndarray of int
        The component that each of them went to.
    n_shards_ : int
        Number of shards seen.
    lower_bound_ : float
        The bound that the reduction reached.
    lower_bounds_ : ndarray
        Its value in each iteration; it never falls.
    n_iter_ : int
        Iterations of the reduction.
    converged_ : bool
        Whether the reduction met ``tol``.

    See Also
    --------
    HMMMixture : EM on all sequences at once, better where that is affordable.

    Notes
    -----
    Do not use it for a few hundred short sequences: `HMMMixture` sees them all. Sequences of a
    shard should be alike, or ``base_n_components`` large enough: keep them in a meaningful order,
    or name the shards with ``groups``. scikit-learn has nothing for sequences.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_hmm_sequences
    >>> from octavo.sequence import HierarchicalHMMMixture
    >>> X, y = make_hmm_sequences("means", n_per_class=20, random_state=0)
    >>> model = HierarchicalHMMMixture(shard_size=5, n_components=4, random_state=0).fit(X)
    >>> model.n_shards_, len(model.cluster_hmms_)
    (16, 4)
    """

    _parameter_constraints: dict[str, Any] = {
        "shard_size": [Interval(Integral, 1, None, closed="left")],
        "base_n_components": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "n_mix": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "virtual_per_hmm": [Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "anneal": ["boolean"],
        "n_bootstraps": [Interval(Integral, 1, None, closed="left"), None],
        "base_n_init": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "emissions": [StrOptions({"gaussian", "discrete"})],
    }

    def __init__(
        self,
        shard_size: int = 10,
        base_n_components: int = 1,
        n_components: int = 2,
        n_states: int = 3,
        n_mix: int = 1,
        covariance_type: str = "diag",
        virtual_per_hmm: float = 10.0,
        tau: int = 10,
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        anneal: bool = True,
        *,
        n_bootstraps: int | None = None,
        base_n_init: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        emissions: str = "gaussian",
    ) -> None:
        self.shard_size = shard_size
        self.base_n_components = base_n_components
        self.n_components = n_components
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.virtual_per_hmm = virtual_per_hmm
        self.tau = tau
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.anneal = anneal
        self.n_bootstraps = n_bootstraps
        self.base_n_init = base_n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.emissions = emissions

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the mixture, forgetting shards seen before.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            The shard of each sequence, in place of ``shard_size`` neighbours together.

        Returns
        -------
        self : HierarchicalHMMMixture
            The fitted mixture.
        """
        return self._learn(X, lengths, groups, None)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Add sequences: model their shards, and reduce all shards seen so far.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            New sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            The shard of each sequence, in place of ``shard_size`` neighbours together.

        Returns
        -------
        self : HierarchicalHMMMixture
            The fitted mixture.
        """
        before = None
        if hasattr(self, "base_hmms_"):
            before = ShardModels(self.base_hmms_, self.base_masses_, self._base_shards)
        return self._learn(X, lengths, groups, before)

    def _learn(self, X: Any, lengths: Any, groups: Any, before: ShardModels | None) -> Self:
        rng = check_random_state(self.random_state)
        known = pack_hmms(before.hmms) if before is not None else None
        discrete = self.emissions == "discrete"
        rows, counts = check_rows(X, lengths, known, discrete=discrete)
        shape = shape_of(self, rows)
        if not discrete:
            warn_of_noise(self.reg_covar, rows.var(axis=0))
        if known is not None and discrete:
            shape = shape._replace(n_mix=known.weights.shape[2])
        if groups is None:
            groups = shard_sequences(counts.size, self.shard_size)
        data = gather_sets(rows, counts, groups)
        if self.n_bootstraps is not None:
            data = draw_subsamples(data, self.n_bootstraps, self.shard_size, rng)
        with FitProgress(self, None, X) as progress:
            new = fit_shards(
                data,
                self.base_n_components,
                shape,
                Restarts(self.base_n_init, self.max_iter, self.tol),
                noise=0.0 if discrete else float(self.reg_covar),
                rng=rng,
                n_jobs=self.n_jobs,
                progress=progress,
            )
            self._reduce(new if before is None else _joined(before, new), shape, rng, progress)
        return self

    def _reduce(
        self, base: ShardModels, shape: Shape, rng: np.random.RandomState, progress: Steps
    ) -> None:
        """Reduce the HMMs of all shards to the final mixture."""
        if self.n_components > len(base.hmms):
            raise ValueError(
                f"n_components={self.n_components} is more than the {len(base.hmms)} HMMs of "
                "the shards: lower shard_size or raise base_n_components."
            )
        weights = base.masses / base.masses.sum()
        # N_i = N ω_i, with N virtual sequences a model
        virtual = self.virtual_per_hmm * len(base.hmms) * weights
        run = fit_vhem(
            Collection(
                pack_hmms(base.hmms).widened(float(self.reg_covar)), weights, virtual, int(self.tau)
            ),
            self.n_components,
            shape,
            Restarts(self.n_init, self.max_iter, self.tol),
            annealing=ANNEALING if self.anneal else (),
            rng=rng,
            progress=progress,
        )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.base_hmms_, self.base_masses_, self._base_shards = base
        self.n_shards_ = int(base.shards.max()) + 1
        self.weights_, self.cluster_hmms_ = run.params.weights, unpack_hmms(run.params.bank)
        self.base_labels_ = run.expectations.share.argmax(axis=1)
        self.lower_bound_, self.lower_bounds_ = run.objective, run.trace
        self.n_iter_, self.converged_ = run.n_iter, run.converged


def _joined(before: ShardModels, new: ShardModels) -> ShardModels:
    return ShardModels(
        [*before.hmms, *new.hmms],
        np.concatenate([before.masses, new.masses]),
        np.concatenate([before.shards, before.shards.max() + 1 + new.shards]),
    )
