"""Kernel rows of candidates beside a plain loop, and whole searches beside botorch."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import (
    BehaviourKernel,
    Episode,
    GaussianLinearPolicy,
    SoftmaxLinearPolicy,
    TrajectoryBO,
)

_N, _T, _CANDIDATES = 100, 200, 1000
_PART = 20  # candidates that the slow solvers get


def rows_problem():
    rng = np.random.RandomState(0)
    policy = SoftmaxLinearPolicy(5, 3)
    thetas = rng.uniform(-1, 1, (_N, 15))
    runs = [
        [Episode(rng.normal(size=(_T, 5)), rng.randint(3, size=_T), np.zeros(_T))] for _ in thetas
    ]
    # a search stacks its episodes once and asks for rows of candidates again and again
    steps = {k: _kernel(k).steps(policy, thetas, runs) for k in (1, 10)}
    return policy, thetas, runs, rng.uniform(-1, 1, (_CANDIDATES, 15)), steps


def _kernel(thin=1):
    return BehaviourKernel(normalize="per_step", thin=thin)


def octavo_rows(data, thin=1, dtype=np.float32):
    policy, _, _, candidates, steps = data
    sums = _kernel(thin).sums(policy, candidates, steps[thin], dtype)
    return _kernel(thin).from_divergence(_kernel(thin).divergence_from_sums(sums, steps[thin]))


def octavo_double_rows(data):
    return octavo_rows(data, dtype=np.float64)


def octavo_thin_rows(data):
    return octavo_rows(data, 10)


def loop_rows(data):
    """The same by numpy, a candidate and a policy at a time."""
    policy, thetas, runs, candidates, _ = data
    out = np.empty((_PART, len(thetas)))
    for c, new in enumerate(candidates[:_PART]):
        for j, (theta, (run,)) in enumerate(zip(thetas, runs)):
            mine, own = (policy.log_probs(t, run.states) for t in (new, theta))
            at = np.arange(len(run)), run.actions
            weight = np.exp(np.concatenate([[0.0], np.cumsum(mine[at] - own[at])[:-1]]))
            ahead = np.minimum(weight, 10.0) @ (np.exp(mine) * (mine - own)).sum(axis=1)
            behind = (np.exp(own) * (own - mine)).sum()
            out[c, j] = np.exp(-np.sqrt(max(ahead, 0) / _T) - np.sqrt(max(behind, 0) / _T))
    return out


def rows_agree(data, answers):
    exact = answers["numpy, pair by pair"]
    gap = np.abs(answers["octavo"][:_PART] - exact).max()
    assert gap < 1e-3  # single precision, under a root
    fine = np.abs(answers["octavo, double precision"][:_PART] - exact).max()
    assert fine < 1e-10
    return f"Kernel values differ by {gap:.0e} at most, in double precision by {fine:.0e}."


def surface_problem():
    """Fifteen evaluations of Branin's function on the unit square, turned to be maximised."""
    return np.random.RandomState(0).uniform(size=(5, 2))


def branin(theta):
    x, y = 15 * theta[..., 0] - 5, 15 * theta[..., 1]
    bowl = (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2
    return -(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def octavo_search(first, n=25):
    search = TrajectoryBO(GaussianLinearPolicy(2, 1), (0, 1), kernel="se", random_state=0)
    for k in range(n):
        theta = first[k] if k < len(first) else search.ask()
        search.tell(theta, [Episode([[0.0]], [[0.0]], [float(branin(theta))])])
    return search.best_value_


def botorch_search(first, n=25):
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(0)
    X = torch.tensor(first, dtype=torch.double)
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    while len(X) < n:
        y = torch.tensor(branin(X.numpy()))[:, None]
        model = SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        gain = LogExpectedImprovement(model, best_f=y.max())
        new = optimize_acqf(gain, box, q=1, num_restarts=5, raw_samples=64)[0]
        X = torch.cat([X, new])
    return float(branin(X.numpy()).max())


def searches_agree(data, answers):
    assert all(value > -1.0 for value in answers.values())
    return (
        "; ".join(f"{name} reaches {value:.3f}" for name, value in answers.items())
        + " (best -0.398)."
    )


CONTESTS = [
    Contest(
        name="behaviour kernel",
        problem="1,000 candidates against 100 policies of 200 steps, 3 actions",
        setup=rows_problem,
        solvers={
            "octavo": octavo_rows,
            "octavo, double precision": octavo_double_rows,
            "octavo, every tenth step": octavo_thin_rows,
            "numpy, pair by pair": loop_rows,
        },
        agree=rows_agree,
        work={
            "octavo": _CANDIDATES,
            "octavo, double precision": _CANDIDATES,
            "octavo, every tenth step": _CANDIDATES,
            "numpy, pair by pair": _PART,
        },
        unit="candidate",
        repeats=3,
        target="Aim: 50 times a loop over pairs, and 5 ms for all candidates.",
        limit="2e7 pairs of a step and a candidate, each with 10 multiplications for logits, 3 "
        "exponentials and a logarithm, some 100 operations: at 32 a cycle of 3 GHz, the most a "
        "core does in single precision, 20 ms. Every tenth step has a tenth of them",
    ),
    Contest(
        name="search",
        problem="25 evaluations of Branin's function, expected improvement",
        setup=surface_problem,
        solvers={"octavo": octavo_search, "botorch": botorch_search},
        agree=searches_agree,
        repeats=1,
        target="Aim: no slower than botorch.",
        limit="LAPACK: factors of at most 25 x 25, an evaluation",
    ),
]
