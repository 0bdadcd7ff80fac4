"""What atoms say of data: Gaussians, symbols, counts, and products of them.

Data come as blocks; an atom is independent over blocks. Priors are taken from the data. A Gaussian
atom's covariance is expected to be what neighbouring points differ by (half the mean outer product
of their differences), with the least degrees of freedom for which it has a mean; its mean is
expected to vary as all rows do. Symbols have the Dirichlet parameter 1 / n_symbols (Section 5.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.utils.validation import check_array, validate_data

from octavo.engine.conjugate.dirichlet import Dirichlet
from octavo.engine.conjugate.gaussian_wishart import GaussianGamma, GaussianWishart
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.sparse_rows import canonical_csr, validate_rows

KINDS = ("gaussian", "diag", "categorical", "multinomial")
RIDGE = 1e-6  # of each column's variance, so that collinear columns have a density


class Block(NamedTuple):
    """Some columns of the data: their kind, and the numbers (counts for symbols)."""

    kind: str
    table: Any


def _is_blocks(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and any(
        sp.issparse(part) or getattr(part, "ndim", 0) == 2 for part in X
    )


def _kinds_of(observation: Any, X: Any) -> tuple[list[str], list[Any]] | None:
    """Return kinds and tables of several blocks, or None where X is one table."""
    if isinstance(observation, str):
        if not _is_blocks(X):
            return None
        return [observation] * len(X), list(X)
    kinds = list(observation)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if not kinds or unknown:
        raise ValueError(
            f"Observation models must be among {', '.join(KINDS)}; got {unknown or 'none'}."
        )
    if not isinstance(X, (list, tuple)) or len(X) != len(kinds):
        size = len(X) if isinstance(X, (list, tuple)) else f"a {type(X).__name__}"
        raise ValueError(
            f"X must be a list of {len(kinds)} tables, one per observation model; got {size}."
        )
    return kinds, list(X)


def _check_counts(table: Any, where: str) -> Any:
    counts = sp.csr_array(canonical_csr(table)) if sp.issparse(table) else table
    values = counts.data if sp.issparse(counts) else counts
    if values.size and (values.min() < 0 or (values != np.floor(values)).any()):
        wrong = values[(values < 0) | (values != np.floor(values))][0]
        raise ValueError(f"{where} must hold counts, whole numbers of at least 0; got {wrong:g}.")
    return counts


def _check_codes(table: Floats, where: str) -> Floats:
    if (table < 0).any() or (table != np.floor(table)).any():
        wrong = table[(table < 0) | (table != np.floor(table))][0]
        raise ValueError(
            f"{where} must hold codes of categories, whole numbers of at least 0; got {wrong:g}."
        )
    if table.size and table.max() > 1e6:
        raise ValueError(
            f"{where} must hold codes of categories counted from 0, at most 1,000,000; got "
            f"{table.max():g}."
        )
    return table


def _one_hot(codes: Floats, n_symbols: int) -> Any:
    n = len(codes)
    return sp.csr_array((np.ones(n), (np.arange(n), codes.astype(int))), shape=(n, n_symbols))


def _table(estimator: Any, X: Any, kind: str, reset: bool | None, where: str) -> Any:
    """Return one table, checked; reset None leaves the estimator's number of columns alone."""
    if kind == "categorical" and not sp.issparse(X) and np.ndim(X) == 1:
        X = np.reshape(np.asarray(X), (-1, 1))
    accept = "csr" if kind == "multinomial" else False
    if reset is None:
        found = check_array(X, accept_sparse=accept, dtype=np.float64, input_name=where)
    elif kind == "multinomial":
        found = validate_rows(estimator, X, accept_sparse=accept, dtype=np.float64, reset=reset)
    else:
        found = validate_data(estimator, X, dtype=np.float64, reset=reset)
    if kind == "multinomial":
        return _check_counts(found, where)
    return _check_codes(found, where) if kind == "categorical" else found


def read_blocks(estimator: Any, X: Any, observation: Any, *, reset: bool) -> list[Block]:
    """Return the data as checked blocks.

    Parameters
    ----------
    estimator : estimator
        Whose data these are.
    X : array-like, sparse matrix or list of those
        One table, or one per block.
    observation : str or sequence of str
        Kind of the table, or of each block.
    reset : bool
        Whether numbers of columns are learned from X.

    Returns
    -------
    blocks : list of Block
        Each column of codes is a block of its own, in codes.
    """
    several = _kinds_of(observation, X)
    if several is None:
        tables = [(observation, _table(estimator, X, observation, reset, "X"))]
    else:
        tables = [
            (kind, _table(estimator, part, kind, None, f"Block {i} of X"))
            for i, (kind, part) in enumerate(zip(*several, strict=True))
        ]
        rows = [table.shape[0] for _, table in tables]
        if len(set(rows)) > 1:
            raise ValueError(f"Blocks of X must have as many rows each; got {rows}.")
        if reset:
            estimator.n_features_in_ = sum(table.shape[1] for _, table in tables)
    blocks: list[Block] = []
    for kind, table in tables:
        if kind == "categorical":
            blocks += [Block(kind, column) for column in table.T]
        else:
            blocks.append(Block(kind, table))
    return blocks


def rows_of(blocks: list[Block]) -> int:
    """Return the number of rows."""
    return int(blocks[0].table.shape[0])


def pooled(parts: list[list[Block]]) -> list[Block]:
    """Return the blocks of several data sets, one below the other."""
    if len({tuple(block.kind for block in blocks) for blocks in parts}) > 1:
        raise ValueError("Data sets must have the same blocks each.")
    out = []
    for group in zip(*parts, strict=True):
        tables = [block.table for block in group]
        wide = {table.shape[1] for table in tables if table.ndim == 2}
        if len(wide) > 1:
            raise ValueError(f"Data sets must have as many columns each; got {sorted(wide)}.")
        if any(sp.issparse(table) for table in tables):
            stack = sp.csr_array(sp.vstack([sp.csr_array(table) for table in tables]))
        else:
            stack = np.concatenate(tables)
        out.append(Block(group[0].kind, stack))
    return out


def _scales(X: Floats) -> Floats:
    """Return the spread of each column; its size where it never varies."""
    centred = X - X.mean(axis=0)
    variances = (centred**2).mean(axis=0)
    size = np.maximum(np.abs(X).max(axis=0), 1e-150)
    flat = variances <= (1e-14 * size) ** 2
    variances = np.where(flat, size**2, variances)
    if not np.isfinite(variances).all() or (variances < 1e-290).any():
        raise ValueError(
            "X must have columns whose variances are numbers of ordinary size; scale the columns."
        )
    return np.sqrt(variances)


def neighbours(coords: Floats) -> Indices:
    """Return for each point the nearest other one."""
    if len(coords) < 2:
        return np.zeros(len(coords), dtype=np.intp)
    _, found = cKDTree(coords).query(coords, k=2)
    own = found[:, 0] == np.arange(len(coords))
    return np.asarray(np.where(own, found[:, 1], found[:, 0]), dtype=np.intp)


def _gaussian_prior(X: Floats, near: Indices, full: bool) -> GaussianWishart | GaussianGamma:
    """Return the prior of an atom of standardised rows: its noise is what neighbours differ by."""
    d = X.shape[1]
    flat = np.ptp(X, axis=0) == 0.0
    steps = X - X[near]
    # half the mean square of a difference of neighbours: nothing of what varies slowly
    total, noise = X.T @ X / len(X), 0.5 * steps.T @ steps / len(X)
    for S in (total, noise):  # collinear and constant columns have a density too
        S.flat[:: d + 1] += RIDGE + flat
    if not full:
        total, noise = np.diag(np.diagonal(total)), np.diag(np.diagonal(noise))
    # the mean's prior is as wide as the data, in units of the noise
    beta = np.array([min(1.0, d / float(np.trace(np.linalg.solve(noise, total))))])
    zero = np.zeros((1, d))
    if not full:
        # three degrees of freedom, so that the expected variance exists
        return GaussianGamma(zero, beta, np.array([3.0]), 3.0 * np.diagonal(noise)[None])
    # d + 2 is the least for which an inverse Wishart has a mean
    return GaussianWishart(zero, beta, np.array([d + 2.0]), (d + 2.0) * noise[None])


class Observations:
    """Priors of all blocks, and what q of the atoms says of rows.

    Parameters
    ----------
    blocks : list of Block
        The training data.
    near : ndarray of shape (n,)
        A neighbour of each row.
    """

    def __init__(self, blocks: list[Block], near: Indices) -> None:
        self.kinds = [block.kind for block in blocks]
        self.priors: list[Any] = []
        self.units: list[Any] = []
        for kind, table in blocks:
            if kind in ("gaussian", "diag"):
                self.units.append((table.mean(axis=0), _scales(table)))
                Z = (table - self.units[-1][0]) / self.units[-1][1]
                Z[:, np.ptp(table, axis=0) == 0.0] = 0.0
                self.priors.append(_gaussian_prior(Z, near, kind == "gaussian"))
            else:
                self.units.append(None)
                size = int(table.max()) + 1 if kind == "categorical" else table.shape[1]
                # Section 5.3: 1 / (number of symbols)
                self.priors.append(Dirichlet(np.full((1, size), 1.0 / size)))

    @property
    def log_unit(self) -> float:
        """What a row's log density in the user's units has more than in standardised ones."""
        # the Jacobian of standardising
        return -sum(float(np.log(unit[1]).sum()) for unit in self.units if unit is not None)

    def tables(self, blocks: list[Block]) -> list[Any]:
        """Return numbers as the conjugate blocks read them; refuse symbols that fit never saw."""
        if [block.kind for block in blocks] != self.kinds:
            raise ValueError(f"X must have the {len(self.kinds)} blocks of fit; got {len(blocks)}.")
        out = []
        for i, ((kind, table), prior, unit) in enumerate(
            zip(blocks, self.priors, self.units, strict=True)
        ):
            size = prior[0].shape[1]
            if kind == "categorical":
                if table.max() >= size:
                    raise ValueError(
                        f"Column {i} of X must hold codes below {size}, as in fit; got "
                        f"{table.max():g}."
                    )
                table = _one_hot(table, size)
            elif table.shape[1] != size:
                raise ValueError(
                    f"Block {i} of X must have {size} columns as in fit; got {table.shape[1]}."
                )
            out.append(table if unit is None else (table - unit[0]) / unit[1])
        return out

    def update(self, tables: list[Any], weights: Floats) -> list[Any]:
        """Return q of each atom given weights (n, K) of rows."""
        return [prior.update(t, weights) for prior, t in zip(self.priors, tables, strict=True)]

    def scores(self, atoms: list[Any], tables: list[Any]) -> Floats:
        """Return E log p(row | atom) of shape (n, K)."""
        parts = [q.expected_log_density(t) for q, t in zip(atoms, tables, strict=True)]
        return np.asarray(sum(parts[1:], parts[0]))

    def divergences(self, atoms: list[Any]) -> Floats:
        """Return KL(q ‖ prior) of each atom."""
        parts = [q.divergence(prior) for q, prior in zip(atoms, self.priors, strict=True)]
        return np.asarray(sum(parts[1:], parts[0]))

    def evidences(self, tables: list[Any], weights: Floats) -> Floats:
        """Return the log evidence of the rows weighted by each column, as one atom each."""
        atoms = self.update(tables, weights)
        # E log p(rows) - KL is the evidence, since q is the exact posterior
        return (weights * self.scores(atoms, tables)).sum(axis=0) - self.divergences(atoms)

    def describe(self, atoms: list[Any]) -> Any:
        """Return the atoms as a dict of arrays, or a list of dicts, one per block."""
        out = []
        for q, unit in zip(atoms, self.units, strict=True):
            if unit is not None:
                covariances = q.covariances() * unit[1] ** 2  # back from standard units
                if covariances.ndim == 3:
                    covariances = q.covariances() * unit[1][:, None] * unit[1]
                out.append(
                    {
                        "means": unit[0] + unit[1] * q.mean,
                        "covariances": covariances,
                        "mean_precisions": q.beta,
                        "degrees_of_freedom": q.dof,
                    }
                )
            else:
                out.append({"probabilities": q.mean(), "concentrations": q.concentration})
        return out[0] if len(out) == 1 else out

    def draw(self, atoms: list[Any], labels: Indices, lengths: Any, rng: Any) -> Any:
        """Draw one row per label at the atoms' expected parameters."""
        out = []
        for kind, q, length, unit in zip(self.kinds, atoms, lengths, self.units, strict=True):
            if kind == "gaussian":
                roots = np.linalg.cholesky(q.covariances())
                noise = rng.standard_normal((len(labels), q.mean.shape[1]))
                # N(m_k, (ν_k W_k)⁻¹)
                drawn = q.mean[labels] + np.einsum("nij,nj->ni", roots[labels], noise)
                out.append(unit[0] + unit[1] * drawn)
            elif kind == "diag":
                noise = rng.standard_normal((len(labels), q.mean.shape[1]))
                drawn = q.mean[labels] + np.sqrt(q.covariances())[labels] * noise
                out.append(unit[0] + unit[1] * drawn)
            else:
                p = q.mean()
                p = p / p.sum(axis=1, keepdims=True)
                rows = [rng.multinomial(length, p[k]) for k in labels]
                rows_ = np.array(rows, dtype=np.float64).reshape(len(labels), -1)
                out.append(rows_.argmax(axis=1) if kind == "categorical" else rows_)
        if all(kind == "categorical" for kind in self.kinds):
            return np.column_stack(out)
        return out[0] if len(out) == 1 else out


def start_features(blocks: list[Block]) -> Floats:
    """Return numbers for k-means: standardised columns, shares of counts, indicators of codes."""
    out = []
    for kind, table in blocks:
        if kind in ("gaussian", "diag"):
            centred = table - table.mean(axis=0)
            spread = np.sqrt((centred**2).mean(axis=0))
            out.append(centred / np.where(spread > 0, spread, 1.0))
        elif kind == "multinomial":
            dense = table.toarray() if sp.issparse(table) else table
            total = dense.sum(axis=1, keepdims=True)
            out.append(dense / np.where(total > 0, total, 1.0))
        else:
            out.append(_one_hot(table, int(table.max()) + 1).toarray())
    return np.hstack(out)
