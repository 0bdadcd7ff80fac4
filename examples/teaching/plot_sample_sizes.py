"""
How many examples are enough
============================

The learner of rectangles, the number of examples that theory asks for, and how far below the
promised error it ends. Intervals on a line: labelings grow as a polynomial as soon as three points
are too many.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.plot import plot_growth, plot_sample_sizes
from octavo.teaching import (
    ConceptClass,
    TightRectangle,
    growth_function,
    pac_sample_size,
    sauer_bound,
    shatters,
)

m = pac_sample_size("rectangle", eps=0.1, delta=0.05)
rng = np.random.default_rng(0)
errors = []
for _ in range(200):
    X = rng.uniform(size=(m, 2))
    model = TightRectangle().fit(X, ((X > 0.2) & (X < 0.8)).all(axis=1))
    errors.append(0.36 - np.prod(model.high_ - model.low_))
print(m, "examples: an error of 0.1 was passed in", int(np.sum(np.array(errors) > 0.1)), "of 200")

# %%
# Three points in the plane can be split in every way by a line, four cannot.

points = rng.normal(size=(4, 2))
print(shatters(points[:3], "linear"), shatters(points, "linear"))

intervals = ConceptClass.intervals(10)
counts = [growth_function(intervals, n) for n in range(9)]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plot_growth(counts, [sauer_bound(n, 2) for n in range(9)], ax=axes[0])
plot_sample_sizes(lambda e, d: pac_sample_size("rectangle", eps=e, delta=d), ax=axes[1])
plt.show()
