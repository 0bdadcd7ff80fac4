"""How good and how ambiguous dependency trees are: attachment, kinds of errors, kinds of edges.

Reference: Gillenwater et al. (2011), Section 4.1 (ambiguity), Table 4 (errors), Section 6.4
(sigma).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.structured.grammars.corpus import head_arrays, tag_lists

__all__ = [
    "DependencyError",
    "attachment_score",
    "dependency_ambiguity",
    "dependency_error_table",
    "scale_sigma",
]

ROOT = "ROOT"


class DependencyError(NamedTuple):
    """A kind of error: tags of the true parent, of the guessed one and of the child; how often."""

    true_parent: Any
    guessed_parent: Any
    child: Any
    n_errors: int


def _heads(heads_true: Any, heads_pred: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    both = []
    for name, given in (("heads_true", heads_true), ("heads_pred", heads_pred)):
        if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
            raise TypeError(
                f"Parameter {name} must be a list of arrays of heads, got {type(given).__name__}."
            )
        if len(given) == 0:
            raise ValueError(f"Parameter {name} must hold the heads of at least one sequence.")
        both.append([given] if all(np.ndim(h) == 0 for h in given) else given)
    lengths = [np.size(h) for h in both[0]]
    if min(lengths) == 0:
        raise ValueError(f"The heads of sequence {lengths.index(0)} are empty.")
    return head_arrays(both[0], lengths), head_arrays(both[1], lengths)


@checked
def attachment_score(heads_true: Any, heads_pred: Any, undirected: bool = False) -> float:
    """Return the share of tokens whose head is right.

    Parameters
    ----------
    heads_true, heads_pred : list of array-like of int
        Heads of each sequence: 0 for the root, 1-based else.
    undirected : bool, default=False
        Whether an edge may run the other way: the score depends less on conventions then, such as
        whether articles govern nouns.

    Returns
    -------
    float
        Between 0 and 1, over all tokens.

    Examples
    --------
    >>> from octavo.structured import attachment_score
    >>> attachment_score([[2, 0, 2]], [[0, 1, 2]]), attachment_score([[2, 0, 2]], [[0, 1, 2]], True)
    (0.3333333333333333, 0.6666666666666666)
    """
    right = total = 0
    for true, guess in zip(*_heads(heads_true, heads_pred)):
        good = true == guess
        if undirected:
            tokens = np.arange(1, true.size + 1)
            back = np.append(0, true)[guess]  # the true head of the guessed head
            good = good | ((guess > 0) & (back == tokens))
        right += int(good.sum())
        total += true.size
    return right / total


@checked
def dependency_ambiguity(
    posteriors: Any, tags: Any, symmetric: bool = True, include_root: bool = True
) -> float:
    """Return how many kinds of dependencies are used: the sum over pairs of tags of the largest.

    Parameters
    ----------
    posteriors : list of array-like of shape (n + 1, n)
        Chances of edges, row 0 those of the root, as from ``DMV.predict_proba``.
    tags : list of list of str or int
        Tags of each sequence.
    symmetric : bool, default=True
        Whether the largest chance is taken over pairs of tokens (PR-S); otherwise chances of
        parents with one tag are added up for each child first (PR-AS).
    include_root : bool, default=True
        Whether the root counts as a kind of parent.

    Returns
    -------
    float
        On trees, the number of kinds of parent and child that occur.

    Examples
    --------
    >>> from octavo.structured import dependency_ambiguity
    >>> certain = [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    >>> dependency_ambiguity([certain], [["N", "V", "N"]])
    2.0
    """
    lists = tag_lists(tags)
    if not hasattr(posteriors, "__len__") or len(posteriors) != len(lists):
        raise ValueError(f"Expected the posteriors of {len(lists)} sequences, as many as of tags.")
    largest: dict[tuple[Any, Any], float] = {}
    for q, (table, mine) in enumerate(zip(posteriors, lists)):
        table, n = np.asarray(table, dtype=np.float64), len(mine)
        if table.shape != (n + 1, n):
            raise ValueError(
                f"Posteriors of sequence {q} must have the shape {(n + 1, n)}, got {table.shape}."
            )
        if not np.isfinite(table).all() or table.min() < -1e-9 or table.max() > 1.0 + 1e-9:
            raise ValueError(f"Posteriors of sequence {q} must lie between 0 and 1.")
        for c, child in enumerate(mine):
            sums: dict[Any, float] = {}
            for h in range(0 if include_root else 1, n + 1):
                parent = None if h == 0 else mine[h - 1]
                old = sums.get(parent, 0.0)
                # tokens apart (PR-S), or the chance of any parent of that tag (PR-AS)
                sums[parent] = max(old, table[h, c]) if symmetric else old + table[h, c]
            for parent, value in sums.items():
                largest[child, parent] = max(largest.get((child, parent), 0.0), float(value))
    return float(sum(largest.values()))  # Σ_cp max_i, the ambiguity of Section 4.1


@checked
def dependency_error_table(
    sequences: Any, heads_true: Any, heads_pred: Any, n_rows: int | None = 15
) -> list[DependencyError]:
    """Return the most frequent wrong attachments by tags of true parent, guess and child.

    Parameters
    ----------
    sequences : list of list of str or int
        Tags of each sequence.
    heads_true, heads_pred : list of array-like of int
        Heads of each sequence: 0 for the root, 1-based else.
    n_rows : int or None, default=15
        Rows of the table; None for all.

    Returns
    -------
    list of DependencyError
        Most frequent first; the root's tag is "ROOT". A wrong parent of the right tag counts too.

    Examples
    --------
    >>> from octavo.structured import dependency_error_table
    >>> tags = [["D", "N", "V"], ["N", "V"]]
    >>> dependency_error_table(tags, [[2, 3, 0], [2, 0]], [[3, 3, 0], [0, 1]])[0]
    DependencyError(true_parent='N', guessed_parent='V', child='D', n_errors=1)
    """
    lists = tag_lists(sequences)
    true, guess = _heads(heads_true, heads_pred)
    if len(true) != len(lists):
        raise ValueError(f"There are {len(lists)} sequences but heads of {len(true)}.")
    if n_rows is not None and n_rows < 1:
        raise ValueError(f"Parameter n_rows must be at least 1 or None, got {n_rows}.")
    found: Counter[tuple[Any, Any, Any]] = Counter()
    for q, mine in enumerate(lists):
        if true[q].size != len(mine):
            raise ValueError(f"Sequence {q} has {len(mine)} tags but {true[q].size} heads.")
        names = [ROOT, *mine]
        for child, a, b in zip(mine, true[q], guess[q]):
            if a != b:
                found[names[a], names[b], child] += 1
    ranked = sorted(found.items(), key=lambda item: (-item[1], [str(part) for part in item[0]]))
    return [DependencyError(*kind, count) for kind, count in ranked[:n_rows]]


@checked
def scale_sigma(sigma: float, n_tokens: int, n_reference: int) -> float:
    """Return the strength for one corpus that corresponds to a strength for another.

    The penalty is one number per kind of dependency, while the likelihood grows with tokens, so
    that the strength grows with them (Table 7 of the paper; the formula in its text is upside
    down).

    Parameters
    ----------
    sigma : float
        Strength on the reference corpus.
    n_tokens : int
        Tokens of the corpus at hand.
    n_reference : int
        Tokens of the reference corpus.

    Returns
    -------
    float
        ``sigma * n_tokens / n_reference``.

    Examples
    --------
    >>> from octavo.structured import scale_sigma
    >>> round(scale_sigma(120.0, 27_000, 37_000))
    88
    """
    if not np.isfinite(sigma) or sigma < 0:
        raise ValueError(f"Parameter sigma must be finite and not negative, got {sigma}.")
    if not (n_tokens >= 1 and n_reference >= 1):
        raise ValueError(f"Numbers of tokens must be at least 1, got {n_tokens} and {n_reference}.")
    # Section 6.4 prints the ratio upside down; Table 7 has it this way
    return float(sigma * n_tokens / n_reference)
