"""Features as methods want them: what is learnt from the training part of a fold.

An encoding is a scikit-learn transformer of the clean table. Which one a method gets follows
from its tags (`octavo.compare.methods.candidates`):

"numbers"   medians for missing numbers, standardised; a 0/1 column a level of a category
"positive"  the same between 0 and 1
"unit"      the same, every row shortened to length one
"splines"   as "numbers", but each number a cubic spline with knots at quantiles
"codes"     a number a level of a category; nothing scaled (trees)
"native"    the same, missing cells left missing (histogram boosting)
"dense"     sparse rows written out in full, for methods that take no others
"discrete"  numbers cut into five intervals of equal count; codes throughout

Columns of free text add the weights of their 300 most frequent words and pairs of words (for
"discrete", whether the 60 most frequent are there).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)

from octavo.compare.table.cleaning import MAX_LEVELS
from octavo.compare.table.problems import Problem

MAX_WORDS = 300  # words and pairs of words of a column of free text
NATIVE_LEVELS = 250  # histogram boosting takes categories of up to 255 levels


def written_out(X: Any) -> Any:
    """Return sparse rows as a plain array."""
    return X.toarray()


def filled_text(column: Any) -> Any:
    """Return cells as text, the missing ones empty."""
    return ["" if not isinstance(cell, str) else cell for cell in np.ravel(column)]


def _words(kind: str) -> Any:
    """Return the transformer of a column of free text: words and pairs of words."""
    counts = {"ngram_range": (1, 2), "max_features": MAX_WORDS, "token_pattern": r"(?u)\b\w+\b"}
    found: Any = (
        CountVectorizer(binary=True, **counts | {"max_features": MAX_WORDS // 5})
        if kind == "discrete"
        else TfidfVectorizer(sublinear_tf=True, **counts)
    )
    return make_pipeline(
        FunctionTransformer(filled_text),
        found,
        FunctionTransformer(written_out, accept_sparse=True),
    )


def make_encoder(kind: str, problem: Problem) -> Any:
    """Return the transformer of an encoding for the columns of a problem.

    Parameters
    ----------
    kind : str
        The encoding; see the module.
    problem : Problem
        Whose features are encoded.

    Returns
    -------
    encoder : transformer
        Unfitted.
    """
    if problem.sparse:
        scaler = MaxAbsScaler()
        if kind == "dense":
            return make_pipeline(scaler, FunctionTransformer(written_out, accept_sparse=True))
        return make_pipeline(scaler, Normalizer()) if kind == "unit" else scaler
    numbers, categories = problem.numbers, problem.categories
    # Numbers are always filled in: rows to come may lack what these rows have.
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    parts: list[tuple[str, Any, Any]] = []
    if kind in ("numbers", "unit", "positive"):
        scale = MinMaxScaler(clip=True) if kind == "positive" else StandardScaler()
        words = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MAX_LEVELS + 1, sparse_output=False
        )
        parts = [
            ("numbers", make_pipeline(fill, scale), numbers),
            ("categories", words, categories),
        ]
    elif kind == "splines":
        # Five knots and straight ends: effects are smooth and do not run away beyond the data.
        curve = SplineTransformer(n_knots=5, knots="quantile", extrapolation="linear")
        words = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MAX_LEVELS + 1, sparse_output=False
        )
        parts = [
            ("numbers", make_pipeline(fill, StandardScaler(), curve, StandardScaler()), numbers),
            ("categories", words, categories),
        ]
    elif kind == "codes":
        words = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
        )
        parts = [("categories", words, categories), ("numbers", fill, numbers)]
    elif kind == "native":
        words = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=NATIVE_LEVELS
        )
        parts = [("categories", words, categories), ("numbers", "passthrough", numbers)]
    elif kind == "discrete":
        fill = SimpleImputer(strategy="median", keep_empty_features=True)
        cut = KBinsDiscretizer(
            n_bins=5, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
        )
        words = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
            max_categories=MAX_LEVELS,
        )
        parts = [("numbers", make_pipeline(fill, cut), numbers), ("categories", words, categories)]
    else:
        raise ValueError(f"No encoding is called {kind!r}.")
    parts = [part for part in parts if part[2]]
    parts += [(f"text {name}", _words(kind), name) for name in problem.texts]
    encoder = ColumnTransformer(parts)
    return make_pipeline(encoder, Normalizer()) if kind == "unit" else encoder
