"""
Two signals out of a spiral
===========================

Two smooth signals are mixed into a spiral that no linear method can unroll. What varies most slowly
among all polynomials of the mixture is the first signal; without anything that depends on it,
the slowest is the second.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import FastICA

from octavo.data import make_colored_noise, make_spiral_mixture
from octavo.decomposition import XSFA, delta_value, required_samples, source_match
from octavo.plot import plot_mixture_scatter, plot_source_match

T = 20_000
S = make_colored_noise(T, [T / 100, T / 60], random_state=0)
S /= abs(S).max(axis=0)
X = make_spiral_mixture(S[:, 0], S[:, 1])
plot_mixture_scatter(S, X)

# %%
# Independent components of the spiral are not the sources; xSFA finds both, up to a monotone map.
linear = source_match(FastICA(random_state=0).fit_transform(X), S)
model = XSFA(2)
found = model.fit_transform(X)
match = source_match(found, S)
print(f"FastICA {linear.cc.round(3).tolist()}, xSFA {match.cc.round(3).tolist()}")
print(f"signal to noise {match.snr_db.round(1).tolist()} dB")
plot_source_match(found, S, match)
plt.tight_layout()

# %%
# Sources are told apart by their speed. How long must a series be for that?
slow, fast = delta_value(S)
print(f"Δ {slow:.5f} and {fast:.5f}: {required_samples(slow, fast)} samples")

# %%
# The model is a function of the mixture: new data are unmixed without a new fit.
fresh = make_colored_noise(T, [T / 100, T / 60], random_state=1)
fresh /= abs(fresh).max(axis=0)
again = source_match(model.transform(make_spiral_mixture(fresh[:, 0], fresh[:, 1])), fresh)
print(f"new data {again.cc.round(3).tolist()}")
plt.show()
