"""What xNES and SNES share: a Gaussian search distribution with ask and tell."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from octavo.engine.smooth.ask_tell import AskTell
from octavo.search.evolution.fitness_shaping import rank_utilities, shared_utilities

SMALLEST_POPULATION = 4


def default_popsize(d: int) -> int:
    """Return λ = 4 + ⌊3 ln d⌋ (Table 1)."""
    return 4 + int(3 * np.log(d))


def positive(name: str, value: Any) -> float:
    """Return a parameter that must be a positive finite number."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


class GaussianSearch(AskTell):
    """A search distribution in whose own coordinates points are standard normal."""

    def __init__(
        self, x0: Any, popsize: int | None, lr_mu: float, utilities: Any, random_state: Any
    ) -> None:
        super().__init__(x0, random_state)
        self.popsize = default_popsize(self.n_dims) if popsize is None else popsize
        if self.popsize != int(self.popsize) or self.popsize < SMALLEST_POPULATION:
            raise ValueError(
                f"popsize must be an integer of at least {SMALLEST_POPULATION}; got {popsize!r}."
            )
        self.utilities = utilities
        self.lr_mu = positive("lr_mu", lr_mu)
        self.mean_ = self.best_x_.copy()
        self._own = rank_utilities(int(self.popsize), utilities)
        self._asked = (np.empty((0, self.n_dims)), np.empty((0, self.n_dims)))

    def _place(self, S: np.ndarray) -> np.ndarray:
        """Return points from their standard normal coordinates."""
        raise NotImplementedError

    def _locate(self, X: np.ndarray) -> np.ndarray:
        """Return the standard normal coordinates of points."""
        raise NotImplementedError

    def ask(self, n: int | None = None) -> np.ndarray:
        """Draw points from the search distribution.

        Parameters
        ----------
        n : int, optional
            How many; by default a generation, `popsize`.

        Returns
        -------
        X : ndarray of shape (n, d)
            The points, to be evaluated and told.
        """
        S = self._rng.standard_normal((self.popsize if n is None else n, self.n_dims))
        X = self._place(S)
        self._asked = (X.copy(), S)
        return X

    def _coordinates(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates of told points; those just asked for are remembered."""
        asked, S = self._asked
        return S if np.array_equal(X, asked) else self._locate(X)

    def _utilities_of(self, ranks: np.ndarray) -> np.ndarray:
        n = len(ranks)
        own = self._own if n == self.popsize else rank_utilities(n, self.utilities)
        return shared_utilities(own, ranks)
