"""Tables of finite concept classes: a row a concept, a column an instance."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Named = tuple[Bools, list[str], list[str]]  # the table, names of instances, names of concepts

MOST_CELLS = 50_000_000  # a table beyond that is no finite class to enumerate


def room_for(n_concepts: float, n_instances: float, what: str) -> None:
    """Refuse a table that memory does not hold."""
    if n_concepts * n_instances > MOST_CELLS:
        raise ValueError(
            f"{what} has {n_concepts:.3g} concepts over {n_instances:.3g} instances; at most "
            f"{MOST_CELLS:,} cells are tabulated."
        )


def assignments(m: int) -> Bools:
    """Return all truth assignments to m variables, in the order of binary numbers."""
    return (np.arange(2**m)[:, None] >> np.arange(m)[::-1] & 1).astype(bool)


def _bits(table: Bools) -> list[str]:
    return ["".join("1" if bit else "0" for bit in row) for row in table]


def monomial_table(m: int) -> Named:
    """Return conjunctions of literals by their number, the contradictory one last (Def. 7)."""
    room_for(3.0**m + 1, 2.0**m, f"The class of monomials over {m} variables")
    points = assignments(m)
    rows, names = [], []
    for size in range(m + 1):  # Σ C(m, k) 2^k = 3^m conjunctions without contradiction
        for variables in combinations(range(m), size):
            for signs in product((True, False), repeat=size):
                rows.append((points[:, variables] == np.array(signs, bool)).all(axis=1))
                literals = [
                    f"{'' if sign else 'not '}v{v + 1}"
                    for v, sign in zip(variables, signs, strict=True)
                ]
                names.append(" and ".join(literals) or "true")
    rows.append(np.zeros(2**m, bool))
    return np.array(rows), _bits(points), [*names, "false"]


def vdnf_table(m: int) -> Named:
    """Return v1 or M for all M of the other variables, and v1 itself last (Section 5.3)."""
    room_for(2.0 ** (m - 1) + 1, 2.0**m, f"The class of v1 or M over {m} variables")
    points = assignments(m)
    rows, names = [], []
    for signs in product((True, False), repeat=m - 1):
        # v1 or M, Section 5.3
        rows.append(points[:, 0] | (points[:, 1:] == np.array(signs, bool)).all(axis=1))
        literals = [f"{'' if sign else 'not '}v{v}" for v, sign in enumerate(signs, 2)]
        names.append(f"v1 or ({' and '.join(literals)})")
    return np.array([*rows, points[:, 0]]), _bits(points), [*names, "v1"]


def _named_by_members(table: Bools) -> Named:
    instances = [f"x{j + 1}" for j in range(table.shape[1])]
    concepts = ["{" + ", ".join(f"x{j + 1}" for j in np.flatnonzero(row)) + "}" for row in table]
    return table, instances, concepts


def threshold_table(n: int) -> Named:
    """Return {x_i, ..., x_n} for all i, down to the empty concept (Table 1)."""
    room_for(n + 1.0, n, "The class of thresholds")
    return _named_by_members(np.arange(n) >= np.arange(n + 1)[:, None])


def singleton_table(n: int, empty: bool) -> Named:
    """Return the singletons, after the empty concept where it is wanted."""
    room_for(n + 1.0, n, "The class of singletons")
    return _named_by_members(np.vstack([np.zeros((int(empty), n), bool), np.eye(n, dtype=bool)]))


def pair_table(u: int) -> Named:
    """Return c_{s,0} and c_{s,1} for all signs s (proof of Theorem 18.1)."""
    room_for(2.0 ** (u + 1), 2.0**u + u, f"The class of pairs with u={u}")
    signs = np.repeat(assignments(u), 2, axis=0)  # c_{s,0} and c_{s,1} agree on the u signs
    own = np.repeat(np.eye(2**u, dtype=bool), 2, axis=0)
    own[::2] = False  # and c_{s,1} alone has the instance of s
    return _named_by_members(np.hstack([signs, own]))


def half_table(u: int, empty: bool) -> Named:
    """Return all concepts of one or two instances out of u + 1 (proof of Theorem 18.2)."""
    n = u + 1
    room_for(n * (n + 1) / 2 + 1, n, f"The class of one or two instances with u={u}")
    rows = [np.zeros(n, bool)] if empty else []
    for size in (1, 2):
        for members in combinations(range(n), size):
            row = np.zeros(n, bool)
            row[list(members)] = True
            rows.append(row)
    return _named_by_members(np.array(rows))


def interval_table(n: int, empty: bool) -> Named:
    """Return all runs of neighbouring instances on a line."""
    room_for(n * (n + 1) / 2 + 1, n, "The class of intervals")
    place = np.arange(n)
    runs = [(place >= low) & (place <= high) for low in range(n) for high in range(low, n)]
    return _named_by_members(np.array([np.zeros(n, bool)] * empty + runs))


def rectangle_table(height: int, width: int, empty: bool) -> Named:
    """Return all rectangles, parallel to the axes, of cells of a grid."""
    sides = (height * (height + 1) / 2, width * (width + 1) / 2)
    room_for(sides[0] * sides[1] + 1, float(height) * width, "The class of rectangles")
    tall, wide = (interval_table(side, False)[0] for side in (height, width))
    # a rectangle is an interval of rows times one of columns
    cells = (tall[:, None, :, None] & wide[None, :, None, :]).reshape(-1, height * width)
    ends = [
        [(int(np.flatnonzero(row)[0]), int(np.flatnonzero(row)[-1])) for row in side]
        for side in (tall, wide)
    ]
    names = [f"rows {a}-{b}, columns {c}-{d}" for a, b in ends[0] for c, d in ends[1]]
    instances = [f"({i}, {j})" for i in range(height) for j in range(width)]
    table = np.vstack([np.zeros((int(empty), height * width), bool), cells])
    return table, instances, ["empty"] * empty + names


def stump_table(X: NDArray[np.float64]) -> Named:
    """Return the distinct labelings of rows of X by one feature against one threshold."""
    seen: dict[bytes, str] = {}
    rows: list[Bools] = []
    names: set[str] = set()
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature])
        for low, high in pairwise(values):
            above = X[:, feature] > low
            cut = float(low / 2.0 + high / 2.0)
            for row, sign in ((above, ">"), (~above, "<=")):
                if row.tobytes() not in seen:
                    name = f"x{feature} {sign} {cut:.6g}"
                    close = name in names  # thresholds that six digits do not tell apart
                    names.add(name)
                    seen[row.tobytes()] = f"x{feature} {sign} {cut!r}" if close else name
                    rows.append(row)
    if not rows:
        raise ValueError("X has no feature with two distinct values, so there is no stump.")
    return np.array(rows), [f"row {i}" for i in range(len(X))], list(seen.values())
