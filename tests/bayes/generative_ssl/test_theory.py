"""Divergences, bounds and variances: the paper's theorems on tables, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from octavo.bayes import (
    SemiSupervisedGenerativeClassifier,
    bias_bounds,
    kl_decomposition,
    semi_supervised_kl,
    semi_supervised_study,
    unlabelled_value,
)
from octavo.engine.estimators.sound import NotFiniteWarning


def naive_table(theta, shape=(3, 3)):
    """Two classes, two features of three values that are independent given the class."""
    prior = np.array([1.0, np.exp(theta[0])])
    prior /= prior.sum()
    table = np.empty((9, 2))
    for k in (0, 1):
        a, b = (np.exp(np.r_[0.0, theta[1 + 4 * k + 2 * j : 3 + 4 * k + 2 * j]]) for j in (0, 1))
        table[:, k] = prior[k] * np.outer(a / a.sum(), b / b.sum()).ravel()
    return table


def fitted(P, score, rng, n_starts=4):
    """Return the table of the family that minimises a score of divergences."""
    runs = [
        minimize(lambda t: score(kl_decomposition(P, naive_table(t), 0.0)), start, tol=1e-9)
        for start in rng.standard_normal((n_starts, 9))
    ]
    return naive_table(min(runs, key=lambda run: run.fun).x)


def test_decomposition_is_that_of_sums():
    rng = np.random.RandomState(0)
    P, Q = rng.dirichlet(np.ones(12), 2).reshape(2, 4, 3)
    found = kl_decomposition(P, Q, 0.3)
    p, q = P.sum(1), Q.sum(1)
    joint, marginal = (P * np.log(P / Q)).sum(), (p * np.log(p / q)).sum()
    assert found.joint == pytest.approx(joint)
    assert found.marginal == pytest.approx(marginal)
    assert found.conditional == pytest.approx(joint - marginal)
    assert found.semi_supervised == pytest.approx(0.7 * joint + 0.3 * marginal)
    assert found.semi_supervised <= joint <= found.semi_supervised / 0.7  # Theorem 5


def test_sampled_divergences_approach_those_of_the_table():
    rng = np.random.RandomState(1)
    P, Q = rng.dirichlet(np.ones(6), 2).reshape(2, 3, 2)
    n = 200_000
    draws = rng.choice(6, n, p=P.ravel())
    x, y = np.divmod(draws, 2)
    found = semi_supervised_kl(np.log(P)[x], np.log(Q)[x], y, 0.4)
    exact = kl_decomposition(P, Q, 0.4)
    spread = np.std(np.log(P / Q).ravel()[draws]) / np.sqrt(n)
    for a, b in zip(found, exact, strict=True):
        assert abs(a - b) < 6 * spread


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.slow
def test_theorems_7_to_9_on_a_table(seed):
    rng = np.random.RandomState(seed)
    P = rng.dirichlet(np.ones(18) * 0.7).reshape(9, 2)
    best = kl_decomposition(P, fitted(P, lambda d: d.joint, rng), 0.0).joint
    lone = [fitted(P, lambda d: d.marginal + 1e-7 * d.joint, rng)]
    unsupervised = kl_decomposition(P, lone[0], 0.0).joint
    joints, conditionals = [], []
    for share in (0.0, 0.5, 0.9):
        table = fitted(P, lambda d, s=share: (1 - s) * d.joint + s * d.marginal, rng)
        found = kl_decomposition(P, table, share)
        joints.append(found.joint)
        conditionals.append(found.conditional)
        lower, upper = bias_bounds(best, share, unsupervised)
        assert lower - 1e-7 <= found.joint <= upper + 1e-6
    assert np.diff(joints).min() > -1e-6  # Theorem 8
    assert np.diff(conditionals).min() > -1e-6


def test_expected_unbiased_objective_has_the_supervised_optimum():
    rng = np.random.RandomState(5)
    P = rng.dirichlet(np.ones(18)).reshape(9, 2)
    p, share = P.sum(1), 0.1

    def minus_expected(theta):  # Eq. (20) over N, with exact expectations
        Q = naive_table(theta)
        q = Q.sum(1)
        labelled = share * (P * np.log(Q / q[:, None])).sum()
        return -(labelled + share * (p * np.log(q)).sum())

    runs = [minimize(minus_expected, s, tol=1e-9) for s in rng.standard_normal((4, 9))]
    found = naive_table(min(runs, key=lambda run: run.fun).x)
    best = fitted(P, lambda d: d.joint, rng)
    assert kl_decomposition(P, found, 0.0).joint == pytest.approx(
        kl_decomposition(P, best, 0.0).joint, abs=1e-6
    )


def test_unbiased_fit_approaches_the_fit_with_all_labels():
    rng = np.random.RandomState(0)
    n = 40_000
    truth = rng.randint(0, 2, n)
    # Each class has two heaps: one Gaussian each is wrong, and EM would rather swap heaps.
    side = rng.uniform(size=n) < 0.25
    X = rng.standard_normal((n, 1)) + np.where(truth == 1, 2.5, -2.5)[:, None]
    X[side, 0] += np.where(truth[side] == 1, -5.0, 5.0) * 1.5
    y = np.where(rng.uniform(size=n) < 0.1, truth, -1)
    whole = SemiSupervisedGenerativeClassifier(objective="labelled").fit(X, truth)
    mine = SemiSupervisedGenerativeClassifier(n_init=0, random_state=0).fit(X, y)
    theirs = SemiSupervisedGenerativeClassifier(objective="ml", n_init=0, random_state=0).fit(X, y)
    off = [np.abs(fit.means_ - whole.means_).max() for fit in (mine, theirs)]
    assert off[0] < 0.35
    assert off[1] > 2 * off[0]


def test_variance_of_eq_27_is_that_of_simulated_data_sets():
    rng = np.random.RandomState(2)
    truth = rng.randint(0, 2, 20_000)
    X = rng.standard_gamma(2.0, (20_000, 1)) + 1.5 * truth[:, None]
    model = SemiSupervisedGenerativeClassifier(objective="labelled").fit(X, truth)
    found = unlabelled_value(model, X, truth, 60_000, random_state=0)
    given = -model.predict_log_proba(X)[np.arange(20_000), truth]
    density = -model.log_density(X)
    picks = rng.randint(0, 20_000, (10_000, 80))  # 20 labelled rows among 80
    values = given[picks[:, :20]].mean(axis=1) + density[picks].mean(axis=1)
    # The value is for n = 20,000 labelled among 80,000: a thousand times as many.
    assert values.var() / 1000 == pytest.approx(found.variance_with, rel=0.1)
    assert found.interval[0] < found.margin < found.interval[1]
    assert found.helps == (found.variance_with < found.variance_without)


def test_bounds_and_tables_refuse_what_they_cannot_use():
    assert bias_bounds(0.1, 0.0) == (0.1, 0.1)
    assert bias_bounds(0.1, 0.9, 0.3) == (0.1, 0.3)
    with pytest.warns(NotFiniteWarning):
        assert bias_bounds(0.1, 1.0)[1] == np.inf
    for bad in ((-0.1, 0.5), (0.1, 1.5), (np.nan, 0.5)):
        with pytest.raises(ValueError, match=r"must be"):
            bias_bounds(*bad)
    with pytest.raises(ValueError, match="at least d_star"):
        bias_bounds(0.2, 0.5, 0.1)
    with pytest.raises(ValueError, match="sum to one"):
        kl_decomposition([[0.5, 0.6]], [[0.5, 0.5]], 0.5)
    with pytest.raises(ValueError, match="same shape"):
        kl_decomposition([[0.5, 0.5]], [[0.5], [0.5]], 0.5)
    with pytest.warns(NotFiniteWarning, match="infinite"):
        assert kl_decomposition([[0.5, 0.5]], [[1.0, 0.0]], 0.5).joint == np.inf


@pytest.mark.slow
def test_study_has_every_cell():
    rng = np.random.RandomState(0)
    y = np.arange(120) % 5
    X = rng.standard_normal((120, 2)) + y[:, None]
    study = semi_supervised_study(
        X,
        y,
        ("unbiased", "labelled", "ml", "MCnll"),
        labelled_fractions=[0.1, 0.2],
        unlabelled_fractions=[0.2, 0.4, 0.8],
        n_repeats=2,
        n_init=0,
        max_iter=15,
        random_state=0,
    )
    assert study.nll.shape == study.error.shape == (4, 2, 3, 2)
    assert np.isfinite(study.nll).all()
    assert np.ptp(study.nll[1], axis=1).max() == 0.0  # labelled rows alone
    assert set(study.improvement()) == {"unbiased", "ml", "MCnll"}
    assert study.improvement("error")["ml"].shape == (2, 3)
    with pytest.raises(ValueError, match="objectives must be among"):
        semi_supervised_study(X, y, ("magic",))
    with pytest.raises(ValueError, match="add up"):
        semi_supervised_study(X, y, labelled_fractions=[0.4])
