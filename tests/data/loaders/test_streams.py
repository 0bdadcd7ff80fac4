"""Readers of streams against the tables they cut, and what they refuse."""

import bz2
import gzip
import io

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from octavo.data import ArffChunks, ArrayChunks, LibsvmChunks
from octavo.online import AROW


def table(n=23, d=9, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 3) * (rng.random((n, d)) > 0.6)
    X[0, d - 1] = 1.5
    return X, rng.integers(0, 3, n)


def gather(chunks):
    parts = list(chunks)
    X = [part.toarray() if sp.issparse(part) else part for part, _ in parts]
    return np.vstack(X), np.concatenate([y for _, y in parts])


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "memmap"])
def test_arrays(kind, tmp_path):
    X, y = table()
    if kind == "memmap":
        np.save(tmp_path / "x.npy", X)
        source = np.load(tmp_path / "x.npy", mmap_mode="r")
    else:
        source = {"dense": X, "csr": sp.csr_matrix(X), "csc": sp.csc_matrix(X)}[kind]
    chunks = ArrayChunks(source, y, 10)
    assert [len(labels) for _, labels in chunks] == [10, 10, 3]
    for got, want in zip(gather(chunks), (X, y), strict=True):
        np.testing.assert_array_equal(got, want)
    assert chunks.n_features == 9
    np.testing.assert_array_equal(chunks.classes, [0, 1, 2])
    AROW().fit(chunks)
    with pytest.raises(ValueError, match="23 rows, but y has 22"):
        ArrayChunks(X, y[:-1])
    with pytest.raises(ValueError, match="chunk_size must be at least 1"):
        ArrayChunks(X, y, 0)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_libsvm_text(suffix, tmp_path):
    X, y = table()
    text = io.BytesIO()
    dump_svmlight_file(X, y, text, zero_based=False, comment="two\nlines")
    path = tmp_path / f"data.svm{suffix}"
    opener = {"": open, ".gz": gzip.open, ".bz2": bz2.open}[suffix]
    with opener(path, "wb") as file:
        file.write(text.getvalue() + b"\n   \n# the end\n")
    chunks = LibsvmChunks(path, 5)
    for _ in range(2):  # can be read again
        parts = list(chunks)
        assert all(sp.issparse(part) and part.shape[1] == 9 for part, _ in parts)
        got, labels = gather(parts)
        np.testing.assert_allclose(got, X, rtol=1e-12)
        np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(chunks.classes, [0, 1, 2])
    model = AROW(n_epochs=2).fit(chunks)
    np.testing.assert_array_equal(model.coef_, AROW(n_epochs=2).fit(sp.csr_matrix(X), y).coef_)


def test_libsvm_text_that_can_be_read_once():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    text = b"+1 1:2 3:1\n-1 2:1\n"
    with pytest.raises(ValueError, match="pass n_features and classes"):
        list(LibsvmChunks(Pipe(text)))
    [(X, y)] = LibsvmChunks(Pipe(text), n_features=4, classes=[-1, 1])
    assert X.shape == (2, 4)
    [(X, y)] = LibsvmChunks(io.BytesIO(b"1 0:2 3:1\n0 2:1\n"), zero_based=True)
    assert X.shape == (2, 4)
    with pytest.raises(ValueError, match="index"):
        list(LibsvmChunks(io.BytesIO(b"1 0:2\n"), n_features=4, classes=[0, 1]))


def write(tmp_path, text, name="data.arff"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_dense_arff_of_numbers(tmp_path):
    X, y = table()
    head = "% made for a test\n@RELATION t\n" + "".join(
        f"@ATTRIBUTE x{j} {('numeric', 'REAL', 'integer')[j % 3]}\n" for j in range(9)
    )
    rows = "".join(
        ",".join(map(repr, map(float, row))) + f", class {label}\n"
        for row, label in zip(X, y, strict=True)
    )
    names = "@attribute 'the class' {'class 0', 'class 1', 'class 2'}\n@DATA\n"
    rows = rows.replace("class ", "'class ").replace("\n", "'\n")
    chunks = ArffChunks(write(tmp_path, head + names + rows + "\n% end\n"), 8)
    assert [part.shape for part, _ in chunks] == [(8, 9), (8, 9), (7, 9)]
    assert all(isinstance(part, np.ndarray) for part, _ in chunks)
    got, labels = gather(chunks)
    np.testing.assert_array_equal(got, X)
    np.testing.assert_array_equal(labels, [f"class {label}" for label in y])
    assert chunks.feature_names == [f"x{j}" for j in range(9)]
    AROW().fit(chunks)


SPARSE = """@relation s
@attribute word1 numeric
@attribute colour {red, 'dark blue', green}
@attribute word2 numeric
@attribute note string
@attribute class {ham, spam}
@data
{0 2.5, 1 'dark blue', 4 spam}
{2 -1, 3 'a, b'}
{}
{1 ?, 2 ?}
"""


def test_sparse_arff(tmp_path):
    chunks = ArffChunks(write(tmp_path, SPARSE), 3, ignore=["note"])
    assert chunks.feature_names == [
        *("word1", "colour=red", "colour=dark blue", "colour=green", "word2")
    ]
    assert all(sp.issparse(part) for part, _ in chunks)
    got, labels = gather(chunks)
    expected = [[2.5, 0, 1, 0, 0], [0, 1, 0, 0, -1], [0, 1, 0, 0, 0], [0, 0, 0, 0, np.nan]]
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(labels, ["spam", "ham", "ham", "ham"])
    np.testing.assert_array_equal(chunks.classes, ["ham", "spam"])


def test_arff_with_a_numeric_target(tmp_path):
    text = "@relation n\n@attribute y numeric\n@attribute x real\n@data\n1,0.5\n-1,2\n"
    chunks = ArffChunks(write(tmp_path, text), target="y")
    got, labels = gather(chunks)
    np.testing.assert_array_equal(got, [[0.5], [2.0]])
    np.testing.assert_array_equal(labels, [1.0, -1.0])
    assert chunks.classes is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@relation x\n@attribute a real\n", "no line @data"),
        ("@relation x\n@data\n1\n", "no @attribute"),
        ("@relation x\nhello\n@data\n", "Line 2 does not belong"),
        ("@attribute a date\n@attribute c {0,1}\n@data\n", "has type 'date'"),
        ("@attribute a real\n@attribute c {0,1}\n@data\n1,0,2\n", "Line 4 .* 2 attributes"),
        ("@attribute a real\n@attribute c {0,1}\n@data\n1,7\n", "Its label is '7'"),
        ("@attribute a real\n@attribute c {0,1}\n@data\n1,?\n", r"Its label is '\?'"),
        ("@attribute a {u,v}\n@attribute c {0,1}\n@data\nw,1\n", "'w' is not a value of 'a'"),
        ("@attribute a real\n@attribute c {0,1}\n@data\n{5 1}\n", "names attribute 5"),
        ("@attribute a real\n@attribute c {0,1}\n@data\nx,1\n", "could not convert"),
    ],
)
def test_what_is_not_arff_is_refused(text, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        list(ArffChunks(write(tmp_path, text)))


def test_unknown_targets_are_refused(tmp_path):
    with pytest.raises(ValueError, match="target='z' is not an attribute"):
        ArffChunks(write(tmp_path, SPARSE), ignore=["note"], target="z")
