"""Sentences of random grammars use what the grammar allows."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.data import make_sparse_grammar


def test_sentences_follow_the_grammar():
    sequences, heads, grammar = make_sparse_grammar(200, n_tags=6, max_length=7, random_state=1)
    np.testing.assert_allclose(grammar.root.sum(), 1.0)
    np.testing.assert_allclose(grammar.child.sum(axis=-1), 1.0)
    assert (grammar.root > 0).sum() == 2
    asked = grammar.stop[:, :, 0] < 1  # where a side has no child, its row is never asked
    assert ((grammar.child[:, :, 0] > 0) & asked[..., None]).sum(axis=(0, 1)).max() <= 2
    for tags, tree in zip(sequences, heads):
        assert 1 <= len(tags) <= 7
        assert (tree == 0).sum() == 1
        for c, h in enumerate(tree):
            if h == 0:
                assert grammar.root[tags[c]] > 0
            else:
                side = int(c > h - 1)
                assert grammar.child[tags[h - 1], side, 0, tags[c]] > 0
                assert grammar.stop[tags[h - 1], side, 0] < 1


def test_bad_numbers():
    with pytest.raises(ValueError, match="n_tags of at least 3"):
        make_sparse_grammar(5, n_tags=2)
