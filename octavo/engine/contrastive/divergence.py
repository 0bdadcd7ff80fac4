"""Gibbs chains, free energies and contrastive divergence of machines with binary hidden units.

A `Field` is a restricted Boltzmann machine for each row of a batch: biases that already hold what
the past says, and an interaction. Visible units are Gaussian with unit variance or binary. All
functions are written against the array API and stay on the device of their input.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), Sections 3.1 to 3.3 and Appendix B.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from octavo.engine.contrastive.interactions import Interaction


class Field(NamedTuple):
    """Biases of visible (n, D) and hidden (n, H) units, their interaction, and their kind.

    ``visible`` is ``"gaussian"`` (energy ½‖v - a‖² - vᵀWh - bᵀh, Eq. 16) or ``"binary"``
    (-aᵀv - vᵀWh - bᵀh). ``xp`` is the namespace of the arrays: asking for it anew costs more
    than a small product of matrices.
    """

    a: Any
    b: Any
    interaction: Interaction
    visible: str
    xp: Any

    def rows(self, index: Any) -> Field:
        """Return the machines of some rows."""
        xp = self.xp
        a, b = xp.take(self.a, index, axis=0), xp.take(self.b, index, axis=0)
        return Field(a, b, self.interaction.rows(index), self.visible, xp)


class Phases(NamedTuple):
    """Both ends of a contrastive chain: data (v0, h0, p0) and reconstruction (vk, pk)."""

    v0: Any
    h0: Any
    p0: Any
    vk: Any
    pk: Any


def sigmoid(x: Any, xp: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow, in one transcendental call."""
    return 0.5 * xp.tanh(0.5 * x) + 0.5


def softplus(x: Any, xp: Any) -> Any:
    """Return log(1 + exp(x)) without overflow."""
    return xp.logaddexp(x, xp.zeros_like(x))


def hidden_probability(field: Field, v: Any) -> Any:
    """Return p(h = 1 | v), of shape (n, H)."""
    return sigmoid(field.b + field.interaction.up(v), field.xp)  # Eq. (8)


def visible_mean(field: Field, h: Any) -> Any:
    """Return the mean of the visible units given hidden ones, of shape (n, D)."""
    total = field.a + field.interaction.down(h)  # Eq. (9)
    return total if field.visible == "gaussian" else sigmoid(total, field.xp)


def draw_binary(p: Any, uniforms: Any, xp: Any) -> Any:
    """Return 0/1 states of the type of the probabilities."""
    return xp.astype(uniforms < p, p.dtype)


def contrastive_phases(field: Field, v: Any, uniforms: Any, noise: Any = None) -> Phases:
    """Return both ends of CD-K.

    Parameters
    ----------
    field : Field
        The machine of each row.
    v : array of shape (n, D)
        Data.
    uniforms : array of shape (K, n, H)
        Numbers between 0 and 1, one for each binary draw; K is the number of reconstructions.
    noise : array of shape (K, n, D), optional
        Standard normal numbers that make a draw of every reconstruction of Gaussian units, which
        is a mean without them.

    Returns
    -------
    phases : Phases
        The last hidden state is a probability, as reconstructions are means (Appendix B).
    """
    p = p0 = hidden_probability(field, v)
    h = h0 = draw_binary(p, uniforms[0, :, :], field.xp)
    vk = v
    for k in range(uniforms.shape[0]):
        if k:
            # the last hidden units stay probabilities (Appendix B)
            h = draw_binary(p, uniforms[k, :, :], field.xp)
        vk = visible_mean(field, h)  # the mean, without noise (Appendix B)
        if noise is not None:
            vk = vk + noise[k, :, :]
        p = hidden_probability(field, vk)
    return Phases(v, h0, p0, vk, p)


def free_energy(field: Field, v: Any) -> Any:
    """Return F(v) = -log Σ_h exp(-E(v, h)) of each row, of shape (n,)."""
    xp = field.xp
    soft = xp.sum(softplus(field.b + field.interaction.up(v), xp), axis=1)
    if field.visible == "gaussian":
        return 0.5 * xp.sum((v - field.a) ** 2, axis=1) - soft  # Eq. (19)
    return -xp.sum(v * field.a, axis=1) - soft


def free_energy_gradient(field: Field, v: Any) -> Any:
    """Return ∂F/∂v of each row, of shape (n, D).

    The printed formula has the sign and the argument of the logistic function wrong; this one is
    the derivative of Eq. (19).
    """
    pull = field.interaction.down(hidden_probability(field, v))
    return (v - field.a if field.visible == "gaussian" else -field.a) - pull


def _moved(v: Any, target: Any, missing: Any, along: Any, xp: Any) -> Any:
    """Return the point nearest to a target that clamped units allow."""
    if along is not None:
        return v + (target - v) @ along
    return target if missing is None else xp.where(missing, target, v)


def settle(
    field: Field,
    v: Any,
    *,
    missing: Any = None,
    along: Any = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
):
    """Return a minimum of the free energy over the visible units, starting from v.

    Each step moves to v = a + W p(h | v), which minimises the bound that linearises the softplus
    terms at v; the free energy never rises. Binary units settle at their mean field.

    Parameters
    ----------
    field : Field
        The machine of each row.
    v : array of shape (n, D)
        Where to start.
    missing : array of bool of shape (n, D), optional
        Units that move; the others stay. All by default.
    along : array of shape (D, D), optional
        Projection on the directions in which Gaussian units move, in place of ``missing``.
    tol : float, default=1e-10
        Largest change of a unit at which to stop, relative to 1 + |v|.
    max_iter : int, default=1000
        Most steps.

    Returns
    -------
    v : array of shape (n, D)
        The minimum.
    """
    xp = field.xp
    floor = 8 * float(xp.finfo(v.dtype).eps)
    for _ in range(max_iter):
        target = visible_mean(field, hidden_probability(field, v))
        moved = _moved(v, target, missing, along, xp)
        change = xp.max(xp.abs(moved - v) / (1.0 + xp.abs(v))) if v.size else 0.0
        v = moved
        if float(change) <= max(tol, floor):
            break
    return v


def gibbs_frame(
    field: Field,
    v: Any,
    uniforms: Any,
    *,
    missing: Any = None,
    along: Any = None,
    bias_noise: Any = None,
) -> Any:
    """Return visible units after alternating Gibbs sampling (Section 3.3.3).

    Hidden states are binary and visible ones means; the last step uses the probabilities of the
    hidden units.

    Parameters
    ----------
    field : Field
        The machine of each row.
    v : array of shape (n, D)
        Where to start: the frame before.
    uniforms : array of shape (K, n, H)
        Numbers between 0 and 1.
    missing : array of bool of shape (n, D), optional
        Units that move; the others are clamped.
    along : array of shape (D, D), optional
        Projection on the directions in which Gaussian units move, in place of ``missing``.
    bias_noise : array of shape (K, n, H), optional
        Added to the hidden units' total input at each alternation (Section 3.5.5).

    Returns
    -------
    v : array of shape (n, D)
        The new frame.
    """
    xp = field.xp
    n_steps = uniforms.shape[0]
    # u < σ(x) is logit(u) < x: one logarithm for all alternations in place of a sigmoid for each
    thresholds = xp.log((uniforms + 1e-30) / (1.0 - uniforms))
    for k in range(n_steps):
        total = field.b + field.interaction.up(v)
        if bias_noise is not None:
            total = total + bias_noise[k, :, :]
        if k == n_steps - 1:
            h = sigmoid(total, xp)  # the last update is real-valued (Section 3.3.3)
        else:
            h = xp.astype(thresholds[k, :, :] < total, v.dtype)
        v = _moved(v, visible_mean(field, h), missing, along, xp)
    return v
