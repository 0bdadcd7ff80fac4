"""Hidden Markov models as data: one model's parameters, and many models in padded arrays.

`HMMParams` carries a model between hmmlearn, octavo and a user's own code. Inside octavo a list
of models is an `HMMBank`, arrays with a leading axis of models, checked once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from octavo.engine.chains.inference import log_partition, sample_paths
from octavo.engine.chains.sequences import locate, stack_sequences
from octavo.engine.probability.gaussians import expected_log_density

__all__ = ["HMMParams"]

Floats = NDArray[np.float64]
COVARIANCE_TYPES = ("diag", "full", "spherical")
_ARRAYS = ("startprob", "transmat", "weights", "means", "covars")
_SUM_TOLERANCE = 1e-6  # probabilities that add up to one within this are scaled silently
_EIGEN_TOLERANCE = 1e-10  # relative size of a negative eigenvalue that is rounding


@dataclass(eq=False, repr=False)
class HMMParams:
    """Parameters of a hidden Markov model with Gaussian mixture or discrete emissions.

    A light container: what it holds is checked where it is used, so that a message can say which
    HMM of a list is wrong.

    Parameters
    ----------
    startprob : array-like of shape (S,)
        Probabilities of the first state.
    transmat : array-like of shape (S, S)
        Row s holds the probabilities of the state that follows s.
    weights : array-like of shape (S, M)
        Mixture weights of each state's M Gaussians; or, with ``means=None``, the probabilities
        with which a state emits the symbols 0..M-1.
    means : array-like of shape (S, M, d) or None
        Means of the Gaussians; None for discrete emissions.
    covars : array-like or None
        Covariances: (S, M, d) for "diag", (S, M, d, d) for "full", (S, M) for "spherical". They
        may be singular in HMMs that are clustered.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        The form of covars; without meaning for discrete emissions.

    Examples
    --------
    >>> from octavo.sequence import HMMParams
    >>> means, covars = [[[0]], [[5]]], [[[1]], [[1]]]
    >>> hmm = HMMParams([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[1], [1]], means, covars)
    >>> hmm
    HMMParams(n_states=2, n_mix=1, n_features=1, covariance_type='diag')
    >>> round(hmm.score([0.1, 0.2, 4.9]), 3)
    -5.888
    """

    startprob: Any
    transmat: Any
    weights: Any
    means: Any = None
    covars: Any = None
    covariance_type: str = "diag"

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, np.asarray(value, dtype=np.float64))

    def __repr__(self) -> str:
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
        return self.covariance_type == other.covariance_type and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_states(self) -> int:
        """Number of hidden states."""
        return int(self.startprob.shape[0])

    @property
    def n_mix(self) -> int:
        """Number of Gaussians in a state's mixture, or of symbols."""
        return int(self.weights.shape[1])

    @property
    def is_discrete(self) -> bool:
        """Whether emissions are symbols."""
        return self.means is None

    @classmethod
    def from_hmmlearn(cls, model: Any) -> Self:
        """Return the parameters of a fitted hmmlearn model.

        Parameters
        ----------
        model : GaussianHMM, GMMHMM or CategoricalHMM
            Tied covariances become full ones.

        Returns
        -------
        hmm : HMMParams
            Copies of its parameters.
        """
        start, trans = np.array(model.startprob_), np.array(model.transmat_)
        if hasattr(model, "emissionprob_") and not hasattr(model, "n_trials"):
            return cls(start, trans, np.array(model.emissionprob_))
        if not hasattr(model, "means_"):
            raise TypeError(
                "expected a fitted GaussianHMM, GMMHMM or CategoricalHMM, got "
                f"{type(model).__name__}"
            )
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
        model : GaussianHMM, GMMHMM or CategoricalHMM
            Ready to score, decode and sample.
        """
        from hmmlearn import hmm as hmmlearn_models

        S = self.n_states
        model: Any
        if self.is_discrete:
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
        model.startprob_, model.transmat_ = self.startprob.copy(), self.transmat.copy()
        return model

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
        bank = pack_hmms([self])
        rows, counts = check_rows(X, lengths, bank)
        return sequence_logliks(bank, rows, counts)[0]

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
        """Draw sequences.

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
        bank = pack_hmms([self])
        S, M = bank.weights.shape[1:]
        with np.errstate(divide="ignore"):
            start, trans = np.log(bank.start[0]), np.log(bank.trans[0])
        states = sample_paths(start, trans, np.zeros((length, S)), n_sequences, rng).ravel()
        edges = np.cumsum(bank.weights[0], axis=1)
        edges[:, -1] = np.inf  # the sums end a rounding below one
        parts = (rng.uniform(size=states.size)[:, None] > edges[states]).sum(axis=1)
        if bank.means is None or bank.covars is None:
            return list(parts.reshape(n_sequences, length))
        noise = rng.normal(size=(states.size, bank.means.shape[3]))
        if bank.kind == "full":
            values, vectors = np.linalg.eigh(bank.covars[0])
            roots = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
            noise = np.einsum("nde,ne->nd", roots[states, parts], noise)
        else:
            noise *= np.sqrt(bank.covars[0, states, parts])
        values = bank.means[0, states, parts] + noise
        return list(values.reshape(n_sequences, length, -1))


class HMMBank(NamedTuple):
    """Models in arrays with a leading axis: (K, S), (K, S, S), (K, S, M), (K, S, M, d), ...

    States and Gaussians that a model does not have are padded with probability zero.
    Variances (K, S, M, d) for the kinds "diag" and "spherical", matrices for "full"; means and
    covars are None for "discrete". ``n_states`` and ``n_mix`` are (K,).
    """

    start: Floats
    trans: Floats
    weights: Floats
    means: Floats | None
    covars: Floats | None
    kind: str
    n_states: NDArray[np.int64]
    n_mix: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of models."""
        return self.start.shape[0]

    def take(self, which: Any) -> HMMBank:
        """Return some of the models."""
        return HMMBank(
            self.start[which],
            self.trans[which],
            self.weights[which],
            None if self.means is None else self.means[which],
            None if self.covars is None else self.covars[which],
            self.kind,
            self.n_states[which],
            self.n_mix[which],
        )

    def gaussians(self) -> tuple[Floats, Floats]:
        """Return the means (K·S·M, d) of all Gaussians, and their covariances alike."""
        assert self.means is not None
        assert self.covars is not None
        d = self.means.shape[3]
        tail = (d, d) if self.kind == "full" else (d,)
        return self.means.reshape(-1, d), self.covars.reshape(-1, *tail)

    def widened(self, variance: float) -> HMMBank:
        """Return the models with a variance added to every direction of every Gaussian."""
        if self.covars is None or variance == 0.0:
            return self
        if self.kind == "full":
            return self._replace(covars=self.covars + variance * np.eye(self.covars.shape[-1]))
        return self._replace(covars=self.covars + variance)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all models, padding aside."""
        S, M = self.n_states, self.n_mix
        count = int((S - 1 + S * (S - 1) + S * (M - 1)).sum())
        if self.means is None:
            return count
        d = self.means.shape[3]
        each = {"diag": 2 * d, "spherical": d + 1, "full": d + d * (d + 1) // 2}[self.kind]
        return count + int((S * M).sum()) * each


# --- packing and checking ------------------------------------------------------------------------


def _as_params(hmm: Any, who: str) -> HMMParams:
    if isinstance(hmm, HMMParams):
        return hmm
    if hasattr(hmm, "startprob_") and hasattr(hmm, "transmat_"):
        return HMMParams.from_hmmlearn(hmm)
    raise TypeError(f"{who} must be an HMMParams or a fitted hmmlearn model, got {hmm!r}")


def _check_shapes(hmm: HMMParams, who: str) -> None:
    """Raise unless the arrays of one model fit together."""
    S = hmm.startprob.shape[0] if hmm.startprob.ndim == 1 else 0
    if S < 1:
        raise ValueError(f"{who}: startprob must be a vector, got shape {hmm.startprob.shape}")
    if hmm.weights.ndim != 2 or hmm.weights.shape[1] < 1:
        raise ValueError(f"{who}: weights must have shape ({S}, M), got {hmm.weights.shape}")
    M = hmm.weights.shape[1]
    wanted: dict[str, tuple[int, ...]] = {"transmat": (S, S), "weights": (S, M)}
    if hmm.means is not None:
        if hmm.means.ndim != 3 or hmm.means.shape[2] < 1:
            raise ValueError(f"{who}: means must have shape ({S}, {M}, d), got {hmm.means.shape}")
        if hmm.covariance_type not in COVARIANCE_TYPES:
            raise ValueError(
                f"{who}: covariance_type must be one of {', '.join(COVARIANCE_TYPES)}, "
                f"got {hmm.covariance_type!r}"
            )
        if hmm.covars is None:
            raise ValueError(f"{who}: means without covars")
        d = hmm.means.shape[2]
        tails = {"diag": (d,), "spherical": (), "full": (d, d)}
        wanted |= {"means": (S, M, d), "covars": (S, M, *tails[hmm.covariance_type])}
    for name, shape in wanted.items():
        found = getattr(hmm, name).shape
        if found != shape:
            raise ValueError(f"{who}: {name} must have shape {shape}, got {found}")
    for name in ("startprob", *wanted):
        if not np.all(np.isfinite(getattr(hmm, name))):
            raise ValueError(f"{who}: {name} has a value that is NaN or infinite")


def pack_hmms(hmms: Any, *, name: str = "HMM") -> HMMBank:
    """Return a list of models as an `HMMBank`, after checking them.

    Parameters
    ----------
    hmms : sequence of HMMParams or fitted hmmlearn models
        All with the same dimension, form of covariances and kind of emissions; numbers of states
        and of Gaussians may differ.
    name : str, default="HMM"
        What messages call a model; its index follows.

    Returns
    -------
    bank : HMMBank
        The models, with probabilities that add up to one.
    """
    if isinstance(hmms, HMMParams) or not isinstance(hmms, (Sequence, np.ndarray)):
        raise TypeError(f"expected a list of HMMs, got {type(hmms).__name__}")
    if len(hmms) == 0:
        raise ValueError("expected a list of HMMs, got an empty list")
    models = [_as_params(hmm, f"{name} {i}") for i, hmm in enumerate(hmms)]
    for i, hmm in enumerate(models):
        _check_shapes(hmm, f"{name} {i}")
        _check_same_family(hmm, models[0], f"{name} {i}", f"{name} 0")
    S, M = max(h.n_states for h in models), max(h.n_mix for h in models)
    bank = _empty_bank(models, S, M)
    for i, hmm in enumerate(models):
        s, m = hmm.n_states, hmm.n_mix
        bank.start[i, :s], bank.trans[i, :s, :s] = hmm.startprob, hmm.transmat
        bank.weights[i, :s, :m] = hmm.weights
        if bank.means is not None and bank.covars is not None:
            bank.means[i, :s, :m] = hmm.means
            spread = hmm.covars[..., None] if bank.kind == "spherical" else hmm.covars
            bank.covars[i, :s, :m] = spread
    _check_probabilities(bank, name)
    return _check_covariances(bank, name)


def _check_same_family(hmm: HMMParams, other: HMMParams, who: str, whom: str) -> None:
    """Raise where two models are of different families."""
    if hmm.is_discrete != other.is_discrete:
        words = {True: "discrete", False: "Gaussian"}
        raise ValueError(
            f"{who} has {words[hmm.is_discrete]} emissions, {whom} {words[other.is_discrete]} ones"
        )
    if hmm.is_discrete:
        if hmm.n_mix != other.n_mix:
            raise ValueError(f"{who} emits {hmm.n_mix} symbols, {whom} {other.n_mix}")
        return
    if hmm.means.shape[2] != other.means.shape[2]:
        raise ValueError(
            f"{who} has {hmm.means.shape[2]} features, {whom} has {other.means.shape[2]}"
        )
    if hmm.covariance_type != other.covariance_type:
        raise ValueError(
            f"{who} has {hmm.covariance_type!r} covariances, {whom} {other.covariance_type!r} ones"
        )


def _empty_bank(models: list[HMMParams], S: int, M: int) -> HMMBank:
    """Return a bank of that size, padding only: probability zero, unit variances."""
    K = len(models)
    means = covars = None
    kind = "discrete"
    if not models[0].is_discrete:
        d, kind = models[0].means.shape[2], models[0].covariance_type
        means = np.zeros((K, S, M, d))
        unit = np.eye(d) if kind == "full" else np.ones(d)
        covars = np.broadcast_to(unit, (K, S, M, *unit.shape)).copy()
    return HMMBank(
        np.zeros((K, S)),
        np.zeros((K, S, S)),
        np.zeros((K, S, M)),
        means,
        covars,
        kind,
        np.array([h.n_states for h in models]),
        np.array([h.n_mix for h in models]),
    )


def _check_probabilities(bank: HMMBank, name: str) -> None:
    """Scale every distribution to one in place; raise on negative, warn where it was far off."""
    K, S = bank.start.shape
    real = np.arange(S) < bank.n_states[:, None]  # (K, S)
    for what, values in (
        ("startprob", bank.start[:, None]),
        ("transmat", bank.trans),
        ("weights", bank.weights),
    ):
        if values.min() < 0:
            i, row, j = np.argwhere(values < 0)[0]
            raise ValueError(
                f"{name} {i}: {what} has a negative entry, {values[i, row, j]:g}"
                + ("" if what == "startprob" else f" in row {row}")
            )
        total = values.sum(axis=2)
        needed = np.ones((K, 1), dtype=bool) if what == "startprob" else real
        if what == "transmat":  # a state that nothing follows keeps to itself
            for i, row in np.argwhere(needed & (total == 0)):
                values[i, row, row] = total[i, row] = 1.0
                warnings.warn(
                    f"{name} {i}: row {row} of transmat is zero; taken as an absorbing state",
                    UserWarning,
                    stacklevel=4,
                )
        for i, row in np.argwhere(needed & (total == 0)):
            raise ValueError(f"{name} {i}: {what} adds up to zero in row {row}")
        off = np.argwhere(needed & (np.abs(total - 1) > _SUM_TOLERANCE))
        if off.size:
            i, row = off[0]
            warnings.warn(
                f"{name} {i}: {what} adds up to {total[i, row]:g} in row {row}, not to 1; scaled"
                + (f" (and {len(off) - 1} more rows)" if len(off) > 1 else ""),
                UserWarning,
                stacklevel=4,
            )
        values /= np.where(needed, total, 1.0)[..., None]


def _check_covariances(bank: HMMBank, name: str) -> HMMBank:
    """Return the bank with symmetric covariances; raise where a variance is negative."""
    if bank.covars is None:
        return bank
    if bank.kind != "full":
        smallest = bank.covars.min(axis=3)
        largest = np.zeros_like(smallest)
        covars = bank.covars
    else:
        flipped = bank.covars.swapaxes(3, 4)
        size = np.abs(bank.covars).max(axis=(3, 4))
        skew = np.abs(bank.covars - flipped).max(axis=(3, 4)) > 1e-8 * size
        for i, s, m in np.argwhere(skew)[:1]:
            raise ValueError(
                f"{name} {i}: the covariance of state {s}, Gaussian {m} is not symmetric"
            )
        covars = 0.5 * (bank.covars + flipped)
        values = np.linalg.eigvalsh(covars)
        smallest, largest = values[..., 0], values[..., -1]
    for i, s, m in np.argwhere(smallest < -_EIGEN_TOLERANCE * largest)[:1]:
        raise ValueError(
            f"{name} {i}: the covariance of state {s}, Gaussian {m} has a negative "
            f"{'eigenvalue' if bank.kind == 'full' else 'variance'}, {smallest[i, s, m]:g}"
        )
    return bank._replace(covars=covars)


def require_positive(bank: HMMBank, *, name: str = "HMM") -> None:
    """Raise where a covariance is singular, so that the model has no density."""
    if bank.covars is None:
        return
    if bank.kind == "full":
        values = np.linalg.eigvalsh(bank.covars)
        bad = values[..., 0] <= np.finfo(float).eps * values[..., -1]
    else:
        bad = bank.covars.min(axis=3) <= 0
    for i, s, m in np.argwhere(bad)[:1]:
        raise ValueError(
            f"{name} {i}: the covariance of state {s}, Gaussian {m} is singular, and the model "
            "has no density; add a small variance (reg_covar)"
        )


def unpack_hmms(bank: HMMBank) -> list[HMMParams]:
    """Return the models of a bank, without padding."""
    models = []
    for i in range(bank.size):
        s, m = int(bank.n_states[i]), int(bank.n_mix[i])
        means = covars = None
        if bank.means is not None and bank.covars is not None:
            means, covars = bank.means[i, :s, :m].copy(), bank.covars[i, :s, :m].copy()
            if bank.kind == "spherical":
                covars = covars[..., 0].copy()
        models.append(
            HMMParams(
                bank.start[i, :s].copy(),
                bank.trans[i, :s, :s].copy(),
                bank.weights[i, :s, :m].copy(),
                means,
                covars,
                "diag" if bank.kind == "discrete" else bank.kind,
            )
        )
    return models


# --- sequences under models ----------------------------------------------------------------------


def check_rows(
    X: Any, lengths: ArrayLike | None, bank: HMMBank | None = None, *, discrete: bool = False
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return stacked positions and lengths, checked against a bank where there is one.

    Parameters
    ----------
    X : list of arrays, or array
        Sequences, as a list or stacked; numbers (n_rows, d), or symbols (n_rows,).
    lengths : array-like of int, optional
        Lengths of stacked sequences.
    bank : HMMBank, optional
        Whose kind of emissions and dimension the rows must have.
    discrete : bool, default=False
        Whether rows are symbols, where there is no bank.

    Returns
    -------
    rows : ndarray
        Floats of shape (n_rows, d), or integers of shape (n_rows,).
    lengths : ndarray of int
        One entry a sequence.
    """
    discrete = bank.means is None if bank is not None else discrete
    values, counts = stack_sequences(X, lengths, columns=not discrete)
    if discrete:
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(
                "discrete sequences must hold integers, one a position; got shape "
                f"{values.shape} of {values.dtype}"
            )
        above = bank.weights.shape[2] if bank is not None else np.inf
        for row in np.flatnonzero((values < 0) | (values >= above))[:1]:
            limit = "not be negative" if values[row] < 0 else f"be below {above}"
            raise ValueError(f"symbols must {limit}, got {values[row]} at {locate(row, counts)}")
        return values.astype(np.int64), counts
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"positions must be rows of numbers, got shape {values.shape} of {values.dtype}"
        )
    rows = np.ascontiguousarray(values, dtype=np.float64)
    for row in np.flatnonzero(~np.isfinite(rows).all(axis=1))[:1]:
        raise ValueError(f"X has a value that is NaN or infinite at {locate(row, counts)}")
    if bank is not None and bank.means is not None and rows.shape[1] != bank.means.shape[3]:
        raise ValueError(f"X has {rows.shape[1]} features, the HMMs have {bank.means.shape[3]}")
    return rows, counts


def safe_log(values: Floats) -> Floats:
    """Return logarithms, -inf at zero without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def log_sum(values: Floats) -> Floats:
    """Return log Σ exp over the last axis; -inf where all are."""
    top = values.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return safe_log(np.exp(values - top).sum(axis=-1)) + top[..., 0]


def component_scores(
    bank: HMMBank, means: NDArray[Any], covars: Floats | None = None, noise: float = 0.0
) -> Floats:
    """Return the expected log density of n points or Gaussians under every Gaussian of a bank.

    Parameters
    ----------
    bank : HMMBank
        Models of Gaussian emissions.
    means, covars : ndarray
        Points (covars None) or Gaussians.
    noise : float, default=0
        A variance that they have on top.

    Returns
    -------
    scores : ndarray of shape (n, K, S, M)
        E log N(y; μ, Σ), the paper's expression below Eq. (18).
    """
    scores = expected_log_density(means, covars, *bank.gaussians(), noise=noise)
    return scores.reshape(means.shape[0], *bank.weights.shape)


def row_scores(bank: HMMBank, rows: NDArray[Any]) -> Floats:
    """Return the log emission density of each row in each state, of shape (n, K, S)."""
    if bank.means is None:
        return safe_log(bank.weights)[:, :, rows].transpose(2, 0, 1)
    return log_sum(component_scores(bank, rows) + safe_log(bank.weights))


def sequence_logliks(bank: HMMBank, rows: NDArray[Any], lengths: NDArray[np.int64]) -> Floats:
    """Return the log-likelihood of each sequence under each model, of shape (K, n_sequences)."""
    found = []
    for part, counts in chunks_of_sequences(rows, lengths, bank.weights[0].size * bank.size):
        nodes = row_scores(bank, part).transpose(1, 0, 2)
        found.append(log_partition(safe_log(bank.start), safe_log(bank.trans), nodes, counts))
    return np.concatenate(found, axis=1)


def chunks_of_sequences(
    rows: NDArray[Any], lengths: NDArray[np.int64], width: int, room: int = 1 << 21
) -> list[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Split stacked sequences so that rows x width numbers of a part fit in the room."""
    most = max(1, room // max(1, width))
    ends = np.cumsum(lengths)
    parts, first, row = [], 0, 0
    while first < lengths.size:
        last = max(int(np.searchsorted(ends, row + most, side="right")), first + 1)
        parts.append((rows[row : ends[last - 1]], lengths[first:last]))
        first, row = last, int(ends[last - 1])
    return parts
