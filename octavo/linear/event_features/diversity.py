"""Entropy of counts when some categories were not seen.

Reference: A. Chao and T.-J. Shen (2003), Nonparametric estimation of Shannon's index of
diversity when there are unseen species in sample, Environmental and Ecological Statistics 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.event_logs.reductions import entropy_chao_shen

__all__ = ["chao_shen_entropy"]


@checked
def chao_shen_entropy(counts: Any) -> float:
    """Estimate the entropy behind counts, in nats, unseen categories included.

    With N counts, f₁ of them alone in their category, the coverage is C = 1 - f₁ / N and
    H = -Σ C pᵢ log(C pᵢ) / (1 - (1 - C pᵢ)^N). Where all are alone, f₁ is taken as N - 1.

    Parameters
    ----------
    counts : array-like of shape (n_categories,)
        Whole numbers, not negative; zeros do not matter.

    Returns
    -------
    entropy : float
        In nats; 0 where there are no counts.

    Examples
    --------
    >>> from octavo.linear import chao_shen_entropy
    >>> round(chao_shen_entropy([4, 2, 3, 0, 2, 4, 0, 0, 2, 1, 1]), 4)
    2.2011
    """
    given = np.asarray(counts)
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        raise ValueError("counts must be a list of whole numbers.")
    if not np.isfinite(given).all() or (given < 0).any() or (given != np.floor(given)).any():
        raise ValueError("counts must be whole numbers, not negative.")
    return float(entropy_chao_shen(given.astype(np.float64), np.array([0, len(given)]))[0])
