"""Files of the density-estimation benchmark are read, or refused by name."""

import pytest

from octavo.data import read_density_table


def write(folder, **parts):
    for part, text in parts.items():
        (folder / f"toy.{part}.data").write_text(text)


def test_three_files_are_three_tables(tmp_path):
    write(tmp_path, ts="0,1,1\n1,0,0\n", valid="1,1,1\n", test="0,0,0\n0,0,1\n")
    table = read_density_table(tmp_path, "toy")
    assert table.train.tolist() == [[0, 1, 1], [1, 0, 0]]
    assert table.validation.shape == (1, 3)
    assert table.test[1, 2] == 1


def test_what_is_absent_or_no_table_is_named(tmp_path):
    write(tmp_path, ts="0,1\n", valid="0,1\n")
    with pytest.raises(ValueError, match=r"no toy\.test\.data"):
        read_density_table(tmp_path, "toy")
    write(tmp_path, test="0,1,1\n")
    with pytest.raises(ValueError, match="different numbers of columns"):
        read_density_table(tmp_path, "toy")
    write(tmp_path, test="0,one\n")
    with pytest.raises(ValueError, match="no table of integers"):
        read_density_table(tmp_path, "toy")
