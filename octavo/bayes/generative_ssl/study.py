"""The experiment of Section 5 on any table: what unlabelled rows do to each objective."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state

from octavo.bayes.generative_ssl.cross_validated import SemiSupervisedGenerativeClassifierCV
from octavo.bayes.generative_ssl.estimator import SemiSupervisedGenerativeClassifier
from octavo.bayes.generative_ssl.objectives import OBJECTIVES
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.classes import encode_classes

__all__ = ["SemiSupervisedStudy", "semi_supervised_study"]

LABELLED = (0.025, 0.05, 0.1, 0.2)
UNLABELLED = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
CROSS_VALIDATED = {
    "ERer": ("entropy_reg", "error"),
    "ERnll": ("entropy_reg", "nll"),
    "MCer": ("multi_conditional", "error"),
    "MCnll": ("multi_conditional", "nll"),
}


class SemiSupervisedStudy(NamedTuple):
    """Scores of each objective by numbers of labelled and unlabelled rows and by repeat.

    ``nll`` (mean of -log p(x, y) on test rows) and ``error`` have the shape (n_objectives,
    n_labelled_fractions, n_unlabelled_fractions, n_repeats).
    """

    objectives: tuple[str, ...]
    labelled_fractions: Floats
    unlabelled_fractions: Floats
    nll: Floats
    error: Floats

    def means(self) -> dict[str, tuple[float, float]]:
        """Return the mean NLL and error of each objective, as Tables 1 and 2 have them."""
        cells = zip(self.objectives, self.nll, self.error, strict=True)
        return {name: (float(nll.mean()), float(error.mean())) for name, nll, error in cells}

    def improvement(self, score: str = "nll", rival: str = "labelled") -> dict[str, Floats]:
        """Return how often each objective is better than a rival, cell by cell (Figures 3-5)."""
        if score not in ("nll", "error") or rival not in self.objectives:
            raise ValueError(
                f'score must be "nll" or "error" and rival one of {self.objectives}; got {score!r} '
                f"and {rival!r}."
            )
        values: Floats = getattr(self, score)
        base = values[self.objectives.index(rival)]
        return {
            name: (found < base).mean(axis=-1)
            for name, found in zip(self.objectives, values, strict=True)
            if name != rival
        }


def merged_classes(codes: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Merge classes into at most so many groups of about equal size, largest classes first."""
    counts = np.bincount(codes)
    if len(counts) <= most:
        return codes
    group, size = np.zeros(len(counts), dtype=np.intp), np.zeros(most)
    for k in np.argsort(-counts, kind="stable"):
        group[k] = size.argmin()
        size[group[k]] += counts[k]
    return group[codes]


def _fractions(values: Any, name: str) -> Floats:
    found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if found.ndim != 1 or not found.size or not ((found > 0) & (found <= 1)).all():
        raise ValueError(f"{name} must hold fractions above 0 and at most 1; got {values!r}.")
    return found


def _draw(
    codes: NDArray[np.intp], test_size: float, least: int, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return training rows in random order, all classes among the first few, and test rows."""
    n, n_classes = len(codes), int(codes.max()) + 1
    n_test = round(test_size * n)
    for _ in range(10_000):
        order = rng.permutation(n)
        train = order[n_test:]
        if len(np.unique(codes[train[:least]])) == n_classes:
            return train, order[:n_test]
    raise ValueError(
        f"No draw of {least} labelled rows held all {n_classes} classes: raise the smallest of "
        "labelled_fractions."
    )


def _estimator(name: str, options: dict[str, Any], seed: int) -> Any:
    if name in CROSS_VALIDATED:
        objective, scoring = CROSS_VALIDATED[name]
        return SemiSupervisedGenerativeClassifierCV(
            objective=objective, scoring=scoring, random_state=seed, **options
        )
    return SemiSupervisedGenerativeClassifier(objective=name, random_state=seed, **options)


def _one_repeat(
    X: Floats,
    codes: NDArray[np.intp],
    objectives: tuple[str, ...],
    fractions: tuple[Floats, Floats],
    test_size: float,
    options: dict[str, Any],
    seed: int,
) -> Floats:
    rng = np.random.RandomState(seed)
    n_train = len(codes) - round(test_size * len(codes))
    n_classes = int(codes.max()) + 1
    sizes = [np.maximum(1, np.round(f * n_train)).astype(int) for f in fractions]
    sizes[0] = np.maximum(sizes[0], n_classes)
    # Section 5: rows at random, every class among the labelled
    train, test = _draw(codes, test_size, int(sizes[0].min()), rng)
    scores = np.empty((2, len(objectives), len(sizes[0]), len(sizes[1])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for o, name in enumerate(objectives):
            for i, n_labelled in enumerate(sizes[0]):
                for j, n_unlabelled in enumerate(sizes[1]):
                    rows = train[: n_labelled + n_unlabelled]
                    y = np.where(np.arange(len(rows)) < n_labelled, codes[rows], -1)
                    model = _estimator(name, options, seed).fit(X[rows], y)
                    q = model.predict_joint_log_proba(X[test])
                    truth = codes[test]
                    # -log p(x, y | θ) of held-out rows
                    scores[0, o, i, j] = -q[np.arange(len(test)), truth].mean()
                    scores[1, o, i, j] = np.mean(q.argmax(axis=1) != truth)
    return scores


@checked
def semi_supervised_study(
    X: Any,
    y: Any,
    objectives: tuple[str, ...] = ("unbiased", "labelled", "ml"),
    *,
    labelled_fractions: Any = LABELLED,
    unlabelled_fractions: Any = UNLABELLED,
    n_repeats: int = 10,
    test_size: float = 0.2,
    max_classes: int = 3,
    n_jobs: int | None = None,
    random_state: Any = None,
    **options: Any,
) -> SemiSupervisedStudy:
    """Score objectives as labels are taken away, on rows held out (Section 5).

    Every axis is scaled to [-1, 1], and ``var_floor`` is a part of that range. In each repeat the
    rows are shuffled, test rows are put aside, and all objectives see the same labelled and
    unlabelled rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        All labels.
    objectives : tuple of str, default=("unbiased", "labelled", "ml")
        Those of `SemiSupervisedGenerativeClassifier`, and "ERer", "ERnll", "MCer", "MCnll".
    labelled_fractions, unlabelled_fractions : array-like
        Parts of the training rows that keep and lose their labels; the paper's by default.
    n_repeats : int, default=10
        How many shuffles; 100 in the paper.
    test_size : float, default=0.2
        Part of all rows that is held out.
    max_classes : int, default=3
        More classes than that are merged into groups of about equal size, as in the paper.
    n_jobs : int or None, default=None
        Repeats run at once.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffles.
    **options : dict
        Parameters of the classifiers, such as ``model`` and ``n_init``.

    Returns
    -------
    study : SemiSupervisedStudy
        Scores of every cell and repeat.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from octavo.bayes import semi_supervised_study
    >>> X, y = load_wine(return_X_y=True)
    >>> study = semi_supervised_study(X, y, labelled_fractions=[0.2], unlabelled_fractions=[0.8],
    ...     n_repeats=3, n_init=0, random_state=0)
    >>> means = study.means()
    >>> means["unbiased"][0] < means["labelled"][0]
    True
    """
    known = (*OBJECTIVES, *CROSS_VALIDATED)
    names = (objectives,) if isinstance(objectives, str) else tuple(objectives)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(f"objectives must be among {known}; got {objectives!r}.")
    for word, value, least in (("n_repeats", n_repeats, 1), ("max_classes", max_classes, 2)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ValueError(f"{word} must be an int of at least {least}; got {value!r}.")
    if not 0.0 < float(test_size) < 1.0:
        raise ValueError(f"test_size must be between 0 and 1; got {test_size!r}.")
    X = check_array(X, dtype=np.float64)
    check_consistent_length(X, y)
    codes = merged_classes(encode_classes(np.asarray(y))[1], max_classes)
    if round(test_size * len(codes)) < 1 or len(codes) - round(test_size * len(codes)) < 4:
        raise ValueError(f"{len(codes)} rows are too few for test rows and training rows.")
    fractions = (
        _fractions(labelled_fractions, "labelled_fractions"),
        _fractions(unlabelled_fractions, "unlabelled_fractions"),
    )
    if fractions[0].max() + fractions[1].max() > 1.0 + 1e-9:
        raise ValueError("The largest labelled and unlabelled fractions add up to more than one.")
    low, high = X.min(axis=0), X.max(axis=0)
    half = 0.5 * high - 0.5 * low
    X = (X - (low + half)) / np.where(half > 0, half, 1.0)
    options = {"bounds": (-1.0, 1.0), **options}  # one floor for all objectives and sizes
    seeds = check_random_state(random_state).randint(0, 2**31 - 1, n_repeats)
    found = Parallel(n_jobs=n_jobs)(
        delayed(_one_repeat)(X, codes, names, fractions, float(test_size), options, int(seed))
        for seed in seeds
    )
    scores = np.stack(found, axis=-1)
    return SemiSupervisedStudy(names, *fractions, scores[0], scores[1])
