"""The two phases of the hybrid learner as a driver sees them.

`online_average` runs one pass of Algorithm 1 at every shard and averages the results by their
confidence (Eq. 2). `ShardedObjective` is the regularised loss over all shards, in the form that
`octavo.engine.smooth.lbfgs.lbfgs` minimises; every sweep is one phase of a communicator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.distributed.map_reduce import Communicator, divide, largest, tree_allreduce
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.linear.sharded.passes import (
    LinearTask,
    gradient_at,
    kink_gap,
    look,
    online_pass,
    probe,
    restore_margins,
    smallest_margin,
    start_batch,
)

__all__ = ["confidence_average"]


@checked
def confidence_average(ws: Sequence[ArrayLike], Gs: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
    """Average the weights of several nodes, each feature by the nodes' confidence in it.

    Parameters
    ----------
    ws : sequence of array-like of shape (n_features,)
        Weights, one vector a node.
    Gs : sequence of array-like of shape (n_features,)
        Sums of squared gradients that each node has seen, feature by feature; not negative.

    Returns
    -------
    w : ndarray of shape (n_features,)
        Σ G w / Σ G (Eq. 2); zero where no node has any confidence.
    G : ndarray of shape (n_features,)
        Σ G² / Σ G, from which a further online pass starts.

    Examples
    --------
    >>> from octavo.linear import confidence_average
    >>> w, G = confidence_average([[1.0, 1.0], [3.0, 5.0]], [[1.0, 3.0], [1.0, 0.0]])
    >>> w
    array([2., 1.])
    """
    if len(ws) != len(Gs) or not len(ws):
        raise ValueError(f"Expected as many weights as confidences, got {len(ws)} and {len(Gs)}.")
    weights = [real_array(w, f"ws[{k}]") for k, w in enumerate(ws)]
    confidence = [real_array(G, f"Gs[{k}]") for k, G in enumerate(Gs)]
    if len({part.shape for part in (*weights, *confidence)}) > 1:
        raise ValueError(
            "All weights and confidences must have the same shape; got "
            f"{sorted({part.shape for part in (*weights, *confidence)})}."
        )
    if any((G < 0).any() for G in confidence):
        raise ValueError("Gs must be sums of squares: they cannot be negative.")
    # The largest confidence in a feature is the unit, so that neither sums nor squares overflow.
    unit = np.maximum.reduce(confidence)
    confidence = [divide(G, unit) for G in confidence]
    total = tree_allreduce(confidence)[0]  # Σ_k G^k of Eq. (2)
    # Eq. (2), divided before it is summed.
    weighted = tree_allreduce([divide(G, total) * w for G, w in zip(confidence, weights)])[0]
    squares = tree_allreduce([G * G for G in confidence])[0]
    return weighted, unit * divide(squares, total)  # Ḡ of Section 2.2


class OnlineState(NamedTuple):
    """Averaged weights and confidences, intercept last, and the loss met on the way."""

    w: Floats
    G: Floats
    loss: float


def online_average(
    comm: Communicator, task: LinearTask, eta: float, G0: float, state: OnlineState | None = None
) -> OnlineState:
    """Make one online pass at every shard and average; continue from a state if there is one."""
    w, G = (None, G0) if state is None else (state.w, state.G)
    weighted, total, squares, loss = comm.run(
        online_pass, task, eta, w, G, phase="online", race=state is None
    )
    average = divide(weighted, total)  # Eq. (2)
    return OnlineState(average, np.where(total > 0, divide(squares, total), G0), loss)


class ShardedObjective:
    """Σ ℓ(w·x; y) over all shards plus ½ Σ penalty_j w_j², as an oracle for `lbfgs`.

    Parameters
    ----------
    comm : Communicator
        With the shards opened.
    task : LinearTask
        The loss.
    penalty : ndarray of shape (n_features + 1,)
        Strength for each weight, the intercept's last.

    Attributes
    ----------
    n_sweeps : int
        Passes over the data so far.
    """

    def __init__(self, comm: Communicator, task: LinearTask, penalty: Floats) -> None:
        self.comm, self.task, self.penalty = comm, task, penalty
        self.n_sweeps = 0

    def start(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Return value, gradient and the Hessian's diagonal at x, and stand there."""
        loss, gradient, diagonal = self.comm.run(start_batch, self.task, x, phase="start")
        self.n_sweeps += 1
        self._x, self._version, self._taken = x, 0, 0.0
        self._direction: Floats | None = None
        own = self.penalty * x
        # λ R of Eq. (1), and the diagonal for Jacobi
        return loss + 0.5 * float(own @ x), gradient + own, diagonal + self.penalty

    def probe(self, direction: Floats, step: float, gradient: bool) -> tuple[float, float, Floats]:
        """Look along a direction from here: value, slope and (if asked) gradient at a step."""
        loss, slope, g = self.comm.run(
            probe, self.task, self._version, self._taken, direction, step, gradient,
            restore=(restore_margins, (self.task, self._version, self._x, None)),
            phase="probe",
        )  # fmt: skip
        self.n_sweeps += 1
        self._direction = direction
        pull = self.penalty * direction
        self._quadratic = (
            0.5 * float(self._x @ (self.penalty * self._x)),
            float(pull @ self._x),
            0.5 * float(pull @ direction),
        )
        value, slope = self._with_penalty(loss, slope, step)
        return value, slope, g + self.penalty * (self._x + step * direction) if gradient else g

    def _with_penalty(self, loss: float, slope: float, step: float) -> tuple[float, float]:
        a, b, c = self._quadratic
        # ½ Σ penalty (x + step d)², expanded once a direction
        return loss + a + step * (b + step * c), slope + b + 2 * step * c

    def look(self, step: float) -> tuple[float, float]:
        """Return value and slope at another step; two numbers a shard are all that moves."""
        loss, slope = self.comm.run(
            look, self.task, self._version, step, restore=self._on_line(), phase="line"
        )
        return self._with_penalty(loss, slope, step)

    def gradient(self, step: float) -> Floats:
        """Return the gradient at a step of the direction probed last."""
        assert self._direction is not None
        g = self.comm.run(
            gradient_at, self.task, self._version, step, restore=self._on_line(), phase="gradient"
        )
        self.n_sweeps += 1
        return g + self.penalty * (self._x + step * self._direction)

    def _on_line(self):
        return restore_margins, (self.task, self._version, self._x, self._direction)

    def move(self, step: float) -> None:
        """Take the step; the sites follow when they are next asked."""
        assert self._direction is not None
        self._x = self._x + step * self._direction
        self._version += 1
        self._taken = step

    def _here(self):
        return restore_margins, (self.task, self._version, self._x, None)

    def separated(self) -> bool:
        """Whether every row is on the right side: without a penalty there is no optimum then."""
        margin = self.comm.run(
            smallest_margin, self.task, self._version, self._taken,
            combine=largest, restore=self._here(), phase="margins",
        )  # fmt: skip
        return bool(margin < 0)

    def kink_gap(self) -> tuple[float, float]:
        """Return the exact objective of a smoothed loss, and what smoothing may still cost."""
        loss, gap = self.comm.run(
            kink_gap, self.task, self._version, self._taken, restore=self._here(), phase="kinks"
        )
        return loss + 0.5 * float(self._x @ (self.penalty * self._x)), gap
