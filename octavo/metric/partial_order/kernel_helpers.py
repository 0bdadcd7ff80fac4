"""Kernels of the paper's experiments that scikit-learn does not have.

The χ² kernel of tag distributions is ``kernel="chi2"`` (`sklearn.metrics.pairwise.chi2_kernel`).

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 5.2.1; T.
Jebara, R. Kondor and A. Howard (2004), "Probability product kernels".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.probability.gaussians import log_product_kernel

__all__ = ["cooccurrence_kernel", "probability_product_kernel", "tfidf_kernel"]


def _mixture(model: Any, place: int) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and covariances, (k, d) where they are diagonal."""
    if hasattr(model, "weights_") and hasattr(model, "means_") and hasattr(model, "covariances_"):
        kind = getattr(model, "covariance_type", "full")
        weights, means, covars = model.weights_, model.means_, np.asarray(model.covariances_)
        if kind == "tied":
            covars = np.repeat(covars[None], len(weights), axis=0)
        elif kind == "spherical":
            covars = np.repeat(covars[:, None], np.shape(means)[1], axis=1)
    else:
        try:
            weights, means, covars = model
        except (TypeError, ValueError):
            raise ValueError(
                "A mixture is a fitted GaussianMixture or (weights, means, covariances); model "
                f"{place} is {type(model).__name__}."
            ) from None
    weights, means, covars = (
        real_array(a, f"{what} of model {place}")
        for a, what in ((weights, "weights"), (means, "means"), (covars, "covariances"))
    )
    if means.ndim != 2 or weights.shape != means.shape[:1] or covars.shape[:2] != means.shape:
        raise ValueError(
            f"Model {place} needs weights (k,), means (k, d) and covariances (k, d) or (k, d, d); "
            f"got {weights.shape}, {means.shape} and {covars.shape}."
        )
    if covars.ndim == 3 and covars.shape[2] != means.shape[1]:
        raise ValueError(f"Covariances of model {place} must be square, got {covars.shape}.")
    lowest = covars.min() if covars.ndim == 2 else np.linalg.eigvalsh(covars).min()
    if not lowest > 0.0 or not (weights >= 0).all() or not weights.sum() > 0.0:
        raise ValueError(
            f"Model {place} needs positive variances and weights of which none is negative and "
            f"one positive; the lowest variance is {lowest:.3g}."
        )
    return weights, means, covars


@checked
def probability_product_kernel(
    models: Sequence[Any], others: Sequence[Any] | None = None, *, power: float = 0.5
) -> Floats:
    """Return ∫ p(x)^λ q(x)^λ dx for all pairs of Gaussian mixtures.

    For λ = 1 this is exact (the expected likelihood kernel), and for single Gaussians it is exact
    for every λ (λ = 1/2 is the Bhattacharyya kernel). For mixtures and other λ the power of a sum
    is replaced by the sum of powers, which is right where components do not overlap; that too is
    an inner product, so that the matrix is positive semidefinite always.

    Parameters
    ----------
    models : sequence
        Mixtures: fitted `sklearn.mixture.GaussianMixture` objects, or tuples (weights, means,
        covariances) with covariances of shape (k, d) or (k, d, d).
    others : sequence, default=None
        The mixtures of the columns; None stands for `models`.
    power : float, default=0.5
        The power λ; the paper's experiments have 1/2.

    Returns
    -------
    K : ndarray of shape (n_models, n_others)
        The kernel.

    References
    ----------
    .. [1] Jebara, Kondor and Howard (2004). Probability product kernels. JMLR 5:819-844.

    Examples
    --------
    >>> from octavo.metric import probability_product_kernel
    >>> one = ([1.0], [[0.0]], [[1.0]])
    >>> two = ([1.0], [[2.0]], [[1.0]])
    >>> probability_product_kernel([one, two]).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """
    power = float(real_array(power, "power"))
    if not power > 0.0:
        raise ValueError(f"power must be positive, got {power:g}.")
    if isinstance(models, (str, dict)) or not hasattr(models, "__len__") or not len(models):
        raise ValueError("models must be a sequence of at least one mixture.")
    rows = [_mixture(model, place) for place, model in enumerate(models)]
    columns = rows if others is None else [_mixture(m, place) for place, m in enumerate(others)]
    widths = {means.shape[1] for _, means, _ in rows + columns}
    forms = {covars.ndim for _, _, covars in rows + columns}
    if len(widths) > 1:
        raise ValueError(f"All mixtures must be of the same dimension, got {sorted(widths)}.")
    if len(forms) > 1:  # diagonal ones become matrices
        rows, columns = (
            [(w, m, c if c.ndim == 3 else np.array([np.diag(v) for v in c])) for w, m, c in side]
            for side in (rows, columns)
        )
    weights = [np.concatenate([w for w, _, _ in side]) for side in (rows, columns)]
    means = [np.concatenate([m for _, m, _ in side]) for side in (rows, columns)]
    covars = [np.concatenate([c for _, _, c in side]) for side in (rows, columns)]
    # Each component against each
    products = np.exp(log_product_kernel(means[0], covars[0], means[1], covars[1], power))
    products *= np.outer(weights[0] ** power, weights[1] ** power)  # exact for power 1 alone
    starts = [np.cumsum([0, *(len(w) for w, _, _ in side)])[:-1] for side in (rows, columns)]
    return np.add.reduceat(np.add.reduceat(products, starts[0], axis=0), starts[1], axis=1)


@checked
def tfidf_kernel(counts: ArrayLike, others: ArrayLike | None = None) -> Floats:
    """Return cosines between bags of words, weighed by inverse document frequencies.

    Parameters
    ----------
    counts : {array-like, sparse matrix} of shape (n_items, n_words)
        How often each word stands in each item's text; the frequencies are counted here.
    others : {array-like, sparse matrix} of shape (n_others, n_words), default=None
        New items for the rows of the kernel; None stands for `counts`.

    Returns
    -------
    K : ndarray of shape (n_others, n_items)
        The kernel; zero for items without words.

    Examples
    --------
    >>> from octavo.metric import tfidf_kernel
    >>> tfidf_kernel([[3, 0, 1], [2, 0, 0], [0, 4, 1]]).round(2).tolist()
    [[1.0, 0.95, 0.06], [0.95, 1.0, 0.0], [0.06, 0.0, 1.0]]
    """
    table = check_array(counts, accept_sparse="csr", dtype=np.float64, input_name="counts")
    weigher = TfidfTransformer().fit(_counted(table, "counts"))
    asked = table
    if others is not None:
        asked = check_array(others, accept_sparse="csr", dtype=np.float64, input_name="others")
        if asked.shape[1] != table.shape[1]:
            raise ValueError(
                f"others must have the {table.shape[1]} words of counts, got {asked.shape[1]}."
            )
    rows = weigher.transform(_counted(asked, "others"))
    return cosine_similarity(rows, weigher.transform(table), dense_output=True)


def _counted(table: Any, name: str) -> Any:
    low = table.data.min(initial=0.0) if sp.issparse(table) else table.min(initial=0.0)
    if low < 0.0:
        raise ValueError(f"{name} must hold counts, none negative; the lowest is {low:g}.")
    return table


@checked
def cooccurrence_kernel(links: ArrayLike) -> Floats:
    """Return how much the users of items overlap: cosines between rows of a table of links.

    Parameters
    ----------
    links : {array-like, sparse matrix} of shape (n_items, n_users)
        Which user was seen with which item: anything but zero counts as one.

    Returns
    -------
    K : ndarray of shape (n_items, n_items)
        |U_i ∩ U_j| / √(|U_i| |U_j|). An item without users is like itself alone: its row is that of
        the identity matrix, as in the paper.

    Examples
    --------
    >>> from octavo.metric import cooccurrence_kernel
    >>> cooccurrence_kernel([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]).round(4).tolist()
    [[1.0, 0.7071, 0.0], [0.7071, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    table = check_array(links, accept_sparse="csr", dtype=np.float64, input_name="links")
    seen = sp.csr_array(table)
    seen.sum_duplicates()
    seen.data = (seen.data != 0.0).astype(np.float64)  # whether, not how often
    K = np.asarray((seen @ seen.T).toarray())
    own = np.diagonal(K).copy()
    # Shared users over √(a b)
    K = K / np.sqrt(np.outer(np.maximum(own, 1.0), np.maximum(own, 1.0)))
    np.fill_diagonal(K, 1.0)
    return K
