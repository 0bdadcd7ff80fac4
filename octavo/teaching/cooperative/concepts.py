"""A finite class of concepts, and samples of labelled instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Indices
from octavo.teaching.cooperative import tables
from octavo.teaching.cooperative.tables import Bools, Named

__all__ = ["ConceptClass", "InconsistentSample"]

Sample = list[tuple[int, int]]


class InconsistentSample(ValueError):
    """No concept of the class fits the sample.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, InconsistentSample, TeachingAnalysis
    >>> model = TeachingAnalysis().fit(ConceptClass.thresholds(3))
    >>> try:
    ...     model.learn([(0, 1), (1, 0)])
    ... except InconsistentSample as problem:
    ...     print(problem)
    No concept of the class gives the labels of the sample [(0, 1), (1, 0)].
    """


def table_of(concepts: Any) -> Bools:
    """Return the boolean table of a class object or of an array of zeros and ones.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        Anything with a `matrix`, or the table itself.

    Returns
    -------
    table : ndarray of shape (n_concepts, n_instances), dtype bool
    """
    given = getattr(concepts, "matrix", concepts)
    if isinstance(given, np.ndarray) and given.dtype.kind == "b" and given.ndim == 2:
        table = given
    else:
        values = check_array(given, dtype=None, ensure_min_samples=0, ensure_min_features=0)
        if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
            odd = values[~np.isin(values, (0, 1))].ravel()[:1]
            raise ValueError(
                "A concept class is a table of zeros and ones (or False and True); it holds "
                f"{odd[0] if odd.size else values.dtype!s}."
            )
        table = values.astype(bool)
    if 0 in table.shape:
        raise ValueError(
            "A concept class needs at least one concept and one instance; the table has 0 in its "
            f"shape {table.shape}."
        )
    return table


def _names(given: Iterable[Any] | None, count: int, prefix: str, what: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{prefix}{i + 1}" for i in range(count))
    names = () if isinstance(given, str) else tuple(str(name) for name in given)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"{what} must hold {count} distinct names; got {list(names)[:10]}.")
    return names


def _whole(value: Any, least: int, name: str) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    return int(value)


class ConceptClass:
    """A finite class of concepts over finitely many instances.

    Parameters
    ----------
    matrix : array-like of shape (n_concepts, n_instances)
        Zeros and ones: whether an instance belongs to a concept. Rows must differ.
    instance_names : sequence of str, default=None
        Names of the columns; "x1", "x2", ... by default.
    concept_names : sequence of str, default=None
        Names of the rows; "c1", "c2", ... by default.

    See Also
    --------
    TeachingAnalysis : The fewest examples that identify each concept.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass
    >>> monomials = ConceptClass.monomials(2)
    >>> monomials.n_concepts, monomials.n_instances
    (10, 4)
    >>> monomials.concept_names[5], monomials.consistent([(0, 1), (3, 1)])
    ('v1 and v2', array([0]))
    """

    def __init__(
        self,
        matrix: ArrayLike,
        instance_names: Sequence[str] | None = None,
        concept_names: Sequence[str] | None = None,
    ) -> None:
        self.matrix = table_of(matrix)
        z, n = self.matrix.shape
        self.instance_names = _names(instance_names, n, "x", "instance_names")
        self.concept_names = _names(concept_names, z, "c", "concept_names")
        first: dict[bytes, int] = {}
        for i, row in enumerate(self.matrix):
            other = first.setdefault(row.tobytes(), i)
            if other != i:
                raise ValueError(
                    f"Concepts {other} ({self.concept_names[other]}) and {i} "
                    f"({self.concept_names[i]}) are equal on all instances: no sample tells them "
                    "apart. Keep one of them."
                )

    @property
    def n_concepts(self) -> int:
        """Number of concepts."""
        return self.matrix.shape[0]

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return self.matrix.shape[1]

    def __len__(self) -> int:
        return self.n_concepts

    def __repr__(self) -> str:
        return f"ConceptClass({self.n_concepts} concepts, {self.n_instances} instances)"

    def index_of(self, concept: int | str) -> int:
        """Return the number of a concept that is given by its number or its name.

        Parameters
        ----------
        concept : int or str
            Number or name.

        Returns
        -------
        index : int
            Its row in `matrix`.
        """
        if isinstance(concept, str) and concept in self.concept_names:
            return self.concept_names.index(concept)
        if isinstance(concept, Integral) and 0 <= concept < self.n_concepts:
            return int(concept)
        raise ValueError(
            f"A concept is a number below {self.n_concepts} or one of concept_names; got "
            f"{concept!r}."
        )

    def sample_of(self, concept: int, instances: Iterable[int]) -> Sample:
        """Return instances with the labels that a concept gives them.

        Parameters
        ----------
        concept : int
            Number of the concept.
        instances : iterable of int
            Numbers of instances.

        Returns
        -------
        sample : list of (int, int)
            Instance and label, 0 or 1.
        """
        return [(int(j), int(self.matrix[concept, j])) for j in instances]

    def checked_sample(self, sample: Iterable[Any]) -> Sample:
        """Return a sample as numbers of instances with labels 0 and 1.

        Parameters
        ----------
        sample : iterable of (instance, label)
            Instances by number or name; labels 0 and 1.

        Returns
        -------
        sample : list of (int, int)
            The same by numbers.
        """
        if not np.iterable(sample) or isinstance(sample, str):
            raise ValueError(f"A sample is a list of pairs (instance, label); got {sample!r}.")
        found = []
        for pair in sample:
            if not np.iterable(pair) or isinstance(pair, str) or len(tuple(pair)) != 2:
                raise ValueError(f"A sample is a list of pairs (instance, label); got {pair!r}.")
            instance, label = pair
            if isinstance(instance, str) and instance in self.instance_names:
                instance = self.instance_names.index(instance)
            if not isinstance(instance, Integral) or not 0 <= int(instance) < self.n_instances:
                raise ValueError(
                    f"An instance is a number below {self.n_instances} or one of instance_names; "
                    f"got {instance!r}."
                )
            if not isinstance(label, (Integral, np.bool_)) or label not in (0, 1):
                raise ValueError(f"A label is 0 or 1; got {label!r}.")
            found.append((int(instance), int(label)))
        return found

    def consistent(self, sample: Iterable[Any]) -> Indices:
        """Return the concepts that give every instance of a sample its label, Cons(S, C).

        Parameters
        ----------
        sample : iterable of (instance, label)
            Instances by number or name; labels 0 and 1.

        Returns
        -------
        concepts : ndarray of int
            Ascending.
        """
        fits = np.ones(self.n_concepts, bool)
        for instance, label in self.checked_sample(sample):
            fits &= self.matrix[:, instance] == bool(label)
        return np.flatnonzero(fits)

    def subclass(self, concepts: Iterable[int]) -> Self:
        """Return the class of some of the concepts.

        Parameters
        ----------
        concepts : iterable of int
            Their numbers.

        Returns
        -------
        smaller : ConceptClass
            Over the same instances.
        """
        rows = [self.index_of(i) for i in concepts]
        names = [self.concept_names[i] for i in rows]
        return type(self)(self.matrix[rows], self.instance_names, names)

    def without(self, instances: Iterable[int]) -> Self:
        """Return the class over fewer instances.

        Parameters
        ----------
        instances : iterable of int
            Numbers of the instances that go.

        Returns
        -------
        smaller : ConceptClass
            With the same concepts; an error where two of them become equal.
        """
        gone = set(instances)
        kept = [j for j in range(self.n_instances) if j not in gone]
        names = [self.instance_names[j] for j in kept]
        return type(self)(self.matrix[:, kept], names, self.concept_names)

    @classmethod
    def _of(cls, named: Named) -> Self:
        return cls(*named)

    @classmethod
    def monomials(cls, m: int) -> Self:
        """Return all conjunctions of literals over m variables, 3^m and the contradictory one.

        Parameters
        ----------
        m : int
            Number of variables; the instances are their 2^m assignments.

        Returns
        -------
        concepts : ConceptClass
            By number of literals; the contradictory monomial is the last.
        """
        return cls._of(tables.monomial_table(_whole(m, 1, "m")))

    @classmethod
    def thresholds(cls, n: int) -> Self:
        """Return {x_i, ..., x_n} for every i, and the empty concept last.

        Parameters
        ----------
        n : int
            Number of instances.

        Returns
        -------
        concepts : ConceptClass
            n + 1 concepts.
        """
        return cls._of(tables.threshold_table(_whole(n, 1, "n")))

    @classmethod
    def singletons(cls, n: int, empty: bool = True) -> Self:
        """Return the singletons of n instances, after the empty concept.

        Parameters
        ----------
        n : int
            Number of instances.
        empty : bool, default=True
            Whether the empty concept is one of them.

        Returns
        -------
        concepts : ConceptClass
            The paper's C0.
        """
        return cls._of(tables.singleton_table(_whole(n, 1, "n"), bool(empty)))

    @classmethod
    def vdnf(cls, m: int) -> Self:
        """Return v1 or M for every M with all other variables, and v1 last.

        Parameters
        ----------
        m : int
            Number of variables.

        Returns
        -------
        concepts : ConceptClass
            2^(m - 1) + 1 concepts.
        """
        return cls._of(tables.vdnf_table(_whole(m, 2, "m")))

    @classmethod
    def pair(cls, u: int) -> Self:
        """Return the class whose RTD and BTD are u and whose STD is 1 (Theorems 18.1, 35.1).

        Parameters
        ----------
        u : int
            Number of instances that all concepts share.

        Returns
        -------
        concepts : ConceptClass
            2^(u + 1) concepts over 2^u + u instances.
        """
        return cls._of(tables.pair_table(_whole(u, 1, "u")))

    @classmethod
    def half(cls, u: int, empty: bool = False) -> Self:
        """Return the concepts of one or two out of u + 1 instances (Theorems 18.2, 21, 36).

        Parameters
        ----------
        u : int
            One less than the number of instances.
        empty : bool, default=False
            Whether the empty concept stands before them.

        Returns
        -------
        concepts : ConceptClass
            Singletons, then pairs.
        """
        return cls._of(tables.half_table(_whole(u, 1, "u"), bool(empty)))

    @classmethod
    def intervals(cls, n: int, empty: bool = True) -> Self:
        """Return all runs of neighbours among n instances on a line.

        Parameters
        ----------
        n : int
            Number of instances.
        empty : bool, default=True
            Whether the empty concept is one of them.

        Returns
        -------
        concepts : ConceptClass
            n (n + 1) / 2 runs.
        """
        return cls._of(tables.interval_table(_whole(n, 1, "n"), bool(empty)))

    @classmethod
    def rectangles(cls, height: int, width: int, empty: bool = True) -> Self:
        """Return all rectangles, parallel to the axes, of cells of a grid.

        Parameters
        ----------
        height, width : int
            Cells of the grid.
        empty : bool, default=True
            Whether the empty concept is one of them.

        Returns
        -------
        concepts : ConceptClass
            The instances are the cells, row by row.
        """
        sides = _whole(height, 1, "height"), _whole(width, 1, "width")
        return cls._of(tables.rectangle_table(*sides, bool(empty)))

    @classmethod
    def stumps(cls, X: ArrayLike) -> Self:
        """Return the distinct labelings of a data set by one feature against one threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The instances.

        Returns
        -------
        concepts : ConceptClass
            Both sides of every threshold between two values; of stumps that label all rows
            alike, the first.
        """
        return cls._of(tables.stump_table(check_array(X, dtype=np.float64)))

    @classmethod
    def from_estimators(cls, models: Sequence[Any], X: ArrayLike) -> Self:
        """Return what fitted classifiers of two classes predict on a pool of instances.

        Parameters
        ----------
        models : sequence of estimators
            Fitted, with the same two `classes_`; the second is the positive one.
        X : array-like of shape (n_samples, n_features)
            The instances.

        Returns
        -------
        concepts : ConceptClass
            A concept a model; models that agree on all of X are an error.
        """
        rows = []
        for number, model in enumerate(models):
            classes = np.asarray(getattr(model, "classes_", ()))
            if classes.shape != (2,) or (classes != models[0].classes_).any():
                raise ValueError(
                    f"Model {number} must be a fitted classifier of the same two classes as the "
                    f"first; its classes_ are {classes.tolist()}."
                )
            rows.append(np.asarray(model.predict(X)) == classes[1])
        if not rows:
            raise ValueError("models must hold at least one fitted classifier; it is empty.")
        names = [f"{type(model).__name__} {number}" for number, model in enumerate(models)]
        return cls(np.array(rows), concept_names=names)


def class_of(concepts: Any) -> ConceptClass:
    """Return a `ConceptClass` as it is, and make one of a table."""
    return concepts if isinstance(concepts, ConceptClass) else ConceptClass(concepts)
