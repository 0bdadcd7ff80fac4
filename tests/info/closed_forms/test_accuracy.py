"""The published table, and the standard errors of theory."""

import math

import numpy as np
import pytest

from octavo._names import UnknownNameError
from octavo.info import (
    BregmanDivergence,
    Chi2Divergence,
    EdgeworthEntropy,
    JDivergence,
    KnnCrossEntropy,
    KnnHellingerDistance,
    KnnKLDivergence,
    KnnL2Divergence,
    KnnRenyiDivergence,
    KnnRenyiEntropy,
    KnnShannonEntropy,
    KnnSharmaMittalDivergence,
    KnnSharmaMittalEntropy,
    KnnTsallisEntropy,
    KSGMutualInformation,
    Normal,
    SymmetricBregmanDivergence,
    VoronoiEntropy,
    accuracy_table,
    analytical_value,
    quick_test,
    standard_error,
)

PLANE = Normal([0, 0], [[1, 0.5], [0.5, 1]])
NEAR = Normal([0, 0], [[1.0, 0.3], [0.3, 1.0]]), Normal([0.5, 0], [[1.2, 0], [0, 1.2]])


def test_errors_with_closed_forms():
    """var log p of a normal is d/2; var of log p/∏p_m of a bivariate normal is ρ²."""
    tolerance = 5 / math.sqrt(100_000)
    assert standard_error(KnnShannonEntropy(), PLANE, n=100) == pytest.approx(0.1, rel=tolerance)
    mutual = standard_error(KSGMutualInformation(), PLANE, n=100)
    assert mutual == pytest.approx(0.05, rel=tolerance)
    p, q = Normal(0, 1), Normal(1, 1)
    # log p/q is 1/2 - x, of variance 1; p/q under q has variance e - 1.
    kl = standard_error(KnnKLDivergence(), p, q, n=100)
    # Of 100,000 draws the variance of a lognormal p/q (kurtosis 114) has an error of 3.4 %, which
    # is 1.1 % of the root of the sum: four of them.
    assert kl == pytest.approx(math.sqrt(math.e) / 10, rel=0.044)
    assert math.isnan(standard_error(JDivergence(), p, q)) is False
    from octavo.info import JensenShannonDivergence

    assert math.isnan(standard_error(JensenShannonDivergence(), p, q))


@pytest.mark.parametrize(
    "estimator",
    [
        KnnRenyiEntropy(0.8),
        KnnTsallisEntropy(1.5),
        KnnSharmaMittalEntropy(0.8, 0.6),
        KnnRenyiDivergence(0.8),
        KnnSharmaMittalDivergence(0.8, 0.6),
        KnnHellingerDistance(),
        Chi2Divergence(),
        KnnL2Divergence(),
        BregmanDivergence(1.6),
        SymmetricBregmanDivergence(1.6),
        KnnCrossEntropy(),
        JDivergence(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_influence_functions_are_derivatives(estimator):
    """Changing the variance of p (or q) by h changes the value by h E[influence · score]."""
    import inspect

    from octavo.info.closed_forms.accuracy import _INFLUENCES
    from octavo.info.closed_forms.analytical import _FORMS

    one_sample = estimator.kind == "entropy"
    p, q = (Normal(0.0, 1.0), None) if one_sample else (Normal(0.1, 1.0), Normal(-0.4, 1.4))
    form = _INFLUENCES[estimator.kind, estimator.measure]
    given = {**estimator.get_params(), "measure": estimator.measure}
    params = {k: given[k] for k in inspect.signature(form).parameters if k in given}
    parts = form(p, q, **params)
    closed = _FORMS[estimator.kind, estimator.measure]
    wanted = {k: given[k] for k in inspect.signature(closed).parameters if k in given}

    def value(p, q):
        return analytical_value(estimator.kind, estimator.measure, p, q, **wanted)

    x = np.linspace(-12, 12, 40_001)[:, None]
    step = x[1, 0] - x[0, 0]
    f = p.log_density(x)
    g = x[:, 0] if q is None else q.log_density(x)
    h = 1e-4
    for which, (family, part) in enumerate(zip((p, q), parts)):
        if part is None:
            continue
        variance = float(family.cov[0, 0])
        # The score of the variance is ((x - m)²/v - 1) / (2v).
        score = ((x[:, 0] - family.mean[0]) ** 2 / variance - 1) / (2 * variance)
        density = np.exp(family.log_density(x))
        expected = float((part(f, g) * score * density).sum() * step)
        ends = []
        for sign in (1, -1):
            moved = Normal(family.mean, variance + sign * h)
            ends.append(value(moved, q) if which == 0 else value(p, moved))
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(expected, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize(
    ("estimator", "families", "slack"),
    [
        (KnnShannonEntropy(n_neighbors=10), (PLANE,), 1.3),
        (EdgeworthEntropy(), (PLANE,), 1.0),
        (VoronoiEntropy(), (PLANE,), 1.3),
        (KnnRenyiEntropy(0.8, n_neighbors=10), (PLANE,), 1.3),
        (KnnKLDivergence(n_neighbors=20), NEAR, 1.5),
        (KnnRenyiDivergence(0.8, n_neighbors=20), NEAR, 1.5),
        (KnnCrossEntropy(n_neighbors=20), NEAR, 1.3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_deviations_are_those_of_theory(estimator, families, slack):
    """With many neighbours the noise of distances is small beside the efficient error.

    The deviation of 30 estimates is known to 13 per cent; four of those on either side.
    """
    result = quick_test(estimator, *families, n=2000, n_repeats=30)
    theory = standard_error(estimator, *families, n=2000)
    assert 0.5 * theory < result.deviation < 1.5 * slack * theory


def test_table_has_a_row_for_each_closed_form_and_prints():
    table = accuracy_table("entropy", n=300, n_repeats=3)
    names = {row.name for row in table}
    assert {"KnnShannonEntropy", "MSTRenyiEntropy", "VoronoiEntropy", "VasicekEntropy"} <= names
    assert len(repr(table).splitlines()) == len(table) + 1
    assert all(row.n == 300 and row.deviation > 0 for row in table)
    assert table == accuracy_table("entropy", n=300, n_repeats=3)
    with pytest.raises(UnknownNameError, match="entropy"):
        accuracy_table("entropie")


@pytest.mark.slow
def test_every_estimator_lands_within_its_standard_error():
    """The published table: no bias is larger than a deviation and twice its own error."""
    for row in accuracy_table(n=10_000, n_repeats=20):
        assert abs(row.bias) <= row.deviation * (1 + 2 / math.sqrt(20)), row
