"""A map that is steered one action at a time: drag, pin, link, label, undo.

Constraints are immutable values on a stack (`octavo.kernel.steered.constraints`): an action pushes
the next one and solves for the map with what the kernel's decomposition keeps, undo steps back. A
session after any sequence of actions holds the very map that a fresh fit with its constraints
gives.

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis), Section
2.6.
"""

from __future__ import annotations

import copy
import time
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import validate_parameter_constraints
from octavo.kernel.steered.components import SteeredMap, Steering, SteeringSystem
from octavo.kernel.steered.constraints import MapConstraints, constraints_from_dict
from octavo.kernel.steered.knowledge_kernel_pca import (
    KnowledgeKernelPCA,
    basis_of,
    checked_samples,
    steering_of,
    store_map,
)

__all__ = ["InteractiveSession", "SessionAction"]


FIXED = ("n_components",)  # what the session's decomposition was made for
KEPT_ACTIONS = 200  # that can be undone, unless their maps are large: then fewer, see below
KEPT_BYTES = 1 << 25  # of maps to go back to


class SessionAction(NamedTuple):
    """One action of a session: its `name`, what it was done to (`detail`), and the `seconds` that
    it took to solve for the new map.
    """

    name: str
    detail: str
    seconds: float


class _State(NamedTuple):
    """What can be undone: constraints and parameters, with the map that they give."""

    constraints: MapConstraints
    steering: Steering
    solved: SteeredMap
    action: SessionAction
    drag: int | None = None


class InteractiveSession:
    """A steered map of one data set, changed action by action, with undo.

    Parameters
    ----------
    model : KnowledgeKernelPCA or None
        The parameters to start from; the model itself is left alone. None stands for
        ``KnowledgeKernelPCA(average=False, anchor=1.0)``: every constraint keeps its strength
        when others are added, and the map does not turn to its mirror image while the first
        point is dragged.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Samples; with ``kernel="precomputed"`` their kernel matrix.
    constraints : dict, default=None
        Where to start: what `constraints` of another session was.

    Attributes
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        The map now.
    baseline : ndarray of shape (n_samples, n_components)
        Plain kernel PCA, which never changes.
    constraints : dict
        All constraints as plain data that JSON can hold.
    params : dict
        The parameters that `set_params` can change, as they are now.
    history : list of SessionAction
        The last actions that led here, with the time that each took: those that can be undone.
    setup_seconds : float
        Time of the decomposition at the start.

    See Also
    --------
    KnowledgeKernelPCA : The map of a fixed set of constraints.

    Notes
    -----
    An action costs an eigendecomposition a component, of the size of the kernel's rank; to move
    a placed point costs one less. Ask for ``low_rank=300`` above a thousand samples. Sessions
    share nothing: two on the same data do not see each other's constraints.

    The last 200 actions can be undone (fewer above 10,000 samples, whose maps take more than 32 MB
    together, but at least 20), so that a session of any length keeps its size.

    An action that fails (a point that does not exist, hard placements that contradict each
    other) raises and leaves the session as it was.

    References
    ----------
    .. [1] Oglic (2018). Constructive approximation and learning by greedy algorithms, Section 2.6.
       Thesis, Bonn.

    Examples
    --------
    >>> from octavo.kernel import InteractiveSession, make_hidden_clusters
    >>> X, _ = make_hidden_clusters(30, random_state=0)
    >>> session = InteractiveSession(None, X)
    >>> session.place(0, (0.5, 0.0)).link(0, 40, -1).undo().history[-1].name
    'place'
    >>> len(session.constraints["placements"]), len(session.constraints["links"])
    (1, 0)
    """

    def __init__(self, model: KnowledgeKernelPCA | None, X: Any, constraints: Any = None) -> None:
        if model is None:
            model = KnowledgeKernelPCA(average=False, anchor=1.0)
        start = time.perf_counter()
        self._model = clone(model)
        if self._model.random_state is None:
            self._model.random_state = 0  # the code that reproduces the map names it
        self._model._validate_params()
        X = checked_samples(self._model, X)
        self._basis = basis_of(self._model, X)
        self._system = SteeringSystem(self._basis)
        self.baseline = self._basis.plain(self._model.n_components)
        self.baseline.flags.writeable = False
        self._past: list[_State] = []
        self._future: list[_State] = []
        self.setup_seconds = time.perf_counter() - start
        begin = MapConstraints(self._model.n_components)
        self._do("start", "", begin, steering_of(self._model))
        if constraints is not None:
            self.load(constraints)

    # --- what there is ---------------------------------------------------------------------------

    @property
    def _now(self) -> _State:
        return self._past[-1]

    @property
    def embedding(self) -> Floats:
        """The map now; do not write to it."""
        return self._now.solved.embedding

    @property
    def constraints(self) -> dict[str, Any]:
        """All constraints as plain data that JSON can hold."""
        return self._now.constraints.to_dict()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that `set_params` can change, as they are now."""
        return {k: v for k, v in self._now.steering._asdict().items() if k not in FIXED}

    @property
    def history(self) -> list[SessionAction]:
        """The last actions that led here, with the time that each took."""
        return [state.action for state in self._past[1:]]

    @property
    def can_undo(self) -> bool:
        """Whether there is an action to undo."""
        return len(self._past) > 1

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone action to do again."""
        return bool(self._future)

    # --- actions ---------------------------------------------------------------------------------

    def place(
        self, i: int, at: Any, *, hard: bool = False, weight: float = 1.0, drag: bool = False
    ) -> Self:
        """Pin a point.

        Parameters
        ----------
        i : int
            Row of the point.
        at : sequence of float
            One coordinate a component; None for one that stays free.
        hard : bool, default=False
            Whether the point must lie there exactly.
        weight : float, default=1.0
            Strength of a soft placement, times `lambda_place`.
        drag : bool, default=False
            Whether this is a step of a drag: a row of such steps of one point, begun by
            `place` or `move`, is one action, undone at once.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        after = self._now.constraints.placed(i, at, hard=hard, weight=weight)
        return self._do("place", f"{i}", after, drag=int(i) if drag else None)

    def move(self, i: int, at: Any, *, drag: bool = False) -> Self:
        """Move a pinned point; it stays as hard and as strong as it was.

        Parameters
        ----------
        i : int
            Row of the point.
        at : sequence of float
            Its new coordinates.
        drag : bool, default=False
            Whether this is a step of a drag: a row of such steps of one point, begun by
            `place` or `move`, is one action, undone at once.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        placed = self._now.constraints.placements.get(i)
        if placed is None:
            raise ValueError(f"Point {i} is not placed, so it cannot be moved; place it first.")
        after = self._now.constraints.placed(i, at, hard=placed.hard, weight=placed.weight)
        return self._do("move", f"{i}", after, drag=int(i) if drag else None)

    def release(self, i: int) -> Self:
        """Take a pin away.

        Parameters
        ----------
        i : int
            Row of the point.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        return self._do("release", f"{i}", self._now.constraints.released(i))

    def link(self, i: int, j: int, sign: int = 1, *, component: int | None = None) -> Self:
        """Say that two points belong together, or apart.

        Parameters
        ----------
        i, j : int
            Rows of the points.
        sign : {1, -1}, default=1
            +1 together, -1 apart.
        component : int, default=None
            The one component that is meant; all by default.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        return self._do("link", f"{i}, {j}", self._now.constraints.linked(i, j, sign, component))

    def unlink(self, i: int, j: int, *, component: int | None = None) -> Self:
        """Take a link away.

        Parameters
        ----------
        i, j : int
            Rows of the points.
        component : int, default=None
            The component that was named when they were linked.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        return self._do("unlink", f"{i}, {j}", self._now.constraints.unlinked(i, j, component))

    def label(self, i: int, label: Any) -> Self:
        """Give a point a class, or take it away.

        Parameters
        ----------
        i : int
            Row of the point.
        label : {1, -1}, sequence of {1, 0, -1} or None
            Its class along the first component, or along each; None takes it away.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        return self._do("label", f"{i}", self._now.constraints.labelled(i, label))

    def clear(self) -> Self:
        """Take all constraints away.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        return self._do("clear", "", MapConstraints(self._model.n_components))

    def load(self, constraints: Any) -> Self:
        """Replace all constraints.

        Parameters
        ----------
        constraints : dict
            What `constraints` of another session was.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        after = constraints_from_dict(constraints)
        if after.n_components != self._model.n_components:
            raise ValueError(
                f"These constraints are of a map of {after.n_components} components; this one "
                f"has {self._model.n_components}."
            )
        return self._do("load", f"{len(after)} constraints", after)

    def set_params(self, **params: Any) -> Self:
        """Change strengths and other parameters that leave the kernel alone.

        Parameters
        ----------
        **params : dict
            Of `lambda_place`, `lambda_link`, `lambda_label`, `lambda_orth`, `anchor`, `average`,
            `radius`, `orthogonality`, `variant`, `n_neighbors` and `solver`.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        allowed = self.params
        unknown = [name for name in params if name not in allowed]
        if unknown:
            raise ValueError(
                f"A session cannot change {unknown[0]!r}; it can change {sorted(allowed)}. Start "
                "another session for other parameters."
            )
        validate_parameter_constraints(
            KnowledgeKernelPCA._parameter_constraints, params, caller_name="InteractiveSession"
        )
        after = self._now.steering._replace(**params)
        detail = ", ".join(f"{name}={value!r}" for name, value in params.items())
        return self._do("set_params", detail, self._now.constraints, after)

    def undo(self) -> Self:
        """Take the last action back.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        if not self.can_undo:
            raise ValueError("There is nothing to undo.")
        self._future.append(self._past.pop())
        return self

    def redo(self) -> Self:
        """Do the action that was undone last again.

        Returns
        -------
        self : InteractiveSession
            For the next action.
        """
        if not self.can_redo:
            raise ValueError("There is nothing to do again.")
        self._past.append(self._future.pop())
        return self

    def _do(
        self,
        name: str,
        detail: str,
        constraints: MapConstraints,
        steering: Steering | None = None,
        drag: int | None = None,
    ) -> Self:
        """Solve for the next state and push it; nothing changes if that fails."""
        constraints.check_points(self._basis.n)
        steering = self._now.steering if steering is None else steering
        start = time.perf_counter()
        solved = self._system.solve(constraints, steering)
        seconds = time.perf_counter() - start
        solved.embedding.flags.writeable = False
        if drag is not None and self._now.drag == drag:
            # A later step of the same drag takes the place of the earlier.
            name = self._past.pop().action.name
        action = SessionAction(name, detail, seconds)
        self._past.append(_State(constraints, steering, solved, action, drag))
        self._future.clear()
        size = sum(part.nbytes for part in solved)
        kept = min(KEPT_ACTIONS, max(20, KEPT_BYTES // max(size, 1)))
        del self._past[: -1 - kept]  # the oldest left is where undoing ends
        return self

    def fork(self) -> InteractiveSession:
        """Return another session with the constraints and the history of this one.

        The two go separate ways from here. What never changes (the kernel's decomposition, the
        graph of neighbours) is shared, so that it costs no time.

        Returns
        -------
        InteractiveSession
            On the same samples.
        """
        other = copy.copy(self)
        other._past, other._future = list(self._past), []
        other._system = self._system.fork()
        return other

    # --- what leaves the session -----------------------------------------------------------------

    def to_model(self) -> KnowledgeKernelPCA:
        """Return the map as a fitted model, which can place new samples.

        Returns
        -------
        KnowledgeKernelPCA
            Fitted, with the session's parameters and constraints.
        """
        model = clone(self._model).set_params(**self.params)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self._model, name):
                setattr(model, name, getattr(self._model, name))
        store_map(model, self._basis, self._now.constraints, self._now.solved)
        return model

    def code(self) -> str:
        """Return the Python code that reproduces the map from X.

        Returns
        -------
        str
            Lines that define ``model`` and ``embedding``.
        """
        model = clone(self._model).set_params(**self.params)
        defaults = KnowledgeKernelPCA().get_params(deep=False)
        params = [
            f"    {name}={_source(value)},"
            for name, value in model.get_params(deep=False).items()
            if not _same(value, defaults[name])
        ]
        lines = ["from octavo.kernel import KnowledgeKernelPCA", ""]
        lines += (
            ["model = KnowledgeKernelPCA(", *params, ")"]
            if params
            else ["model = KnowledgeKernelPCA()"]
        )
        found = _arguments(self._now.constraints)
        lines += ["embedding = model.fit_transform(", "    X,", *found, ")"]
        return "\n".join(lines) + "\n"


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and np.array_equal(value, default)


def _source(value: Any) -> str:
    """Return an expression for a parameter."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return repr(value)


def _arguments(constraints: MapConstraints) -> list[str]:
    """Return the constraints as arguments of ``fit_transform``."""
    data = constraints.to_dict()
    lines = []
    placed = data["placements"]
    if all(not p["hard"] and p["weight"] == 1.0 for p in placed):
        if placed:
            lines += ["    placements={"]
            lines += [f"        {p['point']}: {tuple(p['at'])!r}," for p in placed]
            lines += ["    },"]
    else:
        columns = [[p[name] for p in placed] for name in ("point", "at", "hard", "weight")]
        lines += ["    placements=(", *(f"        {column!r}," for column in columns), "    ),"]
    if data["links"]:
        links = [
            (*k["points"], k["sign"], *([] if k["component"] is None else [k["component"]]))
            for k in data["links"]
        ]
        lines += ["    links=[", *(f"        {link!r}," for link in links), "    ],"]
    if data["labels"]:
        labels = [f"        {e['point']}: {tuple(map(int, e['label']))!r}," for e in data["labels"]]
        lines += ["    labels={", *labels, "    },"]
    return lines
