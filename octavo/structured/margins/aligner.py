"""Word alignments from sentence pairs: IBM models 1 and 2 and the HMM, by expectation-maximisation.

Every target word is drawn from a source word or from the empty word. Model 1 takes all source words
as equally likely, model 2 learns their positions, the HMM the jump from the word before.

References: P. Brown, S. Della Pietra, V. Della Pietra and R. Mercer (1993), "The mathematics of
statistical machine translation", Computational Linguistics 19; S. Vogel, H. Ney and C. Tillmann
(1996), "HMM-based word alignment in statistical translation", COLING.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, Options, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.structured.margins.features import checked_corpus
from octavo.structured.margins.phrases import Alignment

__all__ = ["IBMAligner"]

FLOOR = 1e-12


class _Batch(NamedTuple):
    """Sentence pairs of equal lengths: entries of the word table, and the place of each pair."""

    cells: np.ndarray  # (pairs, target words, source words + 1): columns of the word table
    places: list[int]


class _Tables(NamedTuple):
    """t(e | f) by entry, position shares by lengths (model 2), shares of jumps by i - i' (HMM)."""

    words: Floats
    positions: dict[tuple[int, int], Floats]
    jumps: Floats
    empty: float


def _jump_matrix(tables: _Tables, n: int) -> Floats:
    """Return p(i | i') of the HMM: n words, then n empty words that remember i'."""
    middle = len(tables.jumps) // 2
    steps = np.arange(n)[None, :] - np.arange(n)[:, None]
    jump = tables.jumps[np.clip(steps + middle, 0, len(tables.jumps) - 1)]
    jump = jump / jump.sum(axis=1, keepdims=True)  # jumps that stay inside the sentence
    # a state of the empty word keeps the position that it was left from
    top = np.hstack([(1.0 - tables.empty) * jump, tables.empty * np.eye(n)])
    return np.vstack([top, top])


def _position_shares(model: Any, tables: _Tables, m: int, n: int) -> Floats:
    """Return p(i | j, m, n), the empty word first; model 1 has equal shares of all."""
    if model == 2 and (m, n) in tables.positions:
        return tables.positions[m, n]
    return np.full((m, n + 1), 1.0 / (n + 1.0))


def _mixture_step(model: Any, batch: _Batch, tables: _Tables) -> tuple[Floats, float]:
    """Return posteriors of models 1 and 2, and the log-likelihood."""
    _, m, columns = batch.cells.shape
    # t(e_j | f_i) p(i | j, m, n)
    joint = tables.words[batch.cells] * _position_shares(model, tables, m, columns - 1)
    totals = joint.sum(axis=2, keepdims=True)
    return joint / np.maximum(totals, 1e-300), float(np.log(np.maximum(totals, 1e-300)).sum())


def _emissions(batch: _Batch, tables: _Tables) -> Floats:
    """Return p(e_j | state) of the HMM: source words, then the empty word for each of them."""
    words = tables.words[batch.cells]
    n = words.shape[2] - 1
    return np.concatenate([words[:, :, 1:], np.repeat(words[:, :, :1], n, axis=2)], axis=2)


def _hmm_start(tables: _Tables, n: int) -> Floats:
    share = np.full(n, 1.0 / n)
    return np.concatenate([(1.0 - tables.empty) * share, tables.empty * share])


def _hmm_step(batch: _Batch, tables: _Tables) -> tuple[Floats, float, Floats]:
    """Return posteriors (the empty word first), the log-likelihood and expected moves i' -> i."""
    emit = _emissions(batch, tables)
    size, m, states = emit.shape
    n = states // 2
    move = _jump_matrix(tables, n)
    ahead, scale = np.empty_like(emit), np.empty((size, m))
    for j in range(m):
        prior = _hmm_start(tables, n) if j == 0 else ahead[:, j - 1] @ move
        ahead[:, j] = prior * emit[:, j]
        scale[:, j] = np.maximum(ahead[:, j].sum(axis=1), 1e-300)
        # scaled forward pass: the scales' product is the likelihood
        ahead[:, j] /= scale[:, j, None]
    back = np.ones((size, states))
    posterior, moves = np.empty_like(emit), np.zeros((n, n))
    posterior[:, m - 1] = ahead[:, m - 1]
    for j in range(m - 1, 0, -1):
        right = back * emit[:, j] / scale[:, j, None]
        # posterior of two neighbours, the scale taken out of the right part
        pairs = np.einsum("ba,bc->ac", ahead[:, j - 1], right) * move
        moves += pairs[:n, :n] + pairs[n:, :n]
        back = right @ move.T
        posterior[:, j - 1] = ahead[:, j - 1] * back
    empty = posterior[:, :, n:].sum(axis=2, keepdims=True)
    return np.concatenate([empty, posterior[:, :, :n]], axis=2), float(np.log(scale).sum()), moves


def _hmm_path(batch: _Batch, tables: _Tables) -> np.ndarray:
    """Return the most probable states, -1 for the empty word."""
    emit = np.log(np.maximum(_emissions(batch, tables), 1e-300))
    size, m, states = emit.shape
    n = states // 2
    move = np.log(np.maximum(_jump_matrix(tables, n), 1e-300))
    best = np.log(np.maximum(_hmm_start(tables, n), 1e-300)) + emit[:, 0]
    came = np.zeros((size, m, states), dtype=np.intp)
    for j in range(1, m):
        options = best[:, :, None] + move  # Viterbi
        came[:, j] = options.argmax(axis=1)
        best = options.max(axis=1) + emit[:, j]
    path = np.empty((size, m), dtype=np.intp)
    path[:, -1] = best.argmax(axis=1)
    for j in range(m - 1, 0, -1):
        path[:, j - 1] = came[np.arange(size), j, path[:, j]]
    return np.where(path < n, path, -1)


class IBMAligner(CallbackSupportMixin, SoundEstimator):
    """Aligns the words of sentence pairs by IBM model 1, model 2 or the HMM.

    Parameters
    ----------
    model : {1, 2, "hmm"}, default="hmm"
        The last model that is trained. Model 2 and the HMM start from model 1.
    n_iter : int, default=5
        Iterations of expectation-maximisation of each model.
    empty_probability : float, default=0.1
        HMM: chance that a target word has no source word.

    Attributes
    ----------
    translation_ : dict
        t(e | f) by (source word, target word); None is the empty source word.
    log_likelihoods_ : ndarray
        Before each iteration of the last model.
    log_likelihood_ : float
        After the last one.

    See Also
    --------
    read_pharaoh : Alignments of other programs.
    extract_phrase_pairs : What alignments are for.

    Notes
    -----
    Not for large corpora: eflomal and fast_align are made for these and write Pharaoh files.

    References
    ----------
    .. [1] S. Vogel, H. Ney and C. Tillmann (1996). HMM-based word alignment in statistical
       translation. COLING.

    Examples
    --------
    >>> from octavo.structured import IBMAligner
    >>> sources, targets = ["das Haus", "das Buch", "ein Buch"], ["the house", "the book", "a book"]
    >>> aligner = IBMAligner(model=1, n_iter=20).fit(sources, targets)
    >>> sorted(aligner.predict(["ein Haus"], ["a house"])[0])
    [(0, 0), (1, 1)]
    """

    _parameter_constraints: dict[str, Any] = {
        "model": [Options(Integral, {1, 2}), Options(str, {"hmm"})],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "empty_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, model="hmm", n_iter=5, empty_probability=0.1):
        self.model = model
        self.n_iter = n_iter
        self.empty_probability = empty_probability

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, sources: Any, targets: Any) -> Self:
        """Learn translations, and positions or jumps, from sentence pairs.

        Parameters
        ----------
        sources, targets : sequence of sentences
            Lists of words, or strings, none of them empty.

        Returns
        -------
        self : IBMAligner
            Fitted.
        """
        sources, targets = self._corpus(sources, targets)
        self._entries: dict[tuple[Any, str], int] = {}
        batches = self._batches(sources, targets, grow=True)
        keys = list(self._entries)
        rows: dict[Any, int] = {}
        owner = np.array([rows.setdefault(f, len(rows)) for f, _ in keys])
        words = 1.0 / np.bincount(owner)[owner]
        longest = max(len(source) for source in sources)
        jumps = np.full(2 * longest + 1, 1.0 / (2 * longest + 1))
        tables = _Tables(words, {}, jumps, float(self.empty_probability))
        stages = [1] if self.model == 1 else [1, self.model]
        with FitProgress(self, len(stages) * self.n_iter) as progress:
            for stage in stages:
                likelihoods = []
                for _ in range(self.n_iter):
                    tables, likelihood = _iteration(stage, batches, tables, owner)
                    likelihoods.append(likelihood)
                    if progress.step():
                        break
        self._tables, self._longest = tables, longest
        self.log_likelihoods_ = np.array(likelihoods)
        self.log_likelihood_ = self._likelihood(batches)
        self.translation_ = dict(zip(keys, tables.words.tolist()))
        return self

    def _corpus(self, sources: Any, targets: Any) -> tuple[list[list[str]], list[list[str]]]:
        sources, targets = checked_corpus(sources, targets)
        for number, pair in enumerate(zip(sources, targets)):
            if not all(pair):
                raise ValueError(f"Sentence pair {number} has an empty sentence; leave it out.")
        return sources, targets

    def _batches(self, sources: Any, targets: Any, grow: bool = False) -> list[_Batch]:
        entries, unknown = self._entries, -1
        groups: dict[tuple[int, int], tuple[list[Any], list[int]]] = {}
        for place, (source, target) in enumerate(zip(sources, targets)):
            cells = []
            for e in target:
                pairs = [(f, e) for f in (None, *source)]
                if grow:
                    cells.append([entries.setdefault(pair, len(entries)) for pair in pairs])
                else:
                    cells.append([entries.get(pair, unknown) for pair in pairs])
            found, places = groups.setdefault((len(target), len(source)), ([], []))
            found.append(cells)
            places.append(place)
        return [_Batch(np.array(cells), places) for cells, places in groups.values()]

    def _likelihood(self, batches: list[_Batch]) -> float:
        if self.model == "hmm":
            return sum(_hmm_step(batch, self._tables)[1] for batch in batches)
        return sum(_mixture_step(self.model, batch, self._tables)[1] for batch in batches)

    def predict(self, sources: Any, targets: Any) -> list[Alignment]:
        """Return the most probable source word of each target word.

        Parameters
        ----------
        sources, targets : sequence of sentences
            Sentence pairs; pairs of words never met together have a tiny probability.

        Returns
        -------
        alignments : list of set of (int, int)
            Links (source position, target position); target words of the empty word have none.
        """
        check_is_fitted(self, "translation_")
        sources, targets = self._corpus(sources, targets)
        # the last entry of the table is that of pairs never met
        tables = self._tables._replace(words=np.append(self._tables.words, FLOOR))
        found: list[Alignment] = [set() for _ in sources]
        for batch in self._batches(sources, targets):
            if self.model == "hmm":
                chosen = _hmm_path(batch, tables)
            else:
                chosen = _mixture_step(self.model, batch, tables)[0].argmax(axis=2) - 1
            for place, row in zip(batch.places, chosen):
                found[place] = {(int(i), j) for j, i in enumerate(row) if i >= 0}
        return found


def _iteration(
    model: Any, batches: list[_Batch], tables: _Tables, owner: np.ndarray
) -> tuple[_Tables, float]:
    """Return the tables after one step of expectation-maximisation, and the likelihood before."""
    counts, likelihood = np.zeros(len(tables.words)), 0.0
    positions, jumps = {}, np.zeros(len(tables.jumps))
    middle = len(jumps) // 2
    for batch in batches:
        _, m, columns = batch.cells.shape
        if model == "hmm":
            posterior, found, moves = _hmm_step(batch, tables)
            steps = np.arange(columns - 1)[None, :] - np.arange(columns - 1)[:, None]
            jumps += np.bincount((steps + middle).ravel(), moves.ravel(), len(jumps))
        else:
            posterior, found = _mixture_step(model, batch, tables)
            positions[m, columns - 1] = posterior.mean(axis=0)
        likelihood += found
        counts += np.bincount(batch.cells.ravel(), posterior.ravel(), len(counts))
    totals = np.bincount(owner, counts)  # t(e | f) sums to one for each f
    words = np.maximum(counts / np.maximum(totals[owner], 1e-300), FLOOR)
    if model == "hmm":
        jumps = (jumps + FLOOR) / (jumps + FLOOR).sum()
        return tables._replace(words=words, jumps=jumps), likelihood
    return tables._replace(words=words, positions=positions if model == 2 else {}), likelihood
