"""MinlipL1 against cvxpy; sparse truths; bad input."""

import numpy as np
import pytest

from octavo.survival import MinlipL1, MinlipRanker
from tests.survival.minlip.programs import nearest_pairs, sample


def l1_program(X, lower, upper, C):
    cp = pytest.importorskip("cvxpy")
    n, d = X.shape
    w, e = cp.Variable(d), cp.Variable(n)
    a = X @ w + e
    later, earlier = np.array(nearest_pairs(lower, upper)).T
    problem = cp.Problem(
        cp.Minimize(cp.norm1(w) + C * cp.norm1(e)),
        [a[later] - a[earlier] >= lower[later] - upper[earlier]],
    )
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("kind", ["exact", "right", "mixed"])
@pytest.mark.parametrize("ties", [False, True])
def test_objective_equals_the_program(kind, ties):
    X, lower, upper = sample(40, d=6, kind=kind, ties=ties)
    for C in (0.05, 0.5):
        model = MinlipL1(C=C, time_scale=None).fit(X, np.column_stack([lower, upper]))
        assert model.objective_ == pytest.approx(l1_program(X, lower, upper, C), abs=1e-6)
        assert 0 <= model.duality_gap_ < 1e-7


def test_few_relevant_features_are_found_and_rank_better_than_with_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 100))
    y = X[:, 0] + 2 * X[:, 1] - X[:, 2]
    sparse = MinlipL1(C=1.0, task="ranking").fit(X[:75], y[:75])
    dense = MinlipRanker(C=1.0).fit(X[:75], y[:75])
    assert {0, 1, 2} <= set(sparse.selected_.tolist())
    assert len(sparse.selected_) < 40
    assert sparse.score(X[75:], y[75:]) > dense.score(X[75:], y[75:])
    assert np.corrcoef(sparse.predict(X[75:]), y[75:])[0, 1] > 0.9


def test_tasks_and_bad_input():
    X, lower, upper = sample(40)
    y = np.column_stack([lower, upper])
    model = MinlipL1().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), -model.predict_utility(X))
    curves = model.predict_survival_function(X[:3], [0.5, 1.0, 2.0])
    assert curves.shape == (3, 3)
    assert (np.diff(curves, axis=1) <= 0).all()
    ranking = MinlipL1(task="ranking").fit(X, lower)
    with pytest.raises(ValueError, match="no survival curves"):
        ranking.predict_survival_function(X)
    with pytest.raises(ValueError, match="set C"):
        MinlipL1(C=None, task="ranking").fit(np.ones((3, 1)), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="comparable"):
        MinlipL1().fit(X, np.column_stack([lower, np.full(40, np.inf)]))
