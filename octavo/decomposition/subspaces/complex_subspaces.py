"""Independent subspaces of complex mixtures, through their real and imaginary parts.

C^d is R^2d: real parts first, then imaginary parts. A complex mixture of independent vectors is a
real one of vectors of twice the dimension, which real independent subspace analysis takes apart.
The real subspaces found belong to complex ones, and rows of these make a complex unmixing matrix.

Reference: Szabó and Lőrincz (2006), "Real and complex independent subspace analysis by
generalized variance", ICA Research Network workshop; Szabó (2014), "Information theoretical
estimators toolbox", JMLR 15:283-287.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.decomposition.subspaces.analysis import SubspaceModel
from octavo.decomposition.subspaces.partitions import find_subspaces
from octavo.engine.estimators.arrays import Complexes, Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.samples import complex_as_real
from octavo.engine.estimators.sklearn_door import fit_context

__all__ = ["ComplexISA"]

SAME_LINE = 0.5  # squared cosine above which two real components share a complex source


def as_complex_sample(X: ArrayLike, min_samples: int = 1) -> Complexes:
    """Return X as a finite complex array of so many rows or more."""
    try:
        Z = np.asarray(X, dtype=np.complex128)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be a table of complex numbers: {error}") from error
    if Z.ndim != 2 or Z.shape[0] < min_samples or Z.shape[1] < 1:
        raise ValueError(
            f"X must have the shape (n_samples, n_features) with {min_samples} samples or more, "
            f"got {Z.shape}."
        )
    if not np.isfinite(Z).all():
        raise ValueError("X contains NaN or infinity.")
    return Z


def complex_rows(real_rows: Floats) -> Complexes:
    """Return the complex w with Re(w'z) = a'Re z + b'Im z for real rows [a, b]: w = a − ib."""
    p = real_rows.shape[1] // 2
    return real_rows[:, :p] - 1j * real_rows[:, p:]


def covariance_root(Z: Complexes) -> Complexes:
    """Return the Hermitian root of the covariance of centred complex data."""
    values, vectors = np.linalg.eigh(Z.T @ Z.conj() / len(Z))
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.conj().T


class ComplexISA(SubspaceModel):
    """Complex mixtures of independent complex vectors.

    z = As with complex A and s. Real independent subspace analysis of real and imaginary parts
    finds real subspaces of twice the dimension; the closest complex ones are taken.

    Parameters
    ----------
    subspace_dims : "auto" or list of int, default="auto"
        Complex dimensions of the sources; "auto" finds them by spectral clustering.

    Attributes
    ----------
    unmixing_ : ndarray of shape (n_components, `n_features_in_`), complex
        Rows give the coordinates of the sources, subspace after subspace; those of one have
        unit covariance.
    mixing_ : ndarray of shape (`n_features_in_`, n_components), complex
        Its pseudo-inverse.
    mean_ : ndarray of shape (`n_features_in_`,), complex
        Mean of the data.
    subspace_dims_ : ndarray of int
        Their complex dimensions.
    real_unmixing_ : ndarray of shape (2 n_components, 2 `n_features_in_`)
        The unmixing of real parts followed by imaginary parts.
    real_subspaces_ : list of ndarray of int
        The rows of `real_unmixing_` that belong to each source.
    dependence_ : ndarray of shape (2 n_components, 2 n_components)
        Pairwise dependence of the real coordinates.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    IndependentSubspaceAnalysis : Real mixtures.

    Notes
    -----
    Use `IndependentSubspaceAnalysis` for real data. Dimensions, `n_components` and `n_subspaces`
    count complex coordinates. Sources whose imaginary part is a linear function of the real one are
    not complex in this sense, and are refused: they fill fewer real dimensions than twice their
    complex ones.

    References
    ----------
    .. [1] Szabó and Lőrincz (2006). Real and complex independent subspace analysis by generalized
       variance. ICA Research Network workshop.
    .. [2] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import ComplexISA, amari_index
    >>> S = make_subspace_mixture("letters", n_samples=1000, random_state=0).sources
    >>> Z = S[:, [0, 2, 4]] + 1j * S[:, [1, 3, 5]]  # three complex sources of one dimension
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    >>> model = ComplexISA(subspace_dims=[1, 1, 1], random_state=0).fit(Z @ A.T)
    >>> print(f"{amari_index(model.unmixing_, A, model.subspaces_):.2f}")
    0.01
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # of real numbers, as scikit-learn means it
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Find the complex unmixing matrix and the subspaces.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complex mixtures.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        Z = as_complex_sample(X, min_samples=2)
        self.n_features_in_ = Z.shape[1]
        mean = Z.mean(axis=0)
        centred = Z - mean
        self._root = covariance_root(centred)
        with FitProgress(self, None, step_name="round") as progress:
            self._separate(complex_as_real(centred), progress)
        self.mean_ = mean
        self._make_complex()
        return self

    def _wanted_components(self):
        total = super()._wanted_components()
        return None if total is None else 2 * total

    def _group(self, S, unmixing, rng, progress):
        dims = self.subspace_dims
        if not isinstance(dims, str):
            dims = [2 * int(size) for size in dims]
        lines = complex_rows(unmixing) @ self._root
        lines /= np.linalg.norm(lines, axis=1, keepdims=True)
        # two real rows of one complex source span one complex line
        overlap = np.abs(lines @ lines.conj().T) ** 2
        return find_subspaces(
            S,
            dims,
            self.objective,
            self.estimator,
            self.optimizer,
            n_subspaces=self.n_subspaces,
            links=np.where(overlap > SAME_LINE, overlap, 0.0),
            random_state=rng,
            after_round=progress.step,
        )

    def _make_complex(self) -> None:
        """Take the leading complex directions of the rows of each real subspace."""
        odd = self.subspace_dims_[self.subspace_dims_ % 2 == 1]
        if odd.size:
            raise ValueError(
                f"The real subspaces found have the dimensions {self.subspace_dims_.tolist()}, "
                "which do not all belong to complex ones; give subspace_dims."
            )
        self.real_unmixing_, self.real_subspaces_ = self.unmixing_, self.subspaces_
        inverse_root = np.linalg.pinv(self._root, rcond=1e-10, hermitian=True)
        blocks = []
        for group in self.real_subspaces_:
            lines = complex_rows(self.real_unmixing_[group]) @ self._root
            # d complex directions of 2d real rows
            leading = np.linalg.svd(lines, full_matrices=False)[2][: len(group) // 2]
            blocks.append(leading @ inverse_root)
        self.unmixing_ = np.vstack(blocks)
        self.mixing_ = np.linalg.pinv(self.unmixing_)
        self.subspace_dims_ = self.subspace_dims_ // 2
        ends = np.cumsum(self.subspace_dims_)
        self.subspaces_ = [np.arange(e - d, e) for e, d in zip(ends, self.subspace_dims_)]
        self._n_features_out = len(self.unmixing_)

    def transform(self, X):
        """Return the sources, subspace after subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complex mixtures.

        Returns
        -------
        S : ndarray of shape (n_samples, n_components), complex
            Coordinates of the sources.
        """
        check_is_fitted(self)
        Z = as_complex_sample(X)
        if Z.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {Z.shape[1]} features, but ComplexISA is expecting "
                f"{self.n_features_in_} features as input."
            )
        return (Z - self.mean_) @ self.unmixing_.T

    def inverse_transform(self, X):
        """Mix sources again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Complex coordinates of the sources.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features), complex
            Their mixture.
        """
        check_is_fitted(self)
        S = as_complex_sample(X)
        if S.shape[1] != len(self.unmixing_):
            raise ValueError(
                f"X must have the {len(self.unmixing_)} columns of a transform, got {S.shape[1]}."
            )
        return S @ self.mixing_.T + self.mean_
