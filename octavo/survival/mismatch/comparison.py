"""How different two recordings are: the mean difference of a cycle of one and one of the other.

Reference: Z. Syed and J. Guttag (2011), "Unsupervised Similarity-Based Risk Stratification for
Cardiovascular Events Using Long-Term Time-Series Data", JMLR 12:999-1024, Section 3.2. The
energy distance, 2ψ_pq - ψ_pp - ψ_qq, is of G. Székely and M. Rizzo (2013), "Energy statistics".
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.event_logs.dtw import Warping, cross, ragged, weighted_means
from octavo.survival.mismatch.symbols import MaxMinSymbolizer, Symbols
from octavo.survival.mismatch.warping import check_lengths, many_cycles, warping

__all__ = ["SymbolicMismatch", "symbolic_mismatch"]


def _checked_symbols(prototypes: Any, frequencies: Any, name: str) -> Symbols:
    if isinstance(prototypes, (list, tuple, np.ndarray)):  # numbers are cycles of one sample
        prototypes = [[one] if isinstance(one, Real) else one for one in prototypes]
    cycles = many_cycles(prototypes, f"S_{name}")
    shares = real_array(frequencies, f"F_{name}")
    if shares.shape != (len(cycles),):
        raise ValueError(
            f"F_{name} must hold one frequency for each of {len(cycles)} prototypes; got the "
            f"shape {shares.shape}."
        )
    if (shares < 0).any() or not 0 < shares.sum() < np.inf:
        raise ValueError(f"F_{name} must hold frequencies of at least 0, not all of them 0.")
    return Symbols(cycles, shares / shares.sum())


@checked
def symbolic_mismatch(
    S_p: Any,
    F_p: Any,
    S_q: Any,
    F_q: Any,
    metric: str = "dtw",
    band: float | None = None,
    normalize: str | None = None,
    cost: str = "absolute",
) -> float:
    """Return the mean difference of a random cycle of one recording and one of another.

    Parameters
    ----------
    S_p : list of array-like
        Prototypes of the one; a vector is taken as cycles of one sample.
    F_p : array-like of shape (n_symbols,)
        How often each occurs: shares, or counts, which are divided by their sum.
    S_q : list of array-like
        Prototypes of the other.
    F_q : array-like of shape (n_other_symbols,)
        How often each of these occurs.
    metric : {"dtw", "euclidean"}, default="dtw"
        Warped, or by position for cycles of one length.
    band : float, default=None
        As in `dtw`.
    normalize : {None, "path"}, default=None
        As in `dtw`.
    cost : {"absolute", "squared"}, default="absolute"
        As in `dtw`.

    Returns
    -------
    mismatch : float
        The sum of F_p[i] F_q[j] C(S_p[i], S_q[j]); above zero also for a recording and itself,
        unless it has one symbol.

    Examples
    --------
    >>> from octavo.survival import symbolic_mismatch
    >>> symbolic_mismatch([[0.0, 1.0], [2.0, 2.0]], [0.5, 0.5], [[0.0, 3.0]], [1.0])
    2.5
    """
    if metric not in ("dtw", "euclidean"):
        raise ValueError(f"metric must be 'dtw' or 'euclidean'; got {metric!r}.")
    how = warping(band, normalize, cost, metric)
    p, q = _checked_symbols(S_p, F_p, "p"), _checked_symbols(S_q, F_q, "q")
    check_lengths(ragged([*p.prototypes, *q.prototypes]), how)
    C = cross(ragged(p.prototypes), ragged(q.prototypes), how)
    return float(p.frequencies @ C @ q.frequencies)  # Eq. (1)


def pairwise_mismatch(
    records: list[Symbols], how: Warping, *, n_known: int = 0, n_jobs: int | None = None
) -> Floats:
    """Return the mismatch of all pairs; with ``n_known``, only rows of the records from there on.

    Parameters
    ----------
    records : list of Symbols
        Recordings.
    how : Warping
        How prototypes are compared.
    n_known : int, default=0
        Rows of so many recordings are left zero, and their columns filled in the rows of the rest.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    mismatch : ndarray of shape (n_records, n_records)
        Symmetric where nothing is known.
    """
    members = ragged([beat for record in records for beat in record.prototypes])
    weights = np.concatenate([record.frequencies for record in records])
    sizes = [len(record.prototypes) for record in records]
    groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if not n_known:
        return weighted_means(members, weights, groups, how, n_jobs=n_jobs)  # Eq. (1) for all pairs
    rows = np.arange(n_known, len(records))
    return weighted_means(members, weights, groups, how, rows, 0, n_jobs)


class SymbolicMismatch(CallbackSupportMixin, TransformerMixin, SoundEstimator):
    """Differences between long recordings, from the symbols of each.

    Parameters
    ----------
    symbolizer : MaxMinSymbolizer or None, default=None
        What finds the symbols of a recording; None: with its defaults. Its metric, band, cost
        and normalisation compare the prototypes of two recordings too.
    mode : {"mismatch", "energy"}, default="mismatch"
        "mismatch" is the paper's ψ, with ψ_pp above zero; "energy" is 2ψ_pq - ψ_pp - ψ_qq, zero
        for a recording and itself, and the squared energy distance where the cycles' differences
        are of negative type (Euclidean ones; warped ones nearly).
    on_error : {"raise", "skip"}, default="raise"
        What becomes of a recording that has no symbols: fewer than two cycles, or numbers that
        are not finite. Skipped ones are listed in `skipped_`.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    mismatch_ : ndarray of shape (n_records, n_records)
        Of the recordings of fit; symmetric.
    self_mismatch_ : ndarray of shape (n_records,)
        ψ_pp: how much the cycles of one recording differ from each other.
    symbols_ : list of Symbols
        Prototypes and frequencies of each.
    skipped_ : list of (int, str)
        Which recordings were skipped, and why.

    Notes
    -----
    The cost is that of all pairs of prototypes of all pairs of recordings: beyond some thousand
    recordings fit on some hundred of them and take `transform` of the rest as features. For series
    of one length and scale scikit-learn's `pairwise_distances` is enough.

    References
    ----------
    .. [1] Z. Syed and J. Guttag (2011). "Unsupervised Similarity-Based Risk Stratification for
       Cardiovascular Events Using Long-Term Time-Series Data". Journal of Machine Learning
       Research 12:999-1024.

    Examples
    --------
    >>> from octavo.survival import MaxMinSymbolizer, SymbolicMismatch
    >>> calm = [[0.0, 1.0, 0.0], [0.0, 1.1, 0.0], [0.0, 0.9, 0.0]]
    >>> mixed = [[0.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.0, 1.0, 0.0]]
    >>> model = SymbolicMismatch(MaxMinSymbolizer(threshold=0.5)).fit([calm, mixed])
    >>> model.mismatch_.round(3)
    array([[0.   , 0.222],
           [0.222, 0.296]])
    """

    _parameter_constraints: dict[str, Any] = {
        "symbolizer": [HasMethods(["fit", "warping"]), None],
        "mode": [StrOptions({"mismatch", "energy"})],
        "on_error": [StrOptions({"raise", "skip"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        symbolizer: Any = None,
        mode: str = "mismatch",
        on_error: str = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.symbolizer = symbolizer
        self.mode = mode
        self.on_error = on_error
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> SymbolicMismatch:
        """Compare all recordings with each other.

        Parameters
        ----------
        X : list of recordings
            Each a list of cycles, a table of cycles of one length, or `Symbols`.
        y : None
            Ignored.

        Returns
        -------
        self : SymbolicMismatch
            The fitted comparison.
        """
        records = _recordings(X)
        self._symbolizer = MaxMinSymbolizer() if self.symbolizer is None else self.symbolizer
        with FitProgress(self, len(records), step_name="recording") as progress:
            self.symbols_, self.skipped_ = self._symbolized(records, progress)
        if not self.symbols_:
            raise ValueError(f"No recording has symbols. {self.skipped_[0][1]}")
        self._check_lengths(self.symbols_)
        self._psi = pairwise_mismatch(self.symbols_, self._how(), n_jobs=self.n_jobs)
        return self._finish()

    def partial_fit(self, X: Any, y: Any = None) -> SymbolicMismatch:
        """Add recordings; only the rows of the new ones are computed.

        Parameters
        ----------
        X : list of recordings
            As in `fit`.
        y : None
            Ignored.

        Returns
        -------
        self : SymbolicMismatch
            The comparison of old and new.
        """
        if not hasattr(self, "symbols_"):
            return self.fit(X)
        new, skipped = self._symbolized(_recordings(X), None)
        known = len(self.symbols_)
        everyone = [*self.symbols_, *new]
        self._check_lengths(everyone)
        psi = pairwise_mismatch(everyone, self._how(), n_known=known, n_jobs=self.n_jobs)
        psi[:known, :known] = self._psi
        psi[:known, known:] = psi[known:, :known].T
        old = len(self.skipped_) + known
        self.skipped_ = [*self.skipped_, *((old + i, why) for i, why in skipped)]
        self.symbols_, self._psi = everyone, psi
        return self._finish()

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Return the mismatch of all pairs of recordings.

        Parameters
        ----------
        X : list of recordings
            As in `fit`.
        y : None
            Ignored.

        Returns
        -------
        mismatch : ndarray of shape (n_records, n_records)
            `mismatch_`.
        """
        return self.fit(X).mismatch_

    def transform(self, X: Any) -> Floats:
        """Return the mismatch of new recordings with those of fit.

        Parameters
        ----------
        X : list of recordings
            As in `fit`; none of them is skipped.

        Returns
        -------
        mismatch : ndarray of shape (n_new, n_records)
            A row for each new one.
        """
        check_is_fitted(self, "symbols_")
        new = [self._symbols_of(r, i) for i, r in enumerate(_recordings(X))]
        known = len(self.symbols_)
        everyone = [*self.symbols_, *new]
        self._check_lengths(everyone)
        psi = pairwise_mismatch(everyone, self._how(), n_known=known, n_jobs=self.n_jobs)
        rows = psi[known:, :known]
        if self.mode == "mismatch":
            return rows
        return 2 * rows - np.diagonal(psi)[known:, None] - self.self_mismatch_

    def _how(self) -> Warping:
        return self._symbolizer.warping()

    def _check_lengths(self, records: list[Symbols]) -> None:
        check_lengths(
            ragged([beat for record in records for beat in record.prototypes]), self._how()
        )

    def _finish(self) -> SymbolicMismatch:
        self.self_mismatch_ = np.diagonal(self._psi).copy()
        self.mismatch_ = self._psi
        if self.mode == "energy":
            own = self.self_mismatch_
            # 2 ψ_pq - ψ_pp - ψ_qq: zero for equal distributions, which ψ is not
            self.mismatch_ = 2 * self._psi - (own + own[:, None])
            np.fill_diagonal(self.mismatch_, 0.0)
        return self

    def _symbolized(
        self, records: list[Any], progress: FitProgress | None
    ) -> tuple[list[Symbols], list[tuple[int, str]]]:
        found, skipped = [], []
        for i, record in enumerate(records):
            try:
                found.append(self._symbols_of(record, i))
            except (TypeError, ValueError) as error:
                if self.on_error == "raise":
                    raise
                skipped.append((i, str(error)))
            if progress is not None and progress.step():
                break
        return found, skipped

    def _symbols_of(self, record: Any, i: int) -> Symbols:
        try:
            if isinstance(record, Symbols):
                return _checked_symbols(*record, "p")
            return clone(self._symbolizer).fit(record).symbols_
        except (TypeError, ValueError) as error:
            raise type(error)(f"Recording {i} has no symbols: {error}") from error


def _recordings(records: Any) -> list[Any]:
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
        raise ValueError(f"X must be a list of recordings; got {type(records).__name__}.")
    found = list(records)
    if not found:
        raise ValueError("X must be a list of recordings; it is an empty list.")
    return found
