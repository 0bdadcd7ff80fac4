"""Packed files are unpacked up to a limit whose number is said."""

import bz2
import gzip
import lzma
import zipfile

import pytest

from octavo import _unpacking
from octavo._unpacking import TooLargeError, unpack

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", list(PACK))
def test_what_was_packed_comes_out_up_to_the_limit(suffix):
    content = bytes(range(256)) * 10_000
    packed = PACK[suffix](content)
    assert unpack(packed, suffix, len(content)) == content
    assert unpack(packed + packed, suffix) == content * 2  # members one after the other
    with pytest.raises(TooLargeError, match=r"more than 2,559,999 bytes"):
        unpack(packed, suffix, len(content) - 1)


@pytest.mark.parametrize("suffix", [*PACK, ".zip"])
def test_a_table_that_unpacks_to_too_much_is_refused_with_the_number(tmp_path, monkeypatch, suffix):
    """4 MB that unpack to 3 GB ended in a MemoryError; the limit is lowered here to be quick."""
    pytest.importorskip("pandas")
    from octavo.compare import InputError
    from octavo.compare.table.reading import read_table

    monkeypatch.setattr(_unpacking, "MOST_UNPACKED", 3_000_000)
    path, content = tmp_path / f"bomb.csv{suffix}", b"a,b\n" + b"1,2\n" * 1_000_000
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.csv", content)
    else:
        path.write_bytes(PACK[suffix](content))
    with pytest.raises(InputError, match=r"more than 3,000,000 bytes"):
        read_table(path)


@pytest.mark.parametrize("suffix", [*PACK, ".zip"])
def test_damaged_packing_is_a_sentence(tmp_path, suffix):
    pytest.importorskip("pandas")
    from octavo.compare import InputError
    from octavo.compare.table.reading import read_table

    path, content = tmp_path / f"t.csv{suffix}", b"a,b\n" + bytes(str(list(range(9999))), "ascii")
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", content)
    else:
        path.write_bytes(PACK[suffix](content))
    raw = path.read_bytes()
    for spoilt in (raw[: len(raw) // 2], raw[:300] + bytes(100) + raw[400:]):
        path.write_bytes(spoilt)
        with pytest.raises(InputError, match="cannot be unpacked"):
            read_table(path)


def test_networks_are_unpacked_up_to_the_limit_too(tmp_path, monkeypatch):
    from octavo.graphical import BayesianNetworkModel

    monkeypatch.setattr(_unpacking, "MOST_UNPACKED", 1000)
    (tmp_path / "n.bif.gz").write_bytes(gzip.compress(b"network x { }\n" * 1000))
    with pytest.raises(ValueError, match=r"more than 1,000 bytes"):
        BayesianNetworkModel.from_bif(tmp_path / "n.bif.gz")
    (tmp_path / "n.bif.gz").write_bytes(gzip.compress(b"network x { }\n" * 100)[:40])
    with pytest.raises(ValueError, match="cannot be unpacked"):
        BayesianNetworkModel.from_bif(tmp_path / "n.bif.gz")
