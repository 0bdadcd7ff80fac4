"""Support vectors that several machines share: stored once, compared once.

The machines of an ensemble use one kernel and often the same rows. The pool holds every distinct
support vector U once and a sparse matrix A with a column of signed dual coefficients for each
machine, so that the decision values of all machines are one kernel block and one product,
D = k(X, U) A + r.

Claesen, De Smet, Suykens and De Moor (2014), EnsembleSVM: a library for ensemble learning using
support vector machines, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from octavo.engine.kernels.gram import Kernel, row_chunks
from octavo.engine.kernels.namespaces import namespace_of, to_namespace

# Below this share of nonzeros a sparse product beats a dense one, and a block of this size
# is read back from the cache before it is evicted (both measured on 8,000 x 10 pools).
SPARSE_BELOW = 0.1
BLOCK_MEGABYTES = 16.0


class Member(NamedTuple):
    """One binary machine: its support vectors by row, their signed coefficients, its offset.

    ``gap`` is the duality gap of its problem.
    """

    rows: np.ndarray
    coef: np.ndarray
    intercept: float
    gap: float


class SupportPool(NamedTuple):
    """Distinct support vectors and what every machine makes of them.

    ``indices`` are rows of the training set, ``vectors`` those rows (None for a precomputed
    kernel), ``coef`` the CSC matrix of shape (n_pool, n_machines) and ``intercept`` the offsets.
    """

    indices: np.ndarray
    vectors: Any
    coef: Any
    intercept: np.ndarray


# --- building ------------------------------------------------------------------------------------


def pool_members(members: Sequence[Member], X: Any = None) -> SupportPool:
    """Return the pool of machines that were trained on rows of X.

    Parameters
    ----------
    members : sequence of Member
        The machines.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features), default=None
        The training rows; None for a precomputed kernel.

    Returns
    -------
    SupportPool
        The pool; equal rows of X are one support vector.
    """
    rows, place = np.unique(np.concatenate([m.rows for m in members]), return_inverse=True)
    column = np.repeat(np.arange(len(members)), [len(m.rows) for m in members])
    values = np.concatenate([m.coef for m in members])
    shape = (len(rows), len(members))
    # a row drawn twice: coefficients add up
    coef = sp.coo_array((values, (place, column)), shape=shape).tocsc()
    intercept = np.array([m.intercept for m in members], dtype=np.float64)
    vectors = None if X is None else X[rows]
    return fold_equal_rows(SupportPool(rows, vectors, coef, intercept))


def fold_equal_rows(pool: SupportPool) -> SupportPool:
    """Return the pool with equal support vectors stored once and their coefficients added."""
    seen: dict[Any, int] = {}
    place = np.array([seen.setdefault(key, len(seen)) for key in _row_keys(pool)], dtype=np.intp)
    if len(seen) == len(place):
        return pool
    first = np.unique(place, return_index=True)[1]
    gather = sp.csr_array(
        (np.ones(len(place)), (place, np.arange(len(place)))), shape=(len(seen), len(place))
    )
    vectors = None if pool.vectors is None else pool.vectors[first]
    return SupportPool(pool.indices[first], vectors, (gather @ pool.coef).tocsc(), pool.intercept)


def _row_keys(pool: SupportPool) -> Iterator[Any]:
    """Yield something hashable for every support vector, equal where the vectors are."""
    if pool.vectors is None:
        yield from pool.indices.tolist()
    elif sp.issparse(pool.vectors):
        rows = sp.csr_array(pool.vectors, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        columns = rows.indices.astype(np.int64)
        for start, stop in zip(rows.indptr[:-1], rows.indptr[1:]):
            yield columns[start:stop].tobytes() + rows.data[start:stop].tobytes()
    else:
        for row in np.ascontiguousarray(pool.vectors + 0.0):  # -0.0 and 0.0 are equal
            yield row.tobytes()


def merge_pools(pools: Sequence[SupportPool]) -> SupportPool:
    """Return one pool with the machines of all; equal support vectors are stored once."""
    indices = np.concatenate([pool.indices for pool in pools])
    # machines do not see each other's vectors
    coef = sp.block_diag([pool.coef for pool in pools], format="csc")
    intercept = np.concatenate([pool.intercept for pool in pools])
    parts = [pool.vectors for pool in pools]
    vectors: Any = None
    if any(sp.issparse(part) for part in parts):
        vectors = sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    elif parts[0] is not None:
        vectors = np.concatenate(parts)
    return fold_equal_rows(SupportPool(indices, vectors, sp.csc_array(coef), intercept))


def keep_machines(pool: SupportPool, columns: np.ndarray) -> SupportPool:
    """Return the pool of some of the machines, without the vectors that none of them uses."""
    coef = sp.csc_array(pool.coef[:, columns])
    used = np.unique(coef.indices[coef.data != 0.0])
    vectors = None if pool.vectors is None else pool.vectors[used]
    kept = sp.csc_array(sp.csr_array(coef)[used])
    return SupportPool(pool.indices[used], vectors, kept, pool.intercept[columns])


# --- prediction ----------------------------------------------------------------------------------


def pool_decision(
    X: Any, pool: SupportPool, kernel: Kernel, batch_size: int = 4096, n_jobs: int | None = None
) -> Any:
    """Return the decision values of every machine, D = k(X, U) A + r.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n_samples, n_features)
        Rows, of any array namespace; for a precomputed kernel k(X, training rows).
    pool : SupportPool
        The machines.
    kernel : Kernel
        The kernel that they share.
    batch_size : int, default=4096
        Rows of a kernel block at most; on the host a block also stays below 16 MB.
    n_jobs : int, default=None
        Threads, each for some of the blocks; on the host only.

    Returns
    -------
    array of shape (n_samples, n_machines)
        Decision values, in the namespace, on the device and of the type of X.
    """
    if not namespace_of(X).is_numpy:
        return _decision_elsewhere(X, pool, kernel, batch_size)
    product, chunks = _host_plan(X, pool, kernel, batch_size)
    values = np.empty((X.shape[0], len(pool.intercept)))

    def fill(rows: slice) -> None:
        values[rows] = product(X[rows])

    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(fill)(rows) for rows in chunks)
    values += pool.intercept
    return values


def machine_values(X: Any, member: Member, vectors: Any, kernel: Kernel) -> np.ndarray:
    """Return the decision values of one machine on the host, on this thread."""
    coef = sp.csc_array(member.coef[:, None])
    pool = SupportPool(member.rows, vectors, coef, np.array([member.intercept]))
    product, chunks = _host_plan(X, pool, kernel, X.shape[0])
    # D = k(X, U) A + r, of one column
    return np.concatenate([product(X[rows])[:, 0] for rows in chunks]) + member.intercept


def _host_plan(
    X: Any, pool: SupportPool, kernel: Kernel, batch_size: int
) -> tuple[Any, list[slice]]:
    """Return the function X → k(X, U) A and the rows to call it with, a chunk at a time."""
    product, forms_block = _host_product(pool, kernel)
    width = len(pool.indices) if forms_block else X.shape[1]
    chunks = [
        slice(start, min(start + batch_size, chunk.stop))
        for chunk in row_chunks(X.shape[0], width, megabytes=BLOCK_MEGABYTES)
        for start in range(chunk.start, chunk.stop, batch_size)
    ]
    return product, chunks


def _host_product(pool: SupportPool, kernel: Kernel) -> tuple[Any, bool]:
    """Return the function X → k(X, U) A for NumPy and CSR, and whether it forms a block."""
    if kernel.name == "linear":  # k(X, U) A = X (UᵀA): a weight vector for each machine
        weights = (
            np.asarray((pool.vectors.T @ pool.coef).todense())
            if sp.issparse(pool.vectors)
            else np.asarray((pool.coef.T @ pool.vectors).T)
        )
        return (lambda X: np.asarray(X @ weights)), False
    if pool.coef.nnz < SPARSE_BELOW * max(1, pool.coef.shape[0] * pool.coef.shape[1]):
        transposed = sp.csr_array(pool.coef.T)
        if kernel.name == "precomputed":
            return (lambda X: (transposed @ X.T[pool.indices]).T), True
        if kernel.function is None:  # a callable may not be symmetric in shape or cost
            return (lambda X: (transposed @ kernel.block(pool.vectors, X)).T), True
    dense = pool.coef.toarray()  # D = k(X, U) A
    return (lambda X: kernel.against(X, pool.vectors, pool.indices) @ dense), True


def _decision_elsewhere(X: Any, pool: SupportPool, kernel: Kernel, batch_size: int) -> Any:
    """Return the decision values where X lives: the pool is moved there once."""
    xp = namespace_of(X).xp
    coef, intercept = (to_namespace(a, X) for a in (pool.coef.toarray(), pool.intercept))
    n = X.shape[0]
    chunks = [slice(start, min(start + batch_size, n)) for start in range(0, n, batch_size)]
    if kernel.name == "precomputed":
        columns = to_namespace(pool.indices, X)
        parts = [xp.take(X[rows, :], columns, axis=1) @ coef for rows in chunks]
    else:
        vectors = pool.vectors.toarray() if sp.issparse(pool.vectors) else pool.vectors
        vectors = to_namespace(np.ascontiguousarray(vectors), X)
        if kernel.name == "linear":
            return X @ (vectors.T @ coef) + intercept
        parts = [kernel.block(X[rows, :], vectors) @ coef for rows in chunks]
    return xp.concat(parts, axis=0) + intercept
