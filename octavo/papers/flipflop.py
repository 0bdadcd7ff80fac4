"""De Rooij, van Erven, Grünwald and Koolen (2014): follow the leader if you can."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import data, online, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, stated, within

PAPER = Paper(
    key="flipflop",
    title="Follow the Leader If You Can, Hedge If You Must",
    authors="S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("theorem-8", "best-of-both-hard", "best-of-both-easy"),
    tables={
        "Figure 3": "leader-fails small-rates-are-safe variation-mw-wins-game-1 best-of-both-hard",
        "Figure 4": "leader-succeeds flipflop-is-bounded normal-hedge-adapts",
        "Figure 5": "two-groups best-of-both-easy adahedge-overhead-grows",
        "Figure 6": "adahedge-concentrates larger-is-better",
    },
    methods=(
        Method(
            name="AdaHedge",
            room="online",
            family="experts",
            task="combine forecasters or models online without tuning",
            summary="Weights for experts with a regret bound and nothing to tune: AdaHedge, "
            "FlipFlop and their comparators, for forecasts or estimators.",
            use_when="Several models or strategies predict the same stream, and their losses are "
            "all seen afterwards: forecasting ensembles, routing, racing of hyper-parameters.",
            avoid_when="Rows are exchangeable and come as a batch (stacking uses them better), or "
            "only the loss of the expert that was followed is seen (a bandit problem).",
            instead="StackingRegressor and VotingRegressor combine models fitted on a batch; there "
            "is no online aggregation.",
            peers=("numpy", "river", "poold"),
            plots=(
                "plot_regret",
                "plot_fixed_eta_regret",
                "plot_expert_weights",
                "plot_learning_rate",
                "plot_regret_bounds",
            ),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)


def strategies() -> dict[str, Any]:
    """Return the seven algorithms of Section 5."""
    return {
        "Follow-the-Leader": online.FollowTheLeader(),
        "Hedge, η = 1": online.Hedge(1.0),
        "safe Hedge": online.Hedge(online.safe_eta(2, 1000)),
        "AdaHedge": online.AdaHedge(),
        "FlipFlop": online.FlipFlop(),
        "Variation MW": online.VariationMW(),
        "NormalHedge": online.NormalHedge(),
    }


@lru_cache(maxsize=64)
def trace(experiment: int, name: str, n_rounds: int = 1000):
    """Return one strategy's trace in one of the four games."""
    strategy = strategies()[name] if name != "CBMS" else online.CBMS()
    return strategy.run(data.make_expert_game(experiment, n_rounds))


def regret(experiment: int, name: str, n_rounds: int = 1000) -> float:
    """Return the final regret."""
    return float(trace(experiment, name, n_rounds).regret_[-1])


def adversary(strategy: Any, n_rounds: int, n_experts: int) -> np.ndarray:
    """Return the losses of an adversary that charges the most trusted expert."""
    strategy.reset(n_experts)
    losses = np.zeros((n_rounds, n_experts))
    for t in range(n_rounds):
        losses[t, np.argmax(strategy.weights())] = 1.0
        strategy.update(losses[t])
    return losses


def hard_games(run: Run) -> list[np.ndarray]:
    """Return games that are adversarial, random, heavy-tailed or of changing scale."""
    rng = np.random.default_rng(run.seed)
    n_rounds, n_experts = (5000 if run.full else 1000), int(rng.integers(2, 12))
    scale = 10.0 ** rng.integers(-8, 9, (n_rounds, 1))
    noise = rng.random((n_rounds, n_experts))
    return [
        adversary(online.AdaHedge(), n_rounds, n_experts),
        adversary(online.FlipFlop(), n_rounds, n_experts),
        adversary(online.FollowTheLeader(), n_rounds, n_experts),
        noise,
        rng.standard_cauchy((n_rounds, n_experts)),
        noise * scale,
        *(data.make_expert_game(experiment, n_rounds) for experiment in (1, 2, 3, 4)),
    ]


def largest_ratio(run: Run, strategy: Any, name: str) -> float:
    """Return the largest regret over bound of any round of the hard games."""
    import warnings

    worst = -math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the ranges are meant to jump
        for losses in hard_games(run):
            played = strategy.run(losses)
            bound = played.bounds()[name]
            some = bound > 0
            worst = max(worst, float(np.max(played.regret_[some] / bound[some])))
    run.note("adversarial, random, Cauchy and rescaled games and the paper's four, every round")
    return worst


theory = PAPER.section(kind="theorem", seeds=SEEDS)
BOUNDS: dict[str, tuple[str, str]] = {
    "theorem-8": ("AdaHedge", "theorem 8"),
    "lemma-3": ("AdaHedge", "lemma 3"),
    "theorem-15-leader": ("FlipFlop", "theorem 15, leader"),
    "theorem-15-losses": ("FlipFlop", "theorem 15, losses"),
}


@theory.table(
    {
        "theorem-8": "AdaHedge's regret is at most the bound of Theorem 8",
        "lemma-3": "AdaHedge's regret is at most twice its cumulative mixability gap",
        "theorem-15-leader": "FlipFlop's regret is at most 5.64 times that of following the leader "
        "plus 3.73 S",
        "theorem-15-losses": "FlipFlop keeps AdaHedge's bound up to a constant factor",
    },
    "regret / bound ≤ 1",
    {
        "theorem-8": "Theorem 8",
        "lemma-3": "Lemma 3",
        "theorem-15-leader": "Theorem 15 and Corollary 16",
        "theorem-15-losses": "Theorem 15",
    },
    name="{row}",
)
@at_most(1.0 + 1e-9, because="no game and no round may exceed it, rounding apart")
def bound(run: Run, name: str) -> float:
    player, law = BOUNDS[name]
    return largest_ratio(run, strategies()[player], law)


@theory.claim("The leading term of AdaHedge's bound is at most half that of CBMS's bound")
@stated("ratio ≤ 0.5", "Section 1.1, Eq. (1) and (2), and Section 2.2")
@at_most(0.5 + 1e-9, because="2 against 4, and a parabola that is never larger")
def half_of_cbms(run: Run) -> float:
    worst = 0.0
    for losses in hard_games(run):
        span = np.maximum.accumulate(np.ptp(losses, axis=1))
        relative = losses - losses.min(axis=1, keepdims=True)
        below = np.cumsum(relative, axis=0).min(axis=1)  # L* - L⁻
        whole = np.cumsum(np.ptp(losses, axis=1))  # L⁺ - L⁻
        most = span * np.arange(1, len(losses) + 1)  # ST
        some = (below > 0) & (most > below)
        # The ratio of 2 √(S (L⁺-L*)(L*-L⁻)/(L⁺-L⁻)) to 4 √((L*-L⁻)(ST-(L*-L⁻))/T).
        share = (whole - below)[some] / whole[some] * most[some] / (most - below)[some]
        worst = max(worst, float(np.max(0.5 * np.sqrt(share), initial=0.0)))
    return worst


@PAPER.claim("φ* = 2.37 and α* = 1.243 minimise the larger leading factor, which is then 5.64")
@stated(5.64, "Corollary 16")
@within(0.005, because="two decimals are printed")
def flipflop_factor(run: Run) -> float:
    best = online.flipflop_parameters()
    run.note(f"φ* = {best.phi:.4f}, α* = {best.alpha:.4f}")
    return best.factor


@PAPER.claim("The experts' totals are 508 and 492 in game 3, 532 and 468 in game 4")
@stated("equal", "Sections 5.3 and 5.4", kind="figure")
@holds(because="integers")
def totals_of_the_games(run: Run) -> float:
    three, four = (data.make_expert_game(number).sum(axis=0) for number in (3, 4))
    return float(tuple(three) == (508, 492) and tuple(four) == (532, 468))


@theory.claim("Weights of AdaHedge and FlipFlop do not change under scaling and shifting")
@stated("equal", "Theorem 17")
@at_most(1e-12, because="an identity; the largest difference of a weight, by rounding")
def invariance(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    losses = rng.normal(size=(2000, 5))
    shifted = 10.0 ** rng.uniform(-6, 6) * (losses + rng.normal(size=(2000, 1)))
    return max(
        float(np.abs(strategy.run(losses).weights_ - strategy.run(shifted).weights_).max())
        for strategy in (online.AdaHedge(), online.FlipFlop())
    )


game_1_says = PAPER.section(where="Section 5.1 and Figure 3", kind="ordering")


@game_1_says.claim("Game 1: the regret of following the leader ends up around 500")
@stated(500, kind="figure")
@within(1.0, because='"around"; half a unit a round')
def leader_fails(run: Run) -> float:
    return regret(1, "Follow-the-Leader")


@game_1_says.claim("Game 1: Hedge's regret is negligible for rates below about 0.01")
@stated("negligible", kind="figure")
@at_most(5.0, because='"negligible" read as a hundredth of the largest regret, 499.75')
def small_rates_are_safe(run: Run) -> float:
    rates = np.geomspace(1e-4, 1e-2, 50)
    return float(online.regret_of_fixed_eta(data.make_expert_game(1), rates).max())


@game_1_says.claim("Game 1: Variation MW has the least regret", "least of seven")
@holds(because="the paper shows a graph; the statement is in its text")
def variation_mw_wins_game_1(run: Run) -> float:
    final = {name: regret(1, name) for name in strategies()}
    run.note(", ".join(f"{name} {value:.2f}" for name, value in final.items()))
    return float(min(final, key=final.__getitem__) == "Variation MW")


@game_1_says.claim("Game 1: FlipFlop saves what following the leader loses")
@stated("a constant factor above AdaHedge")
@at_most(5.64, because="the leading factor of Corollary 16, over AdaHedge's regret")
def best_of_both_hard(run: Run) -> float:
    run.note(
        f"FTL {regret(1, 'Follow-the-Leader'):.2f}, AdaHedge {regret(1, 'AdaHedge'):.2f}, "
        f"FlipFlop {regret(1, 'FlipFlop'):.2f}"
    )
    return regret(1, "FlipFlop") / regret(1, "AdaHedge")


@game_1_says.claim("FlipFlop's constant factor over AdaHedge can be seen on simulated data")
@stated("above 1", "after Theorem 15")
@at_least(1.5, because="clearly above 1; Figure 3 shows a factor of two to three")
def factor_is_real(run: Run) -> float:
    return regret(1, "FlipFlop") / regret(1, "AdaHedge")


game_2_says = PAPER.section(where="Section 5.2 and Figure 4", kind="ordering")


@game_2_says.claim("Game 2: following the leader has a regret of only 1/2", 0.5, kind="figure")
@within(1e-12, because="exact")
def leader_succeeds(run: Run) -> float:
    return regret(2, "Follow-the-Leader")


@game_2_says.claim(
    "Game 2: FlipFlop soon follows the leader for ever, so that its regret is bounded", "bounded"
)
@holds(because="regret after 20,000 rounds equal to that after 100")
def flipflop_is_bounded(run: Run) -> float:
    played = trace(2, "FlipFlop", 20_000)
    run.note(
        f"the rate is infinite in all rounds; regime changes after rounds {played.switches_}: it "
        'stays in "flop" with a gap of zero, not, as the text says, in a second "flip"'
    )
    return float(played.regret_[-1] == played.regret_[99] and np.isinf(played.eta_).all())


@game_2_says.claim("Game 2: NormalHedge adapts very well", "very well")
@at_most(1.0, because="as well as following the leader, whose regret is 1/2")
def normal_hedge_adapts(run: Run) -> float:
    return regret(2, "NormalHedge")


game_3_says = PAPER.section(where="Section 5.3 and Figure 5", kind="ordering")


@game_3_says.claim(
    "Game 3: FTL, Hedge with η = 1, FlipFlop and NormalHedge excel; safe Hedge, AdaHedge and "
    "Variation MW have a substantial overhead",
    "two groups",
)
@at_least(2.0, because="the least regret of the second over the largest of the first")
def two_groups(run: Run) -> float:
    first = ("Follow-the-Leader", "Hedge, η = 1", "FlipFlop", "NormalHedge")
    second = ("safe Hedge", "AdaHedge", "Variation MW")
    return min(regret(3, name) for name in second) / max(regret(3, name) for name in first)


@game_3_says.claim("Game 3: FlipFlop does as well as following the leader where AdaHedge does not")
@stated("bounded by the leader's regret")
@at_most(5.64, because="the leading factor of Corollary 16, over the leader's regret")
def best_of_both_easy(run: Run) -> float:
    run.note(
        f"FTL {regret(3, 'Follow-the-Leader'):.2f}, AdaHedge {regret(3, 'AdaHedge'):.2f}, "
        f"FlipFlop {regret(3, 'FlipFlop'):.2f}"
    )
    return regret(3, "FlipFlop") / regret(3, "Follow-the-Leader")


@game_3_says.claim("Game 3: AdaHedge's overhead appears to be unbounded", "grows")
@at_least(1.5, because="regret after 10,000 rounds over that after 1,000")
def adahedge_overhead_grows(run: Run) -> float:
    return regret(3, "AdaHedge", 10_000) / regret(3, "AdaHedge")


game_4_says = PAPER.section(where="Section 5.4 and Figure 6", kind="ordering")


@game_4_says.claim("Game 4: AdaHedge's regret is bounded", "bounded")
@at_most(1e-3, because="growth from 1,000 to 20,000 rounds")
def adahedge_concentrates(run: Run) -> float:
    return regret(4, "AdaHedge", 20_000) - regret(4, "AdaHedge")


@game_4_says.claim("Game 4: the larger the learning rate of Hedge, the better", "non-increasing")
@holds(because="on a grid of 200 rates from 1e-4 to 1e2 and ∞, up to rounding (1e-9)")
def larger_is_better(run: Run) -> float:
    rates = np.append(np.geomspace(1e-4, 1e2, 200), np.inf)
    final = online.regret_of_fixed_eta(data.make_expert_game(4), rates)
    rise = np.diff(final)
    worst = int(np.argmax(rise))
    run.note(f"largest rise {rise[worst]:.3g}, at η = {rates[worst]:.3g}")
    return float((rise <= 1e-9).all())


@game_4_says.claim("CBMS behaves very similarly to AdaHedge", "very similar", "Section 5")
@at_most(0.25, because='"very similar" read as a quarter of the regret, in all games')
def cbms_is_similar(run: Run) -> float:
    return max(abs(regret(g, "CBMS") / regret(g, "AdaHedge") - 1) for g in (1, 2, 3, 4))


@theory.claim(
    "Two experts, losses 0 or 1: if following the leader has unbounded regret, so has Hedge"
)
@stated("implied", "Theorem 18 and Appendix B")
@at_least(1.0, because="each return to a tie costs Hedge at least σ(η) - 1/2")
def theorem_18(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    losses = np.eye(2)[rng.integers(0, 2, 20_000)]
    ties = np.sum(np.cumsum(losses[:, 0] - losses[:, 1]) == 0)
    ratios = []
    for eta in (0.1, 1.0, 5.0):
        cost = 1 / (1 + math.exp(-eta)) - 0.5
        ratios.append(online.Hedge(eta).run(losses).regret_[-1] / (ties * cost))
    return float(min(ratios))


@PAPER.figure("Game 1, the worst case for following the leader (Figure 3)")
def game_1():
    return game_figure(1, top=60)


@PAPER.figure("Game 3, where AdaHedge's weights do not concentrate (Figure 5)")
def game_3():
    return game_figure(3)


def game_figure(experiment: int, top: float | None = None):
    """Draw both panels of one of Figures 3 to 6."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    rates = np.geomspace(1e-4, 1e2, 200)
    losses = data.make_expert_game(experiment)
    curve = online.regret_of_fixed_eta(losses, rates)
    leader = regret(experiment, "Follow-the-Leader")
    plot.plot_fixed_eta_regret(rates, curve, leader=leader, ax=left)
    traces = {name: trace(experiment, name) for name in strategies()}
    plot.plot_regret(traces, top=top, ax=right)
    return figure


@PAPER.figure(
    "FlipFlop in game 1: the learning rate of its regimes, and its regret below its bound"
)
def regimes():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    plot.plot_learning_rate(trace(1, "FlipFlop"), ax=left)
    plot.plot_regret_bounds(
        trace(1, "AdaHedge"), ["lemma 3", "theorem 6", "theorem 8", "corollary 9, ranges"], ax=right
    )
    right.set_title("AdaHedge in game 1", fontsize="medium")
    left.set_title("FlipFlop in game 1", fontsize="medium")
    return figure
