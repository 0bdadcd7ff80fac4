"""Scores and readers against the paper's toys and files written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.structured import (
    attachment_score,
    dependency_ambiguity,
    dependency_error_table,
    read_conllu,
    scale_sigma,
)


def test_ambiguity_of_the_papers_toys():
    gold_one, gold_two = np.zeros((4, 3)), np.zeros((4, 3))
    gold_one[2, 0] = gold_one[2, 2] = 1.0  # Figure 3: N <- V -> V, A <- N <- V
    gold_two[2, 0] = gold_two[3, 1] = 1.0
    tags = [["N", "V", "V"], ["A", "N", "V"]]
    for symmetric in (True, False):
        assert dependency_ambiguity([gold_one, gold_two], tags, symmetric) == 3.0
    one, two = np.zeros((4, 3)), np.zeros((4, 3))  # Figure 4
    one[2, 0], one[3, 0], one[1, 1], one[3, 1] = 0.3, 0.7, 0.4, 0.6
    two[3, 0], two[2, 0], two[1, 1], two[3, 1] = 0.6, 0.4, 0.5, 0.5
    assert dependency_ambiguity([one, two], tags, symmetric=False) == pytest.approx(3.5)
    assert dependency_ambiguity([one, two], tags) == pytest.approx(3.2)
    one[0, 1] = 0.5
    assert dependency_ambiguity([one, two], tags) == pytest.approx(3.7)
    assert dependency_ambiguity([one, two], tags, include_root=False) == pytest.approx(3.2)


def test_attachment():
    assert attachment_score([[2, 0], [0]], [[2, 0], [0]]) == 1.0
    assert attachment_score([[2, 0]], [[0, 1]]) == 0.0
    assert attachment_score([[2, 0]], [[0, 1]], undirected=True) == 0.5
    assert attachment_score([2, 0, 2], [2, 0, 1]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="heads of 2"):
        attachment_score([[0]], [[0], [0]])
    with pytest.raises(ValueError, match="Sequence 0 has 2 tags"):
        attachment_score([[2, 0]], [[0]])


def test_error_table():
    tags = [["D", "N", "V"]] * 3
    table = dependency_error_table(
        tags, [[2, 3, 0]] * 3, [[3, 3, 0], [3, 3, 0], [2, 0, 2]], n_rows=None
    )
    assert table[0] == ("N", "V", "D", 2)
    assert sorted(row.n_errors for row in table) == [1, 1, 2]
    assert ("ROOT", "N", "V", 1) in table
    assert ("V", "ROOT", "N", 1) in table


def test_strengths_of_table_7():
    for tokens, published in ((27, 88), (139, 451)):
        assert round(scale_sigma(120.0, tokens * 1000, 37_000)) == published
    with pytest.raises(ValueError, match="not negative"):
        scale_sigma(-1.0, 1, 1)


ROWS = """# text = It's dogs.
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
3\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
"""


def test_reader(tmp_path):
    file = tmp_path / "small.conllu"
    file.write_text(ROWS, encoding="utf-8")
    sequences, heads = read_conllu(file)
    assert sequences == [["PRON", "AUX", "NOUN", "PUNCT"], ["VERB"]]
    assert [h.tolist() for h in heads] == [[3, 3, 0, 3], [0]]
    assert read_conllu(str(file), column="xpos").sequences[1] == ["VB"]
    assert read_conllu(file, punctuation=False).heads[0].tolist() == [3, 3, 0]
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert read_conllu(file).sequences == sequences  # as Windows writes it
    assert len(read_conllu(file, max_length=2).sequences) == 1
    conllu = pytest.importorskip("conllu")
    theirs = conllu.parse(ROWS)
    words = [[t for t in sentence if isinstance(t["id"], int)] for sentence in theirs]
    assert [[t["upos"] for t in s] for s in words] == sequences
    assert [[t["head"] for t in s] for s in words] == [h.tolist() for h in heads]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\tonly\tthree\n", "3 columns"),
        ("\n", "No sentence"),
        ("2\ta\ta\tX\t_\t_\t0\troot\t_\t_\n", "numbered"),
        ("1\ta\ta\tX\t_\t_\t7\tdep\t_\t_\n", "Heads must be numbers"),
        ("1\ta\ta\tX\t_\t_\t²\tdep\t_\t_\n", "Heads must be numbers"),
        (b"\xff\xfe\t\t", "no text in UTF-8"),
    ],
)
def test_broken_files(tmp_path, text, words):
    file = tmp_path / "broken.conllu"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=words):
        read_conllu(file)


def test_torch_struct_agrees_on_weighted_edges():
    torch = pytest.importorskip("torch")
    torch_struct = pytest.importorskip("torch_struct")
    from octavo.engine.trees.projective import projective_marginals

    random = np.random.default_rng(0)
    edges, roots = random.normal(size=(3, 6, 6)), random.normal(size=(3, 6))
    potentials = torch.tensor(edges)
    potentials[:, np.arange(6), np.arange(6)] = torch.tensor(roots)
    potentials = potentials.requires_grad_() * 1.0  # it writes into what it is given
    crf = torch_struct.DependencyCRF(potentials, multiroot=False)
    theirs = crf.partition.detach().numpy()
    ours = projective_marginals(edges[..., None], roots).log_partition
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
