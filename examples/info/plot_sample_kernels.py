"""
Learning from clouds of points
==============================

Each example is a sample; a support vector machine tells by the Bhattacharyya kernel whether it was
drawn from a narrow or a wide distribution.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from octavo.info import distribution_gram
from octavo.plot import plot_distribution_gram

rng = np.random.default_rng(0)
scales = np.concatenate([rng.uniform(0.5, 0.95, 15), rng.uniform(1.05, 1.5, 15)])
labels = np.repeat([0, 1], 15)
samples = [scale * rng.normal(size=(150, 2)) for scale in scales]
gram = distribution_gram(samples)
accuracy = cross_val_score(SVC(kernel="precomputed", C=100.0), gram, labels, cv=5).mean()
print(f"accuracy {accuracy:.2f}")
plot_distribution_gram(gram)
plt.show()
