"""
Registering images by what they tell about each other
======================================================

Two images of one scene, the second with its brightness bent and turned around, as from another
instrument, and shifted by two rows and three columns. Correlation does not find the shift; mutual
information does.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.info import mutual_info

rng = np.random.default_rng(0)
reach, size = 5, 48
y, x = np.mgrid[: size + 2 * reach, : size + 2 * reach] / size
scene = sum(np.sin(a * x + b * y + c) for a, b, c in rng.normal(0, 6, (12, 3)))
shift = (2, -3)
moved = scene[reach + shift[0] :, reach + shift[1] :][:size, :size]
other = (moved - 0.5) ** 2 + 0.3 * rng.normal(size=moved.shape)

offsets = range(-reach, reach + 1)
information = np.zeros((len(offsets), len(offsets)))
correlation = np.zeros_like(information)
for i, dy in enumerate(offsets):
    for j, dx in enumerate(offsets):
        window = scene[reach + dy :, reach + dx :][:size, :size]
        information[i, j] = mutual_info(window[::2, ::2].ravel(), other[::2, ::2].ravel())
        correlation[i, j] = abs(np.corrcoef(window.ravel(), other.ravel())[0, 1])

best = np.unravel_index(information.argmax(), information.shape)
print(f"shift found: {offsets[best[0]]}, {offsets[best[1]]} (true: {shift[0]}, {shift[1]})")

_, axes = plt.subplots(1, 4, figsize=(12, 3))
axes[0].imshow(scene[reach:-reach, reach:-reach], cmap="gray")
axes[1].imshow(other, cmap="gray")
for ax, values, title in zip(axes[2:], (information, correlation), ("information", "correlation")):
    ax.imshow(values, extent=(-reach - 0.5, reach + 0.5, reach + 0.5, -reach - 0.5))
    ax.plot(shift[1], shift[0], "r+", ms=12)
    ax.set_title(title)
plt.tight_layout()
plt.show()
