"""Regularised posteriors against a cone program, and what optimality says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from octavo.structured import DMV, L1LinfPosteriorRegularizer, SparseTagHMM
from octavo.structured.grammars.corpus import encode
from octavo.structured.grammars.learning import edge_features, project_trees
from tests.structured.grammars.enumeration import posteriors, projective_trees


def table_problem(seed, n=25, m=10, n_groups=4):
    random = np.random.default_rng(seed)
    p, phi = random.dirichlet(np.ones(n)), random.integers(0, 2, size=(m, n)).astype(float)
    groups = random.permutation(np.arange(m) % n_groups)

    def log_partition(lam):
        weight = p * np.exp(-lam @ phi)
        return math.log(weight.sum()), phi @ weight / weight.sum()

    return p, phi, groups, log_partition


def cone_program(p, phi, groups, sigma=None, bound=None):
    cp = pytest.importorskip("cvxpy")
    q = cp.Variable(p.size)
    largest = sum(cp.max(phi[groups == g] @ q) for g in np.unique(groups))
    rules, price = [cp.sum(q) == 1], cp.sum(cp.kl_div(q, p))
    if bound is not None:
        rules.append(largest <= bound)
    else:
        price = price + sigma * largest
    program = cp.Problem(cp.Minimize(price), rules)
    program.solve(solver="CLARABEL")
    return program.value


@pytest.mark.parametrize("sigma", [0.3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_equals_a_cone_program(seed, sigma):
    p, phi, groups, log_partition = table_problem(seed)
    found = L1LinfPosteriorRegularizer(sigma, tol=1e-11).project(log_partition, groups)
    assert abs(found.value - cone_program(p, phi, groups, sigma)) < 1e-6
    assert 0.0 <= found.gap <= 1e-11 * max(1.0, found.value)
    # complementary slackness: dual numbers only where the expectation is the group's largest
    for g in range(4):
        mine = groups == g
        assert found.lam[mine].sum() <= sigma + 1e-12
        assert found.lam.min() >= 0.0
        top = found.expectations[mine].max()
        assert (found.lam[mine] * (top - found.expectations[mine])).max() < 1e-6
        assert (sigma - found.lam[mine].sum()) * top < 1e-6


def test_constraint_form_equals_a_cone_program():
    p, phi, groups, log_partition = table_problem(5)
    free = L1LinfPosteriorRegularizer(0.0).project(log_partition, groups)
    largest = sum(free.expectations[groups == g].max() for g in range(4))
    bound = 0.8 * largest
    found = L1LinfPosteriorRegularizer(1.0, tol=1e-11, max_iter=2000).constrain(
        log_partition, groups, bound
    )
    assert abs(found.value - cone_program(p, phi, groups, bound=bound)) < 1e-5
    loose = L1LinfPosteriorRegularizer(1.0).constrain(log_partition, groups, 2 * largest)
    assert loose.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
def test_trees_equal_a_cone_program(symmetric):
    """Two sentences whose trees are all written out; q is a product over sentences at optimum."""
    cp = pytest.importorskip("cvxpy")
    model = DMV(init="random", n_iter=0, random_state=3).fit([[0, 1]])
    sentences, sigma = [[0, 1, 1], [1, 0]], 0.8
    variables, apart, kinds = [], 0, {}
    for s, x in enumerate(sentences):
        trees, chance = projective_trees(len(x)), posteriors(model, x)[2]
        q = cp.Variable(len(trees))
        variables.append(q)
        apart += cp.sum(cp.kl_div(q, chance))
        for c in range(len(x)):
            for h in range(len(x) + 1):
                parent = -1 if h == 0 else x[h - 1]
                name = (s, c, h if symmetric else parent)
                has = np.array([heads[c] == h for heads in trees], dtype=float)
                if has.any():
                    mine = kinds.setdefault((x[c], parent), {})
                    mine[name] = mine.get(name, 0) + has @ q
    largest = sum(cp.max(cp.hstack(list(each.values()))) for each in kinds.values())
    program = cp.Problem(cp.Minimize(apart + sigma * largest), [cp.sum(q) == 1 for q in variables])
    program.solve(solver="CLARABEL")
    corpus, _ = encode(sentences)
    features = edge_features(corpus, symmetric)
    found, _ = project_trees(
        model._grammar,
        corpus,
        features,
        sigma,
        np.zeros(features.size),
        tol=1e-12,
        max_iter=500,
        n_jobs=None,
    )
    assert abs(found.value - program.value) < 1e-6
    assert found.gap < 1e-11


def test_chains_equal_a_cone_program():
    """The second user: with one word per sentence the posteriors are coins with known chances."""
    words = [["a"], ["a"], ["b"]]
    model = SparseTagHMM(2, sigma=0.0, n_iter=0, random_state=0).fit(words)
    plain = SparseTagHMM(2, sigma=0.0, n_iter=8, random_state=0).fit(words)
    assert plain.lower_bound_ == pytest.approx(plain.score_samples(words).sum(), abs=1e-10)
    chance = [model.predict_proba([w])[0][0] for w in words]
    cp = pytest.importorskip("cvxpy")
    q = cp.Variable((3, 2))
    largest = sum(cp.max(q[:2, k]) + q[2, k] for k in range(2))
    apart = cp.sum(cp.kl_div(q, np.array(chance)))
    program = cp.Problem(cp.Minimize(apart + 0.5 * largest), [cp.sum(q, axis=1) == 1])
    program.solve(solver="CLARABEL")
    sparse = SparseTagHMM(2, sigma=0.5, n_iter=0, random_state=0).fit(words)
    loglik = model.score_samples(words).sum()
    assert abs(sparse.lower_bound_ - (loglik - program.value)) < 1e-6 * program.value


def test_chain_bounds_never_fall():
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 6, size=rng.integers(1, 8)).tolist() for _ in range(40)]
    for sigma in (0.0, 1.0, 20.0):
        model = SparseTagHMM(3, sigma=sigma, n_iter=20, random_state=0).fit(words)
        assert np.diff(model.lower_bounds_).min() >= -1e-9
    with pytest.raises(ValueError, match="Words 9"):
        model.predict([[0, 9]])


@pytest.mark.parametrize(
    ("options", "groups", "words"),
    [
        ({"sigma": -1.0}, [0, 0], "sigma"),
        ({"sigma": np.inf}, [0, 0], "sigma"),
        ({"sigma": 1.0}, [], "at least one feature"),
        ({"sigma": 1.0}, [0, -1], "from zero on"),
        ({"sigma": 1.0}, [0.5, 1.0], "number of each feature"),
        ({"sigma": 1.0}, [0, 0, 1], "one expectation for each"),
    ],
)
def test_bad_input(options, groups, words):
    with pytest.raises(ValueError, match=words):
        L1LinfPosteriorRegularizer(**options).project(lambda lam: (0.0, np.zeros(2)), groups)


def test_bad_functions():
    with pytest.raises(TypeError, match="log_partition"):
        L1LinfPosteriorRegularizer(1.0).project(3, [0])
    with pytest.raises(ValueError, match="not finite"):
        L1LinfPosteriorRegularizer(1.0).project(lambda lam: (-np.inf, np.zeros(1)), [0])
    with pytest.raises(ValueError, match="must return"):
        L1LinfPosteriorRegularizer(1.0).project(lambda lam: 0.0, [0])
    with pytest.raises(ValueError, match="positive bound"):
        L1LinfPosteriorRegularizer(1.0).constrain(lambda lam: (0.0, np.zeros(1)), [0], -1.0)
