"""
Winning lines of tic-tac-toe
============================

Random intersection trees see half of the final boards of tic-tac-toe, with a hundred columns of
noise, and are told who has won. They find the lines, and a classifier made of them is right on
nearly all boards that it has not seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from octavo.data import make_tic_tac_toe, tic_tac_toe_lines
from octavo.linear import RandomIntersectionTrees, RITClassifier, intersection_tree
from octavo.plot import plot_board_patterns, plot_intersection_tree, plot_pattern_prevalence

X, y = make_tic_tac_toe(100, random_state=0)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[: len(y) // 2], order[len(y) // 2 :]
models = {
    player: RandomIntersectionTrees(
        1000, target=player, prevalence="exact", min_count=2, random_state=0
    ).fit(X[train], y[train])
    for player in (1, 0)
}
lines = tic_tac_toe_lines()
for player, own in ((1, lines[:8]), (0, lines[8:])):
    found = set(models[player].patterns_)
    print(f"player {2 - player}: {sum(line in found for line in own)} of 8 lines")
for model in (RITClassifier(random_state=0), RandomForestClassifier(random_state=0)):
    error = 1 - model.fit(X[train], y[train]).score(X[test], y[test])
    print(f"{type(model).__name__}: error {error:.3f}")

# %%
# One tree: a board that the first player has won, intersected with others.

boards, winner = make_tic_tac_toe()
names = [f"{player}{row}{column}" for player in "xo" for row in "abc" for column in "123"]
tree = intersection_tree(boards, winner, branching=3, theta0=0.01, random_state=5)
plot_intersection_tree(tree, feature_names=names)

# %%
# How often patterns were found, as boards and by their prevalences.

fig, (upper, lower) = plt.subplots(2, 1, figsize=(10, 7))
both = [*models[1].patterns_, *models[0].patterns_]
plot_board_patterns(both, np.concatenate([models[1].counts_, models[0].counts_]), ax=upper)
plot_pattern_prevalence(models[1], ax=lower)
plt.show()
