"""Word alignment against nltk and enumeration; the decoder against all translations."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.data import make_reordering_corpus
from octavo.structured import (
    IBMAligner,
    PhraseReorderingModel,
    beam_decode,
    bigram_language_model,
    phrase_table,
)
from octavo.structured.margins.aligner import (
    _Batch,
    _hmm_path,
    _hmm_start,
    _hmm_step,
    _jump_matrix,
    _Tables,
)

SOURCES = ["das Haus", "das Buch", "ein Buch", "das kleine Haus"]
TARGETS = ["the house", "the book", "a book", "the small house"]


def test_model_1_by_hand():
    """Repeat the steps of Brown et al. with loops and dictionaries."""
    pairs = [(["", *s.split()], t.split()) for s, t in zip(SOURCES, TARGETS)]
    words = {(f, e) for fs, es in pairs for f in fs for e in es}
    partners = {f: sum(1 for g, _ in words if g == f) for f, _ in words}
    t = {(f, e): 1.0 / partners[f] for f, e in words}
    for _ in range(4):
        counts = dict.fromkeys(words, 0.0)
        for fs, es in pairs:
            for e in es:
                total = sum(t[f, e] for f in fs)
                for f in fs:
                    counts[f, e] += t[f, e] / total
        sums = {f: sum(c for (g, _), c in counts.items() if g == f) for f, _ in words}
        t = {(f, e): counts[f, e] / sums[f] for f, e in words}
    found = IBMAligner(model=1, n_iter=4).fit(SOURCES, TARGETS).translation_
    for (f, e), value in t.items():
        assert_allclose(found[f or None, e], value, rtol=1e-9)


@pytest.mark.parametrize("model", [1, 2, "hmm"])
def test_likelihood_never_falls(model):
    sources, targets, _ = make_reordering_corpus(40, n_words=5, random_state=0)
    aligner = IBMAligner(model=model, n_iter=8).fit(sources, targets)
    trace = np.append(aligner.log_likelihoods_, aligner.log_likelihood_)
    # clipping at 1e-12 and cut-off jumps may cost rounding, not more
    assert (np.diff(trace) > -1e-6 * abs(trace[0])).all()


def test_hmm_is_enumeration():
    random = np.random.default_rng(0)
    n, m = 3, 4
    cells = np.arange(m * (n + 1)).reshape(1, m, n + 1)
    jumps = random.dirichlet(np.ones(2 * n + 1))
    tables = _Tables(random.uniform(size=m * (n + 1)), {}, jumps, 0.2)
    batch = _Batch(cells, [0])
    move, start = _jump_matrix(tables, n), _hmm_start(tables, n)
    assert_allclose(move.sum(axis=1), 1.0)
    emit = tables.words[cells[0]]
    emit = np.hstack([emit[:, 1:], np.repeat(emit[:, :1], n, axis=1)])
    total, posterior, best = 0.0, np.zeros((m, n + 1)), (0.0, None)
    for path in itertools.product(range(2 * n), repeat=m):
        value = start[path[0]] * emit[0, path[0]]
        for j in range(1, m):
            value *= move[path[j - 1], path[j]] * emit[j, path[j]]
        total += value
        for j, state in enumerate(path):
            posterior[j, state + 1 if state < n else 0] += value
        best = max(best, (value, path))
    found, likelihood, _ = _hmm_step(batch, tables)
    assert_allclose(likelihood, np.log(total), rtol=1e-12)
    assert_allclose(found[0], posterior / total, rtol=1e-9)
    expected = [state if state < n else -1 for state in best[1]]
    assert _hmm_path(batch, tables)[0].tolist() == expected


@pytest.mark.parametrize("model", [1, 2, "hmm"])
def test_links_of_a_grammar_are_found(model):
    sources, targets, alignments = make_reordering_corpus(
        300, n_clauses=1, n_words=6, n_markers=2, random_state=0
    )
    found = IBMAligner(model=model, n_iter=20).fit(sources, targets).predict(sources, targets)
    right = sum(len(a & b) for a, b in zip(found, alignments))
    assert right > 0.9 * sum(map(len, alignments))


def test_bad_sentences_are_numbered():
    with pytest.raises(ValueError, match="Sentence pair 1"):
        IBMAligner().fit(["a", ""], ["A", "B"])
    with pytest.raises(ValueError, match="as many sources"):
        IBMAligner().fit(["a"], ["A", "B"])


def by_enumeration(words, table, language_model, distance_weight):
    """Return the best score over all orders of all segmentations."""
    best = -np.inf
    n = len(words)
    for cuts in itertools.product([0, 1], repeat=n - 1):
        ends = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), n]
        for order in itertools.permutations(list(itertools.pairwise(ends))):
            choices = [table.get(tuple(words[a:b]), []) for a, b in order]
            for chosen in itertools.product(*choices):
                score, before, stop = 0.0, "<s>", 0
                for (a, b), (phrase, value) in zip(order, chosen):
                    score += value - distance_weight * abs(stop - a)
                    for word in phrase:
                        score += language_model(before, word)
                        before = word
                    stop = b
                best = max(best, score + language_model(before, "</s>"))
    return best


def test_a_wide_beam_finds_the_best_translation():
    sources, targets, alignments = make_reordering_corpus(60, n_words=3, random_state=0)
    table = phrase_table(sources, targets, alignments, 2)
    language_model = bigram_language_model(targets)
    for words in (["swap1", "a1", "b2"], ["keep1", "b0", "a1", "a2"]):
        found = beam_decode(words, table, language_model, beam_width=10_000, max_jump=9)
        assert_allclose(found.score, by_enumeration(words, table, language_model, 0.1))
        assert sorted(i for a, _ in found.derivation for i in range(*a)) == list(range(len(words)))


def test_a_model_of_jumps_puts_words_in_order():
    corpus = make_reordering_corpus(300, random_state=1)
    table = phrase_table(*corpus, 1)
    model = PhraseReorderingModel(max_phrase_len=1, cluster_by_source=False).fit(*corpus)
    source = ["swap1", "a3", "b4", "keep2", "a1", "b1"]
    assert beam_decode(source, table).words == [word.upper() for word in source]
    found = beam_decode(source, table, reordering=model)
    assert found.words == ["SWAP1", "B4", "A3", "KEEP2", "A1", "B1"]
    assert beam_decode("new", table).words == ["new"]
    for words, options in (([], {}), (["a"], {"beam_width": 0})):
        with pytest.raises(ValueError, match="at least one"):
            beam_decode(words, table, **options)
