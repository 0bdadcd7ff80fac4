"""The machine and the weights of the groups for given weights within groups: G(λ) with its gap.

    G(λ) = max over a and γ of  L(a) - ½ Σ_j (1/γ_j) a'K_j a,    K_j = Σ_k λ_jk K_jk

Block coordinate ascent: a machine on Σ_j K_j/γ_j, then the closed form of γ, by turns; two to four
rounds mostly. Every machine starts from the last: the constraints on a know nothing of kernels,
so that it stays feasible whatever λ and γ become.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12, Section 3.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_finite_result, real_array
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.mkl.machines import Machine, Solved, hinge_machine
from octavo.kernel.vskl.group_norms import GroupNorm
from octavo.kernel.vskl.kernel_groups import KernelGroups, as_kernel_groups

__all__ = ["VSKLOracle", "vskl_oracle"]

_ROUNDS = 10  # most rounds of block coordinate ascent within mirror descent
_MOST_ROUNDS = 100  # and where they are all that is asked for
_LEAST = 1e-12  # of a group's form there
_SPARSE = 0.5  # share of support vectors above which whole products beat gathered rows
_FIRST = 0.1  # precision of the first machine, relative to its penalty
INDEFINITE = 1e-8  # of the largest |a'Ka|: less is rounding


class IndefiniteKernels(Exception):
    """Kernels with a'Ka < 0 at a solution."""

    def __init__(self, kernels: Indices) -> None:
        super().__init__(kernels)
        self.kernels = kernels


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _gathered_forms(K, which, support, coef, out):
    """Write a'K_m a for the kernels `which`, from the rows and columns of the support."""
    for w in range(which.shape[0]):
        K_m = K[which[w]]
        total = 0.0
        for x in range(support.shape[0]):
            row = K_m[support[x]]
            inner = 0.0
            for z in range(x):
                inner += row[support[z]] * coef[z]
            total += coef[x] * (2.0 * inner + row[support[x]] * coef[x])
        out[w] = total


def kernel_forms(K: Floats, which: Indices, a: Floats) -> Floats:
    """Return s_m = a'K_m a for the kernels `which`; refuse what is negative by more than rounding.

    Raises
    ------
    IndefiniteKernels
        Where a kernel has a'K_m a < 0.
    """
    support = np.flatnonzero(a)
    forms = np.empty(len(which))
    if support.size > _SPARSE * a.size:
        for place, m in enumerate(which):
            forms[place] = a @ (K[m] @ a)
    else:
        _gathered_forms(K, which, support, a[support], forms)
    check_finite_result(forms, "The quadratic forms a'Ka of the kernels")
    below = forms < -INDEFINITE * np.abs(forms).max(initial=0.0)
    if below.any():
        raise IndefiniteKernels(which[below])
    return np.maximum(forms, 0.0)


class OracleStep(NamedTuple):
    """What the oracle found at λ.

    ``omega`` are the weights of the groups that the machine was solved with, ``response`` those
    that are best for its solution, ``forms`` the D_j = a'K_j a. G(λ) lies between ``lower`` and
    ``upper``. ``values`` is the dual objective after every half-step.
    """

    solved: Solved
    omega: Floats
    response: Floats
    forms: Floats
    lower: float
    upper: float
    n_calls: int
    values: list[float]


class GroupOracle:
    """Kernel matrices, a machine and a norm across groups, ready to be asked at any λ.

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        Kernel matrices.
    groups : KernelGroups
        Groups of some or all of them.
    machine : Machine
        The machine on one kernel.
    norm : GroupNorm
        The norm across groups.
    max_rounds : int, default=10
        Most machines for one λ.
    """

    def __init__(
        self,
        K: Floats,
        groups: KernelGroups,
        machine: Machine,
        norm: GroupNorm,
        max_rounds: int = _ROUNDS,
    ) -> None:
        self.K, self.groups, self.machine, self.norm = K, groups, machine, norm
        self.max_rounds = max_rounds
        self.order = groups.order
        self.sizes = groups.sizes
        # One group, or groups without influence on each other: ω stays, one machine is enough.
        self.is_single = len(self.sizes) == 1 or norm.q == 1.0

    def combined(self, lam: Floats) -> Floats:
        """Return K_j = Σ_k λ_jk K_jk of every group; their sum where ω stays one."""
        n = self.K.shape[1]
        if self.is_single:
            return _weighted(self.K, self.order, lam)[None]
        out = np.empty((len(self.sizes), n, n))
        start = 0
        for j, size in enumerate(self.sizes):
            part = slice(start, start + size)
            out[j] = _weighted(self.K, self.order[part], lam[part])
            start += size
        return out

    def ask(self, lam: Floats, omega: Floats, solved: Solved | None, tol: float) -> OracleStep:
        """Return the solution at λ, to within `tol` of G(λ) where rounding allows.

        Parameters
        ----------
        lam : ndarray
            Weights, group after group.
        omega : ndarray of shape (n_groups,)
            Weights of the groups to start from.
        solved : Solved or None
            An earlier solution to start from.
        tol : float
            How large upper - lower may be; infinite for a tenth of the penalty.

        Returns
        -------
        OracleStep
            The solution.
        """
        parts = self.combined(lam)
        values: list[float] = []
        for n_calls in range(1, self.max_rounds + 1):
            # K_eff = Σ_j K_j/γ_j of Algorithm 2
            total = parts[0] if self.is_single else np.tensordot(omega, parts, 1)
            solved = self._machine(total, solved, tol)  # the step in α
            if self.is_single and len(self.sizes) > 1:
                forms = np.array([solved.a @ (total @ solved.a)])  # of all groups together
                norm = GroupNorm(1.0)
            else:
                forms = np.maximum([solved.a @ (part @ solved.a) for part in parts], 0.0)
                norm = self.norm
            # f_λ(α, γ), Eq. (13)
            values.append(solved.linear - 0.5 * float(omega[: len(forms)] @ forms))
            lower = solved.linear - norm.dual(forms)
            upper = solved.loss + norm.within(omega[: len(forms)] ** 2 * forms)
            response = omega if self.is_single else norm.respond(omega, forms)  # and in γ
            values.append(solved.linear - 0.5 * float(response[: len(forms)] @ forms))
            allowed = _FIRST * norm.dual(forms) if tol == np.inf else tol
            # max over γ of f_λ from below, the loss of α from above
            if upper - lower <= max(allowed, 1e-13 * abs(upper)):
                break
            if n_calls < self.max_rounds:
                omega = response
        assert solved is not None
        return OracleStep(solved, omega, response, forms, lower, upper, n_calls, values)

    def _machine(self, total: Floats, solved: Solved | None, tol: float) -> Solved:
        """Solve the machine to half of `tol`; the first to a part of the penalty it turns out."""
        if tol < np.inf:
            return self.machine.solve(total, solved, 0.5 * tol)
        allowed = np.inf
        for _ in range(60):
            solved = self.machine.solve(total, solved, allowed)
            penalty = 0.5 * float(solved.a @ (total @ solved.a))
            # its own gap: (loss + penalty) - (L(a) - penalty)
            left = solved.loss + 2.0 * penalty - solved.linear
            if left <= 0.5 * _FIRST * penalty or left <= 1e-12 * abs(solved.loss):
                break
            allowed = min(0.3 * left, max(0.5 * _FIRST * penalty, 0.03 * left))
        assert solved is not None
        return solved


def _weighted(K: Floats, which: Indices, weights: Floats) -> Floats:
    """Return Σ weights_m K_m over the kernels `which` that have a weight."""
    used = np.flatnonzero(weights)
    n = K.shape[1]
    if len(used) == len(K) and np.array_equal(which, np.arange(len(K))):
        return (weights @ K.reshape(len(K), -1)).reshape(n, n)
    total = np.zeros((n, n))
    for place in used:
        total += weights[place] * K[which[place]]
    return total


class VSKLOracle(NamedTuple):
    """G(λ), where it is attained, and its gradient.

    ``alpha`` ≥ 0 are the machine's variables, ``gamma`` the weights of the groups (of which 1/γ_j
    multiply the kernels for q ≥ 1, γ_j for q < 1), ``gradient`` is dG/dλ in the order of the
    kernels. The objective may be below G(λ) by ``gap`` at most. ``objectives`` are those
    after every half-step.
    """

    alpha: Floats
    gamma: Floats
    objective: float
    gradient: Floats
    gap: float
    intercept: float
    n_svm_calls: int
    objectives: Floats


@checked
def vskl_oracle(
    Ks: ArrayLike,
    groups: Any,
    lam: Any,
    y: ArrayLike,
    C: float,
    q: float,
    *,
    tol: float = 1e-6,
) -> VSKLOracle:
    """Solve for the machine and the weights of the groups, the weights within groups given.

    Parameters
    ----------
    Ks : array-like of shape (n_kernels, n_samples, n_samples)
        Kernel matrices.
    groups : None, str or list
        A label for each kernel, lists of kernels, ``"one"`` or ``"each"``; None for one group.
    lam : list or array-like
        Weights of the kernels, which sum to one in every group: a vector in the order of the
        kernels, or a list of one vector per group.
    y : array-like of shape (n_samples,)
        Labels, -1 and 1.
    C : float
        Weight of the hinge loss.
    q : float
        The norm across groups, from 0.5 to infinity. Below 1, where γ multiplies the kernels, G
        is the least over γ of the largest over a.
    tol : float, default=1e-6
        Gap to stop at, relative to the objective.

    Returns
    -------
    VSKLOracle
        The solution; see there.

    Raises
    ------
    ValueError
        If shapes do not fit, a weight is negative or sums are not one, labels are not -1 and 1, or
        a kernel is indefinite.

    References
    ----------
    .. [1] Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and Raman (2011). Variable Sparsity Kernel
       Learning. JMLR 12, Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import KernelStack, vskl_oracle
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> y = np.where(X[:, 0] + 0.1 * X[:, 1] > 0, 1, -1)
    >>> K = KernelStack("rbf_per_feature", normalize="trace").fit_transform(X)
    >>> found = vskl_oracle(K, "each", [1.0, 1.0], y, C=100.0, q=2.0)
    >>> found.gamma.round(2).tolist(), found.n_svm_calls
    ([0.98, 0.17], 10)
    """
    K = as_stack(Ks)
    parts = as_kernel_groups(groups, len(K))
    labels = real_array(y, "y").ravel()
    if labels.size != K.shape[1] or not np.isin(labels, (-1.0, 1.0)).all():
        raise ValueError(f"y must hold -1 or 1 for each of {K.shape[1]} samples.")
    if abs(labels.sum()) == labels.size:
        raise ValueError(f"y must hold both -1 and 1, got {labels[0]:g} alone.")
    if not (np.isfinite(C) and C > 0.0):
        raise ValueError(f"C must be positive and finite, got {C!r}.")
    if not q >= 0.5:
        raise ValueError(f"q must be at least 0.5, got {q!r}.")
    if not tol > 0.0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    weights = _ordered_weights(lam, parts)
    norm = GroupNorm(q, least=_LEAST)
    machine = hinge_machine(labels, np.full(labels.size, float(C)))
    oracle = GroupOracle(K, parts, machine, norm, max_rounds=_MOST_ROUNDS)
    try:
        step = oracle.ask(weights, norm.start(len(parts.sizes)), None, np.inf)
        n_calls, values = step.n_calls, step.values
        step = oracle.ask(weights, step.response, step.solved, max(tol, 1e-12) * abs(step.upper))
        forms = kernel_forms(K, oracle.order, step.solved.a)
    except IndefiniteKernels as found:
        raise ValueError(
            f"Kernels must be positive semidefinite; kernel {found.kernels[0]} is not."
        ) from None
    gradient = np.empty(len(K))
    gradient[oracle.order] = -0.5 * np.repeat(step.response, parts.sizes) * forms  # Danskin
    return VSKLOracle(
        np.abs(step.solved.a),
        norm.gamma(step.response),
        step.lower,
        gradient,
        max(step.upper - step.lower, 0.0),
        step.solved.offset,
        n_calls + step.n_calls,
        np.array(values + step.values),
    )


def _ordered_weights(lam: Any, groups: KernelGroups) -> Floats:
    """Return λ group after group, from a vector in the order of kernels or a list per group."""
    n_kernels = len(groups.order)
    if isinstance(lam, (list, tuple)) and any(np.ndim(part) > 0 for part in lam):
        if [np.size(part) for part in lam] != groups.sizes:
            raise ValueError(
                f"lam must have one vector per group, of sizes {groups.sizes}; got "
                f"{[np.size(part) for part in lam]}."
            )
        weights = np.concatenate([real_array(part, "lam").ravel() for part in lam])
    else:
        vector = real_array(lam, "lam").ravel()
        if vector.size != n_kernels:
            raise ValueError(f"lam must have {n_kernels} weights, got {vector.size}.")
        weights = vector[groups.order]
    starts = np.concatenate([[0], np.cumsum(groups.sizes)[:-1]])
    if (weights < 0.0).any() or np.abs(np.add.reduceat(weights, starts) - 1.0).max() > 1e-6:
        raise ValueError("lam must be non-negative and sum to one in every group.")
    return weights


def _warmup() -> None:
    some = np.array([0], dtype=np.intp)
    _gathered_forms(np.ones((1, 2, 2)), some, some, np.ones(1), np.empty(1))
