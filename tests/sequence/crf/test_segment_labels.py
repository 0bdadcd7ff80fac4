"""Segments to labels and tags and back."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.sequence import (
    EndMarkEncoder,
    bio_to_segments,
    labels_to_segments,
    segments_to_bio,
    segments_to_labels,
)


@st.composite
def segmentations(draw):
    segments, at = [], 0
    for size in draw(st.lists(st.integers(1, 4), min_size=1, max_size=6)):
        label = draw(st.sampled_from(["per", "loc", "O"]))
        if label == "O" and segments and segments[-1][2] == "O":
            label = "per"  # two stretches of nothing are one
        segments.append((at, at + size, label))
        at += size
    return segments


@given(segmentations())
def test_bio_and_back(segments):
    tags = segments_to_bio(segments)
    assert len(tags) == segments[-1][1]
    assert bio_to_segments(tags) == segments


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_runs_and_back(labels):
    segments = labels_to_segments(labels)
    assert segments_to_labels(segments) == labels
    assert all(one[2] != other[2] for one, other in itertools.pairwise(segments))


def test_tags_that_begin_inside():
    assert bio_to_segments(["I-a", "I-b", "I-b", "O"]) == [(0, 1, "a"), (1, 3, "b"), (3, 4, "O")]
    with pytest.raises(ValueError, match="Position 1: expected 'O'"):
        bio_to_segments(["O", "X-a"])
    with pytest.raises(ValueError, match="does not begin at 1"):
        segments_to_bio([(0, 1, "a"), (2, 3, "b")])


def test_the_papers_example_of_end_marks():
    """ "no, she is working." in Section 3.2.2."""
    y = [["Comma", "None", "None", "Period"]]
    encoder = EndMarkEncoder().fit(y)
    marked = encoder.transform(y)
    assert marked[0].tolist() == ["Comma-Comma", "None-Period", "None", "Period"]
    four = EndMarkEncoder().fit([["None", "Comma", "Period", "QMark"]])
    added = set(four.marked_classes_) - set(four.classes_)
    assert added == {  # the six labels that the paper adds
        "None-Comma",
        "None-Period",
        "None-QMark",
        "Comma-Comma",
        "QMark-QMark",
        "Period-Period",
    }


@given(
    st.lists(
        st.lists(st.sampled_from(["None", "Comma", "Period"]), min_size=1, max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_end_marks_come_off_again(y):
    encoder = EndMarkEncoder()
    marked = encoder.fit_transform(y)
    assert [part.tolist() for part in encoder.inverse_transform(marked)] == y
    flat = [label for part in y for label in part]
    lengths = [len(part) for part in y]
    stacked = encoder.transform(flat, lengths)
    assert stacked.tolist() == [label for part in marked for label in part]
    assert set(stacked) <= set(encoder.marked_classes_)


def test_unknown_marks_say_where():
    encoder = EndMarkEncoder().fit([["None", "Comma"]])
    with pytest.raises(ValueError, match="sequence 1, position 0: label 'Dash'"):
        encoder.transform([["None"], ["Dash"]])
    with pytest.raises(ValueError, match="labels must be strings, got 3"):
        encoder.fit([["None", 3]])
