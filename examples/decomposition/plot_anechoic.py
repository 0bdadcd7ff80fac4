"""
Sources behind delays
=====================

Ten channels hear two sources, each scaled and late by another time. Two principal components
explain little of them; two sources with delays explain everything.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_anechoic_mixture
from octavo.decomposition import (
    AnechoicMixture,
    delay_crlb,
    estimate_delays,
    shift_fractional,
    shifted_match,
)
from octavo.plot import plot_anechoic_model, plot_delay_errors, plot_source_overlay

sample = make_anechoic_mixture("smooth", random_state=0)
model = AnechoicMixture(n_sources=2, random_state=0).fit(sample.X)
values = np.linalg.svd(sample.X, compute_uv=False)
print(f"quality of two sources {model.quality_:.3f}")
print(f"of two principal components {1 - np.sqrt(np.sum(values[2:] ** 2) / np.sum(values**2)):.3f}")
print(f"match with the true sources {shifted_match(model.sources_, sample.sources):.3f}")
plot_anechoic_model(model)

# %%
# Order, sign, scale and a common delay are arbitrary; with those fitted, the sources are these.
plot_source_overlay(model.sources_, sample.sources)

# %%
# Many starts end in local optima, which is why there are twenty.
print(np.round(np.sort(model.start_qualities_)[::-1], 2))

# %%
# Objects that stand at other places in every picture are sources too.
pictures = make_anechoic_mixture("sprites", n_channels=4, n_times=48, random_state=3)
parts = AnechoicMixture(2, nonneg_weights=True, n_init=10, random_state=0).fit(pictures.X)
print(f"explained variance {1 - (1 - parts.quality_) ** 2:.3f}")
axes = plt.subplots(2, 4, figsize=(8, 4))[1]
for ax, picture in zip(axes[0], pictures.X):
    ax.imshow(picture, cmap="gray")
for ax, picture in zip(axes[1], [*pictures.sources, *parts.sources_]):
    ax.imshow(np.abs(picture), cmap="gray")
for ax, title in zip(axes[1], ("object", "object", "found", "found")):
    ax.set_title(title)
for ax in axes.flat:
    ax.set_axis_off()

# %%
# Of known sources, delays are estimated as well as any unbiased estimator can.
rng = np.random.default_rng(0)
truth = np.array([20.2, 7.9])
clean = sum(shift_fractional(s, d) for s, d in zip(sample.sources, truth))
levels, errors = [0, 10, 20, 30, 40], {"joint": [], "one by one": [], "bound": []}
for snr in levels:
    noisy = clean + np.sqrt(np.mean(clean**2) / 10 ** (snr / 10)) * rng.normal(size=(100, 256))
    for name, method in (("joint", "ml"), ("one by one", "xcorr")):
        off = estimate_delays(noisy, sample.sources, method).delays - truth
        errors[name].append(np.sqrt(np.mean(off**2)))
    bound = delay_crlb(sample.sources, [1, 1], snr, delays=truth)
    errors["bound"].append(np.sqrt(np.mean(bound**2)))
plot_delay_errors(levels, errors)
plt.show()
