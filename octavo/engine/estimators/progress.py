"""Progress of long fits through scikit-learn's callback API.

An estimator that inherits `sklearn.callback.CallbackSupportMixin` and decorates ``fit``
with `sklearn.callback.with_callbacks` opens a `FitProgress` and steps it once an iteration::

    with FitProgress(self, max_iter, X, y) as progress:
        for _ in range(max_iter):
            ...
            if progress.step():
                break
"""

from __future__ import annotations

from typing import Any, Self


class FitProgress:
    """Tell the callbacks of an estimator how far its fit has come.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    total : int or None
        The largest number of steps; None when it cannot be known.
    X, y : array-like, optional
        The training data, handed on to callbacks that ask for them.
    step_name : str
        What one step is called.
    """

    def __init__(
        self,
        estimator: Any,
        total: int | None,
        X: Any = None,
        y: Any = None,
        *,
        step_name: str = "iteration",
    ) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._step_name = step_name
        self._active = bool(getattr(estimator, "_skl_callbacks", None))
        if self._active:
            self._context = estimator._init_callback_context(max_subtasks=total)

    def __enter__(self) -> Self:
        if self._active:
            self._context.call_on_fit_task_begin(estimator=self._estimator, X=self._X, y=self._y)
        return self

    def step(self, **fitted: Any) -> bool:
        """Report one finished step; return whether a callback asks to stop.

        Parameters
        ----------
        **fitted : dict
            Fitted attributes with which the estimator could predict if it stopped here.

        Returns
        -------
        stop : bool
            True when the fit should end now.
        """
        if not self._active:
            return False
        task = self._context.subcontext(task_name=self._step_name)
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X, y=self._y)
        return task.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            y=self._y,
            reconstruction_attributes=fitted or None,
        )

    def __exit__(self, *error: object) -> None:
        if self._active and error[0] is None:
            self._context.call_on_fit_task_end(estimator=self._estimator, X=self._X, y=self._y)
