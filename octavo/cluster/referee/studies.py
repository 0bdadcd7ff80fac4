"""A referee for clustering algorithms: many data sets of known difficulty, one table."""

from __future__ import annotations

import itertools
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from octavo.cluster.referee.agreement import named_metric
from octavo.cluster.referee.mixtures import make_overlap_dataset, make_overlap_mixture

__all__ = ["ClusteringReferee", "ExternalClusterer"]


class ExternalClusterer:
    """A clustering program outside Python.

    Parameters
    ----------
    command : str
        Command line with the places ``{data}`` (a file of numbers, comma separated, a row a
        point), ``{labels}`` (the file it must write, one integer a line) and ``{k}``.
    timeout : float, default=600.0
        Seconds after which it is stopped.

    Examples
    --------
    >>> import sys
    >>> from octavo.cluster import ExternalClusterer
    >>> program = "import sys; n = len(open(sys.argv[1]).readlines()); " \\
    ...     "open(sys.argv[2], 'w').write('\\\\n'.join(['0'] * n))"
    >>> clusterer = ExternalClusterer(f'{sys.executable} -c "{program}" {{data}} {{labels}}')
    >>> print(clusterer([[0.0], [1.0], [5.0]], 1))
    [0 0 0]
    """

    def __init__(self, command: str, timeout: float = 600.0) -> None:
        self.command, self.timeout = command, timeout

    def __call__(self, X: Any, n_clusters: int) -> np.ndarray:
        """Return the labels that the program gives."""
        X = np.asarray(X, dtype=float)
        with tempfile.TemporaryDirectory(prefix="octavo-referee-") as folder:
            data, labels = Path(folder, "data.csv"), Path(folder, "labels.txt")
            np.savetxt(data, X, delimiter=",")
            places = {"{data}": str(data), "{labels}": str(labels), "{k}": str(n_clusters)}
            words = shlex.split(self.command)
            for place, value in places.items():
                words = [word.replace(place, value) for word in words]
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=self.timeout, check=False
            )
            if done.returncode != 0:
                raise RuntimeError(
                    f"{words[0]} ended with status {done.returncode}: {done.stderr.strip()[-300:]}"
                )
            if not labels.exists():
                raise RuntimeError(f"{words[0]} wrote no file of labels.")
            found = np.loadtxt(labels, dtype=int, ndmin=1)
        if found.shape != (len(X),):
            raise RuntimeError(f"{words[0]} wrote {found.size} labels for {len(X)} points.")
        return found


def cluster_labels(clusterer: Any, X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return the labels of a scikit-learn clusterer, told the number of clusters, or a callable."""
    if not hasattr(clusterer, "get_params"):
        return np.asarray(clusterer(X, n_clusters))
    model = clone(clusterer)
    known = model.get_params(deep=False)
    told = {name: n_clusters for name in ("n_clusters", "n_components") if name in known}
    if known.get("random_state", 0) is None:
        told["random_state"] = seed
    return np.asarray(model.set_params(**told).fit_predict(X))


def _one_match(
    setting: dict[str, Any], seed: np.random.SeedSequence, referee: ClusteringReferee
) -> list[dict[str, Any]]:
    """Draw one data set and let every clusterer try it."""
    rng = np.random.RandomState(np.random.MT19937(seed))
    target = {f"{referee.kind}_omega": setting["overlap"]}
    mixture = make_overlap_mixture(
        setting["n_components"],
        setting["n_features"],
        random_state=rng,
        **target,
        **(referee.mixture_params or {}),
    )
    X, y = make_overlap_dataset(
        setting["n_samples"], mixture, random_state=rng, **(referee.dataset_params or {})
    )
    inside = y >= 0
    rows = []
    for name, clusterer in referee.clusterers.items():
        start, error = time.perf_counter(), ""
        try:
            labels = cluster_labels(clusterer, X, setting["n_components"], rng.randint(2**31))
            scores = {
                metric: float(measure(y[inside], labels[inside]))
                for metric, measure in referee._measures().items()
            }
        except Exception as problem:  # a contestant that fails is told, the others go on
            error = f"{type(problem).__name__}: {problem}"
            scores = dict.fromkeys(referee._measures(), float("nan"))
        seconds = time.perf_counter() - start
        rows += [
            {**setting, "clusterer": name, "metric": metric, "score": score, "seconds": seconds}
            | {"error": error}
            for metric, score in scores.items()
        ]
    return rows


class ClusteringReferee:
    """Compare clustering algorithms on data sets of dialled-in difficulty.

    Parameters
    ----------
    clusterers : dict of str to estimator or callable
        Scikit-learn clusterers (they are told the number of clusters), functions of
        (X, n_clusters) that return labels, or `ExternalClusterer`.
    metrics : str, list of str or dict of str to callable, default="adjusted_rand"
        Agreement with the truth; outliers are not counted. Points that a clusterer calls noise (a
        label of -1) count as one more group: calling a cluster's points noise costs what tearing
        them off would, and calling outliers noise gains nothing.
    n_samples, n_components, n_features : int or list of int, default=100, 5, 5
        Sizes; every combination is tried.
    overlaps : float or list of float, default=(0.1, 0.01, 0.001)
        Overlaps of the mixtures.
    kind : {"max", "bar"}, default="max"
        Whether `overlaps` are the largest or the average of pairs.
    n_datasets : int, default=25
        Data sets for every combination.
    mixture_params, dataset_params : dict, optional
        Further arguments of `make_overlap_mixture` and `make_overlap_dataset`.
    n_jobs : int, optional
        Data sets that are tried at once.
    random_state : int, default=0
        Seed; the table does not depend on n_jobs.

    Attributes
    ----------
    records_ : list of dict
        One row for each data set, clusterer and metric, after `run`.

    Examples
    --------
    >>> from sklearn.cluster import AgglomerativeClustering, KMeans
    >>> from octavo.cluster import ClusteringReferee
    >>> referee = ClusteringReferee(
    ...     {"Ward": AgglomerativeClustering(), "k-means": KMeans(n_init=5)},
    ...     overlaps=[0.01], n_datasets=5,
    ... )
    >>> table = referee.run()
    >>> print(sorted(referee.summary()["median"].round(1)))
    [1.0, 1.0]
    """

    def __init__(
        self,
        clusterers: Mapping[str, Any],
        metrics: Any = "adjusted_rand",
        *,
        n_samples: Any = 100,
        n_components: Any = 5,
        n_features: Any = 5,
        overlaps: Any = (0.1, 0.01, 0.001),
        kind: str = "max",
        n_datasets: int = 25,
        mixture_params: Mapping[str, Any] | None = None,
        dataset_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        if not clusterers:
            raise ValueError("clusterers is empty: there is nobody to judge.")
        if kind not in ("max", "bar"):
            raise ValueError(f"kind must be 'max' or 'bar'; got {kind!r}.")
        if n_datasets < 1:
            raise ValueError(f"n_datasets must be positive; got {n_datasets}.")
        self.clusterers = dict(clusterers)
        self.metrics = metrics
        self.n_samples, self.n_components, self.n_features = n_samples, n_components, n_features
        self.overlaps, self.kind, self.n_datasets = overlaps, kind, n_datasets
        self.mixture_params, self.dataset_params = mixture_params, dataset_params
        self.n_jobs, self.random_state = n_jobs, random_state
        self._measures()

    def _measures(self) -> dict[str, Any]:
        if isinstance(self.metrics, Mapping):
            return dict(self.metrics)
        names = [self.metrics] if isinstance(self.metrics, str) else list(self.metrics)
        return {name: named_metric(name) for name in names}

    def _settings(self) -> list[dict[str, Any]]:
        names = ("n_samples", "n_components", "n_features", "overlap")
        values = (self.n_samples, self.n_components, self.n_features, self.overlaps)
        lists = [list(v) if isinstance(v, Sequence | np.ndarray) else [v] for v in values]
        return [dict(zip(names, row)) for row in itertools.product(*lists)]

    def run(self) -> Any:
        """Draw the data sets, let every clusterer try them, and return the table.

        Returns
        -------
        table : DataFrame
            One row for each data set, clusterer and metric, with the score, the time and, where
            a clusterer failed, its message. Without pandas, a dict of columns.
        """
        jobs = [
            (setting | {"dataset": number}, seed)
            for (setting, number), seed in zip(
                itertools.product(self._settings(), range(self.n_datasets)),
                np.random.SeedSequence(self.random_state).spawn(
                    len(self._settings()) * self.n_datasets
                ),
            )
        ]
        rows = Parallel(n_jobs=self.n_jobs)(delayed(_one_match)(*job, self) for job in jobs)
        self.records_ = [row for found in rows for row in found]
        return _frame(self.records_)

    def summary(self) -> Any:
        """Return median, quartiles and failures for each setting, clusterer and metric.

        Returns
        -------
        table : DataFrame
            One row for each setting, clusterer and metric. Without pandas, a dict of columns.
        """
        if not hasattr(self, "records_"):
            raise AttributeError("There is no result yet: call run() first.")
        keys = ("n_samples", "n_components", "n_features", "overlap", "clusterer", "metric")
        groups: dict[tuple, list[float]] = {}
        for row in self.records_:
            groups.setdefault(tuple(row[key] for key in keys), []).append(row["score"])
        return _frame([dict(zip(keys, key)) | _quartiles(v) for key, v in groups.items()])


def _quartiles(scores: list[float]) -> dict[str, float]:
    seen = np.array(scores)[np.isfinite(scores)]
    low, median, high = np.quantile(seen, [0.25, 0.5, 0.75]) if seen.size else [np.nan] * 3
    return {"median": median, "low": low, "high": high, "failed": len(scores) - len(seen)}


def _frame(rows: list[dict[str, Any]]) -> Any:
    """Return the rows as a data frame, or as a dict of columns where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return pd.DataFrame(rows)
