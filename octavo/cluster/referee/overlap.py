"""Overlap of the components of a Gaussian mixture: how hard its clusters are to tell apart.

ω(j|i) is the probability that a point of component i looks more like component j,
P(π_i φ_i(X) < π_j φ_j(X)) with X from component i. In coordinates where component i is standard
normal and the precision of j is diagonal, with eigenvalues λ and gap δ = μ_i - μ_j,

    ω(j|i) = P(Σ λ (Z + δ)² - Z² < t),   t = log(π_j² |Σ_i| / (π_i² |Σ_j|)),

a quadratic form in normal variables whose distribution is found by inversion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtr
from sklearn.utils import check_array, check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.probability.quadratic_forms import quadratic_form_cdf

__all__ = [
    "GaussianMixtureSpec",
    "OverlapMap",
    "gaussian_overlap",
    "overlap_of_clustering",
    "overlap_of_fit",
]

EQUAL = 1e-9  # eigenvalues this close to one leave no quadratic part worth an inversion
NEGLIGIBLE = 1e-3  # a bound below this share of the tolerance is taken for zero


class OverlapMap(NamedTuple):
    """Overlap of a mixture's components.

    ``omega[i, j]`` is the probability that a point of component i is taken for one of j, one on
    the diagonal; ``pairwise`` adds both directions; ``average`` and ``maximum`` are over the
    pairs, ``pair`` is the one with the largest overlap, and ``generalized`` is the largest
    eigenvalue of ``pairwise`` with a unit diagonal, less one, over K - 1.
    """

    omega: np.ndarray
    pairwise: np.ndarray
    average: float
    maximum: float
    pair: tuple[int, int]
    generalized: float


class PairForms(NamedTuple):
    """The quadratic forms of all ordered pairs of components, ready to be rescaled."""

    first: np.ndarray  # i of each pair
    second: np.ndarray  # j
    eigenvalues: np.ndarray  # λ, shape (pairs, p)
    gaps: np.ndarray  # δ, shape (pairs, p)
    log_weights: np.ndarray  # 2 log(π_j / π_i)
    log_volumes: np.ndarray  # log(|Σ_i| / |Σ_j|)


def check_mixture(weights: Any, means: Any, covariances: Any) -> tuple[np.ndarray, ...]:
    """Return validated arrays and the Cholesky factors of the covariances."""
    means = check_array(means, dtype=float, input_name="means")
    K, p = means.shape
    weights = np.asarray(weights, dtype=float)
    if K < 2:
        raise ValueError(f"A mixture needs at least 2 components for an overlap; got {K}.")
    if weights.shape != (K,) or not (weights > 0).all() or abs(weights.sum() - 1) > 1e-8:
        raise ValueError(f"weights must be {K} positive numbers that sum to 1; got {weights}.")
    covariances = np.asarray(covariances, dtype=float)
    if covariances.shape != (K, p, p):
        raise ValueError(
            f"covariances must have shape ({K}, {p}, {p}); got an array of shape "
            f"{covariances.shape}."
        )
    turned = covariances.transpose(0, 2, 1)
    if np.isfinite(covariances).all() and np.allclose(covariances, turned, rtol=1e-8, atol=1e-12):
        try:
            return weights, means, covariances, np.linalg.cholesky(covariances)
        except np.linalg.LinAlgError:
            pass  # which of them is told below
    for k, cov in enumerate(covariances):
        if not np.isfinite(cov).all() or not np.allclose(cov, cov.T, rtol=1e-8, atol=1e-12):
            raise ValueError(f"Covariance {k} must be finite and symmetric.")
        smallest = np.linalg.eigvalsh(cov)[0]
        try:
            np.linalg.cholesky(cov)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"Covariance {k} must be positive definite; its smallest eigenvalue is "
                f"{smallest:g}."
            ) from None
    raise AssertionError("a factor that fails in a batch fails alone")


def pair_forms(weights: np.ndarray, means: np.ndarray, factors: np.ndarray) -> PairForms:
    """Return the forms of all ordered pairs, one batch of eigenproblems."""
    K, p, _ = factors.shape
    first, second = (index.ravel() for index in np.nonzero(~np.eye(K, dtype=bool)))
    inverse = np.linalg.inv(factors)
    # L_j⁻¹ L_i; its squared singular values are the eigenvalues of L_iᵀ Σ_j⁻¹ L_i
    ratio = inverse[second] @ factors[first]
    eigenvalues, vectors = np.linalg.eigh(ratio.transpose(0, 2, 1) @ ratio)
    whitened = np.einsum("nab,nb->na", inverse[first], means[first] - means[second])
    gaps = np.einsum("nba,nb->na", vectors, whitened)
    log_volume = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    return PairForms(
        first,
        second,
        np.maximum(eigenvalues, np.finfo(float).tiny),
        gaps,
        2 * np.log(weights[second] / weights[first]),  # log π_j²/π_i²
        log_volume[first] - log_volume[second],
    )


def rescaled(forms: PairForms, log_scales: np.ndarray) -> PairForms:
    """Return the forms after covariance k is multiplied by exp(log_scales[k])."""
    p = forms.gaps.shape[1]
    own, other = log_scales[forms.first], log_scales[forms.second]
    return forms._replace(
        eigenvalues=forms.eigenvalues * np.exp(own - other)[:, None],
        gaps=forms.gaps * np.exp(-own / 2)[:, None],
        log_volumes=forms.log_volumes + p * (own - other),
    )


def log_bounds(forms: PairForms) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of bounds of ω(j|i) without gaps, and what the gaps take from them."""
    lam = forms.eigenvalues
    # Bhattacharyya's coefficient of covariances, in eigenvalues λ
    alone = np.sum(0.5 * np.log(2 * np.sqrt(lam) / (1 + lam)), axis=1)
    apart = 0.25 * np.sum(forms.gaps**2 * lam / (1 + lam), axis=1)  # and of means
    return alone + forms.log_weights / 4, apart


def bhattacharyya_bounds(forms: PairForms) -> np.ndarray:
    """Return upper bounds of ω(j|i): E √(π_j φ_j / π_i φ_i), a Bhattacharyya coefficient."""
    alone, apart = log_bounds(forms)
    return np.exp(alone - apart)


def least_overlaps(forms: PairForms) -> np.ndarray:
    """Return lower bounds of ω(j|i) + ω(i|j), of each pair twice.

    With weights p + q = 1 and the coefficient r = ∫√(φ_i φ_j), the share that the better of two
    components gets wrong is at least (1 - √(1 - 4 p q r²)) / 2 (Cauchy-Schwarz), and it is the
    mean of both ω with these weights.
    """
    alone, apart = log_bounds(forms)
    affinity = np.exp(2 * (alone - forms.log_weights / 4 - apart))  # r²
    ratio = np.exp(forms.log_weights / 2)  # q / p
    p = 1 / (1 + ratio)
    wrong = (1 - np.sqrt(np.maximum(1 - 4 * p * (1 - p) * affinity, 0.0))) / 2
    return wrong / np.maximum(p, 1 - p)


def misclassification(forms: PairForms, tol: float = 1e-9, closed: bool = True) -> np.ndarray:
    """Return ω(j|i) of every pair; pairs whose bound is negligible beside tol are zero."""
    lam, delta = forms.eigenvalues, forms.gaps
    t = forms.log_weights + forms.log_volumes  # log of π_j²|Σ_i|/(π_i²|Σ_j|)
    omega = np.zeros(len(t))
    todo = bhattacharyya_bounds(forms) > NEGLIGIBLE * tol
    squared = np.sum(delta**2, axis=1)
    alike = (abs(lam - 1) < EQUAL).all(axis=1) & closed
    same = alike & (squared < EQUAL**2)  # one and the same component: ties are split
    omega[same] = np.where(abs(t[same]) < EQUAL, 0.5, t[same] > 0)
    normal = np.flatnonzero(alike & ~same & todo)
    length = np.sqrt(squared[normal])
    omega[normal] = ndtr((t[normal] - length**2) / (2 * length))
    rest = np.flatnonzero(todo & ~alike)
    # Σ (λ − 1)Z² + 2λδ Z + λδ² ≤ t for normal Z
    a, b, c = lam[rest] - 1, 2 * lam[rest] * delta[rest], lam[rest] * delta[rest] ** 2
    omega[rest] = quadratic_form_cdf(t[rest], a, b, c, tol)[0]
    return omega


def largest_overlap(forms: PairForms, tol: float, enough: float = np.inf) -> float:
    """Return the largest pairwise overlap alone, looking only where the bounds allow it.

    One that reaches `enough` is returned at once.
    """
    K = int(forms.first.max()) + 1
    position = np.full((K, K), -1)
    position[forms.first, forms.second] = np.arange(len(forms.first))
    i, j = np.triu_indices(K, 1)
    there, back = position[i, j], position[j, i]
    bounds = bhattacharyya_bounds(forms)
    bound = bounds[there] + bounds[back]
    order = np.argsort(-bound)
    best, start, size = 0.0, 0, 3
    while start < len(order) and best < min(bound[order[start]], enough):
        chosen = order[start : start + size]
        both = np.concatenate([there[chosen], back[chosen]])
        omega = misclassification(PairForms(*(part[both] for part in forms)), tol)
        best = max(best, float((omega[: len(chosen)] + omega[len(chosen) :]).max()))
        start, size = start + size, 2 * size
    return best


def overlap_map(forms: PairForms, tol: float = 1e-9, closed: bool = True) -> OverlapMap:
    """Return the map of all pairs."""
    K = int(forms.first.max()) + 1
    omega = np.eye(K)
    omega[forms.first, forms.second] = misclassification(forms, tol, closed)
    pairwise = omega + omega.T
    np.fill_diagonal(pairwise, 1.0)
    upper = np.triu_indices(K, 1)
    values = pairwise[upper]
    best = int(np.argmax(values))
    top = float(np.linalg.eigvalsh(pairwise)[-1])
    return OverlapMap(
        omega,
        pairwise,
        float(values.mean()),
        float(values[best]),
        (int(upper[0][best]), int(upper[1][best])),
        (top - 1) / (K - 1),
    )


@checked
def gaussian_overlap(
    weights: Any, means: Any, covariances: Any, method: str = "auto", tol: float = 1e-9
) -> OverlapMap:
    """Return the overlap of every pair of components of a Gaussian mixture.

    Parameters
    ----------
    weights : array-like of shape (K,)
        Mixing proportions.
    means : array-like of shape (K, p)
        Means.
    covariances : array-like of shape (K, p, p)
        Covariance matrices.
    method : {"auto", "inversion"}, default="auto"
        "auto" uses the closed form for pairs with equal covariances, "inversion" never does.
    tol : float, default=1e-9
        Absolute tolerance of each probability.

    Returns
    -------
    overlap : OverlapMap
        ``omega[i, j]`` (row: true component, column: assigned), pairwise overlaps, their
        average and maximum, and the generalised overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import gaussian_overlap
    >>> overlap = gaussian_overlap([0.5, 0.5], [[0.0], [2.0]], [[[1.0]], [[1.0]]])
    >>> print(round(overlap.maximum, 4))
    0.3173
    """
    if method not in ("auto", "inversion"):
        raise ValueError(f"method must be 'auto' or 'inversion'; got {method!r}.")
    weights, means, _, factors = check_mixture(weights, means, covariances)
    return overlap_map(pair_forms(weights, means, factors), tol, method == "auto")


@dataclass(frozen=True)
class GaussianMixtureSpec:
    """A Gaussian mixture: weights, means, covariances, and what follows from them.

    Parameters
    ----------
    weights : ndarray of shape (K,)
        Mixing proportions.
    means : ndarray of shape (K, p)
        Means.
    covariances : ndarray of shape (K, p, p)
        Covariance matrices.

    Examples
    --------
    >>> from octavo.cluster import make_overlap_mixture
    >>> mixture = make_overlap_mixture(3, 2, max_omega=0.05, random_state=0)
    >>> print(round(mixture.max_omega, 5))
    0.05
    >>> X, y = mixture.sample(10, random_state=0)
    >>> print(X.shape)
    (10, 2)
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def __post_init__(self) -> None:
        checked = check_mixture(self.weights, self.means, self.covariances)
        for name, value in zip(("weights", "means", "covariances"), checked):
            object.__setattr__(self, name, value)

    def overlap_map(self, tol: float = 1e-9) -> OverlapMap:
        """Return the overlap of every pair of components."""
        return gaussian_overlap(self.weights, self.means, self.covariances, tol=tol)

    @property
    def bar_omega(self) -> float:
        """Average pairwise overlap."""
        return self.overlap_map().average

    @property
    def max_omega(self) -> float:
        """Largest pairwise overlap."""
        return self.overlap_map().maximum

    def scaled(self, log_scales: Any) -> Self:
        """Return the mixture with each covariance multiplied by exp(log_scales)."""
        factor = np.exp(np.broadcast_to(log_scales, len(self.weights)))
        return replace(self, covariances=self.covariances * factor[:, None, None])

    def sample(
        self, n_samples: int, *, min_size: int = 0, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw points and the components they come from.

        Parameters
        ----------
        n_samples : int
            Number of points.
        min_size : int, default=0
            Draw the sizes of the components again until none is smaller.
        random_state : int, RandomState instance or None, default=None
            Source of the points.

        Returns
        -------
        X : ndarray of shape (n_samples, p)
            The points.
        y : ndarray of shape (n_samples,)
            Their components.
        """
        rng = check_random_state(random_state)
        K, p = self.means.shape
        if K * min_size > n_samples:
            raise ValueError(
                f"{n_samples} points cannot give {K} components {min_size} points each."
            )
        for _ in range(10_000):
            sizes = rng.multinomial(n_samples, self.weights)
            if sizes.min() >= min_size:
                break
        else:
            raise ValueError(
                f"No draw of {n_samples} points in 10,000 gave every component {min_size}: "
                f"the smallest weight is {self.weights.min():.3g}."
            )
        y = np.repeat(np.arange(K), sizes)
        factors = np.linalg.cholesky(self.covariances)
        X = self.means[y] + np.einsum("nab,nb->na", factors[y], rng.standard_normal((n_samples, p)))
        order = rng.permutation(n_samples)
        return X[order], y[order]


@checked
def overlap_of_clustering(X: Any, labels: Any) -> OverlapMap:
    """Return the overlap of the groups of a clustered data set.

    Parameters
    ----------
    X : array-like of shape (n_samples, p)
        The points.
    labels : array-like of shape (n_samples,)
        Their groups; negative labels are left out, as noise.

    Returns
    -------
    overlap : OverlapMap
        Overlap of Gaussians with the groups' sizes, means and covariances, in the order of the
        sorted labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from octavo.cluster import overlap_of_clustering
    >>> X, y = load_iris(return_X_y=True)
    >>> print(overlap_of_clustering(X, y).pair)
    (1, 2)
    """
    X = check_array(X, dtype=float)
    labels = np.asarray(labels)
    if labels.shape != (len(X),):
        raise ValueError(f"labels must have shape ({len(X)},); got {labels.shape}.")
    kept = labels >= 0 if labels.dtype.kind in "if" else np.ones(len(X), dtype=bool)
    X, labels = X[kept], labels[kept]
    groups, sizes = np.unique(labels, return_counts=True)
    p = X.shape[1]
    if len(groups) < 2:
        raise ValueError(f"At least 2 groups are needed; got {len(groups)}.")
    if sizes.min() <= p:
        small = groups[np.argmin(sizes)]
        raise ValueError(
            f"Group {small!r} has {sizes.min()} points; a covariance in {p} dimensions needs "
            f"at least {p + 1}."
        )
    means = np.array([X[labels == g].mean(axis=0) for g in groups])
    covs = np.array([np.atleast_2d(np.cov(X[labels == g], rowvar=False)) for g in groups])
    return gaussian_overlap(sizes / sizes.sum(), means, covs)


@checked
def overlap_of_fit(mixture: Any) -> OverlapMap:
    """Return the overlap of the components of a fitted scikit-learn GaussianMixture.

    Parameters
    ----------
    mixture : GaussianMixture or BayesianGaussianMixture
        A fitted mixture with any type of covariance.

    Returns
    -------
    overlap : OverlapMap
        Overlap of its components.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.mixture import GaussianMixture
    >>> from octavo.cluster import overlap_of_fit
    >>> fitted = GaussianMixture(2, random_state=0).fit(load_iris().data)
    >>> print(overlap_of_fit(fitted).maximum < 1e-3)
    True
    """
    K, p = mixture.means_.shape
    raw = np.asarray(mixture.covariances_)
    covariances = {
        "full": lambda: raw,
        "tied": lambda: np.broadcast_to(raw, (K, p, p)),
        "diag": lambda: raw[:, :, None] * np.eye(p),
        "spherical": lambda: raw[:, None, None] * np.eye(p),
    }[mixture.covariance_type]()
    return gaussian_overlap(mixture.weights_, mixture.means_, covariances)
