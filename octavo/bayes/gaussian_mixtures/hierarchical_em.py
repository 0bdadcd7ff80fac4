"""Hierarchical EM for Gaussians: group the components of a mixture, without the data behind it.

Every component i of the mixture stands for N_i virtual samples. The E-step averages over all that
the component could emit, in closed form; all samples of a component go to the same group j. The
M-step matches the moments of each group.

References: N. Vasconcelos and A. Lippman (1998), "Learning Mixture Hierarchies", NIPS. Equations
are numbered as in E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov
Models with Variational HEM", Journal of Machine Learning Research 15: these are theirs for models
of one state and one Gaussian and sequences of length one, where no variational bound is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.gaussians import (
    SingularCovarianceError,
    checked_covariances,
    expected_log_density,
    is_singular,
    moments_to_gaussians,
    weighted_moments,
)
from octavo.engine.probability.mixtures import responsibilities
from octavo.engine.smooth.em import (
    Climb,
    Restarts,
    Steps,
    best_of,
    climb,
    spread_seeds,
    surviving,
)

HARD = 1e4  # virtual samples a component, for assignments that are nearly hard
ANNEALING = (0.01, 0.1)  # shares of the virtual samples of the first iterations
FIRST_ITERATIONS = 10  # of each stage of annealing
_NEGLIGIBLE = 1e-16  # responsibilities below it cannot change a sum
_UNUSED = 1e-12  # share of the whole below which a Gaussian keeps its parameters
_EMPTY = 1e-6  # a group with less than this many components has none
_FLOOR = 1e-3  # added to first variances, as a share of that of the whole mixture
_FORMS = {1: "spherical", 2: "diag", 3: "full"}


class GaussianMixtureParams(NamedTuple):
    """A mixture: ``weights`` (n,), ``means`` (n, d) and ``covars`` in one of three ``form``s.

    Matrices (n, d, d) for "full", variances (n, d) for "diag" and, all alike, for "spherical".
    """

    weights: Floats
    means: Floats
    covars: Floats
    form: str

    def widened(self, variance: float | Floats) -> GaussianMixtureParams:
        """Return the mixture with variances added to those of every component."""
        if self.form == "full":
            each = np.broadcast_to(variance, self.means.shape[1:])
            return self._replace(covars=self.covars + np.diag(each))
        return self._replace(covars=self.covars + variance)


class Assignments(NamedTuple):
    """What an E-step finds: ẑ (n, k), expected log densities (n, k), and bounds (n,)."""

    share: Floats
    scores: Floats
    bounds: Floats


def check_mixture(mixture: Any) -> GaussianMixtureParams:
    """Return a mixture as arrays, with weights that add up to one, or say what is wrong with it.

    Parameters
    ----------
    mixture : GaussianMixture or (weights, means, covariances)
        The mixture; tied covariances become full ones.

    Returns
    -------
    mixture : GaussianMixtureParams
        Its parameters.
    """
    if hasattr(mixture, "weights_") and hasattr(mixture, "means_"):
        parts = mixture.weights_, mixture.means_, mixture.covariances_
        if getattr(mixture, "covariance_type", "full") == "tied":
            parts = *parts[:2], np.repeat(np.asarray(parts[2])[None], len(parts[0]), axis=0)
    elif isinstance(mixture, (tuple, list)) and len(mixture) == 3:
        parts = tuple(mixture)
    else:
        raise TypeError(
            "Expected a fitted GaussianMixture or (weights, means, covariances), got "
            f"{type(mixture).__name__}."
        )
    weights, means, covars = (np.asarray(part, dtype=np.float64) for part in parts)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"weights must be a vector of at least one, got shape {weights.shape}.")
    for i in np.flatnonzero(~(weights >= 0) | ~np.isfinite(weights))[:1]:
        raise ValueError(
            f"weights must be finite and not negative, got {weights[i]} for component {i}."
        )
    if weights.sum() == 0:
        raise ValueError("weights must not add up to zero.")
    _check_gaussians(weights.size, means, covars)
    form = _FORMS[covars.ndim]
    if form == "spherical":
        covars = np.repeat(covars[:, None], means.shape[1], axis=1)
    covars = checked_covariances(
        covars, full=form == "full", name="Component {}: the covariance".format
    )
    return GaussianMixtureParams(weights / weights.sum(), means, covars, form)


def _check_gaussians(n: int, means: Floats, covars: Floats) -> None:
    """Raise unless n means and covariances fit together."""
    if means.ndim != 2 or len(means) != n or means.shape[1] == 0:
        raise ValueError(f"means must have shape ({n}, d), got {means.shape}.")
    d = means.shape[1]
    if covars.shape not in ((n,), (n, d), (n, d, d)):
        raise ValueError(
            f"covariances must have shape ({n},), ({n}, {d}) or ({n}, {d}, {d}), got "
            f"{covars.shape}."
        )
    for name, values in (("means", means), ("covariances", covars)):
        for i in np.flatnonzero(~np.isfinite(values.reshape(n, -1)).all(axis=1))[:1]:
            raise ValueError(f"Component {i}: {name} has a value that is NaN or infinite.")


# --- one iteration -------------------------------------------------------------------------------


def expected_scores(given: GaussianMixtureParams, reduced: GaussianMixtureParams) -> Floats:
    """Return E_i log N(y; μ_j, Σ_j), of shape (n, k): the expression below Eq. (18)."""
    return expected_log_density(given.means, given.covars, reduced.means, reduced.covars)


def expect(
    reduced: GaussianMixtureParams, given: GaussianMixtureParams, virtual: Floats
) -> tuple[float, Assignments]:
    """Return the expected log-likelihood of all virtual samples, and the assignments.

    Parameters
    ----------
    reduced : GaussianMixtureParams
        The k components of the reduced mixture.
    given : GaussianMixtureParams
        The n components that it stands for.
    virtual : ndarray of shape (n,)
        Virtual samples N_i of each.

    Returns
    -------
    objective : float
        Σ_i log Σ_j ω_j exp(N_i E_i log N_j), the bound (11) at its tightest.
    assignments : Assignments
        Named tuple (share, scores, bounds).
    """
    scores = expected_scores(given, reduced)
    share, bounds = responsibilities(reduced.weights, virtual[:, None] * scores)  # Eq. (19)
    return float(bounds.sum()), Assignments(share, scores, bounds)


def maximize(
    reduced: GaussianMixtureParams, found: Assignments, given: GaussianMixtureParams
) -> GaussianMixtureParams:
    """Return the reduced mixture that the assignments call for.

    Parameters
    ----------
    reduced : GaussianMixtureParams
        The reduced mixture before; a component that nothing is assigned to keeps its Gaussian.
    found : Assignments
        From `expect`.
    given : GaussianMixtureParams
        The mixture that is reduced.

    Returns
    -------
    reduced : GaussianMixtureParams
        The reduced mixture after.
    """
    full = given.form == "full"
    # ẑ_ij ω_i, the weights of Eq. (26) and (27)
    share = np.where(found.share > _NEGLIGIBLE, found.share, 0.0) * given.weights[:, None]
    moments = weighted_moments(share, given.means, given.covars, reduced.means, full=full)
    means, covars = moments_to_gaussians(moments, reduced.means)  # Eq. (26), (27)
    if given.form == "spherical":
        # one variance for all axes: their mean maximises
        covars = np.broadcast_to(covars.mean(axis=1, keepdims=True), covars.shape)
    used = moments.mass > _UNUSED * moments.mass.sum()
    means = np.where(used[:, None], means, reduced.means)
    covars = np.where(used.reshape(-1, *[1] * (covars.ndim - 1)), covars, reduced.covars)
    for j in np.flatnonzero(is_singular(covars, full=full))[:1]:
        raise SingularCovarianceError(
            f"The covariance of component {j} became singular: it stands for components without "
            "spread; raise reg_covar."
        )
    return GaussianMixtureParams(found.share.mean(axis=0), means, covars, given.form)  # Eq. (24)


# --- starts --------------------------------------------------------------------------------------


def overall_variance(given: GaussianMixtureParams) -> Floats:
    """Return the variances (d,) of the whole mixture; one where there is none."""
    mass = given.weights[:, None]
    middle = (given.weights @ given.means / given.weights.sum())[None]
    moments = weighted_moments(mass, given.means, given.covars, middle, full=False)
    variance = moments.second[0] / given.weights.sum()
    return np.where(variance > 0, variance, 1.0)


def own_scores(given: GaussianMixtureParams, smooth: GaussianMixtureParams) -> Floats:
    """Return E_i log N_i of each component under its own smoothed Gaussian, of shape (n,)."""
    each = range(len(given.weights))
    return np.array([expected_scores(_take(given, [i]), _take(smooth, [i]))[0, 0] for i in each])


def _take(mixture: GaussianMixtureParams, which: Any) -> GaussianMixtureParams:
    return mixture._replace(
        weights=mixture.weights[which], means=mixture.means[which], covars=mixture.covars[which]
    )


def start_mixture(
    given: GaussianMixtureParams,
    smooth: GaussianMixtureParams,
    own: Floats,
    n_components: int,
    rng: np.random.RandomState,
) -> GaussianMixtureParams:
    """Return first components: some of the given ones, smoothed, that explain each other badly.

    Parameters
    ----------
    given, smooth : GaussianMixtureParams
        The mixture, and the same with wider Gaussians to start from.
    own : ndarray of shape (n,)
        From `own_scores`.
    n_components : int
        How many.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    reduced : GaussianMixtureParams
        With equal weights.
    """

    def start(i: int) -> tuple[int, Floats]:
        # E_i log N_i - E_i log N_j: a divergence up to the smoothing
        return i, np.maximum(own - expected_scores(given, _take(smooth, [i]))[:, 0], 0.0)

    chosen = spread_seeds(n_components, given.weights, start, rng)
    equal = np.full(n_components, 1.0 / n_components)
    return _take(smooth, chosen)._replace(weights=equal)


def reseeded(
    run: Climb,
    given: GaussianMixtureParams,
    smooth: GaussianMixtureParams,
    own: Floats,
    virtual: Floats,
) -> GaussianMixtureParams | None:
    """Return the mixture with an empty group moved to the component that is explained worst.

    None where no group is empty, or where the move would not raise the objective.
    """
    sizes = run.expectations.share.sum(axis=0)
    j = int(sizes.argmin())
    if sizes[j] > _EMPTY or sizes.size == 1:
        return None
    # what component i loses for want of a group, in virtual samples
    i = int(np.argmax(virtual * (own - run.expectations.scores.max(axis=1))))
    weights, means, covars = (part.copy() for part in run.params[:3])
    means[j], covars[j] = smooth.means[i], smooth.covars[i]
    weights *= 1.0 - 1.0 / len(given.weights)
    weights[j] += 1.0 - weights.sum()
    moved = GaussianMixtureParams(weights, means, covars, given.form)
    return moved if expect(moved, given, virtual)[0] > run.objective else None


# --- the fit -------------------------------------------------------------------------------------


def fit_reduction(
    given: GaussianMixtureParams,
    virtual: Floats,
    n_components: int,
    restarts: Restarts,
    *,
    annealing: Sequence[float] = ANNEALING,
    rng: np.random.RandomState,
    progress: Steps | None = None,
) -> Climb:
    """Return the best of several climbs of hierarchical EM.

    Parameters
    ----------
    given : GaussianMixtureParams
        The mixture to reduce.
    virtual : ndarray of shape (n,)
        Virtual samples of each of its components.
    n_components : int
        How many components to keep.
    restarts : Restarts
        Number of starts, and the limits of each.
    annealing : sequence of float
        Shares of the virtual samples with which a few first iterations are made.
    rng : RandomState
        Source of randomness.
    progress : FitProgress, optional
        Stepped once an iteration.

    Returns
    -------
    best : Climb
        With `GaussianMixtureParams` as params and `Assignments` as expectations.
    """
    floor = _FLOOR * overall_variance(given)
    smooth = given.widened(float(floor.mean()) if given.form == "spherical" else floor)
    own = own_scores(given, smooth)
    max_iter = restarts.max_iter

    def up(start: GaussianMixtureParams, samples: Floats, most: int) -> Climb:
        return climb(
            lambda reduced: expect(reduced, given, samples),
            lambda reduced, found: maximize(reduced, found, given),
            start,
            max_iter=most,
            tol=restarts.tol,
            progress=progress,
        )

    def one() -> Climb:
        start = start_mixture(given, smooth, own, n_components, rng)
        for share in annealing:
            start = up(start, share * virtual, FIRST_ITERATIONS).params
        run = up(start, virtual, max_iter)
        for _ in range(n_components):
            again = reseeded(run, given, smooth, own, virtual)
            if again is None or run.stopped or run.n_iter >= max_iter:
                break
            more = up(again, virtual, max_iter - run.n_iter)
            run = more._replace(
                trace=np.concatenate([run.trace, more.trace]), n_iter=run.n_iter + 1 + more.n_iter
            )
        return run

    return best_of(surviving(one, restarts.n_init, SingularCovarianceError))
