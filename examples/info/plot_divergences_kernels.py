"""
Are Gram matrices of distributions positive?
============================================

Kernel machines need positive semi-definite Gram matrices. That of the expected kernel is, exactly
and for any samples; an estimate of ∫pq from neighbours is not quite.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.info import ExpectedKernel, ProbabilityProductKernel, distribution_gram
from octavo.plot import plot_gram_spectrum

rng = np.random.default_rng(0)
samples = [rng.normal(m, s, (200, 2)) for m in (0, 0.5, 1, 2) for s in (0.7, 1, 1.5)]
grams = {
    "expected kernel": distribution_gram(samples, ExpectedKernel()),
    "probability product": distribution_gram(samples, ProbabilityProductKernel()),
}
for name, gram in grams.items():
    values = np.linalg.eigvalsh(gram)
    print(f"{name}: smallest over largest eigenvalue {values[0] / values[-1]:+.1e}")
plot_gram_spectrum(grams)
plt.show()
