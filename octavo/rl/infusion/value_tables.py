"""Watkins' Q(λ) on tables, step by step, and a whole block of patients in one compiled loop.

Reference: Watkins (1989), "Learning from delayed rewards"; Sutton and Barto (1998), "Reinforcement
learning: an introduction", section 7.6; Moore et al. (2014), JMLR 15:655-696, section 3.2.3.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_normal, draw_state, draw_uniform
from octavo.rl.infusion.percepts import advance, bis_of, cell_of

TRACE_FLOOR = 1e-8  # a trace below it moves no value by more than rounding of the next step


@njit(cache=True, error_model="numpy")
def greedy(Q, s):
    """Return the best action of a state; of equals, the first, which is the lowest rate."""
    row = Q[s]
    best, value = 0, row[0]
    for a in range(1, row.shape[0]):
        better = row[a] > value  # no jumps: which action is best is hard to foretell
        best = a if better else best
        value = row[a] if better else value
    return best


@njit(cache=True, error_model="numpy")
def choose(Q, s, epsilon, state):
    """Return the best action, or with probability ε any."""
    if epsilon > 0.0 and draw_uniform(state) < epsilon:
        return int(draw_uniform(state) * Q.shape[1])
    return greedy(Q, s)


@njit(cache=True, error_model="numpy")
def spread(values, traces, active, n_active, cell, delta, cut, decay, replacing):
    """Move the values of all cells with a trace by one temporal difference, on flat tables."""
    if traces[cell] == 0.0:
        active[n_active] = cell
        n_active += 1
        traces[cell] = 1.0  # accumulating: e(s, a) + 1
    else:
        traces[cell] = 1.0 if replacing else traces[cell] + 1.0
    # After an action that is not greedy, what follows says nothing of the greedy policy.
    if cut:
        for i in range(n_active):
            values[active[i]] += delta * traces[active[i]]
            traces[active[i]] = 0.0
        return 0
    kept = 0
    for i in range(n_active):
        cell = active[i]
        trace = traces[cell]
        values[cell] += delta * trace
        trace *= decay
        if trace < TRACE_FLOOR:
            traces[cell] = 0.0
        else:
            traces[cell] = trace
            active[kept] = cell
            kept += 1
    return kept


@njit(cache=True, error_model="numpy")
def learn(Q, traces, active, n_active, s, a, reward, s2, a2, ended, alpha, gamma, decay, replacing):
    """Take one step of Watkins' Q(λ); return how many traces are alive.

    `active` lists the cells s * n_actions + a whose trace is not zero; `decay` is γλ.
    """
    best = 0.0
    cut = True
    if not ended:
        best = Q[s2, greedy(Q, s2)]
        cut = Q[s2, a2] != best  # a tie with the best action is greedy too
    # Watkins: the greedy action's value, whatever is taken
    delta = alpha * (reward + gamma * best - Q[s, a])
    cell = s * Q.shape[1] + a
    values, marks = Q.reshape(Q.size), traces.reshape(Q.size)
    return spread(values, marks, active, n_active, cell, delta, cut, decay, replacing)


@njit(cache=True, error_model="numpy")
def forget(traces, active, n_active):
    """Set all traces to zero."""
    n = traces.shape[1]
    for i in range(n_active):
        traces[active[i] // n, active[i] % n] = 0.0


@njit(cache=True, error_model="numpy")
def train_block(
    Q, visits, traces, active, counts, costs, steps, starts, targets, rates, curve, table, scalars,
    n_bins, lag, horizon, replacing, state,
):  # fmt: skip
    """Run a block of episodes of one patient; with `counts`, only count what follows what.

    `scalars` holds α, γ, λ, ε, the noise, the filter's share and the two widths.
    """
    alpha, gamma, lam, epsilon, noise, share, wide, narrow = scalars
    counting = counts.shape[0] > 0
    values, marks, n_actions = Q.reshape(Q.size), traces.reshape(Q.size), Q.shape[1]
    c, past = np.empty(4), np.empty(lag + 1)
    for episode in range(starts.shape[0]):
        step, target = steps[episode], targets[episode]
        for j in range(4):
            c[j] = starts[episode, j]
        smoothed = min(max(bis_of(curve, table, c[3]), 0.0), 100.0)
        past[:] = smoothed - target
        s = cell_of(past[0], 0.0, wide, narrow, n_bins)
        a = choose(Q, s, epsilon, state)
        n_active = 0
        for t in range(horizon):
            advance(step, c, rates[a])
            measured = bis_of(curve, table, c[3])
            if noise > 0.0:
                measured += noise * draw_normal(state)
            smoothed += share * (min(max(measured, 0.0), 100.0) - smoothed)
            error = smoothed - target
            place = (t + 1) % (lag + 1)
            past[place] = error
            change = error - past[(place + 1) % (lag + 1)]
            s2 = cell_of(error, change, wide, narrow, n_bins)
            top = a2 = greedy(Q, s2)
            if epsilon > 0.0 and draw_uniform(state) < epsilon:
                a2 = int(draw_uniform(state) * n_actions)
            visits[s, a] += 1
            if counting:
                counts[s, a, s2] += 1
                costs[s, a] -= abs(error)
            else:
                best = Q[s2, top]
                # Eq. (1): -|E| as the action leaves it
                delta = alpha * (gamma * best - abs(error) - Q[s, a])
                n_active = spread(
                    values, marks, active, n_active, s * n_actions + a, delta, Q[s2, a2] != best,
                    gamma * lam, replacing,
                )  # fmt: skip
            s, a = s2, a2
        forget(traces, active, n_active)


@njit(cache=True, error_model="numpy")
def sweep_values(starts, following, probabilities, rewards, seen, gamma, tol, max_iter):
    """Return Q of a counted model by value iteration; unseen actions are never the best.

    Row i of a compressed table stands for state i // n_actions and action i % n_actions.
    """
    n_states, n_actions = rewards.shape
    value = np.zeros(n_states)
    Q = np.zeros((n_states, n_actions))
    for sweep in range(max_iter):
        for s in range(n_states):
            for a in range(n_actions):
                if seen[s, a]:
                    total, row = 0.0, s * n_actions + a
                    for i in range(starts[row], starts[row + 1]):
                        total += probabilities[i] * value[following[i]]
                    Q[s, a] = rewards[s, a] + gamma * total
        change = 0.0
        for s in range(n_states):
            best, any_seen = 0.0, False
            for a in range(n_actions):
                if seen[s, a] and (not any_seen or Q[s, a] > best):
                    best, any_seen = Q[s, a], True
            if any_seen:
                change = max(change, abs(best - value[s]))
                value[s] = best
        if change <= tol:
            return Q, sweep + 1
    return Q, max_iter


def _warmup() -> None:
    """Compile every kernel of this module."""
    state = draw_state(np.random.default_rng(0))
    Q, visits = np.zeros((361, 15)), np.zeros((361, 15), dtype=np.int64)
    traces, active = np.zeros((361, 15)), np.zeros(361 * 15 + 1, dtype=np.int64)
    choose(Q, 0, 0.5, state)
    learn(Q, traces, active, 0, 0, 0, 0.0, 0, 0, False, 0.1, 0.5, 0.2, False)
    forget(traces, active, 1)
    train_block(
        Q, visits, traces, active, np.zeros((0, 0, 0), dtype=np.int64), np.zeros((0, 0)),
        np.zeros((1, 4, 5)), np.zeros((1, 4)), np.full(1, 50.0), np.zeros(15), np.ones(4),
        np.empty(0), (0.1, 0.69, 0.8, 0.01, 3.0, 0.3, 20.0, 10.0), 10, 2, 1, False, state,
    )  # fmt: skip
    sweep_values(
        np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1), np.zeros((1, 1)),
        np.ones((1, 1), dtype=bool), 0.5, 1e-9, 10,
    )  # fmt: skip
