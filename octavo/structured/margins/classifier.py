"""A linear classifier whose margins are as wide as the classes are apart.

Reference: Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011), "Exploitation of Machine Learning
Techniques in Modelling Phrase Movements for Machine Translation", Journal of Machine Learning
Research 12: Section 2.2.3, Table 2, Appendix A.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_finite_result, check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.structured.margins.class_distance import NAMED, settle_class_distance
from octavo.structured.margins.dual_descent import (
    MarginProblem,
    MarginSolution,
    margin_problem,
    penalized_margin,
)
from octavo.structured.margins.margin_steps import loss_sum, row_norms
from octavo.structured.margins.perceptron import MarginPerceptron, held_out_rows, train_perceptron
from octavo.structured.margins.saddle import saddle_margin

__all__ = ["StructuredMarginClassifier"]

STEEP = 1e3  # a single step that moves scores by more than this many prices knows no margin


def _takes_steps(model: Any) -> bool:
    if model.solver != "psl":
        raise AttributeError(
            f"Rows can be added chunk by chunk with solver='psl' only, got {model.solver!r}."
        )
    return True


class StructuredMarginClassifier(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Linear classifier whose margin between two classes is the price of confusing them.

    Minimises (1/N) Σ max over o of [Δ(y, o) + (w_o - w_y).x] + (α/2) Σ ‖w_o‖², the cost-sensitive
    form of the machine of Crammer and Singer; no intercept.

    Parameters
    ----------
    class_distance : {"uniform", "ordinal", "tree"} or array-like of shape (n_classes, n_classes), \
default="uniform"
        Entry [i, j] is the price of answering j where i is right, classes in sorted order; it may
        be asymmetric. "ordinal" is |i - j| / (n - 1); "tree" is the paper's: 0.5 on the same
        side of the middle class, else 1.
    solver : {"psl", "sdca", "extragradient"}, default="psl"
        Perceptron steps (Table 2), fast and without a certificate; dual coordinate steps, exact;
        the saddle form by extragradient steps.
    alpha : float, default=0.0
        λ, the strength of the penalty. "sdca" needs it positive.
    R : float or None, default=None
        For "extragradient" with alpha=0: the bound of each ‖w_o‖; the objective is then the sum of
        the losses, not their mean. None is ten over the root mean square length of the rows.
    eta : float, default=0.1
        Step of "psl".
    max_iter : int, default=50
        Most passes over the rows of "psl"; most rounds of the others, five passes of "sdca" or 100
        steps of "extragradient".
    tol : float, default=1e-4
        Duality gap to stop at, relative to the objective; for "psl" what the held-out price must
        fall by within five passes.
    early_stopping : bool, default=True
        For "psl": hold rows out, and keep the weights of the pass with the least price on them.
    validation_fraction : float, default=0.1
        Share of the rows that are held out.
    average : bool, default=True
        For "psl": whether the weights are the mean over all steps.
    random_state : int, RandomState instance or None, default=None
        Orders the rows and draws those held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights.
    class_distance_ : ndarray of shape (n_classes, n_classes)
        Prices.
    objective_ : float
        What is minimised, at ``coef_``, on all rows.
    duality_gap_ : float
        How far it may be above the optimum. For "psl" the bound is 0, that of dual variables
        that say nothing.
    losses_ : ndarray of shape (n_iter_,)
        Mean loss met in each pass of "psl", objective after each pass of the others.
    validation_losses_ : ndarray of shape (n_iter_,)
        Mean price on the rows held out, after each pass; only with early stopping.
    R_ : float
        The bound that was used; only for the saddle form.
    temperature_ : float
        What scores are divided by in `predict_proba`; 1 unless `calibrate` was called.
    n_iter_ : int
        Passes, or rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    class_distance_from_tree : Prices from a tree of classes.
    MaximumMarginRegression : Trains without rivals.
    sklearn.svm.LinearSVC : ``multi_class="crammer_singer"`` for equal prices.

    Notes
    -----
    Not where every mistake costs the same and an intercept or probabilities matter:
    `sklearn.linear_model.LogisticRegression` has both. "psl" wants rows of similar, moderate
    length: a step changes scores by eta ‖x‖², which should be of the size of a price.

    References
    ----------
    .. [1] Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011). Exploitation of Machine Learning
       Techniques in Modelling Phrase Movements for Machine Translation. JMLR 12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from octavo.structured import StructuredMarginClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredMarginClassifier("ordinal", solver="sdca", alpha=0.01, random_state=0)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.8
    True
    >>> bool(model.duality_gap_ <= 1e-4 * model.objective_)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "class_distance": [StrOptions(set(NAMED)), "array-like"],
        "solver": [StrOptions({"psl", "sdca", "extragradient"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "R": [Interval(Real, 0, None, closed="neither"), None],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "average": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        class_distance="uniform",
        solver="psl",
        alpha=0.0,
        R=None,
        eta=0.1,
        max_iter=50,
        tol=1e-4,
        early_stopping=True,
        validation_fraction=0.1,
        average=True,
        random_state=None,
    ):
        self.class_distance = class_distance
        self.solver = solver
        self.alpha = alpha
        self.R = R
        self.eta = eta
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.average = average
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Learning -------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows with their classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each one stands for.

        Returns
        -------
        self : StructuredMarginClassifier
            The fitted classifier.
        """
        self._refuse_options()
        X, y = self._rows(X, y, reset=True)
        self.classes_, codes = encode_classes(y, owner=self)
        self.class_distance_ = settle_class_distance(self.class_distance, len(self.classes_))
        sizes = self._sizes(X, sample_weight)
        problem = margin_problem(X, codes, sizes, self.class_distance_)
        random = check_random_state(self.random_state)
        self._forget()
        with FitProgress(self, self.max_iter, X, y, step_name="pass") as progress:
            if self.solver == "psl":
                self._fit_perceptron(problem, random, progress)
            else:
                self._fit_exact(problem, random, progress)
        self.temperature_ = 1.0
        return self

    def _forget(self) -> None:
        for name in ("_learner", "R_", "validation_losses_"):
            if hasattr(self, name):
                delattr(self, name)

    def _refuse_options(self) -> None:
        if self.solver == "sdca" and self.alpha == 0.0:
            raise ValueError(
                "Dual coordinate steps need a penalty: solver='sdca' takes alpha > 0, got alpha=0. "
                "Take solver='extragradient' with R for a bound instead of a penalty."
            )
        if self.R is not None and self.solver != "extragradient":
            raise ValueError(
                f"The bound R belongs to solver='extragradient'; solver={self.solver!r} takes "
                f"alpha alone, got R={self.R!r}."
            )
        if self.R is not None and self.alpha > 0.0:
            raise ValueError(
                f"The weights are either bounded or penalised: give R or alpha, got R={self.R!r} "
                f"and alpha={self.alpha!r}."
            )

    def _rows(self, X: Any, *y: Any, reset: bool = False) -> Any:
        checked = validate_rows(
            self, X, *y, narrow=True, reset=reset, dtype=np.float64, accept_sparse="csr", order="C"
        )
        check_squares(checked[0] if y else checked)
        return checked

    def _sizes(self, X: Any, sample_weight: Any) -> np.ndarray:
        sizes = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not sizes.sum() > 0.0:
            raise ValueError("Sample weights must not all be zero.")
        return sizes

    def _fit_exact(self, problem: MarginProblem, random: Any, progress: FitProgress) -> None:
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "random": random}
        if self.solver == "sdca":
            found = penalized_margin(problem, self.alpha, on_pass=progress.step, **options)
        else:
            radius = 0.0
            if self.alpha == 0.0:
                radius = self.R_ = self._radius(problem)
            found = saddle_margin(problem, radius, self.alpha, on_round=progress.step, **options)
        self._keep(found)

    def _radius(self, problem: MarginProblem) -> float:
        if self.R is not None:
            return float(self.R)
        norms = np.empty(len(problem.codes))
        row_norms(problem.rows, norms)
        return 10.0 / max(float(np.sqrt(norms.mean())), 1e-150)

    def _keep(self, found: MarginSolution) -> None:
        check_finite_result(found.weights, "The weights")
        self.coef_, self.objective_, self.duality_gap_ = found.weights, found.objective, found.gap
        self.losses_, self.n_iter_ = np.array(found.losses), len(found.losses)
        if not found.converged:
            warnings.warn(
                f"StructuredMarginClassifier did not converge in max_iter={self.max_iter}: the "
                f"objective is {found.objective:.6g} and its duality gap {found.gap:.3g}, where "
                f"tol={self.tol:.3g} of the objective was asked for. Increase max_iter, or scale X "
                "so that rows have lengths of about 1.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _fit_perceptron(self, problem: MarginProblem, random: Any, progress: FitProgress) -> None:
        train, held = np.arange(len(problem.codes)), np.empty(0, dtype=np.intp)
        if self.early_stopping:
            train, held = held_out_rows(problem.codes, self.validation_fraction, random)
        self._warn_of_scale(problem)
        learner = MarginPerceptron.new(problem, self.eta, self.alpha, self.average)
        found = train_perceptron(
            learner, problem, train, held, self.max_iter, self.tol, random, progress.step
        )
        check_finite_result(found.weights, "The weights")
        self._learner = learner
        self.coef_, self.losses_ = found.weights, np.array(found.losses)
        self.n_iter_ = len(found.losses)
        if held.size:
            self.validation_losses_ = np.array(found.validation_losses)
        self._judge(problem)
        if not found.converged and not held.size and self.alpha == 0.0:
            warnings.warn(
                f"Perceptron steps without a penalty and without early stopping still changed the "
                f"weights in pass {self.max_iter}, the last that max_iter allows: classes that are "
                "not separable never end them. Set early_stopping=True, or alpha > 0 with "
                f"solver='sdca'; the mean loss is {self.objective_:.3g}.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _judge(self, problem: MarginProblem) -> None:
        weights = np.ascontiguousarray(self.coef_.T).ravel()
        hinge = loss_sum(
            problem.rows, problem.codes, problem.row_weights, problem.distance, weights
        )
        total = float(problem.row_weights.sum())
        self.objective_ = hinge / total + 0.5 * self.alpha * float(weights @ weights)
        self.duality_gap_ = self.objective_

    def _warn_of_scale(self, problem: MarginProblem) -> None:
        """Warn where one step outweighs all prices, or all steps together reach none."""
        norms = np.empty(len(problem.codes))
        row_norms(problem.rows, norms)
        typical = float(np.median(norms))
        if typical == 0.0:
            return
        step = self.eta * typical / float(problem.distance.max())
        all_steps = step * self.max_iter * len(norms)
        if step <= STEEP and all_steps >= 1.0:
            return
        wrong = (
            f"a single step of eta={self.eta:g} moves scores by {step:.3g} prices, so that margins "
            "mean nothing"
            if step > STEEP
            else f"all steps of eta={self.eta:g} together move scores by {all_steps:.3g} prices, "
            "so that no margin is reached"
        )
        warnings.warn(
            f"Rows have lengths of about {np.sqrt(typical):.3g}: {wrong}. Scale X so that rows "
            f"have lengths of about 1, or set eta to about {1.0 / typical:.3g}.",
            UserWarning,
            stacklevel=6,
        )

    @available_if(_takes_steps)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take one pass of perceptron steps over more rows, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        classes : array-like of shape (n_classes,), optional
            All classes that may ever come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each one stands for.

        Returns
        -------
        self : StructuredMarginClassifier
            The classifier.
        """
        self._refuse_options()
        first = not hasattr(self, "_learner")
        if first and classes is None:
            raise ValueError("All classes must be passed on the first call to partial_fit.")
        if (
            not first
            and classes is not None
            and not np.array_equal(np.unique(classes), self.classes_)
        ):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{self.classes_!r}."
            )
        X, y = self._rows(X, y, reset=first)
        known = classes if first else self.classes_
        self.classes_, codes = encode_classes(y, classes=known, owner=self)
        if first:
            self._forget()
            self.class_distance_ = settle_class_distance(self.class_distance, len(self.classes_))
        problem = margin_problem(X, codes, self._sizes(X, sample_weight), self.class_distance_)
        if first:
            self._learner = MarginPerceptron.new(problem, self.eta, self.alpha, self.average)
            self.losses_, self.temperature_ = np.empty(0), 1.0
            self._warn_of_scale(problem)
        loss, _ = self._learner.visit(problem, np.arange(len(codes)))
        self.coef_ = self._learner.weights()
        check_finite_result(self.coef_, "The weights")
        self.losses_ = np.append(self.losses_, loss)
        self.n_iter_ = len(self.losses_)
        self._judge(problem)
        return self

    # Answers --------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        scores = np.asarray(self._rows(X) @ self.coef_.T)
        check_finite_result(scores, "The scores")
        return scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            w_o.x for each class; for two classes the second less the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score, the first of equals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return exp of the scores, over the temperature, as shares (eq. 3 with h = exp).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``. Margins are no log-odds: see `calibrate`.
        """
        return softmax(self._scores(X) / self.temperature_, axis=1)

    def calibrate(self, X: Any, y: Any) -> Self:
        """Choose the temperature that makes held-out classes most likely.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that were not trained on.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : StructuredMarginClassifier
            With another ``temperature_``.
        """
        check_is_fitted(self, "coef_")
        X, y = self._rows(X, y)
        scores = np.asarray(X @ self.coef_.T)
        codes = encode_classes(y, classes=self.classes_, owner=self)[1]
        spread = max(float(np.ptp(scores, axis=1).mean()), 1e-300)

        def cost(log_temperature: float) -> float:
            chances = log_softmax(scores / (spread * np.exp(log_temperature)), axis=1)
            return -float(chances[np.arange(len(codes)), codes].mean())

        found = minimize_scalar(cost, bounds=(-10.0, 10.0), method="bounded")
        self.temperature_ = float(spread * np.exp(found.x))
        return self
