"""Few dimensions: the semidefinite program as a linear one over directions that come in by price.

A positive semidefinite matrix is a sum of w vvᵀ over unit vectors v. With some directions given,
the weights are a linear program; its multipliers price all other directions through the
eigenvectors of Aᵀη below -1, which join. In few dimensions this ends at a certified optimum where a
splitting method would crawl; in many it needs too many directions.

Reference: the program is Algorithm 4 of McFee and Lanckriet (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

from octavo.engine.estimators.arrays import Floats
from octavo.metric.partial_order.landmark_weights import restricted_program
from octavo.metric.partial_order.programs import DiagonalProgram, FullProgram, Solution
from octavo.metric.partial_order.splitting import solve_admm

FEW = 12  # largest rank of a view for which directions are priced
ROUNDS = 200
FIRST = 200  # steps of splitting that give the first directions


class Atoms:
    """Directions, each of one view."""

    def __init__(self, program: FullProgram) -> None:
        self.program = program
        self.places: list[int] = []
        self.vectors: list[Floats] = []

    def take(self, matrices: list[Floats], *, above: float) -> int:
        """Add eigenvectors of each view's matrix with eigenvalues above a bound; count them."""
        before = len(self.places)
        for place, M in enumerate(matrices):
            values, vectors = eigh(0.5 * (M + M.T)) if len(M) else (np.zeros(0), M)
            for value, vector in zip(values, vectors.T, strict=True):
                if value > above:
                    self.places.append(place)
                    self.vectors.append(vector)
        return len(self.places) - before

    def keep(self, kept: Any) -> None:
        """Drop directions."""
        self.places = [p for p, k in zip(self.places, kept, strict=True) if k]
        self.vectors = [v for v, k in zip(self.vectors, kept, strict=True) if k]

    def table(self) -> Floats:
        """Return the items along every direction."""
        pairs = zip(self.places, self.vectors, strict=True)
        return np.column_stack([self.program.factors[p] @ v for p, v in pairs])

    def matrix(self, weights: Floats) -> Floats:
        """Return Σ w vvᵀ as a flat variable."""
        W = np.zeros(self.program.size)
        split = self.program.split(W)
        for p, v, w in zip(self.places, self.vectors, weights, strict=True):
            split[p] += w * np.outer(v, v)
        return W


def solve_atoms(
    program: FullProgram,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[], Any] = lambda: None,
) -> Solution:
    """Solve a full program; views of few dimensions by pricing directions after some splitting.

    Parameters
    ----------
    program : FullProgram
        The program.
    tol : float
        Relative gap.
    max_iter : int
        Most steps of both kinds together.
    on_step : callable
        Called once a step.

    Returns
    -------
    Solution
        The best feasible point seen, and the best bound.
    """
    if max(program.ranks, default=0) > FEW:
        return solve_admm(program, tol=tol, max_iter=max_iter, on_step=on_step)
    found = solve_admm(program, tol=tol, max_iter=min(FIRST, max_iter), on_step=on_step)
    left = min(max_iter - found.n_iter, ROUNDS)
    if found.converged or left < 1:
        return found
    W, best, eta = found.weights, found.objective, found.multipliers
    bound, k = best - found.duality_gap, 0
    atoms, priced = Atoms(program), eta
    atoms.take(program.split(W), above=0.0)
    for round_ in range(1, left + 1):
        k = round_
        # Directions whose dual constraint is broken
        joined = atoms.take(program.split(-program.adjoint(priced)), above=1.0 + 1e-9)
        if not atoms.places or (round_ > 1 and not joined):
            break
        columns = DiagonalProgram(atoms.table(), program.compared, program.beta)
        weights, priced = restricted_program(  # the program over w alone is linear
            columns.columns(np.arange(columns.size)), program.slope
        )
        trial, value = program.stretched(atoms.matrix(weights))
        on_step()
        if value < best * (1.0 - 1e-12):
            atoms.keep(weights > 0.0)
        if value < best:
            W, best = trial, value
        scaled, low = program.bound(priced)
        if low > bound:
            eta, bound = scaled, low
        if best - bound <= tol * best:
            break
    n_iter = found.n_iter + k
    if best - bound > tol * best and n_iter < max_iter:  # too many directions after all
        last = solve_admm(
            program, tol=tol, max_iter=max_iter - n_iter, start=(W, eta), on_step=on_step
        )
        n_iter += last.n_iter
        bound = max(bound, last.objective - last.duality_gap)
        if last.objective < best:
            W, best = last.weights, last.objective
    gap = best - bound
    return Solution(W, best, gap, eta, n_iter, bool(gap <= tol * best))
