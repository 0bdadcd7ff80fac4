"""`SparseVectorSampler`: recipes like those of a table (Algorithms 5.3 and 5.4)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.search.de_novo.proposals import IndependentProposal, check_generator

__all__ = ["SparseVectorSampler"]


def shares(X: Any) -> Floats:
    """Return the rows that are not empty, divided by their sums; refuse negative entries."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    if (X < 0).any():
        raise ValueError("Negative values in data: the sampler takes parts of a whole.")
    X = X[X.max(axis=1) > 0]
    if not len(X):
        raise ValueError("At least one row must have an entry that is not zero; none has.")
    X = X / X.max(axis=1, keepdims=True)
    return X / X.sum(axis=1, keepdims=True)


def together(present: Floats) -> Floats:
    """Return τ_kj of Algorithm 5.4: how often j stands beside k, smoothed by 1/d.

    The text divides by n_k - 1; the number of partners is n_i - 1 in each row i that holds k.
    Columns that no row holds cannot be proposed, since nothing is known of their values.
    """
    d = present.shape[1]
    partners = present.T @ np.maximum(present.sum(axis=1) - 1.0, 0.0)
    counts = present.T @ present
    # Line 6 of Algorithm 5.4 over Σ (n_i - 1), the partners of k in all rows; print has n_k.
    tau = np.divide(
        counts, partners[:, None], out=np.zeros_like(counts), where=partners[:, None] > 0
    )
    tau += 1.0 / d  # line 6: Laplace smoothing
    np.fill_diagonal(tau, 0.0)
    tau[:, present.sum(axis=0) == 0] = 0.0
    return tau


class SparseVectorSampler(IndependentProposal):
    """Propose vectors of few parts that sum to one, such as recipes, like those of a table.

    How many entries are not zero, which ones, which stand together and how large they are follows
    the table; combinations that it does not hold are possible.

    Attributes
    ----------
    n_features_in_ : int
        Length of the vectors.
    mean_count_ : float
        Mean number of entries that are not zero, η.
    first_ : ndarray of shape (n_features_in_,)
        Probability of the first entry, τ_0.
    together_ : ndarray of shape (n_features_in_, n_features_in_)
        Weight of column j once k was drawn, τ_kj.
    low_, mode_, high_ : ndarray of shape (n_features_in_,)
        Ends and mode of the triangular law of each entry, before the vector is divided by its sum.
    independent : bool
        True: a proposal does not depend on the state of a chain.

    Notes
    -----
    Not for dense vectors, whose entries are seldom zero. Rows without an entry are left
    out, others are divided by their sums first, and so are the vectors that are drawn, which the
    text forgets.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Section 5.5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SparseVectorSampler
    >>> recipes = np.array([[0.5, 0.5, 0, 0], [0.3, 0.3, 0.4, 0], [0, 0, 0.2, 0.8]])
    >>> sampler = SparseVectorSampler().fit(recipes)
    >>> draws = np.array(sampler.sample(1000, random_state=0))
    >>> print((draws > 0).mean(axis=0).round(2), np.ptp(draws.sum(axis=1)) < 1e-12)
    [0.77 0.77 0.8  0.6 ] True
    """

    _parameter_constraints: dict = {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Match the moments of a table, Algorithm 5.4.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of parts of a whole, without negative entries.
        y : None
            Not used.

        Returns
        -------
        self : SparseVectorSampler
            The fitted sampler.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        table = shares(X)
        present = (table > 0).astype(np.float64)
        times = present.sum(axis=0)
        known = np.maximum(times, 1.0)
        self.mean_count_ = float(present.sum() / len(table))  # line 2: η
        self.first_ = times / times.sum()  # line 5: τ_0
        self.together_ = together(present)
        self.mode_ = table.sum(axis=0) / known  # line 7: μ_j, over the rows that hold j
        spread = np.sqrt((present * (table - self.mode_) ** 2).sum(axis=0) / known)  # line 7: σ_j
        self.low_ = np.maximum(0.0, self.mode_ - 2.0 * spread)  # line 8: u_j
        self.high_ = np.minimum(1.0, self.mode_ + 2.0 * spread)  # line 8: v_j
        return self

    def __call__(self, state: Any, rng: np.random.Generator) -> Floats:
        """Return a vector, whatever the state, Algorithm 5.3.

        Parameters
        ----------
        state : object or None
            Not looked at.
        rng : Generator
            Source of the draw.

        Returns
        -------
        x : ndarray of shape (n_features_in_,)
            Not negative; sums to one.
        """
        check_is_fitted(self)
        check_generator(rng)
        most = int(np.count_nonzero(self.first_))
        count = 0
        while count < 2:  # line 2 of Algorithm 5.3
            # Poisson numbers above one; a mean near zero would ask for very many draws
            count = int(rng.poisson(max(self.mean_count_, 0.5)))
        chosen = [int(rng.choice(len(self.first_), p=self.first_))]  # line 3
        weights = np.zeros_like(self.first_)
        while len(chosen) < min(count, most):
            weights = weights + self.together_[chosen[-1]]  # line 5: Σ τ_c over what was chosen
            weights[chosen] = 0.0
            chosen.append(int(rng.choice(len(weights), p=weights / weights.sum())))  # line 6
        x = np.zeros_like(self.first_)
        for c in chosen:
            flat = not self.high_[c] > self.low_[c]
            x[c] = (
                self.mode_[c]
                if flat
                else rng.triangular(self.low_[c], self.mode_[c], self.high_[c])
            )
        return x / x.sum()  # parts of a recipe, which lines 1 to 7 leave without a common sum
