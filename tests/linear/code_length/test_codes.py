"""Codes: Table 1, normalisers, and Kraft's inequality by enumeration."""

import itertools
import math

import numpy as np
import pytest

from octavo.linear import c_normalizer, codelength, lgstar
from octavo.linear.code_length.codes import coefficient_bits, zscore_bits
from octavo.linear.code_length.groups import GroupCode

TABLE_1 = {
    "partial": (18.4, 39.8, 59.7),
    "full": (51.0, 51.0, 51.0),
    "independent": (13.0, 64.8, 259.3),
}


@pytest.mark.parametrize("scheme", TABLE_1)
def test_table_1(scheme):
    np.testing.assert_allclose(
        codelength([1, 5, 20], 20, 2000, scheme), TABLE_1[scheme], atol=0.0501, rtol=0
    )


def test_lgstar_is_the_sum_of_positive_logarithms():
    def plain(i):
        total, term = 0.0, math.log2(i)
        while term > 0:
            total, term = total + term, math.log2(term)
        return total

    numbers = [1, 2, 3, 4, 5, 16, 17, 1000, 10**15]
    np.testing.assert_allclose(lgstar(numbers), [plain(i) for i in numbers], rtol=1e-14)
    assert lgstar(1) == 0.0


def test_normalizers():
    assert c_normalizer(1) == 0.0
    assert c_normalizer(20) == pytest.approx(1.098, abs=5e-4)
    assert c_normalizer(1000) == pytest.approx(1.199, abs=5e-4)
    for Z in (1, 7, 100):
        total = sum(2.0 ** -(lgstar(i) + c_normalizer(Z)) for i in range(1, Z + 1))
        assert total == pytest.approx(1.0, rel=1e-12)
    assert c_normalizer(2_000_000) < math.log2(2.865)


@pytest.mark.parametrize("p", [1, 2, 6])
@pytest.mark.parametrize("h", [1, 2, 4])
def test_the_codes_of_features_and_subsets_satisfy_kraft(p, h):
    """Over every feature and every non-empty subset of tasks; coefficients are coded apart."""
    subsets = [s for k in range(1, h + 1) for s in itertools.combinations(range(h), k)]
    partial = sum(2.0 ** -codelength(len(s), h, p, "partial", 0.0) for s in subsets) * p
    assert partial == pytest.approx(1.0, rel=1e-12)  # nothing is wasted
    assert p * 2.0 ** -codelength(h, h, p, "full", 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize("scheme", ["subset", "full", "ric", "switch"])
def test_the_codes_of_grouped_features_satisfy_kraft(scheme):
    group_of = np.repeat([0, 1, 2], [1, 2, 3])
    code = GroupCode(group_of, scheme, coef_bits=0.0)
    if scheme == "subset":
        bits = [code.subset_costs(g, len(m))[k - 1] for g, m in enumerate(code.members)
                for k in range(1, len(m) + 1) for _ in itertools.combinations(m, k)]  # fmt: skip
    elif scheme == "full":
        bits = [code.full_cost(g) for g in range(3)]
    elif scheme == "ric":
        bits = code.costs(np.zeros(3, dtype=bool))
    else:  # the next entry is in a used group (a switch) or in any group, given {1} is in use
        used = np.array([False, True, False])
        again = code.costs(used)[group_of == 1]
        bits = np.concatenate([code.costs(np.zeros(3, dtype=bool)), again])
    assert np.sum(2.0 ** -np.array(bits)) <= 1.0 + 1e-12


def test_h_1_partial_is_independent():
    assert codelength(1, 1, 500) == pytest.approx(codelength(1, 1, 500, "independent"))


def test_coefficient_codes():
    assert coefficient_bits("bic", 64) == 3.0
    assert coefficient_bits("bic-paper", 64) == 6.0
    assert coefficient_bits("aic", 64) == pytest.approx(1 / math.log(2))
    assert coefficient_bits(2.5, 64) == 2.5
    assert zscore_bits(np.array([3.2]))[0] == pytest.approx(lgstar(3) + c_normalizer(1000) + 1)
    assert zscore_bits(np.array([1e9]))[0] == zscore_bits(np.array([1000.0]))[0]
    np.testing.assert_array_equal(zscore_bits(np.array([0.1, -1.0])), zscore_bits(np.ones(2)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 5, 10), "k must hold integers"),
        ((6, 5, 10), "at most h=5"),
        ((1.5, 5, 10), "k must hold integers"),
        ((1, 5, 10, "some"), "scheme must be"),
        ((1, 5, 10, "full", -1.0), "coef_bits"),
        ((float("nan"), 5, 10), "finite"),
    ],
)
def test_wrong_values_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        codelength(*arguments)


def test_lgstar_and_normalizer_refuse_what_is_no_positive_integer():
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="integers from 1 on"):
            lgstar(wrong)
        with pytest.raises(ValueError, match="integers from 1 on"):
            c_normalizer(wrong)
