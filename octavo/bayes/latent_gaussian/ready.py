"""What ready-made models have in common: how they make, keep and ask the model inside."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.callback import CallbackSupportMixin

from octavo.bayes.latent_gaussian.model import LatentGaussianModel
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator

COMMON_CONSTRAINTS: dict[str, Any] = {
    "method": [StrOptions({"ep", "laplace"})],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
}


class ReadyModel(CallbackSupportMixin, SoundEstimator):
    """A prior and a likelihood put together; subclasses store `model_`, `mean_` and `var_`."""

    method: str
    tol: float
    max_iter: int
    n_jobs: int | None
    model_: LatentGaussianModel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _inner(
        self,
        likelihood: Any,
        prior: Any,
        hyperprior: Callable[[Floats], float] | None = None,
        theta0: Any = None,
        constraints: Any = None,
    ) -> LatentGaussianModel:
        return LatentGaussianModel(
            likelihood,
            prior=prior,
            hyperprior=hyperprior,
            theta0=theta0,
            method=self.method,
            constraints=constraints,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )

    def _keep(self, model: LatentGaussianModel) -> None:
        self.model_ = model
        self.converged_, self.n_iter_ = model.converged_, model.n_iter_
        self.log_evidence_ = model.log_evidence_


class FixedPrior:
    """A function of theta that can be pickled: precisions that theta scales, block by block."""

    def __init__(self, build: Callable[..., Any], *parts: Any) -> None:
        self.build, self.parts = build, parts

    def __call__(self, theta: Floats) -> Any:
        return self.build(np.asarray(theta, dtype=np.float64), *self.parts)


class LogGammaPrior:
    """Log density of the logarithms of precisions with a gamma law each."""

    def __init__(self, shape: float, rate: float) -> None:
        self.shape, self.rate = shape, rate

    def __call__(self, theta: Floats) -> float:
        a, b = self.shape, self.rate
        log_density = a * np.log(b) - gammaln(a) + a * theta - b * np.exp(np.minimum(theta, 700.0))
        return float(np.sum(log_density))
