"""
The least committed distribution
================================

A die whose mean is 4.2, a waiting time of known mean and spread, a survey that must agree with a
census: only averages are known, and the distribution of largest entropy adds nothing else.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.info import InfeasibleConstraints, MaxEntDistribution, ipf
from octavo.plot import plot_gibbs_distribution

faces = np.arange(1.0, 7.0)
die = MaxEntDistribution(faces[:, None]).fit([4.2])
print("die", die.prob_.round(4), "entropy", round(die.entropy_, 4))

# %%
# A mean and a second moment on a grid give a Gaussian, cut off at the ends.

x = np.linspace(0.0, 10.0, 201)
waiting = MaxEntDistribution(np.column_stack([x, x**2])).fit([4.0, 18.0])
print("multipliers", waiting.multipliers_.round(3))

# %%
# What cannot be is refused with the reason; slack comes as near as it may.

try:
    MaxEntDistribution(faces[:, None]).fit([6.3])
except InfeasibleConstraints as error:
    print(error)
near = MaxEntDistribution(faces[:, None], slack=0.5).fit([6.3])
print("with slack", near.moments_.round(3))

# %%
# Weights of a survey by sex and vote.

print(ipf([[20, 30], [10, 40]], [[480, 520], [350, 650]], axes=[0, 1]).round(1))

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
plot_gibbs_distribution(die, faces, ax=axes[0])
plot_gibbs_distribution(waiting, x, ax=axes[1])
plt.show()
