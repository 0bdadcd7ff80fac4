"""Every format gives the same table; what is guessed is told; what cannot be read says what to "
"do."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.compare.table.reading import (
    InputError,
    decoded,
    find_delimiter,
    has_header,
    read_table,
)

FRAME = pd.DataFrame({"a": [1.5, 2.0, -3.0], "b": ["x", "y", "x"], "k": [1, 0, 1]})
CSV = "a,b,k\n1.5,x,1\n2.0,y,0\n-3.0,x,1\n"


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV),
        ("t.tsv", CSV.replace(",", "\t")),
        ("t.dat", CSV.replace(",", ";")),
        ("t.txt", CSV.replace(",", " ")),
        ("t.data", CSV.replace(",", "|")),
        ("semicolon.csv", CSV.replace(",", ";").replace(".", ",")),  # decimal commas
        ("t.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("t.csv.bz2", bz2.compress(CSV.encode())),
        ("t.csv.xz", lzma.compress(CSV.encode())),
        ("bom.csv", b"\xef\xbb\xbf" + CSV.encode()),
        ("utf16.csv", CSV.encode("utf-16")),
        (
            "t.arff",
            "% remark\n@relation t\n@attribute a numeric\n@ATTRIBUTE 'b' {x, y}\n@attribute k "
            "{0,1}\n"
            "@data\n1.5,x,1\n% remark\n2.0,y,0\n-3.0,'x',1\n",
        ),
    ],
)
def test_every_format_gives_the_same_table(tmp_path, name, content):
    frame = read_table(written(tmp_path, name, content)).frame
    assert list(frame.columns) == ["a", "b", "k"]
    np.testing.assert_array_equal(frame["a"], FRAME["a"])
    assert list(frame["b"]) == list(FRAME["b"])
    np.testing.assert_array_equal(frame["k"].astype(float), FRAME["k"])


def test_zip_parquet_and_files_without_a_telling_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", CSV)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.zip").frame, FRAME)
    FRAME.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet").frame, FRAME)
    (tmp_path / "t.parquet").rename(tmp_path / "unnamed")
    pd.testing.assert_frame_equal(read_table(tmp_path / "unnamed").frame, FRAME)
    indexed = FRAME.set_index("b")
    indexed.to_parquet(tmp_path / "indexed.parquet")
    assert set(read_table(tmp_path / "indexed.parquet").frame.columns) == {"a", "b", "k"}


def test_libsvm_dense_and_sparse(tmp_path):
    small = read_table(written(tmp_path, "t.libsvm", "1 1:0.5 3:2\n-1 2:1 # remark\n"))
    assert small.target == "target"
    np.testing.assert_array_equal(small.frame.to_numpy(), [[0.5, 0, 2, 1], [0, 1, 0, -1]])
    lines = "".join(f"{i % 2} {1 + i % 7}:1 300000:{i + 1}\n" for i in range(100))
    wide = read_table(written(tmp_path, "noname", lines))  # told by its first lines
    assert wide.sparse.shape == (100, 300_000)
    assert wide.sparse[3, 299_999] == 4
    assert "kept sparse" in wide.notes[0]


def test_sparse_and_quoted_arff(tmp_path):
    head = '@relation t\n@attribute "my name" numeric\n@attribute w string\n'
    head += "@attribute k {u,v}\n@data\n"
    sparse = read_table(written(tmp_path, "s.arff", head + "{0 2, 1 hi, 2 v}\n{1 ho, 2 u}\n")).frame
    np.testing.assert_array_equal(sparse["my name"], [2, 0])
    quoted = read_table(written(tmp_path, "q.arff", head + '?,"a, b",v\n3,c,u\n')).frame
    assert quoted["w"].tolist() == ["a, b", "c"]
    assert quoted["my name"].isna().tolist() == [True, False]


def test_a_table_without_names_gets_some(tmp_path):
    table = read_table(written(tmp_path, "t.csv", "1, 2, u\n3, 4, v\n"))
    assert list(table.frame.columns) == ["c1", "c2", "c3"]
    assert table.frame["c3"].tolist() == ["u", "v"]
    assert "c1 to c3" in table.notes[0]
    named = read_table(tmp_path / "t.csv", header=True)
    assert list(named.frame.columns) == ["1", "2", "u"]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([["age", "sex"], ["3", "m"]], True),
        ([["3", "m"], ["4", "f"]], False),
        ([["x", "x", "b"], ["x", "o", "b"]], False),  # all words, values repeat
        ([["colour", "shape"], ["red", "round"], ["blue", "flat"]], True),
        ([["red", "round"], ["red", "flat"], ["blue", "round"]], False),
    ],
)
def test_header_is_told_from_values(rows, names):
    assert has_header(rows) is names


@given(
    st.sampled_from([",", "\t", ";", "|"]),
    st.lists(st.lists(st.integers(-99, 99), min_size=3, max_size=3), min_size=2, max_size=9),
)
@settings(max_examples=60, deadline=None)
def test_any_delimiter_is_found(sign, rows):
    assert find_delimiter([sign.join(map(str, row)) for row in rows]) == sign


def test_one_other_encoding_is_told(tmp_path):
    text, notes = decoded("naïve;café\n".encode("cp1252") * 3, tmp_path / "t.csv")
    assert text.startswith("naïve;café")
    assert "Windows-1252" in notes[0]
    assert "UTF-8 to be sure" in notes[0]


def test_mixed_encodings_are_told_by_line(tmp_path):
    content = "name,n\nMüller,1\n".encode() + "Zoë,2\n".encode("cp1252") + "Åsa,3\n".encode()
    table = read_table(written(tmp_path, "t.csv", content))
    assert table.frame["name"].tolist() == ["Müller", "Zoë", "Åsa"]
    (note,) = table.notes
    assert "mixes encodings" in note
    assert "the first is line 3" in note
    assert "Save the file in one encoding" in note


def test_duplicate_names_are_told(tmp_path):
    table = read_table(written(tmp_path, "t.csv", "a,a,b\n1,2,3\n4,5,6\n"))
    assert list(table.frame.columns) == ["a", "a.1", "b"]
    assert "stand twice" in table.notes[0]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "is empty; check how it was written"),
        ("blank.csv", b"\n \n", "holds no rows"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n", "mend that line"),
        ("binary.csv", b"a,b\0\1\2", "is not a text file; octavo reads CSV, TSV, JSON"),
        ("bad.csv.gz", b"not packed", "cannot be unpacked"),
        ("bad.parquet", b"PAR1 no", "not a sound Parquet file"),
        ("bad.libsvm", b"1 a:b\n", "is not a libsvm file"),
        ("nodata.arff", b"@relation t\n@attribute a numeric\n", "has no @data section"),
        ("norows.arff", b"@relation t\n@attribute a numeric\n@data\n", "no rows after @data"),
        ("odd.arff", b"@relation t\n@attribute\n@data\n1\n", "not an attribute"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(tmp_path, name, content, words):
    with pytest.raises(InputError, match=words):
        read_table(written(tmp_path, name, content))


def test_missing_files_and_folders(tmp_path):
    written(tmp_path, "adult.csv", CSV)
    with pytest.raises(InputError, match=r"There is no file .*; did you mean adult.csv\?"):
        read_table(tmp_path / "aduld.csv")
    with pytest.raises(InputError, match="check the path"):
        read_table(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(InputError, match="is a folder; name one file of it"):
        read_table(tmp_path)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.csv", CSV)
    with pytest.raises(InputError, match="holds 2 files; unpack it and name one"):
        read_table(tmp_path / "two.zip")


def test_without_pandas_the_extra_is_named(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'octavo\[compare\]'"):
        read_table(tmp_path / "t.csv")


# --- comments, JSON, Excel -----------------------------------------------------------------------


def test_comments_are_passed_over_and_may_hold_the_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# made by hand\n# on a Monday\na,b\n1,x\n2,y\n# end\n")
    table = read_table(path)
    assert table.frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    assert "3 comment lines (#) passed over." in table.notes
    path.write_text("# version 2\n#a,b\n1,5\n2,6\n")
    table = read_table(path)
    assert table.frame.to_dict("list") == {"a": [1, 2], "b": [5, 6]}
    path.write_text("#tag,n\n#one,1\n#two,2\n")  # a column of hashtags
    assert read_table(path).frame.iloc[:, 1].tolist()[-2:] == [1, 2]


def test_hash_signs_within_a_table_are_data(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("tag,n\n#one,1\n#two,2\n")
    assert read_table(path).frame["tag"].tolist() == ["#one", "#two"]


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json", "t.txt"])
def test_json_lines_are_rows(tmp_path, name):
    path = tmp_path / name
    path.write_text('{"a": 1, "k": "u\u2028v"}\n\n{"a": 2.5}\n{"a": null, "k": "w"}\n', "utf-8")
    table = read_table(path)
    assert table.frame["a"].tolist()[:2] == [1.0, 2.5]
    assert table.frame["k"].iloc[0] == "u\u2028v"
    assert table.frame["k"].isna().tolist() == [False, True, False]
    assert "1 rows lack some of the 2 names" in table.notes[0]


def test_a_list_of_objects_is_rows_too(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[\n {"a": 1},\n {"a": 2}\n]')
    assert read_table(path).frame["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n{"a": }\n', "line 2: not JSON"),
        ('{"a": 1}\n[1, 2]\n', "row 2 is no object but list"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_json_is_a_sentence(tmp_path, text, words):
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_table(path)


def test_excel_is_read_or_says_what_it_needs(tmp_path):
    path = tmp_path / "t.xlsx"
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        path.write_bytes(b"PK\x03\x04")
        with pytest.raises(InputError, match=r"octavo\[excel\]|not a sound Excel file"):
            read_table(path)
        return
    pd.DataFrame({"a": [1, 2], "k": ["u", "v"]}).to_excel(path, index=False)
    assert read_table(path).frame.to_dict("list") == {"a": [1, 2], "k": ["u", "v"]}


def test_rows_with_fewer_cells_are_told(tmp_path):
    path = tmp_path / "late.csv"
    rows = [f"{k},{k % 7},{'ab'[k % 2]}" if k < 80 else f"{k},{'ab'[k % 2]}" for k in range(120)]
    path.write_text("x,y,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (note,) = read_table(path).notes
    assert note == (
        "40 rows have fewer cells than the 3 columns; what is missing is taken to be the last. "
        "The first such row: 80,a"
    )
    path.write_text("x,y,kind\n1,2,a\n2,3,\n4,5,b\n", encoding="utf-8")
    assert read_table(path).notes == []  # empty is not absent
