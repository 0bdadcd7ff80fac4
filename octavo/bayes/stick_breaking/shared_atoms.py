"""The climb of several data sets that share a library of atoms (Section 3, Appendix A).

Each data set m has sticks of its own; stick k uses atom l with probability u_mkl. Atoms have
stick-breaking weights β with a Gamma prior on their concentration.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax, xlogy

from octavo.bayes.stick_breaking.allocation import sticks_of
from octavo.bayes.stick_breaking.climbing import Mixture, Params
from octavo.bayes.stick_breaking.gating import GateFitter
from octavo.bayes.stick_breaking.observations import Observations
from octavo.engine.conjugate.sticks import Sticks, new_sticks
from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.em import Climb, climb

CONCENTRATION = (1e-2, 1e-2)  # shape and rate of the concentration; the paper does not say
SMALL = 0.5  # rows below which an atom is empty
TRIES = 6
TRIAL_STEPS = 3
GAIN = 0.1  # nats that a merge must win


class Shared(NamedTuple):
    """q of the library: atoms, their sticks, u (M, K, L); and gates of each data set."""

    atoms: Any
    sticks: Sticks
    usage: Floats
    tasks: tuple[Params, ...]


class SharedMixture:
    """`expect` and `maximize` of all data sets together.

    Parameters
    ----------
    tables : list
        All rows, as the conjugate blocks read them.
    starts : ndarray of shape (M + 1,)
        Where each data set begins.
    observations : Observations
        Atoms' priors.
    fitters : list of GateFitter
        Gates' updates of each data set.
    n_components, n_atoms : int
        K and L.
    allocation : {"categorical", "bernoulli"}
        Which bound.
    """

    def __init__(
        self,
        tables: list[Any],
        starts: Any,
        observations: Observations,
        fitters: list[GateFitter],
        n_components: int,
        n_atoms: int,
        allocation: str,
    ) -> None:
        self.tables, self.starts, self.observations = tables, starts, observations
        self.n_atoms = n_atoms
        self.tasks = [
            Mixture([], observations, fitter, n_components, allocation) for fitter in fitters
        ]
        self.slices = [slice(a, b) for a, b in pairwise(starts)]

    @property
    def inference(self) -> str:
        """How widths are chosen."""
        return self.tasks[0].fitter.inference

    def set_choose(self, choose: bool) -> None:
        """Say whether widths may change."""
        for task in self.tasks:
            task.choose = choose

    def atom_weights(self, resps: list[Floats], usage: Floats) -> Floats:
        """Return with which weight each row belongs to each atom (n, L)."""
        # Σ_k <ξ_mnk> u_mkl: the atoms' weights of Appendix A
        return np.concatenate([resp @ u for resp, u in zip(resps, usage, strict=True)])

    def begin(self, resps: list[Floats], usage: Floats) -> Shared:
        """Return the parameters that belong to memberships and atoms of sticks."""
        tasks = []
        for task, resp in zip(self.tasks, resps, strict=True):
            sticks = sticks_of(resp) if task.allocation == "bernoulli" else None
            tasks.append(Params(None, task.fitter.start(task.n_components - 1), 0, sticks))
        first = Shared(None, new_sticks(self.n_atoms, CONCENTRATION), usage, tuple(tasks))
        return self._maximize(first, resps)

    def _maximize(self, params: Shared, resps: list[Floats]) -> Shared:
        """Update atoms, weights of atoms, then atoms of sticks, then gates."""
        weights = self.atom_weights(resps, params.usage)
        atoms = self.observations.update(self.tables, weights)  # q(θ_l)
        # q of the library's sticks and their concentration, with Σ_{m,k} u_mkl
        sticks = params.sticks.update(params.usage.sum(axis=(0, 1)), CONCENTRATION)
        scores = self.observations.scores(atoms, self.tables)
        prior = sticks.expected_log_weights()
        # u_mkl: the stick's expected log weight + Σ_n ξ_mnk E log p(y_mn | θ_l)
        usage = np.stack(
            [
                softmax(prior + resp.T @ scores[part], axis=1)
                for resp, part in zip(resps, self.slices, strict=True)
            ]
        )
        tasks = []
        for task, old, resp in zip(self.tasks, params.tasks, resps, strict=True):
            yes, no = task.votes(resp, old.sticks)
            gating = task.fitter.step(old.gating, yes, no, choose=task.chooses(old))
            tasks.append(Params(None, gating, old.turn + 1, old.sticks))
        return Shared(atoms, sticks, usage, tuple(tasks))

    def expect(self, params: Shared) -> tuple[float, Any]:
        """Return the bound, and memberships with their sticks of each data set."""
        scores = self.observations.scores(params.atoms, self.tables)
        total, found = 0.0, []
        for task, one, u, part in zip(
            self.tasks, params.tasks, params.usage, self.slices, strict=True
        ):
            # Σ_l u_mkl E log p(y_mn | θ_l) is the score of stick k
            resp, local, sticks = task.local(one, scores[part] @ u.T)
            total += float(local.sum()) + one.gating.bound
            found.append((resp, sticks))
        usage = params.usage
        total += float((usage @ params.sticks.expected_log_weights()).sum())  # E log p(t | β)
        # entropy of q(t), and KL of q(β) and of the concentration
        total -= float(xlogy(usage, usage).sum()) + params.sticks.divergence(CONCENTRATION)
        return total - float(self.observations.divergences(params.atoms).sum()), found

    def maximize(self, params: Shared, found: Any) -> Shared:
        """Return the next parameters."""
        tasks = tuple(
            one._replace(sticks=sticks)
            for one, (_, sticks) in zip(params.tasks, found, strict=True)
        )
        return self._maximize(params._replace(tasks=tasks), [resp for resp, _ in found])

    def run(self, params: Shared, max_iter: int, tol: float, progress: Any) -> Climb:
        """Climb until the bound hardly rises."""
        monotone = not (self.tasks[0].choose and self.inference == "sample")
        return climb(
            self.expect, self.maximize, params, max_iter=max_iter, tol=tol,
            progress=progress, monotone=monotone,
        )  # fmt: skip


def merged_atoms(mixture: SharedMixture, run: Climb) -> Climb | None:
    """Return where the first merge of two atoms leads that raises the bound, or None."""
    resps = [resp for resp, _ in run.expectations]
    weights = mixture.atom_weights(resps, run.params.usage)
    used = np.flatnonzero(weights.sum(axis=0) > SMALL)
    pairs = list(combinations(used.tolist(), 2))
    if not pairs:
        return None
    alone = dict(
        zip(
            used.tolist(),
            mixture.observations.evidences(mixture.tables, weights[:, used]).tolist(),
            strict=True,
        )
    )
    gains = np.empty(len(pairs))
    for at in range(0, len(pairs), 64):  # memory: 64 columns of all rows
        some = pairs[at : at + 64]
        both = np.stack([weights[:, a] + weights[:, b] for a, b in some], axis=1)
        gains[at : at + 64] = mixture.observations.evidences(mixture.tables, both)
    gains -= np.array([alone[a] + alone[b] for a, b in pairs])
    for i in np.argsort(-gains, kind="stable")[:TRIES]:
        into, empty = pairs[i]
        usage = run.params.usage.copy()
        usage[:, :, into] += usage[:, :, empty]
        usage[:, :, empty] = 0.0
        trial = mixture.maximize(run.params._replace(usage=usage), run.expectations)
        found = mixture.run(trial, TRIAL_STEPS, 0.0, None)
        if found.objective > run.objective + GAIN:
            return found
    return None
