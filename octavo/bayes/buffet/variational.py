"""Truncated stick-breaking variational inference for answers (Section 4, Appendices B and C).

q has Beta sticks, Bernoulli features ν and normal weights (φ, s²). The bound uses the multinomial
lower bound of E log(1 - Π v) (λ) and a tangent of the log (ξ). Every block is maximized given the
others, so that the bound never falls. In the update of ν the paper prints a minus before ξ, where
the derivative of its own bound has a plus; its entropy lacks a minus.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, entr, logsumexp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

FAR = 30.0  # |φ| at most, so that exp(φ + s²/2) is a number


class Sticks(NamedTuple):
    """The part of q that knows nothing of answers.

    Attributes
    ----------
    tau : ndarray of shape (n_features, 2)
        Beta parameters of v_k.
    log_on, log_off : ndarray of shape (n_features,)
        E log Π v, and the lower bound of E log(1 - Π v).
    """

    tau: Floats
    log_on: Floats
    log_off: Floats


def stick_terms(tau: Floats) -> tuple[Floats, Floats, Floats]:
    """Return E log Π v, the best lower bound of E log(1 - Π v), and its λ (K x K)."""
    K = len(tau)
    one, two, both = digamma(tau[:, 0]), digamma(tau[:, 1]), digamma(tau.sum(axis=1))
    # log λ_ki before it is normalised: ψ(τ_i2) + Σ_{m<i} ψ(τ_m1) - Σ_{m≤i} ψ(τ_m1 + τ_m2)
    scores = two + np.r_[0.0, np.cumsum(one)[:-1]] - np.cumsum(both)
    lower = np.where(np.tri(K, dtype=bool), scores, -np.inf)
    log_off = logsumexp(lower, axis=1)  # Appendix B: the multinomial bound at its best λ
    lam = np.exp(lower - log_off[:, None])
    return np.cumsum(one - both), log_off, lam  # Σ_{i≤k} E log v_i


def update_sticks(tau: Floats, sums: Floats, n: int, alpha: float) -> Sticks:
    """Return q of the sticks given the expected numbers of rows with each feature."""
    _, _, lam = stick_terms(tau)
    off = n - sums
    tail = np.cumsum(lam[:, ::-1], axis=1)[:, ::-1] - lam  # Σ_{i > k} λ_mi
    new = np.empty_like(tau)
    new[:, 0] = alpha + np.cumsum(sums[::-1])[::-1] + off @ tail  # τ_k1 of Section 4
    new[:, 1] = 1.0 + off @ lam  # τ_k2 of Section 4
    log_on, log_off, _ = stick_terms(new)
    return Sticks(new, log_on, log_off)


def stick_bound(sticks: Sticks, sums: Floats, n: int, alpha: float) -> float:
    """Return the part of the bound of sticks and of features given sticks."""
    a, b = sticks.tau.T
    both = digamma(a + b)
    # E log p(v | α)
    prior = math.log(alpha) * len(a) + (alpha - 1.0) * float((digamma(a) - both).sum())
    entropy = betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * both
    # E log p(z | v), with the lower bound of E log(1 - Π v)
    features = sums @ sticks.log_on + (n - sums) @ sticks.log_off
    return prior + float(entropy.sum()) + float(features)


@njit(cache=True, error_model="numpy")
def update_features(X, levels, nu, prior, phi, E, suffix, prefix, xi, fixed):
    """Draw ν of rows up to their maximum, feature by feature, and set ξ; return Σ log terms.

    phi and E (features x columns x levels, the bias first) hold φ and exp(φ + s²/2). Products over
    the other features come from both sides, so that nothing is divided out.
    """
    N, K = nu.shape
    D, R = E.shape[1], E.shape[2]
    total = 0.0
    for n in range(N):
        for d in range(D):
            for r in range(R):
                suffix[K, d, r] = 1.0
                prefix[d, r] = E[0, d, r] if r < levels[d] else 0.0
        for k in range(K - 1, -1, -1):
            v = nu[n, k]
            for d in range(D):
                for r in range(R):
                    suffix[k, d, r] = suffix[k + 1, d, r] * (1.0 - v + v * E[k + 1, d, r])
        for k in range(K):
            v = nu[n, k]
            if not fixed[n]:
                score = prior[k]
                for d in range(D):
                    x = X[n, d]
                    if x >= 0:
                        whole = slope = 0.0
                        for r in range(R):
                            # E^d_0r Π_{k'≠k} (1 - ν_nk' + ν_nk' E^d_k'r)
                            others = prefix[d, r] * suffix[k + 1, d, r]
                            gain = others * (E[k + 1, d, r] - 1.0)
                            slope += gain
                            whole += others + v * gain
                        # φ - ξ Σ_r others (E - 1): the sign that the print turns round
                        score += phi[k + 1, d, x] - slope / whole  # ξ is at its best here
                # ν_nk = σ(A_nk), Section 4
                v = 1.0 / (1.0 + math.exp(-score)) if score > -700.0 else 0.0
                nu[n, k] = v
            for d in range(D):
                for r in range(R):
                    prefix[d, r] *= 1.0 - v + v * E[k + 1, d, r]
        for d in range(D):
            x = X[n, d]
            xi[n, d] = 0.0
            if x >= 0:
                whole = 0.0
                for r in range(R):
                    whole += prefix[d, r]
                xi[n, d] = 1.0 / whole  # ξ_nd of Section 4
                # log ξ in place of the tangent: ξ is at its best
                total += phi[0, d, x] - math.log(whole)
                for k in range(K):
                    total += nu[n, k] * phi[k + 1, d, x]
    return total


@njit(cache=True, error_model="numpy")
def _best_weight(M, omega, prec, phi, s2):
    """Return φ and s² that maximize φ M - Ω exp(φ + s²/2) - prec (φ² + s²)/2 + log(s²)/2.

    Newton by turns (Appendix C), the second on log s²; each is concave.
    """
    for _ in range(30):
        moved = 0.0
        for _ in range(3):
            e = omega * math.exp(min(phi + 0.5 * s2, 700.0))
            step = (M - e - prec * phi) / (e + prec)  # Newton in φ (Appendix C)
            step = min(max(step, -1.0), 1.0)
            phi = min(max(phi + step, -FAR), FAR)
            moved = max(moved, abs(step))
        for _ in range(3):
            e = omega * math.exp(min(phi + 0.5 * s2, 700.0))
            slope = 0.5 - 0.5 * s2 * (e + prec)
            # Newton in log s², so that it stays positive
            bend = 0.5 * s2 * (e + prec) + 0.25 * s2 * s2 * e
            step = min(max(slope / bend, -1.0), 1.0)
            s2 *= math.exp(step)
            moved = max(moved, abs(step))
        if moved < 1e-10:
            break
    return phi, s2


@njit(cache=True, error_model="numpy")
def update_weights(X, levels, nu, phi, s2, E, xi, prec, products):
    """Maximize φ and s² of every column, feature by feature; separable over levels given ξ."""
    K, N = nu.shape
    for d in range(levels.size):
        for r in range(levels[d]):
            for n in range(N):
                products[n] = xi[n, d]  # of all features but for the bias, and ξ
            for k in range(K):
                for n in range(N):
                    products[n] *= 1.0 - nu[k, n] + nu[k, n] * E[k + 1, d, r]
            for k in range(K + 1):
                M = omega = 0.0
                if k == 0:  # expected counts of level r, and of exp at it
                    for n in range(N):
                        omega += products[n]
                        M += 1.0 if X[n, d] == r else 0.0
                else:
                    e = E[k, d, r] - 1.0
                    for n in range(N):
                        v = nu[k - 1, n]
                        # product without feature k, from that of all
                        omega += v * products[n] / (1.0 + v * e)
                        M += v if X[n, d] == r else 0.0
                    omega *= E[0, d, r]
                phi[k, d, r], s2[k, d, r] = _best_weight(M, omega, prec, phi[k, d, r], s2[k, d, r])
                new = math.exp(phi[k, d, r] + 0.5 * s2[k, d, r])
                if k > 0:
                    e, f = E[k, d, r] - 1.0, new - 1.0
                    for n in range(N):
                        v = nu[k - 1, n]
                        products[n] *= (1.0 + v * f) / (1.0 + v * e)
                E[k, d, r] = new


class Posterior(NamedTuple):
    """What the variational posterior is: ν, the sticks, φ, s² and exp(φ + s²/2)."""

    nu: Floats
    sticks: Sticks
    phi: Floats
    s2: Floats
    E: Floats
    xi: Floats


def _weight_bound(q: Posterior, levels: Ints, prec: float) -> float:
    used = np.arange(q.phi.shape[2]) < levels[:, None]
    # E log p(b) and the entropy of q(b), Appendix B
    terms = np.log(q.s2 * prec) + 1.0 - prec * (q.phi**2 + q.s2)
    return 0.5 * float(np.where(used, terms, 0.0).sum())


class VariationalBuffet:
    """The two halves of an iteration, in the form that `climb` takes.

    Parameters
    ----------
    X : ndarray of int of shape (n_samples, n_columns)
        Levels from 0; -1 where missing.
    levels : ndarray of int of shape (n_columns,)
        Number of levels.
    alpha, sigma2_b : float
        Mass of the buffet, prior variance of weights.
    fixed : ndarray of bool of shape (n_samples,)
        Rows whose features stay as they are.
    """

    chunk = 8192  # rows at a time

    def __init__(self, X: Ints, levels: Ints, alpha: float, sigma2_b: float, fixed: Any) -> None:
        self.X, self.levels, self.fixed = np.ascontiguousarray(X, dtype=np.int64), levels, fixed
        self.alpha, self.prec = float(alpha), 1.0 / sigma2_b

    def start(self, nu: Floats, weights: list[Floats]) -> Posterior:
        """Return q at some features and weights (features + 1 x levels, by column)."""
        K, D, R = nu.shape[1], self.levels.size, int(self.levels.max())
        phi, s2 = np.zeros((K + 1, D, R)), np.full((K + 1, D, R), 0.1 / self.prec)
        for d, B in enumerate(weights):
            phi[: len(B), d, : B.shape[1]] = np.clip(B, -FAR, FAR)
        tau = np.c_[np.full(K, self.alpha), np.ones(K)]
        sticks = update_sticks(tau, nu.sum(axis=0), len(nu), self.alpha)
        E, xi = np.exp(phi + 0.5 * s2), np.zeros(self.X.shape)
        return Posterior(nu.copy(), sticks, phi, s2, E, xi)

    def expect(self, q: Posterior) -> tuple[float, Posterior]:
        """Update ν and ξ, rows in chunks; return the bound with them."""
        nu, xi = q.nu.copy(), q.xi
        (N, K), (_, D, R) = nu.shape, q.E.shape
        room = np.empty((K + 1, D, R)), np.empty((D, R))
        prior, total = q.sticks.log_on - q.sticks.log_off, 0.0  # what A_nk has of the prior
        for at in range(0, N, self.chunk):
            cut = slice(at, at + self.chunk)
            total += update_features(
                self.X[cut], self.levels, nu[cut], prior, q.phi, q.E, *room, xi[cut],
                self.fixed[cut],
            )  # fmt: skip
        new = q._replace(nu=nu, xi=xi)
        total += float(entr(nu).sum() + entr(1.0 - nu).sum())  # minus E log q(z): print has plus
        total += stick_bound(q.sticks, nu.sum(axis=0), N, self.alpha)
        return total + _weight_bound(new, self.levels, self.prec), new

    def maximize(self, _: Posterior, q: Posterior) -> Posterior:
        """Update the sticks, then the weights of all columns."""
        sticks = update_sticks(q.sticks.tau, q.nu.sum(axis=0), len(q.nu), self.alpha)
        phi, s2, E = q.phi.copy(), q.s2.copy(), q.E.copy()
        across = np.ascontiguousarray(q.nu.T)
        update_weights(
            self.X, self.levels, across, phi, s2, E, q.xi, self.prec, np.empty(len(q.nu))
        )
        return q._replace(sticks=sticks, phi=phi, s2=s2, E=E)


def _warmup() -> None:
    model = VariationalBuffet(
        np.zeros((1, 1), dtype=np.int64), np.array([2]), 1.0, 1.0, np.zeros(1, dtype=bool)
    )
    q = model.start(np.full((1, 1), 0.5), [np.zeros((2, 2))])
    model.maximize(q, model.expect(q)[1])
