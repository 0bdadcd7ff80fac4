"""Unfactored three-way machines: weights that a style or the past switches.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), "Two Distributed-State Models for
Generating High-Dimensional Time Series", Journal of Machine Learning Research 12, Section 4.3; the
gated CRBM is of R. Memisevic and G. E. Hinton (2007), "Unsupervised Learning of Image
Transformations", CVPR.
"""

from __future__ import annotations

from typing import Any

from octavo.engine.estimators.sklearn_door import StrOptions
from octavo.sequence.conditional_rbm.base import ConditionalMachine
from octavo.sequence.conditional_rbm.effective import as_crbm
from octavo.sequence.conditional_rbm.wiring import GatedWiring, Shape, Wiring

__all__ = ["GatedCRBM"]


class GatedCRBM(ConditionalMachine):
    """Conditional RBM with a slice of weights for each style number, or for each past value.

    Parameters
    ----------
    gate : {"style", "history"}, default="style"
        What the slices belong to. ``"style"``: W, A and B are sums over the style numbers, so that
        a label has matrices of its own. ``"history"``: W is a sum over the entries of the past, and
        a slice without (the gated CRBM of Memisevic and Hinton).
    ar_learning_rate : float, default=1e-5
        Step size of the autoregressive weights.
    n_epochs : int, default=200
        Passes over the frames.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    W_ : array of shape (slices, D, n_hidden)
        Weights between visible and hidden units.
    A_ : array of shape (slices, order · D, D)
        Autoregressive weights; one slice with ``gate="history"``.
    B_ : array of shape (slices, order_hidden · D, n_hidden)
        Weights from the past to the hidden units; one slice with ``gate="history"``.
    a_, b_ : array of shape (D,) and (n_hidden,)
        Biases, shared by all slices.
    classes_ : ndarray or None
        Labels of styles, where styles are labels.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    FCRBM : The same with factors, which share what styles have in common.

    Notes
    -----
    Do not use it with many styles or few frames for each: every style learns alone. The paper
    found it slightly worse than `FCRBM` and much slower.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import GatedCRBM
    >>> t = np.arange(300)
    >>> X = [np.stack([np.sin(t / s), np.cos(t / s)], axis=1) for s in (3, 9)]
    >>> y = [np.zeros(300, dtype=int), np.ones(300, dtype=int)]
    >>> model = GatedCRBM(4, ar_learning_rate=0.01, n_epochs=20, random_state=0).fit(X, y)
    >>> model.W_.shape
    (2, 2, 4)
    """

    _parameter_constraints: dict[str, Any] = {
        **ConditionalMachine._parameter_constraints,
        "gate": [StrOptions({"style", "history"})],
    }

    def __init__(
        self,
        n_hidden=100,
        order=3,
        gate="style",
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
        self.gate = gate
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

    @property
    def _gated(self) -> bool:  # type: ignore[override]
        return self.gate == "style"

    def _wiring(self, shape: Shape, style_size: float) -> Wiring:
        if self.gate == "history" and shape.span == 0:
            raise ValueError("A gate by history needs a past: choose an order of at least 1.")
        return GatedWiring(shape, self.gate == "history", style_size)

    def effective_crbm(self, style: Any = None) -> Any:
        """Return the `CRBM` that a style makes of this machine.

        Parameters
        ----------
        style : label or array-like of shape (n_styles,), optional
            The style.

        Returns
        -------
        crbm : CRBM
            Fitted, with the slices added up; only for ``gate="style"``.
        """
        self._params()
        if self.gate != "style":
            raise ValueError(
                "With gate='history' the weights change with every frame, so no single CRBM is "
                "equal to this machine."
            )
        return as_crbm(self, self._effective(style))
