"""Densities of chains, ordinal regression beside statsmodels, and rankers beside their peers."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_score_games
from octavo.graphical import CDN, CDNTeamRanker, CumulativeLinkRegression, LogisticCDF


def chain(n=1_000_000, d=20):
    network = CDN([((k, k + 1), LogisticCDF([1.0 + 0.01 * k, 1.2])) for k in range(d - 1)])
    X = network.sample(n, random_state=0)
    return network, X


def mixture(problem):
    """Another density of the same rows, fitted to a few of them."""
    from sklearn.mixture import GaussianMixture

    _, X = problem
    model = GaussianMixture(2, max_iter=2, random_state=0).fit(X[:2000])
    return model.score_samples(X)


def grades(n=5000, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) + rng.logistic(size=n)
    return X, np.digitize(score, [-2.0, -0.5, 1.0, 2.5])


def ordered_model(problem):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, y = problem
    found = OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=False)
    return -float(found.llf)


def same_likelihood(_, answers):
    ours, theirs = answers["octavo"].objective_, answers["statsmodels"]
    assert abs(ours - theirs) < 1e-3 * abs(theirs)
    return f"Negative log-likelihood: octavo {ours:.4f}, statsmodels {theirs:.4f}."


def trueskill_updates(games):
    import trueskill

    env, ratings = trueskill.TrueSkill(tau=0.0), {}
    for teams, scores in games:
        groups = [[ratings.get(p) or env.create_rating() for p in team] for team in teams]
        ranks = [-sum(s) for s in scores]
        for team, new in zip(teams, env.rate(groups, ranks=ranks)):
            ratings.update(zip(team, new))
    return ratings


CONTESTS = [
    Contest(
        name="log density",
        problem="Log density of 1,000,000 rows under a chain of 20 variables, logistic factors",
        setup=chain,
        solvers={
            "octavo": lambda problem: problem[0].logpdf(problem[1]),
            "scikit-learn GaussianMixture(2)": mixture,
        },
        target="Aim: at most two seconds. The mixture is another model of the same rows, with its "
        "fit on 2,000 of them.",
        limit="exponentials: 20 a row, with the derivatives of messages",
    ),
    Contest(
        name="ordinal regression",
        problem="Proportional odds, 5,000 rows, 10 features, 5 labels",
        setup=grades,
        solvers={
            "octavo": lambda p: CumulativeLinkRegression(alpha=0.0).fit(*p),
            "statsmodels": ordered_model,
        },
        agree=same_likelihood,
        limit="exponentials: two a row and step",
    ),
    Contest(
        name="team ranking",
        problem="200 free-for-alls of 5 players",
        setup=lambda: make_score_games(200, 40, n_teams=5, random_state=0)[0],
        solvers={
            "octavo": lambda games: CDNTeamRanker().fit(games),
            "trueskill": trueskill_updates,
        },
        target="TrueSkill is another model, which sees places only.",
        limit="exponentials of the messages",
    ),
]
