"""
Warm starts along a grid
========================

The solution for one regularisation starts the next. W4 lets every bounded support vector follow
its bound as the box grows; W6 does the opposite for a box that shrinks. The hybrid order begins
where a cold start is cheap, in the middle, and goes both ways.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from octavo.plot import plot_strategies, plot_warm_starts
from octavo.svm import NoOffsetSVCCV

X, y = make_moons(300, noise=0.25, random_state=0)
ways = [("I0-W0", "descending"), ("I0-W3", "descending"), ("I1-W4", "descending")]
ways += [("I0-W6", "ascending"), ("I0-W4", "hybrid")]
searches = {
    f"{warm}, {order}": NoOffsetSVCCV(cv=5, warm=warm, order=order, random_state=0).fit(X, y)
    for warm, order in ways
}
for name, search in searches.items():
    print(
        f"{name:20s} {search.n_iter_grid_.sum():7d} iterations, error {1 - search.best_score_:.3f}"
    )
plot_warm_starts(searches)

# %%
# Which pair of variables to move: cheap searches (7) need hardly more iterations than a search
# over all partners (32), and each iteration costs a fraction.

kinds = ("1d", 1, 3, 7, 32, 128)
plot_strategies(
    {
        str(kind): NoOffsetSVCCV(
            n_alphas=5, n_gammas=5, cv=2, warm="I0-W0", working_set=kind, random_state=0
        ).fit(X, y)
        for kind in kinds
    }
)
plt.show()
