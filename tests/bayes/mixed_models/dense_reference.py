"""Algorithm 1 as it is printed, with dense matrices: the oracle of the sparse one."""

import numpy as np
from scipy.special import gammaln


def printed_bound(y, C, p, mu, Sigma, mu_sigma, mu_a, sigma_beta, A):
    """The expression of log p(y; q) after Algorithm 1, term by term."""
    K = C.shape[1] - p
    u2 = mu[p:] @ mu[p:] + np.trace(Sigma[p:, p:])
    return (
        0.5 * (K + p)
        + gammaln(0.5 * (K + 1))
        - np.log(np.pi)
        - np.log(A)
        - gammaln(y + 1).sum()
        - 0.5 * p * np.log(sigma_beta**2)
        + y @ C @ mu
        - np.exp(C @ mu + 0.5 * np.diag(C @ Sigma @ C.T)).sum()
        - (mu[:p] @ mu[:p] + np.trace(Sigma[:p, :p])) / (2 * sigma_beta**2)
        + 0.5 * np.linalg.slogdet(Sigma)[1]
        - 0.5 * (K + 1) * np.log(0.5 * u2 + mu_a[0])
        - np.log(mu_sigma + A**-2.0)
        + mu_sigma * mu_a[1]
    )


def algorithm_1(y, X, Z, sigma_beta=1e5, A=1e5, n_iter=200, mu=None):
    """Return mu, Sigma, rate of q(sigma^2) and the bound, which ends each cycle."""
    C = np.hstack([X, Z])
    p, K = X.shape[1], Z.shape[1]
    mu = np.zeros(p + K) if mu is None else mu
    mu[0] = mu[0] or np.log(y.mean() + 0.5)
    Sigma, mu_sigma, mu_a = 0.01 * np.eye(p + K), 1.0, 1.0
    bounds = []
    for _ in range(n_iter):
        w = np.exp(C @ mu + 0.5 * np.diag(C @ Sigma @ C.T))
        M = np.diag(np.r_[np.full(p, sigma_beta**-2.0), np.full(K, mu_sigma)])
        Sigma = np.linalg.inv(C.T @ np.diag(w) @ C + M)
        mu = mu + Sigma @ (C.T @ (y - w) - M @ mu)
        old_a = mu_a
        u2 = mu[p:] @ mu[p:] + np.trace(Sigma[p:, p:])
        mu_sigma = (K + 1) / (2 * mu_a + u2)
        mu_a = 1 / (mu_sigma + A**-2.0)
        pair = (old_a, mu_a)
        bounds.append(printed_bound(y, C, p, mu, Sigma, mu_sigma, pair, sigma_beta, A))
    return mu, Sigma, 0.5 * (K + 1) / mu_sigma, np.array(bounds)
