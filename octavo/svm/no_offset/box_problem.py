"""The dual problem of a support vector machine without offset, on arrays.

    maximise  W(α) = linear'α − ½ Σ α_i α_j y_i y_j K_ij   subject to  0 ≤ α_i ≤ C_i

Without an offset there is no equality constraint: the solver moves any one or two variables, and
stops on a duality gap that costs one pass. With linear = 1 this is the hinge-loss SVM.

Reference: I. Steinwart, D. Hush and C. Scovel (2011), "Training SVMs Without Offset", Journal of
Machine Learning Research 12:141-202. Implemented: Algorithms 1 and 2, the stopping rules of
section 2.2 and the bound of Theorem 6. The loops are in `octavo.engine.duals.working_sets`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from octavo.engine.duals.smo import STOPPING, BoxMemory, DualResult, solve_box
from octavo.engine.duals.working_sets import LAST, SINGLE
from octavo.engine.estimators.checked import checked
from octavo.engine.kernels.gram import check_gram

__all__ = ["DualResult", "iteration_bound", "solve_box_svm"]


def strategy_of(working_set: int | str) -> int:
    """Return the mask of a working-set strategy; "1d" moves one variable at a time."""
    if working_set == "1d":
        return SINGLE
    if not isinstance(working_set, str) and 0 <= working_set < LAST:
        return int(working_set)
    raise ValueError(
        f'working_set must be "1d" or a sum of strategies 1, 2, 4, ..., 2048 (0 for all pairs), '
        f"got {working_set!r}."
    )


def check_kernel_matrix(K: np.ndarray, name: str = "The precomputed kernel") -> None:
    """Refuse what is no Gram matrix or has a diagonal that is not positive.

    An indefinite matrix is warned of: up to 500 samples by its eigenvalues; beyond, where these
    would take longer than the fit, only by entries of 16 random rows that exceed the diagonal.
    """
    check_gram(K, definite=len(K) <= 500, name=name)
    diagonal = K.diagonal()
    if diagonal.min() <= 0.0:
        raise ValueError(
            f"{name} must have a positive diagonal; its minimum is {diagonal.min():.3g} (sample "
            f"{int(diagonal.argmin())})."
        )
    if len(K) <= 500:
        return
    seen = np.random.default_rng(0).choice(len(K), 16, replace=False)
    largest, bound = float(np.abs(K[seen]).max()), float(diagonal.max())
    if largest > bound * (1.0 + 1e-8):
        warnings.warn(
            f"{name} is indefinite: an entry of size {largest:.3g} exceeds the largest diagonal "
            f"entry {bound:.3g}. The problem is then not convex, and the result may depend on "
            "where the solver starts.",
            UserWarning,
            stacklevel=3,
        )


@checked
def solve_box_svm(
    K: ArrayLike,
    y: ArrayLike,
    C: ArrayLike,
    *,
    linear: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    working_set: int | str = 7,
    stopping: str = "clipped_gap",
    tol: float = 1e-3,
    max_iter: int = -1,
    n_neighbors: int = 10,
    shuffle: bool = True,
    shrinking: bool = True,
    random_state: Any = None,
    trace: bool = False,
) -> DualResult:
    """Solve the dual problem of an SVM without offset.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel values k(x_i, x_j), without labels.
    y : array-like of shape (n_samples,)
        Labels, -1 or +1.
    C : float or array-like of shape (n_samples,)
        Upper bounds of the dual variables, 1 / (2 λ n) for every sample in the paper.
    linear : array-like of shape (n_samples,), default=None
        Linear term; ones by default, which is the hinge loss.
    alpha : array-like of shape (n_samples,), default=None
        Where to start, within the box; zeros by default.
    gradient : array-like of shape (n_samples,), default=None
        The gradient of W at the start where it is known; saves computing it.
    working_set : int or "1d", default=7
        Sum of the strategies 1 (previous variable), 2 (best of each half), 4 (neighbours), 8 (one
        step ahead), 16 (worst violators), 32 (best partner), 64 (random partners), 128 (best
        partner, approximately), 256 (random pairs), 512 (inner partner), 1024 (random inner
        partner), 2048 (random inner pairs). 0 tries all pairs, "1d" moves one variable.
    stopping : {"clipped_gap", "gap", "kkt"}, default="clipped_gap"
        Stop when the duality gap with slacks clipped at 2 (Eq. 9) or the duality gap (Eq. 7) is
        at most ``tol * sum(C)``, or when no gradient violates optimality by more than `tol`.
        The first two are the paper's ε / (2λ).
    tol : float, default=1e-3
        The tolerance.
    max_iter : int, default=-1
        Most iterations; -1 for no limit.
    n_neighbors : int, default=10
        How many neighbours strategy 4 looks at.
    shuffle : bool, default=True
        Whether the two halves of strategy 2 are drawn at random; False takes the first and the
        last half of the samples, which is slow when they are sorted by label.
    shrinking : bool, default=True
        Whether to go on among the variables that may still move, once they are fewer than half.
        Iterations are then counted all the same, and are cheaper.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and the random strategies.
    trace : bool, default=False
        Whether to keep dual objective, gap and clipped gap of every iteration.

    Returns
    -------
    DualResult
        α, its gradient, both objectives, the gaps, the number of iterations, and whether the
        stopping rule was met.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import solve_box_svm
    >>> result = solve_box_svm([[1.0, 0.5], [0.5, 1.0]], [1, -1], 10.0, tol=1e-9)
    >>> result.alpha, float(result.dual_objective)
    (array([2., 2.]), 2.0)
    """
    K = np.ascontiguousarray(check_array(K, dtype=np.float64, input_name="K"))
    check_kernel_matrix(K, "K")
    y = np.asarray(y, dtype=float)
    n = len(K)
    if y.shape != (n,) or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must hold {n} labels -1 or +1, got {y[:5]}... of shape {y.shape}.")
    bound = np.broadcast_to(np.asarray(C, dtype=float), (n,))
    if not (np.isfinite(bound).all() and bound.min() >= 0 and bound.max() > 0):
        raise ValueError(f"C must be finite, at least 0 and somewhere positive, got {C!r}.")
    if stopping not in STOPPING:
        raise ValueError(f"stopping must be one of {STOPPING}, got {stopping!r}.")
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol!r}.")
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    signed = {
        name: None if vector is None else y * np.asarray(vector, dtype=float)
        for name, vector in (("beta", alpha), ("gradient", gradient))
    }
    result = solve_box(
        K,
        # Eq. (3) in signed variables β = yα: K without labels, linear term y, bounds 0 and yC.
        y * (1.0 if linear is None else np.asarray(linear, dtype=float)),
        np.minimum(y * bound, 0.0),
        np.maximum(y * bound, 0.0),
        **signed,
        working_set=strategy_of(working_set),
        stopping=stopping,
        tol=tol if stopping == "kkt" else tol * float(bound.sum()),  # ε/(2λ): Σ C_i = 1/(2λ)
        max_iter=max_iter,
        memory=BoxMemory.new(n, n_neighbors, shuffle=shuffle, seed=seed),
        shrinking=shrinking,
        trace=trace,
    )
    return result._replace(alpha=y * result.alpha + 0.0, gradient=y * result.gradient)


@checked
def iteration_bound(n: int, alpha: float, eps: float, w_gap: float) -> int:
    """Return how many iterations a solver needs at most, Theorem 6.

    It holds for every strategy that gains at least as much as the best single variable, for
    kernels with k(x, x) = 1 and weights of at most 1, without shrinking.

    Parameters
    ----------
    n : int
        Number of samples.
    alpha : float
        Regularisation λ.
    eps : float
        Tolerance ε: the clipped gap or the gap must fall to ε / (2λ).
    w_gap : float
        Distance of the start from the optimum, W(α*) − W(α⁰). From zeros it is at most 1 / (2λ).

    Returns
    -------
    int
        The bound.

    Examples
    --------
    >>> from octavo.svm import iteration_bound
    >>> iteration_bound(500, 1e-2, 1e-2, 20.0)
    100012900
    """
    for name, value in (("n", n), ("alpha", alpha), ("eps", eps)):
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}.")
    if not w_gap >= 0:
        raise ValueError(f"w_gap must be at least 0, got {w_gap!r}.")
    m = min(1.0, 2.0 * alpha * eps)
    # Theorem 6; m = min(1, 2λε)
    first = math.ceil(2.0 / (alpha * eps * m))
    ratio = 4.0 * alpha * w_gap / (eps * m)
    return first + (max(0, math.ceil(2.0 * n * math.log(ratio))) if ratio > 0 else 0)
