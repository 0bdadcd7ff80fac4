"""Energies as estimators: denoise images and signals on graphs, smooth classifiers' labels.

M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.energies.problem import PairwiseMRF, grid_mrf
from octavo.graphical.energies.solvers import METHODS, MRFResult, minimize_mrf

__all__ = ["MRFLabelSmoother", "TruncatedMRFDenoiser"]

LEAST_PROBABILITY = 1e-6  # a label that a classifier calls impossible costs 13.8, not infinity

ENERGY_CONSTRAINTS: dict[str, Any] = {
    "weight": [Interval(Real, 0, 1e12, closed="both")],
    "truncation": [Interval(Real, 0, None, closed="neither"), None],
    "distance": [StrOptions({"linear", "quadratic"}), callable],
    "method": [StrOptions(set(METHODS))],
    "interval": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "max_sweeps": [Interval(Integral, 1, 10_000, closed="both")],
}


def minimize_by(estimator: Any, mrf: PairwiseMRF, **options: Any) -> MRFResult:
    """Minimise an energy by an estimator's settings; range expansion goes on from range swap.

    Expansion overrates a variable that moves alone and swap never leaves an interval: each ends
    high where the other does well, and expansion never makes a start worse.
    """
    start: Any = "unary"
    if estimator.method == "range_expansion" and not mrf.is_convex:
        start = minimize_mrf(
            mrf, "range_swap", max_sweeps=estimator.max_sweeps, bound_max_iter=0
        ).labels
    return minimize_mrf(
        mrf,
        estimator.method,
        estimator.interval,
        start,
        max_sweeps=estimator.max_sweeps,
        **options,
    )


def minimize_with_progress(estimator: Any, mrf: PairwiseMRF, *data: Any) -> MRFResult:
    """Do so, and tell the estimator's callbacks of every sweep."""
    with FitProgress(estimator, None, *data, step_name="sweep") as progress:
        return minimize_by(estimator, mrf, callback=progress.step)


def weighted_mrf(estimator: Any, unary: Floats, graph: Any) -> PairwiseMRF:
    """Return the energy of a graph whose weights are multiplied by the estimator's weight."""
    d, truncation = estimator.distance, estimator.truncation
    plain = PairwiseMRF(unary, graph, None, d, truncation)
    return PairwiseMRF(unary, plain.edges, plain.weights * estimator.weight, d, truncation)


def keep_result(estimator: Any, result: MRFResult) -> None:
    """Store what a result says as fitted attributes."""
    estimator.labels_ = result.labels
    estimator.objective_ = result.energy
    estimator.lower_bound_ = result.lower_bound
    estimator.result_ = result


class TruncatedMRFDenoiser(CallbackSupportMixin, TransformerMixin, SoundEstimator):
    """Denoise an image, or a signal on a graph, without smearing its jumps.

    Values are rounded to equally spaced levels such that the distance to the data and the
    truncated differences of neighbours are small together. A jump costs at most `truncation`
    however high it is. Both are counted in levels, so that the units of the data do not matter.

    Not for textures or natural photographs, where patch-based denoisers
    (`skimage.restoration.denoise_nl_means`) see more; for tables use no image method at all.

    Parameters
    ----------
    levels : int, default=32
        Number of levels between the smallest and the largest value, 2 to 1024. Time grows with it.
    weight : float, default=1.0
        Strength of smoothing: the weight of a neighbour's difference.
    truncation : float or None, default=9.0
        The largest difference that counts, in units of `distance` of levels.
    distance : {"linear", "quadratic"} or callable, default="quadratic"
        Difference of neighbouring levels: |x|, x² or a convex even function.
    connectivity : {4, 8} or graph, default=4
        Neighbours of a pixel; or the graph of a signal: networkx, a symmetric matrix, or
        an array of edges, with weights that multiply `weight`.
    loss : {"squared", "absolute"}, default="squared"
        Distance to the data, in levels; "absolute" for impulses and heavy tails.
    method : str, default="range_expansion"
        Any of `minimize_mrf`; range expansion starts from what range swap finds.
    interval : int or "auto", default="auto"
        Labels of an interval of range moves.
    max_sweeps : int, default=20
        Most sweeps over all moves.

    Attributes
    ----------
    levels_ : ndarray of shape (levels,)
        Their values.
    labels_ : ndarray of int, of the shape of the data
        The level of each pixel or node.
    objective_ : float
        The energy of the labels.
    lower_bound_ : float
        No labels have a smaller energy.
    result_ : MRFResult
        All that `minimize_mrf` returned for the data of `fit`.

    References
    ----------
    M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
    Journal of Machine Learning Research 12, 31-67.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import TruncatedMRFDenoiser
    >>> clean = np.kron([[0.0, 5.0], [10.0, 0.0]], np.ones((8, 8)))
    >>> noisy = clean + np.random.default_rng(0).normal(size=clean.shape)
    >>> model = TruncatedMRFDenoiser(levels=16)
    >>> error = np.abs(model.fit_transform(noisy) - clean).mean()
    >>> round(float(np.abs(noisy - clean).mean()), 2), round(float(error), 2)
    (0.82, 0.34)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ENERGY_CONSTRAINTS,
        "levels": [Interval(Integral, 2, 1024, closed="both")],
        "connectivity": "no_validation",
        "loss": [StrOptions({"squared", "absolute"})],
    }

    def __init__(
        self,
        levels: int = 32,
        weight: float = 1.0,
        truncation: float | None = 9.0,
        distance: Any = "quadratic",
        connectivity: Any = 4,
        loss: str = "squared",
        method: str = "range_expansion",
        interval: int | str = "auto",
        max_sweeps: int = 20,
    ) -> None:
        self.levels = levels
        self.weight = weight
        self.truncation = truncation
        self.distance = distance
        self.connectivity = connectivity
        self.loss = loss
        self.method = method
        self.interval = interval
        self.max_sweeps = max_sweeps

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the levels and the denoised image.

        Parameters
        ----------
        X : array-like of shape (height, width), or (n_nodes,) with a graph
            The image or signal.
        y : None
            Not used.

        Returns
        -------
        self : TruncatedMRFDenoiser
            The fitted estimator.
        """
        values = self._read(X)
        low, high = float(values.min()), float(values.max())
        with np.errstate(over="ignore"):
            if not np.isfinite(high - low):
                raise ValueError(f"X spans {low:g} to {high:g}, more than a double can. Scale it.")
        self.levels_ = np.linspace(low, high, self.levels)
        keep_result(self, minimize_with_progress(self, self._energy(values), X))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return an image or signal denoised, with the levels of `fit`.

        Parameters
        ----------
        X : array-like of shape (height, width), or (n_nodes,) with a graph
            Any size; values outside the levels go to the nearest.

        Returns
        -------
        denoised : ndarray of the shape of X
            Values among `levels_`.
        """
        check_is_fitted(self, "levels_")
        mrf = self._energy(self._read(X))
        return self.levels_[minimize_by(self, mrf, bound_max_iter=0).labels]

    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_params: Any) -> Floats:
        """Find the levels and return the data denoised.

        Parameters
        ----------
        X : array-like of shape (height, width), or (n_nodes,) with a graph
            The image or signal.
        y : None
            Not used.
        **fit_params : dict
            Nothing is taken.

        Returns
        -------
        denoised : ndarray of the shape of X
            Values among `levels_`.
        """
        self.fit(X, y, **fit_params)
        return self.levels_[self.labels_]

    def _read(self, X: ArrayLike) -> Floats:
        values = real_array(X, "X")
        on_grid = isinstance(self.connectivity, (int, np.integer))
        if on_grid and (isinstance(self.connectivity, bool) or self.connectivity not in (4, 8)):
            raise ValueError(f"connectivity must be 4, 8 or a graph; got {self.connectivity!r}.")
        if values.ndim != (2 if on_grid else 1) or not values.size:
            wanted = "an image of shape (height, width)" if on_grid else "a signal of (n_nodes,)"
            raise ValueError(f"X must be {wanted}; got shape {values.shape}.")
        return values

    def _energy(self, values: Floats) -> PairwiseMRF:
        step = float(self.levels_[1] - self.levels_[0])
        place = (values - self.levels_[0]) / step if step > 0 else np.zeros_like(values)
        place = np.clip(place, -self.levels, 2 * self.levels)  # far outside is as good as outside
        unary = np.abs(place[..., None] - np.arange(self.levels))
        if self.loss == "squared":
            unary **= 2
        if values.ndim == 2:
            return grid_mrf(
                unary,
                self.weight,
                self.distance,
                self.truncation,
                connectivity=int(self.connectivity),
            )
        return weighted_mrf(self, unary, self.connectivity)


class MRFLabelSmoother(CallbackSupportMixin, SoundEstimator):
    """Smooth the predictions of a classifier of ordered classes over time, space or a graph.

    Each sample costs -log of the probability of its label; neighbours cost `weight` times the
    truncated difference of theirs. The best labels together replace the best of each alone.

    Not for classes without an order: with ``truncation=1`` and a linear distance all differences
    cost the same, which is the Potts model and as good as it gets.

    Parameters
    ----------
    weight : float, default=1.0
        Strength of smoothing, in units of log probability.
    truncation : float or None, default=2.0
        The largest difference of labels that counts.
    distance : {"linear", "quadratic"} or callable, default="linear"
        Difference of labels: |x|, x² or a convex even function.
    connectivity : graph or None, default=None
        Neighbours: a networkx graph, a symmetric matrix or an array of edges over the samples;
        None joins each row to the next, as in a series.
    method : str, default="range_expansion"
        Any of `minimize_mrf`; a series is solved exactly whatever it says.
    interval : int or "auto", default="auto"
        Labels of an interval of range moves.
    max_sweeps : int, default=20
        Most sweeps over all moves.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_samples,)
        The column of each sample's class.
    objective_ : float
        The energy of the labels.
    lower_bound_ : float
        No labels have a smaller energy.
    result_ : MRFResult
        All that `minimize_mrf` returned.

    References
    ----------
    M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
    Journal of Machine Learning Research 12, 31-67.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import MRFLabelSmoother
    >>> probabilities = np.array([[0.9, 0.1, 0], [0.4, 0.6, 0], [0.8, 0.2, 0], [0, 0.1, 0.9]])
    >>> MRFLabelSmoother().fit_predict(probabilities).tolist()
    [0, 0, 0, 2]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ENERGY_CONSTRAINTS,
        "connectivity": "no_validation",
    }

    def __init__(
        self,
        weight: float = 1.0,
        truncation: float | None = 2.0,
        distance: Any = "linear",
        connectivity: Any = None,
        method: str = "range_expansion",
        interval: int | str = "auto",
        max_sweeps: int = 20,
    ) -> None:
        self.weight = weight
        self.truncation = truncation
        self.distance = distance
        self.connectivity = connectivity
        self.method = method
        self.interval = interval
        self.max_sweeps = max_sweeps

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the best labels together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes)
            Probabilities, such as those of ``predict_proba``, classes in their order. Rows need
            not sum to 1.
        y : None
            Not used.

        Returns
        -------
        self : MRFLabelSmoother
            The fitted estimator.
        """
        mrf = self._energy(X)
        self.n_features_in_ = mrf.n_labels
        if self.connectivity is None:
            with FitProgress(self, 1, X, step_name="sweep") as progress:
                result = minimize_mrf(mrf, "tree")
                progress.step()
        else:
            result = minimize_with_progress(self, mrf, X)
        keep_result(self, result)
        return self

    def fit_predict(self, X: ArrayLike, y: Any = None) -> Ints:
        """Find the best labels together and return them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes)
            Probabilities.
        y : None
            Not used.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Columns of X.
        """
        return self.fit(X).labels_

    def predict(self, X: ArrayLike) -> Ints:
        """Return the best labels of other samples together, by the same settings.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes)
            Probabilities of as many classes as in `fit`; with a graph, of as many samples.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Columns of X.
        """
        check_is_fitted(self, "labels_")
        mrf = self._energy(X)
        if mrf.n_labels != self.n_features_in_:
            raise ValueError(
                f"X has {mrf.n_labels} classes; MRFLabelSmoother was fitted with "
                f"{self.n_features_in_}."
            )
        if self.connectivity is None:
            return minimize_mrf(mrf, "tree").labels
        return minimize_by(self, mrf, bound_max_iter=0).labels

    def _energy(self, X: ArrayLike) -> PairwiseMRF:
        P = real_array(X, "X")
        if P.ndim != 2 or not P.size:
            raise ValueError(
                f"X must have shape (n_samples, n_classes), with at least one of each; "
                f"got {P.shape}."
            )
        with np.errstate(over="ignore"):
            total = P.sum(axis=1)
        if (P < 0).any() or not ((total > 0) & np.isfinite(total)).all():
            raise ValueError(
                "X must hold probabilities: at least 0, and not all 0 in a row. See predict_proba."
            )
        unary = -np.log(np.maximum(P / total[:, None], LEAST_PROBABILITY))
        rows = np.arange(len(P))
        chain = np.column_stack([rows[:-1], rows[1:]])
        graph = chain if self.connectivity is None else self.connectivity
        return weighted_mrf(self, unary, graph)
