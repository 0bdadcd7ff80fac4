"""Effective draws per second of nested mixtures, beside a truncated mixture by NUTS and Gibbs."""

from __future__ import annotations

from benchmarks.harness import Contest
from octavo.bayes import EnrichedDPRegressor
from octavo.data import make_two_regimes

N_DRAWS = 400
TRUNCATION = 8


def rows():
    X, y = make_two_regimes(100, 3, random_state=0)
    return (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()


def ours(problem):
    X, y = problem
    return EnrichedDPRegressor(n_iter=1000 + N_DRAWS, burn_in=1000, random_state=0).fit(X, y)


def numpyro_truncated(problem):
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    X, y = problem
    d = X.shape[1]

    def model():
        alpha = numpyro.sample("alpha", dist.Gamma(1.0, 1.0))
        with numpyro.plate("sticks", TRUNCATION - 1):
            cuts = numpyro.sample("cuts", dist.Beta(1.0, alpha))
        logs = jnp.log1p(-cuts)
        log_w = jnp.append(jnp.log(cuts), 0.0) + jnp.append(0.0, jnp.cumsum(logs))
        with numpyro.plate("clusters", TRUNCATION):
            s2 = numpyro.sample("s2", dist.InverseGamma(2.0, 0.25))
            beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([d + 1]).to_event(1))
            sx2 = numpyro.sample("sx2", dist.InverseGamma(2.0, 0.25).expand([d]).to_event(1))
            mu = numpyro.sample("mu", dist.Normal(0.0, 1.0).expand([d]).to_event(1))
        eta = beta[:, 0] + X @ beta[:, 1:].T
        logp = log_w + dist.Normal(eta, jnp.sqrt(s2)).log_prob(y[:, None])
        logp = logp + dist.Normal(mu, jnp.sqrt(sx2)).log_prob(X[:, None, :]).sum(-1)
        numpyro.factor("like", jax.scipy.special.logsumexp(logp, axis=1).sum())

    chain = MCMC(NUTS(model), num_warmup=1000, num_samples=N_DRAWS, progress_bar=False)
    chain.run(jax.random.PRNGKey(0))
    return chain


def sklearn_variational(problem):
    import numpy as np
    from sklearn.mixture import BayesianGaussianMixture

    X, y = problem
    return BayesianGaussianMixture(
        n_components=TRUNCATION, covariance_type="full", max_iter=500, random_state=0
    ).fit(np.column_stack([X, y]))


CONTESTS = [
    Contest(
        name="nested-mixture-draws",
        problem="1,000 sweeps of warm-up and 400 draws, 100 rows, 3 covariates, one core",
        setup=rows,
        solvers={
            "octavo": ours,
            "numpyro truncated mixture": numpyro_truncated,
            "scikit-learn variational": sklearn_variational,
        },
        repeats=3,
        target="20 times numpyro's truncated mixture by NUTS per effective draw",
        limit="densities of every row under every x-cluster",
    ),
]
