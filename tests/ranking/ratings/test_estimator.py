"""OnlineRanker against derivatives, exact posteriors, openskill, trueskill and closed forms."""

import copy
import itertools
import json
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import erfcx, expit, log_expit, logsumexp, ndtr
from scipy.stats import kendalltau
from sklearn.exceptions import NotFittedError

from octavo.ranking import OnlineRanker, posterior_moments_by_derivatives

PAIR_MODELS = ["bradley_terry", "thurstone_mosteller"]
TEAM_MODELS = [
    ("bradley_terry", "full"),
    ("bradley_terry", "partial"),
    ("thurstone_mosteller", "full"),
    ("thurstone_mosteller", "partial"),
    ("plackett_luce", "full"),
]
BETA2 = (25 / 6) ** 2


def random_games(rng, n_games, n_players=30, max_teams=5, max_size=3, ties=True):
    games = []
    for _ in range(n_games):
        k = rng.integers(2, max_teams + 1)
        sizes = rng.integers(1, max_size + 1, size=k)
        players = rng.permutation(n_players)[: sizes.sum()]
        teams = [list(map(int, part)) for part in np.split(players, np.cumsum(sizes)[:-1])]
        ranks = rng.integers(1, 4, size=k) if ties else rng.permutation(k)
        games.append((teams, list(map(int, ranks))))
    return games


def log_outcome(theta, model, pairs, mu, sigma2, ranks, margin=0.1):
    """log f of the paper, written from its definitions, with σ and c frozen at the prior."""
    k = len(theta)
    if model == "plackett_luce":  # Eq. (72)
        c = np.sqrt(np.sum(sigma2) + k * BETA2)
        total = 0.0
        for q in range(k):
            behind = [s for s in range(k) if ranks[s] >= ranks[q]]
            tied = sum(ranks[s] == ranks[q] for s in range(k))
            total += (theta[q] / c - logsumexp([theta[s] / c for s in behind])) / tied
        return total
    order = sorted(range(k), key=lambda i: ranks[i])
    all_pairs = itertools.combinations(order, 2) if pairs == "full" else itertools.pairwise(order)
    total = 0.0
    for i, q in all_pairs:
        c = np.sqrt(sigma2[i] + sigma2[q] + 2 * BETA2)
        d = (theta[i] - theta[q]) / c
        if model == "bradley_terry":
            tie = 0.5 * (log_expit(d) + log_expit(-d))
            total += tie if ranks[i] == ranks[q] else log_expit(d)
        else:
            t = margin / c
            total += np.log(ndtr(t - d) - ndtr(-t - d) if ranks[i] == ranks[q] else ndtr(d - t))
    return total


def derivatives(function, x, h=1e-3):
    first, second = np.empty_like(x), np.empty_like(x)
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = h
        f_2, f_1, f0, f1, f2 = (function(x + m * e) for m in (-2, -1, 0, 1, 2))
        first[i] = (8 * (f1 - f_1) - (f2 - f_2)) / (12 * h)
        second[i] = (16 * (f1 + f_1) - (f2 + f_2) - 30 * f0) / (12 * h * h)
    return first, second


# --- the update is what the paper derives -----------------------------------------------------


@pytest.mark.parametrize(("model", "pairs"), TEAM_MODELS)
@pytest.mark.parametrize("ranks", [[2, 1, 3, 2], [1, 2, 3, 4], [1, 1, 1, 1]])
def test_update_is_made_of_the_derivatives_of_the_log_likelihood(model, pairs, ranks):
    mu = np.array([24.0, 27.0, 22.0, 25.5])
    sigma = np.array([8.0, 3.0, 5.0, 7.0])
    ranker = OnlineRanker(model, pairs, gamma=1.0)
    for i in range(4):
        ranker.set_rating(i, mu[i], sigma[i])
    ranker.update([[0], [1], [2], [3]], ranks)
    slope, curvature = derivatives(
        lambda theta: log_outcome(theta, model, pairs, mu, sigma**2, ranks), mu
    )
    np.testing.assert_allclose(ranker.mu_, mu + sigma**2 * slope, atol=1e-7)
    factor = np.maximum(1 + sigma**2 * curvature, 1e-4)
    np.testing.assert_allclose(ranker.sigma_**2, sigma**2 * factor, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("model", "pairs"), TEAM_MODELS)
def test_team_moves_are_shared_by_variance(model, pairs):
    """Eq. (43)-(44): a team of several players moves as one player with the summed belief."""
    ratings = {"a": (20.0, 4.0), "b": (9.0, 6.0), "c": (27.0, 5.0)}
    team = OnlineRanker(model, pairs)
    for player, rating in ratings.items():
        team.set_rating(player, *rating)
    whole = OnlineRanker(model, pairs).set_rating("ab", 29.0, np.sqrt(52.0))
    whole.set_rating("c", 27.0, 5.0)
    team.update([["a", "b"], ["c"]], [2, 1])
    whole.update([["ab"], ["c"]], [2, 1])
    moved = whole.rating("ab").mu - 29.0
    shrunk = 1 - whole.rating("ab").sigma ** 2 / 52.0
    for player, share in (("a", 16 / 52), ("b", 36 / 52)):
        mu, sigma = ratings[player]
        np.testing.assert_allclose(team.rating(player).mu, mu + share * moved)
        np.testing.assert_allclose(team.rating(player).sigma ** 2, sigma**2 * (1 - share * shrunk))
    np.testing.assert_allclose(team.rating("c"), whole.rating("c"))


def test_weights_are_partial_play():
    """θ_team = Σ w θ: derivatives with respect to each player's own skill."""
    mu, sigma = np.array([25.0, 20.0, 26.0]), np.array([8.0, 5.0, 6.0])
    weights = np.array([1.0, 0.3, 1.0])
    ranker = OnlineRanker(gamma=1.0)
    for i in range(3):
        ranker.set_rating(i, mu[i], sigma[i])
    ranker.update([[0, 1], [2]], [1, 2], weights=[[1.0, 0.3], [1.0]])
    c = np.sqrt(weights**2 @ sigma**2 + 2 * BETA2)
    slope, curvature = derivatives(
        lambda theta: log_expit((theta[0] + 0.3 * theta[1] - theta[2]) / c), mu
    )
    np.testing.assert_allclose(ranker.mu_, mu + sigma**2 * slope, atol=1e-8)
    np.testing.assert_allclose(ranker.sigma_**2, sigma**2 * (1 + sigma**2 * curvature), rtol=1e-7)
    unit = OnlineRanker().update([["a", "b"], ["c"]], [1, 2], weights=[[1, 1], [1]])
    plain = OnlineRanker().update([["a", "b"], ["c"]], [1, 2])
    np.testing.assert_array_equal(unit.mu_, plain.mu_)


@pytest.mark.parametrize("tie", [False, True])
def test_thurstone_mosteller_two_teams_is_the_exact_posterior(tie):
    """With γ = 1 the update is the exact posterior under performances of variance β²."""
    m, s, margin = np.array([27.0, 24.0]), np.array([5.0, 7.0]), 1.5
    ranker = OnlineRanker("thurstone_mosteller", gamma=1.0, draw_margin=margin)
    ranker.set_rating(0, m[0], s[0]).set_rating(1, m[1], s[1])
    ranker.update([[0], [1]], [1, 1] if tie else [2, 1])
    sd = np.sqrt(2 * BETA2 + s[1] ** 2)  # of the difference, with player 0 held at θ

    def posterior(theta):
        d = theta - m[1]
        if tie:
            like = ndtr((margin - d) / sd) - ndtr((-margin - d) / sd)
        else:
            like = ndtr((-d - margin) / sd)
        return like * np.exp(-0.5 * ((theta - m[0]) / s[0]) ** 2)

    z, first, second = (
        integrate.quad(lambda x, p=p: x**p * posterior(x), m[0] - 60, m[0] + 60, epsabs=0)[0]
        for p in range(3)
    )
    np.testing.assert_allclose(ranker.rating(0).mu, first / z, rtol=1e-8)
    np.testing.assert_allclose(
        ranker.rating(0).sigma ** 2, second / z - (first / z) ** 2, rtol=1e-6
    )


def test_generic_update_equals_bradley_terry():
    ranker = OnlineRanker(gamma=1.0).set_rating(0, 26.0, 6.0).set_rating(1, 23.0, 4.0)
    c = np.sqrt(36 + 16 + 2 * BETA2)
    mu, sigma = posterior_moments_by_derivatives(
        lambda theta: log_expit((theta[0] - theta[1]) / c), [26, 23], [6, 4]
    )
    ranker.update([[0], [1]])
    np.testing.assert_allclose(ranker.mu_, mu, rtol=1e-9)
    np.testing.assert_allclose(ranker.sigma_, sigma, rtol=1e-7)
    p = expit(3.0 / c)
    exact = posterior_moments_by_derivatives(
        lambda theta: log_expit((theta[0] - theta[1]) / c),
        [26, 23],
        [6, 4],
        gradient=lambda _: np.array([1 - p, p - 1]) / c,
        hessian_diagonal=lambda _: np.full(2, -p * (1 - p) / c**2),
    )
    np.testing.assert_allclose(ranker.mu_, exact[0], rtol=1e-13)
    np.testing.assert_allclose(ranker.sigma_, exact[1], rtol=1e-13)


@pytest.mark.parametrize(("mu", "sigma"), [([1, 2], [1]), ([np.nan], [1]), ([0], [0]), ([0], [-1])])
def test_generic_update_refuses_bad_beliefs(mu, sigma):
    with pytest.raises(ValueError, match="mu"):
        posterior_moments_by_derivatives(lambda theta: 0.0, mu, sigma)


def test_generic_update_refuses_an_infinite_likelihood():
    with pytest.raises(ValueError, match="finite at the prior mean, got -inf"):
        posterior_moments_by_derivatives(lambda theta: -np.inf, [0], [1])


# --- peers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bradley_terry", "plackett_luce"])
def test_equals_openskill_over_a_replay_with_ties(model):
    openskill = pytest.importorskip("openskill.models")
    peer = {"bradley_terry": openskill.BradleyTerryFull, "plackett_luce": openskill.PlackettLuce}
    league = peer[model](tau=0.0)
    beliefs = {i: league.rating() for i in range(30)}
    ranker = OnlineRanker(model)
    for teams, ranks in random_games(np.random.default_rng(0), 120):
        ranker.update(teams, ranks)
        rated = league.rate([[beliefs[p] for p in team] for team in teams], ranks=ranks)
        for team, new in zip(teams, rated):
            beliefs.update(zip(team, new))
    for player, belief in beliefs.items():
        np.testing.assert_allclose(ranker.rating(player), (belief.mu, belief.sigma), atol=1e-9)


def test_equals_openskill_thurstone_mosteller_game_by_game():
    openskill = pytest.importorskip("openskill.models")
    league = openskill.ThurstoneMostellerFull(tau=0.0, epsilon=0.1)
    ranker = OnlineRanker("thurstone_mosteller")
    compared = 0
    for teams, ranks in random_games(np.random.default_rng(1), 120, max_teams=3, ties=False):
        before = [[ranker.rating(p) for p in team] for team in teams]
        mean = np.array([sum(r.mu for r in team) for team in before])
        variance = np.array([sum(r.sigma**2 for r in team) for team in before])
        c = np.sqrt(variance[:, None] + variance + 2 * BETA2)
        ranker.update(teams, ranks)
        if (np.abs(mean[:, None] - mean) > 3 * c).any():
            continue  # beyond that its guards replace Φ by a limit
        rated = league.rate(
            [[league.rating(mu=r.mu, sigma=r.sigma) for r in team] for team in before], ranks=ranks
        )
        for team, new in zip(teams, rated):
            for player, belief in zip(team, new):
                np.testing.assert_allclose(
                    ranker.rating(player), (belief.mu, belief.sigma), atol=1e-9
                )
                compared += 1
    assert compared > 100


@pytest.mark.parametrize("draw", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3)])
def test_equals_trueskill_for_two_teams(draw, sizes):
    trueskill = pytest.importorskip("trueskill")
    beta, n = 25 / 6, sum(sizes)
    env = trueskill.TrueSkill(tau=0.0, draw_probability=0.2)
    margin = trueskill.calc_draw_margin(0.2, n, env)
    ranker = OnlineRanker(
        "thurstone_mosteller", gamma=1.0, beta=beta * np.sqrt(n / 2), draw_margin=margin
    )
    rng = np.random.default_rng(2)
    mu, sigma = rng.normal(25, 3, n), rng.uniform(2, 8, n)
    for i in range(n):
        ranker.set_rating(i, mu[i], sigma[i])
    teams = [list(range(sizes[0])), list(range(sizes[0], n))]
    groups = [[trueskill.Rating(mu[i], sigma[i]) for i in team] for team in teams]
    rated = env.rate(groups, ranks=[0, 0] if draw else [1, 0])
    ranker.update(teams, [0, 0] if draw else [1, 0])
    for team, new in zip(teams, rated):
        for player, belief in zip(team, new):
            np.testing.assert_allclose(ranker.rating(player), (belief.mu, belief.sigma), atol=1e-6)


def test_order_of_many_games_is_the_maximum_likelihood_order():
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(3)
    skill = np.sort(rng.normal(0, 1.5, 20))
    games = []
    for _ in range(6000):
        i, j = rng.choice(20, 2, replace=False)
        games.append((i, j) if rng.random() < expit(skill[i] - skill[j]) else (j, i))
    ranker = OnlineRanker().fit_pairs(*np.array(games).T)
    estimate = choix.ilsr_pairwise(20, games)
    order = [ranker.rating(i).mu for i in range(20)]
    assert kendalltau(order, estimate).statistic > 0.95


# --- Glicko and Elo ---------------------------------------------------------------------------


def test_glicko_period_is_the_published_worked_example():
    """Glickman (1999): 1500/200 beats 1400/30, loses to 1550/100 and 1700/300."""
    ranker = OnlineRanker("glicko", mu=1500, sigma=350)
    for player, mu, sigma in [
        ("me", 1500, 200),
        ("a", 1400, 30),
        ("b", 1550, 100),
        ("c", 1700, 300),
    ]:
        ranker.set_rating(player, mu, sigma)
    ranker.update_period(
        [([["me"], [o]], r) for o, r in (("a", [1, 2]), ("b", [2, 1]), ("c", [2, 1]))]
    )
    mu, sigma = ranker.rating("me")
    assert round(float(mu)) == 1464
    assert round(float(sigma), 1) == 151.4
    assert ranker.n_games_ == 3


def test_glicko_single_game_is_a_period_of_one_game():
    one = OnlineRanker("glicko", mu=1500, sigma=350).set_rating("a", 1620, 80)
    period = copy.deepcopy(one)
    one.update([["a"], ["b"]], [2, 1])
    period.update_period([([["a"], ["b"]], [2, 1])])
    for player in "ab":
        np.testing.assert_allclose(one.rating(player), period.rating(player), rtol=1e-13)
    # Algorithm 5 by hand
    q = np.log(10) / 400
    g = 1 / np.sqrt(1 + 3 * q**2 * 350**2 / np.pi**2)
    p = 1 / (1 + 10 ** (-g * (1620 - 1500) / 400))
    variance = 1 / (1 / 80**2 + q**2 * g**2 * p * (1 - p))
    np.testing.assert_allclose(one.rating("a"), (1620 - variance * q * g * p, np.sqrt(variance)))


@pytest.mark.parametrize("link", ["logistic", "normal"])
def test_elo_is_equation_6(link):
    ranker = OnlineRanker("elo", mu=1500, beta=200, link=link)
    ranker.set_rating("a", 1613, 1).set_rating("b", 1477, 1)
    p = 1 / (1 + 10 ** (-136 / 400)) if link == "logistic" else ndtr(136 / (np.sqrt(2) * 200))
    np.testing.assert_allclose(ranker.predict_win([["a"], ["b"]]), [p, 1 - p])
    ranker.update([["a"], ["b"]], [2, 1])
    np.testing.assert_allclose(ranker.mu_, [1613 - 32 * p, 1477 + 32 * p])
    np.testing.assert_array_equal(ranker.sigma_, [1, 1])
    ranker.update([["c"], ["d"]], [1, 1])
    assert ranker.rating("c").mu == 1500


def test_large_beta_is_elo():
    """For β → ∞ Bradley-Terry moves by K (s - p) with K = σ²/c."""
    sigma, beta = 2.0, 1e4
    ranker = OnlineRanker(mu=0, sigma=sigma, beta=beta).set_rating(0, 50.0, sigma)
    c = np.sqrt(2 * sigma**2 + 2 * beta**2)
    ranker.update([[0], [1]], [2, 1])
    np.testing.assert_allclose(ranker.rating(0).mu, 50 - sigma**2 / c * expit(50 / c), rtol=1e-14)
    np.testing.assert_allclose(ranker.sigma_, sigma, rtol=1e-8)


def test_glicko_warns_on_another_scale():
    with pytest.warns(UserWarning, match="mu=1500, sigma=350"):
        OnlineRanker("glicko").update([["a"], ["b"]])


# --- properties -------------------------------------------------------------------------------


@st.composite
def played_games(draw, max_teams=5, max_size=3):
    sizes = draw(st.lists(st.integers(1, max_size), min_size=2, max_size=max_teams))
    n = sum(sizes)
    ranks = draw(st.lists(st.integers(0, 3), min_size=len(sizes), max_size=len(sizes)))
    mu = draw(st.lists(st.floats(-80, 80), min_size=n, max_size=n))
    sigma = draw(st.lists(st.floats(0.05, 20), min_size=n, max_size=n))
    players = iter(range(n))
    teams = [[next(players) for _ in range(size)] for size in sizes]
    return teams, ranks, mu, sigma


def rated(model, pairs, teams, ranks, mu, sigma, **parameters):
    ranker = OnlineRanker(model, pairs, **{"gamma": "inverse_k", **parameters})
    for i, belief in enumerate(zip(mu, sigma)):
        ranker.set_rating(i, *belief)
    return ranker.update(teams, ranks)


@settings(max_examples=60, deadline=None)
@given(game=played_games(), which=st.sampled_from(TEAM_MODELS))
def test_order_of_teams_players_and_scale_of_ranks_do_not_matter(game, which):
    teams, ranks, mu, sigma = game
    plain = rated(*which, teams, ranks, mu, sigma)
    assert np.isfinite(plain.mu_).all()
    assert (plain.sigma_ > 0).all()
    assert (plain.sigma_ <= np.array(sigma) * (1 + 1e-12)).all()
    if which[1] == "partial" and len(set(ranks)) < len(ranks):
        return  # neighbours inside a tie may be taken in any order (Eq. 2)
    turned = rated(
        *which, [team[::-1] for team in teams[::-1]], [3 * r + 7 for r in ranks[::-1]], mu, sigma
    )
    np.testing.assert_allclose(turned.mu_, plain.mu_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(turned.sigma_, plain.sigma_, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(game=played_games(max_teams=2))
def test_two_teams_are_the_same_game_in_three_models(game):
    teams, ranks, mu, sigma = game
    full, partial, luce = (
        rated(*which, teams, ranks, mu, sigma, gamma="sigma_over_c")
        for which in (TEAM_MODELS[0], TEAM_MODELS[1], TEAM_MODELS[4])
    )
    np.testing.assert_allclose(partial.mu_, full.mu_, rtol=1e-13)
    np.testing.assert_allclose(luce.mu_, full.mu_, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(luce.sigma_, full.sigma_, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    mu=st.tuples(st.floats(-200, 200), st.floats(-200, 200)),
    sigma=st.floats(0.1, 20),
    model=st.sampled_from(PAIR_MODELS),
)
def test_a_win_raises_and_means_are_conserved(mu, sigma, model):
    ranker = rated(model, "full", [[0], [1]], [1, 2], mu, (sigma, sigma))
    assert ranker.rating(0).mu >= mu[0]
    assert ranker.rating(1).mu <= mu[1]
    np.testing.assert_allclose(ranker.mu_.sum(), sum(mu), atol=1e-9)


def test_certain_players_do_not_move():
    ranker = rated("bradley_terry", "full", [[0], [1]], [2, 1], (25, 25), (1e-9, 5))
    assert abs(ranker.rating(0).mu - 25) < 1e-15
    assert ranker.rating(1).mu > 25


@pytest.mark.parametrize("model", PAIR_MODELS)
def test_extreme_upsets_stay_finite(model):
    ranker = rated(model, "full", [[0], [1]], [2, 1], (1e4, -1e4), (1, 1))
    # The loser has a chance of about nothing: its score is 1, or the mean V of a normal tail.
    c = np.sqrt(2 + 2 * BETA2)
    t = 2e4 / c + (0.1 / c if model == "thurstone_mosteller" else 0.0)
    move = 1 / c * (np.sqrt(2 / np.pi) / erfcx(t / np.sqrt(2)) if "thurstone" in model else 1.0)
    np.testing.assert_allclose(ranker.mu_, [1e4 - move, -1e4 + move], rtol=1e-12)
    assert np.isfinite(ranker.sigma_).all()
    assert (ranker.sigma_ > 0).all()
    tie = rated(model, "full", [[0], [1]], [1, 1], (1e4, -1e4), (1, 1))
    assert np.isfinite(tie.mu_).all()
    assert tie.rating(0).mu < 1e4


# --- gamma and drift --------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bradley_terry", "thurstone_mosteller", "plackett_luce"])
def test_gamma_policies_agree_with_their_function(model):
    games = random_games(np.random.default_rng(4), 15, max_teams=4)
    policies = {
        "sigma_over_c": lambda sigma, c, k: sigma / c,
        "inverse_k": lambda sigma, c, k: 1 / k,
        0.3: lambda sigma, c, k: 0.3,
    }
    for name, function in policies.items():
        named = OnlineRanker(model, gamma=name, tau=0.5).partial_fit(games)
        called = OnlineRanker(model, gamma=function, tau=0.5).partial_fit(games)
        np.testing.assert_allclose(called.mu_, named.mu_, rtol=1e-12)
        np.testing.assert_allclose(called.sigma_, named.sigma_, rtol=1e-12)
    with pytest.raises(ValueError, match="gamma must return finite"):
        OnlineRanker(model, gamma=lambda sigma, c, k: np.nan).update([["a"], ["b"]])


def test_tau_is_added_before_the_game():
    drifting = OnlineRanker(tau=3.0).update([["a"], ["b"]])
    wider = np.sqrt((25 / 3) ** 2 + 9)
    plain = OnlineRanker().set_rating("a", 25, wider).set_rating("b", 25, wider)
    plain.update([["a"], ["b"]])
    np.testing.assert_allclose(drifting.mu_, plain.mu_, rtol=1e-14)
    np.testing.assert_allclose(drifting.sigma_, plain.sigma_, rtol=1e-14)


def test_inactivity_widens_up_to_the_prior():
    start = OnlineRanker(inactivity=0.5).set_rating("a", 25, 2.0).set_rating("b", 25, 2.0)
    start.update([["a"], ["b"]], time=10.0)
    sigma = start.rating("a").sigma

    def widened(days):
        later = copy.deepcopy(start).update([["a"], ["c"]], time=10.0 + days)
        alone = OnlineRanker().set_rating("a", *start.rating("a"))
        alone.set_rating("a", start.rating("a").mu, min(np.sqrt(sigma**2 + 0.25 * days), 25 / 3))
        return later.rating("a"), alone.update([["a"], ["c"]]).rating("a")

    for days in (4.0, 1e6):
        np.testing.assert_allclose(*widened(days), rtol=1e-13)
    assert copy.deepcopy(start).update([["a"], ["c"]], time=10.0).rating("a").sigma <= sigma


def test_inactivity_counts_games_without_times():
    by_count = OnlineRanker(inactivity=1.0)
    by_time = OnlineRanker(inactivity=1.0)
    for g, teams in enumerate([[["a"], ["b"]], [["c"], ["d"]], [["a"], ["c"]]]):
        by_count.update(teams)
        by_time.update(teams, time=float(g))
    np.testing.assert_array_equal(by_count.mu_, by_time.mu_)


def test_thurstone_mosteller_warns_of_collapse():
    teams = [[i] for i in range(6)]
    with pytest.warns(UserWarning, match="inverse_k"):
        OnlineRanker("thurstone_mosteller").update(teams)


# --- the flat replay equals the game-by-game one ----------------------------------------------


def flat(games):
    team_ptr = np.cumsum([0] + [len(team) for teams, _ in games for team in teams])
    game_ptr = np.cumsum([0] + [len(teams) for teams, _ in games])
    players = np.array([p for teams, _ in games for team in teams for p in team])
    ranks = np.array([float(r) for _, rs in games for r in rs])
    return team_ptr, players, ranks, game_ptr


@pytest.mark.parametrize(("model", "pairs"), TEAM_MODELS)
def test_fit_equals_update_game_by_game(model, pairs):
    games = random_games(np.random.default_rng(5), 60, max_teams=4)
    one_by_one = OnlineRanker(model, pairs, tau=0.2)
    for teams, ranks in games:
        one_by_one.update(teams, ranks)
    replayed = OnlineRanker(model, pairs, tau=0.2).fit(*flat(games))
    for player in one_by_one.players_:
        np.testing.assert_array_equal(replayed.rating(player), one_by_one.rating(player))
    assert replayed.n_games_ == one_by_one.n_games_ == 60


@pytest.mark.parametrize("model", ["bradley_terry", "thurstone_mosteller", "glicko", "elo"])
def test_fit_of_duels_equals_update(model):
    rng = np.random.default_rng(6)
    scale = {"mu": 1500, "sigma": 350} if model in ("glicko", "elo") else {}
    games = [
        ([[int(a)], [int(b)]], r)
        for a, b in (rng.permutation(9)[:2] for _ in range(80))
        for r in [list(rng.integers(0, 2, 2))]
    ]
    one_by_one = OnlineRanker(model, tau=0.1, **scale).partial_fit(games)
    team_ptr, players, ranks, _ = flat(games)
    replayed = OnlineRanker(model, tau=0.1, **scale).fit(team_ptr, players.astype(np.int32), ranks)
    for player in one_by_one.players_:
        np.testing.assert_array_equal(replayed.rating(player), one_by_one.rating(player))
    watched = OnlineRanker(model, tau=0.1, record_history=True, **scale)
    watched.fit(team_ptr, players, ranks)
    np.testing.assert_array_equal(watched.mu_, replayed.mu_)


def test_fit_in_chunks_is_one_replay(monkeypatch):
    games = random_games(np.random.default_rng(7), 50)
    whole = OnlineRanker().fit(*flat(games))
    monkeypatch.setattr("octavo.ranking.ratings.estimator._CHUNK", 7)
    weights = np.ones(flat(games)[1].size)
    chunked = OnlineRanker().fit(*flat(games), weights=weights, times=np.arange(50))
    np.testing.assert_allclose(chunked.mu_, whole.mu_, rtol=1e-13)


def test_fit_reads_memory_mapped_logs(tmp_path):
    games = random_games(np.random.default_rng(8), 20)
    mapped = []
    for name, array in zip("tprg", flat(games)):
        np.save(tmp_path / f"{name}.npy", array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    np.testing.assert_array_equal(
        OnlineRanker().fit(*mapped).mu_, OnlineRanker().fit(*flat(games)).mu_
    )


def test_fit_pairs_takes_labels_and_draws():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"w": ["ann", "bob", "ann"], "l": ["bob", "eve", "eve"], "d": [0, 1, 0]}
    )
    ranker = OnlineRanker().fit_pairs(frame["w"], frame["l"], draw=frame["d"])
    plain = OnlineRanker().update([["ann"], ["bob"]])
    plain.update([["bob"], ["eve"]], [1, 1]).update([["ann"], ["eve"]])
    assert ranker.players_ == ["ann", "bob", "eve"]
    np.testing.assert_array_equal(ranker.mu_, plain.mu_)
    ranker.update([["zoe"], ["ann"]])
    assert ranker.players_[-1] == "zoe"


def test_play_goes_on_after_fit_with_new_players():
    ranker = OnlineRanker().fit([0, 1, 2], [0, 2], [1, 2])
    assert ranker.players_ == [0, 1, 2]
    assert ranker.rating(1) == ranker.rating("nobody") == (25.0, 25 / 3)
    ranker.update([[2], ["new"]])
    assert ranker.players_ == [0, 1, 2, "new"]
    assert ranker.n_games_ == 2


def test_history_is_kept_only_when_asked_for():
    games = random_games(np.random.default_rng(9), 12)
    ranker = OnlineRanker(record_history=True).partial_fit(games)
    rows = ranker.history_
    last = rows[rows["player"] == 3][-1]
    player = ranker.players_[3]
    np.testing.assert_allclose((last["mu"], last["sigma"]), ranker.rating(player))
    assert list(np.unique(rows["game"])) == list(range(12))
    with pytest.raises(AttributeError, match="record_history=True"):
        _ = OnlineRanker().partial_fit(games).history_


# --- predictions ------------------------------------------------------------------------------


def ranked(model, **parameters):
    scale = {"mu": 1500, "sigma": 350} if model in ("glicko", "elo") else {}
    ranker = OnlineRanker(model, **{**scale, **parameters})
    for i, (mu, sigma) in enumerate([(27, 3), (22, 5), (25, 4), (30, 7)]):
        ranker.set_rating(i, 1400 + 10 * mu if scale else mu, sigma * 10 if scale else sigma)
    return ranker


@pytest.mark.parametrize("model", ["bradley_terry", "plackett_luce", "thurstone_mosteller"])
def test_predict_win_of_two_is_the_model(model):
    ranker = ranked(model)
    c = np.sqrt(9 + 25 + 2 * BETA2)
    if model == "thurstone_mosteller":
        wanted = ndtr(np.array([5 - 0.1, -5 - 0.1]) / c)
        draw = ndtr((0.1 - 5) / c) - ndtr((-0.1 - 5) / c)  # Eq. (65)
        np.testing.assert_allclose(ranker.predict_draw([[0], [1]]), draw, rtol=1e-12)
        np.testing.assert_allclose(wanted.sum() + draw, 1.0)
    else:
        wanted = expit(np.array([5, -5]) / c)
    np.testing.assert_allclose(ranker.predict_win([[0], [1]]), wanted)


@pytest.mark.parametrize("model", ["bradley_terry", "plackett_luce", "thurstone_mosteller"])
def test_predictions_for_many_teams_are_consistent(model):
    ranker = ranked(model, draw_margin=0.0)
    teams = [[0], [1], [2]]
    orders = {
        order: ranker.predict_order([teams[i] for i in order])
        for order in itertools.permutations(range(3))
    }
    np.testing.assert_allclose(sum(orders.values()), 1.0, atol=1e-7)
    first = [sum(p for order, p in orders.items() if order[0] == i) for i in range(3)]
    np.testing.assert_allclose(ranker.predict_win(teams), first, atol=1e-6)
    np.testing.assert_allclose(ranker.predict_rank(teams).sum(), 6.0)


def test_thurstone_mosteller_predictions_match_simulation():
    ranker = ranked("thurstone_mosteller", draw_margin=0.5)
    rng = np.random.default_rng(10)
    mean, sigma = np.array([27, 22, 25, 30]), np.array([3, 5, 4, 7])
    n = 400_000
    x = rng.normal(mean, np.sqrt(sigma**2 + BETA2), (n, 4))
    ordered = np.sort(x, axis=1)
    wins = [np.mean((x.argmax(1) == i) & (ordered[:, 3] - ordered[:, 2] > 0.5)) for i in range(4)]
    np.testing.assert_allclose(ranker.predict_win([[0], [1], [2], [3]]), wins, atol=4 / np.sqrt(n))
    seen = np.mean((x[:, 3] > x[:, 0]) & (x[:, 0] > x[:, 2]) & (x[:, 2] > x[:, 1]))
    np.testing.assert_allclose(
        ranker.predict_order([[3], [0], [2], [1]]), seen, atol=4 * 0.5 / np.sqrt(n)
    )


@pytest.mark.parametrize("model", ["glicko", "elo"])
def test_duel_models_predict_complementary_chances(model):
    ranker = ranked(model)
    p = ranker.predict_win([[0], [1]])
    np.testing.assert_allclose(p.sum(), 1.0)
    np.testing.assert_allclose(ranker.quality([[0], [1]]), 4 * p[0] * p[1])
    with pytest.raises(ValueError, match="gives draws no probability"):
        ranker.predict_draw([[0], [1]])


def test_quality_is_trueskills_for_two_players():
    trueskill = pytest.importorskip("trueskill")
    env = trueskill.TrueSkill()
    wanted = env.quality([[env.create_rating(27, 3)], [env.create_rating(22, 5)]])
    ranker = ranked("thurstone_mosteller")
    np.testing.assert_allclose(ranker.quality([[0], [1]]), wanted)
    teams = [[0], [1], [2]]
    np.testing.assert_allclose(ranker.quality(teams), ranker.quality(teams[::-1]))
    three = [[env.create_rating(m, s)] for m, s in ((27, 3), (22, 5), (25, 4))]
    np.testing.assert_allclose(ranker.quality(teams), env.quality(three))


def test_leaderboard_is_sorted_by_the_lower_bound():
    ranker = ranked("bradley_terry")
    rows = ranker.leaderboard(k=1)
    assert [row.player for row in rows] == [0, 3, 2, 1]
    assert rows[0].score == 24.0
    assert rows[0]._fields == ("player", "mu", "sigma", "score")


# --- prequential evaluation -------------------------------------------------------------------


def test_prequential_error_is_the_papers_definition():
    games = random_games(np.random.default_rng(11), 40, n_players=8, max_size=1)
    ranker = OnlineRanker()
    wrong = pairs = loss = 0
    played, past, gaps = Counter(), [], []
    for g, (teams, ranks) in enumerate(games):
        before = np.mean([played[p] for team in teams for p in team])
        played.update(p for team in teams for p in team)
        if g:
            for i, q in itertools.permutations(range(len(teams)), 2):
                if ranks[i] < ranks[q]:
                    pairs += 1
                    past.append(before)
                    gaps.append(sum(r < ranks[q] for r in ranks) - sum(r < ranks[i] for r in ranks))
                    wrong += ranker.rating(teams[i][0]).mu <= ranker.rating(teams[q][0]).mu
                    loss -= np.log(ranker.predict_win([teams[i], teams[q]])[0])
        ranker.update(teams, ranks)
    fresh = OnlineRanker()
    error, log_loss = fresh.prequential_error(games)
    assert error == wrong / pairs
    np.testing.assert_allclose(log_loss, loss / pairs)
    assert not hasattr(fresh, "n_games_")  # the ranker itself has played nothing
    trace = fresh.prequential_trace(games)
    assert trace.wrong.size == trace.probability.size == trace.rank_gap.size == pairs
    np.testing.assert_allclose(trace.past_games, past)
    np.testing.assert_array_equal(trace.rank_gap, gaps)


def test_prequential_needs_games_that_decide():
    with pytest.raises(ValueError, match="At least two games"):
        OnlineRanker().prequential_error([([["a"], ["b"]], [1, 2])])
    with pytest.raises(ValueError, match="different rank"):
        OnlineRanker().prequential_error([([["a"], ["b"]], [1, 1])] * 3)


# --- JSON -------------------------------------------------------------------------------------


def test_json_round_trip_is_exact():
    ranker = OnlineRanker("plackett_luce", tau=0.1, inactivity=0.2)
    ranker.update([[1, "1"], [("x", 2), 2.5]], [2, 1]).update([[1], ["1"]])
    back = OnlineRanker.from_json(ranker.to_json())
    assert back.players_ == ranker.players_ == [1, "1", ("x", 2), 2.5]
    assert back.get_params() == ranker.get_params()
    np.testing.assert_array_equal(back.mu_, ranker.mu_)
    for side in (ranker, back):
        side.update([["1"], [1]])
    np.testing.assert_array_equal(back.sigma_, ranker.sigma_)
    assert OnlineRanker().load_json(ranker.to_json()).n_games_ == 3


def test_a_loaded_ranker_answers_before_it_learns_again():
    """20 wins of ann over bob: 0.943, saved and loaded 0.943 too, and no other player's rating."""
    ranker = OnlineRanker()
    for _ in range(20):
        ranker.update([["ann"], ["bob"]])
    text = ranker.to_json()
    expected = ranker.predict_win([["ann"], ["bob"]])
    assert expected[0] == pytest.approx(0.943, abs=5e-4)
    for back in (OnlineRanker.from_json(text), OnlineRanker().load_json(text)):
        np.testing.assert_array_equal(back.predict_win([["ann"], ["bob"]]), expected)
        assert back.rating("ann") == ranker.rating("ann")
        assert back.to_json() == text
    numbered = OnlineRanker().update([[7], [1]]).update([[7], [0]])
    back = OnlineRanker.from_json(numbered.to_json())
    for player in (0, 1, 7, 2):  # places are 2, 1, 0 and none
        assert back.rating(player) == numbered.rating(player)
    batch = OnlineRanker().fit_pairs([5, 5, 3], [3, 4, 4])
    again = OnlineRanker.from_json(batch.to_json())
    assert [again.rating(k) for k in range(6)] == [batch.rating(k) for k in range(6)]
    flat = OnlineRanker().fit([0, 1, 2], [1, 0], [1, 2])
    assert OnlineRanker.from_json(flat.to_json()).rating(1) == flat.rating(1)


def test_ids_of_flat_games_are_found_as_a_dictionary_finds_them():
    ranker = OnlineRanker().fit([0, 1, 2], [1, 0], [1, 2])
    asked = (0, 1, 1.0, True, np.int64(1), 1.5, np.inf, -1, 10**400, "1", 2)
    before = [ranker.rating(player) for player in asked]
    ranker.set_rating("someone else", 1.0, 1.0)
    assert [ranker.rating(player) for player in asked] == before


def strictly_parsed(text):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_read_by_strict_parsers():
    ranker = OnlineRanker().set_rating("never played", 20.0, 3.0).update([[np.inf], [-np.inf]])
    ranker.update([[(1, np.inf)], [10**400]])
    text = ranker.to_json()
    assert strictly_parsed(text)["last_time"] == [None, None, None, None, None]
    back = OnlineRanker.from_json(text)
    assert (
        back.players_ == ranker.players_ == ["never played", np.inf, -np.inf, (1, np.inf), 10**400]
    )
    np.testing.assert_array_equal(back.mu_, ranker.mu_)
    timed = OnlineRanker(inactivity=0.1).set_rating("z", 20.0, 3.0)
    timed.update([["a"], ["b"]], time=2.5)
    assert strictly_parsed(timed.to_json())["last_time"] == [None, 2.5, 2.5]
    for side in (timed, back := OnlineRanker.from_json(timed.to_json())):
        side.update([["a"], ["z"]], time=9.0)
    np.testing.assert_array_equal(back.sigma_, timed.sigma_)
    # What earlier versions wrote is read still.
    old = timed.to_json().replace("null", "NaN")
    np.testing.assert_array_equal(OnlineRanker.from_json(old).sigma_, timed.sigma_)
    odd = OnlineRanker(beta=np.float32(4.0), record_history=np.False_).update([["a"], ["b"]])
    assert strictly_parsed(odd.to_json())["parameters"]["beta"] == 4.0


def test_numbers_beyond_floats_are_refused_in_a_sentence():
    huge = 10**400
    ranker = OnlineRanker().update([["a"], ["b"]])
    content = json.loads(ranker.to_json())
    for name in ("mu", "sigma", "beta", "kappa", "tau", "draw_margin", "k_factor", "inactivity"):
        with pytest.raises(ValueError, match=name):
            OnlineRanker(**{name: huge}).update([["a"], ["b"]])
        with pytest.raises(ValueError, match=name):
            OnlineRanker(**{name: huge}).fit([0, 1, 2], [0, 1], [1, 2])
        spoilt = content | {"parameters": content["parameters"] | {name: huge}}
        with pytest.raises(ValueError, match=f"Not the JSON of an OnlineRanker: .*{name}"):
            OnlineRanker.from_json(json.dumps(spoilt))
    for name in ("mu", "variance", "last_time"):
        with pytest.raises(ValueError, match="Not the JSON of an OnlineRanker"):
            OnlineRanker.from_json(json.dumps(content | {name: [huge, 1.0]}))
    for n_games in (huge, True, 2**63):
        with pytest.raises(ValueError, match="n_games"):
            OnlineRanker.from_json(json.dumps(content | {"n_games": n_games}))
    before = pickle.dumps(ranker)
    for use in (
        lambda: ranker.update([["a"], ["b"]], ranks=[1, huge]),
        lambda: ranker.update([["a"], ["b"]], scores=[1, -huge]),
        lambda: ranker.update([["a"], ["b"]], weights=[[1], [huge]]),
        lambda: ranker.update([["a"], ["b"]], time=huge),
        lambda: ranker.partial_fit([([["a"], ["b"]], [1, huge])]),
        lambda: ranker.set_rating("a", huge, 1.0),
        lambda: ranker.set_rating("a", 1.0, huge),
        lambda: ranker.set_rating("a", 1.0, 1e200),
        lambda: ranker.leaderboard(huge),
    ):
        with pytest.raises(ValueError, match=r"finite|range of floats|sigma positive"):
            use()
        assert pickle.dumps(ranker) == before
    later = OnlineRanker().update([["a"], ["b"]]).set_params(sigma=1e200)
    with pytest.raises(ValueError, match="sigma must be at most"):
        later.update([["a"], ["b"]])


def test_broken_json_changes_nothing():
    ranker = OnlineRanker().update([["a"], ["b"]])
    text = ranker.to_json()
    content = json.loads(text)
    broken = [
        text[:-20],
        "",
        "[]",
        "{}",
        json.dumps(content | {"format": 99}),
        json.dumps(content | {"mu": [1.0]}),
        json.dumps(content | {"mu": [1.0, "2"]}),
        json.dumps(content | {"variance": [1.0, -1.0]}),
        json.dumps(content | {"variance": [1.0, float("nan")]}),
        json.dumps(content | {"players": ["a", "a"]}),
        json.dumps(content | {"players": ["a", None]}),
        json.dumps(content | {"players": ["a", float("nan")]}),
        json.dumps(content | {"players": ["a", {"float": "nan"}]}),
        json.dumps(content | {"mu": [1.0, None]}),
        json.dumps(content | {"n_games": -1}),
        json.dumps(content | {"parameters": {"modle": "elo"}}),
        json.dumps(content | {"parameters": content["parameters"] | {"sigma": -1}}),
        json.dumps({key: value for key, value in content.items() if key != "mu"}),
    ]
    before = pickle.dumps(ranker)
    for bad in broken:
        with pytest.raises(ValueError, match="Not the JSON of an OnlineRanker"):
            ranker.load_json(bad)
        assert pickle.dumps(ranker) == before
    with pytest.raises(TypeError, match="JSON takes"):
        OnlineRanker().update([[frozenset()], ["b"]]).to_json()
    with pytest.raises(TypeError, match="gamma is a function"):
        OnlineRanker(gamma=lambda sigma, c, k: 1).update([["a"], ["b"]]).to_json()


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("teams", "keywords", "message"),
    [
        ([["a"], ["a"]], {}, "Player 'a' appears twice"),
        ([["a", "b", "a"], ["c"]], {}, "Player 'a' appears twice"),
        ([["a"], []], {}, "Team 1 is empty"),
        ([["a"]], {}, "at least two teams, got 1"),
        ([], {}, "at least two teams, got 0"),
        ([["a"], ["b"]], {"ranks": [1, np.nan]}, "ranks must not contain NaN"),
        ([["a"], ["b"]], {"ranks": [1]}, "2 expected, got 1"),
        ([["a"], ["b"]], {"scores": [1, 2, 3]}, "2 expected, got 3"),
        ([["a"], ["b"]], {"ranks": [1, 2], "scores": [1, 2]}, "not both"),
        ([["a"], [None]], {}, "not an identity"),
        ([["a"], [float("nan")]], {}, "not an identity"),
        ([["a"], ["b"]], {"weights": [[1]]}, "shape of teams"),
        ([["a"], ["b"]], {"weights": [[1], [-1]]}, "finite, >= 0"),
        ([["a"], ["b"]], {"weights": [[0], [1]]}, "not all zero"),
        ([["a"], ["b"]], {"time": np.nan}, "time must be finite"),
    ],
)
def test_refused_games_register_no_player(teams, keywords, message):
    ranker = OnlineRanker().update([["x"], ["y"]])
    before = pickle.dumps(ranker)
    with pytest.raises(ValueError, match=message):
        ranker.update(teams, **keywords)
    assert pickle.dumps(ranker) == before


@pytest.mark.parametrize("teams", [["ann", "bob"], "ann", 7, [1, 2]])
def test_teams_must_be_lists(teams):
    with pytest.raises(TypeError, match="list"):
        OnlineRanker().update(teams)


def test_unhashable_and_wordy_ranks_are_refused():
    with pytest.raises(TypeError, match="unhashable"):
        OnlineRanker().update([[["nested"]], ["b"]])
    with pytest.raises(TypeError, match="sequence of numbers"):
        OnlineRanker().update([["a"], ["b"]], ranks=["first", "second"])
    with pytest.raises(TypeError, match="unexpected keyword"):
        OnlineRanker().update([["a"], ["b"]], rank=[1, 2])


def test_partial_fit_is_all_or_nothing_and_names_the_game():
    ranker = OnlineRanker().update([["x"], ["y"]])
    before = pickle.dumps(ranker)
    good = ([["a"], ["b"]], [1, 2])
    with pytest.raises(ValueError, match="Game 1: Player 'a' appears twice"):
        ranker.partial_fit([good, ([["a"], ["a"]], [1, 2])])
    with pytest.raises(TypeError, match="Game 2: A game is"):
        ranker.partial_fit([good, good, "ab"])
    assert pickle.dumps(ranker) == before


@pytest.mark.parametrize("model", ["glicko", "elo"])
def test_duel_models_refuse_teams(model):
    ranker = OnlineRanker(model, mu=1500, sigma=350)
    with pytest.raises(ValueError, match="one player against another"):
        ranker.update([["a", "b"], ["c"]])
    with pytest.raises(ValueError, match="one player against another"):
        ranker.update([["a"], ["b"], ["c"]])
    with pytest.raises(ValueError, match="game 0 is not such a game"):
        ranker.fit([0, 2, 3], [0, 1, 2], [1, 2])
    with pytest.raises(ValueError, match="Glicko's"):
        OnlineRanker().update_period([])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 3], [0, 1, 2], [1, 2]), "team_ptr must begin with 0"),
        (([0.0, 1.0, 2.0], [0, 1], [1, 2]), "vector of integers"),
        (([0, 1, 2], [0, 1, 2], [1, 2]), "vector of 2 integers"),
        (([0, 1, 2], [0.5, 1], [1, 2]), "integers"),
        (([0, 1, 2], [0, -1], [1, 2]), "must not be negative"),
        (([0, 1, 2], [0, 1], [1, 2, 3]), "one per team"),
        (([0, 1, 2], [0, 1], [1, np.nan]), "Team 1 has the rank NaN"),
        (([0, 0, 2], [0, 1], [1, 2]), "Team 0 is empty"),
        (([0, 1, 2, 3], [0, 1, 2], [1, 2, 3]), "there are 3 teams"),
        (([0, 1, 2, 3], [0, 1, 2], [1, 2, 3], [0, 2]), "end with 3 teams"),
        (([0, 1, 2, 3], [0, 1, 2], [1, 2, 3], [0, 1, 3]), "Game 0 needs at least two"),
        (([0, 1, 2], [4, 4], [1, 2]), "Game 0: a player appears twice"),
        (([0, 1, 2, 4], [0, 1, 2, 1], [1, 2, 3], [0, 3]), "Game 0: a player appears twice"),
    ],
)
def test_fit_refuses_bad_logs_and_keeps_the_ratings(arguments, message):
    ranker = OnlineRanker().update([["x"], ["y"]])
    before = pickle.dumps(ranker)
    with pytest.raises(ValueError, match=message):
        ranker.fit(*arguments)
    assert pickle.dumps(ranker) == before


def test_fit_refuses_bad_weights_and_times():
    log = ([0, 1, 2], [0, 1], [1, 2])
    with pytest.raises(ValueError, match="Slot 1 has a weight"):
        OnlineRanker().fit(*log, weights=[1.0, -1.0])
    with pytest.raises(ValueError, match="no positive weight"):
        OnlineRanker().fit(*log, weights=[1.0, 0.0])
    with pytest.raises(ValueError, match="Game 0 has a time"):
        OnlineRanker().fit(*log, times=[np.inf])


def test_fit_pairs_refuses_bad_columns():
    with pytest.raises(ValueError, match="one length"):
        OnlineRanker().fit_pairs(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="draw must have 1"):
        OnlineRanker().fit_pairs(["a"], ["b"], draw=[True, False])
    with pytest.raises(ValueError, match="Game 0 has the player label None"):
        OnlineRanker().fit_pairs(["a"], [None])


def test_predictions_refuse_what_they_do_not_define():
    ranker = OnlineRanker().update([["a"], ["b"]])
    with pytest.raises(ValueError, match="at least two teams"):
        ranker.predict_win([["a"]])
    with pytest.raises(ValueError, match="for two teams, got 3"):
        ranker.predict_draw([["a"], ["b"], ["c"]])
    with pytest.raises(NotFittedError, match="no players yet"):
        OnlineRanker().leaderboard()
    with pytest.raises(ValueError, match="sigma positive"):
        ranker.set_rating("a", 25, 0)


@pytest.mark.slow
def test_ten_million_games_take_no_memory_of_their_own(tmp_path):
    """A memory-mapped log of ten million games leaves the process no larger than one chunk."""
    import tracemalloc

    n = 10_000_000
    rng = np.random.default_rng(12)
    team_ptr = np.lib.format.open_memmap(tmp_path / "t.npy", "w+", np.int32, (2 * n + 1,))
    players = np.lib.format.open_memmap(tmp_path / "p.npy", "w+", np.int32, (2 * n,))
    ranks = np.lib.format.open_memmap(tmp_path / "r.npy", "w+", np.int8, (2 * n,))
    for start in range(0, 2 * n, 2_000_000):
        block = slice(start, start + 2_000_000)
        team_ptr[block] = np.arange(start, start + 2_000_000)
        first = rng.integers(0, 1000, 1_000_000)
        players[block] = np.stack(
            [first, (first + rng.integers(1, 1000, 1_000_000)) % 1000], 1
        ).ravel()
        ranks[block] = np.tile([1, 2], 1_000_000)
    team_ptr[-1] = 2 * n
    tracemalloc.start()
    ranker = OnlineRanker().fit(team_ptr, players, ranks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ranker.n_games_ == n
    assert peak < 64e6  # bytes allocated: a few arrays of one chunk, not of ten million games
