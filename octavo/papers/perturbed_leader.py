"""V'yugin (2011): following the perturbed leader when losses are unbounded."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from octavo import data, online, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, within

PAPER = Paper(
    key="perturbed-leader",
    title="Online Learning in Case of Unbounded Losses Using Follow the Perturbed Leader Algorithm",
    authors="V. V. V'yugin",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=(
        "theorem-2",
        "gains-from-trends",
        "quoted-bound",
    ),
    methods=(
        Method(
            name="PROT",
            room="online",
            family="perturbed",
            task="follow single experts at random when losses are unbounded",
            summary="A perturbed leader for losses of any sign and size, whose regret vanishes "
            "beside the volume of the game; exact probabilities.",
            use_when="One expert must be followed at a time, losses may grow without bound, and "
            "the sum of the largest losses is the natural scale: trading, heavy-tailed costs.",
            avoid_when="Weights may be divided among the experts: AdaHedge needs no bound on the "
            "fluctuation and usually has less regret.",
            instead="There is no prediction with expert advice in scikit-learn.",
            peers=("numpy", "fbm"),
            plots=(
                "plot_trading",
                "plot_fluctuation",
                "plot_normalized_regret",
                "plot_leader_probability",
            ),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
PATHS = tuple(range(20))
THEOREM = "a theorem: no game and no round may exceed it"


def smooth_games(run: Run, signed: bool) -> list[tuple[np.ndarray, Any]]:
    """Return games whose fluctuation stays within γ, which is small enough for the theorem."""
    rng = np.random.default_rng(run.seed)
    n_rounds = 20_000 if run.full else 3_000
    t = np.arange(1, n_rounds + 1)[:, None]
    n_experts = int(rng.integers(2, 10))
    games = [
        rng.normal(size=(n_rounds, n_experts)) * t**0.3,
        rng.standard_t(5, size=(n_rounds, n_experts)),
        np.sign(rng.normal(0.02, 1, size=(n_rounds, n_experts))) * np.exp(2 * np.sqrt(t) / 40),
    ]
    if not signed:
        games = [np.abs(game) for game in games]
    return [(game, online.ShiftedGamma(online.PowerGamma(0.4), 40)) for game in games]


def worst_of_theorem_2(run: Run, signed: bool) -> float:
    """Return the largest regret over the bound (37) of any round."""
    worst = 0.0
    for losses, gamma in smooth_games(run, signed):
        start = 4 * float(np.abs(losses[:200]).max())  # v0 makes the first rounds fit
        a = 3.0 if signed else 1.5  # small enough for A to exceed γ
        trace = online.PROT(gamma, a=a, signed=signed, v0=start).run(losses)
        bound = trace.bounds()["theorem 2"]
        if not (trace.gamma_ok_ and np.isfinite(bound).all()):
            raise NotMeasurable("a game left the assumptions of the theorem")
        worst = max(worst, float(np.max(trace.regret_ / bound)))
    run.note(
        "normal, Student and subexponentially growing losses, a = 3 or 1.5, exact expectations"
    )
    return worst


@PAPER.claim(
    says="The expected regret is at most 2 √(K (1 + ln N)) Σ γ^½ Δv if fluc(t) ≤ γ(t)",
    where="Theorem 2, Eq. (9) and (37)",
    published="regret / bound ≤ 1",
    expect=at_most(1.0, because=THEOREM),
    seeds=SEEDS,
)
def theorem_2(run: Run) -> float:
    return worst_of_theorem_2(run, signed=True)


@PAPER.claim(
    says="For losses that are never negative the same holds with a smaller constant",
    where="Theorem 2, Eq. (10)",
    published="regret / bound ≤ 1",
    expect=at_most(1.0, because=THEOREM),
    seeds=SEEDS,
)
def theorem_2_nonnegative(run: Run) -> float:
    return worst_of_theorem_2(run, signed=False)


@PAPER.claim(
    says="The constant K comes as close to 8 as one likes",
    where="Theorem 2, Eq. (9)",
    published=8,
    expect=within(0.01, 8, because="a = 2,000 in K = 2a (e^(4/a) - 1)"),
)
def constant_of_signed_losses(run: Run) -> float:
    return online.prot_constants(2, a=2_000.0).K


@PAPER.claim(
    says="For losses that are never negative K comes as close to 2 as one likes",
    where="Theorem 2, Eq. (10)",
    published=2,
    expect=within(0.01, 2, because="a = 2,000 in K = a (e^(2/a) - 1)"),
)
def constant_of_nonnegative_losses(run: Run) -> float:
    return online.prot_constants(2, a=2_000.0, signed=False).K


def losing_players() -> list[Any]:
    return [
        online.PROT(),
        online.FollowPerturbedLeader(0.1),
        online.AdaHedge(),
        online.FlipFlop(),
        online.NormalHedge(),
        online.Hedge(0.01),
    ]


@PAPER.claim(
    says="Against the adversary every strategy has a normalised regret of at least (1 - ε)/2",
    where="Proposition 1",
    published="excess ≥ 0",
    expect=at_least(0.0, because="a proposition; the least excess over six strategies"),
)
def proposition_1(run: Run) -> float:
    least = math.inf
    for eps in (0.05, 0.3, 0.9):
        for player in losing_players():
            game = online.adversary_prop1(player, eps, 80)
            least = min(least, float(game.normalized_regret.min()) - 0.5 * (1 - eps))
    return least


@PAPER.claim(
    says="In the game in which no algorithm is optimal, fluc(t) → 0",
    where="the sentence before Proposition 1",
    published="→ 0",
    expect=at_most(0.1, because="ε = 0.1, after 100 rounds"),
)
def fluctuation_of_the_adversary(run: Run) -> float:
    run.note("the proposition itself says fluc(t) ≥ 1 - ε, which is what is measured")
    return float(online.adversary_prop1(online.PROT(), 0.1, 100).fluctuation[-1])


@PAPER.claim(
    says="For |s| ≤ t^α and γ = t^-δ the bound is 2 √(K (1 + ln N)) T^(1 - δ/2 + α)",
    where="Corollary 8, Eq. (43)",
    published="Σ γ^½ Δv / T^(1 - δ/2 + α) ≤ 1",
    expect=at_most(1.0, because="the sum of Theorem 2 for the largest losses allowed"),
)
def corollary_8(run: Run) -> float:
    run.note("α = 0.1, δ = 1, T = 10,000; the printed power lacks the factor 1/(1 - δ/2 + α)")
    t = np.arange(1.0, 10_001.0)
    return float(np.sum(t ** (0.1 - 0.5)) / 10_000**0.6)


@PAPER.claim(
    says="For losses in [0, 1] the regret is at most 4 √((2 + ε)(1 + ln N) T)",
    where="Section 4",
    published="regret / bound ≤ 1",
    expect=at_most(1.0, because="K = 2.83 for a = 3, exact expectations"),
    seeds=SEEDS,
)
def bounded_losses(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    n_rounds = 20_000 if run.full else 3_000
    losses = np.column_stack([rng.random((n_rounds, 4)), np.ones(n_rounds)])
    trace = online.PROT(online.PowerGamma(1.0), a=3.0, signed=False).run(losses)
    k = online.prot_constants(5, 3.0, signed=False).K
    t = np.arange(1, n_rounds + 1)
    return float(np.max(trace.regret_ / (4 * np.sqrt(k * (1 + math.log(5)) * t))))


def drifting_game(seed: int, n_rounds: int) -> np.ndarray:
    """Return signed losses that grow, with one expert better than the others."""
    rng = np.random.default_rng(seed)
    t = np.arange(1, n_rounds + 1)[:, None]
    return rng.normal([0.0, 0.5, 0.5], 1.0, (n_rounds, 3)) * t**0.3


def uniform_share(losses: np.ndarray) -> float:
    """Return the regret over volume of equal weights, which does not vanish."""
    own = losses.mean(axis=1).sum() - losses.sum(axis=0).min()
    return float(own / np.abs(losses).max(axis=1).sum())


@PAPER.claim(
    says="PROT is consistent in the mean: the expected regret vanishes beside the volume",
    where="Theorem 2, Eq. (11)",
    published="→ 0",
    expect=at_most(0.5, because="regret / volume after 64 times as many rounds, over before"),
    seeds=SEEDS,
)
def consistent_in_the_mean(run: Run) -> float:
    n_rounds = 128_000 if run.full else 32_000
    losses = drifting_game(run.seed, n_rounds)
    trace = online.PROT("(t+10)**-0.6", a=20.0, v0=50.0).run(losses)
    run.note(f"equal weights: regret / volume {uniform_share(losses):.1f} at any time")
    return float(trace.normalized_regret_[-1] / trace.normalized_regret_[n_rounds // 64])


@PAPER.claim(
    says="With Σ γ² finite, random play is consistent with probability one",
    where="Theorem 5",
    published="→ 0",
    expect=at_most(0.05, because="regret / volume of one random game a seed, after all rounds"),
    seeds=SEEDS,
)
def hannan_consistent(run: Run) -> float:
    n_rounds = 128_000 if run.full else 32_000
    player = online.PROT("(t+10)**-0.6", a=20.0, v0=50.0, derandomize=False, random_state=run.seed)
    losses = drifting_game(run.seed, n_rounds)
    trace = player.run(losses)
    run.note(f"equal weights: {uniform_share(losses):.1f}")
    return float(trace.normalized_regret_[-1])


@PAPER.claim(
    says="Kalai and Vempala: the expected loss is at most (1 + ε) L* + ln N / ε for 0 < ε < 1",
    where="Section 1, quoted",
    published="loss / bound ≤ 1",
    expect=at_most(1.0, because="two experts, losses (0, 1) for ever, ε = 0.9, exact"),
)
def quoted_bound(run: Run) -> float:
    trace = online.FollowPerturbedLeader(0.9).run(np.tile([0.0, 1.0], (500, 1)))
    run.note("the form e^ε (L* + (H_N - 1)/ε) holds; octavo reports that one")
    return float(trace.cumulative_loss_[-1] / (math.log(2) / 0.9))


@PAPER.claim(
    says="Hutter and Poland: with a variable rate the regret is at most 2 √(2 T ln N)",
    where="Section 1, quoted",
    published="regret / bound ≤ 1",
    expect=at_most(1.0, because=THEOREM),
    seeds=SEEDS,
)
def adaptive_leader(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    worst = 0.0
    for losses in (rng.random((3_000, 6)), (rng.random((3_000, 2)) < 0.5).astype(float)):
        trace = online.FollowPerturbedLeader("adaptive").run(losses)
        worst = max(worst, float(np.max(trace.regret_ / trace.bounds()["adaptive"])))
    return worst


@PAPER.claim(
    says="The first expert's income is 2C ((S_T - S_0)² - Σ (ΔS)²)",
    where="Section 5, after Eq. (47)",
    published=1,
    expect=within(1e-9, 1, because="an identity: income over the printed formula"),
    seeds=SEEDS,
)
def income_of_the_first_expert(run: Run) -> float:
    game = online.zero_sum_experts(data.fbm(400, 0.8, run.seed))
    run.note("by Eq. (45) it is C times that difference, half of what is printed")
    return float(game.gains[:, 0].sum() / (2 * (game.macro_volatility - game.micro_volatility)))


@PAPER.claim(
    says="Trading Gazprom shares gains 456,970 RUB before costs",
    where="Section 5 and Figure 6",
    published=456_970,
    unit="RUB",
    expect=within(1, 456_970, because="printed to the rouble"),
)
def gazprom(run: Run) -> float:
    raise NotMeasurable(
        "the hourly prices of July to September 2009 cannot be had; see the claim on fractional "
        "Brownian motion"
    )


@PAPER.claim(
    says="Trading Gazprom shares gains 230,099 RUB after costs",
    where="Section 5",
    published=230_099,
    unit="RUB",
    expect=within(1, 230_099, because="printed to the rouble"),
)
def gazprom_after_costs(run: Run) -> float:
    raise NotMeasurable("neither the prices nor the costs that were charged are given")


def gain_over_volume(run: Run, hurst: float) -> float:
    """Return the learner's gain over the volume on a path of fractional Brownian motion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fluc ≤ t^-1/2 does not hold on every path
        trading = online.trade_zero_sum(data.fbm(400, hurst, run.seed), online.PROT(a=20.0))
    run.note("400 steps, γ = t^-1/2, a = 20, no costs; gain over volume")
    return float(trading.gain.sum() / trading.trace.volume_[-1])


@PAPER.claim(
    says="Prices that trend (fractional Brownian motion, H = 0.8): the learner gains",
    where="Section 6, satisfactory results on fractional Brownian motion",
    published="gain",
    expect=at_least(0.0, because="the whole 95 % interval over paths must be positive"),
    seeds=PATHS,
    full_seeds=tuple(range(200)),
)
def gains_from_trends(run: Run) -> float:
    return gain_over_volume(run, 0.8)


@PAPER.claim(
    says="Prices that return (fractional Brownian motion, H = 0.2): the learner gains",
    where="Section 6, satisfactory results on fractional Brownian motion",
    published="gain",
    expect=at_least(0.0, because="the whole 95 % interval over paths must be positive"),
    seeds=PATHS,
    full_seeds=tuple(range(200)),
)
def gains_from_returns(run: Run) -> float:
    return gain_over_volume(run, 0.2)


@PAPER.figure("Trading a price that returns to its mean, H = 0.2 (compare Figure 6)")
def trading_figure():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run = online.trade_zero_sum(100 + 10 * data.fbm(400, 0.2, 1), online.PROT(a=20.0))
    return plot.plot_trading(run).figure


@PAPER.figure("Scaled fluctuation of that game and γ(t) = t^-1/2 (compare Figure 5)")
def fluctuation_figure():
    game = online.zero_sum_experts(100 + 10 * data.fbm(400, 0.2, 1))
    return plot.plot_fluctuation(online.game_diagnostics(-game.gains)).figure


@PAPER.figure("Regret over volume, and the weight of the leader: PROT beside AdaHedge")
def beside_adahedge():
    import matplotlib.pyplot as plt

    losses = drifting_game(0, 20_000)
    traces = {
        "PROT": online.PROT("(t+10)**-0.6", a=20.0, v0=50.0).run(losses),
        "AdaHedge": online.AdaHedge().run(losses),
        "FlipFlop": online.FlipFlop().run(losses),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    plot.plot_normalized_regret(traces, ax=left)
    plot.plot_leader_probability({name: traces[name] for name in ("PROT", "AdaHedge")}, ax=right)
    return figure
