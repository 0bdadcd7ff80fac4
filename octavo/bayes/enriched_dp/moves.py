"""The three Metropolis-Hastings moves of x-clusters between y-clusters (Appendix A).

Move 1 takes an x-cluster of a y-cluster with several to another y-cluster, move 2 to a new one;
move 3 takes the only x-cluster of a y-cluster to another. The printed ratio of move 3 lacks the
parentheses of k_{x,1} (k - 1).
"""

from __future__ import annotations

import math

from octavo.bayes.enriched_dp.allocation import drop_y_cluster
from octavo.bayes.enriched_dp.densities import (
    LOG_2PI,
    X_CLUSTER,
    new_alpha,
    prior_theta,
    redraw_theta,
    row_log_like,
)
from octavo.bayes.enriched_dp.state import (
    ALPHA,
    GAUSSIAN,
    LATENT,
    NOISE,
    OWNER,
    PARTS,
    PROBIT,
    RESPONSE,
    ROWS,
    SIZE,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_uniform


@njit(cache=True, error_model="numpy")
def change_of_rows(l, response, design, rows, labels, beta, ys, auxiliary, old, new):
    """Return Σ log K(y | x, θ_new) - log K(y | x, θ_old) over an x-cluster; -1 is no term.

    A probit's latent numbers are given.
    """
    total, row, kind = 0.0, RESPONSE, response
    if response <= PROBIT:
        row, kind = LATENT, GAUSSIAN
    for i in range(labels.size):
        if labels[i] == l:
            if new >= 0:
                total += row_log_like(
                    kind, rows[row, i], design, i, beta, new, ys[new, NOISE], auxiliary
                )
            if old >= 0:
                total -= row_log_like(
                    kind, rows[row, i], design, i, beta, old, ys[old, NOISE], auxiliary
                )
    return total


@njit(cache=True, error_model="numpy")
def pick(several, sizes, xi, yi, rng):
    """Return an x-cluster of y-clusters with several (or with one), uniformly, and their number."""
    count = 0
    for l in range(sizes[1]):
        if (yi[xi[l, OWNER], PARTS] > 1) == several:
            count += 1
    rank = int(draw_uniform(rng) * count)
    for l in range(sizes[1]):
        if (yi[xi[l, OWNER], PARTS] > 1) == several:
            if rank == 0:
                return l, count
            rank -= 1
    return -1, 0


@njit(cache=True, error_model="numpy")
def log_rising(alpha, n):
    """Return log Γ(n) Γ(α) / Γ(α + n)."""
    return math.lgamma(float(n)) + math.lgamma(alpha) - math.lgamma(alpha + n)


@njit(cache=True, error_model="numpy")
def several_after(sizes, yi, j, h):
    """Return k_{x,2+} after y-cluster j gave an x-cluster to h."""
    total = 0
    for g in range(sizes[0]):
        size = yi[g, PARTS]
        if g == j:
            size -= 1
        elif g == h:
            size += 1
        if size > 1:
            total += size
    return total


@njit(cache=True, error_model="numpy")
def block_marginal(
    l, n, response, design, rows, prior, scalars, labels, xi, beta, ys, new, rng, block
):
    """Return log h_y of an x-cluster's rows, with θ drawn from their posterior as slot `new`."""
    d, known = design.shape[1], response == PROBIT
    log_det, rest = redraw_theta(
        l, X_CLUSTER, n, response, design, rows, prior, scalars, labels, xi, beta, ys, new, rng,
        block,
    )  # fmt: skip
    value = -0.5 * (log_det + n * LOG_2PI)  # -½ ln|Ĉ| - n/2 ln 2π
    for h in range(d):
        value += math.log(prior[d + h, h])  # ½ ln|C| from its factor
    if known:
        return value - 0.5 * rest
    a, b = scalars[0], scalars[1]
    after = a + 0.5 * n
    value += a * math.log(b) - after * math.log(b + 0.5 * rest)  # a_y ln b_y - â ln b̂
    return value + math.lgamma(after) - math.lgamma(a)


@njit(cache=True, error_model="numpy")
def shuffle_clusters(
    design, rows, prior, scalars, modes, labels, sizes, xi, yi, beta, ys, deep, auxiliary, rng,
    block, tried,
):  # fmt: skip
    """Move 1, then move 2 or move 3 with equal chances."""
    response = modes[0]
    second = 1 if draw_uniform(rng) < 0.5 else 2
    for turn in range(2):
        move = 0 if turn == 0 else second
        k = sizes[0]
        if k >= yi.shape[0] or (move != 1 and k < 2):
            continue
        l, count = pick(move != 2, sizes, xi, yi, rng)
        if l < 0:
            continue
        j, n, h = xi[l, OWNER], xi[l, SIZE], k
        if move == 1:
            new_alpha(scalars, rng, ys, k)
            yi[k, ROWS] = yi[k, PARTS] = 0
        else:
            h = int(draw_uniform(rng) * (k - 1))
            h = h + 1 if h >= j else h  # h uniform over the other y-clusters
        a_j, a_h, n_j, n_h = ys[j, ALPHA], ys[h, ALPHA], yi[j, ROWS], yi[h, ROWS]
        # the partition's prior, then likelihoods, then proposals
        # α_h / α_j, and the Γ of Proposition 2 that change
        ratio = math.log(a_h / a_j) + log_rising(a_h, n_h + n) - log_rising(a_j, n_j)
        if move == 1:
            ratio += math.log(scalars[7])  # move 2 makes a y-cluster: α_θ
        else:
            ratio -= log_rising(a_h, n_h)
        if move == 2:
            ratio -= math.log(scalars[7])  # move 3 ends one: 1 / α_θ
        else:
            ratio += log_rising(a_j, n_j - n)
        old, new = j, h
        if auxiliary is None:
            if move > 0:
                block_value = block_marginal(
                    l, n, response, design, rows, prior, scalars, labels, xi, beta, ys, k, rng,
                    block,
                )  # fmt: skip
                # h_y of the block: of the new cluster in move 2, of the old in move 3
                ratio += block_value if move == 1 else -block_value
                old, new = (j, -1) if move == 1 else (-1, h)
        elif move == 1:  # θ from the prior, with its likelihood in place of h_y
            prior_theta(block, prior, rng, beta, k)
        ratio += change_of_rows(l, response, design, rows, labels, beta, ys, auxiliary, old, new)
        after = several_after(sizes, yi, j, h)
        if move == 0:
            ratio += math.log(count / after)  # k_{x,2+} / k*_{x,2+}
        elif move == 1:  # of all x-clusters those that are alone afterwards
            ratio += math.log(count / ((sizes[1] - after) * k))  # k_{x,2+} / (k*_{x,1} k)
        else:
            # k_{x,1} (k - 1) / k*_{x,2+}, k before the move
            ratio += math.log(count * (k - 1) / after)
        tried[1, move] += 1.0
        if math.log(1.0 - draw_uniform(rng)) >= ratio:
            continue
        tried[0, move] += 1.0
        if move == 1:
            sizes[0] = k + 1
        xi[l, OWNER] = h
        yi[j, ROWS] -= n
        yi[h, ROWS] += n
        yi[j, PARTS] -= 1
        yi[h, PARTS] += 1
        if move == 2:
            drop_y_cluster(j, sizes, xi, yi, beta, ys, deep)


def _warmup() -> None:
    from octavo.bayes.enriched_dp.chain import warm_chain

    warm_chain()
