"""How visible and hidden units see each other: plain, factored and gated weights.

Every machine of the family is, once the past and the style are known, a restricted Boltzmann
machine with a matrix W for each row of a batch. The three classes here hold that matrix without
forming it. They have the same four methods: ``up`` (v W), ``down`` (h Wᵀ), ``rows`` (some of the
rows of the batch) and ``matrix`` (W of one row).

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), Eqs. (16), (20) and (21).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from octavo.engine.kernels.namespaces import namespace_of


class Plain(NamedTuple):
    """One matrix W (D, H) for all rows; Eq. (16)."""

    W: Any

    def up(self, v: Any) -> Any:
        """Return what hidden units hear of visible ones, (n, H)."""
        return v @ self.W

    def down(self, h: Any) -> Any:
        """Return what visible units hear of hidden ones, (n, D)."""
        return h @ self.W.T

    def rows(self, index: Any) -> Plain:
        """Return the interaction of some rows."""
        return self

    def matrix(self, row: int) -> Any:
        """Return W of one row."""
        return self.W


class Factored(NamedTuple):
    """W = Wv diag(gate) Whᵀ with a gate (n, F) for each row, or None for ones; Eq. (21)."""

    Wv: Any
    Wh: Any
    gate: Any

    def up(self, v: Any) -> Any:
        """Return what hidden units hear of visible ones, (n, H)."""
        s = v @ self.Wv
        # W^h diag(gate) W^v' v, never the D x H matrix
        return (s if self.gate is None else s * self.gate) @ self.Wh.T

    def down(self, h: Any) -> Any:
        """Return what visible units hear of hidden ones, (n, D)."""
        s = h @ self.Wh
        return (s if self.gate is None else s * self.gate) @ self.Wv.T

    def rows(self, index: Any) -> Factored:
        """Return the interaction of some rows."""
        if self.gate is None:
            return self
        return self._replace(gate=namespace_of(self.gate).xp.take(self.gate, index, axis=0))

    def matrix(self, row: int) -> Any:
        """Return W of one row."""
        left = self.Wv if self.gate is None else self.Wv * self.gate[row, :]
        return left @ self.Wh.T


class Gated(NamedTuple):
    """W = Σ_p gate_p W_p with a tensor (P, D, H) and a gate (n, P) for each row; Eq. (20)."""

    W: Any
    gate: Any

    def up(self, v: Any) -> Any:
        """Return what hidden units hear of visible ones, (n, H)."""
        P, D, H = self.W.shape
        # Σ_p gate_p v' W_p as one product
        return outer_rows(self.gate, v) @ namespace_of(v).xp.reshape(self.W, (P * D, H))

    def down(self, h: Any) -> Any:
        """Return what visible units hear of hidden ones, (n, D)."""
        xp = namespace_of(h).xp
        P, D, H = self.W.shape
        turned = xp.reshape(xp.permute_dims(self.W, (0, 2, 1)), (P * H, D))
        return outer_rows(self.gate, h) @ turned

    def rows(self, index: Any) -> Gated:
        """Return the interaction of some rows."""
        return self._replace(gate=namespace_of(self.gate).xp.take(self.gate, index, axis=0))

    def matrix(self, row: int) -> Any:
        """Return W of one row."""
        return namespace_of(self.W).xp.sum(self.gate[row, :][:, None, None] * self.W, axis=0)


Interaction = Plain | Factored | Gated


def outer_rows(gate: Any, x: Any) -> Any:
    """Return the products of the entries of two rows, (n, P · D), gate first."""
    xp = namespace_of(x).xp
    return xp.reshape(gate[:, :, None] * x[:, None, :], (x.shape[0], gate.shape[1] * x.shape[1]))
