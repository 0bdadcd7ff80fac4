"""Measure the claims of papers and keep the results for the documentation.

``python tools/claims.py [--full] [--claim NAME ...] [PAPER ...]`` replaces the rows of those papers
(all by default), or of the named claims alone, in ``docs/results/claims.json``, from which the
methods' pages are written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "claims.json"


def main() -> int:
    """Run the claims and rewrite the file after each paper."""
    sys.path.insert(0, str(ROOT))
    from octavo.catalogue import find_paper, papers
    from octavo.claims import run_claim
    from octavo.data.loaders.datasets import _folders

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="keys of papers")
    parser.add_argument("--full", action="store_true", help="measure at the paper's size")
    parser.add_argument("--claim", action="append", default=[], help="only claims of this name")
    arguments = parser.parse_args()
    chosen = [find_paper(key) for key in arguments.papers] or list(papers())
    failed = False
    for paper in chosen:
        rows = []
        chosen_claims = [
            c for c in paper.claims if not arguments.claim or c.name in arguments.claim
        ]
        for claim in chosen_claims:
            result = run_claim(claim, full=arguments.full)
            failed |= result.verdict == "failed"
            row = {"paper": paper.key, "full": arguments.full} | result.as_dict()
            for folder in _folders().values():  # where data lie here says nothing to a reader
                row["evidence"] = row["evidence"].replace(f" ({folder})", "")
            rows.append(row)
            print(f"{paper.key} {claim.name}: {result.measured_text}, {result.verdict}", flush=True)
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        order = {claim.name: position for position, claim in enumerate(paper.claims)}
        measured = {claim.name for claim in chosen_claims}
        own = [r for r in kept if r["paper"] == paper.key and r["claim"] in order.keys() - measured]
        own = sorted(own + rows, key=lambda row: order[row["claim"]])
        kept = [row for row in kept if row["paper"] != paper.key] + own
        kept.sort(key=lambda row: row["paper"])
        text = json.dumps(kept, indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
