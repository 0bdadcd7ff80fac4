"""Reduce a Gaussian mixture to one with fewer components, without the data it was fitted to.

Hierarchical EM for Gaussians groups the components of a mixture and replaces each group by one
Gaussian with its mean and covariance. The algorithm is in
`octavo.bayes.gaussian_mixtures.hierarchical_em`.

References: N. Vasconcelos and A. Lippman (1998), "Learning Mixture Hierarchies", NIPS; as a special
case in E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models with
Variational HEM", Journal of Machine Learning Research 15.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.gaussian_mixtures.hierarchical_em import (
    ANNEALING,
    FIRST_ITERATIONS,
    HARD,
    check_mixture,
    expect,
    fit_reduction,
    maximize,
)
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    fit_context,
    precision_cholesky,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.em import Restarts, warn_unless_converged

__all__ = ["GMMReduction"]


class GMMReduction(CallbackSupportMixin, SoundEstimator):
    """Reduce a Gaussian mixture to fewer components by hierarchical EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components to keep.
    n_virtual : "hard" or float, default="hard"
        Number of virtual samples of the whole mixture; "hard" is 10⁴ a component, for
        assignments that are nearly hard.
    n_init : int, default=10
        Number of random starts, of which the best is kept.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the bound rises by less than this, relative to its size.
    reg_covar : float, default=0
        Variance added to those of the components; needed only where some have none.
    anneal : bool, default=True
        Whether each start makes a few iterations with fewer virtual samples.
    weighting : {"mass", "count"}, default="mass"
        What ``weights_`` are in the end: the mass of the components of each group, so that mean and
        covariance of the whole mixture are kept; or their number, as hierarchical EM estimates
        it (Eq. 24).
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights of the reduced mixture.
    means_ : ndarray of shape (n_components, n_features)
        Its means.
    covariances_ : ndarray
        Its covariances, in the form of the mixture given.
    covariance_type_ : {"full", "diag", "spherical"}
        That form.
    labels_ : ndarray of int
        The group of each component of the mixture given.
    responsibilities_ : ndarray of shape (n_given, n_components)
        Probabilities of the groups.
    lower_bound_ : float
        Expected log-likelihood of the virtual samples.
    lower_bounds_ : ndarray
        Its value at the start (after annealing) and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations of the best start, after annealing.
    converged_ : bool
        Whether the best start met ``tol``.

    See Also
    --------
    octavo.sequence.HMMClustering : The same for HMMs, and for whole mixtures as HMMs of one state.

    Notes
    -----
    Do not use it where the data are at hand and small: `sklearn.mixture.GaussianMixture` with
    fewer components fits them directly. scikit-learn cannot reduce a mixture without data.

    References
    ----------
    .. [1] N. Vasconcelos and A. Lippman (1998). "Learning Mixture Hierarchies". Advances in Neural
       Information Processing Systems 11.
    .. [2] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import GMMReduction
    >>> weights, means, variances = [0.2, 0.3, 0.5], [[0.0], [1.0], [9.0]], [[1.0], [1.0], [1.0]]
    >>> reduced = GMMReduction(2, random_state=0).fit((weights, means, variances))
    >>> np.sort(reduced.means_.ravel()).round(3), np.sort(reduced.weights_).round(3)
    (array([0.6, 9. ]), array([0.5, 0.5]))
    """

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_virtual": [StrOptions({"hard"}), Interval(Real, 0, None, closed="neither")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "anneal": ["boolean"],
        "weighting": [StrOptions({"mass", "count"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 1,
        n_virtual: str | float = "hard",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 0.0,
        anneal: bool = True,
        weighting: str = "mass",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_virtual = n_virtual
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.anneal = anneal
        self.weighting = weighting
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, mixture: Any, y: Any = None) -> Self:
        """Reduce a mixture.

        Parameters
        ----------
        mixture : GaussianMixture or (weights, means, covariances)
            A fitted `sklearn.mixture.GaussianMixture`, or its parameters: weights (n,), means
            (n, d), and covariances (n, d, d), (n, d) or (n,).
        y : None
            Ignored.

        Returns
        -------
        self : GMMReduction
            The fitted reduction.
        """
        given = check_mixture(mixture)
        n = given.weights.size
        if self.n_components > n:
            raise ValueError(
                f"n_components={self.n_components} is more than the {n} of the mixture."
            )
        each = HARD * n if isinstance(self.n_virtual, str) else float(self.n_virtual)
        virtual = each * given.weights
        annealing = ANNEALING if self.anneal else ()
        steps = self.n_init * (self.max_iter + FIRST_ITERATIONS * len(annealing))
        given = given.widened(float(self.reg_covar))
        with FitProgress(self, steps, mixture) as progress:
            run = fit_reduction(
                given,
                virtual,
                self.n_components,
                Restarts(self.n_init, self.max_iter, self.tol),
                annealing=annealing,
                rng=check_random_state(self.random_state),
                progress=progress,
            )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.responsibilities_ = run.expectations.share
        self.labels_ = self.responsibilities_.argmax(axis=1)
        # One more M-step, so that the Gaussians are exactly the moments of these assignments.
        final = maximize(run.params, run.expectations, given)
        # Σ_i ω_i ẑ_ij; Eq. (24) counts each component once
        mass = given.weights @ self.responsibilities_
        self.weights_ = mass if self.weighting == "mass" else final.weights
        self.means_ = final.means.copy()
        spherical = given.form == "spherical"
        self.covariances_ = final.covars[:, 0].copy() if spherical else final.covars.copy()
        self.covariance_type_ = given.form
        self.lower_bound_ = expect(final, given, virtual)[0]
        self.lower_bounds_ = np.append(run.trace, self.lower_bound_)
        self.n_iter_, self.converged_ = run.n_iter + 1, run.converged
        return self

    def to_gaussian_mixture(self) -> GaussianMixture:
        """Return the reduced mixture as a scikit-learn model, ready to score and sample.

        Returns
        -------
        mixture : sklearn.mixture.GaussianMixture
            With the parameters of this reduction.
        """
        check_is_fitted(self, "means_")
        mixture = GaussianMixture(len(self.weights_), covariance_type=self.covariance_type_)
        mixture.weights_, mixture.means_ = self.weights_.copy(), self.means_.copy()
        mixture.covariances_ = self.covariances_.copy()
        mixture.precisions_cholesky_ = precision_cholesky(
            mixture.covariances_, self.covariance_type_
        )
        mixture.n_features_in_ = self.means_.shape[1]
        mixture.converged_, mixture.n_iter_ = True, self.n_iter_
        mixture.lower_bound_ = self.lower_bound_
        return mixture
