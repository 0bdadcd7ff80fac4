"""Tables become coordinates, colours and the text of rows."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from octavo.app.colours import HUES, MANY, OTHER, colour_by  # noqa: E402
from octavo.app.map_tables import MAX_ROWS, load_table  # noqa: E402


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_digits_are_the_default():
    table = load_table()
    assert table.X.shape == (1797, 64)
    assert table.label == "digit"
    row = table.row(3)
    assert row["cells"][0] == ["digit", "3"]
    assert np.array_equal(row["pixels"], table.pixels[3].round(3))
    scope = {}
    exec(table.code, scope)
    assert np.array_equal(scope["X"], table.X)


def test_columns_by_their_kinds(file):
    path = file(
        "size,kind,same,name,gap,class\n"
        + "".join(
            f"{i},{'ab'[i % 2]},7,n{i},{'' if i == 0 else i % 5},{i % 3}\n" for i in range(40)
        )
    )
    table = load_table(path, "class")
    # size and gap to zero mean and unit variance, kind as two indicators; the class is unseen.
    assert table.X.shape == (40, 4)
    assert sorted(table.X.std(axis=0).round(12)) == [0.5, 0.5, 1.0, 1.0]
    assert set(table.columns) == {"size", "kind", "same", "name", "gap", "class"}
    assert np.isnan(table.columns["gap"][0])
    told = "\n".join(table.notes)
    for said in ("same: always the same", "name: 40 different texts", "gap: 1 missing"):
        assert said in told
    assert table.row(0)["cells"][0] == ["class", "0"]
    assert ["gap", "–"] in table.row(0)["cells"]
    scope = {}
    exec(table.code, scope)
    assert np.array_equal(scope["X"], table.X)


def test_a_tab_separated_file_and_a_parquet_file(file, tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]})
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    by_tabs = load_table(tmp_path / "t.tsv")
    assert by_tabs.X.shape == (3, 3)
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    assert np.array_equal(load_table(tmp_path / "t.parquet").X, by_tabs.X)


def test_numbers_are_read_as_people_write_them(file):
    path = file(
        "price;sort\n"
        + "".join(f"{p};{s}\n" for p, s in zip(["€1", "?", "€3", "NA", "€5"], "xyxyx"))
    )
    table = load_table(path)
    np.testing.assert_array_equal(table.columns["price"], [1.0, np.nan, 3.0, np.nan, 5.0])
    assert table.X.shape == (5, 3)
    assert "price: 2 missing, filled with the median" in table.notes


def test_libsvm_and_arff_files(file):
    rows = "".join(f"{(-1) ** i} 1:{i} 2:{i * i % 5}\n" for i in range(8))
    table = load_table(file(rows, "data.libsvm"))
    assert table.label is not None
    assert table.X.shape == (8, 2)
    text = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n2,y\n4,x\n"
    assert load_table(file(text, "data.arff")).X.shape == (3, 3)


def test_long_tables_are_thinned_out_the_same_way_each_time(tmp_path):
    path = tmp_path / "long.csv"
    pd.DataFrame({"a": np.arange(MAX_ROWS + 10), "b": 1.0}).to_csv(path, index=False)
    table = load_table(path)
    assert len(table) == MAX_ROWS
    assert "20,000 of 20,010 rows" in table.notes[0]
    assert np.array_equal(table.X, load_table(path).X)


def test_wide_rows_are_cut(file):
    names = [f"c{k}" for k in range(30)]
    path = file(
        ",".join(names)
        + "\n"
        + "\n".join(",".join(str(i * k % 7) for k in range(30)) for i in range(5))
    )
    row = load_table(path).row(2)
    assert len(row["cells"]) == 12
    assert row["more"] == 18


@pytest.mark.parametrize(
    ("text", "label", "says"),
    [
        ("a,b\n1,2\n2,3\n", None, "at least 3"),
        ("a,b\nx,1\nx,1\nx,1\n", None, "no column that a map can be made of"),
        ("alpha,b\n1,2\n2,3\n3,4\n", "alpa", "did you mean alpha"),
        ("", None, "data.csv"),
    ],
)
def test_what_cannot_be_used_is_told(file, text, label, says):
    with pytest.raises((ValueError, LookupError), match=says):
        load_table(file(text), label)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"no file .*nothing\.csv"):
        load_table(tmp_path / "nothing.csv")


def test_classes_get_hues_and_numbers_a_scale():
    by_class = colour_by(np.array(["b", "a", "b"]))
    assert by_class.entries == [("a", HUES[0]), ("b", HUES[1])]
    assert np.array_equal(by_class.rgba[0], by_class.rgba[2])
    assert bytes(by_class.rgba[1]).hex() == HUES[0][1:] + "ff"
    whole = colour_by(np.array([2.0, 1.0, np.nan]))
    assert [text for text, _ in whole.entries] == ["1", "2", "other"]
    scale = colour_by(np.linspace(0.0, 1.0, 101))
    assert [text for text, _ in scale.entries] == ["0.01", "0.99"]
    # cividis grows lighter from end to end.
    assert (np.diff(scale.rgba[:, :3].sum(axis=1).astype(int)) >= 0).all()
    assert colour_by(np.array([0.5, np.nan, 1.5])).entries[-1] == ("missing", OTHER)


def test_rare_classes_share_a_colour():
    values = np.array([f"{k:02d}" for k in range(70)] + ["69", "68"])
    found = colour_by(values)
    assert len(found.entries) == MANY
    assert found.entries[-1] == ("other", OTHER)
    assert {"68", "69"} <= {text for text, _ in found.entries}


def test_an_outlier_does_not_take_the_scale():
    values = np.append(np.linspace(0, 1, 500), 1e9)
    assert len(np.unique(colour_by(values).rgba, axis=0)) > 100
