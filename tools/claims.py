"""Measure the claims of papers and keep the results for the documentation.

``python tools/claims.py [--full] [PAPER ...]`` measures every claim whose row in
``docs/results/claims.json`` is absent, stale, or quick where the full form is asked for,
in parallel, and writes the rows. What an interrupted run has finished is not measured again.
``--check`` measures nothing and names the stale rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
RESULTS = ROOT / "docs" / "results" / "claims.json"

from octavo.catalogue import Paper, find_paper, papers  # noqa: E402
from octavo.claims import Claim, Result  # noqa: E402
from octavo.data.loaders.datasets import data_folders  # noqa: E402
from octavo.reproduction import ClaimJournal, reproduce_claims  # noqa: E402

Rows = dict[tuple[str, str], dict[str, Any]]


def kept_rows() -> Rows:
    """Return the record, by paper and claim."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return {(row["paper"], row["claim"]): row for row in rows}


def is_stale(row: dict[str, Any] | None, claim: Claim) -> bool:
    """Whether the claim has changed since it was measured, or never was."""
    return row is None or row.get("fingerprint") != claim.fingerprint


def write(measured: Rows) -> None:
    """Put rows into the record: those of claims that exist, in the order of papers and claims.

    The record is read again each time, for another run may have written others meanwhile.
    """
    rows = kept_rows() | measured
    order = {(paper.key, claim.name): None for paper in papers() for claim in paper.claims}
    text = json.dumps([rows[key] for key in order if key in rows], indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def as_row(paper: Paper, result: Result, full: bool) -> dict[str, Any]:
    """Return plain data without the folders of this machine."""
    row: dict[str, Any] = {"paper": paper.key, "full": full} | result.as_dict()
    for folder in data_folders().values():
        row["evidence"] = row["evidence"].replace(f" ({folder})", "")
    return row


def check() -> int:
    """Name the stale rows."""
    rows = kept_rows()
    claims = [(paper, claim) for paper in papers() for claim in paper.claims]
    stale = [(p, c) for p, c in claims if is_stale(rows.get((p.key, c.name)), c)]
    gone = rows.keys() - {(p.key, c.name) for p, c in claims}
    for paper, claim in stale:
        print(f"stale: {paper.key} {claim.name}")
    for key, name in sorted(gone):
        print(f"no such claim: {key} {name}")
    if stale or gone:
        print(f"{len(stale) + len(gone)} of {len(claims)} rows: run `make claims`.")
    return int(bool(stale or gone))


def main() -> int:
    """Run the claims and rewrite the file as they come."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="keys of papers")
    parser.add_argument("--full", action="store_true", help="measure at the paper's size")
    parser.add_argument("--claim", action="append", default=[], help="only claims of this name")
    parser.add_argument("--kind", action="append", default=[], help="only claims of this kind")
    parser.add_argument("--skip-kind", action="append", default=[], help="no claims of this kind")
    parser.add_argument("--fresh", action="store_true", help="also what is not stale")
    parser.add_argument(
        "--at-most", type=float, default=math.inf, metavar="SECONDS", help="by the record's times"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--journal", type=Path, help="where finished claims are kept")
    parser.add_argument("--kept", action="store_true", help="only what the journal has")
    parser.add_argument("--check", action="store_true", help="name stale rows and do nothing")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    full, rows = arguments.full, kept_rows()

    def due(paper: Paper, claim: Claim) -> bool:
        row = rows.get((paper.key, claim.name))
        if (row or {}).get("seconds", 0.0) > arguments.at_most:
            return False
        return arguments.fresh or is_stale(row, claim) or (full and not (row or {}).get("full"))

    chosen = [
        (paper, claim)
        for paper in [find_paper(key) for key in arguments.papers] or papers()
        for claim in paper.claims
        if (not arguments.claim or claim.name in arguments.claim)
        and (not arguments.kind or claim.kind in arguments.kind)
        and claim.kind not in arguments.skip_kind
        and due(paper, claim)
    ]
    journal = ClaimJournal(arguments.journal)
    if arguments.kept:
        known = journal.read(chosen, full)
        chosen = [(p, c) for p, c in chosen if f"{p.key}/{c.name}" in known]
    known_seconds = [rows[k]["seconds"] for p, c in chosen if (k := (p.key, c.name)) in rows]
    usual = sum(known_seconds) / max(len(known_seconds), 1) * len(chosen) / arguments.jobs
    print(
        f"{len(chosen)} claims on {arguments.jobs} processes; at the recorded times "
        f"{usual / 60:.0f} minutes or more.",
        flush=True,
    )
    begun, failed, done = time.monotonic(), [], 0

    def tell(paper: Paper, result: Result, kept: bool) -> None:
        nonlocal done
        done += 1
        if result.verdict == "failed":
            failed.append(f"{paper.key} {result.claim.name}: {result.evidence}")
        write({(paper.key, result.claim.name): as_row(paper, result, full)})
        minutes = (time.monotonic() - begun) / 60
        print(
            f"{minutes:5.1f} min {done}/{len(chosen)} {paper.key} {result.claim.name}: "
            f"{result.measured_text}, {result.verdict} ({result.seconds:.0f} s)",
            flush=True,
        )

    reproduce_claims(chosen, full=full, n_jobs=arguments.jobs, journal=journal, tell=tell)
    write({})
    print(*failed, sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
