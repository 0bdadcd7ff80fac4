"""What a fitted aggregator thinks of its experts, and the same aggregator without some of them.

Reference: Volkovs and Zemel (2014), Section 3.7.4, Figure 11 and Table 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.ranking.aggregation.instances import is_several
from octavo.ranking.aggregation.preferences import PairwisePreferences

__all__ = ["ExpertOpinion", "expert_report", "refit_without_experts"]


class ExpertOpinion(NamedTuple):
    """What a model thinks of one expert.

    ``influence`` is the adherence of a preference model; of a trained aggregator, the mean of the
    weights of wins and losses (of u and minus v for singular vectors): negative when the model
    turns the expert round. ``missing`` is the weight of an item that he has not seen; it is
    negative for experts whose silence is a bad sign, and 0 for preference models.
    """

    expert: int
    influence: float
    missing: float


@checked
def expert_report(model: Any) -> list[ExpertOpinion]:
    """Return what a fitted model thinks of each expert, the most influential first.

    Parameters
    ----------
    model : estimator
        A fitted preference model, `CRFRankAggregator` or `SVDRankAggregator`.

    Returns
    -------
    rows : list of ExpertOpinion
        By the size of their influence.

    Examples
    --------
    >>> from octavo.ranking import SupervisedPreferenceModel, expert_report
    >>> model = SupervisedPreferenceModel().fit([[[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]]], [[2, 1, 0]])
    >>> expert_report(model)[0]
    ExpertOpinion(expert=0, influence=1.0, missing=0.0)
    """
    if hasattr(model, "expert_weights_"):
        W = np.asarray(model.expert_weights_)
        missing = W[:, 0]
        influence = 0.5 * (W[:, 1] + W[:, 2])  # w_pos and w_neg: Section 3.7.4
        if getattr(model, "n_components", None) is not None:
            influence = 0.5 * (W[:, 1::3].mean(axis=1) - W[:, 3::3].mean(axis=1))
    elif hasattr(model, "adherence_"):
        influence = np.asarray(model.adherence_)
        missing = np.zeros_like(influence)
    else:
        if not hasattr(model, "fit"):
            raise ValueError(f"A fitted rank aggregator is needed; got {model!r:.60}.")
        check_is_fitted(model, ["expert_weights_", "adherence_"], all_or_any=any)
    order = np.argsort(-np.abs(influence), kind="stable")
    return [ExpertOpinion(int(e), float(influence[e]), float(missing[e])) for e in order]


def _kept_columns(one: Any, experts: list[int]) -> Any:
    if isinstance(one, PairwisePreferences):
        return one.without(experts)
    return np.delete(np.asarray(one, dtype=np.float64), experts, axis=1)


@checked
def refit_without_experts(model: Any, X: Any, y: Any = None, *, experts: Sequence[int]) -> Any:
    """Return a clone of an aggregator, fitted to the same data without some experts.

    Parameters
    ----------
    model : estimator
        A rank aggregator; it is left as it is.
    X : list of instances, PairwisePreferences or array-like of shape (n_items, n_experts)
        What the model was fitted to.
    y : list of array-like, optional
        Relevance, where the model learns from it.
    experts : sequence of int
        Who is left out; the others are numbered anew, in their order.

    Returns
    -------
    refitted : estimator
        The clone.

    Examples
    --------
    >>> from octavo.ranking import MultinomialPreferenceModel, refit_without_experts
    >>> R = [[1.0, 3.0, 1.0], [2.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    >>> model = refit_without_experts(MultinomialPreferenceModel(), R, experts=[1])
    >>> model.ranking_, model.adherence_.size
    (array([0, 1, 2]), 2)
    """
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise ValueError(f"A rank aggregator is needed; got {model!r:.60}.")
    several = is_several(X)
    instances = list(X) if several else [X]
    first = instances[0]
    n_experts = first.n_experts if hasattr(first, "n_experts") else np.shape(first)[1]
    leaving = list(np.atleast_1d(np.asarray(experts, dtype=object)))
    for e in leaving:
        if not isinstance(e, Integral) or isinstance(e, bool) or not 0 <= int(e) < n_experts:
            raise ValueError(f"experts must be numbers from 0 to {n_experts - 1}; got {e!r}.")
    leaving = sorted({int(e) for e in leaving})
    if len(leaving) == n_experts:
        raise ValueError("No expert is left; at least one must stay.")
    kept = [_kept_columns(one, leaving) for one in instances]
    data = kept if several else kept[0]
    return clone(model).fit(data) if y is None else clone(model).fit(data, y)
