"""Phrase pairs against brute force and nltk; jumps, costs and counts by hand."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.data import make_reordering_corpus
from octavo.structured import (
    LexicalizedReordering,
    PhraseInContext,
    PhrasePair,
    PhraseReorderingModel,
    extract_phrase_pairs,
    orientation,
    phrase_examples,
    phrase_features,
    read_pharaoh,
    reordering_cost,
    reordering_distances,
)


def by_brute_force(n, m, links, longest):
    pairs = []
    spans = [list(itertools.combinations(range(k + 1), 2)) for k in (n, m)]
    for (a, b), (c, d) in itertools.product(*spans):
        inside = [a <= i < b and c <= j < d for i, j in links]
        touched = [a <= i < b or c <= j < d for i, j in links]
        if any(inside) and inside == touched and max(b - a, d - c) <= longest:
            pairs.append(PhrasePair((a, b), (c, d)))
    return sorted(pairs)


def random_alignments(n_trials):
    random = np.random.default_rng(0)
    for _ in range(n_trials):
        n, m = random.integers(1, 8, size=2)
        size = int(random.integers(0, 9))
        yield n, m, {(int(random.integers(n)), int(random.integers(m))) for _ in range(size)}


def test_pairs_are_those_of_brute_force():
    for n, m, links in random_alignments(150):
        for longest in (1, 3, 8):
            found = extract_phrase_pairs(["s"] * n, ["t"] * m, links, longest)
            assert found == by_brute_force(n, m, links, longest)


def test_without_extensions_ends_are_linked():
    for n, m, links in random_alignments(50):
        found = extract_phrase_pairs(["s"] * n, ["t"] * m, links, extend_unaligned=False)
        sources, targets = {i for i, _ in links}, {j for _, j in links}
        expected = [
            pair
            for pair in by_brute_force(n, m, links, 8)
            if {pair.source[0], pair.source[1] - 1} <= sources
            and {pair.target[0], pair.target[1] - 1} <= targets
        ]
        assert found == expected


def test_pairs_are_those_of_nltk():
    phrase_based = pytest.importorskip("nltk.translate.phrase_based")
    for n, m, links in random_alignments(50):
        if not links:
            continue
        source, target = [f"s{i}" for i in range(n)], [f"t{j}" for j in range(m)]
        found = phrase_based.phrase_extraction(" ".join(source), " ".join(target), sorted(links), 8)
        assert {(a, b) for a, b, _, _ in found} == set(extract_phrase_pairs(source, target, links))


def test_bad_alignments_are_sentences():
    with pytest.raises(ValueError, match="beyond the sentences"):
        extract_phrase_pairs("a b", "A B", {(2, 0)})
    with pytest.raises(ValueError, match="pairs of word positions"):
        extract_phrase_pairs("a b", "A B", {(0.5, 0)})
    with pytest.raises(ValueError, match="max_length"):
        extract_phrase_pairs("a", "A", {(0, 0)}, 0)
    with pytest.raises(ValueError, match="Line 2"):
        read_pharaoh("0-0\n0:1")
    with pytest.raises(ValueError, match="pairs of word positions"):
        extract_phrase_pairs("a", "A", None)


def test_pharaoh_files_are_read(tmp_path):
    file = tmp_path / "links.txt"
    file.write_text("0-0 1-2\n\n3-1\n", encoding="utf-8")
    expected = [{(0, 0), (1, 2)}, set(), {(3, 1)}]
    assert read_pharaoh(file) == read_pharaoh(str(file)) == expected
    assert read_pharaoh("0-0 1-2") == expected[:1]
    file.write_text("0-0 1-2\r\n\r\n3-1\r\n", encoding="utf-8-sig")  # as Windows writes it
    assert read_pharaoh(file) == expected
    file.write_bytes(b"\xff\xfe0-0")
    for path in (file, str(file)):
        with pytest.raises(ValueError, match="no text in UTF-8"):
            read_pharaoh(path)


def test_distances_of_permutations():
    for order in itertools.permutations(range(4)):
        pairs = [PhrasePair((i, i + 1), (j, j + 1)) for j, i in enumerate(order)]
        before = (-1, *order)
        expected = [before[t] + 1 - order[t] for t in range(4)]
        assert reordering_distances(pairs).tolist() == expected
        assert reordering_cost(pairs) == sum(map(abs, expected))


def test_orientations_have_the_papers_edges():
    assert [orientation(d) for d in (-3, 0, 2)] == [0, 1, 2]
    distances = [-9, -5, -4, -1, 0, 1, 4, 5, 15]
    assert orientation(distances, 5).tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4]
    assert orientation([-3, 3], 5, threshold=3).tolist() == [0, 4]
    for call in (lambda: orientation(1, 4), lambda: orientation(0.5)):
        with pytest.raises(ValueError, match=r"classes|whole numbers"):
            call()


def test_costs_by_hand():
    swapped = [PhrasePair((1, 2), (0, 1)), PhrasePair((0, 1), (1, 2))]
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    assert_allclose(reordering_cost(swapped, "direct", shares), -np.log(0.5 * 0.8))
    assert_allclose(
        reordering_cost(swapped, "adjusted", shares, beta=2.0), 0.5 * (1 / 0.5 + 2 / 0.8)
    )
    assert_allclose(reordering_cost(swapped, "direct", [0.0, 1.0]), -np.log(1e-4))
    for options in (
        {"mode": "direct"},
        {"mode": "x"},
        {"beta": 0.0},
        {"mode": "adjusted", "probabilities": [2.0, 0.5]},
        {"mode": "direct", "probabilities": [-0.1, 0.5]},
    ):
        with pytest.raises(ValueError, match=r"needed|A cost|positive|between 0 and 1"):
            reordering_cost(swapped, **options)


def test_counts_back_off():
    phrases = [("a", "A"), ("a", "A"), ("a", "B"), ("b", "B")]
    model = LexicalizedReordering().fit(phrases, [0, 2, 2, 1])
    shares = model.predict_proba([("a", "A"), ("a", "C"), ("c", "C")])
    assert_allclose(shares[0], np.array([1.5, 0.5, 1.5]) / 3.5)
    assert_allclose(shares[1], np.array([1.5, 0.5, 2.5]) / 4.5)
    assert_allclose(shares[2], np.array([1.5, 1.5, 2.5]) / 5.5)


def test_features_are_those_of_the_windows():
    example = PhraseInContext(list("abcde"), ["X", "Y"], PhrasePair((2, 4), (0, 2)))
    found = phrase_features(example, window=1, ngram=2)
    assert set(found) == {
        ("L", -1, ("b",)), ("L", -1, ("b", "c")), ("L", 0, ("c",)),
        ("R", 0, ("d",)), ("R", 0, ("d", "e")), ("R", 1, ("e",)),
        ("T", ("X",)), ("T", ("Y",)), ("T", ("X", "Y")),
    }  # fmt: skip
    classes = ({"b": "noun", "c": "verb"}, {})
    more = set(phrase_features(example, 1, 1, classes)) - set(phrase_features(example, 1, 1))
    assert ("LC", -1, ("noun",)) in more
    assert ("TC", ("?",)) in more


def test_examples_jump_from_the_phrase_before():
    examples, distances = phrase_examples(
        ["m a b n"], ["M B A N"], [{(0, 0), (1, 2), (2, 1), (3, 3)}]
    )
    jumps = {e.phrases[0]: int(d) for e, d in zip(examples, distances)}
    assert jumps["m",] == 0
    assert jumps["b",] == -1
    assert jumps["a",] == 2
    assert jumps["n",] == -1
    with pytest.warns(UserWarning, match="1 of 2"):
        phrase_examples(["a", "b"], ["A", "B"], [{(0, 0)}, set()])
    with pytest.raises(ValueError, match="Sentence pair 0"):
        phrase_examples(["a"], ["A"], [{(0, 5)}])


def test_context_beats_counts_in_every_class():
    from sklearn.metrics import f1_score

    corpus = make_reordering_corpus(400, random_state=11)
    train, test = [part[:300] for part in corpus], [part[300:] for part in corpus]
    model = PhraseReorderingModel(cluster_by_source=False, max_phrase_len=4).fit(*train)
    assert model.score(*test) > 0.95
    phrases, jumps = phrase_examples(*train, 4)
    counts = LexicalizedReordering().fit([p.phrases for p in phrases], orientation(jumps))
    new, new_jumps = phrase_examples(*test, 4)
    true = orientation(new_jumps)
    ours = f1_score(true, model.predict(new), average=None)
    theirs = f1_score(true, counts.predict([p.phrases for p in new]), average=None)
    assert (ours > theirs).all()


def test_clusters_answer_for_all_classes():
    corpus = make_reordering_corpus(150, n_words=4, random_state=0)
    model = PhraseReorderingModel(max_phrase_len=2, min_cluster=5).fit(*corpus)
    assert min(model.clusters_.values()) >= 5
    examples, distances = phrase_examples(*corpus, 2)
    shares = model.predict_proba(examples)
    assert shares.shape == (len(examples), 3)
    assert shares.min() >= 0.0
    assert_allclose(shares.sum(axis=1), 1.0)
    assert np.mean(model.predict(examples) == orientation(distances)) > 0.9
    unseen = PhraseInContext(["zz"], ["ZZ"], PhrasePair((0, 1), (0, 1)))
    assert_allclose(model.predict_proba([unseen]).sum(), 1.0)
    direct = model.reordering_cost([unseen])
    assert_allclose(direct, -np.log(model.predict_proba([unseen])[0, 1]))
    with pytest.raises(ValueError, match="beyond sentences"):
        model.predict([(["a"], ["A"], PhrasePair((0, 3), (0, 1)))])
    with pytest.raises(ValueError, match="as many sources"):
        model.fit(corpus[0], corpus[1][:-1], corpus[2])
