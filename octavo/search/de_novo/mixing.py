"""How long a chain must run: bounds on the mixing time (Propositions 5.18 and 5.19)."""

from __future__ import annotations

import math

from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import is_real

__all__ = ["coupling_burn_in", "independence_burn_in"]


def _check_eps(eps: float) -> None:
    if not is_real(eps) or not 0 < eps < 1:
        raise ValueError(f"A tolerance eps between 0 and 1 is needed; got {eps!r}.")


@checked
def independence_burn_in(c: float, eps: float) -> int:
    """Return steps after which an independent chain is within `eps` of its target (Prop. 5.19).

    Parameters
    ----------
    c : float
        Largest ratio of the target to the proposal's law, max p(y* | x) / p(y*); at least 1.
    eps : float
        Distance that is allowed, 2 (1 - 1/c)^t after t steps.

    Returns
    -------
    n_steps : int
        ⌈ln(2 / eps) / ln(c / (c - 1))⌉, and 1 for c = 1, where every proposal is accepted.

    Examples
    --------
    >>> from octavo.search import independence_burn_in
    >>> independence_burn_in(2.0, 0.01), independence_burn_in(10.0, 0.01)
    (8, 51)
    """
    _check_eps(eps)
    if not is_real(c) or not 1 <= c < math.inf:
        raise ValueError(f"The ratio c must be a finite number of at least 1; got {c!r}.")
    if c == 1:
        return 1
    # ln(c / (c - 1)) = -ln(1 - 1/c), without the digits that a large c would lose.
    return max(1, math.ceil(math.log(2.0 / eps) / -math.log1p(-1.0 / float(c)) - 1e-12))


@checked
def coupling_burn_in(r: float, theta_norm: float, eps: float) -> int:
    """Return steps after which any chain is within `eps` of its target, by coupling (Prop. 5.18).

    The bound grows as exp(4 r ‖θ‖) and is too large to be of use unless the model knows nearly
    nothing; use `independence_burn_in`.

    Parameters
    ----------
    r : float
        Largest norm of the features, √max k(x, x).
    theta_norm : float
        Norm of the model's parameter.
    eps : float
        Distance that is allowed.

    Returns
    -------
    n_steps : int
        ⌈ln eps / ln(1 - exp(-4 r ‖θ‖))⌉.

    Examples
    --------
    >>> from octavo.search import coupling_burn_in
    >>> coupling_burn_in(1.0, 0.5, 0.01), coupling_burn_in(1.0, 2.0, 0.01)
    (32, 13726)
    """
    _check_eps(eps)
    for name, value in (("r", r), ("theta_norm", theta_norm)):
        if not is_real(value) or not 0 <= value < math.inf:
            raise ValueError(f"Norms must be finite and not negative; got {name}={value!r}.")
    exponent = 4.0 * float(r) * float(theta_norm)
    if exponent == 0.0:
        return 1
    if exponent > 600.0:
        raise ValueError(
            f"The bound exceeds exp({exponent:.3g}) steps, which nobody can run. Use "
            "independence_burn_in, or a larger penalty."
        )
    # ln ε / ln(1 - e^(-4 r ‖θ‖))
    return max(1, math.ceil(math.log(eps) / math.log1p(-math.exp(-exponent)) - 1e-12))
