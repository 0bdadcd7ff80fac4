"""Junction trees for the selection of undirected graphs.

Pairs that cannot be edges are screened out; a junction tree of what is left splits the problem
into regions, and each decides its own edges with a penalty of its own. Edges over separators wait
until the edges around them are known.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import validate_data

from octavo.engine.discrete.graph_blocks import connected_blocks
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.junction_trees import junction_forest
from octavo.graphical.junction_selection.clusters import (
    as_adjacency,
    as_graph,
    marginal_adjacency,
    merge_clusters,
)
from octavo.graphical.junction_selection.independence import PairwiseTestUGMS
from octavo.graphical.junction_selection.masked_lasso import MaskedGraphicalLasso
from octavo.graphical.junction_selection.moments import (
    Bools,
    Moments,
    edge_price,
    likelihood_gain,
    local_partials,
    moments,
)
from octavo.graphical.junction_selection.regions import (
    RegionTask,
    live_regions,
    own_edges,
    row_tasks,
)
from octavo.graphical.junction_selection.screening import correlation_screen, pc_screen
from octavo.graphical.junction_selection.selectors import FEWEST, Selection, shrunk_mle

__all__ = ["JunctionTreeUGMS", "RegionDecision", "ugms_region"]

Decide = Callable[[NDArray[np.intp], Bools, Bools], Selection]


class RegionDecision(NamedTuple):
    """What was decided in one region.

    Attributes
    ----------
    iteration : int
        Round of Algorithm 3, from 0.
    row : int
        Row of the region graph, from 0: clusters, separators, what these share.
    region : tuple of int
        Columns of the region.
    closure : tuple of int
        Columns that the decision looked at.
    decided : tuple of (int, int)
        Pairs that were decided.
    edges : tuple of (int, int)
        Those of them that are edges.
    alpha : float
        Penalty, threshold or level that was used.
    selector : str
        Who decided.
    """

    iteration: int
    row: int
    region: tuple[int, ...]
    closure: tuple[int, ...]
    decided: tuple[tuple[int, int], ...]
    edges: tuple[tuple[int, int], ...]
    alpha: float
    selector: str


# --- Algorithm 3 ----------------------------------------------------------------------------------


def next_tasks(
    graph: Bools, undecided: Bools, heuristic: str, max_separator: int
) -> list[RegionTask]:
    """Return the regions of the first row that has edges to decide (steps 1, 2 and 5)."""
    live = np.flatnonzero(_in_live_parts(graph, undecided))
    tree = junction_forest(graph[np.ix_(live, live)], heuristic)
    tree = merge_clusters(tree, max_separator)
    here = undecided[np.ix_(live, live)]
    neighbors = [set(np.flatnonzero(row).tolist()) for row in here]
    # A region without an edge to decide has nothing below it either.
    regions = live_regions(tree, lambda region: any(neighbors[v] & region for v in region))
    for tasks in row_tasks(regions, here):
        if tasks:
            return [
                RegionTask(
                    task.row,
                    tuple(int(live[v]) for v in task.region),
                    live[task.closure],
                    live[task.edges],
                )
                for task in tasks
            ]
    raise AssertionError("an edge lies in a cluster")


def _in_live_parts(graph: Bools, undecided: Bools) -> Bools:
    """Tell which nodes lie in a piece of the graph where something is left to decide."""
    live = np.zeros(len(graph), dtype=bool)
    for block in connected_blocks(graph):
        if undecided[np.ix_(block, block)].any():
            live[block] = True
    return live


def task_masks(task: RegionTask, graph: Bools) -> tuple[Bools, Bools]:
    """Return what a selector may use and what it must decide, over the closure of a region."""
    allowed = marginal_adjacency(graph, task.closure)
    place = {int(v): position for position, v in enumerate(task.closure)}
    asked = np.zeros_like(allowed)
    for i, j in task.edges.tolist():
        asked[place[i], place[j]] = asked[place[j], place[i]] = True
    return allowed, asked


def decide_by_regions(
    screen: Bools,
    decide_all: Callable[[list[tuple[RegionTask, Bools, Bools]]], Iterable[Selection]],
    heuristic: str = "min_fill",
    max_separator: int = 2,
) -> Iterator[tuple[int, RegionTask, Selection]]:
    """Run Algorithm 3: yield round, region and what was found there, until all is decided.

    Parameters
    ----------
    screen : ndarray of shape (d, d) of bool
        H, which holds all true edges.
    decide_all : callable
        Decides all regions of a row; they do not depend on each other.
    heuristic : str
        Of the junction tree.
    max_separator : int
        Most nodes of a separator.

    Yields
    ------
    iteration, task, selection
    """
    undecided, found = screen.copy(), np.zeros_like(screen)
    iteration = 0
    while undecided.any():
        graph = undecided | found
        tasks = next_tasks(graph, undecided, heuristic, max_separator)
        jobs = [(task, *task_masks(task, graph)) for task in tasks]
        for task, selection in zip(tasks, decide_all(jobs), strict=True):  # step 3
            asked = {(int(i), int(j)) for i, j in task.edges}
            for i, j in selection.edges:  # step 4
                if (min(i, j), max(i, j)) not in asked:
                    raise ValueError(
                        f"base.select returned the edge {(i, j)}, which it was not asked about."
                    )
                found[i, j] = found[j, i] = True
            i, j = task.edges.T
            undecided[i, j] = undecided[j, i] = False
            yield iteration, task, selection
        iteration += 1


@checked
def ugms_region(X, regions, at, undecided, graph=None, base=None):
    """Decide the edges that belong to one region of a region graph.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample.
    regions : RegionGraph
        As `region_graph` returns it, over columns of X.
    at : tuple of (int, frozenset)
        The row of the region, from 0, and the region.
    undecided : networkx graph or array of shape (n_features, n_features)
        Edges that are still to be decided.
    graph : networkx graph or array of shape (n_features, n_features), default=None
        Those and the edges found so far; None is `undecided`.
    base : object with a method `select`, default=None
        Decides; None is `MaskedGraphicalLasso`.

    Returns
    -------
    Selection
        Of the pairs of the region that lie in none of its children.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Algorithm 2.

    Examples
    --------
    >>> from octavo.graphical import (
    ...     PairwiseTestUGMS, junction_tree, make_weak_edge_network, region_graph, ugms_region
    ... )
    >>> sample = make_weak_edge_network("CH1", 500, random_state=0, n_features=6, n_weak=2)
    >>> regions = region_graph(junction_tree(sample.adjacency))
    >>> at = (0, frozenset([3, 4]))
    >>> ugms_region(sample.X, regions, at, sample.adjacency, base=PairwiseTestUGMS()).edges
    ((3, 4),)
    """
    X = real_array(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must be a table, got shape {X.shape}.")
    left = columns_graph(undecided, X.shape[1], None, "undecided")
    whole = left if graph is None else columns_graph(graph, X.shape[1], None, "graph") | left
    row, region = at
    if (row, region) not in regions.closure:
        raise ValueError(f"regions has no region {set(region)} in row {row}.")
    edges = own_edges(region, regions.children[row, region], left)
    closure = np.array(sorted(regions.closure[row, region]), dtype=np.intp)
    if not len(edges):
        return Selection((), 0.0, 0.0)
    task = RegionTask(row, tuple(sorted(region)), closure, edges)
    selector = MaskedGraphicalLasso() if base is None else base
    return selector.select(X, closure, *task_masks(task, whole))


# --- before and after -----------------------------------------------------------------------------


def columns_graph(graph: Any, d: int, names: Any, what: str) -> Bools:
    """Return the matrix of a graph over the columns of a table; nodes are numbers or names."""
    adjacency, nodes = as_adjacency(graph)
    if set(nodes) == set(range(d)):
        order = {node: position for position, node in enumerate(nodes)}
        at = [order[v] for v in range(d)]
    elif names is not None and set(nodes) == set(names):
        order = {node: position for position, node in enumerate(nodes)}
        at = [order[name] for name in names]
    else:
        odd = next((node for node in nodes if node not in set(range(d))), None)
        seen = f"it has {len(nodes)} nodes" + (f", {odd!r} among them" if odd is not None else "")
        raise ValueError(
            f"{what} must be a graph over the {d} columns of X, 0 to {d - 1} or their names; "
            f"{seen}."
        )
    return adjacency[np.ix_(at, at)]


def pruned(m: Moments, adjacency: Bools, gamma: float) -> Bools:
    """Return the edges that stand a test given the neighbours of one end in the whole graph."""
    pairs = np.argwhere(np.triu(adjacency, 1))
    if not len(pairs):
        return adjacency.copy()
    partials, sizes = local_partials(m.R, adjacency, pairs, m.n - 4)
    weak = likelihood_gain(partials, m.n) <= edge_price(m.n, sizes + 2, gamma)
    kept = adjacency.copy()
    i, j = pairs[weak].T
    kept[i, j] = kept[j, i] = False
    return kept


def refit(m: Moments, adjacency: Bools) -> tuple[Floats, float]:
    """Return the fitted precision of correlations, piece by piece, and the largest residual."""
    precision, residual = np.eye(len(m.R)), 0.0
    for block in connected_blocks(adjacency):
        if len(block) > 1:
            at = np.ix_(block, block)
            fit = shrunk_mle(m.R[at], adjacency[at], 1e-8)
            precision[at], residual = fit.precision, max(residual, fit.residual)
    return precision, residual


class JunctionTreeUGMS(CallbackSupportMixin, SoundEstimator):
    """Find the edges of an undirected graph region by region, weak ones beside strong ones.

    Screening leaves a graph that should hold all edges. A junction tree of it splits the variables
    into small regions; each decides its own edges by a selector with its own penalty, first those
    inside clusters, then, with the others known, those over separators.

    Parameters
    ----------
    base : object with a method `select`, default=None
        Decides the edges of a region: ``select(X, nodes, allowed, penalised)`` returns a
        `Selection`. `nodes` are columns in ascending order, `allowed` and `penalised` boolean
        matrices over them: pairs that may be joined, and those among them to decide. None is
        `MaskedGraphicalLasso` with `gamma`.
    screen : {"pc", "correlation"}, networkx graph or array of shape (n_features, n_features), \
default="pc"
        The first graph: pairs that no set of at most `screen_order` others separates, by
        cross-validation; pairs with large correlations; or a graph that is known to hold all
        edges, over the columns' numbers or names.
    screen_order : int, default=1
        Most variables that screening conditions on.
    heuristic : {"min_fill", "min_degree"}, default="min_fill"
        How the junction tree is found.
    max_separator : int, default=None
        Clusters that share more variables are merged. None is `screen_order` + 1.
    small_region : int, default=8
        Regions that look at fewer variables are decided by `PairwiseTestUGMS`; 0 leaves all to
        `base`.
    selection : {"ebic", "bic"}, default="ebic"
        What the default base, small regions and pruning go by. A `base` that is given has its
        own.
    gamma : float, default=0.5
        Weight of the number of variables in "ebic"; "bic" has none.
    prune : bool, default=True
        Test every edge once more, given its neighbours in the graph that was found: a true edge
        that screening lost makes false ones around it.
    n_jobs : int, default=None
        Number of threads, each for some regions of a row.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    edge_strength_ : ndarray of shape (n_features, n_features)
        Partial correlations of the fit, 0 where there is no edge.
    screen_graph_ : networkx.Graph
        The graph that screening left.
    history_ : list of RegionDecision
        Every region in the order of decisions: its row, its columns, what was decided, and the
        penalty.
    precision_ : ndarray of shape (n_features, n_features)
        The precision matrix of largest likelihood on the graph.
    location_ : ndarray of shape (n_features,)
        Means of the columns.
    n_iter_ : int
        Rounds of Algorithm 3.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MaskedGraphicalLasso : One penalty for the whole graph.
    CLIMECV : A sparse precision matrix by linear programs.

    Notes
    -----
    Not where all edges are strong, or where the graph has no small separators: the junction tree is
    then one cluster, and the answer that of `base` within the screened graph.
    `sklearn.covariance.GraphicalLassoCV` predicts covariances better.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191.

    Examples
    --------
    >>> from octavo.graphical import JunctionTreeUGMS, graph_recovery, make_weak_edge_network
    >>> sample = make_weak_edge_network("CH1", 500, random_state=0, n_features=30, n_weak=10)
    >>> model = JunctionTreeUGMS(screen_order=0).fit(sample.X)
    >>> found = graph_recovery(model.adjacency_, sample.adjacency, sample.weak)
    >>> found.edit_distance, round(found.tpr, 2)
    (4, 0.86)
    """

    _parameter_constraints: dict = {
        "base": [None, HasMethods("select")],
        "screen": [StrOptions({"pc", "correlation"}), "array-like", HasMethods(["nodes", "edges"])],
        "screen_order": [Interval(Integral, 0, None, closed="left")],
        "heuristic": [StrOptions({"min_fill", "min_degree"})],
        "max_separator": [None, Interval(Integral, 0, None, closed="left")],
        "small_region": [Interval(Integral, 0, None, closed="left")],
        "selection": [StrOptions({"ebic", "bic"})],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "prune": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        base=None,
        *,
        screen="pc",
        screen_order=1,
        heuristic="min_fill",
        max_separator=None,
        small_region=8,
        selection="ebic",
        gamma=0.5,
        prune=True,
        n_jobs=None,
    ):
        self.base = base
        self.screen = screen
        self.screen_order = screen_order
        self.heuristic = heuristic
        self.max_separator = max_separator
        self.small_region = small_region
        self.selection = selection
        self.gamma = gamma
        self.prune = prune
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the graph of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The sample, at least four rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=FEWEST)
        m = moments(X)
        gamma = self.gamma if self.selection == "ebic" else 0.0
        base = MaskedGraphicalLasso(gamma=gamma) if self.base is None else self.base
        most = self.screen_order + 1 if self.max_separator is None else self.max_separator
        self.history_: list[RegionDecision] = []
        with FitProgress(self, None, X) as progress:
            screen = self._screen(X, base, gamma)
            found = np.zeros_like(screen)
            progress.step()
            steps = decide_by_regions(screen, self._decider(X, base, gamma), self.heuristic, most)
            for iteration, task, selection in steps:
                self._note(iteration, task, selection, base)
                for i, j in selection.edges:
                    found[i, j] = found[j, i] = True
                progress.step()
        self.n_iter_ = 1 + self.history_[-1].iteration if self.history_ else 0
        if self.prune:
            found = self._pruned(X, m, found, base, gamma)
        self.screen_graph_ = as_graph(screen)
        return self._keep(m, found)

    def _screen(self, X, base, gamma):
        d = X.shape[1]
        if not isinstance(self.screen, str):
            names = getattr(self, "feature_names_in_", None)
            return columns_graph(self.screen, d, names, "screen")
        if not getattr(base, "is_gaussian", True) and hasattr(base, "screen"):
            return base.screen(X, self.screen_order)
        if self.screen == "correlation":
            return correlation_screen(X)
        return pc_screen(X, self.screen_order, gamma)

    def _is_small(self, closure, base):
        return len(closure) < self.small_region and getattr(base, "is_gaussian", True)

    def _decider(self, X, base, gamma):
        small = PairwiseTestUGMS(gamma=gamma)

        def decide(task, allowed, asked):
            selector = small if self._is_small(task.closure, base) else base
            return selector.select(X, task.closure, allowed, asked)

        def decide_all(jobs):
            if len(jobs) < 2 or self.n_jobs in (None, 1):
                return [decide(*job) for job in jobs]
            return Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(decide)(*job) for job in jobs
            )

        return decide_all

    def _note(self, iteration, task, selection, base):
        who = "PairwiseTestUGMS" if self._is_small(task.closure, base) else type(base).__name__
        self.history_.append(
            RegionDecision(
                iteration,
                task.row,
                task.region,
                tuple(task.closure.tolist()),
                tuple((int(i), int(j)) for i, j in task.edges),
                tuple(selection.edges),
                float(selection.alpha),
                who,
            )
        )

    def _pruned(self, X, m, found, base, gamma):
        if getattr(base, "is_gaussian", True):
            return pruned(m, found, gamma)
        kept = np.zeros_like(found)
        for block in connected_blocks(found):
            if len(block) > 1:
                here = found[np.ix_(block, block)]
                for i, j in base.select(X, block, here, here).edges:
                    kept[i, j] = kept[j, i] = True
        return kept

    def _keep(self, m, found):
        precision, residual = refit(m, found)
        if residual > 1e-3:
            warnings.warn(
                f"The likelihood of this graph has no maximum with these {m.n} rows: too few, or "
                "columns that follow from others. precision_ is that of shrunken correlations.",
                UserWarning,
                stacklevel=4,
            )
        self.adjacency_, self.graph_ = found, as_graph(found)
        units = np.sqrt(np.diag(precision))
        self.edge_strength_ = np.where(found, -precision / units[:, None] / units, 0.0)
        self.precision_ = precision / m.scale[:, None] / m.scale
        self.location_ = m.location
        return self
