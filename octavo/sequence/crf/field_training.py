"""Training of pattern fields: penalised likelihood, or the largest margin.

Both maximise a concave function of the weights and return a certificate. `fit_likelihood` is
Section 2.3 of Cuong, Ye, Lee and Chieu (2014), with one regulariser an order (Section 3.3) and an
l1 penalty besides. `fit_margin` is max-margin training by cutting planes, which their
introduction names (Tsochantaridis et al. 2004), from decoding with the loss added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel

from octavo.engine.duals.cutting_planes import minimize_by_cuts
from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.penalized_likelihood import maximize_penalized
from octavo.sequence.crf.chain_field import FieldLikelihood

Step = Callable[[], bool]


class Trained(NamedTuple):
    """Weights with their certificate.

    ``residual`` is what tol is compared with: the gradient's largest entry, or the duality gap,
    per position. ``gap`` bounds how far the objective is from its optimum.
    """

    weights: Floats
    objective: float
    residual: float
    gap: float
    n_iter: int
    converged: bool
    trace: Floats


def fit_likelihood(
    field: Any,
    data: Any,
    share: Floats,
    sigma: Floats,
    *,
    l1: float,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
    step: Step,
) -> Trained:
    """Maximise Σ log P - Σ λ²/(2σ²) - l1 Σ |λ|."""
    size = float(share @ data.lengths)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as pool:
        likelihood = FieldLikelihood(field, data, share, pool)
        return Trained(
            *maximize_penalized(
                likelihood,
                np.zeros(field.blocks.size),
                sigma,
                l1=l1,
                size=size,
                tol=tol,
                max_iter=max_iter,
                step=step,
            )
        )


def fit_margin(
    field: Any,
    data: Any,
    share: Floats,
    sigma: Floats,
    *,
    tol: float,
    max_iter: int,
    step: Step,
) -> Trained:
    """Minimise Σ λ²/(2σ²) + Σ_i max_y [Hamming(y_i, y) + λ·f(y) - λ·f(y_i)].

    The objective that is returned is minus that, so that larger is better, as above.
    """
    size = float(share @ data.lengths)
    truth = field.counted(data, share)

    def risk(weights: Floats) -> tuple[float, Floats]:
        worst, loss = field.most_violating(weights, data)
        slope = field.counted(worst, share) - truth
        # max_y [loss + λ·f(y)] - λ·f(y_i), and its subgradient
        return float(share @ loss) + float(slope @ weights), slope

    found = minimize_by_cuts(risk, sigma, tol=tol * size, max_iter=max_iter, step=step)
    gap = found.gap
    return Trained(
        found.x, -found.objective, gap / size, gap, found.n_iter, gap <= tol * size, -found.trace
    )


def prior_sigmas(field: Any, alpha: float, by_order: dict[int, float] | None) -> Floats:
    """Return the standard deviation 1/√α of every weight's prior: that of its pattern's order."""
    chosen = by_order or {}

    def of_order(order: int) -> float:
        strength = float(chosen.get(order, alpha))  # σ = 1/√α; without a penalty the prior is flat
        return 1.0 / np.sqrt(strength) if strength > 0.0 else np.inf

    orders = np.array([of_order(len(z) - 1) for z in field.grammar.patterns])
    arrays = {}
    for name, shape in field.blocks.shapes.items():
        if name == "pattern":
            arrays[name] = orders
        elif name == "transition":
            arrays[name] = np.broadcast_to(orders[field.observed], shape)
        else:
            arrays[name] = np.full(shape, of_order(0))
    return field.blocks.join(**arrays)
