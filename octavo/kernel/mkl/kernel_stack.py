"""Many kernels of the same samples, computed together and made comparable.

`KernelStack` is what multiple kernel learning trains on: named kernels, each on the features that
it is told to use, centred and normalised with constants of the training samples. RBF kernels on the
same features share one matrix of distances.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Section 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.exponential import exp_nonpositive
from octavo.engine.kernels.gram import (
    KERNEL_PARAMETERS,
    Kernel,
    kernel_name,
    resolve_kernel,
    row_chunks,
    settle_gamma,
    squared_distances,
)
from octavo.kernel.mkl.kernel_normalize import (
    as_stack,
    feature_variance,
    inverse_lengths,
    inverse_trace,
)

__all__ = ["KernelStack"]

PRESETS = ("rbf_ladder", "linear_per_feature", "rbf_per_feature", "precomputed")
_LADDER = range(-5, 5)  # powers of two around gamma="scale"


class StackMember(NamedTuple):
    """A kernel of a stack: its name, the kernel, and the features that it sees (None for all)."""

    name: str
    kernel: Kernel
    columns: NDArray[np.intp] | None


def stack_members(kernels: Any, X: Any) -> list[StackMember]:
    """Return the members that a specification names, their parameters settled on the rows of X."""
    if isinstance(kernels, str):
        kernels = _preset(kernels, X)
    members = []
    for spec in kernels:
        name, kernel, params = _spec(spec)
        columns = params.get("columns")
        if columns is not None:
            columns = np.arange(X.shape[1])[np.asarray(columns)].ravel()
        seen = X if columns is None else X[:, columns]
        rest = {key: value for key, value in params.items() if key != "columns"}
        members.append(StackMember(name, _settled(name, kernel, rest, seen), columns))
    if not members:
        raise ValueError("kernels must name at least one kernel, got an empty list.")
    names = [member.name for member in members]
    if len(set(names)) < len(names):
        raise ValueError(f"The names of kernels must differ, got {names}.")
    return members


def _settled(name: str, kernel: Any, params: dict[str, Any], X: Any) -> Kernel:
    """Return the kernel of a member; a parameter that it has no use for is refused."""
    if callable(kernel):
        return resolve_kernel(kernel, X, params=params)
    takes = KERNEL_PARAMETERS[kernel_name(kernel)]
    unknown = sorted(set(params) - set(takes))
    if unknown:
        listed = ", ".join([*takes, "columns"])
        raise ValueError(f"Kernel {name!r} is {kernel!r} and takes {listed}; got {unknown}.")
    return resolve_kernel(kernel, X, **params)


def _spec(spec: Any) -> tuple[str, Any, dict[str, Any]]:
    """Return (name, kernel, params) from what a user wrote."""
    if isinstance(spec, str) or callable(spec):
        return (spec if isinstance(spec, str) else spec.__name__), spec, {}
    try:
        name, kernel, *params = spec
    except (TypeError, ValueError):
        params = [None, None]
    if len(params) > 1 or not isinstance(spec, (tuple, list)):
        raise ValueError(f"A kernel is (name, kernel) or (name, kernel, params), got {spec!r}.")
    if isinstance(kernel, str) and kernel == "precomputed":
        raise ValueError(
            "A single kernel of a list cannot be precomputed; with kernels='precomputed' all are."
        )
    return str(name), kernel, dict(params[0] or {}) if params else {}


def _preset(name: str, X: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the kernels of a named preset."""
    if name == "rbf_ladder":
        gamma = settle_gamma("scale", X)
        return [(f"rbf 2^{k}", "rbf", {"gamma": gamma * 2.0**k}) for k in _LADDER]
    if name in ("linear_per_feature", "rbf_per_feature"):
        kind = name.split("_")[0]
        return [(f"{kind} {j}", kind, {"columns": [j]}) for j in range(X.shape[1])]
    raise ValueError(f"kernels must be one of {PRESETS} or a list of kernels, got {name!r}.")


class Ladder(NamedTuple):
    """RBF kernels on the same features: their places in the stack, and their gammas."""

    columns: NDArray[np.intp] | None
    places: NDArray[np.intp]
    gammas: Floats


def find_ladders(members: Sequence[StackMember]) -> list[Ladder]:
    """Return the groups of RBF kernels that share their distances."""
    groups: dict[Any, list[int]] = {}
    for m, member in enumerate(members):
        if member.kernel.name == "rbf":
            key = None if member.columns is None else tuple(member.columns.tolist())
            groups.setdefault(key, []).append(m)
    return [
        Ladder(
            members[places[0]].columns,
            np.array(places),
            np.array([members[m].kernel.gamma for m in places], dtype=np.float64),
        )
        for places in groups.values()
    ]


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _total(values):
    """Return the sum, in whatever order is fastest."""
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j]
    return total


@njit(cache=True, nogil=True)
def _ladder_sums(D, gammas, row_sums, column_sums):
    """Add the row and column sums of exp(-gamma D) for every gamma."""
    n_rows, n_columns = D.shape
    values = np.empty(n_columns)
    for i in range(n_rows):
        for m in range(gammas.shape[0]):
            gamma = gammas[m]
            for j in range(n_columns):
                values[j] = exp_nonpositive(-gamma * D[i, j])
                column_sums[m, j] += values[j]
            row_sums[m, i] += _total(values)


@njit(cache=True, nogil=True)
def _ladder_block(D, gamma, out):
    """Fill `out` with exp(-gamma D)."""
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            out[i, j] = exp_nonpositive(-gamma * D[i, j])


def member_block(member: StackMember, X: Any, Y: Any) -> Any:
    """Return a kernel's block, refused where a function of the user's gives no such block."""
    try:
        block = member.kernel.block(X, Y)
    except ValueError as error:
        raise ValueError(f"Kernel {member.name!r}: {error}") from error
    if sp.issparse(block):
        block = block.toarray()
    if not np.isfinite(block).all():
        raise ValueError(f"Kernel {member.name!r} gives NaN or infinity.")
    return block


def _seen(X: Any, columns: NDArray[np.intp] | None) -> Any:
    return X if columns is None else X[:, columns]


class KernelStack(TransformerMixin, SoundEstimator):
    """Kernels of the same samples, stacked, centred and normalised by the training samples.

    Parameters
    ----------
    kernels : str or list, default="rbf_ladder"
        A list of ``(name, kernel, params)``: `kernel` is a name ("linear", "poly", "rbf",
        "sigmoid", "laplacian", "cosine" or another of `sklearn.metrics.pairwise_kernels`) or a
        function of two tables; `params` may hold ``columns`` (the features that this kernel sees)
        and those of ``gamma``, ``degree`` and ``coef0`` that a named kernel takes, or whatever the
        function takes. Or a preset:
        ``"rbf_ladder"``, ten RBF kernels with gamma from 2⁻⁵ to 2⁴ times that of
        ``gamma="scale"``; ``"linear_per_feature"`` and ``"rbf_per_feature"``, one kernel a feature;
        ``"precomputed"``, where X is an array of shape (n_kernels, n_samples, n_samples).
    normalize : {"multiplicative", "spherical", "trace"} or None, default="multiplicative"
        ``"multiplicative"`` gives the training samples variance one in every kernel's feature
        space; ``"spherical"`` gives every sample length one; ``"trace"`` gives the matrix of the
        training samples trace one, so that entries are about 1 / n_samples.
    center : bool, default=False
        Whether to remove the mean of the training samples in feature space first.

    Attributes
    ----------
    kernel_names_ : list of str
        Names.
    n_kernels_ : int
        Number of kernels.
    scales_ : ndarray of shape (`n_kernels_`,)
        What each kernel is multiplied by; ones unless `normalize` is ``"multiplicative"`` or
        ``"trace"``.
    members_ : list
        The kernels with their parameters settled; empty for precomputed ones.
    n_features_in_ : int
        Number of features; for precomputed kernels, of training samples.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    LpMKLClassifier : Learns weights of the kernels of a stack.

    Notes
    -----
    A single kernel needs no stack: `sklearn.metrics.pairwise_kernels` computes it.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Section 4.4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import KernelStack
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> stack = KernelStack([("all", "rbf", {}), ("first two", "linear", {"columns": [0, 1]})])
    >>> K = stack.fit_transform(X)
    >>> K.shape
    (2, 20, 20)
    >>> [round(float(np.diagonal(k).mean() - k.mean()), 6) for k in K]  # variances
    [1.0, 1.0]
    """

    _parameter_constraints = {
        "kernels": [str, list, tuple],
        "normalize": [StrOptions({"multiplicative", "spherical", "trace"}), None],
        "center": ["boolean"],
    }

    def __init__(self, kernels="rbf_ladder", *, normalize="multiplicative", center=False):
        self.kernels = kernels
        self.normalize = normalize
        self.center = center

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = not self._is_precomputed()
        tags.input_tags.three_d_array = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags

    _checked_before = False  # an estimator that has checked precomputed kernels says so

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None) -> Self:
        """Settle the kernels' parameters and the constants of their normalisation.

        The matrices themselves are not kept.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples; with ``kernels="precomputed"`` an array-like of shape (n_kernels, n_samples,
            n_samples).
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted stack.
        """
        X = self._start(X)
        if self.normalize == "multiplicative" or self.center:
            self._set_constants(*self._chunked_sums(X))
        else:
            self._set_constants(np.zeros((self.n_kernels_, self.n_samples_)), self._diagonals(X))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None) -> Floats:
        """Fit, and return the kernel matrices of the training samples.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernels.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_kernels, n_samples, n_samples)
            The matrices.
        """
        X = self._start(X)
        if self._checked_before and self.normalize is None and not self.center:
            self._set_constants(np.zeros(X.shape[:2]), self._diagonals(X))
            return X
        raw = X.copy() if self._is_precomputed() else self._raw(X, X)
        diagonals = np.ascontiguousarray(np.diagonal(raw, axis1=1, axis2=2))
        self._set_constants(raw.mean(axis=1), diagonals)
        self._normalize(raw, self.column_means_, diagonals)
        return raw

    def transform(self, X, *, diagonals=None) -> Floats:
        """Return the kernels between rows of X and the training samples.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_queries, n_features)
            Samples; for precomputed kernels their values with the training samples, of shape
            (n_kernels, n_queries, n_samples).
        diagonals : array-like of shape (n_kernels, n_queries), default=None
            k(x, x) of the rows. Needed for precomputed kernels with ``normalize="spherical"``.

        Returns
        -------
        ndarray of shape (n_kernels, n_queries, n_samples)
            The matrices, normalised by the training samples' constants.
        """
        check_is_fitted(self)
        if self._is_precomputed():
            raw = self._checked_blocks(X).copy()
        else:
            X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            raw = self._raw(X, self._X)
        if self.normalize == "spherical":
            if diagonals is None and self._is_precomputed():
                raise ValueError(
                    "normalize='spherical' needs k(x, x) of every row: pass diagonals, or "
                    "normalise precomputed kernels yourself and set normalize=None."
                )
            diagonals = self._diagonals(X) if diagonals is None else np.asarray(diagonals)
            if diagonals.shape != raw.shape[:2]:
                raise ValueError(
                    f"diagonals must have shape {raw.shape[:2]}, got {diagonals.shape}."
                )
        row_means = raw.mean(axis=2) if self.center else None
        self._normalize(raw, row_means, diagonals)
        return raw

    def diagonals(self, X) -> Floats:
        """Return k(x, x) of rows under every kernel, centred and normalised like the matrices.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_queries, n_features)
            Samples; not for precomputed kernels, which say nothing of k(x, x).

        Returns
        -------
        ndarray of shape (n_kernels, n_queries)
            The values.
        """
        check_is_fitted(self)
        if self._is_precomputed():
            raise ValueError("Precomputed kernels of queries do not tell k(x, x) of their rows.")
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        own = self._diagonals(X)
        if self.center:
            # |φ(x) - mean|²
            own = own - 2.0 * self._raw(X, self._X).mean(axis=2) + self.grand_means_[:, None]
        if self.normalize == "spherical":
            return (inverse_lengths(own) > 0.0).astype(np.float64)
        return own * self.scales_[:, None]

    def _start(self, X: Any) -> Any:
        """Check X and settle the kernels; return X."""
        if self._is_precomputed():
            X = X if self._checked_before else as_stack(X)
            self.members_: list[StackMember] = []
            self.n_kernels_, self.n_samples_ = X.shape[:2]
            self.kernel_names_ = [str(m) for m in range(self.n_kernels_)]
            self.n_features_in_ = self.n_samples_
            self._X: Any = None
            return X
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        self.members_ = stack_members(self.kernels, X)
        self.kernel_names_ = [member.name for member in self.members_]
        self.n_kernels_, self.n_samples_ = len(self.members_), X.shape[0]
        self._X = X
        return X

    def _checked_blocks(self, X: Any) -> Floats:
        X = as_stack(X, square=False)
        if len(X) != self.n_kernels_ or X.shape[2] != self.n_samples_:
            raise ValueError(
                f"Expected {self.n_kernels_} kernels with {self.n_samples_} columns, one per "
                f"training sample; got shape {X.shape}."
            )
        return X

    def _set_constants(self, column_means: Floats, diagonals: Floats) -> None:
        """Derive what normalisation needs from the means and diagonals of the raw kernels."""
        self.column_means_, self.grand_means_ = column_means, column_means.mean(axis=1)
        self.scales_ = np.ones(self.n_kernels_)
        if self.normalize == "multiplicative":
            for m, name in enumerate(self.kernel_names_):
                mean = float(self.grand_means_[m])
                self.scales_[m] = 1.0 / feature_variance(diagonals[m], mean, repr(name))
        if self.center:
            # |φ(x) - mean|²
            diagonals = diagonals - 2.0 * column_means + self.grand_means_[:, None]
        if self.normalize == "trace":
            for m, name in enumerate(self.kernel_names_):
                self.scales_[m] = inverse_trace(diagonals[m], repr(name))
        self._inverse_lengths = inverse_lengths(diagonals)
        self._diagonal = diagonals * self.scales_[:, None]
        if self.normalize == "spherical":
            self._diagonal = (self._inverse_lengths > 0.0).astype(np.float64)

    def _normalize(
        self, raw: Floats, row_means: Any, diagonals: Any, which: Any = None, columns: Any = None
    ) -> None:
        """Centre and scale blocks (n_kernels, n_rows, n_samples) in place.

        `which` names the kernels that the blocks belong to and `columns` their training samples,
        all of them by default.
        """
        columns = slice(None) if columns is None else columns
        for k, m in enumerate(range(self.n_kernels_) if which is None else which):
            block = raw[k]
            if self.center:
                block -= (row_means[k] - self.grand_means_[m])[:, None]
                block -= self.column_means_[m][None, columns]
            if self.normalize in ("multiplicative", "trace"):
                block *= self.scales_[m]  # of the training samples: variance one, Section 4.4.2
            elif self.normalize == "spherical":
                own = diagonals[k]
                if self.center:
                    # |φ(x) - mean|² of the rows
                    own = own - 2.0 * row_means[k] + self.grand_means_[m]
                block *= inverse_lengths(own)[:, None]  # Eq. (23), with the rows' own lengths
                block *= self._inverse_lengths[m][None, columns]

    def _apply(self, X: Any, coef: Floats) -> Floats:
        """Return Σ_m K_m(X, training samples) @ coef[m], of shape (n_queries, n_outputs).

        Kernels and training samples whose coefficients are all zero are left out, and rows are
        taken in pieces, so that a few megabytes suffice.
        """
        which = np.flatnonzero(coef.any(axis=(1, 2)))
        used = np.flatnonzero(coef.any(axis=(0, 2)))
        if self._is_precomputed():
            if self.normalize == "spherical":
                self.transform(X)  # says what is missing
            blocks = self._checked_blocks(X)[which]
            row_means = blocks.mean(axis=2) if self.center else None
            self._normalize(blocks, row_means, None, which)
            return np.einsum("mqn,mnk->qk", blocks, coef[which], optimize=True)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        # Centring needs the mean over all training samples.
        columns = np.arange(self.n_samples_) if self.center else used
        train = self._X[columns]
        out = np.zeros((X.shape[0], coef.shape[2]))
        for rows in row_chunks(X.shape[0], max(1, len(which) * len(columns))):
            part = X[rows]
            raw = self._raw(part, train, which)
            row_means = raw.mean(axis=2) if self.center else None
            diagonals = self._diagonals(part, which) if self.normalize == "spherical" else None
            self._normalize(raw, row_means, diagonals, which, columns)
            for k, m in enumerate(which):
                out[rows] += raw[k] @ coef[m][columns]
        return out

    def _raw(self, X: Any, Y: Any, which: Any = None) -> Floats:
        """Return kernels between rows of X and Y; distances are computed once a ladder."""
        members = self.members_ if which is None else [self.members_[m] for m in which]
        out = np.empty((len(members), X.shape[0], Y.shape[0]))
        for ladder in find_ladders(members):
            left = _seen(X, ladder.columns)
            D = squared_distances(left, left if X is Y else _seen(Y, ladder.columns))
            for m, gamma in zip(ladder.places, ladder.gammas):
                _ladder_block(D, gamma, out[m])
        for m, member in enumerate(members):
            if member.kernel.name != "rbf":
                out[m] = member_block(member, _seen(X, member.columns), _seen(Y, member.columns))
        return out

    def _diagonals(self, X: Any, which: Any = None) -> Floats:
        """Return k_m(x, x), before normalisation."""
        if self._is_precomputed():
            return np.ascontiguousarray(np.diagonal(X, axis1=1, axis2=2))
        members = self.members_ if which is None else [self.members_[m] for m in which]
        return np.array([k.diagonal(_seen(X, columns)) for _, k, columns in members])

    def _chunked_sums(self, X: Any) -> tuple[Floats, Floats]:
        """Return column means and diagonals of the raw kernels, never with an n × n matrix."""
        n = self.n_samples_
        if self._is_precomputed():
            return X.mean(axis=1), self._diagonals(X)
        sums = np.zeros((self.n_kernels_, n))
        for ladder in find_ladders(self.members_):
            self._add_ladder_sums(_seen(X, ladder.columns), ladder, sums)
        for m, member in enumerate(self.members_):
            if member.kernel.name != "rbf":
                seen = _seen(X, member.columns)
                for rows in row_chunks(n, n):
                    sums[m] += member_block(member, seen[rows], seen).sum(axis=0)
        return sums / n, self._diagonals(X)

    def _add_ladder_sums(self, seen: Any, ladder: Ladder, sums: Floats) -> None:
        """Add the column sums of a ladder, by blocks on and below the diagonal."""
        chunks = list(row_chunks(self.n_samples_, 1, megabytes=1000 * 8 / 2**20))
        for a, rows in enumerate(chunks):
            for columns in chunks[: a + 1]:
                D = squared_distances(seen[rows], seen[columns])
                part = np.zeros((2, len(ladder.gammas), max(D.shape)))
                if rows == columns:
                    np.fill_diagonal(D, 0.0)
                _ladder_sums(D, ladder.gammas, part[0], part[1])
                sums[ladder.places, columns] += part[1, :, : D.shape[1]]
                if rows != columns:
                    sums[ladder.places, rows] += part[0, :, : D.shape[0]]


def _warmup() -> None:
    D, gammas = np.ones((2, 2)), np.ones(1)
    _ladder_sums(D, gammas, np.zeros((1, 2)), np.zeros((1, 2)))
    _ladder_block(D, 1.0, np.empty((2, 2)))
