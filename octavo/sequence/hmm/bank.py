"""Many hidden Markov models in padded arrays, checked once, and sequences under them.

Methods that work on lists of models pack them into an `HMMBank`, arrays with a leading axis of
models, and hand out `HMMParams` in the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from octavo.engine.chains.inference import log_partition
from octavo.engine.chains.sequences import stack_sequences
from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.gaussians import checked_covariances, require_density
from octavo.engine.probability.mixtures import safe_log
from octavo.sequence.hmm.emissions import (
    checked_numbers,
    checked_symbols,
    component_log_density,
    emitted_by,
    mixture_log_density,
    symbol_log_density,
)
from octavo.sequence.hmm.params import HMMParams, as_hmm, check_shapes

_SUM_TOLERANCE = 1e-6  # probabilities that add up to one within this are scaled silently


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
        # free numbers: S - 1, S (S - 1), S (M - 1), and the Gaussians'
        count = int((S - 1 + S * (S - 1) + S * (M - 1)).sum())
        if self.means is None:
            return count
        d = self.means.shape[3]
        each = {"diag": 2 * d, "spherical": d + 1, "full": d + d * (d + 1) // 2}[self.kind]
        return count + int((S * M).sum()) * each


# --- packing and checking ------------------------------------------------------------------------


def pack_hmms(hmms: Any, *, name: str = "HMM") -> HMMBank:
    """Return a list of models as an `HMMBank`, after checking them.

    Parameters
    ----------
    hmms : sequence of HMMParams, or of other forms that `as_hmm` takes
        All with the same dimension, form of covariances and kind of emissions; numbers of states
        and of Gaussians may differ.
    name : str, default="HMM"
        What messages call a model; its index follows.

    Returns
    -------
    bank : HMMBank
        The models, with probabilities that add up to one.
    """
    if not isinstance(hmms, (Sequence, np.ndarray)):
        raise TypeError(f"Expected a list of HMMs, got {type(hmms).__name__}.")
    if len(hmms) == 0:
        raise ValueError("Expected a list of HMMs, got an empty list.")
    models = [as_hmm(hmm, name=f"{name} {i}") for i, hmm in enumerate(hmms)]
    for i, hmm in enumerate(models):
        _check_packable(hmm, f"{name} {i}")
        _check_same_family(hmm, models[0], f"{name} {i}", f"{name} 0")
    S, M = max(h.n_states for h in models), max(h.n_mix for h in models)
    bank = _empty_bank(models, S, M)
    for i, hmm in enumerate(models):
        s, m = hmm.n_states, hmm.n_mix
        trans = hmm.transmat.toarray() if sparse.issparse(hmm.transmat) else hmm.transmat
        bank.start[i, :s], bank.trans[i, :s, :s] = hmm.startprob, trans
        bank.weights[i, :s, :m] = hmm.weights
        if bank.means is not None and bank.covars is not None:
            bank.means[i, :s, :m] = hmm.means
            spread = hmm.covars[..., None] if bank.kind == "spherical" else hmm.covars
            bank.covars[i, :s, :m] = spread
    _check_probabilities(bank, name)
    if bank.covars is None:
        return bank
    covars = checked_covariances(bank.covars, full=bank.kind == "full", name=_named(name))
    return bank._replace(covars=covars)


def _check_packable(hmm: HMMParams, who: str) -> None:
    """Raise unless a model can stand in a bank."""
    if hmm.emission is not None:
        raise TypeError(
            f"{who} must have Gaussian mixture or discrete emissions to be compared with other "
            f"HMMs, got {emitted_by(hmm.emission)}."
        )
    check_shapes(hmm, f"{who}: ")
    if hmm.transmat.shape != (hmm.n_states, hmm.n_states):
        raise ValueError(
            f"{who}: transmat must have shape {(hmm.n_states, hmm.n_states)}, got "
            f"{hmm.transmat.shape}."
        )


def _check_same_family(hmm: HMMParams, other: HMMParams, who: str, whom: str) -> None:
    """Raise where two models are of different families."""
    if hmm.is_discrete != other.is_discrete:
        words = {True: "discrete", False: "Gaussian"}
        raise ValueError(
            f"{who} has {words[hmm.is_discrete]} emissions, {whom} {words[other.is_discrete]} ones."
        )
    if hmm.is_discrete:
        if hmm.n_mix != other.n_mix:
            raise ValueError(f"{who} emits {hmm.n_mix} symbols, {whom} {other.n_mix}.")
        return
    if hmm.means.shape[2] != other.means.shape[2]:
        raise ValueError(
            f"{who} has {hmm.means.shape[2]} features, {whom} has {other.means.shape[2]}."
        )
    if hmm.covariance_type != other.covariance_type:
        raise ValueError(
            f"{who} has {hmm.covariance_type!r} covariances, {whom} {other.covariance_type!r} ones."
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
                + ("." if what == "startprob" else f" in row {row}.")
            )
        total = values.sum(axis=2)
        needed = np.ones((K, 1), dtype=bool) if what == "startprob" else real
        if what == "transmat":  # a state that nothing follows keeps to itself
            for i, row in np.argwhere(needed & (total == 0)):
                values[i, row, row] = total[i, row] = 1.0
                warnings.warn(
                    f"{name} {i}: row {row} of transmat is zero; taken as an absorbing state.",
                    UserWarning,
                    stacklevel=4,
                )
        for i, row in np.argwhere(needed & (total == 0)):
            raise ValueError(f"{name} {i}: {what} adds up to zero in row {row}.")
        off = np.argwhere(needed & (np.abs(total - 1) > _SUM_TOLERANCE))
        if off.size:
            i, row = off[0]
            warnings.warn(
                f"{name} {i}: {what} adds up to {total[i, row]:g} in row {row}, not to 1; scaled"
                + (f" (and {len(off) - 1} more rows)." if len(off) > 1 else "."),
                UserWarning,
                stacklevel=4,
            )
        values /= np.where(needed, total, 1.0)[..., None]


def _named(name: str) -> Callable[..., str]:
    """Return how messages call a covariance of a bank."""
    return lambda i, s, m: f"{name} {i}: the covariance of state {s}, Gaussian {m}"


def require_positive(bank: HMMBank, *, name: str = "HMM") -> None:
    """Raise where a covariance is singular, so that the model has no density."""
    if bank.covars is not None:
        require_density(bank.covars, full=bank.kind == "full", name=_named(name))


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
        above = None if bank is None else bank.weights.shape[2]
        return checked_symbols(values, counts, above), counts
    wanted = None if bank is None or bank.means is None else bank.means.shape[3]
    return checked_numbers(values, counts, wanted), counts


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
    assert bank.means is not None
    assert bank.covars is not None
    return component_log_density(bank.means, bank.covars, means, covars, noise)


def row_scores(bank: HMMBank, rows: NDArray[Any]) -> Floats:
    """Return the log emission density of each row in each state, of shape (n, K, S)."""
    if bank.means is None or bank.covars is None:
        return symbol_log_density(bank.weights, rows)
    return mixture_log_density(bank.weights, bank.means, bank.covars, rows)


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
