"""Mutual informations beside loops over the paper's formulas, closed forms and pgmpy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import mutual_info_score

from octavo.graphical import chow_liu_tree, mutual_information_matrix
from octavo.graphical.forests import grids
from octavo.graphical.forests.grids import HOST, Backend
from octavo.graphical.forests.kernels import kernel_sample
from octavo.graphical.forests.mutual_information import cross_entropies, sample_information

GRID = 12


def columns(n=40, d=3, seed=0):
    random = np.random.RandomState(seed)
    X = random.normal(size=(n, d))
    X[:, 1] += X[:, 0] ** 2
    return X * [10.0, 0.1, 1e5][:d]


def plugin(x):
    """The bandwidths of section 6.1, on the scale where the range is [0, 1]."""
    n = len(x)
    q1, q3 = np.percentile(x, [25, 75])
    spread = min(x.std(ddof=1), (q3 - q1) / 1.34)
    return 1.06 * spread * n ** (-1 / 5), 1.06 * spread * n ** (-1 / 6)


def loops(x, y, mi, m=GRID, second=None):
    """One pair by the paper's sums; with `second`, Eq. (10) with consistent marginals."""
    low, high = (x.min(), y.min()), (x.max(), y.max())
    x, y = (x - low[0]) / (high[0] - low[0]), (y - low[1]) / (high[1] - low[1])
    grid = np.linspace(0, 1, m)

    def joint(a, b):
        ha, hb = plugin(a)[1], plugin(b)[1]
        return np.array(
            [[np.mean(norm.pdf(a, u, ha) * norm.pdf(b, v, hb)) for v in grid] for u in grid]
        )

    def single(a, h):
        return np.array([np.mean(norm.pdf(a, u, h)) for u in grid])

    p = joint(x, y)
    if second is not None:
        a, b = (
            (second[0] - low[0]) / (high[0] - low[0]),
            (second[1] - low[1]) / (high[1] - low[1]),
        )
        ratio = np.log(p / np.outer(single(x, plugin(x)[1]), single(y, plugin(y)[1])))
        return (joint(a, b) * ratio).sum() / (m - 1) ** 2
    px, py = single(x, plugin(x)[0]), single(y, plugin(y)[0])
    if mi == "medium":
        return (p * np.log(p / np.outer(px, py))).sum() / (m - 1) ** 2
    if mi == "slow":
        px, py = p.sum(axis=1) / (m - 1), p.sum(axis=0) / (m - 1)
    both = (p * np.log(p)).sum() / (m - 1) ** 2
    return both - (px * np.log(px)).sum() / (m - 1) - (py * np.log(py)).sum() / (m - 1)


@pytest.mark.parametrize("mi", ["fast", "medium", "slow"])
def test_grids_are_the_papers_sums(mi):
    X = columns()
    M = mutual_information_matrix(X, mi, GRID)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        assert M[i, j] == M[j, i]
        assert M[i, j] == pytest.approx(loops(X[:, i], X[:, j], mi), rel=1e-9, abs=1e-12)


def test_cross_entropies_are_the_papers_sums():
    X, Y = columns(), columns(30, seed=1)
    first = kernel_sample(X, np.zeros(3, dtype=int))
    second = kernel_sample(Y, np.zeros(3, dtype=int), scale=first)
    W = cross_entropies(first, second, GRID, True)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        expected = loops(X[:, i], X[:, j], "", second=(Y[:, i], Y[:, j]))
        assert W[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_sample_averages_are_equation_34():
    X = columns()
    M = mutual_information_matrix(X, "sample")
    x, y = ((c - c.min()) / (c.max() - c.min()) for c in (X[:, 0], X[:, 1]))
    ratios = []
    for u, v in zip(x, y):
        both = np.mean(norm.pdf(x, u, plugin(x)[1]) * norm.pdf(y, v, plugin(y)[1]))
        apart = np.mean(norm.pdf(x, u, plugin(x)[0])) * np.mean(norm.pdf(y, v, plugin(y)[0]))
        ratios.append(np.log(both / apart))
    assert M[0, 1] == pytest.approx(np.mean(ratios), rel=1e-9)


def test_monte_carlo_tends_to_the_integral():
    X = columns(200, 2)
    # The draws reach beyond the range of the data, and so does this integral.
    draws = [mutual_information_matrix(X, "monte-carlo", random_state=s)[0, 1] for s in range(20)]
    x, y = ((c - c.min()) / (c.max() - c.min()) for c in (X[:, 0], X[:, 1]))
    (a1, a2), (b1, b2) = plugin(x), plugin(y)
    grid = np.linspace(-0.4, 1.4, 240)
    A, B = norm.pdf(x[:, None], grid, a2), norm.pdf(y[:, None], grid, b2)
    p = A.T @ B / len(x)
    px = norm.pdf(x[:, None], grid, a1).mean(axis=0)
    py = norm.pdf(y[:, None], grid, b1).mean(axis=0)
    truth = (p * np.log(p / np.outer(px, py))).sum() * (grid[1] - grid[0]) ** 2
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - truth) < 4 * error + 1e-3  # 1e-3: the grid of the integral


def test_gaussian_is_the_closed_form():
    X = columns()
    rho = np.corrcoef(X, rowvar=False)[0, 1]
    M = mutual_information_matrix(X, "gaussian")
    assert M[0, 1] == pytest.approx(-0.5 * np.log(1 - rho**2))


def test_smoothing_bias_is_that_of_the_sheet():
    """Means of 20 repetitions at n = 400, ρ = 0.6: measured once with an independent program."""
    expected = {"fast": 0.125, "medium": 0.156, "slow": 0.169}
    for mi, mean in expected.items():
        found = []
        for seed in range(8):
            random = np.random.RandomState(seed)
            x = random.normal(size=400)
            y = 0.6 * x + 0.8 * random.normal(size=400)
            found.append(mutual_information_matrix(np.column_stack([x, y]), mi)[0, 1])
        assert np.mean(found) == pytest.approx(mean, abs=4 * 0.03 / np.sqrt(8))


def letters():
    random = np.random.RandomState(0)
    a = random.randint(0, 3, 300)
    b = np.where(random.rand(300) < 0.7, a, random.randint(0, 3, 300))
    c = np.where(random.rand(300) < 0.6, b % 2, random.randint(0, 2, 300))
    d = np.where(random.rand(300) < 0.8, a, random.randint(0, 3, 300))
    return np.column_stack([a, b, c, d])


def test_discrete_is_the_plug_in():
    X = letters()
    M = mutual_information_matrix(X, "discrete")
    for i in range(4):
        for j in range(i):
            assert M[i, j] == pytest.approx(mutual_info_score(X[:, i], X[:, j]), abs=1e-12)


@pytest.mark.slow  # for pgmpy's import
def test_the_tree_of_categories_is_chow_and_lius():
    X = letters()
    M = mutual_information_matrix(X, "discrete")
    search = pytest.importorskip("pgmpy.estimators")
    frame = pd.DataFrame(X, columns=list("abcd"))
    learned = search.TreeSearch(frame, root_node="a").estimate(show_progress=False)
    theirs = {frozenset("abcd".index(v) for v in edge) for edge in learned.edges()}
    assert {frozenset(edge) for edge in chow_liu_tree(M).edges} == theirs


def test_mixed_columns_sum_over_categories_and_grid():
    X = columns(60, 2)
    colour = np.where(X[:, 0] > 0, "red", "blue")
    frame = pd.DataFrame({"x": X[:, 0], "colour": colour, "flag": X[:, 1] > np.median(X[:, 1])})
    M = mutual_information_matrix(frame, "medium", GRID)
    x = (X[:, 0] - X[:, 0].min()) / np.ptp(X[:, 0])
    grid = np.linspace(0, 1, GRID)
    h1, h2 = plugin(x)
    expected = 0.0
    for name in ("red", "blue"):
        here = colour == name
        p = np.array([(norm.pdf(x, u, h2) * here).mean() for u in grid])
        q = np.array([norm.pdf(x, u, h1).mean() for u in grid]) * here.mean()
        expected += (p * np.log(p / q)).sum() / (GRID - 1)
    assert M[0, 1] == pytest.approx(expected, rel=1e-9)
    assert M[1, 2] == pytest.approx(mutual_info_score(colour, frame["flag"]), abs=1e-12)
    assert mutual_information_matrix(frame, "sample").shape == (3, 3)


@pytest.mark.parametrize("mi", ["fast", "medium", "slow"])
def test_blocks_groups_and_order_do_not_matter(mi, monkeypatch):
    X = columns(30, 3)
    frame = pd.DataFrame(np.hstack([X, X[:, :2] ** 2]))
    frame[5] = np.where(X[:, 0] > 0, "a", "b")
    whole = mutual_information_matrix(frame, mi, GRID)
    small = mutual_information_matrix(frame, mi, GRID, batch_size=1)
    np.testing.assert_allclose(small, whole, rtol=0, atol=1e-12)
    monkeypatch.setattr(grids, "BASIS_BYTES", 8 * GRID * 30 * 2)  # two columns a group
    np.testing.assert_allclose(
        mutual_information_matrix(frame, mi, GRID), whole, rtol=0, atol=1e-12
    )
    turned = mutual_information_matrix(frame.iloc[:, ::-1], mi, GRID)
    np.testing.assert_allclose(turned[::-1, ::-1], whole, rtol=0, atol=1e-12)


def test_scale_and_precision_do_not_matter():
    X = columns(50, 2)
    M = mutual_information_matrix(X)
    for other in (X * 1e5, X * 1e-5, 7.0 - X, X.astype(np.float32)):
        np.testing.assert_allclose(mutual_information_matrix(other), M, atol=1e-5)
    # Single precision, which a card has, beside double.
    sample = kernel_sample(X, np.zeros(2, dtype=int))
    single = sample_information(sample, "medium", 128, Backend(np, "cpu", np.float32))
    np.testing.assert_allclose(single, sample_information(sample, "medium", 128, HOST), atol=1e-5)


@pytest.mark.parametrize("mi", ["fast", "medium", "slow"])
def test_torch_gives_the_same_numbers(mi):
    torch = pytest.importorskip("torch")
    X = columns(50, 3)
    Z = np.column_stack([X, X[:, 0] > 0])
    sample = kernel_sample(Z.astype(float), np.array([0, 0, 0, 2]))
    there = sample_information(sample, mi, 64, Backend(torch, "cpu", torch.float32))
    np.testing.assert_allclose(there, sample_information(sample, mi, 64), atol=1e-4)


def test_bad_input_is_met_by_a_sentence():
    X = columns()
    with pytest.raises(ValueError, match="Column 1 is constant"):
        mutual_information_matrix(np.where(np.arange(3) == 1, 2.0, X))
    with pytest.raises(ValueError, match="holds categories"):
        mutual_information_matrix(pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 20}), "gaussian")
    with pytest.raises(ValueError, match="bandwidth"):
        mutual_information_matrix(X, bandwidth=[1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        mutual_information_matrix(np.where(X[0, 0] == X, np.nan, X))


@pytest.mark.skipif(grids.backend_of("auto") is not HOST, reason="there is a card")
def test_a_card_that_is_not_there():
    with pytest.raises(ValueError, match="device='cuda' needs PyTorch"):
        mutual_information_matrix(columns(), device="cuda")
