"""V'yugin (2011): following the perturbed leader when losses are unbounded."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from octavo import data, online, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, stated, within

PAPER = Paper(
    key="perturbed-leader",
    title="Online Learning in Case of Unbounded Losses Using Follow the Perturbed Leader Algorithm",
    authors="V. V. V'yugin",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("theorem-2", "proposition-1", "gains-from-trends"),
    tables={
        "Theorem 2": "theorem-2 theorem-2-nonnegative consistent-in-the-mean",
        "Lemmas 3 and 4": "lemma-3 lemma-4",
        "Theorem 5": "hannan-consistent",
        "Proposition 1": "proposition-1 fluctuation-of-the-adversary",
        "Corollary 8 and Section 4": "corollary-8 bounded-losses",
        "Figures 4 to 6": "gazprom gazprom-after-costs gains-from-trends gains-from-returns",
    },
    refutations={
        "income-of-the-first-expert": "By Eq. (45) the income is C times the difference of "
        "squares: a factor of two is lost in print.",
    },
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
WITHIN = at_most(1.0, because="a theorem: no game and no round may exceed it")
theorems = PAPER.section(kind="theorem", seeds=SEEDS, expect=WITHIN)


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


def played(run: Run, signed: bool):
    """Yield each game, its parameters and the trace of PROT, inside the theorem's assumptions."""
    run.note("normal, Student and subexponentially growing losses, exact expectations")
    for losses, gamma in smooth_games(run, signed):
        # v0 makes the first rounds fit, and a is small enough for A to exceed γ.
        options: dict[str, Any] = {"a": 3.0 if signed else 1.5, "signed": signed}
        options["v0"] = 4 * float(np.abs(losses[:200]).max())
        trace = online.PROT(gamma, **options).run(losses)
        if not (trace.gamma_ok_ and np.isfinite(trace.bounds()["theorem 2"]).all()):
            raise NotMeasurable("a game left the assumptions of the theorem")
        yield losses, gamma, options, trace


@theorems.table(
    {
        "2": "The expected regret is at most 2 √(K (1 + ln N)) Σ γ^½ Δv if fluc(t) ≤ γ(t)",
        "2-nonnegative": "For losses that are never negative the same holds with a smaller "
        "constant",
    },
    "regret / bound ≤ 1",
    {"2": "Theorem 2, Eq. (9) and (37)", "2-nonnegative": "Theorem 2, Eq. (10)"},
)
def theorem(run: Run, row: str) -> float:
    games = played(run, signed=row == "2")
    return max(float(np.max(g.regret_ / g.bounds()["theorem 2"])) for *_, g in games)


@theorems.table(
    {
        "3": "PROT loses at most 2 (e^(4/a) - 1) Σ γ^(1-α) Δv more than a leader that sees the "
        "coming round",
        "4": "That leader loses at most a (1 + ln N) Σ γ^α Δv more than the best expert",
    },
    "difference / bound ≤ 1",
    {"3": "Lemma 3, Eq. (13)", "4": "Lemma 4, Eq. (28)"},
)
def lemma(run: Run, row: str) -> float:
    worst = 0.0
    for losses, gamma, options, trace in played(run, signed=True):
        a, v0, cost = options["a"], options["v0"], 1 + math.log(losses.shape[1])
        sizes, values = np.abs(losses).max(axis=1), gamma(np.arange(1, len(losses) + 1))
        alpha = 0.5 * (1 - np.log(a * cost / (2 * math.expm1(4 / a))) / np.log(values))  # Eq. (5)
        ahead = np.cumsum(online.ifpl_losses(losses, gamma, **options))
        if row == "3":
            bound = 2 * math.expm1(4 / a) * np.cumsum(values ** (1 - alpha) * sizes)
            gap = np.cumsum(trace.loss_) - ahead
        else:
            # A volume v0 before the first round adds its own term to the sum.
            bound = a * cost * (np.cumsum(values**alpha * sizes) + values[0] ** alpha[0] * v0)
            gap = ahead - np.cumsum(losses, axis=0).min(axis=1)
        worst = max(worst, float(np.max(gap / bound)))
    return worst


@theorems.claim(
    "Against the adversary every strategy has a normalised regret of at least (1 - ε)/2"
)
@stated("excess ≥ 0", "Proposition 1", seeds=(0,))
@at_least(0.0, because="a proposition; the least excess over six strategies")
def proposition_1(run: Run) -> float:
    players = [online.PROT(), online.FollowPerturbedLeader(0.1), online.AdaHedge()]
    players += [online.FlipFlop(), online.NormalHedge(), online.Hedge(0.01)]
    games = [(e, online.adversary_prop1(p, e, 80)) for e in (0.05, 0.3, 0.9) for p in players]
    return min(float(game.normalized_regret.min()) - 0.5 * (1 - eps) for eps, game in games)


@theorems.claim(
    "In the game in which no algorithm is optimal fluc(t) does not vanish: it is 1 - ε or more"
)
@stated("excess ≥ 0", "Proposition 1 and the sentence before it", seeds=(0,))
@at_least(0.0, because="the least excess over 1 - ε of any round")
def fluctuation_of_the_adversary(run: Run) -> float:
    return float(online.adversary_prop1(online.PROT(), 0.1, 100).fluctuation.min() - 0.9)


@theorems.claim(
    "For |s| ≤ t^α and γ = t^-δ the regret is at most 2 √(K (1 + ln N)) T^(1 - δ/2 + α)"
)
@stated("regret / bound ≤ 1", "Corollary 8, Eq. (43)")
def corollary_8(run: Run) -> float:
    growth, delta, n_rounds = 0.1, 0.9, 128_000 if run.full else 32_000
    power = 1 - delta / 2 + growth
    t = np.arange(1.0, n_rounds + 1)
    rng = np.random.default_rng(run.seed)
    signs = np.where(rng.random((n_rounds, 3)) < [0.55, 0.5, 0.5], -1.0, 1.0)
    trace = online.PROT(online.PowerGamma(delta), a=10.0).run(signs * t[:, None] ** growth)
    k = online.prot_constants(3, 10.0).K
    run.note(
        f"α = {growth}, δ = {delta}; the sum of Theorem 2, from which the paper takes its bound, "
        f"is {np.sum(t ** (growth - delta / 2)) / n_rounds**power:.2f} times the printed power"
    )
    return float(trace.regret_[-1] / (2 * math.sqrt(k * (1 + math.log(3))) * n_rounds**power))


@theorems.claim("For losses in [0, 1] the regret is at most 4 √((2 + ε)(1 + ln N) T)")
@stated("regret / bound ≤ 1", "Section 4")
def bounded_losses(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    n_rounds = 20_000 if run.full else 3_000
    losses = np.column_stack([rng.random((n_rounds, 4)), np.ones(n_rounds)])
    trace = online.PROT(online.PowerGamma(1.0), a=3.0, signed=False).run(losses)
    k = online.prot_constants(5, 3.0, signed=False).K
    run.note("K = 2.83 for a = 3, exact expectations")
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


@theorems.claim("PROT is consistent in the mean: the expected regret vanishes beside the volume")
@stated("→ 0", "Theorem 2, Eq. (11)")
@at_most(0.5, because="regret / volume after 64 times as many rounds, over before")
def consistent_in_the_mean(run: Run) -> float:
    n_rounds = 128_000 if run.full else 32_000
    losses = drifting_game(run.seed, n_rounds)
    trace = online.PROT("(t+10)**-0.6", a=20.0, v0=50.0).run(losses)
    run.note(f"equal weights: regret / volume {uniform_share(losses):.1f} at any time")
    return float(trace.normalized_regret_[-1] / trace.normalized_regret_[n_rounds // 64])


@theorems.claim("With Σ γ² finite, random play is consistent with probability one")
@stated("→ 0", "Theorem 5")
@at_most(0.05, because="regret / volume of one random game a seed, after all rounds")
def hannan_consistent(run: Run) -> float:
    n_rounds = 128_000 if run.full else 32_000
    player = online.PROT("(t+10)**-0.6", a=20.0, v0=50.0, derandomize=False, random_state=run.seed)
    losses = drifting_game(run.seed, n_rounds)
    trace = player.run(losses)
    run.note(f"equal weights: {uniform_share(losses):.1f}")
    return float(trace.normalized_regret_[-1])


@theorems.claim(
    "Kalai and Vempala: the expected loss is at most (1 + ε) L* + log N / ε for 0 < ε < 1"
)
@stated("loss / bound ≤ 1", "Section 1, quoted", seeds=(0,))
def quoted_bound(run: Run) -> float:
    trace = online.FollowPerturbedLeader(0.9).run(np.tile([0.0, 1.0], (500, 1)))
    loss = float(trace.cumulative_loss_[-1])
    run.note(
        "two experts, losses (0, 1) for ever, ε = 0.9; the logarithm is read to base 2, with "
        f"the natural one the ratio is {0.9 * loss / math.log(2):.3f}"
    )
    return loss / (math.log2(2) / 0.9)


@theorems.claim("Hutter and Poland: with a variable rate the regret is at most 2 √(2 T ln N)")
@stated("regret / bound ≤ 1", "Section 1, quoted")
def adaptive_leader(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    worst = 0.0
    for losses in (rng.random((3_000, 6)), (rng.random((3_000, 2)) < 0.5).astype(float)):
        trace = online.FollowPerturbedLeader("adaptive").run(losses)
        worst = max(worst, float(np.max(trace.regret_ / trace.bounds()["adaptive"])))
    return worst


@theorems.claim("The first expert's income is 2C ((S_T - S_0)² - Σ (ΔS)²)")
@stated(1, "Section 5, after Eq. (47)")
@within(1e-9, because="an identity: income over the printed formula")
def income_of_the_first_expert(run: Run) -> float:
    game = online.zero_sum_experts(data.fbm(400, 0.8, run.seed))
    run.note("by Eq. (45) it is C times that difference, half of what is printed")
    return float(game.gains[:, 0].sum() / (2 * (game.macro_volatility - game.micro_volatility)))


PAPER.not_measurable(
    "gazprom",
    "the hourly prices of July to September 2009 cannot be had; see fractional Brownian motion",
    "Trading Gazprom shares gains 456,970 RUB before costs",
    stated(456_970, "Section 5 and Figure 6", unit="RUB"),
)
PAPER.not_measurable(
    "gazprom-after-costs",
    "neither the prices nor the costs that were charged are given",
    "Trading Gazprom shares gains 230,099 RUB after costs",
    stated(230_099, "Section 5", unit="RUB"),
)


@PAPER.table(
    {
        "trends": "Prices that trend (Hurst exponent 0.8): the learner gains",
        "returns": "Prices that return (Hurst exponent 0.2): the learner gains",
    },
    "gain",
    "Section 6, satisfactory results on fractional Brownian motion",
    kind="ordering",
    unit="of the volume",
    seeds=PATHS,
    full_seeds=tuple(range(200)),
)
@at_least(0.0, because="the learner gains at all")
def gains_from(run: Run, row: str) -> float:
    prices = data.fbm(400, 0.8 if row == "trends" else 0.2, run.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fluc ≤ t^-1/2 does not hold on every path
        traded = online.trade_zero_sum(prices, online.PROT(a=20.0))
    run.note("400 steps, γ = t^-1/2, a = 20, no costs")
    return float(traded.gain.sum() / traded.trace.volume_[-1])


@PAPER.figure("Trading a price that returns to its mean, H = 0.2 (compare Figure 6)")
def trading_figure():
    with warnings.catch_warnings(action="ignore", category=UserWarning):
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
