"""One-pass linear classifiers of first order: they keep a weight vector and nothing else.

`OnlinePerceptron`, `ROMMA`, `ALMA`, `OGDClassifier` and `PassiveAggressive`. A round costs a
time proportional to the nonzeros of its row.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, section 2: "first order learning".
"""

from __future__ import annotations

from numbers import Real

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.online.one_pass.base import OnlineClassifierMixin
from octavo.online.one_pass.rules_binary import HINGE, LOGISTIC, SQUARED, ZERO_ONE

__all__ = ["ALMA", "ROMMA", "OGDClassifier", "OnlinePerceptron", "PassiveAggressive"]

_POSITIVE = Interval(Real, 0, None, closed="neither")


class OnlinePerceptron(OnlineClassifierMixin, SoundEstimator):
    """Perceptron: add the row to the weights whenever the prediction is wrong.

    Parameters
    ----------
    multiclass : {"max", "uniform", "proportional"}, default="max"
        With more than two classes, which of the classes that score above the right one lose
        the row: the highest, all alike, or all in proportion to their excess.
    legacy : bool, default=False
        Where the right class is merely tied with a class that comes before it, "uniform" and
        "proportional" take the row from nobody, as the MATLAB release of LIBOL does, so that
        the update is no longer ultraconservative. By default the rival loses it, as in "max".
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    random_state : int, RandomState instance or None, default=None
        The random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    PassiveAggressive : Steps just long enough for a margin of 1.
    sklearn.linear_model.Perceptron : The same rule for two classes, several passes.

    Notes
    -----
    Not a choice for noisy labels: each mistake moves the weights as much as any other, for
    ever. `AROW` and `SCW` are better there, and ``average=True`` helps. If the data fits in
    memory and can be read many times, use `sklearn.linear_model.SGDClassifier` or
    `sklearn.svm.LinearSVC`.

    References
    ----------
    .. [1] F. Rosenblatt. The perceptron: a probabilistic model for information storage and
       organization in the brain. Psychological Review 65, 1958.
    .. [2] K. Crammer, Y. Singer. Ultraconservative online algorithms for multiclass
       problems. Journal of Machine Learning Research 3, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import OnlinePerceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OnlinePerceptron().fit(scale(X), y).n_mistakes_
    32
    """

    _parameter_constraints: dict = {
        **OnlineClassifierMixin._parameter_constraints,
        "multiclass": [StrOptions({"max", "uniform", "proportional"})],
        "legacy": ["boolean"],
    }

    def __init__(
        self,
        multiclass="max",
        *,
        legacy=False,
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.multiclass = multiclass
        self.legacy = legacy
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "perceptron", ()

    def _multiclass_rule(self):
        return f"perceptron_{self.multiclass}", (float(self.legacy),)


class ROMMA(OnlineClassifierMixin, SoundEstimator):
    """Relaxed online maximum margin algorithm.

    The weights are the shortest vector that gives the current row a margin of 1 and stays on
    the far side of the last vector: an online stand-in for the support vector machine.

    Parameters
    ----------
    aggressive : bool, default=False
        Learn from every margin below 1, not from mistakes only.
    first_step : {"min_norm", "example"}, default="min_norm"
        The first weights: the shortest that give a margin of 1, or the first row itself (as
        in the MATLAB release of LIBOL).
    legacy : bool, default=False
        Do as that release: keep the constraint of the last vector where the new row implies
        it, and, with more than two classes, scale the weights of two classes only.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    random_state : int, RandomState instance or None, default=None
        The random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    ALMA : Approximates the maximum margin at a chosen accuracy.
    sklearn.svm.LinearSVC : The maximum margin itself, of data in memory.

    Notes
    -----
    Made for separable data: with label noise its weights chase every mistake. There, use
    `PassiveAggressive` with a small ``C``, `AROW` or `SCW`.

    References
    ----------
    .. [1] Y. Li, P. M. Long. The relaxed online maximum margin algorithm. Machine Learning
       46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import ROMMA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ROMMA(aggressive=True).fit(scale(X), y).n_mistakes_
    23
    """

    _parameter_constraints: dict = {
        **OnlineClassifierMixin._parameter_constraints,
        "aggressive": ["boolean"],
        "first_step": [StrOptions({"min_norm", "example"})],
        "legacy": ["boolean"],
    }

    def __init__(
        self,
        aggressive=False,
        *,
        first_step="min_norm",
        legacy=False,
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.aggressive = aggressive
        self.first_step = first_step
        self.legacy = legacy
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        flags = (float(self.first_step == "example"), float(self.legacy))
        return ("aromma" if self.aggressive else "romma"), flags

    def _multiclass_rule(self):
        return self._binary_rule()


class ALMA(OnlineClassifierMixin, SoundEstimator):
    """Approximate large margin algorithm, with p-norms.

    Its margin comes within a factor ``alpha`` of the best in the p-norm. Rows are normalised
    inside, so their scale does not matter. A large ``p`` suits problems where few of many
    features count.

    Parameters
    ----------
    alpha : float, default=0.9
        In (0, 1): the share of the largest margin that is given up; close to 1 learns from
        little more than mistakes.
    p : float, default=2
        Norm of the rows, at least 2. The weights are measured in the dual norm.
    B : float or None, default=None
        Scale of the margin asked for; ``1 / alpha`` when None.
    C : float, default=2**0.5
        Scale of the steps.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    random_state : int, RandomState instance or None, default=None
        The random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    ROMMA : No parameter, Euclidean norm.
    OGDClassifier : Steps of C/√t as well, without normalisation.

    Notes
    -----
    A choice for clean labels and rows of very different lengths; under label noise `SCW` and
    `AROW` make fewer mistakes. More than two classes are learnt one against the rest. With
    ``average=True`` and ``p != 2`` the mean is taken of the dual vector, to which the steps
    are added, and mapped back.

    References
    ----------
    .. [1] C. Gentile. A new approximate maximal margin classification algorithm. Journal of
       Machine Learning Research 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import ALMA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ALMA().fit(scale(X), y).n_mistakes_
    25
    """

    _parameter_constraints: dict = {
        **OnlineClassifierMixin._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "p": [Interval(Real, 2, None, closed="left")],
        "B": [_POSITIVE, None],
        "C": [_POSITIVE],
    }

    def __init__(
        self,
        alpha=0.9,
        p=2,
        B=None,
        C=2**0.5,
        *,
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.p = p
        self.B = B
        self.C = C
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        big_b = 1.0 / self.alpha if self.B is None else self.B
        return "alma", (self.alpha, big_b, self.C, self.p)

    def _weights_of(self, state):
        dual = super()._weights_of(state)
        norm = np.linalg.norm(dual.ravel(), ord=self.p) if self.p != 2 else 0.0
        if norm == 0.0:
            return dual
        # w = link⁻¹(u), scaled first so that no power overflows
        return np.sign(dual) * norm * (np.abs(dual) / norm) ** (self.p - 1)


class OGDClassifier(OnlineClassifierMixin, SoundEstimator):
    """Online gradient descent with steps of C/√t.

    Parameters
    ----------
    loss : {"hinge", "log", "square", "zero_one"}, default="hinge"
        Loss whose gradient is followed; "zero_one" takes the step of the perceptron. With
        more than two classes, a loss of the margin of the right class over its best rival.
    C : float, default=1.0
        Length of the first step.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    random_state : int, RandomState instance or None, default=None
        The random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    sklearn.linear_model.SGDClassifier : The same descent with regularisation and schedules.

    Notes
    -----
    Steps are not scale free: normalise rows or choose ``C``. To choose among losses and
    penalties on data in memory, use `sklearn.linear_model.SGDClassifier`. No projection is
    made, as in LIBOL.

    References
    ----------
    .. [1] M. Zinkevich. Online convex programming and generalized infinitesimal gradient
       ascent. ICML, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import OGDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OGDClassifier("log").fit(scale(X), y).n_mistakes_
    28
    """

    _CODES = {"zero_one": ZERO_ONE, "hinge": HINGE, "log": LOGISTIC, "square": SQUARED}
    _parameter_constraints: dict = {
        **OnlineClassifierMixin._parameter_constraints,
        "loss": [StrOptions(set(_CODES))],
        "C": [_POSITIVE],
    }

    def __init__(
        self,
        loss="hinge",
        C=1.0,
        *,
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "ogd", (self.C, float(self._CODES[self.loss]))

    def _multiclass_rule(self):
        return self._binary_rule()


class PassiveAggressive(OnlineClassifierMixin, SoundEstimator):
    """Passive-aggressive learner: the smallest step that gives the row a margin of 1.

    Parameters
    ----------
    variant : {"pa", "pa1", "pa2"}, default="pa"
        The full step; the step cut off at ``C``; the step shortened by ``1 / (2 C)`` in its
        denominator.
    C : float, default=1.0
        Aggressiveness of "pa1" and "pa2"; smaller resists label noise.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    random_state : int, RandomState instance or None, default=None
        The random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AROW : Also keeps how sure it is of each weight.
    sklearn.linear_model.SGDClassifier : With ``learning_rate="pa1"``, the same steps.

    Notes
    -----
    ``C`` is not scale free: normalise rows to length 1, or tune it with `tune_online`. On
    noisy labels take "pa1" with a small ``C`` or `AROW`; "pa" then chases every row.

    References
    ----------
    .. [1] K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online
       passive-aggressive algorithms. Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import PassiveAggressive
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> PassiveAggressive("pa1", C=0.1).fit(scale(X), y).n_mistakes_
    23
    """

    _parameter_constraints: dict = {
        **OnlineClassifierMixin._parameter_constraints,
        "variant": [StrOptions({"pa", "pa1", "pa2"})],
        "C": [_POSITIVE],
    }

    def __init__(
        self,
        variant="pa",
        C=1.0,
        *,
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.variant = variant
        self.C = C
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return self.variant, (self.C,)

    def _multiclass_rule(self):
        return self._binary_rule()
