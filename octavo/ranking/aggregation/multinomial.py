"""The multinomial preference model: likelihoods and their maxima.

Every preference is one draw from a single distribution over ordered pairs, P(i over j) ∝ exp(l_ij),
where l_ij is s_i - s_j, θ (s_i - s_j) for an expert of adherence θ, or (s_i - s_j)/(γ_i + γ_j) with
variances γ. Without variances the normaliser is A·B - M with A = Σ exp(s) and B = Σ exp(-s), and
the Hessian of its logarithm is diagonal plus rank three, so that values, gradients and Newton steps
cost O(M) although there are M² pairs.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Sections 2.3 to 2.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.ranking.aggregation.preferences import PairwisePreferences
from octavo.ranking.aggregation.strengths import sums_at

# Newton steps by differences of gradients end a fit of this many parameters, or fewer.
_POLISHED = 250
DENSE = 2000  # items up to which the Hessian for given adherences is factored
_ROWS = 512  # of the normaliser with variances, at a time


class Evidence(NamedTuple):
    """What the models need of one instance.

    ``balance`` is wins less losses, items x experts (or one column, of all experts together);
    ``totals`` the experts' total strengths. The rest lists the pairs, for variances.
    """

    balance: Floats
    totals: Floats
    experts: Indices
    preferred: Indices
    other: Indices
    strengths: Floats


class Fit(NamedTuple):
    """Scores and variances of each instance, adherences of the experts, and how it ended."""

    scores: list[Floats]
    variances: list[Floats]
    adherence: Floats
    log_likelihood: float
    residual: float
    n_iter: int


def evidence_of(prefs: PairwisePreferences, *, by_expert: bool, pairs: bool) -> Evidence:
    """Return the sums, and if asked for the pairs, of one instance.

    Parameters
    ----------
    prefs : PairwisePreferences
        The instance.
    by_expert : bool
        Whether experts are kept apart.
    pairs : bool
        Whether pairs are enumerated.

    Returns
    -------
    evidence : Evidence
        The sums.
    """
    if by_expert:
        balance, totals = (prefs.wins - prefs.losses).toarray(), prefs.totals
    else:
        balance = np.asarray((prefs.wins - prefs.losses).sum(axis=1)).reshape(-1, 1)
        totals = np.array([prefs.totals.sum()])
    none = np.zeros(0, dtype=np.int64)
    if not pairs:
        return Evidence(balance, totals, none, none, none, np.zeros(0))
    found, n = prefs.pairs, prefs.n_items
    who = found.experts if by_expert else np.zeros_like(found.experts)
    # Both directions of a pair share their logit: one signed strength each.
    low, high = np.minimum(found.preferred, found.other), np.maximum(found.preferred, found.other)
    # Y_ij less Y_ji
    signed = np.where(found.preferred < found.other, found.strengths, -found.strengths)
    key, inverse = np.unique((who.astype(np.int64) * n + low) * n + high, return_inverse=True)
    strengths = sums_at(inverse, signed, key.size)
    return Evidence(balance, totals, key // (n * n), key // n % n, key % n, strengths)


def log_normalizer(s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log Σ_{k≠l} exp(s_k - s_l), and its first derivatives p - q as (value, p, q).

    Parameters
    ----------
    s : ndarray of shape (n_items,) or (n_items, n_experts)
        Scores; one model a column.

    Returns
    -------
    value : float or ndarray of shape (n_experts,)
        The logarithms.
    p, q : ndarray of the shape of s
        exp(s_i)·B/Z and exp(-s_i)·A/Z; an item's chances to be preferred, and not, plus 1/Z.
    """
    up, down, span, Z = _exponentials(s)
    value = np.log(Z) + span
    # p - q is the derivative in Eq. (1)
    return value, up * (down.sum(axis=0) / Z), down * (up.sum(axis=0) / Z)


def _exponentials(s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return exp(s), exp(-s) and Z = AB - M in units of exp(span), and the span of s."""
    top, low = s.max(axis=0), s.min(axis=0)
    up, down = np.exp(s - top), np.exp(low - s)
    # The diagonal's M is at most half of AB, so that little is lost by taking it away.
    # Σ_{k≠l} e^(s_k - s_l) = AB - M: no pair is enumerated
    Z = up.sum(axis=0) * down.sum(axis=0) - s.shape[0] * np.exp(low - top)
    return up, down, top - low, Z


def _newton_direction(s: Floats, gradient: Floats, alpha: float) -> Floats:
    """Solve (Hessian + alpha) x = gradient in O(M): the Hessian is diagonal plus rank three."""
    up, down, _, Z = _exponentials(s)
    p, q = up * (down.sum() / Z), down * (up.sum() / Z)
    # ∇² log Z = diag(p + q) - (u wᵀ + w uᵀ)/Z - g gᵀ, with u = e^s, w = e^-s, g = p - q.
    diagonal = p + q + alpha
    U = np.stack([up, down, p - q], axis=1)
    core = np.array([[0.0, -Z, 0.0], [-Z, 0.0, 0.0], [0.0, 0.0, -1.0]])  # inverse of the middle
    # Woodbury; the constant vector is a null vector without alpha, and is projected out.
    scaled = U / diagonal[:, None]
    small = core + U.T @ scaled
    plain = gradient / diagonal
    x = plain - scaled @ np.linalg.lstsq(small, scaled.T @ gradient, rcond=None)[0]
    return x - x.mean()


def fit_scores(
    balance: Floats, total: float, alpha: float, max_iter: int, tol: float
) -> tuple[Floats, float, int]:
    """Maximise balance·s - total·log Z(s) - (alpha/2) total ‖s‖² by Newton's method.

    Parameters
    ----------
    balance : ndarray of shape (n_items,)
        Wins less losses of each item.
    total : float
        Sum of all strengths.
    alpha : float
        Penalty per unit of strength.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when no entry of the gradient, divided by total, is larger.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        With sum zero.
    residual : float
        The largest entry of the gradient divided by total.
    n_iter : int
        Steps taken.
    """
    s = np.zeros(balance.size)
    if total <= 0:
        return s, 0.0, 0
    d = balance / total  # Σ_j Y_ij - Σ_j Y_ji, per unit of T

    def value(s: Floats) -> float:
        return float(log_normalizer(s)[0]) - float(d @ s) + 0.5 * alpha * float(s @ s)

    def slope(s: Floats) -> Floats:
        _, p, q = log_normalizer(s)
        return p - q - d + alpha * s  # Eq. (1)

    def direction(s: Floats, gradient: Floats) -> Floats:
        return _newton_direction(s, gradient, alpha)

    return _damped_newton(s, value, slope, direction, max_iter, tol)


def _damped_newton(
    s: Floats,
    value: Callable[[Floats], float],
    slope: Callable[[Floats], Floats],
    direction: Callable[[Floats, Floats], Floats],
    max_iter: int,
    tol: float,
) -> tuple[Floats, float, int]:
    """Minimise a convex function; return the point, its largest slope and the steps taken."""
    here, residual = value(s), np.inf
    for n_iter in range(max_iter + 1):
        gradient = slope(s)
        before, residual = residual, float(np.abs(gradient).max())
        # Rounding has the last word below a thousand tol.
        if residual <= tol or n_iter == max_iter or 0.5 * before < residual <= 1e3 * tol:
            break
        step = direction(s, gradient)
        fall, size = float(gradient @ step), 1.0
        while size > 1e-8:
            there = value(s - size * step)
            if there <= here - 1e-4 * size * fall + 1e-14 * abs(here):
                break
            size *= 0.5
        s, here = s - size * step, there
    # Only differences of scores are determined: their mean is set to zero.
    return s - s.mean(), residual, n_iter


class JointLikelihood:
    """The penalised likelihood of several instances that share their experts' adherence.

    Parameters are the scores of each instance, then (with variances) β with γ = M softmax(β), whose
    mean is one, then (with adherence) θ. Values are divided by the total strength.
    """

    def __init__(
        self,
        evidence: list[Evidence],
        *,
        variances: bool,
        adherence: Floats | None,
        alpha: float,
    ) -> None:
        self.evidence, self.variances, self.alpha = evidence, variances, alpha
        self.adherence = adherence  # None when it is learned
        self.sizes = [one.balance.shape[0] for one in evidence]
        self.n_experts = evidence[0].totals.size
        self.total = float(sum(one.totals.sum() for one in evidence))
        blocks = 2 if variances else 1
        self.starts = np.concatenate([[0], np.cumsum(blocks * np.array(self.sizes))])
        self.n_parameters = int(self.starts[-1]) + (self.n_experts if adherence is None else 0)

    def parts(self, x: Floats) -> tuple[list[Floats], list[Floats], Floats]:
        """Return scores and β of each instance, and θ."""
        scores, logs = [], []
        for start, size in zip(self.starts, self.sizes):
            scores.append(x[start : start + size])
            logs.append(x[start + size : start + 2 * size] if self.variances else np.zeros(size))
        theta = x[self.starts[-1] :] if self.adherence is None else self.adherence
        return scores, logs, theta

    def log_likelihood(self, x: Floats) -> float:
        """Return Σ Y log P, without the penalty."""
        return -self.total * self(x, penalty=False)[0]

    def __call__(self, x: Floats, penalty: bool = True) -> tuple[float, Floats]:
        """Return minus the mean log-likelihood of a unit of strength, and its gradient."""
        scores, logs, theta = self.parts(x)
        value, gradient = 0.0, np.zeros(self.n_parameters)
        d_theta = np.zeros(self.n_experts)
        for start, size, one, s, beta in zip(self.starts, self.sizes, self.evidence, scores, logs):
            if self.variances:
                part, d_s, d_beta, d_t = _with_variances(one, s, beta, theta)
                gradient[start + size : start + 2 * size] = d_beta
            else:
                part, d_s, d_t = _without_variances(one, s, theta)
            value += part
            gradient[start : start + size] = d_s
            d_theta += d_t
        if self.adherence is None:
            gradient[self.starts[-1] :] = d_theta
        value, gradient = value / self.total, gradient / self.total
        if penalty:
            own = slice(0, int(self.starts[-1]))
            value += 0.5 * self.alpha * float(x[own] @ x[own])
            gradient[own] += self.alpha * x[own]
        return value, gradient


def _without_variances(one: Evidence, s: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
    """Return minus the log-likelihood of Section 2.5 with γ left out, and its gradients."""
    log_z, p, q = log_normalizer(s[:, None] * theta)  # logits θ (s_i - s_j)
    slope = one.totals * (p - q) - one.balance  # Eq. (1), expert by expert
    value = float(one.totals @ log_z - theta @ (s @ one.balance))
    return value, slope @ theta, s @ slope


def _with_variances(
    one: Evidence, s: Floats, beta: Floats, theta: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return minus the log-likelihood of Sections 2.4 and 2.5, and its gradients."""
    n = s.size
    soft = np.exp(beta - beta.max())
    soft /= soft.sum()
    gamma = n * soft  # mean 1: (c s, c γ) is the same model
    # What is observed: the pairs.
    width = gamma[one.preferred] + gamma[one.other]
    logit = (s[one.preferred] - s[one.other]) / width  # Section 2.4
    weighted = one.strengths * theta[one.experts]  # Section 2.5
    value = -float(weighted @ logit)
    d_theta = -sums_at(one.experts, one.strengths * logit, theta.size)
    flow, shrink = weighted / width, weighted * logit / width
    d_s = sums_at(one.other, flow, n) - sums_at(one.preferred, flow, n)
    d_gamma = sums_at(one.other, shrink, n) + sums_at(one.preferred, shrink, n)
    # What is expected: all pairs; experts of one adherence have one normaliser.
    # Where Section 2.5 first prints this sum it has i, j in it; k, l are meant.
    levels, level = np.unique(theta, return_inverse=True)
    totals = np.bincount(level, one.totals, minlength=levels.size)
    for v in np.flatnonzero(totals > 0):
        log_z, e_s, e_gamma, e_logit = _expected(s, gamma, float(levels[v]))
        value += totals[v] * log_z
        d_s += totals[v] * e_s
        d_gamma += totals[v] * e_gamma
        d_theta += np.where(level == v, one.totals * e_logit, 0.0)
    d_beta = gamma * d_gamma - soft * float(gamma @ d_gamma)  # of γ = n softmax(β)
    return value, d_s, d_beta, d_theta


def _expected(s: Floats, gamma: Floats, theta: float) -> tuple[float, Floats, Floats, float]:
    """Return log Z over all pairs with variances, and its derivatives by s, γ and θ."""
    n = s.size
    blocks = [slice(low, min(low + _ROWS, n)) for low in range(0, n, _ROWS)]
    top = theta * max(float(_logits(s, gamma, rows)[1].max()) for rows in blocks)
    mass, d_s, d_gamma, d_theta = 0.0, np.zeros(n), np.zeros(n), 0.0
    for rows in blocks:
        width, logit = _logits(s, gamma, rows)
        itself = np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)
        chance = np.exp(theta * logit - top)
        chance[itself] = 0.0  # the sum is over k ≠ l
        mass += float(chance.sum())
        # Both directions of every pair are in the sum, so each row stands for its column too:
        # by s_i they add, with opposite signs of the logit.
        back = np.exp(-theta * logit - top)
        back[itself] = 0.0
        d_s[rows] = theta * ((chance - back) / width).sum(axis=1)  # θ/(γ_i + γ_j), both directions
        # The logit's own derivative by γ_i
        d_gamma[rows] = -theta * ((chance - back) * logit / width).sum(axis=1)
        d_theta += float((chance * logit).sum())
    return float(np.log(mass) + top), d_s / mass, d_gamma / mass, d_theta / mass


def _logits(s: Floats, gamma: Floats, rows: slice) -> tuple[Floats, Floats]:
    """Return γ_i + γ_j and (s_i - s_j)/(γ_i + γ_j) for some rows i and all j."""
    width = gamma[rows, None] + gamma[None, :]
    return width, (s[rows, None] - s[None, :]) / width


def fit_given_adherence(
    one: Evidence,
    theta: Floats,
    alpha: float,
    max_iter: int,
    tol: float,
    start: Floats | None = None,
) -> tuple[Floats, float, int]:
    """Maximise one instance's likelihood over its scores, for given adherences, by Newton's method.

    Parameters
    ----------
    one : Evidence
        The instance.
    theta : ndarray of shape (n_experts,)
        Adherences.
    alpha : float
        Penalty per unit of strength.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when no entry of the gradient, divided by the total strength, is larger.
    start : ndarray of shape (n_items,), optional
        Scores to begin with.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        With sum zero.
    residual : float
        The largest entry of the gradient divided by the total strength.
    n_iter : int
        Steps taken.
    """
    n = one.balance.shape[0]
    s = np.zeros(n) if start is None else start
    total = float(one.totals.sum())
    if total <= 0:
        return s, 0.0, 0

    def value(s: Floats) -> float:
        return _without_variances(one, s, theta)[0] / total + 0.5 * alpha * float(s @ s)

    def slope(s: Floats) -> Floats:
        return _without_variances(one, s, theta)[1] / total + alpha * s

    def direction(s: Floats, gradient: Floats) -> Floats:
        up, down, _, Z = _exponentials(s[:, None] * theta)
        p, q = up * (down.sum(axis=0) / Z), down * (up.sum(axis=0) / Z)
        weight = one.totals * theta**2 / total  # ∇² log Z of each expert at θs, weighted by T θ²
        cross = (up * (weight / Z)) @ down.T
        H = -cross - cross.T - ((p - q) * weight) @ (p - q).T
        # 1/n makes the constant vector, along which nothing changes, harmless.
        H[np.diag_indices(n)] += (p + q) @ weight + alpha
        step = np.linalg.solve(H + 1.0 / n, gradient)
        return step - step.mean()

    return _damped_newton(s, value, slope, direction, max_iter, tol)


def projected_residual(x: Floats, gradient: Floats, low: Floats, high: Floats) -> float:
    """Return the largest entry of x - clip(x - gradient): zero where no feasible step helps.

    Parameters
    ----------
    x, gradient, low, high : ndarray
        A point, the gradient there, and the box.

    Returns
    -------
    residual : float
        The residual.
    """
    return float(np.abs(x - np.clip(x - gradient, low, high)).max(initial=0.0))


def _polish(
    function: Callable[[Floats], tuple[float, Floats]],
    x: Floats,
    low: Floats,
    high: Floats,
    tol: float,
    max_iter: int = 12,
    flat: float = 1e-11,
) -> Floats:
    """Take Newton steps on what is not at its bound, while the residual falls."""
    residual = projected_residual(x, function(x)[1], low, high)
    for _ in range(max_iter):
        if residual <= tol:
            break
        value, gradient = function(x)
        held = ((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0))
        free = np.flatnonzero(~held)
        H = np.empty((free.size, free.size))
        for column, place in enumerate(free):
            step = np.zeros_like(x)
            step[place] = 1e-5 * max(1.0, abs(x[place]))
            change = function(x + step)[1] - function(x - step)[1]
            H[:, column] = change[free] / (2 * step[place])
        # Flat directions (equal shifts of scores, of β) have no part in the step.
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        solid = np.abs(values) > flat * np.abs(values).max()
        along = vectors[:, solid].T @ gradient[free]
        move = np.zeros_like(x)
        move[free] = -vectors[:, solid] @ (along / np.abs(values[solid]))
        size = 1.0
        while size > 1e-3:
            trial = np.clip(x + size * move, low, high)
            now, slope = function(trial)
            left = projected_residual(trial, slope, low, high)
            if left < residual and now <= value + 1e-9 * abs(value):
                break
            size *= 0.25
        else:
            break
        x, residual = trial, left
    return x


class ProfileLikelihood:
    """Minus the likelihood maximised over all scores, as a function of the adherences alone.

    Every instance's scores are found by Newton's method, begun where they were for the adherences
    before; the derivative by θ is then that of the likelihood with the scores held (the envelope
    theorem).
    """

    def __init__(self, joint: JointLikelihood) -> None:
        self.joint = joint
        self.scores: list[Floats | None] = [None] * len(joint.sizes)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value and its gradient by θ, divided by the total strength."""
        joint = self.joint
        value, gradient = 0.0, np.zeros(theta.size)
        for n, one in enumerate(joint.evidence):
            share = float(one.totals.sum()) / joint.total
            # The joint penalty is on the mean over all instances.
            alpha = joint.alpha / share if share > 0 else 0.0
            s = fit_given_adherence(one, theta, alpha, 100, 1e-12, self.scores[n])[0]
            self.scores[n] = s
            part, _, slope = _without_variances(one, s, theta)
            value += part / joint.total + 0.5 * joint.alpha * float(s @ s)
            gradient += slope / joint.total
        return value, gradient


def _by_profile(
    joint: JointLikelihood, max_iter: int, tol: float, stop: Callable[[Floats], None]
) -> tuple[Floats, int]:
    """Return the best parameters and the iterations, with scores eliminated."""
    profile = ProfileLikelihood(joint)
    low, high = np.zeros(joint.n_experts), np.ones(joint.n_experts)
    found = minimize(
        profile,
        np.ones(joint.n_experts),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high)),
        callback=stop,
        options={"maxiter": max_iter, "maxfun": 2 * max_iter + 50, "gtol": tol, "ftol": 1e-15},
    )
    theta = np.asarray(found.x)
    if theta.size <= _POLISHED // 4:
        # (s, θ) and (c s, θ/c) are one model: one direction is flat but for the penalty.
        theta = _polish(profile, theta, low, high, tol, flat=1e-6)
    profile(theta)
    return np.concatenate([*profile.scores, theta]), int(found.nit)


def _by_gradients(
    joint: JointLikelihood,
    start: Floats,
    low: Floats,
    high: Floats,
    max_iter: int,
    tol: float,
    stop: Callable[[Floats], None],
) -> tuple[Floats, int]:
    """Return the best parameters and the iterations, by L-BFGS on all of them."""
    found = minimize(
        joint,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high)),
        callback=stop,
        options={
            "maxiter": max_iter,
            "maxfun": 2 * max_iter + 50,
            "gtol": tol,
            "ftol": 0.0,
            "maxcor": 30,
        },
    )
    x = np.asarray(found.x)
    if x.size <= _POLISHED:
        x = _polish(joint, x, low, high, tol)
    return x, int(found.nit)


def fit_joint(
    likelihood: JointLikelihood,
    max_iter: int,
    tol: float,
    on_step: Callable[[], bool] | None = None,
) -> Fit:
    """Maximise the likelihood over scores, variances and adherences.

    Concave in the scores and in θ, each with the rest held, but not in γ; the start is the base
    model's scores with γ = 1 and θ = 1, so that the answer does not depend on a seed.

    Parameters
    ----------
    likelihood : JointLikelihood
        What is maximised.
    max_iter : int
        Largest number of L-BFGS iterations.
    tol : float
        Stop when the projected gradient of the mean log-likelihood is no larger.
    on_step : callable, optional
        Called after each iteration; returns whether to stop.

    Returns
    -------
    fit : Fit
        With the residual that was reached.
    """
    start = np.zeros(likelihood.n_parameters)
    low = np.full(start.size, -np.inf)
    high = np.full(start.size, np.inf)
    given = likelihood.adherence
    learned = given is None
    factor = 2.0 if likelihood.variances else 1.0  # γ = 1 halves the logits
    theta = np.ones(likelihood.n_experts) if given is None else given
    for place, size, one in zip(likelihood.starts, likelihood.sizes, likelihood.evidence):
        d = one.balance @ theta
        base = fit_scores(d, float(one.totals @ theta), 1e-6, 100, 1e-6)[0]
        start[place : place + size] = factor * base
    if learned:
        own = slice(int(likelihood.starts[-1]), None)
        start[own], low[own], high[own] = 1.0, 0.0, 1.0

    def stop(_: Floats) -> None:
        if on_step is not None and on_step():
            raise StopIteration

    if learned and not likelihood.variances and max(likelihood.sizes) <= DENSE:
        x, n_iter = _by_profile(likelihood, max_iter, tol, stop)
    else:
        # Γ is in the game, or there are too many items to factor a Hessian for each step.
        x, n_iter = _by_gradients(likelihood, start, low, high, max_iter, tol, stop)
    residual = projected_residual(x, likelihood(x)[1], low, high)
    scores, logs, theta = likelihood.parts(x)
    variances = [b.size * np.exp(b - b.max()) / np.exp(b - b.max()).sum() for b in logs]
    scores = [s - s.mean() for s in scores]
    value = likelihood.log_likelihood(x)
    if learned:
        spoken = np.stack([one.totals for one in likelihood.evidence]).sum(axis=0) > 0
        largest = float(theta[spoken].max(initial=0.0))
        if largest > 0:
            # (s, θ) and (c s, θ/c) are one model: the most faithful expert has θ = 1.
            scores = [s * largest for s in scores]
            theta = theta / largest
        # Nothing is known of who has said nothing.
        theta = np.where(spoken, theta, theta[spoken].mean() if spoken.any() else 1.0)
    return Fit(scores, variances, theta, value, residual, n_iter)
