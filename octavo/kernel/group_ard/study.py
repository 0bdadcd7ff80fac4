"""The Monte Carlo study of Section 4.2: ARD, PARD and the group lasso on drawn problems.

Reference: Aravkin, Burke, Chiuso and Pillonetto (2014), JMLR 15, Section 4.2.
"""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from octavo.data.kernel.group_sparse import make_group_sparse
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, Options, validate_params
from octavo.kernel.group_ard.estimators import GroupARDRegression, GroupLassoEB

__all__ = ["GroupSparseStudy", "group_sparse_study"]


class GroupSparseStudy(NamedTuple):
    """Runs by methods: relative errors, how many groups are zero, and how many of them were found.

    `methods` names the columns: ARD, PARD with γ chosen on half the rows, group lasso likewise.
    """

    methods: tuple[str, ...]
    errors: Floats
    n_zero: Ints
    n_found: Ints

    @property
    def mean_errors(self) -> Floats:
        """Mean relative error of each method (Table 1)."""
        return self.errors.mean(axis=0)

    @property
    def zero_rates(self) -> Floats:
        """Share of the groups without effect that each method left out (Table 2)."""
        return self.n_found.sum(axis=0) / self.n_zero.sum()


_METHODS = ("ARD", "PARD", "group lasso")


def _one_run(exp: int, n: int, p: int, k: int, seed: int) -> tuple[list[float], int, list[int]]:
    X, y, theta, groups, _ = make_group_sparse(exp, n, p, k, random_state=seed)
    zero = np.array([not theta[groups == g].any() for g in range(p)])
    models = (
        GroupARDRegression(groups, fit_intercept=False),
        GroupARDRegression(groups, "cv", fit_intercept=False),
        GroupLassoEB(groups, "cv", fit_intercept=False),
    )
    errors, found = [], []
    for model in models:
        model.fit(X, y)
        errors.append(float(np.linalg.norm(model.coef_ - theta) / np.linalg.norm(theta)))
        found.append(int((model.lambda_[zero] == 0.0).sum()))
    return errors, int(zero.sum()), found


@checked
@validate_params(
    {
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "exp": [Options(Integral, {1, 2})],
        "n": [Interval(Integral, 2, None, closed="left")],
        "p": [Interval(Integral, 1, None, closed="left")],
        "k": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def group_sparse_study(n_repeats=100, exp=1, *, n=100, p=10, k=4, random_state=None, n_jobs=None):
    """Compare ARD, PARD and the group lasso on problems of `make_group_sparse`.

    Parameters
    ----------
    n_repeats : int, default=100
        Problems drawn; the paper has 1000.
    exp : {1, 2}, default=1
        Experiment: independent regressors, or neighbours that are nearly the same.
    n : int, default=100
        Rows.
    p : int, default=10
        Groups.
    k : int, default=4
        Columns of a group; n must exceed p k.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int, default=None
        Processes.

    Returns
    -------
    GroupSparseStudy
        Relative errors ‖θ̂ - θ‖/‖θ‖ and counts of zero groups, a row per run.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Section 4.2, Tables 1 and 2.

    Examples
    --------
    >>> from octavo.kernel import group_sparse_study
    >>> study = group_sparse_study(3, random_state=0)
    >>> study.errors.shape, bool(study.mean_errors[0] < study.mean_errors[2])
    ((3, 3), True)
    """
    if p * k >= n:
        raise ValueError(f"n must exceed p k = {p * k}, the number of columns; got {n}.")
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_repeats)
    runs = Parallel(n_jobs=n_jobs)(delayed(_one_run)(exp, n, p, k, int(s)) for s in seeds)
    errors, n_zero, n_found = zip(*runs)
    return GroupSparseStudy(_METHODS, np.array(errors), np.array(n_zero), np.array(n_found))
