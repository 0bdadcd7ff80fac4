"""Wilson, Fern and Tadepalli (2014): trajectories in Bayesian optimisation of policies."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from octavo import plot, rl
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, measured, stated

PAPER = Paper(
    key="trajectory-bayes-opt",
    title="Using Trajectory Data to Improve Bayesian Optimization for Reinforcement Learning",
    authors="A. Wilson, A. Fern and P. Tadepalli",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("divergence-bounds-returns", "weighing-a-bad-simulator", "model-balances-the-pole"),
    tables={
        "Table 1": "[features of the domains: they are those of the simulators]",
        "Figure 3": "residuals-mend-the-simulator",
        "Figure 4": "weighing-a-bad-simulator",
        "Figure 5": "behaviour-beats-parameters-uphill good-model-climbs-at-once",
        "Figure 6": "[acrobot: curves without numbers, which 40 runs of hours would have to match]",
        "Figure 7": "model-balances-the-pole model-beats-none-on-the-pole",
        "Figure 8": "behaviour-finds-the-point",
        "Figure 9": "behaviour-fails-on-the-bicycle",
    },
    methods=(
        Method(
            name="TrajectoryBO",
            room="rl",
            family="policy_search",
            modules=("policy_search", "simulators"),
            task="tune the parameters of a controller in a few dozen trials",
            summary="Bayesian optimisation of a policy's parameters that compares policies by what "
            "they do and learns a simulator from what it has seen, weighted by the evidence.",
            use_when="Every episode is expensive, trajectories are recorded, and the policy has "
            "from one to about a hundred parameters.",
            avoid_when="Episodes are cheap: evolution strategies and gradients go further. For "
            "deterministic policies take kernel='se'.",
            instead="Nothing; GaussianProcessRegressor is the surrogate alone.",
            peers=("botorch",),
            plots=(
                "plot_policy_search",
                "plot_return_posterior",
                "plot_policy_kernels",
                "plot_model_weight",
            ),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
FORTY = tuple(range(40))
OPEN = (
    "the paper names a cubic expansion with eight features and not its terms or scales, tunes the "
    "width of its SE kernel and does not say how; ours is chosen by the evidence"
)
ARM = "links, step, goal and bonus are not in the paper"
POLE = "the unit of a push, the walls' penalty and the bonus are not in the paper"


def random_problem(seed: int) -> tuple:
    rng = np.random.RandomState(seed)
    P = rng.dirichlet(np.ones(5), (3, 5))
    mdp = rl.FiniteMDP(P, rng.uniform(-1, 1, (5, 3)), start=rng.dirichlet(np.ones(5)))
    near = mdp.random_policy(rng)
    other = mdp.random_policy(rng)
    mix = rng.uniform(0.01, 1.0)
    return mdp, near, (1 - mix) * near + mix * other


def expected_return(mdp, policy, horizon: int) -> float:
    value = np.zeros(mdp.n_states)
    P, R = mdp.transition_matrix(policy), mdp.expected_rewards(policy)
    for _ in range(horizon):
        value = R + P @ value
    return float(mdp.start @ value)


@PAPER.claim("Returns of two policies differ by no more than √2 R_max(√KL + √KL')")
@stated("holds", "Theorem 1", kind="theorem", seeds=SEEDS)
@at_most(0.0, because="exact dynamic programs; the largest excess over random problems")
def divergence_bounds_returns(run: Run) -> float:
    worst = -np.inf
    for k in range(200 if run.full else 40):
        mdp, one, two = random_problem(1000 * run.seed + k)
        horizon = 1 + k % 12
        most = horizon * float(np.abs(mdp.R).max())
        there, back = (rl.behaviour_kl(mdp, a, b, horizon) for a, b in ((one, two), (two, one)))
        apart = abs(expected_return(mdp, one, horizon) - expected_return(mdp, two, horizon))
        worst = max(worst, apart - rl.policy_divergence_bound(there, back, most))
    return float(worst)


@PAPER.claim("The kernel does not see changes of parameters that leave behaviour as it is")
@stated("robust to changes in policy parameterization", "Section 4.1", kind="theorem", seeds=SEEDS)
@at_most(1e-9, because="logits of each state shifted by a constant; rounding")
def parameters_do_not_matter(run: Run) -> float:
    rng = np.random.RandomState(run.seed)
    policy, kernel = rl.SoftmaxLinearPolicy(3, 4), rl.BehaviourKernel()
    thetas = rng.normal(size=(6, 12))
    runs = [
        [rl.Episode(rng.normal(size=(20, 3)), rng.randint(4, size=20), np.zeros(20))]
        for _ in thetas
    ]
    shifted = thetas + np.repeat(rng.normal(size=(6, 3)), 4, axis=1)
    first, second = (kernel.matrix(policy, t, runs) for t in (thetas, shifted))
    return float(np.abs(first - second).max())


def random_function(rng):
    """A smooth function of one variable, as the drawings of Figures 3 and 4 show."""
    at, height = rng.uniform(-2, 2, 6), rng.normal(size=6)
    return lambda t: np.exp(-0.5 * (t[:, :1] - at) ** 2 / 0.3) @ height


def searched(run: Run, bias: float, mean) -> tuple:
    """Return a search told five values of a function, the function, and a grid."""
    from sklearn.gaussian_process.kernels import RBF

    rng = np.random.RandomState(run.seed)
    truth = random_function(rng)
    policy = rl.GaussianLinearPolicy(1, 1)
    search = rl.TrajectoryBO(
        policy, (-2, 2), kernel=RBF(0.5), mean=mean(truth, bias), noise=1e-6, random_state=run.seed
    )
    for theta in rng.uniform(-2, 2, (5, 1)):
        value = float(truth(theta[None])[0])
        search.tell(theta, [rl.Episode([[0.0]], [[0.0]], [value])])
    return search, truth, np.linspace(-2, 2, 200)[:, None]


def error(belief: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((belief - truth) ** 2)))


@PAPER.claim("A simulator that underestimates all policies is discounted, and the mean gains by it")
@stated("β = 0.1 estimates the true function more accurately than β = 1", "Figure 4")
@measured(
    kind="ordering", seeds=tuple(range(20)), stand_in="random smooth functions for the drawn one"
)
@at_least(0.0, because="error of the mean with β = 1 less that with β by the evidence")
def weighing_a_bad_simulator(run: Run) -> float:
    search, truth, grid = searched(run, 5.0, lambda f, bias: lambda t: 0.0 * f(t) - bias)
    run.note(f"β of seed {run.seed}: {search.gp_.beta:.2f}")
    X = np.array([h["theta"] for h in search.history_])
    y = np.array([h["value"] for h in search.history_])
    kernel = search.kernel
    m = -5.0
    believed = m + kernel(grid, X) @ np.linalg.solve(kernel(X) + 1e-6 * np.eye(len(y)), y - m)
    return error(believed, truth(grid)) - error(search.posterior(grid), truth(grid))


@PAPER.claim("A model of the residuals compensates for errors of the simulator")
@stated("the corrected mean", "Figure 3", stand_in="random smooth functions for the drawn one")
@measured(kind="ordering", seeds=tuple(range(20)))
@at_least(0.0, because="error of the simulator less that of the corrected mean")
def residuals_mend_the_simulator(run: Run) -> float:
    off = random_function(np.random.RandomState(1000 + run.seed))
    search, truth, grid = searched(run, 0.0, lambda f, _: lambda t: f(t) + 0.5 * off(t))
    return error(search.mean(grid), truth(grid)) - error(search.posterior(grid), truth(grid))


@lru_cache(maxsize=512)
def pole_episodes(seed: int, mean: str, budget: int) -> int:
    """Return how many episodes it takes to balance for 1,000 steps."""
    cart = rl.CartPole()
    search = rl.TrajectoryBO(cart.make_policy(), (-1, 1), kernel="se", mean=mean, random_state=seed)
    for k in range(budget):
        search.run(cart, 1)
        if search.history_[-1]["value"] > cart.bonus + 500:
            return k + 1
    return budget + 1


@PAPER.claim("With a learnt simulator the pole is balanced for 1,000 steps within ten episodes")
@stated("rapidly", "Section 5.4 and Figure 7")
@measured(kind="ordering", unit="episodes", seeds=SEEDS, full_seeds=FORTY, stand_in=POLE)
@at_most(10.0, because="what the project set itself; the figure's curve has no numbers")
def model_balances_the_pole(run: Run) -> float:
    return float(pole_episodes(run.seed, "model", 40 if run.full else 20))


@PAPER.claim("The simulator finds the balancing policy in fewer episodes than the SE kernel alone")
@stated("fewer", "Section 5.4 and Figure 7")
@measured(kind="ordering", unit="episodes", seeds=SEEDS, full_seeds=FORTY, stand_in=POLE)
@at_least(0.0, because="episodes without it less episodes with it")
def model_beats_none_on_the_pole(run: Run) -> float:
    budget = 40 if run.full else 20
    with_it, without = (pole_episodes(run.seed, mean, budget) for mean in ("model", "zero"))
    return float(without - with_it)


# "bbk" leaves α to the evidence, where the paper sets it to 1; the page has both.


def hill_episodes(seed: int, budget: int, **options) -> int:
    """Return how many episodes it takes to climb the hill in 120 steps."""
    car = rl.MountainCar()
    search = rl.TrajectoryBO(car.make_policy(), (-1, 1), random_state=seed, **options)
    for k in range(budget):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.run(car, 1)
        if search.history_[-1]["value"] >= -120:
            return k + 1
    return budget + 1


@PAPER.claim("Mountain car: the behaviour kernel needs fewer episodes than the SE kernel")
@stated("BOA (BBK) above BOA", "Section 5.2 and Figure 5")
@measured(kind="ordering", unit="episodes", seeds=SEEDS, full_seeds=FORTY, stand_in=OPEN)
@at_least(0.0, because="episodes to a return of -120 with SE less those with BBK")
def behaviour_beats_parameters_uphill(run: Run) -> float:
    budget = 60 if run.full else 12
    by_what, by_parameters = (
        hill_episodes(run.seed, budget, kernel=kernel) for kernel in ("bbk", "se")
    )
    run.note(f"seed {run.seed}: BBK {by_what}, SE {by_parameters} of {budget} episodes")
    return float(by_parameters - by_what)


@PAPER.claim(
    "With good features of the model an optimal policy comes as soon as the model is learnt",
    full_seeds=FORTY,
)
@stated(4.0, "Section 5.2 and Figure 5", unit="episodes", kind="own", seeds=(0, 1))
@at_most(10.0, because="five first policies, then one that the model recommends")
def good_model_climbs_at_once(run: Run) -> float:
    car = rl.MountainCar()
    world = rl.LinearWorldModel(
        car.good_transition_features, car.reward_features, terminal=car.is_terminal
    )
    return float(hill_episodes(run.seed, 40 if run.full else 15, kernel="se", mean=world))


@PAPER.claim(
    "Planar arm: the behaviour kernel reaches the point in fewer episodes than the SE kernel"
)
@stated("almost immediately", "Section 5.5 and Figure 8")
@measured(kind="ordering", unit="episodes", seeds=(0, 1), full_seeds=FORTY, stand_in=ARM)
@at_least(0.0, because="episodes to the goal with SE less those with BBK")
def behaviour_finds_the_point(run: Run) -> float:
    arm, budget = rl.PlanarArm(horizon=100), 30 if run.full else 7
    found = []
    for kernel in ("bbk", "se"):
        search = rl.TrajectoryBO(
            arm.make_policy(), (-1, 1), kernel=kernel, acq_optimizer="multistart",
            random_state=run.seed,
        )  # fmt: skip
        found.append(budget + 1)
        for k in range(budget):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                search.run(arm, 1)
            if search.history_[-1]["value"] > 0:
                found[-1] = k + 1
                break
    run.note(f"seed {run.seed}: BBK {found[0]}, SE {found[1]} of {budget} episodes")
    return float(found[1] - found[0])


@PAPER.claim("Bicycle: the behaviour kernel shows no improvement over random policies")
@stated("no improvement in 300 episodes", "Section 5.6", seeds=(0, 1), full_seeds=tuple(range(15)))
@measured(stand_in="episodes of 300 steps, and fewer of them", unit="steps", kind="ordering")
@at_most(30.0, because="a tenth of an episode longer than the mean of random policies")
def behaviour_fails_on_the_bicycle(run: Run) -> float:
    bicycle, n = rl.Bicycle(horizon=300), 30 if run.full else 7
    policy = bicycle.make_policy()
    search = rl.TrajectoryBO(
        policy, (-1, 1), kernel=rl.BehaviourKernel(thin=5), acq_optimizer="multistart",
        random_state=run.seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.run(bicycle, n)
    thetas = np.random.RandomState(run.seed).uniform(-1, 1, (200, policy.n_params))
    chance = bicycle.roll_outs(policy, thetas, random_state=run.seed).lengths.mean()
    chosen = np.array([h["theta"] for h in search.history_[5:]])
    again = bicycle.roll_outs(policy, chosen, 4, random_state=run.seed).lengths.mean()
    return float(again - chance)


@PAPER.figure("What is believed of a function after five trials, with a simulator that errs")
def belief():
    run = Run(seed=3, full=False)
    off = random_function(np.random.RandomState(1003))
    search, truth, grid = searched(run, 0.0, lambda f, _: lambda t: f(t) + 0.5 * off(t))
    return plot.plot_return_posterior(search, grid[:, 0], truth=truth(grid)).figure


@PAPER.figure("Twelve policies of the mountain car, ordered by return, as two kernels see them")
def kernels():
    car = rl.MountainCar()
    policy = car.make_policy()
    thetas = np.random.RandomState(0).uniform(-1, 1, (12, 16))
    runs = car.episodes(policy, thetas, random_state=0)
    values = [each[0].total for each in runs]
    squares = ((thetas[:, None] - thetas[None]) ** 2).sum(axis=2)
    return plot.plot_policy_kernels(
        {
            "behaviour": rl.BehaviourKernel(normalize="per_step").matrix(policy, thetas, runs),
            "parameters": np.exp(-0.5 * squares / squares.mean()),
        },
        values,
    )[0].figure
