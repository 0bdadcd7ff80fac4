"""
Ratings from a stream of games
==============================

A league of twenty players meets in free-for-alls of two to six. `OnlineRanker` learns from one
game after the other; the bands are two standard deviations wide and shrink as players are seen.
"""

import matplotlib.pyplot as plt

from octavo.data import make_games
from octavo.plot import plot_calibration, plot_leaderboard, plot_rating_history
from octavo.ranking import OnlineRanker

games, skill = make_games(400, 20, n_teams=(2, 6), random_state=0)
ranker = OnlineRanker(record_history=True).partial_fit(games)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(3, 2))
plot_rating_history(ranker, ax=left)
plot_leaderboard(ranker, ax=right)
fig.tight_layout()

# %%
# The error of predicting each game before learning from it, and whether the chances that were
# given to favourites come true.

trace = ranker.set_params(record_history=False).prequential_trace(games)
print(f"pairs predicted wrongly: {trace.error:.1%}, log-loss {trace.log_loss:.3f}")
plot_calibration(OnlineRanker().prequential_trace(games))
plt.show()
