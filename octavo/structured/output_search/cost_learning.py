"""Learning the cost from ranking examples: groups of candidates, and passes over them.

Algorithm 2 of Doppa, Fern and Tadepalli (2014), and DAgger as in their Section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.streams.rank_steps import RULES
from octavo.structured.output_search.evaluation import CostField, HammingEvaluation
from octavo.structured.output_search.kernels import difference, rank_groups, rank_room
from octavo.structured.output_search.procedures import OutputSearch, step_budget
from octavo.structured.output_search.rollouts import Training
from octavo.structured.output_search.space import Successors


class RankingExamples:
    """Groups of candidates of which every kept one must cost less than every pruned one.

    A candidate is stored as the cells that it changes in the group's labelling, so that a group
    takes memory for its changes only; differences of features are made on the fly.
    """

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.parts: list[tuple[Ints, Successors, np.ndarray, Floats]] = []
        self.counts: list[int] = []  # pairs of each group

    @property
    def n_pairs(self) -> int:
        """Return the number of pairs in all groups."""
        return sum(self.counts)

    def recorder(self, start: int) -> Any:
        """Return what a search calls with the comparisons of a structure's nodes."""

        def record(labels: Ints, found: Successors, kept: np.ndarray, losses: Floats) -> None:
            pairs = _pairs(kept, losses)
            if pairs:
                self.starts.append(int(start))
                self.parts.append((labels, found, kept, losses))
                self.counts.append(pairs)

        return record

    def extend(self, other: RankingExamples) -> None:
        """Take in the groups of another set."""
        self.starts += other.starts
        self.parts += other.parts
        self.counts += other.counts

    def cut(self, n_groups: int) -> None:
        """Keep the first groups only."""
        self.starts, self.parts = self.starts[:n_groups], self.parts[:n_groups]
        self.counts = self.counts[:n_groups]

    def arrays(self) -> tuple[Any, ...]:
        """Return all groups stacked for compiled code."""
        base = [part[0] for part in self.parts]
        found = [part[1] for part in self.parts]
        return (
            np.array(self.starts, dtype=np.int64),
            _pointers([b.size for b in base]),
            np.concatenate(base),
            _pointers([len(f) for f in found]),
            np.concatenate([part[2] for part in self.parts]),
            np.concatenate([part[3] for part in self.parts]),
            _pointers(np.concatenate([np.diff(f.ptr) for f in found])),
            np.concatenate([f.cell for f in found]),
            np.concatenate([f.label for f in found]),
        )


def _pointers(counts: Any) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _pairs(kept: np.ndarray, losses: Floats) -> int:
    """Return how many pairs (kept, pruned) of different loss a group has."""
    which = np.flatnonzero(kept)
    if which.size == 1:
        return int(np.count_nonzero(losses > losses[which[0]]))
    pruned = np.sort(losses[~kept])
    return int(np.sum(pruned.size - np.searchsorted(pruned, losses[kept], side="right")))


class RankLearner:
    """Passes of a rank learner over groups, with the weights and their mean."""

    def __init__(self, field: CostField, n_weights: int, rule: str, most: float = np.inf) -> None:
        self.field, self.rule, self.most = field, RULES[rule], float(most)
        self.weights, self.drift, self.scratch = (np.zeros(n_weights) for _ in range(3))
        self.clock = 1.0

    @property
    def mean(self) -> Floats:
        """Return the mean of the weights over all examples so far."""
        # the sum of past weights is kept as their drift: no pass over all weights at each step
        return self.weights - self.drift / self.clock

    def one_pass(self, arrays: tuple[Any, ...], rng: Any) -> int:
        """Go over all groups in a random order; return the number of steps."""
        field, (_, base_ptr, _, cand_ptr, *_) = self.field, arrays
        self.clock, field.tick, steps = rank_groups(
            rng.permutation(arrays[0].size),
            field.X,
            field.n_labels,
            *arrays,
            *field.runs,
            field.stamps,
            field.tick + 1,
            self.weights,
            self.drift,
            self.clock,
            self.scratch,
            self.rule,
            self.most,
            *rank_room(
                int(np.diff(base_ptr).max()),
                field.n_labels,
                int(np.diff(cand_ptr).max()),
                field.room,
                field.spots,
            ),
        )
        return int(steps)


# --- the rank learner as a machine --------------------------------------------------------------

MOST_PAIRS = 100_000  # differences that the support vector machine is given


def difference_rows(field: CostField, examples: RankingExamples, rng: Any) -> sp.csr_array:
    """Return Φ(worse) - Φ(better) of pairs, at most 100,000 drawn at random."""
    share = min(1.0, MOST_PAIRS / max(examples.n_pairs, 1))
    # better below worse: Section 4.4 as a classification of differences
    rows: list[tuple[Ints, Floats]] = []
    for start, (labels, found, kept, losses) in zip(examples.starts, examples.parts):
        outputs = found.outputs(labels)
        for i in np.flatnonzero(kept):
            for j in np.flatnonzero(~kept & (losses > losses[i])):
                if share < 1.0 and rng.uniform() > share:
                    continue
                indices, values = np.zeros(field.room, dtype=np.int64), np.zeros(field.room)
                cells = np.flatnonzero(outputs[i] != outputs[j])
                field.tick += 1
                n = difference(
                    outputs[i],
                    outputs[j],
                    start,
                    field.X,
                    field.n_labels,
                    cells,
                    cells.size,
                    *field.runs,
                    field.stamps,
                    field.tick,
                    indices,
                    values,
                )
                rows.append((indices[:n], values[:n]))
    return rows_of(rows)


def rows_of(rows: list[tuple[Ints, Floats]]) -> sp.csr_array:
    """Return sparse vectors as the rows of a matrix, repeated entries added up."""
    pointers = _pointers([r[0].size for r in rows])
    indices = np.concatenate([r[0] for r in rows])
    data = np.concatenate([r[1] for r in rows])
    found = sp.csr_array((data, indices.astype(np.int32), pointers.astype(np.int32)))
    found.sum_duplicates()
    return found


def machine_weights(training: Training, examples: RankingExamples, rng: Any) -> Floats:
    """Return the weights of a linear support vector machine on differences (SVM-Rank)."""
    rows = difference_rows(training.field, examples, rng)
    # both signs, so that the machine has two classes to tell apart
    sign = np.where(np.arange(rows.shape[0]) % 2 == 0, 1.0, -1.0)
    if rows.shape[0] == 1:
        rows, sign = sp.vstack([rows, rows], format="csr"), np.array([1.0, -1.0])
    machine = LinearSVC(fit_intercept=False, C=0.01, random_state=int(rng.randint(2**31 - 1)))
    rows.data *= np.repeat(sign, np.diff(rows.indptr))
    machine.fit(rows, sign)
    weights = np.zeros(training.n_weights)
    weights[: machine.coef_.size] = machine.coef_[0]
    return weights


# --- imitation ----------------------------------------------------------------------------------


class Learned(NamedTuple):
    """Weights of the cost, pairs that they were learned from, ranking errors by pass."""

    weights: Floats
    n_pairs: int
    errors: Ints


class Imitation:
    """Runs the searches that are imitated, with the options of an estimator."""

    def __init__(
        self,
        training: Training,
        rng: Any,
        *,
        search: tuple[str, int, bool],
        n_steps: Any,
    ) -> None:
        self.training, self.rng, self.search, self.n_steps = training, rng, search, n_steps

    def _ties(self, q: int) -> Callable[[Ints, Successors], Floats]:
        """Return what orders candidates of equal loss: chance.

        Losses other than Hamming have plateaus; there fewer wrong labels come first, or the
        search would wander.
        """
        wrong = HammingEvaluation(self.training.truth(q))
        plain = self.training.loss.loss == "hamming"

        def order(labels: Ints, found: Successors) -> Floats:
            chance = self.rng.uniform(size=len(found))
            return chance if plain else chance + wrong.of_successors(labels, 0.0, found)

        return order

    def examples(self, structures: Iterable[int], weights: Floats | None = None) -> RankingExamples:
        """Return what the loss-guided search decides (Algorithm 2); weights break ties."""
        training, examples = self.training, RankingExamples()
        starts = training.cells.starts
        for q in structures:
            ties: Any = self._ties(q)
            if weights is not None:
                ties = _CostTies(training.field, q, weights)
            # Section 4.2: the search that the true loss guides
            run = OutputSearch(training.space, q, training.expert(q), *self.search, ties=ties)
            n = step_budget(self.n_steps, int(starts[q + 1] - starts[q]))
            run.run(n, examples.recorder(starts[q]))
        return examples

    def corrections(self, structures: Iterable[int], weights: Floats) -> RankingExamples:
        """Return what the expert would decide at the states that the learned cost visits."""
        training, examples = self.training, RankingExamples()
        starts = training.cells.starts
        for q in structures:
            expert, record = training.expert(q), examples.recorder(starts[q])
            guide = training.field.evaluation(q, weights)
            run = OutputSearch(training.space, q, guide, *self.search)
            advice = OutputSearch(training.space, q, expert, *self.search, ties=self._ties(q))
            for _ in range(step_budget(self.n_steps, int(starts[q + 1] - starts[q]))):
                # The expert decides in the memory that the learned search is in.
                # DAgger: states of the learned search, decisions of the expert (Section 5.3)
                advice.beam = [node._replace(value=expert.of(node.labels)) for node in run.beam]
                advice.beam.sort(key=lambda node: node.value)
                advice.seen = set(run.seen)
                best = run.best.labels
                advice.best = run.best._replace(value=expert.of(best))
                advice.step(record)
                if not run.step():
                    break
        return examples

    def loss(self, structures: Iterable[int], weights: Floats) -> float:
        """Return the mean loss per cell of predictions in the training space."""
        training, total, cells = self.training, 0.0, 0
        starts = training.cells.starts
        for q in structures:
            n = int(starts[q + 1] - starts[q])
            guide = training.field.evaluation(q, weights)
            found = OutputSearch(training.space, q, guide, *self.search)
            labels = found.run(step_budget(self.n_steps, n)).labels
            total += training.loss.value(training.truth(q), labels, training.shape(q))
            cells += n
        return total / cells


class _CostTies:
    """Orders candidates of equal loss by a cost."""

    def __init__(self, field: CostField, q: int, weights: Floats) -> None:
        self.evaluation = field.evaluation(q, weights)

    def __call__(self, labels: Ints, found: Successors) -> Floats:
        return self.evaluation.of_successors(labels, 0.0, found)


class Passes(NamedTuple):
    """How a rank learner goes over examples: its rule, passes, and what to do after each."""

    rule: str
    n_epochs: int
    tie_break: str
    step: Callable[[], bool]


# After these passes the weights are judged on held-out structures.
JUDGED = frozenset({1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160})


def learn_cost(
    training: Training,
    rng: Any,
    *,
    rule: str,
    n_epochs: int,
    rounds: int,
    tie_break: str,
    validation_fraction: float,
    search: tuple[str, int, bool],
    n_steps: Any,
    step: Callable[[], bool],
) -> Learned:
    """Return the cost that imitates loss-guided searches, exactly or by DAgger.

    Held-out structures tell after how many passes to stop; then all structures are learned from
    with that many. With DAgger they also choose the round.
    """
    imitation = Imitation(training, rng, search=search, n_steps=n_steps)
    how = Passes(rule, n_epochs, tie_break, step)
    n = training.cells.lengths.size
    held = np.zeros(n, dtype=bool)
    if n >= FEWEST_JUDGED:
        held[rng.permutation(n)[: max(1, int(validation_fraction * n))]] = True
    own, judges = np.flatnonzero(~held), np.flatnonzero(held)
    # Algorithm 2: exact imitation on every structure
    examples, more = imitation.examples(own), imitation.examples(judges)
    best, errors = None, []
    for r in range(rounds + 1):
        if examples.parts:
            found = _learn(imitation, examples, own, judges, rng, how)
            errors += found.errors
            if best is None or found.loss < best.loss:
                # the round that is best by held-out structures
                best, chosen = found, (len(examples.parts), len(more.parts))
        if best is not None and r < rounds:
            examples.extend(imitation.corrections(own, found.weights))
            more.extend(imitation.corrections(judges, found.weights))
    if best is None:
        return Learned(np.zeros(training.n_weights), 0, np.zeros(0, dtype=np.int64))
    if judges.size and more.parts:
        examples.cut(chosen[0])
        more.cut(chosen[1])
        examples.extend(more)
        everyone, nobody = np.arange(n), np.zeros(0, dtype=np.int64)
        how = how._replace(n_epochs=best.n_passes, step=lambda: False)
        best = _learn(imitation, examples, everyone, nobody, rng, how)
    return Learned(best.weights, examples.n_pairs, np.array(errors, dtype=np.int64))


FEWEST_JUDGED = 20  # structures below which none are held out


class _Found(NamedTuple):
    weights: Floats
    loss: float
    n_passes: int
    errors: list[int]


def _learn(
    imitation: Imitation,
    examples: RankingExamples,
    own: Ints,
    judges: Ints,
    rng: Any,
    how: Passes,
) -> _Found:
    """Return the weights of the pass that is best by the judges; of the last without any."""
    training = imitation.training
    if how.rule == "svm":
        weights = machine_weights(training, examples, rng)
        loss = imitation.loss(judges, weights) if judges.size else 0.0
        return _Found(weights, loss, how.n_epochs, [])
    learner, errors = RankLearner(training.field, training.n_weights, how.rule), []
    arrays, best = examples.arrays(), None
    for epoch in range(1, how.n_epochs + 1):
        if how.tie_break == "cost" and epoch > 1:
            # ties by the present cost in place of chance
            arrays = imitation.examples(own, learner.mean).arrays()
        errors.append(learner.one_pass(arrays, rng))
        stop = how.step() or errors[-1] == 0 or epoch == how.n_epochs
        late = best is not None and epoch > 3 * best.n_passes + 10
        stop = stop or late  # long after the best pass: more only follow the noise
        if stop or (judges.size and epoch in JUDGED):
            weights = learner.mean
            loss = imitation.loss(judges, weights) if judges.size else 0.0
            if best is None or loss < best.loss:
                best = _Found(weights, loss, epoch, errors)
        if stop:
            break
    assert best is not None
    return best
