"""Simulated classes have the geometry they are said to have."""

import numpy as np
import pytest

from octavo.data import make_redundant_classes


def test_fields_of_the_checkerboard_alternate():
    X, y = make_redundant_classes(2000, random_state=0)
    field = np.floor(4 * X).astype(int)
    np.testing.assert_array_equal(y, field.sum(axis=1) % 2)
    assert len(np.unique(field, axis=0)) == 16


def test_rings_have_their_radii():
    X, y = make_redundant_classes(5000, kind="rings", random_state=0)
    radius = np.linalg.norm(X - 0.5, axis=1)
    # Means of 2,500 radii of standard deviation 0.035: four standard errors are 0.003.
    assert radius[y == 0].mean() == pytest.approx(0.22, abs=0.003)
    assert radius[y == 1].mean() == pytest.approx(0.42, abs=0.003)


def test_bursts_are_rare_and_in_order_of_time():
    X, y = make_redundant_classes(20_000, kind="bursts", random_state=0)
    assert X.shape == (20_000, 3)
    assert y.mean() == pytest.approx(0.01, abs=4 * np.sqrt(0.01 / 20_000))
    calm = X[y == 0]
    steps = np.linalg.norm(np.diff(calm, axis=0), axis=1).mean()
    apart = np.linalg.norm(calm - calm[::-1], axis=1).mean()
    assert steps < 0.6 * apart


def test_flips_and_seeds():
    straight = make_redundant_classes(4000, random_state=1)
    turned = make_redundant_classes(4000, flip=0.1, random_state=1)
    np.testing.assert_array_equal(straight.X, turned.X)
    share = np.mean(straight.y != turned.y)
    assert share == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 4000))
    again = make_redundant_classes(4000, flip=0.1, random_state=1)
    np.testing.assert_array_equal(again.y, turned.y)


def test_bad_parameters_are_refused():
    for params, words in (({"kind": "moons"}, "'kind'"), ({"flip": 0.7}, "'flip'")):
        with pytest.raises(ValueError, match=words):
            make_redundant_classes(10, **params)
