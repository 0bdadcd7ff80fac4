"""Second-order learners against ridge regression, Gaussian projections and limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import Ridge

from octavo.engine.streams import packed_covariance as rank_one
from octavo.online import (
    AROW,
    NAROW,
    NHERD,
    SCW,
    ConfidenceWeighted,
    CustomOnlineClassifier,
    ImprovedEllipsoid,
    SecondOrderPerceptron,
)
from tests.online.one_pass.learners import MULTICLASS, SECOND_ORDER, label_of, noisy_stream

PLAIN = {"fit_intercept": False, "covariance": "full"}
each_second = pytest.mark.parametrize("entry", SECOND_ORDER, ids=label_of)


# --- AROW is ridge regression on the rows that it learnt -------------------------------------


@pytest.mark.parametrize(("r", "a"), [(1.0, 1.0), (0.3, 2.0), (7.0, 0.5)])
def test_arow_is_ridge_on_the_rows_that_triggered(r, a):
    X, y = noisy_stream(n=200, sparsity=0.1)
    model = AROW(r=r, a=a, **PLAIN)
    used = []
    for t in range(len(X)):
        seen = model.n_updates_ if hasattr(model, "t_") else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        used += [t] if model.n_updates_ > seen else []
    ridge = Ridge(alpha=r / a, fit_intercept=False, solver="cholesky")
    ridge.fit(X[used], 2.0 * y[used] - 1)
    np.testing.assert_allclose(model.coef_[0], ridge.coef_, atol=1e-13)
    precision = np.eye(X.shape[1]) / a + X[used].T @ X[used] / r
    np.testing.assert_allclose(np.linalg.inv(model.covariance_), precision, rtol=1e-11)


# --- the confidence-weighted family projects a Gaussian --------------------------------------


def gaussian_divergence(mean, root, mean0, sigma0):
    """KL(N(mean, root rootᵀ) ‖ N(mean0, sigma0))."""
    sigma = root @ root.T
    inverse = np.linalg.inv(sigma0)
    gap = mean - mean0
    log_ratio = np.linalg.slogdet(sigma0)[1] - np.linalg.slogdet(sigma)[1]
    return 0.5 * (log_ratio + np.trace(inverse @ sigma) + gap @ inverse @ gap - len(mean))


def project(x, mean0, sigma0, phi, price, label, copies=1):
    """Minimise KL + price(slack) subject to margin ≥ φ·deviation - slack, with SLSQP in d=2.

    No slack is allowed without a price.
    With ``copies=2`` the mean is a pair of vectors that share Σ, the margin is the difference
    of their scores, and the divergence counts Σ once for each.
    """
    d = len(x)
    lower = np.tril_indices(d)

    def unpack(z):
        root = np.zeros((d, d))
        root[lower] = z[copies * d : -1]
        return z[: copies * d].reshape(copies, d), root, z[-1]

    def objective(z):
        means, root, slack = unpack(z)
        pairs = zip(means, np.atleast_2d(mean0), strict=True)
        total = sum(gaussian_divergence(m, root, m0, sigma0) for m, m0 in pairs)
        return total if price is None else total + price(slack)

    def room(z):
        means, root, slack = unpack(z)
        score = label * (means[0] @ x) if copies == 1 else (means[0] - means[1]) @ x
        return score - phi * np.sqrt(copies) * np.linalg.norm(root.T @ x) + slack

    start = np.concatenate([np.ravel(mean0), np.linalg.cholesky(sigma0)[lower], [0.0]])
    bounds = [(None, None)] * (len(start) - 1) + [(0, 0 if price is None else None)]
    found = minimize(
        objective,
        start,
        method="SLSQP",
        bounds=bounds,
        constraints=[{"type": "ineq", "fun": room}],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    means, root, _ = unpack(found.x)
    return means, root @ root.T


SOFT = {
    "cw": (ConfidenceWeighted(eta=0.8), None),
    "scw1": (SCW(1, C=0.3, eta=0.8), lambda slack: 0.3 * slack),
    "scw2": (SCW(2, C=0.3, eta=0.8), lambda slack: 0.3 * slack**2),
}


@pytest.mark.parametrize("name", list(SOFT))
@pytest.mark.parametrize("seed", range(3))
def test_confidence_weighted_steps_are_gaussian_projections(name, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4, 2)), rng.integers(0, 2, 4)
    model, price = SOFT[name]
    model = clone(model).set_params(**PLAIN).partial_fit(X[:3], y[:3], classes=[0, 1])
    mean0, sigma0 = model.coef_[0].copy(), model.covariance_
    moved = 0
    for y_t in (0, 1):
        after = clone(model).partial_fit(X[:3], y[:3], classes=[0, 1]).learn_one(X[3], y_t)
        if after.n_updates_ > model.n_updates_:
            means, sigma = project(X[3], mean0, sigma0, norm.ppf(0.8), price, 2 * y_t - 1)
            np.testing.assert_allclose(after.coef_[0], means[0], atol=2e-5)
            moved += 1
            np.testing.assert_allclose(after.covariance_, sigma, atol=2e-5)
    assert moved > 0  # no score has its margin on both sides


@pytest.mark.parametrize("name", list(SOFT))
@pytest.mark.parametrize("seed", range(2))
def test_multiclass_steps_are_gaussian_projections(name, seed):
    """Of the two weight vectors that move, which share a covariance."""
    rng = np.random.default_rng(10 + seed)
    X, y = rng.normal(size=(5, 2)), rng.integers(0, 3, 5)
    model, price = SOFT[name]
    model = clone(model).set_params(**PLAIN).partial_fit(X[:4], y[:4], classes=[0, 1, 2])
    W, sigma0 = model.coef_.copy(), model.covariance_
    moved = 0
    for y_t in range(3):
        after = clone(model).partial_fit(X[:4], y[:4], classes=[0, 1, 2]).learn_one(X[4], y_t)
        if after.n_updates_ == model.n_updates_:
            continue
        scores = W @ X[4]
        scores[y_t] = -np.inf
        pair = [y_t, int(np.argmax(scores))]
        means, sigma = project(X[4], W[pair], sigma0, norm.ppf(0.8), price, 1, copies=2)
        np.testing.assert_allclose(after.coef_[pair], means, atol=2e-5)
        np.testing.assert_allclose(after.covariance_, sigma, atol=2e-5)
        moved += 1
    assert moved >= 2  # one class at most is ahead of the others


@pytest.mark.parametrize("n_classes", [2, 3])
def test_confidence_constraint_holds_with_equality_after_an_update(n_classes):
    X, y = noisy_stream(n_classes=n_classes, sparsity=0.0)
    model = ConfidenceWeighted(eta=0.9, **PLAIN)
    classes = np.arange(n_classes)
    for t in range(60):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=classes)
        row = X[t : t + 1]
        if not row.any():
            continue
        scores = model.decision_function(row)[0]
        if n_classes == 2:
            margin = (2 * y[t] - 1) * scores
        else:
            # the rival of the round that updated may have been overtaken by a third class
            margin = np.sort(np.delete(scores[y[t]] - scores, y[t]))[-1]
        bound = norm.ppf(0.9) * np.sqrt(model.predict_margin_variance(row)[0])
        assert margin >= bound * (1 - 1e-7)


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_soft_confidence_without_a_price_limit_is_cw(n_classes, covariance):
    X, y = noisy_stream(n=60, n_classes=n_classes)
    hard = ConfidenceWeighted(eta=0.8, covariance=covariance).fit(X, y)
    soft = SCW(1, C=1e300, eta=0.8, covariance=covariance).fit(X, y)
    np.testing.assert_array_equal(hard.coef_, soft.coef_)
    np.testing.assert_array_equal(hard.covariance_, soft.covariance_)
    square = SCW(2, C=1e13, eta=0.8, covariance=covariance).fit(X[:20], y[:20])
    hard = ConfidenceWeighted(eta=0.8, covariance=covariance).fit(X[:20], y[:20])
    np.testing.assert_allclose(hard.coef_, square.coef_, rtol=1e-3, atol=1e-4)


def test_confidence_of_one_half_only_asks_for_the_right_sign():
    """η = 1/2 is φ = 0: Σ never changes, and a positive margin is enough."""
    X, y = noisy_stream(sparsity=0.0)
    # From the origin, where every margin is 0, it would never move: other rows are learned first.
    model = CustomOnlineClassifier("cw", parameters=(norm.ppf(0.9), np.inf, 0.0), **PLAIN)
    model.partial_fit(X[:30], y[:30], classes=[0, 1]).set_params(parameters=(0.0, np.inf, 0.0))
    sigma, quiet, moved = model.covariance_.copy(), 0, 0
    for row, label in zip(X[30:], y[30:]):
        if not row.any():
            continue
        mean, updates = model.coef_[0].copy(), model.n_updates_
        margin = (2 * label - 1) * (mean @ row)
        model.learn_one(row, label)
        # the nearest mean with the right sign, in the metric of Σ: a margin of 0
        least = mean - min(margin, 0.0) * (2 * label - 1) * sigma @ row / (row @ sigma @ row)
        np.testing.assert_allclose(model.coef_[0], least, atol=1e-12)
        assert model.n_updates_ == updates + (margin < 0)
        quiet, moved = quiet + (margin > 0), moved + (margin < 0)
    assert min(quiet, moved) > 5
    np.testing.assert_array_equal(model.covariance_, sigma)


@pytest.mark.parametrize("entry", SECOND_ORDER, ids=label_of)
def test_diagonal_equals_full_on_orthogonal_rows(entry):
    rng = np.random.default_rng(0)
    X = np.eye(5)[rng.integers(0, 5, 80)] * rng.uniform(0.5, 2, (80, 1))
    y = rng.integers(0, 2, 80)
    full = clone(entry[0]).set_params(**PLAIN).fit(X, y)
    diag = clone(entry[0]).set_params(fit_intercept=False, covariance="diag").fit(X, y)
    scale = max(1.0, np.abs(full.coef_).max())
    np.testing.assert_allclose(full.coef_, diag.coef_, atol=1e-9 * scale)
    np.testing.assert_allclose(np.diag(full.covariance_), diag.covariance_, rtol=1e-9)


def test_second_order_perceptron_is_ridge_on_its_mistakes():
    X, y = noisy_stream(n=150, sparsity=0.1)
    model, used = SecondOrderPerceptron(**PLAIN), []
    for t in range(len(X)):
        seen = model.n_updates_ if hasattr(model, "t_") else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        used += [t] if model.n_updates_ > seen else []
    gram = np.eye(X.shape[1]) + X[used].T @ X[used]
    expected = np.linalg.solve(gram, X[used].T @ (2.0 * y[used] - 1))
    np.testing.assert_allclose(model.coef_[0], expected, atol=1e-12)


def test_narow_is_a_least_squares_sum_with_its_own_noises():
    """w = (I + Σ x xᵀ/r_t)⁻¹ Σ y x over the rows that it learnt; Orabona & Crammer (2010)."""
    X, y = noisy_stream(n=100, sparsity=0.1)
    b, model = 2.0, NAROW(b=2.0, **PLAIN)
    precision, theta = np.eye(X.shape[1]), np.zeros(X.shape[1])
    for t in range(len(X)):
        x, label = X[t], 2 * y[t] - 1
        v = x @ np.linalg.solve(precision, x)
        r = v / (b * v - 1) if b * v > 1 else np.inf
        grown = precision + np.outer(x, x) / r
        if x.any() and label * (theta @ np.linalg.solve(grown, x)) < 1:
            precision, theta = grown, theta + label * x
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        np.testing.assert_allclose(model.coef_[0], np.linalg.solve(precision, theta), atol=1e-10)


def test_nherd_covariance_is_its_published_inverse():
    """Σ⁻¹ grows by (2C + C²v) x xᵀ; Crammer & Lee (2010), full matrix."""
    X, y = noisy_stream(n=1, sparsity=0.0)
    x, c = X[0] + 1.0, 0.7
    model = NHERD(C=c, **PLAIN).fit([x], [1], classes=[0, 1])
    expected = np.eye(len(x)) + (2 * c + c**2 * (x @ x)) * np.outer(x, x)
    np.testing.assert_allclose(np.linalg.inv(model.covariance_), expected, rtol=1e-9)


def test_ellipsoid_without_depth_is_a_projection_perceptron():
    X, y = noisy_stream(sparsity=0.0)
    model = ImprovedEllipsoid(c=0.0, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(model.covariance_, np.eye(X.shape[1]))


# --- invariants ------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(SECOND_ORDER + [e for e in MULTICLASS if hasattr(e[0], "covariance")]),
    st.integers(0, 10_000),
    st.sampled_from(["full", "diag"]),
    st.floats(1e-3, 1e3),
)
def test_covariance_stays_positive_definite(entry, seed, covariance, scale):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(40, 4)) * rng.choice([1.0, 1e-3], size=(40, 4))
    y = rng.integers(0, 3 if entry in MULTICLASS else 2, 40)
    model = clone(entry[0]).set_params(covariance=covariance).fit(X, y, classes=np.unique(y))
    for state in model._states:
        values = state.covariance.values
        if covariance == "full":
            values = values[:5]  # D of U D Uᵀ
        assert np.all(values > 0)
    sigma = model.covariance_
    assert np.all(np.isfinite(sigma))
    if covariance == "full":
        np.testing.assert_array_equal(sigma, np.swapaxes(sigma, -1, -2))
        low = np.linalg.eigvalsh(sigma).min()
        assert low > -1e-12 * np.abs(sigma).max()


@each_second
def test_variance_never_grows_on_a_row_seen_again(entry):
    if entry[1] == "iellip":
        pytest.skip("the ellipsoid method dilates Σ after every cut")
    X, y = noisy_stream(sparsity=0.1)
    model = clone(entry[0])
    last = None
    for t in range(40):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        now = model.predict_margin_variance(X)
        if last is not None:
            assert np.all(now <= last * (1 + 1e-9) + 1e-12)
        last = now


@each_second
def test_variance_is_the_quadratic_form(entry):
    X, y = noisy_stream()
    for covariance in ("full", "diag"):
        for table in (X, sp.csr_matrix(X), X.astype(np.float32)):
            model = clone(entry[0]).set_params(covariance=covariance).fit(X, y)
            sigma = model.covariance_ if covariance == "full" else np.diag(model.covariance_)
            rows = np.hstack([X, np.ones((len(X), 1))])
            expected = np.einsum("ij,jk,ik->i", rows, sigma, rows)
            found = model.predict_margin_variance(table)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_scores_of_learners_that_absorb_first_match_what_they_predicted():
    """decision_function is θᵀΣ'x, the number whose sign is counted in n_mistakes_."""
    X, y = noisy_stream(n=80)
    for make in (SecondOrderPerceptron, NAROW):
        for covariance in ("full", "diag"):
            for classes in ([0, 1], [0, 1, 2]):
                model = make(covariance=covariance)
                model.partial_fit(X[:1], y[:1], classes=classes)
                mistakes = model.n_mistakes_
                for t in range(1, len(X)):
                    mistakes += int(model.predict(X[t : t + 1])[0] != y[t])
                    model.learn_one(X[t], y[t])
                assert mistakes == model.n_mistakes_


def test_one_learner_per_class_where_a_rule_has_no_multiclass_form():
    X, y = noisy_stream(n_classes=3)
    for model in (NHERD(), NAROW(), ImprovedEllipsoid(), SecondOrderPerceptron()):
        model.fit(X, y)
        assert model.covariance_.shape == (3, 8, 8)
        for c in range(3):
            alone = clone(model).fit(X, y == c)
            np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-12)


def test_full_covariance_of_too_many_features_is_refused():
    X = sp.csr_matrix(([1.0, 1.0], ([0, 1], [0, 29_999])), shape=(2, 30_000))
    with pytest.raises(ValueError, match=r"30001 features needs 3\.4 GiB.*covariance='diag'"):
        AROW(covariance="full").fit(X, [0, 1])
    assert AROW(covariance="auto").fit(X, [0, 1]).covariance_.shape == (30_001,)
    assert AROW().fit(np.eye(2), [0, 1])._states[0].covariance.kind == rank_one.FULL


@pytest.mark.parametrize("eta", [0.5, 1.0, 0.2, 1.5])
def test_impossible_confidence_is_refused(eta):
    for make in (ConfidenceWeighted, SCW):
        with pytest.raises(ValueError, match="'eta'"):
            make(eta=eta).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(("name", "value"), [("b", 0.0), ("b", 1.0), ("c", 1.0), ("c", -0.1)])
def test_impossible_ellipsoids_are_refused(name, value):
    with pytest.raises(ValueError, match=f"'{name}'"):
        ImprovedEllipsoid(**{name: value}).fit([[0.0], [1.0]], [0, 1])
