"""K precision matrices by penalised likelihood: entry weights, forbidden edges, tied networks.

Solves   min Σ_k n_k (tr S^k Θ^k − log det Θ^k) + Σ_k Σ_ij w^k_ij |Θ^k_ij| + h(Θ^1, …, Θ^K)

for the penalties h of `penalties`, by a method of multipliers with two blocks, which
converges. An infinite weight forbids an edge. The problem is split into connected blocks first
where that is exact, and every solution carries the duality gap that proves it.

The solver works in units of its own, Φ = DΘD with D so chosen that variances are about one: data
in millimetres and data in kilometres are one problem to it. The entries of D are powers of two,
so that going there and back rounds nothing, and objective and gap are those of the problem given.

Reference: Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple Gaussian
graphical models", JMLR 15:445-488, sections 4 and 5; Boyd, Parikh, Chu, Peleato and Eckstein
(2011), "Distributed optimization and statistical learning via the alternating direction method of
multipliers", section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from octavo.engine.discrete.graph_blocks import connected_blocks
from octavo.engine.estimators.arrays import Floats
from octavo.engine.glasso.penalties import (
    CohubNodes,
    FusedEdges,
    GroupedEdges,
    NetworkPenalty,
    PerturbedNodes,
    SeparateEdges,
    transposed,
)

RELAXATION = 1.6  # over-relaxation of Boyd et al., section 3.4.3
FAR = 3.0  # a variable with eight times the standard deviation of others has a unit of its own
DUST = (10.0, 3.0, 1.0, 0.3, 0.1, 0.01)  # times the tolerance: sizes that may be dust, in turn
DUST_COST = 0.1  # of the gap: what removing dust may add to the objective
CHECK_EVERY = 5  # iterations between looks at the residuals


class JointProblem(NamedTuple):
    """Covariances (K, p, p), sample sizes (K,), l1 weights (K, p, p) and the penalty h."""

    S: Floats
    n: Floats
    weights: Floats
    penalty: NetworkPenalty

    def restrict(self, block: NDArray[np.intp]) -> JointProblem:
        """Return the problem on some of the variables."""
        at = np.ix_(np.arange(len(self.S)), block, block)
        return JointProblem(self.S[at], self.n, self.weights[at], self.penalty.restrict(block))

    def scaled(self, factor: float) -> JointProblem:
        """Return the same problem with its objective multiplied."""
        return JointProblem(
            self.S, self.n * factor, self.weights * factor, self.penalty.scaled(factor)
        )

    def in_units(self, units: Floats) -> JointProblem:
        """Return the problem in Φ^k = D^k Θ^k D^k, D^k the diagonal of units[k]."""
        return JointProblem(
            divided(self.S, units),
            self.n,
            divided(self.weights, units),
            self.penalty.in_units(units[0]),
        )


class Settings(NamedTuple):
    """How a solver is run: first penalty parameter, tolerance, and most iterations."""

    rho: float = 1.0
    tol: float = 1e-5
    max_iter: int = 1000

    def proves(self, problem: JointProblem, gap: float) -> bool:
        """Tell whether a gap is small: at most tol for each sample and variable."""
        return gap <= self.tol * float(problem.n.sum()) * problem.S.shape[-1]


DEFAULT = Settings()


class JointState(NamedTuple):
    """Where a solver stands, and can start again: copies and their multipliers.

    ``V`` and ``dual_V`` are None for penalties on edges.
    """

    Z: Floats
    dual_Z: Floats
    dual_Theta: Floats
    V: Any = None
    dual_V: Any = None


class JointSolution(NamedTuple):
    """Precision matrices, their V, state to start again from, and the certificate.

    ``V``, None for penalties on edges, has exact zero columns; V + Vᵀ is what is penalised up to
    the tolerance. The duality gap is the objective less the dual value, infinite where the dual
    point is not feasible.
    """

    precisions: Floats
    V: Any
    state: JointState
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool
    blocks: list[NDArray[np.intp]]


# --- units ----------------------------------------------------------------------------------------


def own_units(problem: JointProblem) -> Floats:
    """Return the units (K, p) of the solver: powers of two near the standard deviations.

    All variables of a network share a unit, but for those that are far from the others: a hub has
    a larger variance than its neighbours and is solved fastest in their units. The diagonal
    of S + w/n is that of the solution's covariance where nothing ties it. Networks that a penalty
    compares share their units.
    """
    S, n, weights, penalty = problem
    diagonal = np.diagonal(weights, axis1=1, axis2=2)
    # what stands in a singleton's solution n / (nS + w)
    variances = np.diagonal(S, axis1=1, axis2=2) + diagonal / n[:, None]
    if not isinstance(penalty, SeparateEdges):
        variances = np.broadcast_to((n / n.sum()) @ variances, variances.shape)
    usable = np.where((variances > 0.0) & np.isfinite(variances), variances, 1.0)
    sizes = 0.5 * np.log2(usable)
    middle = np.round(np.median(sizes, axis=1, keepdims=True))
    far = np.abs(sizes - middle) > FAR
    return np.exp2(np.where(far, np.round(sizes), middle))


def divided(A: Floats, units: Floats) -> Floats:
    """Return D⁻¹AD⁻¹ for stacked matrices."""
    return A / units[:, :, None] / units[:, None, :]


def multiplied(A: Floats, units: Floats) -> Floats:
    """Return DAD for stacked matrices."""
    return A * units[:, :, None] * units[:, None, :]


def state_in_units(state: JointState, units: Floats) -> JointState:
    """Return a state of the problem in Φ = DΘD from one of the problem in Θ."""
    V = None if state.V is None else multiplied(state.V, units[:1])
    dual_V = None if state.dual_V is None else divided(state.dual_V, units[:1])
    return JointState(
        multiplied(state.Z, units),
        divided(state.dual_Z, units),
        divided(state.dual_Theta, units),
        V,
        dual_V,
    )


def in_given_units(solution: JointSolution, n: Floats, units: Floats) -> JointSolution:
    """Return a solution in Θ = D⁻¹ΦD⁻¹; log det Θ^k is log det Φ^k − 2 Σ log d."""
    return solution._replace(
        precisions=divided(solution.precisions, units),
        V=None if solution.V is None else divided(solution.V, units[:1]),
        state=state_in_units(solution.state, 1.0 / units),
        objective=solution.objective + float(2.0 * n @ np.log(units).sum(axis=1)),
    )


# --- the likelihood -------------------------------------------------------------------------------


def expand(A: Floats, n: Floats, rho: float) -> Floats:
    """Return argmin_Θ −n_k log det Θ^k + (rho/2) ‖Θ^k − A^k‖², the operator of section 4.2.1."""
    values, vectors = np.linalg.eigh(A)
    # (d + √(d² + 4n/ρ)) / 2 for every eigenvalue d
    shrunk = 0.5 * (values + np.sqrt(values**2 + (4.0 / rho) * n[:, None]))
    scaled = vectors * np.sqrt(shrunk)[:, None, :]
    return scaled @ transposed(scaled)


def log_det(A: Floats) -> Floats:
    """Return log det of stacked matrices, -inf for those that are not positive definite."""
    try:
        factor = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        if len(A) == 1:
            return np.array([-np.inf])
        return np.concatenate([log_det(part[None]) for part in A])
    return 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)


def expand_scalars(A: Floats, n: Floats, rho: float) -> Floats:
    """Return `expand` for many one-variable problems: A has shape (K, m)."""
    return 0.5 * (A + np.sqrt(A**2 + (4.0 / rho) * n[:, None]))


def log_det_scalars(A: Floats) -> Floats:
    """Return `log_det` for many one-variable problems: A has shape (K, m)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((A > 0).all(axis=-1), np.log(A).sum(axis=-1), -np.inf)


class Likelihood(NamedTuple):
    """The two operations on log det that a solver needs."""

    expand: Callable[[Floats, Floats, float], Floats]
    log_det: Callable[[Floats], Floats]


MATRICES = Likelihood(expand, log_det)
SCALARS = Likelihood(expand_scalars, log_det_scalars)


# --- the certificate ------------------------------------------------------------------------------


def objective(problem: JointProblem, Theta: Floats, V: Any, log_det=log_det) -> float:
    """Return the objective at Θ; with V, Ω_q is bounded by the decomposition nearest to V."""
    logs = log_det(Theta)
    if not np.isfinite(logs).all():
        return np.inf
    forbidden = np.isinf(problem.weights)
    if forbidden.any() and Theta[forbidden].any():
        return np.inf
    fit = (problem.n * ((problem.S * Theta).reshape(len(Theta), -1).sum(axis=1) - logs)).sum()
    l1 = (np.where(forbidden, 0.0, problem.weights) * np.abs(Theta)).sum()
    if isinstance(problem.penalty, (PerturbedNodes, CohubNodes)):
        return float(fit + l1 + problem.penalty.value(Theta, V))
    return float(fit + l1 + problem.penalty.value(Theta))


def dual_value(problem: JointProblem, slope: Floats, log_det=log_det) -> float:
    """Return the dual value Σ n_k (log det W^k + p), W^k = S^k + slope^k / n_k.

    `slope` must be a subgradient of the whole penalty at some point.
    """
    shape = (-1,) + (1,) * (slope.ndim - 1)
    # Θ = W⁻¹ at the optimum, as Eqs. (27) and (28) say for two networks
    W = problem.S + slope / problem.n.reshape(shape)
    logs = log_det(W)
    return float((problem.n * (logs + W.shape[-1])).sum()) if np.isfinite(logs).all() else -np.inf


def node_slope(problem: JointProblem, dual_Z: Floats, dual_V: Floats) -> Floats:
    """Return a feasible subgradient near the multipliers of the l1 and of the overlap norm."""
    penalty = problem.penalty
    assert isinstance(penalty, (PerturbedNodes, CohubNodes))
    gamma = np.clip(dual_Z, -problem.weights, problem.weights)  # λ1 Γ of Eq. (27)
    G = penalty.feasible((dual_V + transposed(dual_V)) / 2.0)
    return gamma + penalty.spread(G / 2.0, len(gamma))  # ± λ2 Λ of Eqs. (27) and (28)


# --- the method of multipliers --------------------------------------------------------------------


class Residuals(NamedTuple):
    """Primal and dual residual, each with the scale that it is compared with."""

    primal: float
    primal_scale: float
    dual: float
    dual_scale: float

    def small(self, tol: float, size: int) -> bool:
        """Tell whether both are below tol/10 an entry plus tol relative to their scales."""
        floor = 0.1 * tol * np.sqrt(size)
        return (
            self.primal <= floor + tol * self.primal_scale
            and self.dual <= floor + tol * self.dual_scale
        )

    def balance(self) -> float:
        """Return the factor by which the penalty parameter should change."""
        primal = self.primal / max(self.primal_scale, 1e-12)
        dual = self.dual / max(self.dual_scale, 1e-12)
        if primal <= 0.0 or dual <= 0.0:
            return 1.0
        factor = float(np.clip(np.sqrt(primal / dual), 0.2, 5.0))
        return factor if factor > 2.0 or factor < 0.5 else 1.0


def _norm(*arrays: Floats) -> float:
    return float(np.sqrt(sum(np.vdot(a, a) for a in arrays)))


def _may_adapt(iteration: int) -> bool:
    """Tell when the penalty parameter may change: ever more rarely, so that it settles."""
    return iteration % (10 if iteration <= 60 else 50 if iteration <= 500 else 500) == 0


def solve_edges(
    problem: JointProblem,
    settings: Settings,
    start: JointState | None = None,
    on_check: Callable[[], bool] | None = None,
    likelihood: Likelihood = MATRICES,
) -> JointSolution:
    """Solve with a penalty on edges: Θ has the likelihood, Z all penalties, Θ = Z."""
    S, n, weights, penalty = problem
    assert not isinstance(penalty, (PerturbedNodes, CohubNodes))
    nS, rho = S * n.reshape((-1,) + (1,) * (S.ndim - 1)), settings.rho
    if start is None:
        start = _cold_start(problem, None)
    Z, u = start.Z, start.dual_Z / rho
    for iteration in range(1, settings.max_iter + 1):
        Theta = likelihood.expand(Z - u - nS / rho, n, rho)
        A = RELAXATION * Theta + (1.0 - RELAXATION) * Z + u
        Z_old, Z = Z, penalty.prox(A, weights, 1.0 / rho)
        # The multiplier of Θ = Z, in units of rho.
        u = A - Z  # rho u is a subgradient at Z, by the definition of the map
        if iteration % CHECK_EVERY and iteration < settings.max_iter:
            continue
        now = Residuals(
            _norm(Theta - Z), max(_norm(Theta), _norm(Z)), rho * _norm(Z - Z_old), rho * _norm(u)
        )
        small = now.small(settings.tol, Z.size)
        stop = (on_check is not None and on_check()) or iteration == settings.max_iter
        if small or stop:
            state = JointState(Z, rho * u, rho * u)
            done = finished(problem, settings, Theta, state, rho * u, iteration, likelihood)
            if stop or done.converged:
                return done if small else done._replace(converged=False)
        if _may_adapt(iteration) and (factor := now.balance()) != 1.0:
            rho, u = rho * factor, u / factor
    raise AssertionError("the last iteration returns")


def solve_nodes(
    problem: JointProblem,
    settings: Settings,
    start: JointState | None = None,
    on_check: Callable[[], bool] | None = None,
) -> JointSolution:
    """Solve with a penalty on nodes.

    The copies Θ (likelihood) and V (column norms) make one block. The other is their meeting
    point (T, U), which carries the l1 norm and satisfies the linear constraints exactly.
    """
    S, n, weights, penalty = problem
    assert isinstance(penalty, (PerturbedNodes, CohubNodes))
    nS, rho = S * n[:, None, None], settings.rho
    if start is None or start.V is None:
        start = _cold_start(problem, penalty)
    T, U = start.Z, penalty.decompose(start.Z, start.V)
    g = penalty.stiffness
    u_Theta, u_V = start.dual_Theta / rho, start.dual_V / (g * rho)
    a = RELAXATION
    for iteration in range(1, settings.max_iter + 1):
        Theta = expand(T - u_Theta - nS / rho, n, rho)
        V = penalty.column_prox(U - u_V, 1.0 / (g * rho))
        A = a * Theta + (1.0 - a) * T + u_Theta
        C = a * V + (1.0 - a) * U + u_V
        T_old, U_old = T, U
        T, U = penalty.meet(A, C, weights / rho)
        u_Theta, u_V = A - T, C - U
        if iteration % CHECK_EVERY and iteration < settings.max_iter:
            continue
        now = Residuals(
            _norm(Theta - T, V - U),
            max(_norm(Theta, V), _norm(T, U)),
            rho * _norm(T - T_old, g * (U - U_old)),
            rho * _norm(u_Theta, g * u_V),
        )
        small = now.small(settings.tol, T.size + U.size)
        stop = (on_check is not None and on_check()) or iteration == settings.max_iter
        if small or stop:
            # The condition of the meeting point: dual_Θ ± dual_V/2 is a subgradient of the l1 norm.
            dual_V = g * rho * u_V
            dual_Z = rho * u_Theta + penalty.spread(dual_V, len(S)) / 2.0
            state = JointState(T, dual_Z, rho * u_Theta, V, dual_V)
            slope = node_slope(problem, dual_Z, -dual_V)
            done = finished(problem, settings, Theta, state, slope, iteration, MATRICES)
            if stop or done.converged:
                return done if small else done._replace(converged=False)
        if _may_adapt(iteration) and (factor := now.balance()) != 1.0:
            rho, u_Theta, u_V = rho * factor, u_Theta / factor, u_V / factor
    raise AssertionError("the last iteration returns")


def _cold_start(problem: JointProblem, penalty: PerturbedNodes | CohubNodes | None) -> JointState:
    """Start from the inverse of the penalised diagonal, with multipliers of zero."""
    S, n, weights, _ = problem
    if S.ndim == 2:
        Z = n[:, None] / (n[:, None] * S + weights + 1e-3 * n[:, None])
        return JointState(Z, np.zeros_like(S), np.zeros_like(S))
    diagonal = np.diagonal(S, axis1=1, axis2=2)
    penalty_of_it = np.diagonal(weights, axis1=1, axis2=2) / n[:, None]
    Z = np.zeros_like(S)
    i = np.arange(S.shape[-1])
    Z[:, i, i] = 1.0 / (diagonal + penalty_of_it + 1e-3 * max(float(diagonal.mean()), 1e-12))
    zero = np.zeros_like(S)
    if penalty is None:
        return JointState(Z, zero, zero)
    V = penalty.targets(Z) / 2.0
    return JointState(Z, zero, zero, V, np.zeros_like(V))


def finished(
    problem: JointProblem,
    settings: Settings,
    Theta: Floats,
    state: JointState,
    slope: Floats,
    n_iter: int,
    likelihood: Likelihood,
) -> JointSolution:
    """Choose the sparse copy where it is positive definite, and compute its certificate.

    Residuals can be small far from the optimum, so that only the gap makes it `converged`.
    """
    bound = dual_value(problem, slope, likelihood.log_det)
    value = objective(problem, state.Z, state.V, likelihood.log_det)
    precisions = state.Z
    if not np.isfinite(value):
        value, precisions = objective(problem, Theta, state.V, likelihood.log_det), Theta
    elif isinstance(problem.penalty, (PerturbedNodes, CohubNodes)):
        for size in DUST:
            rounded = without_dust(problem, state, size * settings.tol)
            other = objective(problem, rounded, state.V, likelihood.log_det)
            if other - value <= DUST_COST * max(value - bound, 0.0):
                value, precisions, state = other, rounded, state._replace(Z=rounded)
                break
    gap = value - bound
    block = np.arange(Theta.shape[-1])
    proven = settings.proves(problem, gap)
    return JointSolution(precisions, state.V, state, value, gap, n_iter, proven, [block])


def without_dust(problem: JointProblem, state: JointState, size: float) -> Floats:
    """Return the sparse copy with zeros where partial correlations are at most `size`.

    Penalties on edges have none: their proximal map makes every zero. With penalties on nodes two
    things leave dust. Where the tie between networks holds an entry at zero, its multiplier of the
    l1 norm may lie on the border, and the entry shrinks for ever. And the l1 norm does not know
    that both columns of V that make an edge of a co-hub network are zero. What is no dust costs
    more than the certificate leaves, and stays.
    """
    Z, p = state.Z, state.Z.shape[-1]
    spread = np.sqrt(np.abs(np.diagonal(Z, axis1=1, axis2=2)))
    dust = (np.abs(Z) <= size * spread[:, :, None] * spread[:, None, :]) & (problem.weights > 0.0)
    if isinstance(problem.penalty, CohubNodes) and problem.penalty.lam > 0.0:
        dust |= (state.V + transposed(state.V)) == 0.0
    dust[:, np.arange(p), np.arange(p)] = False
    return np.where(dust, 0.0, Z)


# --- blocks ---------------------------------------------------------------------------------------


def screened_blocks(problem: JointProblem) -> list[NDArray[np.intp]]:
    """Return blocks of variables on which the problem can be solved apart, exactly.

    An entry stays zero if n_k S^k_ij is a subgradient of its penalties at zero: for a penalty on
    edges if their proximal map sends it to zero, for one on nodes if n_k |S^k_ij| ≤ w^k_ij for all
    k (Theorems 6, 9 and 10).
    """
    # Theorem 10, which is exact for any q; edge penalties can do better by their own map.
    nS = problem.S * problem.n[:, None, None]
    if isinstance(problem.penalty, (PerturbedNodes, CohubNodes)):
        free = np.abs(nS) > problem.weights
    else:
        free = problem.penalty.prox(nS, problem.weights, 1.0) != 0
    return connected_blocks(np.logical_or.reduce(free))


def solve_singletons(problem: JointProblem, which: NDArray[np.intp], settings: Settings):
    """Solve for variables without a neighbour: closed form unless the diagonals are tied."""
    n = problem.n[:, None]
    S, weights = problem.S[:, which, which], problem.weights[:, which, which]
    penalty = problem.penalty
    if len(S) == 1 or not penalty.ties_diagonals():
        theta = n / (n * S + weights)  # the root of n/θ = nS + w
        fit = n * (S * theta - np.log(theta)) + weights * theta
        return theta, float(fit.sum()), 0.0, 0, True
    tie: FusedEdges | GroupedEdges
    if isinstance(penalty, PerturbedNodes):  # Ω_q of a number t is |t|/2
        unit = np.ones(S.shape[-1]) if penalty.units is None else penalty.units[which]
        tie = FusedEdges(penalty.lam / 2.0 / unit**2)
    else:
        assert isinstance(penalty, (FusedEdges, GroupedEdges))
        tie = type(penalty)(np.diagonal(penalty.lam)[which])
    scalars = JointProblem(S, problem.n, weights, tie)
    tight = settings._replace(tol=min(settings.tol, 1e-8), max_iter=max(settings.max_iter, 1000))
    done = solve_edges(scalars, tight, likelihood=SCALARS)
    return done.precisions, done.objective, done.duality_gap, done.n_iter, done.converged


Solver = Callable[..., JointSolution]


def solve_block(problem: JointProblem, settings: Settings, start=None, on_check=None):
    """Solve a connected problem with the two-block method that suits its penalty."""
    if isinstance(problem.penalty, (PerturbedNodes, CohubNodes)):
        return solve_nodes(problem, settings, start, on_check)
    return solve_edges(problem, settings, start, on_check)


def joint_graphical_lasso(
    problem: JointProblem,
    settings: Settings = DEFAULT,
    *,
    start: JointState | None = None,
    screening: bool = True,
    solver: Solver = solve_block,
    n_jobs: int | None = None,
    on_check: Callable[[], bool] | None = None,
) -> JointSolution:
    """Solve a joint graphical lasso, block by block.

    Parameters
    ----------
    problem : JointProblem
        What is minimised.
    settings : Settings, optional
        Tolerance and limits. `rho` is relative to the mean of the sample sizes.
    start : JointState, optional
        State of the solution of a similar problem, on all variables.
    screening : bool
        Whether to split the problem into blocks first.
    solver : callable
        Solves one block.
    n_jobs : int, optional
        Number of threads, each for some of the blocks.
    on_check : callable, optional
        Called every few iterations, or after each block if there are several threads; the
        solver stops where it stands when it returns True.

    Returns
    -------
    JointSolution
        On the scale of `problem`.
    """
    mean_n, units = float(problem.n.mean()), own_units(problem)
    scaled = problem.in_units(units).scaled(1.0 / mean_n)
    if start is not None:
        start = state_in_units(start, units)
    p = problem.S.shape[-1]
    blocks = screened_blocks(scaled) if screening else [np.arange(p)]
    single = np.array([block[0] for block in blocks if len(block) == 1], dtype=np.intp)
    several = [block for block in blocks if len(block) > 1]

    def solve(block, check):
        at = None if start is None else restrict_state(start, block, 1.0 / mean_n)
        return solver(scaled.restrict(block), settings, at, check)

    if effective_n_jobs(n_jobs) == 1 or len(several) < 2:
        parts: Iterable[JointSolution] = [solve(block, on_check) for block in several]
    else:
        parts = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(solve)(block, None) for block in several
        )
    found = _assemble(scaled, mean_n, blocks, several, parts, single, settings, on_check)
    return in_given_units(found, problem.n, units)


def restrict_state(state: JointState, block: NDArray[np.intp], factor: float) -> JointState:
    """Return a state on some of the variables, its multipliers on another scale."""

    def part(A, by):
        return None if A is None else A[np.ix_(np.arange(len(A)), block, block)] * by

    return JointState(
        part(state.Z, 1.0),
        part(state.dual_Z, factor),
        part(state.dual_Theta, factor),
        part(state.V, 1.0),
        part(state.dual_V, factor),
    )


def _assemble(problem, mean_n, blocks, several, parts, single, settings, on_check):
    """Put the solutions of the blocks together; objectives and gaps add up."""
    K, p = problem.S.shape[:2]
    is_node = isinstance(problem.penalty, (PerturbedNodes, CohubNodes))
    n_V = len(problem.penalty.targets(problem.S[:, :1, :1])) if is_node else 0
    precisions, Z, dual_Z, dual_Theta = np.zeros((4, K, p, p))
    V, dual_V = np.zeros((2, n_V, p, p))
    total, gap, n_iter, converged = 0.0, 0.0, 0, True
    for block, done in zip(several, parts):
        at = np.ix_(np.arange(K), block, block)
        precisions[at], Z[at] = done.precisions, done.state.Z
        dual_Z[at], dual_Theta[at] = done.state.dual_Z, done.state.dual_Theta
        if is_node:
            at = np.ix_(np.arange(n_V), block, block)
            V[at], dual_V[at] = done.V, done.state.dual_V
        total, gap = total + done.objective, gap + done.duality_gap
        n_iter, converged = max(n_iter, done.n_iter), converged and done.converged
        if on_check is not None:
            on_check()
    if len(single):
        theta, value, more, steps, ok = solve_singletons(problem, single, settings)
        precisions[:, single, single] = Z[:, single, single] = theta
        total, gap = total + value, gap + more
        n_iter, converged = max(n_iter, steps), converged and ok
        if isinstance(problem.penalty, PerturbedNodes):
            V[:, single, single] = problem.penalty.targets(theta) / 2.0
    state = JointState(
        Z, dual_Z * mean_n, dual_Theta * mean_n, *((V, dual_V * mean_n) if is_node else ())
    )
    return JointSolution(
        precisions,
        V if is_node else None,
        state,
        total * mean_n,
        gap * mean_n,
        n_iter,
        converged,
        blocks,
    )


def as_weights(
    lam: float, S: Floats, *, penalize_diagonal: bool = True, allowed: Any = None
) -> Floats:
    """Return the l1 weights of a uniform penalty, infinite where an edge is not allowed."""
    weights = np.full(S.shape, float(lam))
    i = np.arange(S.shape[-1])
    if not penalize_diagonal:
        weights[:, i, i] = 0.0
    if allowed is not None:
        kept = weights[:, i, i]
        weights[:, ~np.asarray(allowed, dtype=bool)] = np.inf
        weights[:, i, i] = kept
    return weights
