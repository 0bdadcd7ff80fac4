"""Factored conditional RBMs, with styles that change how frames follow each other.

In a factored machine the three matrices of a CRBM are products through few factors. In an `FCRBM`
features of the style multiply the factors, so one model holds the dynamics of many styles, and
moves between them when the style moves.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), "Two Distributed-State Models for
Generating High-Dimensional Time Series", Journal of Machine Learning Research 12, Section 4.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from octavo.engine.estimators.sklearn_door import Interval
from octavo.sequence.conditional_rbm.base import ConditionalMachine
from octavo.sequence.conditional_rbm.effective import as_crbm
from octavo.sequence.conditional_rbm.wiring import FactoredWiring, Shape, Wiring

__all__ = ["FCRBM", "FactoredCRBM"]

_FACTORS = ("Wv", "Wh", "Av", "Ap", "Bp", "Bh", "a", "b")


class FCRBM(ConditionalMachine):
    """Factored conditional RBM whose interactions are gated by a style.

    Parameters
    ----------
    n_factors : int, default=50
        Number of factors of each of the three sub-models.
    n_features : int, default=None
        Number of features z = Rᵀy that are learnt of the styles; None gates by the styles
        themselves.
    tie_features : bool, default=True
        Whether the three sub-models share the weights of their gates.
    learning_rate : float, default=1e-2
        Step size.
    ar_learning_rate : float, default=1e-3
        Step size of the autoregressive factors and of R.
    n_epochs : int, default=200
        Passes over the frames; the paper makes 500.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    Wv_, Wh_ : array of shape (D, n_factors) and (n_hidden, n_factors)
        Factors of the weights between visible and hidden units.
    Av_, Ap_ : array of shape (D, n_factors) and (order · D, n_factors)
        Factors of the autoregressive weights, v(t-1) first.
    Bh_, Bp_ : array of shape (n_hidden, n_factors) and (order_hidden · D, n_factors)
        Factors of the weights from the past to the hidden units.
    Z_ : array of shape (features, n_factors)
        Weights of the gates, where they are tied.
    Wz_, Az_, Bz_ : array of shape (features, n_factors)
        Weights of the gates of each sub-model; the same array three times where they are tied.
    R_ : array of shape (n_styles, n_features)
        From style to features; only where `n_features` is not None.
    a_, b_ : array of shape (D,) and (n_hidden,)
        Biases.
    low_, high_ : ndarray of shape (D,)
        Range of those in training.
    kept_ : ndarray of bool of shape (n_features_in_,)
        Which channels vary.
    classes_ : ndarray or None
        Labels of styles, where styles are labels.
    n_styles_ : int
        Number of style numbers.
    n_iter_ : int
        Epochs made.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    CRBM : Without styles, or with styles that only shift the hidden units.
    blend_styles : Styles on the way from one to another.

    Notes
    -----
    Do not use it where styles differ in level only: the label biases of `CRBM` do. A continuous
    style must never be all zero, which would switch off every connection: code it 1, 2, 3.

    The paper starts all weights at 0.01, and products of three such numbers take hundreds of epochs
    to grow. Here gates start near one and products of factors at 0.01, that is as a factored CRBM
    that all styles share.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import FCRBM
    >>> t = np.arange(300)
    >>> X = [np.stack([np.sin(t / s), np.cos(t / s)], axis=1) for s in (3, 9)]
    >>> y = [np.full(300, "fast"), np.full(300, "slow")]
    >>> model = FCRBM(6, 6, ar_learning_rate=0.02, n_epochs=40, random_state=0).fit(X, y)
    >>> both = [model.predict(X[0][:3], 1, y=style)[0, 0] for style in ("fast", "slow")]
    >>> bool(both[0] > both[1])  # the next frame depends on the style
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **ConditionalMachine._parameter_constraints,
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "tie_features": ["boolean"],
    }
    _gated = True
    _arrays = (*_FACTORS, "R", "Z", "Wz", "Az", "Bz")

    def __init__(
        self,
        n_hidden=100,
        n_factors=50,
        n_features=None,
        order=3,
        tie_features=True,
        order_hidden=None,
        visible="gaussian",
        cd_k=1,
        learning_rate=1e-2,
        ar_learning_rate=1e-3,
        momentum=0.9,
        weight_decay=2e-4,
        batch_size=100,
        n_epochs=200,
        sparsity_target=None,
        sparsity_cost=0.0,
        history_noise=0.0,
        standardize=True,
        random_state=None,
        reconstruction="mean",
    ):
        self.n_hidden = n_hidden
        self.n_factors = n_factors
        self.n_features = n_features
        self.order = order
        self.tie_features = tie_features
        self.order_hidden = order_hidden
        self.visible = visible
        self.cd_k = cd_k
        self.learning_rate = learning_rate
        self.ar_learning_rate = ar_learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.sparsity_target = sparsity_target
        self.sparsity_cost = sparsity_cost
        self.history_noise = history_noise
        self.standardize = standardize
        self.random_state = random_state
        self.reconstruction = reconstruction

    def _wiring(self, shape: Shape, style_size: float) -> Wiring:
        return FactoredWiring(shape, self.n_factors, self.n_features, self.tie_features, style_size)

    def _store(self, params: Any) -> None:
        super()._store(params)
        if "Z" in params:
            self.Wz_ = self.Az_ = self.Bz_ = self.Z_

    def _params(self) -> Any:
        params = super()._params()
        for name in ("Wz", "Az", "Bz") if self.tie_features else ("Z",):
            params.pop(name, None)
        return params

    def effective_crbm(self, style: Any) -> Any:
        """Return the `CRBM` that a style makes of this machine.

        Parameters
        ----------
        style : label or array-like of shape (n_styles,)
            The style.

        Returns
        -------
        crbm : CRBM
            Fitted, with W = Wv diag(Wzᵀz) Whᵀ and likewise A and B; it scores, predicts and
            generates as this machine does at that style.
        """
        return as_crbm(self, self._effective(style))


class FactoredCRBM(ConditionalMachine):
    """Conditional RBM whose three matrices are products through few factors.

    Parameters
    ----------
    n_factors : int, default=50
        Number of factors of each matrix.
    learning_rate : float, default=1e-2
        Step size.
    ar_learning_rate : float, default=1e-3
        Step size of the autoregressive factors.
    n_epochs : int, default=200
        Passes over the frames.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    Wv_, Wh_, Av_, Ap_, Bh_, Bp_ : array of shape (units, n_factors)
        Factors; see `FCRBM`.
    a_, b_ : array of shape (D,) and (n_hidden,)
        Biases.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    FCRBM : The same with styles.

    Notes
    -----
    Do not use it where a `CRBM` is small enough: factors save parameters, and cost epochs.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import FactoredCRBM
    >>> t = np.arange(300)
    >>> X = np.stack([np.sin(t / 5), np.cos(t / 5)], axis=1)
    >>> model = FactoredCRBM(6, 4, ar_learning_rate=0.01, n_epochs=60, random_state=0).fit(X)
    >>> bool(np.abs(model.predict(X[:3], 1) - X[3]).max() < 0.3)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **ConditionalMachine._parameter_constraints,
        "n_factors": [Interval(Integral, 1, None, closed="left")],
    }
    _arrays = _FACTORS

    def __init__(
        self,
        n_hidden=100,
        n_factors=50,
        order=3,
        order_hidden=None,
        visible="gaussian",
        cd_k=1,
        learning_rate=1e-2,
        ar_learning_rate=1e-3,
        momentum=0.9,
        weight_decay=2e-4,
        batch_size=100,
        n_epochs=200,
        sparsity_target=None,
        sparsity_cost=0.0,
        history_noise=0.0,
        standardize=True,
        random_state=None,
        reconstruction="mean",
    ):
        self.n_hidden = n_hidden
        self.n_factors = n_factors
        self.order = order
        self.order_hidden = order_hidden
        self.visible = visible
        self.cd_k = cd_k
        self.learning_rate = learning_rate
        self.ar_learning_rate = ar_learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.sparsity_target = sparsity_target
        self.sparsity_cost = sparsity_cost
        self.history_noise = history_noise
        self.standardize = standardize
        self.random_state = random_state
        self.reconstruction = reconstruction

    def _wiring(self, shape: Shape, style_size: float) -> Wiring:
        return FactoredWiring(shape._replace(n_styles=0), self.n_factors, None, True)

    def effective_crbm(self) -> Any:
        """Return the `CRBM` with the products of the factors as its matrices.

        Returns
        -------
        crbm : CRBM
            Fitted; it scores, predicts and generates as this machine does.
        """
        return as_crbm(self, self._effective(None))
