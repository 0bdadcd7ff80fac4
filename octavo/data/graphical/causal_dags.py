"""Linear and nonlinear causal data with non-Gaussian sources.

The simulations of Henao and Winther (2011), "Sparse linear identifiable multivariate modeling",
JMLR 12:863-905, sections 6.1 to 6.5, after Shimizu et al. (2006) and Hoyer et al. (2009).
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gamma
from sklearn.utils import check_random_state

from octavo._unpacking import OPENERS, unpack
from octavo.engine.discrete.bif import parse_bif
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, validate_params

__all__ = [
    "CausalData",
    "heavy_tailed",
    "make_confounded_dag",
    "make_factor_data",
    "make_linear_dag",
    "make_nonlinear_dag",
]

POSITIVE = [Interval(Integral, 1, None, closed="left")]
TWO_OR_MORE = [Interval(Integral, 2, None, closed="left")]


class CausalData(NamedTuple):
    """Rows, and what they were made from.

    Attributes
    ----------
    X : ndarray of shape (n_samples, d)
        Rows.
    B : ndarray of shape (d, d)
        Effects, B[i, j] of j on i; zero for a factor model; for a nonlinear DAG 1 on an edge.
    C : ndarray of shape (d, m)
        Loadings of the latent variables that are no driving signals; the mixing matrix of a factor
        model.
    order : tuple of int
        A causal order of the columns; empty for a factor model.
    """

    X: np.ndarray
    B: np.ndarray
    C: np.ndarray
    order: tuple[int, ...]


@checked
@validate_params(
    {"n_rows": POSITIVE, "n_samples": POSITIVE, "random_state": ["random_state"]},
    prefer_skip_nested_validation=True,
)
def heavy_tailed(n_rows: int, n_samples: int, random_state: Any = None) -> np.ndarray:
    """Draw sources of unit variance from generalised Gaussian laws with random shapes.

    Parameters
    ----------
    n_rows : int
        Number of sources, each with a shape of its own between 0.5 and 1 (1 is Laplace's law).
    n_samples : int
        Number of draws of each.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Z : ndarray of shape (n_rows, n_samples)
        Sources.

    Examples
    --------
    >>> from octavo.data import heavy_tailed
    >>> heavy_tailed(2, 1000, random_state=0).shape
    (2, 1000)
    """
    rng = check_random_state(random_state)
    shapes = rng.uniform(0.5, 1.0, n_rows)[:, None]
    size = rng.gamma(1.0 / shapes, size=(n_rows, n_samples)) ** (1.0 / shapes)
    unit = np.sqrt(gamma(1.0 / shapes) / gamma(3.0 / shapes))
    return unit * size * rng.choice([-1.0, 1.0], (n_rows, n_samples))


def _weights(shape: Any, rng: Any) -> np.ndarray:
    return rng.choice([-1.0, 1.0], shape) * (0.5 + 0.5 * np.abs(rng.standard_normal(shape)))


def _lower(d: int, density: str, rng: Any) -> np.ndarray:
    """Return effects in causal order: full, or with 10 to 80 % of the edges left out."""
    full = density == "dense" or (density == "mixed" and rng.random_sample() < 0.5)
    left_out = 0.0 if full else rng.uniform(0.1, 0.8)
    kept = rng.random_sample((d, d)) >= left_out
    return np.tril(_weights((d, d), rng) * kept, -1)


def _shuffled(X: Any, B: Any, C: Any, rng: Any) -> CausalData:
    """Hide the causal order: column k of the result is variable permutation[k]."""
    permutation = rng.permutation(len(B))
    order = tuple(int(i) for i in np.argsort(permutation))
    return CausalData(
        X[permutation].T.copy(), B[np.ix_(permutation, permutation)], C[permutation], order
    )


def _adjacency(structure: Any) -> Any:
    """Return which variable acts on which, [i, j] from j to i."""
    if isinstance(structure, (str, os.PathLike)):
        parents = parse_bif(_bif_text(structure))[2]
        edges = np.zeros((len(parents), len(parents)), dtype=bool)
        for i, causes in enumerate(parents):
            edges[i, list(causes)] = True
        return edges
    if hasattr(structure, "edges") and hasattr(structure, "nodes"):
        place = {node: i for i, node in enumerate(structure.nodes)}
        edges = np.zeros((len(place), len(place)), dtype=bool)
        for cause, effect in structure.edges():
            edges[place[effect], place[cause]] = True
        return edges
    return np.asarray(structure) != 0


def _bif_text(source: Any) -> str:
    """Return the text of a BIF file, or of one in pgmpy's folder, which is not imported."""
    path = Path(source)
    if not path.is_file():
        package = find_spec("pgmpy")
        folder = Path((package and package.origin) or "").parent / "utils" / "example_models"
        path = folder / f"{source}.bif.gz"
        if not path.is_file():
            known = sorted(file.name.removesuffix(".bif.gz") for file in folder.glob("*.bif.gz"))
            among = ", ".join(known) if known else "none, since pgmpy is not installed"
            raise ValueError(
                f"structure must be a matrix, a graph, a BIF file or the name of one in pgmpy's "
                f"folder ({among}); there is no file {str(source)!r}."
            )
    content = path.read_bytes()
    return (unpack(content, path.suffix) if path.suffix in OPENERS else content).decode()


@checked
@validate_params(
    {
        "n_features": TWO_OR_MORE,
        "n_samples": POSITIVE,
        "density": [StrOptions({"mixed", "dense", "sparse"})],
        "structure": ["array-like", str, os.PathLike, HasMethods(["edges", "nodes"]), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_linear_dag(
    n_features: int = 5,
    n_samples: int = 500,
    *,
    density: str = "mixed",
    structure: Any = None,
    random_state: Any = None,
) -> CausalData:
    """Draw rows of a linear DAG with heavy-tailed sources, columns in hidden order.

    Parameters
    ----------
    n_features, n_samples : int
        Columns and rows.
    density : {"mixed", "dense", "sparse"}, default="mixed"
        Whether all edges are there, or 20 to 90 % of them; "mixed" tosses a coin, as section 6.1.
    structure : array-like of shape (d, d), networkx.DiGraph, str or path, optional
        An adjacency matrix instead, True at [i, j] for an edge from j to i; or a directed graph; or
        a BIF file (packed or not), or the name of one of those in pgmpy's folder, such as "alarm"
        or "insurance", where pgmpy is installed. Effects are then sign(N(0, 1)) + N(0, 0.2), as
        section 6.2, and the columns keep their places.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : CausalData
        Rows with effects and order.

    Examples
    --------
    >>> from octavo.data import make_linear_dag
    >>> data = make_linear_dag(4, 200, random_state=0)
    >>> data.X.shape, len(data.order)
    ((200, 4), 4)
    """
    rng = check_random_state(random_state)
    if structure is None:
        B = _lower(n_features, density, rng)
        X = np.linalg.solve(np.eye(n_features) - B, heavy_tailed(n_features, n_samples, rng))
        return _shuffled(X, B, np.zeros((n_features, 0)), rng)
    edges = _adjacency(structure)
    d = len(edges)
    if edges.shape != (d, d):
        raise ValueError(f"structure must be square, got the shape {edges.shape}.")
    order: list[int] = []
    while len(order) < d:
        left = [i for i in range(d) if i not in order]
        roots = [i for i in left if not edges[i, left].any()]
        if not roots:
            raise ValueError("structure must have no cycle: no variable comes first.")
        order += roots
    B = edges * (np.sign(rng.standard_normal((d, d))) + rng.normal(0.0, np.sqrt(0.2), (d, d)))
    X = np.linalg.solve(np.eye(d) - B, heavy_tailed(d, n_samples, rng))
    return CausalData(X.T.copy(), B, np.zeros((d, 0)), tuple(order))


@checked
@validate_params(
    {
        "n_features": TWO_OR_MORE,
        "n_samples": POSITIVE,
        "n_latent": POSITIVE,
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_confounded_dag(
    n_features: int = 5, n_samples: int = 500, *, n_latent: int = 1, random_state: Any = None
) -> CausalData:
    """Draw rows of a sparse linear DAG with latent common causes (section 6.4).

    Parameters
    ----------
    n_features, n_samples, n_latent : int
        Columns, rows, and latent variables, each of which acts on two columns at least.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : CausalData
        Rows with effects, loadings of the latent variables and order.

    Examples
    --------
    >>> from octavo.data import make_confounded_dag
    >>> make_confounded_dag(4, 100, random_state=0).C.shape
    (4, 1)
    """
    rng = check_random_state(random_state)
    B = _lower(n_features, "sparse", rng)
    C = _weights((n_features, n_latent), rng)
    for j in range(n_latent):
        n_children = rng.randint(2, n_features + 1)
        C[rng.permutation(n_features)[n_children:], j] = 0.0
    Z = heavy_tailed(n_features + n_latent, n_samples, rng)
    X = np.linalg.solve(np.eye(n_features) - B, Z[:n_features] + C @ Z[n_features:])
    return _shuffled(X, B, C, rng)


def triangular_by_exchange(pattern: Any) -> bool:
    """Tell whether rows and columns of a square pattern can be ordered to a triangular one."""
    pattern = np.array(pattern, dtype=bool)
    while len(pattern):
        rows = np.flatnonzero(pattern.sum(axis=1) == 1)
        if not rows.size:
            return False
        column = int(np.flatnonzero(pattern[rows[0]])[0])
        pattern = np.delete(np.delete(pattern, rows[0], axis=0), column, axis=1)
    return True


@checked
@validate_params(
    {"n_features": TWO_OR_MORE, "n_samples": POSITIVE, "random_state": ["random_state"]},
    prefer_skip_nested_validation=True,
)
def make_factor_data(
    n_features: int = 5, n_samples: int = 500, *, random_state: Any = None
) -> CausalData:
    """Draw rows x = Dz of a mixing matrix that no exchange makes triangular (section 6.3).

    Parameters
    ----------
    n_features, n_samples : int
        Columns (as many as factors) and rows.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : CausalData
        Rows, with the mixing matrix as `C`.

    Examples
    --------
    >>> from octavo.data import make_factor_data
    >>> data = make_factor_data(3, 100, random_state=0)
    >>> data.C.shape, data.order
    ((3, 3), ())
    """
    rng = check_random_state(random_state)
    d = n_features
    while True:
        kept = rng.random_sample((d, d)) >= (0.0 if rng.rand() < 0.5 else rng.uniform(0.1, 0.8))
        D = _weights((d, d), rng) * kept
        if np.linalg.cond(D) < 1e3 and not triangular_by_exchange(D != 0.0):
            break
    X = D @ heavy_tailed(d, n_samples, rng)
    return CausalData(X.T.copy(), np.zeros((d, d)), D, ())


@checked
@validate_params(
    {"n_samples": POSITIVE, "random_state": ["random_state"]},
    prefer_skip_nested_validation=True,
)
def make_nonlinear_dag(n_samples: int = 100, *, random_state: Any = None) -> CausalData:
    """Draw rows of the nonlinear network of Fig. 12(a): 0 acts on 1 and 2, and those on 3.

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : CausalData
        Rows in causal order, with 1 in `B` on each edge.

    Examples
    --------
    >>> from octavo.data import make_nonlinear_dag
    >>> make_nonlinear_dag(50, random_state=0).B.sum()
    np.float64(4.0)
    """
    rng = check_random_state(random_state)
    z = heavy_tailed(4, n_samples, rng)
    w = z[0]
    x = w**2 + z[1]
    y = 4.0 * np.sqrt(np.abs(w)) + z[2]
    last = 2.0 * (np.sin(x) + np.sin(y)) + z[3]
    B = np.zeros((4, 4))
    B[[1, 2, 3, 3], [0, 0, 1, 2]] = 1.0
    return CausalData(np.column_stack([w, x, y, last]), B, np.zeros((4, 0)), (0, 1, 2, 3))
