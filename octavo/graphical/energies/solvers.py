"""One function for all minimisers of a pairwise energy, each with a proof of how good it is.

M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.max_flow import BACKENDS
from octavo.graphical.energies import moves
from octavo.graphical.energies.bounds import (
    expansion_bound,
    expansion_interval,
    metric_bound,
    swap_interval,
)
from octavo.graphical.energies.messages import neighbours, pass_messages, solve_forest
from octavo.graphical.energies.problem import PairwiseMRF
from octavo.graphical.energies.relaxation import solve_relaxation

__all__ = ["MRFResult", "minimize_mrf"]

METHODS = (
    "range_expansion",
    "range_swap",
    "alpha_expansion",
    "alpha_beta_swap",
    "trws",
    "bp",
    "icm",
    "lp",
    "tree",
    "exact",
)
LARGEST_GRAPH = 60_000_000  # arcs of one cut: about 3 GB
ROUNDS_OF_MESSAGES = 50  # of trws and bp, for each of max_sweeps


@dataclass(frozen=True)
class MRFResult:
    """Labels of small energy, and how small any energy can be.

    Parameters
    ----------
    labels : ndarray of int
        A label for each variable, in the shape of the variables.
    energy : float
        Their energy.
    lower_bound : float
        No labelling has an energy below.
    history : ndarray
        Energies: at the start, and after each move that was taken (or each round of messages, the
        best so far). They never rise.
    n_moves : int
        Moves that were taken, or rounds of messages.
    bound : float
        The energy is at most this many times the smallest: by the theory of the method or by
        `lower_bound`, whichever says more; 1 is optimal, infinity nothing. Where unary costs are
        negative it is about energies less the sum of the negative row minima.
    seconds : ndarray
        Time since the start at each entry of `history`.
    converged : bool
        Whether the run ended by itself.
    method : str
        The method that ran: "exact" where that was better and possible.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import grid_mrf, minimize_mrf
    >>> unary = np.random.default_rng(0).uniform(0, 10, (6, 6, 5))
    >>> result = minimize_mrf(grid_mrf(unary, 2.0, truncation=2))
    >>> round(result.energy, 3), round(result.energy - result.lower_bound, 3) <= 0.5
    (153.72, True)
    """

    labels: Ints
    energy: float
    lower_bound: float
    history: Floats
    n_moves: int
    bound: float
    seconds: Floats
    converged: bool
    method: str


@checked
def minimize_mrf(
    mrf: PairwiseMRF,
    method: str = "range_expansion",
    interval: int | str = "auto",
    init: Any = "unary",
    max_sweeps: int = 20,
    random_order: bool = False,
    *,
    one_label: bool = False,
    bound_max_iter: int = 100,
    backend: str = "auto",
    random_state: Any = None,
    callback: Callable[[], bool] | None = None,
) -> MRFResult:
    """Return a labelling of small energy, with a lower bound of all energies.

    Parameters
    ----------
    mrf : PairwiseMRF
        The energy.
    method : str, default="range_expansion"
        "range_expansion" and "range_swap" change intervals of labels by one minimum cut (the
        paper's); "alpha_expansion", "alpha_beta_swap" and "icm" one or two labels or one variable;
        "trws" and "bp" pass messages; "lp" solves the linear relaxation of a small graph by HiGHS;
        "tree" is exact without cycles and "exact" without truncation.
    interval : int or "auto", default="auto"
        Labels of an interval of range moves. "auto" for range expansion: √2 M for a linear d, √M
        for a quadratic one, rounded (Theorems 2 and 3), the best of Eq. (12) for any other; for
        range swap the longest in which no difference is truncated.
    init : "unary" or array-like of int, default="unary"
        Labels to start from; the best of each variable alone by default.
    max_sweeps : int, default=20
        Most sweeps over all moves; trws and bp pass fifty rounds of messages for each.
    random_order : bool, default=False
        Whether moves are offered in a new random order in each sweep.
    one_label : bool, default=False
        Whether range moves begin where alpha-expansion ends, and its moves are offered beside them,
        which is not in the paper. Neither kind contains the other: the run ends where none of both
        lowers the energy, never above alpha-expansion, with the better of their guarantees.
    bound_max_iter : int, default=100
        Most rounds of tree-reweighted messages for `lower_bound` where the method gives none; with
        0 it is the sum of the least unary costs.
    backend : {"auto", "pymaxflow", "numba", "scipy"}, default="auto"
        What solves the cuts: PyMaxflow (the extra ``cuts``) where it is installed, else a compiled
        kernel; both give the same energies. "auto" takes the kernel for range expansion, whose cuts
        then begin with the flows of earlier ones.
    random_state : int, RandomState or None, default=None
        Seed of the random order.
    callback : callable or None, default=None
        Called without arguments after each sweep or round; a true answer stops the run.

    Returns
    -------
    result : MRFResult
        Labels, energy, lower bound, guarantee and history.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import grid_mrf, minimize_mrf
    >>> rng = np.random.default_rng(0)
    >>> mrf = grid_mrf(rng.uniform(0, 10, (12, 12, 10)), rng.uniform(0, 5, 264), truncation=6)
    >>> for method in ("range_expansion", "alpha_expansion", "icm"):
    ...     result = minimize_mrf(mrf, method)
    ...     print(method, round(result.energy, 1), round(result.bound, 3))
    range_expansion 595.8 1.0
    alpha_expansion 597.7 1.003
    icm 905.3 1.519
    """
    _check(mrf, method, max_sweeps, random_order, bound_max_iter, backend)
    _check_one_label(one_label, method)
    start = _start(mrf, init)
    if (
        method in ("range_expansion", "range_swap")
        and mrf.is_convex
        and _arcs(mrf) <= (LARGEST_GRAPH // 10)
    ):
        warnings.warn(
            f"No difference of labels is truncated: method='exact' takes the place of {method!r}.",
            UserWarning,
            stacklevel=3,
        )
        method = "exact"
    rng = check_random_state(random_state) if random_order else None
    began = time.perf_counter()
    if method in ("exact", "tree", "lp"):
        result = _direct(mrf, method, backend, began)
        if callback is not None:
            callback()
        return result
    if method in ("trws", "bp"):
        rounds = pass_messages(
            mrf,
            reweighted=method == "trws",
            max_iter=ROUNDS_OF_MESSAGES * max_sweeps,
            report=callback,
        )
        known = max(rounds.bounds) if method == "trws" else None
        return _result(mrf, method, rounds, np.inf, known, bound_max_iter)
    if method == "icm":
        trace = moves.conditional_modes(
            mrf, start, neighbours(mrf), max_sweeps=max_sweeps, report=callback
        )
        return _result(mrf, method, trace, np.inf, None, bound_max_iter)
    offered, propose, guarantee = _offers(mrf, method, interval, backend)
    sweep = functools.partial(moves.make_moves, max_sweeps=max_sweeps, rng=rng, report=callback)
    before = None
    if one_label:
        labels, expand, factor = _offers(mrf, "alpha_expansion", interval, backend)
        before = sweep(mrf, start, labels, expand)
        start = before.labels
        offered, propose = moves.either_move(offered, propose, labels, expand)
        guarantee = min(guarantee, factor)
    trace = sweep(mrf, start, offered, propose)
    if before is not None:
        trace = moves.joined_traces(before, trace)
    return _result(
        mrf, method, trace, guarantee if trace.converged else np.inf, None, bound_max_iter
    )


def _check(
    mrf: Any, method: Any, max_sweeps: Any, random_order: Any, bound_max_iter: Any, backend: Any
) -> None:
    if not isinstance(mrf, PairwiseMRF):
        raise ValueError(f"mrf must be a PairwiseMRF; got {type(mrf).__name__}.")
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    for name, value, least in (
        ("max_sweeps", max_sweeps, 1),
        ("bound_max_iter", bound_max_iter, 0),
    ):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or not least <= value <= 100_000:
            raise ValueError(f"{name} must be an int of {least} to 100,000; got {value!r}.")
    if not isinstance(random_order, (bool, np.bool_)):
        raise ValueError(f"random_order must be True or False; got {random_order!r}.")


def _check_one_label(one_label: Any, method: str) -> None:
    if not isinstance(one_label, (bool, np.bool_)):
        raise ValueError(f"one_label must be True or False; got {one_label!r}.")
    if one_label and method not in ("range_expansion", "range_swap"):
        raise ValueError(f"one_label=True adds to range moves; {method!r} makes none.")


def _start(mrf: PairwiseMRF, init: Any) -> Any:
    if isinstance(init, str):
        if init != "unary":
            raise ValueError(f"init must be 'unary' or labels; got {init!r}.")
        return np.argmin(mrf.costs, axis=1)
    labels = mrf.read_labels(init, "init")
    forbidden = np.isinf(mrf.unary[np.arange(mrf.n_variables), labels])
    if forbidden.any():
        a = int(np.argmax(forbidden))
        raise ValueError(f"init gives variable {a} the forbidden label {labels[a]}.")
    return labels


def _arcs(mrf: PairwiseMRF, length: int | None = None) -> int:
    """Return how many arcs the graph of an interval of labels has."""
    h = mrf.n_labels if length is None else length
    bent = 1 if mrf.d == "linear" else h
    return len(mrf.edges) * h * bent + mrf.n_variables * h


def _refuse_large(mrf: PairwiseMRF, length: int, advice: str) -> None:
    if _arcs(mrf, length) > LARGEST_GRAPH:
        raise ValueError(
            f"One cut over {length} labels has {_arcs(mrf, length):,} arcs, more than "
            f"{LARGEST_GRAPH:,}: {advice}"
        )


def _offers(mrf: PairwiseMRF, method: str, interval: Any, backend: str) -> tuple[Any, Any, float]:
    """Return the moves of a method, what proposes them, and the factor it is proven to reach."""
    h, guarantee = mrf.n_labels, np.inf
    propose: Callable[..., Any]
    if method == "range_expansion":
        length = expansion_interval(mrf, interval)
        offered: list[Any] = moves.expansion_intervals(h, length)
        propose = moves.expand_range
        if np.isfinite(mrf.truncation):
            guarantee = expansion_bound(mrf.differences, mrf.truncation, length)
        else:  # nobody stays outside an interval of all labels; shorter ones have no M
            length, offered, guarantee = h, [(0, h - 1)], 1.0
        _refuse_large(mrf, length, "take a shorter interval.")
        if backend in ("auto", "numba") and np.isfinite(mrf.truncation):
            return offered, moves.warm_expansion(mrf), guarantee
    elif method == "range_swap":
        length = swap_interval(mrf, interval)
        _refuse_large(mrf, length, "take a shorter interval.")
        offered, propose = moves.swap_intervals(h, length), moves.swap_range
    elif method == "alpha_expansion":
        offered, propose = list(range(h)), moves.expand_label
        guarantee = metric_bound(mrf)  # 2M, or less for the labels at hand
    else:
        offered = [(x, y) for x in range(h) for y in range(x + 1, h)]
        propose = moves.swap_labels
    return offered, functools.partial(propose, backend=backend), guarantee


def _direct(mrf: PairwiseMRF, method: str, backend: str, began: float) -> MRFResult:
    """Return what one computation gives: an optimum, or a relaxation and what it rounds to."""
    known = None
    if method == "exact":
        if not mrf.is_convex:
            raise ValueError(
                "method='exact' needs an energy without truncation: truncation is "
                f"{mrf.truncation:g}, and d reaches {mrf.differences[mrf.n_labels - 1]:g}."
            )
        _refuse_large(mrf, mrf.n_labels, "take method='trws' or fewer labels.")
        labels = moves.solve_convex(mrf, backend)
    elif method == "tree":
        labels = solve_forest(mrf).labels
    else:
        relaxed = solve_relaxation(mrf)
        labels, known = relaxed.labels, relaxed.value
    energy = mrf.energy_of(labels)
    before = mrf.energy_of(np.argmin(mrf.costs, axis=1))
    trace = moves.MoveTrace(labels, [before, energy], [0.0, time.perf_counter() - began], True)
    if energy > before:  # rounding may be worse than no relaxation at all
        trace = trace._replace(labels=np.argmin(mrf.costs, axis=1), energies=[before, before])
    optimal = method != "lp"
    return _result(mrf, method, trace, 1.0 if optimal else np.inf, energy if optimal else known, 0)


def _result(
    mrf: PairwiseMRF, method: str, trace: Any, guarantee: float, known: float | None, rounds: int
) -> MRFResult:
    """Return a result with the best lower bound and guarantee that are at hand."""
    energy = mrf.energy_of(trace.labels)
    lowest = float(mrf.costs.min(axis=1).sum())
    if known is None and rounds:
        found = pass_messages(mrf, reweighted=True, max_iter=rounds, tol=1e-5)
        known = max(found.bounds)
    lower = min(energy, max(lowest, lowest if known is None else known))
    # bounds multiply energies of at least 0: what is below is taken out
    shift = float(np.minimum(mrf.costs.min(axis=1), 0.0).sum())
    above, below = energy - shift, lower - shift
    scale = 1e-12 * max(abs(energy), abs(lower), abs(shift))
    if above - below <= scale:
        proven = 1.0
    elif below > scale:
        proven = above / below
    else:
        proven = np.inf
    return MRFResult(
        labels=trace.labels.reshape(mrf.shape),
        energy=energy,
        lower_bound=lower,
        history=np.array(trace.energies),
        n_moves=len(trace.energies) - 1,
        bound=float(max(1.0, min(guarantee, proven))),
        seconds=np.array(trace.seconds),
        converged=trace.converged,
        method=method,
    )
