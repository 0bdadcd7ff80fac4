"""`LatentGaussianModel`: posteriors of sparse latent Gaussian models with skewed marginals.

References
----------
B. Cseke and T. Heskes. Approximate marginals in latent Gaussian models. Journal of Machine Learning
Research 12, 2011.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.latent_gaussian.corrections import (
    EP_METHODS,
    LAPLACE_METHODS,
    Correction,
    CorrectionBounds,
    CorrectionFamily,
    Target,
    corrected_marginal,
    correction_bounds,
    correction_family,
    target_of,
)
from octavo.bayes.latent_gaussian.densities import Marginal, mixture
from octavo.bayes.latent_gaussian.gaussian_models import build_model
from octavo.bayes.latent_gaussian.global_fits import GlobalFit, global_fit
from octavo.bayes.latent_gaussian.hyper_grid import (
    HyperGrid,
    find_mode,
    hyper_density,
    hyperparameter_grid,
    log_volume,
    mode_axes,
)
from octavo.bayes.latent_gaussian.likelihood_names import make_likelihood
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.arviz_output import as_arviz
from octavo.engine.sparse_gaussian.factor import NotPositiveDefinite
from octavo.engine.sparse_gaussian.likelihoods import Likelihood, Terms

__all__ = ["LatentGaussianModel", "LatentPrediction"]

_THRESHOLD = 6.0  # nodes whose log density is further below the mode's are not taken
_LIGHT = 1e-4  # nodes of the hyper-grid with less weight leave no trace in a mixture


class LatentPrediction(NamedTuple):
    """Predictions of linear combinations: arrays `mean`, `sd`, and a list of `marginals`."""

    mean: Floats
    sd: Floats
    marginals: list[Marginal]


class _MarginalsOf(str):
    """The parameter `marginals` of a fitted model: a word that can be called with latents.

    `marginals` is both a parameter and the name of what returns several marginals. Copies and
    pickles are plain words again; the model puts the call back.
    """

    model: Any

    def __call__(self, idx: Any, method: str | None = None) -> list[Marginal]:
        return self.model.marginals_of(idx, method)

    def __reduce__(self) -> Any:
        return (str, (str(self),))


class Node(NamedTuple):
    """The fit at one value of the hyper-parameters; None where there are none."""

    theta: Floats | None
    weight: float
    model: Any
    terms: Terms
    fit: GlobalFit


class LatentGaussianModel(CallbackSupportMixin, SoundEstimator):
    """Posterior of a latent Gaussian model, with corrected marginals and no sampling.

    Latents x have a Gaussian prior, sparse in its precision (random fields, walks) or dense in its
    covariance (Gaussian processes). Each observation is a non-Gaussian term on one latent or on a
    linear combination. Expectation propagation or Laplace's method gives a Gaussian posterior;
    `marginal` corrects its skewness, and hyper-parameters are integrated over a grid.

    Parameters
    ----------
    likelihood : str, Likelihood or callable, default="probit"
        A name or result of `make_likelihood`; a function log t(y, x); or a function of the
        hyper-parameters theta alone that returns one of these.
    prior : matrix, pair, GaussianPrior or callable, default=None
        A precision matrix (sparse or dense), a pair (Q, h) for a density proportional to
        exp(h'x - x'Qx/2), a `GaussianPrior`, or a function of theta that returns any of these.
        None is independent standard normal latents.
    hyperprior : callable, default=None
        Log density of theta; flat if None.
    theta0 : array-like of shape (d,), default=None
        Where the search for the mode of theta begins; needed when prior or likelihood is a
        function of theta.
    method : {"ep", "laplace"}, default="ep"
        The global approximation.
    alpha : float, default=1.0
        Power of EP, in (0, 1].
    damping : "auto" or float, default="auto"
        Part of each EP update that is taken.
    marginals : str, default="ep-fact"
        What `marginal` and `predict` use: one of "ep-g", "ep-l", "ep-fact", "ep-1step", "ep-full",
        "ep-opw" after EP, "lm-g", "lm-l", "la-cm", "la-cm2", "la-tk", "la-fact" after Laplace.
        With ``method="laplace"`` the default stands for "la-cm2".
    constraints : pair (C, b), default=None
        Condition on C x = b.
    n_quad : int, default=32
        Nodes of a quadrature panel.
    tol : float, default=1e-6
        EP stops when tilted and marginal moments agree to this, in units of the marginal.
    max_iter : int, default=200
        Most iterations of the global approximation.
    n_jobs : int, default=None
        Processes over nodes of the hyper-grid.

    Attributes
    ----------
    mean_, var_ : ndarray of shape (n_latents,)
        Posterior mean and variance under the global approximation, averaged over theta.
    precision_ : sparse array of shape (n_latents, n_latents)
        Posterior precision, at the mode of theta; constraints not included.
    log_evidence_ : float
        Log p(y), with a normalised prior (generalised determinant where it is improper); with
        hyper-parameters integrated over their grid, hyperprior included.
    site_params_ : tuple of two ndarrays of shape (n_observed,)
        Linear and quadratic coefficients of the Gaussian sites, at the mode of theta.
    theta_mode_ : ndarray of shape (d,) or None
        Mode of the hyper-parameters.
    theta_grid_ : ndarray of shape (n_nodes, d) or None
        Nodes.
    theta_weights_ : ndarray of shape (n_nodes,) or None
        Their weights; the sum is one.
    converged_ : bool
        Whether the global approximation at the mode has converged.
    n_iter_ : int
        Its iterations.

    See Also
    --------
    octavo.bayes.GPProbitClassifier : A Gaussian process classifier on top of it.
    octavo.bayes.BesagSpatialModel : Disease maps.

    Notes
    -----
    Do not use it where terms depend on several latents other than through a linear combination,
    where the posterior has several modes, or for dense priors of more than some thousand latents.
    scikit-learn's `GaussianProcessRegressor` is enough for a Gaussian likelihood and dense kernel.

    References
    ----------
    .. [1] B. Cseke and T. Heskes (2011). "Approximate Marginals in Latent Gaussian Models". Journal
       of Machine Learning Research 12.
    .. [2] H. Rue, S. Martino and N. Chopin (2009). "Approximate Bayesian inference for latent
       Gaussian models by using integrated nested Laplace approximations". JRSS B 71.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import LatentGaussianModel, ar1
    >>> counts = [0, 1, 0, 3, 2, 5, np.nan, 9, 7]
    >>> model = LatentGaussianModel("poisson", prior=ar1(9, 0.9, 4.0)).fit(counts)
    >>> model.mean_[[0, 6]].round(2).tolist()
    [-0.33, 1.66]
    >>> model.marginal(0).quantile([0.025, 0.975]).round(2).tolist()
    [-1.57, 0.79]
    """

    _parameter_constraints: dict[str, Any] = {
        "likelihood": [str, Likelihood, callable],
        "prior": "no_validation",
        "hyperprior": [callable, None],
        "theta0": ["array-like", Real, None],
        "method": [StrOptions({"ep", "laplace"})],
        "alpha": [Interval(Real, 0, 1, closed="right")],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "marginals": [StrOptions({*EP_METHODS, *LAPLACE_METHODS})],
        "constraints": "no_validation",
        "n_quad": [Interval(Integral, 4, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        likelihood: Any = "probit",
        prior: Any = None,
        hyperprior: Callable[[Floats], float] | None = None,
        theta0: Any = None,
        method: str = "ep",
        alpha: float = 1.0,
        damping: str | float = "auto",
        marginals: str = "ep-fact",
        constraints: Any = None,
        n_quad: int = 32,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.likelihood = likelihood
        self.prior = prior
        self.hyperprior = hyperprior
        self.theta0 = theta0
        self.method = method
        self.alpha = alpha
        self.damping = damping
        self.marginals = marginals
        self.constraints = constraints
        self.n_quad = n_quad
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    # --- fitting --------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, y: Any, A: Any = None, *, exposure: Any = None, n_trials: Any = None) -> Self:
        """Fit the global approximation, and the grid of hyper-parameters where there are any.

        Parameters
        ----------
        y : array-like of shape (n_observations,)
            Observations; NaN where one is missing. Survival likelihoods take a second column, 1
            for an event and 0 for a censored time.
        A : array-like or sparse matrix of shape (n_observations, n_latents), default=None
            The combination of latents under each observation; None puts y_j on x_j.
        exposure : array-like of shape (n_observations,), default=None
            Multiplies the mean of counts.
        n_trials : array-like of shape (n_observations,), default=None
            Of a binomial likelihood.

        Returns
        -------
        self : LatentGaussianModel
            The fitted model.
        """
        data = _Data(y, A, exposure, n_trials)
        self._check_choices()
        with FitProgress(self, self.max_iter) as progress:
            if not self._has_theta():
                node = self._fit_node(data, None, None, progress)
                self._nodes = [node]
                self._grid: HyperGrid | None = None
                self.log_evidence_ = node.fit.log_evidence
                self.theta_mode_: Floats | None = None
                self.theta_grid_: Floats | None = None
                self.theta_weights_: Floats | None = None
            else:
                self._fit_theta(data, progress)
        self._store()
        self._make_callable()
        return self

    def _make_callable(self) -> None:
        word = _MarginalsOf(self.marginals)
        word.model = self
        self.marginals = word

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, `marginals` as a plain word.

        Parameters
        ----------
        deep : bool, default=True
            As in scikit-learn.

        Returns
        -------
        params : dict
            Parameters by name.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        params["marginals"] = str(params["marginals"])
        return params

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "mean_"):
            self._make_callable()

    def _check_choices(self) -> None:
        likelihood = self.likelihood
        name = likelihood if isinstance(likelihood, str) else getattr(likelihood, "name", "")
        family = make_likelihood(name) if isinstance(likelihood, str) else likelihood
        if self.method == "laplace" and not getattr(family, "smooth", True):
            raise ValueError(
                f"method='laplace' needs two derivatives, which the likelihood {name!r} does "
                "not have; use method='ep'."
            )
        self._marginal_method(None)

    def _has_theta(self) -> bool:
        depends = callable(self.prior) or _of_theta(self.likelihood)
        if depends and self.theta0 is None:
            raise ValueError("theta0 is needed when prior or likelihood is a function of theta.")
        return depends

    def _model_at(self, data: _Data, theta: Floats | None, like: Any) -> tuple[Any, Terms]:
        likelihood, prior = self.likelihood, self.prior
        if theta is not None and _of_theta(likelihood):
            likelihood = likelihood(theta)
        if theta is not None and callable(prior):
            prior = prior(theta)
        family = make_likelihood(likelihood)
        if prior is None:
            size = data.n_rows if data.A is None else data.A.shape[1]
            prior = sp.eye_array(size, format="csr")
        model = build_model(prior, data.A, data.keep, self.constraints, like)
        if data.A is None and model.n != data.n_rows:
            raise ValueError(
                f"y should have one entry per latent ({model.n}), got {data.n_rows}; A says "
                "where else they are."
            )
        return model, data.bind(family)

    def _fit_node(
        self, data: _Data, theta: Floats | None, near: Node | None, progress: Any = None
    ) -> Node:
        model, terms = self._model_at(data, theta, None if near is None else near.model)
        start = None
        if near is not None:
            start = (near.fit.h, near.fit.q, near.fit.state.mean_u)
        try:
            fit = global_fit(
                self.method,
                model,
                terms,
                power=float(self.alpha),
                damping=self.damping,
                tol=float(self.tol),
                max_iter=self.max_iter,
                n_quad=self.n_quad,
                start=start,
                quiet=theta is not None,
                on_step=None if progress is None else lambda *_: progress.step(),
            )
        except NotPositiveDefinite as error:
            if model.rank < model.n:
                raise ValueError(
                    f"The prior is improper in {model.n - model.rank} direction(s), which "
                    f"neither data nor constraints fix (see row {error.row})."
                ) from None
            raise
        return Node(theta, 1.0, model, terms, fit)

    def _fit_theta(self, data: _Data, progress: Any) -> None:
        theta0 = np.atleast_1d(np.asarray(self.theta0, dtype=np.float64))
        if theta0.ndim != 1 or not np.isfinite(theta0).all():
            raise ValueError(f"theta0 should be finite numbers, got {self.theta0!r}.")
        nearest: list[Node | None] = [None]
        seen: dict[bytes, float] = {}

        def log_posterior(theta: Floats) -> float:
            key = np.round(theta, 12).tobytes()
            if key not in seen:
                node = self._node_or_none(data, theta, nearest[0])
                seen[key] = -np.inf if node is None else self._log_posterior(node)
                nearest[0] = nearest[0] if node is None else node
                progress.step()
            return seen[key]

        nearest[0] = self._fit_node(data, theta0, None)  # errors of the model are errors here
        mode = find_mode(log_posterior, theta0)
        axes = mode_axes(log_posterior, mode)
        centre = self._fit_node(data, mode, nearest[0])
        kept: list[Node | None] = []  # in the order in which the grid looks at points

        def batch(points: list[Floats]) -> list[float]:
            run = delayed(self._node_or_none)
            nodes = Parallel(n_jobs=self.n_jobs)(run(data, theta, centre) for theta in points)
            values = []
            for node in nodes:
                kept.append(node)
                values.append(-np.inf if node is None else self._log_posterior(node))
                progress.step()
            return values

        grid = hyperparameter_grid(log_posterior, mode, axes, threshold=_THRESHOLD, batch=batch)
        top = self._log_posterior(centre)
        total = float(np.log(np.exp(grid.log_density).sum()))
        self.log_evidence_ = top + total + log_volume(grid)
        self._grid = grid
        self.theta_mode_, self.theta_grid_ = grid.mode, grid.nodes
        self.theta_weights_ = grid.weights
        inside = np.flatnonzero(grid.evaluated_log_density > -_THRESHOLD)
        # The mode is looked at first: its fit is the one that attributes speak of.
        self._nodes = [
            node._replace(weight=float(weight))
            for node, weight in zip((kept[i] for i in inside), grid.weights, strict=True)
            if node is not None and weight > _LIGHT * grid.weights.max()
        ]

    def _node_or_none(self, data: _Data, theta: Floats, near: Node | None) -> Node | None:
        """Return the fit, or None where these hyper-parameters allow none."""
        try:
            node = self._fit_node(data, theta, near)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            return None
        return node if np.isfinite(node.fit.log_evidence) else None

    def _log_posterior(self, node: Node) -> float:
        extra = 0.0
        if self.hyperprior is not None and node.theta is not None:
            extra = float(self.hyperprior(node.theta))
        return node.fit.log_evidence + extra

    def _store(self) -> None:
        fit = self._nodes[0].fit
        moments = [(n.fit.state.mean, n.fit.state.variances()[0]) for n in self._nodes]
        self.mean_, self.var_ = _mixed_moments(moments, self._weights())
        self.precision_ = self._nodes[0].model.posterior_precision(fit.q)
        self.site_params_ = (fit.h, fit.q)
        self.converged_ = fit.converged
        self.n_iter_ = fit.n_iter

    def _weights(self) -> Floats:
        weights = np.array([node.weight for node in self._nodes])
        return weights / weights.sum()

    def combination_moments(self, A_new: Any) -> tuple[Floats, Floats]:
        """Return posterior mean and variance of linear combinations, fast where A is sparse.

        Rows whose latents meet in an observed row or in the prior need no solve: their variances
        come from the selected inverse.

        Parameters
        ----------
        A_new : array-like or sparse matrix of shape (n_new, n_latents)
            One combination a row.

        Returns
        -------
        mean, variance : ndarray of shape (n_new,)
            Averaged over the hyper-parameters.
        """
        check_is_fitted(self, "mean_")
        rows = self._rows_of(A_new)
        moments = [node.fit.state.combination_moments(rows) for node in self._nodes]
        return _mixed_moments(moments, self._weights())

    def _rows_of(self, A_new: Any) -> sp.csr_array:
        rows = _checked_rows(A_new, "A_new")
        if rows.shape[1] != self.mean_.size:
            raise ValueError(
                f"A_new should have one column per latent ({self.mean_.size}), got {rows.shape[1]}."
            )
        return rows

    # --- answers --------------------------------------------------------------------------

    def _marginal_method(self, method: str | None) -> str:
        chosen = self.marginals if method is None else method
        if method is None and chosen == "ep-fact" and self.method == "laplace":
            return "la-cm2"
        if chosen not in (*EP_METHODS, *LAPLACE_METHODS):
            names = ", ".join((*EP_METHODS, *LAPLACE_METHODS))
            raise ValueError(f"method should be one of {names}, got {chosen!r}.")
        fits = EP_METHODS if self.method == "ep" else LAPLACE_METHODS
        if chosen not in fits:
            raise ValueError(
                f"The marginal {chosen!r} does not go with method={self.method!r}; choose one "
                f"of {', '.join(fits)}."
            )
        return chosen

    def _direction(self, i: Any) -> Floats:
        n = self.mean_.size
        if isinstance(i, (bool, np.bool_)) or not isinstance(i, (Integral, np.integer)):
            raise ValueError(f"i should be the number of a latent, got {i!r}.")
        at = int(i)
        if not -n <= at < n:
            raise ValueError(f"i should be below the number of latents, {n}, got {at}.")
        a = np.zeros(n)
        a[at] = 1.0
        return a

    def _correction(self, node: Node, a: Floats, everything: bool = False) -> Correction:
        target = target_of(node.fit.state, a)
        return Correction(node.fit, node.terms, target, self.n_quad, everything)

    def _marginal_of(self, a: Floats, method: str) -> Marginal:
        parts = []
        for node in self._nodes:
            target = target_of(node.fit.state, a)
            if not target.variance > 1e-14 * float(a @ a):
                point = target.mean + 1e-6 * np.array([-1.0, 0.0, 1.0])
                parts.append(Marginal(point, [0.0, 1.0, 0.0], method))  # fixed by constraints
                continue
            parts.append(_corrected(node, target, method, self.n_quad))
        return mixture(parts, self._weights())

    def marginal(self, i: int, method: str | None = None) -> Marginal:
        """Return the posterior marginal of one latent.

        Parameters
        ----------
        i : int
            The latent.
        method : str, default=None
            How it is corrected; the parameter `marginals` if None.

        Returns
        -------
        marginal : Marginal
            With arrays `x`, `pdf`, numbers `mean`, `sd`, methods `density`, `cdf`, `quantile`.
        """
        check_is_fitted(self, "mean_")
        return self._marginal_of(self._direction(i), self._marginal_method(method))

    def marginals_of(self, idx: Any, method: str | None = None) -> list[Marginal]:
        """Return the posterior marginals of several latents; ``marginals(idx)`` is the same.

        Parameters
        ----------
        idx : array-like of int
            The latents.
        method : str, default=None
            As in `marginal`.

        Returns
        -------
        marginals : list of Marginal
            The densities, in the order asked for.
        """
        check_is_fitted(self, "mean_")
        chosen = self._marginal_method(method)
        return [self._marginal_of(self._direction(i), chosen) for i in np.atleast_1d(idx)]

    def hyper_marginal(self, k: int) -> Marginal:
        """Return the posterior marginal of hyper-parameter k.

        Parameters
        ----------
        k : int
            Its position in theta.

        Returns
        -------
        marginal : Marginal
            The density.
        """
        check_is_fitted(self, "mean_")
        if self._grid is None:
            raise ValueError("The model has no hyper-parameters.")
        if not 0 <= k < self._grid.mode.size:
            raise ValueError(f"k should be below {self._grid.mode.size}, got {k}.")
        return hyper_density(self._grid, int(k))

    def bounds(self, i: int) -> CorrectionBounds:
        """Return bounds on the factor by which terms of other latents correct a marginal.

        They hold for q(x_i) eps_i(x_i) c(x_i), each eps_j scaled to mean one under q, at the
        mode of theta. Wide bounds say that the factorised correction is not to be trusted.

        Parameters
        ----------
        i : int
            The latent.

        Returns
        -------
        bounds : CorrectionBounds
            Arrays `x`, `lower`, `upper`; `upper` is infinite where its integral does not exist.
        """
        check_is_fitted(self, "mean_")
        return correction_bounds(self._correction(self._nodes[0], self._direction(i), True))

    def correction_family(self, i: int, alphas: Any = (0.0, 0.5, 1.0, 2.0)) -> CorrectionFamily:
        """Return the factorised corrections of other powers, which lie between the bounds.

        All of them agree to first order: where they differ much, so may the truth from "ep-fact".

        Parameters
        ----------
        i : int
            The latent.
        alphas : array-like of shape (n_alphas,), default=(0.0, 0.5, 1.0, 2.0)
            Powers, not negative: 0 is the lower bound, 1 the correction of "ep-fact", and one less
            than the number of terms the upper bound.

        Returns
        -------
        family : CorrectionFamily
            Arrays `x`, `alphas` and `values`, of shape (n_alphas, n_x), scaled as in `bounds`.
        """
        check_is_fitted(self, "mean_")
        powers = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        if powers.ndim != 1 or not (np.isfinite(powers) & (powers >= 0)).all():
            raise ValueError(f"alphas should be numbers that are not negative, got {alphas!r}.")
        return correction_family(self._correction(self._nodes[0], self._direction(i), True), powers)

    def predict(self, A_new: Any, method: str | None = None) -> LatentPrediction:
        """Return the posterior of linear combinations of the latents.

        Parameters
        ----------
        A_new : array-like or sparse matrix of shape (n_new, n_latents)
            One combination a row.
        method : str, default=None
            How marginals are corrected; the parameter `marginals` if None.

        Returns
        -------
        prediction : LatentPrediction
            `mean` and `sd` under the global approximation, and the corrected `marginals`.
        """
        check_is_fitted(self, "mean_")
        chosen = self._marginal_method(method)
        rows = self._rows_of(A_new)
        mean, variance = self.combination_moments(rows)
        dense = rows.toarray()
        found = [self._marginal_of(row, chosen) for row in dense]
        return LatentPrediction(mean, np.sqrt(np.maximum(variance, 0.0)), found)

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Return draws from the global approximation, hyper-parameters drawn too.

        Parameters
        ----------
        n : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        draws : ndarray of shape (n, n_latents)
            One draw a row.
        """
        check_is_fitted(self, "mean_")
        rng = check_random_state(random_state)
        which = rng.choice(len(self._nodes), size=n, p=self._weights())
        out = np.empty((n, self.mean_.size))
        for k, node in enumerate(self._nodes):
            rows = np.flatnonzero(which == k)
            if rows.size:
                state = node.fit.state
                out[rows] = state.sample(rng.standard_normal((rows.size, state.n_normals)))
        return out

    def to_arviz(self, n_draws: int = 1000, random_state: Any = None) -> Any:
        """Return draws as an arviz data set; needs the package `arviz`.

        Parameters
        ----------
        n_draws : int, default=1000
            Number of draws, in one chain.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        data : arviz.InferenceData
            Its posterior group holds `x`.
        """
        check_is_fitted(self, "mean_")
        return as_arviz({"x": self.sample(n_draws, random_state)[None]})


def _corrected(node: Node, target: Target, method: str, n_quad: int) -> Marginal:
    return corrected_marginal(Correction(node.fit, node.terms, target, n_quad), method)


def _mixed_moments(moments: list[tuple[Floats, Floats]], weights: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of a mixture."""
    mean = sum(w * m for w, (m, _) in zip(weights, moments, strict=True))
    second = sum(w * (v + (m - mean) ** 2) for w, (m, v) in zip(weights, moments, strict=True))
    return np.asarray(mean), np.asarray(second)


def _of_theta(function: Any) -> bool:
    """Return whether a likelihood is a function of theta alone, not of (y, x)."""
    if isinstance(function, (str, Likelihood)) or not callable(function):
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return len([p for p in parameters if p.default is p.empty]) == 1


def _checked_rows(A: Any, name: str) -> sp.csr_array:
    if not sp.issparse(A):
        A = np.asarray(A, dtype=np.float64)
        if A.ndim != 2:
            raise ValueError(f"{name} should be a matrix, got {A.ndim} dimension(s).")
    rows = sp.csr_array(A, dtype=np.float64)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        at = int(np.flatnonzero(~np.isfinite(rows.data))[0])
        row = int(np.searchsorted(rows.indptr, at, side="right") - 1)
        raise ValueError(f"{name} should be finite, got {rows.data[at]} in row {row}.")
    return rows


class _Data:
    """Observations as they come: which are there, and on which combinations."""

    def __init__(self, y: Any, A: Any, exposure: Any, n_trials: Any) -> None:
        values = np.asarray(y, dtype=np.float64)
        if values.ndim not in (1, 2) or not values.size:
            raise ValueError(f"y should be a vector of observations, got shape {values.shape}.")
        self.n_rows = values.shape[0]
        missing = np.isnan(values) if values.ndim == 1 else np.isnan(values).any(axis=1)
        self.keep: Indices = np.flatnonzero(~missing)
        self.y = values[self.keep]
        self.A = None if A is None else _checked_rows(A, "A")
        if self.A is not None and self.A.shape[0] != self.n_rows:
            raise ValueError(
                f"A should have one row per observation ({self.n_rows}), got {self.A.shape[0]}."
            )
        self.exposure = self._beside("exposure", exposure)
        self.n_trials = self._beside("n_trials", n_trials)

    def _beside(self, name: str, given: Any) -> Any:
        if given is None:
            return None
        values = np.asarray(given, dtype=np.float64)
        if values.ndim == 0:
            return values
        if values.shape != (self.n_rows,):
            raise ValueError(f"{name} should have shape ({self.n_rows},), got {values.shape}.")
        return values[self.keep]

    def bind(self, family: Likelihood) -> Terms:
        if self.y.ndim == 2 and family.name not in ("weibull", "exponential"):
            raise ValueError(f"y should be a vector for {family.name!r}, got shape {self.y.shape}.")
        return family.bind(self.y, self.exposure, self.n_trials, self.keep)
