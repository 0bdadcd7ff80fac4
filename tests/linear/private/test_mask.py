"""What computers add to the theory: errors of optimisation and of doubles, bounded and hidden."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import ndtr

from octavo.engine.smooth.losses import make_loss
from octavo.engine.smooth.newton import newton_linear
from octavo.linear import (
    ConvergenceError,
    CustomLoss,
    PrivateHuberSVM,
    PrivateLinearClassifier,
    PrivateLogisticRegression,
    calibrate_perturbation,
    privacy_audit,
    private_minimisers,
)
from octavo.linear.private import audit
from octavo.linear.private import perturbation as module
from octavo.linear.private.noise import NoiseSource, draw_noise, noise_error
from octavo.linear.private.perturbation import gradient_bound, largest_gradient, release_mask

pytestmark = pytest.mark.filterwarnings("ignore::octavo.linear.ReproducibleNoiseWarning")


# --- the certificate ----------------------------------------------------------------------------


def exact_gradient(X, y, f, alpha, tilt, h=Fraction(1, 2)):
    """Return the norm of the Huber objective's gradient, in rational arithmetic."""
    n, d = X.shape
    total = [Fraction(0)] * d
    for row, label in zip(X.tolist(), y.tolist()):
        row = [Fraction(x) for x in row]
        u = 1 - Fraction(label) * sum(a * Fraction(b) for a, b in zip(row, f.tolist()))
        steep = min(max((u + h) / (2 * h), Fraction(0)), Fraction(1))
        total = [t - Fraction(label) * steep * x for t, x in zip(total, row)]
    parts = [
        t / n + Fraction(alpha) * Fraction(c) + Fraction(b)
        for t, c, b in zip(total, f.tolist(), tilt.tolist())
    ]
    return float(sum(g * g for g in parts)) ** 0.5


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("far", [1.0, 1e6])
def test_no_exact_gradient_exceeds_its_bound(kind, far):
    """At minimisers, where nothing but rounding is left, and far out, where rounding is largest."""
    rng = np.random.default_rng(0)
    loss = make_loss("huber", 0.5)
    for _ in range(6):
        X = rng.normal(size=(600, 3)) * (rng.random((600, 3)) < 0.7)
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
        y, tilt = rng.choice([-1.0, 1.0], 600), far * rng.normal(size=3)
        alpha = 10 ** rng.uniform(-3, 0)
        f = newton_linear(X, y, loss, alpha, linear=tilt, tol=1e-14 * far).coef
        exact = exact_gradient(X, y, f, alpha, tilt)
        bound = gradient_bound(kind(X), y, loss, alpha, tilt, f)
        assert exact <= bound
        size = np.linalg.norm(f)
        assert bound <= exact + 1e-12 * (1 + (1 + alpha) * size + np.linalg.norm(tilt))


def test_the_bound_of_a_loss_with_kinks_covers_jumps():
    """Slopes that jump at a prediction that rounding moves: distance, not gradient, is bounded."""
    ramp = CustomLoss(
        value=lambda p, y: np.maximum(0.0, 1 - y * p),
        slope=lambda p, y: np.where(y * p < 1, -y, 0.0),
        curvature=lambda p, y: np.zeros_like(p),
        lipschitz=1.0,
        curvature_bound=np.inf,
    )
    X, y = np.array([[0.1]]), np.array([1.0])
    alpha = 1e-3  # the minimum is at the kink, f = 10: 0.1 f is one, up to rounding
    for steps in range(-3, 4):
        f = np.array([10.0 + steps * np.spacing(10.0)])
        tilt = np.array([-alpha * f[0]])  # a gradient that vanishes on the flat side
        bound = gradient_bound(X, y, ramp, alpha, tilt, f)
        # On the steep side of the exact kink the gradient is 0.1 and the minimum at the kink.
        assert bound / alpha >= abs(f[0] - 10.0)
        assert bound >= np.sqrt(2 * 2.0**-53 * alpha)


def test_distance_to_the_minimiser_is_the_gradient_over_the_penalty():
    """‖f - f*‖ ≤ ‖∇J(f)‖/Λ, attained where the loss is flat."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 2)) / 4, rng.choice([-1.0, 1.0], 30)
    loss, none = make_loss("log"), np.zeros(2)
    best = newton_linear(X, y, loss, 0.05, tol=1e-15).coef
    for _ in range(50):
        f = best + rng.normal(size=2) * 10 ** rng.uniform(-6, 1)
        bound = gradient_bound(X, y, loss, 0.05, none, f) / 0.05
        assert np.linalg.norm(f - best) <= bound * (1 + 1e-12) + 1e-13


@pytest.mark.parametrize("dimension", [1, 3, 50])
def test_noise_in_doubles_is_near_real_noise(dimension, monkeypatch):
    """The same coins with 80 bits of mantissa, where the platform has them."""
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("long doubles are doubles here")

    class Recorder(NoiseSource):
        def full_uniform(self, size):
            self.kept = super().full_uniform(size)
            return self.kept

        def normal(self, size):
            self.directions = super().normal(size)
            return self.directions

    source = Recorder(np.random.RandomState(2))
    logged = []
    real = np.log
    monkeypatch.setattr(np, "log", lambda u: logged.append(u) or real(u))
    for _ in range(50):
        b = draw_noise(dimension, 0.3, source)
        z = source.directions.astype(np.longdouble)
        norm = -np.longdouble(0.3) * real(logged[-1].astype(np.longdouble)).sum()
        exact = norm * z / np.sqrt((z * z).sum())
        assert np.linalg.norm((b - exact).astype(float)) <= noise_error(b, 0.3) / 4
        half = 0.5 * source.kept
        back = ndtr(-np.abs(source.directions))
        assert np.all(np.abs(back - half) <= 1e-13 * half)
        assert np.all(np.linalg.norm(b) <= 0.3 * 40 * dimension)


# --- tol is paid for ----------------------------------------------------------------------------


def mask_pmf(k, scale):
    q = np.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(k)


def released_pmf(centre, noise, mask, places):
    """Return P(release = place · grid) on the line: a Laplace law, rounded, plus the mask's."""
    law = stats.laplace(loc=centre, scale=noise.noise_scale)
    reach = np.arange(places.min() - 60 * mask.scale, places.max() + 60 * mask.scale + 1)
    cells = law.cdf((reach + 0.5) * mask.grid) - law.cdf((reach - 0.5) * mask.grid)
    # far cells by their density, which does not cancel
    cells = np.where(cells < 1e-12, law.pdf(reach * mask.grid) * mask.grid, cells)
    hidden = np.arange(-60 * mask.scale, 60 * mask.scale + 1)
    return np.convolve(cells, mask_pmf(hidden, mask.scale), "same")[np.searchsorted(reach, places)]


@pytest.mark.parametrize("tol", [1e-3, 0.1, 1.0])
def test_neighbours_with_the_worst_errors_stay_within_epsilon(tol):
    """Minimisers at the sensitivity, each off by the whole radius, and away from the other."""
    n, alpha, epsilon = 20, 0.5, 1.0
    noise = calibrate_perturbation("output", n_samples=n, alpha=alpha, epsilon=epsilon, tol=tol)
    mask = release_mask(noise, n, 1, alpha, tol)
    sensitivity = 2 / (n * alpha)
    apart = sensitivity + 2 * mask.radius
    before = apart / (sensitivity / epsilon)  # the loss with the paper's noise alone
    places = np.arange(-6 * mask.scale, 6 * mask.scale)
    one, other = (released_pmf(c, noise, mask, places) for c in (0.0, apart))
    found = np.abs(np.log(one / other)).max()
    assert found <= epsilon * (1 + 1e-6)
    assert found > 0.3 * epsilon  # and the mask is not many times what it has to be
    assert before > 1 + 0.9 * n * tol


def test_minimisers_at_the_limit_of_tol_are_covered(monkeypatch):
    """A solver that errs as much as its certificate allows is within the radius that is hidden."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = rng.choice([-1.0, 1.0], 40)
    tol, alpha = 0.05, 0.2
    noise = calibrate_perturbation("objective", n_samples=40, alpha=alpha, epsilon=1.0, tol=tol)
    loss = make_loss("log")
    goal = largest_gradient(noise, 40, 2, alpha, tol)
    exact = newton_linear(X, y, loss, alpha, tol=1e-14).coef

    def sloppy(*args, **kwargs):
        found = newton_linear(*args, **{**kwargs, "tol": 1e-14})
        direction = rng.normal(size=2)
        step = direction / np.linalg.norm(direction)
        while gradient_bound(X, y, loss, alpha, np.zeros(2), found.coef + step) > goal:
            step *= 0.98
        return found._replace(coef=found.coef + step)

    monkeypatch.setattr(module, "newton_linear", sloppy)
    far = []
    for _ in range(20):
        found = module.exact_minimiser(X, y, loss, alpha, noise, tol)
        far.append(np.linalg.norm(found - exact))
    radius = release_mask(noise, 40, 2, alpha, tol).radius
    assert max(far) <= radius
    assert max(far) > 0.3 * radius

    def worse(*args, **kwargs):
        found = newton_linear(*args, **kwargs)
        return found._replace(coef=found.coef + 2 * goal / alpha)

    monkeypatch.setattr(module, "newton_linear", worse)
    with pytest.raises(ConvergenceError, match="not private") as caught:
        module.exact_minimiser(X, y, loss, alpha, noise, tol)
    assert "tol" not in str(caught.value)


@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_loose_tol_costs_noise_and_not_privacy(method):
    """The noise grows with tol; the audit, which knows it, finds no more than epsilon."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = rng.choice([-1, 1], 30)
    other = np.vstack([X[:-1], -X[-1:]])
    scales = []
    for tol in (1e-10, 1e-4, 1e-2, 0.1, 1.0):
        model = PrivateLogisticRegression(1.0, method=method, alpha=0.05, tol=tol, random_state=0)
        model.fit(X, y)
        scales.append(model.mask_scale_ + model.noise_scale_)
        found = privacy_audit(model, (X, y), (other, y), 200, random_state=0)
        assert found <= 1.0 + 1e-9
    assert np.all(np.diff(scales) > 0)
    assert model.mask_scale_ > 1.0 / 0.05  # of the order of d tol / (alpha epsilon)


def test_the_audit_sees_a_mask_that_is_too_small(monkeypatch):
    X, y = np.array([[0.6], [-1.0]]), np.array([1, 0])
    other = np.array([[0.6], [1.0]])
    model = PrivateLogisticRegression(1.0, alpha=1.0, tol=0.1)
    honest = privacy_audit(model, (X, y), (other, y), random_state=0)
    assert honest <= 1.0

    def for_an_exact_solver(perturbation, n, d, alpha, tol):
        return release_mask(perturbation, n, d, alpha, 1e-10)

    monkeypatch.setattr(audit, "release_mask", for_an_exact_solver)
    assert privacy_audit(model, (X, y), (other, y), random_state=0) > 1e6


# --- bits ---------------------------------------------------------------------------------------


def lowest_bit(values):
    """Return the exponent of the lowest bit that is set in each double."""
    mantissa, exponent = np.frexp(values)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    trailing = np.where(whole == 0, 0, np.log2(np.maximum(whole & -whole, 1)).astype(int))
    return np.where(values == 0, 2000, exponent - 53 + trailing)


def attacked(one, other, level=1e-9):
    """Return the largest privacy loss that low-order bits prove, at that level of confidence.

    The events of Mironov (2012): a model whose lowest bit is finer than 2^-k and whose size is
    below 2^-j cannot be the rounded sum of something larger.
    """
    worst = 0.0
    n, bits = len(one), [lowest_bit(v) for v in (one, other)]
    for j in range(8):
        for k in range(40, 64, 2):
            counts = [
                int(((b < -k) & (np.abs(v) < 2.0**-j)).sum()) for b, v in zip(bits, (one, other))
            ]
            for a, b in (counts, counts[::-1]):
                least = stats.beta.ppf(level, a, n - a + 1) if a else 0.0
                most = stats.beta.ppf(1 - level, b + 1, n - b) if b < n else 1.0
                if least > 0:
                    worst = max(worst, float(np.log(least / most)))
    return worst


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.slow
def test_the_attack_on_low_order_bits_tells_nothing(method, monkeypatch):
    """With the mask off the attack proves a loss beyond epsilon; with it, none at all."""
    epsilon, draws = 1.0, 2500
    noise = calibrate_perturbation(
        method, n_samples=1, alpha=4.0, epsilon=epsilon, curvature=1.0, slack="tight"
    )
    y = np.array([1.0])
    options = {"n_draws": draws, "random_state": 5}
    data = [np.array([[x]]) for x in (0.0, 1.0)]

    def models():
        return [private_minimisers(X, y, "huber", 4.0, noise, **options)[:, 0] for X in data]

    hidden = models()
    assert attacked(*hidden) < epsilon / 2
    mask = release_mask(noise, 1, 1, 4.0, 1e-10)
    for values in hidden:  # both live on one grid, and every point of it is possible
        places = np.rint(values / mask.grid)
        np.testing.assert_array_equal(places * mask.grid, values)
        assert stats.binomtest(int((places % 2).sum()), draws).pvalue > 1e-6
    monkeypatch.setattr(module, "masked", lambda coef, mask, source: coef)
    assert attacked(*models()) > epsilon


def test_every_place_of_the_grid_is_possible():
    """The probability of no place is zero: exp(-|k|/scale) is drawn without rounding."""
    noise = calibrate_perturbation("output", n_samples=1, alpha=4.0, epsilon=1.0, tol=1.0)
    mask = release_mask(noise, 1, 1, 4.0, 1.0)
    source = NoiseSource(np.random.RandomState(6))
    seen = {float(module.masked(np.zeros(1), mask, source)[0] / mask.grid) for _ in range(1500)}
    middle = set(range(-mask.scale, mask.scale + 1))
    assert middle <= seen


def test_models_lie_on_their_grid():
    rng = np.random.default_rng(7)
    X = rng.uniform(-0.5, 0.5, (60, 3))
    y = np.arange(60) % 3
    for model in (
        PrivateHuberSVM(0.5, alpha=0.1, fit_intercept=True, intercept_scaling=0.5),
        PrivateLinearClassifier(2.0, loss="smooth_hinge", method="output", alpha=0.1),
    ):
        model.fit(X, y)
        places = np.rint(model.coef_ / model.grid_)
        np.testing.assert_array_equal(places * model.grid_, model.coef_)
        # of 9 d / ε' steps, where 1/1024 of each problem's share of epsilon pays for the mask
        own = model.epsilon / len(model.coef_) / 1024
        d = model.coef_.shape[1] + bool(model.fit_intercept)
        assert model.mask_scale_ == pytest.approx(np.ceil(9 * d / own) * model.grid_, rel=1e-12)
    twin = PrivateHuberSVM(np.inf).fit(X, y)
    assert (twin.grid_, twin.mask_scale_) == (0, 0)


def test_what_cannot_be_kept_is_refused():
    X, y = np.array([[0.6], [-1.0]]), np.array([1.0, -1.0])
    paper = calibrate_perturbation("output", n_samples=2, alpha=1.0, epsilon=1.0, tol=0)
    with pytest.raises(ValueError, match="calibrated with tol=0"):
        private_minimisers(X, y, "logistic", 1.0, paper)
    with pytest.raises(ValueError, match="too small to be kept exactly"):
        PrivateLogisticRegression(1e-14).fit(X, y)
    with pytest.raises(ConvergenceError, match="below what doubles can tell"):
        PrivateLogisticRegression(1.0, method="output", alpha=1.0, tol=2e-14).fit(X, y)
    for tol in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="tol"):
            calibrate_perturbation("output", n_samples=2, alpha=1.0, epsilon=1.0, tol=tol)
