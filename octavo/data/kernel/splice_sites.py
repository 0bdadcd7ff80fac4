"""Simulated acceptor splice sites: DNA around AG, true or decoy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_splice_sites"]

_LETTERS = np.array(list("ACGT"))


@checked
def make_splice_sites(
    n_samples: int = 2000,
    length: int = 60,
    *,
    positive_rate: float = 0.1,
    strength: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[list[str], NDArray[np.int64]]:
    """Simulate DNA sequences with AG in the middle, some of them acceptor sites.

    Before a true site pyrimidines (C, T) are frequent and depend on the letter before them, and
    one of three branch-point motifs lies about twenty letters upstream. Decoys are random
    letters around the same AG.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of sequences.
    length : int, default=60
        Length of each; AG stands at ``length // 2``.
    positive_rate : float, default=0.1
        Share of true sites.
    strength : float, default=1.0
        How much true sites differ from decoys; zero for not at all.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    sequences : list of str
        Texts over A, C, G, T.
    y : ndarray of shape (n_samples,)
        One for a true site.

    Examples
    --------
    >>> from octavo.data import make_splice_sites
    >>> sequences, y = make_splice_sites(5, 12, random_state=0)
    >>> {sequence[6:8] for sequence in sequences}
    {'AG'}
    """
    if length < 4:
        raise ValueError(f"length must be at least 4, got {length}.")
    rng = check_random_state(random_state)
    y = (rng.uniform(size=n_samples) < positive_rate).astype(int)
    letters = rng.randint(4, size=(n_samples, length))
    site = length // 2
    true = np.flatnonzero(y)
    tract = range(max(1, site - 16), site - 1)
    for position in tract:  # pyrimidines that tend to repeat the letter before them
        near = 1 - (site - position) / 20
        pull = rng.uniform(size=true.size) < 0.55 * strength * near
        again = rng.uniform(size=true.size) < 0.5
        before = letters[true, position - 1]
        pyrimidine = np.where(
            again & (before % 2 == 1), before, 2 * rng.randint(2, size=true.size) + 1
        )
        letters[true[pull], position] = pyrimidine[pull]
    motifs = np.array([[1, 3, 2, 0, 1], [3, 3, 2, 0, 3], [1, 3, 0, 0, 1]])  # CTGAC, TTGAT, CTAAC
    if site >= 26:
        for row in true[rng.uniform(size=true.size) < 0.7 * strength]:
            start = site - 23 + rng.randint(-2, 3)
            letters[row, start : start + 5] = motifs[rng.randint(3)]
    letters[:, site], letters[:, site + 1] = 0, 2
    return ["".join(row) for row in _LETTERS[letters]], y
