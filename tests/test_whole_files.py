"""A file is written whole or not at all, and keeps what a user gave it: place, mode, links."""

import os
import stat
import subprocess
import sys

import pytest

from octavo._whole_files import write_whole


def test_text_and_bytes_arrive(tmp_path):
    assert write_whole(tmp_path / "a.txt", "naïve\n") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == "naïve\n".encode()
    write_whole(tmp_path / "a.txt", b"\0\1")
    assert (tmp_path / "a.txt").read_bytes() == b"\0\1"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_modes_and_links_stay(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_whole(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o640
    (tmp_path / "plain").write_text("")
    write_whole(tmp_path / "fresh", "")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "fresh")}
    assert len(modes) == 1, "a new file has the mode that any other new file has"


def test_what_is_no_file_is_written_to(tmp_path):
    write_whole("/dev/null", "gone")
    assert not os.path.isfile("/dev/null")


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="limits the size of a file")
@pytest.mark.parametrize("before", [None, "kept"])
def test_a_full_disk_leaves_what_was_there(tmp_path, before):
    """A limit on the size of files stands for the disk: write() fails in the same way."""
    if before:
        (tmp_path / "a").write_text(before)
    code = (
        "import resource, signal, sys\n"
        "from octavo._whole_files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    write_whole(sys.argv[1], 'x' * 5000)\n"
        "except OSError:\n"
        "    print('refused')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a")]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "refused\n"
    assert os.listdir(tmp_path) == ["a"] * bool(before)
    if before:
        assert (tmp_path / "a").read_text() == before
