"""Proper losses for probabilities of two classes: by name, by weight, Bayes risk or divergence.

A proper loss is a mixture of cost-weighted 0-1 losses: a weight w(c) says how much each cost c of
a false positive (and 1 - c of a missed positive) matters, and with it

    ℓ(0, η̂) = ∫_0^η̂ c w(c) dc,    ℓ(1, η̂) = ∫_η̂^1 (1 - c) w(c) dc      (Theorem 16).

Weights with so much at an end that these integrals do not exist make losses without a natural zero;
their integrals start at one half instead, which changes them by a constant for each class.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, hyp2f1

from octavo._names import UnknownNameError
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.info.binary_experiments.csiszar import (
    CsiszarDivergence,
    check_pair,
    resolve_divergence,
)
from octavo.info.binary_experiments.weights import (
    Function,
    WeightMeasure,
    check_atoms,
    closed_unit,
    evaluate,
    made_by,
    numeric_curvature,
    numeric_derivative,
    one_number,
    one_prior,
    open_unit,
    remade,
    settled,
)

__all__ = ["ProperLoss", "bregman_information", "is_proper", "statistical_information"]

Partials = Callable[[Floats], tuple[Floats, Floats]]
_LARGEST = float(np.nextafter(1.0, 0.0))


def mixed(share: Floats, zero: Floats, one: Floats) -> Floats:
    """Return (1 - share) zero + share one, where a share of nothing counts nothing."""
    with np.errstate(invalid="ignore"):
        first = np.where(share < 1.0, (1.0 - share) * zero, 0.0)
        second = np.where(share > 0.0, share * one, 0.0)
        total = first + second
    # opposite infinities meet for indefinite losses alone, and the loss wins
    return np.where(np.isnan(total), np.inf, total)


def binary_labels(y: Any) -> Floats:
    """Return labels as 0 and 1; two other labels are taken in their order."""
    labels = np.asarray(y)
    if labels.ndim != 1 or not labels.size:
        raise ValueError(f"y must be a vector of labels, got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must hold labels; it contains NaN or infinity.")
    try:
        classes = np.unique(labels)
    except TypeError:
        raise ValueError("y must hold labels of one kind, numbers or words.") from None
    known = [set(classes.tolist()) <= pair for pair in ({0, 1}, {-1, 1})]
    if any(known):
        return (labels == 1).astype(np.float64)
    if len(classes) != 2:
        raise ValueError(
            f"y must hold two classes (0 and 1, -1 and 1, or any two labels), got {len(classes)}: "
            f"{classes[:4].tolist()}."
        )
    return (labels == classes[1]).astype(np.float64)


class ProperLoss:
    """A proper loss for class probabilities, with its risks, regret and weight over costs.

    Make one by `from_name`, `from_weight`, `from_bayes_risk` or `from_divergence`. Use it to score
    probabilities by the costs that matter: w large near c = 0.1 asks for good decisions where a
    missed positive is nine times as bad as a false alarm. ``make_scorer(loss.score,
    response_method="predict_proba", greater_is_better=False)`` is a scorer of scikit-learn. When no
    cost is special, `sklearn.metrics.log_loss` and `brier_score_loss` are enough.

    Parameters
    ----------
    partials : callable
        Returns ℓ(0, η̂) and ℓ(1, η̂) for an array of η̂ from 0 to 1.
    weight : callable
        Its weight w(c), without atoms.
    atoms : sequence of (float, float), default=()
        Costs and masses besides.
    name : str, default="loss"
        What it is called.

    Attributes
    ----------
    atoms : tuple of (float, float)
        Costs that have a mass of their own.
    name : str
        Its name.

    References
    ----------
    .. [1] Reid and Williamson (2011). Information, divergence and risk for binary experiments.
       JMLR 12.

    Examples
    --------
    >>> from octavo.info import ProperLoss
    >>> square = ProperLoss.from_name("square")
    >>> print(f"{square.score([1, 0, 1], [0.9, 0.2, 0.6]):.3f}")
    0.035
    >>> missed = ProperLoss.from_weight(lambda c: 30 * c * (1 - c) ** 4)  # costs near 0.2
    >>> print(f"{missed.bayes_risk(0.2):.4f}, {missed.regret(0.2, 0.4):.4f}")
    0.1162, 0.0390
    """

    def __init__(
        self, partials: Partials, weight: Function, *, atoms: Any = (), name: str = "loss"
    ) -> None:
        self._partials, self._weight = partials, weight
        self.atoms, self.name = check_atoms(atoms), name

    def __repr__(self) -> str:
        return f"ProperLoss({self.name!r})"

    def __reduce__(self) -> Any:
        return remade(self)

    @classmethod
    def from_name(
        cls, name: str, *, c: float | None = None, a: float | None = None, b: float | None = None
    ) -> Self:
        """Return a known loss.

        Parameters
        ----------
        name : str
            "log", "square" (half of the squared difference), "zero_one", "boosting" (the
            exponential loss exp(-yh) at h = ½ log(η̂ / (1 - η̂))), "cost" (ℓ_c) or "beta" (weight
            c^(a-1) (1-c)^(b-1)).
        c : float, default=None
            The cost, for "cost".
        a, b : float, default=None
            The exponents of "beta", above -1: log loss is (0, 0), square (1, 1).

        Returns
        -------
        ProperLoss
            The loss.
        """
        if name == "cost":
            c = one_prior(c if c is not None else np.nan, "c")
            return made_by(cls._cost(c), cls._cost, c)
        if name == "beta":
            return made_by(cls._beta(a, b), cls._beta, a, b)
        if name == "zero_one":
            loss = cls._cost(0.5, 2.0)
            loss.name = name
            return made_by(loss, cls.from_name, name)
        if not isinstance(name, str) or name not in LOSSES:
            raise UnknownNameError("loss", str(name), [*LOSSES, "zero_one", "cost", "beta"])
        partials, weight = LOSSES[name]
        return made_by(cls(partials, weight, name=name), cls.from_name, name)

    @classmethod
    def _cost(cls, c: float, mass: float = 1.0) -> Self:
        def partials(x: Floats) -> tuple[Floats, Floats]:  # Eq. (29)
            return np.where(x >= c, mass * c, 0.0), np.where(x < c, mass * (1.0 - c), 0.0)

        return cls(partials, np.zeros_like, atoms=((c, mass),), name=f"cost {c:g}")

    @classmethod
    def _beta(cls, a: Any, b: Any) -> Self:
        a, b = (one_number(np.nan if v is None else v, n) for v, n in ((a, "a"), (b, "b")))
        if not (-1.0 < a <= 1e3 and -1.0 < b <= 1e3):
            raise ValueError(f"a and b must lie above -1 and at most at 1000, got {a:g} and {b:g}.")

        def partials(x: Floats) -> tuple[Floats, Floats]:
            # Theorem 16 with w = c^(a−1) (1 − c)^(b−1)
            return _incomplete_beta(x, a + 1.0, b), _incomplete_beta(1.0 - x, b + 1.0, a)

        def weight(c: Floats) -> Floats:
            return c ** (a - 1.0) * (1.0 - c) ** (b - 1.0)

        return cls(partials, weight, name=f"beta {a:g}, {b:g}")

    @classmethod
    def from_weight(cls, w: Function, atoms: Any = (), *, breaks: Sequence[float] = ()) -> Self:
        """Return the loss of a weight over costs (Theorems 16 and 17).

        Parameters
        ----------
        w : callable
            Density over costs c in (0, 1), not negative, poles at the ends allowed.
        atoms : sequence of (float, float), default=()
            Costs and masses besides; ``((0.5, 2.0),)`` with w = 0 is 0-1 loss.
        breaks : sequence of float, default=()
            Where the density jumps or has a kink; without them the integrals are rough.

        Returns
        -------
        ProperLoss
            Fair where the integrals exist: no loss for certainty that is right.
        """
        measure = WeightMeasure(w, atoms, breaks, "w")
        ends = measure.moments(np.array([0.0, 1.0]))
        low = -ends[0][0] if np.isfinite(ends[0][0]) else 0.0
        high = ends[1][1] if np.isfinite(ends[1][1]) else 0.0

        def partials(x: Floats) -> tuple[Floats, Floats]:  # Eq. (31)
            first, second = measure.moments(x)
            return low + first, high - second

        made = cls(partials, measure, atoms=measure.atoms, name="weight")
        return made_by(made, _weighted, w, measure.atoms, measure.breaks)

    @classmethod
    def from_bayes_risk(cls, L: Function, derivative: Function | None = None) -> Self:
        """Return the loss whose least risk at η is L(η) (Theorem 7).

        Parameters
        ----------
        L : callable
            Concave on [0, 1].
        derivative : callable, default=None
            Its derivative; by differences of order eight if not given, and predictions are
            then kept 1e-9 from 0 and 1.

        Returns
        -------
        ProperLoss
            With ℓ(y, η̂) = L(η̂) + (y - η̂) L'(η̂).
        """
        _check_concave(L)
        edge = 1e-15 if derivative is not None else 1e-9  # differences need room

        def slope(x: Floats) -> Floats:
            if derivative is not None:
                return evaluate(derivative, x, "derivative")
            return numeric_derivative(L, x, np.minimum(x, 1.0 - x), "L")

        def partials(x: Floats) -> tuple[Floats, Floats]:
            inner = np.clip(x, edge, 1.0 - edge)
            value, rise = evaluate(L, inner, "L"), slope(inner)
            # Theorem 7: tangents of L at η̂
            return value - inner * rise, value + (1.0 - inner) * rise

        def weight(c: Floats) -> Floats:  # Eq. (32)
            if derivative is None:
                return np.maximum(-numeric_curvature(L, c, np.minimum(c, 1.0 - c), "L"), 0.0)
            return np.maximum(-numeric_derivative(slope, c, np.minimum(c, 1.0 - c), "L"), 0.0)

        made = cls(partials, weight, name="Bayes risk")
        return made_by(made, cls.from_bayes_risk, L, derivative)

    @classmethod
    def from_divergence(cls, div: Any, pi: float) -> Self:
        """Return the loss whose statistical information at prior pi is a divergence (Theorem 10).

        Parameters
        ----------
        div : CsiszarDivergence or str
            The divergence or its name.
        pi : float
            The prior probability of the class of P.

        Returns
        -------
        ProperLoss
            Fair where f(0) and f'(∞) are finite.
        """
        div, pi = resolve_divergence(div), one_prior(pi)
        dual = div.dual()
        fair_0 = div.at_zero / (1.0 - pi) if np.isfinite(div.at_zero) else 0.0
        fair_1 = div.slope / pi if np.isfinite(div.slope) else 0.0

        def partials(x: Floats) -> tuple[Floats, Floats]:
            z = (1.0 - pi) * x / (pi * np.where(x < 1.0, 1.0 - x, 1.0))  # the ratio p / q at η = x
            slope = _slope_at(div, z, x == 0.0, x == 1.0)
            kept = np.where(z > 0.0, z * slope, 0.0) - div.f(z)  # f*(f'(z))
            # which for large ratios loses digits that the slope of the dual keeps
            far = fair_0 - _slope_at(dual, 1.0 / z, x == 1.0, x == 0.0) / (1.0 - pi)
            near = fair_0 + kept / (1.0 - pi)
            return np.where((z < 1e3) & (x < 1.0), near, far), fair_1 - slope / pi

        def weight(c: Floats) -> Floats:  # Theorem 18
            nu = (1.0 - c) * pi + (1.0 - pi) * c
            place = np.clip((1.0 - c) * pi / nu, 1e-300, _LARGEST)
            return pi * (1.0 - pi) / nu**3 * np.asarray(div.gamma(place))

        atoms = []
        for place, mass in div.atoms:
            c = pi * (1.0 - place) / (pi * (1.0 - place) + place * (1.0 - pi))
            atoms.append((c, mass / ((1.0 - c) * pi + (1.0 - pi) * c)))  # Theorem 18 for an atom
        made = cls(partials, weight, atoms=atoms, name=f"{div.name} at {pi:g}")
        return made_by(made, cls.from_divergence, div, pi)

    def to_divergence(self, pi: float) -> CsiszarDivergence:
        """Return the f-divergence that is this loss's statistical information (Theorem 9).

        Parameters
        ----------
        pi : float
            The prior probability of the class of P.

        Returns
        -------
        CsiszarDivergence
            With f(t) = L(π) - (πt + 1 - π) L(πt / (πt + 1 - π)).
        """
        pi = one_prior(pi)
        start = float(self.bayes_risk(pi))
        ends = np.array([0.0, 1.0])
        at_0, at_1 = self.both_partials(ends)

        def split(t: Floats) -> tuple[Floats, Floats]:
            return self.both_partials(pi * t / (pi * t + 1.0 - pi))

        def f(t: Floats) -> Floats:  # Eq. (21)
            zero, one = split(t)
            return start - (1.0 - pi) * zero - pi * t * one

        def gamma(p: Floats) -> Floats:  # Theorem 18
            nu = (1.0 - p) * pi + (1.0 - pi) * p
            # the argument is that of w at the cost that belongs to the prior p
            share = np.clip(pi * (1.0 - p) / (pi * (1.0 - p) + (1.0 - pi) * p), 1e-300, _LARGEST)
            return (pi * (1.0 - pi)) ** 2 / nu**3 * np.asarray(self._weight(share))

        atoms = []
        for c, mass in self.atoms:
            nu = (1.0 - c) * pi + (1.0 - pi) * c
            atoms.append(((1.0 - c) * pi / nu, mass * nu))  # and back
        return CsiszarDivergence(
            f,
            lambda t: -pi * split(t)[1],
            gamma,
            at_zero=start - (1.0 - pi) * float(at_0[0]),
            slope=-pi * float(at_1[1]),
            atoms=atoms,
            dual=lambda: self.flipped().to_divergence(1.0 - pi).tilted(start),
            name=f"{self.name} at {pi:g}",
        )

    def flipped(self) -> ProperLoss:
        """Return the loss with the classes exchanged.

        Returns
        -------
        ProperLoss
            With the weight w(1 - c).
        """
        return type(self)(
            lambda x: self.both_partials(1.0 - x)[::-1],
            lambda c: self._weight(1.0 - c),
            atoms=[(1.0 - c, mass) for c, mass in self.atoms],
            name=f"{self.name}, flipped",
        )

    def weight(self, c: ArrayLike) -> Floats:
        """Return w(c), without its atoms.

        Parameters
        ----------
        c : array-like
            Costs, strictly between 0 and 1.

        Returns
        -------
        ndarray
            Densities.
        """
        with np.errstate(all="ignore"):
            return np.asarray(self._weight(open_unit(c, "c")), dtype=np.float64)[()]

    def both_partials(self, eta: ArrayLike) -> tuple[Floats, Floats]:
        """Return ℓ(0, η̂) and ℓ(1, η̂).

        Parameters
        ----------
        eta : array-like
            Probabilities of class 1, from 0 to 1.

        Returns
        -------
        tuple of ndarray
            Losses for both classes; infinity for certainty that log loss and its kin punish.
        """
        with np.errstate(all="ignore"):
            zero, one = self._partials(closed_unit(eta, "eta"))
        return np.asarray(zero, dtype=np.float64), np.asarray(one, dtype=np.float64)

    def partial(self, y: ArrayLike, eta: ArrayLike) -> Floats:
        """Return the loss ℓ(y, η̂) of each prediction.

        Parameters
        ----------
        y : array-like
            Classes: 0 (or -1) and 1.
        eta : array-like
            Predicted probabilities of class 1.

        Returns
        -------
        ndarray
            Losses.
        """
        y = real_array(y, "y")
        if not np.isin(y, (-1.0, 0.0, 1.0)).all():
            raise ValueError("y must hold 0 (or -1) and 1.")
        zero, one = self.both_partials(eta)
        return np.where(y == 1.0, one, zero)[()]

    def risk(self, eta: ArrayLike, eta_hat: ArrayLike) -> Floats:
        """Return the expected loss of predicting eta_hat where the truth is eta.

        Parameters
        ----------
        eta, eta_hat : array-like
            True and predicted probabilities of class 1.

        Returns
        -------
        ndarray
            Conditional risks L(η, η̂).
        """
        return mixed(closed_unit(eta, "eta"), *self.both_partials(eta_hat))[()]

    def bayes_risk(self, eta: ArrayLike) -> Floats:
        """Return the least risk, that of predicting the truth.

        Parameters
        ----------
        eta : array-like
            True probabilities of class 1.

        Returns
        -------
        ndarray
            L(η), concave.
        """
        return self.risk(eta, eta)

    def regret(self, eta: ArrayLike, eta_hat: ArrayLike) -> Floats:
        """Return the risk above the least one, a Bregman divergence.

        Parameters
        ----------
        eta, eta_hat : array-like
            True and predicted probabilities of class 1.

        Returns
        -------
        ndarray
            B(η, η̂), at least 0.
        """
        with np.errstate(invalid="ignore"):
            above = np.asarray(self.risk(eta, eta_hat)) - np.asarray(self.bayes_risk(eta))
        return np.maximum(np.where(np.isnan(above), 0.0, above), 0.0)[()]

    def gradient(self, y: ArrayLike, eta: ArrayLike) -> Floats:
        """Return the derivative of the loss in the prediction, (η̂ - y) w(η̂); atoms have none.

        Parameters
        ----------
        y : array-like
            Classes: 0 (or -1) and 1.
        eta : array-like
            Predicted probabilities, strictly between 0 and 1.

        Returns
        -------
        ndarray
            Slopes.
        """
        y, eta = real_array(y, "y"), open_unit(eta, "eta")
        # both partial losses of Theorem 16, differentiated
        return ((eta - (y == 1.0)) * self.weight(eta))[()]

    def score(
        self, y_true: ArrayLike, proba: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean loss; smaller is better.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes; the larger one is class 1.
        proba : array-like of shape (n_samples,) or (n_samples, 2)
            Probabilities of class 1, or of both classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            The mean; infinity where an impossible event occurred that the loss does not forgive.
        """
        y, proba = binary_labels(y_true), closed_unit(proba, "proba")
        if proba.ndim == 2 and proba.shape[1] == 2:
            proba = proba[:, 1]
        if proba.shape != y.shape:
            raise ValueError(
                f"y_true and proba must have one entry a sample, got {y.size} labels and an array "
                f"of shape {proba.shape}."
            )
        losses = np.asarray(self.partial(y, proba))
        if sample_weight is None:
            return float(np.mean(losses))
        weights = check_weights(sample_weight, y.size)
        return float(np.sum(np.where(weights > 0.0, weights * losses, 0.0)) / weights.sum())

    @property
    def is_fair(self) -> bool:
        """Whether certainty that is right costs nothing, ℓ(0, 0) = ℓ(1, 1) = 0."""
        zero, one = self.both_partials(np.array([0.0, 1.0]))
        return bool(abs(zero[0]) < 1e-9 and abs(one[1]) < 1e-9)

    @property
    def is_symmetric(self) -> bool:
        """Whether both classes are treated alike: w(c) = w(1 - c), seen on a grid."""
        grid = expit(np.linspace(0.05, 4.0, 60))
        flipped = sorted((1.0 - place, mass) for place, mass in self.atoms)
        same = len(flipped) == 0 or np.allclose(flipped, self.atoms, rtol=1e-12, atol=1e-15)
        here, there = np.asarray(self.weight(grid)), np.asarray(self.weight(1.0 - grid))
        return bool(same and np.allclose(here, there, rtol=1e-6, atol=1e-9))


def _weighted(w: Function, atoms: Any, breaks: Sequence[float]) -> ProperLoss:
    return ProperLoss.from_weight(w, atoms, breaks=breaks)


def check_weights(sample_weight: Any, n: int) -> Floats:
    """Return weights of samples: one each, not negative, with a positive sum."""
    weights = real_array(sample_weight, "sample_weight")
    if weights.shape != (n,) or weights.min() < 0.0 or not weights.sum() > 0.0:
        raise ValueError(
            f"sample_weight must hold {n} weights that are not negative, not all zero."
        )
    return weights


def _incomplete_beta(x: Floats, p: float, q: float) -> Floats:
    """Return ∫_0^x c^(p-1) (1-c)^(q-1) dc for p > 0 and any q; infinity at 1 where it is."""
    with np.errstate(all="ignore"):
        return x**p / p * hyp2f1(p, 1.0 - q, p + 1.0, x)


def _slope_at(div: CsiszarDivergence, z: Floats, is_zero: Any, is_infinite: Any) -> Floats:
    """Return f'(z), with its limits where z is zero or infinite."""
    slope = np.asarray(div.df(np.where(is_zero | is_infinite, 1.0, np.clip(z, 1e-300, 1e300))))
    if np.any(is_zero):
        steps = np.asarray(div.df(np.exp([-24.0, -28.0, -32.0, -600.0])))
        limit = settled(steps[1] - steps[0], steps[2] - steps[1], steps[3], abs(steps[2]))
        slope = np.where(is_zero, limit, slope)
    return np.where(is_infinite, div.slope, slope)


def _check_concave(L: Function) -> None:
    x = expit(np.linspace(-12.0, 12.0, 241))
    values = evaluate(L, x, "L")
    if not np.isfinite(values).all():
        raise ValueError("L must be finite inside (0, 1).")
    slopes = np.diff(values) / np.diff(x)
    slack = 1e-13 * (np.abs(values[1:-1]) + 1e-3) / np.minimum(np.diff(x)[1:], np.diff(x)[:-1])
    rises = np.diff(slopes) > slack + 1e-12 * np.abs(slopes[1:])
    if rises.any():
        raise ValueError(
            "L must be concave, or no proper loss has it as its Bayes risk; its slope rises near "
            f"{x[np.argmax(rises) + 1]:.6g}."
        )


def _boosting(x: Floats) -> tuple[Floats, Floats]:  # appendix D
    return np.sqrt(x / (1.0 - x)), np.sqrt((1.0 - x) / x)


LOSSES: dict[str, tuple[Partials, Function]] = {
    "log": (lambda x: (-np.log1p(-x), -np.log(x)), lambda c: 1.0 / (c * (1.0 - c))),
    "square": (lambda x: (0.5 * x * x, 0.5 * (1.0 - x) ** 2), np.ones_like),
    "boosting": (_boosting, lambda c: 0.5 * (c * (1.0 - c)) ** -1.5),
}


@checked
def statistical_information(loss: ProperLoss | str, pi: float, p: ArrayLike, q: ArrayLike) -> float:
    """Return how much an observation lowers the least risk, from the prior to the posterior.

    Parameters
    ----------
    loss : ProperLoss or str
        The loss, or a name that `ProperLoss.from_name` takes.
    pi : float
        Prior probability of class 1, strictly between 0 and 1.
    p, q : array-like
        Probabilities of the outcomes in class 1 and in class 0.

    Returns
    -------
    float
        ΔL = L(π) - Σ m L(η), with m = πp + (1-π)q and η = πp / m.

    Examples
    --------
    >>> from octavo.info import ProperLoss, statistical_information
    >>> log = ProperLoss.from_name("log")  # mutual information of class and outcome, in nats
    >>> print(f"{statistical_information(log, 0.5, [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]):.5f}")
    0.09057
    """
    loss, pi = resolve_loss(loss), one_prior(pi)
    p, q = check_pair(p, q)
    mass = pi * p + (1.0 - pi) * q
    seen = mass > 0.0
    return bregman_information(loss, pi * p[seen] / mass[seen], mass[seen])


@checked
def bregman_information(loss: ProperLoss | str, eta: ArrayLike, mass: ArrayLike) -> float:
    """Return the mean regret of predicting the mean: the Bregman information of η (Theorem 8).

    Parameters
    ----------
    loss : ProperLoss or str
        The loss, or a name that `ProperLoss.from_name` takes.
    eta : array-like of shape (n,)
        Probabilities of class 1.
    mass : array-like of shape (n,)
        How likely each of them is; sums to one.

    Returns
    -------
    float
        Least risk of the mean of η less the mean of the least risks.

    Examples
    --------
    >>> from octavo.info import bregman_information
    >>> print(f"{bregman_information('square', [0.1, 0.9], [0.5, 0.5]):.3f}")
    0.080
    """
    loss = resolve_loss(loss)
    eta, mass = closed_unit(eta, "eta").ravel(), real_array(mass, "mass").ravel()
    if eta.shape != mass.shape:
        raise ValueError(f"eta and mass must match, got {eta.size} and {mass.size} entries.")
    if not eta.size or mass.min() < 0.0 or abs(mass.sum() - 1.0) > 1e-8:
        raise ValueError("mass must hold probabilities that sum to one.")
    mean = min(float(eta @ mass), 1.0)
    least = np.atleast_1d(loss.bayes_risk(eta))[mass > 0.0]
    return max(float(loss.bayes_risk(mean)) - float(mass[mass > 0.0] @ least), 0.0)


@checked
def is_proper(partial: Callable[..., Any], n_grid: int = 201) -> tuple[bool, float | None]:
    """Tell whether the truth minimises the risk of a loss, on a grid.

    Parameters
    ----------
    partial : callable
        ℓ(y, η̂) for y of 0 and 1 and an array of η̂ strictly between 0 and 1.
    n_grid : int, default=201
        Points of the grid.

    Returns
    -------
    tuple of bool and (float or None)
        Whether no prediction on the grid beats the truth; and if one does, the truth it beats.

    Examples
    --------
    >>> from octavo.info import ProperLoss, is_proper
    >>> is_proper(ProperLoss.from_name("log").partial)
    (True, None)
    >>> is_proper(lambda y, eta: abs(y - eta))[0]
    False
    """
    if not isinstance(n_grid, (int, np.integer)) or not 3 <= n_grid <= 10_000:
        raise ValueError(f"n_grid must be an integer from 3 to 10000, got {n_grid!r}.")
    if not callable(partial):
        raise ValueError(f"partial must be a function of y and η̂, got {type(partial).__name__}.")
    grid = np.arange(1, n_grid + 1) / (n_grid + 1)
    zero = evaluate(lambda x: partial(0, x), grid, "partial")
    one = evaluate(lambda x: partial(1, x), grid, "partial")
    risks = (1.0 - grid)[:, None] * zero + grid[:, None] * one
    excess = np.diagonal(risks) - risks.min(axis=1)
    wrong = ~(excess <= 1e-12 * (1.0 + np.abs(np.diagonal(risks))))
    return (True, None) if not wrong.any() else (False, float(grid[np.argmax(wrong)]))


def resolve_loss(loss: Any) -> ProperLoss:
    """Return a loss given as itself or by its name."""
    return loss if isinstance(loss, ProperLoss) else ProperLoss.from_name(loss)
