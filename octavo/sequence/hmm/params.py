"""A hidden Markov model as data: the one type that every method of this room takes and returns.

`HMMParams` carries a model between hmmlearn, octavo and a user's own code; `as_hmm` makes one of
whatever form a model comes in. Many models in padded arrays are `octavo.sequence.hmm.bank`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from octavo.engine.chains.inference import log_partition, sample_paths
from octavo.engine.chains.sequences import Stacked, split_sequences, stack_sequences
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.probability.gaussians import checked_covariances, require_density
from octavo.sequence.hmm.emissions import (
    COVARIANCE_TYPES,
    checked_numbers,
    checked_symbols,
    draw_mixtures,
    draw_others,
    draw_symbols,
    emitted_by,
    mixture_log_density,
    other_log_density,
    symbol_log_density,
)
from octavo.sequence.hmm.scores import (
    HMMScores,
    checked_hmm,
    checked_start,
    checked_trans,
    log_of_probabilities,
    require_stochastic,
)

__all__ = ["HMMParams", "as_hmm"]

_GAUSSIAN = "The covariance of state {}, Gaussian {}".format  # in messages
_ARRAYS = ("startprob", "transmat", "weights", "means", "covars")


# --- the type -------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class HMMParams:
    """A hidden Markov model: what all methods of `octavo.sequence` take and return.

    Emissions are mixtures of Gaussians, symbols, or anything that can say its log density; models
    with the first two can be clustered, all can be decoded, scored and, but for functions, drawn
    from. A light container: what it holds is checked where it is used, so that a message can say
    which HMM of a list is wrong.

    Parameters
    ----------
    startprob : array-like of shape (S,)
        Probabilities of the first state.
    transmat : array-like of shape (S, S), or sparse matrix
        Row s holds the probabilities of the state that follows s. For decoding they may vary: one
        matrix for every step of the stacked sequences.
    weights : array-like of shape (S, M), optional
        Mixture weights of each state's M Gaussians; or, with ``means=None``, the probabilities
        with which a state emits the symbols 0..M-1. None where there is an ``emission``.
    means : array-like of shape (S, M, d) or None
        Means of the Gaussians; None for discrete emissions.
    covars : array-like or None
        Covariances: (S, M, d) for "diag", (S, M, d, d) for "full", (S, M) for "spherical". They
        may be singular in HMMs that are clustered.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        The form of covars; without meaning for discrete emissions.
    emission : list of scipy distributions, callable, or fitted hmmlearn model, optional
        Emissions of another kind: one distribution a state; a function from observations to log
        densities (n_positions, S); or a model of hmmlearn whose densities are used.

    See Also
    --------
    as_hmm : Makes one of whatever form a model comes in.

    Examples
    --------
    >>> from octavo.sequence import HMMParams, HybridDecoder
    >>> means, covars = [[[0]], [[5]]], [[[1]], [[1]]]
    >>> hmm = HMMParams([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[1], [1]], means, covars)
    >>> hmm
    HMMParams(n_states=2, n_mix=1, n_features=1, covariance_type='diag')
    >>> round(hmm.score([0.1, 0.2, 4.9]), 3)
    -5.888
    >>> HybridDecoder(hmm).predict([0.1, 0.2, 4.9])
    array([0, 0, 1])
    """

    startprob: Any
    transmat: Any
    weights: Any = None
    means: Any = None
    covars: Any = None
    covariance_type: str = "diag"
    emission: Any = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            value = getattr(self, name)
            if value is not None and not sparse.issparse(value):
                setattr(self, name, np.asarray(value, dtype=np.float64))
        if (self.weights is None) == (self.emission is None):
            seen = "neither" if self.weights is None else "both"
            raise TypeError(f"An HMM has weights or an emission, got {seen}.")

    def __repr__(self) -> str:
        if self.weights is None:
            return f"HMMParams(n_states={self.n_states}, emission={emitted_by(self.emission)})"
        S, M = self.weights.shape if self.weights.ndim == 2 else (len(self.weights), "?")
        if self.means is None:
            return f"HMMParams(n_states={S}, n_symbols={M})"
        return (
            f"HMMParams(n_states={S}, n_mix={M}, n_features={self.means.shape[-1]}, "
            f"covariance_type={self.covariance_type!r})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HMMParams):
            return NotImplemented
        return (
            self.covariance_type == other.covariance_type
            and self.emission == other.emission
            and all(_same(getattr(self, name), getattr(other, name)) for name in _ARRAYS)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_states(self) -> int:
        """Number of hidden states."""
        return int(self.startprob.size)

    @property
    def n_mix(self) -> int:
        """Number of Gaussians in a state's mixture, or of symbols; 0 for other emissions."""
        return 0 if self.weights is None else int(self.weights.shape[1])

    @property
    def is_discrete(self) -> bool:
        """Whether emissions are symbols."""
        return self.means is None and self.emission is None

    # --- other forms --------------------------------------------------------------------------

    @classmethod
    def from_hmmlearn(cls, model: Any) -> Self:
        """Return the parameters of a fitted hmmlearn model.

        Parameters
        ----------
        model : GaussianHMM, GMMHMM, CategoricalHMM or another fitted model of hmmlearn
            Tied covariances become full ones. Models that emit neither mixtures of Gaussians nor
            symbols keep their emissions as ``emission``.

        Returns
        -------
        hmm : HMMParams
            Copies of its parameters.
        """
        start, trans = np.array(model.startprob_), np.array(model.transmat_)
        if hasattr(model, "emissionprob_") and not hasattr(model, "n_trials"):
            return cls(start, trans, np.array(model.emissionprob_))
        if not hasattr(model, "means_"):
            return cls(start, trans, emission=model)
        kind, means, covars = model.covariance_type, np.array(model.means_), np.array(model.covars_)
        if means.ndim == 2:  # GaussianHMM; its covars_ are full matrices whatever the type
            means, weights = means[:, None], np.ones((means.shape[0], 1))
            repeats = len(covars) // len(means)  # d for spherical ones after a fit, else 1
            full = covars[::repeats, None]
            diagonal = np.einsum("smdd->smd", full).copy()
            forms = {"diag": diagonal, "spherical": diagonal[..., 0], "full": full, "tied": full}
            covars = forms[kind]
        else:
            weights = np.array(model.weights_)
            if kind == "tied":  # one matrix a state
                covars = np.repeat(covars[:, None], weights.shape[1], axis=1)
        return cls(start, trans, weights, means, covars, "full" if kind == "tied" else kind)

    @classmethod
    def from_gaussian_mixture(cls, mixture: Any) -> Self:
        """Return a Gaussian mixture as an HMM with a single state.

        Parameters
        ----------
        mixture : sklearn.mixture.GaussianMixture
            A fitted mixture.

        Returns
        -------
        hmm : HMMParams
            With as many Gaussians in its state as the mixture has components.
        """
        weights, means = np.array(mixture.weights_), np.array(mixture.means_)
        kind, covars = mixture.covariance_type, np.array(mixture.covariances_)
        if kind == "tied":
            kind, covars = "full", np.repeat(covars[None], weights.size, axis=0)
        return cls([1.0], [[1.0]], weights[None], means[None], covars[None], kind)

    def to_hmmlearn(self) -> Any:
        """Return the hmmlearn model with these parameters.

        Returns
        -------
        model : GaussianHMM, GMMHMM, CategoricalHMM, or a copy of the model that emits
            Ready to score, decode and sample.
        """
        from hmmlearn import hmm as hmmlearn_models

        S = self.n_states
        trans = _dense(self.transmat)
        if trans.ndim != 2:
            raise ValueError(
                f"Transitions of a model of hmmlearn must not vary, got shape {trans.shape}."
            )
        model: Any
        if self.emission is not None:
            if not hasattr(self.emission, "_compute_log_likelihood"):
                raise TypeError(
                    f"An HMM whose emission is {emitted_by(self.emission)} cannot be a model of "
                    "hmmlearn."
                )
            model = copy.deepcopy(self.emission)
        elif self.is_discrete:
            model = hmmlearn_models.CategoricalHMM(S, n_features=self.n_mix)
            model.emissionprob_ = self.weights.copy()
        elif self.n_mix == 1:
            model = hmmlearn_models.GaussianHMM(S, self.covariance_type)
            model.n_features = self.means.shape[2]
            model.means_, model.covars_ = self.means[:, 0].copy(), self.covars[:, 0].copy()
        else:
            model = hmmlearn_models.GMMHMM(S, self.n_mix, covariance_type=self.covariance_type)
            model.n_features = self.means.shape[2]
            model.weights_ = self.weights.copy()
            model.means_, model.covars_ = self.means.copy(), self.covars.copy()
        model.startprob_, model.transmat_ = self.startprob.copy(), trans.copy()
        return model

    # --- on sequences -------------------------------------------------------------------------

    def log_emission(self, X: Any, lengths: ArrayLike | None = None) -> Floats:
        """Return the log densities of every position in each state.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations, stacked with ``lengths`` or a list of sequences.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        log_emission : ndarray of shape (n_positions, n_states)
            Stacked over sequences.
        """
        return log_densities(self, stack_sequences(X, lengths))

    def logs(self, X: Any, lengths: ArrayLike | None = None) -> tuple[Floats, Any, Any]:
        """Return the model on some observations as the logarithms that functions of arrays take.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations, stacked with ``lengths`` or a list of sequences.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        logs : tuple (log_start, log_trans, log_emission)
            For `decode`, `decode_path_family`, `hmm_posteriors` and `transformed_variables`, as
            ``decode(*hmm.logs(X))``, and for `path_risks`; emissions are a list where X is one.
        """
        stacked = stack_sequences(X, lengths)
        emission: Any = log_densities(self, stacked)
        if is_listed(X, lengths):
            emission = split_sequences(emission, stacked.lengths)
        return log_of_probabilities(self.startprob, "startprob"), log_transitions(self), emission

    def score_samples(self, X: Any, lengths: ArrayLike | None = None) -> Floats:
        """Return the log-likelihood of each sequence.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        loglik : ndarray of shape (n_sequences,)
            Log-likelihoods.
        """
        stacked = stack_sequences(X, lengths)
        nodes = log_densities(self, stacked)
        start = checked_start(log_of_probabilities(self.startprob, "startprob"), nodes.shape[1])
        trans = checked_trans(log_transitions(self), nodes.shape[1], stacked.lengths)
        return log_partition(start, trans, nodes, stacked.lengths)

    def score(self, X: Any, lengths: ArrayLike | None = None) -> float:
        """Return the log-likelihood of all sequences together.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        loglik : float
            The sum of `score_samples`.
        """
        return float(self.score_samples(X, lengths).sum())

    def sample(
        self, n_sequences: int = 1, length: int = 100, random_state: Any = None
    ) -> list[NDArray[Any]]:
        """Draw sequences; `simulate_hmm` also returns the states.

        Parameters
        ----------
        n_sequences : int, default=1
            How many.
        length : int, default=100
            Number of positions of each.
        random_state : int, RandomState instance or None, default=None
            Seeds the draw.

        Returns
        -------
        sequences : list of ndarray
            Each of shape (length, n_features); of shape (length,), integers, for symbols.
        """
        rng = check_random_state(random_state)
        S = self.n_states
        start = checked_start(log_of_probabilities(self.startprob, "startprob"), S)
        logs = log_of_probabilities(_dense(self.transmat), "transmat")
        trans = checked_trans(logs, S, np.array([length]))
        states = sample_paths(start, trans, np.zeros((length, S)), n_sequences, rng).ravel()
        drawn = draw_observations(self, states, rng)
        return list(drawn.reshape(n_sequences, length, *drawn.shape[1:]))


def _same(one: Any, other: Any) -> bool:
    """Tell whether two arrays, one or both of which may be sparse or None, are equal."""
    if sparse.issparse(one) and sparse.issparse(other):
        return one.shape == other.shape and (one != other).nnz == 0
    if sparse.issparse(one) or sparse.issparse(other):
        return False
    return np.array_equal(one, other)


def _dense(transmat: Any) -> Floats:
    return transmat.toarray() if sparse.issparse(transmat) else transmat


# --- what the type means --------------------------------------------------------------------------


def check_shapes(hmm: HMMParams, who: str = "") -> None:
    """Raise unless the arrays of one model fit together; who is named first in messages."""
    if hmm.startprob.ndim != 1 or hmm.n_states < 1:
        raise ValueError(f"{who}startprob must be a vector, got shape {hmm.startprob.shape}.")
    S = hmm.n_states
    wanted: dict[str, tuple[int, ...]] = {}
    if not sparse.issparse(hmm.transmat) and hmm.transmat.ndim != 3:
        wanted["transmat"] = (S, S)
    if hmm.weights is not None:
        if hmm.weights.ndim != 2 or hmm.weights.shape[1] < 1:
            raise ValueError(f"{who}weights must have shape ({S}, M), got {hmm.weights.shape}.")
        wanted["weights"] = (S, hmm.n_mix)
    if hmm.means is not None:
        wanted |= _gaussian_shapes(hmm, who)
    for name, shape in wanted.items():
        found = getattr(hmm, name).shape
        if found != shape:
            raise ValueError(f"{who}{name} must have shape {shape}, got {found}.")
    for name in ("startprob", *wanted):
        if not np.all(np.isfinite(getattr(hmm, name))):
            raise ValueError(f"{who}{name} has a value that is NaN or infinite.")
    if isinstance(hmm.emission, (list, tuple)) and len(hmm.emission) != S:
        raise ValueError(
            f"{who}emission must have one distribution a state ({S}), got {len(hmm.emission)}."
        )


def _gaussian_shapes(hmm: HMMParams, who: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes that means and covars must have."""
    S, M = hmm.n_states, hmm.n_mix
    if hmm.means.ndim != 3 or hmm.means.shape[2] < 1:
        raise ValueError(f"{who}means must have shape ({S}, {M}, d), got {hmm.means.shape}.")
    if hmm.covariance_type not in COVARIANCE_TYPES:
        raise ValueError(
            f"{who}covariance_type must be one of {', '.join(COVARIANCE_TYPES)}, "
            f"got {hmm.covariance_type!r}."
        )
    if hmm.covars is None:
        raise ValueError(f"{who}covars must be given with means, got None.")
    d = hmm.means.shape[2]
    tails = {"diag": (d,), "spherical": (), "full": (d, d)}
    return {"means": (S, M, d), "covars": (S, M, *tails[hmm.covariance_type])}


def _covariances(hmm: HMMParams) -> Floats:
    """Return variances (S, M, d) or matrices (S, M, d, d), checked."""
    covars = hmm.covars
    if hmm.covariance_type == "spherical":
        covars = np.repeat(covars[..., None], hmm.means.shape[2], axis=2)
    return checked_covariances(covars, full=hmm.covariance_type == "full", name=_GAUSSIAN)


def log_densities(hmm: HMMParams, stacked: Stacked) -> Floats:
    """Return the log densities (N, S) of stacked observations, after checking both."""
    check_shapes(hmm)
    values, lengths = stacked
    if hmm.emission is not None:
        return other_log_density(hmm.emission, values, lengths)
    logs = log_of_probabilities(hmm.weights, "weights")
    if hmm.means is None:
        require_stochastic(logs, lambda row: f"emission row {row}")
        return symbol_log_density(hmm.weights, checked_symbols(values, lengths, hmm.n_mix))
    require_stochastic(logs, lambda row: f"weights row {row}")
    rows = checked_numbers(values, lengths, hmm.means.shape[2])
    covars = _covariances(hmm)
    require_density(covars, full=hmm.covariance_type == "full", name=_GAUSSIAN)
    return mixture_log_density(hmm.weights, hmm.means, covars, rows)


def draw_observations(hmm: HMMParams, states: NDArray[np.int64], rng: Any) -> NDArray[Any]:
    """Return one observation a state."""
    check_shapes(hmm)
    if hmm.emission is not None:
        return draw_others(hmm.emission, states, rng)
    if hmm.means is None:
        return draw_symbols(hmm.weights, states, rng)
    return draw_mixtures(hmm.weights, hmm.means, _covariances(hmm), states, rng)


def log_transitions(hmm: HMMParams) -> Any:
    """Return the logs of the transition probabilities; the stored ones of a sparse matrix."""
    if not sparse.issparse(hmm.transmat):
        return log_of_probabilities(hmm.transmat, "transmat")
    matrix = sparse.coo_array(hmm.transmat, copy=True)
    matrix.sum_duplicates()  # probabilities add up; their logarithms would not
    matrix.data = log_of_probabilities(matrix.data, "transmat")
    return matrix


def is_listed(X: Any, lengths: ArrayLike | None) -> bool:
    """Tell whether sequences came as a list, so that answers go back as one."""
    return lengths is None and isinstance(X, (list, tuple)) and any(np.ndim(x) > 0 for x in X)


def scores_on(hmm: HMMParams, stacked: Stacked, listed: bool = False) -> HMMScores:
    """Return the checked logarithms of a model on stacked observations."""
    emission = log_densities(hmm, stacked)
    start = log_of_probabilities(hmm.startprob, "startprob")
    scores = checked_hmm(start, log_transitions(hmm), emission, stacked.lengths)
    return scores._replace(listed=listed)


# --- the converter --------------------------------------------------------------------------------


@checked
def as_hmm(model: Any, *, name: str = "model") -> HMMParams:
    """Return a hidden Markov model, whatever form it comes in, as `HMMParams`.

    Parameters
    ----------
    model : HMMParams, hmmlearn model, CountHMM, mixture or clustering of HMMs, or tuple
        A fitted model. Mixtures and clusterings become one HMM in which the states of one
        component never lead to those of another. In a tuple (startprob, transmat, emission) the
        emission is a matrix (n_states, n_symbols) of probabilities, a list of scipy
        distributions, or a function from observations to log densities. Any other object may
        offer a method ``to_hmm``.
    name : str, default="model"
        What messages call it.

    Returns
    -------
    hmm : HMMParams
        An HMMParams is returned as it is.

    Examples
    --------
    >>> from octavo.sequence import as_hmm
    >>> as_hmm(([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]]))
    HMMParams(n_states=2, n_symbols=2)
    """
    if isinstance(model, HMMParams):
        return model
    if isinstance(model, (tuple, list)):
        return _from_parts(model, name)
    if hasattr(model, "to_hmm"):
        return model.to_hmm()
    if hasattr(model, "startprob_") and hasattr(model, "transmat_"):
        return HMMParams.from_hmmlearn(model)
    if hasattr(model, "_compute_log_likelihood"):
        raise NotFittedError(f"This {type(model).__name__} is not fitted; fit it first.")
    raise TypeError(
        f"{name} must be an HMMParams, a fitted hmmlearn model, a CountHMM, a fitted mixture or "
        "clustering of HMMs, or a tuple (startprob, transmat, emission), got "
        f"{type(model).__name__}."
    )


def _from_parts(parts: Any, name: str) -> HMMParams:
    """Return the HMM of a tuple (startprob, transmat, emission)."""
    if len(parts) != 3:
        raise ValueError(
            f"{name} must be a tuple (startprob, transmat, emission), got {len(parts)} parts."
        )
    start, trans, emission = parts
    distributions = isinstance(emission, (list, tuple)) and all(
        hasattr(one, "rvs") for one in emission
    )
    if callable(emission) or distributions:
        return HMMParams(start, trans, emission=emission)
    table, S = np.asarray(emission, dtype=np.float64), np.size(start)
    if table.ndim != 2 or len(table) != S:
        raise ValueError(
            "emission must be a function of the observations, a list of scipy distributions, or "
            f"a matrix of shape ({S}, n_symbols), got shape {table.shape}."
        )
    return HMMParams(start, trans, table)


def join_hmms(hmms: list[HMMParams], weights: ArrayLike) -> HMMParams:
    """Return a mixture of HMMs as one, whose components never lead to each other.

    Parameters
    ----------
    hmms : list of HMMParams
        The components, of one family.
    weights : array-like of shape (n,)
        Their mixture weights.

    Returns
    -------
    hmm : HMMParams
        With the states of all components, in their order.
    """
    M = max(hmm.n_mix for hmm in hmms)

    def padded(values: Floats) -> Floats:
        """Repeat the last Gaussian where there are fewer than M; it gets no weight there."""
        return values[:, np.minimum(np.arange(M), values.shape[1] - 1)]

    discrete = hmms[0].is_discrete
    # chains that never meet: a mixture of models is one model
    return HMMParams(
        np.concatenate([w * hmm.startprob for w, hmm in zip(np.asarray(weights), hmms)]),
        block_diag(*(_dense(hmm.transmat) for hmm in hmms)),
        np.concatenate([np.pad(hmm.weights, ((0, 0), (0, M - hmm.n_mix))) for hmm in hmms]),
        None if discrete else np.concatenate([padded(hmm.means) for hmm in hmms]),
        None if discrete else np.concatenate([padded(hmm.covars) for hmm in hmms]),
        hmms[0].covariance_type,
    )
