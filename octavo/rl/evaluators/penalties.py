"""Which regularised LSTD an estimator asks for, solved from the sums it has gathered.

The solvers themselves are in `octavo.rl.evaluators.regularised_lstd` and
`octavo.rl.evaluators.lasso_homotopy`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.rl.evaluators.lasso_homotopy import lasso_td
from octavo.rl.evaluators.regularised_lstd import (
    Moments,
    dantzig_td,
    l1_td,
    laplacian_td,
    nested_solution,
    ridge_td,
)
from octavo.rl.processes.transitions import Transitions

NESTED = ("l2l2", "l2l1", "l1-pbr")
PENALTIES = ("l2", "l1", "lasso-td", "dantzig", "laplacian", "rp", *NESTED)


def check_penalty(model: Any) -> None:
    """Refuse combinations of parameters that have no meaning together."""
    if model.penalty is None:
        return
    if model.solver == "recursive":
        raise ValueError(f"penalty={model.penalty!r} is solved at the end: set solver='batch'.")
    if model.penalty == "laplacian" and (model.laplacian is None or model.nodes is None):
        raise ValueError(
            "penalty='laplacian' needs laplacian and nodes, the graph and its features."
        )
    if model.penalty in NESTED and (model.lam > 0 or model.off_policy != "transition"):
        raise ValueError(
            f"penalty={model.penalty!r} projects one-step returns: it needs lam=0 and "
            f"off_policy='transition', got lam={model.lam} and off_policy={model.off_policy!r}."
        )


def penalised_solution(model: Any, gram: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the coefficients that a fitted system of means has under the model's penalty."""
    n = model.n_transitions_
    A, b = model.A_ / n, model.b_ / n
    if model.penalty == "l2":
        return ridge_td(A, b, model.alpha)
    if model.penalty == "rp":
        return model.components_ @ ridge_td(A, b, model.alpha)
    if model.penalty == "l1":
        return l1_td(A, b, model.alpha)
    if model.penalty == "lasso-td":
        return lasso_td(A, b, model.alpha, solver=model.lasso_solver)
    if model.penalty == "dantzig":
        return dantzig_td(A, b, model.alpha)
    if model.penalty == "laplacian":
        return laplacian_td(A, b, model.nodes, model.laplacian, model.alpha)
    assert gram is not None
    # γ times the mean of φφ'ᵀ is what A lacks of the Gram matrix
    cross = (gram / n - A) / model.gamma if model.gamma > 0 else np.zeros_like(A)
    first = 0.0 if model.penalty == "l1-pbr" else model.alpha
    kind = "l2" if model.penalty == "l2l2" else "l1"
    return nested_solution(
        Moments(gram / n, cross, b), model.gamma, first, model.alpha_nested, kind
    )


def random_components(model: Any, n_features: int) -> NDArray[np.float64]:
    """Return a random subspace as `random_projection_td` draws it."""
    rng = check_random_state(model.random_state)
    scale = 1.0 / np.sqrt(model.n_components)
    return rng.normal(scale=scale, size=(n_features, model.n_components))


def projected(block: Transitions, components: NDArray[np.float64]) -> Transitions:
    """Return a block whose features are projected to a subspace."""
    part = block._cut(slice(None))
    for name in ("X", "X_next"):
        object.__setattr__(part, name, np.ascontiguousarray(getattr(block, name) @ components))
    return part
