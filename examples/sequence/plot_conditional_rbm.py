"""
A leg that went missing, and a walk between two styles
======================================================

A biped walks in two styles. One model learns both, fills in a leg whose sensors failed, finds
frames that do not belong, and walks from one style into the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_biped_motion, make_oscillator_styles
from octavo.plot import (
    plot_frame_scores,
    plot_hidden_activity,
    plot_horizon_errors,
    plot_imputed_channels,
    plot_style_blend,
)
from octavo.sequence import (
    CRBM,
    FCRBM,
    NearestFrameImputer,
    VectorAutoRegression,
    blend_styles,
)

names = ["normal", "crouch"] * 4
walks = [
    make_biped_motion(name, length=150, noise=0.03, random_state=seed).angles
    for seed, name in enumerate(names)
]
train, y = walks[2:], [np.full(150, name) for name in names[2:]]
model = FCRBM(40, 30, ar_learning_rate=1e-2, n_epochs=100, random_state=0).fit(train, y)
plot_hidden_activity(model.transform(walks[0], "normal"))

# %%
# The left leg is lost from frame 70 on. The model knows the past and the other joints; the nearest
# training frame knows the other joints alone.

missing = np.zeros(walks[0].shape, dtype=bool)
missing[70:, :3] = True
holes = np.where(missing, np.nan, walks[0])
filled = {
    "FCRBM": model.impute(holes, "map", "normal"),
    "nearest frame": NearestFrameImputer(1).fit(train).impute(holes),
}
for name, frames in filled.items():
    print(name, np.mean((frames - walks[0])[missing] ** 2) ** 0.5)
plot_imputed_channels(walks[0], filled, missing)

# %%
# A density finds what does not belong: a stretch that is played backwards.

small = CRBM(12, learning_rate=1e-2, ar_learning_rate=1e-2, n_epochs=100, random_state=0)
small.fit([walk for walk, name in zip(train, names[2:], strict=True) if name == "normal"])
odd = walks[0].copy()
odd[80:100] = odd[80:100][::-1]
marked = np.zeros(150, dtype=bool)
marked[80:103] = True
plot_frame_scores(small.log_likelihood(odd), marked=marked[3:])

# %%
# Styles may move while frames are generated.

styles = blend_styles([0, 1], [1, 0], 60, before=50, after=50)  # classes in sorted order
frames = model.sample(160, walks[0][:6], y=styles, clip=True, random_state=0)
plot_style_blend(frames, styles, channel=1)

# %%
# How far ahead the models see, on oscillators in seven styles of which one sequence was held out.

made = make_oscillator_styles(length=120, random_state=0)
X = made.sequences[1:]
y = [np.full(120, style) for style in made.styles[1:]]
rates = {"order": 6, "learning_rate": 1e-2, "ar_learning_rate": 1e-2, "n_epochs": 60}
models = {
    "VAR": VectorAutoRegression(6).fit(X),
    "CRBM": CRBM(60, random_state=0, **rates).fit(X),
    "FCRBM": FCRBM(60, 40, random_state=0, **rates).fit(X, y),
}
held = made.sequences[0]
past = np.stack([held[t - 6 : t] for t in range(6, 100, 4)])
truth = np.stack([held[t : t + 15] for t in range(6, 100, 4)])
errors = {}
for name, fitted in models.items():
    given = {"y": made.styles[0]} if name == "FCRBM" else {}
    errors[name] = ((fitted.predict(past, 15, **given) - truth) ** 2).mean(axis=(0, 2))
plot_horizon_errors(errors)
plt.show()
