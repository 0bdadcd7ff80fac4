"""Factor, solves, determinant and selected inverse against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.sparse_gaussian.factor import (
    BandedLayout,
    BorderedLayout,
    DenseLayout,
    NotPositiveDefinite,
    SupernodalLayout,
    analyze_precision,
    canonical_symmetric,
    factorize,
    selected_inverse_matrix,
)
from octavo.engine.sparse_gaussian.ordering import factor_size, fill_reducing_order


def random_precision(n, density, seed):
    rng = np.random.default_rng(seed)
    root = sp.random_array((n, n), density=density, rng=rng, data_sampler=rng.standard_normal)
    return sp.csr_array(root @ root.T + sp.eye_array(n))


def grid_precision(rows, columns, shift=1e-2):
    def second(n):
        D = np.diff(np.eye(n), 2, axis=0)
        return D.T @ D

    def first(n):
        D = np.diff(np.eye(n), axis=0)
        return D.T @ D

    Q = sp.kron(second(rows), sp.eye_array(columns)) + sp.kron(sp.eye_array(rows), second(columns))
    Q = Q + 2 * sp.kron(first(rows), first(columns)) + shift * sp.eye_array(rows * columns)
    return sp.csr_array(Q)


def arrow(n, seed):
    rng = np.random.default_rng(seed)
    A = sp.hstack([sp.eye_array(n), rng.standard_normal((n, 2))])
    return sp.csr_array(A.T @ A + sp.eye_array(n + 2))


CASES = {
    "random": random_precision(90, 0.01, 0),
    "fuller": random_precision(120, 0.05, 1),
    "grid": grid_precision(13, 17),
    "arrow": arrow(150, 2),
    "diagonal": sp.csr_array(sp.diags_array(np.arange(1.0, 101))),
    "pieces": sp.csr_array(sp.block_diag([grid_precision(6, 7), random_precision(40, 0.1, 3)])),
}
LAYOUTS = [
    SupernodalLayout,
    DenseLayout,
    lambda Q: BandedLayout(Q, Q.shape[0] - 1),
    lambda Q: BorderedLayout(Q, np.array([3, 57, 61]), Q.shape[0] - 1),
]
NAMES = ["supernodal", "dense", "banded", "bordered"]


@pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
@pytest.mark.parametrize("name", CASES)
def test_equals_dense_algebra(name, layout):
    Q = canonical_symmetric(CASES[name])
    dense, rng = Q.toarray(), np.random.default_rng(0)
    found = layout(Q)
    factor = found.factor(Q.data)
    condition = np.linalg.cond(dense)
    inverse = np.linalg.inv(dense)
    eps = np.finfo(float).eps
    tolerance = 100 * eps * condition * abs(inverse).max()
    right = rng.standard_normal((Q.shape[0], 3))
    assert abs(factor.solve(right) - inverse @ right).max() < tolerance * 10 * Q.shape[0]
    assert abs(factor.solve(right[:, 0]) - factor.solve(right)[:, 0]).max() < tolerance
    assert factor.log_det == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-11)
    root = factor.root_solve(np.eye(Q.shape[0]))
    assert abs(root @ root.T - inverse).max() < tolerance
    selected = selected_inverse_matrix(found, factor.inverse_values()).tocoo()
    assert abs(selected.data - inverse[selected.row, selected.col]).max() < tolerance
    pattern = Q.tocoo()
    at = found.places(pattern.row.astype(np.int64), pattern.col.astype(np.int64))
    assert at.min() >= 0  # the pattern of the matrix lies inside that of its factor
    got = factor.inverse_values()[at]
    assert abs(got - inverse[pattern.row, pattern.col]).max() < tolerance


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.floats(0.0, 0.3), st.integers(0, 1000))
def test_any_pattern(n, density, seed):
    Q = canonical_symmetric(random_precision(n, density, seed))
    layout = SupernodalLayout(Q)
    factor = layout.factor(Q.data)
    lower = factor.lower().toarray()
    order = layout.pattern.order
    assert np.allclose(lower @ lower.T, Q.toarray()[np.ix_(order, order)], atol=1e-9 * n)
    selected = selected_inverse_matrix(layout, factor.inverse_values()).tocoo()
    inverse = np.linalg.inv(Q.toarray())
    # The smallest eigenvalue is at least one: errors are a few eps times the condition.
    bound = 1e-13 * max(1.0, np.linalg.norm(Q.toarray()))
    assert abs(selected.data - inverse[selected.row, selected.col]).max() < bound


def test_selected_inverse_of_well_conditioned_grid_to_1e_12():
    Q = canonical_symmetric(grid_precision(20, 30, shift=1.0))
    layout = analyze_precision(Q)
    assert isinstance(layout, SupernodalLayout)
    selected = selected_inverse_matrix(layout, layout.factor(Q.data).inverse_values()).tocoo()
    assert abs(selected.data - np.linalg.inv(Q.toarray())[selected.row, selected.col]).max() < 1e-12


def test_new_values_on_an_old_pattern():
    Q = canonical_symmetric(CASES["grid"])
    layout = analyze_precision(Q)
    for scale in (1.0, 3.0):
        assert np.allclose(layout.factor(Q.data * scale).solve(Q @ np.ones(Q.shape[0])), 1 / scale)


def test_order_saves_fill():
    Q = canonical_symmetric(grid_precision(30, 30))
    natural = factor_size(Q, np.arange(900))
    assert factor_size(Q, fill_reducing_order(Q)) < 0.7 * natural
    # An arrow whose dense rows come first fills up completely in the order as given.
    Q = canonical_symmetric(arrow(300, 0)[::-1][:, ::-1])
    assert factor_size(Q, fill_reducing_order(Q)) == 302 + 2 * 300 + 1


def test_choice_of_storage():
    assert isinstance(analyze_precision(canonical_symmetric(np.eye(500))), BandedLayout)
    assert isinstance(analyze_precision(canonical_symmetric(np.ones((100, 100)))), DenseLayout)
    # A series with two slopes, which stand first, in the middle or last.
    Q = canonical_symmetric(arrow(500, 0))
    for order in (np.arange(502), np.roll(np.arange(502), 2), np.roll(np.arange(502), 250)):
        moved = canonical_symmetric(Q[order][:, order])
        layout = analyze_precision(moved)
        assert isinstance(layout, BorderedLayout)
        assert sorted(order[layout.border]) == [500, 501]
        inverse = selected_inverse_matrix(layout, layout.factor(moved.data).inverse_values())
        assert (
            abs(inverse.toarray() - np.linalg.inv(moved.toarray()) * (inverse != 0)).max() < 1e-12
        )
    assert isinstance(
        analyze_precision(canonical_symmetric(grid_precision(25, 25))), SupernodalLayout
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
def test_not_positive_definite_names_a_row(layout):
    matrix = np.diag(np.ones(80))
    matrix[57, 57] = -1.0
    Q = canonical_symmetric(matrix)
    with pytest.raises(NotPositiveDefinite, match="row 57 is not positive"):
        layout(Q).factor(Q.data)


def test_bad_matrices():
    with pytest.raises(ValueError, match=r"symmetric matrix, got 1 at \(0, 1\) and 0 at \(1, 0\)"):
        factorize(np.array([[2.0, 1.0], [0.0, 2.0]]))
    with pytest.raises(ValueError, match="square matrix, got one of shape"):
        factorize(np.ones((2, 3)))
    with pytest.raises(ValueError, match="finite"):
        factorize(np.array([[np.nan]]))
