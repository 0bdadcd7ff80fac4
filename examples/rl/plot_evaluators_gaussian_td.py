"""
Values with error bars
======================

`GPTD` returns a posterior: where the chain was visited often, the band is narrow. `KTD` keeps
some uncertainty for ever and can follow rewards that change.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_value_band
from octavo.rl import GPTD, KTD, make_boyan

problem = make_boyan()
few, many = (problem.sample(n, random_state=0) for n in (100, 2000))

fig, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
for ax, log in zip(axes, (few, many)):
    model = GPTD(problem.gamma, noise=4.0, prior_variance=100.0).fit(log)
    plot_value_band(model, problem.features_, value=problem.value_, ax=ax)
    ax.set_title(f"{len(log)} transitions")
fig.tight_layout()

# %%
# After a thousand transitions the reward of every step falls by one.

ones = np.ones((2000, 1))
rewards = np.where(np.arange(2000) < 1000, 0.0, -1.0)
for model in (KTD(0.9, process_noise=1e-3), GPTD(0.9)):
    fitted = model.fit(ones, rewards, ones)
    print(f"{type(model).__name__}: {fitted.coef_[0]:.2f}, the value is now -10")
plt.show()
