"""Energies, chains and partition functions against enumeration, quadrature and closed forms."""

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad

from octavo.engine.contrastive.annealing import annealed_log_partition
from octavo.engine.contrastive.descent import Rates, layout_of, momentum_step
from octavo.engine.contrastive.divergence import (
    Field,
    contrastive_phases,
    free_energy,
    free_energy_gradient,
    gibbs_frame,
    hidden_probability,
    settle,
    sigmoid,
)
from octavo.engine.contrastive.draws import Draws
from octavo.engine.contrastive.interactions import Factored, Gated, Plain
from octavo.engine.contrastive.partition import log_partition


def states(n):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def field_of(kind, visible, n=4, D=3, H=4, seed=0, size=0.7):
    rng = np.random.RandomState(seed)
    a, b = rng.normal(size=(n, D)), rng.normal(size=(n, H))
    interaction = {
        "plain": Plain(size * rng.normal(size=(D, H))),
        "factored": Factored(
            size * rng.normal(size=(D, 5)), rng.normal(size=(H, 5)) / 2, rng.normal(size=(n, 5))
        ),
        "ungated": Factored(size * rng.normal(size=(D, 2)), rng.normal(size=(H, 2)), None),
        "gated": Gated(size * rng.normal(size=(2, D, H)), rng.uniform(0.2, 1, (n, 2))),
    }[kind]
    return Field(a, b, interaction, visible, np)


def energy(field, row, v, h):
    """Eq. (16), written out."""
    W = field.interaction.matrix(row)
    own = 0.5 * np.sum((v - field.a[row]) ** 2)
    if field.visible == "binary":
        own = -field.a[row] @ v
    return own - v @ W @ h - field.b[row] @ h


KINDS = ["plain", "factored", "ungated", "gated"]


@pytest.mark.parametrize("visible", ["gaussian", "binary"])
@pytest.mark.parametrize("kind", KINDS)
def test_free_energy_is_the_sum_over_hidden_states(kind, visible):
    field = field_of(kind, visible)
    v = np.random.RandomState(1).normal(size=(4, 3))
    exact = [-np.log(sum(np.exp(-energy(field, i, v[i], h)) for h in states(4))) for i in range(4)]
    np.testing.assert_allclose(free_energy(field, v), exact, rtol=1e-12)


@pytest.mark.parametrize("visible", ["gaussian", "binary"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_of_the_free_energy_by_differences(kind, visible):
    field = field_of(kind, visible)
    v = np.random.RandomState(2).normal(size=(4, 3))
    step = 1e-6
    for i in range(3):
        move = step * np.eye(3)[i]
        slope = (free_energy(field, v + move) - free_energy(field, v - move)) / (2 * step)
        # central differences: h² f'''/6 and rounding eps/h are both below 1e-9
        np.testing.assert_allclose(free_energy_gradient(field, v)[:, i], slope, atol=1e-8)


def test_partition_of_gaussian_units_by_quadrature():
    field = field_of("plain", "gaussian", n=1, D=2, H=3, size=0.4)

    def density(y, x):
        return float(np.exp(-free_energy(field, np.array([[x, y]])))[0])

    total, error = dblquad(density, -9, 9, -9, 9, epsabs=1e-10, epsrel=1e-10)
    assert abs(log_partition(field)[0] - np.log(total)) < 1e-8
    assert error < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_partition_of_binary_units_by_enumeration(kind):
    field = field_of(kind, "binary")
    exact = [
        np.log(sum(np.exp(-energy(field, i, v, h)) for v in states(3) for h in states(4)))
        for i in range(4)
    ]
    np.testing.assert_allclose(log_partition(field), exact, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_partition_of_gaussian_units_as_a_mixture(kind):
    """Z is a sum over hidden states, each integrated in closed form."""
    field = field_of(kind, "gaussian")
    for i in range(4):
        W = field.interaction.matrix(i)
        terms = [
            field.b[i] @ h + field.a[i] @ W @ h + 0.5 * np.sum((W @ h) ** 2) for h in states(4)
        ]
        exact = 1.5 * np.log(2 * np.pi) + np.log(np.sum(np.exp(terms)))
        assert abs(log_partition(field)[i] - exact) < 1e-12 * max(1, abs(exact))


def test_blocks_of_hidden_states_do_not_change_the_partition(monkeypatch):
    import octavo.engine.contrastive.partition as partition

    field = field_of("plain", "gaussian", H=8, size=0.3)
    whole = log_partition(field)
    monkeypatch.setattr(partition, "_NUMBERS", 64)
    np.testing.assert_allclose(log_partition(field), whole, rtol=1e-13)


@pytest.mark.parametrize("visible", ["gaussian", "binary"])
@pytest.mark.parametrize("kind", ["plain", "gated"])
def test_annealing_is_within_three_standard_errors(kind, visible):
    field = field_of(kind, visible, n=3, D=4, H=12, size=0.3)
    found = annealed_log_partition(field, Draws(0, field.a), n_runs=400, n_temperatures=300)
    gap = np.abs(found.log_partition - log_partition(field)) / found.standard_error
    assert (gap < 3).all()
    assert (found.standard_error < 0.2).all()


def test_chain_has_the_moments_of_the_mixture():
    """A Gibbs chain with sampled visible units against the exact mixture of 2^3 Gaussians."""
    field = field_of("plain", "gaussian", n=1, D=2, H=3, size=0.6, seed=3)
    W, a, b = field.interaction.W, field.a[0], field.b[0]
    h = states(3)
    weight = h @ b + h @ W.T @ a + 0.5 * ((h @ W.T) ** 2).sum(axis=1)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean = weight @ (a + h @ W.T)
    n, rng = 20_000, np.random.RandomState(0)
    many = Field(
        np.repeat(field.a, n, 0), np.repeat(field.b, n, 0), field.interaction, "gaussian", np
    )
    v = rng.normal(size=(n, 2))
    for _ in range(40):
        hidden = (rng.random_sample((n, 3)) < hidden_probability(many, v)).astype(float)
        v = a + hidden @ W.T + rng.normal(size=(n, 2))
    spread = v.std(axis=0) / np.sqrt(n)
    assert (np.abs(v.mean(axis=0) - mean) < 4 * spread).all()


@pytest.mark.parametrize("kind", KINDS)
def test_settled_units_are_a_stationary_minimum(kind):
    field = field_of(kind, "gaussian", size=0.4)
    start = np.random.RandomState(5).normal(size=(4, 3))
    found = settle(field, start)
    assert np.abs(free_energy_gradient(field, found)).max() < 1e-8
    assert (free_energy(field, found) <= free_energy(field, start)).all()
    held = settle(field, start, missing=np.array([[True, False, True]] * 4))
    np.testing.assert_array_equal(held[:, 1], start[:, 1])
    assert np.abs(free_energy_gradient(field, held)[:, [0, 2]]).max() < 1e-8


def test_clamped_units_stay():
    field = field_of("plain", "gaussian")
    v = np.random.RandomState(5).normal(size=(4, 3))
    uniforms = np.random.RandomState(6).random_sample((5, 4, 4))
    moved = gibbs_frame(field, v, uniforms, missing=np.array([[False, True, False]] * 4))
    np.testing.assert_array_equal(moved[:, [0, 2]], v[:, [0, 2]])
    assert (moved[:, 1] != v[:, 1]).all()


def test_phases_of_one_step():
    field = field_of("plain", "gaussian")
    v = np.random.RandomState(5).normal(size=(4, 3))
    u = np.random.RandomState(6).random_sample((1, 4, 4))
    found = contrastive_phases(field, v, u)
    W = field.interaction.W
    p0 = 1 / (1 + np.exp(-(field.b + v @ W)))
    h0 = (u[0] < p0).astype(float)
    vk = field.a + h0 @ W.T
    np.testing.assert_allclose(found.vk, vk, atol=1e-14)
    np.testing.assert_allclose(found.pk, 1 / (1 + np.exp(-(field.b + vk @ W))), atol=1e-14)
    np.testing.assert_array_equal(found.h0, h0)


def test_drawn_reconstructions_leave_a_machine_that_made_the_data_where_it_is():
    rng, n = np.random.RandomState(8), 200_000
    one = field_of("plain", "gaussian", n=1, D=2, H=3)
    W, every = one.interaction.W, states(3)
    # p(h) of the mixture of 2^H Gaussians with means a + Wh
    weight = every @ (one.b[0] + one.a[0] @ W) + 0.5 * ((every @ W.T) ** 2).sum(axis=1)
    chance = np.exp(weight - weight.max())
    h = every[rng.choice(len(every), n, p=chance / chance.sum())]
    v = one.a + h @ W.T + rng.normal(size=(n, 2))
    field = Field(
        np.repeat(one.a, n, axis=0), np.repeat(one.b, n, axis=0), one.interaction, "gaussian", np
    )
    uniforms, noise = rng.random_sample((1, n, 3)), rng.normal(size=(1, n, 2))
    for shaken, stays in ((noise, True), (None, False)):
        found = contrastive_phases(field, v, uniforms, shaken)
        pushes = v[:, :, None] * found.h0[:, None] - found.vk[:, :, None] * found.pk[:, None]
        wide = np.abs(pushes.mean(axis=0)) / (pushes.std(axis=0) / np.sqrt(n))
        assert (wide.max() < 4.5) == stays


def test_moves_along_a_projection_are_moves_of_missing_units():
    field = field_of("plain", "gaussian")
    v = np.random.RandomState(5).normal(size=(4, 3))
    missing, along = np.array([[False, True, False]] * 4), np.diag([0.0, 1.0, 0.0])
    uniforms = np.random.RandomState(6).random_sample((5, 4, 4))
    for fill in (settle, lambda *given, **more: gibbs_frame(*given, uniforms, **more)):
        np.testing.assert_allclose(
            fill(field, v, along=along), fill(field, v, missing=missing), atol=1e-12
        )


def test_sigmoid_at_the_ends():
    assert sigmoid(np.array([-1e4, 0.0, 1e4]), np).tolist() == [0.0, 0.5, 1.0]


def test_step_is_clipped_by_its_root_mean_square():
    params = {"a": np.ones(2), "W": np.ones((2, 2))}
    layout = layout_of(params)
    vector = layout.pack(params, np)
    rates = Rates(np.ones(6), 0.1 * np.ones(6), 0.5, 1.0)
    gradient, speed = 8.0 * np.ones(6), np.ones(6)
    moved, fresh, clipped = momentum_step(vector, speed, gradient, rates, np)
    np.testing.assert_allclose(fresh, 0.5 + 1.0 - 0.1)  # momentum, clipped gradient, decay
    np.testing.assert_allclose(moved, 1.0 + 1.4)
    assert clipped == 1
    assert momentum_step(vector, speed, gradient / 16, rates, np)[2] == 0
    assert layout.unpack(moved, np)["W"].shape == (2, 2)
