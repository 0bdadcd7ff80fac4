"""The random field of a label grammar on segmentations: scores, expectations, decoding.

A segment of positions u..v-1 with label y scores Σ_t x_t · coef[:, y], and, where the model has
them, weights of its length, of its first and last observation and of features of your own; every
pattern of segment labels that ends with it scores its weight and, where it is observed,
Σ_t x_t · transition[:, pattern] over the segment's positions besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.chains.lanes import GroupedEdges
from octavo.engine.chains.segments import (
    Segmentations,
    SegmentMarginals,
    SegmentScores,
    best_segmentations,
    k_best_segmentations,
    sample_segmentations,
    segment_marginals,
    segment_partition,
)
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.sequence.crf.chain_field import Blocks, runs_of
from octavo.sequence.crf.label_grammar import LabelGrammar

Problem = tuple[Floats, GroupedEdges, Floats, SegmentScores, Ints, Ints]
_CELLS = 1 << 22  # scores of segments that are held at once


class SegmentData(NamedTuple):
    """Stacked observations (N, F) and lengths; perhaps features of segments, and segments.

    ``custom`` (N * L, G) has the features of the segment of d + 1 positions that begins at row n
    in row n * L + d. ``counts`` is the number of segments of each sequence; ``start``, ``stop``
    and ``codes`` are theirs, positions counted from the sequence's beginning.
    """

    values: Any
    lengths: Ints
    custom: Any = None
    counts: Any = None
    start: Any = None
    stop: Any = None
    codes: Any = None

    def part(self, first: int, last: int) -> SegmentData:
        """Return sequences first .. last - 1."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        a, b = int(ends[first]), int(ends[last])
        custom = self.custom
        if custom is not None:
            L = custom.shape[0] // self.values.shape[0]
            custom = custom[a * L : b * L]
        if self.counts is None:
            return SegmentData(self.values[a:b], self.lengths[first:last], custom)
        own = np.concatenate([[0], np.cumsum(self.counts)])
        rows = slice(own[first], own[last])
        segments = (part[rows] for part in (self.start, self.stop, self.codes))
        return SegmentData(
            self.values[a:b],
            self.lengths[first:last],
            custom,
            self.counts[first:last],
            *segments,
        )

    def parts(self, positions: int) -> Iterator[SegmentData]:
        """Yield runs of sequences of about that many positions."""
        for first, last in self.runs(positions):
            yield self.part(first, last)

    def runs(self, positions: int) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of those runs."""
        yield from runs_of(self.lengths, positions)

    @property
    def rows(self) -> Ints:
        """The stacked row at which each segment begins."""
        return np.repeat(np.cumsum(self.lengths) - self.lengths, self.counts) + self.start

    @property
    def labels(self) -> Ints:
        """The code of every position."""
        return np.repeat(self.codes, self.stop - self.start)


class Mass(NamedTuple):
    """How much of segments covers, begins at and stops with positions (N, C); and of each.

    ``lengths`` (L, C) adds up those of a length, ``segments`` is (N, L, C), empty where no weight
    asks for it; a field with features of segments has lengths from them.
    """

    covered: Floats
    begin: Floats
    stop: Floats
    lengths: Floats
    segments: Floats


class SegmentField:
    """A random field of segmentations, without its weights.

    Parameters
    ----------
    grammar : LabelGrammar
        Complete where patterns are observed.
    n_features : int
        Number of features of an observation.
    observed : ndarray of int
        The patterns whose weights depend on the observations.
    max_length : int
        Most positions of a segment.
    length, boundary : bool
        Whether there are weights of lengths, and of first and last observations.
    n_custom : int
        Number of features of segments besides.
    """

    def __init__(
        self,
        grammar: LabelGrammar,
        n_features: int,
        observed: Ints,
        max_length: int,
        *,
        length: bool = False,
        boundary: bool = False,
        n_custom: int = 0,
    ) -> None:
        self.grammar, self.n_features, self.observed = grammar, n_features, observed
        self.max_length, self.n_custom = max_length, n_custom
        n = grammar.n_labels
        self.blocks = Blocks(
            coef=(n_features, n),
            pattern=(len(grammar.patterns),),
            transition=(n_features, observed.size),
            length=(max_length if length else 0, n),
            first=(n_features if boundary else 0, n),
            last=(n_features if boundary else 0, n),
            segment=(n_custom, n),
        )
        self._length, self._boundary = length, boundary
        ends = grammar.automaton.state_matrix[:, grammar.states] if observed.size else None
        self._ends = None if ends is None else ends[observed].tocsr()
        self._first_of_label = np.searchsorted(grammar.column, np.arange(n))
        self.column = grammar.column if self._ends is None else np.arange(grammar.n_states)

    @property
    def _positions(self) -> int:
        """How many positions are treated at once."""
        return max(1, _CELLS // (self.max_length * (int(self.column.max()) + 1)))

    # --- scores -----------------------------------------------------------------------------

    def scores(self, weights: Floats, data: SegmentData, loss: float = 0.0) -> SegmentScores:
        """Return the scores of all segments; a loss adds to wrong labels."""
        parts, n, L = self.blocks.split(weights), data.values.shape[0], self.max_length
        # g_i(x, u, v) of Eq. (1) that are sums over the positions of a segment
        base = np.asarray(data.values @ parts["coef"])
        if loss:
            # Hamming loss of positions, so that a segment's is the sum of its own
            base += loss * (data.labels[:, None] != np.arange(self.grammar.n_labels))
        label_of: Any = slice(None)
        if self._ends is not None:
            label_of = self.grammar.column
            observed = np.asarray(data.values @ parts["transition"])
            base = base[:, label_of] + (self._ends.T @ observed.T).T
        extra = np.zeros((n if self.n_custom else 1, L, base.shape[1]))
        if self._length:
            extra += parts["length"][:, label_of]
        if self.n_custom:
            extra += np.asarray(data.custom @ parts["segment"]).reshape(n, L, -1)[..., label_of]
        if not self._boundary:
            return SegmentScores(base, extra)
        first, last = (np.asarray(data.values @ parts[name]) for name in ("first", "last"))
        return SegmentScores(base, extra, first[:, label_of], last[:, label_of])

    def _problem(self, weights: Floats, data: SegmentData, loss: float = 0.0) -> Problem:
        """Return what the functions of the engine take."""
        start, edges, end = self.grammar.potentials(self.blocks.split(weights)["pattern"])
        scores = self.scores(weights, data, loss)
        return start, edges, end, scores, self.column, data.lengths

    # --- sums -------------------------------------------------------------------------------

    def marginals(
        self,
        weights: Floats,
        data: SegmentData,
        share: Floats | None = None,
        detail: str = "positions",
    ) -> SegmentMarginals:
        """Return the marginals of positions (N, labels or states) and totals.

        Those of single segments (N, L, labels or states) too, if the detail is "segments".
        """
        return segment_marginals(*self._problem(weights, data), weight=share, detail=detail)

    def log_partition(self, weights: Floats, data: SegmentData) -> Floats:
        """Return log Z of each sequence."""
        return np.concatenate(
            [
                segment_partition(*self._problem(weights, part))
                for part in data.parts(self._positions)
            ]
        )

    def by_label(self, marginals: Floats) -> Floats:
        """Return marginals (..., n_labels) from those of states or of labels already."""
        if marginals.shape[-1] == self.grammar.n_labels:
            return marginals
        return np.add.reduceat(marginals, self._first_of_label, axis=-1)

    def expected(self, weights: Floats, data: SegmentData, share: Floats) -> tuple[Floats, Floats]:
        """Return log Z_x of each sequence, and E(f_i) of all by their shares (Section 2.3.2)."""
        log_z, total = [], np.zeros(self.blocks.size)
        for first, last in data.runs(self._positions):
            part, own = data.part(first, last), share[first:last]
            found = self.marginals(weights, part, own, self._detail)
            pattern = self.grammar.expected(found.pairs, found.starts, found.ends)
            rows = np.repeat(own, part.lengths)[:, None]
            mass = Mass(  # P(u, v, z | x) times the share of its sequence
                found.covered * rows,
                found.begin * rows if self._boundary else found.begin,
                found.stop * rows if self._boundary else found.stop,
                found.lengths,
                found.segments * rows[:, None] if self.n_custom else found.segments,
            )
            total += self._features(part, mass, pattern)
            log_z.append(found.log_partition)
        return np.concatenate(log_z), total

    @property
    def _detail(self) -> str:
        """What weights of the field ask for."""
        if self.n_custom:
            return "segments"
        return "lengths" if self._length else "positions"

    def _features(self, data: SegmentData, mass: Mass, pattern: Floats) -> Floats:
        """Return the features that a mass of segments has."""
        # sums over all segments that cover a position
        parts = {"pattern": pattern, "coef": data.values.T @ self.by_label(mass.covered)}
        if self._ends is not None:
            parts["transition"] = data.values.T @ (self._ends @ mass.covered.T).T
        if self._boundary:
            parts["first"] = data.values.T @ self.by_label(mass.begin)
            parts["last"] = data.values.T @ self.by_label(mass.stop)
        if self.n_custom:
            labels = self.by_label(mass.segments)
            parts["segment"] = data.custom.T @ labels.reshape(-1, labels.shape[2])
        if self._length:
            lengths = mass.segments.sum(axis=0) if self.n_custom else mass.lengths
            parts["length"] = self.by_label(lengths)
        return self.blocks.join(**parts)

    def counted(self, data: SegmentData, share: Floats) -> Floats:
        """Return Ẽ(f_i), the features of the segments of all sequences, by their shares."""
        total = np.zeros(self.blocks.size)
        L, width = self.max_length, int(self.column.max()) + 1
        for first, last in data.runs(self._positions):
            part, own = data.part(first, last), share[first:last]
            column = self.column[self.grammar.walk(part.codes, part.counts)]
            n, sizes = part.values.shape[0], part.stop - part.start
            weight = np.repeat(own, part.counts)
            covered, begin, stop = np.zeros((3, n, width))
            covered[np.arange(n), np.repeat(column, sizes)] = np.repeat(weight, sizes)
            begin[part.rows, column] = weight
            stop[part.rows + sizes - 1, column] = weight
            lengths = np.zeros((L, width))
            np.add.at(lengths, (sizes - 1, column), weight)
            segments = np.zeros((n if self.n_custom else 0, L, width))
            if self.n_custom:
                segments[part.rows, sizes - 1, column] = weight
            pattern = self.grammar.counted(part.codes, part.counts, own)
            mass = Mass(covered, begin, stop, lengths, segments)
            total += self._features(part, mass, pattern)
        return total

    def path_scores(self, weights: Floats, data: SegmentData) -> Floats:
        """Return the score of the segments of each sequence."""
        found = []
        for part in data.parts(self._positions):
            states = self.grammar.walk(part.codes, part.counts)
            table = self.scores(weights, part).table()
            scores = table[part.rows, part.stop - part.start - 1, self.column[states]]
            pattern = self.blocks.split(weights)["pattern"]
            scores += self.grammar.scored(pattern, part.codes, part.counts)
            found.append(np.add.reduceat(scores, np.cumsum(part.counts) - part.counts))
        return np.concatenate(found)

    # --- paths ------------------------------------------------------------------------------

    def best(self, weights: Floats, data: SegmentData, loss: float = 0.0) -> Segmentations:
        """Return the segmentation of largest score of each sequence, states as label codes.

        The δ_x of Section 2.4, by the engine's max-plus.
        """
        found = [
            best_segmentations(*self._problem(weights, part, loss))
            for part in data.parts(self._positions)
        ]
        return self._joined(found)

    def most_violating(self, weights: Floats, data: SegmentData) -> tuple[SegmentData, Floats]:
        """Return the segments that maximise score plus Hamming loss, and the losses."""
        found = self.best(weights, data, loss=1.0)
        worst = data._replace(
            counts=np.diff(found.ptr), start=found.start, stop=found.stop, codes=found.state
        )
        starts = np.cumsum(data.lengths) - data.lengths
        return worst, np.add.reduceat(1.0 * (worst.labels != data.labels), starts)

    def k_best(self, weights: Floats, data: SegmentData, k: int) -> list[Segmentations]:
        """Return the k best segmentations of each sequence."""
        found = [
            k_best_segmentations(*self._problem(weights, part), k)
            for part in data.parts(self._positions)
        ]
        return [self._joined([part[r] for part in found]) for r in range(k)]

    def sample(
        self, weights: Floats, data: SegmentData, n_samples: int, rng: np.random.RandomState
    ) -> list[Segmentations]:
        """Return independent segmentations of each sequence."""
        found = [
            sample_segmentations(*self._problem(weights, part), n_samples, rng)
            for part in data.parts(self._positions)
        ]
        return [self._joined([part[r] for part in found]) for r in range(n_samples)]

    def _joined(self, parts: list[Segmentations]) -> Segmentations:
        counts = np.concatenate([np.diff(part.ptr) for part in parts])
        ptr = np.concatenate([[0], np.cumsum(counts)])
        start, stop, state, score = (np.concatenate(column) for column in list(zip(*parts))[1:])
        return Segmentations(ptr, start, stop, self.grammar.column[state], score)
