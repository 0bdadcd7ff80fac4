"""The three forms of the evidence, its derivatives, and solvers that must agree."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from octavo.kernel import ard_orthogonal, group_lasso_kkt, pard_kkt
from octavo.kernel.group_ard.evidence import GramEvidence, KernelEvidence, WideEvidence
from octavo.kernel.group_ard.grouping import as_groups
from octavo.kernel.group_ard.objectives import VarianceObjective, duality_gap, linear_evidence
from octavo.kernel.group_ard.solvers import SOLVERS, equal_variance, minimize_variances, starts

GROUPS = [[0, 3], [1, 2, 6], [4], [5, 7]]


def problem(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    theta = np.array([2.0, 0.0, 0.0, -1.0, 0.0, 1.5, 0.0, 1.0])
    return X, X @ theta + rng.normal(size=n)


def forms(X, y, groups=GROUPS):
    columns = as_groups(groups, X.shape[1])
    kernels = np.array([X[:, g] @ X[:, g].T for g in columns])
    return {
        "gram": GramEvidence(X.T @ X, X.T @ y, float(y @ y), len(y), columns),
        "wide": WideEvidence(X, y, columns),
        "kernel": KernelEvidence(kernels, y),
    }


LAM = np.array([0.7, 0.0, 1.9, 0.2])


@pytest.mark.parametrize("n", [5, 12])
@pytest.mark.parametrize("form", ["gram", "wide", "kernel"])
def test_value_is_scipys_normal_density(form, n):
    X, y = problem(n)
    Sigma = 0.8 * np.eye(n)
    for lam, columns in zip(LAM, GROUPS):
        Sigma += lam * X[:, columns] @ X[:, columns].T
    at = forms(X, y)[form].factored(LAM, 0.8)
    density = -at.half_logdet - 0.5 * at.fit - 0.5 * n * np.log(2 * np.pi)
    exact = multivariate_normal(np.zeros(n), Sigma).logpdf(y)
    assert density == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("free_noise", [False, True])
@pytest.mark.parametrize("logdet", [False, True])
@pytest.mark.parametrize("n", [5, 12])
@pytest.mark.parametrize("form", ["gram", "wide", "kernel"])
def test_derivatives_are_differences(form, n, logdet, free_noise):
    X, y = problem(n)
    objective = VarianceObjective(forms(X, y)[form], 0.3, 0.5, logdet=logdet, free_noise=free_noise)
    x = objective.joined(np.array([0.7, 0.4, 1.9, 0.2]), 0.8)

    def gradient(x):
        return objective.slopes(objective.value(x)[2])[0]

    numeric = approx_fprime(x, lambda x: objective.value(x)[0], 1e-7)
    np.testing.assert_allclose(gradient(x), numeric, rtol=1e-4, atol=1e-5)
    hessian, bound = objective.curvature(objective.value(x)[2], np.arange(len(x)))
    numeric = np.array(
        [approx_fprime(x, lambda x, i=i: gradient(x)[i], 1e-7) for i in range(len(x))]
    )
    np.testing.assert_allclose(hessian, numeric, rtol=1e-4, atol=1e-4)
    assert np.linalg.eigvalsh(bound)[0] > -1e-10


@pytest.mark.parametrize("n", [5, 12])
def test_forms_agree_where_some_variances_are_zero(n):
    X, y = problem(n)
    which = np.array([0, 1, 2, 3])
    answers = []
    for evidence in forms(X, y).values():
        at = evidence.factored(LAM, 0.8)
        slopes = evidence.slopes(at)
        answers.append((slopes.traces, slopes.energies, *evidence.curvature(at, slopes, which)))
    for other in answers[1:]:
        for ours, theirs in zip(answers[0], other):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.4, 30.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_orthogonal_designs_have_closed_forms(solver, gamma):
    rng = np.random.default_rng(5)
    n, widths, sigma2 = 40, [3, 2, 4, 1], 2.0
    X = np.sqrt(n) * np.linalg.qr(rng.normal(size=(n, 10)))[0]
    y = X[:, :3] @ [1.0, -2.0, 0.5] + X[:, 9] + np.sqrt(sigma2) * rng.normal(size=n)
    groups = as_groups(np.repeat(np.arange(4), widths), 10)
    evidence = linear_evidence(X, y, groups)
    found = minimize_variances(
        VarianceObjective(evidence, gamma, sigma2),
        np.full(4, 0.5),
        sigma2,
        solver=solver,
        tol=1e-12,
    )
    norms = [np.linalg.norm(X[:, g].T @ y) / n for g in groups]
    exact = ard_orthogonal(norms, widths, n, sigma2, gamma)
    np.testing.assert_allclose(found.lam, exact, rtol=1e-8, atol=1e-12)
    assert ((found.lam == 0) == (exact == 0)).all()


@pytest.mark.parametrize("solver", ["lbfgs", "fixed_point", "newton"])
def test_orthogonal_group_lasso_has_a_closed_form(solver):
    rng = np.random.default_rng(6)
    n, sigma2, gamma = 30, 1.5, 60.0
    X = np.sqrt(n) * np.linalg.qr(rng.normal(size=(n, 8)))[0]
    y = X[:, :2] @ [1.0, -1.0] + np.sqrt(sigma2) * rng.normal(size=n)
    groups = as_groups(np.repeat(np.arange(4), 2), 8)
    objective = VarianceObjective(linear_evidence(X, y, groups), gamma, sigma2, logdet=False)
    found = minimize_variances(objective, np.full(4, 0.5), sigma2, solver=solver, tol=1e-12)
    norms = [np.linalg.norm(X[:, g].T @ y) / n for g in groups]
    exact = ard_orthogonal(norms, 2, n, sigma2, gamma, method="group-lasso")
    assert 0 < (exact == 0).sum() < 4
    np.testing.assert_allclose(found.lam, exact, rtol=1e-8, atol=1e-12)
    assert duality_gap(objective, found.point, found.value) < 1e-10


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_solvers_agree_and_are_stationary(gamma, n):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 40))
    y = X[:, :4] @ [3.0, -2.0, 1.0, 1.0] + rng.normal(size=n)
    groups = np.repeat(np.arange(10), 4)
    evidence = linear_evidence(X, y, as_groups(groups, 40))
    kappa = equal_variance(evidence, 1.0)
    values = []
    for solver in SOLVERS:
        found = minimize_variances(
            VarianceObjective(evidence, gamma, 1.0), np.full(10, kappa), 1.0, solver=solver
        )
        assert found.converged
        assert pard_kkt(found.lam, X, y, groups, 1.0, gamma) < 1e-6
        assert np.diff(found.values).max() < 1e-9, "an objective rises"
        values.append(found.value)
    np.testing.assert_allclose(values, values[0], rtol=1e-10)


def test_free_noise_is_at_least_as_good_as_any_fixed_one():
    X, y = problem(40)
    evidence = forms(X, y)["gram"]
    free = VarianceObjective(evidence, 0.1, 1e-6, free_noise=True)
    best = minimize_variances(free, np.ones(4), 1.0, solver="newton", tol=1e-10)
    assert best.converged
    for sigma2 in best.sigma2 * np.array([0.8, 0.99, 1.0, 1.01, 1.3]):
        fixed = minimize_variances(VarianceObjective(evidence, 0.1, sigma2), np.ones(4), sigma2)
        assert best.value <= fixed.value + 1e-10
    assert best.value == pytest.approx(
        minimize_variances(VarianceObjective(evidence, 0.1, best.sigma2), best.lam, 1.0).value
    )


def test_kappa_is_the_best_of_equal_variances():
    X, y = problem(30)
    evidence = forms(X, y)["gram"]
    kappa = equal_variance(evidence, 1.0)

    def value(k):
        at = evidence.factored(np.full(4, k), 1.0)
        return at.half_logdet + 0.5 * at.fit

    assert all(value(kappa) <= value(kappa * factor) for factor in (0.5, 0.99, 1.01, 2.0))


def test_more_starts_are_never_worse():
    X, y = problem(10, seed=3)
    evidence = forms(X, y)["gram"]
    objective = VarianceObjective(evidence, 0.0, 0.05)
    values = [
        minimize_variances(objective, start, 0.05).value
        for start in starts(objective, equal_variance(evidence, 0.05), 0.05, 5)
    ]
    assert len(values) == 5
    assert min(values) <= values[0]


def test_paper_example_with_two_groups_of_one():
    """Equations (15), its second bracket with δ² instead of δ, and (16)."""
    delta, sigma2, y = 0.5, 0.5, np.array([0.4, 1.3])
    X = np.array([[1.0, 0.0], [delta, 1.0]])
    for gamma in (0.2, 0.7, 2.0, 5.0):
        second = max((-1 + np.sqrt(1 + 8 * gamma * y[1] ** 2)) / (4 * gamma) - sigma2, 0.0)
        pull = (y[0] / sigma2 + delta * y[1] / (sigma2 + second)) ** 2
        growth = 1 / sigma2 + delta**2 / (sigma2 + second)
        excess = max(0.5 * (pull - growth) - gamma, 0.0)
        ours = pard_kkt([0.0, second], X, y, None, sigma2, gamma)
        # the second slope is zero by construction, the first violates by the excess
        assert ours == pytest.approx(excess, abs=1e-12)
        lasso = max(abs(y[1]) / np.sqrt(2 * gamma) - sigma2, 0.0)
        pull = (y[0] / sigma2 + delta * y[1] / (sigma2 + lasso)) ** 2
        assert group_lasso_kkt([0.0, lasso], X, y, None, sigma2, gamma) == pytest.approx(
            max(0.5 * pull - gamma, 0.0), abs=1e-12
        )


def test_violations_are_positive_elsewhere():
    X, y = problem(20)
    assert pard_kkt([1.0, 1.0, 1.0, 1.0], X, y, GROUPS, 1.0, 0.0) > 0.01
    assert group_lasso_kkt([0.0] * 4, X, y, GROUPS, 1.0, 0.1) > 1.0
    assert group_lasso_kkt([0.0] * 4, X, y, GROUPS, 1.0, 1e9) == 0.0


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([[0, 1], [1, 2]], "must not overlap: column 1 is in groups\\[0\\] and groups\\[1\\]"),
        ([[0, 0], [1, 2]], "column 0 is in groups\\[0\\] twice"),
        ([[0], [2]], "column 1 is in no group"),
        ([[0, 1], [2, 3]], "groups\\[1\\] must hold columns of X, 0 to 2; got 3"),
        ([[0, 1], []], "groups\\[1\\] must be a list of one or more column numbers"),
        ([[0.5, 1], [2]], "groups\\[0\\] must be a list"),
        ([0, 1], "X has 3 columns, got 2 labels"),
        ([0.5, 1.0, 2.0], "must hold whole numbers"),
        ("abc", "groups must be one whole number per column"),
        (3, "groups must be one whole number per column"),
    ],
)
def test_bad_groups_are_named(groups, words):
    with pytest.raises(ValueError, match=words):
        as_groups(groups, 3)


def test_groups_in_every_form():
    assert [g.tolist() for g in as_groups(None, 2)] == [[0], [1]]
    assert [g.tolist() for g in as_groups([7, 3, 7], 3)] == [[1], [0, 2]]
    assert [g.tolist() for g in as_groups([[2, 0], [1]], 3)] == [[0, 2], [1]]
    assert [g.tolist() for g in as_groups([[2, 0], 1], 3)] == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lam": [1.0, 1.0]}, "lam must hold one variance per group, 4"),
        ({"lam": [1.0, -2.0, 1.0, 1.0]}, r"lam\[1\] is -2"),
        ({"sigma2": 0.0}, "sigma2 must be a positive number, got 0.0"),
        ({"gamma": -1.0}, "gamma must be a number of at least 0, got -1.0"),
        ({"y": [1.0]}, "y must hold one value per row"),
    ],
)
def test_bad_input_of_the_conditions_is_named(change, words):
    X, y = problem(12)
    arguments = {"lam": LAM, "X": X, "y": y, "groups": GROUPS, "sigma2": 1.0, "gamma": 0.0}
    with pytest.raises(ValueError, match=words):
        pard_kkt(**arguments | change)
