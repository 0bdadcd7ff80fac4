"""Randomness that keeps a secret: noise vectors and private choices.

By default every number comes from the operating system's cryptographic generator, so that
nothing that is released can be traced back to the state of a generator. A seed makes the noise
reproducible, and then it protects nobody: a warning says so.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: the noise of Eq. (4)
and the selection step of Algorithm 4.
"""

from __future__ import annotations

import secrets
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, softmax
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = [
    "ReproducibleNoiseWarning",
    "draw_noise",
    "exponential_mechanism",
    "selection_probabilities",
]


class ReproducibleNoiseWarning(UserWarning):
    """A seed was given where noise has to be secret: who knows the seed can remove the noise.

    Examples
    --------
    >>> from octavo.linear import ReproducibleNoiseWarning
    >>> issubclass(ReproducibleNoiseWarning, UserWarning)
    True
    """


class NoiseSource:
    """Uniform numbers from the operating system, or from a generator that was given.

    Parameters
    ----------
    generator : RandomState, optional
        None for secret numbers.
    """

    def __init__(self, generator: np.random.RandomState | None = None) -> None:
        self._generator = generator

    @property
    def secret(self) -> bool:
        """Whether the numbers come from the operating system."""
        return self._generator is None

    def uniform(self, size: int) -> Floats:
        """Return numbers of (0, 1), never 0 nor 1: odd multiples of 2**-53."""
        if self._generator is None:
            bits = np.frombuffer(secrets.token_bytes(8 * size), np.uint64) >> np.uint64(12)
        else:
            bits = self._generator.randint(0, 1 << 52, size=size, dtype=np.int64).view(np.uint64)
        return (bits.astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, size: int) -> Floats:
        """Return standard normal numbers."""
        return ndtri(self.uniform(size))

    def integer(self) -> int:
        """Return a seed below 2**31."""
        return int(self.uniform(1)[0] * (1 << 31))

    def permutation(self, n: int) -> NDArray[np.intp]:
        """Return a random order of n things."""
        return np.argsort(self.uniform(n), kind="stable")


def noise_source(random_state: Any) -> NoiseSource:
    """Return where noise comes from: the operating system, or a seed, with a warning."""
    if isinstance(random_state, NoiseSource):
        return random_state
    if random_state is None:
        return NoiseSource()
    warnings.warn(
        f"random_state={random_state!r}: reproducible noise is not private. Leave "
        "random_state=None for anything that is released",
        ReproducibleNoiseWarning,
        stacklevel=3,
    )
    return NoiseSource(check_random_state(random_state))


@checked
def draw_noise(dimension: int, scale: float, random_state: Any = None) -> Floats:
    """Draw a vector with density proportional to exp(-‖b‖/scale).

    Parameters
    ----------
    dimension : int
        Length of the vector.
    scale : float
        One over the paper's β; zero for no noise.
    random_state : None, int or RandomState, default=None
        None for secret noise. With a seed the noise can be reproduced, hence removed.

    Returns
    -------
    noise : ndarray of shape (dimension,)
        Its direction is uniform and its norm Gamma(dimension, scale); in one dimension it is
        a Laplace variable.

    Examples
    --------
    >>> from octavo.linear import draw_noise
    >>> bool(draw_noise(3, scale=0.1).any()), bool(draw_noise(3, scale=0.0).any())
    (True, False)
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    if not 0 <= scale < np.inf:
        raise ValueError(f"scale must be non-negative and finite, got {scale}")
    source = noise_source(random_state)
    direction = source.normal(dimension)
    # Eq. (4): Gamma(d) is a sum of d exponentials (proof of Lemma 17).
    norm = -scale * float(np.log(source.uniform(dimension)).sum())
    return norm / float(np.linalg.norm(direction)) * direction


@checked
def selection_probabilities(
    scores: ArrayLike, epsilon: float, *, sensitivity: float = 1.0
) -> Floats:
    """Return the probability with which the exponential mechanism chooses each candidate.

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
        What is to be small, such as numbers of mistakes.
    epsilon : float
        Privacy of the choice; infinite for the smallest score, ties broken evenly.
    sensitivity : float, default=1
        The most that replacing one record can change any score.

    Returns
    -------
    probability : ndarray of shape (n_candidates,)
        Proportional to exp(-epsilon * score / (2 * sensitivity)). They depend on the data and
        are no part of what may be released.

    Examples
    --------
    >>> from octavo.linear import selection_probabilities
    >>> selection_probabilities([10, 12], epsilon=1.0).round(3).tolist()
    [0.731, 0.269]
    """
    z = np.asarray(scores, dtype=float)
    if z.ndim != 1 or z.size == 0 or not np.isfinite(z).all():
        raise ValueError(f"scores must be a non-empty list of finite numbers, got {scores!r}")
    if not epsilon > 0 or not sensitivity > 0:
        raise ValueError(
            f"epsilon and sensitivity must be positive, got {epsilon} and {sensitivity}"
        )
    if np.isinf(epsilon):
        best = (z == z.min()).astype(float)
        return best / best.sum()
    return softmax(-epsilon * (z - z.min()) / (2.0 * sensitivity))  # Algorithm 4


@checked
def exponential_mechanism(
    scores: ArrayLike, epsilon: float, *, sensitivity: float = 1.0, random_state: Any = None
) -> int:
    """Choose a candidate with a small score, ε-privately.

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
        What is to be small, such as numbers of mistakes.
    epsilon : float
        Privacy of the choice.
    sensitivity : float, default=1
        The most that replacing one record can change any score.
    random_state : None, int or RandomState, default=None
        None for a secret draw.

    Returns
    -------
    index : int
        The candidate chosen.

    Examples
    --------
    >>> from octavo.linear import exponential_mechanism
    >>> exponential_mechanism([10, 5000], epsilon=1.0)
    0
    """
    probability = selection_probabilities(scores, epsilon, sensitivity=sensitivity)
    u = noise_source(random_state).uniform(1)[0]
    cumulative = np.cumsum(probability)
    return int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
