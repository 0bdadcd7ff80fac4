"""The sixteen binary update rules of LIBOL, each a kernel ``(y, x, state) -> (margin, loss)``.

First order: Perceptron, ROMMA, aggressive ROMMA, ALMA_p, OGD, PA, PA-I, PA-II. Second order,
with a full or a diagonal covariance: SOP, IELLIP, CW, SCW-I, SCW-II, AROW, NAROW, NHERD.
In all of them f = w·x, m = y f, s = ‖x‖² and v = xᵀΣx, a score of 0 predicts +1, and the
covariance absorbs the row with a noise r: Σ <- Σ - Σx xᵀΣ / (v + r).

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, section 2. The source of each rule is named beside it.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams import passes as streams
from octavo.engine.streams.packed_covariance import DIAGONAL, inflate
from octavo.engine.streams.passes import JIT, ROUND, SCALE, WORD, p_norm, squared_norm
from octavo.online.one_pass.rules import (
    COUNT,
    NORM2,
    RULE,
    binary_rounds,
    confident_step,
    dual_score,
    dual_step,
    find_rule,
    new_state,
    register_rule,
    sample_stream,
    scale_weights,
    score,
    step_along,
    variance,
)

ZERO_ONE, HINGE, LOGISTIC, SQUARED = 0, 1, 2, 3
_PARALLEL = 1e-12  # sine² below which ROMMA takes the row and the weights to be parallel


@njit(**JIT)
def is_mistake(margin, y):
    """Tell whether the sign of the score is wrong; a score of 0 predicts +1."""
    return margin < 0.0 or (margin == 0.0 and y < 0.0)


@njit(**RULE)
def perceptron(y, x, state):
    """Rosenblatt (1958)."""
    margin = y * score(x, state)
    if not is_mistake(margin, y):
        return margin, 0.0
    step_along(x, state, 0, y)
    return margin, 1.0


@njit(**JIT)
def _norm_after(state, estimate):
    """Keep ‖w‖² up to date, from the weights themselves once in a while."""
    state.memory[NORM2] = estimate
    state.memory[COUNT] += 1.0  # the recursion below drifts with every rounding
    if state.memory[COUNT] % 4096.0 == 0.0:
        total = 0.0
        for k in range(state.weights.size):
            total += state.weights[k] * state.weights[k]
        state.memory[NORM2] = total * state.clock[SCALE] ** 2


@njit(**WORD)
def _romma_step(y, x, state, margin, aggressive):
    """Find the shortest w with w·w_t ≥ ‖w_t‖² and y w·x ≥ 1; Li & Long (2002), section 3.

    Returns whether there is one. Parameters: 1 for a first step y x in place of y x / s;
    1 for the release, which never drops the first constraint.
    """
    s = squared_norm(x)
    norm2 = state.memory[NORM2]
    if norm2 == 0.0:
        step = 1.0 if state.parameters[0] == 1.0 else 1.0 / s
        step_along(x, state, 0, y * step)
        _norm_after(state, step * step * s)
        return True
    if aggressive and state.parameters[1] == 0.0 and margin >= s * norm2:
        scale_weights(state, 0.0)  # y x / s meets w·w_t ≥ ‖w_t‖² by itself
        step_along(x, state, 0, y / s)
        _norm_after(state, 1.0 / s)
        return True
    gram = s * norm2 - margin * margin  # the determinant of the two constraints
    if not _PARALLEL * s * norm2 < gram < np.inf:
        return False
    keep = (s * norm2 - margin) / gram  # Lagrange multipliers of both constraints, active
    step = norm2 * (1.0 - margin) / gram
    scale_weights(state, keep)
    step_along(x, state, 0, y * step)
    # ‖keep w + step y x‖²
    _norm_after(state, keep * keep * norm2 + 2.0 * keep * step * margin + step * step * s)
    return True


@njit(**RULE)
def romma(y, x, state):
    """ROMMA, Li & Long (2002): learn from mistakes."""
    margin = y * score(x, state)
    if is_mistake(margin, y) and _romma_step(y, x, state, margin, False):
        return margin, 1.0
    return margin, 0.0


@njit(**RULE)
def aggressive_romma(y, x, state):
    """Aggressive ROMMA, Li & Long (2002): learn from margins below 1."""
    margin = y * score(x, state)
    loss = 1.0 - margin
    if loss > 0.0 and _romma_step(y, x, state, margin, True):
        return margin, loss
    return margin, 0.0


@njit(**JIT)
def _p_power(z, p):
    return z * z if p == 2.0 else abs(z) ** p


@njit(**JIT)
def _dual_score(x, state, p):
    """Return w·x where the weights of the state are u and w = ∇ ½‖u‖_p²."""
    norm = state.memory[NORM2]
    if p == 2.0 or norm == 0.0:
        return score(x, state)
    total = 0.0
    # Sum over the row's coordinates of w's link: sign(u) |u|^(p-1) / ‖u‖_p^(p-2).
    n = x.values.size
    for k in range(n + (x.bias != 0.0)):
        z = state.weights[streams.coordinate(x, k)]
        total += (x.bias if k == n else x.values[k]) * np.sign(z) * abs(z) ** (p - 1.0)
    return state.clock[SCALE] * total / norm ** ((p - 2.0) / p)


@njit(**JIT)
def _local_power(x, state, p):
    """Return Σ |z_j|^p over the coordinates of the row."""
    total = 0.0
    n = x.values.size
    for k in range(n + (x.bias != 0.0)):
        total += _p_power(state.weights[streams.coordinate(x, k)], p)
    return total


@njit(**RULE)
def alma(y, x, state):
    """ALMA_p, Gentile (2001), figure 1.

    The weights of the state are the dual vector u = link(w): it moves along the row, and
    since ‖w‖_q = ‖u‖_p a projection of w is one of u. Parameters: α, B, C, p.
    """
    alpha, big_b, big_c, p = state.parameters
    k = state.memory[COUNT] + 1.0
    norm = np.sqrt(squared_norm(x)) if p == 2.0 else p_norm(x, p)  # a power takes as long as
    f = score(x, state) if p == 2.0 else _dual_score(x, state, p)  # a row
    margin = y * f / norm
    gamma = big_b * np.sqrt(p - 1.0) / np.sqrt(k)  # Gentile (2001): γ_k = B √(p - 1) / √k
    # A margin of (1 - α) γ_k is enough.
    loss = (1.0 - alpha) * gamma - margin
    if loss <= 0.0:
        return margin, 0.0
    eta = big_c / (np.sqrt(p - 1.0) * np.sqrt(k))  # η_k = C / (√(p - 1) √k)
    step = eta * y / norm
    inner = step / state.clock[SCALE]
    power = state.memory[NORM2]  # Σ |z|^p of the unscaled vector
    if p == 2.0:
        # ‖z + inner x‖², whose z·x is f / scale
        power += inner * (2.0 * f / state.clock[SCALE] + inner * norm * norm)
        step_along(x, state, 0, step)
    else:
        power -= _local_power(x, state, p)  # only the row's coordinates change
        step_along(x, state, 0, step)
        power += _local_power(x, state, p)
    power = max(power, 0.0)
    length = state.clock[SCALE] * (np.sqrt(power) if p == 2.0 else power ** (1.0 / p))
    if length > 1.0:
        scale_weights(state, 1.0 / length)  # projection to the ball ‖w‖_q ≤ 1
        if state.clock[SCALE] == 1.0:  # the scale was folded into the weights
            power = 0.0
            for j in range(state.weights.size):
                power += _p_power(state.weights[j], p)
    state.memory[NORM2] = power
    state.memory[COUNT] = k
    return margin, loss


@njit(**JIT)
def loss_and_slope(kind, margin, mistake):
    """Return a loss of the margin and minus its derivative.

    0-1 (with the slope of the perceptron), hinge, logistic, or squared; Zinkevich (2003)
    for the descent.
    """
    if kind == ZERO_ONE:
        return (1.0, 1.0) if mistake else (0.0, 0.0)
    if kind == HINGE:
        return (1.0 - margin, 1.0) if margin < 1.0 else (0.0, 0.0)
    if kind == LOGISTIC:
        small = np.exp(-abs(margin))
        loss = np.log1p(small) + max(-margin, 0.0)  # ln(1 + e^-m), with no power that overflows
        return loss, (1.0 if margin < 0.0 else small) / (1.0 + small)
    return 0.5 * (1.0 - margin) ** 2, 1.0 - margin


@njit(**RULE)
def ogd(y, x, state):
    """Online gradient descent, Zinkevich (2003), with step C/√t. Parameters: C, loss."""
    margin = y * score(x, state)
    kind = np.int64(state.parameters[1])
    loss, slope = loss_and_slope(kind, margin, is_mistake(margin, y))
    if loss > 0.0:
        eta = state.parameters[0] / np.sqrt(state.clock[ROUND])
        step_along(x, state, 0, eta * slope * y)
    return margin, loss


@njit(**RULE)
def passive_aggressive(y, x, state):
    """PA, Crammer et al. (2006), figure 1."""
    margin = y * score(x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        step_along(x, state, 0, y * loss / squared_norm(x))
    return margin, loss


@njit(**RULE)
def passive_aggressive_1(y, x, state):
    """PA-I, Crammer et al. (2006), figure 1. Parameter: C."""
    margin = y * score(x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        step_along(x, state, 0, y * min(state.parameters[0], loss / squared_norm(x)))
    return margin, loss


@njit(**RULE)
def passive_aggressive_2(y, x, state):
    """PA-II, Crammer et al. (2006), figure 1. Parameter: C."""
    margin = y * score(x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        tau = loss / (squared_norm(x) + 0.5 / state.parameters[0])
        step_along(x, state, 0, y * tau)
    return margin, loss


@njit(**RULE)
def second_order_perceptron(y, x, state):
    """SOP, Cesa-Bianchi et al. (2005), figure 3, written with w = Σθ.

    Its score is θᵀΣ'x with Σ' = Σ - Σx xᵀΣ/(1 + v). A mistake adds y x to θ. Parameter: 1 to
    absorb every row into Σ, 0 to absorb those of mistakes.
    """
    f = score(x, state)
    v = variance(x, state)
    margin = y * dual_score(x, state, f, v, 1.0)
    if is_mistake(margin, y):
        dual_step(x, state, f, v, y, 1.0)
        return margin, 1.0
    if state.parameters[0] == 1.0:
        dual_step(x, state, f, v, 0.0, 1.0)
    return margin, 0.0


@njit(**RULE)
def improved_ellipsoid(y, x, state):
    """IELLIP, Yang, Jin & Ye (2009), with c_t = c b^(t-1). Parameters: b, c."""
    margin = y * score(x, state)
    if not is_mistake(margin, y):
        return margin, 0.0
    v = variance(x, state)
    if v <= 0.0:
        return margin, 0.0
    # c_t+1 = b c_t in every round, mistaken or not
    c = state.parameters[1] * state.parameters[0] ** (state.clock[ROUND] - 1.0)
    # (Σ - c Σg gᵀΣ) / (1 - c) with g = y x/√v: a noise of v (1 - c)/c, then a dilation
    confident_step(x, state, v, y * (1.0 - margin) / v, v * (1.0 - c) / c, 0, -1)
    if 1.0 - c < 1.0:
        inflate(state.covariance, 1.0 / (1.0 - c))
    return margin, 1.0


@njit(**JIT)
def _confidence_noise(alpha, v, phi):
    """Return the r for which Σ - βΣx xᵀΣ has β = αφ/(√u + αφv), √u the new deviation."""
    reach = alpha * v * phi
    # √u, of the positive root, as a quotient without cancellation
    root_u = 2.0 * v / (reach + np.sqrt(reach * reach + 4.0 * v))
    return root_u / (alpha * phi)


@njit(**JIT)
def _confidence_alpha(margin, v, phi):
    """Return the step of CW: the positive root of its KKT conditions."""
    psi = 1.0 + 0.5 * phi * phi
    xi = 1.0 + phi * phi
    root = np.sqrt(0.25 * margin * margin * phi**4 + v * phi * phi * xi)  # m²φ⁴/4 + vφ²ξ
    if margin > 0.0:  # the same root, without the difference of two close numbers
        return max(0.0, (v * phi * phi - margin * margin) / (v * (root + margin * psi)))
    return (root - margin * psi) / (v * xi)


@njit(**RULE)
def soft_confidence_weighted_1(y, x, state):
    """SCW-I, Wang et al. (2012), proposition 1; CW, Crammer et al. (2008), when C is infinite.

    CW is the variance form. Parameters: φ, C.
    """
    margin = y * score(x, state)
    v = variance(x, state)
    phi = state.parameters[0]
    loss = phi * np.sqrt(v) - margin
    if loss <= 0.0 or v <= 0.0:
        return margin, 0.0
    alpha = min(state.parameters[1], _confidence_alpha(margin, v, phi))
    if not alpha < np.inf:  # a variance so small that the step overflows
        return margin, 0.0
    confident_step(x, state, v, alpha * y, _confidence_noise(alpha, v, phi), 0, -1)
    return margin, loss


@njit(**RULE)
def soft_confidence_weighted_2(y, x, state):
    """SCW-II, Wang et al. (2012), proposition 2.

    Parameters: φ, C, and 1 for the root as the MATLAB release has it (2v in place of v² and
    2φ in place of φ², once each).
    """
    margin = y * score(x, state)
    v = variance(x, state)
    phi = state.parameters[0]
    loss = phi * np.sqrt(v) - margin
    if loss <= 0.0 or v <= 0.0:
        return margin, 0.0
    n = v + 0.5 / state.parameters[1]  # n = v + 1/(2C)
    phi2 = phi * phi
    if state.parameters[2] == 1.0:
        radicand = 2.0 * v * (phi2 * margin) ** 2 + 4.0 * n * v * phi2 * (n + 2.0 * v * phi)
    else:
        # φ⁴m²v² + 4nvφ²(n + vφ²)
        radicand = (phi2 * margin * v) ** 2 + 4.0 * n * v * phi2 * (n + v * phi2)
    root = np.sqrt(radicand)
    alpha = (root - margin * (2.0 * n + phi2 * v)) / (2.0 * n * (n + v * phi2))
    alpha = max(0.0, alpha)
    if not alpha < np.inf:  # a variance so small that the step overflows
        return margin, 0.0
    confident_step(x, state, v, alpha * y, _confidence_noise(alpha, v, phi), 0, -1)
    return margin, loss


@njit(**RULE)
def arow(y, x, state):
    """AROW, Crammer et al. (2009), figure 1. Parameter: r."""
    margin = y * score(x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        v = variance(x, state)
        r = state.parameters[0]
        confident_step(x, state, v, y * loss / (v + r), r, 0, -1)  # β (1 - m) with β = 1/(v + r)
    return margin, loss


@njit(**JIT)
def _narrow_noise(v, b):
    """Return the r_t of NAROW, Orabona & Crammer (2010)."""
    return v / (b * v - 1.0) if b * v > 1.0 else np.inf


@njit(**RULE)
def narow(y, x, state):
    """NAROW, Orabona & Crammer (2010), written with w = Σθ.

    Its score is θᵀΣ'x with the Σ' of r, and a margin below 1 adds y x to θ whatever r.
    Parameter: b.
    """
    f = score(x, state)
    v = variance(x, state)
    r = _narrow_noise(v, state.parameters[0])
    margin = y * dual_score(x, state, f, v, r)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        dual_step(x, state, f, v, y, r)
    return margin, loss


@njit(**RULE)
def narow_release(y, x, state):
    """NAROW as the MATLAB release has it: AROW with r_t, so no step where r_t is infinite."""
    margin = y * score(x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        v = variance(x, state)
        r = _narrow_noise(v, state.parameters[0])
        if r < np.inf:
            confident_step(x, state, v, y * loss / (v + r), r, 0, -1)
    return margin, loss


@njit(**RULE)
def nherd(y, x, state):
    """NHERD, Crammer & Lee (2010), full form. Parameter: C."""
    margin = y * score(x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        v = variance(x, state)
        c = state.parameters[0]
        # Σ - β²(v + 2/C) Σx xᵀΣ with β = 1/(v + 1/C) is a noise of 1/(C (C v + 2))
        noise = 1.0 / (c * (c * v + 2.0))
        confident_step(x, state, v, y * loss / (v + 1.0 / c), noise, 0, -1)
    return margin, loss


# One compiled pass per rule: each is kept on disk by numba, and none compiles the others.


@njit(**JIT)
def _perceptron_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(perceptron, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _romma_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(romma, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _aromma_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(aggressive_romma, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _alma_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(alma, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _ogd_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(ogd, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _pa_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(passive_aggressive, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _pa1_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(passive_aggressive_1, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _pa2_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(passive_aggressive_2, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _sop_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(second_order_perceptron, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _iellip_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(improved_ellipsoid, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _scw1_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(soft_confidence_weighted_1, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _scw2_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(soft_confidence_weighted_2, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _arow_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(arow, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _narow_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(narow, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _narow_release_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(narow_release, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _nherd_pass(rows, order, labels, state, margins, losses):
    return binary_rounds(nherd, rows, order, labels, state, margins, losses)


for _name, _run in {
    "perceptron": _perceptron_pass,
    "romma": _romma_pass,
    "aromma": _aromma_pass,
    "alma": _alma_pass,
    "ogd": _ogd_pass,
    "pa": _pa_pass,
    "pa1": _pa1_pass,
    "pa2": _pa2_pass,
}.items():
    register_rule(_name, run=_run)
for _name, _run in {
    "sop": _sop_pass,
    "iellip": _iellip_pass,
    "cw": _scw1_pass,
    "scw1": _scw1_pass,
    "scw2": _scw2_pass,
    "arow": _arow_pass,
    "narow": _narow_pass,
    "narow_release": _narow_release_pass,
    "nherd": _nherd_pass,
}.items():
    register_rule(_name, run=_run, second_order=True)


def _warmup() -> None:
    """Compile a pass of every rule."""
    for name, parameters in {
        "perceptron": (),
        "romma": (0.0, 0.0),
        "aromma": (0.0, 0.0),
        "alma": (0.9, 1.0, 1.0, 2.0),
        "ogd": (1.0, 1.0),
        "pa": (),
        "pa1": (1.0,),
        "pa2": (1.0,),
        "sop": (0.0,),
        "iellip": (0.3, 0.1),
        "scw1": (0.5, 1.0),
        "scw2": (0.5, 1.0, 0.0),
        "arow": (1.0,),
        "narow": (1.0,),
        "narow_release": (1.0,),
        "nherd": (1.0,),
    }.items():
        state = new_state(2, 1, parameters, covariance_kind=DIAGONAL)
        find_rule(name, "binary").run(*sample_stream("binary"), state, np.empty(2), np.empty(2))
