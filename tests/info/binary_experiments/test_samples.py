"""Divergences of samples: exact sums behind the curves, Gaussians, invariances, refusals."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

from octavo.info import (
    CostCurveDivergence,
    CsiszarDivergence,
    ProperLoss,
    VariationalDivergence,
    f_divergence,
    generalized_pinsker,
)
from octavo.info.binary_experiments.samples import deciding_risks


def gaussians(n, mu=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1.0, size=(n, 1)), rng.normal(size=(n, 1))


def test_the_estimate_is_the_weighted_integral_of_the_curve():
    found = CostCurveDivergence(method="hull", eps=0.05, random_state=0).fit(*gaussians(200))
    curve = found.curve_

    def integrand(pi):
        return (min(pi, 1 - pi) - float(curve.prior_risk(pi))) / (pi * pi * (1 - pi))

    kinks = [float(k) for k in np.sort(curve.q / (curve.p + curve.q)) if 0.05 < k < 0.95]
    integral = quad(integrand, 0.05, 0.95, points=[0.5, *kinks], limit=400)[0]
    assert found.divergence_ == pytest.approx(integral, rel=1e-6)
    priors = np.array(found.priors)
    cut = CsiszarDivergence.from_name("kl").truncated(0.05)
    bound = generalized_pinsker(cut, priors, curve.prior_risk(priors))
    assert found.lower_bound_ == pytest.approx(bound)
    assert found.lower_bound_ <= found.divergence_ * (1 + 1e-9)


def test_one_fit_answers_for_all_divergences():
    found = CostCurveDivergence(random_state=0).fit(*gaussians(200))
    other = CostCurveDivergence(divergence="hellinger", random_state=0).fit(*gaussians(200))
    assert found.value("hellinger") == other.divergence_
    assert found.value("kl") == found.divergence_


def test_posteriors_give_the_information_of_their_loss():
    Xp, Xq = gaussians(150)
    found = CostCurveDivergence(method="posterior", eps=0.01, random_state=0).fit(Xp, Xq[:100])
    loss = ProperLoss.from_divergence(CsiszarDivergence.from_name("kl").truncated(0.01), 0.6)
    y = np.repeat([1, 0], [150, 100])
    expected = loss.bayes_risk(0.6) - loss.score(y, found.scores_)
    assert found.divergence_ == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "hull", "posterior"])
def test_gaussians_are_found_to_a_few_percent(method):
    truth = quad_truth(0.01)
    found = [
        CostCurveDivergence(method=method, eps=0.01, random_state=0)
        .fit(*gaussians(4000, seed=seed))
        .divergence_
        for seed in range(20, 24)
    ]
    # the error of a mean of log-ratios is √(Var / n) = 1 / √4000 a draw, 0.008 for four
    assert np.mean(found) == pytest.approx(truth, abs=0.05)


def quad_truth(eps):
    x = np.linspace(-12, 13, 20_001)
    p, q = np.exp(-0.5 * (x - 1) ** 2), np.exp(-0.5 * x**2)
    kl = CsiszarDivergence.from_name("kl").truncated(eps)
    return kl.value(p / p.sum(), q / q.sum())


def test_samples_of_one_distribution_are_close_to_zero():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(2, 2000, 3))
    assert abs(CostCurveDivergence(random_state=0).fit(X, Y).divergence_) < 0.03
    # a bound that was fitted elsewhere: about n_components / 2n below zero at worst
    assert abs(VariationalDivergence(random_state=0).fit(X, Y).divergence_) < 0.05


def test_scaling_the_columns_changes_nothing():
    Xp, Xq = gaussians(400)
    for scale in (1e-5, 1e5):
        lda = CostCurveDivergence(LinearDiscriminantAnalysis(), random_state=0)
        assert lda.fit(scale * Xp, scale * Xq).divergence_ == pytest.approx(
            lda.fit(Xp, Xq).divergence_, rel=1e-6
        )
        witness = VariationalDivergence(random_state=0)
        assert witness.fit(scale * Xp, scale * Xq).divergence_ == pytest.approx(
            witness.fit(Xp, Xq).divergence_, rel=1e-5
        )


def test_probabilities_count_as_they_stand_only_where_they_can_be_trusted():
    Xp, Xq = gaussians(300)
    assert CostCurveDivergence(random_state=0).fit(Xp, Xq).method_ == "posterior"
    forest = CostCurveDivergence(RandomForestClassifier(20, random_state=0), random_state=0)
    assert forest.fit(Xp, Xq).method_ == "hull"
    assert CostCurveDivergence(LinearSVC(), random_state=0).fit(Xp, Xq).method_ == "hull"


def test_small_samples_do_not_double_the_divergence():
    """The hull of 300 rows each gives 0.74 for 0.5 on average, standard error 0.04."""
    found = [
        CostCurveDivergence(random_state=0).fit(*gaussians(300, seed=seed)).divergence_
        for seed in range(40, 60)
    ]
    assert np.mean(found) == pytest.approx(quad_truth(1e-3), abs=0.1)


def test_the_default_classifier_does_not_depend_on_units():
    Xp, Xq = gaussians(400)
    expected = CostCurveDivergence(random_state=0).fit(Xp, Xq).divergence_
    for scale in (1e-5, 1e5):
        found = CostCurveDivergence(random_state=0).fit(scale * Xp, scale * Xq)
        assert found.divergence_ == pytest.approx(expected, rel=1e-6)


def test_risks_of_probabilities_lie_on_a_concave_curve_and_match_counts():
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], [30, 20])
    proba = rng.random(50)  # worse than no classifier at some priors
    priors = np.array([0.5, 0.2, 0.8])
    risks = deciding_risks(proba, y, priors)
    assert (risks <= np.minimum(priors, 1 - priors) + 1e-15).all()
    assert generalized_pinsker("kl", priors, risks) >= 0.0  # raises unless concave
    sure = deciding_risks(np.where(y == 1, 0.99, 0.01), y, priors)
    assert not sure.any()
    one = deciding_risks(
        np.where(np.arange(50) == 0, 0.01, np.where(y == 1, 0.99, 0.01)), y, priors
    )
    np.testing.assert_allclose(one, priors / 30)


def test_classifiers_without_probabilities_have_curves_too():
    Xp, Xq = gaussians(300)
    found = CostCurveDivergence(LinearSVC(), "variational", random_state=0).fit(Xp, Xq)
    assert found.divergence_ == pytest.approx(0.766, abs=0.12)  # 2 (2Φ(1/2) - 1) = 0.766
    assert found.divergence_ == pytest.approx(
        f_divergence(found.curve_.p, found.curve_.q, "variational")
    )


@pytest.mark.parametrize(
    ("name", "truth"), [("kl", 0.5), ("reverse_kl", 0.5), ("hellinger", 0.235), ("pearson", 1.718)]
)
def test_bounds_of_witnesses_lie_below_the_truth_and_near(name, truth):
    found = VariationalDivergence(name, alpha=1e-3, random_state=0, n_components=20)
    found.fit(*gaussians(3000, seed=5))
    assert 0.6 * truth < found.divergence_ < 1.25 * truth
    assert found.divergence_ <= found.training_bound_


def test_a_linear_witness_finds_the_log_ratio_of_gaussians():
    found = VariationalDivergence(kernel="linear", alpha=1e-9, random_state=0)
    found.fit(*gaussians(20_000, seed=6))
    x = np.array([[-1.0], [0.5], [2.0]])
    np.testing.assert_allclose(found.log_ratio(x), x[:, 0] - 0.5, atol=0.1)
    assert found.log_ratio(x[:, 0]) == pytest.approx(found.log_ratio(x))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: CostCurveDivergence().fit(X, X[:, :0]), "feature"),
        (lambda X: CostCurveDivergence().fit(X, np.ones((9, 3))), "number of columns"),
        (lambda X: CostCurveDivergence(cv=50).fit(X, X), "folds"),
        (lambda X: CostCurveDivergence(eps=0.6).fit(X, X), "eps"),
        (lambda X: CostCurveDivergence(divergence="KL").fit(X, X), "divergence"),
        (lambda X: CostCurveDivergence(priors=[0.0]).fit(X, X), "priors"),
        (lambda X: CostCurveDivergence(LinearSVC(), method="posterior").fit(X, X), "proba"),
        (lambda X: VariationalDivergence("variational").fit(X, X), "kinks"),
        (lambda X: VariationalDivergence().fit(X, np.full((9, 1), np.nan)), "NaN"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call(np.arange(20.0)[:, None])
