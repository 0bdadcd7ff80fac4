"""Noisy sequences of four hidden Markov models that differ in one respect only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.chains.inference import sample_paths
from octavo.engine.estimators.checked import checked

__all__ = ["make_hmm_sequences"]

_TRANSITIONS = np.array([[0.8, 0.1, 0.1], [0.2, 0.8, 0.0], [0.0, 0.2, 0.8]])
_MEANS = np.array([1.0, 2.0, 3.0])
# Two rows of the transition matrices are printed with sums of 0.6 and 1.1; their first and last
# entries are changed here so that they add up to one.
_EXPERIMENTS: dict[str, list[Any]] = {
    "means": [(_TRANSITIONS, m, 0.5) for m in ([1, 2, 3], [3, 2, 1], [1, 2, 2], [1, 3, 3])],
    "variances": [(_TRANSITIONS, _MEANS, v) for v in (0.5, 0.1, 1.0, 0.05)],
    "transitions": [
        (np.array(a), _MEANS, 0.5)
        for a in (
            _TRANSITIONS,
            [[0.6, 0.2, 0.2], [0.4, 0.6, 0.0], [0.0, 0.4, 0.6]],
            [[0.9, 0.05, 0.05], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]],
            [[0.4, 0.3, 0.3], [0.6, 0.4, 0.0], [0.0, 0.6, 0.4]],
        )
    ],
}


@checked
def make_hmm_sequences(
    experiment: str = "means",
    *,
    n_per_class: int = 8,
    length: int = 100,
    noise: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
    return_models: bool = False,
) -> Any:
    """Draw noisy sequences from the four three-state HMMs of a study of clustering.

    The study is Section 5.3 of Coviello, Chan and Lanckriet (2014). All HMMs start in any state
    alike and emit one number from a Gaussian; unless the experiment says otherwise its mean is 1, 2
    or 3 by state and its variance 0.5.

    Parameters
    ----------
    experiment : {"means", "variances", "transitions"}, default="means"
        What the four HMMs differ in: experiments (a), (b) and (c). The matrices of (c) are
        printed with two rows that do not add up to one; they are repaired here.
    n_per_class : int, default=8
        Number of sequences of each HMM.
    length : int, default=100
        Number of positions of a sequence.
    noise : float, default=0.1
        Variance of the Gaussian noise that is added to every observation.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    return_models : bool, default=False
        Whether to return the HMMs too.

    Returns
    -------
    X : list of ndarray of shape (length, 1)
        The sequences, class after class.
    y : ndarray of int
        The HMM that each came from.
    models : list of (transmat, means, variance)
        The four HMMs, without the noise; only if asked for.

    Examples
    --------
    >>> from octavo.data import make_hmm_sequences
    >>> X, y = make_hmm_sequences("variances", n_per_class=2, length=5, random_state=0)
    >>> len(X), X[0].shape, y.tolist()
    (8, (5, 1), [0, 0, 1, 1, 2, 2, 3, 3])
    """
    if experiment not in _EXPERIMENTS:
        raise ValueError(
            f"experiment must be one of {', '.join(_EXPERIMENTS)}, got {experiment!r}."
        )
    if n_per_class < 1 or length < 1 or not noise >= 0:
        raise ValueError(
            "n_per_class and length must be at least 1 and noise not negative, got "
            f"{n_per_class}, {length} and {noise}."
        )
    rng = check_random_state(random_state)
    sequences = []
    with np.errstate(divide="ignore"):
        for transitions, means, variance in _EXPERIMENTS[experiment]:
            nodes, logs = np.zeros((length, 3)), np.log(transitions)
            states = sample_paths(np.zeros(3), logs, nodes, n_per_class, rng)
            clean = rng.normal(np.asarray(means)[states], np.sqrt(variance))
            sequences += list(rng.normal(clean, np.sqrt(noise))[..., None])
    labels = np.repeat(np.arange(4), n_per_class)
    if not return_models:
        return sequences, labels
    models = [(np.array(a), np.array(m, float), float(v)) for a, m, v in _EXPERIMENTS[experiment]]
    return sequences, labels, models
