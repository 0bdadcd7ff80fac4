"""
Seeing dependence without margins
=================================

A noisy parabola has no correlation. The difference between its copula and independence shows the
dependence, and three distances between the two measure it.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.info import DistanceCorrelation, HoeffdingPhi, SchweizerWolffSigma, association
from octavo.plot import plot_copula_gap

x, noise = np.random.default_rng(0).normal(size=(2, 2000))
y = x**2 + 0.3 * noise
print(f"Spearman's rho        {association(x, y):+.3f}")
for estimator in (SchweizerWolffSigma(), HoeffdingPhi(), DistanceCorrelation()):
    # The first two do not see that y has been bent, the last one does.
    bent = estimator.estimate(x, np.exp(y))
    print(f"{type(estimator).__name__:<21} {estimator.estimate(x, y):+.3f}, bent {bent:+.3f}")
plot_copula_gap(x, y)
plt.show()
