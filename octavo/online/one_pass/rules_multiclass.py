"""The thirteen multiclass update rules of LIBOL, each a kernel ``(y, x, state) -> (margin, loss)``.

Perceptron (max, uniform, proportional), ROMMA, aggressive ROMMA, OGD, PA, PA-I, PA-II, CW,
SCW-I, SCW-II and AROW. Class k has score F_k = W_k·x, the prediction is the first largest, the
rival of class y is the first largest of the others, and m is the score of y minus that of its
rival. All classes share one covariance Σ, so that the margin has variance 2v, v = xᵀΣx.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, section 2. K. Crammer, Y. Singer. Ultraconservative online algorithms for multiclass
problems. JMLR 3, 2003: the three perceptrons. The source of every other rule is named beside
it.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.packed_covariance import DIAGONAL
from octavo.engine.streams.passes import JIT, ROUND, SCALE, WORD, squared_norm
from octavo.online.one_pass.rules import (
    COUNT,
    NORM2,
    RULE,
    confident_step,
    find_rule,
    multiclass_rounds,
    new_state,
    register_rule,
    rival,
    sample_stream,
    scale_weights,
    step_along,
    variance,
)
from octavo.online.one_pass.rules_binary import loss_and_slope

_PARALLEL = 1e-12


@njit(**JIT)
def is_mistake(margin, y, other):
    """Tell whether class ``y`` is not the first largest score."""
    return margin < 0.0 or (margin == 0.0 and other < y)


@njit(**JIT)
def _step_pair(x, state, y, other, step):
    """W_y += step x, W_rival -= step x."""
    step_along(x, state, y, step)
    step_along(x, state, other, -step)


@njit(**RULE)
def perceptron_max(y, x, state):
    """Blame the rival alone; Crammer & Singer (2003)."""
    margin, other = rival(y, x, state)
    if not is_mistake(margin, y, other):
        return margin, 0.0
    _step_pair(x, state, y, other, 1.0)  # the release's M: only the best rival is blamed
    return margin, 1.0


@njit(**JIT)
def _is_legacy(state):
    return state.parameters.size > 0 and state.parameters[0] == 1.0


@njit(**RULE)
def perceptron_uniform(y, x, state):
    """Blame all classes that score above y alike; in a tie the rival, or nobody.

    Parameter: 1 for nobody, as in the release.
    """
    margin, other = rival(y, x, state)
    if not is_mistake(margin, y, other):
        return margin, 0.0
    above = 0
    for c in range(state.scores.size):
        above += state.scores[c] > state.scores[y]
    step_along(x, state, y, 1.0)
    if above == 0 and not _is_legacy(state):
        step_along(x, state, other, -1.0)
    for c in range(state.scores.size):
        if state.scores[c] > state.scores[y]:
            step_along(x, state, c, -1.0 / above)  # -x/|E|, E the classes above y
    return margin, 1.0


@njit(**RULE)
def perceptron_proportional(y, x, state):
    """Blame classes in proportion to how far they score above y; in a tie as the uniform rule."""
    margin, other = rival(y, x, state)
    if not is_mistake(margin, y, other):
        return margin, 0.0
    excess = 0.0
    for c in range(state.scores.size):
        excess += max(0.0, state.scores[c] - state.scores[y])
    step_along(x, state, y, 1.0)
    if excess == 0.0 and not _is_legacy(state):
        step_along(x, state, other, -1.0)
    for c in range(state.scores.size):
        if state.scores[c] > state.scores[y]:
            # -x (F_k - F_y) / Σ_E (F_l - F_y)
            step_along(x, state, c, -(state.scores[c] - state.scores[y]) / excess)
    return margin, 1.0


@njit(**JIT)
def _norm_after(state, estimate, exact):
    """Keep ‖W‖² up to date, from the weights themselves when asked and once in a while."""
    state.memory[NORM2] = estimate
    state.memory[COUNT] += 1.0
    if exact or state.memory[COUNT] % 4096.0 == 0.0:
        total = 0.0
        for k in range(state.weights.size):
            total += state.weights[k] * state.weights[k]
        state.memory[NORM2] = total * state.clock[SCALE] ** 2


@njit(**JIT)
def _scale_pair(state, y, other, factor):
    """Multiply the weights of two classes by ``factor`` (their scale stays 1)."""
    n = state.scores.size
    for j in range(0, state.weights.size, n):
        for c in (y, other):
            if state.drift.size > 0:
                change = (factor - 1.0) * state.weights[j + c]
                state.drift[j + c] += (state.clock[ROUND] - 1.0) * change
            state.weights[j + c] *= factor


@njit(**WORD)
def _romma_step(y, other, x, state, margin, aggressive):
    """Take the step of Li & Long (2002) on the matrix W, whose row has squared norm 2s.

    Returns whether there is one. Parameters: 1 for a first step along x in place of x/(2s);
    1 for the release, which never drops the first constraint and scales two classes only.
    """
    s = 2.0 * squared_norm(x)  # of y's row less the rival's, as one long vector
    norm2 = state.memory[NORM2]
    release = state.parameters[1] == 1.0
    if norm2 == 0.0:
        step = 1.0 if state.parameters[0] == 1.0 else 1.0 / s
        _step_pair(x, state, y, other, step)
        _norm_after(state, step * step * s, False)
        return True
    if aggressive and not release and margin >= s * norm2:
        scale_weights(state, 0.0)
        _step_pair(x, state, y, other, 1.0 / s)
        _norm_after(state, 1.0 / s, False)
        return True
    gram = s * norm2 - margin * margin
    if not _PARALLEL * s * norm2 < gram < np.inf:
        return False
    # The binary step with 2s in place of s; all rows shrink, where the release shrinks two.
    keep = (s * norm2 - margin) / gram
    step = norm2 * (1.0 - margin) / gram
    if release:
        _scale_pair(state, y, other, keep)
    else:
        scale_weights(state, keep)
    _step_pair(x, state, y, other, step)
    expected = keep * keep * norm2 + 2.0 * keep * step * margin + step * step * s
    _norm_after(state, expected, release)
    return True


@njit(**RULE)
def romma(y, x, state):
    """ROMMA, Li & Long (2002): learn from mistakes."""
    margin, other = rival(y, x, state)
    if is_mistake(margin, y, other) and _romma_step(y, other, x, state, margin, False):
        return margin, 1.0
    return margin, 0.0


@njit(**RULE)
def aggressive_romma(y, x, state):
    """Aggressive ROMMA, Li & Long (2002): learn from margins below 1."""
    margin, other = rival(y, x, state)
    loss = 1.0 - margin
    if loss > 0.0 and _romma_step(y, other, x, state, margin, True):
        return margin, loss
    return margin, 0.0


@njit(**RULE)
def ogd(y, x, state):
    """Online gradient descent, Zinkevich (2003), with step C/√t. Parameters: C, loss."""
    margin, other = rival(y, x, state)
    kind = np.int64(state.parameters[1])
    loss, slope = loss_and_slope(kind, margin, is_mistake(margin, y, other))
    if loss > 0.0:
        eta = state.parameters[0] / np.sqrt(state.clock[ROUND])
        _step_pair(x, state, y, other, eta * slope)
    return margin, loss


@njit(**RULE)
def passive_aggressive(y, x, state):
    """PA, Crammer et al. (2006), section 7."""
    margin, other = rival(y, x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        _step_pair(x, state, y, other, loss / (2.0 * squared_norm(x)))  # τ = ℓ / 2s
    return margin, loss


@njit(**RULE)
def passive_aggressive_1(y, x, state):
    """PA-I, Crammer et al. (2006), section 7. Parameter: C."""
    margin, other = rival(y, x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        tau = min(state.parameters[0], loss / (2.0 * squared_norm(x)))
        _step_pair(x, state, y, other, tau)
    return margin, loss


@njit(**RULE)
def passive_aggressive_2(y, x, state):
    """PA-II, Crammer et al. (2006), section 7. Parameter: C."""
    margin, other = rival(y, x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        tau = loss / (2.0 * squared_norm(x) + 0.5 / state.parameters[0])  # τ = ℓ / (2s + 1/(2C))
        _step_pair(x, state, y, other, tau)
    return margin, loss


@njit(**JIT)
def _confidence_noise(alpha, v, phi):
    """Return the r for which Σ - βΣx xᵀΣ has β = αφ/(t + αφv), t the new deviation of m."""
    reach = alpha * v * phi
    # m has variance 2v, hence 8v under the root
    deviation = 4.0 * v / (reach + np.sqrt(reach * reach + 8.0 * v))
    return deviation / (alpha * phi)


@njit(**JIT)
def _confidence_alpha(margin, v, phi, release):
    """Return the step of CW, the positive root of its KKT conditions with variance 2v.

    The release has ψ where these conditions give ζ.
    """
    psi = 1.0 + 0.5 * phi * phi
    zeta = psi if release else 1.0 + 0.25 * phi * phi
    root = np.sqrt(margin * margin * (zeta * zeta - psi) + 2.0 * v * phi * phi * psi)
    if margin > 0.0:  # the same root, without the difference of two close numbers
        excess = 2.0 * v * phi * phi - margin * margin
        return max(0.0, excess / (2.0 * v * (root + margin * zeta)))
    return (root - margin * zeta) / (2.0 * v * psi)


@njit(**RULE)
def soft_confidence_weighted_1(y, x, state):
    """SCW-I, Wang et al. (2012); CW, Crammer et al. (2009b), when C is infinite.

    Parameters: φ, C, and 1 for the step and the trigger m < φ√v of the MATLAB release.
    """
    margin, other = rival(y, x, state)
    v = variance(x, state)
    phi = state.parameters[0]
    release = state.parameters[2] == 1.0
    # √(2v): Σ is shared, so the margin adds the variances of two classes
    loss = phi * np.sqrt(v if release else 2.0 * v) - margin
    if loss <= 0.0 or v <= 0.0:
        return margin, 0.0
    alpha = min(state.parameters[1], _confidence_alpha(margin, v, phi, release))
    if not alpha < np.inf:  # a variance so small that the step overflows
        return margin, 0.0
    confident_step(x, state, v, alpha, _confidence_noise(alpha, v, phi), y, other)
    return margin, loss


@njit(**RULE)
def soft_confidence_weighted_2(y, x, state):
    """SCW-II, Wang et al. (2012). Parameters: φ, C, and 1 for the trigger of the release."""
    margin, other = rival(y, x, state)
    v = variance(x, state)
    phi = state.parameters[0]
    loss = phi * np.sqrt(v if state.parameters[2] == 1.0 else 2.0 * v) - margin
    if loss <= 0.0 or v <= 0.0:
        return margin, 0.0
    n = 2.0 * v + 0.5 / state.parameters[1]  # n of the binary rule, with variance 2v
    phi2 = phi * phi
    # φ⁴m²v² + 8nvφ²(n + vφ²)
    root = np.sqrt((phi2 * margin * v) ** 2 + 8.0 * n * v * phi2 * (n + v * phi2))
    alpha = (root - margin * (2.0 * n + phi2 * v)) / (2.0 * n * (n + v * phi2))
    alpha = max(0.0, alpha)
    if not alpha < np.inf:  # a variance so small that the step overflows
        return margin, 0.0
    confident_step(x, state, v, alpha, _confidence_noise(alpha, v, phi), y, other)
    return margin, loss


@njit(**RULE)
def arow(y, x, state):
    """AROW, Crammer et al. (2009). Parameter: r."""
    margin, other = rival(y, x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        v = variance(x, state)
        r = state.parameters[0]
        confident_step(x, state, v, loss / (v + r), r, y, other)
    return margin, loss


# One compiled pass per rule: each is kept on disk by numba, and none compiles the others.


@njit(**JIT)
def _perceptron_max_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(perceptron_max, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _perceptron_uniform_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(perceptron_uniform, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _perceptron_proportional_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(perceptron_proportional, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _romma_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(romma, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _aromma_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(aggressive_romma, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _ogd_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(ogd, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _pa_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(passive_aggressive, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _pa1_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(passive_aggressive_1, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _pa2_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(passive_aggressive_2, rows, order, labels, state, margins, losses)


@njit(**JIT)
def _scw1_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(
        soft_confidence_weighted_1, rows, order, labels, state, margins, losses
    )


@njit(**JIT)
def _scw2_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(
        soft_confidence_weighted_2, rows, order, labels, state, margins, losses
    )


@njit(**JIT)
def _arow_pass(rows, order, labels, state, margins, losses):
    return multiclass_rounds(arow, rows, order, labels, state, margins, losses)


for _name, _run in {
    "perceptron_max": _perceptron_max_pass,
    "perceptron_uniform": _perceptron_uniform_pass,
    "perceptron_proportional": _perceptron_proportional_pass,
    "romma": _romma_pass,
    "aromma": _aromma_pass,
    "ogd": _ogd_pass,
    "pa": _pa_pass,
    "pa1": _pa1_pass,
    "pa2": _pa2_pass,
}.items():
    register_rule(_name, task="multiclass", run=_run)
for _name, _run in {
    "cw": _scw1_pass,
    "scw1": _scw1_pass,
    "scw2": _scw2_pass,
    "arow": _arow_pass,
}.items():
    register_rule(_name, task="multiclass", run=_run, second_order=True)


def _warmup() -> None:
    """Compile a pass of every rule."""
    for name, parameters in {
        "perceptron_max": (),
        "perceptron_uniform": (),
        "perceptron_proportional": (),
        "romma": (0.0, 0.0),
        "aromma": (0.0, 0.0),
        "ogd": (1.0, 1.0),
        "pa": (),
        "pa1": (1.0,),
        "pa2": (1.0,),
        "scw1": (0.5, 1.0, 0.0),
        "scw2": (0.5, 1.0, 0.0),
        "arow": (1.0,),
    }.items():
        state = new_state(2, 2, parameters, covariance_kind=DIAGONAL)
        stream = sample_stream("multiclass")
        find_rule(name, "multiclass").run(*stream, state, np.empty(2), np.empty(2))
