"""Discrete mixtures against scipy's distributions, plain maximum likelihood and KL-NMF."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import bernoulli, multinomial
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes import PLSA, BernoulliMixture, MultinomialMixture


def binary(seed, n=60, d=5):
    rng = np.random.default_rng(seed)
    return (rng.uniform(size=(n, d)) < rng.uniform(0.1, 0.9, size=(n, 1))).astype(float)


def counts(seed, n=30, d=6):
    return np.random.default_rng(seed).poisson(2.0, size=(n, d))


def test_one_component_is_plain_maximum_likelihood():
    X = binary(0)
    model = BernoulliMixture(1).fit(X)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0))
    assert model.log_likelihood_ == pytest.approx(bernoulli.logpmf(X, X.mean(axis=0)).sum())
    C = counts(0)
    means = MultinomialMixture(1).fit(C).means_[0]
    np.testing.assert_allclose(means, C.sum(axis=0) / C.sum())


def test_probabilities_are_those_of_scipy():
    X, C = binary(1), counts(1)
    coins = BernoulliMixture(3, n_init=2, random_state=0).fit(X)
    joint = np.array(
        [w * bernoulli.pmf(X, m).prod(axis=1) for w, m in zip(coins.weights_, coins.means_)]
    ).T
    np.testing.assert_allclose(coins.score_samples(X), np.log(joint.sum(axis=1)), atol=1e-9)
    np.testing.assert_allclose(
        coins.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-9
    )
    bags = MultinomialMixture(2, n_init=2, random_state=0).fit(C)
    pmf = np.array([multinomial.pmf(C, C.sum(axis=1), m) for m in bags.means_]).T
    np.testing.assert_allclose(bags.score_samples(C), np.log(pmf @ bags.weights_), atol=1e-8)
    assert bags.score(C) * len(C) == pytest.approx(bags.log_likelihood_)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.0, 0.5]))
def test_likelihoods_never_fall(seed, alpha):
    k = 1 + seed % 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            BernoulliMixture(k, n_init=1, alpha=alpha, max_iter=30, random_state=seed).fit(
                binary(seed)
            ),
            MultinomialMixture(k, n_init=1, alpha=alpha, max_iter=30, random_state=seed).fit(
                counts(seed)
            ),
            PLSA(k, max_iter=30, random_state=seed).fit(counts(seed) + 1),
        ]
    for model in fits:
        rises = np.diff(model.log_likelihoods_)
        assert rises.min(initial=0.0) >= -1e-9 * abs(model.log_likelihoods_[-1])
        assert model.weights_.sum() == pytest.approx(1.0)


def test_two_coins_are_found():
    rng = np.random.default_rng(0)
    coin = rng.uniform(size=3000) < 0.3
    heads = rng.binomial(30, np.where(coin, 0.75, 0.35))
    model = MultinomialMixture(2, random_state=0).fit(np.column_stack([heads, 30 - heads]))
    order = np.argsort(-model.means_[:, 0])
    # standard errors: 0.01 of the weight, 0.003 of the heads; five of them
    np.testing.assert_allclose(model.means_[order, 0], [0.75, 0.35], atol=0.015)
    np.testing.assert_allclose(model.weights_[order], [0.3, 0.7], atol=0.05)
    assert (model.predict(np.column_stack([heads, 30 - heads])) == order[0]).mean() < 0.4


def test_planted_classes_up_to_their_order():
    rng = np.random.default_rng(3)
    means, labels = rng.uniform(size=(3, 25)), rng.integers(3, size=1500)
    X = rng.uniform(size=(1500, 25)) < means[labels]
    model = BernoulliMixture(3, random_state=0).fit(X)
    apart = np.abs(model.means_[:, None] - means[None]).mean(axis=2)
    rows, columns = linear_sum_assignment(apart)
    assert apart[rows, columns].max() < 0.03  # standard errors of 0.02 a cell


def test_sparse_equals_dense_and_pseudo_counts_smooth():
    X = binary(5)
    options = {"n_init": 2, "random_state": 0, "alpha": 0.5}
    dense, sparse = (BernoulliMixture(2, **options).fit(A) for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.means_, sparse.means_, atol=1e-10)
    assert dense.means_.min() > 0.0
    assert dense.means_.max() < 1.0
    C = counts(5)
    a, b = (MultinomialMixture(2, random_state=0).fit(A).means_ for A in (C, sp.csr_array(C)))
    np.testing.assert_allclose(a, b, atol=1e-10)


def test_a_row_that_is_impossible_has_minus_infinity():
    model = BernoulliMixture(1).fit([[0, 1], [0, 0], [0, 1]])
    with pytest.warns(UserWarning, match="infinite"):
        assert model.score_samples([[1, 1]])[0] == -np.inf


def test_samples_come_from_the_model():
    model = BernoulliMixture(2, random_state=0).fit(binary(8))
    X, labels = model.sample(4000, random_state=1)
    np.testing.assert_allclose(
        X[labels == 0].mean(axis=0), model.means_[0], atol=5 * 0.5 / np.sqrt(1000)
    )
    bags = MultinomialMixture(2, random_state=0).fit(counts(8))
    drawn, _ = bags.sample(10, 7, random_state=0)
    assert (drawn.sum(axis=1) == 7).all()


def test_criteria_count_what_was_fitted():
    X, C = binary(8), counts(8)
    for model, rows, fitted in (
        (BernoulliMixture(2, random_state=0).fit(X), X, 2 * 5 + 1),
        (MultinomialMixture(3, random_state=0).fit(C), C, 3 * 5 + 2),
    ):
        misfit = -2.0 * model.score_samples(rows).sum()
        assert model.aic(rows) - misfit == pytest.approx(2.0 * fitted)
        assert model.bic(rows) - misfit == pytest.approx(fitted * np.log(len(rows)))


def test_a_threshold_itself_is_a_zero_dense_or_sparse():
    C = counts(9).astype(float)
    dense = BernoulliMixture(2, binarize=2.0, random_state=0).fit(C)
    thin = BernoulliMixture(2, binarize=2.0, random_state=0).fit(sp.csr_array(C))
    plain = BernoulliMixture(2, random_state=0).fit(np.where(C > 2, 1.0, 0.0))
    np.testing.assert_allclose(dense.means_, plain.means_, atol=1e-12)
    np.testing.assert_allclose(thin.means_, plain.means_, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (BernoulliMixture(2), [[0, 2], [1, 0]], "zeros and ones"),
        (MultinomialMixture(2), [[0, -1], [1, 0]], "Negative values"),
        (PLSA(2), [[0, -1], [1, 0]], "Negative values"),
        (PLSA(2), [[0, 0], [0, 0]], "every document is empty"),
        (BernoulliMixture(5), [[0, 1], [1, 0]], "number of rows"),
        (PLSA(2, temperature=2.0), [[1, 1]], "temperature"),
    ],
)
def test_bad_input(model, X, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X)


def test_constant_rows_are_learned_without_a_warning():
    """Their log-likelihood is zero, of which no change is a small share."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BernoulliMixture(2, random_state=0).fit(np.ones((40, 6)))
    np.testing.assert_allclose(model.means_, 1.0)


# --- PLSA --------------------------------------------------------------------------------------


def likelihood_of(model, C):
    joint = np.einsum("z,dz,zw->dw", model.weights_, model.docs_, model.words_)
    return float((C * np.log(joint)).sum())


def test_plsa_is_a_joint_distribution():
    C = counts(2)
    model = PLSA(3, random_state=0).fit(C)
    assert model.words_.shape == (3, 6)
    assert model.docs_.shape == (30, 3)
    np.testing.assert_allclose(model.words_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.docs_.sum(axis=0), 1.0)
    assert model.log_likelihood_ == pytest.approx(likelihood_of(model, C))
    one = PLSA(1).fit(C)  # independence
    expected = np.outer(C.sum(axis=1), C.sum(axis=0)) / C.sum() ** 2
    assert one.log_likelihood_ == pytest.approx((C * np.log(expected)).sum())


def test_plsa_reaches_the_stationary_points_of_kl_nmf():
    C = counts(4).astype(float) + 0.1
    ends = []
    for seed in range(6):
        W = PLSA(2, max_iter=5000, tol=1e-12, random_state=seed).fit(C)
        nmf = NMF(
            2, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=20_000, tol=1e-12,
            random_state=seed,
        )  # fmt: skip
        P = nmf.fit_transform(C) @ nmf.components_
        ends.append((W.log_likelihood_, float((C * np.log(P / P.sum())).sum())))
    ours, theirs = np.max(ends, axis=0)
    assert ours == pytest.approx(theirs, abs=1e-3)


def test_folding_in_the_training_documents_gives_their_shares():
    C = counts(6)
    model = PLSA(3, max_iter=5000, tol=1e-13, random_state=0).fit(C)
    shares = model.docs_ * model.weights_
    shares /= shares.sum(axis=1, keepdims=True)
    found = model.transform(C)
    P, Q = shares @ model.words_, found @ model.words_
    # the likelihood of a document is concave in its shares: both maximise it
    np.testing.assert_allclose((C * np.log(P)).sum(axis=1), (C * np.log(Q)).sum(axis=1), rtol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert model.score(C) == pytest.approx((C * np.log(Q)).sum() / C.sum())


def test_empty_documents_are_left_out_with_a_warning():
    C = counts(7)
    C[3] = 0
    with pytest.warns(UserWarning, match="first is row 3"):
        model = PLSA(2, random_state=0).fit(C)
    assert not model.docs_[3].any()
    np.testing.assert_allclose(model.transform(C)[3], model.weights_)
    rest = PLSA(2, random_state=0).fit(np.delete(C, 3, axis=0))
    assert model.log_likelihood_ == pytest.approx(rest.log_likelihood_)


def test_scale_of_counts_only_scales_the_likelihood():
    C = counts(9) + 1.0
    a, b = (PLSA(2, random_state=0).fit(C * size) for size in (1.0, 1e5))
    np.testing.assert_allclose(a.words_, b.words_, atol=1e-8)
    assert b.log_likelihood_ == pytest.approx(1e5 * a.log_likelihood_)


def test_tempered_em_at_one_is_em_and_below_is_smoother():
    C = counts(10) + 1
    plain = PLSA(3, max_iter=40, tol=0.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit(C)
        nearly = PLSA(3, temperature=1 - 1e-12, max_iter=40, tol=0.0, random_state=0).fit(C)
        warm = PLSA(3, temperature=0.5, max_iter=200, random_state=0).fit(C)
    np.testing.assert_allclose(plain.words_, nearly.words_, atol=1e-6)
    assert warm.log_likelihood_ < plain.log_likelihood_
