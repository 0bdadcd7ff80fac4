"""Forest densities beside scipy's kernel densities, quadrature, and what they must keep."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde, ks_2samp, norm
from sklearn.base import clone
from sklearn.neighbors import KernelDensity

from octavo.graphical import ForestDensityEstimator, mutual_information_matrix
from octavo.graphical.forests.draws import support_of


def bent(n=120, seed=0, d=3):
    random = np.random.RandomState(seed)
    X = random.normal(size=(n, d))
    X[:, 1] = X[:, 0] ** 2 + 0.5 * X[:, 1]
    if d > 2:
        X[:, 2] = np.sin(X[:, 1]) + 0.3 * X[:, 2]
    return X


def halves(n):
    return np.arange(n // 2, n)


def test_one_column_is_a_kernel_density():
    X = bent(100, d=2)[:, :1]
    model = ForestDensityEstimator(holdout=halves(100), marginals="paper").fit(X)
    h = model.bandwidths_[0, 0]
    expected = KernelDensity(bandwidth=h).fit(X[:50]).score_samples(X)
    np.testing.assert_allclose(model.score_samples(X), expected, atol=1e-10)
    scipys = gaussian_kde(X[:50, 0], bw_method=h / X[:50, 0].std(ddof=1))
    np.testing.assert_allclose(model.score_samples(X), scipys.logpdf(X[:, 0]), atol=1e-10)


def test_two_columns_with_an_edge_are_a_product_kernel_density():
    X = bent(200, d=2)
    model = ForestDensityEstimator(holdout=halves(200)).fit(X)
    assert model.edges_.tolist() == [[0, 1]]
    expected = KernelDensity().fit(X[:100] / model.bandwidths_[1])
    logs = expected.score_samples(X / model.bandwidths_[1]) - np.log(model.bandwidths_[1]).sum()
    np.testing.assert_allclose(model.score_samples(X), logs, atol=1e-10)
    paper = clone(model).set_params(marginals="paper").fit(X)
    np.testing.assert_allclose(paper.score_samples(X), logs, atol=1e-10)  # both cancel


@pytest.mark.parametrize("d", [2, 3])
def test_the_consistent_density_integrates_to_one(d):
    X = bent(60, d=d) * [3.0, 50.0, 0.1][:d]
    model = ForestDensityEstimator(holdout=np.arange(40, 60), method="heldout").fit(X)
    model._set_forest(np.array([[0, 1], [1, 2]])[: d - 1])  # all edges, whatever was chosen
    h = model.bandwidths_[1]
    axes = [np.linspace(X[:, k].min() - 6 * h[k], X[:, k].max() + 6 * h[k], 60) for k in range(d)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    cell = np.prod([a[1] - a[0] for a in axes])
    # Kernels are smooth: a sum over steps of less than a bandwidth is an integral to many digits.
    assert all(a[1] - a[0] < b for a, b in zip(axes, h))
    assert np.exp(model.score_samples(points)).sum() * cell == pytest.approx(1.0, abs=1e-4)


def test_probabilities_of_categories_sum_to_one():
    random = np.random.RandomState(0)
    X = random.randint(0, 3, (80, 3)).astype(float)
    X[:, 1] = np.where(random.rand(80) < 0.9, X[:, 0], X[:, 1])
    model = ForestDensityEstimator(mi="discrete", random_state=0).fit(X)
    every = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0, abs=1e-12)
    assert [0, 1] in model.edges_.tolist()


@pytest.mark.parametrize("method", ["train-prune", "heldout", "t-restricted"])
@pytest.mark.parametrize("marginals", ["consistent", "paper"])
def test_the_curve_is_the_heldout_likelihood(method, marginals):
    X = np.hstack([bent(160, 1), bent(160, 2)])
    model = ForestDensityEstimator(method, marginals=marginals, random_state=3).fit(X)
    curve, rows = model.heldout_curve_, X[model.heldout_rows_]
    assert model.score(rows) == pytest.approx(curve[model.n_edges_], abs=1e-8)
    if method == "train-prune":
        assert len(curve) == X.shape[1]
        assert model.n_edges_ == curve.argmax()
    edges = model.edges_
    for k in range(model.n_edges_ + 1):
        model._set_forest(edges[:k])
        assert model.score(rows) == pytest.approx(curve[k], abs=1e-8)
    h = model.bandwidths_[int(marginals == "consistent")]
    first = np.delete(np.arange(160), model.heldout_rows_)
    alone = sum(
        np.log(norm.pdf(rows[:, [k]], X[first, k], h[k]).mean(axis=1)).mean() for k in range(6)
    )
    assert curve[0] == pytest.approx(alone, abs=1e-8)


def test_structures_follow_their_weights():
    X = np.hstack([bent(160, 1), bent(160, 2)])
    heldout = ForestDensityEstimator("heldout", random_state=0).fit(X)
    W = heldout.cross_entropies_
    assert (W[heldout.edges_[:, 0], heldout.edges_[:, 1]] > 0).all()
    small = ForestDensityEstimator("t-restricted", t_max=1, random_state=0).fit(X)
    assert small.t_ <= 1
    assert small.tree_sizes_.max() <= 2
    free = ForestDensityEstimator("t-restricted", random_state=0).fit(X)
    gains = free.t_scores_[:, 1]
    assert gains[0] == 0.0
    assert gains.max() == gains[list(free.t_scores_[:, 0]).index(free.t_)]
    # Among the tried forests are the pruned spanning tree's; none exceeds the best forest.
    assert gains.max() <= W[heldout.edges_[:, 0], heldout.edges_[:, 1]].sum() + 1e-12
    pruned = ForestDensityEstimator(random_state=0).fit(X)
    np.testing.assert_array_equal(pruned.mutual_info_, free.mutual_info_)


def test_a_tree_of_gaussians_is_found():
    random = np.random.RandomState(0)
    X = random.normal(size=(1200, 5))
    for k, p in [(1, 0), (2, 1), (3, 1)]:  # 4 stands alone
        X[:, k] = 0.8 * X[:, p] + 0.6 * X[:, k]
    model = ForestDensityEstimator(random_state=0).fit(X)
    assert sorted(map(tuple, model.edges_)) == [(0, 1), (1, 2), (1, 3)]
    assert model.tree_sizes_.tolist() == [4, 1]
    assert model.adjacency_.sum() == 6
    assert sorted(model.graph_.edges) == [(0, 1), (1, 2), (1, 3)]


def test_units_and_order_of_columns():
    X = bent(160)
    model = ForestDensityEstimator(holdout=halves(160)).fit(X)
    scale = np.array([1e5, 1e-5, -2.0])
    other = clone(model).fit(X * scale + 3.0)
    assert other.edges_.tolist() == model.edges_.tolist()
    np.testing.assert_allclose(other.bandwidths_, model.bandwidths_ * np.abs(scale), rtol=1e-9)
    shift = np.log(np.abs(scale)).sum()
    np.testing.assert_allclose(
        other.score_samples(X * scale + 3.0) + shift, model.score_samples(X), atol=1e-6
    )
    turned = clone(model).fit(X[:, ::-1])
    assert {frozenset(2 - np.array(e)) for e in turned.edges_} == {
        frozenset(e) for e in model.edges_
    }
    np.testing.assert_allclose(turned.score_samples(X[:, ::-1]), model.score_samples(X), atol=1e-9)


def test_samples_have_the_density():
    X = bent(300)
    model = ForestDensityEstimator(random_state=0).fit(X)
    drawn = model.sample(4000, random_state=0)
    smoothed = X[np.delete(np.arange(300), model.heldout_rows_)]
    rows = smoothed[np.random.RandomState(1).randint(0, len(smoothed), 4000)]
    rows = rows + model.bandwidths_[1] * np.random.RandomState(2).normal(size=rows.shape)
    for k in range(3):  # margins: those of the kernel densities
        assert ks_2samp(drawn[:, k], rows[:, k]).pvalue > 1e-3
    # The edge's pairs too: its mutual information beside that of exact draws of pairs.
    i, j = model.edges_[0]
    ours = mutual_information_matrix(drawn[:, [i, j]])[0, 1]
    theirs = mutual_information_matrix(rows[:, [i, j]])[0, 1]
    assert ours == pytest.approx(theirs, abs=0.03)  # standard error of each about 0.008


def test_completion_equals_quadrature():
    X = bent(200)
    model = ForestDensityEstimator(random_state=0).fit(X)
    model._set_forest(np.array([[0, 1], [1, 2]]))
    row = np.array([0.7, np.nan, 0.4])
    axis = np.linspace(X[:, 1].min() - 2, X[:, 1].max() + 2, 2001)
    points = np.column_stack([np.full(2001, 0.7), axis, np.full(2001, 0.4)])
    weights = np.exp(model.score_samples(points))
    mean = weights @ axis / weights.sum()
    filled = model.impute(row[None])[0]
    assert filled[[0, 2]].tolist() == [0.7, 0.4]
    assert filled[1] == pytest.approx(mean, abs=1e-3)
    drawn = model.sample_conditional(np.tile(row, (2000, 1)), random_state=0)[:, 1]
    spread = np.sqrt(weights @ (axis - mean) ** 2 / weights.sum())
    assert drawn.mean() == pytest.approx(mean, abs=4 * spread / np.sqrt(2000))
    assert drawn.std() == pytest.approx(spread, rel=0.1)


def test_two_missing_neighbours_equal_quadrature():
    X = bent(200)
    model = ForestDensityEstimator(random_state=0).fit(X)
    model._set_forest(np.array([[0, 1], [1, 2]]))
    axes = [np.linspace(X[:, k].min() - 1, X[:, k].max() + 1, 161) for k in (0, 1)]
    pairs = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.exp(model.score_samples(np.column_stack([pairs, np.full(len(pairs), 0.6)])))
    means = weights @ pairs / weights.sum()
    filled = model.impute([[np.nan, np.nan, 0.6]])[0]
    np.testing.assert_allclose(filled[:2], means, atol=5e-3)
    drawn = model.sample_conditional([[np.nan, np.nan, 0.6]] * 3000, random_state=0)
    spread = np.sqrt(weights @ (pairs - means) ** 2 / weights.sum())
    assert (np.abs(drawn[:, :2].mean(axis=0) - means) < 4 * spread / np.sqrt(3000)).all()
    # Nothing observed: the same law as `sample`.
    free = model.sample_conditional(np.full((2000, 3), np.nan), random_state=0)
    assert ks_2samp(free[:, 2], model.sample(2000, random_state=1)[:, 2]).pvalue > 1e-3


def test_cells_of_a_completion_are_the_steps_of_its_grid():
    model = ForestDensityEstimator(random_state=0).fit(bent(200))
    for k in range(3):
        support = support_of(model._sample, k, 16)
        np.testing.assert_allclose(np.diff(support.points), support.cell)


def mixed(n=200):
    random = np.random.RandomState(0)
    colour = random.choice(["red", "green", "blue"], n)
    x = np.where(colour == "red", 3.0, 0.0) + random.normal(size=n)
    return pd.DataFrame({"colour": colour, "x": x, "z": random.normal(size=n)})


def test_mixed_columns():
    frame = mixed()
    model = ForestDensityEstimator(random_state=0).fit(frame)
    assert model.edges_.tolist() == [[0, 1]]
    axis = np.linspace(-8, 12, 2001)
    total = 0.0
    for colour in ("red", "green", "blue"):
        logs = model.score_samples(pd.DataFrame({"colour": colour, "x": axis, "z": 0.1}))
        total += np.exp(logs).sum() * (axis[1] - axis[0])
    z = frame["z"].to_numpy()[np.delete(np.arange(200), model.heldout_rows_)]
    assert total == pytest.approx(norm.pdf(0.1, z, model.bandwidths_[1, 2]).mean(), rel=1e-5)
    drawn = model.sample(500, random_state=0)
    assert isinstance(drawn, pd.DataFrame)
    assert set(drawn["colour"]) == {"red", "green", "blue"}
    assert drawn.loc[drawn["colour"] == "red", "x"].mean() > 2.0
    holes = frame.iloc[:2].assign(colour=[None, None], x=[4.0, -1.0])
    assert model.impute(holes)["colour"].tolist()[0] == "red"
    assert model.impute(holes)["colour"].tolist()[1] != "red"
    with pytest.raises(ValueError, match=r"Column 0 \('colour'\).*'violet'"):
        model.score_samples(frame.iloc[:1].assign(colour="violet"))
    with pytest.raises(ValueError, match="NaN"):
        model.score_samples(holes)


def test_refit_has_all_rows():
    X = bent(200, d=2)
    model = ForestDensityEstimator(refit=True, random_state=0).fit(X)
    expected = KernelDensity().fit(X / model.bandwidths_[1])
    logs = expected.score_samples(X / model.bandwidths_[1]) - np.log(model.bandwidths_[1]).sum()
    np.testing.assert_allclose(model.score_samples(X), logs, atol=1e-10)


def test_far_points_have_finite_logs():
    model = ForestDensityEstimator(random_state=0).fit(bent(80))
    logs = model.score_samples([[1e3, 0.0, 0.0], [1e12, -1e12, 1e12], [0.0, 0.0, 0.0]])
    assert np.isfinite(logs).all()
    assert logs[1] < logs[0] < logs[2]


def test_ties_fall_back_to_the_deviation():
    X = bent(100)
    X[:80, 2] = 1.0  # the quartiles agree
    model = ForestDensityEstimator(holdout=np.arange(1, 100, 2)).fit(X)
    x = X[::2, 2]
    assert model.bandwidths_[0, 2] == pytest.approx(1.06 * x.std(ddof=1) * 50 ** (-1 / 5))


@pytest.mark.parametrize(
    ("params", "X", "words"),
    [
        ({}, bent(18), "at least 10 rows"),
        ({"holdout": 0.95}, bent(100), "at least 10 rows"),
        ({"holdout": [0, 0]}, bent(100), "distinct row numbers"),
        ({"holdout": [100]}, bent(100), "distinct row numbers"),
        ({}, np.where(np.arange(3) == 2, 5.0, bent(60)), "Column 2 is constant"),
        ({"bandwidth": -1.0}, bent(60), "bandwidth"),
        ({"bandwidth": [1e-9, 1, 1]}, bent(60), "millionth"),
        ({"device": "tpu"}, bent(60), "device"),
    ],
)
def test_bad_input_is_met_by_a_sentence(params, X, words):
    with pytest.raises(ValueError, match=words):
        ForestDensityEstimator(**params, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n must be"):
        ForestDensityEstimator(random_state=0).fit(bent(60)).sample(0)
