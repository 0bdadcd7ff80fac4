"""The components of a steered map: each the global minimum of a quadratic on a sphere.

In the coordinates c of the kernel's eigenvectors (`MapBasis`) a component minimises cᵀSc − 2bᵀc on
‖c‖ = R subject to Lᵀc = d, where S is a diagonal plus a few columns of constraints, and minus the
neighbour graph where there are labels:

- variant "variance", Eq. (2.11): c = Vᵀz, S = P⁻¹ + VᵀEV;
- variant "norm", Eq. (2.10): c = VᵀK^(1/2)α, S = −P/n + P^(1/2)VᵀEVP^(1/2).

P⁻¹ spans ten orders of magnitude, of which the small end matters. So not S is decomposed but
B = (S − s)⁻¹ with s below all eigenvalues of S: by Woodbury's formula every constraint takes a
rank-one piece from B, a hard one the piece of infinite weight, and the large eigenvalues of B are
the accurate ones. The secular equation is solved with the tridiagonal form of B.

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis),
Sections 2.3 to 2.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, qr, solve, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

from octavo.engine.estimators.arrays import Floats
from octavo.engine.linalg.sphere_quadratic import (
    SecularRoot,
    TridiagonalForm,
    iterative_root,
    secular_root,
    tridiagonal_form,
    tridiagonal_root,
)
from octavo.kernel.steered.basis import MapBasis, signs_of
from octavo.kernel.steered.constraints import MapConstraints


class Steering(NamedTuple):
    """The parameters of `KnowledgeKernelPCA` that the components depend on."""

    n_components: int = 2
    variant: str = "variance"
    lambda_place: float = 1.0
    lambda_link: float = 1.0
    lambda_label: float = 1.0
    lambda_orth: float = 1e3
    orthogonality: str = "hard"
    radius: Any = "auto"
    anchor: float = 0.0
    average: bool = True
    n_neighbors: int = 10
    solver: str = "secular"


class SteeredMap(NamedTuple):
    """A solved map: the `embedding` (n, r), its coordinates z̄ = Vᵀz (l, r), and a number a
    component: Lagrange `multipliers` µ, `radii` R, relative `kkt_residuals`, whether the sign
    was free (`hard_case`), secular steps (`n_iter`).
    """

    embedding: Floats
    coordinates: Floats
    multipliers: Floats
    radii: Floats
    kkt_residuals: Floats
    hard_case: NDArray[np.bool_]
    n_iter: NDArray[np.intp]


class Piece(NamedTuple):
    """What one kind of constraint adds: see `Terms`. `rows` are rows of V, not yet stretched."""

    rows: Floats
    weights: Floats
    targets: Floats
    b: Floats
    floor: float
    key: Any
    graph: float = 0.0


class Terms(NamedTuple):
    """What the constraints add for one component.

    S gets W·diag(weights)·Wᵀ − graph·M with M the neighbour graph in coordinates; the linear
    term is W·(weights·targets) + b; `L`, `d` are the hard placements; `floor` bounds the
    eigenvalues of the addition from below (in z̄); `key` tells two additions to S apart.
    """

    W: Floats
    weights: Floats
    targets: Floats
    graph: float
    b: Floats
    L: Floats
    d: Floats
    floor: float
    key: Any


@dataclass
class _Factored:
    """B of one addition to S, and its tridiagonal form once it was needed.

    `lift` is BW·diag(weights), formed without B: a strong constraint's column is nearly all
    gone from B, and what is left of it is what counts.
    """

    B: Floats
    lift: Floats
    shift: float
    form: Any = None


class SteeringSystem:
    """Solves for maps of one basis again and again, keeping what does not change.

    Parameters
    ----------
    basis : MapBasis
        The kernel's eigenvectors.
    """

    def __init__(self, basis: MapBasis) -> None:
        self.basis = basis
        self._signs = signs_of(basis.V)
        self._graphs: dict[Any, Floats] = {}
        self._bases: dict[Any, Floats] = {}
        self._factored: dict[Any, _Factored] = {}

    def fork(self) -> SteeringSystem:
        """Return another solver that shares what depends on the basis alone."""
        other = SteeringSystem(self.basis)
        other._graphs, other._bases = self._graphs, dict(self._bases)
        return other

    def solve(self, constraints: MapConstraints, steering: Steering) -> SteeredMap:
        """Return the map that these constraints define."""
        rank = len(self.basis.p)
        if steering.n_components > rank:
            raise ValueError(
                f"n_components={steering.n_components} is more than the rank of the centred "
                f"kernel, which is {rank}."
            )
        radii = radii_of(steering, self.basis.p)
        found: list[Floats] = []
        rows = []
        for s in range(steering.n_components):
            terms = self.terms(s, constraints, steering)
            c, *row = self._component(s, terms, steering, float(radii[s]), found)
            found.append(c)
            rows.append(row)
        z = np.column_stack(found) * self._stretch(steering.variant)[:, None]
        multipliers, residuals, hard, n_iter = (np.array(column) for column in zip(*rows))
        return SteeredMap(self.basis.V @ z, z, multipliers, radii, residuals, hard, n_iter)

    # --- what the constraints add ----------------------------------------------------------------

    def _stretch(self, variant: str) -> Floats:
        """Return w with z̄ = w·c."""
        p = self.basis.p
        return np.ones_like(p) if variant == "variance" else np.sqrt(p)

    def pieces(self, s: int, constraints: MapConstraints, steering: Steering) -> list[Piece]:
        """Return what placements, links and labels add for component s, one by one."""
        return [
            self._place(s, constraints, steering),
            self._link(s, constraints, steering),
            self._label(s, constraints, steering),
        ]

    def terms(self, s: int, constraints: MapConstraints, steering: Steering) -> Terms:
        """Return what the constraints add to S and b for component s."""
        pieces = self.pieces(s, constraints, steering)
        stretch = self._stretch(steering.variant)
        hard = {
            i: placement.at[s]
            for i, placement in sorted(constraints.placements.items())
            if placement.hard and not np.isnan(placement.at[s])
        }
        b = stretch * sum(piece.b for piece in pieces)
        if steering.anchor:
            # A pull of every point to its place in the plain map, of weight anchor / n.
            pull = self._signs[s] * np.sqrt(self.basis.p[s]) / self.basis.n
            b[s] += steering.anchor * pull * stretch[s]
        return Terms(
            W=(np.concatenate([piece.rows for piece in pieces]) * stretch).T,
            weights=np.concatenate([piece.weights for piece in pieces]),
            targets=np.concatenate([piece.targets for piece in pieces]),
            graph=pieces[2].graph,
            b=b,
            L=(self.basis.V[list(hard)] * stretch).T,
            d=np.array(list(hard.values())),
            floor=sum(piece.floor for piece in pieces),
            key=tuple(piece.key for piece in pieces),
        )

    def _place(self, s: int, constraints: MapConstraints, steering: Steering) -> Piece:
        soft = [
            (i, p.weight, p.at[s])
            for i, p in sorted(constraints.placements.items())
            if not p.hard and not np.isnan(p.at[s])
        ]
        # λ₁/|A| of Eq. (2.12)
        strength = steering.lambda_place / (max(len(soft), 1) if steering.average else 1)
        soft = [(i, strength * w, y) for i, w, y in soft if strength * w > 0.0]
        points = [i for i, _, _ in soft]
        weights = np.array([w for _, w, _ in soft])
        targets = np.array([y for _, _, y in soft])
        rows = self.basis.V[points]  # eᵢ of A = Σ wᵢ eᵢeᵢᵀ
        key = tuple(points), tuple(weights)
        return Piece(rows, weights, targets, np.zeros(rows.shape[1]), 0.0, key)

    def _link(self, s: int, constraints: MapConstraints, steering: Steering) -> Piece:
        links = [
            (link.first, link.second, sign)
            for link, sign in sorted(constraints.links.items(), key=str)
            if link.component in (None, s)
        ]
        strength = steering.lambda_link / (max(len(links), 1) if steering.average else 1)  # λ₂/|B|
        links = links if strength > 0.0 else []
        V = self.basis.V
        # eᵢ - eⱼ of B = Σ ±(eᵢ - eⱼ)(eᵢ - eⱼ)ᵀ
        rows = V[[i for i, _, _ in links]] - V[[j for _, j, _ in links]]
        weights = np.array([strength * sign for _, _, sign in links])
        apart: dict[int, float] = {}
        for i, j, sign in links:
            for point in (i, j):
                apart[point] = apart.get(point, 0.0) + strength * max(-sign, 0)
        # Gershgorin on the Laplacian of the cannot-links.
        floor = -2.0 * max(apart.values(), default=0.0)
        nothing = np.zeros(len(links)), np.zeros(V.shape[1])
        return Piece(rows, weights, *nothing, floor, (tuple(links), strength))

    def _label(self, s: int, constraints: MapConstraints, steering: Steering) -> Piece:
        V, n = self.basis.V, self.basis.n
        labels = {i: v[s] for i, v in sorted(constraints.labels.items()) if v[s]}
        if not labels or steering.lambda_label == 0.0:
            return Piece(V[:0], np.zeros(0), np.zeros(0), np.zeros(V.shape[1]), 0.0, ())
        points, y = list(labels), np.array(list(labels.values()))
        G = self.basis.neighbour_graph(steering.n_neighbors)
        quadratic, linear = label_strengths(steering, n, len(points))
        near = G[points] @ V
        # −κ·½(C⊥G + GC⊥) = −κG + ½κ(CG + GC); the second part is columns eᵢ ± gᵢ.
        rows = np.concatenate([V[points] + near, V[points] - near])
        weights = np.repeat([quadratic / 4.0, -quadratic / 4.0], len(points))
        floor = -quadratic * float(G.sum(axis=1).max())  # Gershgorin on the graph
        key = tuple(points), quadratic, steering.n_neighbors
        b = 0.5 * linear * (y @ near)  # (λ₃/2|C|) GCy: it pulls the neighbours; the text has CGy
        return Piece(rows, weights, np.zeros(len(rows)), b, floor, key, quadratic)

    def graph_matrix(self, n_neighbors: int, variant: str) -> Floats:
        """Return the neighbour graph in coordinates, wVᵀGVw."""
        key = n_neighbors, variant
        if key not in self._graphs:
            V = self.basis.V * self._stretch(variant)
            self._graphs[key] = V.T @ (self.basis.neighbour_graph(n_neighbors) @ V)
        return self._graphs[key]

    # --- one component ---------------------------------------------------------------------------

    def diagonal(self, variant: str) -> Floats:
        """Return the diagonal of S without constraints."""
        p = self.basis.p
        # K⁻¹ of Eq. (2.12), or Eq. (2.10) negated
        return 1.0 / p if variant == "variance" else -p / self.basis.n

    def _shift(self, variant: str, floor: float) -> float:
        """Return an s below every eigenvalue of S."""
        top = float(self.basis.p[0])
        return floor if variant == "variance" else top * (floor - 2.0 / self.basis.n)

    def _base(self, graph: float, shift: float, steering: Steering) -> Floats:
        """Return (D − graph·M − s)⁻¹: a vector where it is diagonal."""
        delta = 1.0 / (self.diagonal(steering.variant) - shift)  # (D - s)⁻¹
        if graph == 0.0:
            return delta
        key = graph, shift, steering.variant, steering.n_neighbors
        if key not in self._bases:
            root = np.sqrt(delta)
            M = self.graph_matrix(steering.n_neighbors, steering.variant)
            # Woodbury's formula on the graph alone
            inner = np.eye(len(root)) - graph * root[:, None] * M * root
            inverse = cho_solve(cho_factor(inner), np.eye(len(root)))
            self._bases = {key: root[:, None] * inverse * root}
        return self._bases[key]

    def _factor(self, terms: Terms, steering: Steering) -> _Factored:
        """Return B = (S − s)⁻¹ with the soft constraints in it."""
        key = terms.key, steering.variant
        if key not in self._factored:
            shift = self._shift(steering.variant, terms.floor)
            base = self._base(terms.graph, shift, steering)
            root = np.sqrt(np.abs(terms.weights))
            B, lift = taken_away(base, terms.W * root, np.sign(terms.weights))
            if len(self._factored) > 3:
                self._factored.pop(next(iter(self._factored)))
            self._factored[key] = _Factored(B, lift * root, shift)
        return self._factored[key]

    def _component(
        self, s: int, terms: Terms, steering: Steering, radius: float, found: list[Floats]
    ) -> tuple[Floats, float, float, bool, int]:
        factored = self._factor(terms, steering)
        B = factored.B
        # ⟨f, f_s'⟩ = zᵀα_s' with α = K⁻¹z; of γ = K^½α it is γᵀγ_s'.
        metric = 1.0 / self.basis.p if steering.variant == "variance" else np.ones(len(B))
        before = np.column_stack(found) * metric[:, None] if found else np.zeros((len(B), 0))
        extra, L, d = np.zeros((len(B), 0)), terms.L, terms.d
        q = factored.lift @ terms.targets + apply(B, terms.b)
        if found and steering.orthogonality == "soft" and steering.lambda_orth > 0.0:
            extra = np.sqrt(steering.lambda_orth) * before  # λ₀ Σ ⟨f, f_s'⟩² of Eq. (2.11)
            B, lift = taken_away(B, extra, np.ones(len(found)))
            q = q - lift @ (extra.T @ q)
        elif found and steering.orthogonality == "hard":
            L, d = np.column_stack([L, before]), np.append(d, np.zeros(len(found)))  # Eq. (2.13)
        L, d = independent_constraints(L, d)
        form, q, start, room = held_fast(B, q, L, d, radius)  # Section 2.4.1
        c, nu, hard, n_iter = self._on_sphere(s, form, q, room, steering, factored)
        c = start + c  # c₀ of Section 2.4.1 and what is orthogonal to it
        mu = factored.shift + nu  # µ of S from ν of S - s
        residual = self._residual(c, start, mu, extra, terms, L, steering, radius)
        return c, mu, residual, hard, n_iter

    def _on_sphere(
        self, s: int, B: Any, q: Floats, radius: float, steering: Steering, factored: _Factored
    ) -> tuple[Floats, float, bool, int]:
        """Solve (I − νB)c = q with ‖c‖ = R for the smallest multiplier."""
        if radius == 0.0:
            return np.zeros(len(q)), np.nan, False, 0
        if isinstance(B, _Split) or (B.ndim == 1 and steering.solver != "cg"):
            root, free = _split_root(B if isinstance(B, _Split) else _Split(B), q, radius)
        elif steering.solver == "cg":
            root, free = _iterate(B, q, radius)
        else:
            form = factored.form if B is factored.B else None
            if form is None:
                form = tridiagonal_form(B) or tuple(np.linalg.eigh(B))
                factored.form = form if B is factored.B else factored.form
            root, free = _direct(form, q, radius)
        c = root.coordinates
        if root.hard_case and self._is_mirrored(s, c, free, steering):
            c = c - 2.0 * float(free @ c) * free
        return c, root.pole - root.gap, root.hard_case, root.n_iter

    def _is_mirrored(self, s: int, c: Floats, free: Floats, steering: Steering) -> bool:
        """Whether the other of the two minimisers looks more like the plain component s."""
        part = float(free @ c) * free
        if abs(free[s]) > 1e-6:
            return bool(part[s] * self._signs[s] < 0.0)
        z = self.basis.V @ (self._stretch(steering.variant) * c)
        return bool(z[np.argmax(np.abs(z))] < 0.0)

    def _residual(
        self,
        c: Floats,
        start: Floats,
        mu: float,
        extra: Floats,
        terms: Terms,
        L: Floats,
        steering: Steering,
        radius: float,
    ) -> float:
        """Return ‖Δ(Sc − µ(c − c₀) − b)‖/R within the constraints, Δ the base of B."""
        if np.isnan(mu):
            return 0.0
        diagonal = self.diagonal(steering.variant)
        r = diagonal * c - mu * (c - start) - terms.b + extra @ (extra.T @ c)  # Eq. (2.16)
        r += terms.W @ (terms.weights * (terms.W.T @ c - terms.targets))
        if terms.graph:
            r -= terms.graph * (self.graph_matrix(steering.n_neighbors, steering.variant) @ c)
        delta = 1.0 / (diagonal - self._shift(steering.variant, terms.floor))
        r *= delta
        if L.shape[1]:
            # What the hard constraints hold: multiples of ΔL.
            Q = np.linalg.qr(delta[:, None] * L)[0]
            r -= Q @ (Q.T @ r)
        return float(np.linalg.norm(r)) / radius


# --- algebra --------------------------------------------------------------------------------------


def apply(B: Floats, x: Floats) -> Floats:
    """Return Bx for a matrix, or for the vector of a diagonal."""
    if B.ndim == 2:
        return B @ x
    return B * x if x.ndim == 1 else B[:, None] * x


def taken_away(B: Floats, W: Floats, J: Floats) -> tuple[Floats, Floats]:
    """Return B' = (B⁻¹ + WJWᵀ)⁻¹ for J = ±1 by Woodbury's formula, and B'WJ."""
    if W.shape[1] == 0:
        return B, W
    BW = apply(B, W)
    inner = W.T @ BW
    inner[np.diag_indices_from(inner)] += J  # B' = B - BW(J + WᵀBW)⁻¹WᵀB, since J⁻¹ = J
    lift = solve(inner, BW.T, assume_a="sym").T
    return _less(B, BW @ lift.T), lift


def _less(B: Floats, piece: Floats) -> Floats:
    """Return B − piece, symmetric."""
    return (np.diag(B) if B.ndim == 1 else B) - (piece + piece.T) / 2.0


def independent_constraints(L: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Drop columns of L that others imply; refuse those that contradict others."""
    if L.shape[1] == 0:
        return L, d
    norms = np.linalg.norm(L, axis=0)
    scale = np.where(norms > 0.0, norms, 1.0)
    L, d = L / scale, d / scale
    _, R, order = qr(L, mode="economic", pivoting=True)
    pivots = np.abs(np.diagonal(R))
    rank = int(np.sum(pivots > 1e-9 * pivots[0])) if norms.any() else 0
    kept, implied = order[:rank], order[rank:]
    share = (
        solve_triangular(R[:rank, :rank], R[:rank, rank:]) if rank else np.zeros((0, len(implied)))
    )
    wrong = d[implied] - share.T @ d[kept]
    if np.abs(wrong).max(initial=0.0) > 1e-8 * max(1.0, float(np.abs(d).max())):
        raise ValueError(
            "Contradictory placements: hard placements of points that the kernel cannot tell "
            f"apart differ by {np.abs(wrong).max():.3g}. Duplicated rows must share their place; "
            "or make the placements soft."
        )
    kept = np.sort(kept)
    return L[:, kept], d[kept]


def held_fast(
    B: Floats, q: Floats, L: Floats, d: Floats, radius: float
) -> tuple[Any, Floats, Floats, float]:
    """Return (B̂, q̂, c₀, R̂) of `with_hard_constraints`; B̂ is a `_Split` where that is enough."""
    start = np.zeros(len(B))
    if L.shape[1] == 0:
        return B, q, start, radius
    form: Any
    # Where nothing was said of a component, all but a few coordinates stay diagonal.
    touched = np.flatnonzero(L.any(axis=1)) if B.ndim == 1 else np.arange(len(B))
    if len(touched) < len(B) / 4:
        q = q.copy()
        part, q[touched], start[touched], room = with_hard_constraints(
            B[touched], q[touched], L[touched], d, radius
        )
        form = _Split(B, touched, part)
    else:
        form, q, start, room = with_hard_constraints(B, q, L, d, radius)
    if L.shape[1] < len(start):
        return form, q, start, room
    if room > 1e-6 * radius:
        raise ValueError(
            "The hard constraints leave nothing of a component free, and make its length "
            f"{np.linalg.norm(start):.6g} where the radius is {radius:.6g}. Make some placements "
            "soft."
        )
    return form, q, start, 0.0


def with_hard_constraints(
    B: Floats, q: Floats, L: Floats, d: Floats, radius: float
) -> tuple[Floats, Floats, Floats, float]:
    """Return (B̂, q̂, c₀, R̂): the problem within Lᵀc = d (Section 2.4.1, in terms of B = S⁻¹).

    B̂ = B − BL(LᵀBL)⁻¹LᵀB, as if the constraints had infinite weight. c₀ is the shortest c with
    Lᵀc = d. (S − s)c₀ is never formed: with c' = BL(LᵀBL)⁻¹d, which satisfies the constraints
    too, q̂ = B̂(b − (S − s)c₀) = B̂b + c' − c₀.
    """
    start = L @ np.linalg.solve(L.T @ L, d)  # Qζ* of the text
    least = float(np.linalg.norm(start))
    if least > radius * (1.0 + 1e-10):
        raise ValueError(
            f"The hard placements need a radius of at least {least:.6g}, and the radius is "
            f"{radius:.6g}. Ask for a larger radius, place nearer to the origin, or make some "
            "placements soft."
        )
    BL = apply(B, L)
    lift = solve(L.T @ BL, BL.T, assume_a="sym").T
    q = q + lift @ (d - L.T @ q) - start
    return _less(B, BL @ lift.T), q, start, float(np.sqrt(max(radius**2 - least**2, 0.0)))


def label_strengths(steering: Steering, n: int, n_labelled: int) -> tuple[float, float]:
    """Return the weights of the quadratic and the linear part of the label term."""
    if not steering.average:
        return steering.lambda_label / n, steering.lambda_label
    unlabelled = n - n_labelled
    quadratic = steering.lambda_label / unlabelled if unlabelled else 0.0
    return quadratic, steering.lambda_label / n_labelled


def radii_of(steering: Steering, p: Floats) -> Floats:
    """Return R of every component; "auto" gives the plain components when nothing is said."""
    r = steering.n_components
    if isinstance(steering.radius, str):
        # as kernel PCA has it
        return np.sqrt(p[:r]) if steering.variant == "variance" else np.ones(r)
    radii = np.asarray(steering.radius, dtype=np.float64)
    radii = np.full(r, float(radii)) if radii.ndim == 0 else radii
    if radii.shape != (r,) or not np.all(radii > 0.0) or not np.isfinite(radii).all():
        raise ValueError(
            f"radius must be 'auto', a positive number or one a component ({r}), "
            f"got {steering.radius!r}."
        )
    return radii


@dataclass
class _Split:
    """A diagonal B in which some coordinates, `touched`, have the matrix `part` instead."""

    diagonal: Floats
    touched: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    part: Floats = field(default_factory=lambda: np.zeros((0, 0)))


def _split_root(B: _Split, q: Floats, radius: float) -> tuple[SecularRoot, Floats]:
    """Solve the secular equation where nearly all of the matrix is diagonal."""
    inner, U = np.linalg.eigh(B.part)
    values, n = B.diagonal.copy(), q.copy()
    values[B.touched], n[B.touched] = np.maximum(inner, 0.0), U.T @ q[B.touched]
    root = secular_root(n, np.ones(len(values)), values, radius)  # Eq. (2.23)
    c, free = root.coordinates.copy(), np.eye(1, len(values), root.free)[0]
    for x in (c, free):
        x[B.touched] = U @ x[B.touched]
    return root._replace(coordinates=c), free


def _direct(form: Any, q: Floats, radius: float) -> tuple[SecularRoot, Floats]:
    """Solve the secular equation with a tridiagonal form, or with eigenvalues and vectors."""
    if isinstance(form, TridiagonalForm):
        return tridiagonal_root(form, q, radius)
    values, U = form
    # Eq. (2.23)
    root = secular_root(U.T @ q, np.ones(len(values)), np.maximum(values, 0.0), radius)
    return root._replace(coordinates=U @ root.coordinates), U[:, root.free]


def _iterate(B: Floats, q: Floats, radius: float) -> tuple[SecularRoot, Floats]:
    """Solve the same equation with Lanczos and conjugate gradients alone."""
    size = len(B)

    def matvec(x: Floats) -> Floats:
        return apply(B, x)

    if size < 6:
        values, U = np.linalg.eigh(np.diag(B) if B.ndim == 1 else B)
    else:
        operator = LinearOperator((size, size), matvec=matvec, dtype=np.float64)
        v0 = np.random.default_rng(0).standard_normal(size)
        values, U = eigsh(operator, k=4, which="LA", v0=v0, tol=1e-14)
    order = np.argsort(values)[::-1]
    values, U = values[order], U[:, order]
    first = U[:, values[0] - values <= 1e-9 * values[0]]
    # Section 2.5.1
    root = iterative_root(lambda x: x, matvec, q, radius, 1.0 / float(values[0]), first, 1e-12)
    return root, first[:, 0]
