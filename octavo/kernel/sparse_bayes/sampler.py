"""One sweep of the sampler, and a chain of them.

The state is (γ, S, β, u, g, η, θ): active vectors, latent scores, coefficients, intercepts, two
precisions and the parameters of the kernel. The moves of γ and θ and the draw of S integrate the
coefficients out, so that these must be drawn anew before g and η are drawn given them. The paper's
Section 3.2 lists g and η first and γ last; that order uses coefficients of a γ that is gone, and
draws from another law (`tests/kernel/sparse_bayes/test_joint.py` shows it). Here γ and θ come
first, then S, then the coefficients, then g and η.

Reference: Section 3 of Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian Generalized Kernel Mixed
Models", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.mcmc.chains import Schedule
from octavo.engine.mcmc.metropolis import accepts
from octavo.kernel.sparse_bayes.active_sets import (
    ActiveSet,
    Move,
    empty_set,
    log_marginal,
    move_active,
    refactor,
    safe_cholesky,
    set_members,
    solve_lower,
    solve_upper,
)
from octavo.kernel.sparse_bayes.kernel_sources import FixedKernel
from octavo.kernel.sparse_bayes.latent_scores import draw_scores

JITTER = 1e-8  # of the mean of the kernel's diagonal, in K_γγ and in the prior alike
LEAST = 1e-100  # of a precision: a gamma draw may underflow
NEGLIGIBLE = 1e-12  # eigenvalues below this share of the largest are zero but for rounding


class Priors(NamedTuple):
    """What the hierarchy is given: shapes and rates are halves of these numbers.

    Attributes
    ----------
    a_g, b_g, a_eta, b_eta : float
        g ~ Ga(a_g/2, b_g/2), η ~ Ga(a_eta/2, b_eta/2).
    a_alpha, b_alpha : float
        α ~ Beta(a_alpha, b_alpha), integrated out of p(γ).
    a_noise, b_noise : float
        1/σ² ~ Ga(a_noise/2, b_noise/2), in regression.
    """

    a_g: float = 4.0
    b_g: float = 0.1
    a_eta: float = 1.0
    b_eta: float = 0.1
    a_alpha: float = 1.0
    b_alpha: float = 1.0
    a_noise: float = 1.0
    b_noise: float = 0.1


class Draw(NamedTuple):
    """A state that is kept.

    Attributes
    ----------
    indices : ndarray of int of shape (n_active,)
        Active vectors.
    coef : ndarray of shape (n_active, n_outputs)
        Their coefficients; for a sparse Gaussian process their conditional mean.
    intercept : ndarray of shape (n_outputs,)
        The paper's u.
    g, tau : float
        Precisions of the coefficients and of the noise.
    parameters : ndarray
        Widths or weights of the kernel, where they are drawn.
    """

    indices: Ints
    coef: Floats
    intercept: Floats
    g: float
    tau: float
    parameters: Floats


def draw_gamma(shape: float, rate: float, rng: np.random.Generator) -> float:
    """Return a draw of Ga(shape/2, rate/2), kept away from zero."""
    return max(float(rng.gamma(0.5 * shape, 2.0 / rate)), LEAST)


class KernelModel:
    """What both forms of the model share: precisions and how they are drawn.

    Parameters
    ----------
    source : FixedKernel
        The kernel.
    S : ndarray of shape (n_samples, n_outputs)
        Scores, or the targets of a regression.
    priors : Priors
        The hierarchy.
    tau : float
        Precision of the noise.
    """

    def __init__(self, source: FixedKernel, S: Floats, priors: Priors, *, tau: float = 1.0) -> None:
        self.source, self.S, self.priors, self.tau = source, S, priors, tau
        self.n_samples, self.n_outputs = S.shape
        self.g, self.eta = priors.a_g / priors.b_g, priors.a_eta / priors.b_eta
        self.intercept = np.zeros(self.n_outputs)
        self.norm = 0.0  # Σ_j β_j'K_γγ β_j
        self.proposed, self.accepted = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)

    @property
    def size(self) -> int:
        """Number of coefficients of an output that have a prior; n_γ where K_γγ has full rank."""
        raise NotImplementedError

    def fitted(self) -> Floats:
        """Return u + K_γ β, the scores without noise."""
        raise NotImplementedError

    def draw_precisions(self, rng: np.random.Generator, *, noise: bool = False) -> None:
        """Draw g | β and η | u, and the noise's precision where it is not given."""
        p, m = self.priors, self.n_outputs
        # Ga((a_g + n_γ)/2, (b_g + β'K_γγβ)/2), Step (b)
        self.g = draw_gamma(p.a_g + m * self.size, p.b_g + self.norm, rng)
        # Ga((a_η + 1)/2, (b_η + u²)/2), Step (b)
        self.eta = draw_gamma(p.a_eta + m, p.b_eta + float(self.intercept @ self.intercept), rng)
        if noise:
            left = float(np.sum(np.square(self.S - self.fitted())))
            self.tau = draw_gamma(p.a_noise + m * self.n_samples, p.b_noise + left, rng)


class SparseModel(KernelModel):
    """FBGKM and the sparse Gaussian process: a subset of the samples is active.

    Parameters
    ----------
    source, S, priors, tau
        As in `KernelModel`.
    k_max : int
        Most active vectors.
    chosen : ndarray of int
        Active vectors to start from.
    jump : bool
        Reversible jump or stochastic search.
    """

    def __init__(
        self,
        source: FixedKernel,
        S: Floats,
        priors: Priors,
        *,
        k_max: int,
        chosen: Indices,
        jump: bool = True,
        tau: float = 1.0,
    ) -> None:
        super().__init__(source, S, priors, tau=tau)
        self.k_max, self.jump = k_max, jump
        self.jitter = JITTER * source.mean_diagonal
        self.active: ActiveSet = empty_set(self.n_samples, k_max, self.n_outputs)
        self.k = len(chosen)
        set_members(self.active, chosen, source.rows(chosen), self.jitter)
        self.coef = np.zeros((self.k, self.n_outputs))
        self.refresh()

    @property
    def size(self) -> int:
        """Number n_γ of active vectors."""
        return self.k

    @property
    def indices(self) -> Ints:
        """The active vectors, in the order of the coefficients."""
        return self.active.members[: self.k].copy()

    def fitted(self) -> Floats:
        """Return u + K_γ β."""
        return self.intercept + self.active.rows[1 : self.k + 1].T @ self.coef

    def refresh(self) -> None:
        """Factor Υ anew."""
        refactor(self.active, self.k, self.S, self.g, self.eta, self.tau)

    def move_active(self, rng: np.random.Generator, n_moves: int) -> None:
        """Propose births, deaths and swaps (Step c)."""
        p = self.priors
        move = Move(
            self.source, self.S, self.k_max, self.jump, self.jitter,
            self.g, self.tau, p.a_alpha, p.b_alpha,
        )  # fmt: skip
        for _ in range(n_moves):
            self.k = move_active(self.active, self.k, move, rng, self.proposed, self.accepted)

    def move_kernel(self, rng: np.random.Generator) -> None:
        """Propose other parameters of the kernel, given S and with β integrated out."""
        for _ in range(self.source.proposals(rng)):
            proposal = self.source.propose(rng)
            if proposal is None:
                continue
            other = empty_set(self.n_samples, self.k, self.n_outputs)
            chosen = self.indices
            set_members(other, chosen, self.source.rows(chosen, proposal.parameters), self.jitter)
            refactor(other, self.k, self.S, self.g, self.eta, self.tau)
            numbers = (self.k, self.S, self.g, self.eta, self.tau)
            # the coefficients integrated out: Eq. (8)
            gain = log_marginal(other, *numbers) - log_marginal(self.active, *numbers)
            accepted = accepts(gain + proposal.log_ratio, rng)
            if accepted:
                self.source.accept(proposal.parameters)
                self._take(other)
            if proposal.scale is not None:
                proposal.scale.record(accepted)

    def _take(self, other: ActiveSet) -> None:
        k, a = self.k, self.active
        a.rows[: k + 1] = other.rows
        a.targets[: k + 1] = other.targets
        for name in ("products", "upsilon"):
            getattr(a, name)[: k + 1, : k + 1] = getattr(other, name)
        for name in ("gram", "factor"):
            getattr(a, name)[:k, :k] = getattr(other, name)

    def draw_scores(self, rng: np.random.Generator, codes: Indices, contrasts: Floats) -> None:
        """Draw S given the labels, with β integrated out (Step a)."""
        size, a = self.k + 1, self.active
        L = np.ascontiguousarray(a.upsilon[:size, :size])
        W = solve_lower(L, a.rows[:size]).T
        a.targets[:size] = draw_scores(rng, W, a.targets[:size], self.S, codes, contrasts)

    def draw_coef(self, rng: np.random.Generator) -> None:
        """Draw (u, β) ~ N(Υ⁻¹ τK̃'S, Υ⁻¹): Eq. (9)."""
        size, a = self.k + 1, self.active
        noise = rng.standard_normal((size, self.n_outputs))
        L = np.ascontiguousarray(a.upsilon[:size, :size])
        # L'⁻¹(Z + noise): mean Υ⁻¹τK̃'s, covariance Υ⁻¹
        both = solve_upper(L, a.targets[:size] + noise)
        self.intercept, self.coef = both[0].copy(), both[1:].copy()
        gram = a.gram[: self.k, : self.k]
        self.norm = float(np.sum(self.coef * (gram @ self.coef)))

    def log_marginal(self) -> float:
        """Return log p(S | γ, g, η, θ), of the factors as they are."""
        return log_marginal(self.active, self.k, self.S, self.g, self.eta, self.tau)

    def draw(self, *, conditional_mean: bool) -> Draw:
        """Return the state to keep; for a sparse Gaussian process the mean of β given S and u."""
        coef = self.coef
        if conditional_mean and self.k:
            k, a = self.k, self.active
            A = self.tau * a.products[1 : k + 1, 1 : k + 1] + self.g * a.gram[:k, :k]
            L = safe_cholesky(A)
            right = self.tau * (a.rows[1 : k + 1] @ (self.S - self.intercept))
            coef = solve_upper(L, solve_lower(L, right))  # Section 4.2, in n_γ unknowns
        return Draw(
            self.indices, coef.copy(), self.intercept, self.g, self.tau, self.source.parameters
        )


class FullModel(KernelModel):
    """BGKM: every sample is active, in the eigenbasis of the kernel matrix.

    A sweep costs O(n²), as g and η only stretch the eigenvalues; new parameters of the kernel
    cost O(n³).

    Parameters
    ----------
    source, S, priors, tau
        As in `KernelModel`.
    """

    def __init__(self, source: FixedKernel, S: Floats, priors: Priors, *, tau: float = 1.0) -> None:
        super().__init__(source, S, priors, tau=tau)
        self.k = self.n_samples
        self.indices: Ints = np.arange(self.n_samples)
        self._decompose(None)

    def _decompose(self, parameters: Any) -> None:
        values, vectors = np.linalg.eigh(self.source.rows(self.indices, parameters))
        if values[0] < -1e-6 * max(values[-1], 0.0) or values[-1] <= 0.0:
            raise ValueError(
                "The kernel matrix must be positive semi-definite; its eigenvalues lie between "
                f"{values[0]:.3g} and {values[-1]:.3g}."
            )
        kept = values > NEGLIGIBLE * values[-1]
        self.values, self.vectors = values[kept], np.ascontiguousarray(vectors[:, kept])
        self.sums = self.vectors.sum(axis=0)
        self.coef = np.zeros((self.n_samples, self.n_outputs))

    @property
    def size(self) -> int:
        """Rank of the kernel matrix."""
        return len(self.values)

    def fitted(self) -> Floats:
        """Return u + K β."""
        return self.intercept + self.vectors @ (np.sqrt(self.values)[:, None] * self.scaled)

    def refresh(self) -> None:
        """Do nothing: there is no factor to keep."""

    def move_active(self, rng: np.random.Generator, n_moves: int) -> None:
        """Do nothing: every sample stays active."""

    @property
    def shrinkage(self) -> Floats:
        """Eigenvalues of I - M⁻¹/τ with M = I/τ + K/g."""
        return self.tau * self.values / (self.g + self.tau * self.values)

    def _without_kernel(self, A: Floats) -> Floats:
        """Return M⁻¹A."""
        # Woodbury's identity in the eigenbasis
        return self.tau * (A - self.vectors @ (self.shrinkage[:, None] * (self.vectors.T @ A)))

    def log_marginal(self) -> float:
        """Return log p(S | g, η, θ)."""
        n, m = self.S.shape
        ones = np.ones((n, 1))
        inverse_one, inverse_S = self._without_kernel(ones), self._without_kernel(self.S)
        weight = float(inverse_one.sum())
        square = float(np.sum(self.S * inverse_S))
        # Sherman and Morrison: u integrated out, too
        square -= float(np.sum(np.square(inverse_S.sum(axis=0)))) / (self.eta + weight)
        log_q = float(np.log1p(self.tau * self.values / self.g).sum()) - n * math.log(self.tau)
        log_q += math.log1p(weight / self.eta)
        return -0.5 * (square + m * (log_q + n * math.log(2.0 * math.pi)))

    def move_kernel(self, rng: np.random.Generator) -> None:
        """Propose other parameters of the kernel."""
        for _ in range(self.source.proposals(rng)):
            proposal = self.source.propose(rng)
            if proposal is None:
                continue
            held = (self.values, self.vectors, self.sums)
            before = self.log_marginal()
            self._decompose(proposal.parameters)
            accepted = accepts(self.log_marginal() - before + proposal.log_ratio, rng)
            if accepted:
                self.source.accept(proposal.parameters)
            else:
                self.values, self.vectors, self.sums = held
            if proposal.scale is not None:
                proposal.scale.record(accepted)

    def draw_scores(self, rng: np.random.Generator, codes: Indices, contrasts: Floats) -> None:
        """Draw S given the labels, with β and u integrated out."""
        inverse_one = self._without_kernel(np.ones((self.n_samples, 1)))
        beside = inverse_one / math.sqrt(self.eta + float(inverse_one.sum()))
        # Q⁻¹ = τ(I − WW'), its first column for u
        W = np.hstack([beside, self.vectors * np.sqrt(self.shrinkage)])
        draw_scores(rng, W, W.T @ self.S, self.S, codes, contrasts)

    def draw_coef(self, rng: np.random.Generator) -> None:
        """Draw u given S, then β given S and u."""
        m = self.n_outputs
        inverse_S = self._without_kernel(self.S)
        precision = self.eta + float(self._without_kernel(np.ones((self.n_samples, 1))).sum())
        mean = inverse_S.sum(axis=0) / precision  # u given s: β integrated out
        self.intercept = mean + rng.standard_normal(m) / math.sqrt(precision)
        rest = self.vectors.T @ (self.S - self.intercept)
        total = (self.g + self.tau * self.values)[:, None]
        root = np.sqrt(self.values)[:, None]
        # Λ^{1/2} U'β, whose prior is N(0, I/g): nothing is divided by a small eigenvalue.
        noise = rng.standard_normal(rest.shape)
        self.scaled = root * self.tau * rest / total + noise / np.sqrt(total)
        self.norm = float(np.sum(np.square(self.scaled)))
        self.coef = self.vectors @ (self.scaled / root)

    def draw(self, *, conditional_mean: bool = False) -> Draw:
        """Return the state to keep."""
        return Draw(
            self.indices,
            self.coef.copy(),
            self.intercept,
            self.g,
            self.tau,
            self.source.parameters,
        )


def sweep(
    model: Any,
    rng: np.random.Generator,
    *,
    n_moves: int = 1,
    codes: Indices | None = None,
    contrasts: Floats | None = None,
    noise: bool = False,
) -> float:
    """Change every part of the state once; return log p(S | γ, g, η, θ) before g and η change.

    Parameters
    ----------
    model : SparseModel or FullModel
        The state, changed in place.
    rng : Generator
        Source of randomness.
    n_moves : int, default=1
        Births, deaths or swaps that are proposed.
    codes : ndarray of int, optional
        Labels; without them S is what was observed.
    contrasts : ndarray, optional
        As `class_contrasts` returns them.
    noise : bool, default=False
        Whether to draw the precision of the noise.

    Returns
    -------
    log_density : float
        With the coefficients integrated out.
    """
    model.refresh()
    model.move_active(rng, n_moves)
    model.move_kernel(rng)
    if codes is not None:
        model.draw_scores(rng, codes, contrasts)
    log_density = model.log_marginal()
    model.draw_coef(rng)
    model.draw_precisions(rng, noise=noise)
    return log_density


class ChainDraws(NamedTuple):
    """What a chain returns.

    Attributes
    ----------
    traces : dict of str to ndarray
        One entry per sweep.
    draws : list of Draw
        States that are kept.
    proposed, accepted : ndarray of int of shape (3,)
        Births, deaths and swaps after the burn-in.
    rates : dict of str to float
        Rates of acceptance of the kernel's parameters.
    """

    traces: dict[str, Floats]
    draws: list[Draw]
    proposed: Ints
    accepted: Ints
    rates: dict[str, float]


def run_chain(
    model: Any,
    rng: np.random.Generator,
    schedule: Schedule,
    *,
    n_moves: int,
    codes: Indices | None,
    contrasts: Floats | None,
    noise: bool,
    conditional_mean: bool,
    step: Callable[[], Any] | None = None,
) -> ChainDraws:
    """Run a chain from a model's present state.

    Parameters
    ----------
    model : SparseModel or FullModel
        Where it starts.
    rng : Generator
        Source of randomness.
    schedule : Schedule
        Sweeps, burn-in and thinning.
    n_moves, codes, contrasts, noise
        As in `sweep`.
    conditional_mean : bool
        What of the coefficients is kept, as in `SparseModel.draw`.
    step : callable, optional
        Called after every sweep.

    Returns
    -------
    chain : ChainDraws
        Traces and draws.
    """
    n, drawn = schedule.n_iter, model.source.parameters.shape
    traces: dict[str, Any] = {name: np.empty(n) for name in ("n_active", "g", "eta", "loglik")}
    traces["n_active"] = np.empty(n, dtype=np.int64)
    traces["parameters"] = np.empty((n, *drawn))
    traces["noise_variance"] = np.empty(n)
    draws = []
    for t in range(n):
        if t == schedule.burn_in:
            model.source.freeze()
            model.proposed[:], model.accepted[:] = 0, 0
        value = sweep(model, rng, n_moves=n_moves, codes=codes, contrasts=contrasts, noise=noise)
        numbers = (model.k, model.g, model.eta, value, model.source.parameters, 1.0 / model.tau)
        for trace, number in zip(traces.values(), numbers):
            trace[t] = number
        if schedule.keeps(t):
            draws.append(model.draw(conditional_mean=conditional_mean))
        if step is not None:
            step()
    return ChainDraws(
        traces, draws, model.proposed[:3], model.accepted[:3], model.source.acceptance()
    )


def starting_members(
    codes: Indices | None, n: int, k_max: int, rng: np.random.Generator, per_class: int = 10
) -> Indices:
    """Return active vectors to start from: ten of each class, or twenty, and at most `k_max`."""
    if codes is None:
        return rng.permutation(n)[: min(2 * per_class, k_max)]
    order = rng.permutation(n)
    chosen = [order[codes[order] == c][:per_class] for c in np.unique(codes)]
    return rng.permutation(np.concatenate(chosen))[:k_max]
