"""Tasks that share switches, solved a task at a time: Algorithm 1, or Newton steps.

The dual is J(β) = Σ_m L_m(β_m) − ½ β'K⁰β − Σ_d φ(q_d) with q_d the sum of the tasks' energies.
A step changes one task's variables by an ordinary machine whose matrix is either Theorem 1's bound,
Σ_d K_d + G_d h_d h_d', or the true curvature, Σ_d ŝ_d K_d + ŝ_d(1 − ŝ_d) h_d h_d', followed by an
exact search along the line. Neither lets J fall. The duality gap is the sum of the gaps that the
tasks' own machines see, so that a task with nothing to gain is passed over.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Section 10 and Appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.kernel.multitask.losses import Loss
from octavo.kernel.multitask.switches import bound_curvature, potential, switch_means
from octavo.kernel.multitask.task_blocks import Block

LEAST_TOL = 1e-9  # of the objective: sums of gaps are not more exact than that
_INNER = 0.05  # of a task's gap that its machine may leave
_HALVINGS = 60
_NEARLY = 40  # sweeps after which a Newton step's curvature is exact
_LAST = 1e-5  # the relative gap below which it is

Step = Callable[[], bool]


class MEDFit(NamedTuple):
    """A solution: variables and switches, offsets, both objectives, the gap, and its sweeps."""

    betas: list[Floats]
    responses: list[Floats]
    energies: Floats
    switches: Floats
    offsets: Floats
    primal: float
    dual: float
    gap: float
    history: Floats
    n_sweeps: int
    converged: bool


class SharedDual:
    """The dual of several tasks at a point, and its ascent.

    Parameters
    ----------
    blocks : sequence of Block
        Data of the tasks.
    losses : sequence of Loss
        Their losses.
    alpha : float
        (1 − ρ)/ρ.
    n_switches : int
        Number of switches.
    bias_variance : float, default=0.0
        Prior variance of the tasks' biases where they are penalised: an added constant kernel that
        no switch guards.
    communal : ndarray of shape (n_rows, n_rows), default=None
        Kernel between all rows, tasks one after another, that no switch guards (Section 8).
    betas : sequence of ndarray, default=None
        Where to start.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        losses: Sequence[Loss],
        alpha: float,
        n_switches: int,
        *,
        bias_variance: float = 0.0,
        communal: Floats | None = None,
        betas: Sequence[Floats] | None = None,
    ) -> None:
        self.blocks, self.losses, self.alpha = blocks, losses, float(alpha)
        self.n_switches, self.bias_variance, self.communal = n_switches, bias_variance, communal
        self.exact = False  # whether Newton's curvature must be
        ends = np.cumsum([block.n for block in blocks])
        self.rows = [slice(end - block.n, end) for end, block in zip(ends, blocks)]
        self.betas = [
            loss.start() if betas is None else loss.fit_in(betas[m])  # type: ignore[attr-defined]
            for m, loss in enumerate(losses)
        ]
        self._refresh()

    def _refresh(self) -> None:
        """Compute everything afresh from the variables."""
        self.totals = [loss.total(beta) for loss, beta in zip(self.losses, self.betas)]
        self.responses = [b.respond(total) for b, total in zip(self.blocks, self.totals)]
        self.energy = np.zeros(self.n_switches)
        for block, response, total in zip(self.blocks, self.responses, self.totals):
            np.add.at(self.energy, block.places, block.energies(response, total))
        if self.communal is not None:
            self.field = self.communal @ np.concatenate(self.totals)

    def values(self, m: int) -> Floats:
        """Return the decision values of a task's rows, without a free offset."""
        block = self.blocks[m]
        # ŝ(d) of Algorithm 1, step 3a
        switches = switch_means(self.energy[block.places], self.alpha)
        f = block.values(switches, self.responses[m])  # Σ_d ŝ(d) ŷ_t(d), Section 7
        if self.bias_variance:
            f = f + self.bias_variance * self.totals[m].sum()
        return f if self.communal is None else f + self.field[self.rows[m]]

    def objective(self) -> float:
        """Return J, 0 at β = 0."""
        # J(λ) of Section 7, with D log(α + 1) as in Section 10: print has MD there
        value = sum(loss.value(beta) for loss, beta in zip(self.losses, self.betas))
        value -= float(potential(self.energy, self.alpha).sum())
        value -= 0.5 * self.bias_variance * sum(float(t.sum()) ** 2 for t in self.totals)
        if self.communal is not None:  # the communal kernel of Section 8
            value -= 0.5 * float(np.concatenate(self.totals) @ self.field)
        return value

    def gaps(self) -> tuple[Floats, Floats]:
        """Return the duality gap and the best offset of every task."""
        found = [
            loss.stand(beta, self.values(m))
            for m, (loss, beta) in enumerate(zip(self.losses, self.betas))
        ]
        return np.array([one.gap for one in found]), np.array([one.offset for one in found])

    def improve(self, m: int, ignore: float, bound: bool) -> None:
        """Move one task's variables, unless its gap is below `ignore`."""
        block, loss, beta = self.blocks[m], self.losses[m], self.betas[m]
        standing = loss.stand(beta, self.values(m))
        if standing.gap <= ignore:
            return
        energy = self.energy[block.places]
        s = switch_means(energy, self.alpha)
        if bound:  # Theorem 1
            first, second = np.ones_like(s), bound_curvature(energy, self.alpha)
        else:  # d²φ
            first, second = s, s * (1.0 - s)
        # Algorithm 1, step 3b
        Q = block.curvature(first, second, self.responses[m], exact=bound or self.exact)
        if self.bias_variance:
            Q += self.bias_variance
        if self.communal is not None:
            Q = Q + self.communal[self.rows[m], self.rows[m]]
        # the program of step 3b, moved to start from β
        new = loss.ascend(Q, beta, standing.gradient, max(_INNER * standing.gap, 0.5 * ignore))
        self._move(m, new, whole=bound)

    def _move(self, m: int, new: Floats, whole: bool) -> None:
        """Go towards new variables: all the way, or as far as J rises."""
        block, loss, beta, total = self.blocks[m], self.losses[m], self.betas[m], self.totals[m]
        delta = loss.total(new) - total
        change = block.respond(delta)
        t = 1.0 if whole else self._search(m, new - beta, delta, change)
        if t <= 0.0:
            return
        before = block.energies(self.responses[m], total)
        self.betas[m] = new if t == 1.0 else beta + t * (new - beta)
        self.totals[m] = loss.total(self.betas[m])
        self.responses[m] = self.responses[m] + t * change
        after = block.energies(self.responses[m], self.totals[m])
        np.add.at(self.energy, block.places, after - before)
        np.maximum(self.energy, 0.0, out=self.energy)
        if self.communal is not None:
            self.field = self.field + self.communal[:, self.rows[m]] @ (t * delta)

    def _search(self, m: int, step: Floats, delta: Floats, change: Floats) -> float:
        """Return the t in [0, 1] where J is highest along a direction; its derivative falls."""
        block, loss = self.blocks[m], self.losses[m]
        first, second = loss.slope(self.betas[m], step)
        shift = float(delta.sum())
        first -= self.bias_variance * float(self.totals[m].sum()) * shift
        second -= self.bias_variance * shift * shift
        if self.communal is not None:
            rows = self.rows[m]
            first -= float(self.field[rows] @ delta)
            second -= float(delta @ (self.communal[rows, rows] @ delta))
        energy = self.energy[block.places]
        slope = block.products(change, self.responses[m], delta)  # δ'h_d
        curve = np.maximum(block.products(change, change, delta), 0.0)  # δ'K_dδ

        def rise(t: float) -> float:
            q = np.maximum(energy + t * slope + 0.5 * t * t * curve, 0.0)
            pull = switch_means(q, self.alpha) @ (slope + t * curve)
            return first + t * second - float(pull)

        if rise(1.0) >= 0.0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if rise(middle) > 0.0 else (low, middle)
            if high - low <= 1e-3 * high:
                break
        return low

    def solve(
        self, *, tol: float, max_sweeps: int, method: str = "newton", step: Step | None = None
    ) -> MEDFit:
        """Sweep over the tasks until the duality gap is below `tol` times the objective."""
        tol = reachable_tolerance(tol, floor=LEAST_TOL)
        history: list[tuple[float, float, float]] = []
        gaps, offsets = self.gaps()
        for _ in range(max_sweeps):
            target = tol * self._scale(float(gaps.sum()))
            if gaps.sum() <= target:  # in place of step 4's ||λ − λ̃|| ≤ ϖ||λ||
                break
            # A curvature that is nearly right is cheap, and right enough but for the last digits.
            self.exact = len(history) >= _NEARLY or gaps.sum() <= _LAST * target / tol
            # From the worst task on: what the others see is up to date then.
            for m in np.argsort(-gaps, kind="stable"):
                # step 3, one task after another
                self.improve(int(m), 0.25 * target / len(gaps), method == "bound")
            self._refresh()
            gaps, offsets = self.gaps()
            dual = self.objective()
            history.append((dual + float(gaps.sum()), dual, float(gaps.sum())))
            if step is not None and step():
                break
        dual, gap = self.objective(), float(gaps.sum())
        return MEDFit(
            self.betas,
            self.responses,
            self.energy,
            switch_means(self.energy, self.alpha),
            offsets,
            dual + gap,
            dual,
            gap,
            np.array(history).reshape(-1, 3),
            len(history),
            gap <= tol * self._scale(gap),
        )

    def _scale(self, gap: float) -> float:
        """Return the primal objective, which a tolerance is relative to."""
        return max(abs(self.objective() + gap), 1e-300)


def solve_shared(
    blocks: Sequence[Block],
    losses: Sequence[Loss],
    alpha: float,
    n_switches: int,
    *,
    tol: float = 1e-4,
    max_sweeps: int = 200,
    method: str = "newton",
    step: Step | None = None,
    **options: Any,
) -> MEDFit:
    """Maximise the dual of several tasks; see `SharedDual` for the arguments."""
    dual = SharedDual(blocks, losses, alpha, n_switches, **options)
    return dual.solve(tol=tol, max_sweeps=max_sweeps, method=method, step=step)
