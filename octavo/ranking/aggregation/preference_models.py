"""`MultinomialPreferenceModel`: one ranking, with doubts, from preferences of unequal experts.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Sections 2.3 to 2.5 and 3.4.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.orders import discordant_pairs
from octavo.ranking.aggregation.instances import (
    read_instances,
    read_labelled,
    warn_of_silent_experts,
)
from octavo.ranking.aggregation.multinomial import (
    DENSE,
    Evidence,
    Fit,
    JointLikelihood,
    evidence_of,
    fit_given_adherence,
    fit_joint,
    fit_scores,
)
from octavo.ranking.aggregation.preferences import PairwisePreferences
from octavo.ranking.aggregation.strengths import TRANSFORMS

__all__ = ["MultinomialPreferenceModel", "SupervisedPreferenceModel"]


def fit_instances(
    evidence: list[Evidence],
    *,
    variances: bool,
    adherence: Floats | None,
    alpha: float,
    max_iter: int,
    tol: float,
    on_step: Any = None,
) -> Fit:
    """Fit scores, and what else is asked for, by the cheapest solver that can.

    Parameters
    ----------
    evidence : list of Evidence
        The instances.
    variances : bool
        Whether variances are learned.
    adherence : ndarray of shape (n_experts,) or None
        Given adherences; None when they are learned.
    alpha, max_iter, tol
        Of the model.
    on_step : callable, optional
        Called after each iteration.

    Returns
    -------
    fit : Fit
        Scores with sum zero.
    """
    if variances or adherence is None:
        joint = JointLikelihood(evidence, variances=variances, adherence=adherence, alpha=alpha)
        if joint.total <= 0:
            half = [np.full(n, 1.0) for n in joint.sizes]
            theta = np.ones(joint.n_experts)
            return Fit([np.zeros(n) for n in joint.sizes], half, theta, 0.0, 0.0, 0)
        return fit_joint(joint, max_iter, tol, on_step)
    scores, residual, steps, value = [], 0.0, 0, 0.0
    goal = 1e-3 * tol  # Newton's last step costs nothing and doubles the digits
    for one in evidence:
        n_items = one.balance.shape[0]
        if one.totals.size == 1 and adherence[0] == 1.0:
            found = fit_scores(one.balance[:, 0], float(one.totals[0]), alpha, max_iter, goal)
        elif n_items <= DENSE:
            found = fit_given_adherence(one, adherence, alpha, max_iter, goal)
        else:
            single = JointLikelihood([one], variances=False, adherence=adherence, alpha=alpha)
            fitted = fit_joint(single, max_iter, tol)
            found = fitted.scores[0], fitted.residual, fitted.n_iter
        scores.append(found[0])
        residual, steps = max(residual, found[1]), max(steps, found[2])
        likelihood = JointLikelihood([one], variances=False, adherence=adherence, alpha=alpha)
        value += likelihood.log_likelihood(found[0]) if likelihood.total > 0 else 0.0
        if on_step is not None and on_step():
            break
    half = [np.full(s.size, 0.5) for s in scores]
    return Fit(scores, half, adherence, value, residual, steps)


def _warn(evidence: list[Evidence], fit: Fit, max_iter: int, tol: float) -> None:
    one_sided = [
        n
        for n, one in enumerate(evidence)
        # At least one item must both win and lose, or scores grow for ever.
        if np.abs(one.balance.sum(axis=1)).sum() >= 2 * one.totals.sum() * (1 - 1e-12)
        and one.totals.sum() > 0
    ]
    if one_sided:
        warnings.warn(
            f"In {len(one_sided)} of {len(evidence)} instances (the first is {one_sided[0]}) no "
            "item both wins and loses: the likelihood grows with the scores for ever, and only "
            "the penalty alpha keeps them finite.",
            UserWarning,
            stacklevel=3,
        )
    silent = [n for n, one in enumerate(evidence) if one.totals.sum() == 0]
    if silent:
        warnings.warn(
            f"In {len(silent)} of {len(evidence)} instances (the first is {silent[0]}) nobody "
            "prefers an item to another; their scores are zero.",
            UserWarning,
            stacklevel=3,
        )
    if fit.residual > tol:
        warnings.warn(
            f"The fit stopped after {fit.n_iter} iterations (max_iter={max_iter}) with a gradient "
            f"of {fit.residual:.1e} a unit of strength; tol is {tol:.1e}.",
            ConvergenceWarning,
            stacklevel=3,
        )


class _PreferenceModel(CallbackSupportMixin, SoundEstimator):
    """What the two models share: answers from fitted scores, and new instances."""

    _parameter_constraints: dict[str, Any] = {
        "transform": [StrOptions(set(TRANSFORMS))],
        "variances": ["boolean"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    transform: str
    variances: bool
    alpha: float
    max_iter: int
    tol: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags

    def _keep(self, fit: Fit, several: bool) -> None:
        orders = [np.argsort(-s, kind="stable") for s in fit.scores]
        self.scores_ = fit.scores if several else fit.scores[0]
        self.ranking_ = orders if several else orders[0]
        self.variances_ = fit.variances if several else fit.variances[0]
        self.log_likelihood_ = fit.log_likelihood
        self.kkt_residual_ = fit.residual
        self.n_iter_ = fit.n_iter

    def _scores_of(self, X: Any, *, by_expert: bool) -> tuple[Fit, bool]:
        check_is_fitted(self, "adherence_")
        instances, several = read_instances(X, self.transform)
        if by_expert and instances[0].n_experts != self.adherence_.size:
            raise ValueError(
                f"The model knows {self.adherence_.size} experts; the new instance has "
                f"{instances[0].n_experts}."
            )
        evidence = [
            evidence_of(one, by_expert=by_expert, pairs=self.variances) for one in instances
        ]
        theta = self.adherence_ if by_expert else np.ones(1)
        fits = [
            fit_instances(
                [one],
                variances=self.variances,
                adherence=theta,
                alpha=self.alpha,
                max_iter=self.max_iter,
                tol=self.tol,
            )
            for one in evidence
        ]
        scores = [fit.scores[0] for fit in fits]
        worst = max(fit.residual for fit in fits)
        last = fits[-1]._replace(scores=scores, residual=worst)
        _warn(evidence, last, self.max_iter, self.tol)
        return last, several

    def pair_proba(self, i: int, j: int, *, instance: int = 0) -> float:
        """Return the chance that i wins when i and j are compared.

        Parameters
        ----------
        i, j : int
            Two items.
        instance : int, default=0
            Of which instance, when the model was fitted to a list.

        Returns
        -------
        chance : float
            1 / (1 + exp(-2 l)), where l is s_i - s_j, or with variances
            (s_i - s_j) / (γ_i + γ_j).
        """
        check_is_fitted(self, "scores_")
        several = isinstance(self.scores_, list)
        s = self.scores_[instance] if several else self.scores_
        gamma = self.variances_[instance] if several else self.variances_
        for item in (i, j):
            if not isinstance(item, Integral) or not 0 <= item < len(s):
                raise ValueError(f"Items are numbered from 0 to {len(s) - 1}; got {item!r}.")
        # Section 2.4; a half for both γ without variances
        logit = (s[i] - s[j]) / (gamma[i] + gamma[j])
        return float(1.0 / (1.0 + np.exp(-2.0 * logit)))  # e^x / (e^x + e^-x)


class MultinomialPreferenceModel(_PreferenceModel):
    """Scores of items from partial, inconsistent preferences, by maximum likelihood.

    Every unit of preference is one draw from a distribution over all ordered pairs, in which i over
    j has weight exp(s_i - s_j). Scores compete for the preferences: an item that few experts have
    seen stays in the middle, where Bradley-Terry would put it at the top after one win.

    Do not use it where pairs are compared by design, equally often, and odds of a single pair are
    what is asked for: `bradley_terry` is the model of that. scikit-learn has no rank aggregation.

    Parameters
    ----------
    transform : {"binary", "rank_difference", "normalized", "log"}, default="rank_difference"
        How ranks become strengths (`PairwisePreferences.from_ranks`); of no matter for
        preferences that are given as such. Use "normalized" or "log" for lists of very different
        lengths, or the longest list decides.
    variances : bool, default=False
        Whether each item has a variance γ, with logits (s_i - s_j) / (γ_i + γ_j) and mean one.
        Costs O(n_items²) a step; not concave, and begun at γ = 1.
    adherence : bool, default=False
        Whether each expert has an adherence θ between 0 (not modelled) and 1, shared by all
        instances; the largest is one.
    alpha : float, default=1e-10
        Ridge penalty (alpha/2) ‖s‖² on the mean log-likelihood of a unit of strength; it keeps
        scores finite where no item both wins and loses, and is small enough for moments to match
        to 1e-8.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-8
        Stop when no entry of the gradient of the mean log-likelihood is larger.

    Attributes
    ----------
    scores_ : ndarray of shape (n_items,) or list of such
        Larger is better, with sum zero; a list when a list of instances was fitted, as below.
    ranking_ : ndarray of shape (n_items,) or list of such
        The items, best first.
    variances_ : ndarray of shape (n_items,) or list of such
        γ; all 1/2 without ``variances``, which gives logits s_i - s_j.
    adherence_ : ndarray of shape (n_experts,)
        θ; all 1 without ``adherence``.
    log_likelihood_ : float
        Σ Y log P.
    kkt_residual_ : float
        Largest entry of the (projected) gradient of the penalised mean log-likelihood.
    n_iter_ : int
        Iterations used.

    References
    ----------
    .. [1] M. N. Volkovs and R. S. Zemel. New learning methods for supervised and unsupervised
       preference aggregation. Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from octavo.ranking import MultinomialPreferenceModel
    >>> model = MultinomialPreferenceModel().fit([[1.0], [2.0], [3.0]])
    >>> model.scores_.round(4) + 0.0
    array([ 1.1615,  0.    , -1.1615])
    >>> round(model.pair_proba(0, 1), 3)
    0.911
    """

    _parameter_constraints: dict[str, Any] = {
        **_PreferenceModel._parameter_constraints,
        "adherence": ["boolean"],
    }

    def __init__(
        self,
        transform: str = "rank_difference",
        variances: bool = False,
        adherence: bool = False,
        alpha: float = 1e-10,
        max_iter: int = 500,
        tol: float = 1e-8,
    ) -> None:
        self.transform = transform
        self.variances = variances
        self.adherence = adherence
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit scores to one instance, or to several that share their experts.

        Parameters
        ----------
        X : PairwisePreferences, array-like of shape (n_items, n_experts), or list of such
            Preferences, or ranks (1 is best, NaN is missing).
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted model.
        """
        instances, several = read_instances(X, self.transform)
        evidence = [
            evidence_of(one, by_expert=self.adherence, pairs=self.variances) for one in instances
        ]
        with FitProgress(self, self.max_iter) as progress:
            fit = fit_instances(
                evidence,
                variances=self.variances,
                adherence=None if self.adherence else np.ones(1),
                alpha=self.alpha,
                max_iter=self.max_iter,
                tol=self.tol,
                on_step=progress.step,
            )
        _warn(evidence, fit, self.max_iter, self.tol)
        warn_of_silent_experts(instances)
        self._keep(fit, several)
        self.adherence_ = fit.adherence if self.adherence else np.ones(instances[0].n_experts)
        return self

    def aggregate(self, new: Any) -> Floats | list[Floats]:
        """Return the scores of a new instance, with the experts' adherences as they were learned.

        Parameters
        ----------
        new : PairwisePreferences, array-like of shape (n_items, n_experts), or list of such
            Its preferences or ranks.

        Returns
        -------
        scores : ndarray of shape (n_items,) or list of such
            Larger is better.
        """
        fit, several = self._scores_of(new, by_expert=self.adherence)
        return fit.scores if several else fit.scores[0]


def supervised_adherence(instances: list[PairwisePreferences], grades: list[Floats]) -> Floats:
    """Return each expert's mean of one less his normalised Kendall distance from the labels.

    Parameters
    ----------
    instances : list of PairwisePreferences
        The instances.
    grades : list of ndarray
        Their relevance.

    Returns
    -------
    adherence : ndarray of shape (n_experts,)
        Between 0 and 1; experts without a pair to judge by have the mean of the others.
    """
    n_experts = instances[0].n_experts
    agreement, count = np.zeros(n_experts), np.zeros(n_experts)
    for one, labels in zip(instances, grades):
        wrong, judged = np.zeros(n_experts), np.zeros(n_experts)
        if one.pairs_only:
            gap = labels[one.pairs.preferred] - labels[one.pairs.other]
            judged += np.bincount(one.pairs.experts, gap != 0, minlength=n_experts)
            wrong += np.bincount(one.pairs.experts, gap < 0, minlength=n_experts)
        for e, items, values in one.columns():
            wrong[e], judged[e] = discordant_pairs(labels[items], values)
        some = judged > 0
        agreement[some] += 1.0 - wrong[some] / judged[some]  # Section 3.4: 1 - D(L, Y)
        count += some
    theta = np.full(n_experts, np.nan)
    # The mean over the instances that he has judged
    theta[count > 0] = agreement[count > 0] / count[count > 0]
    return np.where(count > 0, theta, np.nanmean(theta) if (count > 0).any() else 1.0)


class SupervisedPreferenceModel(_PreferenceModel):
    """The multinomial preference model with adherences set from labelled instances.

    An expert's adherence is the mean, over the labelled instances, of the share of his judged
    pairs that he orders as the labels do. Scores of a new instance are then fitted as in
    `MultinomialPreferenceModel`, by `aggregate` or `predict`.

    Do not use it with hundreds of labelled queries: `CRFRankAggregator` learns more from them, and
    can turn an expert round who is always wrong. scikit-learn has no rank aggregation.

    Parameters
    ----------
    transform : {"binary", "rank_difference", "normalized", "log"}, default="rank_difference"
        How ranks become strengths (`PairwisePreferences.from_ranks`).
    variances : bool, default=False
        Whether each item of a new instance has a variance.
    alpha : float, default=1e-10
        Ridge penalty (alpha/2) ‖s‖² on the mean log-likelihood of a unit of strength.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-8
        Stop when no entry of the gradient of the mean log-likelihood is larger.

    Attributes
    ----------
    adherence_ : ndarray of shape (n_experts,)
        θ, between 0 and 1.
    n_iter_ : int
        Labelled instances used.

    References
    ----------
    .. [1] M. N. Volkovs and R. S. Zemel. New learning methods for supervised and unsupervised
       preference aggregation. Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from octavo.ranking import SupervisedPreferenceModel
    >>> model = SupervisedPreferenceModel().fit([[[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]]], [[2, 1, 0]])
    >>> model.adherence_.round(4)
    array([1.    , 0.3333])
    >>> model.rank([[2.0, 1.0], [3.0, 2.0], [1.0, 3.0]])
    array([2, 0, 1])
    """

    def __init__(
        self,
        transform: str = "rank_difference",
        variances: bool = False,
        alpha: float = 1e-10,
        max_iter: int = 500,
        tol: float = 1e-8,
    ) -> None:
        self.transform = transform
        self.variances = variances
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, qid=None):
        """Set the adherences from labelled instances.

        Parameters
        ----------
        X : list of array-like of shape (n_items, n_experts) or of PairwisePreferences
            Ranks (1 is best, NaN is missing) of each query; with `qid`, one table of all.
        y : list of array-like of shape (n_items,)
            Relevance of each query's items; with `qid`, one vector.
        qid : array-like of shape (n_rows,), optional
            The query of each row.

        Returns
        -------
        self : object
            The fitted model.
        """
        instances, grades = read_labelled(X, y, qid, self.transform)
        with FitProgress(self, 1) as progress:
            self.adherence_ = supervised_adherence(instances, grades)
            progress.step()
        self.n_iter_ = len(instances)
        return self

    def aggregate(self, new: Any) -> Floats | list[Floats]:
        """Return the scores of a new instance, or of a list of them.

        Parameters
        ----------
        new : PairwisePreferences, array-like of shape (n_items, n_experts), or list of such
            Its preferences or ranks.

        Returns
        -------
        scores : ndarray of shape (n_items,) or list of such
            Larger is better.
        """
        fit, several = self._scores_of(new, by_expert=True)
        return fit.scores if several else fit.scores[0]

    def predict(self, X: Any) -> Floats | list[Floats]:
        """Return the scores of a new instance, or of a list of them; the same as `aggregate`.

        Parameters
        ----------
        X : PairwisePreferences, array-like of shape (n_items, n_experts), or list of such
            Its preferences or ranks.

        Returns
        -------
        scores : ndarray of shape (n_items,) or list of such
            Larger is better.
        """
        return self.aggregate(X)

    def rank(self, X: Any) -> Indices | list[Indices]:
        """Return the items of a new instance, best first.

        Parameters
        ----------
        X : PairwisePreferences, array-like of shape (n_items, n_experts), or list of such
            Its preferences or ranks.

        Returns
        -------
        order : ndarray of shape (n_items,) or list of such
            The items, best first.
        """
        scores = self.aggregate(X)
        if isinstance(scores, list):
            return [np.argsort(-s, kind="stable") for s in scores]
        return np.argsort(-scores, kind="stable")
