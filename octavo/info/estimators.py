"""The template of all estimators of the room, and how to add one.

An estimator is a small class: its parameters are stored by ``__init__`` as in scikit-learn, class
attributes tell what it estimates, and ``_estimate`` receives checked arrays and returns a number.
Base estimators work on the sample; meta estimators hold other estimators as parameters and combine
their answers. Both are called in the same way.

To add one:

1. Choose the template by the kind of quantity: `EntropyEstimator`, `MutualInformationEstimator`,
   `DivergenceEstimator`, `AssociationEstimator`, `CrossEntropyEstimator` or `DistributionKernel`.
   It fixes the signature of ``estimate`` and what ``_estimate`` receives.
2. Subclass it in a module of ``octavo/info`` (any; one idea each) and name the class in the
   module's ``__all__``.
3. Set the class attributes: ``measure`` and ``method`` (the pair by which `entropy`, `mutual_info`
   and their kin find it; lower case, words joined by ``_``), ``estimates`` (the quantity as a
   formula), ``cost``, ``assumptions``; ``meta = True`` where it holds other estimators,
   ``density = True`` where constant or linearly dependent columns must be refused,
   ``dimensions`` where the number of columns is limited, ``bounded_support`` where it is assumed,
   ``preferred = True`` on exactly one of several methods for a measure: the default one.
4. Declare ``_parameter_constraints``. A parameter called ``mult`` says that factors or terms that
   depend on the dimension alone may be skipped. What is random takes ``random_state``.
5. Write ``_estimate`` on arrays, thin: the formula is a function above the class. Meta estimators
   call ``estimate`` of the estimators that they hold; a default of None stands for one that
   ``_estimate`` makes.

Nothing else is edited: `list_estimators` and the functional forms find the class by themselves.
A complete one:

>>> import numpy as np
>>> from octavo.info import EntropyEstimator, entropy
>>> class GaussianEntropy(EntropyEstimator):
...     measure, method = "shannon", "gaussian"
...     estimates = "H = -∫ p log p"
...     cost, assumptions = "O(N d²)", "p is normal"
...     density = True
...
...     def _estimate(self, X):
...         d = X.shape[1]
...         covariance = np.atleast_2d(np.cov(X.T))
...         return 0.5 * (d * np.log(2 * np.pi * np.e) + np.linalg.slogdet(covariance)[1])
>>> X = np.random.default_rng(0).normal(size=(1000, 2))
>>> round(entropy(X, measure="shannon", method="gaussian"), 2)
2.84
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.samples import as_blocks, as_columns, as_pair, as_sample
from octavo.engine.estimators.sound import SoundEstimator

__all__ = [
    "AssociationEstimator",
    "CrossEntropyEstimator",
    "DistributionKernel",
    "DivergenceEstimator",
    "EntropyEstimator",
    "MutualInformationEstimator",
    "SampleEstimator",
]


class SampleEstimator(SoundEstimator, ABC):
    """What all estimators of information-theoretic quantities share.

    Parameters, cloning and printing are those of scikit-learn. Nothing is fitted: `estimate`
    takes samples and returns a number. Subclass one of the templates below this class; the
    module ``octavo.info.estimators`` tells how.

    Attributes
    ----------
    kind : str
        "entropy", "mutual_info", "divergence", "association", "cross_entropy" or "kernel".
    measure, method : str
        What is estimated and how: the names by which the functional forms find the class.
    estimates : str
        The quantity as a formula.
    cost : str
        Time as a function of N, d and other sizes.
    assumptions : str
        What must hold for the estimate to mean something.
    meta : bool
        Whether it is built from other estimators.
    preferred : bool
        Whether it is the default method for its measure.
    density : bool
        Whether constant and linearly dependent columns are refused.
    dimensions : tuple of int or None
        The numbers of columns that a sample may have; None for any.
    bounded_support : bool
        Whether a bounded support is assumed.

    Examples
    --------
    >>> from octavo.info import KnnShannonEntropy, SampleEstimator
    >>> issubclass(KnnShannonEntropy, SampleEstimator), KnnShannonEntropy.cost
    (True, 'O(N log N)')
    """

    kind: ClassVar[str] = ""
    measure: ClassVar[str] = ""
    method: ClassVar[str] = ""
    estimates: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    assumptions: ClassVar[str] = ""
    meta: ClassVar[bool] = False
    preferred: ClassVar[bool] = False
    density: ClassVar[bool] = False
    dimensions: ClassVar[tuple[int, ...] | None] = None
    bounded_support: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def bias_order(self, n: int) -> float:
        """Return the order of the bias that is known and not removed.

        Parameters
        ----------
        n : int
            The size of the sample.

        Returns
        -------
        order : float
            What theory expects beside the standard error; 0 where it is negligible.
        """
        return 0.0

    def _right_dimension(self, X: Floats) -> Floats:
        if self.dimensions is not None and X.shape[1] not in self.dimensions:
            allowed = " or ".join(map(str, self.dimensions))
            raise ValueError(
                f"{type(self).__name__} is for samples of {allowed} column(s), X has {X.shape[1]}."
            )
        return X

    def _number(self, *arrays: Any) -> float:
        """Return ``_estimate`` of the arrays as a float; one that is no number is an error."""
        try:
            value = float(self._estimate(*arrays))
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise ValueError(
                f"{type(self).__name__} found {value} for this sample: the quantity does not "
                f"exist or the assumptions do not hold ({self.assumptions})."
            )
        return value


class EntropyEstimator(SampleEstimator):
    """Template of entropies: ``_estimate(X)`` receives the sample, of shape (N, d).

    Examples
    --------
    >>> from octavo.info import EntropyEstimator, KnnShannonEntropy
    >>> isinstance(KnnShannonEntropy(n_neighbors=5), EntropyEstimator)
    True
    """

    kind = "entropy"

    def estimate(self, X: ArrayLike) -> float:
        """Estimate the entropy of the distribution that X was drawn from.

        Parameters
        ----------
        X : array-like of shape (N, d)
            The sample; a vector is one column, complex numbers are pairs of reals.

        Returns
        -------
        value : float
            The estimate, in nats where that applies.
        """
        self._validate_params()
        X = self._right_dimension(as_sample(X, density=self.density))
        return self._number(X)

    @abstractmethod
    def _estimate(self, X: Floats) -> float: ...


class MutualInformationEstimator(SampleEstimator):
    """Template of dependence of groups: ``_estimate(blocks)`` receives arrays (N, d_m).

    Examples
    --------
    >>> from octavo.info import KSGMutualInformation, MutualInformationEstimator
    >>> isinstance(KSGMutualInformation(), MutualInformationEstimator)
    True
    """

    kind = "mutual_info"

    def estimate(
        self, X: ArrayLike, Y: ArrayLike | None = None, *, groups: Sequence[Any] | None = None
    ) -> float:
        """Estimate the dependence between X and Y, or between groups of the columns of X.

        Parameters
        ----------
        X : array-like of shape (N, d)
            The sample; a vector is one column, complex numbers are pairs of reals.
        Y : array-like of shape (N, e), default=None
            The other variables, drawn together with X.
        groups : sequence of (int or sequence of int), default=None
            The columns of X in each group, when `Y` is not given. None makes every column of
            X a group of its own.

        Returns
        -------
        value : float
            The estimate, in nats where that applies.
        """
        self._validate_params()
        return self._number(as_blocks(X, Y, groups, density=self.density))

    @abstractmethod
    def _estimate(self, blocks: list[Floats]) -> float: ...


class _PairEstimator(SampleEstimator):
    """Quantities of two distributions: ``_estimate(X, Y)`` receives (N, d) and (M, d)."""

    def estimate(self, X: ArrayLike, Y: ArrayLike) -> float:
        """Estimate the quantity from a sample of each distribution.

        Parameters
        ----------
        X : array-like of shape (N, d)
            Draws from p; a vector is one column, complex numbers are pairs of reals.
        Y : array-like of shape (M, d)
            Draws from q.

        Returns
        -------
        value : float
            The estimate.
        """
        self._validate_params()
        X, Y = as_pair(X, Y, density=self.density)
        return self._number(self._right_dimension(X), Y)

    @abstractmethod
    def _estimate(self, X: Floats, Y: Floats) -> float: ...


class DivergenceEstimator(_PairEstimator):
    """Template of divergences: ``_estimate(X, Y)`` receives (N, d) from p and (M, d) from q.

    Examples
    --------
    >>> from octavo.info import DivergenceEstimator, KnnKLDivergence
    >>> isinstance(KnnKLDivergence(), DivergenceEstimator)
    True
    """

    kind = "divergence"


class CrossEntropyEstimator(_PairEstimator):
    """Template of cross-entropies: ``_estimate(X, Y)`` receives (N, d) from p and (M, d) from q.

    Examples
    --------
    >>> from octavo.info import CrossEntropyEstimator, KnnCrossEntropy
    >>> isinstance(KnnCrossEntropy(), CrossEntropyEstimator)
    True
    """

    kind = "cross_entropy"


class DistributionKernel(_PairEstimator):
    """Template of kernels on distributions: ``_estimate(X, Y)`` receives (N, d) and (M, d).

    ``estimate(X, Y)`` must equal ``estimate(Y, X)`` up to the noise of random estimators, and
    must accept the same sample twice: that is the diagonal of a Gram matrix.

    Examples
    --------
    >>> from octavo.info import BhattacharyyaKernel, DistributionKernel
    >>> isinstance(BhattacharyyaKernel(), DistributionKernel)
    True
    """

    kind = "kernel"


class AssociationEstimator(SampleEstimator):
    """Template of association measures: ``_estimate(X)`` receives the variables as columns.

    Examples
    --------
    >>> from octavo.info import AssociationEstimator
    >>> AssociationEstimator.kind
    'association'
    """

    kind = "association"

    def estimate(self, X: ArrayLike, Y: ArrayLike | None = None) -> float:
        """Estimate the association of the columns of X, or of X and Y.

        Parameters
        ----------
        X : array-like of shape (N, d)
            The sample; real.
        Y : array-like of shape (N, e), default=None
            Further variables, drawn together with X.

        Returns
        -------
        value : float
            The estimate.
        """
        self._validate_params()
        columns = self._right_dimension(as_columns(X, Y))
        return self._number(columns)

    @abstractmethod
    def _estimate(self, X: Floats) -> float: ...
