"""Features as methods want them: what is learnt from the training part of a fold.

An encoding is a scikit-learn transformer of the clean table. Which one a method gets follows
from its tags (`octavo.compare.candidates`):

"numbers"   medians for missing numbers, standardised; a 0/1 column a level of a category
"positive"  the same between 0 and 1
"unit"      the same, every row shortened to length one
"codes"     a number a level of a category; nothing scaled (trees)
"native"    the same, missing cells left missing (histogram boosting)
"dense"     sparse rows written out in full, for methods that take no others
"discrete"  numbers cut into five intervals of equal count; codes throughout
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
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
    StandardScaler,
)

from octavo.compare.cleaning import MAX_LEVELS
from octavo.compare.problems import Problem

NATIVE_LEVELS = 250  # histogram boosting takes categories of up to 255 levels


def written_out(X: Any) -> Any:
    """Return sparse rows as a plain array."""
    return X.toarray()


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
    parts: list[tuple[str, Any, list[str]]] = []
    if kind in ("numbers", "unit", "positive"):
        scale = MinMaxScaler(clip=True) if kind == "positive" else StandardScaler()
        words = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MAX_LEVELS + 1, sparse_output=False
        )
        parts = [
            ("numbers", make_pipeline(fill, scale), numbers),
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
        raise ValueError(f"no encoding is called {kind!r}")
    encoder = ColumnTransformer([part for part in parts if part[2]])
    return make_pipeline(encoder, Normalizer()) if kind == "unit" else encoder
