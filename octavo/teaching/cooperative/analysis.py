"""`TeachingAnalysis`: dimension, sets, teacher and learner of a class under one model."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.teaching.cooperative.balbach import balbach_sets
from octavo.teaching.cooperative.concepts import InconsistentSample, Sample, class_of
from octavo.teaching.cooperative.minimal import SOLVERS, SetSearch, plain_sets
from octavo.teaching.cooperative.recursive import recursive_sets
from octavo.teaching.cooperative.subsets import subset_sets

__all__ = ["TeachingAnalysis"]

_MODELS = {"td": plain_sets, "btd": balbach_sets, "std": subset_sets}


class TeachingAnalysis(CallbackSupportMixin, SoundEstimator):
    """Find the fewest labelled examples that identify each concept of a finite class.

    Parameters
    ----------
    kind : {"td", "btd", "std", "rtd"}, default="td"
        What the learner takes for granted: nothing but consistency (teaching sets), the number
        of examples that each concept needs (Balbach), that no example is wasted (subset
        teaching sets), or that easy concepts come first (recursive teaching sets).
    all_sets : bool, default=True
        Whether all smallest sets are found, or one a concept. ``kind="std"`` needs all.
    max_sets : int, default=10000
        The most sets of one concept. More are an error: a truncated list would give wrong
        subset teaching sets and a learner that misses samples.
    solver : {"bitset", "milp", "greedy"}, default="bitset"
        Branch and bound on bits; integer programs by HiGHS, for many instances; or, for
        ``kind="td"``, one set a concept chosen greedily, whose size is a bound from above.

    Attributes
    ----------
    dimension_ : int
        Examples that the hardest concept needs.
    dims_ : ndarray of shape (n_concepts,)
        Examples that each concept needs.
    sets_ : list of list of tuple of int
        The smallest sets of each concept, as instances in ascending order.
    iterations_ : int
        Iterations until nothing changed ("btd", "std"); levels of the hierarchy ("rtd"); else 0.
    history_ : list
        `sets_` of every iteration, the last included.
    hierarchy_ : list of (int, tuple of int)
        Levels of ``kind="rtd"``: dimension and concepts.
    plan_ : list of (int, list of (int, int))
        Canonical teaching plan of ``kind="rtd"``: concepts, each with a sample that tells it
        from all later ones.
    concepts_ : ConceptClass
        The class.

    See Also
    --------
    best_protocol : Subset or recursive teaching, whichever needs fewer examples.

    Notes
    -----
    Smallest teaching sets are NP-hard to find. Exact search is practical for classes of up to about
    10^5 cells whose concepts need few examples; where concepts are random labelings of many
    instances, the proof that no smaller set exists takes very long. All numbers begin at 0.

    References
    ----------
    Zilles, Lange, Holte and Zinkevich (2011), "Models of Cooperative Teaching and Learning",
    JMLR 12.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, TeachingAnalysis
    >>> monomials = ConceptClass.monomials(3)
    >>> [TeachingAnalysis(kind).fit(monomials).dimension_ for kind in ("td", "btd", "std", "rtd")]
    [8, 5, 2, 2]
    >>> model = TeachingAnalysis("rtd").fit(monomials)
    >>> model.teach("v1 and v2"), model.learn([(6, 1), (7, 1)])
    ([(6, 1), (7, 1)], 7)
    """

    _parameter_constraints = {
        "kind": [StrOptions({"td", "btd", "std", "rtd"})],
        "all_sets": ["boolean"],
        "max_sets": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
    }

    def __init__(self, kind="td", all_sets=True, max_sets=10000, solver="bitset"):
        self.kind = kind
        self.all_sets = all_sets
        self.max_sets = max_sets
        self.solver = solver

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, concepts: Any, y: Any = None) -> Self:
        """Find the sets.

        Parameters
        ----------
        concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
            The class, or its table of zeros and ones.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : TeachingAnalysis
            The fitted analysis.
        """
        concepts = class_of(concepts)
        with FitProgress(self, None) as progress:
            search = SetSearch(self.all_sets, self.max_sets, self.solver, progress.step)
            found: Any
            if self.kind == "rtd":
                found = recursive_sets(concepts, search)
                self.hierarchy_, self.plan_ = found.hierarchy, found.plan
                self.history_ = [found.sets]
                self.iterations_ = len(found.hierarchy)
            else:
                found = _MODELS[self.kind](concepts, search)
                self.history_ = found.history
                self.iterations_ = len(found.history) - 1
        self.concepts_ = concepts
        self.dims_, self.sets_ = found.dims, found.sets
        # TD(C), BTD(C), STD(C) or RTD(C): the largest of its concepts
        self.dimension_ = int(found.dims.max())
        return self

    def teach(self, concept: int | str) -> Sample:
        """Return the examples that a teacher shows for a concept: the first of its sets.

        Parameters
        ----------
        concept : int or str
            Number or name of the concept.

        Returns
        -------
        sample : list of (int, int)
            Instances with their labels.
        """
        check_is_fitted(self)
        i = self.concepts_.index_of(concept)
        return self.concepts_.sample_of(i, self.sets_[i][0])

    def learn(self, sample: Iterable[Any]) -> int | None:
        """Return the concept that a learner reads from a sample.

        Parameters
        ----------
        sample : iterable of (instance, label)
            Instances by number or name, with labels 0 and 1.

        Returns
        -------
        concept : int or None
            The one consistent concept; else, but for ``kind="td"``, the one consistent concept
            that has a set inside the sample. None where neither is unique.

        Raises
        ------
        InconsistentSample
            If no concept gives these labels.
        """
        check_is_fitted(self)
        given = self.concepts_.checked_sample(sample)
        fitting = self.concepts_.consistent(given)
        if not len(fitting):
            raise InconsistentSample(
                f"No concept of the class gives the labels of the sample {given}."
            )
        if len(fitting) > 1 and self.kind != "td":
            shown = {instance for instance, _ in given}
            fitting = np.array(  # a learner who knows that the teacher's whole set was shown
                [i for i in fitting if any(shown.issuperset(members) for members in self.sets_[i])]
            )
        return int(fitting[0]) if len(fitting) == 1 else None
