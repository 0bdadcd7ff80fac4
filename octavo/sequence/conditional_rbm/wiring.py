"""Parameters of the machines, what they make of past and style, and their contrastive gradients.

A wiring knows the names and shapes of a machine's parameters, turns the past of each frame into
a `Field`, and turns both ends of a contrastive chain into gradients: data minus reconstruction,
averaged over the batch. Parameters are a dict of arrays of one namespace.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), Sections 3.3, 4.3 and 4.5,
Appendices B and C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from octavo.engine.contrastive.divergence import Field, Phases
from octavo.engine.contrastive.interactions import Factored, Gated, Plain, outer_rows

Params = dict[str, Any]
START = 0.01  # standard deviation of starting weights


class Shape(NamedTuple):
    """Channels D, hidden units H, orders of both kinds of past, and style numbers P."""

    n_visible: int
    n_hidden: int
    order: int
    order_hidden: int
    n_styles: int = 0
    visible: str = "gaussian"

    @property
    def span(self) -> int:
        """How many frames of the past are looked at."""
        return max(self.order, self.order_hidden)


class Differences(NamedTuple):
    """Both phases of a batch, signs included: rows of v, rows of ±h, v0 - vK and h0 - pK."""

    v: Any
    h: Any
    dv: Any
    dh: Any


def differences(phases: Phases, push: Any, xp: Any) -> Differences:
    """Return what all gradients are made of.

    Parameters
    ----------
    phases : Phases
        Both ends of a contrastive chain.
    push : array of shape (H,) or None
        A sparsity term, added to the hidden units' data phase: every gradient is linear in it.
    xp : namespace
        Of the arrays.

    Returns
    -------
    differences : Differences
        With h0 sampled and pK a probability (Appendix B).
    """
    # Appendix B: data with sampled units, reconstruction with probabilities
    h0 = phases.h0 if push is None else phases.h0 + push[None, :]
    v = xp.concat([phases.v0, phases.vk], axis=0)
    # the sign of the reconstruction goes with h: one product gives both phases
    h = xp.concat([h0, -phases.pk], axis=0)
    return Differences(v, h, phases.v0 - phases.vk, h0 - phases.pk)


def _pasts(past: Any, shape: Shape) -> tuple[Any, Any]:
    """Return the parts of the past that visible and hidden units look at."""
    D = shape.n_visible
    return past[:, : shape.order * D], past[:, : shape.order_hidden * D]


@dataclass(frozen=True)
class PlainWiring:
    """A conditional RBM: W, A, B, a, b, and label biases L where there are styles."""

    shape: Shape

    slow: ClassVar[tuple[str, ...]] = ("A",)
    biases: ClassVar[tuple[str, ...]] = ("a", "b")

    def start(self, rng: np.random.RandomState) -> Params:
        """Return small random weights and zero biases."""
        D, H, N, M, P, _ = self.shape
        # small and random: equal hidden units would stay equal
        found = {
            "W": START * rng.standard_normal((D, H)),
            "A": START * rng.standard_normal((N * D, D)),
            "B": START * rng.standard_normal((M * D, H)),
            "a": np.zeros(D),
            "b": np.zeros(H),
        }
        if P:
            found["L"] = START * rng.standard_normal((P, H))
        return found

    def field(self, params: Params, past: Any, style: Any, xp: Any) -> tuple[Field, Any]:
        """Return the machine of each frame."""
        seen, heard = _pasts(past, self.shape)
        a = params["a"][None, :] + seen @ params["A"]  # â of Eq. (16)
        b = params["b"][None, :] + heard @ params["B"]  # b̂ of Eq. (16)
        if style is not None and "L" in params:
            b = b + style @ params["L"]
        return Field(a, b, Plain(params["W"]), self.shape.visible, xp), None

    def gradient(
        self, params: Params, past: Any, style: Any, cache: Any, d: Differences, xp: Any
    ) -> Params:
        """Return Eqs. (10) to (14), averaged over the batch."""
        n = past.shape[0]
        seen, heard = _pasts(past, self.shape)
        found = {
            "W": d.v.T @ d.h / n,  # Eq. (10)
            "A": seen.T @ d.dv / n,  # Eq. (11)
            "B": heard.T @ d.dh / n,  # Eq. (12)
            "a": xp.mean(d.dv, axis=0),  # Eq. (13)
            "b": xp.mean(d.dh, axis=0),  # Eq. (14)
        }
        if "L" in params:
            found["L"] = style.T @ d.dh / n
        return found

    def effective(self, params: Params, style: Any, xp: Any) -> Params:
        """Return W, A, B, a and b of the plain machine that a style makes of this one."""
        found = {name: params[name] for name in ("W", "A", "B", "a", "b")}
        if style is not None:
            found["b"] = params["b"] + (style @ params["L"])[0, :]
        return found


@dataclass(frozen=True)
class FactoredWiring:
    """A factored CRBM: three sub-models of F factors, gated by features z of the style.

    Gates are Z ("tied": one matrix for the three sub-models) or Wz, Az and Bz; features are
    z = Rᵀy, or y itself where ``n_features`` is None; without styles nothing is gated.
    """

    shape: Shape
    n_factors: int
    n_features: int | None
    tied: bool
    style_size: float = 1.0

    slow: ClassVar[tuple[str, ...]] = ("Av", "Ap", "Az", "R")
    biases: ClassVar[tuple[str, ...]] = ("a", "b")

    def start(self, rng: np.random.RandomState) -> Params:
        """Return small random weights, and gates near one."""
        D, H, N, M, P, _ = self.shape
        F = self.n_factors

        def small(*size: int) -> Any:
            return START * rng.standard_normal(size)

        found = {"Wv": small(D, F), "Wh": small(H, F), "Av": small(D, F), "Ap": small(N * D, F)}
        found |= {"Bp": small(M * D, F), "Bh": small(H, F), "a": np.zeros(D), "b": np.zeros(H)}
        # The paper starts everything at 0.01; products of three such numbers hardly learn. Here the
        # products of factors start at START, as plain weights do, and every gate near one.
        for name in ("Wv", "Wh", "Av", "Ap", "Bp", "Bh"):
            found[name] = found[name] * (START**-0.5 / F**0.25)
        if P:
            Q = P if self.n_features is None else self.n_features
            size = self.style_size
            if self.n_features is None:
                gates = (1.0 + 0.1 * rng.standard_normal((Q, F))) / size
            else:  # one feature that all styles share, the others at random
                found["R"] = rng.standard_normal((P, Q)) / size
                found["R"][:, 0] = 1.0 / size
                gates = 0.1 * rng.standard_normal((Q, F)) / max(1.0, (Q - 1) ** 0.5)
                gates[0] = 1.0
            for name in ("Z",) if self.tied else ("Wz", "Az", "Bz"):
                found[name] = gates.copy()
        return found

    def gates(self, params: Params, style: Any) -> tuple[Any, tuple[Any, Any, Any]]:
        """Return the features z, and the gates of the three sub-models."""
        if not self.shape.n_styles:
            return None, (None, None, None)
        z = style if self.n_features is None else style @ params["R"]
        if self.tied:
            gate = z @ params["Z"]  # W^z' z, shared with A^z and B^z (Section 4.5.2)
            return z, (gate, gate, gate)
        return z, (z @ params["Wz"], z @ params["Az"], z @ params["Bz"])

    def field(self, params: Params, past: Any, style: Any, xp: Any) -> tuple[Field, Any]:
        """Return the machine of each frame; Eqs. (21) to (23)."""
        seen, heard = _pasts(past, self.shape)
        z, (gw, ga, gb) = self.gates(params, style)
        pa, pb = seen @ params["Ap"], heard @ params["Bp"]
        ia, ib = (pa, pb) if ga is None else (pa * ga, pb * gb)
        a = params["a"][None, :] + ia @ params["Av"].T  # Eq. (22)
        b = params["b"][None, :] + ib @ params["Bh"].T  # Eq. (23)
        field = Field(a, b, Factored(params["Wv"], params["Wh"], gw), self.shape.visible, xp)
        return field, (z, gw, ga, gb, pa, pb, ia, ib)

    def gradient(
        self, params: Params, past: Any, style: Any, cache: Any, d: Differences, xp: Any
    ) -> Params:
        """Return the updates of Appendix C, averaged over the batch."""
        n = past.shape[0]
        seen, heard = _pasts(past, self.shape)
        z, gw, ga, gb, pa, pb, ia, ib = cache
        sv, sh = d.v @ params["Wv"], d.h @ params["Wh"]
        ta, tb = d.dv @ params["Av"], d.dh @ params["Bh"]
        twice = None if gw is None else xp.concat([gw, gw], axis=0)
        # Σ_t of Appendix C: v (s^h ∘ s^z)'
        found = {
            "Wv": d.v.T @ (sh if twice is None else sh * twice),
            "Wh": d.h.T @ (sv if twice is None else sv * twice),
            "Av": d.dv.T @ ia,
            "Ap": seen.T @ (ta if ga is None else ta * ga),  # v_{<t} (A^v' v ∘ A^z' z)'
            "Bp": heard.T @ (tb if gb is None else tb * gb),
            "Bh": d.dh.T @ ib,
            "a": xp.sum(d.dv, axis=0),
            "b": xp.sum(d.dh, axis=0),
        }
        if z is not None:
            product = sv * sh
            # z's own share of each sub-model: s^v ∘ s^h, and the two autoregressive ones
            parts = (product[:n, :] + product[n:, :], ta * pa, tb * pb)
            found |= self._gate_gradients(params, style, z, parts)
        return {name: found[name] / n for name in params}

    def _gate_gradients(self, params: Params, style: Any, z: Any, parts: Any) -> Params:
        found: Params = {}
        if self.tied:
            total = parts[0] + parts[1] + parts[2]
            found["Z"] = z.T @ total
            back = None if self.n_features is None else total @ params["Z"].T
        else:
            names = ("Wz", "Az", "Bz")
            found |= {name: z.T @ part for name, part in zip(names, parts, strict=True)}
            back = sum(p @ params[name].T for name, p in zip(names, parts, strict=True))
        if self.n_features is not None:
            found["R"] = style.T @ back  # the C of Section 4.5.1
        return found

    def effective(self, params: Params, style: Any, xp: Any) -> Params:
        """Return W, A, B, a and b of the plain machine that a style makes of this one."""
        _, gates = self.gates(params, style)
        pairs = (("W", "Wv", "Wh"), ("A", "Ap", "Av"), ("B", "Bp", "Bh"))
        found = {"a": params["a"], "b": params["b"]}
        for gate, (name, left, right) in zip(gates, pairs, strict=True):
            first = params[left] if gate is None else params[left] * gate  # W^v diag(W^z' z) W^h'
            found[name] = first @ params[right].T
        return found


@dataclass(frozen=True)
class GatedWiring:
    """A gated CRBM: a slice of W, A and B for each style number.

    With ``by_history`` the slices of W belong to a one and to each entry of the past instead
    (the gated biases c and the tensor W of Eq. 20), and A and B have one slice.
    """

    shape: Shape
    by_history: bool
    style_size: float = 1.0

    slow: ClassVar[tuple[str, ...]] = ("A",)
    biases: ClassVar[tuple[str, ...]] = ("a", "b")

    def start(self, rng: np.random.RandomState) -> Params:
        """Return small random weights and zero biases."""
        D, H, N, M, P, _ = self.shape
        slices, others = (1 + self.shape.span * D, 1) if self.by_history else (P, P)
        return {
            "W": START * rng.standard_normal((slices, D, H)),
            "A": START * rng.standard_normal((others, N * D, D)),
            "B": START * rng.standard_normal((others, M * D, H)),
            "a": np.zeros(D),
            "b": np.zeros(H),
        }

    def gates(self, past: Any, style: Any, xp: Any) -> tuple[Any, Any]:
        """Return the gates of W, and of A and B."""
        if not self.by_history:
            return style, style
        ones = xp.ones_like(past[:, :1]) if past.shape[1] else xp.ones_like(style[:, :1])
        return xp.concat([ones, past], axis=1), ones

    def field(self, params: Params, past: Any, style: Any, xp: Any) -> tuple[Field, Any]:
        """Return the machine of each frame; Eq. (20)."""
        seen, heard = _pasts(past, self.shape)
        gw, g = self.gates(past, style, xp)
        # A and B are gated as W is, a slice for each style number
        a = params["a"][None, :] + Gated(params["A"], g).up(seen)
        b = params["b"][None, :] + Gated(params["B"], g).up(heard)
        return Field(a, b, Gated(params["W"], gw), self.shape.visible, xp), (gw, g)

    def gradient(
        self, params: Params, past: Any, style: Any, cache: Any, d: Differences, xp: Any
    ) -> Params:
        """Return ΔW_ijk = v_i h_j x_k, data minus reconstruction, and likewise A and B."""
        n = past.shape[0]
        seen, heard = _pasts(past, self.shape)
        gw, g = cache
        twice = xp.concat([gw, gw], axis=0)
        found = {
            "W": outer_rows(twice, d.v).T @ d.h,
            "A": outer_rows(g, seen).T @ d.dv,
            "B": outer_rows(g, heard).T @ d.dh,
        }
        found = {name: xp.reshape(found[name], params[name].shape) / n for name in found}
        return found | {"a": xp.mean(d.dv, axis=0), "b": xp.mean(d.dh, axis=0)}

    def effective(self, params: Params, style: Any, xp: Any) -> Params:
        """Return W, A, B, a and b of the plain machine that a style makes of this one."""
        found = {"a": params["a"], "b": params["b"]}
        for name in ("W", "A", "B"):
            if self.by_history:
                found[name] = params[name][0, ...]  # at a past of zeros
            else:
                # Σ_k z_k W_k
                found[name] = xp.sum(style[0, :][:, None, None] * params[name], axis=0)
        return found


Wiring = PlainWiring | FactoredWiring | GatedWiring
