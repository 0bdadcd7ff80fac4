"""Kernel classifiers that may be published although their training records are secret.

A kernel machine is a sum over training records and gives them away. Here the kernel is
approximated by random cosines that do not depend on the records, and a private linear model is
fitted on those; the cosines and the model are what is released.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: Algorithm 3 and
Section 5. Its features have norm up to √2, not 1 as the proof of Theorem 22 would need; the
noise here is calibrated for √2.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.linear.private.base import PrivateClassifier
from octavo.linear.private.noise import NoiseSource
from octavo.linear.private.perturbation import CustomLoss

__all__ = ["PrivateKernelClassifier", "random_fourier_map"]


@checked
def random_fourier_map(
    kernel: str,
    gamma: float,
    n_features: int,
    n_components: int,
    *,
    features: str = "cosine",
    random_state: Any = None,
) -> tuple[Floats, Floats]:
    """Draw frequencies and phases whose cosines approximate a kernel.

    ``v = np.sqrt(2 / n_components) * np.cos(X @ weights + offset)`` has inner products that
    are, on average, the kernel.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy"}
        exp(-γ‖x - x'‖₂²), exp(-γ‖x - x'‖₁) or Π_j 1 / (1 + γ (x_j - x'_j)²).
    gamma : float
        The kernel's γ.
    n_features : int
        Number of features of a record.
    n_components : int
        Number of cosines.
    features : {"cosine", "fourier"}, default="cosine"
        Independent phases, as in the paper, for which ‖v‖ ≤ √2; or a cosine and a sine of
        each frequency, for which ‖v‖ = 1. The latter takes an even number of components.
    random_state : None, int or RandomState, default=None
        Seed. The map is no secret.

    Returns
    -------
    weights : ndarray of shape (n_features, n_components)
        Frequencies.
    offset : ndarray of shape (n_components,)
        Phases.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import random_fourier_map
    >>> weights, offset = random_fourier_map("rbf", 0.5, 1, 20_000, random_state=0)
    >>> v = np.sqrt(2 / 20_000) * np.cos(np.array([[0.0], [1.0]]) @ weights + offset)
    >>> round(float(v[0] @ v[1]), 2), round(float(np.exp(-0.5)), 2)
    (0.61, 0.61)
    """
    if features == "fourier" and n_components % 2:
        raise ValueError(f"features='fourier' needs an even n_components, got {n_components}.")
    rng = check_random_state(random_state)
    shape = (n_features, n_components // 2 if features == "fourier" else n_components)
    if kernel == "rbf":
        # The Fourier transform of e^(-γ‖x‖²)
        weights = rng.normal(scale=np.sqrt(2 * gamma), size=shape)
    elif kernel == "laplacian":
        weights = gamma * rng.standard_cauchy(shape)
    else:
        weights = rng.laplace(scale=np.sqrt(gamma), size=shape)
    if features == "fourier":  # sin t = cos(t - π/2)
        half = np.zeros(shape[1])
        return np.hstack([weights, weights]), np.concatenate([half, half - np.pi / 2])
    return weights, rng.uniform(-np.pi, np.pi, n_components)  # Algorithm 3's ψ


class PrivateKernelClassifier(PrivateClassifier):
    """Kernel classifier with ε-differential privacy for its training records.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy"}, default="rbf"
        exp(-γ‖x - x'‖₂²), exp(-γ‖x - x'‖₁) or Π_j 1 / (1 + γ (x_j - x'_j)²).
    gamma : float, default=None
        The kernel's γ; one over the number of features when None. It must not be chosen by
        looking at the records.
    n_components : int, default=100
        Number of random features. The noise grows with it, so more are not always better.
    loss : {"logistic", "huber", "smooth_hinge"} or CustomLoss, default="logistic"
        As in `PrivateLinearClassifier`.
    alpha : float, default=0.01
        Strength of the penalty (the paper's Λ).
    h : float, default=0.5
        Half-width of the smoothed hinges.
    features : {"cosine", "fourier"}, default="cosine"
        Random phases, as in the paper, of norm up to √2; or pairs of cosine and sine, of norm
        1, which need less noise but have half as many frequencies.
    feature_random_state : None, int or RandomState, default=None
        Seed of the random features alone. They are released anyway, so that a seed here is
        no loss of privacy; give one to models that are to share their features.
    classes : array-like, default=None
        The possible labels; read off `y` when None.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        Frequencies of the random features; released.
    random_offset_ : ndarray of shape (n_components,)
        Their phases; released.
    coef_ : ndarray of shape (1, n_components) or (n_classes, n_components)
        Coefficients, with noise.
    intercept_, classes_, epsilon_spent_, epsilon_prime_, delta_reg_, noise_scale_, grid_, \
mask_scale_, branch_, n_samples_public_, n_features_in_, feature_names_in_
        As in `PrivateLinearClassifier`.

    See Also
    --------
    PrivateLinearClassifier : Without a kernel.

    Notes
    -----
    Records may have any norm: cosines are bounded. Do not use it where a linear model will
    do, since the noise grows with `n_components`. Without a need for privacy use scikit-learn's
    `SVC`, or `RBFSampler` before `LogisticRegression`.

    References
    ----------
    .. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011). "Differentially Private
       Empirical Risk Minimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import PrivateKernelClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 2))
    >>> y = (X**2).sum(axis=1) < 0.6  # a disc: no linear model can tell
    >>> model = PrivateKernelClassifier(gamma=1.0, n_components=20, alpha=1e-3, epsilon=1.0)
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **PrivateClassifier._parameter_constraints,
        "kernel": [StrOptions({"rbf", "laplacian", "cauchy"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "features": [StrOptions({"cosine", "fourier"})],
        "feature_random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: str = "rbf",
        gamma: float | None = None,
        n_components: int = 100,
        epsilon: float = 1.0,
        loss: str | CustomLoss = "logistic",
        method: str = "objective",
        alpha: float = 1e-2,
        h: float = 0.5,
        fit_intercept: bool = False,
        tol: float = 1e-10,
        random_state: Any = None,
        *,
        features: str = "cosine",
        feature_random_state: Any = None,
        intercept_scaling: float = 1.0,
        branch: str | int = "auto",
        slack: str = "paper",
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.epsilon = epsilon
        self.loss = loss
        self.method = method
        self.alpha = alpha
        self.h = h
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.random_state = random_state
        self.features = features
        self.feature_random_state = feature_random_state
        self.intercept_scaling = intercept_scaling
        self.branch = branch
        self.slack = slack
        self.classes = classes
        self.ledger = ledger

    def _start(self, n_features: int, source: NoiseSource) -> None:
        seed = self.feature_random_state
        self.random_weights_, self.random_offset_ = random_fourier_map(
            self.kernel,
            1.0 / n_features if self.gamma is None else self.gamma,
            n_features,
            self.n_components,
            features=self.features,
            random_state=source.integer() if seed is None else seed,
        )

    def _train_features(self, X: Any) -> Floats:
        scale = np.sqrt(2.0 / self.n_components)  # Algorithm 3
        return scale * np.cos(X @ self.random_weights_ + self.random_offset_)

    def _test_features(self, X: Any) -> Floats:
        return self._train_features(X)

    def _feature_norm(self) -> float:
        # √2 cos is at most √2, and not 1 as Section 5 needs
        return 1.0 if self.features == "fourier" else float(np.sqrt(2.0))
