"""Predictive densities of new rows: latents integrated out, their scales by Monte Carlo.

Section 4 of Henao and Winther (2011), Eqs. (11) and (12). Given the scales a row is normal,
N(x | Bx, C U C' + Ψ); scales come from their prior. Where each latent loads on one variable, as in
a DAG without confounders, densities are products of one-dimensional ones, and for Laplace's and
the normal law those are known exactly.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import erfc, erfcx, logsumexp
from sklearn.utils.validation import check_array, check_random_state

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.graphical.causal_orders.model import SOURCES, source_law
from octavo.graphical.causal_orders.sources import GAUSSIAN, LAPLACE

__all__ = ["predictive_log_density"]

LOG_2PI = math.log(2.0 * math.pi)
SOURCE_NAMES = ("student", *SOURCES)


@njit(cache=True, error_model="numpy")
def scaled_log_densities(R, C, psi, V, L, y, out):
    """Write log N(r | 0, C diag(v) C' + Ψ) for rows r of R and every v of V."""
    d, m = C.shape
    for s in range(V.shape[0]):
        half = 0.0
        for i in range(d):
            for k in range(i + 1):
                total = psi[i] if i == k else 0.0
                for j in range(m):
                    total += C[i, j] * C[k, j] * V[s, j]  # C U C' + Ψ, by its Cholesky factor
                for o in range(k):
                    total -= L[i, o] * L[k, o]
                if i == k:
                    L[i, i] = math.sqrt(max(total, 1e-300))
                    half += math.log(L[i, i])
                else:
                    L[i, k] = total / L[k, k]
        for n in range(R.shape[0]):
            square = 0.0
            for i in range(d):
                value = R[n, i]
                for o in range(i):
                    value -= L[i, o] * y[o]
                y[i] = value / L[i, i]
                square += y[i] * y[i]
            out[s, n] = -half - 0.5 * square - 0.5 * d * LOG_2PI


def normal_laplace(e: Any, variance: Any, rate: Any) -> Any:
    """Return the log density of a normal number plus one with density (rate/2) exp(-rate |z|)."""
    sd = np.sqrt(2.0 * variance)
    sides = []
    for side in (-e, e):
        t = (variance * rate + side) / sd
        far = 0.5 * variance * rate**2 + rate * side + np.log(np.maximum(erfc(t), 1e-300))
        # where erfc would underflow, its scaled form
        near = -(e**2) / (2.0 * variance) + np.log(erfcx(np.maximum(t, 0.0)))
        sides.append(np.where(t > 0.0, near, far))
    # (λ/4) e^(λ²ψ/2) (e^(-λe) erfc(.) + e^(λe) erfc(.))
    return np.log(rate / 4.0) + np.logaddexp(*sides)


def draw_variances(laws: Any, shape: tuple[int, ...], rng: Any) -> Floats:
    """Draw scales υ of latents from their prior; the last axis is that of the laws."""
    V = np.ones((*shape, len(laws)))
    for j, (kind, parameter) in enumerate(laws):
        if kind == LAPLACE:
            V[..., j] = rng.exponential(2.0 / parameter**2, shape)  # Eq. (5), rate λ²/2
        elif kind != GAUSSIAN:
            gamma = rng.gamma(0.5 * parameter, 2.0 / parameter, shape)
            V[..., j] = 1.0 / np.maximum(gamma, 1e-12)  # Eq. (6)
    return V


def log_densities(R: Floats, C: Floats, psi: Floats, laws: Any, n_rep: int, rng: Any) -> Floats:
    """Return log p(r) for the rows of R under one set of parameters; R is x - Bx."""
    owners = np.count_nonzero(C, axis=0)
    single = np.all(owners <= 1) and np.all(np.count_nonzero(C, axis=1) <= 1)
    kinds = {kind for kind, _ in laws}
    if single and kinds <= {LAPLACE, GAUSSIAN}:
        total = np.zeros(len(R))
        for i in range(len(psi)):
            found = np.flatnonzero(C[i])
            kind, parameter = laws[found[0]] if found.size else (GAUSSIAN, 1.0)
            c = abs(C[i, found[0]]) if found.size else 0.0
            if kind == LAPLACE and c > 1e-6 * math.sqrt(psi[i]):
                total += normal_laplace(R[:, i], psi[i], parameter / c)
            else:
                variance = psi[i] + c * c
                total -= 0.5 * (R[:, i] ** 2 / variance + math.log(variance) + LOG_2PI)
        return total
    V = draw_variances(laws, (1 if kinds == {GAUSSIAN} else n_rep,), rng)
    out = np.empty((len(V), len(R)))
    d = len(psi)
    scaled_log_densities(
        np.ascontiguousarray(R), np.ascontiguousarray(C), np.ascontiguousarray(psi), V,
        np.zeros((d, d)), np.empty(d), out,
    )  # fmt: skip
    # the mean over scales: Eqs. (11) and (12) without an integral over z
    return logsumexp(out, axis=0) - math.log(len(V))


def draw_log_densities(
    X: Floats, W: Floats, psi: Floats, laws: Any, p: int, n_rep: int, rng: Any
) -> Floats:
    """Return log p(x) of rows for each draw of [B, C]; B has p columns, or none."""
    return np.array(
        [
            # the residual of Eq. (12): x - Bx
            log_densities(X - X @ w[:, :p].T if p else X, w[:, p:], v, laws, n_rep, rng)
            for w, v in zip(W, psi, strict=True)
        ]
    )


def log_mean(draws: Floats) -> Floats:
    """Return the log of the mean density over draws, row by row."""
    return logsumexp(draws, axis=0) - math.log(len(draws))


@checked
@validate_params(
    {
        "X": ["array-like"],
        "C": ["array-like"],
        "psi": ["array-like"],
        "B": ["array-like", None],
        "source": [StrOptions(set(SOURCE_NAMES)), "array-like"],
        "degrees": [Interval(Integral, 1, None, closed="left")],
        "n_rep": [Interval(Integral, 1, None, closed="left")],
        "per_draw": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def predictive_log_density(
    X: Any,
    C: Any,
    psi: Any,
    *,
    B: Any = None,
    source: Any = "laplace",
    degrees: int = 5,
    n_rep: int = 500,
    per_draw: bool = False,
    random_state: Any = None,
) -> Floats:
    """Return the log density of rows under x = Bx + Cz + ε, latents integrated out.

    Parameters
    ----------
    X : array-like of shape (n_samples, d)
        Rows, on the scale of the parameters.
    C : array-like of shape (d, m) or (n_draws, d, m)
        Loadings of the latents, one matrix or one per posterior draw.
    psi : array-like of shape (d,) or (n_draws, d)
        Noise variances.
    B : array-like of shape (d, d) or (n_draws, d, d), optional
        Effects among variables, of a DAG; none for a factor model.
    source : {"laplace", "student", "cauchy", "gaussian"} or sequence of them, default="laplace"
        The law of the latents, or of each.
    degrees : int, default=5
        Degrees of freedom of "student".
    n_rep : int, default=500
        Draws of the scales; not used where the density is known exactly.
    per_draw : bool, default=False
        Return one row per posterior draw instead of the mean density.
    random_state : int, RandomState instance or None, default=None
        Seed of the scales.

    Returns
    -------
    log_density : ndarray of shape (n_samples,) or (n_draws, n_samples)
        The log of the density averaged over draws. The paper summarises by the median over draws
        of the sum over rows instead: ``np.median(per_draw_values.sum(axis=1))``.

    Notes
    -----
    An average over scales underestimates log densities where latents are many and noise is small;
    averaging over draws with fresh scales, as here, makes the bias smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import predictive_log_density
    >>> predictive_log_density([[0.0], [3.0]], [[1.0]], [0.1]).round(3)  # doctest: +SKIP
    array([-0.896, -3.643])
    >>> predictive_log_density([[1.0, 0.0]], np.eye(2), [1.0, 1.0], source="gaussian").round(3)
    array([-2.781])
    """
    X = check_array(X, dtype=np.float64)
    C, psi = np.asarray(C, dtype=np.float64), np.asarray(psi, dtype=np.float64)
    C = C[None] if C.ndim == 2 else C
    psi = psi[None] if psi.ndim == 1 else psi
    d = X.shape[1]
    if C.ndim != 3 or C.shape[1] != d or psi.shape != (len(C), d):
        raise ValueError(
            f"C must have the shape ({d}, m) and psi ({d},), or both with an axis of draws first; "
            f"got {C.shape[-2:]} for {len(C)} draws and {psi.shape}."
        )
    if not (np.isfinite(C).all() and np.isfinite(psi).all() and psi.min() > 0.0):
        raise ValueError("C must be finite, and psi positive and finite.")
    m = C.shape[2]
    names = [source] * m if isinstance(source, str) else list(source)
    if len(names) != m or not set(names) <= set(SOURCE_NAMES):
        raise ValueError(f"source must name the law of each of the {m} latents; got {names}.")
    W, p = C, 0
    if B is not None:
        B = np.asarray(B, dtype=np.float64)
        B = B[None] if B.ndim == 2 else B
        if B.shape != (len(C), d, d) or not np.isfinite(B).all():
            raise ValueError(f"B must be finite, of shape ({d}, {d}) per draw; got {B.shape}.")
        W, p = np.concatenate([B, C], axis=2), d
    rng = check_random_state(random_state)
    laws = [source_law(name, degrees) for name in names]
    draws = draw_log_densities(X, W, psi, laws, p, n_rep, rng)
    return draws if per_draw else log_mean(draws)


def _warmup() -> None:
    one = np.ones((1, 1))
    scaled_log_densities(one, one, np.ones(1), one, one.copy(), np.ones(1), one.copy())
