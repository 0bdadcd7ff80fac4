"""Linear classifiers that may be published although their training records are secret.

The model is the minimiser of a regularised loss, with noise added to it (output perturbation) or
to the objective before it is minimised (objective perturbation). Whoever sees the model learns
almost the same about a person whether or not that person's record was used: probabilities
change by a factor of at most exp(epsilon), and there is no δ.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12. Implemented: Sections 3
and 7. The noise is calibrated in `octavo.linear.perturbation`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.extmath import row_norms
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.linear.perturbation import (
    LOSS_NAMES,
    CustomLoss,
    Loss,
    Perturbation,
    calibrate_perturbation,
    private_loss,
    private_minimisers,
)
from octavo.linear.private_noise import NoiseSource, noise_source

__all__ = ["PrivateHuberSVM", "PrivateLinearClassifier", "PrivateLogisticRegression"]

_ROUNDING = 1e-12  # rows that were normalised may exceed their bound by rounding


def bounded_rows(X: Any, data_norm: float, clip: str) -> Any:
    """Return rows of norm at most `data_norm`; each depends on nothing but itself."""
    norms = row_norms(X)
    if clip == "raise":
        over = norms > data_norm * (1 + _ROUNDING)
        if over.any():
            worst = int(np.argmax(norms))
            raise ValueError(
                f"row {worst} has norm {norms[worst]:.6g}, above data_norm={data_norm:g} "
                f"({int(over.sum())} of {len(norms)} rows are). Give a bound that holds for any "
                "record, not one taken from these; or let clip='clip' shorten such rows"
            )
        return X
    if clip == "clip":
        factor = data_norm / np.maximum(norms, data_norm)
    else:
        factor = data_norm / np.where(norms > 0, norms, data_norm)
    return sp.csr_array(sp.diags_array(factor) @ X) if sp.issparse(X) else X * factor[:, None]


def append_constant(X: Any, constant: float) -> Any:
    """Return X with one more column, that of the intercept."""
    column = np.full((X.shape[0], 1), constant)
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])


def one_vs_rest_targets(codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return -1/+1 targets, a row per problem: one for two classes, else one a class."""
    positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    return np.where(codes == positive[:, None], 1.0, -1.0)


def _is_logistic(estimator: Any) -> bool:
    if isinstance(estimator.loss, str) and estimator.loss == "logistic":
        return True
    raise AttributeError(
        f"predict_proba is for loss='logistic'; {estimator.loss!r} gives no probabilities"
    )


class PrivateClassifier(ClassifierMixin, BaseEstimator):
    """What private classifiers share: labels, budget, noise, decisions.

    A subclass says how records become features (`_train_features`, `_test_features`) and
    which norm those cannot exceed (`_feature_norm`). Nothing is stored on the fitted model that
    depends on the records other than through the noise.
    """

    _parameter_constraints: dict[str, Any] = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "loss": [StrOptions(set(LOSS_NAMES)), CustomLoss],
        "method": [StrOptions({"objective", "output"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "h": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "branch": [StrOptions({"auto", "best"}), Options(int, {1, 2})],
        "slack": [StrOptions({"paper", "tight"})],
        "classes": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "ledger": [HasMethods("spend"), None],
        "random_state": ["random_state"],
    }

    epsilon: float
    loss: str | CustomLoss
    method: str
    alpha: float
    h: float
    fit_intercept: bool
    intercept_scaling: float
    branch: str | int
    slack: str
    classes: ArrayLike | None
    tol: float
    ledger: Any
    random_state: Any

    def _start(self, n_features: int, source: NoiseSource) -> None:
        """Draw what the features need and the data does not decide."""

    def _train_features(self, X: Any) -> Any:
        raise NotImplementedError

    def _test_features(self, X: Any) -> Any:
        raise NotImplementedError

    def _feature_norm(self) -> float:
        raise NotImplementedError

    def _encode(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the classes and the class of each record."""
        check_classification_targets(y)
        if self.classes is None:
            classes, codes = np.unique(y, return_inverse=True)
        else:
            classes = np.unique(np.asarray(self.classes))
            if not np.isin(y, classes).all():
                unknown = np.setdiff1d(y, classes)[:3].tolist()
                raise ValueError(f"y has labels that are not in classes={classes}: {unknown}")
            codes = np.searchsorted(classes, y)
        if len(classes) < 2:
            raise ValueError(f"at least two classes are needed, got one class: {classes[0]!r}")
        return classes, codes

    def _design(self, X: Any) -> Any:
        """Return the training matrix, with the intercept's column where there is one."""
        V = self._train_features(X)
        return append_constant(V, self.intercept_scaling) if self.fit_intercept else V

    def _plan(self, n_samples: int, n_problems: int) -> tuple[Loss, Perturbation]:
        """Return the loss and the noise of each of several problems on the same records."""
        loss = private_loss(self.loss, self.h)
        constant = self.intercept_scaling if self.fit_intercept else 0.0
        return loss, calibrate_perturbation(
            self.method,
            n_samples=n_samples,
            alpha=self.alpha,
            epsilon=self.epsilon / n_problems,
            lipschitz=loss.lipschitz,
            curvature=loss.curvature_bound,
            data_norm=float(np.hypot(self._feature_norm(), constant)),
            branch=self.branch,
            slack=self.slack,
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the private model; this spends `epsilon` of the records' privacy each time.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The classifier.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        classes, codes = self._encode(np.asarray(y))
        source = noise_source(self.random_state)
        self._start(X.shape[1], source)
        V = self._design(X)
        targets = one_vs_rest_targets(codes, len(classes))
        _, perturbation = self._plan(X.shape[0], len(targets))
        if self.ledger is not None:
            self.ledger.spend(self.epsilon, type(self).__name__)
        coef = np.vstack(
            [
                private_minimisers(
                    V,
                    target,
                    self.loss,
                    self.alpha,
                    perturbation,
                    h=self.h,
                    tol=self.tol,
                    random_state=source,
                )
                for target in targets
            ]
        )
        self.classes_ = classes
        self.coef_ = coef[:, :-1] if self.fit_intercept else coef
        self.intercept_ = np.zeros(len(coef))
        if self.fit_intercept:
            self.intercept_ = coef[:, -1] * self.intercept_scaling
        self.epsilon_spent_ = self.epsilon
        self.epsilon_prime_ = perturbation.epsilon_prime
        self.delta_reg_ = perturbation.delta_reg
        self.noise_scale_ = perturbation.noise_scale
        self.branch_ = perturbation.branch
        self.n_samples_public_ = X.shape[0]
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each class; of two classes, that of the second.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Linear in the features.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        score = self._test_features(X) @ self.coef_.T + self.intercept_
        return score[:, 0] if len(self.classes_) == 2 else score

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        score = self.decision_function(X)
        winner = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[winner]

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; for the logistic loss alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            With more than two classes, one-vs-rest probabilities scaled to add to one.
        """
        score = self.decision_function(X)
        if score.ndim == 1:
            return np.column_stack([expit(-score), expit(score)])
        # Scaled by the largest, so that scores far below zero do not all vanish.
        log_chance = -np.logaddexp(0.0, -score)
        chance = np.exp(log_chance - log_chance.max(axis=1, keepdims=True))
        return chance / chance.sum(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrivateLinearClassifier(PrivateClassifier):
    """Linear classifier with ε-differential privacy for its training records.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy loss: replacing one record changes the probability of any outcome by a
        factor of at most exp(epsilon). With ``np.inf`` there is no noise and no privacy: the
        twin to compare with.
    loss : {"logistic", "huber", "smooth_hinge"} or CustomLoss, default="logistic"
        Logistic regression, two smooth forms of the support vector machine, or a loss of your
        own with the bounds on its derivatives.
    method : {"objective", "output"}, default="objective"
        Where the noise goes. "objective" is nearly always more accurate.
    alpha : float, default=0.01
        Strength of the penalty (the paper's Λ): the objective is the mean loss plus
        ``alpha / 2 * ||coef||**2``. Privacy needs it to be positive, and the noise shrinks
        with it. It must not be chosen by looking at the records: see `PrivateModelSelector`.
    h : float, default=0.5
        Half-width of the smoothed hinges.
    data_norm : float, default=1.0
        A bound on the Euclidean norm of any record, known without looking at these.
    clip : {"raise", "clip", "scale"}, default="raise"
        What happens to a row beyond `data_norm`: an error, or it is shortened to `data_norm`.
        "scale" brings every row to norm `data_norm` exactly. Prediction does the same.
    fit_intercept : bool, default=False
        Learn an intercept, as the coefficient of a constant feature; it is penalised and
        noised like the others, because it must be.
    tol : float, default=1e-10
        Largest norm of the gradient that counts as a minimiser, relative to the noise where
        that exceeds one. If it is not reached, fit raises `ConvergenceError`.
    random_state : None, int or RandomState, default=None
        None draws the noise from the operating system's cryptographic generator. Anything
        else makes it reproducible, which is not private, and warns.
    intercept_scaling : float, default=1.0
        The constant feature of the intercept; it enlarges the norm of every record.
    branch : {"auto", 1, 2, "best"}, default="auto"
        How objective perturbation pays for the change of volume; see
        `calibrate_perturbation`.
    slack : {"paper", "tight"}, default="paper"
        The paper's bound on that change of volume, or its square root, which also holds; see
        `calibrate_perturbation`.
    classes : array-like, default=None
        The possible labels. When None they are read off `y`, and that these labels occur is
        then taken as public.
    ledger : PrivacyLedger, default=None
        Every fit is entered there, or refused.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, with noise.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, with noise; zero without `fit_intercept`.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    epsilon_spent_ : float
        What this fit has cost. Several classes share it evenly.
    epsilon_prime_ : float
        The part of each problem's epsilon that the noise itself uses.
    delta_reg_ : float
        The penalty Δ that was added to alpha.
    noise_scale_ : float
        The norm of the noise vector is Gamma(n_features, noise_scale_).
    branch_ : int
        The branch taken.
    n_samples_public_ : int
        Number of records; it is not protected.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names that are strings.

    See Also
    --------
    PrivateModelSelector : Choose alpha without spending privacy on the side.
    privacy_audit : Compute the privacy loss exactly.

    Notes
    -----
    Do not use it where nobody's record needs protection: scikit-learn's `LogisticRegression`
    is the same model without noise. Do not use it on a few hundred records with a small
    epsilon: the noise is of order n_features / (n_samples * alpha * epsilon).

    Scaling columns by their largest value, or taking the categories of a one-hot encoding from
    the records, is itself a release that this guarantee does not cover: use public ranges and
    categories. ``sample_weight`` and class weights are not offered, since they would change the
    effect of one record. Nothing that depends on the records is kept on the model except
    through the noise, not even the number of iterations. Floating-point numbers are not real
    numbers: the low bits of a coefficient may say more than the theory allows, as with every
    mechanism that is computed in float64.

    References
    ----------
    .. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011). "Differentially Private
       Empirical Risk Minimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import PrivateLinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, (20_000, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=20_000) > 0
    >>> model = PrivateLinearClassifier(epsilon=0.5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> round(model.noise_scale_, 2)  # 2 / ε', where ε' is nearly epsilon
    4.02
    """

    _parameter_constraints: dict[str, Any] = {
        **PrivateClassifier._parameter_constraints,
        "data_norm": [Interval(Real, 0, None, closed="neither")],
        "clip": [StrOptions({"raise", "clip", "scale"})],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        loss: str | CustomLoss = "logistic",
        method: str = "objective",
        alpha: float = 1e-2,
        h: float = 0.5,
        data_norm: float = 1.0,
        clip: str = "raise",
        fit_intercept: bool = False,
        tol: float = 1e-10,
        random_state: Any = None,
        *,
        intercept_scaling: float = 1.0,
        branch: str | int = "auto",
        slack: str = "paper",
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.loss = loss
        self.method = method
        self.alpha = alpha
        self.h = h
        self.data_norm = data_norm
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.random_state = random_state
        self.intercept_scaling = intercept_scaling
        self.branch = branch
        self.slack = slack
        self.classes = classes
        self.ledger = ledger

    def _train_features(self, X: Any) -> Any:
        return bounded_rows(X, self.data_norm, self.clip)

    def _test_features(self, X: Any) -> Any:
        return X if self.clip == "raise" else bounded_rows(X, self.data_norm, self.clip)

    def _feature_norm(self) -> float:
        return self.data_norm


class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with ε-differential privacy for its training records.

    It is `PrivateLinearClassifier` with the logistic loss.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy loss; ``np.inf`` for the twin without noise.
    method : {"objective", "output"}, default="objective"
        Where the noise goes.
    alpha : float, default=0.01
        Strength of the penalty (the paper's Λ), chosen without looking at the records.
    data_norm : float, default=1.0
        A bound on the norm of any record, known without looking at these.
    clip : {"raise", "clip", "scale"}, default="raise"
        What happens to a row beyond `data_norm`.
    fit_intercept : bool, default=False
        Learn an intercept, penalised and noised like the coefficients.
    tol : float, default=1e-10
        Largest norm of the gradient that counts as a minimiser.
    random_state : None, int or RandomState, default=None
        None for secret noise; anything else warns.
    intercept_scaling : float, default=1.0
        The constant feature of the intercept.
    branch : {"auto", 1, 2, "best"}, default="auto"
        See `calibrate_perturbation`.
    slack : {"paper", "tight"}, default="paper"
        See `calibrate_perturbation`.
    classes : array-like, default=None
        The possible labels; read off `y` when None.
    ledger : PrivacyLedger, default=None
        Every fit is entered there, or refused.

    Attributes
    ----------
    coef_, intercept_, classes_, epsilon_spent_, epsilon_prime_, delta_reg_, noise_scale_, \
branch_, n_samples_public_, n_features_in_, feature_names_in_
        As in `PrivateLinearClassifier`.

    See Also
    --------
    PrivateLinearClassifier : What this is, with a choice of losses.

    Notes
    -----
    Without a need for privacy use scikit-learn's `LogisticRegression`: as epsilon grows this
    becomes ``LogisticRegression(C=1 / (n_samples * alpha), fit_intercept=False)``.

    References
    ----------
    .. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011). "Differentially Private
       Empirical Risk Minimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import PrivateLogisticRegression
    >>> X, y = np.array([[0.6, 0.8], [-1.0, 0.0]]), np.array([1, 0])
    >>> twin = PrivateLogisticRegression(epsilon=np.inf, alpha=0.1).fit(X, y)
    >>> twin.predict_proba(X).round(2).tolist()
    [[0.19, 0.81], [0.81, 0.19]]
    """

    _parameter_constraints: dict[str, Any] = {
        name: constraint
        for name, constraint in PrivateLinearClassifier._parameter_constraints.items()
        if name not in ("loss", "h")
    }
    loss = "logistic"
    h = 0.5

    def __init__(
        self,
        epsilon: float = 1.0,
        method: str = "objective",
        alpha: float = 1e-2,
        data_norm: float = 1.0,
        clip: str = "raise",
        fit_intercept: bool = False,
        tol: float = 1e-10,
        random_state: Any = None,
        *,
        intercept_scaling: float = 1.0,
        branch: str | int = "auto",
        slack: str = "paper",
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.method = method
        self.alpha = alpha
        self.data_norm = data_norm
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.random_state = random_state
        self.intercept_scaling = intercept_scaling
        self.branch = branch
        self.slack = slack
        self.classes = classes
        self.ledger = ledger


class PrivateHuberSVM(PrivateLinearClassifier):
    """Linear support vector machine with ε-differential privacy for its training records.

    It is `PrivateLinearClassifier` with the hinge made smooth by a parabola around its kink,
    which the paper finds the most accurate under strong privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy loss; ``np.inf`` for the twin without noise.
    method : {"objective", "output"}, default="objective"
        Where the noise goes.
    alpha : float, default=0.01
        Strength of the penalty (the paper's Λ), chosen without looking at the records.
    h : float, default=0.5
        Half-width of the parabola; a small one is nearer the hinge and needs more noise.
    data_norm : float, default=1.0
        A bound on the norm of any record, known without looking at these.
    clip : {"raise", "clip", "scale"}, default="raise"
        What happens to a row beyond `data_norm`.
    fit_intercept : bool, default=False
        Learn an intercept, penalised and noised like the coefficients.
    tol : float, default=1e-10
        Largest norm of the gradient that counts as a minimiser.
    random_state : None, int or RandomState, default=None
        None for secret noise; anything else warns.
    intercept_scaling : float, default=1.0
        The constant feature of the intercept.
    branch : {"auto", 1, 2, "best"}, default="auto"
        See `calibrate_perturbation`.
    slack : {"paper", "tight"}, default="paper"
        See `calibrate_perturbation`.
    classes : array-like, default=None
        The possible labels; read off `y` when None.
    ledger : PrivacyLedger, default=None
        Every fit is entered there, or refused.

    Attributes
    ----------
    coef_, intercept_, classes_, epsilon_spent_, epsilon_prime_, delta_reg_, noise_scale_, \
branch_, n_samples_public_, n_features_in_, feature_names_in_
        As in `PrivateLinearClassifier`.

    See Also
    --------
    PrivateLinearClassifier : What this is, with a choice of losses.

    Notes
    -----
    Without a need for privacy use scikit-learn's `LinearSVC`. The loss has a second
    derivative everywhere but at two points; the guarantee is that of Corollary 13, which is
    about sets of outcomes instead of densities.

    References
    ----------
    .. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011). "Differentially Private
       Empirical Risk Minimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import PrivateHuberSVM
    >>> X, y = np.array([[0.6, 0.8], [-1.0, 0.0]]), np.array([1, 0])
    >>> PrivateHuberSVM(epsilon=np.inf, alpha=0.1).fit(X, y).decision_function(X).round(2).tolist()
    [1.33, -1.33]
    """

    _parameter_constraints: dict[str, Any] = {
        name: constraint
        for name, constraint in PrivateLinearClassifier._parameter_constraints.items()
        if name != "loss"
    }
    loss = "huber"

    def __init__(
        self,
        epsilon: float = 1.0,
        method: str = "objective",
        alpha: float = 1e-2,
        h: float = 0.5,
        data_norm: float = 1.0,
        clip: str = "raise",
        fit_intercept: bool = False,
        tol: float = 1e-10,
        random_state: Any = None,
        *,
        intercept_scaling: float = 1.0,
        branch: str | int = "auto",
        slack: str = "paper",
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.method = method
        self.alpha = alpha
        self.h = h
        self.data_norm = data_norm
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.random_state = random_state
        self.intercept_scaling = intercept_scaling
        self.branch = branch
        self.slack = slack
        self.classes = classes
        self.ledger = ledger
