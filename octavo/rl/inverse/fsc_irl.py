"""Rewards under which a given controller is optimal.

Reference: Choi and Kim (2011), section 5.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.inverse.deviations import MOST_ROWS, Deviations, count_new_nodes, new_nodes
from octavo.rl.inverse.margin_program import MarginProgram, Solved
from octavo.rl.partial_observation.controllers import FSCPolicy
from octavo.rl.partial_observation.planning import PBPISolver

__all__ = ["FSCIRL"]

_SHARES = np.append(0.98 * 0.5 ** np.arange(9), 0.0)  # of the largest penalty, tried in order
_SAME = 1e-6  # of visits and values, relative
_TIED = 1e-6  # of margins, in units of r_max


class Tried(NamedTuple):
    """A penalty, its reward, the controller that is optimal for it, and how well it explains."""

    alpha: float
    solved: Solved
    policy: FSCPolicy | None
    rank: int
    floor: float = 0.0


class FSCIRL(CallbackSupportMixin, SoundEstimator):
    """Find a reward that explains a finite-state controller.

    Parameters
    ----------
    method : {"witness", "dp", "q"}, default="witness"
        Which deviations the expert must beat: its nodes with one observation redirected and the
        actions it never takes ("witness"), all new nodes ("dp"), or all for each node ("q"), which
        are the same comparisons as "dp".
    alpha : float or "auto", default="auto"
        Weight of the sum of absolute rewards, the paper's λ. "auto" takes the largest of a grid
        for which a planner that is given the reward does what the expert does. Where none is, the
        expert must beat every deviation by half the largest possible margin, and the largest weight
        of the grid is taken under that.
    r_max : float, default=1.0
        The largest absolute reward.
    solver : object, default=None
        With ``solve(pomdp, R)``, which returns an `FSCPolicy`; None for `PBPISolver`.

    Attributes
    ----------
    reward_ : ndarray of shape (n_states, n_actions)
        The reward.
    margin_ : float
        The smallest margin of the expert over a deviation; zero where one ties.
    unique_ : bool
        Whether the linear program has one optimum. If not, `reward_` is the one of its optima with
        the largest smallest margin.
    n_constraints_ : int
        Comparisons of a node, a belief and a new node.
    n_new_nodes_ : int
        Deviating nodes, equal ones counted once for "witness".
    alpha_ : float
        The weight used.
    margin_floor_ : float
        The margin that was asked for; zero for the paper's program.
    policy_ : FSCPolicy
        What is optimal for the reward, found by the solver.
    objective_ : float
        Weighted sum of absolute rewards less the sum of margins.

    See Also
    --------
    TrajectoryIRL : From logs instead of the controller.
    MDPIRL : The state is seen.

    Notes
    -----
    The conditions are necessary for the expert to be optimal and not sufficient: they speak of the
    beliefs that it meets. Compare values with `value_gap`. Do not read `reward_` as the truth: many
    rewards explain one behaviour.

    References
    ----------
    .. [1] Choi and Kim (2011). Inverse reinforcement learning in partially observable
       environments. JMLR 12:691-730.

    Examples
    --------
    >>> from octavo.rl import FSCIRL, FSCPolicy, make_maze1d
    >>> expert = FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)
    >>> model = FSCIRL().fit(make_maze1d(), expert)
    >>> print(model.reward_[2, 0], model.policy_.n_nodes)  # left, in the goal
    1.0 3
    """

    _parameter_constraints: dict = {
        "method": [StrOptions({"witness", "dp", "q"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "r_max": [Interval(Real, 0, None, closed="neither")],
        "solver": "no_validation",
    }

    def __init__(self, method="witness", alpha="auto", r_max=1.0, *, solver=None):
        self.method = method
        self.alpha = alpha
        self.r_max = r_max
        self.solver = solver

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, pomdp, policy):
        """Find the reward.

        Parameters
        ----------
        pomdp : POMDP
            The model; a reward that it has is not used.
        policy : FSCPolicy
            The expert.

        Returns
        -------
        self : FSCIRL
            The fitted estimator.
        """
        if not hasattr(pomdp, "n_observations"):
            raise ValueError(f"Expected a POMDP, got {type(pomdp).__name__}.")
        if not isinstance(policy, FSCPolicy):
            raise ValueError(f"Expected an FSCPolicy as expert, got {type(policy).__name__}.")
        policy.check_fits(pomdp)
        self._deviate(pomdp, policy)
        with FitProgress(self, 2 * len(_SHARES), step_name="penalty") as progress:
            found = self._search(pomdp, policy, progress)
        shape = (pomdp.n_states, pomdp.n_actions)
        self.reward_, self.alpha_ = found.solved.reward.reshape(shape), float(found.alpha)
        self.margin_floor_ = found.floor * self.r_max
        self.margin_, self.objective_ = found.solved.margin, -found.solved.objective
        if not self.reward_.any():
            self.unique_, self.policy_ = True, policy
            warnings.warn(
                f"All-zero reward: every policy is optimal under it. Lower alpha from "
                f"{self.alpha_:.4g}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        else:
            self.policy_ = found.policy
            self.unique_ = self._program.is_unique(found.alpha)
            if self.margin_ <= 1e-7 * self.r_max:
                warnings.warn(
                    "Some deviation ties with the expert under the reward (margin_ is zero): a "
                    "planner may prefer it.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        del self._program, self._deviations
        return self

    def plan(self, pomdp):
        """Return what is optimal for the learned reward, in this model or another of its size.

        Parameters
        ----------
        pomdp : POMDP
            The model; a reward that it has is not used.

        Returns
        -------
        FSCPolicy
            The policy.
        """
        check_is_fitted(self)
        solver = PBPISolver() if self.solver is None else self.solver
        return solver.solve(pomdp, self.reward_)

    def _deviate(self, pomdp, policy):
        """Set up the program; refuse more comparisons than can be written down."""
        n_beliefs = len(policy.reachable_beliefs(pomdp).nodes)
        rows = n_beliefs * count_new_nodes(
            pomdp, policy, "dp" if self.method == "q" else self.method
        )
        if rows > MOST_ROWS:
            raise ValueError(
                f"Method {self.method!r} would compare {rows:.3g} deviations, more than "
                f"{MOST_ROWS}; use method='witness' or a controller with fewer nodes."
            )
        new = new_nodes(pomdp, policy, self.method)
        deviations = Deviations(pomdp, policy, new)
        times = policy.n_nodes if self.method == "q" else 1
        self.n_new_nodes_ = len(new.actions) * times + deviations.n_free
        self._deviations = deviations
        self.n_constraints_ = deviations.n_rows
        self._program = MarginProgram(deviations.total(), deviations.margins, self.r_max)

    def _search(self, pomdp, policy, progress):
        """Return the reward at the given penalty, or at the best of the grid."""
        solver = PBPISolver() if self.solver is None else self.solver
        visits = policy.feature_expectation(pomdp)
        if self.alpha != "auto":
            return self._try(pomdp, solver, visits, float(self.alpha))
        program = self._program
        decisive, widest = program.most_decisive()
        forced = self._deviations.ties(decisive, _TIED)
        best = Tried(0.0, Solved(np.zeros(program.n), 0.0, 0.0), None, -1)
        largest = program.largest_alpha()
        for floor in (0.0, 0.5 * widest):
            program.floor = floor  # with and without half of the widest margin that any reward has
            for share in _SHARES:
                tried = self._try(pomdp, solver, visits, share * largest, forced)
                if tried.rank > best.rank:
                    best = tried._replace(floor=floor)
                if progress.step() or best.rank == 4:
                    return best
            if best.rank >= 3 or not widest > 0.0:
                break
        program.floor = best.floor
        return best

    def _try(self, pomdp, solver, visits, alpha, forced=0):
        """Solve at a penalty; rank 0: no reward, 1: the planner does better than the expert.

        Rank 2: it does as well; 3: it visits the same states with the same actions; 4: it does as
        well, and no deviation ties but those that tie under every reward.
        """
        solved = self._program.widest(alpha)
        if not solved.reward.any():
            return Tried(alpha, solved, None, 0)
        R = solved.reward.reshape(pomdp.n_states, pomdp.n_actions)
        policy = solver.solve(pomdp, R)
        theirs = policy.feature_expectation(pomdp)
        size = 1.0 / (1.0 - pomdp.gamma)
        if (theirs - visits) @ solved.reward > _SAME * size * self.r_max:
            return Tried(alpha, solved, policy, 1)
        if self._deviations.ties(solved.reward / self.r_max, _TIED) <= forced:
            return Tried(alpha, solved, policy, 4)
        same = np.abs(theirs - visits).max() <= _SAME * size
        return Tried(alpha, solved, policy, 3 if same else 2)
