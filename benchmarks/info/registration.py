"""Registration of a turned image by distance correlation beside a scan of all angles."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter, rotate
from sklearn.feature_selection import mutual_info_regression

from benchmarks.harness import Contest
from octavo.info import register_images

ANGLE = 11.0


def images(size=101):
    rng = np.random.default_rng(0)
    image = sum(w * gaussian_filter(rng.standard_normal((size, size)), w) for w in (2, 4, 8))
    return image, -rotate(image, ANGLE, reshape=False, order=1, mode="nearest")


def octavo_search(data):
    return register_images(*data, transform="rotation").angle


def scan(data):
    """Turn the whole image to 121 angles and keep the one of the largest mutual information."""
    fixed, moving = data
    rows, columns = np.indices(fixed.shape) - 50.0
    inside = np.hypot(rows, columns) <= 50
    places = np.flatnonzero(inside.ravel())[::4]
    grey = fixed.ravel()[places, None]
    angles = np.linspace(-30, 30, 121)
    found = [
        mutual_info_regression(
            grey,
            rotate(moving, -angle, reshape=False, order=1, mode="nearest").ravel()[places],
            random_state=0,
        )[0]
        for angle in angles
    ]
    return float(angles[np.argmax(found)])


def near_truth(data, answers):
    for angle in answers.values():
        assert abs(angle - ANGLE) < 0.5
    listed = ", ".join(f"{angle:.2f}" for angle in answers.values())
    return f"Turned by {ANGLE:g} degrees; found {listed}."


CONTESTS = [
    Contest(
        name="rotation",
        problem="rotation of an inverted image of 101 × 101 pixels, to half a degree",
        setup=images,
        solvers={"octavo": octavo_search, "scan by scikit-learn's mutual information": scan},
        agree=near_truth,
        repeats=3,
        limit="tree queries: neighbours of pixels, an angle each",
    ),
]
