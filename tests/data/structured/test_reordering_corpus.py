"""Sentence pairs of the grammar obey its rules."""

import itertools

import pytest

from octavo.data import make_reordering_corpus


def test_markers_decide_the_order():
    sources, targets, alignments = make_reordering_corpus(40, block_length=3, random_state=0)
    for source, target, links in zip(sources, targets, alignments):
        assert sorted(i for i, _ in links) == list(range(len(source)))
        assert all(target[j] == source[i].upper() for i, j in links)
        place = dict(links)
        starts = [i for i, word in enumerate(source) if word[0] in "ks"] + [len(source)]
        for start, stop in itertools.pairwise(starts):
            first = min(place[i] for i in range(start + 1, stop) if source[i][0] == "a")
            second = min(place[i] for i in range(start + 1, stop) if source[i][0] == "b")
            assert (second < first) == source[start].startswith("swap")


def test_noise_breaks_rules_and_bad_sizes_are_named():
    assert make_reordering_corpus(9, random_state=1) == make_reordering_corpus(9, random_state=1)
    sources, targets, _ = make_reordering_corpus(30, n_clauses=1, noise=1.0, random_state=0)
    for source, target in zip(sources, targets):
        kept = [word.upper() for word in source] == target
        assert kept == source[0].startswith("swap")
    with pytest.raises(ValueError, match="at least 1"):
        make_reordering_corpus(0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        make_reordering_corpus(1, noise=2.0)
