"""Moore et al. (2014): reinforcement learning for closed-loop propofol anaesthesia."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

from octavo import data, plot, rl
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, measured, stated, within

PAPER = Paper(
    key="propofol-control",
    title="Reinforcement Learning for Closed-Loop Propofol Anesthesia: A Study in Human Volunteers",
    authors="B. L. Moore, L. D. Pyeatt, V. Kulkarni, P. Panousis, K. Padrez and A. G. Doufas",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("peak-times-spread", "transitions-add-up"),
    tables={
        "Table 1": "[words for the signs of error and change]",
        "Table 2": "meets-the-criteria far-sighted-criteria",
        "Table 3": "simulated-* far-sighted-table",
        "Table 4": "weights-add-up",
        "Table 5": "weights-add-up",
        "Tables 6 to 8": "[measured in volunteers; embedded as data]",
        "Table 9": "summary-adds-up",
        "Table 10": "transitions-add-up",
        "Table 11": "transitions-add-up",
        "Table 12": "clusters-add-up",
        "Figure 3": "[the curve is not printed as numbers; ours is a guess]",
        "Figure 5": "peak-times-spread peak-effects-spread",
        "Figures 9 to 12": "[signals of volunteers, not published]",
    },
    refutations={
        "weights-add-up summary-adds-up": "The printed rows do not have the printed means."
    },
    methods=(
        Method(
            name="WatkinsQLambda",
            room="rl",
            family="infusion",
            task="learn a fixed policy for a slow process, and try it on simulated patients",
            summary="Tabular Q(λ) in a simulated patient under propofol, rival controllers, and "
            "in-silico trials with the clinical measures. Simulation, not a medical device.",
            use_when="A slow process with one input and one output has a simulator, and a policy "
            "that can be read as a table is wanted; or clinical measures of control are.",
            avoid_when="Something is to be done to a patient. Where a PID controller can be tuned, "
            "tune one first: on our patients it is ahead.",
            instead="Nothing; scikit-learn has no control.",
            peers=("PyTCI",),
            plots=(
                "plot_infusion",
                "plot_infusion_policy",
                "plot_trial",
                "plot_dose_response",
                "plot_bolus_family",
            ),
        ),
    ),
)

SEEDS, TRIALS = (0, 1), (0, 1, 2, 3, 4)
GUESSES = (
    "the curve from concentration to BIS, the filter, the ranges of exploring starts, the noise in "
    "training and the sizes of all variability but noise and the sign of stimuli are not printed; "
    "3·10⁸ steps of training for 5·10¹⁰"
)
PRINTED = "means of printed rows; half a unit of the last printed digit, and of the rows'"


# Chosen on seed 900 among more than ten trainings: errors count for minutes, as the drug acts.
FAR_SIGHTED = {"gamma": 0.95, "lam": 0.95, "epsilon": 0.05}


@lru_cache(maxsize=16)
def trained(seed: int, n_episodes: int, far: bool = False):
    """Return a policy as the paper trains it, or a far-sighted one; chosen on seed 900."""
    env, settings = rl.PropofolEnv(exploring=True), FAR_SIGHTED if far else {}
    agent = rl.WatkinsQLambda(random_state=seed, patience=20, **settings)
    return agent.fit(env, n_episodes)


@lru_cache(maxsize=32)
def trial(seed: int, full: bool, who: str = "paper") -> dict:
    """Return a trial on patients that no setting has seen."""
    n = 1000 if full else 40
    if who == "pid":
        controller = rl.PIDController()
    else:
        controller = trained(seed, 300_000 if full else 2_000, who == "far")
    return rl.run_trial(controller, n, random_state=10_000 + seed)


def median(run: Run, name: str, who: str = "paper") -> float:
    return float(np.nanmedian(trial(run.seed, run.full, who)[name]))


def peaks() -> tuple[np.ndarray, np.ndarray]:
    """Return times in minutes and Ce of the peaks after 100 mg, on the grid of five seconds."""
    times, values = [], []
    for ke0 in (0.1275, 0.17, 0.2125):
        pk = rl.SchniderPK(21, 75, 170, "male", ke0)
        Ce = pk.simulate(np.zeros(120), 5.0, start=pk.bolus(100.0))[:, 3]
        times.append((Ce.argmax() + 1) * 5 / 60)
        values.append(Ce.max())
    return np.array(times), np.array(values)


@PAPER.claim("With ke0 of 0.17 ± 25 % the time of peak effect varies by about 25 s")
@stated(25.0, "Section 3.3.1 and Figure 5", unit="s of the model", kind="theorem", seeds=(0,))
@within(2.5, of=25.0, because="half a step of five seconds on the grid")
def peak_times_spread(run: Run) -> float:
    times, _ = peaks()
    run.note(f"peaks at {', '.join(f'{t:.2f}' for t in times)} min")
    return float(60 * np.ptp(times))


@PAPER.claim("The peak effect varies by more than 20 points of BIS")
@stated(20.0, "Section 3.3.1 and Figure 5", unit="BIS", kind="ordering", seeds=(0,))
@measured(stand_in="a sigmoid and 100 mg, since neither the curve nor the dose is printed")
@at_least(20.0, because="deterministic; the text's words")
def peak_effects_spread(run: Run) -> float:
    return float(np.ptp(rl.SigmoidPD().predict(peaks()[1])))


@PAPER.claim("Means of the times and overshoots at changes of target", seeds=(0,))
@stated("2.47, 3.95, 5.21, 8.25; 9.72, 10.71, 12.43, 8.87", "Tables 10 and 11", kind="theorem")
@at_most(0.01, because=PRINTED)
def transitions_add_up(run: Run) -> float:
    tables, names = data.load_propofol_volunteers(), ("t_sp", "t_peak", "t_ss", "bis_peak")
    printed = np.array([2.47, 3.95, 5.21, 8.25, 9.72, 10.71, 12.43, 8.87])
    ours = [table[name].mean() for table in (tables.down, tables.up) for name in names]
    return float(np.abs(ours - printed).max())


@PAPER.claim("Means of the fast and the slow group")
@stated("7.43, 8.21, 8.43; 11.09, 12.22, 14.84", "Table 12", kind="theorem", seeds=(0,))
@at_most(0.01, because=PRINTED)
def clusters_add_up(run: Run) -> float:
    up = data.load_propofol_volunteers().up
    printed = np.array([7.43, 8.21, 8.43, 11.09, 12.22, 14.84])
    parts = (up["fast"], ~up["fast"])
    ours = [up[name][part].mean() for part in parts for name in ("t_sp", "t_peak", "t_ss")]
    return float(np.abs(ours - printed).max())


@PAPER.claim("Mean weight of the volunteers")
@stated(72.2, "Tables 4 and 5", unit="kg", kind="theorem", seeds=(0,))
@within(0.1, of=72.2, because=PRINTED)
def weights_add_up(run: Run) -> float:
    return float(data.load_propofol_volunteers().volunteers["weight"].mean())


@PAPER.claim("Mean MDAPE at target 40", 7.4, "Tables 6 and 9", unit="%", kind="theorem", seeds=(0,))
@within(0.1, of=7.4, because=PRINTED)
def summary_adds_up(run: Run) -> float:
    return float(data.load_propofol_volunteers().target_40["mdape"].mean())


@PAPER.claim("Median MDAPE of 1,000 simulated patients")
@stated(3.33, "Table 3", unit="%", kind="figure", seeds=SEEDS, full_seeds=TRIALS, stand_in=GUESSES)
@within(0.67, of=3.33, because="a fifth of it, which is what the project set itself")
def simulated_accuracy(run: Run) -> float:
    return median(run, "mdape")


@PAPER.claim("Median share of measurements within 5 of the target")
@stated(82.4, "Table 3", unit="%", kind="figure", seeds=SEEDS, full_seeds=TRIALS, stand_in=GUESSES)
@within(16.5, of=82.4, because="a fifth of it, which is what the project set itself")
def simulated_control(run: Run) -> float:
    run.note(f"seed {run.seed}: {median(run, 'controlled_smoothed'):.1f} % of the smoothed BIS")
    return median(run, "controlled")


@PAPER.claim("Median root mean squared error", stand_in=GUESSES)
@stated(2.79, "Table 3", unit="BIS", kind="figure", seeds=SEEDS, full_seeds=TRIALS)
@within(0.56, of=2.79, because="a fifth of it, which is what the project set itself")
def simulated_error(run: Run) -> float:
    return median(run, "rmse")


@PAPER.claim("Median bias is small")
@stated(-0.17, "Table 3", unit="%", kind="figure", seeds=SEEDS, full_seeds=TRIALS, stand_in=GUESSES)
@within(5.0, of=0.0, because="the criterion of Table 2")
def simulated_bias(run: Run) -> float:
    return median(run, "mdpe")


@PAPER.claim("The medians of the simulated patients meet all six criteria")
@stated(6.0, "Tables 2 and 3, Section 3.4.5")
@measured(kind="ordering", unit="criteria", seeds=SEEDS, full_seeds=TRIALS, stand_in=GUESSES)
@at_least(5.5, because="all of them, divergence read as % per minute")
def meets_the_criteria(run: Run) -> float:
    return criteria_met(run, "paper")


def criteria_met(run: Run, who: str) -> float:
    table = rl.acceptance_table(trial(run.seed, run.full, who))
    names = ("mdpe", "mdape", "wobble", "divergence_per_minute", "controlled", "rmse")
    missed = [f"{name} {table[name]['median']:.3g}" for name in names if not table[name]["met"]]
    run.note(f"seed {run.seed} misses: {', '.join(missed) or 'none'}")
    run.note(f"seed {run.seed}: divergence {table['divergence']['median']:.3f} % per hour")
    return float(len(names) - len(missed))


@PAPER.claim("The learnt policy is ahead of a tuned PID controller on the same patients")
@stated("constant-coefficient PID is not the ideal solution", "Section 2.5")
@measured(kind="own", unit="%", seeds=SEEDS, full_seeds=TRIALS)
@at_least(0.0, because="median MDAPE of the PID controller less the policy's")
def ahead_of_pid(run: Run) -> float:
    rival = median(run, "mdape", "pid")
    run.note(f"seed {run.seed}: PID {rival:.2f}, policy {median(run, 'mdape'):.2f}")
    return rival - median(run, "mdape")


far_sighted = PAPER.section(
    where="Tables 2 and 3", kind="own", seeds=SEEDS, full_seeds=TRIALS, stand_in=GUESSES
)


@far_sighted.claim(
    "With γ = λ = 0.95 and ε = 0.05 the medians of the patients meet all six criteria"
)
@stated(6.0, unit="criteria")
@at_least(5.5, because="all of them, divergence read as % per minute")
def far_sighted_criteria(run: Run) -> float:
    return criteria_met(run, "far")


@far_sighted.claim(
    "With γ = λ = 0.95 and ε = 0.05 no median of Table 3 is missed by more than a fifth",
    "3.33, 3.30, 2.79 and 82.4",
)
@at_most(0.2, because="largest relative distance of MDAPE, wobble, RMSE and control")
def far_sighted_table(run: Run) -> float:
    printed = {"mdape": 3.33, "wobble": 3.30, "rmse": 2.79, "controlled": 82.4}
    ours = {name: median(run, name, "far") for name in printed}
    run.note(f"seed {run.seed}: " + ", ".join(f"{name} {v:.2f}" for name, v in ours.items()))
    return max(abs(ours[name] / value - 1) for name, value in printed.items())


@far_sighted.claim("With γ = λ = 0.95 and ε = 0.05 the policy is ahead of a tuned PID controller")
@stated("constant-coefficient PID is not the ideal solution", unit="%")
@at_least(0.0, because="median MDAPE of the PID controller less the policy's")
def far_sighted_pid(run: Run) -> float:
    return median(run, "mdape", "pid") - median(run, "mdape", "far")


@PAPER.claim("Training runs at five million steps a second on one core")
@stated("one week for 5·10¹⁰ steps, 8·10⁴ a second", "Section 3.2.5")
@measured(kind="own", unit="million steps/s", seeds=SEEDS, full_seeds=TRIALS)
@at_least(5.0, because="what the project set itself; CPU time")
def training_speed(run: Run) -> float:
    env, n = rl.PropofolEnv(exploring=True), 20_000 if run.full else 1_000
    rl.WatkinsQLambda(random_state=run.seed).fit(env, 2)
    start = time.process_time()
    found = rl.WatkinsQLambda(random_state=run.seed).fit(env, n)
    return found.n_steps_ / (time.process_time() - start) / 1e6


@PAPER.figure("Peak effect after a bolus for three values of ke0 (simulation)")
def bolus():
    patients = {f"ke0 = {k}": rl.SchniderPK(21, 75, 170, "male", k) for k in (0.1275, 0.17, 0.2125)}
    return plot.plot_bolus_family(patients, rl.SigmoidPD()).figure


@PAPER.figure("A simulated patient under a policy of 2·10⁶ steps: BIS, target and infusion")
def signals():
    record = rl.simulate_patients(trained(0, 2_000), random_state=10_000)
    return plot.plot_infusion(record)[0].figure


@PAPER.figure("The policy after 2·10⁶ steps, rates by error and change (simulation)")
def policy():
    return plot.plot_infusion_policy(trained(0, 2_000)).figure
