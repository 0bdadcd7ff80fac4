"""`EventFeatures`: a log in, a table with a row an entity out; and the paper's teams as presets.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Sections 3 to 7.
"""

from __future__ import annotations

import warnings
from collections import Counter
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.event_logs.reductions import category_counts
from octavo.linear.event_features.families import FAMILIES
from octavo.linear.event_features.log import ClickLog
from octavo.linear.event_features.views import (
    Learned,
    LogView,
    Settings,
    brand_of,
    channel_of_entities,
    seconds_of,
)

__all__ = ["EventFeatures", "db2", "gbm118", "larc257", "masdar41", "tea"]

# Section 7.1, and Table 3: what fills the columns of a log with fewer categories.
COUNTRIES = (
    "bd",
    "br",
    "et",
    "gh",
    "id",
    "in",
    "ir",
    "ke",
    "mx",
    "my",
    "ng",
    "pk",
    "ru",
    "sa",
    "th",
    "tr",
    "uk",
    "us",
    "vn",
    "za",
)
CHANNELS = ("ad", "co", "es", "gd", "in", "mc", "pp", "se")
N_RISK, N_BRANDS, N_FOLDS = 10, 5, 5


def _most_frequent(
    view: LogView, field: str, n: int, chosen: NDArray[np.bool_] | None = None
) -> list[Any]:
    codes, values = view.column(field)
    if chosen is None:
        chosen = np.ones(len(view.n_clicks), dtype=bool)
    count = category_counts(view.offsets, codes, len(values), chosen)
    order = np.argsort(-count, kind="stable")[:n]
    return [values[k] for k in order if count[k] > 0]


def _filled(found: list[Any], spare: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    more = [value for value in spare if value not in found]
    return tuple((found + more)[:n])


def _channels(view: LogView, n: int) -> tuple[Any, ...]:
    """Return n channels; "other" is one of them unless the log has exactly n."""
    found = _most_frequent(view, "channel", view.column("channel").size)
    if len(found) == n:
        return tuple(found)
    named = [*found[: n - 1], "other"]
    return _filled(named, (*CHANNELS, *(f"spare{k}" for k in range(n))), n)


def _priors(view: LogView, y: NDArray[Any] | None) -> tuple[dict[Any, float], float]:
    """Return the share of fraud of each channel's entities, and of all."""
    if y is None or not len(y):
        return {}, 0.0
    own = channel_of_entities(view)
    values = view.column("channel").values
    shares = {values[k] if k >= 0 else None: float(y[own == k].mean()) for k in np.unique(own)}
    return shares, float(y.mean())


def _folds(y: NDArray[Any]) -> NDArray[np.intp]:
    """Deal entities into folds, each class for itself."""
    fold = np.empty(len(y), dtype=np.intp)
    for value in np.unique(y):
        rows = np.flatnonzero(y == value)
        fold[rows] = np.arange(len(rows)) % N_FOLDS
    return fold


class EventFeatures(TransformerMixin, SoundEstimator, auto_wrap_output_keys=None):
    """Turn an event log into features of its entities.

    The log is sorted once; a feature costs one pass or two of compiled code. Three million clicks
    become the 257 features of `larc257` in seconds on one core.

    Parameters
    ----------
    families : tuple of str, default=("basic", "spatial", "timeseries", "spiky", "windows", \
"keys", "profiles")
        Which features: of the paper's organisers ``"basic"``, ``"spatial"``, ``"timeseries"``;
        of the first winner ``"behavior"``, ``"spiky"``, ``"risk"``; of the second ``"windows"``,
        ``"attributes"``, ``"prior"``; of the third ``"keys"``; of the fourth ``"sources"``,
        ``"channels"``, ``"profiles"``.
    bin : str or int, default="1min"
        Width of the bins of time series and of repeated values: seconds, or such as ``"5min"``.
    entity : str, default="publisherid"
        The field whose values are the rows.
    source : str, default="numericip"
        The field that says who clicked.
    countries : tuple of str, optional
        Countries with a column of their own; those with the most clicks by default, filled
        up from the paper's list.
    n_countries : int, default=20
        How many, where they are not given.
    n_channels : int, default=10
        Columns for channels.
    max_sources : int, optional
        Entities with more sources have no click profiles (the paper: 3000).
    scale : bool, default=False
        Scale columns so that training lies in [0, 1].
    n_parts : int, default=1
        Pieces of the log that are worked on one after the other, which needs less memory and gives
        the same numbers.

    Attributes
    ----------
    feature_names_ : list of str
        Columns.
    learned_ : tuple
        Channels, countries, brands and shares of fraud of the training log.
    data_min_, data_max_ : ndarray of shape (n_features,)
        Range of the training log, where `scale` is set.

    See Also
    --------
    larc257, masdar41, db2, tea, gbm118 : The teams' features.

    Notes
    -----
    Do not use it where rows are the examples already (a table needs no log), and for forecasting
    single series: tsfresh and sktime know more features of one series. The prior of channels is
    out-of-fold in `fit_transform` and plain in `transform`: a model is trained on the first.

    References
    ----------
    R. Oentaryo, E.-P. Lim, M. Finegold et al. (2014). Detecting click fraud in online advertising:
    a data mining approach. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.linear import ClickLog, EventFeatures
    >>> log = ClickLog.from_frame(
    ...     {"publisherid": ["a"] * 3, "numericip": [1] * 3, "clicktime": [60, 63, 90]}
    ... )
    >>> features = EventFeatures(families=("keys",)).fit(log)
    >>> float(features.transform(log)["count_IP_min"].iloc[0])
    3.0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "families": [tuple, list],
        "bin": [str, Interval(Integral, 1, None, closed="left")],
        "entity": [str],
        "source": [str],
        "countries": [None, tuple, list],
        "n_countries": [Interval(Integral, 0, 10_000, closed="both")],
        "n_channels": [Interval(Integral, 1, 10_000, closed="both")],
        "max_sources": [None, Interval(Integral, 0, None, closed="left")],
        "scale": ["boolean"],
        "n_parts": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        families: tuple[str, ...] = (
            "basic",
            "spatial",
            "timeseries",
            "spiky",
            "windows",
            "keys",
            "profiles",
        ),
        *,
        bin: str | int = "1min",
        entity: str = "publisherid",
        source: str = "numericip",
        countries: tuple[str, ...] | None = None,
        n_countries: int = 20,
        n_channels: int = 10,
        max_sources: int | None = None,
        scale: bool = False,
        n_parts: int = 1,
    ) -> None:
        self.families = families
        self.bin = bin
        self.entity = entity
        self.source = source
        self.countries = countries
        self.n_countries = n_countries
        self.n_channels = n_channels
        self.max_sources = max_sources
        self.scale = scale
        self.n_parts = n_parts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> EventFeatures:
        """Learn categories, shares of fraud by channel, and the range of columns.

        Parameters
        ----------
        X : ClickLog
            The training log.
        y : array-like of shape (n_entities,), optional
            1 for fraud; by default what the log's table of publishers says.

        Returns
        -------
        self : EventFeatures
            The fitted transformer.
        """
        log, y = self._learn(X, y)
        self._finish_fit(*self._features(log))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the training log's features, with priors of channels out of fold.

        Parameters
        ----------
        X : ClickLog
            The training log.
        y : array-like of shape (n_entities,), optional
            As in `fit`.

        Returns
        -------
        features : DataFrame
            A row an entity.
        """
        self._validate_params()
        log, y = self._learn(X, y)
        names, values = self._features(log)
        if y is not None and "ChannelPrior" in names:
            values[:, names.index("ChannelPrior")] = _out_of_fold_prior(
                LogView(log, self.source), y
            )
        self._finish_fit(names, values)
        return self._frame(self._scaled(values), log)

    def transform(self, X: Any) -> Any:
        """Return the features of a log's entities.

        Parameters
        ----------
        X : ClickLog
            A log.

        Returns
        -------
        features : DataFrame
            A row an entity.
        """
        return self._frame(self.to_array(X), _log(X).by(self.entity))

    def to_array(self, X: Any) -> Floats:
        """Return what `transform` does as an array, which needs no pandas.

        Parameters
        ----------
        X : ClickLog
            A log.

        Returns
        -------
        values : ndarray of shape (n_entities, n_features)
            A row an entity, in the order of ``X.by(entity).entities``.
        """
        check_is_fitted(self)
        return self._scaled(self._features(_log(X).by(self.entity))[1])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        names : ndarray of shape (n_features,)
            The names.
        """
        check_is_fitted(self)
        return np.array(self.feature_names_, dtype=object)

    def _learn(self, X: Any, y: Any) -> tuple[ClickLog, NDArray[Any] | None]:
        if strange := [name for name in self.families if name not in FAMILIES]:
            raise ValueError(f"families must be among {', '.join(FAMILIES)}; got {strange[0]!r}.")
        if not self.families:
            raise ValueError("families must name at least one family; got none.")
        log = _log(X).by(self.entity)
        if not len(log.entities):
            raise ValueError("The log has no entity: there is nothing to make features of.")
        y = _labels(log, y)
        if y is None and "prior" in self.families:
            warnings.warn(
                "There are no labels: ChannelPrior is zero. Give y, or a table of publishers with "
                "their status.",
                UserWarning,
                stacklevel=3,
            )
        view = LogView(log, self.source)
        found = _most_frequent(view, "usercountry", self.n_countries)
        frauds = _most_frequent(view, "usercountry", N_RISK, None if y is None else y > 0)
        brands = Counter(brand_of(value) for value in view.column("deviceua").values)
        brands.pop("", None)
        often = [name for name, _ in sorted(brands.items(), key=lambda b: (-b[1], b[0]))]
        shares, overall = _priors(view, y)
        self.learned_ = Learned(
            channels=_channels(view, self.n_channels),
            countries=_filled(found, COUNTRIES, self.n_countries)
            if self.countries is None
            else tuple(self.countries),
            risk_countries=_filled(frauds, ("id", "sg", *COUNTRIES), N_RISK),
            brands=_filled(["Generic"], tuple(often), N_BRANDS),
            priors=shares,
            prior=overall,
        )
        return log, y

    def _features(self, log: ClickLog) -> tuple[list[str], Floats]:
        settings = Settings(seconds_of(self.bin), self.source, self.max_sources)
        pieces, names = [], []
        grid = (settings.bin_seconds, log.start) if "timeseries" in self.families else None
        for part in [log] if self.n_parts == 1 else log.parts(self.n_parts):
            view = LogView(part, self.source, grid)
            columns: dict[str, NDArray[Any]] = {}
            for family in self.families:
                for name, values in FAMILIES[family](view, self.learned_, settings):
                    columns.setdefault(name, values)
            names = list(columns)
            pieces.append(np.stack(list(columns.values()), axis=1))
        return names, np.concatenate(pieces)

    def _finish_fit(self, names: list[str], values: Floats) -> None:
        self.feature_names_ = names
        if self.scale:
            self.data_min_, self.data_max_ = values.min(axis=0), values.max(axis=0)

    def _scaled(self, values: Floats) -> Floats:
        if not self.scale:
            return values
        span = self.data_max_ - self.data_min_
        return (values - self.data_min_) / np.where(span > 0, span, 1.0)

    def _frame(self, values: Floats, log: ClickLog) -> Any:
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "transform returns a DataFrame of pandas, which is not installed; to_array "
                "returns the same numbers without it."
            ) from error
        index = pd.Index(log.entities, name=log.entity_field)
        return pd.DataFrame(values, index=index, columns=self.feature_names_)


def _log(X: Any) -> ClickLog:
    if not isinstance(X, ClickLog):
        raise TypeError(
            f"Features are made of a ClickLog (ClickLog.from_frame); got {type(X).__name__}."
        )
    return X


def _labels(log: ClickLog, y: Any) -> NDArray[Any] | None:
    if y is None:
        status = log.publishers.get("status")
        return None if status is None or (status == "").any() else log.labels()
    labels = np.asarray(y)
    if labels.shape != (len(log.entities),):
        raise ValueError(
            f"y must have one label for each of {len(log.entities)} entities; got shape "
            f"{labels.shape}."
        )
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("y must be 1 for fraud and 0 otherwise.")
    return labels.astype(np.int64)


def _out_of_fold_prior(view: LogView, y: NDArray[Any]) -> Floats:
    """Return the share of fraud of each entity's channel among the other folds."""
    own, fold = channel_of_entities(view), _folds(y)
    out = np.empty(len(y))
    for k in range(N_FOLDS):
        inside, outside = fold == k, fold != k
        overall = y[outside].mean() if outside.any() else 0.0
        for channel in np.unique(own[inside]):
            known = y[outside & (own == channel)]
            out[inside & (own == channel)] = known.mean() if len(known) else overall
    return out


@checked
def larc257(scale: bool = True) -> EventFeatures:
    """Return the organisers' 257 features (Section 7.1).

    Parameters
    ----------
    scale : bool, default=True
        Scale columns so that training lies in [0, 1].

    Returns
    -------
    features : EventFeatures
        5 ratios, 10 channels, 2 flags, 24 shares, 12 series with 18 statistics each.

    Examples
    --------
    >>> from octavo.linear import ClickLog, larc257
    >>> log = ClickLog.from_frame(
    ...     {"publisherid": ["a", "b"], "numericip": [1, 2], "clicktime": [60, 63]}
    ... )
    >>> larc257().fit(log).to_array(log).shape
    (2, 257)
    """
    _need_bool(scale)
    return EventFeatures(families=("basic", "spatial", "timeseries"), scale=scale)


@checked
def masdar41(scale: bool = False) -> EventFeatures:
    """Return the second winner's 41 features (Section 4.1).

    Parameters
    ----------
    scale : bool, default=False
        Scale columns so that training lies in [0, 1].

    Returns
    -------
    features : EventFeatures
        Clicks in five widths of intervals, clicks by address, agent, country and campaign,
        the share of referred clicks, and the prior of the channel.

    Examples
    --------
    >>> from octavo.linear import masdar41
    >>> masdar41().families
    ('windows', 'attributes', 'prior')
    """
    _need_bool(scale)
    return EventFeatures(families=("windows", "attributes", "prior"), scale=scale)


@checked
def db2(scale: bool = False) -> EventFeatures:
    """Return the third winner's features (Section 5.1).

    Parameters
    ----------
    scale : bool, default=False
        Scale columns so that training lies in [0, 1].

    Returns
    -------
    features : EventFeatures
        Visits by address, subnetworks, campaign and visitor in four grains of time, distinct
        values, and runs of one device.

    Examples
    --------
    >>> from octavo.linear import db2
    >>> db2().families
    ('keys',)
    """
    _need_bool(scale)
    return EventFeatures(families=("keys",), scale=scale)


@checked
def tea(max_sources: int | None = None, scale: bool = False) -> EventFeatures:
    """Return the runner-up's features (Section 6.1).

    Parameters
    ----------
    max_sources : int or None, default=None
        Publishers with more addresses have no click profiles (the paper: 3000).
    scale : bool, default=False
        Scale columns so that training lies in [0, 1].

    Returns
    -------
    features : EventFeatures
        Totals, channels, shares of countries, three click profiles and the red flag.

    Examples
    --------
    >>> from octavo.linear import tea
    >>> tea(max_sources=3000).families
    ('sources', 'channels', 'spatial', 'profiles')
    """
    _need_bool(scale)
    families = ("sources", "channels", "spatial", "profiles")
    return EventFeatures(families=families, max_sources=max_sources, scale=scale)


@checked
def gbm118(scale: bool = False) -> EventFeatures:
    """Return the first winner's three kinds of features (Section 3.1).

    The authors' list of 118 is no longer to be had: the families that the text describes are
    generated in full.

    Parameters
    ----------
    scale : bool, default=False
        Scale columns so that training lies in [0, 1].

    Returns
    -------
    features : EventFeatures
        Behaviour, repeated clicks, and countries of high risk.

    Examples
    --------
    >>> from octavo.linear import gbm118
    >>> gbm118().families
    ('behavior', 'spiky', 'risk')
    """
    _need_bool(scale)
    return EventFeatures(families=("behavior", "spiky", "risk"), scale=scale)


def _need_bool(scale: Any) -> None:
    if not isinstance(scale, (bool, np.bool_)):
        raise ValueError(f"scale must be True or False; got {scale!r}.")
