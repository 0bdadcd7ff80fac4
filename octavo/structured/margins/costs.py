"""What a translation's jumps cost: words jumped over, log-probabilities, or both (eq. 7).

Reference: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12: Section 4.2 and eq. (7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.structured.margins.phrases import orientation, reordering_distances

__all__ = ["reordering_cost"]

LEAST = 1e-4  # of a probability: margins saturate, and eq. (7) divides


@checked
def reordering_cost(
    derivation: Sequence[Any],
    mode: str = "distance",
    probabilities: Any = None,
    beta: float = 1.0,
) -> float:
    """Return what the jumps of a translation cost; a decoder adds its negative to the score.

    Parameters
    ----------
    derivation : sequence of PhrasePair
        Phrases in the order of the target.
    mode : {"distance", "direct", "adjusted"}, default="distance"
        Σ |d|, the words jumped over; -Σ log p(o | f, e), the cost of a reordering model, which may
        be a lexicalised one; Σ |d| / (β p(o | f, e)), eq. (7).
    probabilities : array-like of shape (n_phrases, n_classes) or (n_phrases,), optional
        A model's probabilities of the 3 or 5 classes of jumps for each phrase, or of the jump that
        was made alone; needed by the last two. They are clipped to [1e-4, 1].
    beta : float, default=1.0
        β of eq. (7), positive.

    Returns
    -------
    cost : float
        0 for a monotone translation by distance.

    Examples
    --------
    >>> from octavo.structured import PhrasePair, reordering_cost
    >>> swapped = [PhrasePair((1, 2), (0, 1)), PhrasePair((0, 1), (1, 2))]
    >>> reordering_cost(swapped), reordering_cost(swapped, "adjusted", [0.5, 1.0])
    (3.0, 4.0)
    """
    if mode not in ("distance", "direct", "adjusted"):
        raise ValueError(f"A cost is 'distance', 'direct' or 'adjusted', got mode={mode!r}.")
    if not beta > 0.0:
        raise ValueError(f"Parameter `beta` must be positive, got {beta!r}.")
    distances = reordering_distances(derivation)
    if mode == "distance":
        return float(np.abs(distances).sum())  # Σ d_m
    if probabilities is None:
        raise ValueError(f"Parameter `probabilities` is needed by mode={mode!r}.")
    chances = real_array(probabilities, "probabilities")
    if chances.shape[:1] != distances.shape or chances.ndim > 2:
        raise ValueError(
            f"Parameter `probabilities` must have a row for each of {len(distances)} phrases, got "
            f"shape {chances.shape}."
        )
    if chances.ndim == 2 and len(distances):
        made = orientation(distances, chances.shape[1])
        chances = chances[np.arange(len(distances)), made]
    if chances.size and not (chances.min() >= 0.0 and chances.max() <= 1.0 + 1e-9):
        raise ValueError(
            "Parameter `probabilities` must lie between 0 and 1, got values from "
            f"{chances.min():g} to {chances.max():g}."
        )
    chances = np.clip(chances, LEAST, 1.0)  # keeps Eq. (7) finite
    if mode == "direct":
        # -Σ log p: a log-linear decoder needs logs, where the text adds p itself
        return -float(np.log(chances).sum())
    return float((np.abs(distances) / (beta * chances)).sum())  # Eq. (7)
