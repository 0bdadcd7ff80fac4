"""Images that were turned and shifted come back over each other."""

import numpy as np
import pytest
from scipy.ndimage import affine_transform, gaussian_filter
from sklearn.exceptions import ConvergenceWarning

from octavo.info import (
    HSIC,
    DistanceCorrelation,
    KernelGeneralizedVariance,
    KSGMutualInformation,
    register_images,
    registration_profile,
)


def picture(size=61, seed=0):
    """A smooth random image, textured at several scales."""
    rng = np.random.default_rng(seed)
    return sum(w * gaussian_filter(rng.standard_normal((size, size)), w) for w in (2, 4, 8))


def seen_through(image, angle, shift):
    """The image for which image[p] = moving[c + R(angle)(p − c) + shift]."""
    turn = np.deg2rad(angle)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    centre = (np.array(image.shape) - 1) / 2
    # moving[q] = image[c + R'(q − c − shift)]
    offset = centre - R.T @ (centre + np.asarray(shift))
    return affine_transform(image, R.T, offset, order=1, mode="nearest")


@pytest.mark.parametrize("darken", [lambda z: z, lambda z: -z, lambda z: np.abs(z)])
def test_rigid_motion_is_found(darken):
    image = picture()
    moving = darken(seen_through(image, 11.0, (2.0, -1.5)))
    found = register_images(image, moving)
    # Half a pixel at the rim of the disc that is compared, of radius 20, is 1.4 degrees.
    assert found.angle == pytest.approx(11.0, abs=1.4)
    np.testing.assert_allclose(found.shift, (2.0, -1.5), atol=0.5)
    assert found.converged


@pytest.mark.parametrize(
    "estimator",
    [
        HSIC(),
        KernelGeneralizedVariance(max_rank=20),
        KSGMutualInformation(jitter=1e-10),
        DistanceCorrelation(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_any_estimator_of_dependence_serves(estimator):
    image = picture(45)
    moving = seen_through(image, -8.0, (0.0, 0.0))
    angles = np.arange(-20.0, 21.0, 4.0)
    profile = registration_profile(image, moving, angles, estimator, n_pixels=400)
    assert angles[np.argmax(profile)] == -8.0


def test_patches_describe_places():
    image = picture(45)
    moving = seen_through(image, 6.0, (0.0, 0.0))
    angles = np.arange(-18.0, 19.0, 6.0)
    profile = registration_profile(image, moving, angles, patch=3, n_pixels=300)
    assert angles[np.argmax(profile)] == 6.0


def test_translation_alone_and_reproducible():
    image = picture()
    moving = seen_through(image, 0.0, (-3.0, 2.0))
    found = register_images(image, moving, transform="translation")
    np.testing.assert_allclose(found.shift, (-3.0, 2.0), atol=0.3)
    assert found.angle == 0.0
    again = register_images(image, moving, transform="translation")
    np.testing.assert_array_equal(found.shift, again.shift)


def test_bad_images_are_named():
    image = picture(31)
    with pytest.raises(ValueError, match="fixed must be a grey image"):
        register_images(np.zeros((3, 3, 3)), image)
    with pytest.raises(ValueError, match="one shape"):
        register_images(image, image[:-1])
    with pytest.raises(ValueError, match="moving holds NaN"):
        register_images(image, np.where(image > 1, np.nan, image))
    with pytest.raises(ValueError, match="moving is 3 throughout"):
        register_images(image, np.full_like(image, 3.0))
    with pytest.raises(ValueError, match="patch must be an odd"):
        register_images(image, image, patch=2)
    with pytest.raises(ValueError, match="transform must be one of"):
        register_images(image, image, transform="affine")
    with pytest.raises(ValueError, match=r"Only \d+ pixels"):
        register_images(image, image, max_shift=10.0)
    with pytest.raises(ValueError, match="must be positive"):
        register_images(image, image, max_angle=0.0)


def test_too_few_evaluations_warn_with_the_value():
    image = picture(45)
    with pytest.warns(ConvergenceWarning, match="dependence there is"):
        register_images(image, image, max_evaluations=5)
