"""Models in files: the winner with the plan of its columns, and predictions for later rows.

A ``.joblib`` file is a pickle: loading one runs whatever it holds, so open only files that you
trust. A ``.skops`` file (``pip install 'octavo[skops]'``) holds data alone; types of packages other
than those that octavo builds on are refused.
"""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from octavo import __version__
from octavo._whole_files import write_whole
from octavo.compare.results.chances import calibrated, check_chances, label_chances
from octavo.compare.table.cleaning import ColumnPlan, TablePlan
from octavo.compare.table.reading import InputError, Table, need_pandas

if TYPE_CHECKING:
    import pandas as pd

    from octavo.compare.table.problems import Problem

FORMAT = "octavo model 1"
PICKLED = (
    "{name} is a pickle: loading it runs whatever it holds. Open only files that you trust; "
    "--save model.skops writes one that holds data alone."
)
# What a .skops file may hold beside the types that skops itself knows: classes of these packages,
# plain data of others, and functions that look at numbers alone.
PACKAGES = ("octavo", "sklearn", "lightgbm", "xgboost", "catboost")
DATA = {
    "numpy.dtype",  # that an imputer has seen
    "collections.OrderedDict",  # settings of LightGBM
    "functools.partial",  # of a function that is itself in the list
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csr.csr_array",
    "scipy.interpolate._bsplines.BSpline",
}
FUNCTIONS = {
    "octavo.compare.methods.encoding.written_out",
    "octavo.compare.methods.encoding.filled_text",
    "sklearn.metrics._classification.balanced_accuracy_score",  # of a tuned threshold
    "sklearn.metrics._classification.f1_score",
    "sklearn.utils.validation.check_array",  # of boosting
    "scipy._lib.array_api_compat.numpy._aliases.asarray",  # of a spline
}


class SavedModel:
    """A fitted model that takes rows as they stand in a file.

    Parameters
    ----------
    model : estimator
        Encoding and method, fitted.
    plan : TablePlan or None
        How columns are read; None for sparse rows.
    task, target, name : str
        What it predicts, and which method it is.
    n_features : int
        Columns of sparse rows.
    labels : list of str, optional
        Names of several targets.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from octavo.compare import compare
    >>> x = np.linspace(0, 1, 60)
    >>> frame = pd.DataFrame({"x": x, "y": 2 * x + np.sin(40 * x)})
    >>> result = compare(frame, "y", methods="Ridge,guess", journal=False, repeats=1)
    >>> model = result.model()
    >>> model.predict(pd.DataFrame({"x": ["0.5"]})).round(1).tolist()
    [1.0]
    """

    def __init__(
        self,
        model: Any,
        plan: TablePlan | None,
        task: str,
        target: str,
        name: str,
        n_features: int = 0,
        labels: list[str] | None = None,
    ) -> None:
        self.model, self.plan, self.task = model, plan, task
        self.labels = labels or []
        self.target, self.name, self.n_features = target, name, n_features

    def features(self, rows: Any) -> Any:
        """Return later rows as the model takes them.

        Parameters
        ----------
        rows : DataFrame or Table
            With the columns that the model was made with.

        Returns
        -------
        X : DataFrame or sparse array
            Clean features.
        """
        if self.task == "ranking":
            raise InputError("A ranking predicts games: use its model's predict_win from Python.")
        sparse = rows.sparse if isinstance(rows, Table) else None
        frame = rows.frame if isinstance(rows, Table) else rows
        if self.plan is not None:
            return self.plan.apply(frame)
        if sparse is None or sparse.shape[1] > self.n_features:
            raise InputError(
                f"The model was made with sparse rows of {self.n_features:,} columns; these "
                "are not."
            )
        wide = sparse.tocsr(copy=True)
        wide.resize((sparse.shape[0], self.n_features))
        return wide

    def predict(self, rows: Any) -> Any:
        """Return the predictions for later rows: labels, numbers, risks or clusters.

        Parameters
        ----------
        rows : DataFrame or Table
            With the columns that the model was made with.

        Returns
        -------
        predictions : ndarray
            One a row; a column a label in a multilabel task.
        """
        return np.asarray(self.model.predict(self.features(rows)))

    def predict_proba(self, rows: Any) -> Any:
        """Return the chances of the classes for later rows.

        Parameters
        ----------
        rows : DataFrame or Table
            With the columns that the model was made with.

        Returns
        -------
        chances : ndarray of shape (n_rows, n_classes)
            In the order of ``model.classes_``; of several labels, a column each.
        """
        if not hasattr(self.model, "predict_proba"):
            raise InputError(
                f"{self.name} gives no probabilities; compare again with --probabilities, which "
                "calibrates them."
            )
        if self.task == "multilabel":
            return label_chances(self.model, self.features(rows))
        return np.asarray(self.model.predict_proba(self.features(rows)))

    def table(self, rows: Any, *, probabilities: bool = False) -> pd.DataFrame:
        """Return the predictions as a table: one column, and one a class where asked.

        Parameters
        ----------
        rows : DataFrame or Table
            With the columns that the model was made with.
        probabilities : bool, default=False
            Whether chances of classes are wanted.

        Returns
        -------
        table : DataFrame
            A row a row.
        """
        pd = need_pandas()
        if self.task == "multilabel":
            columns = dict(zip(self.labels, self.predict(rows).astype(int).T))
            found = {f"predicted {label}": column for label, column in columns.items()}
            if probabilities:
                chances = self.predict_proba(rows)
                found |= {f"chance of {label}": chances[:, k] for k, label in enumerate(columns)}
            return pd.DataFrame(found)
        name = {"survival": "risk", "clustering": "cluster"}.get(self.task, self.target)
        found = {f"predicted {name}" if name == self.target else name: self.predict(rows)}
        if probabilities:
            chances = self.predict_proba(rows)
            found |= {f"chance of {c}": chances[:, k] for k, c in enumerate(self.model.classes_)}
        return pd.DataFrame(found)

    def save(self, path: str | Path) -> Path:
        """Write the model into a file.

        Parameters
        ----------
        path : str or Path
            Ending in ``.joblib``, or in ``.skops`` where skops is installed.

        Returns
        -------
        path : Path
            Where it is.
        """
        path = Path(path)
        plan = None if self.plan is None else [asdict(column) for column in self.plan.columns]
        content = {
            "format": FORMAT,
            "version": __version__,
            "model": self.model,
            "plan": plan,
            "task": self.task,
            "target": self.target,
            "name": self.name,
            "n_features": self.n_features,
            "labels": self.labels,
        }
        check_path(path)
        if path.suffix == ".skops":
            skops_io = _need_skops()
            written = skops_io.dumps(content)
            if foreign := _foreign(skops_io.get_untrusted_types(data=written)):
                raise InputError(
                    f"{self.name} holds {foreign}, which a .skops file may not hold here; save it "
                    "as .joblib."
                )
            return write_whole(path, written)
        import joblib

        buffer = io.BytesIO()
        joblib.dump(content, buffer)
        return write_whole(path, buffer.getvalue())


def check_path(path: Path) -> None:
    """Refuse a file that a model could not be written to, before any work is done."""
    if path.suffix not in (".joblib", ".skops"):
        raise InputError(f"A model is saved as .joblib or .skops, not as {path.name}.")
    if not path.resolve().parent.is_dir():
        raise InputError(f"Cannot write {path}: the folder {path.resolve().parent} does not exist.")
    if path.suffix == ".skops":
        _need_skops()


def _need_skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise InputError(
            "A .skops file needs skops, which is not installed: pip install 'octavo[skops]'."
        ) from error
    return skops.io


def load_model(path: str | Path) -> SavedModel:
    """Read a model from a file that `SavedModel.save` wrote.

    Parameters
    ----------
    path : str or Path
        A ``.joblib`` file, which must be one that you trust, or a ``.skops`` file.

    Returns
    -------
    model : SavedModel
        Ready to predict.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}; a model is saved with --save.")
    try:
        content = _loaded_skops(path) if path.suffix == ".skops" else _loaded_pickle(path)
    except InputError:
        raise
    except Exception as error:  # a pickle may fail in any way
        raise InputError(f"{path} is no sound model file ({type(error).__name__}).") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} holds no model of octavo {__version__}; save it again.")
    plan = content["plan"]
    return SavedModel(
        content["model"],
        None if plan is None else TablePlan([ColumnPlan(**column) for column in plan]),
        content["task"],
        content["target"],
        content["name"],
        content["n_features"],
        content.get("labels"),
    )


def _loaded_pickle(path: Path) -> Any:
    import joblib

    return joblib.load(path)


def _loaded_skops(path: Path) -> Any:
    skops_io = _need_skops()
    asked = skops_io.get_untrusted_types(file=path)
    if foreign := _foreign(asked):
        raise InputError(f"{path} holds types that octavo does not use: {foreign}.")
    return skops_io.load(path, trusted=asked)


def _foreign(names: list[str]) -> str:
    """Return the first types that no model of octavo holds, in a line."""
    return ", ".join([name for name in names if not expected_type(name)][:5])


def expected_type(name: str) -> bool:
    """Whether a type is one that a model of octavo may hold: a class, never a function at will."""
    parts = name.split(".")
    named_class = parts[-1].lstrip("_")[:1].isupper()  # private ones too: _CalibratedClassifier
    return name in FUNCTIONS | DATA or (parts[0] in PACKAGES and named_class)


def saved_winner(
    problem: Problem, model: Any, name: str, *, probabilities: bool = False
) -> SavedModel:
    """Return a fitted winner as it is saved.

    Parameters
    ----------
    problem : Problem
        What it was fitted on.
    model : estimator
        The fitted winner.
    name : str
        The method.
    probabilities : bool, default=False
        Whether a classifier without chances gets calibrated ones: it is fitted on parts of the
        rows, and a logistic curve of its margins on the rest (Platt 1999).

    Returns
    -------
    saved : SavedModel
        To be saved or used.
    """
    if probabilities:
        check_chances(problem)
        if not hasattr(model, "predict_proba"):
            model = calibrated(problem, model)
    n_features = int(problem.X.shape[1]) if problem.sparse else 0
    return SavedModel(
        model, problem.plan, problem.task, problem.target, name, n_features, problem.labels
    )
