"""Two sets of real causal data: proteins of Sachs et al. (2005), and pairs of cause and effect."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np

from octavo.data.loaders.datasets import DatasetNotFoundError, data_folders
from octavo.data.loaders.formats import CorruptDatasetError, read_text
from octavo.engine.estimators.checked import checked

__all__ = ["CauseEffectPair", "ProteinSignals", "load_cause_effect_pairs", "load_protein_signals"]

N_OBSERVATIONAL = 1755  # general stimulation: the rows of Henao and Winther (2011), section 6.6


class ProteinSignals(NamedTuple):
    """Flow cytometry of eleven proteins.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 11)
        Amounts in single cells.
    names : tuple of str
        Proteins.
    adjacency : ndarray of bool of shape (11, 11)
        The textbook network, [i, j] for an edge from j to i.
    """

    X: np.ndarray
    names: tuple[str, ...]
    adjacency: np.ndarray


class CauseEffectPair(NamedTuple):
    """Two variables of which one is known to be the cause.

    Attributes
    ----------
    name : str
        As in the collection of Tübingen.
    x, y : ndarray of shape (n,)
        The variables.
    direction : str
        "x->y" or "y->x".
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    direction: str


def _text(name: str) -> str:
    places = []
    for folder in data_folders().values():
        path = Path(folder) / "causal" / name
        places.append(str(path))
        if path.is_file():
            return read_text(path)
    raise DatasetNotFoundError(f"{name} is not found: looked for {' and '.join(places)}.")


@checked
def load_protein_signals(*, observational: bool = True) -> ProteinSignals:
    """Load the proteins of Sachs et al. (2005) with their textbook network.

    Parameters
    ----------
    observational : bool, default=True
        Only the 1,755 cells under general stimulation; otherwise all 7,466, most of which were
        intervened upon.

    Returns
    -------
    proteins : ProteinSignals
        Amounts, names and network.

    Examples
    --------
    >>> from octavo.data import load_protein_signals
    >>> load_protein_signals().X.shape  # doctest: +SKIP
    (1755, 11)
    """
    rows = list(csv.reader(io.StringIO(_text("sachs.csv"))))
    names = tuple(rows[0])
    X = np.array(rows[1:], dtype=np.float64)
    if X.shape != (7466, 11):
        raise CorruptDatasetError(f"sachs.csv: expected 7466 rows of 11 numbers, got {X.shape}.")
    place = {name: i for i, name in enumerate(names)}
    adjacency = np.zeros((11, 11), dtype=bool)
    for cause, effect in list(csv.reader(io.StringIO(_text("sachs_edges.csv"))))[1:]:
        adjacency[place[effect], place[cause]] = True
    return ProteinSignals(X[:N_OBSERVATIONAL] if observational else X, names, adjacency)


@checked
def load_cause_effect_pairs() -> list[CauseEffectPair]:
    """Load the pairs of Tübingen: two variables each, of which one is the cause.

    Returns
    -------
    pairs : list of CauseEffectPair
        All pairs of single variables.

    Examples
    --------
    >>> from octavo.data import load_cause_effect_pairs
    >>> len(load_cause_effect_pairs())  # doctest: +SKIP
    99
    """
    csv.field_size_limit(10**8)
    targets = dict(list(csv.reader(io.StringIO(_text("tuebingen_targets.csv"))))[1:])
    pairs = []
    for name, x, y in list(csv.reader(io.StringIO(_text("tuebingen_pairs.csv.gz"))))[1:]:
        first, second = (np.array(column.split(), dtype=np.float64) for column in (x, y))
        if first.size != second.size or name not in targets:
            raise CorruptDatasetError(f"tuebingen_pairs.csv.gz: {name} is damaged.")
        direction = "x->y" if float(targets[name]) > 0 else "y->x"
        pairs.append(CauseEffectPair(name, first, second, direction))
    return pairs
