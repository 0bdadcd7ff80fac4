"""MinlipSurvival beside Cox's model and scikit-survival in the same folds.

``python tools/survival_peers.py [--data veteran]`` compares on the sets of ``OCTAVO_DATA`` as
`octavo compare` does: settings are chosen on three inner folds, and the five outer folds of a small
table are drawn anew as often as `compare` draws them. Peers run at their own defaults and tuned.
Training parts of repeated folds overlap, so the standard error of a mean difference is the one that
`compare` uses (Nadeau and Bengio 2003). A peer is reached where the mean difference is not below
minus half that error; ``reached_by_mean`` says the same of half the standard error of
MinlipSurvival's own mean over the folds. Rows go to ``docs/results/survival_peers.json``.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.svm import FastSurvivalSVM, MinlipSurvivalAnalysis

from octavo.compare import compare, prepare
from octavo.compare.judging.paired import corrected_error
from octavo.compare.methods.candidates import Candidate, candidates_for
from octavo.compare.workbench import most_repeats
from octavo.engine.estimators.arrays import Floats

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "survival_peers.json"
TABLES: dict[str, dict[str, Any]] = {
    "GBSG2": {"time": "time", "event": "cens=1"},
    "veteran": {"time": "Survival_in_days", "event": "Status=dead"},
    "whas500": {"time": "lenfol", "event": "fstat=1"},
    "flchain": {"time": "futime", "event": "death=dead", "drop": ["chapter"]},  # a cause of death
}
DENSE_ROWS = 500  # of MinlipSurvivalAnalysis, whose program holds a matrix of all pairs of rows


class RankSVM(FastSurvivalSVM):
    """FastSurvivalSVM, which takes no time of zero; it learns the order of times alone."""

    def fit(self, X: Any, y: Any) -> RankSVM:
        y = y.copy()
        y["time"] = np.maximum(y["time"], 0.5 * y["time"][y["time"] > 0].min())
        return super().fit(X, y)


def contestants(problem: Any) -> list[Candidate]:
    """Return MinlipSurvival and Cox as `compare` tries them, and peers, as they are and tuned."""
    ours = candidates_for(problem, ["MinlipSurvival", "RidgeCox"])[0]
    (cox,) = [c for c in ours if c.name == "RidgeCox"]
    plain = replace(cox, name="Cox, no ridge", grid=[{"alpha": 0.0}])
    minlip = MinlipSurvivalAnalysis(solver="ecos")
    cox_there = CoxPHSurvivalAnalysis(alpha=1e-4)  # 0 fails: a column a category is one too many
    peers = [
        Candidate("CoxPHSurvivalAnalysis", "sksurv", cox_there, [{}]),
        Candidate("FastSurvivalSVM", "sksurv", RankSVM(max_iter=100), [{}]),
        Candidate("MinlipSurvivalAnalysis", "sksurv", minlip, [{}], row_limit=DENSE_ROWS),
    ]
    values = {
        "CoxPHSurvivalAnalysis": (1e-4, 0.1, 1.0, 10.0, 100.0),
        "FastSurvivalSVM": (0.01, 0.1, 1.0, 10.0),
        "MinlipSurvivalAnalysis": (0.01, 0.1, 1.0),
    }
    tuned = [
        replace(c, name=f"{c.name}, tuned", grid=[{"alpha": a} for a in values[c.name]])
        for c in peers
    ]
    return [*ours, plain, *peers, *tuned]


def difference(ours: Floats, theirs: Floats, test_to_train: float) -> dict[str, Any]:
    """Return what is between two methods in the same folds, and whether half an error is kept."""
    gap = ours - theirs
    error = corrected_error(gap, test_to_train)
    return {
        "concordance": float(theirs.mean()),
        "difference": float(gap.mean()),
        "half_error": 0.5 * error,
        "reached": bool(gap.mean() >= -0.5 * error),
        "reached_by_mean": bool(gap.mean() >= -0.5 * corrected_error(ours, 0.0)),
    }


def contest(name: str, repeats: int | None) -> dict[str, Any]:
    """Compare on one table; return a row a peer."""
    path = Path(os.environ["OCTAVO_DATA"]) / "survival" / f"{name}.arff"
    problem = prepare(path, **TABLES[name])
    methods, repeats = contestants(problem), repeats or most_repeats(problem)
    with joblib.parallel_config(backend="sequential"):
        found = compare(path, **TABLES[name], methods=methods, repeats=repeats, journal=False)
    scores = {s.name: np.array(s.scores) for s in found.leaderboard}
    ours = scores.pop("MinlipSurvival")
    ratio = 1 / (found.settings.cv - 1)
    return {
        "rows": found.problem.n_rows,
        "folds": len(ours),
        "concordance": float(ours.mean()),
        "error": corrected_error(ours, ratio),
        "error_over_folds": corrected_error(ours, 0.0),
        "first_five": {"MinlipSurvival": float(ours[:5].mean())}
        | {peer: float(theirs[:5].mean()) for peer, theirs in scores.items()},
        "peers": {peer: difference(ours, theirs, ratio) for peer, theirs in scores.items()},
        "failures": {f.name: f.why for f in found.failures if f.kind != "not tried"},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--repeats", type=int, default=None)
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in options.data:
        row = rows[name] = contest(name, options.repeats)
        print(
            f"{name}: {row['folds']} folds of {row['rows']} rows, MinlipSurvival "
            f"{row['concordance']:.4f}; half the standard error of its mean is "
            f"{0.5 * row['error_over_folds']:.4f} over the folds, {0.5 * row['error']:.4f} "
            "corrected"
        )
        for peer, found in row["peers"].items():
            print(
                f"  {peer:<32} {found['concordance']:.4f}  difference {found['difference']:+.4f}, "
                f"half its error {found['half_error']:.4f}"
                f"{'' if found['reached'] else '  BEHIND'}"
                f"{'' if found['reached_by_mean'] else '  BEHIND BY THE MEAN'}",
                flush=True,
            )
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
