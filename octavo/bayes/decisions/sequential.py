"""`SequentialBayes`: beliefs over finitely many hypotheses, updated one observation at a time.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.mixtures import log_sum, safe_log

__all__ = ["SequentialBayes"]


class SequentialBayes(SoundEstimator):
    """Update the probabilities of finitely many hypotheses by Bayes' rule, in logarithms.

    P(h | x_1, ..., x_n) ∝ P(x_n | h) P(h | x_1, ..., x_{n-1}): yesterday's posterior is the prior
    of today. The order of observations does not matter.

    Parameters
    ----------
    log_likelihoods : sequence of callable
        One function per hypothesis: x to log P(x | h), which may be -inf.
    prior : array-like of shape (n_hypotheses,), default=None
        Weights of the hypotheses before anything is seen, divided by their sum. None is uniform.

    Attributes
    ----------
    posterior_ : ndarray of shape (n_hypotheses,)
        The probabilities now; the prior before the first update.
    log_evidence_ : float
        log P(x_1, ..., x_n), the probability of all that was seen.
    n_updates_ : int
        Observations so far.
    posteriors_ : ndarray of shape (n_updates + 1, n_hypotheses)
        The probabilities after each update, the prior first.

    Notes
    -----
    Hypotheses must be listed. For a parameter that is a real number use a conjugate family or a
    grid of values; `sklearn.naive_bayes` has `partial_fit` for labelled rows.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import SequentialBayes
    >>> fair = lambda heads: np.log(0.5)
    >>> biased = lambda heads: np.log(0.6 if heads else 0.4)
    >>> belief = SequentialBayes([fair, biased], [0.75, 0.25])
    >>> belief.update(True).posterior_.round(4), belief.update(True).posterior_.round(4)
    (array([0.7143, 0.2857]), array([0.6757, 0.3243]))
    """

    def __init__(self, log_likelihoods, prior=None):
        self.log_likelihoods = log_likelihoods
        self.prior = prior

    def _functions(self) -> list[Callable[[Any], float]]:
        try:
            functions = list(self.log_likelihoods)
        except TypeError:
            functions = []
        if not functions or not all(callable(function) for function in functions):
            raise ValueError(
                "log_likelihoods must be a sequence of functions, one per hypothesis; got "
                f"{self.log_likelihoods!r}."
            )
        return functions

    def _log_prior(self) -> Floats:
        n = len(self._functions())
        weights = np.ones(n) if self.prior is None else real_array(self.prior, "prior")
        if weights.shape != (n,):
            raise ValueError(
                f"prior must have one entry for each of the {n} hypotheses; got shape "
                f"{weights.shape}."
            )
        if (weights < 0.0).any() or not weights.any():
            raise ValueError(
                "prior must not be negative, nor zero throughout; its least entry is "
                f"{weights.min():g}."
            )
        weights = weights / weights.max()
        return safe_log(weights / weights.sum())

    def _trace(self) -> list[Floats]:
        if not hasattr(self, "_logs"):
            self._logs = [self._log_prior()]
            self._evidence = 0.0
        return self._logs

    @property
    def posterior_(self) -> Floats:
        """The probabilities of the hypotheses now."""
        return np.exp(self._trace()[-1])

    @property
    def posteriors_(self) -> Floats:
        """The probabilities after each update, the prior first."""
        return np.exp(np.array(self._trace()))

    @property
    def log_evidence_(self) -> float:
        """The log-probability of all that was seen."""
        self._trace()
        return float(self._evidence)

    @property
    def n_updates_(self) -> int:
        """Number of observations so far."""
        return len(self._trace()) - 1

    def update(self, x: Any) -> Self:
        """Take one observation into account.

        Parameters
        ----------
        x : object
            What the log-likelihood functions take.

        Returns
        -------
        self : SequentialBayes
            Updated.
        """
        logs = self._trace()
        found = np.array([float(function(x)) for function in self._functions()])
        if np.isnan(found).any() or (found == np.inf).any():
            raise ValueError(
                f"Log-likelihoods must be numbers below infinity; hypotheses give {found.tolist()} "
                f"for {x!r}."
            )
        joint = logs[-1] + found  # log P(x | h) P_n(h)
        total = float(log_sum(joint))
        if not np.isfinite(total):
            raise ValueError(
                f"{x!r} is impossible under every hypothesis that is still possible; add one that "
                "allows it."
            )
        self._evidence += total  # log P(x_1, ..., x_n), by the chain rule
        logs.append(joint - total)  # P_{n+1}(h), section 1.2
        return self

    def update_all(self, xs: Iterable[Any]) -> Self:
        """Take several observations into account, one after another.

        Parameters
        ----------
        xs : iterable
            Observations.

        Returns
        -------
        self : SequentialBayes
            Updated.
        """
        for x in xs:
            self.update(x)
        return self

    def reset(self) -> Self:
        """Return to the prior.

        Returns
        -------
        self : SequentialBayes
            As before the first update.
        """
        if hasattr(self, "_logs"):
            del self._logs, self._evidence
        return self
