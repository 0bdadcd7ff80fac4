"""Generalised linear mixed models by variational inference with a full covariance.

Reference: M. P. Wand (2014), "Fully Simplified Multivariate Normal Updates in Non-Conjugate
Variational Message Passing", Journal of Machine Learning Research 15, Section 5.1; with several and
correlated random effects after A. Huang and M. P. Wand (2013), "Simple marginally noninformative
prior distributions for covariance matrices", Bayesian Analysis 8.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from scipy.stats import invgamma, norm
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.mixed_models.ascent import Ascent, ascend
from octavo.bayes.mixed_models.designs import MixedDesign, Term, row_space, term_of_matrix
from octavo.bayes.mixed_models.draws import draw_posterior
from octavo.bayes.mixed_models.families import FAMILIES, Gaussian, NegativeBinomial, make_family
from octavo.bayes.mixed_models.groupings import Grouping, encode_groups, place_groups
from octavo.bayes.mixed_models.variance_marginals import variance_marginal
from octavo.engine.estimators.arrays import Floats, Numbers
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.arviz_output import as_arviz
from octavo.engine.variational.variance_components import new_component

__all__ = ["VariationalMixedModel"]

LARGEST_COVARIANCE = 10_000  # coefficients of a dense covariance: 0.8 gigabytes
WIDE = 1e3  # a posterior standard deviation beyond this times the scale has run off


class VariationalMixedModel(CallbackSupportMixin, RegressorMixin, SoundEstimator):
    """Poisson, logistic, negative binomial and Gaussian mixed models with a full covariance.

    Responses have a linear predictor X beta + sum of random effects, beta_j ~ N(0, sigma_beta^2),
    random effects of a grouping are N(0, sigma^2) with sigma ~ Half-Cauchy(A). The posterior of all
    coefficients is one multivariate normal, fitted by non-conjugate variational message passing
    (Algorithm 1); those of variances are inverse gamma.

    Parameters
    ----------
    family : {"poisson", "binomial", "negbinomial", "gaussian"} or callable, default="poisson"
        Law of the response: counts with log link, shares of successes with logistic link, counts
        of larger variance, normal. A function takes (y, eta) and returns the log-likelihood and its
        derivative by eta, row by row; predictions are then linear predictors.
    sigma_beta : float, default=1e5
        Prior standard deviation of fixed effects, the intercept included.
    A : float, default=1e5
        Scale of the Half-Cauchy priors of standard deviations.
    fit_intercept : bool, default=True
        Whether to add an intercept.
    random_slopes : list or dict, default=None
        Columns of X, by name or place, whose slope varies by group, in every grouping; or a dict
        from a grouping's name to such a list. Intercept and slopes of a grouping have a full
        covariance matrix with the prior of Huang and Wand, under which correlations are uniform and
        standard deviations half-t with two degrees of freedom and scale A.
    damping : "auto" or float in (0, 1], default="auto"
        Length of the first step that is tried in each iteration; "auto" is 1. It is halved while
        the bound falls.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-8
        Stop when the bound rises by less than this, relative to its size; the paper uses 1e-4.
    quadrature : int, default=20
        Number of Gauss-Hermite nodes of families without closed forms.
    dispersion : float, default=None
        Of family "negbinomial", whose variance is mu + dispersion mu^2. By default it maximises the
        bound.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior means of fixed effects.
    intercept_ : float
        Posterior mean of the intercept; 0 without one.
    coef_cov_ : ndarray
        Posterior covariance of fixed effects, the intercept first where one is fitted.
    ranef_ : list of ndarray
        Posterior means of random effects, one array per term: (n_levels,), or (n_levels, q) with
        slopes.
    ranef_cov_ : list of ndarray of shape (n_levels, q, q)
        The diagonal blocks of their posterior covariance; `posterior_covariance` has the whole.
    levels_ : list of ndarray
        The labels of each term, in the order of ``ranef_``.
    term_names_ : list of str
        The names of the terms.
    q_sigma2_ : ndarray of shape (2, n_variances)
        Shape (first row) and rate (second row) of the inverse-gamma posteriors of variances: one
        entry per term; with slopes one per column.
    sigma2_ : ndarray of shape (n_variances,)
        Their means.
    ranef_prior_cov_ : list of ndarray of shape (q, q)
        Posterior means of the covariance matrices of random effects.
    noise_variance_ : float
        Posterior mean of the residual variance; only for "gaussian".
    q_noise_variance_ : ndarray of shape (2,)
        Shape and rate of its posterior; only for "gaussian".
    dispersion_ : float
        The dispersion; only for "negbinomial".
    lower_bound_ : float
        Variational lower bound of the log marginal likelihood. It carries -ln A per variance, so
        compare models at equal A only.
    lower_bounds_ : ndarray
        Its value at the start and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether ``tol`` was met.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray
        Names of the columns, where X had names.

    See Also
    --------
    HeteroscedasticAdditiveRegressor : Smooth curves for the mean and for the variance.
    GaussianVariational : The same step for any model.

    Notes
    -----
    Do not use it for fixed effects alone (`sklearn.linear_model.PoissonRegressor` or
    `LogisticRegression`), nor where the posterior is far from normal: a few binary responses per
    group make the variance's posterior too narrow.

    References
    ----------
    .. [1] M. P. Wand (2014). "Fully Simplified Multivariate Normal Updates in Non-Conjugate
       Variational Message Passing". Journal of Machine Learning Research 15.
    .. [2] A. Huang and M. P. Wand (2013). "Simple marginally noninformative prior distributions for
       covariance matrices". Bayesian Analysis 8.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import VariationalMixedModel
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.arange(50), 8)
    >>> x, u = rng.random((400, 1)), rng.normal(0, 0.5, 50)
    >>> y = rng.poisson(np.exp(0.5 + x[:, 0] + u[groups]))
    >>> model = VariationalMixedModel().fit(x, y, groups=groups)
    >>> model.coef_.round(2), np.sqrt(np.diag(model.coef_cov_)).round(2)
    (array([1.03]), array([0.1, 0.1]))
    >>> model.sigma2_.round(2)
    array([0.32])
    """

    _parameter_constraints: dict[str, Any] = {
        "family": [StrOptions(set(FAMILIES)), callable],
        "sigma_beta": [Interval(Real, 0, None, closed="neither")],
        "A": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "random_slopes": ["array-like", dict, None],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "quadrature": [Interval(Integral, 2, 200, closed="both")],
        "dispersion": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        family: Any = "poisson",
        sigma_beta: float = 1e5,
        A: float = 1e5,
        fit_intercept: bool = True,
        random_slopes: Any = None,
        damping: str | float = "auto",
        max_iter: int = 500,
        tol: float = 1e-8,
        quadrature: int = 20,
        dispersion: float | None = None,
    ) -> None:
        self.family = family
        self.sigma_beta = sigma_beta
        self.A = A
        self.fit_intercept = fit_intercept
        self.random_slopes = random_slopes
        self.damping = damping
        self.max_iter = max_iter
        self.tol = tol
        self.quadrature = quadrature
        self.dispersion = dispersion

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family in ("poisson", "negbinomial", "binomial")
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        Z: Any = None,
        offset: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Fixed effects.
        y : array-like of shape (n_samples,)
            Responses: counts, shares of successes, or numbers.
        groups : array-like of shape (n_samples,) or (n_samples, n_terms), frame or dict, optional
            Labels of one grouping, or of several, crossed or nested, a column each. Labels of
            nested groupings must be distinct across outer groups.
        Z : array-like or sparse matrix of shape (n_samples, K), default=None
            The design of one random term instead of ``groups``.
        offset : array-like of shape (n_samples,), default=None
            Added to the linear predictor, such as the log of an exposure.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of log-likelihoods; numbers of trials for shares of successes.

        Returns
        -------
        self : VariationalMixedModel
            The fitted model.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        shift = self._check_offset(offset, len(y))
        design, groupings = self._design(X, groups, Z, weight > 0)
        if not (weight > 0).all():
            X, y, weight, shift = (part[weight > 0] for part in (X, y, weight, shift))
        family = make_family(
            self.family,
            y,
            weight,
            n_nodes=self.quadrature,
            spread=float(self.A),
            dispersion=self.dispersion,
        )
        start = 1.0
        if isinstance(family, Gaussian):
            start = float(family.component.mean[0, 0])
        components = [new_component(k, q, float(self.A), start) for k, q in design.shapes]
        with FitProgress(self, self.max_iter, X, y) as progress:
            run = ascend(
                design,
                family,
                components,
                offset=shift,
                sigma_beta=float(self.sigma_beta),
                damping=1.0 if isinstance(self.damping, str) else float(self.damping),
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )
        self._design_, self._run, self._shift = design, run, shift
        self.term_names_ = [grouping.name for grouping in groupings]
        self.levels_ = [grouping.levels for grouping in groupings]
        self._keep(run)
        self._warn(run, X)
        return self

    def _check_offset(self, offset: Any, n: int) -> Floats:
        if offset is None:
            return np.zeros(n)
        found = check_array(offset, dtype=np.float64, ensure_2d=False, input_name="offset")
        if found.shape != (n,):
            raise ValueError(f"offset must have shape ({n},); it has {found.shape}.")
        return found

    def _fixed(self, X: Floats) -> Floats:
        """Return the fixed effects' columns, the intercept first."""
        if not self.fit_intercept:
            return np.ascontiguousarray(X)
        return np.concatenate([np.ones((len(X), 1)), X], axis=1)

    def _slope_columns(self, name: str) -> list[int]:
        """Return the places of the columns whose slope varies in a grouping."""
        wanted = self.random_slopes
        if isinstance(wanted, dict):
            wanted = wanted.get(name, [])
        if wanted is None:
            return []
        names = list(getattr(self, "feature_names_in_", []))
        places = []
        for column in [wanted] if isinstance(wanted, str) else wanted:
            if isinstance(column, str):
                if column not in names:
                    raise ValueError(
                        f"random_slopes must name columns of X; {column!r} is none of {names}."
                    )
                places.append(names.index(column))
            elif (
                isinstance(column, (int, np.integer)) and -1 < column < self.n_features_in_
            ) and not isinstance(column, bool):
                places.append(int(column))
            else:
                raise ValueError(
                    f"random_slopes must hold names or places of the {self.n_features_in_} columns "
                    f"of X; it holds {column!r}."
                )
        return places

    def _term_columns(self, X: Floats, name: str) -> Floats:
        """Return the entries of a term: ones, then the columns whose slope varies."""
        slopes = X[:, self._slope_columns(name)]
        return np.concatenate([np.ones((len(X), 1)), slopes], axis=1)

    def _design(
        self, X: Floats, groups: Any, Z: Any, kept: Any
    ) -> tuple[MixedDesign, list[Grouping]]:
        """Return the design of the rows that are kept, and the groupings.

        Fixed effects that depend on others are turned into as many as are independent.
        """
        if groups is not None and Z is not None:
            raise ValueError("groups and Z exclude each other; give one of them.")
        n = len(X)
        if not kept.any():
            raise ValueError("sample_weight must be positive for some row; it is zero for all.")
        X = X if kept.all() else X[kept]
        x = self._fixed(X)
        self._basis = row_space(x)
        if self._basis is not None:
            warnings.warn(
                f"The {x.shape[1]} columns of X (with the intercept) have rank "
                f"{self._basis.shape[1]}: what they do not determine keeps its prior.",
                UserWarning,
                stacklevel=4,
            )
            x = x @ self._basis
        if Z is not None:
            if self.random_slopes is not None:
                raise ValueError("random_slopes needs groups; with Z put slopes into its columns.")
            Z = check_array(Z, accept_sparse="csr", dtype=np.float64, input_name="Z")
            if Z.shape[0] != n:
                raise ValueError(f"Z must have {n} rows, as X has; it has {Z.shape[0]}.")
            Z = Z[np.flatnonzero(kept)]
            levels = np.arange(Z.shape[1])
            term = term_of_matrix(Z)
            design = MixedDesign(x, [], Z) if term is None else MixedDesign(x, [term])
            return design, [Grouping("Z", levels, levels)]
        if groups is None:
            if self.random_slopes is not None:
                raise ValueError("random_slopes needs groups; there are none.")
            return MixedDesign(x, []), []
        groupings = encode_groups(groups, n, kept)
        if isinstance(self.random_slopes, dict):
            unknown = set(self.random_slopes) - {g.name for g in groupings}
            if unknown:
                raise ValueError(
                    f"random_slopes must be keyed by groupings "
                    f"({[g.name for g in groupings]}); it has {sorted(map(str, unknown))}."
                )
        terms = [Term(g.codes, self._term_columns(X, g.name), len(g.levels)) for g in groupings]
        return MixedDesign(x, terms), groupings

    def _unturned(self, beta: Floats, cov: Floats) -> tuple[Floats, Floats]:
        """Return fixed effects in the columns of X."""
        if self._basis is None:
            return beta, cov
        V = self._basis
        rest = np.eye(len(V)) - V @ V.T
        # directions that the data miss keep σ_β², their prior variance
        return V @ beta, V @ cov @ V.T + float(self.sigma_beta) ** 2 * rest

    def _keep(self, run: Ascent) -> None:
        state = run.state
        found = state.coefficients
        beta, self.coef_cov_ = self._unturned(found.beta, found.beta_cov)
        self.intercept_ = float(beta[0]) if self.fit_intercept else 0.0
        self.coef_ = beta[1:] if self.fit_intercept else beta
        self.ranef_ = [mean[:, 0] if mean.shape[1] == 1 else mean for mean in found.means]
        self.ranef_cov_ = found.covs
        gammas = [component.inverse_gammas for component in state.components]
        self.q_sigma2_ = np.concatenate([np.zeros((2, 0)), *gammas], axis=1)
        self.ranef_prior_cov_ = [component.mean for component in state.components]
        means = [np.diagonal(cov) for cov in self.ranef_prior_cov_]
        self.sigma2_ = np.concatenate([np.zeros(0), *means])
        family = state.family
        if isinstance(family, Gaussian):
            self.noise_variance_ = float(family.component.mean[0, 0])
            self.q_noise_variance_ = family.component.inverse_gammas[:, 0]
        if isinstance(family, NegativeBinomial):
            self.dispersion_ = family.dispersion
        self.lower_bound_, self.lower_bounds_ = float(run.lower_bounds[-1]), run.lower_bounds
        self.n_iter_, self.converged_ = run.n_iter, run.converged

    def _warn(self, run: Ascent, X: Floats) -> None:
        if not run.converged and run.n_iter == self.max_iter:
            rise = run.lower_bounds[-1] - run.lower_bounds[-2]
            warnings.warn(
                f"VariationalMixedModel did not converge in {run.n_iter} iterations: the bound "
                f"still rose by {rise:.3g}, to {self.lower_bound_:.6g} (tol={self.tol:g}). Raise "
                f"max_iter={self.max_iter} or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.family == "gaussian" or callable(self.family) or self._basis is not None:
            return
        # On the scale of the link a column's effect is of order one over its spread.
        spread = self._fixed(X).std(axis=0)
        sd = np.sqrt(np.diagonal(self.coef_cov_)) * np.where(spread > 0, spread, 1.0)
        loose = np.flatnonzero(sd > WIDE)
        if loose.size:
            shown = ", ".join(self._coefficient_names()[j] for j in loose[:5])
            warnings.warn(
                f"The posterior of {shown} is as wide as the prior (standard deviation "
                f"{np.sqrt(self.coef_cov_[loose[0], loose[0]]):.3g}): the data seem to be "
                f"separable. Lower sigma_beta={self.sigma_beta:g}.",
                UserWarning,
                stacklevel=4,
            )

    def _coefficient_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return [*(["intercept"] if self.fit_intercept else []), *map(str, names)]

    def _variance_names(self) -> list[str]:
        """Return the names of ``sigma2_``: sigma2[group], or sigma2[group, column] with slopes."""
        columns = self._coefficient_names()[1 if self.fit_intercept else 0 :]
        names = []
        for name, cov in zip(self.term_names_, self.ranef_prior_cov_):
            if len(cov) == 1:
                names.append(f"sigma2[{name}]")
                continue
            parts = ["intercept", *(columns[j] for j in self._slope_columns(name))]
            names += [f"sigma2[{name}, {part}]" for part in parts]
        return names

    def _moments(self, X: Any, groups: Any, Z: Any, offset: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of new rows' linear predictors."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        shift = self._check_offset(offset, len(X))
        x = self._fixed(X)
        unknown = np.zeros(len(X))
        if self._basis is not None:
            rest = x - (x @ self._basis) @ self._basis.T
            unknown = float(self.sigma_beta) ** 2 * np.einsum("ij,ij->i", rest, rest)
            # Rounding, times a prior variance of 1e10, is no uncertainty.
            unknown[np.abs(rest).max(axis=1) < 1e-10 * np.abs(x).max(axis=1)] = 0.0
            x = x @ self._basis
        mean, variance = self._rows(X, x, groups, Z).moments(self._run.state.coefficients.solution)
        return shift + mean, variance + unknown

    def _rows(self, X: Floats, x: Floats, groups: Any, Z: Any) -> MixedDesign:
        """Return new rows as a design with the fitted terms; zeros where a label is new."""
        fitted = self._design_
        if self.term_names_ == ["Z"]:
            if groups is not None:
                raise ValueError("groups cannot be used: the model was fitted with Z.")
            width = fitted.shapes[0][0]
            Z = sp.csr_array((len(X), width)) if Z is None else Z
            Z = check_array(Z, accept_sparse="csr", dtype=np.float64, input_name="Z")
            if Z.shape != (len(X), width):
                raise ValueError(f"Z must have shape {(len(X), width)}; it has {Z.shape}.")
            if fitted.Z is not None:
                return MixedDesign(x, [], Z)
            term = term_of_matrix(Z)
            if term is None:
                raise ValueError("Z must have at most one entry per row, as in fit.")
            return MixedDesign(x, [term])
        if Z is not None or (groups is not None and not self.term_names_):
            raise ValueError(
                f"{'Z' if Z is not None else 'groups'} cannot be used: the model was fitted "
                "without it."
            )
        places = [np.full(len(X), -1)] * len(fitted.terms)
        if groups is not None:
            places = place_groups(groups, list(zip(self.term_names_, self.levels_)), len(X))
        terms = []
        for name, place, old in zip(self.term_names_, places, fitted.terms):
            z = self._term_columns(X, name) * (place >= 0)[:, None]
            terms.append(Term(np.maximum(place, 0), z, old.n_levels))
        return MixedDesign(x, terms)

    def predict(
        self,
        X: Any,
        groups: Any = None,
        Z: Any = None,
        offset: Any = None,
        *,
        return_std: bool = False,
        quantiles: Any = None,
    ) -> Any:
        """Return the posterior mean of the mean response.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Fixed effects.
        groups : array-like, frame or dict, default=None
            Labels, as in fit. Without them, and for labels that fit did not see (a warning tells),
            predictions are at the level of the population: random effects are zero.
        Z : array-like or sparse matrix of shape (n_samples, K), default=None
            Random effects' design where the model was fitted with one.
        offset : array-like of shape (n_samples,), default=None
            Added to the linear predictor.
        return_std : bool, default=False
            Whether to return the posterior standard deviation of the mean response too.
        quantiles : array-like of shape (n_quantiles,), default=None
            Probabilities; their posterior quantiles of the mean response are returned too.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Mean response.
        std : ndarray of shape (n_samples,)
            Only with ``return_std``.
        bands : ndarray of shape (n_samples, n_quantiles)
            Only with ``quantiles``.
        """
        m, v = self._moments(X, groups, Z, offset)
        family = self._run.state.family
        with np.errstate(over="ignore"):
            mean, std = family.response(m, v)
        answer = [mean]
        if return_std:
            answer.append(std)
        if quantiles is not None:
            chances = check_array(
                quantiles, dtype=np.float64, ensure_2d=False, input_name="quantiles"
            )
            if chances.ndim != 1 or (chances <= 0).any() or (chances >= 1).any():
                raise ValueError(f"quantiles must lie between 0 and 1; got {quantiles!r}.")
            # The link is monotone: quantiles go through it.
            # equal tails on the scale of the link stay so through it
            eta = m[:, None] + np.sqrt(v)[:, None] * ndtri(chances)
            answer.append(family.inverse_link(eta))
        return answer[0] if len(answer) == 1 else tuple(answer)

    def posterior_summary(self, level: float = 0.95) -> Numbers:
        """Return name, mean, sd and credible interval of fixed effects and variances.

        Parameters
        ----------
        level : float, default=0.95
            Probability of the intervals, whose tails are equal.

        Returns
        -------
        summary : structured ndarray
            With the fields name, mean, sd, lower and upper; ready for a data frame.
        """
        check_is_fitted(self)
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        tails = np.array([0.5 * (1 - level), 0.5 * (1 + level)])
        beta = self._beta()
        sd = np.sqrt(np.diagonal(self.coef_cov_))
        rows = [
            (name, b, s, *(b + s * ndtri(tails)))
            for name, b, s in zip(self._coefficient_names(), beta, sd)
        ]
        for name, (shape, rate) in self._inverse_gammas().items():
            law = invgamma(shape, scale=rate)
            rows.append((name, float(law.mean()), float(law.std()), *law.ppf(tails)))
        kinds = [("name", "U64"), *((field, "f8") for field in ("mean", "sd", "lower", "upper"))]
        return np.array(rows, dtype=kinds)

    def _beta(self) -> Floats:
        return np.append(self.intercept_, self.coef_) if self.fit_intercept else self.coef_

    def _inverse_gammas(self) -> dict[str, Floats]:
        found = dict(zip(self._variance_names(), self.q_sigma2_.T))
        if hasattr(self, "q_noise_variance_"):
            found["noise_variance"] = self.q_noise_variance_
        return found

    def posterior_pdf(self, param: str, grid: Any) -> Floats:
        """Return the posterior density of a fixed effect or of a variance.

        Parameters
        ----------
        param : str
            A name of `posterior_summary`: "intercept", a column of X, "sigma2[group]",
            "noise_variance"; "sigma2" where there is one variance.
        grid : array-like of shape (n,)
            Where to evaluate it.

        Returns
        -------
        density : ndarray of shape (n,)
            The density.
        """
        check_is_fitted(self)
        grid = check_array(grid, dtype=np.float64, ensure_2d=False, input_name="grid")
        names, variances = self._coefficient_names(), self._inverse_gammas()
        if param == "sigma2" and self.q_sigma2_.shape[1] == 1:
            param = self._variance_names()[0]
        if param in names:
            j = names.index(param)
            return norm(self._beta()[j], np.sqrt(self.coef_cov_[j, j])).pdf(grid)
        if param in variances:
            shape, rate = variances[param]
            return invgamma(shape, scale=rate).pdf(grid)
        raise ValueError(f"param must be one of {[*names, *variances]}; got {param!r}.")

    def variance_marginal(self, param: str = "sigma2") -> Marginal:
        """Return the posterior of a random effect's variance without the mean-field assumption.

        ``q_sigma2_`` takes a variance for independent of the effects, which makes it too narrow.
        Here the model is fitted again with the variance held at some twenty numbers; the bounds,
        times the prior, are its posterior. It takes as long as several fits.

        Parameters
        ----------
        param : str, default="sigma2"
            A name of `posterior_summary`, "sigma2[group]"; "sigma2" where there is one variance.

        Returns
        -------
        marginal : Marginal
            Its density, mean, sd and quantiles.
        """
        check_is_fitted(self)
        names = [f"sigma2[{name}]" for name in self.term_names_]
        if param == "sigma2" and len(names) == 1:
            param = names[0]
        if param not in names:
            raise ValueError(f"param must be one of {names}; got {param!r}.")
        which = names.index(param)
        if (q := self._design_.shapes[which][1]) > 1:
            raise ValueError(
                f"{param} is a covariance matrix of {q} columns; variance_marginal needs a term "
                "without slopes."
            )
        return variance_marginal(
            self._design_,
            self._run.state,
            which,
            offset=self._shift,
            sigma_beta=float(self.sigma_beta),
            max_iter=self.max_iter,
            tol=float(self.tol),
        )

    def posterior_covariance(self) -> Floats:
        """Return the whole posterior covariance of all coefficients.

        Returns
        -------
        cov : ndarray of shape (d, d)
            The intercept where one is fitted, fixed effects, then the terms, level by level.
        """
        check_is_fitted(self)
        design, natural = self._design_, self._run.state.natural
        p, d = design.x.shape[1], design.n_coefficients
        if d > LARGEST_COVARIANCE:
            raise ValueError(
                f"The covariance of {d} coefficients is too large; at most {LARGEST_COVARIANCE} "
                "are possible. Its diagonal blocks are coef_cov_ and ranef_cov_."
            )
        C = design.matrix()
        precision = (C.T @ (C * natural.h[:, None])).toarray()
        prior = sp.block_diag(
            [
                natural.beta_precision * sp.eye_array(p),
                *(
                    sp.kron(sp.eye_array(k), block)
                    for (k, _), block in zip(design.shapes, natural.precisions)
                ),
            ]
        )
        cov = np.linalg.inv(precision + prior.toarray())  # Σ of Algorithm 1
        cov = 0.5 * (cov + cov.T)
        if self._basis is None:
            return cov
        V = sp.block_diag([self._basis, sp.eye_array(d - p)]).toarray()
        cov = V @ cov @ V.T
        width = len(self._basis)
        cov[:width, :width] = self.coef_cov_
        return cov

    def sample_posterior(self, n_samples: int = 1000, random_state: Any = None) -> dict[str, Any]:
        """Draw from the posterior.

        Parameters
        ----------
        n_samples : int, default=1000
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        draws : dict
            "coef" (n_samples, n_coefficients) with the intercept first where one is fitted,
            "ranef", a list of arrays (n_samples, n_levels, q) by term, "sigma2", a list of arrays
            (n_samples, q, q) of covariance matrices by term, and "noise_variance" for "gaussian".
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number of at least 1; got {n_samples!r}.")
        rng = check_random_state(random_state)
        return draw_posterior(self._design_, self._run, self._unturn_draws, int(n_samples), rng)

    def _unturn_draws(self, beta: Floats, rng: np.random.RandomState) -> Floats:
        if self._basis is None:
            return beta
        V = self._basis
        free = rng.normal(size=(len(beta), len(V))) * float(self.sigma_beta)
        return beta @ V.T + free - (free @ V) @ V.T

    def to_arviz(self, n_samples: int = 1000, random_state: Any = None) -> Any:
        """Return draws of the posterior as arviz keeps them; needs the arviz package.

        Parameters
        ----------
        n_samples : int, default=1000
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        data : arviz.InferenceData
            One chain: coef, ranef and sigma2 of each term by its name, noise_variance.
        """
        draws = self.sample_posterior(n_samples, random_state)
        posterior = {"coef": draws["coef"][None]}
        for name, u, s in zip(self.term_names_, draws["ranef"], draws["sigma2"]):
            posterior |= {f"ranef_{name}": u[None], f"sigma2_{name}": s[None]}
        if "noise_variance" in draws:
            posterior["noise_variance"] = draws["noise_variance"][None]
        return as_arviz(posterior)
