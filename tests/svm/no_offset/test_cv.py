"""The grid trainer against fits one by one, and its orders and starts against each other."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from octavo.engine.duals.smo import BoxMemory
from octavo.svm import NoOffsetSVC, NoOffsetSVCCV, steinwart_grid
from octavo.svm.no_offset.dual_paths import PathRules, follow_path, parse_warm, visits

TIGHT = {"stopping": "kkt", "tol": 1e-8}
WAYS = [
    ("I0-W0", "descending"), ("I1-W1", "descending"), ("I0-W2", "descending"),
    ("I1-W3", "descending"), ("I1-W4", "descending"), ("I0-W5", "ascending"),
    ("I0-W6", "ascending"), ("I0-W0", "ascending"), ("I0-W4", "hybrid"), ("I1-W3", "hybrid"),
    ("I0-W2", "hybrid"),
]  # fmt: skip


def moons(n=80, seed=0):
    return make_moons(n, noise=0.3, random_state=seed)


def test_grid_is_the_papers():
    alphas, gammas = steinwart_grid(544, 8)
    assert alphas.size == gammas.size == 10
    assert (alphas[0], alphas[-1]) == pytest.approx((1.0, 10 / 544**2))
    assert (gammas[0], gammas[-1]) == pytest.approx((0.1**2, (2 * 544 ** (1 / 8)) ** 2))
    assert np.allclose(alphas[1:] / alphas[:-1], alphas[1] / alphas[0])
    assert np.allclose(gammas[1:] / gammas[:-1], gammas[1] / gammas[0])
    control = steinwart_grid(544, 8, 25, 30, alpha_scale=1e-3, sigma_min=0.005, sigma_scale=20)
    assert (control[0].size, control[1].size) == (25, 30)
    assert control[0][-1] == pytest.approx(1e-3 / 544**2)
    with pytest.raises(ValueError, match="n_alphas must be at least 1, got 0"):
        steinwart_grid(10, 2, 0)


@pytest.mark.parametrize("order", ["descending", "ascending", "hybrid"])
@pytest.mark.parametrize("n_alphas", [1, 2, 5, 10])
def test_every_cell_is_visited_once_after_its_neighbour(order, n_alphas):
    seen = []
    for at, before in visits(n_alphas, order):
        assert at not in seen
        if before >= 0:
            assert before in seen
            assert abs(at - before) == 1
        else:
            assert not seen
        seen.append(at)
    assert sorted(seen) == list(range(n_alphas))


@pytest.mark.parametrize(("warm", "order"), WAYS, ids=lambda way: way)
def test_every_way_along_the_path_ends_at_the_same_solutions(warm, order):
    X, labels = moons()
    y, K = 2.0 * labels - 1, rbf_kernel(X, gamma=1.0)
    weights = np.where(y > 0, 1.0, 0.5)
    weights[:10] = 0.0  # held out
    alphas = np.geomspace(0.5, 1e-3, 6)
    first, rule = parse_warm(warm, order)
    rules = PathRules(first, rule, order, 7, "kkt", 1e-9, -1, 10)
    path = follow_path(K, y, weights, alphas, rules, BoxMemory.new(80))
    assert path.converged.all()
    for lam, beta, values in zip(alphas, path.beta, path.values):
        alone = NoOffsetSVC(C=1 / (2 * lam * 70), gamma=1.0, stopping="kkt", tol=1e-9)
        alone.fit(X[10:], y[10:], weights[10:])
        # the gradient at free variables is off by 1e-9, f by that times the condition number
        assert np.abs(alone.decision_function(X) - values).max() < 1e-5
        assert np.abs(K @ beta - values).max() < 1e-9
        assert not beta[:10].any()


def test_errors_are_those_of_grid_search():
    X, y = moons(120)
    alphas, gammas = np.geomspace(0.3, 1e-3, 4), np.geomspace(0.2, 5.0, 4)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))  # of equal size, 90 to train
    ours = NoOffsetSVCCV(alphas=alphas, gammas=gammas, cv=folds, **TIGHT).fit(X, y)
    search = GridSearchCV(
        NoOffsetSVC(**TIGHT), {"alpha": alphas.tolist(), "gamma": gammas.tolist()}, cv=folds
    ).fit(X, y)
    table = 1 - search.cv_results_["mean_test_score"]
    at = search.cv_results_["params"]
    for error, cell in zip(table, at):
        row = int(np.argmin(np.abs(alphas - cell["alpha"])))
        column = int(np.argmin(np.abs(gammas - cell["gamma"])))
        assert ours.cv_error_[row, column] == pytest.approx(error, abs=1e-12)
    assert ours.best_score_ == pytest.approx(search.best_score_)
    assert np.array_equal(
        ours.predict(X),
        NoOffsetSVC(alpha=ours.best_alpha_, gamma=ours.best_gamma_, **TIGHT).fit(X, y).predict(X),
    )


def test_several_classes():
    X, y = make_blobs(90, centers=3, cluster_std=2.5, random_state=0)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    alphas, gammas = np.array([0.1, 0.01]), np.array([0.1, 0.5])
    ours = NoOffsetSVCCV(alphas=alphas, gammas=gammas, cv=folds, **TIGHT).fit(X, y)
    for row, lam in enumerate(alphas):
        for column, gamma in enumerate(gammas):
            wrong = 0
            for train, test in folds:
                machine = NoOffsetSVC(alpha=lam, gamma=gamma, **TIGHT).fit(X[train], y[train])
                wrong += np.count_nonzero(machine.predict(X[test]) != y[test])
            assert ours.cv_error_[row, column] == pytest.approx(wrong / 90)


def test_ties_go_to_the_smoothest():
    X = np.vstack([np.full((20, 1), -1.0), np.full((20, 1), 1.0)])
    X += 0.01 * np.random.default_rng(0).normal(size=X.shape)
    search = NoOffsetSVCCV(cv=2, random_state=0).fit(X, np.repeat([0, 1], 20))
    best = np.argwhere(search.cv_error_ == search.cv_error_.min())[0]
    assert (search.best_alpha_, search.best_gamma_) == (
        search.alphas_[best[0]],
        search.gammas_[best[1]],
    )


def test_threads_change_nothing():
    X, y = moons()
    one = NoOffsetSVCCV(n_alphas=4, n_gammas=4, cv=3, random_state=0).fit(X, y)
    two = NoOffsetSVCCV(n_alphas=4, n_gammas=4, cv=3, random_state=0, n_jobs=2).fit(X, y)
    assert np.array_equal(one.cv_error_, two.cv_error_)
    assert np.array_equal(one.n_iter_grid_, two.n_iter_grid_)


def test_sparse_rows_and_weights():
    import scipy.sparse as sp

    X, y = moons()
    options = {"n_alphas": 3, "n_gammas": 3, "cv": 3, "random_state": 0}
    dense = NoOffsetSVCCV(**options).fit(X, y)
    sparse = NoOffsetSVCCV(**options).fit(sp.csr_matrix(X), y)
    assert np.allclose(dense.cv_error_, sparse.cv_error_)
    twice = NoOffsetSVCCV(**options).fit(X, y, np.full(y.size, 2.0))
    assert twice.cv_error_.min() <= 0.5
    heavy = NoOffsetSVCCV(class_weight={0: 100.0, 1: 1.0}, **options).fit(X, y)
    assert np.mean(heavy.predict(X) == 0) > np.mean(dense.predict(X) == 0)


def test_warm_paths_cost_fewer_iterations_than_cold():
    X, y = moons(200)
    cold = NoOffsetSVCCV(warm="I0-W0", cv=3, random_state=0).fit(X, y)
    warm = NoOffsetSVCCV(warm="I0-W4", cv=3, random_state=0).fit(X, y)
    assert warm.n_iter_grid_.sum() < cold.n_iter_grid_.sum()
    assert np.array_equal(warm.n_iter_grid_[0], cold.n_iter_grid_[0])  # the first of each path
    assert warm.n_iter_ == warm.n_iter_grid_.sum() + warm.best_estimator_.n_iter_
    assert warm.time_grid_.min() > 0


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"warm": "I1-W7"}, "such as 'I1-W4'; got 'I1-W7'"),
        ({"warm": "W4"}, "joined by a hyphen"),
        ({"warm": "I0-W6"}, "ascending, but order='descending'"),
        ({"warm": "I0-W4", "order": "ascending"}, "descending, but order='ascending'"),
        ({"alphas": [1.0, -1.0]}, "alphas must be positive"),
        ({"gammas": []}, "gammas must be positive"),
        ({"gammas": [np.nan]}, "gammas must be positive"),
        ({"cv": 1}, "k-fold|n_splits"),
        ({"order": "random"}, "'order'"),
    ],
    ids=["rule", "form", "order", "other-order", "alphas", "gammas", "nan", "cv", "option"],
)
def test_bad_parameters(bad, words):
    X, y = moons(20)
    with pytest.raises(ValueError, match=words):
        NoOffsetSVCCV(**bad).fit(X, y)


def test_few_samples_of_a_class_mean_few_folds():
    X, y = moons(30)
    y[:] = 0
    y[:3] = 1
    with pytest.warns(UserWarning, match="3 folds are used"):
        search = NoOffsetSVCCV(n_alphas=2, n_gammas=2, random_state=0).fit(X, y)
    assert search.cv_error_.shape == (2, 2)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class"):
        NoOffsetSVCCV().fit(np.eye(4), [1, 1, 1, 1])


def test_unfinished_cells_are_told():
    X, y = moons(60)
    with pytest.warns(ConvergenceWarning, match=r"of 8 fits of the grid stopped"):
        NoOffsetSVCCV(n_alphas=2, n_gammas=2, cv=2, max_iter=1, random_state=0).fit(X, y)
