"""
The path of Lasso-TD
====================

Forty features, half of them noise, and 500 transitions. The path runs from no feature at all to
plain LSTD.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_lasso_td_path
from octavo.rl import lasso_td, lasso_td_path, lasso_td_violation, make_garnet, td_statistics

garnet = make_garnet(100, 4, 3, 20, random_state=0)
log = garnet.sample(500, garnet.random_policy(0), random_state=0)
noise = np.random.default_rng(0).normal(size=(501, 20))
X, X_next = np.hstack([log.X - 0.5, noise[:-1]]), np.hstack([log.X_next - 0.5, noise[1:]])
A, b = td_statistics(X, X_next, log.r, 0.95)
path = lasso_td_path(A, b)
plot_lasso_td_path(path)

# %%
# The same point by linear complementarity, and the certificate of both.

alpha = 0.1 * np.abs(b).max()
for solver in ("lars", "lcp"):
    theta = lasso_td(A, b, alpha, solver=solver)
    print(
        f"{solver}: {np.count_nonzero(theta[:20])} features and {np.count_nonzero(theta[20:])} of "
        f"the noise, conditions violated by {lasso_td_violation(A, b, theta, alpha):.0e}"
    )
plt.show()
