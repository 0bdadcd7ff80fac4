"""Gates: logistic regressions on kernels with sparse priors on their weights, by variational Bayes.

A gate has a Gaussian q(w) and what belongs to its prior. Student-t: w_i ~ N(0, 1/λ_i),
λ_i ~ Ga(a0, b0) (Section 2.1). Spike-and-slab:
w_i ~ ν N(0, 1/λ) + (1 - ν) δ_0, ν ~ Beta(1, 10), λ ~ Ga(a0, b0), the
bias always in the slab (Section 2.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln

from octavo.engine.estimators.arrays import Floats
from octavo.engine.variational.logistic_bound import half_curvature, logistic_normal_step

LOG_2PI = float(np.log(2.0 * np.pi))
NU_PRIOR = (1.0, 10.0)  # of the share of coefficients in the slab: the paper's Figure 2
LIGHT = 1e-8  # rows of less weight than this say nothing to a gate


class Gate(NamedTuple):
    """q(w): mean, covariance; the part of the bound that is the prior's; what the prior keeps."""

    coef: Floats
    cov: Floats
    bound: float
    hyper: Any


class StudentT:
    """One precision per coefficient, each Ga(a0, b0)."""

    def __init__(self, a0: float, b0: float) -> None:
        self.a0, self.b0 = a0, b0

    def start(self, n_columns: int) -> Any:
        """Return what is kept at the beginning: expected precisions of one."""
        return np.full(n_columns, self.a0 + 0.5)

    def normalizer(self, n_columns: int) -> float:
        """Return the constant of p(λ), which says nothing of the data."""
        return n_columns * float(self.a0 * np.log(self.b0) - gammaln(self.a0))

    def step(self, X: Floats, weights: Floats, targets: Floats, second: Floats, hyper: Any) -> Gate:
        """Return the gate after one update of q(w), then of q(λ) (Appendix A)."""
        shape = self.a0 + 0.5  # ã of Appendix A
        heavy = weights > LIGHT
        if not heavy.all():
            X, weights, targets, second = (part[heavy] for part in (X, weights, targets, second))
        # Γ_k and m_k, at η of the last gate
        mean, cov, log_det = logistic_normal_step(X, weights, targets, second, shape / hyper)
        moment = np.diagonal(cov) + mean**2
        rate = self.b0 + 0.5 * moment  # b̃_ki = b_0 + ½ <w_ki²>
        log_lambda, lam = digamma(shape) - np.log(rate), shape / rate
        # E log p(λ)
        bound = (  # E log p(w | λ)
            0.5 * (log_lambda - LOG_2PI - lam * moment).sum()
            + self.normalizer(mean.size) + ((self.a0 - 1.0) * log_lambda - self.b0 * lam).sum()
            + 0.5 * (mean.size * (1.0 + LOG_2PI) + log_det)  # entropies of q(w) and of q(λ)
            + (shape - np.log(rate) + gammaln(shape) + (1.0 - shape) * digamma(shape)).sum()
        )  # fmt: skip
        return Gate(mean, cov, float(bound), rate)


class SpikeSlab:
    """Coefficients are zero but for a share ν, which has one precision λ."""

    def __init__(self, a0: float, b0: float) -> None:
        self.a0, self.b0 = a0, b0

    def start(self, n_columns: int) -> Any:
        """Return inclusion, mean and variance of each coefficient, and expectations of λ and ν."""
        ones = np.ones(n_columns)
        inside = np.where(np.arange(n_columns) == 0, 1.0, 0.5)
        return inside, 0.0 * ones, ones, (1.0, 0.0), (digamma(1.0) - digamma(10.0))

    def normalizer(self, n_columns: int) -> float:
        """Return the constant of p(λ)."""
        return float(self.a0 * np.log(self.b0) - gammaln(self.a0))

    def step(self, X: Floats, weights: Floats, targets: Floats, second: Floats, hyper: Any) -> Gate:
        """Return the gate after one pass over its coefficients, then q(λ) and q(ν)."""
        inside, mean, var, (lam, log_lambda), odds = hyper
        # 2 f(η) x xᵀ weighted, of Eq. (7)
        Z = X * np.sqrt(2.0 * weights * half_curvature(np.sqrt(second)))[:, None]
        A, right = Z.T @ Z, X.T @ (targets - 0.5 * weights)  # Σ (ρ_nk - ½) x_nk
        inside, mean = inside.copy(), mean.copy()
        var = 1.0 / (np.diagonal(A) + lam)
        used = inside * mean
        for i in range(mean.size):  # w_i given the others: slab, then how probable the slab is
            mean[i] = var[i] * (right[i] - A[i] @ used + A[i, i] * used[i])
            if i:  # the bias is always in the slab
                # log odds of the slab: ν, and the Gaussian integral over w_i
                inside[i] = expit(
                    odds + 0.5 * (np.log(var[i]) + log_lambda + mean[i] ** 2 / var[i])
                )
            used[i] = inside[i] * mean[i]
        return self._with_hyper(inside, mean, var)

    def _with_hyper(self, inside: Floats, mean: Floats, var: Floats) -> Gate:
        """Update λ and ν, and return the gate with its part of the bound."""
        moment = mean**2 + var
        shape, rate = self.a0 + 0.5 * inside.sum(), self.b0 + 0.5 * float(inside @ moment)
        lam, log_lambda = shape / rate, digamma(shape) - np.log(rate)
        yes, no = NU_PRIOR[0] + inside[1:].sum(), NU_PRIOR[1] + (1.0 - inside[1:]).sum()
        log_nu, log_not = digamma(yes) - digamma(yes + no), digamma(no) - digamma(yes + no)
        s = np.clip(inside[1:], 1e-300, 1.0)
        out = np.clip(1.0 - inside[1:], 1e-300, 1.0)
        # E log p(z | ν), and the entropy of z
        bound = (  # E log p(w) + entropy, the slab alone: a spike costs nothing
            0.5 * float(inside @ (log_lambda - lam * moment + 1.0 + np.log(var)))
            + float((s * (log_nu - np.log(s)) + out * (log_not - np.log(out))).sum())
            + betaln(yes, no) - betaln(*NU_PRIOR)
            + (NU_PRIOR[0] - yes) * log_nu + (NU_PRIOR[1] - no) * log_not  # E log p(ν) - E log q(ν)
            + self.normalizer(mean.size) + (self.a0 - 1.0) * log_lambda - self.b0 * lam
            + shape - np.log(rate) + gammaln(shape) + (1.0 - shape) * digamma(shape)
        )  # fmt: skip
        used = inside * mean
        cov = np.diag(inside * moment - used**2)  # Var(z w) = s E w² - (s E w)²
        return Gate(
            used, cov, float(bound), (inside, mean, var, (lam, log_lambda), log_nu - log_not)
        )


def named_prior(name: str, a0: float, b0: float) -> StudentT | SpikeSlab:
    """Return a prior by its name.

    Parameters
    ----------
    name : {"student_t", "spike_slab"}
        Which.
    a0, b0 : float
        Shape and rate of the precisions.

    Returns
    -------
    prior : StudentT or SpikeSlab
        Makes and updates gates.
    """
    return SpikeSlab(a0, b0) if name == "spike_slab" else StudentT(a0, b0)
