"""Sources of subspaces are white, independent of each other, and on their figures."""

import numpy as np
import pytest

from octavo.data import make_subspace_mixture


@pytest.mark.parametrize(("kind", "d"), [("shapes", 2), ("letters", 2), ("wires", 3)])
def test_sources_are_white_and_mixed(kind, d):
    sample = make_subspace_mixture(kind, n_subspaces=4, n_samples=400, random_state=0)
    np.testing.assert_allclose(sample.X, sample.sources @ sample.mixing.T)
    for group in sample.subspaces:
        assert len(group) == d
        S = sample.sources[:, group]
        np.testing.assert_allclose(S.T @ S / 400, np.eye(d), atol=1e-9)
        np.testing.assert_allclose(S.mean(axis=0), 0.0, atol=1e-9)
    cross = sample.sources.T @ sample.sources / 400 - np.eye(4 * d)
    assert np.abs(cross).max() < 5 / np.sqrt(400)  # independent: five deviations of a mean
    values = np.linalg.svd(sample.mixing, compute_uv=False)
    assert 0.5 <= values.min() <= values.max() <= 2.0


def test_ring_without_noise_is_a_ring():
    S = make_subspace_mixture("shapes", n_subspaces=1, n_samples=4000, noise=0.0, random_state=0)
    radius = np.linalg.norm(S.sources, axis=1)
    assert S.names == ["ring"]
    np.testing.assert_allclose(radius, np.sqrt(2), atol=0.2)  # whitened: a circle up to sampling


def test_more_features_and_bad_input():
    assert make_subspace_mixture(n_subspaces=1, n_features=5).mixing.shape == (5, 2)
    with pytest.raises(ValueError, match="at least the 4 coordinates"):
        make_subspace_mixture(n_subspaces=2, n_features=3)
    with pytest.raises(ValueError, match="kind"):
        make_subspace_mixture("numbers")
