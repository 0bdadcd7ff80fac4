"""Anderson's mixing: a fixed point from the last few steps instead of the last one alone.

Where a map contracts slowly in a few directions, the mixture of its last images whose steps
cancel, as they would for an affine map, is far nearer to the fixed point than the last image.

Reference: Walker and Ni (2011), "Anderson acceleration for fixed-point iterations", SIAM Journal
on Numerical Analysis 49:1715-1735.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats

RIDGE = 1e-14  # of the trace: a combination of steps shorter than rounding says nothing


class AndersonMixing:
    """Mix the images of one fixed-point iteration.

    Parameters
    ----------
    depth : int, default=6
        How many earlier images are kept.
    """

    def __init__(self, depth: int = 6):
        self.depth = depth
        self.forget()

    def forget(self) -> None:
        """Begin anew, as where the last mixture was no progress."""
        self.count = 0
        self.images, self.steps = np.zeros((0, 0)), np.zeros((0, 0))
        self.gram = np.zeros((self.depth + 1, self.depth + 1))

    def __call__(self, point: Floats, image: Floats) -> Floats:
        """Return the next point.

        Parameters
        ----------
        point : ndarray
            Where the map was applied.
        image : ndarray of the same shape and order
            What it returned there.

        Returns
        -------
        ndarray
            The mixture of the images, with weights that sum to one, whose steps cancel as far as
            they can.
        """
        if not self.count:
            self.images, self.steps = np.empty((2, self.depth + 1, image.size))
        slot = self.count % (self.depth + 1)
        self.count += 1
        self.images[slot] = image.ravel(order="A")
        self.steps[slot] = (image - point).ravel(order="A")
        known = min(self.count, self.depth + 1)
        if known == 1:
            self.gram[0, 0] = self.steps[0] @ self.steps[0]
            return image
        self.gram[slot, :known] = self.gram[:known, slot] = self.steps[:known] @ self.steps[slot]
        earlier = np.delete(np.arange(known), slot)
        # squares of f_i − f_slot, by the products of the steps f
        against = self.gram[slot, earlier]
        square = self.gram[slot, slot]
        products = self.gram[np.ix_(earlier, earlier)] - against[:, None] - against + square
        # A ridge far below rounding: steps that have become parallel leave the system singular.
        np.einsum("ii->i", products)[:] += RIDGE * np.trace(products) + np.finfo(float).tiny
        # shares of the mixture whose steps cancel best
        shares = np.linalg.solve(products, square - against)
        weights = np.zeros(known)
        weights[earlier], weights[slot] = shares, 1.0 - shares.sum()
        mixed = weights @ self.images[:known]
        if image.flags.f_contiguous:
            return mixed.reshape(image.shape, order="F")
        return mixed.reshape(image.shape)
