"""Choi and Kim (2011): inverse reinforcement learning in partially observable environments."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from octavo import plot, rl
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, measured, stated, within

PAPER = Paper(
    key="inverse-rl-pomdp",
    title="Inverse Reinforcement Learning in Partially Observable Environments",
    authors="J. Choi and K.-E. Kim",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("expert-values", "explained-controllers"),
    tables={
        "Table 4": "reachable-beliefs expert-values",
        "Table 5": "closer-reward-plans-worse value-of-the-closer-reward",
        "Table 6": "explained-controllers expert-stays-optimal new-nodes rock-sample-stays-optimal",
        "Table 9": "expert-values",
        "Table 10": "margin-of-expectations projection rock-sample-from-logs",
        "Figure 10": "few-trajectories",
    },
    refutations={
        "value-of-the-closer-reward": "The plan is optimal for that reward, its bounds meet, and "
        "under the true reward it earns 0.60.",
    },
    methods=(
        Method(
            name="FSCIRL",
            room="rl",
            family="inverse",
            task="find the reward that a controller with a finite memory maximises",
            summary="A linear program over rewards under which no deviation from a finite-state "
            "controller pays, where the state is only partly observed.",
            use_when="The controller is written down (dialogue, triage, maintenance) and the "
            "question is what it optimises.",
            avoid_when="Only logs are at hand: TrajectoryIRL. The state is seen: MDPIRL.",
            instead="Nothing on PyPI knows partial observation; imitation needs the state.",
            peers=("cvxpy",),
            plots=("plot_controller", "plot_reward_bars"),
        ),
        Method(
            name="TrajectoryIRL",
            room="rl",
            family="inverse",
            modules=("inverse", "partial_observation"),
            task="find the reward behind logs of actions and observations",
            summary="Matches what an expert earns in features, by a nearest point of a polytope, "
            "its projection, or a margin between values; plans by point-based policy iteration.",
            use_when="Logs of an expert in a small known model whose state is hidden.",
            avoid_when="The model is unknown or has more than some hundred states.",
            instead="Nothing on PyPI knows partial observation; imitation needs the state.",
            peers=("cvxpy",),
            plots=("plot_inverse_values",),
        ),
    ),
)

MAP = "the map of Heaven/Hell is rebuilt from the text and Table 4: the drawing is not at hand"
ROCKS = "places of rocks, start and sensor of Rock Sample are not in the paper"
SEEDS = (0, 1, 2, 3, 4)
EXPERT = {"tiger": 1.9334, "maze": 1.0207, "grid": 0.7027, "heaven": 8.64}
STEPS = {"tiger": 20, "maze": 20, "grid": 50, "heaven": 300}


@lru_cache(maxsize=8)
def world(name: str) -> tuple[Any, Any]:
    """Return a problem and its expert: those that the paper draws, the others planned."""
    makers: dict[str, Any] = {
        "tiger": rl.make_tiger,
        "maze": rl.make_maze1d,
        "grid": rl.make_grid5,
        "heaven": rl.make_heaven_hell,
        "rocks": rl.make_rock_sample,
    }
    pomdp = makers[name]()
    if name == "maze":
        return pomdp, rl.FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)
    if name == "grid":
        return pomdp, rl.FSCPolicy([3, 1], [[1] * 9, [0] * 9])
    return pomdp, rl.PBPISolver(merge=name != "heaven").solve(pomdp)


@lru_cache(maxsize=32)
def explained(name: str, method: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rl.FSCIRL(method).fit(*world(name))


@PAPER.claim("Optimal controllers earn 1.93, 1.02, 0.70 and 8.64")
@stated("1.93, 1.02, 0.70, 8.64", "Table 9", kind="figure", seeds=(0,), stand_in=MAP)
@at_most(0.005, because="the largest distance to the printed values, two digits")
def expert_values(run: Run) -> float:
    printed = {"tiger": 1.93, "maze": 1.02, "grid": 0.70, "heaven": 8.64}
    worst = 0.0
    for name, value in printed.items():
        pomdp, expert = world(name)
        planned = rl.PBPISolver().solve(pomdp).value(pomdp)
        run.note(f"{name}: planned {planned:.4f}, expert {expert.value(pomdp):.4f}")
        worst = max(worst, abs(planned - value), abs(expert.value(pomdp) - value))
    return worst


@PAPER.claim("The experts reach 5, 4, 13 and 19 beliefs")
@stated("5, 4, 13, 19", "Table 4", kind="theorem", seeds=(0,), stand_in=MAP)
@at_most(0.0, because="counts; the branch of Heaven/Hell is placed by the last of them")
def reachable_beliefs(run: Run) -> float:
    wrong = 0
    for name, count in (("tiger", 5), ("maze", 4), ("grid", 13), ("heaven", 19)):
        pomdp, expert = world(name)
        found = np.unique(expert.reachable_beliefs(pomdp).beliefs.round(8), axis=0)
        run.note(f"{name}: {len(found)}")
        wrong += abs(len(found) - count)
    return float(wrong)


def tiger_value(listen: float, success: float) -> float:
    """Return what planning for a reward of Table 5 earns under the true one."""
    pomdp, _ = world("tiger")
    R = np.array([[listen, -100.0, success], [listen, success, -100.0]])
    return rl.PBPISolver().solve(pomdp, R).value(pomdp)


@PAPER.claim("Of two rewards of the tiger the one closer to the truth plans worse")
@stated(0.91, "Table 5", kind="ordering", seeds=(0,))
@at_least(0.0, because="the value for R1 less that for R2, exact plans")
def closer_reward_plans_worse(run: Run) -> float:
    # R1 lies on a tie of opening at two and at three: at 5.68 the plan waits for three, at 5.685,
    # which is printed as 5.68 or 5.69, for two as the paper says.
    run.note(f"success 5.68: {tiger_value(-1.0, 5.68):.4f}, 5.685: {tiger_value(-1.0, 5.685):.4f}")
    return tiger_value(-1.0, 5.685) - tiger_value(3.05, 10.0)


@PAPER.claim("Planning for the reward R2 of the tiger earns 1.02")
@stated(1.02, "Table 5", kind="figure", seeds=(0,))
@within(0.005, because="two digits; the plan is optimal, its bounds meet")
def value_of_the_closer_reward(run: Run) -> float:
    return tiger_value(3.05, 10.0)


@PAPER.claim("Planning for the learned reward earns what the expert earns")
@stated(0.0, "Table 6, D(R*), Tiger, Maze, Grid and Heaven/Hell", kind="figure", seeds=(0,))
@measured(stand_in=MAP + "; the weight of the penalty is not in the paper")
@at_most(0.005, because="the largest of the four differences, two digits")
def explained_controllers(run: Run) -> float:
    worst = 0.0
    for name in ("tiger", "maze", "grid", "heaven"):
        pomdp, expert = world(name)
        model = explained(name, "witness")
        gap = abs(expert.value(pomdp) - model.policy_.value(pomdp))
        run.note(
            f"{name}: D(R*) {gap:.1g}, {model.n_new_nodes_} new nodes, margin {model.margin_:.3g}"
        )
        worst = max(worst, gap)
    return worst


@PAPER.claim("The expert is optimal for the learned reward", kind="figure")
@stated(0.0, "Table 6, D(R_L), Tiger, Maze, Grid and Heaven/Hell, all methods that apply")
@measured(seeds=(0,), stand_in=MAP + "; the weight of the penalty is not in the paper")
@at_most(0.005, because="the largest of the differences, two digits")
def expert_stays_optimal(run: Run) -> float:
    worst = 0.0
    for name in ("tiger", "maze", "grid", "heaven"):
        pomdp, expert = world(name)
        for method in ("witness",) if name == "heaven" else ("witness", "dp", "q"):
            model = explained(name, method)
            R = model.reward_
            worst = max(worst, abs(expert.value(pomdp, R) - model.policy_.value(pomdp, R)))
    return worst


@PAPER.claim("Deviations: 375/75/39, 54/18/12 and 4096/2048/1044 new nodes")
@stated("375/75/39, 54/18/12, 4096/2048/1044", "Table 6, |N_new| of Tiger, Maze and Grid")
@measured(kind="theorem", seeds=(0,))
@at_most(0.0, because="counts")
def new_nodes(run: Run) -> float:
    printed = {"tiger": (375, 75, 39), "maze": (54, 18, 12), "grid": (4096, 2048, 1044)}
    wrong = 0
    for name, counts in printed.items():
        for method, count in zip(("q", "dp", "witness"), counts):
            wrong += abs(explained(name, method).n_new_nodes_ - count)
    return float(wrong)


def learned_as_good(run: Run, method: str) -> float:
    """Return whether four problems earn 99 % of the expert's value."""
    worst = np.inf
    names = ("tiger", "maze", "grid", "heaven")
    for name in names:
        pomdp, expert = world(name)
        n = 2000 if run.full else 500
        logs = pomdp.sample(expert, n, STEPS[name], random_state=run.seed)
        bases = ("state-action",) if name != "heaven" or not run.full else (
            "compact", "state", "state-action"
        )  # fmt: skip
        for basis in bases:
            rounds = 50 if run.full else 20
            model = rl.TrajectoryIRL(method, basis, rounds, random_state=run.seed)
            share = model.fit(pomdp, logs).policy_.value(pomdp) / expert.value(pomdp)
            if share < 0.99:
                run.note(f"seed {run.seed}, {name}, {basis}: {share:.3f} of the expert")
            worst = min(worst, share)
    return float(worst >= 0.99)


@PAPER.claim("MMFE earns what the expert earns on Tiger, Maze, Grid and Heaven/Hell")
@stated("equal", "Table 10, MMFE")
@measured(method="TrajectoryIRL", kind="ordering", seeds=(0, 1), full_seeds=SEEDS, stand_in=MAP)
@holds(because="every seed, problem and basis: at least 99 % of the expert's value")
def margin_of_expectations(run: Run) -> float:
    return learned_as_good(run, "mmfe")


@PAPER.claim("PRJ earns what the expert earns on Tiger, Maze, Grid and Heaven/Hell")
@stated("equal", "Table 10, PRJ")
@measured(method="TrajectoryIRL", kind="ordering", seeds=(0, 1), full_seeds=SEEDS, stand_in=MAP)
@holds(because="every seed, problem and basis: at least 99 % of the expert's value")
def projection(run: Run) -> float:
    return learned_as_good(run, "prj")


@PAPER.claim("Tiger: MMFE needs no more than a hundred trajectories to earn what the expert earns")
@stated("fewer trajectories than MMV and PRJ", "Figure 10")
@measured(method="TrajectoryIRL", kind="own", seeds=SEEDS, full_seeds=tuple(range(20)))
@at_least(0.99, because="share of the expert's value; the figure has no numbers")
def few_trajectories(run: Run) -> float:
    pomdp, expert = world("tiger")
    logs = pomdp.sample(expert, 100, 20, random_state=run.seed)
    model = rl.TrajectoryIRL(max_iter=30, random_state=run.seed).fit(pomdp, logs)
    return model.policy_.value(pomdp) / expert.value(pomdp)


@PAPER.claim("Rock Sample: the expert is optimal for the reward that the witness method learns")
@stated(0.0, "Table 6, D(R_L), Rock Sample", kind="own", seeds=(0,), stand_in=ROCKS)
@within(0.005, 0.0, because="two digits; a map of our own")
def rock_sample_stays_optimal(run: Run) -> float:
    if run.full:
        pomdp = rl.make_rock_sample(4, 3)
    else:
        pomdp = rl.make_rock_sample(2, 1)
    expert = rl.PBPISolver().solve(pomdp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rl.FSCIRL(solver=rl.PBPISolver()).fit(pomdp, expert)
    R = model.reward_
    run.note(
        f"D(R*) is {abs(expert.value(pomdp) - model.policy_.value(pomdp)):.3g} (13.42 in the paper)"
    )
    return abs(expert.value(pomdp, R) - model.policy_.value(pomdp, R))


@PAPER.claim("Rock Sample with the compact basis: MMFE comes within 6 % of the expert")
@stated(20.05 / 21.11, "Table 10, Rock Sample, C")
@measured(method="TrajectoryIRL", kind="own", seeds=(0,), full_seeds=SEEDS, stand_in=ROCKS)
@at_least(0.94, because="the printed values of MMFE and of the expert; our map")
def rock_sample_from_logs(run: Run) -> float:
    pomdp = rl.make_rock_sample(4, 3) if run.full else rl.make_rock_sample(2, 1)
    expert = rl.PBPISolver().solve(pomdp)
    logs = pomdp.sample(expert, 2000 if run.full else 200, 200, random_state=run.seed)
    basis = rl.rock_sample_basis(pomdp)
    rounds = 25 if run.full else 15
    solver = rl.PBPISolver(n_beliefs=300 if run.full else 100)
    model = rl.TrajectoryIRL("mmfe", basis, rounds, solver=solver, random_state=run.seed)
    value = model.fit(pomdp, logs).policy_.value(pomdp)
    run.note(f"seed {run.seed}: {value:.2f} of {expert.value(pomdp):.2f}")
    return value / expert.value(pomdp)


@PAPER.figure("The optimal controller of the tiger problem, and its reward beside the learned one")
def tiger_controller():
    import matplotlib.pyplot as plt

    pomdp, expert = world("tiger")
    fig, axes = plt.subplots(1, 4, figsize=(13, 3.6), width_ratios=(2, 1, 1, 1))
    plot.plot_controller(expert, pomdp, ax=axes[0])
    learned = explained("tiger", "witness").reward_
    plot.plot_reward_bars(
        {"true": pomdp.rewards(), "learned": rl.normalize_reward(learned, pomdp.rewards())},
        state_names=pomdp.state_names,
        action_names=pomdp.action_names,
        axes=axes[1:],
    )
    fig.tight_layout()
    return fig


@PAPER.figure("True and learned reward of the maze: only what the expert does in the goal counts")
def maze_rewards():
    pomdp, _ = world("maze")
    return plot.plot_reward_bars(
        {"true": pomdp.rewards(), "learned": explained("maze", "witness").reward_},
        state_names=pomdp.state_names,
        action_names=pomdp.action_names,
    )[0].figure
