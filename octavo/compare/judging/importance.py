"""Which columns the winner lives on: permutation importance on rows that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from octavo.compare.running.folds import fit_model, outer_split, random_part
from octavo.compare.running.scores import judge

if TYPE_CHECKING:
    from octavo.compare.workbench import Comparison

ROWS = 1000  # unseen rows that are looked at
COLUMNS = 60
REPEATS = 5


def column_importance(comparison: Comparison) -> list[tuple[str, list[float]]]:
    """Return how far the score falls when each column is shuffled.

    Parameters
    ----------
    comparison : Comparison
        Whose winner is looked at, fitted anew on the first training part.

    Returns
    -------
    falls : list of (str, list of float)
        Five falls a column; empty where it does not apply (rankings, clusterings, sparse rows,
        very many columns).
    """
    problem, settings = comparison.problem, comparison.settings
    if (
        problem.task in ("ranking", "clustering")
        or problem.plan is None
        or problem.X.shape[1] > COLUMNS
    ):
        return []
    train_rows, test_rows = outer_split(problem, settings, 0)
    candidate = comparison.candidate(comparison.best.name)
    train = random_part(problem.take(train_rows), candidate.row_limit, settings.seed)
    test = problem.take(test_rows[:ROWS])
    model = fit_model(candidate, train, comparison.best.params, settings.seed)
    base = judge(model, train, test, settings.score, full=False).score
    rng = np.random.default_rng(settings.seed)
    orders = [rng.permutation(test.n_rows) for _ in range(REPEATS)]
    found = []
    for name in test.X.columns:
        falls = []
        for order in orders:
            shuffled = test.take(np.arange(test.n_rows))
            shuffled.X = test.X.assign(**{name: test.X[name].to_numpy()[order]})
            falls.append(base - judge(model, train, shuffled, settings.score, full=False).score)
        found.append((str(name), falls))
    return found
