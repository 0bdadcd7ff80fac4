"""
The slowest functions of a series
=================================

Two normal signals, mixed linearly. Slow feature analysis of all their polynomials up to degree
four finds products of Hermite polynomials, and their Δ-values are sums: the theory in one
picture.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_colored_noise
from octavo.decomposition import SFA, delta_value, predicted_spectrum
from octavo.plot import plot_delta_spectrum

S = make_colored_noise(100_000, [1000, 1700], random_state=0)
X = S @ np.array([[1.0, 0.5], [-0.3, 1.0]])
model = SFA(6, expansion="poly4").fit(X)
predicted = predicted_spectrum(delta_value(S), 6)
for found, expected, orders in zip(model.delta_values_, *predicted):
    print(f"Δ {found:.5f}, predicted {expected:.5f}: harmonics {orders.tolist()}")
plot_delta_spectrum(model.delta_values_, predicted)

# %%
# A series may also come in pieces; the result is the same.
stream = SFA(6, expansion="poly4")
for start in range(0, len(X), 5000):
    stream.partial_fit(X[start : start + 5000])
print(f"largest difference {abs(stream.delta_values_ / model.delta_values_ - 1).max():.0e}")
plt.show()
