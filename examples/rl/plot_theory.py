"""
Where traces lead, and when they fail
=====================================

For a known model, the fixed point of every λ is a linear system, and the spectral radius of the
projected Bellman operator tells whether iterating it converges.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_spectral_radius
from octavo.rl import FiniteMDP, best_approximation_bound, contraction, make_garnet

lambdas = np.linspace(0, 1, 21)
P = np.array([[[0.0, 1], [0, 1]], [[1.0, 0], [1, 0]]])
two = FiniteMDP(P, [0.0, 0.0], 0.95, features=[[1.0], [2.0]])
garnet = make_garnet(random_state=0)
pi, pi0 = garnet.random_policy(1), garnet.random_policy(2)
radii = {
    "two states that defeat TD(0)": [
        contraction(two, [[1, 0], [1, 0]], [[0.5, 0.5], [0.5, 0.5]], lam).spectral_radius
        for lam in lambdas
    ],
    "a random problem, off-policy": [
        contraction(garnet, pi, pi0, lam).spectral_radius for lam in lambdas
    ],
}
plot_spectral_radius(lambdas, radii)

# %%
# The bias of bootstrapping: the error of the fixed point beside that of the best approximation.

bounds = [best_approximation_bound(garnet, pi, pi0, lam) for lam in lambdas]
fig, ax = plt.subplots()
ax.plot(lambdas, [bound.error for bound in bounds], label="fixed point of λ")
ax.axhline(bounds[0].best_error, color="black", linestyle="--", label="best approximation")
ax.set(xlabel="λ", ylabel="weighted root mean squared error")
ax.legend(frameon=False)
plt.show()
