"""VariationalMixedModel beside statsmodels' variational Bayes and gpboost's Laplace fit."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.bayes import VariationalMixedModel


def counts(n_groups, n_each):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), n_each)
    x = rng.random((n_groups * n_each, 1))
    u = rng.normal(0.0, 0.5, n_groups)
    y = rng.poisson(np.exp(0.5 + x[:, 0] + u[groups])).astype(float)
    return x, y, groups


def octavo_fit(data):
    x, y, groups = data
    return VariationalMixedModel().fit(x, y, groups=groups)


def statsmodels_vb(data):
    import scipy.sparse as sp
    from statsmodels.genmod.bayes_mixed_glm import PoissonBayesMixedGLM

    x, y, groups = data
    Z = sp.csr_matrix((np.ones(len(y)), (np.arange(len(y)), groups)))
    X = np.column_stack([np.ones(len(y)), x])
    ident = np.zeros(Z.shape[1], dtype=int)
    return PoissonBayesMixedGLM(y, X, Z, ident, vcp_p=10, fe_p=1e5).fit_vb()


def gpboost_laplace(data):
    import gpboost

    x, y, groups = data
    model = gpboost.GPModel(group_data=groups, likelihood="poisson")
    return model.fit(y=y, X=np.column_stack([np.ones(len(y)), x]))


def factorised_bound(data, fit):
    """Return Algorithm 1's bound at statsmodels' independent normals, with the best q(sigma^2)."""
    from scipy.special import gammaln

    x, y, groups = data
    X, K, A, s2 = np.column_stack([np.ones(len(y)), x]), groups.max() + 1, 1e5, 1e10
    beta, u, var_beta, var_u = fit.fe_mean, fit.vc_mean, fit.fe_sd**2, fit.vc_sd**2
    m, v = X @ beta + u[groups], X**2 @ var_beta + var_u[groups]
    squares, inv_a = u @ u + var_u.sum(), 1.0
    for _ in range(1000):
        last_a = inv_a
        inv_sigma = (K + 1) / (2 * inv_a + squares)
        inv_a = 1 / (inv_sigma + A**-2)
    return (
        0.5 * (K + 2) + gammaln(0.5 * (K + 1)) - np.log(np.pi * A) - gammaln(y + 1).sum()
        - np.log(s2) + y @ m - np.exp(m + 0.5 * v).sum()
        - (beta @ beta + var_beta.sum()) / (2 * s2)
        + 0.5 * (np.log(var_beta).sum() + np.log(var_u).sum())
        - 0.5 * (K + 1) * np.log(0.5 * squares + last_a)
        - np.log(inv_sigma + A**-2) + inv_sigma * inv_a
    )  # fmt: skip


def wider_than_factorised(data, answers):
    ours, theirs = answers["octavo"], answers["statsmodels fit_vb"]
    other = factorised_bound(data, theirs)
    assert ours.lower_bound_ > other
    full, factorised = np.sqrt(ours.coef_cov_[0, 0]), theirs.fe_sd[0]
    assert abs(ours.intercept_ - theirs.fe_mean[0]) < 3 * full
    assert full > 2 * factorised
    return (
        f"Intercepts {ours.intercept_:.3f} and {theirs.fe_mean[0]:.3f}; the sd is {full:.3f} with "
        f"a full covariance and {factorised:.3f} factorised; the bounds of Algorithm 1 there are "
        f"{ours.lower_bound_:.1f} and {other:.1f}."
    )


def same_maximum(_, answers):
    ours, theirs = answers["octavo"], answers["gpboost Laplace"]
    slope = float(np.asarray(theirs.get_coef()).ravel()[1])
    variance = float(np.asarray(theirs.get_cov_pars()).ravel()[0])
    assert abs(ours.coef_[0] - slope) < 0.05
    assert abs(ours.sigma2_[0] - variance) < 0.05 * variance + 0.01
    return (
        f"Slopes {ours.coef_[0]:.4f} and {slope:.4f}, variances {ours.sigma2_[0]:.4f} and "
        f"{variance:.4f}."
    )


CONTESTS = [
    Contest(
        name="100 groups of 10",
        problem="Poisson mixed model, 100 groups of 10 counts, one slope, random intercepts",
        setup=lambda: counts(100, 10),
        solvers={"octavo": octavo_fit, "statsmodels fit_vb": statsmodels_vb},
        agree=wider_than_factorised,
        repeats=3,
        target="Aim: 100 times statsmodels.",
        limit="exponentials: one a row and iteration",
    ),
    Contest(
        name="100,000 groups of 10",
        problem="Poisson mixed model, 100,000 groups of 10 counts, one slope, random intercepts",
        setup=lambda: counts(100_000, 10),
        solvers={"octavo": octavo_fit, "gpboost Laplace": gpboost_laplace},
        agree=same_maximum,
        repeats=3,
        target="Aim: at most 3 times gpboost's time; ours has the whole posterior.",
        limit="exponentials: one a row and iteration",
    ),
]
