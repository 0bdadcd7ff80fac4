"""Claims by seeds: what is kept, what is measured again, and that the pieces give the whole."""

from dataclasses import replace

import pytest

from octavo import reproduction
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, at_least, run_claim
from octavo.reproduction import ClaimJournal, batches_of, reproduce_claims

METHOD = Method("M", "ranking", "m", *["a long enough text"] * 5, ("peer",), ("plot",))


CALLS: list[int] = []
BREAKS: list[int] = []  # seeds at which the next measurement is interrupted, once


def steps(run):
    CALLS.append(run.seed)
    if run.seed in BREAKS:
        BREAKS.remove(run.seed)
        raise KeyboardInterrupt
    run.note(f"full {run.full}")
    return 2.0 + run.seed


@pytest.fixture
def paper(monkeypatch):
    CALLS.clear()
    one = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    expect = at_least(1.0, because="b")
    one.claim(says="s", where="w", published=1.0, expect=expect, seeds=(0,))(steps)
    one.claims[0] = replace(one.claims[0], full_seeds=(1, 2, 3, 4, 5))
    monkeypatch.setattr(reproduction, "find_paper", lambda key: one)
    return one


def test_seeds_one_by_one_give_the_result_of_the_whole(paper):
    claim = paper.claims[0]
    [(_, result)] = reproduce_claims([(paper, claim)], full=True, n_jobs=1)
    whole = run_claim(claim, full=True)
    assert replace(result, seconds=0.0) == replace(whole, seconds=0.0)
    assert result.measured == 5.0
    assert "full True" in result.evidence
    assert "seeds 1 to 5" in result.evidence


def test_an_interrupted_claim_goes_on_at_the_seed_where_it_was(paper, tmp_path):
    journal = ClaimJournal(tmp_path / "journal.jsonl")
    BREAKS.append(3)
    with pytest.raises(KeyboardInterrupt):
        reproduce_claims([(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal)
    assert CALLS == [1, 2, 3]
    [(_, result)] = reproduce_claims(
        [(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal
    )
    assert CALLS == [1, 2, 3, 3, 4, 5]
    assert result.measured == 5.0
    reproduce_claims([(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal)
    assert len(CALLS) == 6


def test_damaged_lines_and_other_claims_are_measured_again(paper, tmp_path):
    journal = ClaimJournal(tmp_path / "journal.jsonl")
    reproduce_claims([(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal)
    lines = journal.path.read_text().splitlines()
    kept = [line for line in lines if '"seed": 2' in line]
    journal.path.write_text("\n".join([*kept, '{"key": "p/steps"', "[]", ""]))
    CALLS.clear()
    reproduce_claims([(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal)
    assert CALLS == [1, 3, 4, 5]
    paper.claims[0] = replace(paper.claims[0], published=1.5)
    reproduce_claims([(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal)
    assert CALLS[4:] == [1, 2, 3, 4, 5]


def test_a_seed_without_a_number_is_the_verdict_and_is_not_kept(paper, tmp_path):
    journal = ClaimJournal(tmp_path / "journal.jsonl")

    def absent(run):
        if run.seed == 4:
            raise NotMeasurable("no data")
        return 1.0

    paper.claims[0] = replace(paper.claims[0], measure=absent)
    [(_, result)] = reproduce_claims(
        [(paper, paper.claims[0])], full=True, n_jobs=1, journal=journal
    )
    assert result.verdict == "not measurable here"
    assert "no data" in result.evidence
    assert len(journal.read_seeds([(paper, paper.claims[0])], True)) == 4


def test_what_shares_a_computation_stays_together():
    seeds = [("seed", key, name, True, seed) for key in "pq" for name in "ab" for seed in (1, 2)]
    batches = batches_of(seeds, 2)
    assert sorted(len(batch) for batch in batches) == [2, 2, 2, 2]
    assert all(len({(job[1], job[4]) for job in batch}) == 1 for batch in batches)
    claims = [("claim", "p", str(i), False) for i in range(5)]
    assert [len(batch) for batch in batches_of(claims, 2)] == [3, 2]
