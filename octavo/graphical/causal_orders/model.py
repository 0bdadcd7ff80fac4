"""The state of a chain of x = W [f, z] + ε, its priors, and its draws.

Section 3 of Henao and Winther (2011). Samples are columns here, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.graphical.causal_orders import sweeps
from octavo.graphical.causal_orders.confounded import opposed_loadings
from octavo.graphical.causal_orders.shifts import driven_rows
from octavo.graphical.causal_orders.sources import ABSENT, ALWAYS, FREE, GAUSSIAN, LAPLACE, STUDENT

SOURCES = {"gaussian": (GAUSSIAN, 1.0), "laplace": (LAPLACE, 1.0), "cauchy": (STUDENT, 1.0)}
CHUNK = 250  # sweeps between two reports of progress
# β_m of the factor model and of the two priors of DAGs: section 3.1.
FACTOR_RATE, DAG_RATES = 0.9, {"sparse": 0.1, "dense": 0.99}
NOISE_PRIOR = (20.0, 1.0)  # s_s and s_r of section 3


def source_law(name: str, degrees: float = 5.0) -> tuple[int, float]:
    """Return the kind of a scale mixture with its parameter: λ of Laplace's law, θ of t's."""
    return (STUDENT, float(degrees)) if name == "student" else SOURCES[name]


def priors(
    *,
    noise: Any = None,
    slab: Any = None,
    inclusion: Any = None,
    levels: int = 2,
    noise_prior: Any = NOISE_PRIOR,
) -> Floats:
    """Return the hyper-parameters of section 3; a number given here is held instead of drawn."""
    held = [noise is not None, slab is not None, inclusion is not None]
    top = 0.95 if levels == 2 and inclusion is None else 1.0
    # t_s, t_r, α_p, α_m, β_p
    return np.array([*noise_prior, 2.0, 1.0, 10.0, top, 100.0, *held], dtype=np.float64)


def check_noise_prior(pair: Any) -> tuple[float, float]:
    """Return shape and rate of the law of 1/ψ; refuse what is no such pair."""
    try:
        shape, rate = (float(v) for v in pair)
    except (TypeError, ValueError):
        shape = rate = math.nan
    if not (0.0 < shape < math.inf and 0.0 < rate < math.inf):
        raise ValueError(
            "noise_prior must be two numbers above 0, the shape and the rate of the Gamma law of "
            f"1/ψ; got {pair!r}."
        )
    return shape, rate


class Draws(NamedTuple):
    """What a chain has kept.

    Attributes
    ----------
    W : ndarray of shape (n_draws, d, K)
        Loadings.
    Q : ndarray of shape (n_draws, d, K)
        Which of them are in the model.
    psi : ndarray of shape (n_draws, d)
        Noise variances.
    missing : ndarray of shape (n_draws, n_missing)
        Means of the entries that are missing.
    orders : ndarray of shape (n_visits, d)
        Orders that the search has visited.
    acceptance : float
        Rate at which its proposals were accepted.
    """

    W: Floats
    Q: np.ndarray
    psi: Floats
    missing: Floats
    orders: np.ndarray
    acceptance: float


class Chain:
    """A chain: data, what is allowed, and the state that sweeps change in place.

    Parameters
    ----------
    X : ndarray of shape (d, n)
        Standardised variables; a chain with missing entries changes them.
    allowed : ndarray of shape (d, K)
        The kind of each loading.
    F : ndarray of shape (p, n)
        Regressors that this chain does not draw; the first p of the K.
    laws : sequence of (kind, parameter)
        The law of each latent, the last m of the K.
    means : ndarray of shape (K,)
        β_m of each column.
    hyper : ndarray
        As `priors` returns it.
    missing : ndarray of int of shape (n_missing, 2), optional
        Entries of X that are drawn; only without F.
    """

    def __init__(
        self,
        X: Floats,
        allowed: Any,
        F: Floats,
        laws: Any,
        means: Any,
        hyper: Floats,
        missing: Any = None,
    ) -> None:
        # A kernel has one type for arrays that may be written, and another for those that may not.
        self.X, self.F = (np.require(part, np.float64, ["C", "W"]) for part in (X, F))
        self.allowed = np.ascontiguousarray(allowed, dtype=np.int8)
        d, K = self.allowed.shape
        m, n = K - len(F), X.shape[1]
        self.kinds = np.array([kind for kind, _ in laws], dtype=np.int64)
        self.parameters = np.array([value for _, value in laws], dtype=np.float64)
        self.means, self.hyper = np.asarray(means, dtype=np.float64), hyper
        empty = np.empty((0, 2), dtype=np.int64)
        self.missing = empty if missing is None else np.ascontiguousarray(missing, dtype=np.int64)
        self.opposed = opposed_loadings(self.allowed, len(F))
        self.driven = driven_rows(self.allowed, len(F))
        self.W, self.slab = np.zeros((d, K)), np.ones((d, K))
        self.Q = np.zeros((d, K), dtype=np.int8)
        self.nu, self.psi = self.means.copy(), np.full(d, 0.05)
        self.Z, self.precision = np.zeros((m, n)), np.ones((m, n))
        self.row_place, self.column_place = np.arange(d), np.arange(m)
        self.gram, self.cross = np.zeros((K, K)), np.zeros((d, K))
        self.squares, self.E = np.zeros(d), np.empty((d, n))
        self.work, self.counts = np.empty((3, n)), np.empty((2, K))

    def start(self, rng: np.random.Generator) -> None:
        """Leave zero: random latents, loadings and orders."""
        d, m = len(self.W), len(self.Z)
        self.Z[:] = rng.standard_normal(self.Z.shape)
        latent = np.zeros(self.W.shape, dtype=bool)
        latent[:, len(self.F) :] = True
        free = latent & (self.allowed == FREE)
        self.W[free] = 0.5 * rng.standard_normal(int(free.sum()))
        self.W[self.allowed == ALWAYS] = 0.5
        self.Q[:] = self.W != 0.0
        self.row_place, self.column_place = rng.permutation(d), rng.permutation(m)

    def run(self, n_sweeps: int, state: Any, *, n_proposals: int = 0) -> Draws:
        """Run sweeps and return every one of them."""
        d, K = self.W.shape
        W, psi = np.empty((n_sweeps, d, K)), np.empty((n_sweeps, d))
        Q = np.empty((n_sweeps, d, K), dtype=np.int8)
        filled = np.empty((n_sweeps, len(self.missing)))
        orders = np.empty((n_sweeps * n_proposals, d), dtype=np.int16)
        accepted = sweeps.run_sweeps(
            self.X, self.F, self.missing, self.allowed, self.means, self.kinds, self.parameters,
            self.hyper, state, self.W, self.Q, self.slab, self.nu, self.psi, self.Z,
            self.precision, self.gram, self.cross, self.squares, self.E, self.work, self.counts,
            n_proposals, self.row_place, self.column_place, self.opposed, self.driven, W, Q, psi,
            filled, orders,
        )  # fmt: skip
        return Draws(W, Q, psi, filled, orders, accepted / max(n_sweeps * n_proposals, 1))

    def draw_loadings(self, state: Any) -> None:
        """Draw loadings, noise and rates alone, for latents that are drawn elsewhere."""
        regressors = np.vstack([self.F, self.Z])
        sweeps.draw_loadings(
            regressors @ regressors.T, self.X @ regressors.T, np.sum(self.X**2, axis=1),
            self.X.shape[1], self.allowed, self.means, self.hyper, state, self.counts,
            self.W, self.Q, self.slab, self.nu, self.psi,
        )  # fmt: skip

    def sample(
        self,
        n_samples: int,
        burn_in: int,
        state: Any,
        *,
        n_proposals: int = 0,
        report: Callable[[], Any] | None = None,
    ) -> Draws:
        """Run a burn-in and then the sweeps that are kept, in chunks."""
        for size in chunks(burn_in):
            self.run(size, state, n_proposals=n_proposals)
            if report is not None:
                report()
        parts = []
        for size in chunks(n_samples):
            parts.append(self.run(size, state, n_proposals=n_proposals))
            if report is not None:
                report()
        return join_draws(parts)


def join_draws(parts: list[Draws]) -> Draws:
    """Return draws of several runs or chains as one."""
    sizes = [len(part.psi) for part in parts]
    acceptance = float(np.average([part.acceptance for part in parts], weights=sizes))
    columns: list[Any] = list(zip(*parts, strict=True))[:-1]
    arrays: Any = [np.concatenate(column) for column in columns]
    W, Q, psi, missing, orders = arrays
    return Draws(W, Q, psi, missing, orders, acceptance)


def chunks(n_sweeps: int) -> list[int]:
    """Return a number of sweeps as sizes of chunks."""
    whole, rest = divmod(n_sweeps, CHUNK)
    return [CHUNK] * whole + [rest] * (rest > 0)


def factor_chain(
    X: Floats,
    n_components: int,
    *,
    law: tuple[int, float] = (LAPLACE, 1.0),
    sparse: bool = True,
    levels: int = 2,
    mask: Any = None,
    missing: Any = None,
    noise_prior: Any = NOISE_PRIOR,
) -> Chain:
    """Return a chain of the factor model: no regressors, loadings of all factors."""
    allowed = np.full((len(X), n_components), FREE if sparse else ALWAYS)
    if mask is not None:
        allowed = np.where(np.asarray(mask, dtype=bool), allowed, ABSENT)
    return Chain(
        X,
        allowed,
        np.empty((0, X.shape[1])),
        [law] * n_components,
        np.full(n_components, FACTOR_RATE),
        priors(levels=levels, noise_prior=noise_prior),
        missing,
    )


def dag_chain(
    X: Floats,
    order: Any,
    *,
    rate: float,
    laws: list[tuple[int, float]],
    n_latent: int = 0,
    F: Any = None,
    noise_prior: Any = NOISE_PRIOR,
) -> Chain:
    """Return a chain of the DAG of an order: parents from before, a driving signal, latents."""
    d = len(X)
    place = np.argsort(np.asarray(order))
    parents = np.where(place[:, None] > place[None, :], FREE, ABSENT)
    # C_D: every variable has a driving signal of its own
    driving = np.where(np.eye(d, dtype=bool), ALWAYS, ABSENT)
    allowed = np.hstack([parents, driving, np.full((d, n_latent), FREE)])
    means, hyper = np.full(allowed.shape[1], rate), priors(noise_prior=noise_prior)
    return Chain(X, allowed, X if F is None else F, laws, means, hyper)
