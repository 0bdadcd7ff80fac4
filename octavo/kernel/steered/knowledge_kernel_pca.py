"""Kernel PCA that an analyst can steer: drag points, link or separate pairs, label a few.

Every component is the global optimum of its problem, so that a map depends on what was said and
not on where a search began; without constraints it is ordinary kernel PCA. `InteractiveSession`
re-solves a map in milliseconds while its points are dragged.

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis,
University of Bonn), Chapter 2; the problems are solved in `octavo.kernel.steered.components`.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.data.kernel.steerable import make_g241, make_hidden_clusters
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import resolve_kernel
from octavo.engine.linalg.rank_one_eigen import RankOneEigen, rank_one_eigh
from octavo.engine.linalg.sphere_quadratic import SphereMinimum, minimize_quadratic_on_sphere
from octavo.kernel.steered.basis import MapBasis, exact_basis, low_rank_basis
from octavo.kernel.steered.components import SteeredMap, Steering, SteeringSystem
from octavo.kernel.steered.constraints import MapConstraints, read_constraints

__all__ = [
    "KnowledgeKernelPCA",
    "RankOneEigen",
    "SphereMinimum",
    "make_g241",
    "make_hidden_clusters",
    "map_distortion",
    "minimize_quadratic_on_sphere",
    "rank_one_eigh",
]


@checked
def map_distortion(embedding: Any, target: Any, reference: Any = None) -> float:
    """Return how far the points of two maps are apart on average, on the scale of a map.

    Parameters
    ----------
    embedding, target : array-like of shape (n_samples, n_components)
        Two maps of the same points.
    reference : array-like of shape (n_samples, n_components), default=None
        The map whose median distance between two points is the unit; usually plain kernel
        PCA. `target` by default.

    Returns
    -------
    float
        Mean displacement of a point over the median distance of two points.

    References
    ----------
    .. [1] Oglic (2018). Constructive approximation and learning by greedy algorithms, Section 2.9.
       Thesis, University of Bonn.

    Examples
    --------
    >>> from octavo.kernel import map_distortion
    >>> map_distortion([[0.0], [1.0], [2.0]], [[0.5], [1.5], [2.5]])
    0.5
    """
    embedding, target = check_array(embedding), check_array(target)
    if embedding.shape != target.shape:
        raise ValueError(
            f"Two maps of the same points must have one shape, got {embedding.shape} and "
            f"{target.shape}."
        )
    scale = target if reference is None else check_array(reference)
    unit = float(np.median(pdist(scale)))
    if unit == 0.0:
        raise ValueError("More than half of the points of the reference map coincide.")
    return float(np.linalg.norm(embedding - target, axis=1).mean()) / unit


def checked_samples(model: KnowledgeKernelPCA, X: Any) -> Any:
    """Return the samples of a fit as a float array or CSR matrix."""
    if model.kernel == "precomputed":
        X = validate_data(model, X, dtype=np.float64, ensure_min_samples=2)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel must be square, got shape {X.shape}.")
        return X
    return validate_rows(model, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)


def basis_of(model: KnowledgeKernelPCA, X: Any, top: int | None = None) -> MapBasis:
    """Return the eigenvectors of the kernel that a model asks for, or so many of them alone."""
    kernel = resolve_kernel(
        model.kernel,
        X,
        gamma=model.gamma,
        degree=model.degree,
        coef0=model.coef0,
        params=model.kernel_params,
    )
    if model.low_rank is None:
        basis = exact_basis(kernel, X, top)
    else:
        basis = low_rank_basis(kernel, X, model.low_rank, model.random_state)
    if not len(basis.p):
        raise ValueError("The kernel cannot tell any two samples apart: they have no map.")
    return basis


def steering_of(model: KnowledgeKernelPCA) -> Steering:
    """Return the parameters on which the components depend."""
    return Steering(**{name: getattr(model, name) for name in Steering._fields})


def store_map(
    model: KnowledgeKernelPCA, basis: MapBasis, constraints: MapConstraints, solved: SteeredMap
) -> None:
    """Set the fitted attributes of a model."""
    model.embedding_ = solved.embedding
    model.baseline_ = basis.plain(model.n_components)
    model.alphas_ = basis.V @ (solved.coordinates / basis.p[:, None])
    model.eigenvalues_ = basis.p
    model.multipliers_, model.radii_ = solved.multipliers, solved.radii
    model.kkt_residuals_, model.hard_case_ = solved.kkt_residuals, solved.hard_case
    model.constraints_ = constraints.to_dict()
    model.constraint_residuals_ = constraint_residuals(constraints, solved.embedding)
    model._extension = basis.extension
    model._weights = basis.extension.coefficients(basis.V, basis.p, solved.coordinates)
    model._n_features_out = model.n_components
    worst = float(solved.kkt_residuals.max())
    if worst > model.tol:
        warnings.warn(
            f"A component is not solved to tol={model.tol:.1e}: its relative KKT residual is "
            f"{worst:.2e}.",
            ConvergenceWarning,
            stacklevel=3,
        )


def constraint_residuals(constraints: MapConstraints, embedding: Floats) -> dict[str, Any]:
    """Return how far placed points are from their places, and linked pairs from each other."""
    placed = {
        i: float(np.sqrt(np.nansum((embedding[i] - np.array(placement.at)) ** 2)))
        for i, placement in constraints.placements.items()
    }
    pairs = {
        (link.first, link.second): float(
            np.linalg.norm(embedding[link.first] - embedding[link.second])
        )
        for link in constraints.links
    }
    return {"placements": placed, "links": pairs}


class KnowledgeKernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator):
    """Kernel PCA with constraints on the map: placements, links and labels.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", another kernel of
        `sklearn.metrics.pairwise`, a callable f(X, Y) that returns the block of kernel values,
        or "precomputed".
    gamma : float, {"scale", "auto"} or None, default=None
        Scale of rbf, poly, sigmoid and laplacian kernels. None and "auto" are
        1 / n_features; "scale" is 1 / (n_features * X.var()).
    degree : float, default=3
        Degree of the poly kernel.
    coef0 : float, default=1
        Offset of poly and sigmoid kernels.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    variant : {"variance", "norm"}, default="variance"
        What is held fixed: the variance of a component while its norm is minimised, or its
        norm while its variance is maximised. "variance" keeps the map's size.
    lambda_place : float, default=1.0
        Strength of soft placements.
    lambda_link : float, default=1.0
        Strength of links.
    lambda_label : float, default=1.0
        Strength of labels.
    lambda_orth : float, default=1e3
        Strength of soft orthogonality.
    orthogonality : {"hard", "soft"}, default="hard"
        Whether components are exactly orthogonal functions, or penalised where they are not.
        Soft orthogonality gives a component twice where one eigenvalue of the kernel exceeds
        the next by more than `lambda_orth`.
    radius : "auto", float or array-like of shape (n_components,), default="auto"
        Norm of each component's column of the map ("variance") or of its function ("norm").
        "auto" is that of plain kernel PCA.
    anchor : float, default=0.0
        Strength of a pull of all points to their places in the plain map. Without it, a map
        whose only placed point is dragged across an axis turns to its mirror image, which is
        as good a map; with it, it stays. Sessions want about 1; 0 is the published method.
    average : bool, default=True
        Divide the strength of each kind of constraint by the number of those constraints, as
        published. If False, every constraint has the full strength, and adding one leaves the
        others as strong as they were.
    n_neighbors : int, default=10
        Neighbours along which labels spread.
    solver : {"secular", "cg"}, default="secular"
        Decompose a matrix of the size of the kernel's rank, or only multiply with it.
    low_rank : None, int or transformer, default=None
        None takes the whole kernel matrix: up to about 5,000 samples. A number takes a Nyström
        factor with so many random landmarks. A transformer (random Fourier features,
        `sklearn.kernel_approximation.Nystroem`, ...) takes the linear kernel of its features.
    tol : float, default=1e-6
        KKT residual above which a `ConvergenceWarning` says that a component is not solved.
    random_state : int, RandomState instance or None, default=None
        Of the landmarks.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The map of the training samples.
    baseline_ : ndarray of shape (n_samples, n_components)
        Plain kernel PCA of the same samples, each column's largest entry positive.
    alphas_ : ndarray of shape (n_samples, n_components)
        Coefficients of the components on the centred kernel.
    eigenvalues_ : ndarray of shape (rank,)
        Eigenvalues of the centred kernel matrix (or of its factor), largest first; may be the
        first `n_components` alone where there are no constraints.
    multipliers_ : ndarray of shape (n_components,)
        Lagrange multipliers of the spheres.
    radii_ : ndarray of shape (n_components,)
        The radii used.
    kkt_residuals_ : ndarray of shape (n_components,)
        Relative residuals of the optimality conditions.
    hard_case_ : ndarray of shape (n_components,), dtype bool
        Where the sign of the component is arbitrary; it is chosen to look like `baseline_`.
    constraint_residuals_ : dict
        "placements": distance of each placed point from where it should be, by point;
        "links": distance of each linked pair, by pair.
    constraints_ : dict
        The constraints as plain data; see `InteractiveSession`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    InteractiveSession : Changes constraints one by one, with undo.
    KnowledgeKernelPCACV : Learns the strengths and the kernel's scale.
    sklearn.decomposition.KernelPCA : The same without constraints.

    Notes
    -----
    Use `sklearn.decomposition.KernelPCA` where there is nothing to say about the map, and
    discriminant analysis where every sample has a label: few constraints are what this is for.

    With ``variant="variance"`` a component f minimises
    ‖f‖² + λ₁ mean (f(xᵢ) − yᵢ)² + λ₂ mean ±(f(xᵢ) − f(xⱼ))² − λ₃ Ω_C(f), Σ f(xᵢ)² = R². Ω_C is
    the similarity-weighted leave-one-out margin of nearest neighbours: labels spread along a
    graph of `n_neighbors` neighbours. A scalar label acts on the first component.

    References
    ----------
    .. [1] Oglic (2018). Constructive approximation and learning by greedy algorithms, Chapter 2.
       Thesis, University of Bonn.
    .. [2] Oglic, Paurat and Gärtner (2014). Interactive knowledge-based kernel PCA. ECML PKDD.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import KnowledgeKernelPCA, make_hidden_clusters
    >>> X, cluster = make_hidden_clusters(30, random_state=0)
    >>> model = KnowledgeKernelPCA(kernel="linear", lambda_place=100.0)
    >>> Z = model.fit_transform(X, placements={0: (3.0, 0.0), 40: (0.0, 0.0), 80: (-3.0, 0.0)})
    >>> Z.shape, [len(part) for part in model.constraint_residuals_.values()]
    ((90, 2), [3, 0])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [str, callable],
        "gamma": [None, StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "variant": [StrOptions({"variance", "norm"})],
        "lambda_place": [Interval(Real, 0, None, closed="left")],
        "lambda_link": [Interval(Real, 0, None, closed="left")],
        "lambda_label": [Interval(Real, 0, None, closed="left")],
        "lambda_orth": [Interval(Real, 0, None, closed="left")],
        "orthogonality": [StrOptions({"hard", "soft"})],
        "radius": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "anchor": [Interval(Real, 0, None, closed="left")],
        "average": ["boolean"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"secular", "cg"})],
        "low_rank": [None, Interval(Integral, 1, None, closed="left"), HasMethods("transform")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        variant="variance",
        lambda_place=1.0,
        lambda_link=1.0,
        lambda_label=1.0,
        lambda_orth=1e3,
        orthogonality="hard",
        radius="auto",
        anchor=0.0,
        average=True,
        n_neighbors=10,
        solver="secular",
        low_rank=None,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.variant = variant
        self.lambda_place = lambda_place
        self.lambda_link = lambda_link
        self.lambda_label = lambda_label
        self.lambda_orth = lambda_orth
        self.orthogonality = orthogonality
        self.radius = radius
        self.anchor = anchor
        self.average = average
        self.n_neighbors = n_neighbors
        self.solver = solver
        self.low_rank = low_rank
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, placements=None, links=None, labels=None) -> Self:
        """Find the map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Samples; with ``kernel="precomputed"`` their kernel matrix.
        y : None
            Ignored.
        placements : dict or tuple, default=None
            {row: coordinates}, one coordinate a component and None for a free one; or
            (rows, coordinates, hard) with arrays, where `hard` says which placements must hold
            exactly (missing: none). A fourth array gives weights.
        links : iterable of tuple, default=None
            (i, j, +1) for rows that belong together, (i, j, -1) for rows that do not; a fourth
            entry names the one component that is meant.
        labels : dict or array-like of shape (n_samples,), default=None
            {row: +1 or -1}, or one entry a row with 0 for none. A sequence of +1, -1 and 0
            labels along each component; a number along the first.

        Returns
        -------
        self : object
            Fitted.
        """
        X = checked_samples(self, X)
        constraints = read_constraints(placements, links, labels, X.shape[0], self.n_components)
        # Where nothing is said, the leading eigenvectors are the answer.
        basis = basis_of(self, X, None if len(constraints) else self.n_components)
        solved = SteeringSystem(basis).solve(constraints, steering_of(self))
        store_map(self, basis, constraints, solved)
        return self

    def fit_transform(self, X, y=None, *, placements=None, links=None, labels=None):
        """Find the map and return it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Samples, or their kernel matrix.
        y : None
            Ignored.
        placements, links, labels : object, default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            `embedding_`.
        """
        return self.fit(X, placements=placements, links=links, labels=labels).embedding_.copy()

    def transform(self, X):
        """Return the places of new samples on the map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features) or (n_queries, n_samples)
            Samples; with ``kernel="precomputed"`` their kernel with the training samples.

        Returns
        -------
        ndarray of shape (n_queries, n_components)
            Their places.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._extension.map(X, self._weights)
