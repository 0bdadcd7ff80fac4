"""Conditional restricted Boltzmann machines: a nonlinear autoregressive density.

A CRBM models each frame of a vector time series given the frames before: a linear autoregression
whose residual is explained by binary hidden features, which see the past, too. It scores frames,
predicts, generates, and fills in missing channels.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), "Two Distributed-State Models for
Generating High-Dimensional Time Series", Journal of Machine Learning Research 12, Section 3.
"""

from __future__ import annotations

from typing import Any, Self

from octavo.sequence.conditional_rbm.base import ConditionalMachine
from octavo.sequence.conditional_rbm.wiring import PlainWiring, Shape, Wiring

__all__ = ["CRBM", "GaussianBernoulliRBM"]


class CRBM(ConditionalMachine):
    """Conditional restricted Boltzmann machine for vector time series.

    Parameters
    ----------
    n_hidden : int, default=100
        Number of binary hidden units; 0 leaves a linear autoregression.
    order : int, default=3
        How many frames back the autoregressive weights look; a tenth of the frame rate is the
        paper's rule of thumb. 0 is an ordinary RBM.
    visible : {"gaussian", "binary"}, default="gaussian"
        Kind of the channels; ``"binary"`` takes values between 0 and 1.
    cd_k : int, list of int or callable, default=1
        Gibbs steps of contrastive divergence; a list has one entry per epoch (the last one stays),
        a function takes the number of the epoch.
    ar_learning_rate : float, default=1e-5
        Step size of the autoregressive weights, which diverge first.
    n_epochs : int, default=200
        Passes over the frames; the paper makes 200 to 4,000.
    history_noise : float, default=0.0
        Standard deviation of noise that is added to the past in training, in standard units.
    standardize : bool or "residual", default=True
        Whether channels are brought to mean zero and variance one; no effect on binary ones.
        With ``"residual"`` they are also mixed so that residuals of a linear autoregression have
        variance one in every direction, and that model is the start.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    W_ : array of shape (D, n_hidden)
        Weights between visible and hidden units, in standard units, as all parameters are.
    A_ : array of shape (order · D, D)
        Autoregressive weights, v(t-1) first.
    B_ : array of shape (order_hidden · D, n_hidden)
        Weights from the past to the hidden units.
    a_ : array of shape (D,)
        Biases of visible units.
    b_ : array of shape (n_hidden,)
        Biases of hidden units.
    L_ : array of shape (n_styles, n_hidden)
        Weights from style to hidden units; only with styles.
    whitening_ : ndarray of shape (D, D) or None
        By what scaled frames are multiplied; only with ``standardize="residual"``.
    low_, high_ : ndarray of shape (D,)
        Range of those in training.
    kept_ : ndarray of bool of shape (n_features_in_,)
        Which channels vary; D is their number. The others are put back where frames come out.
    classes_ : ndarray or None
        Labels of styles, where styles are labels.
    n_styles_ : int
        Number of style numbers; 0 without styles.
    history_ : list of dict
        For each epoch its number, ``cd_k``, the mean squared ``reconstruction_error`` and how many
        steps were ``clipped``.
    n_iter_ : int
        Epochs made.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    FCRBM : Styles that change the dynamics, not only the biases.
    VectorAutoRegression : The linear model, by least squares.

    Notes
    -----
    Do not use it for one-step forecasts of nearly linear series: `VectorAutoRegression` is exact,
    faster and better there. Where plenty of data and an accelerator are at hand, a deep sequence
    model generates better; scikit-learn has `sklearn.neural_network.BernoulliRBM` for static
    binary data.

    Gradients are clipped where their root mean square exceeds that of standardised frames, one;
    learning that diverges all the same goes back to the last good epoch and warns with rates to
    try. With scikit-learn's ``array_api_dispatch``, torch and cupy arrays stay on their device.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import CRBM
    >>> t = np.arange(400)
    >>> X = np.stack([np.sin(t / 5), np.cos(t / 5)], axis=1)
    >>> model = CRBM(8, learning_rate=0.01, ar_learning_rate=0.01, n_epochs=30, random_state=0)
    >>> model.fit(X[:300]).transform(X[300:]).shape
    (97, 8)
    >>> bool(np.abs(model.predict(X[297:300], 2) - X[300:302]).max() < 0.2)
    True
    """

    def __init__(
        self,
        n_hidden=100,
        order=3,
        order_hidden=None,
        visible="gaussian",
        cd_k=1,
        learning_rate=1e-3,
        ar_learning_rate=1e-5,
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
        return PlainWiring(shape)

    def with_arrays(self, machine: Any, params: dict[str, Any]) -> Self:
        """Return this machine, fitted by taking over arrays and another machine's scaling.

        Parameters
        ----------
        machine : fitted machine
            Whose scaling is taken over.
        params : dict of arrays
            W, A, B, a and b, in standard units.

        Returns
        -------
        self : object
            The fitted machine, without styles.
        """
        self._adopt(machine)
        self._store(params)
        return self


class GaussianBernoulliRBM(ConditionalMachine):
    """Restricted Boltzmann machine with Gaussian or binary visible units: a CRBM without a past.

    Parameters
    ----------
    visible : {"gaussian", "binary"}, default="gaussian"
        Kind of the columns; ``"binary"`` takes values between 0 and 1.
    cd_k : int, list of int or callable, default=1
        Gibbs steps of contrastive divergence.
    weight_decay : float, default=2e-4
        Shrinkage of weights.
    batch_size : int, default=100
        Rows of a step.
    n_epochs : int, default=200
        Passes over the rows.
    sparsity_target : float, default=None
        Share of rows for which hidden units should be on.
    standardize : bool or "residual", default=True
        Whether columns are brought to mean zero and variance one; ``"residual"``: also mixed so
        that they are uncorrelated.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    W_ : array of shape (D, n_hidden)
        Weights.
    a_ : array of shape (D,)
        Biases of visible units.
    b_ : array of shape (n_hidden,)
        Biases of hidden units.
    mean_, scale_ : ndarray of shape (D,)
        Scaling of the columns that vary.
    history_ : list of dict
        A record for each epoch.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    CRBM : The same for time series.

    Notes
    -----
    Do not use it for binary data where `sklearn.neural_network.BernoulliRBM` does; that has no
    Gaussian units, no exact likelihood and no imputation.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import GaussianBernoulliRBM
    >>> X = np.random.RandomState(0).standard_normal((300, 4)).cumsum(axis=1)
    >>> model = GaussianBernoulliRBM(6, learning_rate=0.01, n_epochs=20, random_state=0).fit(X)
    >>> model.transform(X).shape
    (300, 6)
    """

    _parameter_constraints: dict[str, Any] = {
        name: rule
        for name, rule in ConditionalMachine._parameter_constraints.items()
        if name not in ("order", "order_hidden", "ar_learning_rate", "history_noise")
    }
    # A machine without a past, for what machines with one are asked.
    order = order_hidden = 0
    ar_learning_rate = history_noise = 0.0

    def __init__(
        self,
        n_hidden=100,
        visible="gaussian",
        cd_k=1,
        learning_rate=1e-3,
        momentum=0.9,
        weight_decay=2e-4,
        batch_size=100,
        n_epochs=200,
        sparsity_target=None,
        sparsity_cost=0.0,
        standardize=True,
        random_state=None,
        reconstruction="mean",
    ):
        self.n_hidden = n_hidden
        self.visible = visible
        self.cd_k = cd_k
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.sparsity_target = sparsity_target
        self.sparsity_cost = sparsity_cost
        self.standardize = standardize
        self.random_state = random_state
        self.reconstruction = reconstruction

    def _wiring(self, shape: Shape, style_size: float) -> Wiring:
        return PlainWiring(shape)
