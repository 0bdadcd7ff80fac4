"""Sparse features for linear models: hashed conjunctions of categories, and weighted degrees.

`ConjunctionHasher` turns categorical columns and their pairs into a sparse binary vector of fixed
width (Section 3.1.1); `WeightedDegreeFeatures` turns sequences over a small alphabet into the
explicit features of the weighted degree kernel, the long substrings hashed (Section 3.1.2).

Agarwal, Chapelle, Dudík and Langford (2014), "A Reliable Effective Terascale Linear Learning
System".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import murmurhash3_32
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["ConjunctionHasher", "WeightedDegreeFeatures"]


def hash_text(text: str, n_bits: int) -> int:
    """Return the lowest bits of the 32-bit Murmur hash of a text."""
    # The index modulo 2^b
    return int(murmurhash3_32(text.encode(), positive=True)) & ((1 << n_bits) - 1)


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def code_column(column: NDArray[Any]) -> tuple[Ints, list[str]]:
    """Number the distinct values of a column as they come; missing ones are -1."""
    known: dict[Any, int] = {}
    codes = np.empty(column.size, dtype=np.int64)
    for i, value in enumerate(column.tolist()):
        codes[i] = -1 if _is_missing(value) else known.setdefault(value, len(known))
    return codes, [str(value) for value in known]


class ConjunctionHasher(TransformerMixin, SoundEstimator):
    """Hash categorical columns and conjunctions of them into sparse binary features.

    A row with publisher P and advertiser A sets the entries at the hashes of "publisher=P",
    "advertiser=A" and "publisher=P and advertiser=A" to one.

    Parameters
    ----------
    n_bits : int, default=24
        Features are hashed into ``2 ** n_bits`` buckets.
    pairs : "all", None or list of pairs, default="all"
        Conjunctions to form: of all pairs of columns, of none, or of those listed by name or
        index.

    Attributes
    ----------
    n_distinct_ : int
        Distinct features in the training table.
    load_factor_ : float
        That number over the number of buckets.
    collision_rate_ : float
        Part of the distinct features that share their bucket with an earlier one.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, where X has them; otherwise columns are called x0, x1, ...

    See Also
    --------
    HybridLinearClassifier : Learns from such features.

    Notes
    -----
    Missing values (None or NaN) set no feature. Do not use it when columns have few values: an
    exact `sklearn.preprocessing.OneHotEncoder`, after `PolynomialFeatures` if needed, can be
    read back. `sklearn.feature_extraction.FeatureHasher` hashes single features.

    References
    ----------
    .. [1] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import ConjunctionHasher
    >>> X = np.array([["news", "etrade"], ["sports", "etrade"]], dtype=object)
    >>> hasher = ConjunctionHasher(n_bits=10).fit(X)
    >>> hasher.transform(X).sum(axis=1)
    array([3., 3.])
    >>> hasher.n_distinct_
    5
    """

    _parameter_constraints: dict[str, Any] = {
        "n_bits": [Interval(Integral, 1, 31, closed="both")],
        "pairs": [StrOptions({"all"}), "array-like", None],
    }

    def __init__(self, n_bits: int = 24, pairs: Any = "all") -> None:
        self.n_bits = n_bits
        self.pairs = pairs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _validated(self, X: Any, reset: bool) -> NDArray[Any]:
        return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)

    def _names(self) -> list[str]:
        default = [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in getattr(self, "feature_names_in_", default)]

    def _pair_indices(self) -> list[tuple[int, int]]:
        if self.pairs is None:
            return []
        if isinstance(self.pairs, str):
            return list(combinations(range(self.n_features_in_), 2))
        names = self._names()
        places = {name: j for j, name in enumerate(names)}
        found = []
        for pair in self.pairs:
            if len(pair) != 2:
                raise ValueError(f"pairs must hold pairs of columns, got {pair!r}.")
            ends = []
            for column in pair:
                place = places.get(column, column) if isinstance(column, str) else column
                if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
                    raise ValueError(f"pairs names the column {column!r}; known are {names}.")
                ends.append(int(place))
            found.append((ends[0], ends[1]))
        return found

    def _columns(self, X: NDArray[Any]) -> Iterable[tuple[Ints, list[str]]]:
        """Yield, for each column and conjunction, codes of the rows and the features' texts."""
        coded = []
        for name, column in zip(self._names(), X.T):
            codes, values = code_column(column)
            coded.append((codes, [f"{name}={value}" for value in values]))
        yield from coded
        for a, b in self._pair_indices():
            (left, left_texts), (right, right_texts) = coded[a], coded[b]
            # "publisher=P and advertiser=A" as one code
            both = np.where((left < 0) | (right < 0), -1, left * len(right_texts) + right)
            kept, codes = np.unique(both, return_inverse=True)
            missing = int(kept.size > 0 and kept[0] < 0)
            texts = [
                f"{left_texts[c // len(right_texts)]} and {right_texts[c % len(right_texts)]}"
                for c in kept[missing:].tolist()
            ]
            yield codes - missing, texts

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Take the columns' names, and count collisions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Categories: texts, numbers or anything that prints.
        y : None
            Ignored.

        Returns
        -------
        self : ConjunctionHasher
            The transformer.
        """
        X = self._validated(X, reset=True)
        hashes = [hash_text(text, self.n_bits) for _, texts in self._columns(X) for text in texts]
        self.n_distinct_ = len(hashes)
        self.load_factor_ = len(hashes) / 2**self.n_bits
        self.collision_rate_ = 1 - len(set(hashes)) / len(hashes) if hashes else 0.0
        return self

    def transform(self, X: ArrayLike) -> sp.csr_array:
        """Return the hashed features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Categories, in the columns seen by ``fit``.

        Returns
        -------
        features : csr_array of shape (n_samples, 2 ** n_bits)
            Zeros and ones.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        rows, buckets = [], []
        for codes, texts in self._columns(X):
            table = np.array([hash_text(text, self.n_bits) for text in texts], dtype=np.int64)
            present = np.flatnonzero(codes >= 0)
            rows.append(present)
            buckets.append(table[codes[present]])
        return _binary_rows(rows, buckets, (X.shape[0], 1 << self.n_bits))


def _binary_rows(rows: list[Ints], columns: list[Ints], shape: tuple[int, int]) -> sp.csr_array:
    """Return a sparse matrix with ones at the given places."""
    row, column = np.concatenate(rows), np.concatenate(columns).astype(np.int32)
    table = sp.csr_array((np.ones(row.size), (row.astype(np.int32), column)), shape=shape)
    table.data[:] = 1.0  # features of a row that share a bucket count once
    return table


class WeightedDegreeFeatures(TransformerMixin, SoundEstimator):
    """Explicit features of the weighted degree kernel on sequences of equal length.

    One feature for every position, every degree k and every substring of length k there. Where
    the alphabet allows more substrings than ``2 ** n_bits``, they share that many buckets.

    Parameters
    ----------
    degree : int, default=20
        Longest substring.
    n_bits : int, default=12
        Buckets for each position and degree, as a power of two.
    alphabet : str, default="ACGT"
        Letters of the sequences, in either case; a substring with any other sets no feature.
    weighted : bool, default=False
        Give features of degree k the value √β_k, β_k = 2(degree - k + 1)/(degree(degree + 1)), so
        that dot products are the weighted degree kernel; ones otherwise.

    Attributes
    ----------
    length_ : int
        Length of the sequences.
    n_features_out_ : int
        Width of the features.
    exact_degree_ : int
        Longest substrings that are told apart exactly.

    See Also
    --------
    HybridLinearClassifier : Learns from such features.

    Notes
    -----
    Do not use it for sequences that are not aligned: features belong to positions.
    `sklearn.feature_extraction.text.HashingVectorizer` with ``analyzer="char"`` counts
    substrings anywhere.

    References
    ----------
    .. [1] S. Sonnenburg and V. Franc (2010). "COFFIN: A Computational Framework for Linear
       SVMs". International Conference on Machine Learning.
    .. [2] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.linear import WeightedDegreeFeatures
    >>> features = WeightedDegreeFeatures(degree=2).fit_transform(["ACGT", "ACGG"])
    >>> features.shape, int((features[[0]] @ features[[1]].T)[0, 0])
    ((2, 64), 5)
    """

    _parameter_constraints: dict[str, Any] = {
        "degree": [Interval(Integral, 1, 24, closed="both")],
        "n_bits": [Interval(Integral, 1, 30, closed="both")],
        "alphabet": [str],
        "weighted": ["boolean"],
    }

    def __init__(
        self, degree: int = 20, n_bits: int = 12, alphabet: str = "ACGT", weighted: bool = False
    ) -> None:
        self.degree = degree
        self.n_bits = n_bits
        self.alphabet = alphabet
        self.weighted = weighted

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def _letters(self, sequences: Sequence[str]) -> NDArray[np.int64]:
        """Return the sequences as a table of letter numbers; -1 for letters not known."""
        if isinstance(sequences, str) or not len(np.shape(sequences)) == 1 or not len(sequences):
            raise ValueError(
                f"Expected a list of one or more texts, got {type(sequences).__name__} "
                f"of shape {np.shape(sequences)}."
            )
        wrong = [s for s in sequences if not isinstance(s, str)]
        if wrong:
            raise ValueError(
                f"Expected texts, got {wrong[0]!r}"
                + (" (NaN: a sequence is missing)" if wrong[0] != wrong[0] else "")
            )
        lengths = {len(s) for s in sequences}
        if len(lengths) > 1:
            raise ValueError(f"sequences must have one length, got {sorted(lengths)[:5]}.")
        length = lengths.pop()
        if length == 0:
            raise ValueError("The sequences are empty texts.")
        codes = np.frombuffer("".join(sequences).encode("utf-32-le"), dtype=np.uint32)
        table = np.full(max(128, int(codes.max()) + 1), -1, dtype=np.int64)
        for number, letter in enumerate(self.alphabet):
            for case in (letter.lower(), letter.upper()):
                table[ord(case)] = number
        return table[codes].reshape(len(sequences), length)

    def _layout(self) -> tuple[NDArray[np.int64], list[int]]:
        """Return where the features of each degree begin, and how many each position has."""
        letters = len(self.alphabet)
        # Exact while letters^k fits
        sizes = [min(letters**k, 1 << self.n_bits) for k in range(1, self.degree + 1)]
        widths = [
            size * max(0, self.length_ - k) for k, size in enumerate(sizes)
        ]  # degree k + 1 fits at length - k positions
        return np.concatenate([[0], np.cumsum(widths)]), sizes

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Sequence[str], y: Any = None) -> Self:
        """Take the length of the sequences.

        Parameters
        ----------
        X : sequence of str
            Sequences of one length.
        y : None
            Ignored.

        Returns
        -------
        self : WeightedDegreeFeatures
            The transformer.
        """
        if len(set(self.alphabet.upper())) != len(self.alphabet) or len(self.alphabet) < 2:
            raise ValueError(
                f"alphabet must hold two or more different letters: {self.alphabet!r}."
            )
        if len(self.alphabet) ** self.degree >= 2**63:
            raise ValueError(
                f"Substrings of {self.degree} of {len(self.alphabet)} letters do not fit 63 bits."
            )
        self.length_ = self._letters(X).shape[1]
        starts, sizes = self._layout()
        self.n_features_out_ = int(starts[-1])
        exact = [k + 1 for k, size in enumerate(sizes) if size == len(self.alphabet) ** (k + 1)]
        self.exact_degree_ = max(exact, default=0)
        return self

    def transform(self, X: Sequence[str]) -> sp.csr_array:
        """Return the features.

        Parameters
        ----------
        X : sequence of str
            Sequences of the length seen by ``fit``.

        Returns
        -------
        features : csr_array of shape (n_sequences, `n_features_out_`)
            Rows of about degree × length entries.
        """
        check_is_fitted(self)
        letters = self._letters(X)
        n, length = letters.shape
        if length != self.length_:
            raise ValueError(f"Fitted on sequences of length {self.length_}, got {length}.")
        starts, sizes = self._layout()
        columns = []
        words = np.zeros((n, length + 1), dtype=np.int64)  # substrings of the current degree
        known = np.ones((n, length + 1), dtype=bool)
        for k in range(min(self.degree, length)):
            words = words[:, :-1] * len(self.alphabet) + letters[:, k:]  # one letter longer
            known = known[:, :-1] & (letters[:, k:] >= 0)
            buckets = words
            if sizes[k] < len(self.alphabet) ** (k + 1):
                buckets = _mix(words) & (sizes[k] - 1)
            places = starts[k] + sizes[k] * np.arange(length - k)
            columns.append(np.where(known, places + buckets, -1))
        every = np.concatenate(columns, axis=1)
        kept = every >= 0
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        values = np.concatenate(
            [np.full(c.shape[1], self._value(k)) for k, c in enumerate(columns)]
        )
        data = np.broadcast_to(values, every.shape)[kept]
        index = np.int32 if max(self.n_features_out_, data.size) < 2**31 else np.int64
        parts = (data, every[kept].astype(index), indptr.astype(index))
        return sp.csr_array(parts, shape=(n, self.n_features_out_))

    def _value(self, k: int) -> float:
        if not self.weighted:
            return 1.0
        # The kernel weighs degree k by 2 (D - k + 1) / (D (D + 1)): its root on either side.
        return float(np.sqrt(2 * (self.degree - k) / (self.degree * (self.degree + 1))))


def _mix(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Scatter integers over all bits (the finaliser of SplitMix64)."""
    z = words.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.int64) & np.int64(0x7FFFFFFFFFFFFFFF)
