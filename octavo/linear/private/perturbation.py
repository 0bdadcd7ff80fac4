"""How much noise a private linear model needs, and the model with that noise.

Both algorithms minimise J(f) = (1/n) Σ_i ℓ(f·x_i; y_i) + (Λ/2)‖f‖² over records of norm at most
B. Output perturbation adds noise to the minimiser, objective perturbation adds b·f/n to the
objective. Neighbours differ in one record, which is replaced; n, B and Λ are public.

The proofs are about exact minimisers and real noise. What a computer finds lies within a radius r
of what the proofs speak of: J is Λ-strongly convex, so that ‖f - f*‖ ≤ ‖∇J(f)‖/Λ, and the errors
of rounding are bounded too. The radius is public, because `tol` is, and a fit that cannot prove
to have kept it releases nothing. It is paid for: models are rounded to a grid and whole numbers
with a discrete Laplace law are added, exactly drawn. Given what the exact algorithm would have
released, neighbours come to grid points at most 2√d r/grid + d steps apart (l1), which
that mask hides at a price of `mask_epsilon`; the rest of epsilon is the exact algorithm's.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: Algorithms 1 and 2,
Theorems 6 and 9, Corollaries 8 and 13, the losses of Section 3.4. The paper has B = 1 and
|ℓ'| ≤ 1; a general bound replaces c by cB² and the 2 of the sensitivities by 2LB.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.smooth.losses import CustomLoss, SmoothLoss, make_loss
from octavo.engine.smooth.newton import newton_linear
from octavo.linear.private.noise import (
    LARGEST_SCALE,
    draw_noise,
    integer_laplace,
    noise_error,
    noise_source,
)

__all__ = [
    "ConvergenceError",
    "CustomLoss",
    "Perturbation",
    "calibrate_perturbation",
    "private_minimisers",
]

Loss = SmoothLoss | CustomLoss

_UNIT = 2.0**-53  # of rounding
_LEAST_SHARE, _LARGEST_SHARE = 2.0**-10, 0.5  # of epsilon that a mask may cost
_FAR = 2.0**52  # grid points beyond are taken for this one; a public bound like any other

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
    the slack is paid out of epsilon, 2 when it is paid by Δ), reach (2LB, how far one record
    can move n times the gradient) and mask_epsilon (what hiding the errors of optimisation
    and arithmetic may spend).
    """

    method: str
    epsilon: float
    epsilon_prime: float
    noise_scale: float
    delta_reg: float
    branch: int
    reach: float
    mask_epsilon: float = 0.0


class Mask(NamedTuple):
    """What hides the errors of a fit: models lie on a grid, moved by a discrete Laplace law.

    Fields: radius (how far a computed model may be from the exact one), grid (distance of grid
    points) and scale (of the law, in grid points; 0 for neither grid nor law).
    """

    radius: float
    grid: float
    scale: int

    def privacy_loss(self, radius: float, dimension: int) -> float:
        """Return the privacy loss of models within some radius of the exact ones."""
        steps = 2.0 * math.sqrt(dimension) * radius / self.grid + dimension
        return steps / self.scale


def check_custom_loss(loss: CustomLoss) -> None:
    """Refuse a loss whose constants are not what it says, as seen on a grid of predictions."""
    p = np.concatenate([np.linspace(-8.0, 8.0, 3201), [-1e3, -1e2, 1e2, 1e3]])
    for target in (-1.0, 1.0):
        y = np.full_like(p, target)
        slope, curvature = np.asarray(loss.slope(p, y)), np.asarray(loss.curvature(p, y))
        if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):
            raise ValueError(f"The derivatives of the loss {loss.name!r} are not finite.")
        for seen, bound, what in (
            (np.abs(slope).max(), loss.lipschitz, "absolute slope"),
            (curvature.max(), loss.curvature_bound, "curvature"),
            (-curvature.min(), 0.0, "negative curvature"),
        ):
            if seen > bound * (1 + 1e-9) + 1e-12:
                raise ValueError(
                    f"The loss {loss.name!r} promises {what} at most {bound:g}, got {seen:g}."
                )
        # A slope that is not the value's would make every bound meaningless.
        step = 1e-6
        numeric = (loss.value(p[:-4] + step, y[:-4]) - loss.value(p[:-4] - step, y[:-4])) / 2e-6
        off = float(np.abs(numeric - slope[:-4]).max())
        if off > 1e-3 * max(loss.lipschitz, 1.0):
            raise ValueError(
                f"The slope of the loss {loss.name!r} is not the derivative of its value: "
                f"they differ by {off:g}."
            )


def private_loss(loss: str | CustomLoss, h: float = 0.5) -> Loss:
    """Return a loss whose slope is bounded; the paper's by name, or the user's own, checked."""
    if isinstance(loss, str):
        return make_loss(LOSS_NAMES[loss], h)
    if not math.isfinite(loss.lipschitz):
        raise ValueError(
            f"The loss {loss.name!r} has an unbounded slope; privacy needs a finite lipschitz."
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
    tol: float = 1e-10,
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
    tol : float, default=1e-10
        How exact minimisers will be, as in `private_minimisers`. A part of epsilon, at least
        1/1024 and at most a half, is set aside to hide what they lack. Zero gives the noise of
        the paper, for exact minimisers and real numbers: to study, not to release with.

    Returns
    -------
    perturbation : Perturbation
        Named tuple (method, epsilon, epsilon_prime, noise_scale, delta_reg, branch, reach,
        mask_epsilon).

    Examples
    --------
    >>> from octavo.linear import calibrate_perturbation
    >>> noise = calibrate_perturbation("output", n_samples=1000, alpha=0.01, epsilon=0.5)
    >>> round(noise.noise_scale, 3)  # 2 / (n Λ ε), and one part in 1024 for arithmetic
    0.4
    >>> calibrate_perturbation("objective", n_samples=100, alpha=1e-4, epsilon=0.1).branch
    2
    """
    if n_samples < 1 or not alpha > 0 or not epsilon > 0 or not data_norm > 0:
        raise ValueError(
            "n_samples, alpha, epsilon and data_norm must be positive, got "
            f"{n_samples}, {alpha}, {epsilon} and {data_norm}."
        )
    if not 0 <= tol < math.inf:
        raise ValueError(f"tol must be at least 0 and finite, got {tol}.")
    reach = 2.0 * lipschitz * data_norm  # of the slopes of a record and of another in its place
    if not math.isfinite(reach):
        raise ValueError(f"The loss must have a bounded slope, got lipschitz={lipschitz}.")
    if math.isinf(epsilon):
        return Perturbation(method, epsilon, epsilon, 0.0, 0.0, 1, reach)
    # The mask's noise is about n tol / share of the algorithm's: this keeps the sum small.
    share = min(max((n_samples * tol) ** (2 / 3), _LEAST_SHARE), _LARGEST_SHARE) if tol else 0.0
    granted, mask = epsilon, share * epsilon
    epsilon -= mask
    if method == "output":
        sensitivity = reach / (n_samples * alpha)  # Corollary 8
        return Perturbation(method, granted, epsilon, sensitivity / epsilon, 0.0, 1, reach, mask)
    bend = curvature * data_norm**2  # c of Theorem 9 for rows no longer than B
    if not math.isfinite(bend):
        raise ValueError(
            f"Objective perturbation needs a bounded curvature, got {curvature}; "
            "use method='output'."
        )
    power = {"paper": 2.0, "tight": 1.0}[slack]
    # Tight: of det(A + E)/det A one rank-one factor is above, one below: one power is enough.
    left = epsilon - power * math.log1p(bend / (n_samples * alpha))  # Algorithm 2: ε'
    if branch in ("auto", "best"):
        enough = left > 0 if branch == "auto" else left >= epsilon / 2
        branch = 1 if enough else 2
    if branch == 1:
        if left <= 0:
            need = bend / np.expm1(epsilon / power)
            raise ValueError(
                f"branch=1 needs n_samples * alpha > {need:g}, got {n_samples * alpha:g}; "
                "use branch='auto'."
            )
        # β = ε'/2 for B = 1
        return Perturbation(method, granted, left, reach / left, 0.0, 1, reach, mask)
    # c / (n (e^(ε/4) - 1)): Algorithm 2's second case
    penalty = bend / (n_samples * float(np.expm1(epsilon / (2.0 * power))))  # Λ + Δ
    delta = max(penalty - alpha, 0.0)
    scale = 2 * reach / epsilon  # β = ε/4
    return Perturbation(method, granted, epsilon / 2, scale, delta, 2, reach, mask)


# --- how exact a computed minimiser is -----------------------------------------------------------


def largest_gradient(
    perturbation: Perturbation, n_samples: int, n_features: int, alpha: float, tol: float
) -> float:
    """Return the norm of the gradient up to which a minimiser counts as exact; it is public.

    It is relative to what a record can do, or the noise on average, whichever is more.
    """
    mean_norm = n_features * perturbation.noise_scale
    is_output = perturbation.method == "output"
    noise = mean_norm * alpha if is_output else mean_norm / n_samples
    return tol * max(perturbation.reach / 2.0, noise)


def gradient_bound(
    X: Any, y: Floats, loss: Loss, alpha: float, tilt: Floats, coef: Floats
) -> float:
    """Return a number that the norm of the gradient cannot exceed, were it computed exactly.

    Sums are taken in about √n parts of √n rows, which keeps their error small; the data enter by
    the norm of their longest row.
    """
    n, d = X.shape
    rows = min(n, max(256, math.isqrt(n)))
    _, slope, _ = loss.evaluate(X @ coef, y)
    ends = np.append(np.arange(0, n, rows), n)
    parts = sp.csr_matrix((slope, np.arange(n), ends), shape=(len(ends) - 1, n))
    total = np.asarray((parts @ X).sum(axis=0)).ravel()
    if sp.issparse(X):
        squares = sp.csr_matrix((X.data * X.data, X.indices, X.indptr), shape=X.shape) @ np.ones(d)
    else:
        squares = np.einsum("ij,ij->i", X, X)
    longest = float(np.sqrt(squares.max()))
    gradient = total / n + alpha * coef + tilt
    width = int(np.diff(X.indptr).max(initial=0)) if sp.issparse(X) else d
    size = float(np.linalg.norm(coef))
    prediction = _UNIT * (width + 2) * longest * size  # error of x·f
    terms = rows + -(-n // rows) + 8
    rounding = _UNIT * terms * loss.lipschitz * longest
    rounding += 4 * _UNIT * (alpha * size + float(np.linalg.norm(tilt)))
    if math.isfinite(loss.curvature_bound):
        rounding += loss.curvature_bound * longest * prediction
    else:  # slopes may jump: they are those of a function within 2L times that error
        rounding += math.sqrt(2.0 * loss.lipschitz * prediction * alpha)
    return float(np.linalg.norm(gradient)) + 2.0 * rounding


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
    error: float = 0.0,
) -> Floats:
    """Return argmin (1/n) Σ ℓ + (alpha/2)‖f‖² + tilt·f, or raise `ConvergenceError`.

    `alpha` includes what the perturbation adds to it; `error` is how far the gradient may be
    from what it should be for reasons outside.
    """
    X = canonical_csr(X)
    own = alpha - perturbation.delta_reg if perturbation.method == "objective" else alpha
    n_samples, n_features = X.shape
    goal = largest_gradient(perturbation, n_samples, n_features, own, tol)
    is_private = perturbation.noise_scale > 0
    target = goal / 4.0 if is_private else goal  # the rest is for rounding
    found = newton_linear(X, y, loss, alpha, linear=tilt, start=start, tol=target, max_iter=500)
    norm = found.gradient_norm
    if is_private:
        linear = np.zeros(X.shape[1]) if tilt is None else tilt
        norm = gradient_bound(X, y, loss, alpha, linear, found.coef) + error
    if not norm <= goal:
        raise ConvergenceError(
            f"The gradient's norm can only be bounded by {norm:.2g} after {found.n_iter} steps; "
            f"expected at most {goal:.2g}. A minimiser that is not exact is not private, so "
            "nothing is released. More records, a larger alpha or a smaller data_norm make the "
            "problem easier."
        )
    return found.coef


# --- what is released ----------------------------------------------------------------------------


def release_mask(
    perturbation: Perturbation, n_samples: int, n_features: int, alpha: float, tol: float
) -> Mask:
    """Return the mask that a perturbation pays for, from public numbers alone."""
    strength = alpha + perturbation.delta_reg
    radius = largest_gradient(perturbation, n_samples, n_features, alpha, tol) / strength
    if perturbation.noise_scale == 0:
        return Mask(radius, 0.0, 0)
    if perturbation.mask_epsilon == 0:
        raise ValueError(
            "A perturbation that was calibrated with tol=0 is for exact arithmetic; expected one "
            "calibrated with the tol of the fit."
        )
    grid = radius / (4.0 * math.sqrt(n_features))
    # 2 √d radius is 8d steps of the grid in the l1 norm; rounding to it adds one a coefficient.
    steps = 9.0 * n_features / perturbation.mask_epsilon
    if not steps < LARGEST_SCALE:
        raise ValueError(
            f"epsilon={perturbation.epsilon:g} is too small to be kept exactly for {n_features} "
            f"coefficients: expected {9216.0 * n_features / LARGEST_SCALE:.2g} or more."
        )
    return Mask(radius, grid, math.ceil(steps))


def masked(coef: Floats, mask: Mask, source: Any) -> Floats:
    """Return coefficients on the mask's grid, moved by its noise; every grid point is possible."""
    if not mask.scale:
        return coef
    places = np.clip(np.rint(coef / mask.grid), -_FAR, _FAR).astype(np.int64)
    moved = places + integer_laplace(coef.size, mask.scale, source)
    return moved.astype(np.float64) * mask.grid


def _sum_within(best: Floats, noise: Floats, scale: float, mask: Mask) -> Floats:
    """Return a minimiser plus noise; raise unless the noise is exact to half of the radius."""
    error = noise_error(noise, scale) + 4 * _UNIT * float(np.linalg.norm(noise))
    if mask.scale and not error <= mask.radius / 2:
        raise ConvergenceError(
            f"The noise is exact to {error:.2g} only; expected {mask.radius / 2:.2g}, which is "
            "below what doubles can tell apart, so nothing is released."
        )
    return best + noise


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
        Largest norm of the gradient, relative to that of one record (LB) or to the mean of
        the noise, whichever is larger. It bounds the distance to the exact minimiser, which
        is hidden by noise in proportion: calibrate the perturbation for the same `tol`, or that
        noise is larger than it need be.
    random_state : None, int or RandomState, default=None
        None for secret noise.

    Returns
    -------
    coef : ndarray of shape (n_draws, n_features)
        The models: whole multiples of a public number, where there is noise.

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
    X = canonical_csr(X)
    n, d = X.shape
    scale, strength = perturbation.noise_scale, alpha + perturbation.delta_reg
    mask = release_mask(perturbation, n, d, alpha, tol)
    problem = (X, y, chosen, strength, perturbation, tol)
    if perturbation.method == "output":  # Algorithm 1
        # Half of the radius is for the minimiser, half for the noise.
        best = exact_minimiser(*problem, error=strength * mask.radius / 2)
        noise = [draw_noise(d, scale, source) for _ in range(n_draws)]  # Algorithm 1, step 1
        released = [masked(_sum_within(best, b, scale, mask), mask, source) for b in noise]
        return np.array(released).reshape(n_draws, d)
    # Several draws share their start; a single one begins with its own noise.
    start = exact_minimiser(*problem) if n_draws > 1 else None
    models = np.empty((n_draws, d))
    # J + bᵀf/n + Δ/2 ‖f‖².
    for k in range(n_draws):  # Algorithm 2
        b = draw_noise(d, scale, source)
        found = exact_minimiser(*problem, tilt=b / n, start=start, error=noise_error(b, scale) / n)
        models[k] = masked(found, mask, source)
    return models
