"""The choice of β on comparisons that are held out before anything is cleaned.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 5.2.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.metric.partial_order.base import prepare_comparisons
from octavo.metric.partial_order.comparisons import check_comparisons
from octavo.metric.partial_order.multiple_kernels import MultipleKernelPOE

__all__ = ["MultipleKernelPOECV"]

BETAS = tuple(10.0**power for power in range(-2, 8))  # Section 5.2.2


class MultipleKernelPOECV(MultipleKernelPOE):
    """`MultipleKernelPOE` with β chosen on held-out comparisons.

    Comparisons are held out as they were given, contradictions included; only those that are
    trained on are cleaned. The best β, the smallest of equals, is then fitted to all of them.

    Parameters
    ----------
    kernels : str, callable or list, default=None
        As for `MultipleKernelPOE`, like all that follow but the three below.
    structure : {"full", "diagonal"}, default="full"
        Of the matrices.
    betas : array-like, default=None
        Candidates; None stands for 0.01, 0.1, ..., 10⁷.
    cv : int, default=1
        How many random splits are averaged.
    validation_fraction : float, default=0.3
        Share of the comparisons that is held out.
    n_components : int, default=None
        Directions that are kept after the choice.
    combine : {"separate", "sum"}, default="separate"
        One matrix a kernel, or one for their sum.
    clean : bool or tuple of str, default=True
        Whether training comparisons are cleaned.
    normalize : bool, default=True
        Whether each kernel is scaled to unit mean diagonal.
    solver : {"auto", "admm", "atoms", "fista", "subgradient", "sdp", "lp"}, default="auto"
        How to solve.
    tol : float, default=1e-4
        Relative duality gap.
    max_iter : int, default=2000
        Most steps of a fit.
    random_state : int, RandomState instance or None, default=None
        Draws splits and breaks cycles.

    Attributes
    ----------
    beta_ : float
        The choice.
    betas_ : ndarray of shape (n_betas,)
        Candidates.
    cv_scores_ : ndarray of shape (n_betas, cv)
        Share of held-out comparisons that each gets right.

    See Also
    --------
    MultipleKernelPOE : The other attributes.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import MultipleKernelPOECV
    >>> x = np.arange(8.0)[:, None]
    >>> C = [[i, j, k] for i in range(8) for j in range(8) for k in range(8)
    ...      if 0 < abs(i - j) < abs(i - k)]
    >>> model = MultipleKernelPOECV("linear", betas=[0.1, 10.0, 1000.0], random_state=0)
    >>> model.fit([x, x[::-1] ** 2], C).beta_
    10.0
    """

    _parameter_constraints: dict[str, Any] = {
        **{k: v for k, v in MultipleKernelPOE._parameter_constraints.items() if k != "beta"},
        "betas": ["array-like", None],
        "cv": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        kernels=None,
        structure="full",
        betas=None,
        *,
        cv=1,
        validation_fraction=0.3,
        n_components=None,
        combine="separate",
        clean=True,
        normalize=True,
        solver="auto",
        tol=1e-4,
        max_iter=2000,
        random_state=None,
    ):
        self.kernels = kernels
        self.structure = structure
        self.betas = betas
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.n_components = n_components
        self.combine = combine
        self.clean = clean
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def beta(self):
        """Return the chosen β: what the inherited fit takes."""
        return self.beta_

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, C):
        """Choose β and learn the space.

        Parameters
        ----------
        X : list of {array-like, sparse matrix}
            Views, as for `MultipleKernelPOE.fit`.
        C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
            Comparisons, not cleaned; at least two.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self.betas_ = self._candidates()
        views = self._views(X)
        rows = check_comparisons(C, len(views[0].table))
        # Before any cleaning
        n_held = min(max(round(self.validation_fraction * len(rows)), 1), len(rows) - 1)
        if n_held < 1:
            raise ValueError("At least two comparisons are needed: one is held out, got 1.")
        rng = check_random_state(self.random_state)
        self.cv_scores_ = np.empty((len(self.betas_), self.cv))
        for split in range(self.cv):
            order = rng.permutation(len(rows))
            self.cv_scores_[:, split] = self._held_out(
                views, rows[order[n_held:]], rows[order[:n_held]], rng
            )
        self.beta_ = float(self.betas_[int(np.argmax(self.cv_scores_.mean(axis=1)))])
        return self._learn(views, rows)

    def _candidates(self):
        betas = real_array(BETAS if self.betas is None else self.betas, "betas")
        if betas.ndim != 1 or not len(betas) or not (betas > 0).all():
            raise ValueError(f"betas must be positive numbers, at least one; got {self.betas!r}.")
        return np.sort(betas)

    def _held_out(self, views, train, held, rng):
        """Return the share of held-out comparisons that each β gets right."""
        seed = int(rng.randint(2**31 - 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            kept = prepare_comparisons(train, len(views[0].table), self.clean, seed)
        i, j, k, l = held.T
        scores = []
        for beta in self.betas_:
            _, maps, _ = self._solved(views, kept, float(beta), lambda: None)
            Z = np.hstack([view.table @ M for view, M in zip(views, maps, strict=True)])
            near, far = Z[i] - Z[j], Z[k] - Z[l]
            right = np.einsum("cd,cd->c", near, near) < np.einsum("cd,cd->c", far, far)
            scores.append(float(right.mean()))
        return scores
