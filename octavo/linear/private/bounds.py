"""What privacy costs, before any record is looked at: bounds on noise, objective and sample size.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: Lemmas 16, 17 and 19,
Theorems 15, 18 and 27.
"""

from __future__ import annotations

import math

from octavo.engine.estimators.checked import checked
from octavo.linear.private.perturbation import Perturbation

__all__ = [
    "excess_objective_bound",
    "noise_norm_bound",
    "required_samples",
    "selection_excess_bound",
]


def _check(delta: float, **positive: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}.")
    for name, value in positive.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")


@checked
def noise_norm_bound(dimension: int, scale: float, delta: float) -> float:
    """Return a bound on the norm of the noise that holds with probability 1 - delta (Lemma 17).

    Parameters
    ----------
    dimension : int
        Number of coefficients.
    scale : float
        One over β, the `noise_scale_` of a fitted model.
    delta : float
        Probability with which the bound may fail.

    Returns
    -------
    bound : float
        ``dimension * scale * log(dimension / delta)``.

    Examples
    --------
    >>> from octavo.linear import noise_norm_bound
    >>> round(noise_norm_bound(10, scale=0.1, delta=0.05), 3)
    5.298
    """
    _check(delta, dimension=dimension, scale=scale)
    return dimension * scale * math.log(dimension / delta)  # k θ log(k/δ)


@checked
def excess_objective_bound(
    perturbation: Perturbation,
    *,
    n_samples: int,
    n_features: int,
    alpha: float,
    delta: float,
    curvature: float = 0.25,
    data_norm: float = 1.0,
) -> float:
    """Return how far a private model can be from the minimum of its objective.

    Parameters
    ----------
    perturbation : Perturbation
        From `calibrate_perturbation`.
    n_samples, n_features : int
        Size of the data.
    alpha : float
        Strength of the penalty, the paper's Λ.
    delta : float
        Probability with which the bound may fail.
    curvature : float, default=0.25
        Largest second derivative of the loss, c; used for output perturbation.
    data_norm : float, default=1
        Largest norm of a record.

    Returns
    -------
    bound : float
        With probability 1 - delta, J(private model) - min J is at most this: Lemma 16 for
        output perturbation (2 d² (c + Λ) log²(d/δ) / (Λ n ε)²) and Lemma 19 for objective
        perturbation without added penalty (4 d² log²(d/δ) / (Λ n² ε'²)), both for exact
        minimisers; the mask that hides what these lack is small beside the noise.

    Examples
    --------
    >>> from octavo.linear import calibrate_perturbation, excess_objective_bound
    >>> size = dict(n_samples=45_220, alpha=0.01)
    >>> for method in ("output", "objective"):
    ...     noise = calibrate_perturbation(method, epsilon=0.1, tol=0, **size)
    ...     print(round(excess_objective_bound(noise, n_features=105, delta=0.05, **size), 3))
    164.062
    12.904
    """
    _check(delta, n_samples=n_samples, n_features=n_features, alpha=alpha, data_norm=data_norm)
    if perturbation.noise_scale == 0:
        return 0.0
    # ‖b‖ of Lemma 17, with probability 1 - δ
    norm = noise_norm_bound(n_features, perturbation.noise_scale, delta)
    if perturbation.method == "output":
        # A function whose gradient is (cB² + Λ)-Lipschitz lies below its parabola.
        # The gradient is zero at the minimum: Lemma 16, though its proof's chain gives twice this.
        return (curvature * data_norm**2 + alpha) * norm**2 / 2.0
    if perturbation.delta_reg > 0:
        raise ValueError(
            f"Lemma 19 needs a perturbation without added penalty, got delta_reg="
            f"{perturbation.delta_reg:g}: more records, a larger alpha or a larger epsilon."
        )
    return norm**2 / (n_samples**2 * alpha)  # Lemma 19


@checked
def required_samples(
    method: str,
    *,
    norm: float,
    excess: float,
    n_features: int,
    epsilon: float,
    delta: float = 0.05,
    curvature: float = 0.25,
    constant: float = 1.0,
) -> float:
    """Return the order of the number of records that a private model needs.

    Parameters
    ----------
    method : {"objective", "output"}
        Theorem 18 or Theorem 15.
    norm : float
        Norm of the linear model that is competed with, ‖f₀‖.
    excess : float
        How much more than that model's the expected loss may be, ε_g. The theorems set
        ``alpha = excess / norm**2``.
    n_features : int
        Number of features.
    epsilon : float
        The privacy loss; infinite for what learning itself needs.
    delta : float, default=0.05
        The excess may be larger with probability 2 delta.
    curvature : float, default=0.25
        Largest second derivative of the loss, c.
    constant : float, default=1
        The theorems' constant, which they do not give: compare orders, not numbers.

    Returns
    -------
    n_samples : float
        The largest of the theorem's three terms, times the constant.

    Examples
    --------
    >>> from octavo.linear import required_samples
    >>> need = dict(norm=10.0, excess=0.05, n_features=105, epsilon=0.1)
    >>> [round(required_samples(method, **need)) for method in ("output", "objective")]
    [35920989, 1606435]
    """
    _check(delta, norm=norm, excess=excess, n_features=n_features, epsilon=epsilon)
    if method not in ("objective", "output"):
        raise ValueError(f"method must be 'objective' or 'output', got {method!r}.")
    spread = n_features * math.log(n_features / delta)
    terms = [norm**2 * math.log(1 / delta) / excess**2, spread * norm / (excess * epsilon)]
    if method == "output":
        terms.append(spread * math.sqrt(curvature) * norm**2 / (excess**1.5 * epsilon))  # Eq. (8)
    else:
        terms.append(curvature * norm**2 / (excess * epsilon))  # Theorem 18
    return constant * max(terms)


@checked
def selection_excess_bound(n_candidates: int, epsilon: float, delta: float) -> float:
    """Return how many more mistakes a privately chosen model makes than the best (Theorem 27).

    Parameters
    ----------
    n_candidates : int
        Number of models to choose from.
    epsilon : float
        Privacy of the choice.
    delta : float
        Probability with which the bound may fail.

    Returns
    -------
    bound : float
        ``2 * log(n_candidates / delta) / epsilon`` mistakes on the validation records.

    Examples
    --------
    >>> from octavo.linear import selection_excess_bound
    >>> round(selection_excess_bound(5, epsilon=0.1, delta=0.05), 1)
    92.1
    """
    _check(delta, n_candidates=n_candidates, epsilon=epsilon)
    return 2.0 * math.log(n_candidates / delta) / epsilon  # Theorem 27
