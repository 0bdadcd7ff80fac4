"""The estimators: against statsmodels, a network written out, and known answers."""

import warnings

import networkx as nx
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from octavo.data import make_score_games
from octavo.graphical import (
    CDN,
    CDNDensityEstimator,
    CDNTeamRanker,
    CopulaCDF,
    CumulativeLinkRegression,
    GaussianCDF,
    LogisticCDF,
    UnivariateCDF,
    pairwise_gains,
)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_ordinal_regression_is_that_of_statsmodels(link):
    ordered = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1] + [5.0, 0.0, 0.0]
    y = np.digitize(X @ [1.0, 0.1, -3.0] + rng.logistic(size=200), [4.0, 5.0, 6.5])
    other = ordered.OrderedModel(y, X, distr=link).fit(method="bfgs", disp=False, gtol=1e-8)
    model = CumulativeLinkRegression(link, alpha=0.0, tol=1e-8).fit(X, y)
    assert -model.objective_ == pytest.approx(other.llf, abs=1e-5)
    assert model.coef_ == pytest.approx(other.params[:3], rel=1e-3)
    assert model.predict_proba(X) == pytest.approx(other.predict(X), abs=1e-4)


def test_ordinal_regression_with_two_labels_is_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.logistic(size=80) > 0).astype(int)
    ours = CumulativeLinkRegression(alpha=2.0).fit(X, y)
    theirs = LogisticRegression(C=0.5, tol=1e-8).fit(X, y)
    assert ours.coef_ == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert ours.thresholds_ == pytest.approx(-theirs.intercept_, abs=1e-4)


def test_ordinal_regression_without_a_penalty_does_not_depend_on_units():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(80, 2))
    y = np.digitize(X @ [1.0, -1.0] + rng.logistic(size=80), [-1.0, 0.0, 1.0])
    # a column far from zero says nothing about how finely its neighbour is measured
    moved = X * [1e5, 1e-7] + [1e6, 0.0]
    base = CumulativeLinkRegression(alpha=0.0, tol=1e-9).fit(X, y)
    other = CumulativeLinkRegression(alpha=0.0, tol=1e-9).fit(moved, y)
    assert other.predict_proba(moved) == pytest.approx(base.predict_proba(X), abs=1e-6)
    assert other.coef_ * [1e5, 1e-7] == pytest.approx(base.coef_, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_density_does_not_depend_on_units(scale):
    X = CDN([((0, 1), LogisticCDF([1, 2])), ((1, 2), LogisticCDF([1, 1]))]).sample(
        300, random_state=0
    )
    base = CDNDensityEstimator().fit(X)
    moved = CDNDensityEstimator().fit(scale * X + 3 * scale)
    want = base.score_samples(X) - 3 * np.log(scale)
    assert moved.score_samples(scale * X + 3 * scale) == pytest.approx(want, abs=1e-3)
    assert base.log_likelihood_ == pytest.approx(base.score_samples(X).sum())
    truth = CDN([((0, 1), LogisticCDF([1, 2])), ((1, 2), LogisticCDF([1, 1]))])
    assert base.log_likelihood_ > truth.logpdf(X).sum() - 1e-6


def test_a_gaussian_pair_reaches_the_normal_fit():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([1, 2], [[1, 0.6], [0.6, 2]], size=300)
    model = CDNDensityEstimator(factor="gaussian").fit(X)
    found = model.network_.factors[0][1]
    assert found.mean == pytest.approx(X.mean(axis=0), abs=1e-3)
    assert found.cov == pytest.approx(np.cov(X.T, bias=True), abs=5e-3)


def test_margins_are_preserved():
    rng = np.random.default_rng(2)
    X = rng.multivariate_normal(np.zeros(3), [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]], size=300)
    model = CDNDensityEstimator(copula="gumbel", margins="preserve").fit(X)
    for v in range(3):
        margin = model.network_.marginal([v])
        at = np.array([-1.0, 0.0, 1.5])
        want = norm(X[:, v].mean(), X[:, v].std()).cdf(at)
        assert margin.cdf(at[:, None]) == pytest.approx(want, abs=2e-4)
    assert model.score(X) > norm.logpdf((X - X.mean(0)) / X.std(0)).sum(axis=1).mean()


def test_the_tree_joins_what_depends():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 200))
    X = np.column_stack([a, b, a + 0.3 * rng.normal(size=200), b + 0.3 * rng.normal(size=200)])
    gains = pairwise_gains(X, "gaussian")
    rho = np.corrcoef(X[:, 0], X[:, 2])[0, 1]
    assert gains[0, 2] == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.15)
    model = CDNDensityEstimator("tree", copula="gaussian", margins="preserve").fit(X)
    assert {(0, 2), (1, 3)} <= {tuple(sorted(e)) for e in model.graph_.edges}
    assert model.adjacency_[0, 2]
    assert model.adjacency_.sum() == 6


def test_graphs_in_every_form():
    X = np.random.default_rng(4).normal(size=(40, 3))
    graph = nx.Graph([(0, 2)])
    graph.add_node(1)
    matrix = nx.to_numpy_array(graph, nodelist=range(3), dtype=bool)
    scores = [CDNDensityEstimator(g).fit(X).score(X) for g in ([(0, 2)], graph, matrix)]
    assert scores[0] == pytest.approx(scores[1]) == pytest.approx(scores[2])
    loop = CDNDensityEstimator([(0, 1), (1, 2), (0, 2)], method="composite", max_iter=20)
    assert loop.fit(X).adjacency_.sum() == 6
    for bad in ([(0, 3)], [(1, 1)], ["ab", 3], nx.Graph([(0, 1)])):
        with pytest.raises(ValueError, match=r"graph|edge|nodes"):
            CDNDensityEstimator(bad).fit(X)
    with pytest.raises(ValueError, match="Column 1 of X is constant"):
        CDNDensityEstimator().fit(np.column_stack([X[:, 0], np.ones(40)]))


def written_out(ranker, teams, scores, player, x):
    """Return F(x_k | places, other scores) of one duel from a network of the library."""
    totals = [sum(s) for s in scores]
    order = np.argsort(totals)
    cut = ranker.cutpoints_[2][0]
    s2 = ranker.sigma**2

    class Team(GaussianCDF):
        """g with the place read through the cut-point."""

        def log_jet(self, X, wanted):
            at = np.column_stack([X[:, 0], np.where(X[:, 1] >= 2, np.inf, cut)])
            at[:, 1] = np.where(X[:, 1] < 1, -1e9, at[:, 1])
            return super().log_jet(at, wanted)

    mu = ranker.mu
    g = Team([mu, mu], s2 * np.array([[1.0, 1.0], [1.0, 2.0]]))
    h = GaussianCDF([1.0, 2.0], s2 * np.array([[1.0, ranker.rho], [ranker.rho, 1.0]]))
    prior = UnivariateCDF("normal", ranker.mu, ranker.beta)
    # Variables: 0, 1 scores of the loser and the winner, 2, 3 their places.
    players = [teams[i][0] for i in order]
    me = players.index(player)
    factors = [((0, 2), g), ((1, 3), g), ((2, 3), h), ((1 - me,), prior)]
    network = CDN(factors, kinds=["continuous", "continuous", "ordinal", "ordinal"])
    given = {1 - me: scores[order[1 - me]][0], 2: 1.0, 3: 2.0}
    return network.conditional_cdf({me: x}, given)


@pytest.mark.parametrize("player", ["a", "b"])
def test_a_duel_is_the_network_written_out(player):
    teams, scores = [["a"], ["b"]], [[31.0], [24.0]]
    ranker = CDNTeamRanker(n_grid=2001).partial_fit([(teams, scores)])
    before = norm(ranker.mu, ranker.beta).cdf(ranker.grid_)
    x = ranker.grid_[700:1300:50]
    want = written_out(ranker, teams, scores, player, x) * before[700:1300:50]
    assert ranker.skill_function(player)[700:1300:50] == pytest.approx(want, abs=2e-4)


def test_free_for_alls_order_players_by_skill():
    games, skill = make_score_games(60, 8, n_teams=4, random_state=0)
    ranker = CDNTeamRanker(n_grid=81).fit(games)
    found = np.array([ranker.skills_[p] for p in range(8)])
    assert np.corrcoef(found, skill)[0, 1] > 0.5
    for player in ranker.skills_:
        curve = ranker.skill_function(player)
        assert (np.diff(curve) >= -1e-12).all()
        assert curve[-1] == pytest.approx(1, abs=1e-3)
    assert ranker.n_games_ == 60
    assert list(ranker.cutpoints_) == [4]
    assert (np.diff(ranker.cutpoints_[4]) > 0).all()


def test_teams_of_two_in_one_game():
    ranker = CDNTeamRanker(n_grid=41).fit([([[0, 1], [2, 3]], [[5.0, 8.0], [9.0, 20.0]])])
    assert ranker.predict_order([[0, 1], [2, 3]]) == [1, 0]


@pytest.mark.parametrize(
    ("games", "words"),
    [
        ([], "empty"),
        ([([[0]], [[1.0]])], "two teams"),
        ([([[0], [0]], [[1.0], [2.0]])], "no player twice"),
        ([([[0], [1]], [[1.0], [np.nan]])], "Game 0 has scores"),
        ([([[0], [1]], [[1.0]])], "one score for each player"),
        ([([[0, 1, 2, 3, 4], [5]], [[1.0] * 5, [2.0]])], "at most 4"),
        ([3], "not a pair"),
    ],
)
def test_bad_games(games, words):
    with pytest.raises(ValueError, match=words):
        CDNTeamRanker().partial_fit(games)


def test_copulas_of_every_family_fit():
    X = CDN([((0, 1), CopulaCDF("gumbel", 0.4, [UnivariateCDF("gumbel")] * 2))]).sample(
        150, random_state=0
    )
    scores = {}
    for family in ("gumbel", "clayton", "frank", "gaussian"):
        model = CDNDensityEstimator(copula=family, marginal="gumbel", margins="preserve").fit(X)
        scores[family] = model.score(X)
    assert max(scores, key=scores.get) == "gumbel"
    for marginal in ("t", "gev", "logistic"):
        model = CDNDensityEstimator(copula="gumbel", marginal=marginal, max_iter=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert np.isfinite(model.fit(X).score(X))
