"""A journal gives back every line that is whole, and nothing that is not."""

import json

import pytest

from octavo._journal_lines import append_line, read_lines


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "deep" / "j.jsonl"
    assert list(read_lines(path)) == []
    entries = [{"a": 1.5, "b": [1, None, "naïve\u2028"]}, {"a": float("inf")}]
    for entry in entries:
        append_line(path, entry)
    assert list(read_lines(path)) == entries
    assert all(json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize("end", [b"\xff", b"\x00", b"{", b'{"a": 1}', b"\x80\n", b"[" * 100_000])
def test_a_bad_end_costs_nothing_that_was_whole_and_nothing_that_follows(tmp_path, end):
    path = tmp_path / "j.jsonl"
    append_line(path, {"k": 1})
    with path.open("ab") as file:
        file.write(end)
    assert list(read_lines(path)) == [{"k": 1}]
    append_line(path, {"k": 2})
    assert list(read_lines(path)) == [{"k": 1}, {"k": 2}]


def test_a_changed_byte_is_never_read_as_another_number(tmp_path):
    path = tmp_path / "j.jsonl"
    append_line(path, {"score": 0.25})
    append_line(path, {"score": 0.75})
    whole = path.read_bytes()
    first = whole.index(b"\n")
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        found = [entry["score"] for entry in read_lines(path)]
        assert found in ([0.25], [0.75], [0.25, 0.75], [])
        if at != first:  # the end of the first line: two lines become one
            assert (0.75 if at < first else 0.25) in found
