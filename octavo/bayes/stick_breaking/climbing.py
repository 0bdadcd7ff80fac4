"""The variational climb of one data set: atoms, gates and memberships in turn, with merges.

One iteration updates q of the atoms and of the gates given memberships, then memberships given
those; the bound is that of Appendix A with M = 1, or the tighter one in which sticks that do not
matter are summed out (``allocation="categorical"``).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from octavo.bayes.stick_breaking.allocation import (
    bernoulli_step,
    categorical_step,
    later_mass,
    memberships,
    sticks_of,
)
from octavo.bayes.stick_breaking.gating import GateFitter, Gating
from octavo.bayes.stick_breaking.observations import Observations
from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.em import Climb, climb

LOOKS = (0, 5, 10, 20, 40, 80, 160)  # iterations in which widths are looked at
SAMPLED = 30  # iterations in which widths are sampled
FROZEN = 10  # iterations after which the bound must climb again
SMALL = 0.5  # mass in rows below which an atom is empty
TRIES = 3  # merges that are tried at a time
TRIAL_STEPS = 20  # after five, gates that must cover two segments are not there yet
GAIN = 0.1  # nats that a merge must win
COARSE = 10.0  # times tol: merges come first, before many sticks have used up the iterations


class Params(NamedTuple):
    """q of atoms and gates, the number of the iteration, and the sticks where they are kept."""

    atoms: Any
    gating: Gating
    turn: int
    sticks: Floats | None


class Mixture:
    """What alternates: `expect` and `maximize` of `octavo.engine.smooth.em`.

    Parameters
    ----------
    tables : list
        Data as the conjugate blocks read them.
    observations : Observations
        Atoms' priors.
    fitter : GateFitter
        Gates' updates.
    n_components : int
        K.
    allocation : {"categorical", "bernoulli"}
        Which bound.
    """

    def __init__(
        self,
        tables: list[Any],
        observations: Observations,
        fitter: GateFitter,
        n_components: int,
        allocation: str,
    ) -> None:
        self.tables, self.observations, self.fitter = tables, observations, fitter
        self.n_components, self.allocation = n_components, allocation
        self.choose = True

    def votes(self, resp: Floats, sticks: Floats | None) -> tuple[Floats, Floats]:
        """Return with which weight points say yes and no to each gate."""
        if sticks is not None:
            return sticks, 1.0 - sticks
        # ξ_nk says yes, Σ_{l>k} ξ_nl no: the weights of Eq. (8)
        return resp[:, :-1], later_mass(resp)[:, 1:]

    def begin(self, resp: Floats) -> Params:
        """Return the parameters that belong to memberships."""
        sticks = sticks_of(resp) if self.allocation == "bernoulli" else None
        start = Params(None, self.fitter.start(self.n_components - 1), 0, sticks)
        return self.maximize(start, resp)

    def chooses(self, params: Params) -> bool:
        """Tell whether gates look at their widths now."""
        looks = params.turn in LOOKS or self.fitter.inference == "sample"
        return self.choose and looks

    def set_choose(self, choose: bool) -> None:
        """Say whether widths may change."""
        self.choose = choose

    @property
    def inference(self) -> str:
        """How widths are chosen."""
        return self.fitter.inference

    def maximize(self, params: Params, resp: Floats) -> Params:
        """Update atoms and gates given memberships."""
        atoms = self.observations.update(self.tables, resp)  # q(θ_k), weighted by <ξ_nk>
        yes, no = self.votes(resp, params.sticks)
        # q(w), q(λ) and ψ_k
        gating = self.fitter.step(params.gating, yes, no, choose=self.chooses(params))
        return Params(atoms, gating, params.turn + 1, params.sticks)

    def local(self, params: Params, scores: Floats) -> tuple[Floats, Floats, Floats | None]:
        """Return memberships, each point's part of the bound, and the sticks."""
        log_yes, log_no = params.gating.log_sigmoids()
        if params.sticks is None:
            return *categorical_step(scores, log_yes, log_no), None
        sticks, local = bernoulli_step(scores, log_yes, log_no, params.sticks)
        return memberships(sticks), local, sticks

    def expect(self, params: Params) -> tuple[float, Any]:
        """Return the bound and memberships with the sticks they came from."""
        scores = self.observations.scores(params.atoms, self.tables)
        resp, local, sticks = self.local(params, scores)
        total = float(local.sum()) + params.gating.bound
        # Eq. (6)
        return total - float(self.observations.divergences(params.atoms).sum()), (resp, sticks)

    def turn_once(self, params: Params, found: Any) -> Params:
        """Return the next parameters, as `climb` asks for them."""
        resp, sticks = found
        return self.maximize(params._replace(sticks=sticks), resp)

    def run(self, params: Params, max_iter: int, tol: float, progress: Any) -> Climb:
        """Climb until the bound hardly rises."""
        monotone = not (self.choose and self.fitter.inference == "sample")
        return climb(
            self.expect,
            self.turn_once,
            params,
            max_iter=max_iter,
            tol=tol,
            progress=progress,
            monotone=monotone,
        )


def settle(mixture: Any, params: Any, max_iter: int, tol: float, progress: Any) -> Climb:
    """Climb until three rises in a row are below tol, relatively.

    Parameters
    ----------
    mixture : Mixture
        What climbs.
    params : object
        Where to start.
    max_iter, tol : int, float
        Limits.
    progress : FitProgress
        Stepped once per iteration.

    Returns
    -------
    run : Climb
        With the trace of all iterations.
    """
    run = mixture.run(params, max_iter, tol, progress)
    while run.converged and not run.stopped and run.n_iter < max_iter:
        more = mixture.run(run.params, min(2, max_iter - run.n_iter), -1.0, progress)
        run = joined(run, more)
        rises = np.diff(run.trace[-4:])
        settled = bool((np.abs(rises) <= tol * abs(run.objective)).all())
        run = run._replace(converged=settled)
        if settled or run.stopped or run.n_iter >= max_iter:
            break
        run = joined(run, mixture.run(run.params, max_iter - run.n_iter, tol, progress))
    return run


def joined(one: Climb, other: Climb) -> Climb:
    """Return two climbs, the second from where the first ended, as one."""
    trace = np.concatenate([one.trace, other.trace[1:]])
    return other._replace(
        trace=trace, n_iter=one.n_iter + other.n_iter, fall=max(one.fall, other.fall)
    )


def gate_costs(mixture: Mixture, run: Climb) -> float:
    """Return at most what simpler gates could win: their misfit, and their distance from idle."""
    resp, sticks = run.expectations
    gating = run.params.gating
    yes, no = mixture.votes(resp, sticks)
    log_yes, log_no = gating.log_sigmoids()
    bounds = np.array([gate.bound for gate in gating.gates])
    # at least zero: no gate explains its points better than certainty
    misfit = -float((yes * log_yes).sum() + (no * log_no).sum())
    return misfit + float((bounds.max() - bounds).sum())


def merge_candidates(mixture: Mixture, run: Climb) -> list[tuple[int, int]]:
    """Return pairs of atoms whose evidence as one falls by less than gates can win, best first."""
    resp = run.expectations[0]
    used = np.flatnonzero(resp.sum(axis=0) > SMALL)
    pairs = list(combinations(used.tolist(), 2))
    if not pairs:
        return []
    alone = mixture.observations.evidences(mixture.tables, resp[:, used])
    own = dict(zip(used.tolist(), alone.tolist(), strict=True))
    together = np.stack([resp[:, a] + resp[:, b] for a, b in pairs], axis=1)
    gains = mixture.observations.evidences(mixture.tables, together)
    gains -= np.array([own[a] + own[b] for a, b in pairs])
    best = np.argsort(-gains, kind="stable")[:TRIES]
    spare = gate_costs(mixture, run)
    return [pairs[i] for i in best if gains[i] + spare > 0.0]


def merged(mixture: Mixture, run: Climb) -> Climb | None:
    """Return where the first merge leads that raises the bound, or None.

    All mass of one atom moves to the other, gates look at their widths again, and twenty iterations
    tell whether it pays.
    """
    resp = run.expectations[0]
    for a, b in merge_candidates(mixture, run):
        for into, empty in ((a, b), (b, a)):
            moved = resp.copy()
            moved[:, into] += moved[:, empty]
            moved[:, empty] = 0.0
            sticks = None if run.expectations[1] is None else sticks_of(moved)
            # turn 0: the widths are looked at anew
            trial = mixture.maximize(run.params._replace(sticks=sticks, turn=0), moved)
            found = mixture.run(trial, TRIAL_STEPS, 0.0, None)
            if found.objective > run.objective + GAIN:
                return found
    return None


def ascend(
    mixture: Any, params: Any, merge: Any, *, max_iter: int, tol: float, progress: Any
) -> Climb:
    """Climb to the end: widths, three small rises, merges that pay.

    Parameters
    ----------
    mixture : Mixture or SharedMixture
        What climbs; its widths may still change.
    params : object
        Where to start.
    merge : callable or None
        ``merge(mixture, run)`` returns where a merge leads that pays, or None.
    max_iter, tol : int, float
        Limits of all iterations together.
    progress : FitProgress
        Stepped once per iteration.

    Returns
    -------
    run : Climb
        Its trace leaves out what led to merges, so that it climbs but for sampled widths.
    """
    n_before, trace = 0, np.zeros(0)
    if mixture.inference == "sample":
        first = mixture.run(params, max(1, min(SAMPLED, max_iter - FROZEN)), -1.0, progress)
        params, n_before, trace = first.params, first.n_iter, first.trace[:-1]
        mixture.set_choose(False)  # Eq. (6) need not rise while widths are drawn
    run = settle(mixture, params, max(1, max_iter - n_before), COARSE * tol, progress)
    run = run._replace(n_iter=run.n_iter + n_before, trace=np.concatenate([trace, run.trace]))
    for fineness in (COARSE, 1.0):
        if fineness == 1.0 and not run.stopped and run.n_iter < max_iter:
            run = joined(run, settle(mixture, run.params, max_iter - run.n_iter, tol, progress))
        while merge is not None and not run.stopped and run.n_iter < max_iter:
            found = merge(mixture, run)
            if found is None:
                break
            left = max(1, max_iter - run.n_iter - 1)
            more = settle(mixture, found.params, left, fineness * tol, progress)
            trace = np.append(run.trace[-1:], more.trace)
            run = joined(run, more._replace(trace=trace, n_iter=more.n_iter + 1))
        if fineness > 1.0 and run.n_iter >= max_iter:
            return run._replace(converged=False)  # never asked for tol itself
    return run
