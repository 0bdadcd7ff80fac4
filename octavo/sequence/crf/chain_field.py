"""The random field of a label grammar on chains of positions: scores, expectations, decoding.

Position t with label y scores x_t · coef[:, y]; every pattern that ends at t scores its weight,
and, where it is observed, x_t · transition[:, pattern] besides. The log-likelihood is concave in
all weights together; its gradient is counted less expected features.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from octavo.engine.chains.inference import best_paths, k_best_paths, sample_paths
from octavo.engine.chains.lanes import TiedMarginals, tied_marginals
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.sequence.crf.label_grammar import LabelGrammar, Potentials

_CELLS = 1 << 22  # scores of states that are held at once when decoding


class Blocks:
    """Named arrays laid out in one vector of weights.

    Parameters
    ----------
    **shapes : tuple of int
        Their names and shapes, in order.
    """

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self.shapes = shapes
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())]).tolist()
        self._slices = {name: slice(*ends[i : i + 2]) for i, name in enumerate(shapes)}
        self.size = ends[-1]

    def split(self, weights: Floats) -> dict[str, Floats]:
        """Return views of the vector, by name."""
        return {
            name: weights[self._slices[name]].reshape(shape) for name, shape in self.shapes.items()
        }

    def join(self, **arrays: Floats) -> Floats:
        """Return the vector that holds the arrays; what is not given is zero."""
        weights = np.zeros(self.size)
        for name, array in arrays.items():
            weights[self._slices[name]] = np.ravel(array)
        return weights


class ChainData(NamedTuple):
    """Stacked observations (N, F), dense or CSR, and lengths; perhaps labels as codes (N,)."""

    values: Any
    lengths: Ints
    codes: Ints | None = None

    def part(self, first: int, last: int) -> ChainData:
        """Return sequences first .. last - 1."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        rows = slice(ends[first], ends[last])
        codes = None if self.codes is None else self.codes[rows]
        return ChainData(self.values[rows], self.lengths[first:last], codes)

    def runs(self, positions: int) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of runs of sequences of about that many positions."""
        yield from runs_of(self.lengths, positions)

    def parts(self, positions: int) -> Iterator[ChainData]:
        """Yield those runs."""
        for first, last in self.runs(positions):
            yield self.part(first, last)


def runs_of(lengths: Ints, positions: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of runs of sequences of about that many positions."""
    first, held = 0, 0
    for q, length in enumerate(lengths.tolist()):
        if held and held + length > positions:
            yield first, q
            first, held = q, 0
        held += length
    yield first, lengths.size


class ChainField:
    """A random field whose weights are not part of it.

    Parameters
    ----------
    grammar : LabelGrammar
        Complete where patterns are observed.
    n_features : int
        Number of features of an observation.
    observed : sequence of int
        The patterns whose weights depend on the observation.
    """

    def __init__(self, grammar: LabelGrammar, n_features: int, observed: Ints) -> None:
        self.grammar, self.n_features, self.observed = grammar, n_features, observed
        self.blocks = Blocks(
            coef=(n_features, grammar.n_labels),
            pattern=(len(grammar.patterns),),
            transition=(n_features, observed.size),
        )
        ends = grammar.automaton.state_matrix[:, grammar.states] if observed.size else None
        self._ends = None if ends is None else ends[observed].tocsr()
        self._first_of_label = np.searchsorted(grammar.column, np.arange(grammar.n_labels))

    @property
    def _positions(self) -> int:
        """How many positions are treated at once where every state has a score of its own."""
        return max(1, _CELLS // self.grammar.n_states)

    # --- scores -----------------------------------------------------------------------------

    def nodes(self, weights: Floats, values: Any) -> tuple[Floats, Ints]:
        """Return scores of positions, and the column of each state in them."""
        # Σ λ_i g_i of the features of Eq. (1) that look at x: log Ψ_x of Section 2.3.1, but for the
        # weights of bare patterns, which stand on the transitions.
        parts = self.blocks.split(weights)
        scores = np.asarray(values @ parts["coef"])
        column = self.grammar.column
        if self._ends is None:
            return scores, column
        observed = np.asarray(values @ parts["transition"])
        # a state tells which observed patterns end there: its score is theirs too
        return scores[:, column] + (self._ends.T @ observed.T).T, np.arange(column.size)

    def potentials(self, weights: Floats) -> Potentials:
        """Return the scores of first states, transitions and last states."""
        return self.grammar.potentials(self.blocks.split(weights)["pattern"])

    def by_label(self, states: Floats) -> Floats:
        """Return marginals of labels from marginals of states (N, K) or of labels already."""
        if states.shape[1] == self.grammar.n_labels:
            return states
        # states of one label stand together
        return np.add.reduceat(states, self._first_of_label, axis=1)

    # --- sums -------------------------------------------------------------------------------

    def marginals(
        self, weights: Floats, data: ChainData, share: Floats | None = None
    ) -> TiedMarginals:
        """Return marginals of positions (of states where patterns are observed) and totals.

        All sequences at once: for many, take `label_marginals` or `log_partition`.
        """
        nodes, column = self.nodes(weights, data.values)
        start, edges, end = self.potentials(weights)
        return tied_marginals(start, edges, nodes, column, data.lengths, end=end, weight=share)

    def expected(self, weights: Floats, data: ChainData, share: Floats) -> tuple[Floats, Floats]:
        """Return log Z_x of each sequence, and E(f_i) of all by their shares (Section 2.3.2)."""
        if self._ends is None:
            return self._expected(weights, data, share)
        found = [
            self._expected(weights, data.part(first, last), share[first:last])
            for first, last in data.runs(self._positions)
        ]
        log_z, features = zip(*found)
        return np.concatenate(log_z), np.sum(features, axis=0)

    def _expected(self, weights: Floats, data: ChainData, share: Floats) -> tuple[Floats, Floats]:
        found = self.marginals(weights, data, share)
        # P(u, v, z | x) of the last label's states
        pattern = self.grammar.expected(found.pairs, found.starts, found.ends)
        states = found.nodes * np.repeat(share, data.lengths)[:, None]
        labels = self.by_label(states)
        parts = {"coef": data.values.T @ labels, "pattern": pattern}
        if self._ends is not None:
            # E(f_i) of patterns that look at x: their states' marginals times x
            parts["transition"] = data.values.T @ (self._ends @ states.T).T
        return found.log_partition, self.blocks.join(**parts)

    def _runs(self, data: ChainData) -> Iterator[ChainData]:
        return data.parts(self._positions) if self._ends is not None else iter([data])

    def label_marginals(self, weights: Floats, data: ChainData) -> Floats:
        """Return the marginals of labels (N, n_labels)."""
        found = [self.by_label(self.marginals(weights, p).nodes) for p in self._runs(data)]
        return np.concatenate(found)

    def log_partition(self, weights: Floats, data: ChainData) -> Floats:
        """Return log Z of each sequence."""
        return np.concatenate(
            [self.marginals(weights, part).log_partition for part in self._runs(data)]
        )

    def counted(self, data: ChainData, share: Floats) -> Floats:
        """Return Ẽ(f_i), the features of the labels of all sequences, by their shares."""
        assert data.codes is not None
        rows = np.arange(data.codes.size)
        weight = np.repeat(share, data.lengths)
        labels = np.zeros((rows.size, self.grammar.n_labels))
        labels[rows, data.codes] = weight
        parts = {
            "coef": data.values.T @ labels,
            "pattern": self.grammar.counted(data.codes, data.lengths, share),
        }
        if self._ends is not None:
            states = self.grammar.walk(data.codes, data.lengths)
            fires = self._ends.T.tocsr()[states].multiply(weight[:, None])
            parts["transition"] = data.values.T @ fires.toarray()
        return self.blocks.join(**parts)

    def path_scores(self, weights: Floats, data: ChainData) -> Floats:
        """Return the score of the labels of each sequence."""
        pattern = self.blocks.split(weights)["pattern"]
        found = []
        for part in self._runs(data):
            assert part.codes is not None
            nodes, column = self.nodes(weights, part.values)
            states = self.grammar.walk(part.codes, part.lengths)
            scores = nodes[np.arange(states.size), column[states]]
            # every pattern that ends at a label, END included
            scores += self.grammar.scored(pattern, part.codes, part.lengths)
            found.append(np.add.reduceat(scores, np.cumsum(part.lengths) - part.lengths))
        return np.concatenate(found)

    # --- paths ------------------------------------------------------------------------------

    def _wide(
        self, weights: Floats, data: ChainData, loss: float = 0.0
    ) -> Iterator[tuple[tuple[Any, Any, Floats], Ints]]:
        """Yield (start, transitions, nodes) and lengths of runs of sequences."""
        start, edges, end = self.potentials(weights)
        plain = self.grammar.single(edges)
        for part in data.parts(self._positions):
            nodes, column = self.nodes(weights, part.values)
            wide = nodes[:, column]
            if loss:
                assert part.codes is not None
                # Hamming loss, added to what is decoded
                wide += loss * (part.codes[:, None] != self.grammar.column)
            wide[np.cumsum(part.lengths) - 1] += end  # patterns with END go to the last position
            yield (start, plain, wide), part.lengths

    def best(self, weights: Floats, data: ChainData, loss: float = 0.0) -> tuple[Ints, Floats]:
        """Return the labels of largest score of each sequence, and the scores: Section 2.4.

        A loss adds that much for every position whose label differs from the data's.
        """
        found = [best_paths(*scores, n) for scores, n in self._wide(weights, data, loss)]
        states = np.concatenate([paths.states for paths in found])
        return self.grammar.column[states], np.concatenate([paths.score for paths in found])

    def most_violating(self, weights: Floats, data: ChainData) -> tuple[ChainData, Floats]:
        """Return the labels that maximise score plus Hamming loss, and the losses."""
        assert data.codes is not None
        codes, _ = self.best(weights, data, loss=1.0)
        starts = np.cumsum(data.lengths) - data.lengths
        return data._replace(codes=codes), np.add.reduceat(1.0 * (codes != data.codes), starts)

    def k_best(self, weights: Floats, data: ChainData, k: int) -> tuple[Ints, Floats]:
        """Return k labellings (k, N), -1 where there are fewer, and their scores (k, n)."""
        found = [k_best_paths(*scores, k, n) for scores, n in self._wide(weights, data)]
        states = np.concatenate([paths.states for paths in found], axis=1)
        labels = np.where(states >= 0, self.grammar.column[states], -1)
        return labels, np.concatenate([paths.score for paths in found], axis=1)

    def sample(
        self, weights: Floats, data: ChainData, n_samples: int, rng: np.random.RandomState
    ) -> Ints:
        """Return independent labellings (n_samples, N)."""
        found = [
            sample_paths(*scores, n_samples, rng, n) for scores, n in self._wide(weights, data)
        ]
        return self.grammar.column[np.concatenate(found, axis=1)]


class FieldLikelihood:
    """The log-likelihood of a data set as a function of the weights, with its gradient.

    Parameters
    ----------
    field : ChainField or SegmentField
        The model.
    data : ChainData or SegmentData
        Observations with labels.
    share : ndarray
        What each sequence counts for.
    pool : joblib.Parallel
        Threads; each takes a run of sequences.
    """

    def __init__(self, field: Any, data: Any, share: Floats, pool: Parallel) -> None:
        self.field, self.share, self.pool = field, share, pool
        self.counted = field.counted(data, share)
        n_parts = min(effective_n_jobs(pool.n_jobs), data.lengths.size)
        goals = np.linspace(0, data.lengths.sum(), n_parts + 1)[1:-1]
        cuts = np.searchsorted(np.cumsum(data.lengths), goals).tolist()
        bounds = sorted({0, *cuts, data.lengths.size})
        self.parts = [
            (data.part(first, last), share[first:last]) for first, last in pairwise(bounds)
        ]

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return Σ share log P(labels | observations) and its gradient."""
        if len(self.parts) == 1:
            found = [self.field.expected(weights, *self.parts[0])]
        else:
            found = self.pool(delayed(self.field.expected)(weights, *part) for part in self.parts)
        total = sum(float(share @ log_z) for (log_z, _), (_, share) in zip(found, self.parts))
        gradient = self.counted - sum(expected for _, expected in found)  # Ẽ(f) - E(f)
        return float(self.counted @ weights) - total, gradient  # Σ λ·f - log Z_x, Section 2.3
