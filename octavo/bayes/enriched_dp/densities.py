"""Compiled densities and draws of the local kernels: K(y | x, θ), K(x | ψ), and their posteriors."""

from __future__ import annotations

import math

from octavo.bayes.enriched_dp.state import COUNT, GAUSSIAN, LOGIT, PROBIT
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import solve_lower, solve_upper
from octavo.engine.mcmc.compiled_draws import draw_gamma, draw_normal, draw_uniform

LOG_2PI = math.log(2.0 * math.pi)
LOG_PI = math.log(math.pi)
TINY = 1e-300
LEAST_ALPHA = 1e-10


@njit(cache=True, error_model="numpy")
def log_normal_cdf(x):
    """Return log Φ(x), exact to doubles also where Φ underflows."""
    if x > -30.0:
        return math.log(0.5 * math.erfc(-x * math.sqrt(0.5)))
    y = 1.0 / (x * x)  # the next term is below 2e-10
    return -0.5 * x * x - math.log(-x) - 0.5 * LOG_2PI + math.log1p(-y + 3.0 * y * y)


@njit(cache=True, error_model="numpy")
def draw_beyond(state, a):
    """Return a standard normal draw that lies above a (Robert 1995)."""
    if a < 0.45:
        while True:
            z = draw_normal(state)
            if z > a:
                return z
    rate = 0.5 * (a + math.sqrt(a * a + 4.0))
    while True:
        z = a - math.log(1.0 - draw_uniform(state)) / rate
        if draw_uniform(state) <= math.exp(-0.5 * (z - rate) * (z - rate)):
            return z


@njit(cache=True, error_model="numpy")
def dot(u, v):
    total = 0.0
    for h in range(u.size):
        total += u[h] * v[h]
    return total


@njit(cache=True, error_model="numpy")
def row_log_like(response, y, x, beta, noise):
    """Return log K(y | x, θ) of one row; beta is (outputs, d)."""
    eta = dot(x, beta[0])
    if response == GAUSSIAN:
        return -0.5 * (LOG_2PI + math.log(noise) + (y - eta) * (y - eta) / noise)
    if response == PROBIT:
        return log_normal_cdf(eta if y > 0.5 else -eta)
    if response != LOGIT:  # Poisson with a log link; y! is the same for all clusters
        return y * eta - math.exp(min(eta, 700.0))
    if beta.shape[0] == 1:
        eta = eta if y > 0.5 else -eta
        return -math.log1p(math.exp(-eta)) if eta > -700.0 else eta
    own, top = 0.0, -math.inf
    for c in range(beta.shape[0]):
        eta = dot(x, beta[c])
        top = max(top, eta)
        if c == int(y):
            own = eta
    total = 0.0
    for c in range(beta.shape[0]):
        total += math.exp(dot(x, beta[c]) - top)
    return own - top - math.log(total)


@njit(cache=True, error_model="numpy")
def draw_theta(L, u, squares, n, noise_prior, known, state, work, beta0, beta):
    """Draw β and σ² given the factor L of Ĉ, u = Xᵀr, rᵀr and n; return σ² and log b̂ terms.

    r is the response less that of beta0; `known` keeps σ² at one.
    """
    solve_lower(L, u, work)
    rest = max(squares - dot(work, work), 0.0)
    noise = 1.0
    if not known:
        noise = (noise_prior[1] + 0.5 * rest) / max(
            draw_gamma(state, noise_prior[0] + 0.5 * n), TINY
        )
    scale = math.sqrt(noise)
    for h in range(work.size):
        work[h] += scale * draw_normal(state)
    solve_upper(L, work)
    for h in range(work.size):
        beta[h] = beta0[h] + work[h]
    return noise, rest


@njit(cache=True, error_model="numpy")
def log_block(log_det_prior, log_det, rest, n, noise_prior, known):
    """Return log h_y of a block of n rows, given what `draw_theta` leaves."""
    value = 0.5 * (log_det_prior - log_det - n * LOG_2PI)
    if known:
        return value - 0.5 * rest
    a, b = noise_prior[0], noise_prior[1]
    after = a + 0.5 * n
    value += a * math.log(b) - after * math.log(b + 0.5 * rest)
    return value + math.lgamma(after) - math.lgamma(a)


@njit(cache=True, error_model="numpy")
def normal_posterior(n, s1, s2, mu0, c, a, b):
    """Return the NIG posterior of a column: mean, precision factor, shape and rate."""
    after = c + n
    mean = (c * mu0 + s1) / after
    rate = b
    if n > 0:
        centre = s1 / n
        rate += 0.5 * max(s2 - s1 * centre, 0.0) + 0.5 * c * n * (centre - mu0) ** 2 / after
    return mean, after, a + 0.5 * n, rate


@njit(cache=True, error_model="numpy")
def draw_psi(n, s1, s2, counts, base, state, mu, prec, table):
    """Draw the parameters of an x-cluster from their posterior given its sums; return a constant.

    The constant is what log K(x | ψ) holds beside the squares of the Gaussian columns.
    """
    const = 0.0
    mu0, c, a, b = base.mu0, base.c, base.a, base.b
    for h in range(mu.size):
        mean, after, shape, rate = normal_posterior(n, s1[h], s2[h], mu0[h], c[h], a[h], b[h])
        prec[h] = max(draw_gamma(state, shape), TINY) / rate
        mu[h] = mean + draw_normal(state) / math.sqrt(prec[h] * after)
        const += 0.5 * (math.log(prec[h]) - LOG_2PI)
    for g in range(base.kinds.size):
        start = base.starts[g]
        if base.kinds[g] == COUNT:
            rate = max(draw_gamma(state, base.others[g, 0] + counts[start]), TINY)
            rate /= base.others[g, 1] + n
            table[start], table[start + 1] = math.log(rate), rate
            continue
        total = 0.0
        for v in range(start, start + base.widths[g]):
            table[v] = max(draw_gamma(state, base.others[g, 0] + counts[v]), TINY)
            total += table[v]
        for v in range(start, start + base.widths[g]):
            table[v] = math.log(table[v] / total)
    return const


@njit(cache=True, error_model="numpy")
def predictive_psi(n, s1, s2, counts, base, mu, prec, power, table):
    """Fill in the posterior-predictive law of an x-cluster (Algorithm 3); return its constant.

    A Gaussian column has the t density exp(const) (1 + prec (x - mu)²)^(-power).
    """
    const = 0.0
    mu0, c, a, b = base.mu0, base.c, base.a, base.b
    for h in range(mu.size):
        mean, after, shape, rate = normal_posterior(n, s1[h], s2[h], mu0[h], c[h], a[h], b[h])
        mu[h], prec[h], power[h] = mean, 0.5 * after / (rate * (after + 1.0)), shape + 0.5
        const += math.lgamma(shape + 0.5) - math.lgamma(shape)
        const += 0.5 * (math.log(prec[h]) - LOG_PI)
    for g in range(base.kinds.size):
        start = base.starts[g]
        if base.kinds[g] == COUNT:
            table[start] = base.others[g, 0] + counts[start]
            table[start + 1] = base.others[g, 1] + n
            continue
        total = n + base.widths[g] * base.others[g, 0]
        for v in range(start, start + base.widths[g]):
            table[v] = math.log((base.others[g, 0] + counts[v]) / total)
    return const


@njit(cache=True, error_model="numpy")
def others_log_like(x, n_gaussian, base, table, collapsed):
    """Return the log density of the columns that are not Gaussian."""
    value = 0.0
    for g in range(base.kinds.size):
        start, entry = base.starts[g], x[n_gaussian + g]
        if base.kinds[g] != COUNT:
            value += table[start + int(entry)]
        elif collapsed:  # negative binomial; x! is the same for all clusters
            shape, rate = table[start], table[start + 1]
            value += math.lgamma(entry + shape) - math.lgamma(shape)
            value += shape * math.log(rate / (rate + 1.0)) - entry * math.log(rate + 1.0)
        else:
            value += entry * table[start] - table[start + 1]
    return value


@njit(cache=True, error_model="numpy")
def draw_concentration(state, alpha, n, k, prior):
    """Return a concentration given n rows in k clusters (Escobar and West 1995)."""
    one, two = draw_gamma(state, alpha + 1.0), draw_gamma(state, float(n))
    rate = prior[1] - math.log(max(one / (one + two), TINY))
    odds = (prior[0] + k - 1.0) / (n * rate)
    shape = prior[0] + k
    if draw_uniform(state) * (1.0 + odds) >= odds:
        shape -= 1.0
    return max(draw_gamma(state, shape) / rate, LEAST_ALPHA)
