"""The generator and the study of Section 4.2."""

import numpy as np
import pytest

from octavo.kernel import GroupARDRegression, group_sparse_study, make_group_sparse


def test_problems_are_the_papers():
    counts, ratios = [], []
    for seed in range(300):
        X, y, theta, groups, sigma2 = make_group_sparse(random_state=seed)
        assert X.shape == (100, 40)
        assert np.bincount(groups).tolist() == [4] * 10
        active = np.unique(groups[theta != 0])
        assert 1 <= len(active) <= 5
        assert np.abs(theta).max() <= 100
        assert sigma2 == pytest.approx((X @ theta).var() / 25)
        counts.append(len(active))
        ratios.append((y - X @ theta).var() / sigma2)
    # one always, four with probability one half: mean 3, variance 1
    assert abs(np.mean(counts) - 3) < 4 * np.sqrt(1 / 300)
    assert abs(np.mean(ratios) - 0.99) < 4 * np.sqrt(2 / 100 / 300)


def test_second_experiment_is_a_random_walk_along_columns():
    X = make_group_sparse(2, n=4000, random_state=0).X
    steps = np.diff(X, axis=1)
    assert abs(X[:, 0].std() - 1) < 0.05
    assert abs(steps.std() - 0.2) < 0.002
    assert abs(np.corrcoef(X[:, 0], steps[:, 0])[0, 1]) < 4 / np.sqrt(4000)


def test_study_counts_what_models_do():
    study = group_sparse_study(4, random_state=1)
    seed = np.random.RandomState(1).randint(np.iinfo(np.int32).max, size=4)[2]
    X, y, theta, groups, _ = make_group_sparse(random_state=int(seed))
    model = GroupARDRegression(groups, fit_intercept=False).fit(X, y)
    zero = [g for g in range(10) if not theta[groups == g].any()]
    assert study.n_zero[2] == len(zero)
    assert study.n_found[2, 0] == len(set(zero) - set(model.active_groups_))
    error = np.linalg.norm(model.coef_ - theta) / np.linalg.norm(theta)
    assert study.errors[2, 0] == pytest.approx(error)
    assert study.zero_rates[0] == study.n_found[:, 0].sum() / study.n_zero.sum()


def test_bad_sizes_are_named():
    with pytest.raises(ValueError, match="n must exceed p k = 40"):
        group_sparse_study(1, n=40)
    with pytest.raises(ValueError, match="exp"):
        make_group_sparse(3)
