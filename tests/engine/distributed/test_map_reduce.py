"""Tree reductions against exact sums; threads, failures and timing of communicators."""

import math
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.distributed.map_reduce import (
    MemoryLost,
    ShardError,
    Site,
    ThreadCommunicator,
    add,
    fold,
    join,
    largest,
    nbytes,
    tree_allreduce,
    tree_reduce,
    tree_rounds,
)
from octavo.engine.distributed.shards import split_rows
from octavo.engine.distributed.timing import FitTiming, Span, busy_seconds, phase_timing


def random_tree(rng, n):
    """Return the parents of a random recursive tree with shuffled labels."""
    label = rng.permutation(n)
    parents = np.full(n, -1)
    for k in range(1, n):
        parents[label[k]] = label[rng.integers(0, k)]
    return parents.tolist()


@settings(max_examples=100, deadline=None)
@given(n=st.sampled_from([0, 1, 2, 3, 5, 7, 8, 13, 31]), seed=st.integers(0, 10**6))
@pytest.mark.parametrize("shaped", [False, True])
def test_sum_equals_the_exact_sum_for_any_tree(shaped, n, seed):
    rng = np.random.default_rng(seed)
    arrays = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-8, 8, size=(n, 4))
    tree = random_tree(rng, n) if shaped and n else None
    results = tree_allreduce(list(arrays), tree=tree)
    assert len(results) == n
    exact = np.array([math.fsum(column) for column in arrays.T])
    bound = n * np.finfo(float).eps * np.abs(arrays).sum(axis=0)
    for result in results:
        assert (np.abs(result - exact) <= bound).all()
        assert result.tobytes() == results[0].tobytes(), "nodes differ in their bits"


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_other_operations(n, seed):
    rng = np.random.default_rng(seed)
    arrays, weights = list(rng.normal(size=(n, 3))), list(rng.uniform(0, 2, size=(n, 3)))
    tree = random_tree(rng, n)
    for shape in (None, tree):
        np.testing.assert_array_equal(
            tree_allreduce(arrays, "max", tree=shape)[0], np.max(arrays, axis=0)
        )
        np.testing.assert_array_equal(
            tree_allreduce(arrays, "min", tree=shape)[-1], np.min(arrays, axis=0)
        )
        np.testing.assert_allclose(
            tree_allreduce(arrays, "average", weights=weights, tree=shape)[0],
            np.average(arrays, axis=0, weights=weights),
            rtol=1e-12,
        )
        np.testing.assert_allclose(
            tree_allreduce(arrays, "average", tree=shape)[0], np.mean(arrays, axis=0), rtol=1e-12
        )
    for got in tree_allreduce(arrays, "broadcast"):
        np.testing.assert_array_equal(got, arrays[0])


def test_allreduce_of_numbers_and_of_nothing():
    assert [float(r) for r in tree_allreduce([7, 5, 1, 4, 9, 3, 8])] == [37.0] * 7  # Figure 1
    assert tree_allreduce([]) == []
    assert tree_allreduce([np.empty(0)] * 3)[0].size == 0
    np.testing.assert_array_equal(
        tree_allreduce([[1.0], [2.0]], "average", weights=[0, 0])[0], [0.0]
    )


def test_bad_reductions_say_what_is_wrong():
    with pytest.raises(ValueError, match="one shape"):
        tree_allreduce([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="got 'median'"):
        tree_allreduce([1.0], "median")
    with pytest.raises(ValueError, match="2 arrays and 1 weights"):
        tree_allreduce([1.0, 2.0], "average", weights=[1.0])
    with pytest.raises(ValueError, match="tree of 3 nodes"):
        tree_allreduce([1.0, 2.0], tree=[-1, 0, 0])
    with pytest.raises(ValueError, match="cycle"):
        tree_allreduce([1.0, 2.0, 3.0], tree=[-1, 2, 1])
    with pytest.raises(ValueError, match="one root"):
        tree_allreduce([1.0, 2.0], tree=[-1, -1])


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 16, 33])
def test_the_tree_is_shallow_and_takes_everyone_once(n):
    rounds = tree_rounds(n)
    assert len(rounds) == math.ceil(math.log2(n))
    taken = [b for pairs in rounds for _, b in pairs]
    assert sorted(taken) == list(range(1, n))
    assert tree_reduce([[k] for k in range(n)], join) == list(range(n)), "not in order of rank"


@settings(max_examples=100, deadline=None)
@given(n=st.integers(1, 20), m=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_folding_parts_gives_the_bits_of_the_whole_tree(n, m, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 3))
    owner = rng.integers(0, m, n)  # any part of the ranks, not only neighbours
    parts = [{(k, 1): values[k] for k in np.flatnonzero(owner == j)} for j in range(m)]
    merged = {}
    for part in parts:
        merged = fold({**merged, **fold(part, n, np.add)}, n, np.add)
    ((_, root),) = merged.items()
    assert root.tobytes() == tree_reduce(list(values), np.add).tobytes()


def test_combinations():
    one, two = (1.0, np.array([1.0, 5.0])), (2.0, np.array([3.0, 4.0]))
    np.testing.assert_equal(add(one, two), (3.0, np.array([4.0, 9.0])))
    np.testing.assert_equal(largest(one, two), (2.0, np.array([3.0, 5.0])))
    assert nbytes(one) == 24


# --- threads ---------------------------------------------------------------------------------


def shards(m, n=40):
    rng = np.random.default_rng(0)
    return split_rows(rng.normal(size=(n, 3)), np.arange(float(n)), None, m)


def targets(site):
    (block,) = site.shard.blocks()
    site.work += block.nnz
    return float(block.y.sum()), block.y.size


def remembering(site, key):
    if key not in site.memory:
        raise MemoryLost
    return [site.memory[key]]


def remember(site, key, value):
    site.memory[key] = value + site.rank


def failing(site):
    if site.rank == 1:
        raise ValueError("broken row")
    return 0.0


def poisoned(site):
    return np.array([np.nan if site.rank == 2 else 1.0, 1.0])


@pytest.fixture(params=[(1, 1), (3, 1), (3, 2), (7, 4)])
def threads(request):
    m, n_threads = request.param
    comm = ThreadCommunicator(n_threads)
    comm.open(shards(m))
    yield comm, m
    comm.close()


def test_threads_reach_every_shard(threads):
    comm, m = threads
    assert comm.run(targets) == (780.0, 40)
    (phase,) = comm.timing.phases
    assert phase.name == "targets"
    assert 1 <= len(phase.nodes) <= m
    assert phase.shares.sum() == 120
    assert phase.bytes_moved == 0
    assert phase.wall >= phase.busy.max()


def test_lost_memory_is_restored_or_named(threads):
    comm, m = threads
    with pytest.raises(ShardError, match="shard 0"):
        comm.run(remembering, "a", combine=join)
    restore = (remember, ("a", 10))
    assert comm.run(remembering, "a", combine=join, restore=restore) == [10 + k for k in range(m)]
    assert comm.run(remembering, "a", combine=join) == [10 + k for k in range(m)]


def test_errors_name_the_shard():
    comm = ThreadCommunicator(2)
    comm.open(shards(3))
    with pytest.raises(ValueError, match=r"shard 1 \(rows 13 to 25\): broken row"):
        comm.run(failing)
    with pytest.raises(FloatingPointError, match=r"shard 2 .* not finite: 1 of 2"):
        comm.run(poisoned)
    comm.close()


def test_threads_work_at_the_same_time():
    comm = ThreadCommunicator(3)
    comm.open(shards(3))
    gate = threading.Barrier(3, timeout=10)
    assert comm.run(lambda site: gate.wait() >= 0, combine=largest, phase="meet")
    comm.close()


def test_the_value_does_not_depend_on_the_threads():
    def vector(site):
        return np.random.default_rng(site.rank).normal(size=1000)

    sums = []
    for n_threads in (1, 2, 5):
        comm = ThreadCommunicator(n_threads)
        comm.open(shards(7))
        sums.append(comm.run(vector).tobytes())
        comm.close()
    assert len(set(sums)) == 1


# --- timing ----------------------------------------------------------------------------------


def test_busy_time_is_the_union_of_spans():
    spans = [Span(k, "a", *ends, 0) for k, ends in enumerate([(0, 2), (1, 3), (5, 6), (5, 5.5)])]
    assert busy_seconds(spans) == 4.0
    assert busy_seconds([]) == 0.0


def test_a_phase_is_split_as_in_the_paper():
    """Communication is the smallest time outside computing; the rest of it is stall."""
    spans = [Span(0, "a", 0, 3, 30), Span(1, "b", 0, 1, 10), Span(2, "b", 1, 2, 10)]
    phase = phase_timing("pass", 4.0, spans, 100, 80)
    np.testing.assert_allclose(phase.busy, [3.0, 2.0])
    np.testing.assert_allclose(phase.stall, [0.0, 1.0])
    assert phase.communication == 1.0
    outside = phase.wall - phase.busy
    np.testing.assert_allclose(phase.stall + phase.communication, outside)
    timing = FitTiming([phase, phase])
    total = timing.summary()["pass"]
    assert total["calls"] == 2
    assert (total["wall"], total["compute"], total["stall"]) == (8.0, 5.0, 1.0)
    assert (total["communication"], total["bytes"]) == (2.0, 200)
    assert total["nonzeros_per_second"] == 100 / 8
    assert timing.total() == total
    assert "stall 1 s" in repr(pickle.loads(pickle.dumps(timing)))


def test_a_site_has_a_name():
    assert Site(shards(2)[1], 1).name == "shard 1 (rows 20 to 39)"
