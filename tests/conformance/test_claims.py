"""Every claim keeps the rules of docs/claims.md."""

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from octavo.catalogue import papers
from octavo.claims import KINDS, MIN_SEEDS

PAPERS = papers()
RECORD = Path(__file__).parents[2] / "docs" / "results" / "claims.json"


@pytest.mark.parametrize("paper", PAPERS, ids=[paper.key for paper in PAPERS])
def test_headlines_name_claims(paper):
    names = {claim.name for claim in paper.claims}
    assert 1 <= len(paper.headlines) <= 3
    assert set(paper.headlines) <= names


@pytest.mark.parametrize("paper", PAPERS, ids=[paper.key for paper in PAPERS])
def test_main_tables_are_covered_or_excused(paper):
    names = {claim.name for claim in paper.claims}
    assert paper.tables, "list the main tables and figures of the paper"
    for place, cover in paper.tables.items():
        if cover.startswith("["):
            assert cover.endswith("]"), place
            assert len(cover) > 12, f"{place}: a reason, please"
        else:
            for pattern in cover.split():
                assert any(fnmatchcase(name, pattern) for name in names), f"{place}: {pattern}"


@pytest.mark.parametrize("paper", PAPERS, ids=[paper.key for paper in PAPERS])
def test_random_claims_have_enough_seeds(paper):
    for claim in paper.claims:
        assert claim.kind in KINDS
        if claim.random and claim.kind != "theorem":
            assert len(claim.full_seeds) >= MIN_SEEDS, claim.name


@pytest.mark.parametrize("paper", PAPERS, ids=[paper.key for paper in PAPERS])
def test_clocks_of_then_are_not_compared_with_clocks_of_now(paper):
    for claim in paper.claims:
        if claim.unit in ("s", "ms", "min", "h", "seconds", "minutes"):
            assert claim.kind == "own", f"{claim.name}: a time of today says nothing of the paper"


@pytest.mark.parametrize("paper", PAPERS, ids=[paper.key for paper in PAPERS])
def test_numbers_have_a_published_figure(paper):
    for claim in paper.claims:
        if claim.kind == "figure" and claim.expect.text != "holds":
            assert claim.published != "", claim.name


def test_every_refutation_has_its_sentence():
    """Each refuted row of the record is explained by one entry, and no entry explains nothing."""
    refuted = {}
    for row in json.loads(RECORD.read_text(encoding="utf-8")):
        if row["verdict"] == "refuted" and row["kind"] != "own":
            refuted.setdefault(row["paper"], []).append(row["claim"])
    for paper in PAPERS:
        rows = refuted.get(paper.key, [])
        silent = [name for name in rows if not paper.why_refuted(name)]
        assert not silent, f"{paper.key}: say why in `refutations`: {silent}"
        for names, sentence in paper.refutations.items():
            assert sentence[0].isupper(), sentence
            assert sentence.endswith("."), sentence
            for pattern in names.split():
                assert any(fnmatchcase(name, pattern) for name in rows), f"{paper.key}: {pattern}"
