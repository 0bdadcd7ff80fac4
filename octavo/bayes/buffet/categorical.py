"""Hidden features behind tables of answers: how many there are, who has them, what they change.

Ruiz, Valera, Blanco and Perez-Cruz (2014), "Bayesian Nonparametric Comorbidity Analysis of
Psychiatric Disorders", JMLR 15: the collapsed Laplace-Gibbs sampler (Section 3), the variational
algorithm (Section 4) and the recipes for many rows (Sections 5.2 and 5.3).
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.bayes.buffet.answers import columns_of, decode, encode, learn_coding
from octavo.bayes.buffet.chain import MOST_FEATURES, BuffetChain
from octavo.bayes.buffet.patterns import fit_weights
from octavo.bayes.buffet.recipes import (
    FEWEST,
    FEWEST_SHARE,
    MANY_ROWS,
    SUBSAMPLE,
    block_features,
    canonical,
    posterior_of_rows,
    spread_features,
)
from octavo.bayes.buffet.variational import VariationalBuffet
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators, check_schedule, run_chains
from octavo.engine.mcmc.diagnostics import effective_sample_size, split_rhat
from octavo.engine.smooth.em import climb, warn_unless_converged

__all__ = ["IBPCategorical"]

POSITIVE = Interval(Real, 0, None, closed="neither")
COUNT = Interval(Integral, 1, None, closed="left")


class Best:
    """The state of largest log p(X, Z) among the draws that are kept."""

    def __init__(self) -> None:
        self.value, self.Z = -np.inf, None

    def see(self, chain: Any) -> None:
        value = chain.log_evidence + chain.log_prior
        if self.Z is None or value > self.value:
            self.value, self.Z = value, chain.Z


class IBPCategorical(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator
):
    """Binary hidden features behind categorical answers, their number unknown.

    Each row switches on some of the features; each answer is a multinomial logit of those that are
    on and of a bias that always is. The features have an Indian buffet process as their prior.

    Parameters
    ----------
    engine : {"gibbs", "variational"}, default="gibbs"
        The collapsed sampler, or the bound for many rows.
    alpha : float, default=1.0
        Mass of the buffet: expected number of features of a row.
    sample_alpha : bool, default=False
        Draw alpha too, with a Gamma(1, 1) prior (sampler only).
    sigma2_b : float, default=1.0
        Prior variance of each weight.
    max_features : int, default=25
        Most features, at most 60; the truncation of the variational engine.
    n_iter : int, default=500
        Number of sweeps, or most iterations of the variational engine.
    burn_in : int, default=200
        Sweeps that are thrown away; in two stages, those over the subsample.
    init : {"auto", "random", "two_stage", "gibbs"} or array-like, default="auto"
        ``"random"``: `k_init` features with probability one half. ``"two_stage"``: sweeps over
        3,500 rows, then features of the others given those, then sweeps over all. ``"gibbs"``
        (for the variational engine): small samplers on blocks of columns. An array holds the
        features (n_samples x features) to start from. ``"auto"`` takes two stages beyond 5,000
        rows, and ``"gibbs"`` for the variational engine.
    k_init : int, default=1
        Number of features at a random start.
    null_pattern : scalar or array-like of shape (n_columns,), default=None
        Answers of rows that are held to have no feature, such as those without any symptom. They
        are not sampled; see the notes.
    max_new : int, default=4
        Most new features that a row is offered at a time.
    tol : float, default=1e-6
        Relative rise of the bound at which the variational engine stops.
    n_jobs : int, default=None
        Workers for several chains; with more than one, progress is not shown.
    random_state : int, RandomState instance or None, default=None
        Seeds everything.
    thin : int, default=1
        Every so many sweeps are kept.
    n_chains : int, default=1
        Number of chains; the best state of all is kept.
    continuous_features : array-like of int or str, default=None
        Columns of numbers, which are normal around a sum of weights; they are standardized first
        (sampler only).
    sigma2_x : float, default=1.0
        Variance of standardized numbers around that sum.
    flip_above : float, default=0.8
        Share of rows above which a feature is replaced by its complement.

    Attributes
    ----------
    Z_ : ndarray of int of shape (n_samples, n_features_)
        Features of rows: of the draw of largest p(X, Z), or those of probability above one half.
        Features of more than `flip_above` of the rows are replaced by their complements; the most
        frequent stand first.
    feature_probs_ : ndarray of shape (n_features_,)
        Share of rows with each feature.
    n_features_ : int
        Number of features.
    weights_ : list of ndarray of shape (n_features_ + 1, n_levels)
        Weights of each column at their maximum given `Z_`, the bias first.
    weights_cov_ : list of ndarray
        Their Laplace covariances, over levels x features in this order.
    levels_ : list
        Values of each column in the order of its levels; None for numbers.
    log_evidence_ : float
        Laplace log p(X | Z) at `Z_`.
    log_evidences_ : ndarray of shape (n_chains * n_iter,)
        The same after each sweep over all rows (sampler).
    k_draws_ : ndarray of shape (n_draws,)
        Number of features of each draw that is kept (sampler).
    alpha_draws_ : ndarray of shape (n_draws,)
        Mass of each draw (sampler).
    rhat_, ess_ : float
        Split R-hat and effective number of draws of the log evidence (sampler).
    lower_bound_ : float
        The bound (variational).
    lower_bounds_ : ndarray of shape (n_iter_ + 1,)
        The bound at the start and after each iteration (variational).
    feature_posterior_ : ndarray of shape (n_samples, max_features)
        q(z = 1) before flipping and dropping (variational).
    n_iter_ : int
        Number of sweeps or iterations.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    IBPLinearGaussian : The same for tables of numbers.
    comorbidity_report : What the features change, and which go together.

    Notes
    -----
    Missing answers (NaN or None) are left out of the likelihood. Rows that `null_pattern` pins
    lower the shares of features, as they are counted among those without. A feature and its
    complement differ only by the bias, which is why a frequent one is flipped. When *not* to use
    it: where each row belongs to one class, a latent class model is simpler; where answers are
    numbers, use `IBPLinearGaussian` or `sklearn.decomposition.FactorAnalysis`.

    References
    ----------
    .. [1] F. J. R. Ruiz, I. Valera, C. Blanco and F. Perez-Cruz (2014). Bayesian Nonparametric
       Comorbidity Analysis of Psychiatric Disorders. JMLR 15.

    Examples
    --------
    >>> from octavo.bayes import IBPCategorical
    >>> from octavo.data import make_hidden_causes
    >>> X, Z = make_hidden_causes(200, n_columns=30, n_features=2, n_levels=2, random_state=0)
    >>> model = IBPCategorical(n_iter=60, burn_in=30, random_state=0).fit(X)
    >>> model.n_features_
    2
    """

    _parameter_constraints: dict[str, Any] = {
        "engine": [StrOptions({"gibbs", "variational"})],
        "alpha": [POSITIVE],
        "sample_alpha": ["boolean"],
        "sigma2_b": [POSITIVE],
        "max_features": [Interval(Integral, 1, MOST_FEATURES, closed="both")],
        "n_iter": [COUNT],
        "burn_in": [Interval(Integral, 0, None, closed="left")],
        "init": [StrOptions({"auto", "random", "two_stage", "gibbs"}), "array-like"],
        "k_init": [Interval(Integral, 0, MOST_FEATURES, closed="both")],
        "null_pattern": [None, Real, str, "array-like"],
        "max_new": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "thin": [COUNT],
        "n_chains": [COUNT],
        "continuous_features": [None, "array-like"],
        "sigma2_x": [POSITIVE],
        "flip_above": [Interval(Real, 0.5, 1.0, closed="both")],
    }

    def __init__(
        self,
        engine="gibbs",
        alpha=1.0,
        sample_alpha=False,
        sigma2_b=1.0,
        max_features=25,
        n_iter=500,
        burn_in=200,
        init="auto",
        k_init=1,
        null_pattern=None,
        max_new=4,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
        thin=1,
        n_chains=1,
        continuous_features=None,
        sigma2_x=1.0,
        flip_above=0.8,
    ):
        self.engine = engine
        self.alpha = alpha
        self.sample_alpha = sample_alpha
        self.sigma2_b = sigma2_b
        self.max_features = max_features
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.init = init
        self.k_init = k_init
        self.null_pattern = null_pattern
        self.max_new = max_new
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.thin = thin
        self.n_chains = n_chains
        self.continuous_features = continuous_features
        self.sigma2_x = sigma2_x
        self.flip_above = flip_above

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Answers: whole numbers, strings, any objects, pandas categoricals; NaN or None where
            missing.
        y : None
            Ignored.

        Returns
        -------
        self : IBPCategorical
            Fitted.
        """
        codes = self._learn_table(X)
        pinned = self._pinned(codes)
        if self.engine == "gibbs":
            Z = self._fit_gibbs(codes, pinned, X)
            fewest = 1
        else:
            Z = self._fit_variational(codes, pinned, X)
            fewest = min(FEWEST, int(np.ceil(FEWEST_SHARE * len(codes))))
        self.Z_ = canonical(Z, pinned, fewest, self.flip_above)
        self._finish(codes)
        return self

    def _learn_table(self, X: Any) -> Floats:
        columns = columns_of(X)
        validate_data(self, X, skip_check_array=True)
        if not columns or len(columns[0]) < 2:
            n = len(columns[0]) if columns else 0
            raise ValueError(f"X must have at least two rows and one column; got n_samples = {n}.")
        names = getattr(self, "feature_names_in_", None)
        labels = tuple(
            f"Column {d}" if names is None else f"Column {names[d]!r}" for d in range(len(columns))
        )
        numeric = self._continuous(names, len(columns))
        self._coding = learn_coding(columns, labels, numeric)
        self.levels_ = [None if v is None else list(v) for v in self._coding.levels]
        self._n_levels = self._coding.n_levels
        if numeric and self.engine == "variational":
            raise ValueError(
                "continuous_features need engine='gibbs'; the variational one takes answers only."
            )
        return encode(columns, self._coding)

    def _continuous(self, names: Any, n_columns: int) -> set[int]:
        found = set()
        for one in () if self.continuous_features is None else self.continuous_features:
            if isinstance(one, str):
                if names is None or one not in names:
                    raise ValueError(f"continuous_features names {one!r}, which X does not have.")
                one = list(names).index(one)
            if not 0 <= int(one) < n_columns:
                raise ValueError(
                    f"continuous_features must be columns, from 0 to {n_columns - 1}; got {one}."
                )
            found.add(int(one))
        return found

    def _pinned(self, codes: Floats) -> Any:
        """Return which rows have the null pattern."""
        n, D = codes.shape
        if self.null_pattern is None:
            return np.zeros(n, dtype=bool)
        scalar = isinstance(self.null_pattern, (str, Real))
        answers = [self.null_pattern] * D if scalar else list(self.null_pattern)
        if len(answers) != D:
            raise ValueError(
                f"null_pattern must hold {D} answers, one a column; got {len(answers)}."
            )
        for answer, known, name in zip(answers, self._coding.levels, self._coding.names):
            missing = answer is None or answer != answer
            if known is not None and not missing and answer not in list(known):
                raise ValueError(
                    f"null_pattern must hold answers that X has. {name} has the levels "
                    f"{list(known)}; got {answer!r}."
                )
        null = encode([np.array([a], dtype=object) for a in answers], self._coding)
        return (codes == null).all(axis=1)

    def _start(self, codes: Floats, pinned: Any, rng: np.random.Generator, Z: Any = None) -> Any:
        if Z is None:
            Z = rng.integers(0, 2, (len(codes), min(self.k_init, self.max_features)))
            Z[pinned] = 0
        return BuffetChain(
            codes,
            self._n_levels,
            Z,
            rng,
            alpha=self.alpha,
            sigma2_b=self.sigma2_b,
            sigma2_x=self.sigma2_x,
            max_features=self.max_features,
            max_new=self.max_new,
            pinned=pinned,
            sample_alpha=self.sample_alpha,
        )

    def _given_start(self, n: int) -> Any:
        if isinstance(self.init, str):
            return None
        Z = np.asarray(self.init)
        if Z.ndim != 2 or len(Z) != n or Z.shape[1] > self.max_features:
            raise ValueError(
                f"init must have {n} rows and at most {self.max_features} columns; got {Z.shape}."
            )
        if Z.dtype.kind not in "biuf" or not ((Z >= 0) & (Z <= 1)).all():
            raise ValueError("init must hold numbers between 0 and 1: features of rows.")
        return Z

    def _fit_gibbs(self, codes: Floats, pinned: Any, X: Any) -> Any:
        schedule = check_schedule(self.n_iter, self.burn_in, self.thin)
        given = self._given_start(len(codes))
        init = self.init if isinstance(self.init, str) else "given"
        two = init == "two_stage" or (init == "auto" and len(codes) > MANY_ROWS)
        with FitProgress(self, self.n_iter * self.n_chains, X, step_name="sweep") as progress:

            def chain(rng: np.random.Generator, step: Any = progress.step) -> tuple[Any, Any, Any]:
                start = None if given is None else (given > 0.5).astype(np.int64)
                if init == "gibbs":
                    start = self._blocks(codes, pinned, rng)
                return self._one_chain(codes, pinned, rng, schedule, start, two, step)

            if self.n_jobs in (None, 1):
                found = [chain(rng) for rng in chain_generators(self.random_state, self.n_chains)]
            else:
                found = run_chains(
                    partial(chain, step=bool),
                    self.n_chains,
                    random_state=self.random_state,
                    n_jobs=self.n_jobs,
                )
        self.log_evidences_ = np.concatenate([logs for _, logs, _ in found])
        kept = [mine for _, _, mine in found]
        self.k_draws_ = np.concatenate([one[:, 0] for one in kept]).astype(np.int64)
        self.alpha_draws_ = np.concatenate([one[:, 1] for one in kept])
        shortest = min(len(one) for one in kept)
        self.rhat_ = self.ess_ = np.nan
        if shortest >= 4:
            draws = np.array([one[:shortest, 2] for one in kept])
            self.rhat_ = float(split_rhat(draws)) if np.ptp(draws) > 0 else 1.0
            self.ess_ = float(effective_sample_size(draws)) if np.ptp(draws) > 0 else draws.size
        self.n_iter_ = self.log_evidences_.size // self.n_chains
        return max((best for best, _, _ in found), key=lambda best: best.value).Z

    def _one_chain(
        self, codes: Floats, pinned: Any, rng: np.random.Generator, schedule: Any, start: Any,
        two: bool, step: Any,
    ) -> tuple[Best, Floats, Floats]:  # fmt: skip
        """Return the best state, the log evidences, and size, mass and evidence of each draw."""
        if two:
            start = self._first_stage(codes, pinned, rng, step)
        chain, best, logs, mine = self._start(codes, pinned, rng, start), Best(), [], []
        for t in range(self.burn_in if two else 0, self.n_iter):
            chain.sweep()
            logs.append(chain.log_evidence)
            stop = step()
            if schedule.keeps(t) or stop:
                best.see(chain)
                mine.append((chain.n_features, chain.alpha, logs[-1]))
            if stop:
                break
        return best, np.array(logs), np.array(mine)

    def _first_stage(self, codes: Floats, pinned: Any, rng: np.random.Generator, step: Any):
        """Return features of all rows from sweeps over some of them (Section 5.2)."""
        some = np.sort(rng.permutation(len(codes))[: min(SUBSAMPLE, len(codes))])
        chain = self._start(np.ascontiguousarray(codes[some]), pinned[some], rng)
        for _ in range(self.burn_in):
            chain.sweep()
            if step():
                break
        Z = chain.Z
        Z = Z[:, Z.sum(axis=0) > 1]
        weights, _, _ = fit_weights(Z, codes[some], self._n_levels, self.sigma2_b, self.sigma2_x)
        full = spread_features(codes, self._n_levels, Z, weights, self.sigma2_x, rng, pinned)
        full[some] = Z
        return full.astype(np.int64)

    def _blocks(self, codes: Floats, pinned: Any, rng: np.random.Generator) -> Any:
        return block_features(
            codes,
            self._n_levels,
            rng,
            self.max_features,
            pinned,
            alpha=self.alpha,
            sigma2_b=self.sigma2_b,
            max_features=self.max_features,
            max_new=self.max_new,
        ).astype(np.int64)

    def _variational_start(self, codes: Floats, pinned: Any, rng: np.random.Generator) -> Any:
        n, K, D = len(codes), self.max_features, codes.shape[1]
        nu = 0.02 * rng.random((n, K))
        given = self._given_start(n)
        if given is None and self.init == "random":
            nu = rng.random((n, K))
            weights = [rng.normal(0.0, 0.5, (K + 1, R)) for R in self._n_levels]
        else:
            Z = (
                self._blocks(codes, pinned, rng)
                if given is None
                else (given > 0.5).astype(np.int64)
            )
            some = np.sort(rng.permutation(n)[: 2 * SUBSAMPLE])
            weights, _, _ = fit_weights(Z[some], codes[some], self._n_levels, self.sigma2_b, 1.0)
            # near certainty, never at it: an entry of 0 or 1 would stay there
            nu[:, : Z.shape[1]] = 0.9 * Z + 0.05 if given is None else np.clip(given, 0.01, 0.99)
            empty = K - Z.shape[1]
            weights = [np.r_[B, rng.normal(0.0, 0.1, (empty, B.shape[1]))] for B in weights]
        nu[pinned] = 0.0
        assert len(weights) == D
        return nu, weights

    def _fit_variational(self, codes: Floats, pinned: Any, X: Any) -> Any:
        rng = chain_generators(self.random_state, 1)[0]
        nu, weights = self._variational_start(codes, pinned, rng)
        model = VariationalBuffet(
            codes.astype(np.int64), self._n_levels, self.alpha, self.sigma2_b, pinned
        )
        with FitProgress(self, self.n_iter, X) as progress:
            run = climb(
                model.expect,
                model.maximize,
                model.start(nu, weights),
                max_iter=self.n_iter,
                tol=self.tol,
                progress=progress,
            )
        warn_unless_converged(run, self, max_iter=self.n_iter, tol=self.tol)
        self.lower_bounds_, self.lower_bound_ = run.trace, run.objective
        self.n_iter_, self.feature_posterior_ = run.n_iter, run.expectations.nu
        return (self.feature_posterior_ > 0.5).astype(np.int8)

    def _finish(self, codes: Floats) -> None:
        n = len(codes)
        self.n_features_ = self._n_features_out = self.Z_.shape[1]
        self.feature_probs_ = self.Z_.mean(axis=0)
        self._shares = self.Z_.sum(axis=0) / (n + 1.0)  # of the buffet's next row
        self.weights_, self.weights_cov_, logs = fit_weights(
            self.Z_, codes, self._n_levels, self.sigma2_b, self.sigma2_x
        )
        self.log_evidence_ = float(sum(logs))
        self.baseline_ = [
            np.bincount(x[x >= 0].astype(np.int64), minlength=R) / max((x >= 0).sum(), 1)
            if R
            else np.array([np.nanmean(x)])
            for x, R in zip(codes.T, self._n_levels)
        ]

    def _read(self, X: Any) -> Floats:
        check_is_fitted(self)
        columns = columns_of(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        if not len(columns[0]):
            raise ValueError("X must have at least one row; got n_samples = 0.")
        return encode(columns, self._coding)

    def _rows(self, codes: Floats) -> tuple[Any, Floats, Floats]:
        return posterior_of_rows(
            codes,
            self._n_levels,
            self.Z_,
            self._shares,
            self.weights_,
            self.sigma2_x,
            self.weights_cov_,
        )

    def transform(self, X: Any) -> Floats:
        """Return the probability of each feature, given the answers of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Answers; a level that was not seen in fit is an error.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_features_)
            P(z = 1), features and weights as in fit; a row without answers has the prior. Beyond 13
            features, over the combinations of features in `Z_` and their neighbours.
        """
        patterns, chances, _ = self._rows(self._read(X))
        return chances @ patterns.astype(np.float64)

    def predict_proba(self, X: Any) -> list[Floats]:
        """Return the probabilities of each column's levels, given all answers of a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Answers; missing ones are what this is for.

        Returns
        -------
        proba : list of ndarray of shape (n_samples, n_levels)
            One array a column; the mean, with one column, for numbers.
        """
        patterns, chances, _ = self._rows(self._read(X))
        return [chances @ table for table in self.pattern_proba(patterns)]

    def pattern_proba(self, Z: Any) -> list[Floats]:
        """Return the probabilities of each column's levels at combinations of features.

        Parameters
        ----------
        Z : array-like of shape (n_patterns, n_features_)
            Zeros and ones.

        Returns
        -------
        proba : list of ndarray of shape (n_patterns, n_levels)
            One array a column, at the weights' maximum; the mean, with one column, for numbers.
        """
        check_is_fitted(self)
        Z = np.asarray(Z)
        if Z.ndim != 2 or Z.shape[1] != self.n_features_:
            raise ValueError(
                f"Z must have {self.n_features_} columns, one a feature; got shape {Z.shape}."
            )
        if Z.size and (Z.dtype.kind not in "biuf" or not np.isin(Z, (0, 1)).all()):
            raise ValueError("Z must hold zeros and ones only.")
        design = np.c_[np.ones(len(Z)), Z]
        found = []
        for d, (B, R) in enumerate(zip(self.weights_, self._n_levels)):
            if R:
                found.append(softmax(design @ B, axis=1))
            else:
                found.append(design @ B * self._coding.scales[d] + self._coding.centers[d])
        return found

    def impute(self, X: Any) -> Any:
        """Return a table whose missing answers are the most probable ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Answers; NaN or None where missing.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_columns)
            Answers as given elsewhere; numbers have their mean.
        """
        codes = self._read(X)
        for d, (proba, R) in enumerate(zip(self.predict_proba(X), self._n_levels)):
            gaps = codes[:, d] < 0 if R else np.isnan(codes[:, d])
            if R:
                codes[gaps, d] = proba[gaps].argmax(axis=1)
            else:
                center, scale = self._coding.centers[d], self._coding.scales[d]
                codes[gaps, d] = (proba[gaps, 0] - center) / scale
        return decode(codes, self._coding)

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Return rows drawn from the model, features as frequent as in fit.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Seeds the draw; by default the parameter of the estimator does.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Answers.
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        Z = (rng.random_sample((n, self.n_features_)) < self._shares).astype(np.int64)
        design = np.c_[np.ones(n), Z]
        codes = np.empty((n, self.n_features_in_))
        for d, (B, R) in enumerate(zip(self.weights_, self._n_levels)):
            if R:
                ends = np.cumsum(softmax(design @ B, axis=1), axis=1)
                codes[:, d] = np.minimum((rng.random_sample((n, 1)) > ends).sum(axis=1), R - 1)
            else:
                codes[:, d] = design @ B[:, 0] + np.sqrt(self.sigma2_x) * rng.standard_normal(n)
        return decode(codes, self._coding)

    def score_samples(self, X: Any) -> Floats:
        """Return the Laplace predictive log-probability of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Answers; missing ones count for nothing.

        Returns
        -------
        log_prob : ndarray of shape (n_samples,)
            Summed over features, averaged over the weights' Laplace posterior. Up to 13 features
            the probabilities of all possible rows sum to one; beyond, where only combinations near
            those of `Z_` are summed, to a little less.
        """
        return self._rows(self._read(X))[2]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean Laplace predictive log-probability of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Answers.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Larger is better.
        """
        return float(np.mean(self.score_samples(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False  # answers, not any table of numbers
        return tags
