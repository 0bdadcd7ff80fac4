"""`SemiSupervisedGenerativeClassifier`: a generative classifier that unlabelled rows cannot hurt.

References: C. Fox-Roberts and E. Rosten (2014), "Unbiased Generative Semi-Supervised Learning",
Journal of Machine Learning Research 15.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.stats import ks_2samp
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.generative_ssl.class_mixtures import ClassMixtures
from octavo.bayes.generative_ssl.counts import BernoulliFeatures, MultinomialCounts
from octavo.bayes.generative_ssl.custom import CustomModel
from octavo.bayes.generative_ssl.gaussians import DiagonalGaussians, FullGaussians
from octavo.bayes.generative_ssl.objectives import (
    OBJECTIVES,
    Goal,
    evaluate,
    make_goal,
    posterior,
)
from octavo.bayes.generative_ssl.solvers import Ascent, Limits, best_ascent
from octavo.bayes.generative_ssl.targets import (
    PartialLabels,
    read_labels,
    read_priors,
    refuse_unlabelled_classes,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows

__all__ = ["SemiSupervisedGenerativeClassifier"]

GAUSSIANS = ("gaussian_nb", "qda", "lda", "gmm")
COUNTS = ("multinomial_nb", "bernoulli_nb")
_FARTHEST = 1e140  # in half ranges; squares of rows farther off would overflow
_SHIFTED = 1e-3  # level of the test for unlabelled rows from elsewhere


class Axes(NamedTuple):
    """The middle and half the range of each axis of the training rows."""

    middle: Floats
    half: Floats

    @classmethod
    def of(cls, X: Floats) -> Axes:
        """Measure rows; a constant axis has half a range of one."""
        return cls.between(X.min(axis=0), X.max(axis=0))

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Axes:
        """Return axes with these ends."""
        half = 0.5 * high - 0.5 * low
        middle = low + half
        half[half == 0.0] = 1.0
        if half.max() > 1e150 or half.min() < 1e-150 or np.abs(middle).max() > 1e150:
            raise ValueError(
                "Features must range over less than 1e150 and more than 1e-150, or variances "
                f"leave the range of doubles; got half ranges from {half.min():g} to "
                f"{half.max():g}. Rescale X."
            )
        return cls(middle, half)

    def scaled(self, X: Floats) -> Floats:
        """Return rows in units of half a range."""
        with np.errstate(over="ignore"):
            return np.clip((X - self.middle) / self.half, -_FARTHEST, _FARTHEST)

    @property
    def log_volume(self) -> float:
        """What a log density loses on the way back."""
        return float(np.log(self.half).sum())


class SemiSupervisedGenerativeClassifier(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """Fit a generative classifier to labelled and unlabelled rows without the bias of EM.

    Maximum likelihood of labelled and unlabelled rows together minimises another divergence than
    that of labelled rows, and the more unlabelled rows there are, the more the model describes x
    instead of y. The unbiased objective Σ_labelled log p(y|x) + (N_L/N) Σ_all log p(x) has the
    optimum that infinitely many labels would have.

    Parameters
    ----------
    model : {"gaussian_nb", "qda", "lda", "gmm", "multinomial_nb", "bernoulli_nb"} or object, \
default="gaussian_nb"
        p(x | y): axis-aligned Gaussians (the paper's), Gaussians with a full covariance each or
        one for all, mixtures of ``n_components`` axis-aligned Gaussians a class, or naive Bayes on
        counts or presence of words. An object has ``start(X, W, rng)`` and ``log_joint(theta, X)``
        and may have ``gradient(theta, X, W)``, ``maximize(X, W)``, ``bounds(theta)`` and
        ``sample(theta, classes, rng)``; see the user guide.
    objective : {"unbiased", "labelled", "ml", "entropy_reg", "multi_conditional", \
"expectation_reg"}, default="unbiased"
        What is maximised: Eq. (20); the likelihood of labelled rows, Eq. (1), or of all, Eq. (3);
        the latter with the entropy of p(y|x) on unlabelled rows as a penalty; Σ log p(y|x) +
        β Σ log p(x); the likelihood with a penalty where the mean of p(y|x) over unlabelled rows
        is not the share of labels.
    unlabelled_weight : "auto" or float, default="auto"
        Weight of log p(x): of all rows for "unbiased", where "auto" is N_L/N; of unlabelled rows
        for "ml" and the regularisers, where it is one.
    priors : array-like of shape (n_classes,), mapping or None, default=None
        Class probabilities, fixed; learned where None. A mapping of classes to probabilities may
        name a class that has no labelled row, with objective "ml".
    var_floor : float, default=1e-3
        Least standard deviation in any direction, as a part of each axis's range; without it a
        class that shrinks onto a row has infinite likelihood. A class with fewer than about four
        labelled rows may still shrink to it: raise it where likelihoods of new rows matter.
    mean_penalty : float, default=1e-5
        C of the penalty C‖μ‖², with axes scaled to [-1, 1] as in the paper.
    n_init : int, default=5
        Random starts beside the supervised fit, a wider one, and the fit of "ml".
    solver : {"lbfgs", "em", "ebw"}, default="lbfgs"
        L-BFGS-B; EM, for objectives "ml" and "labelled"; extended Baum-Welch steps, which never go
        down and need no step size.
    max_iter : int, default=500
        Most iterations from one start.
    tol : float, default=1e-6
        Stop when no entry of the gradient is larger than ``tol`` times the number of labelled rows
        (``"lbfgs"``), or when the objective rises by less than this, relatively.
    trade_off : "auto" or float, default="auto"
        λ of "entropy_reg" (one) and "expectation_reg" (ten times the number of labelled rows), β of
        "multi_conditional" (one).
    alpha : float, default=1.0
        Smoothing of the naive Bayes models, added to each count.
    n_components : int, default=2
        Gaussians a class of "gmm".
    label_design : {"random", "stratified"}, default="random"
        How rows came to be labelled: at random, or a number drawn from each class, which makes the
        labelled rows another sample than the rest; they are weighted to ``priors`` then, which are
        needed.
    unlabelled_marker : object, default=-1
        What stands for an unknown label in y, beside None and NaN. Where -1 is a class, another
        marker, or None.
    test_shift : bool, default=False
        Whether to warn where a Kolmogorov-Smirnov test finds that labelled and unlabelled rows have
        different distributions, which voids the conditions of the method.
    random_state : int, RandomState instance or None, default=None
        Seeds the random starts and `sample`.
    bounds : (lower, upper) or None, default=None
        Ends of the axes, two numbers or two arrays of shape (n_features,), of whose range
        ``var_floor`` is a part; where None, those of the training rows, which are narrow where
        rows are few. For the Gaussian models.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_log_prior_ : ndarray of shape (n_classes,)
        log p(y).
    means_ : ndarray of shape (n_classes, n_features) or (n_classes, n_components, n_features)
        Means; Gaussian models only.
    vars_ : ndarray
        Variances, in the shape of ``means_``; "gaussian_nb" and "gmm".
    covariances_ : ndarray of shape (n_classes, n_features, n_features)
        Covariances of "qda"; (n_features, n_features) for "lda".
    weights_ : ndarray of shape (n_classes, n_components)
        Weights of the components of "gmm".
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log p(word | y); naive Bayes models.
    theta_ : ndarray
        The parameters as the model's vector.
    objective_ : float
        J at the parameters, larger is better, without the penalties.
    objectives_ : ndarray
        J less the penalties after each iteration of the best start.
    converged_ : bool
        Whether the best start met ``tol``.
    n_iter_ : int
        Iterations of the best start.
    n_labelled_, n_unlabelled_ : int
        Numbers of rows.

    See Also
    --------
    SemiSupervisedGenerativeClassifierCV : Chooses ``trade_off`` by cross-validation.
    unlabelled_value : Whether unlabelled rows make the estimate steadier.

    Notes
    -----
    It is not for unlabelled rows from elsewhere than the labelled ones, and a discriminative
    classifier is better where only the decision matters and labels abound: the paper's errors
    are about those of the labelled rows alone, its gain is in the density. The objective is not
    concave: several starts are made, and the best is kept.

    References
    ----------
    .. [1] C. Fox-Roberts and E. Rosten (2014). "Unbiased Generative Semi-Supervised Learning".
       Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import SemiSupervisedGenerativeClassifier
    >>> rng = np.random.RandomState(0)
    >>> truth = rng.randint(0, 2, 300)
    >>> X = rng.standard_normal((300, 2)) + 3.0 * truth[:, None]
    >>> y = np.where(np.arange(300) < 20, truth, -1)
    >>> model = SemiSupervisedGenerativeClassifier(random_state=0).fit(X, y)
    >>> round(model.score(X, truth), 2), model.n_unlabelled_
    (0.97, 280)
    """

    _parameter_constraints: dict[str, Any] = {
        "model": [StrOptions({*GAUSSIANS, *COUNTS}), HasMethods(["start", "log_joint"])],
        "objective": [StrOptions(set(OBJECTIVES))],
        "unlabelled_weight": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "priors": [None, dict, "array-like"],
        "var_floor": [Interval(Real, 1e-5, 1, closed="both")],
        "mean_penalty": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "solver": [StrOptions({"lbfgs", "em", "ebw"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "trade_off": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 1e-10, 1e10, closed="both")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "label_design": [StrOptions({"random", "stratified"})],
        "unlabelled_marker": "no_validation",
        "test_shift": ["boolean"],
        "bounds": [None, "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        model: Any = "gaussian_nb",
        objective: str = "unbiased",
        unlabelled_weight: str | float = "auto",
        priors: Any = None,
        var_floor: float = 1e-3,
        mean_penalty: float = 1e-5,
        n_init: int = 5,
        solver: str = "lbfgs",
        max_iter: int = 500,
        tol: float = 1e-6,
        trade_off: str | float = "auto",
        alpha: float = 1.0,
        n_components: int = 2,
        label_design: str = "random",
        unlabelled_marker: Any = -1,
        test_shift: bool = False,
        random_state: Any = None,
        *,
        bounds: Any = None,
    ) -> None:
        self.model = model
        self.objective = objective
        self.unlabelled_weight = unlabelled_weight
        self.priors = priors
        self.var_floor = var_floor
        self.mean_penalty = mean_penalty
        self.n_init = n_init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.trade_off = trade_off
        self.alpha = alpha
        self.n_components = n_components
        self.label_design = label_design
        self.unlabelled_marker = unlabelled_marker
        self.test_shift = test_shift
        self.random_state = random_state
        self.bounds = bounds

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.positive_only = self._is("multinomial_nb")
        tags.classifier_tags.poor_score = self._is(*COUNTS)  # on rows that are no counts
        return tags

    def _is(self, *names: str) -> bool:
        return isinstance(self.model, str) and self.model in names

    def _takes_sparse(self) -> bool:
        return self._is(*COUNTS) or not isinstance(self.model, str)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; sparse for the naive Bayes models.
        y : array-like of shape (n_samples,)
            Labels; ``unlabelled_marker``, None or NaN where a row has none.

        Returns
        -------
        self : SemiSupervisedGenerativeClassifier
            The fitted classifier.
        """
        X, labels = self._read(X, y)
        with FitProgress(self, None, X, y) as progress:
            self._fit_rows(X, labels, self.trade_off, progress)
        return self

    def _read(self, X: Any, y: Any) -> tuple[Any, PartialLabels]:
        """Return checked rows and labels."""
        X = self._rows(X, reset=True)
        labels = read_labels(y, self.unlabelled_marker, self.priors, self)
        check_consistent_length(X, labels.codes)
        return X, labels

    def _rows(self, X: Any, *, reset: bool) -> Any:
        sparse = "csr" if self._takes_sparse() else False
        X = validate_rows(self, X, accept_sparse=sparse, dtype=np.float64, reset=reset)
        if self._is(*COUNTS):
            values = X.data if sp.issparse(X) else X
            if self._is("bernoulli_nb"):
                X = (X > 0).astype(np.float64)
            elif values.size and values.min() < 0:
                raise ValueError(
                    "Negative values in data passed to SemiSupervisedGenerativeClassifier: counts "
                    f"must not be negative; got {values.min():g}."
                )
        return X

    def _fit_rows(
        self, X: Any, labels: PartialLabels, trade_off: Any, progress: FitProgress | None
    ) -> None:
        """Fit to checked rows; what `fit` and the folds of cross-validation share."""
        n_classes = len(labels.classes)
        priors = read_priors(self.priors, labels.classes)
        unlabelled = labels.codes < 0
        named = priors is not None and self.objective == "ml" and bool(unlabelled.any())
        refuse_unlabelled_classes(labels, allowed=named)
        if self.solver == "em" and self.objective not in ("ml", "labelled"):
            raise ValueError(
                'solver="em" is for the objectives "ml" and "labelled": the weights of '
                f'"{self.objective}" may be negative. Use "lbfgs" or "ebw".'
            )
        order = np.argsort(unlabelled, kind="stable")
        codes = labels.codes[order][: int((~unlabelled).sum())]
        if self.test_shift and not sp.issparse(X):
            _warn_if_shifted(X[~unlabelled], X[unlabelled])
        goal = make_goal(
            self.objective,
            codes,
            X.shape[0],
            self._balance(codes, priors),
            n_classes,
            None if self.unlabelled_weight == "auto" else float(self.unlabelled_weight),
            None if trade_off == "auto" else trade_off,
        )
        axes = self._measure(X) if self._is(*GAUSSIANS) else None
        rows = (X if axes is None else axes.scaled(X))[order]
        if self.objective == "labelled":
            rows = rows[: len(codes)]  # nothing else is looked at
        model = self._build(n_classes, rows, priors)
        if self.solver != "lbfgs" and not (
            hasattr(model, "expected") or (self.solver == "em" and model.has_maximum)
        ):
            raise ValueError(f'solver="{self.solver}" needs more than this model has: use "lbfgs".')
        rng = check_random_state(self.random_state)
        limits = Limits(self.max_iter, self.tol, progress)
        found = best_ascent(model, goal, rows, self.solver, self.n_init, rng, limits)
        if not np.isfinite(found.value):
            raise ValueError(
                "The objective is not finite at any start: look for rows that are huge or that no "
                "class explains."
            )
        if not (found.converged or found.stopped):
            warnings.warn(
                f"{type(self).__name__} did not converge in {len(found.trace) - 1} iterations "
                f"(tol={self.tol:g}). Raise max_iter={self.max_iter} or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._keep(model, axes, goal, rows, found, labels)

    def _measure(self, X: Floats) -> Axes:
        """Return the ranges of axes: those given, or those of the rows."""
        if self.bounds is None:
            return Axes.of(X)
        ends = np.asarray(self.bounds, dtype=np.float64)
        if ends.shape not in ((2,), (2, X.shape[1])) or not np.isfinite(ends).all():
            raise ValueError(
                "bounds must be (lower, upper), two finite numbers or two arrays of "
                f"{X.shape[1]}; got an array of shape {ends.shape}."
            )
        low, high = (np.broadcast_to(end, X.shape[1]) for end in ends)
        if not (low < high).all():
            axis = int(np.flatnonzero(low >= high)[0])
            raise ValueError(
                f"bounds must have lower below upper; got {low[axis]:g} and {high[axis]:g} for "
                f"axis {axis}."
            )
        return Axes.between(low, high)

    def _balance(self, codes: Any, priors: Floats | None) -> Floats:
        """Return weights of labelled rows: one, or such that classes have their probabilities."""
        if self.label_design == "random":
            return np.ones(len(codes))
        if priors is None:
            raise ValueError(
                'label_design="stratified" needs priors: how many rows of a class were labelled '
                "says nothing about how many there are."
            )
        # weights that bring the classes to their known probabilities
        return priors[codes] * len(codes) / np.bincount(codes, minlength=len(priors))[codes]

    def _build(self, n_classes: int, rows: Any, priors: Floats | None) -> Any:
        if not isinstance(self.model, str):
            return CustomModel(self.model, n_classes)
        shape = (n_classes, rows.shape[1], None if priors is None else np.log(priors))
        gaussian = (2.0 * self.var_floor, self.mean_penalty)  # a range is two half ranges
        if self.model == "gaussian_nb":
            return DiagonalGaussians(*shape, *gaussian)
        if self.model in ("qda", "lda"):
            return FullGaussians(*shape, *gaussian, shared=self.model == "lda")
        if self.model == "gmm":
            return ClassMixtures(*shape, *gaussian, self.n_components)
        if self.model == "bernoulli_nb":
            return BernoulliFeatures(*shape, self.alpha)
        return MultinomialCounts(*shape, self.alpha, float(rows.sum()) / max(1, rows.shape[0]))

    def _keep(
        self,
        model: Any,
        axes: Axes | None,
        goal: Goal,
        rows: Any,
        found: Ascent,
        labels: PartialLabels,
    ) -> None:
        """Store the fit in the units of the data."""
        for name in ("means_", "vars_", "covariances_", "weights_", "feature_log_prob_"):
            if hasattr(self, name):
                delattr(self, name)
        theta = found.theta
        self._model, self._axes, self.theta_ = model, axes, theta
        self.classes_ = labels.classes
        prior = model.class_log_prior(theta)
        if prior is not None:
            self.class_log_prior_ = prior
        loss = 0.0
        if axes is not None:
            loss = axes.log_volume
            self._keep_gaussians(model, axes, theta)
        elif prior is not None:
            self.feature_log_prob_ = model.feature_log_prob(theta)
        q = model.log_joint(theta, rows)
        inner = evaluate(goal, q)[0]
        # the Jacobian enters log p(x) alone, with the weights that J gives it
        self.objective_ = evaluate(goal, q - loss)[0]
        self.objectives_ = np.array(found.trace) + (self.objective_ - inner)
        self.converged_, self.n_iter_ = found.converged, max(1, len(found.trace) - 1)
        self.n_labelled_ = len(goal.codes)
        self.n_unlabelled_ = len(labels.codes) - self.n_labelled_

    def _keep_gaussians(self, model: Any, axes: Axes, theta: Floats) -> None:
        if self.model in ("qda", "lda"):
            means = model.unpack(theta)[0]
            spread = model.covariances(theta) * np.outer(axes.half, axes.half)
            self.covariances_ = spread[0] if self.model == "lda" else spread
        else:
            *logits, means, log_vars = model.unpack(theta)
            self.vars_ = np.exp(log_vars) * axes.half**2
            if logits:
                shape = (model.n_classes, model.n_components)
                weights = np.exp(logits[0] - logits[0].max(axis=1, keepdims=True))
                self.weights_ = weights / weights.sum(axis=1, keepdims=True)
                self.vars_ = self.vars_.reshape(*shape, -1)
                means = means.reshape(*shape, -1)
        self.means_ = axes.middle + axes.half * means

    def _log_joint(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        if self._axes is None:
            return self._model.log_joint(self.theta_, X)
        return self._model.log_joint(self.theta_, self._axes.scaled(X)) - self._axes.log_volume

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log p(x, y).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_joint : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        return self._log_joint(X)

    def log_density(self, X: Any) -> Floats:
        """Return log p(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Without the multinomial coefficient for "multinomial_nb".
        """
        return posterior(self._log_joint(X))[0]

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(y | x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        q = self._log_joint(X)
        return q - posterior(q)[0][:, None]

    def predict_proba(self, X: Any) -> Floats:
        """Return p(y | x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        return posterior(self._log_joint(X))[1]

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        best = self._log_joint(X).argmax(axis=1)
        return self.classes_[best]

    def sample(self, n_samples: int = 1) -> tuple[Any, Any]:
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows; those of "multinomial_nb" have the mean length of the training rows.
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive int; got {n_samples!r}.")
        rng = check_random_state(self.random_state)
        n_classes = len(self.classes_)
        prior = getattr(self, "class_log_prior_", np.full(n_classes, -np.log(n_classes)))
        chance = np.exp(prior) / np.exp(prior).sum()
        codes = rng.choice(n_classes, int(n_samples), p=chance)
        X = self._model.sample(self.theta_, codes, rng)
        if self._axes is not None:
            X = self._axes.middle + self._axes.half * X
        return X, self.classes_[codes]


def _warn_if_shifted(labelled: Floats, unlabelled: Floats) -> None:
    """Warn where an axis of labelled and unlabelled rows differs beyond chance."""
    if len(labelled) < 2 or len(unlabelled) < 2:
        return
    chances = np.array(
        [ks_2samp(a, b).pvalue for a, b in zip(labelled.T, unlabelled.T, strict=True)]
    )
    worst = int(chances.argmin())
    if chances[worst] * len(chances) < _SHIFTED:
        warnings.warn(
            f"Labelled and unlabelled rows differ on feature {worst} (Kolmogorov-Smirnov "
            f"p = {chances[worst]:.1g}): unlabelled rows from another distribution can bias "
            "every objective that uses them.",
            UserWarning,
            stacklevel=5,
        )
