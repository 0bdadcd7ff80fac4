"""Intervals and tests for scores that were cross-validated on the same rows.

Where a score is a mean over rows, or is one to first order, each row of a test part has a value
(`octavo.compare.running.scores.row_values`), and two methods are compared row by row: by the exact
test of Q. McNemar (1947) where rows are right or wrong, else by a paired bootstrap. That rows of
cross-validation may be treated so is shown by P. Bayle, A. Bayle, L. Janson and L. Mackey (2020),
"Cross-validation Confidence Intervals for Test Error". Other scores have one value a fold; training
parts overlap, so the variance of their mean is corrected after C. Nadeau and Y. Bengio (2003),
"Inference for the Generalization Error". Rows in the order of time depend on their neighbours; the
variance of their mean is estimated after E. Lazarus, D. Lewis, J. Stock and M. Watson (2018), "HAR
Inference: Recommendations for Practice". p-values are corrected after S. Holm (1979), as
J. Shaffer (1986) does for pairs: the best is chosen by the scores that it is tested with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from octavo.engine.estimators.arrays import Floats

DRAWS = 9999  # resamples of a bootstrap
BLOCKS = 2000  # more rows than this are resampled in blocks: the mean of many is the same
WAVES = 12  # slow waves that tell how much a mean over time varies
RANGES = {
    "silhouette": (-1.0, 1.0),
    "stability": (-1.0, 1.0),
    "matthews_corrcoef": (-1.0, 1.0),
    "r2": (-np.inf, 1.0),
    "explained_variance": (-np.inf, 1.0),
    "d2_absolute_error_score": (-np.inf, 1.0),
    "max_error": (-np.inf, 0.0),
    "neg_hamming_loss": (-1.0, 0.0),
}
UNIT_SCORES = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "precision",
    "recall",
    "jaccard",
    "roc_auc",
    "average_precision",
    "concordance",
    "pair_accuracy",
    "exact_match",
    "top_k_accuracy",
)


def score_range(score: str) -> tuple[float, float]:
    """Return the smallest and the largest value that a score can take."""
    if score in RANGES:
        return RANGES[score]
    if score.startswith("neg_"):
        return -np.inf, 0.0
    return (0.0, 1.0) if score.startswith(UNIT_SCORES) else (-np.inf, np.inf)


def interval_in_range(
    mean: float, se: float, n: float, df: float, limits: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Return a confidence interval that stays within the range of a score.

    Between two limits it is Wilson's interval of a share, with as many rows as would give this
    standard error; below one limit it is symmetric in the logarithm of the distance to it.

    Parameters
    ----------
    mean, se : float
        The mean score and its standard error.
    n : float
        Rows (or folds) behind it, used where the error is nought.
    df : float
        Degrees of freedom of the error.
    limits : (float, float)
        The range of the score.
    level : float, default=0.95
        Confidence.

    Returns
    -------
    low, high : float
        The ends; NaN where the error is unknown.
    """
    if not np.isfinite(se):
        return float("nan"), float("nan")
    quantile = float(stats.t.ppf(0.5 + level / 2, df))
    low, high = limits
    if np.isfinite(low) and np.isfinite(high):
        share = min(max((mean - low) / (high - low), 0.0), 1.0)
        error = se / (high - low)
        rows = share * (1 - share) / error**2 if error > 0 and 0 < share < 1 else n
        bend = quantile**2 / rows
        centre = (share + bend / 2) / (1 + bend)
        half = np.sqrt(share * (1 - share) * bend + bend**2 / 4) / (1 + bend)
        ends = low + (high - low) * np.clip([centre - half, centre + half], 0.0, 1.0)
        return float(ends[0]), float(ends[1])
    if np.isfinite(high) and mean < high:
        factor = float(np.exp(min(quantile * se / (high - mean), 700.0)))
        return high - (high - mean) * factor, high - (high - mean) / factor
    return mean - quantile * se, min(mean + quantile * se, high)


def corrected_interval(
    scores: ArrayLike, test_to_train: float, level: float = 0.95
) -> tuple[float, float]:
    """Return the confidence interval of the mean of cross-validated scores.

    Parameters
    ----------
    scores : array-like
        One a fold.
    test_to_train : float
        Rows of a test part over rows of a training part.
    level : float, default=0.95
        Confidence.

    Returns
    -------
    low, high : float
        The ends; NaN for a single fold.
    """
    values = np.asarray(scores, dtype=float)
    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(
        stats.t.ppf(0.5 + level / 2, len(values) - 1) * corrected_error(values, test_to_train)
    )
    return float(values.mean()) - half, float(values.mean()) + half


def corrected_error(scores: ArrayLike, test_to_train: float) -> float:
    """Return the standard error of the mean of cross-validated scores; NaN for a single fold."""
    values = np.asarray(scores, dtype=float)
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((1 / len(values) + test_to_train) * values.var(ddof=1)))


def corrected_t_test(scores: ArrayLike, others: ArrayLike, test_to_train: float) -> float:
    """Return the two-sided p-value of the corrected resampled t-test on the same folds.

    Differences that are the same in all folds have no variance to test with; then it is the p-value
    of the sign test, which is never nought.

    Parameters
    ----------
    scores, others : array-like
        Scores of two methods, fold by fold.
    test_to_train : float
        Rows of a test part over rows of a training part.

    Returns
    -------
    p_value : float
        NaN for a single fold.
    """
    a, b = np.asarray(scores, dtype=float), np.asarray(others, dtype=float)
    d = a - b
    n = len(d)
    if n < 2:
        return float("nan")
    rounding = 8 * np.finfo(float).eps * max(np.abs(a).max(), np.abs(b).max())
    if np.ptp(d) <= rounding:
        return 1.0 if abs(d[0]) <= rounding else float(2.0 ** (1 - n))
    t = d.mean() / corrected_error(d, test_to_train)
    return float(2 * stats.t.sf(abs(t), n - 1))


def mcnemar(right: ArrayLike, others: ArrayLike) -> float:
    """Return the exact p-value that two methods are right equally often on the same rows.

    Parameters
    ----------
    right, others : array-like
        Whether each method is right, row by row.

    Returns
    -------
    p_value : float
        Two-sided; 1 where no row tells them apart.
    """
    a, b = np.asarray(right) > 0.5, np.asarray(others) > 0.5
    first, second = int((a & ~b).sum()), int((~a & b).sum())
    if first + second == 0:
        return 1.0
    return float(stats.binomtest(first, first + second, 0.5).pvalue)


def paired_bootstrap(differences: Floats, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Return p-values that mean differences are nought, resampling rows (or groups) together.

    What is compared is the mean over its standard error, in the sample and in each resample: with
    few groups, means alone are called different too often.

    Parameters
    ----------
    differences : ndarray of shape (n_rows, n_pairs)
        Of two methods on a row, a column a pair.
    seed : int, default=0
        Of the resamples.
    draws : int, default=9999
        How many.

    Returns
    -------
    p_values : ndarray
        Two-sided, at least 1 / (draws + 1).
    """
    rng = np.random.default_rng(seed)
    d = np.asarray(differences, dtype=float)
    if len(d) > BLOCKS:
        block = rng.permutation(len(d)) % BLOCKS
        merged = np.zeros((BLOCKS, d.shape[1]))
        np.add.at(merged, block, d)
        d = merged
    n = len(d)
    centred = d - d.mean(axis=0)
    reached = np.abs(_t_values(d.mean(axis=0), (centred**2).mean(axis=0))) * (1 - 1e-12)
    beyond = np.zeros(d.shape[1])
    for start in range(0, draws, 500):
        size = min(500, draws - start)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=size) / n
        means = weights @ centred
        spread = weights @ centred**2 - means**2
        beyond += (np.abs(_t_values(means, spread)) >= reached).sum(axis=0)
    p = (1 + beyond) / (draws + 1)
    return np.where((d == 0).all(axis=0), 1.0, p)


def _t_values(means: Floats, variances: Floats) -> Floats:
    """Return means over their spread; without spread infinite, or 0 for a mean of nought."""
    spread = np.sqrt(np.maximum(variances, 0.0))
    none = spread <= 1e-9 * np.abs(means)  # rounding
    t = np.divide(means, spread, out=np.zeros_like(means), where=~none)
    return np.where(none & (means != 0), np.inf, t)


def long_run_error(values: ArrayLike) -> tuple[Floats, int]:
    """Return standard errors of means over time, and their degrees of freedom.

    Neighbours in time are alike, over a length that nobody knows. The variance of a mean is that of
    slow waves: the mean square of the series' inner products with the first cosines, ν of them,
    each as long as the series or a fraction of it; the mean over its error is then Student's t with
    ν degrees of freedom. Dependence much shorter than a ν-th of the series is accounted for.

    Parameters
    ----------
    values : array-like of shape (n_rows,) or (n_rows, n_series)
        In the order of time.

    Returns
    -------
    error : ndarray
        One a series; NaN for fewer than eight rows.
    df : int
        Degrees of freedom.
    """
    d = np.asarray(values, dtype=float)
    n = len(d)
    df = min(WAVES, n // 4)
    if df < 2:
        return np.full(d.shape[1:], np.nan), 1
    times = (np.arange(n) + 0.5) / n
    waves = np.sqrt(2 / n) * np.cos(np.pi * np.arange(1, df + 1)[:, None] * times)
    return np.sqrt(((waves @ (d - d.mean(axis=0))) ** 2).mean(axis=0) / n), df


def long_run_test(differences: Floats) -> Floats:
    """Return p-values that mean differences are nought, of rows in the order of time.

    Parameters
    ----------
    differences : ndarray of shape (n_rows, n_pairs)
        Of two methods on a row, a column a pair.

    Returns
    -------
    p_values : ndarray
        Two-sided; 1 for fewer than eight rows, and where no row tells the methods apart.
    """
    d = np.asarray(differences, dtype=float)
    error, df = long_run_error(d)
    t = np.divide(np.abs(d.mean(axis=0)), error, out=np.zeros(d.shape[1]), where=error > 0)
    return 2 * stats.t.sf(t, df)


def holm_beside_the_best(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values of all methods against the best, corrected for the choice of the best.

    Each of k methods could have come first by chance, so k (k - 1) / 2 pairs could have been
    tested, not k - 1. Once a method is known to be behind, the pairs of the others remain. If
    methods are equally good, the chance that one of them is called worse than another is at most
    the level.

    Parameters
    ----------
    p_values : array-like
        One a method that is not the best.

    Returns
    -------
    corrected : ndarray
        In the order given.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    others = len(p) - np.arange(len(p))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(others * (others + 1) / 2 * p[order]), 1.0)
    return corrected
