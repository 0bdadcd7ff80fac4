"""Contrastive gradients against finite differences of the energy and of the exact likelihood."""

import numpy as np
import pytest

from octavo.engine.contrastive.divergence import Phases, free_energy
from octavo.engine.contrastive.partition import log_partition
from octavo.sequence.conditional_rbm.wiring import (
    FactoredWiring,
    GatedWiring,
    PlainWiring,
    Shape,
    differences,
)

SHAPE = Shape(3, 4, 2, 1, 2)
WIRINGS = {
    "plain": PlainWiring(SHAPE),
    "factored": FactoredWiring(SHAPE._replace(n_styles=0), 3, None, True),
    "tied": FactoredWiring(SHAPE, 3, None, True),
    "untied": FactoredWiring(SHAPE, 3, None, False),
    "features": FactoredWiring(SHAPE, 3, 4, True),
    "untied features": FactoredWiring(SHAPE, 3, 4, False),
    "gated": GatedWiring(SHAPE, False),
    "by history": GatedWiring(SHAPE, True),
}


def setting(wiring, n=6, seed=0):
    rng = np.random.RandomState(seed)
    params = {k: 0.5 * rng.normal(size=v.shape) for k, v in wiring.start(rng).items()}
    return rng, params, rng.normal(size=(n, 6)), rng.uniform(0.5, 1.5, (n, 2))


def energy(wiring, params, past, style, v, h):
    field, _ = wiring.field(params, past, style, np)
    own = 0.5 * ((v - field.a) ** 2).sum(axis=1)
    return own - (h * (field.b + field.interaction.up(v))).sum(axis=1)


@pytest.mark.parametrize("name", WIRINGS)
def test_gradients_are_differences_of_energy_slopes(name):
    """Δθ is the slope of E(reconstruction) - E(data), up to a constant in v (Appendix C)."""
    wiring = WIRINGS[name]
    rng, params, past, style = setting(wiring)
    v0, vk = rng.normal(size=(2, 6, 3))
    h0, pk = 1.0 * rng.randint(0, 2, (6, 4)), rng.random_sample((6, 4))
    d = differences(Phases(v0, h0, h0, vk, pk), None, np)
    _, cache = wiring.field(params, past, style, np)
    found = wiring.gradient(params, past, style, cache, d, np)
    assert set(found) == set(params)
    for key, value in params.items():
        slope = np.zeros_like(value)
        for place in np.ndindex(*value.shape):
            sides = []
            for sign in (1, -1):
                moved = {**params, key: value.copy()}
                moved[key][place] += sign * 1e-5
                gap = energy(wiring, moved, past, style, vk, pk) - energy(
                    wiring, moved, past, style, v0, h0
                )
                sides.append(gap.mean())
            slope[place] = (sides[0] - sides[1]) / 2e-5
        # E is at most quadratic in each parameter, so differences are exact up to rounding
        np.testing.assert_allclose(found[key], slope, atol=1e-8, err_msg=key)


def loglik(wiring, params, past, style, v):
    field, _ = wiring.field(params, past, style, np)
    return (-free_energy(field, v) - log_partition(field)).mean()


@pytest.mark.parametrize("name", ["plain", "tied"])
def test_long_chains_give_the_gradient_of_the_likelihood(name):
    """CD-K with sampled visible units approaches the exact gradient (cosine above 0.99)."""
    wiring = WIRINGS[name]
    rng, params, past, style = setting(wiring, n=4)
    v = rng.normal(size=(4, 3))
    exact = {}
    for key, value in params.items():
        exact[key] = np.zeros_like(value)
        for place in np.ndindex(*value.shape):
            sides = []
            for sign in (1, -1):
                moved = {**params, key: value.copy()}
                moved[key][place] += sign * 1e-5
                sides.append(loglik(wiring, moved, past, style, v))
            exact[key][place] = (sides[0] - sides[1]) / 2e-5
    copies = 3000
    past, style, v = (np.tile(x, (copies, 1)) for x in (past, style, v))
    field, cache = wiring.field(params, past, style, np)
    x = v.copy()
    for _ in range(60):
        p = 1 / (1 + np.exp(-(field.b + field.interaction.up(x))))
        h = (rng.random_sample(p.shape) < p) * 1.0
        x = field.a + field.interaction.down(h) + rng.normal(size=x.shape)
    p0 = 1 / (1 + np.exp(-(field.b + field.interaction.up(v))))
    pk = 1 / (1 + np.exp(-(field.b + field.interaction.up(x))))
    d = differences(Phases(v, p0, p0, x, pk), None, np)
    found = wiring.gradient(params, past, style, cache, d, np)
    flat = [np.concatenate([g[key].ravel() for key in params]) for g in (exact, found)]
    cosine = flat[0] @ flat[1] / np.linalg.norm(flat[0]) / np.linalg.norm(flat[1])
    assert cosine > 0.99


def test_autoregressive_gradient_is_that_of_least_squares():
    """Without hidden units v - vK is the residual, and ΔA the slope of the squared error."""
    wiring = PlainWiring(Shape(3, 0, 2, 2))
    rng, params, past, _ = setting(wiring)
    v = rng.normal(size=(6, 3))
    field, _ = wiring.field(params, past, None, np)
    d = differences(
        Phases(v, np.zeros((6, 0)), np.zeros((6, 0)), field.a, np.zeros((6, 0))), None, np
    )
    found = wiring.gradient(params, past, None, None, d, np)
    residual = v - params["a"] - past @ params["A"]
    np.testing.assert_allclose(found["A"], past.T @ residual / 6, atol=1e-14)


def test_sparsity_pushes_what_hears():
    """The sparsity term is -λ(q - p) times the mean input, for W, B and b alone."""
    wiring = PlainWiring(SHAPE)
    rng, params, past, style = setting(wiring)
    v0, vk, h0, pk = (
        rng.normal(size=(6, 3)),
        rng.normal(size=(6, 3)),
        np.ones((6, 4)),
        np.zeros((6, 4)),
    )
    push = rng.normal(size=4)
    both = [
        wiring.gradient(
            params, past, style, None, differences(Phases(v0, h0, h0, vk, pk), p, np), np
        )
        for p in (push, None)
    ]
    gap = {key: both[0][key] - both[1][key] for key in params}
    np.testing.assert_allclose(gap["W"], np.outer(v0.mean(axis=0), push), atol=1e-12)
    np.testing.assert_allclose(gap["B"], np.outer(past[:, :3].mean(axis=0), push), atol=1e-12)
    np.testing.assert_allclose(gap["b"], push, atol=1e-12)
    assert not gap["A"].any()
    assert not gap["a"].any()
