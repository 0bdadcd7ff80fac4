"""What all kernel, distance, copula and Parzen estimators have in common, class by class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import octavo.info as info
from octavo.info import (
    HSIC,
    MMD,
    BlockMMD,
    ConditionalSpearman,
    CopulaKernelDependence,
    CorrentropyCoefficient,
    CorrentropyIndependence,
    DistanceCorrelation,
    DistanceCovariance,
    EnergyDistance,
    EuclideanDivergence,
    ExpectedKernel,
    GeneralizedVariance,
    HoeffdingPhi,
    LancasterInteraction,
    LowerTailSpearman,
    LowRankHSIC,
    LowRankMMD,
    SchweizerWolffKappa,
    SchweizerWolffSigma,
    SpearmanRho1,
    association,
    distribution_gram,
    divergence,
    list_estimators,
    mutual_info,
)

MODULES = {
    "octavo.info.dependence.association_copula",
    "octavo.info.dependence.copula",
    "octavo.info.dependence.correntropy",
    "octavo.info.dependence.distance",
    "octavo.info.dependence.kernels",
    "octavo.info.divergences.kernels",
    "octavo.info.divergences.quadratic_kde",
}


def family():
    found = [getattr(info, name) for name in sorted(info.__dir__())]
    return [
        cls
        for cls in found
        if isinstance(cls, type) and cls.__module__ in MODULES and hasattr(cls, "estimate")
    ]


FAMILY = family()
EVERY = pytest.mark.parametrize("cls", FAMILY, ids=lambda cls: cls.__name__)
COLUMNS = {"LancasterInteraction": 3}


def joint(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, d))


def samples(cls, n=60, seed=0):
    X = joint(n, COLUMNS.get(cls.__name__, 2), seed)
    if cls.kind in ("divergence", "kernel"):
        return X, joint(n - 8, 2, seed + 1) + 0.5
    return (X,)


def test_the_family_is_complete():
    assert len(FAMILY) == 37
    kinds = [cls.kind for cls in FAMILY]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "mutual_info": 15,
        "divergence": 8,
        "association": 13,
        "kernel": 1,
    }


@EVERY
def test_it_is_found_by_measure_and_method_and_gives_one_number(cls):
    record = next(r for r in list_estimators(cls.kind) if r.name == cls.__name__)
    assert all([record.cost, record.estimates, record.assumptions])
    found = clone(cls()).estimate(*samples(cls))
    assert type(found) is float
    call = {
        "mutual_info": lambda *a: mutual_info(*a, measure=cls.measure, method=cls.method),
        "association": lambda *a: association(*a, measure=cls.measure, method=cls.method),
        "divergence": lambda *a: divergence(*a, cls.measure, cls.method),
        "kernel": lambda *a: info.distribution_kernel(*a, cls.measure, cls.method),
    }[cls.kind]
    assert call(*samples(cls)) == found


@EVERY
def test_nan_and_infinity_are_refused(cls):
    for bad in (np.nan, np.inf):
        broken = [X.copy() for X in samples(cls)]
        broken[-1][3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            cls().estimate(*broken)


@EVERY
def test_one_sample_is_refused(cls):
    with pytest.raises(ValueError, match=r"minimum of 2 is required|at least"):
        cls().estimate(*(X[:1] for X in samples(cls)))


def value_or_reason(cls, arrays):
    """Return the estimate, or the error's message: there is no third outcome."""
    try:
        return cls().estimate(*arrays)
    except ValueError as error:
        return str(error)


@EVERY
def test_constants_and_duplicates_give_a_number_or_a_reason(cls):
    constant = [X.copy() for X in samples(cls)]
    for X in constant:
        X[:, 1] = 2.0
    found = value_or_reason(cls, constant)
    assert "constant" in found if isinstance(found, str) else np.isfinite(found)
    repeated = [np.repeat(X[:15], 4, axis=0) for X in samples(cls)]
    assert np.isfinite(cls().estimate(*repeated))


@EVERY
def test_two_samples_give_a_number_or_a_reason(cls):
    found = value_or_reason(cls, [X[:2] for X in samples(cls)])
    reasons = ("samples", "smaller sample", "singular")
    assert any(r in found for r in reasons) if isinstance(found, str) else np.isfinite(found)


ORDERED = ("OnlineMMD", "BlockMMD")  # these use rows in the order given


@pytest.mark.parametrize(
    "cls", [c for c in FAMILY if c.__name__ not in ORDERED], ids=lambda c: c.__name__
)
@given(st.integers(0, 20))
def test_the_order_of_samples_does_not_matter(cls, seed):
    given_order = samples(cls, 20, seed)
    rng = np.random.default_rng(seed)
    shuffled = [rng.permutation(X) for X in given_order]
    found = cls().estimate(*given_order)
    # Pivots of incomplete factors may differ where diagonals tie, within their tolerance.
    low_rank = cls.method == "cholesky"
    tolerance = {"rel": 1e-2, "abs": 1e-4} if low_rank else {"rel": 1e-8, "abs": 1e-10}
    assert cls().estimate(*shuffled) == pytest.approx(found, **tolerance)


@EVERY
def test_lists_and_vectors_are_samples(cls):
    if cls.kind in ("mutual_info", "association") and cls is not LancasterInteraction:
        X = joint(30)
        expected = cls().estimate(X)
        assert cls().estimate(X[:, 0].tolist(), X[:, 1]) == pytest.approx(expected, rel=1e-12)


def test_complex_samples_are_pairs_of_reals():
    X = joint(40, 4)
    Z = X[:, :2] + 1j * X[:, 2:]
    for cls in (HSIC, LowRankHSIC, DistanceCorrelation, GeneralizedVariance):
        expected = cls().estimate(X, groups=[[0, 2], [1, 3]])
        assert cls().estimate(Z) == pytest.approx(expected)
    for cls in (MMD, EnergyDistance, EuclideanDivergence):
        assert cls().estimate(Z, Z + 1) == pytest.approx(
            cls().estimate(X, X + np.array([1, 1, 0, 0]))
        )
    with pytest.raises(ValueError, match="one real variable"):
        HoeffdingPhi().estimate(Z)
    with pytest.raises(ValueError, match="complex"):
        SpearmanRho1().estimate(Z)


def test_wrong_numbers_of_groups_are_named():
    three = joint(30, 3)
    for estimator in (DistanceCovariance(), LowRankHSIC(), HSIC(unbiased=True)):
        with pytest.raises(ValueError, match="two groups of variables, got 3"):
            estimator.estimate(three)
    with pytest.raises(ValueError, match="three groups of variables, got 2"):
        LancasterInteraction().estimate(three[:, :2])
    with pytest.raises(ValueError, match="two groups"):
        CorrentropyIndependence().estimate(three)
    for cls in (HoeffdingPhi, SchweizerWolffSigma, CopulaKernelDependence):
        with pytest.raises(ValueError, match="group 0 has 2"):
            cls().estimate(three, groups=[[0, 1], [2]])
    with pytest.raises(ValueError, match="2 column"):
        CorrentropyCoefficient().estimate(three)


def test_impossible_statistics_are_named():
    X = joint(30)
    with pytest.raises(ValueError, match="squared=True"):
        DistanceCorrelation(unbiased=True).estimate(X)
    with pytest.raises(ValueError, match="at least 4 samples, got 3"):
        HSIC(unbiased=True).estimate(X[:3])
    with pytest.raises(ValueError, match="block_size=40 is more than"):
        BlockMMD(block_size=40).estimate(X, X)
    with pytest.raises(ValueError, match="the least is"):
        ConditionalSpearman(share=0.01).estimate(X)
    with pytest.raises(ValueError, match="the least is"):
        LowerTailSpearman(share=0.05).estimate(X)
    with pytest.raises(ValueError, match="more samples than features"):
        GeneralizedVariance().estimate(joint(3, 3))
    with pytest.raises(ValueError, match="positive semidefinite"):
        LowRankMMD(kernel="distance").estimate(X, X)
    with pytest.raises(ValueError, match="finite numbers"):
        CorrentropyIndependence(shifts=()).estimate(X)
    with pytest.raises(ValueError, match="constant variable: column 1 is 2"):
        SpearmanRho1().estimate(np.column_stack([X[:, 0], np.full(30, 2.0)]))


@pytest.mark.parametrize(
    "estimator",
    [
        HSIC(bandwidth=0.0),
        HSIC(kernel="sigmoid"),
        MMD(bandwidth="mean"),
        EnergyDistance(exponent=2.0),
        DistanceCovariance(exponent=0),
        ConditionalSpearman(share=1.5),
        ConditionalSpearman(tail="middle"),
        LowRankHSIC(max_rank=0),
        ExpectedKernel(bandwidth="median"),
    ],
    ids=repr,
)
def test_parameters_are_checked(estimator):
    with pytest.raises(ValueError, match="parameter"):
        estimator.estimate(joint(10), joint(10))


def test_constants_can_be_skipped():
    X = joint(50)
    assert HoeffdingPhi(squared=True).estimate(X) == pytest.approx(
        90 * HoeffdingPhi(squared=True, mult=False).estimate(X)
    )
    for cls, factor in ((SchweizerWolffSigma, 12), (SchweizerWolffKappa, 4)):
        assert cls().estimate(X) == pytest.approx(factor * cls(mult=False).estimate(X))


def test_a_kernel_can_be_a_function():
    X = joint(40)

    def gaussian(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 2)

    for cls in (HSIC, LowRankHSIC):
        assert cls(kernel=gaussian).estimate(X) == pytest.approx(cls(bandwidth=1.0).estimate(X))
    Y = X + 1
    for cls in (MMD, LowRankMMD, BlockMMD, info.OnlineMMD, ExpectedKernel):
        assert cls(kernel=gaussian).estimate(X, Y) == pytest.approx(
            cls(bandwidth=1.0).estimate(X, Y)
        )


def test_gram_matrices_of_the_expected_kernel_are_positive():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(rng.normal(size=2), rng.uniform(0.3, 2), (50, 2)) for _ in range(20)]
    for kernel in ("gaussian", "laplacian", "inverse_multiquadric", "linear"):
        gram = distribution_gram(clouds, ExpectedKernel(kernel=kernel))
        values = np.linalg.eigvalsh(gram)
        # Exactly positive; what may be negative is the rounding of a 20 × 20 eigenproblem.
        assert values[0] > -1e-13 * values[-1]


def test_low_rank_forms_agree_with_the_full_ones():
    X, Y = joint(400), joint(300, seed=1) + 0.3
    low, full = LowRankHSIC(tol=1e-8).estimate(X), HSIC().estimate(X)
    assert low == pytest.approx(full, abs=2e-8)
    low, full = LowRankMMD(tol=1e-8).estimate(X, Y), info.BiasedMMD().estimate(X, Y)
    assert low == pytest.approx(full, abs=700 * 1e-8 * (1 / 400 + 1 / 300))
