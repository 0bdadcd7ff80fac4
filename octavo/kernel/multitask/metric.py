"""The distance that learned switches make of features or kernels.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Section 7.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.gram import squared_distances
from octavo.kernel.mkl.kernel_normalize import inverse_lengths
from octavo.kernel.multitask.task_tables import stack_block


def _scaled(X: Any, root: Floats) -> Any:
    return X.multiply(root[None, :]).tocsr() if sp.issparse(X) else X * root


class SwitchedMetric:
    """Δ(x, x')² = Σ_d ŝ(d) (k_d(x, x) − 2 k_d(x, x') + k_d(x', x')).

    Parameters
    ----------
    switches : ndarray of shape (n_switches,)
        Weights of features or kernels.
    stack : KernelStack, default=None
        The kernels; None for features.
    """

    def __init__(self, switches: Floats, stack: Any = None) -> None:
        self.switches, self.stack = switches, stack

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Return the distances between rows.

        Parameters
        ----------
        X, Y : {array-like, CSR matrix} of shape (n_rows, n_features)
            Rows; Y is X by default.

        Returns
        -------
        ndarray of shape (n_rows of X, n_rows of Y)
            Distances.
        """
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        Y = X if Y is None else check_array(Y, accept_sparse="csr", dtype=np.float64)
        if self.stack is None:
            # k_d = x(d)x'(d): the distance is Euclidean after factors √ŝ(d)
            root = np.sqrt(self.switches)
            left, right = (
                t.multiply(root).tocsr() if hasattr(t, "tocsr") else t * root for t in (X, Y)
            )
            squares = squared_distances(left, right)
        else:
            own = [self._squares(T) for T in (X, Y)]
            cross = np.tensordot(self.switches, stack_block(self.stack, X, Y), axes=1)
            squares = own[0][:, None] + own[1] - 2.0 * cross  # Section 7.2
        distances = np.sqrt(np.maximum(squares, 0.0))
        if Y is X:
            np.fill_diagonal(distances, 0.0)
        return distances

    def _squares(self, X: Any) -> Floats:
        total = np.zeros(X.shape[0])
        for weight, scale, member in zip(self.switches, self.stack.scales_, self.stack.members_):
            seen = X if member.columns is None else X[:, member.columns]
            own = member.kernel.diagonal(seen)
            if self.stack.normalize == "spherical":
                own = (inverse_lengths(own) > 0.0).astype(np.float64)
            total += weight * scale * own
        return total
