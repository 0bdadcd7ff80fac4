"""What proposals that do not look at the state of a chain have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.de_novo.metropolis import check_count


def check_generator(rng: Any) -> None:
    """Refuse what is no generator of numpy."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"A numpy Generator is needed as rng; got {rng!r}.")


class IndependentProposal(SoundEstimator):
    """A proposal whose draws are independent: (state, rng) -> state, whatever the state.

    Attributes
    ----------
    independent : bool
        True: chains may ask for many proposals at once.
    """

    independent = True

    def __call__(self, state: Any, rng: np.random.Generator) -> Any:
        """Return a state."""
        raise NotImplementedError

    def sample(self, n_draws: int, random_state: Any = None) -> list[Any]:
        """Return independent draws.

        Parameters
        ----------
        n_draws : int
            How many.
        random_state : int, RandomState instance or None, default=None
            Source of the draws.

        Returns
        -------
        states : list
            The draws.
        """
        n_draws = check_count(n_draws, "n_draws", 1)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return [self(None, rng) for _ in range(n_draws)]
