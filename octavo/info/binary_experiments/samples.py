"""f-divergences from samples: by a classifier's cost curve, or by the best witness of a class.

`CostCurveDivergence` turns any probabilistic classifier into an estimate: risk curves over costs
determine all f-divergences, Eq. (27), and cross-validated scores give the curve. Costs near 0 and
1, whose risks no modest sample tells, are left out (footnote 19).

`VariationalDivergence` maximises E_P ρ - E_Q f*(ρ) over functions ρ that are linear in features
of a kernel: a lower bound for every ρ, Eq. (83), judged on rows that it has not seen.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, sections 5.1 and 7.2, appendix F.
"""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.samples import as_pair
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.gram import resolve_kernel
from octavo.engine.kernels.nystroem import nystroem_normalization
from octavo.info.binary_experiments.bounds import generalized_pinsker
from octavo.info.binary_experiments.csiszar import CsiszarDivergence, resolve_divergence
from octavo.info.binary_experiments.curves import risk_curve
from octavo.info.binary_experiments.generators import GENERATORS
from octavo.info.binary_experiments.losses import ProperLoss
from octavo.info.binary_experiments.weights import open_unit

__all__ = ["CostCurveDivergence", "VariationalDivergence"]

NAMES = StrOptions(set(GENERATORS))


def stacked(Xp: Floats, Xq: Floats) -> tuple[Floats, Any]:
    """Return both samples as one table, with label 1 for the first."""
    return np.vstack([Xp, Xq]), np.repeat([1, 0], [len(Xp), len(Xq)])


def stratified(cv: int, y: Any, random_state: Any) -> Any:
    """Return folds that keep the classes' shares, or say why there are none."""
    smaller = int(min(y.sum(), y.size - y.sum()))
    if smaller < cv:
        raise ValueError(
            f"cv={cv} folds need as many rows in each sample; the smaller one has {smaller}."
        )
    folds = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    return list(folds.split(np.zeros((y.size, 1)), y))


def is_calibrated(proba: Floats, y: Any, folds: Any) -> bool:
    """Tell whether probabilities predict as well as after a recalibration on the other folds.

    Steps of the isotonic regression are shares of few rows: each is drawn to the share of all by
    one row more, or a step of none would cost an infinite loss.
    """
    again = np.empty(y.size)
    for train, test in folds:
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(proba[train], y[train])
        steps, place, counts = np.unique(
            isotonic.predict(proba[train]), return_inverse=True, return_counts=True
        )
        shares = (np.bincount(place, weights=y[train]) + y.mean()) / (counts + 1.0)
        again[test] = np.interp(isotonic.predict(proba[test]), steps, shares)
    return bool(log_loss(y, proba) <= log_loss(y, again))


def deciding_risks(proba: Floats, y: Any, priors: Floats) -> Floats:
    """Return the 0-1 risk of deciding by probabilities, on the least concave curve above it.

    At prior π a row is given to P where π p > (1 - π) q. No risk curve lies above min(π, 1 - π),
    and all are concave: what is above or between in a sample is noise.
    """
    share = float(y.mean())
    odds = proba * (1.0 - share), (1.0 - proba) * share
    taken = priors[:, None] * odds[0] > (1.0 - priors[:, None]) * odds[1]
    risks = priors * (1.0 - taken[:, y == 1].mean(axis=1))
    risks = risks + (1.0 - priors) * taken[:, y == 0].mean(axis=1)
    x = np.concatenate([[0.0], priors, [1.0]])
    heights = np.concatenate([[0.0], np.minimum(risks, np.minimum(priors, 1.0 - priors)), [0.0]])
    above = heights[1:-1]
    for i, j in combinations(np.argsort(x), 2):  # chords from left to right
        inside = (priors > x[i]) & (priors < x[j])
        chord = heights[i] + (heights[j] - heights[i]) * (priors - x[i]) / (x[j] - x[i] or 1.0)
        above = np.where(inside, np.maximum(above, chord), above)
    return above


class CostCurveDivergence(CallbackSupportMixin, SoundEstimator):
    """Estimate an f-divergence of two samples from the cost curve of a classifier.

    Take it where a classifier that suits the data is known: images, text, many columns. In few
    dimensions the estimators by neighbours (`KnnKLDivergence`) need no classifier, and a weak
    classifier gives too small a divergence: what it misses, no curve can show.

    Parameters
    ----------
    estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; None for ``LogisticRegression()`` on
        standardised columns.
    divergence : str or CsiszarDivergence, default="kl"
        A name of `CsiszarDivergence.from_name`, or a divergence.
    eps : float, default=1e-3
        Costs below eps and above 1 - eps are left out: the divergence that is estimated is
        ``CsiszarDivergence.truncated(eps)``.
    method : {"auto", "hull", "posterior"}, default="auto"
        The curve: least over all thresholds of the held-out scores ("hull"), which needs no
        calibration and is too optimistic in small samples; or that of the predicted probabilities
        as they stand ("posterior"), whose estimate is too small on average, never too large. "auto"
        takes probabilities as they stand unless an isotonic recalibration, made on the other folds,
        predicts better.
    cv : int, default=5
        Folds by which the scores are made.
    priors : sequence of float, default=(0.1, 0.3, 0.5, 0.7, 0.9)
        Where the curve is read for `lower_bound_`.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before they are cut into folds.

    Attributes
    ----------
    divergence_ : float
        The estimate, of the truncated divergence.
    lower_bound_ : float
        The least that it can be for distributions whose risks at `priors` are those of the curve
        (Theorem 30): what a few points of the curve say by themselves.
    method_ : {"hull", "posterior"}
        Which of the two made the estimate.
    curve_ : RiskCurve
        The cost curve of the hull, at the prior one half.
    scores_ : ndarray of shape (n_p + n_q,)
        Held-out scores, the first sample's rows first.
    n_features_in_ : int
        Columns.

    References
    ----------
    .. [1] Reid and Williamson (2011). Information, divergence and risk for binary experiments.
       JMLR 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CostCurveDivergence
    >>> rng = np.random.default_rng(0)
    >>> Xp, Xq = rng.normal(1, 1, size=(2000, 1)), rng.normal(size=(2000, 1))  # KL 0.5
    >>> found = CostCurveDivergence(random_state=0).fit(Xp, Xq)
    >>> print(f"{found.divergence_:.2f}, at least {found.lower_bound_:.2f}")
    0.47, at least 0.44
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "divergence": [NAMES, CsiszarDivergence],
        "eps": [Interval(Real, 0, 0.5, closed="neither")],
        "method": [StrOptions({"auto", "hull", "posterior"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "priors": ["array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        divergence="kl",
        *,
        eps=1e-3,
        method="auto",
        cv=5,
        priors=(0.1, 0.3, 0.5, 0.7, 0.9),
        random_state=None,
    ):
        self.estimator = estimator
        self.divergence = divergence
        self.eps = eps
        self.method = method
        self.cv = cv
        self.priors = priors
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(self, Xp: Any, Xq: Any) -> CostCurveDivergence:
        """Estimate the divergence of the distribution of `Xp` from that of `Xq`.

        Parameters
        ----------
        Xp : array-like of shape (n_p, n_features)
            Draws from P; a vector is one column.
        Xq : array-like of shape (n_q, n_features)
            Draws from Q.

        Returns
        -------
        CostCurveDivergence
            Itself.
        """
        Xp, Xq = as_pair(Xp, Xq)
        X, y = stacked(Xp, Xq)
        check_squares(X, "Xp or Xq")
        self.n_features_in_ = X.shape[1]
        priors = open_unit(self.priors, "priors").ravel()
        folds = stratified(self.cv, y, check_random_state(self.random_state))
        self.scores_, has_proba = self._held_out(X, y, folds)
        self.method_ = self.method
        if self.method == "auto":
            stands = has_proba and is_calibrated(self.scores_, y, folds)
            self.method_ = "posterior" if stands else "hull"
        self.curve_ = risk_curve(y, self.scores_, 0.5)
        self._share = float(y.mean())
        self.divergence_ = self.value(self.divergence)
        if self.method_ == "hull":
            risks = np.asarray(self.curve_.prior_risk(priors))
        else:
            risks = deciding_risks(self.scores_, y, priors)
        cut = resolve_divergence(self.divergence).truncated(self.eps)
        self.lower_bound_ = generalized_pinsker(cut, priors, risks)
        return self

    def value(self, divergence: Any) -> float:
        """Return another divergence of the same samples, from the scores that were made.

        Parameters
        ----------
        divergence : str or CsiszarDivergence
            A name of `CsiszarDivergence.from_name`, or a divergence; costs beyond `eps` are left
            out of it too.

        Returns
        -------
        float
            The estimate.
        """
        check_is_fitted(self, "curve_")
        cut = resolve_divergence(divergence).truncated(self.eps)
        if self.method_ == "hull":  # Eq. (27), whose integral is a sum over the hull's segments
            return cut.value(self.curve_.p, self.curve_.q)
        loss = ProperLoss.from_divergence(cut, self._share)
        y = np.arange(self.scores_.size) < round(self._share * self.scores_.size)
        return float(loss.bayes_risk(self._share)) - loss.score(y.astype(int), self.scores_)

    def _held_out(self, X: Floats, y: Any, folds: Any) -> tuple[Floats, bool]:
        """Return scores of rows that the classifier has not seen, and if they are probabilities."""
        usual = make_pipeline(StandardScaler(), LogisticRegression())
        model = usual if self.estimator is None else self.estimator
        has_proba = hasattr(model, "predict_proba")
        if self.method == "posterior" and not has_proba:
            raise ValueError("method='posterior' needs an estimator with predict_proba.")
        if not has_proba and not hasattr(model, "decision_function"):
            raise ValueError("estimator must have predict_proba or decision_function.")
        scores = np.empty(y.size)
        with FitProgress(self, len(folds), X, y, step_name="fold") as progress:
            for train, test in folds:  # a callback's wish to stop is not heeded: all are wanted
                fitted = clone(model).fit(X[train], y[train])
                scores[test] = (
                    fitted.predict_proba(X[test])[:, 1]
                    if has_proba
                    else fitted.decision_function(X[test])
                )
                progress.step()
        return scores, has_proba


_FARTHEST = 30.0  # log-ratios beyond which a witness is cut


class Witness:
    """How a linear function h becomes ρ, at the ratio t = p / q that it stands for.

    ρ = f'(t) at t = exp(h) keeps ρ where f* is finite. Where f' grows as a power, as for the χ²
    divergences, that would make f* explode: there ρ = f'(1) + h.
    """

    def __init__(self, div: CsiszarDivergence) -> None:
        self.div, self.start = div, float(div.df(1.0))
        self.is_direct = float(div.df(np.exp(_FARTHEST))) > np.exp(0.25 * _FARTHEST)

    def ratio(self, h: Floats) -> Floats:
        """Return t."""
        if not self.is_direct:
            return np.exp(np.clip(h, -_FARTHEST, _FARTHEST))
        goal, low, high = self.start + h, np.full(h.shape, -30.0), np.full(h.shape, 30.0)
        for _ in range(10):  # f'(t) = ρ: halving of log t, then Newton's steps
            middle = 0.5 * (low + high)
            below = np.asarray(self.div.df(np.exp(middle))) < goal
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        u = 0.5 * (low + high)
        for _ in range(5):
            t = np.exp(u)
            # f''(t) t, by Eq. (28) at π = 1/(1 + t)
            curve = np.asarray(self.div.gamma(1.0 / (1.0 + t))) * t / (1.0 + t) ** 3
            u = np.clip(u + (goal - np.asarray(self.div.df(t))) / curve, low, high)
        return np.exp(u)

    def terms(self, h: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return ρ, f*(ρ) = t ρ - f(t), and the derivatives of both in h."""
        t = self.ratio(h)
        f = np.asarray(self.div.f(t))
        if self.is_direct:
            slope = self.start + h
            return slope, t * slope - f, np.ones_like(t), t
        slope = np.asarray(self.div.df(t))
        rise = np.asarray(self.div.gamma(1.0 / (1.0 + t))) * t / (1.0 + t) ** 3  # f''(t) t
        return slope, t * slope - f, rise, rise * t

    def bound(self, hp: Floats, hq: Floats) -> float:
        """Return E_P ρ - E_Q f*(ρ) for h at draws from P and from Q (Eq. (83))."""
        return float(np.mean(self.terms(hp)[0]) - np.mean(self.terms(hq)[1]))


def fit_witness(
    witness: Witness, Fp: Floats, Fq: Floats, alpha: float, *, max_iter: int, tol: float
) -> Floats:
    """Return coefficients of h = features · coef that maximise the bound less alpha ‖coef‖² / 2.

    The last column of the features is the constant, whose coefficient is free. Concave for all
    divergences but the triangular, the arithmetic-geometric and Neyman's.
    """
    free = np.append(np.ones(Fp.shape[1] - 1), 0.0)

    def value(coef: Floats) -> tuple[float, Floats]:
        rho, _, rise, _ = witness.terms(Fp @ coef)
        _, kept, _, cost = witness.terms(Fq @ coef)
        gradient = Fq.T @ cost / len(Fq) - Fp.T @ rise / len(Fp)
        penalty = alpha * free * coef
        total = float(np.mean(kept) - np.mean(rho)) + 0.5 * float(penalty @ coef)
        return total, gradient + penalty

    found = minimize(
        value,
        np.zeros(Fp.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": tol, "ftol": 1e-10},
    )
    return found.x


class VariationalDivergence(CallbackSupportMixin, SoundEstimator):
    """Estimate an f-divergence by a lower bound: the best witness that a kernel offers.

    The estimate is the mean over folds of the bound on rows that the witness has not seen, so that
    it is too small on average, not too large. Take it for smooth ratios of densities and where a
    bound is wanted rather than a value; `CostCurveDivergence` uses any classifier.

    Parameters
    ----------
    divergence : str or CsiszarDivergence, default="kl"
        A name of `CsiszarDivergence.from_name`, or a smooth divergence; the variational one has
        no slope to climb and is refused.
    kernel : {"rbf", "linear", "laplacian", "poly"}, default="rbf"
        Functions that the witness is made of, on standardised columns.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the kernel.
    n_components : int, default=100
        Landmarks of the kernel's features; not with "linear".
    alpha : float, default=1e-2
        Penalty on the squared norm of the witness.
    cv : int, default=5
        Folds on which the bound is judged.
    max_iter : int, default=500
        Most steps of L-BFGS a fold.
    tol : float, default=1e-6
        Size of the gradient at which it stops.
    random_state : int, RandomState or None, default=None
        Chooses landmarks and folds.

    Attributes
    ----------
    divergence_ : float
        The estimate: mean of the held-out bounds. It may be slightly negative for equal samples.
    bounds_ : ndarray of shape (cv,)
        The held-out bounds.
    training_bound_ : float
        The bound on all rows by the witness that was fitted on them: too large.
    coef_ : ndarray
        Coefficients of the witness fitted on all rows, the constant last.
    n_features_in_ : int
        Columns.

    References
    ----------
    .. [1] Reid and Williamson (2011). Information, divergence and risk for binary experiments.
       JMLR 12, appendix F.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import VariationalDivergence
    >>> rng = np.random.default_rng(0)
    >>> Xp, Xq = rng.normal(1, 1, size=(2000, 1)), rng.normal(size=(2000, 1))  # KL 0.5
    >>> print(f"{VariationalDivergence(random_state=0).fit(Xp, Xq).divergence_:.2f}")
    0.44
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "divergence": [NAMES, CsiszarDivergence],
        "kernel": [StrOptions({"rbf", "linear", "laplacian", "poly"})],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        divergence="kl",
        *,
        kernel="rbf",
        gamma="scale",
        n_components=100,
        alpha=1e-2,
        cv=5,
        max_iter=500,
        tol=1e-6,
        random_state=None,
    ):
        self.divergence = divergence
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.alpha = alpha
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, Xp: Any, Xq: Any) -> VariationalDivergence:
        """Estimate the divergence of the distribution of `Xp` from that of `Xq`.

        Parameters
        ----------
        Xp : array-like of shape (n_p, n_features)
            Draws from P; a vector is one column.
        Xq : array-like of shape (n_q, n_features)
            Draws from Q.

        Returns
        -------
        VariationalDivergence
            Itself.
        """
        Xp, Xq = as_pair(Xp, Xq)
        div = resolve_divergence(self.divergence)
        if div.atoms:
            raise ValueError(
                f"The divergence {div.name!r} has kinks, on which no gradient climbs; take a "
                "smooth one, or CostCurveDivergence."
            )
        witness = Witness(div)
        X, y = stacked(Xp, Xq)
        check_squares(X, "Xp or Xq")
        self.n_features_in_ = X.shape[1]
        rng = check_random_state(self.random_state)
        F = self._fit_features(X, rng)
        settings = {"max_iter": self.max_iter, "tol": self.tol}
        bounds = []
        folds = stratified(self.cv, y, rng)
        with FitProgress(self, len(folds) + 1, X, y, step_name="fold") as progress:
            for train, test in folds:  # a callback's wish to stop is not heeded: all are wanted
                parts = F[train][y[train] == 1], F[train][y[train] == 0]
                h = F[test] @ fit_witness(witness, *parts, self.alpha, **settings)
                bounds.append(witness.bound(h[y[test] == 1], h[y[test] == 0]))
                progress.step()
            self.coef_ = fit_witness(witness, F[y == 1], F[y == 0], self.alpha, **settings)
            progress.step()
        h = F @ self.coef_
        self.bounds_ = np.array(bounds)
        self.divergence_ = float(np.mean(self.bounds_))
        self.training_bound_ = witness.bound(h[y == 1], h[y == 0])
        return self

    def _fit_features(self, X: Floats, rng: Any) -> Floats:
        self._center, spread = X.mean(axis=0), X.std(axis=0)
        self._spread = np.where(spread > 0.0, spread, 1.0)
        Z = (X - self._center) / self._spread
        self._landmarks = None
        if self.kernel != "linear":
            chosen = rng.permutation(len(Z))[: self.n_components]
            self._landmarks = Z[np.sort(chosen)]
            self._kernel = resolve_kernel(self.kernel, Z, gamma=self.gamma)
            K = np.asarray(self._kernel.block(self._landmarks, self._landmarks))
            self._normalization = nystroem_normalization(K)
        return self._features(X)

    def _features(self, X: Floats) -> Floats:
        Z = (X - self._center) / self._spread
        if self._landmarks is not None:
            Z = np.asarray(self._kernel.block(Z, self._landmarks)) @ self._normalization
        return np.column_stack([Z, np.ones(len(Z))])

    def log_ratio(self, X: Any) -> Floats:
        """Return the fitted logarithm of p / q.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; a vector is one column where the samples were vectors.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-ratios, between -30 and 30.
        """
        check_is_fitted(self)
        X = np.asarray(X)
        X = X[:, None] if X.ndim == 1 and self.n_features_in_ == 1 else X
        X = validate_data(self, X, dtype=np.float64, reset=False)
        witness = Witness(resolve_divergence(self.divergence))
        return np.log(witness.ratio(self._features(X) @ self.coef_))
