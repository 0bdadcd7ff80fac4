"""What every log-linear network answers, whoever learned it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo._whole_files import write_whole
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.mcmc.chains import check_schedule
from octavo.graphical.log_linear.block_gibbs import block_marginals
from octavo.graphical.log_linear.conjunctions import (
    Feature,
    Parts,
    as_parts,
    log_conditionals,
    margins_of,
    matches,
)
from octavo.graphical.log_linear.deterministic_inference import (
    exact_marginals,
    marginals_of_rows,
    reduced,
)
from octavo.graphical.log_linear.gibbs import gibbs_marginals
from octavo.graphical.log_linear.pseudo_likelihood import (
    PseudoLikelihood,
    flat_plan,
    weighted_rows,
)
from octavo.graphical.log_linear.state_codes import UNKNOWN, Codes
from octavo.graphical.log_linear.text_format import format_network

__all__: list[str] = []

METHODS = ("gibbs", "exact", "mean_field", "bp")
ENUMERATED = 2**16  # joint states up to which samples are drawn from the joint itself
ROWS_AT_ONCE = 2**24  # entries of a table of margins or matches that is held at a time


class NetworkQueries:
    """Likelihoods, marginals, samples and files of a network with features and weights.

    Subclasses offer `features_`, `weights_`, `cardinalities_` and ``_codes(X, unknown)``.
    """

    features_: list[Feature]
    weights_: Floats
    cardinalities_: Ints

    def _codes(self, X: Any, unknown: bool = False) -> Codes:
        raise NotImplementedError

    def _ready(self) -> None:
        """Raise unless there is a network to ask."""

    def _parts(self) -> Parts:
        self._ready()
        return as_parts(self.features_, self.cardinalities_)

    def _targets(self) -> Ints | None:
        return None

    def _blocks(self, codes: Codes, width: int) -> list[Codes]:
        rows = max(1, ROWS_AT_ONCE // max(width, 1))
        return [codes[at : at + rows] for at in range(0, len(codes), rows)]

    def _log_conditionals(self, codes: Codes) -> Floats:
        parts, cards = self._parts(), self.cardinalities_
        found = [
            log_conditionals(margins_of(block, parts, self.weights_, cards), cards)
            for block in self._blocks(codes, int(cards.sum()))
        ]
        return np.concatenate(found)

    def pseudo_log_likelihood(self, X: Any) -> Floats:
        """Return the pseudo-log-likelihood of each row, equation (2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows.

        Returns
        -------
        pseudo_log_likelihood : ndarray of shape (n_samples,)
            Sum over the variables of the logarithm of each one's probability given the others.
        """
        return self._log_conditionals(self._codes(X)).sum(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the pseudo-log-likelihood a row and variable (NPLL).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Larger is better; never above 0.
        """
        return float(self._log_conditionals(self._codes(X)).mean())

    def gradient(self, X: Any) -> Floats:
        """Return the gradient of the summed pseudo-log-likelihood in the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows.

        Returns
        -------
        gradient : ndarray of shape (n_weights,)
            Without the prior's part.
        """
        self._need_joint("gradient")
        rows = weighted_rows(self._codes(X), self.cardinalities_)
        plan = flat_plan(self.features_, self.cardinalities_)
        return PseudoLikelihood(rows, plan)(self.weights_)[1]

    def energy(self, X: Any) -> Floats:
        """Return the energy of each row, minus the sum of the weights of features that match it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows.

        Returns
        -------
        energy : ndarray of shape (n_samples,)
            The log-probability is minus it, less `log_partition`.
        """
        self._need_joint("energy")
        parts = self._parts()
        blocks = self._blocks(self._codes(X), parts.variable.size)
        # minus the exponent of Eq. (1)
        return -np.concatenate([matches(block, parts) @ self.weights_ for block in blocks])

    def log_partition(self) -> float:
        """Return the logarithm of the partition function, exactly.

        Returns
        -------
        log_partition : float
            By a junction tree; a ValueError says where its tables would be too large.
        """
        self._need_joint("log_partition")
        nothing = np.full(len(self.cardinalities_), UNKNOWN, np.int32)
        net = reduced(nothing, self._parts(), self.weights_, self.cardinalities_)
        return exact_marginals(net)[0]

    def log_prob(self, X: Any) -> Floats:
        """Return the log-probability of each row, exactly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows.

        Returns
        -------
        log_prob : ndarray of shape (n_samples,)
            By a junction tree; a ValueError says where its tables would be too large.
        """
        return -self.energy(X) - self.log_partition()  # Eq. (1)

    def conditional_marginals(
        self,
        X: Any,
        query: Sequence[int],
        method: str = "gibbs",
        *,
        n_chains: int = 10,
        burn_in: int = 100,
        n_iter: int = 1100,
        blocks: Any = None,
        random_state: Any = None,
    ) -> Floats:
        """Return the distribution of some variables of each row given the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Cells of queried variables are not looked at; NaN elsewhere is summed out.
        query : sequence of int
            Columns that are asked for.
        method : {"gibbs", "exact", "mean_field", "bp"}, default="gibbs"
            Sampling, a junction tree, mean field or loopy belief propagation.
        n_chains, burn_in, n_iter : int, default=10, 100, 1100
            Chains a row, sweeps that are left out, and sweeps in all, of "gibbs".
        blocks : sequence of sequences of int, optional
            Columns that "gibbs" draws together, such as those of one category coded by zeros and
            ones, between which it hardly moves one at a time; the others are drawn one by one.
        random_state : int, RandomState or None, default=None
            Source of randomness of "gibbs".

        Returns
        -------
        marginals : ndarray of shape (n_samples, len(query), most states)
            Probabilities; 0 for states that a variable does not have.
        """
        self._ready()
        asked = self._asked(query)
        codes = self._codes(_without(X, asked), unknown=True).copy()
        codes[:, asked] = UNKNOWN
        found = self._marginals(codes, method, n_chains, burn_in, n_iter, random_state, blocks)
        return found[:, asked]

    def _asked(self, query: Any) -> Ints:
        asked = np.atleast_1d(np.asarray(query))
        d = len(self.cardinalities_)
        if asked.ndim != 1 or not asked.size or asked.dtype.kind not in "iu":
            raise ValueError(f"query must list columns by their numbers, got {query!r}.")
        if asked.min() < 0 or asked.max() >= d:
            raise ValueError(f"query must name columns from 0 to {d - 1}, got {query!r}.")
        return asked.astype(np.int64)

    def _marginals(
        self,
        codes: Codes,
        method: str,
        n_chains: int,
        burn_in: int,
        n_iter: int,
        seed: Any,
        blocks: Any = None,
    ) -> Floats:
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
        network = (codes, self._parts(), self.weights_, self.cardinalities_)
        if method != "gibbs":
            self._need_joint(f"method {method!r}")
            return marginals_of_rows(*network, method)
        schedule = check_schedule(n_iter, burn_in)
        if int(n_chains) < 1:
            raise ValueError(f"n_chains must be at least 1, got {n_chains!r}.")
        if blocks is not None:
            self._need_joint("blocks")
            return block_marginals(
                *network, blocks, n_chains=int(n_chains), burn_in=schedule.burn_in,
                n_iter=schedule.n_iter, random_state=seed,
            )[0]  # fmt: skip
        return gibbs_marginals(
            *network, targets=self._targets(), n_chains=int(n_chains), burn_in=schedule.burn_in,
            n_iter=schedule.n_iter, random_state=seed,
        )[0]  # fmt: skip

    def sample(
        self, n: int = 1, random_state: Any = None, *, burn_in: int = 100, blocks: Any = None
    ) -> NDArray[Any]:
        """Draw rows.

        Parameters
        ----------
        n : int, default=1
            How many.
        random_state : int, RandomState or None, default=None
            Source of randomness.
        burn_in : int, default=100
            Sweeps of the Gibbs sampler from which each row comes, where there are too many joint
            states to draw from their list.
        blocks : sequence of sequences of int, optional
            Columns that the Gibbs sampler draws together, as for `conditional_marginals`.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            Codes of states; independent draws.
        """
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1, got {n!r}.")
        self._ready()
        rng = check_random_state(random_state)
        cards = self.cardinalities_
        if self._targets() is None and np.prod(cards.astype(float)) <= ENUMERATED:
            shape = tuple(int(c) for c in cards)
            listed = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
            score = matches(listed.astype(np.int32), self._parts()) @ self.weights_
            mass = np.exp(score - score.max())
            return listed[rng.choice(len(listed), size=n, p=mass / mass.sum())].astype(np.int64)
        hidden = np.full((n, len(cards)), UNKNOWN, np.int32)
        if blocks is not None:
            self._need_joint("blocks")
            return block_marginals(
                hidden, self._parts(), self.weights_, cards, blocks, n_chains=1, burn_in=burn_in,
                n_iter=burn_in + 1, random_state=rng,
            )[1].astype(np.int64)  # fmt: skip
        return gibbs_marginals(
            hidden, self._parts(), self.weights_, cards, targets=self._targets(), n_chains=1,
            burn_in=burn_in, n_iter=burn_in + 1, random_state=rng,
        )[1].astype(np.int64)  # fmt: skip

    def impute(self, X: Any, method: str = "gibbs", *, random_state: Any = None) -> NDArray[Any]:
        """Fill missing cells with the likeliest state of each given what is known of its row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN where a cell is missing.
        method : {"gibbs", "exact", "mean_field", "bp"}, default="gibbs"
            As for `conditional_marginals`.
        random_state : int, RandomState or None, default=None
            Source of randomness of "gibbs".

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Codes of states, complete.
        """
        codes = self._codes(X, unknown=True)
        rows = np.flatnonzero((codes < 0).any(axis=1))
        filled = codes.astype(np.int64)
        if rows.size:
            found = self._marginals(codes[rows], method, 10, 100, 1100, random_state)
            likeliest = found.argmax(axis=2)
            filled[rows] = np.where(codes[rows] < 0, likeliest, codes[rows])
        return filled

    @property
    def graph_(self) -> Any:
        """Variables, joined where they share a feature; `weight` is the largest of its weights."""
        import networkx as nx

        self._ready()
        graph = nx.Graph()
        graph.add_nodes_from(range(len(self.cardinalities_)))
        for feature, weight in zip(self.features_, self.weights_.tolist()):
            scope = sorted({variable for variable, _, _ in feature})
            for at, one in enumerate(scope):
                for other in scope[at + 1 :]:
                    known = graph.get_edge_data(one, other, {"weight": 0.0})["weight"]
                    graph.add_edge(one, other, weight=max(known, abs(weight)))
        return graph

    @property
    def adjacency_(self) -> NDArray[np.bool_]:
        """Which pairs of variables share a feature."""
        self._ready()
        joined = np.zeros((len(self.cardinalities_),) * 2, bool)
        for feature in self.features_:
            scope = sorted({variable for variable, _, _ in feature})
            joined[np.ix_(scope, scope)] = True
        np.fill_diagonal(joined, False)
        return joined

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write features and weights to a text file like those of the Libra toolkit.

        Parameters
        ----------
        path : str or path-like
            Where.
        """
        self._ready()
        network = (self.features_, self.weights_, self.cardinalities_, self._targets())
        write_whole(Path(path), format_network(*network))

    def _need_joint(self, what: str) -> None:
        self._ready()
        if self._targets() is not None:
            raise ValueError(
                f"A dependency network has no {what}: its conditionals need not belong to one "
                "joint distribution. Learn a Markov network instead."
            )


def _without(X: Any, columns: Ints) -> Any:
    """Return a table whose queried cells hold 0, so that nothing there can be refused."""
    if hasattr(X, "iloc") or hasattr(X, "tocsr"):
        return X
    values = np.array(X)
    if (
        values.ndim != 2
        or columns.max(initial=0) >= values.shape[1]
        or values.dtype.kind not in "biuf"
    ):
        return X
    values[:, columns] = 0
    return values
