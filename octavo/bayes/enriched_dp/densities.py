"""Compiled densities and draws of the local kernels: K(y | x, θ), K(x | ψ), and their posteriors.

Arrays are those of `state`; a kernel takes the few that it needs, which compiles ten times faster
than handing over the whole state. What is None (no columns but Gaussian ones, no collapsed sums)
is not compiled.
"""

from __future__ import annotations

import math

from octavo.bayes.enriched_dp.state import (
    ALPHA,
    COUNT,
    GAUSSIAN,
    LATENT,
    LOGIT,
    MU,
    NOISE,
    OFFSET,
    OWNER,
    POWER,
    PREC,
    PROBIT,
    SUM1,
    SUM2,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import factor_in_place, solve_lower, solve_upper
from octavo.engine.mcmc.compiled_draws import draw_gamma, draw_normal, draw_uniform

LOG_2PI = math.log(2.0 * math.pi)
LOG_PI = math.log(math.pi)
TINY = 1e-300
LEAST_ALPHA = 1e-10
X_CLUSTER, Y_CLUSTER = 0, 1  # whole numbers, since a kernel is compiled for True and for False


@njit(cache=True, error_model="numpy")
def log_normal_cdf(x):
    """Return log Φ(x), also where Φ underflows."""
    if x > -30.0:
        return math.log(0.5 * math.erfc(-x * math.sqrt(0.5)))
    y = 1.0 / (x * x)  # the first omitted term is below 2e-8 of one
    return -0.5 * x * x - math.log(-x) - 0.5 * LOG_2PI + math.log1p(-y + 3.0 * y * y)


@njit(cache=True, error_model="numpy")
def draw_side(y, location, scale, rng):
    """Return a normal draw on the side of zero that the class says (Robert 1995)."""
    sign = 1.0 if y > 0.5 else -1.0
    a = -sign * location / scale
    if a < 0.45:
        z = draw_normal(rng)
        while z <= a:
            z = draw_normal(rng)
        return location + sign * scale * z
    # Robert's exponential proposal, with the rate that accepts most
    rate = 0.5 * (a + math.sqrt(a * a + 4.0))
    while True:
        z = a - math.log(1.0 - draw_uniform(rng)) / rate
        if draw_uniform(rng) <= math.exp(-0.5 * (z - rate) * (z - rate)):
            return location + sign * scale * z


@njit(cache=True, error_model="numpy")
def linear(design, i, beta, j, c):
    """Return the linear predictor of row i in y-cluster j, output c."""
    total = 0.0
    for h in range(design.shape[1]):
        total += design[i, h] * beta[j, c, h]
    return total


@njit(cache=True, error_model="numpy")
def row_log_like(response, y, design, i, beta, j, noise, rare):
    """Return log K(y | x_i, θ_j); y! of a count is left out, the same for all clusters.

    `rare` is None where the response is Gaussian or a probit: others are not compiled then.
    """
    eta = linear(design, i, beta, j, 0)
    if rare is None:
        if response == GAUSSIAN:
            return -0.5 * (LOG_2PI + math.log(noise) + (y - eta) * (y - eta) / noise)
        return log_normal_cdf(eta if y > 0.5 else -eta)
    if response != LOGIT:
        return y * eta - math.exp(min(eta, 700.0))
    if beta.shape[1] == 1:
        eta = eta if y > 0.5 else -eta
        return -math.log1p(math.exp(-eta)) if eta > -700.0 else eta
    own, top, total = 0.0, -math.inf, 0.0
    for c in range(beta.shape[1]):
        eta = linear(design, i, beta, j, c)
        if c == int(y):
            own = eta
        if eta > top:  # log Σ exp in one pass: the sum is kept relative to the largest so far
            total = total * math.exp(top - eta) + 1.0
            top = eta
        else:
            total += math.exp(eta - top)
    return own - top - math.log(total)


@njit(cache=True, error_model="numpy")
def draw_theta(block, squares, n, prior, known, scalars, rng, beta, j, c):
    """Draw β and σ² of slot j; return σ² and rᵀr - rᵀX Ĉ⁻¹ Xᵀr.

    The block holds the factor of Ĉ, and below it Xᵀr; r is the response less that of beta0;
    `known` keeps σ² at one.
    """
    d = block.shape[1]
    work = block[d + 1]
    solve_lower(block, block[d], work)
    # one triangular solve gives rᵀX Ĉ⁻¹ Xᵀr as a sum of squares, the other half of β̂ comes below
    rest = squares
    for h in range(d):
        rest -= work[h] * work[h]
    rest = max(rest, 0.0)
    noise = 1.0
    if not known:
        noise = scalars[1] + 0.5 * rest  # b̂ = b_y + (rᵀr - rᵀX Ĉ⁻¹ Xᵀr) / 2
        # â = a_y + n / 2; σ² is inverse gamma with shape and rate
        noise /= max(draw_gamma(rng, scalars[0] + 0.5 * n), TINY)
    scale = math.sqrt(noise)
    for h in range(d):
        work[h] += scale * draw_normal(rng)  # N(β̂, σ² Ĉ⁻¹), made on the factor's side
    solve_upper(block, work)
    for h in range(d):
        beta[j, c, h] = prior[2 * d, h] + work[h]
    return noise, rest


@njit(cache=True, error_model="numpy")
def block_sums(wanted, kind, design, rows, prior, labels, xi, block):
    """Set the block to Ĉ, and Xᵀr below, of an x-cluster (or a y-cluster); return rᵀr."""
    d = design.shape[1]
    for h in range(d):
        block[d, h] = 0.0
        for g in range(h + 1):
            block[h, g] = prior[h, g]
    squares = 0.0
    for i in range(labels.size):
        label = labels[i]
        if kind == Y_CLUSTER:
            label = xi[label, OWNER]
        if label != wanted:
            continue
        away = rows[LATENT, i] - rows[OFFSET, i]
        squares += away * away
        for h in range(d):
            block[d, h] += design[i, h] * away
            for g in range(h + 1):
                block[h, g] += design[i, h] * design[i, g]  # Ĉ = C + XᵀX, its lower triangle
    return squares


@njit(cache=True, error_model="numpy")
def redraw_theta(
    wanted, kind, n, response, design, rows, prior, scalars, labels, xi, beta, ys, j, rng, block
):  # fmt: skip
    """Draw θ of slot j given the n rows of a cluster; return log |Ĉ| and rᵀr - rᵀX Ĉ⁻¹ Xᵀr."""
    squares = block_sums(wanted, kind, design, rows, prior, labels, xi, block)
    log_det = factor_in_place(block)
    ys[j, NOISE], rest = draw_theta(
        block, squares, n, prior, response == PROBIT, scalars, rng, beta, j, 0
    )
    return log_det, rest


@njit(cache=True, error_model="numpy")
def prior_theta(block, prior, rng, beta, j):
    """Draw coefficients of slot j from N(β0, C⁻¹)."""
    d = block.shape[1]
    work = block[d + 1]
    for c in range(beta.shape[1]):
        for h in range(d):
            work[h] = draw_normal(rng)
        solve_upper(prior[d:], work)
        for h in range(d):
            beta[j, c, h] = prior[2 * d, h] + work[h]


@njit(cache=True, error_model="numpy")
def normal_posterior(n, s1, s2, gauss, h):
    """Return the NIG posterior of a column: mean, precision factor, shape and rate."""
    mu0, c = gauss[0, h], gauss[1, h]
    after, rate = c + n, gauss[3, h]
    if n > 0:
        centre = s1 / n
        away = centre - mu0
        # squares about the rows' own centre: no cancellation with the prior's part
        rate += 0.5 * max(s2 - s1 * centre, 0.0) + 0.5 * c * n * (away * away) / after
    return (c * mu0 + s1) / after, after, gauss[2, h] + 0.5 * n, rate


@njit(cache=True, error_model="numpy")
def draw_psi(l, n, gauss, others, rng, xp, xt):
    """Draw the parameters of x-cluster l from their posterior given its sums."""
    const = 0.0
    for h in range(gauss.shape[1]):
        mean, after, shape, rate = normal_posterior(n, xp[l, SUM1, h], xp[l, SUM2, h], gauss, h)
        prec = max(draw_gamma(rng, shape), TINY) / rate  # Eq. (4): σ_xh² is inverse gamma
        xp[l, PREC, h] = prec
        xp[l, MU, h] = mean + draw_normal(rng) / math.sqrt(prec * after)  # Eq. (4): μ_h given σ_xh²
        const += 0.5 * (math.log(prec) - LOG_2PI)
    xt[l, 0, 0] = const
    if others is None:
        return
    for g in range(others.shape[0]):
        start = int(others[g, 1])
        if others[g, 0] == COUNT:
            rate = max(draw_gamma(rng, others[g, 3] + xt[l, 1, start]), TINY)
            rate /= others[g, 4] + n
            # a Poisson rate from its gamma posterior
            xt[l, 0, start], xt[l, 0, start + 1] = math.log(rate), rate
            continue
        total = 0.0
        for v in range(start, start + int(others[g, 2])):
            xt[l, 0, v] = max(draw_gamma(rng, others[g, 3] + xt[l, 1, v]), TINY)
            total += xt[l, 0, v]
        for v in range(start, start + int(others[g, 2])):
            xt[l, 0, v] = math.log(xt[l, 0, v] / total)  # gammas over their sum: a Dirichlet draw


@njit(cache=True, error_model="numpy")
def predictive_psi(l, n, gauss, others, xp, xt):
    """Fill in the posterior-predictive law of an x-cluster (Algorithm 3).

    A Gaussian column has the t density exp(const) (1 + prec (x - mu)²)^(-power).
    """
    const, known, gammas = 0.0, -1.0, 0.0
    for h in range(gauss.shape[1]):
        mean, after, shape, rate = normal_posterior(n, xp[l, SUM1, h], xp[l, SUM2, h], gauss, h)
        # 1 / (2â scale²) of the t law, whose 2â scale² is 2b̂ (ĉ + 1) / ĉ
        prec = 0.5 * after / (rate * (after + 1.0))
        xp[l, MU, h], xp[l, PREC, h], xp[l, POWER, h] = mean, prec, shape + 0.5
        if shape != known:  # columns share a_x as a rule: two of Γ's logarithms, not two a column
            known, gammas = shape, math.lgamma(shape + 0.5) - math.lgamma(shape)
        const += gammas
        const += 0.5 * (math.log(prec) - LOG_PI)
    xt[l, 0, 0] = const
    if others is None:
        return
    for g in range(others.shape[0]):
        start = int(others[g, 1])
        if others[g, 0] == COUNT:
            xt[l, 0, start] = others[g, 3] + xt[l, 1, start]
            xt[l, 0, start + 1] = others[g, 4] + n
            continue
        total = n + others[g, 2] * others[g, 3]
        for v in range(start, start + int(others[g, 2])):
            xt[l, 0, v] = math.log((others[g, 3] + xt[l, 1, v]) / total)


@njit(cache=True, error_model="numpy")
def x_log_like(x, i, l, xp, xt, others, deep):
    """Return log K(x_i | ψ_l), x! of counts left out; where `deep` is, the log predictive density.

    `deep` is None where parameters are drawn, for the sake of the compiler.
    """
    value = 0.0
    n_gaussian = xp.shape[2]
    for h in range(n_gaussian):
        away = x[i, h] - xp[l, MU, h]
        if deep is None:
            value -= xp[l, PREC, h] * away * away
        else:  # Student's t, whose constant is kept with the cluster
            value -= xp[l, POWER, h] * math.log1p(xp[l, PREC, h] * away * away)
    if deep is None:
        value *= 0.5
    value += xt[l, 0, 0]
    if others is None:
        return value
    for g in range(others.shape[0]):
        start, entry = int(others[g, 1]), x[i, n_gaussian + g]
        if others[g, 0] != COUNT:
            value += xt[l, 0, start + int(entry)]
        elif deep is None:
            value += entry * xt[l, 0, start] - xt[l, 0, start + 1]
        else:  # negative binomial
            shape, rate = xt[l, 0, start], xt[l, 0, start + 1]
            value += math.lgamma(entry + shape) - math.lgamma(shape)
            value += shape * math.log(rate / (rate + 1.0)) - entry * math.log(rate + 1.0)
    return value


@njit(cache=True, error_model="numpy")
def add_to_sums(sign, x, i, l, others, xp, xt):
    """Let row i join (1) or leave (-1) the sums of x-cluster l."""
    n_gaussian = xp.shape[2]
    for h in range(n_gaussian):
        xp[l, SUM1, h] += sign * x[i, h]  # sufficient statistics of Eq. (4)
        xp[l, SUM2, h] += sign * x[i, h] * x[i, h]
    if others is None:
        return
    for g in range(others.shape[0]):
        start = int(others[g, 1])
        if others[g, 0] == COUNT:
            xt[l, 1, start] += sign * x[i, n_gaussian + g]
        else:
            xt[l, 1, start + int(x[i, n_gaussian + g])] += sign


@njit(cache=True, error_model="numpy")
def clear_sums(l, xp, xt):
    """Set the sums of an x-cluster to nothing."""
    for h in range(xp.shape[2]):
        xp[l, SUM1, h] = xp[l, SUM2, h] = 0.0
    for v in range(xt.shape[2]):
        xt[l, 1, v] = 0.0


@njit(cache=True, error_model="numpy")
def new_alpha(scalars, rng, ys, j):
    """Give y-cluster j its α_ψ: from the prior, or the fixed one."""
    ys[j, NOISE] = 1.0
    ys[j, ALPHA] = scalars[6]
    if scalars[4] > 0.0:  # α_ψ(θ_j) ~ Γ(shape, rate), independent over y-clusters
        ys[j, ALPHA] = max(draw_gamma(rng, scalars[4]) / scalars[5], LEAST_ALPHA)


@njit(cache=True, error_model="numpy")
def draw_concentration(rng, alpha, n, k, shape, rate):
    """Return a concentration given n rows in k clusters (Escobar and West 1995)."""
    one, two = draw_gamma(rng, alpha + 1.0), draw_gamma(rng, float(n))
    # η ~ Beta(α + 1, n) as two gammas; the rate is b - ln η
    rate -= math.log(max(one / (one + two), TINY))
    odds = (shape + k - 1.0) / (n * rate)  # (a + k - 1) / (n (b - ln η))
    shape += k
    if draw_uniform(rng) * (1.0 + odds) >= odds:
        shape -= 1.0  # Γ(a + k, ·) with chance odds / (1 + odds), Γ(a + k - 1, ·) otherwise
    return max(draw_gamma(rng, shape) / rate, LEAST_ALPHA)


def _warmup() -> None:
    from octavo.bayes.enriched_dp.chain import warm_chain

    warm_chain()
