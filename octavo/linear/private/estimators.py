"""Linear classifiers that may be published although their training records are secret.

The model is the minimiser of a regularised loss, with noise added to it (output perturbation) or
to the objective before it is minimised (objective perturbation). Whoever sees the model learns
almost the same about a person whether or not that person's record was used: probabilities
change by a factor of at most exp(epsilon), and there is no δ.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12. Implemented: Sections 3
and 7. The noise is calibrated in `octavo.linear.private.perturbation`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from numpy.typing import ArrayLike

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.linear.private.base import PrivateClassifier, bounded_rows
from octavo.linear.private.perturbation import CustomLoss

__all__ = ["PrivateHuberSVM", "PrivateLinearClassifier", "PrivateLogisticRegression"]


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
        Largest norm of the gradient that counts as a minimiser, relative to the largest slope
        times `data_norm`, or to the mean of the noise where that is larger. If it is not
        reached, fit raises `ConvergenceError`. The distance to the exact minimiser that it
        allows is hidden by noise, out of the same epsilon: a larger `tol` costs accuracy, never
        privacy.
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
        The norm of the noise vector is Gamma distributed with shape n_features and this scale.
    grid_ : float
        Coefficients are whole multiples of it, zero without noise; it is public.
    mask_scale_ : float
        Scale of the discrete Laplace law on that grid by which each coefficient is moved, to
        hide what optimisation and floating-point arithmetic add.
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
    through the noise, not even the number of iterations.

    Floating-point numbers are not real numbers, and minimisers are not exact: one part in 1024
    of epsilon, or more where `tol` is large, pays for a mask that hides the difference. Low bits of
    coefficients tell nothing, since all models lie on one grid; see the method's page for what
    is assumed.

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
    alpha : float, default=0.01
        Strength of the penalty (the paper's Λ), chosen without looking at the records.
    data_norm : float, default=1.0
        A bound on the norm of any record, known without looking at these.
    clip : {"raise", "clip", "scale"}, default="raise"
        What happens to a row beyond `data_norm`.
    classes : array-like, default=None
        The possible labels; read off `y` when None.

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
    alpha : float, default=0.01
        Strength of the penalty (the paper's Λ), chosen without looking at the records.
    h : float, default=0.5
        Half-width of the parabola; a small one is nearer the hinge and needs more noise.
    data_norm : float, default=1.0
        A bound on the norm of any record, known without looking at these.
    clip : {"raise", "clip", "scale"}, default="raise"
        What happens to a row beyond `data_norm`.
    classes : array-like, default=None
        The possible labels; read off `y` when None.

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
