"""Experiments: a function of parameters, run once for each, and never believed when it is NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

Params = dict[str, Any]


def _key(params: Params, repeat: int) -> tuple[Any, ...]:
    return (tuple(sorted((str(name), value) for name, value in params.items())), repeat)


def check_response(value: Any, params: Params) -> float:
    """Return a response as a number, or say which run gave none."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The objective must return a number; at {params} it returned {value!r}."
        ) from error
    if not math.isfinite(number):
        raise ValueError(
            f"The objective returned {number} at {params}. A failed run cannot be screened: mend "
            "it, narrow the ranges, or return the worst possible response."
        )
    return number


class Experiments:
    """An objective with a memory: the same parameters are run once.

    Repeats of a run within a design (replicates, centre points) are run anew, unless the objective
    is deterministic, and later calls for those parameters are answered by their mean.
    `n_experiments` counts the runs made.
    """

    def __init__(
        self,
        objective: Callable[[Params], Any],
        n_jobs: int | None = None,
        deterministic: bool = False,
    ) -> None:
        if not callable(objective):
            raise ValueError(
                f"objective must be a function of a dict of parameters; got {objective!r}."
            )
        self.objective, self.n_jobs, self.deterministic = objective, n_jobs, deterministic
        self.found: dict[tuple[Any, ...], float] = {}
        self.history: list[tuple[Params, float]] = []

    @property
    def n_experiments(self) -> int:
        """Number of runs made."""
        return len(self.found)

    def run(self, settings: Sequence[Params], repeats: Sequence[int] | None = None) -> np.ndarray:
        """Return the responses of several runs, those that are new in parallel."""
        # A replicate is a new run only where the objective is noisy.
        known = repeats is None or self.deterministic
        numbers = [0] * len(settings) if known or repeats is None else list(repeats)
        keys = [_key(params, repeat) for params, repeat in zip(settings, numbers)]
        new = {key: params for key, params in zip(keys, settings) if key not in self.found}
        together = getattr(self.objective, "evaluate_many", None)
        if together is not None:
            values = together(list(new.values())) if new else []
        elif self.n_jobs in (None, 1) or len(new) < 2:
            values = [self.objective(dict(params)) for params in new.values()]
        else:
            values = Parallel(n_jobs=self.n_jobs)(
                delayed(self.objective)(dict(params)) for params in new.values()
            )
        for (key, params), value in zip(new.items(), values):
            self.found[key] = check_response(value, params)
            self.history.append((params, self.found[key]))
        return np.array([self.found[key] for key in keys])

    def mean(self, params: Params) -> float:
        """Return the mean of all runs with these parameters, running once if there is none."""
        self.run([params])
        name = _key(params, 0)[0]
        return float(np.mean([value for key, value in self.found.items() if key[0] == name]))


def as_experiments(objective: Any, n_jobs: int | None = None) -> Experiments:
    """Return the objective with its memory, which it may already have."""
    return objective if isinstance(objective, Experiments) else Experiments(objective, n_jobs)
