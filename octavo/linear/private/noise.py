"""Randomness that keeps a secret: noise vectors and private choices.

By default every number comes from the operating system's cryptographic generator, so that
nothing that is released can be traced back to the state of a generator. A seed makes the noise
reproducible, and then it protects nobody: a warning says so.

The proofs are about real numbers and a computer has doubles, whose low bits tell where a sum came
from (I. Mironov 2012, "On significance of the least significant bits for differential privacy").
So there are two kinds of randomness here. Noise vectors are doubles within a known distance of
real ones, and are never released as they are: `integer_laplace` covers that distance with noise
that is exact, on whole numbers, without a floating-point operation. Choices among candidates are
exact as well.

References: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: the noise of Eq. (4)
and the selection step of Algorithm 4. C. L. Canonne, G. Kamath and T. Steinke (2020), "The
Discrete Gaussian for Differential Privacy": Algorithms 1 and 2, exact coins of probability
exp(-x) and the discrete Laplace law.
"""

from __future__ import annotations

import secrets
import warnings
from fractions import Fraction
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


# Doubles stand for real noise to within this part of its norm, or of its mean norm where that is
# more: 53 bits in each uniform number, 2**-50 in the quantile of the normal law, a norm and d
# logarithms to a few units in the last place.
NOISE_PRECISION = 2.0**-45
LARGEST_SCALE = 1 << 50  # of noise on whole numbers, whose products must fit 64 bits


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

    def bytes(self, size: int) -> bytes:
        """Return random bytes."""
        return secrets.token_bytes(size) if self._generator is None else self._generator.bytes(size)

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return random 64-bit numbers."""
        return np.frombuffer(self.bytes(8 * size), np.uint64)

    def full_uniform(self, size: int) -> Floats:
        """Return numbers of (0, 1) with 53 significant bits however small they are.

        A multiple of 2**-53 near zero has few bits left, and its logarithm large gaps. Here
        the exponent is the number of zeros before the first one of an endless row of coins.
        """
        exponent = np.ones(size, np.int64)
        left = np.arange(size)
        while left.size:
            coins = (self.words(left.size) >> np.uint64(11)).astype(np.float64)  # 53, exact
            zeros = 53 - np.frexp(coins)[1]  # all 53 where none is one: go on
            exponent[left] += zeros
            left = left[coins == 0]
        mantissa = 1.0 + (self.words(size) >> np.uint64(12)).astype(np.float64) * 2.0**-52
        return np.ldexp(mantissa, -exponent)

    def normal(self, size: int) -> Floats:
        """Return standard normal numbers; both tails have all their bits."""
        half = ndtri(0.5 * self.full_uniform(size))
        return np.where(self.words(size) & np.uint64(1), half, -half)

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return whole numbers of 0..bound-1, each exactly as likely as the others."""
        shift = np.uint64(64 - max(bound - 1, 1).bit_length())
        found = np.empty(size, np.int64)
        left = np.arange(size)
        while left.size:
            drawn = (self.words(left.size) >> shift).astype(np.int64)
            fits = drawn < bound
            found[left[fits]] = drawn[fits]
            left = left[~fits]
        return found

    def below_any(self, bound: int) -> int:
        """Return one whole number of 0..bound-1, whatever the size of the bound."""
        n_bits = max(bound - 1, 1).bit_length()
        while True:
            drawn = int.from_bytes(self.bytes((n_bits + 7) // 8), "big") >> (-n_bits % 8)
            if drawn < bound:
                return drawn

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
        "random_state=None for anything that is released.",
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
        a Laplace variable. The doubles lie within 2**-45 of their norm, or of its mean, of
        real numbers with exactly that law: never release a sum with them as it is, since its low
        bits betray its parts. `private_minimisers` does not.

    Examples
    --------
    >>> from octavo.linear import draw_noise
    >>> bool(draw_noise(3, scale=0.1).any()), bool(draw_noise(3, scale=0.0).any())
    (True, False)
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}.")
    if not 0 <= scale < np.inf:
        raise ValueError(f"scale must be non-negative and finite, got {scale}.")
    source = noise_source(random_state)
    # Eq. (4): Gamma(d) is a sum of d exponentials (proof of Lemma 17).
    norm = -scale * float(np.log(source.full_uniform(dimension)).sum())  # ‖b‖ ~ Γ(d, scale)
    while True:
        direction = source.normal(dimension)
        length = float(np.sqrt((direction * direction).sum()))
        # The direction does not depend on the length; short vectors have too few bits.
        if length > 0.25 * np.sqrt(dimension):
            return norm / length * direction


def noise_error(noise: Floats, scale: float) -> float:
    """Return how far doubles from `draw_noise` may be from the real noise that they stand for."""
    return NOISE_PRECISION * max(float(np.linalg.norm(noise)), noise.size * scale)


# --- exact randomness on whole numbers -----------------------------------------------------------


def _exponential_coins(numerator: NDArray[np.int64], denominator: int, source: NoiseSource) -> Any:
    """Return coins that are true with probability exp(-numerator/denominator), at most 1 each.

    Each flips coins of probability x/1, x/2, x/3, ... until one fails; that it is one with an
    odd number has probability 1 - x + x²/2! - ... exactly.
    """
    heads = np.zeros(numerator.size, bool)
    left, k = np.arange(numerator.size), 1
    while left.size:
        failed = source.below(denominator * k, left.size) >= numerator[left]
        heads[left[failed]] = k % 2 == 1
        left, k = left[~failed], k + 1
    return heads


def integer_laplace(size: int, scale: int, random_state: Any = None) -> NDArray[np.int64]:
    """Draw whole numbers k with probability proportional to exp(-|k|/scale), exactly.

    Nothing is rounded, so that no bit of a number says how it was made.

    Parameters
    ----------
    size : int
        How many.
    scale : int
        A positive whole number, at most 2**50.
    random_state : None, int or RandomState, default=None
        None for secret noise.

    Returns
    -------
    noise : ndarray of int64 of shape (size,)
        Independent draws.
    """
    if not 1 <= scale <= LARGEST_SCALE:
        raise ValueError(f"scale must lie between 1 and 2**50, got {scale}.")
    source = noise_source(random_state)
    found = np.zeros(size, np.int64)
    left = np.arange(size)
    while left.size:
        remainder = source.below(scale, left.size)
        kept = _exponential_coins(remainder, scale, source)
        whole = np.zeros(left.size, np.int64)
        going = np.flatnonzero(kept)
        while going.size:
            going = going[_exponential_coins(np.ones(going.size, np.int64), 1, source)]
            whole[going] += 1
        size_of = remainder + scale * whole
        negative = (source.words(left.size) & np.uint64(1)).astype(bool)
        kept &= ~(negative & (size_of == 0))  # zero has one sign only
        found[left[kept]] = np.where(negative, -size_of, size_of)[kept]
        left = left[~kept]
    return found


def _exponential_coin(x: Fraction, source: NoiseSource) -> bool:
    """Return True with probability exp(-x), exactly, for any rational x of at least 0."""

    def coin(part: Fraction) -> bool:
        k = 1
        while source.below_any(part.denominator * k) < part.numerator:
            k += 1
        return k % 2 == 1

    whole, rest = divmod(x, 1)
    for _ in range(int(whole)):
        if not coin(Fraction(1)):
            return False
    return coin(rest)


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
        raise ValueError(f"scores must be a non-empty list of finite numbers, got {scores!r}.")
    if not epsilon > 0 or not sensitivity > 0:
        raise ValueError(
            f"epsilon and sensitivity must be positive, got {epsilon} and {sensitivity}."
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
    source = noise_source(random_state)
    if np.isinf(epsilon):
        best = np.flatnonzero(probability)
        return int(best[source.below_any(len(best))])
    # Algorithm 4 with rational numbers: doubles would give far candidates no chance at all.
    z = [Fraction(float(score)) for score in np.asarray(scores, dtype=float)]
    steepness = Fraction(float(epsilon)) / (2 * Fraction(float(sensitivity)))
    while True:
        candidate = source.below_any(len(z))
        if _exponential_coin(steepness * (z[candidate] - min(z)), source):
            return candidate
