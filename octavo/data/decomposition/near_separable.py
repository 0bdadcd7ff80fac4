"""The six noisy separable models and the swimmer of robust separable NMF.

Reference: Gillis and Luce (2014), "Robust near-separable nonnegative matrix factorization using
linear optimization", JMLR 15:1249-1280, Sections 5.3 and 5.4; the swimmer is that of Donoho and
Stodden (2003).
"""

from __future__ import annotations

from itertools import combinations, product
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from octavo.data.decomposition.separable import SeparableSample
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["make_near_separable", "make_swimmer"]

_COUNT = Interval(Integral, 1, None, closed="left")
_SHAPE = (20, 11)
# Where each limb begins, and the steps of its four positions: three pixels outwards.
_LIMBS = (
    ((6, 4), ((-1, -1), (0, -1), (1, -1), (-1, 0))),
    ((6, 6), ((-1, 1), (0, 1), (1, 1), (-1, 0))),
    ((15, 4), ((-1, -1), (0, -1), (1, -1), (1, 0))),
    ((15, 6), ((-1, 1), (0, 1), (1, 1), (1, 0))),
)


@checked
@validate_params(
    {
        "n_samples": [_COUNT],
        "n_features": [_COUNT],
        "n_components": [_COUNT],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "model": [StrOptions({"dirichlet", "middle"})],
        "pattern": [StrOptions({"dense", "sparse", "pointwise"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_near_separable(
    n_samples=100,
    n_features=50,
    *,
    n_components=10,
    epsilon=0.1,
    model="dirichlet",
    pattern="dense",
    random_state=None,
):
    """Draw a noisy separable matrix of Section 5.3, points as rows.

    Basis rows are uniform with unit sums. In the model "dirichlet" the other rows are Dirichlet
    mixtures with parameters uniform on [0, 1], and the noise is normal. In "middle" the midpoints
    of all pairs of basis rows come first, and noise moves every row but the basis away from its
    centre. The noise is kept everywhere ("dense"), in a quarter of the entries ("sparse") or in one
    entry a row ("pointwise"), and scaled so that its largest l1 norm of a row is `epsilon`. Rows
    are in random order. Samples that differ in `epsilon` alone differ in nothing else.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=50
        Number of columns.
    n_components : int, default=10
        Number of rows of the basis.
    epsilon : float, default=0.1
        Largest l1 norm of the noise of a row.
    model : {"dirichlet", "middle"}, default="dirichlet"
        How rows are mixed and which way noise points.
    pattern : {"dense", "sparse", "pointwise"}, default="dense"
        Where the noise is.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    SeparableSample
        X, the indices of its anchors, the basis and the weights.

    Examples
    --------
    >>> from octavo.data import make_near_separable
    >>> sample = make_near_separable(epsilon=0.2, pattern="pointwise", random_state=0)
    >>> noise = abs(sample.X - sample.weights @ sample.basis)
    >>> round(float(noise.sum(axis=1).max()), 12), int((noise > 1e-12).sum())
    (0.2, 100)
    """
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    pairs = list(combinations(range(n_components), 2)) if model == "middle" else []
    rest = n_samples - n_components - len(pairs)
    if rest < 0:
        raise ValueError(
            f"n_samples must be at least {n_components + len(pairs)}, the basis rows"
            f"{' and midpoints of their pairs' if pairs else ''}, got {n_samples}."
        )
    basis = 1.0 - rng.uniform(size=(n_components, n_features))  # in (0, 1]
    basis /= basis.sum(axis=1, keepdims=True)
    own = np.eye(n_components)
    middle = [(own[i] + own[j]) / 2.0 for i, j in pairs]
    concentration = 1.0 - rng.uniform(size=n_components)
    mixed = rng.dirichlet(concentration, size=rest)
    weights = np.vstack([own, *middle, mixed])
    clean = weights @ basis
    if model == "middle":
        noise = clean - basis.mean(axis=0)
        noise[:n_components] = 0.0
    else:
        noise = rng.standard_normal(clean.shape)
    if pattern == "sparse":
        noise *= rng.uniform(size=noise.shape) < 0.25
    elif pattern == "pointwise":
        kept = np.zeros_like(noise)
        kept[np.arange(n_samples), rng.integers(n_features, size=n_samples)] = 1.0
        noise *= kept
    largest = np.abs(noise).sum(axis=1).max()
    order = rng.permutation(n_samples)
    X = clean + (epsilon / largest * noise if largest > 0 else 0.0)
    return SeparableSample(X[order], np.argsort(order)[:n_components], basis, weights[order])


@checked
def make_swimmer():
    """Draw the swimmer: a body with four limbs in four positions each.

    As a matrix of images by pixels it is 16-separable by its columns: each of 16 limb positions has
    three pixels, each of the 14 pixels of the body is a quarter of the sum of all limbs, and 158
    are empty. Its rank is 13.

    Returns
    -------
    ndarray of shape (256, 220)
        Images of 20 × 11 pixels as rows, of zeros and ones. Factorise the transpose to choose
        pixels.

    Examples
    --------
    >>> from octavo.data import make_swimmer
    >>> images = make_swimmer()
    >>> images.shape, int(images[0].sum())
    ((256, 220), 26)
    """
    parts = np.zeros(_SHAPE, dtype=np.int64)
    parts[4:18, 5] = 1
    for limb, ((row, column), steps) in enumerate(_LIMBS):
        for position, (down, right) in enumerate(steps):
            for k in range(1, 4):
                parts[row + k * down, column + k * right] = 2 + 4 * limb + position
    flat = parts.ravel()
    return np.array(
        [
            np.isin(flat, [1, *(2 + 4 * limb + position for limb, position in enumerate(pose))])
            for pose in product(range(4), repeat=4)
        ],
        dtype=np.float64,
    )
