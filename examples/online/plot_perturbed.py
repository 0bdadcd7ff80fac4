"""
Trading between two opposite experts
====================================

One expert bets that a price trends, the other that it returns. Their gains have no bound, and
`PROT` divides capital between them by the chance that each leads after a perturbation as large as
the volume of the game. Without costs it gains on both kinds of price; `AdaHedge` is drawn beside.
"""

import warnings

import matplotlib.pyplot as plt

from octavo.data import fbm
from octavo.online import PROT, AdaHedge, game_diagnostics, trade_zero_sum, zero_sum_experts
from octavo.plot import (
    plot_fluctuation,
    plot_leader_probability,
    plot_normalized_regret,
    plot_trading,
)

warnings.simplefilter("ignore", UserWarning)  # the first rounds exceed γ; the bound is then void
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharex=True)
for ax, hurst in zip(axes, (0.2, 0.8)):
    prices = 100 + 10 * fbm(400, hurst, random_state=1)
    run = trade_zero_sum(prices, PROT(a=20.0), cost=0.0002)
    plot_trading(run, ax=ax)
    ax.set_title(f"Hurst exponent {hurst}")

# %%
# Is γ(t) = t^-1/2 a bound on the fluctuation of that game? If not, the guarantee is void.

found = game_diagnostics(-zero_sum_experts(prices).gains)
print(f"rounds in which the fluctuation exceeds γ: {(1 + found.exceeds.nonzero()[0]).tolist()}")
plot_fluctuation(found)

# %%
# Regret beside the volume, and the weight on the leader.

losses = -zero_sum_experts(prices).gains
traces = {"PROT": PROT(a=20.0).run(losses), "AdaHedge": AdaHedge().run(losses)}
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_normalized_regret(traces, ax=axes[0])
plot_leader_probability(traces, ax=axes[1])
plt.show()
