"""One-pass linear classifiers of second order: they know how sure they are of each weight.

`SecondOrderPerceptron`, `ConfidenceWeighted`, `SCW`, `ImprovedEllipsoid`, `AROW`, `NAROW` and
`NHERD`. The covariance of the weights is full (a round costs d²) or diagonal (a round costs
the nonzeros of its row). Few mistakes without a learning rate to tune.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, section 2: "second order learning".
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.special import ndtri

from octavo.engine.estimators.sklearn_door import Interval, Options, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.online.one_pass.base import SecondOrderMixin

__all__ = [
    "AROW",
    "NAROW",
    "NHERD",
    "SCW",
    "ConfidenceWeighted",
    "ImprovedEllipsoid",
    "SecondOrderPerceptron",
]

_POSITIVE = Interval(Real, 0, None, closed="neither")
_CONFIDENCE = Interval(Real, 0.5, 1, closed="neither")


class SecondOrderPerceptron(SecondOrderMixin, SoundEstimator):
    """Second-order perceptron: a perceptron on rows whitened by what was seen so far.

    Parameters
    ----------
    update_on : {"mistake", "all"}, default="mistake"
        Rows that enter the covariance: those of mistakes, or all (as in the MATLAB release of
        LIBOL and its Table 1).
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AROW : The same step, also for right predictions with a margin below 1.
    OnlinePerceptron : Without a covariance.

    Notes
    -----
    A row is scored as if the covariance had absorbed it, as the algorithm does: with a full
    covariance that divides ``X @ coef_`` by 1 + xᵀΣx. More than two classes are learnt one
    against the rest. `AROW` makes fewer mistakes on almost all data. On data in memory,
    `sklearn.linear_model.RidgeClassifier` uses the whole correlation of the features at once.

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. A second-order perceptron algorithm. SIAM
       Journal on Computing 34, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import SecondOrderPerceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SecondOrderPerceptron().fit(scale(X), y).n_mistakes_
    34
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "update_on": [StrOptions({"mistake", "all"})],
    }

    def __init__(
        self,
        a=1.0,
        *,
        update_on="mistake",
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.a = a
        self.update_on = update_on
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "sop", (float(self.update_on == "all"),)

    def _absorbed_share(self, X):
        variances = self._row_variances(X)
        return variances, 1.0 / (1.0 + variances)


class ConfidenceWeighted(SecondOrderMixin, SoundEstimator):
    """Confidence-weighted learner, variance form.

    The smallest change (in Kullback-Leibler divergence) of a Gaussian over weights that
    predicts the row rightly with probability ``eta``.

    Parameters
    ----------
    eta : float, default=0.7
        Probability, between 0.5 and 1.
    legacy : bool, default=False
        With more than two classes, take the step of the MATLAB release of LIBOL, which does
        not solve the problem above.
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    SCW : The same with a soft constraint, for noisy labels.

    Notes
    -----
    Only for labels without noise: each row is fitted whatever it costs, and the covariance
    shrinks as if it were true. Otherwise use `SCW` or `AROW`.

    References
    ----------
    .. [1] M. Dredze, K. Crammer, F. Pereira. Confidence-weighted linear classification.
       ICML, 2008.
    .. [2] K. Crammer, M. Dredze, F. Pereira. Exact convex confidence-weighted learning.
       NIPS, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import ConfidenceWeighted
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ConfidenceWeighted().fit(scale(X), y).n_mistakes_
    23
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "eta": [_CONFIDENCE],
        "legacy": ["boolean"],
    }

    def __init__(
        self,
        eta=0.7,
        *,
        legacy=False,
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.eta = eta
        self.legacy = legacy
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "cw", (float(ndtri(self.eta)), np.inf, float(self.legacy))

    def _multiclass_rule(self):
        return self._binary_rule()


class SCW(SecondOrderMixin, SoundEstimator):
    """Soft confidence-weighted learner: confidence-weighted, with a price for violations.

    Parameters
    ----------
    variant : {1, 2}, default=1
        Violations cost ``C`` times their size (SCW-I) or their square (SCW-II).
    C : float, default=1.0
        Price of violations; smaller resists label noise.
    eta : float, default=0.75
        Probability asked for, between 0.5 and 1. The release of LIBOL has 0.9 for SCW-II.
    legacy : bool, default=False
        Take the steps of the MATLAB release of LIBOL: its SCW-II has a misprinted root, and
        its SCW-I for more than two classes does not solve the problem stated.
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AROW : No ``eta``; learns from every margin below 1.

    Notes
    -----
    ``C`` is not scale free: normalise rows, or tune ``C`` and ``eta`` with `tune_online`.
    When the data fits in memory and time allows many passes,
    `sklearn.linear_model.LogisticRegression` is more accurate.

    References
    ----------
    .. [1] J. Wang, P. Zhao, S. C. H. Hoi. Exact soft confidence-weighted learning. ICML,
       2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import SCW
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SCW(C=0.1).fit(scale(X), y).n_mistakes_
    26
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "variant": [Options(Real, {1, 2})],
        "C": [_POSITIVE],
        "eta": [_CONFIDENCE],
        "legacy": ["boolean"],
    }

    def __init__(
        self,
        variant=1,
        C=1.0,
        eta=0.75,
        *,
        legacy=False,
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.variant = variant
        self.C = C
        self.eta = eta
        self.legacy = legacy
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return f"scw{self.variant:.0f}", (float(ndtri(self.eta)), self.C, float(self.legacy))

    def _multiclass_rule(self):
        return self._binary_rule()


class ImprovedEllipsoid(SecondOrderMixin, SoundEstimator):
    """Classical ellipsoid method, improved for streams.

    An ellipsoid that holds good weights is cut at each mistake, ever less deeply.

    Parameters
    ----------
    b : float, default=0.3
        In (0, 1): what the depth of the cut is multiplied by every round.
    c : float, default=0.1
        In [0, 1): depth of the first cut.
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    SecondOrderPerceptron : Also learns from mistakes only.

    Notes
    -----
    After some dozens of rounds the covariance stands still, and what follows is a perceptron
    in a fixed metric. It is here for comparison; `AROW` is the better choice on a stream, and
    `sklearn.linear_model.SGDClassifier` on data in memory. More than two classes are learnt
    one against the rest.

    References
    ----------
    .. [1] L. Yang, R. Jin, J. Ye. Online learning by ellipsoid method. ICML, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import ImprovedEllipsoid
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ImprovedEllipsoid().fit(scale(X), y).n_mistakes_
    32
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "b": [Interval(Real, 0, 1, closed="neither")],
        "c": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        b=0.3,
        c=0.1,
        *,
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.b = b
        self.c = c
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "iellip", (self.b, self.c)


class AROW(SecondOrderMixin, SoundEstimator):
    """Adaptive regularisation of weights.

    Each row with a margin below 1 is taken as a noisy measurement that its score should be
    the label: an online ridge regression on the rows that are not yet learnt. The first
    choice of this family: one parameter, and not a touchy one.

    Parameters
    ----------
    r : float, default=1.0
        Variance of the noise; larger learns more slowly and resists label noise.
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    SCW : Fewer updates, often fewer mistakes, two parameters.
    NAROW : Lets the rows decide ``r``.
    sklearn.linear_model.RidgeClassifier : The same squared loss on all rows at once.

    Notes
    -----
    ``r`` is not scale free: normalise rows, or tune it with `tune_online`. With all rows at
    hand, `sklearn.linear_model.LogisticRegression` is more accurate.

    References
    ----------
    .. [1] K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors.
       NIPS, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import AROW
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AROW().fit(scale(X), y)
    >>> model.n_mistakes_, model.n_updates_
    (32, 244)
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "r": [_POSITIVE],
    }

    def __init__(
        self,
        r=1.0,
        *,
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.r = r
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "arow", (self.r,)

    def _multiclass_rule(self):
        return self._binary_rule()


class NAROW(SecondOrderMixin, SoundEstimator):
    """Adaptive regularisation of weights in which each row sets its own noise.

    Parameters
    ----------
    b : float, default=1.0
        Rows whose variance is at most ``1 / b`` leave the covariance as it is.
    variant : {"dual", "libol"}, default="dual"
        As its authors wrote it (every margin below 1 moves the weights), or as the MATLAB
        release of LIBOL has it (rows that leave the covariance leave the weights, too).
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AROW : A fixed noise.

    Notes
    -----
    With ``variant="dual"`` a row is scored as if the covariance had absorbed it, as the
    algorithm does: with a full covariance that multiplies ``X @ coef_`` by r/(xᵀΣx + r). More
    than two classes are learnt one against the rest. ``variant="libol"`` often stops learning
    early and is here to reproduce its table. On data in memory, prefer
    `sklearn.linear_model.LogisticRegression`.

    References
    ----------
    .. [1] F. Orabona, K. Crammer. New adaptive algorithms for online classification. NIPS,
       2010.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import NAROW
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> NAROW().fit(scale(X), y).n_mistakes_
    30
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "b": [_POSITIVE],
        "variant": [StrOptions({"dual", "libol"})],
    }

    def __init__(
        self,
        b=1.0,
        *,
        variant="dual",
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.b = b
        self.variant = variant
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return ("narow" if self.variant == "dual" else "narow_release"), (self.b,)

    def _absorbed_share(self, X):
        if self.variant != "dual":
            return None
        variances = self._row_variances(X)
        with np.errstate(divide="ignore"):
            inverse = np.where(variances > 0.0, 1.0 / variances, 0.0)
        # 1/(v + r_t) with r_t = v/(bv - 1), zero where r_t is infinite
        return variances, inverse * np.maximum(1.0 - inverse / self.b, 0.0)


class NHERD(SecondOrderMixin, SoundEstimator):
    """Normal herding: a whole cloud of weight vectors is herded towards the right margin.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness; smaller resists label noise.
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
    covariance_ : ndarray
        Covariance of the weights, the intercept last: a matrix, or its diagonal. Where one
        binary learner per class is kept, one after the other along the first axis.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AROW : The same mean step, a covariance that shrinks more slowly.

    Notes
    -----
    The diagonal form drops what leaves the diagonal. More than two classes are learnt one
    against the rest. Where `AROW` does as well, take `AROW`, whose covariance has a meaning;
    on data in memory take `sklearn.linear_model.LogisticRegression`.

    References
    ----------
    .. [1] K. Crammer, D. D. Lee. Learning via Gaussian herding. NIPS, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import NHERD
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> NHERD(C=0.1).fit(scale(X), y).n_mistakes_
    29
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "C": [_POSITIVE],
    }

    def __init__(
        self,
        C=1.0,
        *,
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.C = C
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return "nherd", (self.C,)
