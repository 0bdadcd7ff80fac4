"""The projection leaves a residual that is negative semidefinite and orthogonal to it."""

import numpy as np

from octavo.engine.projections.positive_semidefinite import (
    project_positive_semidefinite,
    project_rank_one_down,
)


def test_the_conditions_of_a_projection_onto_a_cone():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((7, 7))
    M = M + M.T
    W = project_positive_semidefinite(M)
    assert np.linalg.eigvalsh(W)[0] > -1e-12
    assert np.linalg.eigvalsh(M - W)[-1] < 1e-12
    assert abs(np.sum(W * (M - W))) < 1e-11


def test_one_negative_eigenvalue_needs_one_eigenpair():
    rng = np.random.default_rng(1)
    B, v = rng.standard_normal((6, 6)), 3.0 * rng.standard_normal(6)
    M = B @ B.T - np.outer(v, v)
    np.testing.assert_allclose(project_rank_one_down(M), project_positive_semidefinite(M))
    np.testing.assert_allclose(project_rank_one_down(B @ B.T), B @ B.T)
