"""Multifrontal Cholesky and the selected inverse on supernodes: dense blocks in a sparse factor.

Columns of the factor with (almost) the same pattern form a supernode, whose entries are one dense
panel: its own columns on top, the rows below them after. A supernode's front is the square matrix
of all these rows. The factor goes up the tree: a front gathers what its children left over,
eliminates its columns and leaves a smaller square to its parent. The selected inverse goes down:
a front takes from its parent the inverse at its lower rows and completes it. Both need only the
place of a child's rows in its parent's front, which is computed once.

References
----------
K. Takahashi, J. Fagan and M.-S. Chen. Formation of a sparse bus impedance matrix and its
application to short circuit study. 8th PICA Conference, 1973.
J. W. H. Liu. The multifrontal method for sparse matrix solution: theory and practice. SIAM Review
34, 1992.
B. Cseke and T. Heskes. Approximate marginals in latent Gaussian models. JMLR 12, 2011, Appendix A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.sparse_gaussian.ordering import (
    column_counts,
    elimination_tree,
    permuted_pattern,
    postorder,
)

_BLOCK = 16  # pivots between two updates of the rest of a front


class Supernodes(NamedTuple):
    """The pattern of a factor.

    order : position -> row of the matrix as given; `where` is its inverse.
    starts : first column of each supernode, and n.
    parents : supernode above, -1 at a root.
    row_starts, rows : rows of each supernode below its own columns, ascending.
    inside : place of each of `rows` in the front of the parent.
    panel_starts : where each supernode's panel begins in the flat values; row-major.
    update_starts : where what is left over of a front lies on the stack of the factor.
    inverse_starts : where the inverse of a front lies on the stack of the selected inverse.
    stacks : sizes of the two stacks.
    largest : size of the largest front.
    """

    order: Ints
    where: Ints
    starts: Ints
    parents: Ints
    row_starts: Ints
    rows: Ints
    inside: Ints
    panel_starts: Ints
    update_starts: Ints
    inverse_starts: Ints
    stacks: tuple[int, int]
    largest: int


# --- pattern ----------------------------------------------------------------------------------


@njit(cache=True)
def _supernode_starts(parent, counts):
    """Return the first column of each supernode, merged with its parent where that adds little."""
    n = parent.size
    starts = np.empty(n + 1, dtype=np.int64)
    size = 0
    for j in range(n):
        # a column joins the one before if it is its parent with the same rows below
        if j == 0 or parent[j - 1] != j or counts[j - 1] != counts[j] + 1:
            starts[size] = j
            size += 1
    # Merge a supernode with the one before where that is its child and few zeros are stored.
    # `width` and `zeros` are those of the merged stretch that ends before supernode s.
    kept = np.empty(size + 1, dtype=np.int64)
    zeros = np.zeros(size + 1, dtype=np.int64)
    filled = 0
    for s in range(size):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < size else n
        kept[filled] = begin
        zeros[filled] = 0
        filled += 1
        while filled > 1:
            child = kept[filled - 2]
            here = kept[filled - 1]
            if not here <= parent[here - 1] < end:
                break
            child_width, width = here - child, end - here
            below = counts[end - 1] - 1  # rows under the merged columns
            child_rows = counts[here - 1] - 1
            extra = zeros[filled - 2] + zeros[filled - 1]
            extra += child_width * (width + below - child_rows)
            total = child_width + width
            # entries of the panel, its own triangle and the rows below
            stored = total * (total + 1) // 2 + total * below
            if total <= 4:
                allowed = 0.8
            elif total <= 16:
                allowed = 0.25
            elif total <= 48:
                allowed = 0.1
            else:
                allowed = 0.05
            if extra > allowed * stored:
                break
            filled -= 1
            zeros[filled - 1] = extra
    kept[filled] = n
    return kept[: filled + 1].copy()


@njit(cache=True)
def _supernode_rows(indptr, indices, parent, starts):
    """Return the tree of supernodes and the rows below each, ascending."""
    count = starts.size - 1
    n = parent.size
    of = np.empty(n, dtype=np.int64)
    parents = np.full(count, -1, dtype=np.int64)
    for s in range(count):
        for j in range(starts[s], starts[s + 1]):
            of[j] = s
    for s in range(count):
        above = parent[starts[s + 1] - 1]
        if above >= 0:
            parents[s] = of[above]
    lengths = np.zeros(count + 1, dtype=np.int64)
    mark = np.full(count, -1, dtype=np.int64)
    rows = np.empty(0, dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    # Rows are met in ascending order, so that filling the lists needs no sort.
    for sweep in range(2):
        if sweep == 1:
            for s in range(count):
                lengths[s + 1] += lengths[s]
                filled[s] = lengths[s]
                mark[s] = -1
            rows = np.empty(lengths[count], dtype=np.int64)
        for i in range(n):
            mark[of[i]] = i
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if j >= i:
                    continue
                s = of[j]
                # each row goes up from its entries to the first supernode that has it
                while mark[s] != i:
                    mark[s] = i
                    if sweep == 0:
                        lengths[s + 1] += 1
                    else:
                        rows[filled[s]] = i
                        filled[s] += 1
                    s = parents[s]
    return parents, lengths, rows


@njit(cache=True)
def _places(starts, parents, row_starts, rows):
    """Return where each row of a supernode stands in its parent's front."""
    inside = np.empty(rows.size, dtype=np.int64)
    for s in range(parents.size):
        above = parents[s]
        if above < 0:
            continue
        begin, end = starts[above], starts[above + 1]
        q = row_starts[above]
        for p in range(row_starts[s], row_starts[s + 1]):
            if rows[p] < end:
                inside[p] = rows[p] - begin
                continue
            while rows[q] != rows[p]:  # both lists ascend: one walk through the parent's
                q += 1
            inside[p] = end - begin + q - row_starts[above]
    return inside


@njit(cache=True)
def _stacks(starts, parents, row_starts):
    """Return the offsets of fronts on the two stacks, their sizes and the largest front."""
    count = parents.size
    update_starts = np.zeros(count, dtype=np.int64)
    inverse_starts = np.zeros(count, dtype=np.int64)
    low = np.full(count, -1, dtype=np.int64)  # first child: visited last on the way down
    has_child = np.zeros(count, dtype=np.bool_)
    largest = np.int64(0)
    for s in range(count):
        largest = max(largest, starts[s + 1] - starts[s] + row_starts[s + 1] - row_starts[s])
        if parents[s] >= 0:
            has_child[parents[s]] = True
            if low[parents[s]] < 0:
                low[parents[s]] = s
    # Up: the children's squares are on top of the stack; the front's own replaces them.
    top, most = np.int64(0), np.int64(0)
    for s in range(count):
        if low[s] >= 0:
            top = update_starts[low[s]]
        below = row_starts[s + 1] - row_starts[s]
        update_starts[s] = top
        top += below * below
        most = max(most, top)
    # Down: a front replaces its parent's where it is the last to read it.
    deepest = np.int64(0)
    for s in range(count - 1, -1, -1):
        above = parents[s]
        if above >= 0:
            inverse_starts[s] = inverse_starts[above]
            if low[above] != s:
                size = starts[above + 1] - starts[above]
                size += row_starts[above + 1] - row_starts[above]
                inverse_starts[s] += size * size
        size = starts[s + 1] - starts[s] + row_starts[s + 1] - row_starts[s]
        if has_child[s]:
            deepest = max(deepest, inverse_starts[s] + size * size)
    return update_starts, inverse_starts, most, deepest, largest


def analyze(Q: sp.csr_array, order: Ints) -> Supernodes:
    """Return the pattern of the factor of Q[order][:, order], in a postorder of its tree."""
    indptr, indices = permuted_pattern(Q, order)
    parent = elimination_tree(indptr, indices)
    post = postorder(parent)
    if not np.array_equal(post, np.arange(post.size)):
        order = order[post]
        indptr, indices = permuted_pattern(Q, order)
        parent = elimination_tree(indptr, indices)
    starts = _supernode_starts(parent, column_counts(indptr, indices, parent))
    parents, row_starts, rows = _supernode_rows(indptr, indices, parent, starts)
    inside = _places(starts, parents, row_starts, rows)
    widths = np.diff(starts)
    panel_starts = np.concatenate([[0], np.cumsum(widths * (widths + np.diff(row_starts)))])
    updates, inverses, most, deepest, largest = _stacks(starts, parents, row_starts)
    where = np.empty_like(order)
    where[order] = np.arange(order.size)
    return Supernodes(
        order,
        where,
        starts,
        parents,
        row_starts,
        rows,
        inside,
        panel_starts,
        updates,
        inverses,
        (int(most), int(deepest)),
        int(largest),
    )


@njit(cache=True)
def _locate(row, column, where, of, starts, row_starts, rows, panel_starts, out):
    """Write where entry (row, column) of the matrix as given lies in the panels; -1 if nowhere."""
    for t in range(row.size):
        i, j = where[row[t]], where[column[t]]
        if i < j:
            i, j = j, i
        s = of[j]
        begin, end = starts[s], starts[s + 1]
        width = end - begin
        if i < end:
            out[t] = panel_starts[s] + (i - begin) * width + j - begin
            continue
        low, high = row_starts[s], row_starts[s + 1]
        while low < high:
            middle = (low + high) // 2  # bisection among the rows below
            if rows[middle] < i:
                low = middle + 1
            else:
                high = middle
        if low == row_starts[s + 1] or rows[low] != i:
            out[t] = -1
        else:
            out[t] = panel_starts[s] + (width + low - row_starts[s]) * width + j - begin


def locate(pattern: Supernodes, row: Ints, column: Ints) -> Ints:
    """Return the places of entries (row, column) in the flat panels, -1 outside the pattern."""
    of = np.repeat(np.arange(pattern.parents.size), np.diff(pattern.starts))
    out = np.empty(row.size, dtype=np.int64)
    _locate(
        np.asarray(row, dtype=np.int64),
        np.asarray(column, dtype=np.int64),
        pattern.where,
        of,
        pattern.starts,
        pattern.row_starts,
        pattern.rows,
        pattern.panel_starts,
        out,
    )
    return out


@njit(cache=True)
def panel_entries(starts, row_starts, rows, panel_starts):
    """Return row and column of every stored entry on or below the diagonal, and its place."""
    total = 0
    for s in range(starts.size - 1):
        width = starts[s + 1] - starts[s]
        total += width * (width + 1) // 2 + width * (row_starts[s + 1] - row_starts[s])
    row = np.empty(total, dtype=np.int64)
    column = np.empty(total, dtype=np.int64)
    place = np.empty(total, dtype=np.int64)
    t = 0
    for s in range(starts.size - 1):
        width = starts[s + 1] - starts[s]
        below = row_starts[s + 1] - row_starts[s]
        for a in range(width + below):
            i = starts[s] + a if a < width else rows[row_starts[s] + a - width]
            for b in range(min(a + 1, width)):
                row[t] = i
                column[t] = starts[s] + b
                place[t] = panel_starts[s] + a * width + b
                t += 1
    return row, column, place


# --- dense blocks -----------------------------------------------------------------------------


@njit(cache=True)
def _eliminate(front, width, space):
    """Factor the first `width` columns of the lower triangle in place; return the failing one.

    The rest of the lower triangle becomes the Schur complement. -1 says that all went well.
    """
    size = front.shape[0]
    for begin in range(0, width, _BLOCK):
        end = min(begin + _BLOCK, width)
        for j in range(begin, end):
            pivot = front[j, j]
            for t in range(begin, j):
                pivot -= front[j, t] * front[j, t]  # left-looking inside the block
            if not pivot > 0.0:
                return j
            pivot = np.sqrt(pivot)
            front[j, j] = pivot
            for i in range(j + 1, size):
                value = front[i, j]
                for t in range(begin, j):
                    value -= front[i, t] * front[j, t]
                front[i, j] = value / pivot
        # right-looking beyond it: one pass over the rest for all its pivots
        _subtract_square(front, begin, end, space)
    return -1


@njit(cache=True)
def _subtract_square(front, begin, end, space):
    """Subtract L Lᵀ of the columns begin:end from what lies below and to the right of them.

    Four columns at a time, rows of the transpose in the inner loop: that is what vectorises.
    """
    size = front.shape[0]
    rest = size - end
    for i in range(rest):
        for t in range(begin, end):
            space[(t - begin) * rest + i] = front[end + i, t]
    for i in range(rest):
        row = front[end + i]
        for t in range(0, end - begin - 3, 4):
            # four columns at a time: each entry is read once for four products
            a, b, c, d = row[begin + t], row[begin + t + 1], row[begin + t + 2], row[begin + t + 3]
            at = t * rest
            for j in range(i + 1):
                row[end + j] -= (
                    a * space[at + j]
                    + b * space[at + rest + j]
                    + c * space[at + 2 * rest + j]
                    + d * space[at + 3 * rest + j]
                )
        for t in range((end - begin) // 4 * 4, end - begin):
            a = row[begin + t]
            for j in range(i + 1):
                row[end + j] -= a * space[t * rest + j]


@njit(cache=True)
def factor_panels(
    values, starts, parents, row_starts, inside, panel_starts, update_starts, stack, largest
):
    """Turn the panels of a matrix into those of its factor; return the failing column or -1."""
    count = parents.size
    first = np.full(count, -1, dtype=np.int64)
    following = np.full(count, -1, dtype=np.int64)
    for s in range(count - 1, -1, -1):
        if parents[s] >= 0:
            following[s] = first[parents[s]]
            first[parents[s]] = s
    space = np.empty(largest * largest)
    columns = np.empty(largest * _BLOCK)
    for s in range(count):
        width = starts[s + 1] - starts[s]
        below = row_starts[s + 1] - row_starts[s]
        size = width + below
        front = space[: size * size].reshape(size, size)
        panel = values[panel_starts[s] : panel_starts[s + 1]].reshape(size, width)
        for i in range(size):
            for j in range(min(i + 1, width)):
                front[i, j] = panel[i, j]
            for j in range(width, i + 1):
                front[i, j] = 0.0
        child = first[s]
        while child >= 0:
            rows = row_starts[child + 1] - row_starts[child]
            # extend-add: what a child left over
            left = stack[update_starts[child] : update_starts[child] + rows * rows]
            place = inside[row_starts[child] : row_starts[child + 1]]
            for i in range(rows):
                target = front[place[i]]
                for j in range(i + 1):
                    target[place[j]] += left[i * rows + j]
            child = following[child]
        failed = _eliminate(front, width, columns)
        if failed >= 0:
            return starts[s] + failed
        for i in range(size):
            for j in range(min(i + 1, width)):
                panel[i, j] = front[i, j]
        for i in range(below):
            at = update_starts[s] + i * below  # what this front leaves for its parent
            for j in range(i + 1):
                stack[at + j] = front[width + i, width + j]
    return -1


@njit(cache=True)
def _triangle_inverse(panel, inverse):
    """Write the inverse of the lower triangle on top of a panel."""
    width = inverse.shape[0]
    for i in range(width):
        for j in range(width):
            inverse[i, j] = 0.0
        for t in range(i):
            scale = panel[i, t]
            for j in range(t + 1):
                inverse[i, j] -= scale * inverse[t, j]
        for j in range(i):
            inverse[i, j] /= panel[i, i]
        inverse[i, i] = 1.0 / panel[i, i]


@njit(cache=True)
def _below_over_top(panel, triangle, out):
    """Write L_below L_top⁻¹."""
    below, width = out.shape
    for i in range(below):
        for j in range(width):
            out[i, j] = 0.0
        for t in range(width):
            scale = panel[width + i, t]
            for j in range(t + 1):
                out[i, j] += scale * triangle[t, j]


@njit(cache=True)
def _times_minus(corner, ratio, out):
    """Write -corner ratio, four rows of `ratio` at a time."""
    below, width = ratio.shape
    for i in range(below):
        row = corner[i]
        target = out[i]
        for j in range(width):
            target[j] = 0.0
        for t in range(0, below - 3, 4):
            a, b, c, d = row[t], row[t + 1], row[t + 2], row[t + 3]
            for j in range(width):
                target[j] -= (
                    a * ratio[t, j]
                    + b * ratio[t + 1, j]
                    + c * ratio[t + 2, j]
                    + d * ratio[t + 3, j]
                )
        for t in range(below // 4 * 4, below):
            for j in range(width):
                target[j] -= row[t] * ratio[t, j]


@njit(cache=True)
def _top_inverse(triangle, ratio, target):
    """Write L_top⁻ᵀ L_top⁻¹ - ratioᵀ (rows of `target` below) on top of `target`."""
    below, width = ratio.shape
    for i in range(width):
        for j in range(width):
            target[i, j] = 0.0
    for t in range(width):
        for i in range(t + 1):
            scale = triangle[t, i]
            for j in range(i + 1):
                target[i, j] += scale * triangle[t, j]  # L⁻ᵀ L⁻¹
    for t in range(below):
        row = target[width + t]
        for i in range(width):
            scale = row[i]
            for j in range(i + 1):
                target[i, j] -= scale * ratio[t, j]
    for i in range(width):
        for j in range(i):
            target[j, i] = target[i, j]


@njit(cache=True)
def invert_panels(
    values, out, starts, parents, row_starts, inside, panel_starts, inverse_starts, stack, largest
):
    """Write the inverse on the pattern of the factor into panels `out` (Appendix A, in blocks)."""
    count = parents.size
    has_child = np.zeros(count, dtype=np.bool_)
    for s in range(count):
        if parents[s] >= 0:
            has_child[parents[s]] = True
    space = np.empty(largest * largest)
    columns = np.empty(largest * largest)
    below_top = np.empty(largest * largest)
    for s in range(count - 1, -1, -1):
        width = starts[s + 1] - starts[s]
        below = row_starts[s + 1] - row_starts[s]
        size = width + below
        panel = values[panel_starts[s] : panel_starts[s + 1]].reshape(size, width)
        target = out[panel_starts[s] : panel_starts[s + 1]].reshape(size, width)
        corner = space[: below * below].reshape(below, below)  # the inverse at the rows below
        if below > 0:
            above = parents[s]
            rows = starts[above + 1] - starts[above] + row_starts[above + 1] - row_starts[above]
            front = stack[inverse_starts[above] : inverse_starts[above] + rows * rows]
            front = front.reshape(rows, rows)
            place = inside[row_starts[s] : row_starts[s + 1]]
            for i in range(below):
                source = front[place[i]]
                for j in range(below):
                    corner[i, j] = source[place[j]]
        triangle = columns[: width * width].reshape(width, width)
        _triangle_inverse(panel, triangle)
        ratio = below_top[: below * width].reshape(below, width)
        _below_over_top(panel, triangle, ratio)
        _times_minus(corner, ratio, target[width:])  # V_below,top = -V_below,below L_below L_top⁻¹
        _top_inverse(triangle, ratio, target)  # V_top,top = L_top⁻ᵀ L_top⁻¹ - ratioᵀ V_below,top
        if has_child[s]:  # children read their rows below out of this front
            whole = stack[inverse_starts[s] : inverse_starts[s] + size * size].reshape(size, size)
            for i in range(size):
                for j in range(width):
                    whole[i, j] = target[i, j]
                    whole[j, i] = target[i, j]
            for i in range(below):
                for j in range(below):
                    whole[width + i, width + j] = corner[i, j]


# --- triangular solves ------------------------------------------------------------------------


@njit(cache=True)
def forward_solve(values, starts, row_starts, rows, panel_starts, right):
    """Replace each column of `right` (in the order of the factor) by L⁻¹ times it."""
    many = right.shape[1]
    for s in range(starts.size - 1):
        begin = starts[s]
        width = starts[s + 1] - begin
        below = row_starts[s + 1] - row_starts[s]
        panel = values[panel_starts[s] : panel_starts[s + 1]].reshape(width + below, width)
        for i in range(width + below):
            at = begin + i if i < width else rows[row_starts[s] + i - width]
            for j in range(min(i, width)):
                scale = panel[i, j]
                for c in range(many):
                    # L_ij x_j, for rows of the panel and below it
                    right[at, c] -= scale * right[begin + j, c]
            if i < width:
                for c in range(many):
                    right[at, c] /= panel[i, i]


@njit(cache=True)
def backward_solve(values, starts, row_starts, rows, panel_starts, right):
    """Replace each column of `right` by L⁻ᵀ times it."""
    many = right.shape[1]
    for s in range(starts.size - 2, -1, -1):
        begin = starts[s]
        width = starts[s + 1] - begin
        below = row_starts[s + 1] - row_starts[s]
        panel = values[panel_starts[s] : panel_starts[s + 1]].reshape(width + below, width)
        for i in range(width + below - 1, -1, -1):
            at = begin + i if i < width else rows[row_starts[s] + i - width]
            if i < width:
                for c in range(many):
                    right[at, c] /= panel[i, i]
            for j in range(min(i, width)):
                scale = panel[i, j]
                for c in range(many):
                    right[begin + j, c] -= scale * right[at, c]


def new_stack(size: int) -> Floats:
    """Return working space for a stack of fronts, never empty."""
    return np.empty(max(size, 1))


def _warmup() -> None:
    n = 5
    Q = sp.csr_array(sp.diags_array([-np.ones(4), 4 * np.ones(n), -np.ones(4)], offsets=[-1, 0, 1]))
    pattern = analyze(Q, np.arange(n, dtype=np.int64))
    coo = Q.tocoo()
    values = np.zeros(int(pattern.panel_starts[-1]))
    values[locate(pattern, coo.row, coo.col)] = coo.data
    p = pattern
    factor_panels(
        values,
        p.starts,
        p.parents,
        p.row_starts,
        p.inside,
        p.panel_starts,
        p.update_starts,
        new_stack(p.stacks[0]),
        p.largest,
    )
    invert_panels(
        values,
        np.zeros_like(values),
        p.starts,
        p.parents,
        p.row_starts,
        p.inside,
        p.panel_starts,
        p.inverse_starts,
        new_stack(p.stacks[1]),
        p.largest,
    )
    right = np.ones((n, 1))
    forward_solve(values, p.starts, p.row_starts, p.rows, p.panel_starts, right)
    backward_solve(values, p.starts, p.row_starts, p.rows, p.panel_starts, right)
    panel_entries(p.starts, p.row_starts, p.rows, p.panel_starts)
