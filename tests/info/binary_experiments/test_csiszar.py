"""f-divergences: sums, weighted integrals, duals, conjugates, and what is refused."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

from octavo._names import UnknownNameError
from octavo.info import CsiszarDivergence, f_divergence
from octavo.info.binary_experiments.generators import GENERATORS

NAMES = sorted(GENERATORS)
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
each_name = pytest.mark.parametrize("name", NAMES)


def by_hand(name, p, q):
    """The sums that define each divergence, written without f."""
    m = 0.5 * (p + q)
    return {
        "variational": np.abs(p - q).sum(),
        "kl": rel_entr(p, q).sum(),
        "reverse_kl": rel_entr(q, p).sum(),
        "triangular": ((p - q) ** 2 / (p + q)).sum(),
        "jensen_shannon": jensenshannon(p, q) ** 2,
        "arithmetic_geometric": 0.5 * (rel_entr(m, p) + rel_entr(m, q)).sum(),
        "jeffreys": ((p - q) * np.log(p / q)).sum(),
        "hellinger": ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
        "pearson": ((p - q) ** 2 / q).sum(),
        "neyman": ((p - q) ** 2 / p).sum(),
        "symmetric_chi2": ((p - q) ** 2 * (1 / p + 1 / q)).sum(),
    }[name]


def information(pi, p, q):
    return min(pi, 1 - pi) - np.minimum(pi * p, (1 - pi) * q).sum()


def by_weight(divergence, p, q):
    """Eq. (27): the integral of the statistical information against γ, between its kinks."""
    ends = np.unique(np.concatenate([[0.0, 0.5, 1.0], q / (p + q)]))
    total = sum(mass * information(place, p, q) for place, mass in divergence.atoms)
    for low, high in pairwise(ends):
        total += quad(
            lambda x: information(x, p, q) * float(divergence.gamma(x)),
            low + 1e-15,
            high - 1e-15,
            epsabs=1e-13,
            epsrel=1e-12,
        )[0]
    return total


@each_name
def test_values_equal_the_sums_and_the_weighted_integrals(name):
    rng = np.random.default_rng(0)
    for p, q in [(P, Q), *(rng.dirichlet(np.ones(4), size=2) for _ in range(3))]:
        divergence = CsiszarDivergence.from_name(name)
        expected = by_hand(name, p, q)
        assert divergence.value(p, q) == pytest.approx(expected, rel=1e-12)
        assert f_divergence(p, q, name) == divergence.value(p, q)
        assert by_weight(divergence, p, q) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@each_name
def test_weight_and_function_lead_to_each_other(name):
    known = CsiszarDivergence.from_name(name)
    from_weight = CsiszarDivergence.from_weight(known.gamma, known.atoms)
    from_f = CsiszarDivergence.from_f(known.f)
    for made in (from_weight, from_f):
        assert made.value(P, Q) == pytest.approx(known.value(P, Q), rel=1e-10)
        assert made.at_zero + made.slope == pytest.approx(known.at_zero + known.slope, rel=1e-8)
    pi = np.array([0.1, 0.35, 0.8])
    if not known.atoms:  # a kink is not seen by differences, as the docstring says
        np.testing.assert_allclose(from_f.gamma(pi), known.gamma(pi), rtol=1e-9)
    t = np.array([0.3, 0.9, 2.5])
    h = 1e-6
    np.testing.assert_allclose(
        known.df(t), (known.f(t + h) - known.f(t - h)) / (2 * h), rtol=1e-7, atol=1e-8
    )


@each_name
def test_conjugate_is_the_supremum(name):
    divergence = CsiszarDivergence.from_name(name)
    numeric = CsiszarDivergence(
        divergence._f, divergence._df, divergence._gamma,
        at_zero=divergence.at_zero, slope=divergence.slope,
    )  # fmt: skip
    s = np.array([-4.0, -2.5, -0.7, -0.1, 0.0, 0.2, 0.3, 1.5])
    t = np.exp(np.linspace(-25, 25, 400_001))
    with np.errstate(all="ignore"):
        brute = np.max(s[:, None] * t - divergence.f(t), axis=1)
    brute = np.maximum(brute, -divergence.at_zero)
    finite = s < divergence.slope
    np.testing.assert_allclose(divergence.conjugate(s)[finite], brute[finite], atol=1e-6)
    assert np.isinf(divergence.conjugate(s)[s > divergence.slope]).all()
    np.testing.assert_allclose(numeric.conjugate(s)[finite], brute[finite], atol=1e-6)
    searched = CsiszarDivergence.from_f(divergence.f)
    np.testing.assert_allclose(searched.conjugate(s)[finite], brute[finite], atol=1e-6)


@each_name
def test_dual_exchanges_the_distributions(name):
    divergence = CsiszarDivergence.from_name(name)
    dual = divergence.dual()
    assert dual.value(Q, P) == pytest.approx(divergence.value(P, Q), rel=1e-12)
    t = np.array([0.2, 0.5, 3.0])
    np.testing.assert_allclose(dual.f(t), t * divergence.f(1 / t), atol=1e-12)
    np.testing.assert_allclose(dual.gamma(t / 4), divergence.gamma(1 - t / 4), rtol=1e-12)
    symmetric = abs(divergence.value(P, Q) - divergence.value(Q, P)) < 1e-12
    assert divergence.is_symmetric == symmetric


@given(st.integers(0, 2**31 - 1), st.sampled_from(NAMES))
@settings(max_examples=60, deadline=None)
def test_merging_outcomes_never_raises_a_divergence(seed, name):
    p, q = np.random.default_rng(seed).dirichlet(np.full(5, 0.5), size=2)
    merged = [np.append(v[:3], v[3:].sum()) for v in (p, q)]
    assert f_divergence(*merged, name) <= f_divergence(p, q, name) * (1 + 1e-12) + 1e-15


def test_primitive_is_the_statistical_information_for_zero_one_loss():
    for pi in (0.2, 0.5, 0.7):
        primitive = CsiszarDivergence.primitive(pi)
        assert primitive.value(P, Q) == pytest.approx(information(pi, P, Q), abs=1e-15)
        assert primitive.dual().value(Q, P) == pytest.approx(information(pi, P, Q), abs=1e-15)
    assert 4 * information(0.5, P, Q) == pytest.approx(np.abs(P - Q).sum(), rel=1e-14)


def test_conic_combinations_and_named_sums():
    kl, reverse = (CsiszarDivergence.from_name(n) for n in ("kl", "reverse_kl"))
    both = kl + reverse
    assert both.value(P, Q) == pytest.approx(f_divergence(P, Q, "jeffreys"), rel=1e-13)
    assert both.is_symmetric
    assert (2.5 * kl).value(P, Q) == pytest.approx(2.5 * kl.value(P, Q), rel=1e-14)
    assert (2.5 * kl).dual().value(Q, P) == pytest.approx(2.5 * kl.value(P, Q), rel=1e-14)
    assert both.dual().value(Q, P) == pytest.approx(both.value(P, Q), rel=1e-13)
    np.testing.assert_allclose((2.5 * kl).gamma([0.2, 0.7]), 2.5 * kl.gamma([0.2, 0.7]))
    s = np.array([-1.0, 0.5])
    np.testing.assert_allclose((2.5 * kl).conjugate(s), 2.5 * np.exp(s / 2.5 - 1), rtol=1e-13)
    with pytest.raises(ValueError, match="positive"):
        -1.0 * kl


def test_truncated_weights_cut_the_integral():
    kl = CsiszarDivergence.from_name("kl")
    for eps in (0.3, 0.1, 1e-3):
        cut = kl.truncated(eps)
        expected = quad(
            lambda x: information(x, P, Q) / (x * x * (1 - x)),
            eps, 1 - eps, points=[0.5, *(Q / (P + Q))], epsabs=1e-12,
        )[0]  # fmt: skip
        assert cut.value(P, Q) == pytest.approx(expected, abs=1e-9)
        disjoint = cut.value([1.0, 0.0], [0.0, 1.0])
        assert np.isfinite(disjoint)
        assert disjoint == pytest.approx(cut.at_zero + cut.slope)
    # the paper's own f for KL_ε (footnote 19), tangents outside
    t, eps = np.array([0.01, 0.5, 40.0]), 0.1
    low, high = eps / (1 - eps), (1 - eps) / eps
    printed = np.where(
        t < low, t * (np.log(low) + 1) - low,
        np.where(t <= high, t * np.log(t), t * (np.log(high) + 1) - high),
    )  # fmt: skip
    np.testing.assert_allclose(kl.truncated(eps).f(t), printed, atol=1e-13)


def test_zero_probabilities_give_limits_and_never_nan():
    p, q = [0.5, 0.5, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]
    finite = {
        "variational": 1.0,
        "triangular": 1.0,
        "jensen_shannon": 0.5 * np.log(2),
        "hellinger": 1.0,
    }
    for name in NAMES:
        assert f_divergence(p, q, name) == pytest.approx(finite.get(name, np.inf))
    assert f_divergence([1.0, 0.0], [0.5, 0.5], "kl") == pytest.approx(np.log(2))
    assert f_divergence([0.5, 0.5], [1.0, 0.0], "kl") == np.inf
    assert f_divergence([0.5, 0.5], [1.0, 0.0], "reverse_kl") == pytest.approx(np.log(2))
    assert f_divergence([1e-300, 1 - 1e-300], [1 - 1e-300, 1e-300], "kl") > 600


def test_gaussian_pairs_on_a_fine_grid():
    x = np.linspace(-12, 13, 50_001)
    for mu in (0.5, 1.5):
        p, q = (np.exp(-0.5 * (x - c) ** 2) for c in (mu, 0.0))
        p, q = p / p.sum(), q / q.sum()
        assert f_divergence(p, q, "kl") == pytest.approx(mu**2 / 2, rel=1e-6)
        assert f_divergence(p, q, "hellinger") == pytest.approx(
            2 - 2 * np.exp(-(mu**2) / 8), rel=1e-6
        )
        assert f_divergence(p, q, "pearson") == pytest.approx(np.exp(mu**2) - 1, rel=1e-6)


def test_weights_with_jumps_need_their_places():
    box = CsiszarDivergence.from_weight(
        lambda x: np.where((x > 0.2) & (x < 0.7), 1.0, 0.0), breaks=[0.2, 0.7]
    )
    expected = quad(lambda x: information(x, P, Q), 0.2, 0.7, points=[0.5, *(Q / (P + Q))])[0]
    assert box.value(P, Q) == pytest.approx(expected, abs=1e-10)
    assert box.dual().value(Q, P) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: f_divergence([0.5, 0.6], [0.5, 0.5]), "sum to one"),
        (lambda: f_divergence([1.5, -0.5], [0.5, 0.5]), "probabilities"),
        (lambda: f_divergence([1.0], [0.5, 0.5]), "same outcomes"),
        (lambda: f_divergence([np.nan, 1.0], [0.5, 0.5]), "NaN"),
        (lambda: CsiszarDivergence.from_f(np.sqrt), "convex"),
        (lambda: CsiszarDivergence.from_f(lambda t: t**2, lambda t: -t), "convex"),
        (lambda: CsiszarDivergence.from_weight(lambda x: x - 0.5), "not negative"),
        (lambda: CsiszarDivergence.from_weight(lambda x: x, atoms=[(2.0, 1.0)]), "atom"),
        (lambda: CsiszarDivergence.primitive(1.0), "between 0 and 1"),
        (lambda: CsiszarDivergence.from_name("kl").truncated(0.5), "eps"),
        (lambda: CsiszarDivergence.from_name("kl").f(-1.0), "at least 0"),
        (lambda: CsiszarDivergence.from_name("kl").gamma(0.0), "between 0 and 1"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def square_of_difference(t):
    return (t - 1) ** 2


def test_divergences_are_pickled_by_how_they_were_made():
    kl = CsiszarDivergence.from_name("kl")
    made = [kl, kl.truncated(0.1), 2.0 * kl + CsiszarDivergence.primitive(0.3)]
    made.append(CsiszarDivergence.from_f(square_of_difference))
    made.append(CsiszarDivergence.from_weight(np.ones_like, breaks=[0.4]))
    for divergence in made:
        again = pickle.loads(pickle.dumps(divergence))
        assert again.value(P, Q) == divergence.value(P, Q)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(kl.tilted(1.0))


def test_unknown_names_are_suggested():
    with pytest.raises(UnknownNameError, match="hellinger"):
        f_divergence(P, Q, "helinger")
