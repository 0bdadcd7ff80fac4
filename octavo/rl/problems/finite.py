"""Benchmark problems of policy evaluation with finitely many states.

A problem is a model, the policy to evaluate, the policy that acts and the features; it draws logs
for the estimators and knows the truth that they are judged by.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, section 3.1 (benchmarks 1 to 4), Example 2 and Figure 3.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.rl.features.transformers import TriangularFeatures
from octavo.rl.processes.finite import FiniteMDP
from octavo.rl.processes.objectives import value_objectives

__all__ = [
    "FiniteProblem",
    "make_action_mdp",
    "make_baird",
    "make_boyan",
    "make_grid_world",
    "make_random_mdp",
]


class FiniteProblem:
    """A policy to evaluate in a finite MDP, from data of the same or another policy.

    Parameters
    ----------
    mdp : FiniteMDP
        The model, with its features.
    policy : array-like of shape (n_states, n_actions), default=None
        The target policy.
    behaviour : array-like of shape (n_states, n_actions), default=None
        The policy that acts; None stands for the target policy.
    name : str, default="finite problem"
        What to call it.
    theta0 : array-like of shape (n_features,), default=None
        Coefficients that the benchmark starts from; None stands for zeros.

    Attributes
    ----------
    features_ : ndarray of shape (n_states, n_features)
        Features of the states.
    value_ : ndarray of shape (n_states,)
        The true value of the target policy.
    weights_ : ndarray of shape (n_states,)
        How often the behaviour visits the states.

    See Also
    --------
    FiniteMDP : The model itself.

    Notes
    -----
    The truth is known, so this is for judging methods; data of one's own go into `Transitions`.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883.

    Examples
    --------
    >>> from octavo.rl import make_boyan
    >>> problem = make_boyan()
    >>> exact = problem.objectives()
    >>> round(exact.mse(exact.minimiser("mspbe")) ** 0.5, 3)
    0.095
    """

    def __init__(self, mdp, policy=None, behaviour=None, name="finite problem", theta0=None):
        self.mdp = mdp
        self.policy = mdp.check_policy(policy)
        self.behaviour = None if behaviour is None else mdp.check_policy(behaviour, "behaviour")
        if self.behaviour is not None:
            mdp.importance_ratios(self.policy, self.behaviour)  # refuses a lack of support
        self.name = name
        self.gamma = mdp.gamma
        self.features_ = mdp.features
        self.theta0 = np.zeros(mdp.features.shape[1]) if theta0 is None else np.asarray(theta0)
        self.value_ = mdp.value(self.policy)
        self.weights_ = mdp.state_distribution(
            self.policy if self.behaviour is None else self.behaviour
        )

    def __repr__(self):
        kind = "on-policy" if self.behaviour is None else "off-policy"
        return f"FiniteProblem({self.name}, {kind}, {self.mdp.n_states} states)"

    def sample(self, n_steps, *, double=False, random_state=None):
        """Draw a log of transitions.

        Parameters
        ----------
        n_steps : int
            How many.
        double : bool, default=False
            Whether to draw a second successor of each state.
        random_state : int, RandomState instance or None, default=None
            Seeds the draw.

        Returns
        -------
        Transitions
            The log.
        """
        return self.mdp.sample(
            n_steps, self.policy, self.behaviour, double=double, random_state=random_state
        )

    def objectives(self, lam=0.0):
        """Return the exact objectives.

        Parameters
        ----------
        lam : float, default=0.0
            Trace parameter λ of the Bellman operator.

        Returns
        -------
        ValueObjectives
            Functions of the coefficients.
        """
        return value_objectives(
            self.mdp, self.policy, self.behaviour, lam=lam, weights=self.weights_
        )


@checked
def make_boyan(n_states=14, n_features=4, *, gamma=0.95, loops=14):
    """Make Boyan's chain (benchmark 1).

    Each state leads one or two states on, with reward -3; the last but one leads on with -2. The
    value falls in a line where gamma is 1.

    Parameters
    ----------
    n_states : int, default=14
        Length of the chain.
    n_features : int, default=4
        Triangles along it.
    gamma : float, default=0.95
        Discount factor. With 1, the last state is terminal; else it is absorbing.
    loops : float, default=14
        How many steps, on average, an episode stays in the last state where it is absorbing; 14
        gives the fixed points that the survey publishes.

    Returns
    -------
    FiniteProblem
        The problem.

    References
    ----------
    .. [1] Boyan (2002). Technical update: least-squares temporal difference learning. Machine
       Learning 49:233-246.

    Examples
    --------
    >>> from octavo.rl import make_boyan
    >>> make_boyan(7, 2, gamma=1.0).objectives().minimiser("mspbe").round(9) + 0.0
    array([-12.,   0.])
    """
    if n_states < 3:
        raise ValueError(f"n_states must be at least 3, got {n_states!r}.")
    if not loops >= 1:
        raise ValueError(f"loops must be at least 1, got {loops!r}.")
    P, R = np.zeros((n_states, n_states)), np.full(n_states, -3.0)
    rows = np.arange(n_states - 2)
    P[rows, rows + 1] = P[rows, rows + 2] = 0.5  # Section 3.1.1: one or two steps ahead, -3 each
    P[-2, -1] = P[-1, -1] = 1.0
    R[-2:] = -2.0, 0.0
    position = np.arange(1.0, n_states + 1)[:, None]
    features = TriangularFeatures(n_features).fit_transform(position)
    start, restart = np.zeros(n_states), np.zeros(n_states)
    start[0] = 1.0
    last = [n_states - 1] if gamma == 1 else None
    restart[-1] = 0.0 if gamma == 1 else 1.0 / loops  # episodes of the authors' program
    mdp = FiniteMDP(P, R, gamma, start=start, terminal=last, restart=restart, features=features)
    return FiniteProblem(mdp, name="Boyan chain")


@checked
def make_baird(n_corners=7, *, gamma=0.99):
    """Make Baird's star (benchmark 2), on which off-policy TD diverges.

    The solid action leads to the centre, the dashed one to a corner drawn at random; all rewards
    are zero. The target always takes the solid action, the behaviour almost always the dashed one.

    Parameters
    ----------
    n_corners : int, default=7
        Corners of the star, beside its centre.
    gamma : float, default=0.99
        Discount factor.

    Returns
    -------
    FiniteProblem
        The problem; ``theta0`` holds the coefficients that it is started from.

    References
    ----------
    .. [1] Baird (1995). Residual algorithms: reinforcement learning with function approximation.
       ICML 12.

    Examples
    --------
    >>> from octavo.rl import contraction, make_baird
    >>> star = make_baird()
    >>> contraction(star.mdp, star.policy, star.behaviour).td
    False
    """
    if n_corners < 1:
        raise ValueError(f"n_corners must be at least 1, got {n_corners!r}.")
    n = n_corners + 1
    P = np.zeros((2, n, n))
    # Section 3.1.2: dashed to a corner, solid to the centre
    P[0, :, :-1] = 1.0 / n_corners  # dashed
    P[1, :, -1] = 1.0  # solid
    features = np.zeros((n, n + 1))
    corners = np.arange(n_corners)
    features[corners, corners] = 2.0  # V = 2θ_i + θ_last at a corner
    features[corners, -1] = 1.0
    features[-1, -2:] = 1.0, 2.0  # V = θ_{n-1} + 2θ_last at the centre
    mdp = FiniteMDP(P, np.zeros(n), gamma, features=features)
    target = np.tile([0.0, 1.0], (n, 1))
    # 7/8 dashed and 1/8 solid at seven corners
    behaviour = np.tile([n_corners / n, 1.0 / n], (n, 1))
    theta0 = np.ones(n + 1)
    theta0[-2] = 10.0
    return FiniteProblem(mdp, target, behaviour, "Baird star", theta0)


@checked
def make_random_mdp(
    n_states=400, n_actions=10, n_features=200, *, gamma=0.95, off_policy=False, random_state=0
):
    """Make a dense random MDP with random features (benchmarks 3 and 4).

    Transition probabilities are proportional to U[0, 1] + 1e-5, and so are the policies and the
    start; rewards of pairs are uniform; features are uniform beside a constant one.

    Parameters
    ----------
    n_states, n_actions : int, default=400, 10
        Size.
    n_features : int, default=200
        Number of features, the constant one included.
    gamma : float, default=0.95
        Discount factor.
    off_policy : bool, default=False
        Whether another policy, drawn in the same way, acts.
    random_state : int, RandomState instance or None, default=0
        Seeds the problem.

    Returns
    -------
    FiniteProblem
        The problem.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.3.

    Examples
    --------
    >>> from octavo.rl import make_random_mdp
    >>> make_random_mdp(50, 3, 10, off_policy=True)
    FiniteProblem(random MDP, off-policy, 50 states)
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features!r}.")
    rng = check_random_state(random_state)

    def proportional(*shape):
        drawn = rng.uniform(size=shape) + 1e-5  # proportional to U(0, 1) + 1e-5, Section 3.1.3
        return drawn / drawn.sum(axis=-1, keepdims=True)

    P, R = proportional(n_actions, n_states, n_states), rng.uniform(size=(n_states, n_actions))
    features = np.column_stack([rng.uniform(size=(n_states, n_features - 1)), np.ones(n_states)])
    target, other = proportional(n_states, n_actions), proportional(n_states, n_actions)
    mdp = FiniteMDP(P, R, gamma, start=proportional(n_states), features=features)
    return FiniteProblem(mdp, target, other if off_policy else None, "random MDP")


@checked
def make_action_mdp(n_states=40, n_features=None, *, stochasticity=0.0, gamma=0.95, random_state=0):
    """Make an MDP whose actions name the next state (Example 2 of the survey).

    The policy lies between one that visits the states in turn and one that jumps at random, so
    that the noise in the returns is under control.

    Parameters
    ----------
    n_states : int, default=40
        Number of states and of actions.
    n_features : int, default=None
        Dimension of a random projection of the states; None stands for the states themselves,
        which represent every value.
    stochasticity : float, default=0.0
        Weight of the uniform policy.
    gamma : float, default=0.95
        Discount factor.
    random_state : int, RandomState instance or None, default=0
        Seeds rewards and features.

    Returns
    -------
    FiniteProblem
        The problem.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, Example 2 and Figure 11.

    Examples
    --------
    >>> from octavo.rl import make_action_mdp
    >>> make_action_mdp(40, 20, stochasticity=0.5)
    FiniteProblem(action MDP, on-policy, 40 states)
    """
    if not 0 <= stochasticity <= 1:
        raise ValueError(f"stochasticity must lie in [0, 1], got {stochasticity!r}.")
    rng = check_random_state(random_state)
    P = np.repeat(np.eye(n_states)[:, None, :], n_states, axis=1)
    R = rng.uniform(size=n_states)
    features = None if n_features is None else rng.normal(size=(n_states, n_features))
    in_turn = np.roll(np.eye(n_states), 1, axis=1)
    policy = (1 - stochasticity) * in_turn + stochasticity / n_states
    mdp = FiniteMDP(P, R, gamma, features=features)
    return FiniteProblem(mdp, policy, name="action MDP")


# The survey shows such a map and does not list its cells: "~" is water, "*" the goal.
_WORLD = """
...............
...............
..........~~...
.........~~~~..
...*.....~~~...
..........~....
...............
....~~.........
...~~~~........
..~~~~~........
...~~~.........
....~..........
...............
...............
...............
"""
_MOVES = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])  # up, right, down, left


@checked
def make_grid_world(*, noise=0.2, gamma=0.99):
    """Make the 15 × 15 grid world with a goal and water (Figure 3 of the survey).

    The agent heads for the goal along the axis on which it is farther away, and is blown in a
    random direction now and then; reaching the goal pays 10 and ends the episode, entering water
    costs 2.

    Parameters
    ----------
    noise : float, default=0.2
        Probability of a random direction.
    gamma : float, default=0.99
        Discount factor.

    Returns
    -------
    FiniteProblem
        The problem, tabular; states are numbered row by row.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, Figure 3.

    Examples
    --------
    >>> from octavo.rl import make_grid_world
    >>> world = make_grid_world()
    >>> world.value_.reshape(15, 15)[4, 2:5].round(2).tolist()
    [9.96, 0.0, 9.96]
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must lie in [0, 1], got {noise!r}.")
    cells = np.array([list(line) for line in _WORLD.split()])
    side, n = len(cells), cells.size
    goal = int(np.flatnonzero(cells.ravel() == "*")[0])
    place = np.stack(np.divmod(np.arange(n), side), axis=1)
    landing = np.clip(place[:, None] + _MOVES, 0, side - 1) @ [side, 1]
    moves = np.zeros((4, n, n))
    for a in range(4):
        moves[a, np.arange(n), landing[:, a]] = 1.0
    P = (1 - noise) * moves + noise * moves.mean(axis=0)
    paid = 10.0 * (np.arange(n) == goal) - 2.0 * (cells.ravel() == "~")
    away = place[goal] - place
    upright = np.abs(away[:, 0]) >= np.abs(away[:, 1])
    heading = np.where(upright, np.where(away[:, 0] < 0, 0, 2), np.where(away[:, 1] > 0, 1, 3))
    R = np.broadcast_to(paid, (4, n, n))
    return FiniteProblem(FiniteMDP(P, R, gamma, terminal=[goal]), heading, name="grid world")
