"""
What different objectives make of the Boyan chain
=================================================

Four triangles cannot represent the discounted value exactly. Each objective has its own idea of
the next best thing, and the one that single transitions measure without correction is far off.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.rl import make_boyan

chain = make_boyan()
exact = chain.objectives()
states = np.arange(1, 15)
fig, ax = plt.subplots()
ax.plot(states, chain.value_, color="black", linewidth=3, alpha=0.4, label="true value")
for objective in ("mse", "mspbe", "msbe", "mstde"):
    theta = exact.minimiser(objective)
    error = exact.mse(theta) ** 0.5
    print(f"{objective}: root mean squared error {error:.3f}")
    ax.plot(states, chain.features_ @ theta, marker=".", label=f"{objective}, error {error:.3f}")
ax.set(xlabel="state", ylabel="value")
ax.legend(frameon=False)
plt.show()
