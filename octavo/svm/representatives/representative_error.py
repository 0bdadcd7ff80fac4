"""What a representative set costs: objectives, the paper's bounds, and a certified gap.

`error_certificate` evaluates a machine that was trained on representatives on all rows, and says
how far its objective can be from that of the machine trained on all of them. The bounds of the
paper hold before anything is trained and are very loose; the duality gap at the end is computed
from the trained machine, and is not.

Reference: Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme
points", JMLR 15:59-98, Section 3.2. C in its bounds is the total cost, the sum of `C` over rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import check_sample_weight
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import Kernel, row_chunks

__all__ = ["ErrorCertificate", "error_certificate"]


class ErrorCertificate(NamedTuple):
    """Objectives of one machine, and how far they can be from those of the exact one.

    `f1`, `f2`, `f3`: objective of the machine on all rows, on the weighted representatives, and
    on all rows replaced by their convex combinations. `f1_baseline`: the least objective on all
    rows, if a baseline was given (else nan). `lower_bound`: a value that the least objective on
    all rows cannot fall below; `f1 - lower_bound` certifies the machine. `theorem2`: the most by
    which f1 can exceed f3. `corollary3`, `corollary4`: the paper's bounds on f1_baseline - f2
    and f1 - f1_baseline. `max_hull_error`, `mean_hull_error`: squared distances of rows to their
    convex combinations. `trace_error`, `trace_bound`: trace of the Gram matrix minus that of its
    low-rank stand-in, and its bound.
    """

    f1: float
    f2: float
    f3: float
    f1_baseline: float
    lower_bound: float
    theorem2: float
    corollary3: float
    corollary4: float
    max_hull_error: float
    mean_hull_error: float
    trace_error: float
    trace_bound: float


class PairMachines(NamedTuple):
    """The one-vs-one machines of an SVC: coefficients on its support vectors, a column a pair."""

    coef: Floats
    intercept: Floats
    pairs: list[tuple[int, int]]  # (class of the positive side, class of the negative side)


def pair_machines(svc: Any) -> PairMachines:
    """Unpack the dual coefficients of a fitted SVC."""
    k = len(svc.classes_)
    packed = svc.dual_coef_.toarray() if hasattr(svc.dual_coef_, "toarray") else svc.dual_coef_
    if k == 2:
        return PairMachines(packed.T.copy(), svc.intercept_.copy(), [(1, 0)])
    ends = np.concatenate([[0], np.cumsum(svc.n_support_)])
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    coef = np.zeros((packed.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        coef[own, column] = packed[j - 1, own]
        coef[other, column] = packed[i, other]
    return PairMachines(coef, svc.intercept_.copy(), pairs)


def decision_values(kernel: Kernel, X: Any, vectors: Any, machines: PairMachines) -> Floats:
    """Return w·φ(x) + b of every row and pair, a chunk of rows at a time."""
    values = np.empty((X.shape[0], len(machines.pairs)))
    for rows in row_chunks(X.shape[0], vectors.shape[0], megabytes=16.0):
        values[rows] = kernel.block(X[rows], vectors) @ machines.coef
    return values + machines.intercept


def machine_objectives(
    svc: Any, kernel: Kernel, X: Any, codes: NDArray[np.intp], cost: Floats
) -> tuple[float, float]:
    """Return primal and dual objective of a fitted SVC on its training rows, summed over pairs.

    `cost` is C times the weight of each row; `codes` are the places of its class in `classes_`.
    """
    machines = pair_machines(svc)
    values = decision_values(kernel, X, X[svc.support_], machines)
    primal = dual = 0.0
    for column, (plus, minus) in enumerate(machines.pairs):
        sign = np.where(codes == plus, 1.0, -1.0)
        inside = (codes == plus) | (codes == minus)
        loss = np.maximum(0.0, 1.0 - sign * values[:, column])[inside]
        coef = machines.coef[:, column]
        # ||w||² = Σ coef (f - b) over the support vectors, which are rows of X.
        norm = float(coef @ (values[svc.support_, column] - machines.intercept[column]))
        primal += 0.5 * norm + float(cost[inside] @ loss)  # Eq. (2)
        dual += float(np.abs(coef).sum()) - 0.5 * norm  # Eq. (15)
    return primal, dual


def squared_norm(kernel: Kernel, X: Any, coef: Floats) -> float:
    """Return ||Σ coef_i φ(x_i)||², a chunk of rows at a time."""
    active = np.flatnonzero(coef)
    rows, coef = X[active], coef[active]
    total = 0.0
    for part in row_chunks(len(active), len(active), megabytes=32.0):
        total += float(coef[part] @ (kernel.block(rows[part], rows) @ coef))
    return total


def trace_errors(kernel: Kernel, X: Any, points: Any) -> tuple[float, float]:
    """Return trace(G - G̃) and Σ_i u_i·τ_i of Corollary 5, one subset at a time."""
    trace = across = 0.0
    place = points.subset_labels_[points.indices_]
    weights = points.assignments_
    for number in range(points.n_subsets_):
        rows = np.flatnonzero(points.subset_labels_ == number)
        columns = np.flatnonzero(place == number)
        gamma = weights[rows][:, columns].toarray()
        corners = X[points.indices_[columns]]
        own = np.asarray(kernel.diagonal(X[rows]))
        norm = np.einsum("ij,ij->i", gamma @ kernel.block(corners, corners), gamma)  # u_i·u_i
        # u_i·z_i = u_i·(u_i + τ_i), Eq. (7)
        inner = np.einsum("ij,ij->i", gamma, kernel.block(X[rows], corners))
        trace += float(np.sum(own - norm))  # ‖z_i‖² − ‖u_i‖²
        across += float(np.sum(inner - norm))  # u_i·τ_i
    return trace, across


@checked
def error_certificate(model, X, y, sample_weight=None, *, baseline=None, lower_bound=True):
    """Compare a machine trained on representatives with the machine of all rows.

    Parameters
    ----------
    model : AESVC
        Fitted on `X` and `y` (and `sample_weight`), two classes, with its own machine.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows that it was fitted on.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights.
    baseline : SVC, default=None
        An exact machine fitted on all rows with the same parameters.
    lower_bound : bool, default=True
        Compute the lower bound on the least objective. It takes kernel values of all pairs of
        rows that have weight in the dual, a chunk at a time.

    Returns
    -------
    ErrorCertificate
        Objectives, bounds and hull errors.

    Notes
    -----
    The lower bound spreads the dual weights of the representatives over the rows that they
    stand for, in the proportions in which they stand for them. These are feasible in the dual
    of the machine of all rows, so that their dual objective bounds its least objective. The
    bound is close for eps of 1e-4 and less; at 1e-2 it says little.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import AESVC, error_certificate
    >>> X, y = make_redundant_classes(900, kind="rings", random_state=0)
    >>> model = AESVC(C=1.0, gamma=4.0, eps=1e-5).fit(X, y)
    >>> found = error_certificate(model, X, y)
    >>> found.lower_bound <= found.f1 <= 1.02 * found.lower_bound
    True
    """
    check_is_fitted(model, "representative_indices_")
    if len(model.classes_) != 2 or not hasattr(model, "objective_"):
        raise ValueError(
            "error_certificate needs an AESVC of two classes with its own machine "
            f"(estimator=None); got {len(model.classes_)} classes and "
            f"estimator={model.estimator!r}."
        )
    X = validate_rows(model, X, accept_sparse="csr", dtype=np.float64, reset=False)
    codes = np.searchsorted(model.classes_, y)
    weight = check_sample_weight(sample_weight, X, dtype=np.float64)
    points = model._selection(store_assignments=True)
    points._fit_checked(X, codes, weight, owner=points)
    sign = np.where(codes == 1, 1.0, -1.0)
    cost = model.C * weight * model.class_weight_[codes]
    machines = pair_machines(model.estimator_)
    vectors = model.estimator_.support_vectors_
    values = decision_values(model.kernel_, X, vectors, machines)[:, 0]
    gamma, chosen = points.assignments_, points.indices_
    replaced = gamma @ values[chosen]  # w·u_i + b, u_i = Σ γ_it z_t of Eq. (10)
    coef = machines.coef[:, 0]
    half = 0.5 * float(coef @ (values[model.support_] - machines.intercept[0]))

    def objective(decisions: Floats, costs: Floats, signs: Floats) -> float:
        return half + float(costs @ np.maximum(0.0, 1.0 - signs * decisions))

    total, trace, across = float(cost.sum()), *trace_errors(model.kernel_, X, points)
    loose = total * float(np.sqrt(total * model.eps))  # C√(Cε); C of the paper is Σ C_i here
    spread = np.maximum(0.0, -sign * (values - replaced))  # Theorem 2, y_i w·τ_i
    return ErrorCertificate(
        f1=objective(values, cost, sign),  # Eq. (1)
        f2=objective(values[chosen], gamma.T @ cost, sign[chosen]),  # Eq. (2), β = γ'1 by Eq. (9)
        f3=objective(replaced, cost, sign),  # Eq. (10)
        f1_baseline=_baseline_objective(baseline, model.kernel_, X, codes, cost),
        lower_bound=_spread_dual(model, X, sign, weight, gamma, coef) if lower_bound else np.nan,
        theorem2=float(cost @ spread),
        corollary3=loose,
        corollary4=2.0 * loose,
        max_hull_error=float(np.nanmax(points.hull_error_)),
        mean_hull_error=float(np.nanmean(points.hull_error_)),
        trace_error=trace,
        trace_bound=int((weight > 0).sum()) * model.eps + 2.0 * across,
    )


def _baseline_objective(baseline: Any, kernel: Kernel, X: Any, codes: Any, cost: Floats) -> float:
    if baseline is None:
        return float("nan")
    return machine_objectives(baseline, kernel, X, codes, cost)[0]


def _spread_dual(
    model: Any, X: Any, sign: Floats, weight: Floats, gamma: Any, coef: Floats
) -> float:
    """Return the dual objective on all rows of the representatives' dual weights, spread out."""
    share = np.zeros(X.shape[0])
    share[model.support_] = np.abs(coef)
    per_weight = share[model.representative_indices_] / model.representative_weights_
    # α_i = Σ_t γ_it α_t/β_t ≤ C, since α_t ≤ C β_t in Eq. (15): feasible for all rows.
    alpha = weight * (gamma @ per_weight)
    linear, square = float(alpha.sum()), squared_norm(model.kernel_, X, alpha * sign)
    shrink = min(1.0, linear / square)  # any share of it is feasible too; take the best
    return shrink * linear - 0.5 * shrink**2 * square
