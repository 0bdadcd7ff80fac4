"""A log-linear Markov network that is given, with its queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.graphical.log_linear.conjunctions import canonical
from octavo.graphical.log_linear.queries import NetworkQueries
from octavo.graphical.log_linear.state_codes import MOST_STATES, Codes, check_states, integer_codes
from octavo.graphical.log_linear.text_format import parse_network

__all__ = ["LogLinearMarkovNetwork"]


class LogLinearMarkovNetwork(NetworkQueries):
    """p(x) = exp(Σ w_f f(x)) / Z over categorical variables, f being conjunctions of tests.

    Parameters
    ----------
    features : sequence of features
        Each a tuple of literals ``(variable, "==" or "!=", value)``. A feature that is said twice
        has the sum of its weights.
    weights : array-like of shape (n_weights,)
        Of the features.
    cardinalities : array-like of shape (n_features,)
        Number of states of each variable.

    Attributes
    ----------
    features_ : list of features
        Distinct, in canonical form: variables ascend, one allowed value is "==".
    weights_ : ndarray
        Of `features_`.
    cardinalities_ : ndarray
        Number of states of each variable.
    graph_ : networkx.Graph
        Variables, joined where they share a feature; `weight` is its largest absolute weight.
    adjacency_ : ndarray of bool
        The same as a matrix.

    See Also
    --------
    DTSLMarkovNetwork : Learns features and weights from a table.

    Notes
    -----
    Exact queries (`log_prob`, `log_partition`, ``method="exact"``) go by a junction tree and are
    refused where a table would be too large. Gibbs sampling changes one variable at a time: it
    cannot cross configurations of probability zero, as between the columns of a one-hot code.

    Examples
    --------
    >>> from octavo.graphical import LogLinearMarkovNetwork
    >>> agree = [[(0, "==", 1), (1, "==", 1)], [(0, "==", 0), (1, "==", 0)]]
    >>> network = LogLinearMarkovNetwork(agree, [1.0, 1.0], [2, 2])
    >>> network.conditional_marginals([[1, 0]], [1], method="exact").round(3)
    array([[[0.269, 0.731]]])
    >>> round(network.log_partition(), 3)
    2.006
    """

    def __init__(self, features: Sequence[Any], weights: ArrayLike, cardinalities: ArrayLike):
        sizes = np.atleast_1d(np.asarray(cardinalities))
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not sizes.size:
            raise ValueError(f"cardinalities must be whole numbers, one a variable, got {sizes!r}.")
        if sizes.min() < 1 or sizes.max() > MOST_STATES:
            raise ValueError(f"cardinalities must lie between 1 and {MOST_STATES}, got {sizes!r}.")
        self.cardinalities_ = sizes.astype(np.int64)
        given = np.atleast_1d(np.asarray(weights, dtype=np.float64))
        if given.shape != (len(features),):
            raise ValueError(
                f"weights must be one number a feature: {len(features)} features, "
                f"weights of shape {given.shape}."
            )
        if not np.isfinite(given).all():
            raise ValueError("weights must be finite numbers.")
        total: dict[Any, float] = {}
        for feature, weight in zip(features, given.tolist()):
            made = canonical(feature, self.cardinalities_)
            if made is None:
                raise ValueError(f"No row can match the feature {feature!r}.")
            if made:  # what is always true changes nothing
                total[made] = total.get(made, 0.0) + weight
        self.features_ = list(total)
        self.weights_ = np.array(list(total.values()), np.float64)

    def __repr__(self) -> str:
        return (
            f"LogLinearMarkovNetwork({len(self.features_)} features over "
            f"{len(self.cardinalities_)} variables)"
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LogLinearMarkovNetwork:
        """Read a network that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            A text file.

        Returns
        -------
        network : LogLinearMarkovNetwork
            With the same features and weights.
        """
        written = parse_network(Path(path).read_text(encoding="utf-8"))
        if written.targets is not None:
            raise ValueError(f"{path} holds a dependency network; DependencyNetwork.load reads it.")
        return cls(*written[:3])

    def _codes(self, X: Any, unknown: bool = False) -> Codes:
        values = X.toarray() if sp.issparse(X) else np.asarray(X)
        if values.ndim != 2 or values.shape[1] != len(self.cardinalities_):
            raise ValueError(
                f"X must have {len(self.cardinalities_)} columns, got shape {values.shape}."
            )
        if not len(values):
            raise ValueError("X has 0 samples.")
        codes = integer_codes(values, unknown=unknown)
        check_states(codes, self.cardinalities_)
        return codes
