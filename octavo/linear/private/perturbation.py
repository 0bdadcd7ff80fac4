"""How much noise a private linear model needs, and the model with that noise.

Both algorithms minimise J(f) = (1/n) Σ_i ℓ(f·x_i; y_i) + (Λ/2)‖f‖² over records of norm at most
B. Output perturbation adds noise to the minimiser, objective perturbation adds b·f/n to the
objective. Neighbours differ in one record, which is replaced; n, B and Λ are public.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: Algorithms 1 and 2,
Theorems 6 and 9, Corollaries 8 and 13, the losses of Section 3.4. The paper has B = 1 and
|ℓ'| ≤ 1; a general bound replaces c by cB² and the 2 of the sensitivities by 2LB.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.smooth.losses import CustomLoss, SmoothLoss, make_loss
from octavo.engine.smooth.newton import newton_linear
from octavo.linear.private.noise import draw_noise, noise_source

__all__ = [
    "ConvergenceError",
    "CustomLoss",
    "Perturbation",
    "calibrate_perturbation",
    "private_minimisers",
]

Loss = SmoothLoss | CustomLoss

LOSS_NAMES = {"logistic": "log", "huber": "huber", "smooth_hinge": "smooth_hinge"}


class ConvergenceError(RuntimeError):
    """The minimiser was not found to the precision that the privacy proof needs.

    Nothing is released: the proofs are about the exact minimiser.

    Examples
    --------
    >>> from octavo.linear import ConvergenceError
    >>> issubclass(ConvergenceError, RuntimeError)
    True
    """


class Perturbation(NamedTuple):
    """How a release is noised.

    Fields: method ("output" or "objective"), epsilon, epsilon_prime (what the noise itself may
    spend), noise_scale (one over β), delta_reg (Δ, the penalty added to Λ), branch (1 when
    the slack is paid out of epsilon, 2 when it is paid by Δ) and reach (2LB, how far one record
    can move n times the gradient).
    """

    method: str
    epsilon: float
    epsilon_prime: float
    noise_scale: float
    delta_reg: float
    branch: int
    reach: float


def check_custom_loss(loss: CustomLoss) -> None:
    """Refuse a loss whose constants are not what it says, as seen on a grid of predictions."""
    p = np.concatenate([np.linspace(-8.0, 8.0, 3201), [-1e3, -1e2, 1e2, 1e3]])
    for target in (-1.0, 1.0):
        y = np.full_like(p, target)
        slope, curvature = np.asarray(loss.slope(p, y)), np.asarray(loss.curvature(p, y))
        if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):
            raise ValueError(f"the derivatives of the loss {loss.name!r} are not finite")
        for seen, bound, what in (
            (np.abs(slope).max(), loss.lipschitz, "absolute slope"),
            (curvature.max(), loss.curvature_bound, "curvature"),
            (-curvature.min(), 0.0, "negative curvature"),
        ):
            if seen > bound * (1 + 1e-9) + 1e-12:
                raise ValueError(
                    f"the loss {loss.name!r} promises {what} at most {bound:g}, got {seen:g}"
                )
        # A slope that is not the value's would make every bound meaningless.
        step = 1e-6
        numeric = (loss.value(p[:-4] + step, y[:-4]) - loss.value(p[:-4] - step, y[:-4])) / 2e-6
        off = float(np.abs(numeric - slope[:-4]).max())
        if off > 1e-3 * max(loss.lipschitz, 1.0):
            raise ValueError(
                f"the slope of the loss {loss.name!r} is not the derivative of its value: "
                f"they differ by {off:g}"
            )


def private_loss(loss: str | CustomLoss, h: float = 0.5) -> Loss:
    """Return a loss whose slope is bounded; the paper's by name, or the user's own, checked."""
    if isinstance(loss, str):
        return make_loss(LOSS_NAMES[loss], h)
    if not math.isfinite(loss.lipschitz):
        raise ValueError(
            f"the loss {loss.name!r} has an unbounded slope; privacy needs a finite lipschitz"
        )
    check_custom_loss(loss)
    return loss


@checked
def calibrate_perturbation(
    method: str,
    *,
    n_samples: int,
    alpha: float,
    epsilon: float,
    lipschitz: float = 1.0,
    curvature: float = 0.25,
    data_norm: float = 1.0,
    branch: str | int = "auto",
    slack: str = "paper",
) -> Perturbation:
    """Return the noise that makes a regularised linear model ε-differentially private.

    It depends on public numbers alone.

    Parameters
    ----------
    method : {"objective", "output"}
        Algorithm 2 or Algorithm 1.
    n_samples : int
        Number of records n.
    alpha : float
        Strength of the penalty, the paper's Λ.
    epsilon : float
        The privacy asked for; infinite for no noise.
    lipschitz : float, default=1
        Largest absolute slope of the loss, L.
    curvature : float, default=0.25
        Largest second derivative of the loss, the paper's c. Output perturbation does not
        need it.
    data_norm : float, default=1
        Largest norm of a record, B.
    branch : {"auto", 1, 2, "best"}, default="auto"
        Objective perturbation pays for a change of volume either out of epsilon (1) or by a
        stronger penalty (2). "auto" is the paper's rule: 1 wherever it is possible, even when
        hardly any epsilon is left for the noise. "best" takes the one whose noise moves the
        minimiser least: 1 exactly where it leaves half of epsilon.
    slack : {"paper", "tight"}, default="paper"
        The paper bounds the change of volume by (1 + cB²/(nΛ))². It is a quotient of two
        rank-one updates of one matrix, hence at most 1 + cB²/(nΛ): "tight" uses that.

    Returns
    -------
    perturbation : Perturbation
        Named tuple (method, epsilon, epsilon_prime, noise_scale, delta_reg, branch, reach).

    Examples
    --------
    >>> from octavo.linear import calibrate_perturbation
    >>> noise = calibrate_perturbation("output", n_samples=1000, alpha=0.01, epsilon=0.5)
    >>> round(noise.noise_scale, 6)  # 2 / (n Λ ε)
    0.4
    >>> calibrate_perturbation("objective", n_samples=100, alpha=1e-4, epsilon=0.1).branch
    2
    """
    if n_samples < 1 or not alpha > 0 or not epsilon > 0 or not data_norm > 0:
        raise ValueError(
            "n_samples, alpha, epsilon and data_norm must be positive, got "
            f"{n_samples}, {alpha}, {epsilon} and {data_norm}"
        )
    reach = 2.0 * lipschitz * data_norm
    if not math.isfinite(reach):
        raise ValueError(f"the loss must have a bounded slope, got lipschitz={lipschitz}")
    if math.isinf(epsilon):
        return Perturbation(method, epsilon, epsilon, 0.0, 0.0, 1, reach)
    if method == "output":
        sensitivity = reach / (n_samples * alpha)  # Corollary 8
        return Perturbation(method, epsilon, epsilon, sensitivity / epsilon, 0.0, 1, reach)
    bend = curvature * data_norm**2
    if not math.isfinite(bend):
        raise ValueError(
            f"objective perturbation needs a bounded curvature, got {curvature}; "
            "use method='output'"
        )
    power = {"paper": 2.0, "tight": 1.0}[slack]
    left = epsilon - power * math.log1p(bend / (n_samples * alpha))  # Algorithm 2: ε'
    if branch in ("auto", "best"):
        enough = left > 0 if branch == "auto" else left >= epsilon / 2
        branch = 1 if enough else 2
    if branch == 1:
        if left <= 0:
            need = bend / np.expm1(epsilon / power)
            raise ValueError(
                f"branch=1 needs n_samples * alpha > {need:g}, got {n_samples * alpha:g}; "
                "use branch='auto'"
            )
        return Perturbation(method, epsilon, left, reach / left, 0.0, 1, reach)
    penalty = bend / (n_samples * float(np.expm1(epsilon / (2.0 * power))))  # Λ + Δ
    delta = max(penalty - alpha, 0.0)
    return Perturbation(method, epsilon, epsilon / 2, 2 * reach / epsilon, delta, 2, reach)


def exact_minimiser(
    X: Any,
    y: Floats,
    loss: Loss,
    alpha: float,
    perturbation: Perturbation,
    tol: float,
    *,
    tilt: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Return argmin (1/n) Σ ℓ + (alpha/2)‖f‖² + tilt·f, or raise `ConvergenceError`."""
    # Relative to what a record, or the noise, can do: the scales of the privacy loss.
    noise = 0.0 if tilt is None else float(np.linalg.norm(tilt))
    goal = tol * max(perturbation.reach / 2.0, noise)
    found = newton_linear(X, y, loss, alpha, linear=tilt, start=start, tol=goal, max_iter=500)
    if not found.converged:
        raise ConvergenceError(
            f"the gradient's norm is {found.gradient_norm:.2g} after {found.n_iter} steps; "
            f"expected at most {goal:.2g}. A minimiser that is not exact is not private, so "
            "nothing is released; increase alpha, or tol if that is at the limit of rounding"
        )
    return found.coef


@checked
def private_minimisers(
    X: Any,
    y: Floats,
    loss: str | CustomLoss,
    alpha: float,
    perturbation: Perturbation,
    *,
    h: float = 0.5,
    n_draws: int = 1,
    tol: float = 1e-10,
    random_state: Any = None,
) -> Floats:
    """Return private linear models of one data set.

    Each draw costs ``perturbation.epsilon``; more than one is for studies, where the privacy
    of the data is no concern.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Records. Their norms are not checked here.
    y : ndarray of shape (n_samples,)
        Targets, -1.0 or +1.0.
    loss : {"logistic", "huber", "smooth_hinge"} or CustomLoss
        The loss.
    alpha : float
        Strength of the penalty, the paper's Λ.
    perturbation : Perturbation
        From `calibrate_perturbation` with the same loss, alpha and number of records.
    h : float, default=0.5
        Half-width of the smoothed hinges.
    n_draws : int, default=1
        How many models, with independent noise.
    tol : float, default=1e-10
        Largest norm of the gradient, relative to that of one record (LB) or of the noise,
        whichever is larger.
    random_state : None, int or RandomState, default=None
        None for secret noise.

    Returns
    -------
    coef : ndarray of shape (n_draws, n_features)
        The models.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import calibrate_perturbation, private_minimisers
    >>> X, y = np.array([[0.6, 0.8], [-1.0, 0.0]]), np.array([1.0, -1.0])
    >>> noise = calibrate_perturbation("output", n_samples=2, alpha=0.1, epsilon=np.inf)
    >>> private_minimisers(X, y, "logistic", 0.1, noise).round(3).tolist()
    [[1.482, 0.741]]
    """
    chosen = private_loss(loss, h)
    source = noise_source(random_state)
    n, d = X.shape
    if perturbation.method == "output":  # Algorithm 1
        best = exact_minimiser(X, y, chosen, alpha, perturbation, tol)
        noise = [draw_noise(d, perturbation.noise_scale, source) for _ in range(n_draws)]
        return best + np.array(noise).reshape(n_draws, d)
    strength = alpha + perturbation.delta_reg
    # Several draws share their start; a single one begins with its own noise.
    start = exact_minimiser(X, y, chosen, strength, perturbation, tol) if n_draws > 1 else None
    models = np.empty((n_draws, d))
    for k in range(n_draws):  # Algorithm 2
        b = draw_noise(d, perturbation.noise_scale, source)
        models[k] = exact_minimiser(
            X, y, chosen, strength, perturbation, tol, tilt=b / n, start=start
        )
    return models
