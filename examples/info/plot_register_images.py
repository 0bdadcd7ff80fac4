"""
Turning an image back
=====================

An image was turned by eleven degrees and its grey values inverted and bent. Any estimator of
dependence finds the angle; here are the profiles of three, and the search for the best one.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, rotate

from octavo.info import (
    DistanceCorrelation,
    KSGMutualInformation,
    LowRankHSIC,
    register_images,
    registration_profile,
)
from octavo.plot import plot_registration_profile

rng = np.random.default_rng(0)
image = sum(w * gaussian_filter(rng.standard_normal((81, 81)), w) for w in (2, 4, 8))
moving = -np.tanh(rotate(image, 11, reshape=False, order=1, mode="nearest"))

found = register_images(image, moving, transform="rotation")
print(f"turned by {found.angle:.1f} degrees, after {found.n_evaluations} estimates")

angles = np.arange(-30.0, 31.0)
profiles = {
    type(estimator).__name__: registration_profile(image, moving, angles, estimator, n_pixels=800)
    for estimator in (DistanceCorrelation(), LowRankHSIC(), KSGMutualInformation(jitter=1e-10))
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), width_ratios=(1, 1, 1.6))
axes[0].imshow(image, cmap="gray")
axes[1].imshow(moving, cmap="gray")
plot_registration_profile(angles, profiles, truth=11.0, ax=axes[2])
plt.tight_layout()
plt.show()
