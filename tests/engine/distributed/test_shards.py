"""Shards hold the rows they were given, wherever they live, and read files in bounded memory."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.distributed.shards import (
    ArrayShard,
    ChainShard,
    FileShard,
    ShardWriter,
    StreamShard,
    csr_arrays,
    find_shards,
    split_rows,
    write_shards,
)


def table(n=50, d=12, density=0.3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=density, random_state=rng, format="csr", dtype=float)
    return X.astype(dtype), rng.integers(0, 2, n).astype(float)


def rebuild(shard):
    """Return the dense table, targets and weights that a shard's blocks spell out."""
    rows, y, weight = [], [], []
    for block in shard.blocks():
        for i in range(block.indptr.size - 1):
            row = np.zeros(shard.n_features)
            part = slice(block.indptr[i], block.indptr[i + 1])
            np.add.at(row, block.indices[part], block.values[part])
            rows.append(row)
        y.append(np.array(block.y))
        weight.append(np.array(block.weight))
    return np.array(rows).reshape(-1, shard.n_features), np.concatenate(y), np.concatenate(weight)


@pytest.mark.parametrize("block_bytes", [1, 200, 1 << 24])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_hold_what_was_written(tmp_path, block_bytes, dtype):
    X, y = table(dtype=dtype)
    weight = np.linspace(0.1, 2, 50)
    with ShardWriter(tmp_path / "s", 12, dtype) as writer:
        writer.append(X[:20], y[:20], weight[:20])
        writer.append(X[20:].toarray(), y[20:], weight[20:])
    shard = FileShard(tmp_path / "s", block_bytes)
    again = pickle.loads(pickle.dumps(shard))
    assert len(pickle.dumps(shard)) < 1000, "a shard of files travels by its path"
    for reader in (shard, shard, again):  # twice: released pages come back
        rows, targets, weights = rebuild(reader)
        np.testing.assert_array_equal(rows, X.toarray())
        np.testing.assert_array_equal(targets, y)
        np.testing.assert_array_equal(weights, weight)
    assert (shard.n_rows, shard.n_features) == (50, 12)


def test_files_are_read_in_blocks_that_fit(tmp_path):
    X, y = table(400, 40)
    with ShardWriter(tmp_path / "s", 40) as writer:
        writer.append(X, y)
    sizes = [b.indptr[-1] - b.indptr[0] for b in FileShard(tmp_path / "s", 1200).blocks()]
    assert len(sizes) > 10
    assert max(sizes) * 12 <= 1200
    assert sum(sizes) == X.nnz


def test_reading_gives_pages_back(tmp_path):
    """Resident memory of the mapped files after a pass is far below their size."""
    n, width = 40_000, 50
    with ShardWriter(tmp_path / "s", 1000) as writer:
        indices = np.tile(np.arange(width), n)
        matrix = sp.csr_array((np.ones(n * width), indices, np.arange(n + 1) * width), (n, 1000))
        writer.append(matrix, np.zeros(n))
    shard = FileShard(tmp_path / "s", 1 << 18)

    def resident():
        inside, total = False, 0
        with open("/proc/self/smaps") as smaps:
            for line in smaps:
                if "-" in line.split()[0] and ":" not in line.split()[0]:
                    inside = str(tmp_path) in line
                elif inside and line.startswith("Rss:"):
                    total += int(line.split()[1]) * 1024
        return total

    total = sum(float(np.sum(b.values[b.indptr[0] : b.indptr[-1]])) for b in shard.blocks())
    assert total == n * width
    assert resident() < 0.2 * n * width * 12


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 17), m=st.integers(1, 20))
def test_splitting_keeps_every_row_once_and_in_order(n, m):
    X, y = table(n, 5, 0.5)
    parts = split_rows(X, y, None, m)
    assert len(parts) == m
    rows = np.concatenate([rebuild(part)[0] for part in parts])
    np.testing.assert_array_equal(rows, X.toarray())
    np.testing.assert_array_equal(np.concatenate([rebuild(p)[1] for p in parts]), y)
    for part in parts:  # pickled, a slice carries its own rows alone
        np.testing.assert_array_equal(
            rebuild(pickle.loads(pickle.dumps(part)))[0], rebuild(part)[0]
        )


def test_dense_values_are_not_copied():
    X = np.arange(12.0).reshape(4, 3)
    values, indices, indptr, d = csr_arrays(X)
    assert np.shares_memory(values, X)
    np.testing.assert_array_equal(indices, np.tile([0, 1, 2], 4))
    X.flags.writeable = False
    view = csr_arrays(X)[0]
    assert np.shares_memory(view, X)
    assert view.flags.writeable, "read-only and writable tables share one compiled kernel"


def test_duplicate_entries_are_added_up_without_touching_the_input():
    X = sp.csr_array((np.ones(3), [1, 1, 0], [0, 2, 3]), shape=(2, 3))
    values, *_ = csr_arrays(X)
    np.testing.assert_array_equal(values, [2.0, 1.0])
    assert X.nnz == 3


def test_streams_and_chains():
    X, y = table()

    def factory():
        yield X[:20], y[:20]
        yield X[20:].toarray(), y[20:]

    stream = StreamShard(factory)
    whole = ArrayShard.of(X, y)
    for shard, times in ((stream, 1), (ChainShard([whole, stream]), 2)):
        rows, targets, _ = rebuild(shard)
        np.testing.assert_array_equal(rows, np.tile(X.toarray(), (times, 1)))
        np.testing.assert_array_equal(targets, np.tile(y, times))
    assert stream.n_rows == 50
    with pytest.raises(TypeError, match="from its beginning"):
        stream.rows(0, 3)


def test_a_stream_that_changes_is_noticed():
    X, y = table()
    lengths = iter([10, 10, 9])

    def factory():
        n = next(lengths)
        yield X[:n], y[:n]

    shard = StreamShard(factory)
    rebuild(shard)
    with pytest.raises(ValueError, match="gave 9 rows, an earlier pass 10"):
        rebuild(shard)
    with pytest.raises(ValueError, match="yields no block"):
        StreamShard(lambda: iter(()))
    narrow = StreamShard(lambda: iter([(X, y), (X[:, :3], y)]))
    with pytest.raises(ValueError, match="3 features, the first had 12"):
        rebuild(narrow)


def test_dealing_at_random_keeps_all_rows(tmp_path):
    X, y = table(101)
    paths = write_shards(tmp_path, X, y, n_shards=4, random_state=0)
    assert find_shards(tmp_path) == paths
    assert find_shards(paths[1]) == [paths[1]]
    rows = np.concatenate([rebuild(FileShard(path))[0] for path in paths])
    assert not np.array_equal(rows, X.toarray())
    key = np.lexsort(rows.T)
    np.testing.assert_array_equal(rows[key], X.toarray()[np.lexsort(X.toarray().T)])


def test_text_labels_survive(tmp_path):
    X, _ = table(4)
    paths = write_shards(tmp_path, X, np.array(["no", "yes", "no", "yes"]), random_state=0)
    assert set(FileShard(paths[0]).rows(0, 4).y) == {"no", "yes"}


def test_an_empty_shard_is_a_shard(tmp_path):
    with ShardWriter(tmp_path / "s", 7):
        pass
    shard = FileShard(tmp_path / "s")
    assert (shard.n_rows, shard.n_features) == (0, 7)
    assert list(shard.blocks()) == []


def test_bad_shards_say_what_is_wrong(tmp_path):
    X, y = table()
    with pytest.raises(FileNotFoundError, match=r"not a finished shard"):
        FileShard(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"holds no finished shard"):
        find_shards(tmp_path)
    writer = ShardWriter(tmp_path / "a", 12)
    with pytest.raises(ValueError, match="12 features, got 5"):
        writer.append(X[:, :5], y)
    with pytest.raises(ValueError, match="50 rows need as many targets"):
        writer.append(X, y[:3])
    writer.append(X, y)
    with pytest.raises(ValueError, match="all rows are weighted or none"):
        writer.append(X, y, np.ones(50))
    with pytest.raises(FileNotFoundError):  # not closed yet
        FileShard(tmp_path / "a")
    writer.close()
    whole = (tmp_path / "a" / "shard.json").read_text()
    facts = json.loads(whole)
    facts["n_rows"] = 49
    (tmp_path / "a" / "shard.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError, match="is damaged"):
        FileShard(tmp_path / "a")
    (tmp_path / "a" / "shard.json").write_text(whole)
    values = tmp_path / "a" / "values.npy"
    values.write_bytes(values.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"values\.npy is damaged"):
        FileShard(tmp_path / "a")
    with pytest.raises(ValueError, match="float32 or float64"):
        ShardWriter(tmp_path / "b", 3, np.int32)


# --- faults --------------------------------------------------------------------------------------

PARTS = ("values", "indices", "indptr", "y", "weight")


def written(path, n=400, d=30):
    X, y = table(n, d)
    with ShardWriter(path, d) as writer:
        writer.append(X, y, np.linspace(0.5, 1.0, n))
    return X, y


def read_in_another_process(path):
    """Read every entry as compiled code would, where a crash can be seen."""
    code = (
        "import sys, numpy as np\n"
        "from octavo.linear import HybridLinearClassifier\n"
        "try:\n"
        "    HybridLinearClassifier(max_iter=3).fit(sys.argv[1])\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(path)], capture_output=True, text=True
    )


def test_a_damaged_index_is_a_sentence_and_no_crash(tmp_path):
    written(tmp_path / "s")
    damage(tmp_path / "s" / "indices.npy", 640, b"\xff\xff\xff\x7f" * 16)
    done = read_in_another_process(tmp_path / "s")
    assert done.returncode == 0, f"the interpreter ended with {done.returncode}"
    assert "indices.npy is damaged" in done.stdout


def damage(path, at, content):
    raw = bytearray(path.read_bytes())
    raw[at : at + len(content)] = content
    path.write_bytes(raw)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("byte", [0, 1, 255])
def test_64_damaged_bytes_are_noticed_wherever_they_are(tmp_path, part, byte):
    written(tmp_path / "s")
    path = tmp_path / "s" / f"{part}.npy"
    damage(path, (path.stat().st_size // 2) & ~63, bytes([byte]) * 64)
    for read in (lambda shard: list(shard.blocks()), lambda shard: shard.rows(3, 5)):
        with pytest.raises(ValueError, match=rf"{part}\.npy is damaged"):
            read(FileShard(tmp_path / "s"))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("length", [0, 1, 100, 500])
def test_files_cut_short_are_refused(tmp_path, part, length):
    written(tmp_path / "s")
    path = tmp_path / "s" / f"{part}.npy"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=rf"{part}\.npy is damaged"):
        FileShard(tmp_path / "s")


def test_a_missing_file_is_named(tmp_path):
    written(tmp_path / "s")
    (tmp_path / "s" / "y.npy").unlink()
    with pytest.raises(ValueError, match=r"y\.npy is damaged or missing"):
        FileShard(tmp_path / "s")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"n_rows": 3}', b'{"n_rows": "many"}', b"[" * 10**5],
)
def test_damaged_facts_are_a_sentence(tmp_path, content):
    written(tmp_path / "s")
    (tmp_path / "s" / "shard.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"shard\.json is damaged"):
        FileShard(tmp_path / "s")


def test_every_single_byte_of_the_facts_counts(tmp_path):
    """No byte of shard.json can change unnoticed: a wider table would be a silent wrong answer."""
    written(tmp_path / "s", 20, 5)
    facts = tmp_path / "s" / "shard.json"
    whole = facts.read_bytes()
    known = json.loads(whole)
    for at in range(len(whole)):
        facts.write_bytes(whole[:at] + b"7" + whole[at + 1 :])
        try:
            changed = json.loads(facts.read_bytes()) != known
        except ValueError:
            changed = True
        if changed:
            with pytest.raises(ValueError, match="is damaged"):
                FileShard(tmp_path / "s")


def test_the_check_is_made_once_and_gives_its_pages_back(tmp_path, monkeypatch):
    from octavo.engine.distributed import shards

    written(tmp_path / "s")
    seen = []
    check = shards.FileShard._verify
    monkeypatch.setattr(shards.FileShard, "_verify", lambda self: seen.append(1) or check(self))
    shard = FileShard(tmp_path / "s")
    assert not seen, "a client that only sends the path on reads nothing"
    rebuild(shard)
    rebuild(shard)
    shard.rows(0, 3)
    assert len(seen) == 1


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="limits the size of a file")
@pytest.mark.parametrize("before", [False, True])
def test_a_full_disk_leaves_nothing_behind_and_what_was_there(tmp_path, before):
    """A limit on the size of files stands for the disk: write() fails in the same way."""
    if before:
        X, y = written(tmp_path / "s")
    code = (
        "import resource, signal, sys, numpy as np\n"
        "from octavo.linear import ShardWriter\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    with ShardWriter(sys.argv[1], 50) as writer:\n"
        "        for _ in range(100):\n"
        "            writer.append(np.ones((100, 50)), np.zeros(100))\n"
        "except OSError as error:\n"
        "    print('OSError', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True
    )
    assert done.stdout.startswith("OSError"), done.stderr
    if before:
        np.testing.assert_array_equal(rebuild(FileShard(tmp_path / "s"))[0], X.toarray())
        assert {p.name for p in (tmp_path / "s").iterdir()} == {
            "shard.json",
            *(f"{part}.npy" for part in PARTS),
        }
    else:
        assert list((tmp_path / "s").iterdir()) == []


def test_a_writer_that_is_left_by_an_error_leaves_the_shard_that_was_there(tmp_path):
    X, y = written(tmp_path / "s")

    def fail_half_way():
        with ShardWriter(tmp_path / "s", 30) as writer:
            writer.append(X[:3], y[:3])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    rows, targets, _ = rebuild(FileShard(tmp_path / "s"))
    np.testing.assert_array_equal(rows, X.toarray())
    assert len(list((tmp_path / "s").iterdir())) == 6
    with ShardWriter(tmp_path / "s", 30) as writer:  # unweighted this time
        writer.append(X[:3], y[:3])
    np.testing.assert_array_equal(rebuild(FileShard(tmp_path / "s"))[0], X[:3].toarray())
    assert not (tmp_path / "s" / "weight.npy").exists()
