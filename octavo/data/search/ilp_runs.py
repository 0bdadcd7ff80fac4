"""The runs that Srinivasan and Ramakrishnan (2011) print in Figures 9 to 11, as an objective."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["PublishedRuns", "load_ilp_runs"]

FACTORS = {"C": (4, 8), "Nodes": (5000, 10000), "Minacc": (0.75, 0.90), "Minpos": (5, 10)}
# Section 5.3; Minacc's default is printed as +1, the accuracy that no clause exceeds.
DEFAULTS = {"C": 4, "Nodes": 5000, "Minacc": 1.0, "Minpos": 1}
LIMITS = {"Minacc": (0.0, 1.0), "Minpos": (1, None)}
TOLERANCE = 0.03  # coded units: the printed steps are multiples of a rounded ratio
EDGE = np.sqrt(2.0)
CORNERS = ((-1, -1, -1, -1), (-1, -1, 1, 1), (-1, 1, -1, 1), (-1, 1, 1, -1),
           (1, -1, -1, 1), (1, -1, 1, -1), (1, 1, -1, -1), (1, 1, 1, 1))  # fmt: skip

SCREENING = {
    "mutagenesis-min": (0.793, 0.644, 0.763, 0.669, 0.757, 0.728, 0.787, 0.669),
    "mutagenesis-max": (0.911, 0.870, 0.899, 0.899, 0.899, 0.905, 0.905, 0.876),
    "carcinogenesis-min": (0.464, 0.461, 0.444, 0.447, 0.457, 0.451, 0.467, 0.461),
    "carcinogenesis-max": (0.572, 0.595, 0.507, 0.576, 0.585, 0.526, 0.523, 0.546),
}
# steps of the first factor, steps of the second, accuracies; the last step of the third problem is
# printed as -3.50, for -5.00
ASCENTS = {
    "mutagenesis-min": (
        ("Minacc", "Minpos"),
        ((0, 0), (-0.5, -0.18), (-1, -0.36), (-1.5, -0.54), (-2, -0.72)),
        (0.769, 0.793, 0.781, 0.781, 0.692),
    ),
    "mutagenesis-max": (
        ("Minpos", "Minacc"),
        ((0, 0), (-0.5, -0.42), (-1, -0.84), (-1.5, -1.26), (-2, -1.68), (-2.5, -2.10)),
        (0.899, 0.899, 0.911, 0.899, 0.893, 0.751),
    ),
    "carcinogenesis-max": (
        ("Minacc",),
        tuple((-0.5 * i,) for i in range(11)),
        (0.553, 0.572, 0.595, 0.582, 0.592, 0.598, 0.605, 0.609, 0.539, 0.539, 0.539),
    ),
}
GRIDS = {
    "mutagenesis-min": (
        0.793, 0.793, 0.769, 0.763, 0.769, 0.793, 0.793, 0.763, 0.763, 0.769, 0.799, 0.793, 0.769,
        0.775, 0.787, 0.746, 0.669, 0.645, 0.645, 0.662, 0.698, 0.639, 0.592, 0.598, 0.598,
    ),
    "mutagenesis-max": (
        0.883, 0.911, 0.905, 0.899, 0.864, 0.899, 0.911, 0.905, 0.899, 0.864, 0.911, 0.911, 0.899,
        0.899, 0.864, 0.905, 0.899, 0.882, 0.870, 0.858, 0.899, 0.888, 0.864, 0.858, 0.858,
    ),
    "carcinogenesis-max": (0.586, 0.595, 0.553, 0.516, 0.526),
}  # fmt: skip
LEVELS = (-EDGE, -1.0, 0.0, 1.0, EDGE)


class PublishedRuns(NamedTuple):
    """Published runs of one problem.

    `factors`, `defaults` and `limits` are those of Section 5.3; `coded` and `responses` hold all
    runs in the order of printing (screening, ascent, factorial; factors that a table leaves out
    stand at their defaults), and `sources` the figure of each. Calling it with parameters looks
    the accuracy up, so that a search can be replayed.
    """

    name: str
    factors: dict[str, tuple[float, float]]
    defaults: dict[str, float]
    limits: dict[str, Any]
    coded: np.ndarray
    responses: np.ndarray
    sources: tuple[str, ...]

    def __call__(self, params: Any) -> float:
        """Return the accuracy that the paper prints for parameters.

        Parameters
        ----------
        params : dict
            A value for each of the factors.

        Returns
        -------
        accuracy : float
            Of the first run within 0.03 coded units.
        """
        ends = np.array(list(self.factors.values()), dtype=float)
        values = np.array([params[name] for name in self.factors], dtype=float)
        x = (values - ends.mean(axis=1)) / (ends[:, 1] - ends[:, 0]) * 2.0
        far = np.abs(self.coded - x).max(axis=1)
        if not far.min() <= TOLERANCE:
            raise ValueError(f"The paper has no run with {dict(params)!r}.")
        near = np.flatnonzero(far <= TOLERANCE)
        return float(self.responses[near[np.argmin(far[near])]])


@checked
def load_ilp_runs(name: str = "mutagenesis-min") -> PublishedRuns:
    """Return the published runs of Aleph on one problem (Figures 9 to 11 of the paper).

    Parameters
    ----------
    name : str, default="mutagenesis-min"
        ``"mutagenesis-min"``, ``"mutagenesis-max"``, ``"carcinogenesis-min"`` or
        ``"carcinogenesis-max"``: the problem, with little or much background knowledge. The
        screening of the last contradicts the model that is printed below it.

    Returns
    -------
    runs : PublishedRuns
        The runs, to be looked up like an objective.

    Examples
    --------
    >>> from octavo.data import load_ilp_runs
    >>> runs = load_ilp_runs()
    >>> print(runs({"C": 4, "Nodes": 5000, "Minacc": 0.75, "Minpos": 5}), len(runs.responses))
    0.793 38
    """
    if not isinstance(name, str) or name not in SCREENING:
        raise ValueError(f"name must be one of {', '.join(SCREENING)}; got {name!r}.")
    names = list(FACTORS)
    ends = np.array(list(FACTORS.values()), dtype=float)
    defaults = (
        (np.array(list(DEFAULTS.values())) - ends.mean(axis=1)) / (ends[:, 1] - ends[:, 0]) * 2
    )
    rows: list[Any] = [np.array(corner, dtype=float) for corner in CORNERS]
    values, sources = list(SCREENING[name]), ["Figure 9"] * 8

    def add(columns: Any, steps: Any, accuracies: Any, source: str) -> None:
        for step, accuracy in zip(steps, accuracies):
            row = defaults.copy()
            row[[names.index(column) for column in columns]] = step
            rows.append(row)
            values.append(accuracy)
            sources.append(source)

    if name in ASCENTS:
        add(*ASCENTS[name], "Figure 10")
        columns = [column for column in ("Minacc", "Minpos") if column in ASCENTS[name][0]]
        grid = np.array(np.meshgrid(*[LEVELS] * len(columns), indexing="ij"))
        add(columns, grid.reshape(len(columns), -1).T, GRIDS[name], "Figure 11")
    return PublishedRuns(
        name, dict(FACTORS), dict(DEFAULTS), dict(LIMITS), np.array(rows), np.array(values),
        tuple(sources),
    )  # fmt: skip
