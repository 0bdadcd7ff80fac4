"""The Gahuku-Gama tribes beside figures that others print of them."""

import numpy as np
import pytest

from octavo.data import load_tribes
from octavo.network import (
    SignedSpectralClustering,
    balance_report,
    correlation_clustering_cost,
    is_balanced,
    is_weakly_balanced,
)


def test_links_are_those_of_the_literature():
    A = load_tribes().A.toarray()
    np.testing.assert_array_equal(A, A.T)
    assert (A > 0).sum() == (A < 0).sum() == 58  # 29 of each, both ways
    assert set(np.unique(A)) == {-1.0, 0.0, 1.0}
    assert not A.diagonal().any()
    # Degrees as printed for the UCINET file: alliances, then enmities.
    assert (A > 0).sum(axis=1).tolist() == [3, 3, 4, 2, 3, 5, 7, 6, 3, 2, 4, 4, 4, 2, 3, 3]
    assert (A < 0).sum(axis=1).tolist() == [5, 5, 2, 1, 4, 5, 0, 1, 4, 3, 5, 4, 4, 3, 6, 6]


def test_share_of_balanced_triangles():
    counts = balance_report(load_tribes().A).counts
    triangles = sum(counts[kind] for kind in ("+++", "++-", "+--", "---"))
    assert counts["balanced 3"] / triangles == pytest.approx(0.8676471, abs=1e-7)  # 59 of 68


def test_three_groups_with_two_exceptions():
    tribes = load_tribes()
    A = tribes.A.toarray()
    assert not is_balanced(A)[0]
    assert not is_weakly_balanced(A)[0]
    assert correlation_clustering_cost(A, tribes.groups) == 2
    masil = tribes.names.index("Masil")
    other = tribes.groups != tribes.groups[masil]
    A[masil, other] = A[other, masil] = 0.0
    assert is_weakly_balanced(A)[0]
    found = SignedSpectralClustering(3, method="normalized", random_state=0).fit_predict(tribes.A)
    assert correlation_clustering_cost(tribes.A, found) == 2
