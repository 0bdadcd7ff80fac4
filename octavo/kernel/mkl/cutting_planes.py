"""The weights of multiple kernel learning by cutting planes, and the smooth dual by L-BFGS.

For every θ the optimum J(θ) = max_a L(a) − ½ Σ θ_m a'K_m a is convex in θ, and every a gives a
plane below it. `CuttingPlanes` minimises the highest plane over the weights to say where the next
is cut: a linear program for p = 1 (SILP, solved by HiGHS), a smooth concave program in one
multiplier a plane for p > 1 (SIP). `solve_smooth_dual` is for the squared loss, whose dual has no
constraint.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Sections 3.3 and 4.4.1; S. Sonnenburg, G.
Rätsch, C. Schäfer and B. Schölkopf (2006), "Large Scale Multiple Kernel Learning", JMLR 7.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog, minimize

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.mkl.machines import SquaredMachine
from octavo.kernel.mkl.weight_norms import LpNorm
from octavo.kernel.mkl.wrapper import Bounds, MKLFit, Step

__all__ = ["smooth_group_lasso"]

_IN_OUT = 0.4  # how far from the best weights towards the master's the next plane is cut
_PLANES = 100


def linear_master(linear: Floats, forms: Floats) -> tuple[Floats, float, Floats]:
    """Minimise the highest plane ζ ≥ L_t − ½ θ's_t over the simplex; return θ, ζ and μ."""
    n_planes, n_kernels = forms.shape
    size = float(forms.max())
    cost = np.zeros(n_kernels + 1)
    cost[-1] = 1.0
    # Shifted and scaled so that the solver's absolute tolerances mean something.
    base = float(linear.max())
    planes = np.hstack([-0.5 * forms / size, -np.ones((n_planes, 1))])
    answer = linprog(
        cost,
        A_ub=planes,
        b_ub=(base - linear) / size,
        A_eq=np.append(np.ones(n_kernels), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n_kernels + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    theta = np.maximum(answer.x[:-1], 0.0)
    mu = np.maximum(-answer.ineqlin.marginals, 0.0)
    mu /= mu.sum()
    # The value at these multipliers is a bound whatever the solver's tolerance.
    return theta / theta.sum(), float(mu @ linear) - 0.5 * float((mu @ forms).max()), mu


def smooth_master(
    linear: Floats, forms: Floats, norm: LpNorm, start: Floats
) -> tuple[Floats, float, Floats]:
    """Maximise μ'L − ½ ||Σ μ_t s_t||_p* over the simplex; return θ, the value and μ.

    This is the dual of the master program for p > 1; its value is a lower bound for any μ.
    """
    size = float(forms.max())
    scaled, base = forms / size, float(linear.max())
    offset = (linear - base) / size

    def negative(mu: Floats) -> tuple[float, Floats]:
        total = mu @ scaled
        theta = norm.best_response(total)
        return norm.dual(total) - float(mu @ offset), 0.5 * scaled @ theta - offset

    answer = minimize(
        negative,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(start),
        constraints={"type": "eq", "fun": lambda mu: mu.sum() - 1.0, "jac": np.ones_like},
        options={"maxiter": 200, "ftol": 1e-14},
    )
    candidates = [np.maximum(answer.x, 0.0), start]
    mu = min((m / m.sum() for m in candidates), key=lambda m: negative(m)[0])
    return norm.best_response(mu @ scaled), base - size * negative(mu)[0], mu


class CuttingPlanes:
    """Weights by cutting planes: one plane a solution, whether it is optimal or not.

    The next weights lie between the best so far and the master's, not at the master's own, which
    jump from one corner to another. The planes' combination bounds the optimum from below.

    Parameters
    ----------
    norm : LpNorm
        Norm on the weights, 1 ≤ p < ∞.
    """

    def __init__(self, norm: LpNorm) -> None:
        self.norm = norm
        self.linear, self.forms = np.empty(0), np.empty((0, 0))
        self.mu = np.empty(0)

    def next(self, theta: Floats, s: Floats, linear: float, bounds: Bounds) -> Floats:
        """Add the plane of a solution and return the next weights."""
        self.linear = np.append(self.linear, linear)
        self.forms = np.vstack([self.forms.reshape(-1, len(s)), self.norm.importance * s])
        self.mu = np.append(self.mu, 0.0 if len(self.mu) else 1.0)
        if self.norm.p == 1.0:
            target, lower, self.mu = linear_master(self.linear, self.forms)
        else:
            plain = LpNorm(self.norm.p)  # importance is in the planes
            target, lower, self.mu = smooth_master(self.linear, self.forms, plain, self.mu)
        self._forget()
        bounds.lower = max(bounds.lower, lower)
        assert bounds.best is not None
        best = bounds.best[0]
        between = best + _IN_OUT * (self.norm.importance * target - best)
        return between / self.norm.size(between)

    def _forget(self) -> None:
        """Drop the oldest plane that carries no weight once there are many."""
        if len(self.mu) > _PLANES:
            idle = np.flatnonzero(self.mu <= 1e-12)
            kept = np.delete(np.arange(len(self.mu)), idle[:1])
            self.linear, self.forms, self.mu = self.linear[kept], self.forms[kept], self.mu[kept]


def solve_smooth_dual(
    K: Floats,
    machine: SquaredMachine,
    norm: LpNorm,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    step: Step | None = None,
) -> MKLFit:
    """Maximise y'a − Σ a²/(2C) − ½ ||(a'K_m a)||_p* with Σa = 0 by L-BFGS (Section 3.3).

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        Kernel matrices.
    machine : SquaredMachine
        Targets and costs.
    norm : LpNorm
        Norm on the weights, p > 1.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty at the solution.
    max_iter : int, default=200
        Most iterations.
    step : callable, optional
        Called after every iteration; returns whether to stop.

    Returns
    -------
    MKLFit
        The solution; its weights are the gradient of the dual norm.
    """
    if norm.p == 1.0:
        raise ValueError("The smooth dual needs p > 1: at p = 1 its norm has corners.")
    n = K.shape[1]
    flat = K.reshape(-1, n)
    bounds, state = Bounds(norm), {"n_iter": 0}

    def products(a: Floats) -> tuple[Floats, Floats, Floats]:
        each = (flat @ a).reshape(len(K), n)
        s = np.maximum(each @ a, 0.0)
        return s, norm.best_response(s), each

    def negative(z: Floats) -> tuple[float, Floats]:
        a = z - z.mean()
        s, theta, each = products(a)
        value = norm.dual(s) + 0.5 * float((a**2 / machine.C).sum()) - float(machine.y @ a)
        slope = theta @ each + a / machine.C - machine.y
        return value, slope - slope.mean()

    def look(z: Floats) -> None:
        """Certify the iterate; L-BFGS itself knows no gap."""
        state["n_iter"] += 1
        a = z - z.mean()
        s, theta, each = products(a)
        f = theta @ each
        offset = float(machine.C @ (machine.y - f) / machine.C.sum())
        gap = bounds.add(theta, [machine.wrap(a, f, offset)], s)
        if gap <= tol * bounds.scale or (step is not None and step()):
            raise StopIteration

    start = machine.C * (machine.y - machine.y.mean())
    minimize(
        negative,
        start / (1.0 + float(machine.C.mean()) * np.trace(K, axis1=1, axis2=2).sum() / n),
        jac=True,
        method="L-BFGS-B",
        callback=look,
        options={"maxiter": max_iter, "maxcor": 20, "ftol": 0.0, "gtol": 1e-14},
    )
    return bounds.result(state["n_iter"], tol)


@checked
def smooth_group_lasso(
    kernels: ArrayLike, y: ArrayLike, *, C: float = 1.0, p: float = 1.1, tol: float = 1e-6
) -> tuple[Floats, float, Floats]:
    """Fit the smooth variant of the group lasso: squared loss, weights of the groups in an lp ball.

    One group a kernel. As p falls to 1 the solution becomes that of the group lasso with the
    penalty ½ (Σ ||w_m||)², the larger p is the less sparse.

    Parameters
    ----------
    kernels : array-like of shape (n_kernels, n_samples, n_samples)
        Kernel matrices; X_m X_m' for a group of columns.
    y : array-like of shape (n_samples,)
        Targets.
    C : float, default=1.0
        Weight of the loss ½ Σ (y - f)².
    p : float, default=1.1
        Norm of the weights, above 1.
    tol : float, default=1e-6
        Duality gap to stop at, relative to the penalty.

    Returns
    -------
    a : ndarray of shape (n_samples,)
        Coefficients: f(x) = Σ_m θ_m Σ_i a_i k_m(x_i, x) + offset.
    offset : float
        The offset.
    theta : ndarray of shape (n_kernels,)
        The weights.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import smooth_group_lasso
    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> groups = [X[:, :2] @ X[:, :2].T, X[:, 2:4] @ X[:, 2:4].T, X[:, 4:] @ X[:, 4:].T]
    >>> a, offset, theta = smooth_group_lasso(groups, X[:, 0] - X[:, 1], p=1.1)
    >>> theta.round(2)
    array([1., 0., 0.])
    """
    K = as_stack(kernels)
    targets = np.asarray(y, dtype=np.float64)
    if targets.shape != (K.shape[1],) or not np.isfinite(targets).all():
        raise ValueError(f"y must be {K.shape[1]} finite numbers, got shape {targets.shape}.")
    if not (C > 0 and p > 1):
        raise ValueError(f"C must be positive and p above 1, got C={C!r} and p={p!r}.")
    machine = SquaredMachine(targets, np.full(len(targets), float(C)))
    fit = solve_smooth_dual(K, machine, LpNorm(p), tol=tol, max_iter=10_000)
    return fit.solved[0].a, fit.solved[0].offset, fit.theta
