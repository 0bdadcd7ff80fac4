"""Closed forms against independent integrals, and estimators against closed forms."""

import numpy as np
import pytest

from octavo.info import (
    HSIC,
    MMD,
    BlockMMD,
    BlomqvistBeta,
    CauchySchwarzDivergence,
    CauchySchwarzInformation,
    CenteredCorrentropy,
    CenteredCorrentropyMetric,
    ConditionalSpearman,
    Correntropy,
    CorrentropyCoefficient,
    CorrentropyMetric,
    DistanceCorrelation,
    DistanceCovariance,
    EnergyDistance,
    EuclideanDivergence,
    EuclideanInformation,
    ExpectedKernel,
    GeneralizedVariance,
    HoeffdingPhi,
    LowRankHSIC,
    LowRankMMD,
    Normal,
    OnlineMMD,
    SchweizerWolffKappa,
    SchweizerWolffSigma,
    SpearmanRho1,
    SpearmanRho2,
    SpearmanRho3,
    SpearmanRho4,
    analytical_value,
    quick_test,
)
from tests.info import gaussian_values

RHO = 0.6
PAIR = Normal([0.3, 0.0], [[1.0, RHO * 1.2], [RHO * 1.2, 1.44]])
STANDARD = Normal([0.0, 0.0], [[1.0, RHO], [RHO, 1.0]])
P, Q = Normal([0.0], [[1.0]]), Normal([0.8], [[1.69]])


def test_closed_forms_against_other_derivations():
    def value(kind, measure, p=STANDARD, q=None, **params):
        return analytical_value(kind, measure, p, q, **params)

    assert value("mutual_info", "hsic", bandwidth=0.9) == pytest.approx(
        gaussian_values.hsic(RHO, 0.9, 0.9)
    )
    assert value("mutual_info", "distance_covariance", squared=True) == pytest.approx(
        gaussian_values.squared_distance_covariance(RHO)
    )
    one = gaussian_values.squared_distance_covariance(1 - 1e-12)
    assert value("mutual_info", "distance_correlation", squared=True) == pytest.approx(
        gaussian_values.squared_distance_covariance(RHO) / one, rel=1e-5
    )
    phi = gaussian_values.copula_integral(
        lambda u, v: 90 * (gaussian_values.gaussian_copula(u, v, RHO) - u * v) ** 2
    )
    assert value("mutual_info", "hoeffding_phi", squared=True) == pytest.approx(phi, rel=1e-4)
    assert value("association", "conditional_spearman", share=1.0) == pytest.approx(
        gaussian_values.spearman(RHO), rel=1e-4
    )
    assert value("mutual_info", "generalized_variance") == pytest.approx(-0.5 * np.log(1 - RHO**2))
    assert value("divergence", "mmd", P, Q, bandwidth=1.1) == pytest.approx(
        gaussian_values.mmd_squared(P.mean, P.cov, Q.mean, Q.cov, 1.1)
    )
    assert value("divergence", "energy", P, Q) == pytest.approx(
        gaussian_values.energy(0, 1, 0.8, 1.3)
    )


def test_what_has_no_closed_form_says_so():
    three = Normal(np.zeros(3), np.eye(3))
    with pytest.raises(NotImplementedError):
        analytical_value("mutual_info", "distance_correlation", three)
    with pytest.raises(NotImplementedError, match="as a number"):
        analytical_value("mutual_info", "hsic", STANDARD, bandwidth="median")
    with pytest.raises(NotImplementedError, match="linear features"):
        analytical_value("mutual_info", "generalized_variance", STANDARD, features="cosine")


DEPENDENCE = [
    GeneralizedVariance(),
    HSIC(bandwidth=1.0),
    HSIC(bandwidth=1.0, unbiased=True),
    LowRankHSIC(bandwidth=1.0),
    DistanceCovariance(),
    DistanceCovariance(squared=True, unbiased=True),
    DistanceCorrelation(),
    DistanceCorrelation(squared=True, unbiased=True),
    HoeffdingPhi(),
    SchweizerWolffSigma(),
    BlomqvistBeta(),
    SpearmanRho1(),
    SpearmanRho2(),
    SpearmanRho3(),
    SpearmanRho4(),
    ConditionalSpearman(share=0.5),
    ConditionalSpearman(share=0.5, tail="upper"),
    Correntropy(bandwidth=1.0),
    CenteredCorrentropy(bandwidth=1.0),
    CorrentropyCoefficient(bandwidth=1.0),
    CorrentropyMetric(bandwidth=1.0),
    CenteredCorrentropyMetric(bandwidth=1.0),
]
DIVERGENCE = [
    MMD(bandwidth=1.0),
    BlockMMD(bandwidth=1.0),
    OnlineMMD(bandwidth=1.0),
    LowRankMMD(bandwidth=1.0),
    EnergyDistance(),
    EnergyDistance(unbiased=True),
    ExpectedKernel(),
]


@pytest.mark.parametrize("estimator", [*DEPENDENCE, *DIVERGENCE], ids=repr)
@pytest.mark.slow
def test_the_bias_is_below_one_standard_error(estimator):
    """Over 40 samples of 1000: |bias| below the deviation of one estimate, beyond noise."""
    repeats = 40
    two = (P, Q) if estimator in DIVERGENCE else (PAIR,)
    result = quick_test(estimator, *two, n=1000, n_repeats=repeats, random_state=0)
    noise = 4 * result.deviation / np.sqrt(repeats)
    assert abs(result.bias) < result.deviation + noise
    if "unbiased=True" in repr(estimator) or isinstance(estimator, (MMD, BlockMMD, OnlineMMD)):
        assert abs(result.bias) < noise


@pytest.mark.slow
def test_kappa_is_biased_up_and_converges():
    """The maximum of a noisy function that is flat at its top: a bias of order n^(−2/3)."""
    small, large = (
        quick_test(SchweizerWolffKappa(), STANDARD, n=n, n_repeats=40, random_state=0)
        for n in (250, 2000)
    )
    noise = 4 * small.deviation / np.sqrt(40)
    assert 0 < large.bias < small.bias / 4 + noise  # 8^(2/3) = 4
    assert large.bias < 2 * large.deviation


SMOOTHED = [
    (CauchySchwarzDivergence(), (P, Q)),
    (EuclideanDivergence(), (P, Q)),
    (CauchySchwarzInformation(), (STANDARD,)),
    (EuclideanInformation(), (STANDARD,)),
]


@pytest.mark.parametrize(("estimator", "family"), SMOOTHED, ids=lambda x: type(x).__name__)
@pytest.mark.slow
def test_parzen_estimates_approach_the_truth(estimator, family):
    """Smoothing biases them; the error falls with n and is small against the value at 2000."""
    errors = []
    for n in (125, 2000):
        result = quick_test(estimator, *family, n=n, n_repeats=10, random_state=0)
        errors.append(np.hypot(result.bias, result.deviation) / result.truth)
    # The bandwidth falls as n^(−1/(d + 4)), the bias as its square: by 16^(−1/3) at d = 2.
    assert errors[1] < 0.75 * errors[0]
    assert errors[1] < 0.5
