"""Kernels between policies, as a Gaussian process sees them.

A surface is told the evaluated policies and answers with kernel matrices, one for each setting that
the evidence may choose between, and with kernel rows of candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from sklearn.linear_model import ARDRegression

from octavo.engine.gaussian_process.posterior import clipped_kernel
from octavo.rl.policy_search.behaviour import BehaviourKernel
from octavo.rl.policy_search.step_sums import Steps

_LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)  # of the SE kernel, in root mean squared distances of the box
_ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the behaviour kernel, up to the paper's
_NUGGET = 1e-2  # on the diagonal of estimated kernel values
_UNINFORMED = 20  # policies before relevances are fitted (section 5.6)


class Surface:
    """A kernel between policies; whether its amplitude is chosen by the evidence."""

    scaled = True

    def update(self, thetas: np.ndarray, episodes: list, values: np.ndarray) -> None:
        """Take note of all evaluated policies."""
        raise NotImplementedError

    def matrices(self) -> list[np.ndarray]:
        """Return the kernel matrix of the evaluated policies, for each setting."""
        raise NotImplementedError

    def rows(self, candidates: np.ndarray, setting: int, coarse: bool = False) -> np.ndarray:
        """Return kernel values between candidates and evaluated policies."""
        raise NotImplementedError

    def prior(self, candidates: np.ndarray) -> np.ndarray:
        """Return kernel values of candidates with themselves."""
        return np.ones(len(candidates))


class BehaviourSurface(Surface):
    """The behaviour-based kernel, made consistent: one formula for candidates and evaluated.

    Divergences of a candidate come from the episodes of the evaluated alone (k), those between
    evaluated policies from the episodes of both (K). Taken together as they stand they are no
    kernel, and a mean kᵀK⁻¹y can lie anywhere. Here k serves as features, evaluated policies
    included: policies covary by k(θ)ᵀ(K + νI)⁻¹k(θ'), with lengths kept to 1 and 1 on the diagonal
    (inducing points; Quinonero-Candela and Rasmussen 2005, section 6). Where k equals K
    that is K, but for ν.
    """

    def __init__(
        self, kernel: BehaviourKernel, policy: Any, alphas: tuple[float, ...] | None = None
    ) -> None:
        self.kernel, self.policy = kernel, policy
        self.given = alphas is None
        self.alphas = (kernel.alpha,) if alphas is None else alphas
        self.known: Steps | None = None
        self.bases: list[np.ndarray] = []
        self.features: list[np.ndarray] = []

    def update(self, thetas: np.ndarray, episodes: list, values: np.ndarray) -> None:
        """Stack the steps of all episodes."""
        self.known = self.kernel.steps(self.policy, thetas, episodes)

    def _described(self, D: np.ndarray, setting: int) -> np.ndarray:
        """Return features whose inner products are covariances, from divergences (rows)."""
        # L⁻¹ of the kernel: inner products are the covariances of the nearest process
        made = np.exp(-self.alphas[setting] * D) @ self.bases[setting]
        # no variance above 1, however the estimates contradict each other
        return made / np.sqrt(np.maximum(np.einsum("qn,qn->q", made, made), 1.0))[:, None]

    def matrices(self) -> list[np.ndarray]:
        """Return covariances of the evaluated policies for each α."""
        assert self.known is not None
        D = self.kernel.pair_divergence(self.policy, self.known)
        seen = self.kernel.cross_divergence(self.policy, self.known.thetas, self.known)
        settled = self.kernel.settled if self.given else clipped_kernel
        eye, found = np.eye(len(D)), []
        self.bases, self.features = [], []
        for setting, alpha in enumerate(self.alphas):
            lower = np.linalg.cholesky(settled(np.exp(-alpha * D)) + _NUGGET * eye)
            self.bases.append(solve_triangular(lower, eye, lower=True).T)
            self.features.append(self._described(seen, setting))
            K = self.features[-1] @ self.features[-1].T
            np.fill_diagonal(K, 1.0)
            found.append(K)
        return found

    def rows(self, candidates: np.ndarray, setting: int, coarse: bool = False) -> np.ndarray:
        """Return covariances of candidates; divergences in single precision if coarse."""
        assert self.known is not None
        dtype = np.float32 if coarse else np.float64
        sums = self.kernel.sums(self.policy, candidates, self.known, dtype)
        D = self.kernel.divergence_from_sums(sums, self.known)
        return self._described(D, setting) @ self.features[setting].T


class SquaredExponential(Surface):
    """exp(−ρ‖θ − θ'‖²/2), with ρ by the evidence among lengths that fit the box."""

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        typical = np.sqrt(np.sum((high - low) ** 2) / 6.0)  # of two uniform points
        self.rhos = [1.0 / (share * typical) ** 2 for share in _LENGTHS]
        self.thetas = np.zeros((0, len(low)))

    def update(self, thetas: np.ndarray, episodes: list, values: np.ndarray) -> None:
        """Keep the parameters."""
        self.thetas = thetas

    def matrices(self) -> list[np.ndarray]:
        """Return a matrix for each ρ."""
        squares = cdist(self.thetas, self.thetas, "sqeuclidean")
        return [np.exp(-0.5 * rho * squares) for rho in self.rhos]

    def rows(self, candidates: np.ndarray, setting: int, coarse: bool = False) -> np.ndarray:
        """Return kernel values at the chosen ρ."""
        return np.exp(-0.5 * self.rhos[setting] * cdist(candidates, self.thetas, "sqeuclidean"))


class LinearARD(Surface):
    """Σ_d r_d θ_d θ'_d, with relevances r by maximum likelihood after twenty policies."""

    def __init__(self, n_params: int) -> None:
        self.relevance = np.ones(n_params)
        self.thetas = np.zeros((0, n_params))

    def update(self, thetas: np.ndarray, episodes: list, values: np.ndarray) -> None:
        """Keep the parameters, and fit relevances."""
        self.thetas = thetas
        spread = values.std()
        if len(thetas) >= _UNINFORMED and spread > 0:
            fitted = ARDRegression(fit_intercept=True).fit(thetas, values / spread)
            found = 1.0 / np.maximum(fitted.lambda_, 1e-12)  # ARD's precisions, turned round
            self.relevance = found / found.max()

    def matrices(self) -> list[np.ndarray]:
        """Return the matrix; it has the rank of the parameters."""
        return [clipped_kernel((self.thetas * self.relevance) @ self.thetas.T)]

    def rows(self, candidates: np.ndarray, setting: int, coarse: bool = False) -> np.ndarray:
        """Return kernel values."""
        return (candidates * self.relevance) @ self.thetas.T

    def prior(self, candidates: np.ndarray) -> np.ndarray:
        """Return kernel values of candidates with themselves."""
        return np.maximum(candidates**2 @ self.relevance, 1e-12)


class GivenKernel(Surface):
    """A kernel of scikit-learn, as it stands."""

    scaled = False

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.thetas = np.zeros((0, 1))

    def update(self, thetas: np.ndarray, episodes: list, values: np.ndarray) -> None:
        """Keep the parameters."""
        self.thetas = thetas

    def matrices(self) -> list[np.ndarray]:
        """Return the kernel's matrix."""
        return [np.asarray(self.kernel(self.thetas))]

    def rows(self, candidates: np.ndarray, setting: int, coarse: bool = False) -> np.ndarray:
        """Return kernel values."""
        return np.asarray(self.kernel(candidates, self.thetas))

    def prior(self, candidates: np.ndarray) -> np.ndarray:
        """Return kernel values of candidates with themselves."""
        return np.asarray(self.kernel.diag(candidates))


def make_surface(kernel: Any, policy: Any, low: np.ndarray, high: np.ndarray) -> Surface:
    """Return the surface that a name or a kernel stands for."""
    if isinstance(kernel, str) and kernel == "se":
        return SquaredExponential(low, high)
    if isinstance(kernel, str) and kernel == "ard_linear":
        return LinearARD(len(low))
    by_name = isinstance(kernel, str) and kernel == "bbk"
    kernel = BehaviourKernel() if by_name else kernel
    if isinstance(kernel, BehaviourKernel):
        if not hasattr(policy, "log_prob"):
            raise ValueError(
                "The behaviour kernel needs a policy with log_prob: deterministic policies take "
                "kernel='se'."
            )
        if getattr(policy, "scale", 1.0) == 0:
            raise ValueError(
                "The behaviour kernel compares stochastic policies; this one has scale=0. Give "
                "it noise, or take kernel='se'."
            )
        return BehaviourSurface(kernel, policy, _ALPHAS if by_name else None)
    if callable(kernel) and hasattr(kernel, "diag"):
        return GivenKernel(kernel)
    raise ValueError(
        "kernel must be 'bbk', 'se', 'ard_linear', a BehaviourKernel or a kernel of scikit-learn; "
        f"got {kernel!r}."
    )
