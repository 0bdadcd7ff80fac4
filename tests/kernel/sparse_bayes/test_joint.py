"""The whole sweep draws from the posterior: Geweke's test, and exact enumeration of p(γ | y)."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from octavo.engine.mcmc.enumeration import all_subsets, exact_law, frequencies, total_variation
from octavo.engine.mcmc.joint_test import geweke_joint_test
from octavo.kernel.sparse_bayes.kernel_sources import FixedKernel, WeightedKernels, WidthKernel
from octavo.kernel.sparse_bayes.latent_scores import class_contrasts, starting_scores
from octavo.kernel.sparse_bayes.sampler import FullModel, Priors, SparseModel, draw_gamma, sweep
from tests.kernel.sparse_bayes.problems import dense_covariance, small_kernel

N = 5
N_MOVES = 5  # per sweep: the older β is, the plainer the error of the paper's order
# Light tails, so that means of g and of squares have errors that a normal law describes.
PRIORS = Priors(
    a_g=12.0, b_g=6.0, a_eta=12.0, b_eta=12.0, a_alpha=1.0, b_alpha=1.5, a_noise=12.0, b_noise=12.0
)


class State:
    """A model with its labels, and the coefficients as a vector over all samples."""

    def __init__(self, model):
        self.model, self.codes = model, np.zeros(N, dtype=np.intp)


def source_of(kind, rng):
    X, K = small_kernel(N, seed=8)
    if kind == "widths":
        source = WidthKernel(X, 1.5, ard=True)
        source.freeze()
        source.low, source.high = 0.7, 3.0
        for scale in source.scales:
            scale.scale = 0.8
        source.accept(rng.uniform(0.7, 3.0, 2))
        return source
    if kind == "weights":
        stack = np.array([K, small_kernel(N, seed=8, width=0.4)[1], np.eye(N)])
        source = WeightedKernels(stack, 0.4, 6.0, 6.0)
        source.freeze()
        while True:
            weights = rng.gamma(3.0, 1 / 3.0, 3) * (rng.random(3) >= 0.4)
            if weights.any():
                break
        source.accept(weights)
        return source
    return FixedKernel(K)


def prior_draw(kind, n_outputs, rng, *, full=False, noise=False):
    """Return a state whose parameters come from the prior."""
    source = source_of(kind, rng)
    S = np.zeros((N, n_outputs))
    if full:
        model = FullModel(source, S, PRIORS)
    else:
        sizes = all_subsets(N).sum(axis=1)
        logs = betaln(sizes + PRIORS.a_alpha, N - sizes + PRIORS.b_alpha)
        law = np.exp(logs) / np.exp(logs).sum()
        chosen = np.flatnonzero(all_subsets(N)[rng.choice(len(law), p=law)])
        model = SparseModel(source, S, PRIORS, k_max=N, chosen=rng.permutation(chosen))
    model.g = draw_gamma(PRIORS.a_g, PRIORS.b_g, rng)
    model.eta = draw_gamma(PRIORS.a_eta, PRIORS.b_eta, rng)
    if noise:
        model.tau = draw_gamma(PRIORS.a_noise, PRIORS.b_noise, rng)
    model.intercept = rng.standard_normal(n_outputs) / np.sqrt(model.eta)
    normal = rng.standard_normal((model.size, n_outputs)) / np.sqrt(model.g)
    if full:
        model.scaled = normal
    else:
        k = model.k
        model.coef = np.linalg.solve(model.active.factor[:k, :k].T, normal) if k else normal
    return State(model)


def simulate(state, rng, contrasts):
    """Draw scores and labels given the coefficients."""
    model = state.model
    noise = rng.standard_normal(model.S.shape) / np.sqrt(model.tau)
    model.S[:] = model.fitted() + noise
    if contrasts is not None:
        state.codes = (model.S @ contrasts.T).argmax(axis=1)
    return state


def statistics(state):
    model, at_first = state.model, 0.0
    f = model.fitted()
    at_first = float(0 in model.indices)
    return [
        model.k,
        at_first,
        model.g,
        model.g**2,
        model.eta,
        model.tau,
        model.intercept[0] ** 2,
        np.mean(f**2),
        f[0, 0] * f[1, 0],
        state.codes.mean(),
        model.k * model.g,
        *model.source.parameters,
        *(model.source.parameters > 0.5),
    ]


def right_order(state, rng, contrasts, noise=False):
    codes = None if contrasts is None else state.codes
    sweep(state.model, rng, n_moves=N_MOVES, codes=codes, contrasts=contrasts, noise=noise)
    return state


def papers_order(state, rng, contrasts):
    """Section 3.2 as printed: s, then η and g given the old β, then β, then γ."""
    model, gram = state.model, state.model.source.K
    model.refresh()
    model.draw_scores(rng, state.codes, contrasts)
    inside = model.indices
    model.norm = float(np.sum(model.coef * (gram[np.ix_(inside, inside)] @ model.coef)))
    model.draw_precisions(rng)
    model.refresh()
    model.draw_coef(rng)
    beta = np.zeros((N, model.n_outputs))
    beta[model.indices] = model.coef
    model.move_active(rng, N_MOVES)
    model.coef = beta[model.indices]  # nobody draws it anew before g is drawn given it
    return state


def z_scores(kind, contrasts, transition, n_draws, seed, **options):
    n_outputs = 1 if contrasts is None else contrasts.shape[1]
    test = geweke_joint_test(
        lambda rng: prior_draw(kind, n_outputs, rng, **options),
        lambda state, rng: simulate(state, rng, contrasts),
        transition,
        statistics,
        n_draws,
        np.random.default_rng(seed),
    )
    return np.abs(test.z).max()


@pytest.mark.slow
def test_the_sweep_leaves_the_posterior_invariant():
    """About a dozen statistics: |z| > 4.5 has a chance of 1e-4."""
    D = class_contrasts(2)
    assert z_scores("fixed", D, lambda s, rng: right_order(s, rng, D), 5_000, 0) < 4.5


@pytest.mark.slow
def test_the_papers_order_does_not():
    D = class_contrasts(2)
    assert z_scores("fixed", D, lambda s, rng: papers_order(s, rng, D), 5_000, 0) > 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n_classes", "full"),
    [
        ("widths", 2, False),
        ("weights", 2, False),
        ("fixed", 3, False),
        ("widths", 3, False),
        ("fixed", 2, True),
        ("widths", 2, True),
        ("weights", 3, True),
    ],
)
def test_so_does_the_sweep_of_every_variant(kind, n_classes, full):
    D = class_contrasts(n_classes)
    step = lambda s, rng: right_order(s, rng, D)  # noqa: E731
    assert z_scores(kind, D, step, 12_000, 1, full=full) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_so_does_the_sweep_of_a_regression(full):
    step = lambda s, rng: right_order(s, rng, None, noise=True)  # noqa: E731
    assert z_scores("fixed", None, step, 12_000, 2, full=full, noise=True) < 4.5


def orthant_probability(Q, signs):
    flipped = Q * np.outer(signs, signs)
    zero = np.zeros(len(Q))
    return stats.multivariate_normal.cdf(
        zero, zero, flipped, maxpts=2_000_000, abseps=1e-7, releps=1e-7
    )


@pytest.mark.slow
def test_active_sets_given_labels_are_those_of_exact_enumeration():
    """p(γ | y) ∝ p(γ) Pr(s has the signs of y): orthant probabilities, n = 4, fixed g and η."""
    n, g, eta = 4, 0.3, 0.5
    _, K = small_kernel(n, seed=11)
    codes, D, rng = np.array([1, 0, 0, 1]), class_contrasts(2), np.random.default_rng(3)
    model = SparseModel(
        FixedKernel(K), starting_scores(codes, D, rng), Priors(), k_max=n,
        chosen=np.empty(0, dtype=np.intp),
    )  # fmt: skip
    states = all_subsets(n)
    law = exact_law(
        lambda mask: (
            np.log(orthant_probability(dense_covariance(K, mask, g, eta), 2 * codes - 1))
            + betaln(mask.sum() + 1, n - mask.sum() + 1)
        ),
        states,
    )
    seen = np.zeros((30_000, n), dtype=bool)
    for draw in seen:
        model.g, model.eta = g, eta
        sweep(model, rng, n_moves=1, codes=codes, contrasts=D)
        draw[model.indices] = True
    assert total_variation(frequencies(seen, states), law) < 0.03
    # The bound is no formality: a law without the data would fail it.
    flat = exact_law(lambda mask: betaln(mask.sum() + 1, n - mask.sum() + 1), states)
    assert total_variation(flat, law) > 0.06
