"""Ready models: each equals the same model put together by hand, and finds what was planted."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from octavo.bayes import (
    BesagSpatialModel,
    DynamicRankingModel,
    GaussianPrior,
    GPProbitClassifier,
    LatentGaussianModel,
    LogGaussianCoxProcess,
    StochasticVolatility,
    icar,
    thin_plate_grid,
)

# --- GPProbitClassifier -----------------------------------------------------------------------

X, LABELS = make_moons(50, noise=0.25, random_state=0)
KERNEL = ConstantKernel(2.0) * RBF(0.7)


def sequential_ep(K, y, sweeps=100):
    """Rasmussen and Williams, Algorithm 3.5: one site after the other, dense, no octavo in it."""
    n = len(y)
    nu, tau = np.zeros(n), np.zeros(n)
    V, m = K.copy(), np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            t, u = 1 / V[i, i] - tau[i], m[i] / V[i, i] - nu[i]
            z = y[i] * u / t / np.sqrt(1 + 1 / t)
            ratio = np.exp(stats.norm.logpdf(z) - stats.norm.logcdf(z))
            mean = u / t + y[i] * ratio / t / np.sqrt(1 + 1 / t)
            var = 1 / t - ratio / (t * t + t) * (z + ratio)
            step = 1 / var - t - tau[i]
            tau[i], nu[i] = tau[i] + step, mean / var - u
            V = V - step / (1 + step * V[i, i]) * np.outer(V[:, i], V[:, i])
            m = V @ nu
        V = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
        m = V @ nu
    t, u = 1 / np.diag(V) - tau, m / np.diag(V) - nu
    z = y * (u / t) / np.sqrt(1 + 1 / t)
    S = K + np.diag(1 / tau)
    mu = nu / tau
    log_z = stats.multivariate_normal.logpdf(mu, np.zeros(n), S) + stats.norm.logcdf(z).sum()
    log_z += 0.5 * np.log(1 / t + 1 / tau).sum()
    log_z += (0.5 * (u / t - mu) ** 2 / (1 / t + 1 / tau)).sum() + 0.5 * n * np.log(2 * np.pi)
    return log_z, m, np.diag(V)


def test_gp_evidence_and_posterior_are_those_of_sequential_ep():
    K = KERNEL(X) + 1e-10 * np.eye(50)
    log_z, mean, var = sequential_ep(K, 2.0 * LABELS - 1)
    model = GPProbitClassifier(KERNEL, optimizer=None, tol=1e-9).fit(X, LABELS)
    assert model.log_marginal_likelihood_value_ == pytest.approx(log_z, abs=1e-4)
    assert np.allclose(model.mean_, mean, atol=1e-4)
    assert np.allclose(model.var_, var, atol=1e-4)


def test_gp_gradient_is_a_difference():
    model = GPProbitClassifier(KERNEL, optimizer=None, tol=1e-10).fit(X, LABELS)
    theta = np.log([3.0, 0.5])
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(theta))
    for k in range(2):
        step = 1e-4 * np.eye(2)[k]
        up, down = (model.log_marginal_likelihood(theta + s * step) for s in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / 2e-4, abs=1e-5)


def test_gp_optimiser_climbs_and_callable_is_scikit_learns():
    fixed = GPProbitClassifier(KERNEL, optimizer=None).fit(X, LABELS)
    fitted = GPProbitClassifier(KERNEL).fit(X, LABELS)
    assert fitted.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_
    _, gradient = fitted.log_marginal_likelihood(fitted.kernel_.theta, eval_gradient=True)
    assert abs(gradient).max() < 0.05

    def stay(objective, initial_theta, bounds):
        return initial_theta, objective(initial_theta, eval_gradient=False)

    same = GPProbitClassifier(KERNEL, optimizer=stay).fit(X, LABELS)
    assert same.log_marginal_likelihood_value_ == pytest.approx(
        fixed.log_marginal_likelihood_value_, abs=1e-6
    )


def test_gp_corrected_predictive_is_the_latent_model_with_a_missing_label():
    model = GPProbitClassifier(KERNEL, optimizer=None).fit(X, LABELS)
    new = np.array([[0.5, 0.2]])
    both = np.vstack([X, new])
    prior = GaussianPrior(covariance=KERNEL(both) + 1e-10 * np.eye(51))
    joint = LatentGaussianModel("probit", prior=prior).fit(np.append(LABELS.astype(float), np.nan))
    ours, theirs = model.latent_marginals(new)[0], joint.marginal(50)
    assert (ours.mean, ours.sd) == pytest.approx((theirs.mean, theirs.sd), abs=1e-4)
    x = theirs.x
    p = np.trapezoid(theirs.pdf * stats.norm.cdf(x), x)
    assert model.predict_proba(new)[0, 1] == pytest.approx(p, abs=1e-4)
    mean, var = model.latent_mean_and_variance(new)
    assert mean[0] == pytest.approx(joint.mean_[50], abs=1e-5)
    assert var[0] == pytest.approx(joint.var_[50], abs=1e-5)


def test_gp_agrees_with_scikit_learn_in_labels():
    new = make_moons(100, noise=0.25, random_state=1)[0]
    ours = GPProbitClassifier(KERNEL, optimizer=None).fit(X, LABELS)
    theirs = GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, LABELS)
    assert (ours.predict(new) == theirs.predict(new)).mean() > 0.95
    # Laplace pulls probabilities towards one half; EP does not.
    sure = abs(ours.predict_proba(new)[:, 1] - 0.5).mean()
    assert sure > abs(theirs.predict_proba(new)[:, 1] - 0.5).mean()


def test_gp_refuses_three_classes():
    with pytest.raises(ValueError, match="Only binary classification"):
        GPProbitClassifier().fit(X, np.arange(50) % 3)


# --- the others -------------------------------------------------------------------------------


@pytest.mark.slow
def test_volatility_follows_the_variance():
    rng = np.random.default_rng(0)
    scale = np.exp(1.2 * np.sin(np.arange(300) / 30))
    returns = scale * rng.standard_normal(300)
    returns[70:75] = np.nan
    model = StochasticVolatility(method="laplace").fit(returns)
    assert np.corrcoef(model.volatility_, scale)[0, 1] > 0.7
    assert model.mean_.shape == (300,)
    marginal = model.marginal(10)
    # Mixture of corrected densities against the mixture of Gaussians: skewed, not shifted far.
    assert abs(marginal.mean - model.mean_[10]) < 0.5 * np.sqrt(model.var_[10])


def test_volatility_prior_is_the_papers():
    from octavo.bayes.latent_gaussian.volatility import volatility_prior

    theta = np.array([0.7, 1.3])
    tau, phi = np.exp(0.7), (np.exp(1.3) - 1) / (np.exp(1.3) + 1)
    x = np.random.default_rng(0).standard_normal(6)
    f, mu = x[:5], x[5]
    log_p = stats.norm.logpdf(f[0]) + stats.norm.logpdf(mu)
    log_p += stats.norm.logpdf(f[1:], phi * f[:-1], tau**-0.5).sum()
    Q = volatility_prior(theta, 5).toarray()
    found = 0.5 * np.linalg.slogdet(Q)[1] - 3 * np.log(2 * np.pi) - 0.5 * x @ Q @ x
    assert found == pytest.approx(log_p)


def test_cox_process_with_and_without_noise_by_hand():
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, (5, 6)).astype(float)
    z = rng.standard_normal((5, 6))
    model = LogGaussianCoxProcess(field_precision=4.0).fit(counts, z, exposure=np.full((5, 6), 2.0))
    Q = sp.block_diag([4.0 * thin_plate_grid(5, 6), 1e-3 * np.eye(2)])
    A = np.column_stack([np.eye(30), np.ones(30), z.ravel()])
    by_hand = LatentGaussianModel("poisson", prior=sp.csr_array(Q)).fit(
        counts.ravel(), A, exposure=2.0
    )
    assert np.allclose(model.mean_.ravel(), A @ by_hand.mean_, atol=1e-4)
    assert model.coef_[0] == pytest.approx(by_hand.mean_[-1], abs=1e-6)
    # Noise of precision 1e6 is no noise.
    still = LogGaussianCoxProcess(field_precision=4.0, noise_precision=1e6)
    still.fit(counts, z, exposure=2.0)
    assert np.allclose(still.mean_, model.mean_, atol=1e-3)
    assert np.allclose(still.var_, model.var_, rtol=1e-2)
    assert model.marginal(2, 3).sd == pytest.approx(np.sqrt(model.var_[2, 3]), rel=0.05)


def test_cox_process_integrates_its_precision():
    rng = np.random.default_rng(1)
    truth = np.add.outer(np.sin(np.arange(8) / 3), np.cos(np.arange(9) / 3))
    counts = rng.poisson(np.exp(1 + truth))
    model = LogGaussianCoxProcess(method="laplace").fit(counts)
    assert model.model_.theta_grid_.shape[1] == 1
    assert np.corrcoef(model.mean_.ravel(), truth.ravel())[0, 1] > 0.8
    matern = LogGaussianCoxProcess("matern", length_scale=4.0, method="laplace").fit(counts)
    assert np.corrcoef(matern.mean_.ravel(), truth.ravel())[0, 1] > 0.8


def test_besag_field_sums_to_zero_on_every_part():
    ring = np.roll(np.eye(8), 1, axis=0) + np.roll(np.eye(8), -1, axis=0)
    two = sp.block_diag([ring, ring])
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 1))
    counts = rng.poisson(20 * np.exp(0.5 * x[:, 0]))
    model = BesagSpatialModel(two, method="laplace").fit(counts, x, exposure=np.full(16, 20.0))
    assert abs(model.spatial_mean_[:8].sum()) < 1e-9
    assert abs(model.spatial_mean_[8:].sum()) < 1e-9
    assert abs(model.coef_[0] - 0.5) < 4 * model.coef_sd_[0]
    assert model.marginal(3).mean == pytest.approx(model.mean_[3], abs=0.05)


def test_besag_at_fixed_precision_is_the_model_by_hand():
    from octavo.bayes.latent_gaussian.besag import besag_prior

    ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    Q = besag_prior(np.log([2.0, 3.0]), icar(ring), True, 1, 1e-3).toarray()
    K = np.linalg.pinv(2.0 * icar(ring).toarray()) + np.eye(6) / 3.0 + 1e3
    C = np.zeros((1, 13))
    C[0, :6] = 1.0
    A = np.column_stack([np.eye(6), np.eye(6), np.ones(6)])
    y = [3, 1, 4, 1, 5, 9]
    long = LatentGaussianModel("poisson", prior=Q, constraints=(C, [0.0])).fit(y, A)
    short = LatentGaussianModel("poisson", prior=GaussianPrior(covariance=K)).fit(y)
    assert np.allclose(A @ long.mean_, short.mean_, atol=1e-5)
    assert long.log_evidence_ == pytest.approx(short.log_evidence_, abs=1e-5)


def test_ranking_strengths_sum_to_zero_and_order_players():
    rng = np.random.default_rng(0)
    strength = np.array([1.5, 0.5, -0.5, -1.5])
    games = []
    for t in range(6):
        for _ in range(12):
            i, j = rng.choice(4, 2, replace=False)
            won = rng.standard_normal() < strength[i] - strength[j]
            games.append((i, j, t) if won else (j, i, t))
    model = DynamicRankingModel(drift_variance=0.05).fit(games)
    assert np.allclose(model.mean_.sum(axis=1), 0, atol=1e-9)
    assert list(np.argsort(-model.mean_[-1])) == [0, 1, 2, 3]
    p = model.predict_proba([[0, 3, 5], [3, 0, 5]])
    assert p[0, 1] == pytest.approx(p[1, 0])
    assert p[0, 1] > 0.9
    assert model.marginal(0, 5).mean == pytest.approx(model.mean_[5, 0], abs=0.1)
    learned = DynamicRankingModel(drift_variance=None, method="laplace").fit(games)
    assert learned.model_.theta_grid_.shape[1] == 1
    flipped = DynamicRankingModel(drift_variance=0.05).fit(
        [(j, i, t) for i, j, t in games], -np.ones(len(games))
    )
    assert np.allclose(flipped.mean_, model.mean_, atol=1e-6)


def test_ranking_refuses_strangers():
    model = DynamicRankingModel().fit([["A", "B", 1], ["B", "C", 2]])
    with pytest.raises(ValueError, match="The player 'Z' of row 0 was not seen in fit"):
        model.predict_proba([["A", "Z", 1]])


@pytest.mark.slow
def test_ionosphere_evidence_is_that_of_sequential_ep():
    from octavo.data import load_dataset

    try:
        bunch = load_dataset("uci/ionosphere")
    except OSError as error:
        pytest.skip(f"the ionosphere data are missing: {error}")
    rows, labels = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    kernel = ConstantKernel(20.0) * RBF(2.5)
    K = kernel(rows) + 1e-8 * np.eye(len(rows))
    log_z, mean, _ = sequential_ep(K, np.where(labels == labels.max(), 1.0, -1.0), sweeps=12)
    model = GPProbitClassifier(kernel, optimizer=None, tol=1e-9, max_iter=1000).fit(rows, labels)
    assert model.log_marginal_likelihood_value_ == pytest.approx(log_z, abs=1e-4)
    assert np.allclose(model.mean_, mean, atol=1e-3)


def test_evidence_of_a_gp_is_gpys():
    GPy = pytest.importorskip("GPy")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    ours = GPProbitClassifier(4.0 * RBF(2.0), optimizer=None, tol=1e-9).fit(X, y)
    theirs = GPy.core.GP(
        X,
        y[:, None].astype(float),
        kernel=GPy.kern.RBF(3, variance=4.0, lengthscale=2.0),
        likelihood=GPy.likelihoods.Bernoulli(),
        inference_method=GPy.inference.latent_function_inference.EP(epsilon=1e-10),
    )
    found = float(np.ravel(theirs.log_likelihood())[0])
    assert ours.log_marginal_likelihood_value_ == pytest.approx(found, abs=1e-6)
    mean, variance = theirs._raw_predict(X)
    got = ours.latent_mean_and_variance(X)
    np.testing.assert_allclose(got[0], mean[:, 0], atol=1e-4)
    np.testing.assert_allclose(got[1], variance[:, 0], atol=1e-4)
