"""The loop around natural evolution strategies: budget, bounds, workers and restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.smooth.ask_tell import AskTell, Bounds, Limits, check_bounds, evaluator, run
from octavo.search.evolution.snes import SNES
from octavo.search.evolution.xnes import XNES

__all__ = ["minimize_nes"]

BUDGET = 100_000  # evaluations a dimension (Section 5.2)
UNSOLVED = ("the budget", "all values", "the search distribution has grown")
LARGEST_FULL = 100  # dimensions up to which "auto" keeps a full covariance
TRACKED = ("n_evals", "best_f", "median_f", "sigma", "eta_sigma", "run")


class _History:
    """What a run leaves behind, one row a generation."""

    def __init__(self) -> None:
        self.rows: list[tuple] = []
        self.spent, self.run, self.best = 0, 0, np.inf

    def add(self, search: AskTell, values: np.ndarray) -> None:
        self.best = min(self.best, search.best_f_)
        state = (np.sqrt(search.sigma2_), search.eta_sigma_)  # type: ignore[attr-defined]
        seen = (self.spent + search.n_evals_, self.best, np.median(np.nan_to_num(values)))
        self.rows.append((*seen, *state, self.run))

    def as_dict(self) -> dict[str, np.ndarray]:
        columns = np.array(self.rows).T
        return dict(zip(TRACKED, columns))


def _new_start(
    x0: np.ndarray, sigma0: float, bounds: Bounds | None, rng: np.random.RandomState
) -> np.ndarray:
    """Draw where a restart begins: in the box, or about the first start."""
    if bounds is not None and np.isfinite(bounds.low).all() and np.isfinite(bounds.high).all():
        return rng.uniform(bounds.low, bounds.high)
    start = x0 + sigma0 * rng.standard_normal(x0.size)
    return start if bounds is None else bounds.clip(start)


@checked
def minimize_nes(
    f: Callable,
    x0: Any,
    sigma0: float = 1.0,
    *,
    method: str = "auto",
    adapt: bool = False,
    popsize: int | None = None,
    lr_mu: float = 1.0,
    lr_sigma: float | None = None,
    lr_B: float | None = None,
    utilities: Any = "log",
    max_evals: int | None = None,
    ftarget: float = -np.inf,
    tol_sigma: float = 1e-20,
    xtol: float = 0.0,
    restarts: int = 0,
    popsize_growth: float = 1.0,
    bounds: Any = None,
    bounds_handling: str = "resample",
    vectorized: bool = False,
    workers: Any = 1,
    random_state: Any = None,
    callback: Callable | None = None,
) -> OptimizeResult:
    """Minimise a function that is known only through its values.

    Parameters
    ----------
    f : callable
        Function of a vector; of an array of shape (n, d), if `vectorized`. It may be noisy,
        and NaN where it fails: such points rank last.
    x0 : array-like of shape (d,)
        First mean of the search distribution.
    sigma0 : float, default=1.0
        Its first standard deviation: about the distance at which the optimum is suspected.
    method : {"auto", "xnes", "snes"}, default="auto"
        Full covariance, standard deviations only, or the first up to 100 dimensions.
    adapt : bool, default=False
        Tune the learning rate by adaptation sampling. It saves most on smooth functions, where
        the default rate is too careful.
    popsize : int, optional
        Points in a generation, by default 4 + ⌊3 ln d⌋.
    lr_mu, lr_sigma, lr_B : float, optional
        Learning rates of mean, scale and shape; the defaults are those of the paper.
    utilities : {"log", "linear"} or array-like, default="log"
        Utilities of the ranks.
    max_evals : int, optional
        Budget of evaluations over all restarts, by default 100,000 d. The last generation is
        finished.
    ftarget : float, default=-inf
        Stop at a value as small as this.
    tol_sigma : float, default=1e-20
        Stop or restart when ``|det A|^(2/d)``, the squared scale of the search, falls below this.
    xtol : float, default=0.0
        Stop or restart when the standard deviation of every coordinate is below this.
    restarts : int, default=0
        How often to begin again elsewhere while budget is left.
    popsize_growth : float, default=1.0
        Factor on popsize at each restart; 2 helps on functions with many optima.
    bounds : array-like of shape (d, 2) or scipy.optimize.Bounds, optional
        Box in which f is evaluated.
    bounds_handling : {"resample", "project"}, default="resample"
        "resample" draws points outside the box again (20 times, then clips), which pushes the
        search away from the walls a little; "project" evaluates the nearest point of the box
        and ranks equal values by distance, which finds optima on the walls faster.
    vectorized : bool, default=False
        Whether f takes a whole generation at once.
    workers : int or callable, default=1
        Processes that evaluate a generation, or a function with the signature of `map`.
    random_state : int, RandomState instance or None, default=None
        Source of the points.
    callback : callable, optional
        Called with the optimiser after every generation; a true answer stops.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``fun``, ``nfev``, ``nit``, ``success``, ``message``, the last search
        distribution's ``mean``, ``sigma`` and ``cov`` (None beyond 2,000 dimensions),
        ``n_restarts``, and ``history``, a dict of arrays with one entry a generation.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import rosen
    >>> from octavo.search import minimize_nes
    >>> result = minimize_nes(rosen, np.zeros(4), 0.5, ftarget=1e-9, random_state=0)
    >>> print(result.x.round(3), result.message)
    [1. 1. 1. 1.] the target value was reached
    """
    rng = check_random_state(random_state)
    x0 = np.array(x0, dtype=float, ndmin=1)
    box = check_bounds(bounds, bounds_handling, x0)
    kind, options = _strategy(method, x0.size, lr_sigma, lr_B)
    options |= {"adapt": adapt, "lr_mu": lr_mu, "utilities": utilities}
    _check(bounds_handling, restarts, popsize_growth, max_evals)
    budget = BUDGET * x0.size if max_evals is None else int(max_evals)
    history, start = _History(), x0
    best_x, best_f, iterations = x0.copy(), np.inf, 0

    def each(search: AskTell, values: np.ndarray) -> bool:
        history.add(search, values)
        return callback is not None and bool(callback(search))

    with evaluator(f, vectorized, workers) as evaluate:
        while True:
            search = kind(start, sigma0, popsize=popsize, random_state=rng, **options)
            limits = Limits(budget - history.spent, ftarget, tol_sigma, xtol)
            message = run(search, evaluate, limits, box, each)
            history.spent, iterations = history.spent + search.n_evals_, iterations + search.n_iter_
            if search.best_f_ < best_f:
                best_x, best_f = search.best_x_, search.best_f_
            over = message.startswith(("stopped", "the target", "the budget"))
            if over or history.run >= restarts:
                break
            history.run += 1
            start = _new_start(x0, sigma0, box, rng)
            popsize = int(np.ceil(search.popsize * popsize_growth))
    return OptimizeResult(
        x=best_x,
        fun=best_f,
        nfev=history.spent,
        nit=iterations,
        success=not message.startswith(UNSOLVED) or best_f <= ftarget,
        message=message,
        mean=search.mean_,
        sigma=search.sigma_,
        cov=search.cov_ if x0.size <= 2000 else None,
        n_restarts=history.run,
        history=history.as_dict(),
    )


def _strategy(
    method: str, d: int, lr_sigma: float | None, lr_B: float | None
) -> tuple[Any, dict[str, Any]]:
    """Return the optimiser's class and the learning rates that it takes."""
    if method not in ("auto", "xnes", "snes"):
        raise ValueError(f"method must be 'auto', 'xnes' or 'snes'; got {method!r}.")
    if method == "xnes" or (method == "auto" and d <= LARGEST_FULL):
        return XNES, {"lr_sigma": lr_sigma, "lr_B": lr_B}
    if lr_B is not None:
        raise ValueError("lr_B is the rate of a full covariance: method='snes' has none.")
    return SNES, {"lr_sigma": lr_sigma}


def _check(handling: str, restarts: int, growth: float, max_evals: int | None) -> None:
    if handling not in ("resample", "project"):
        raise ValueError(f"bounds_handling must be 'resample' or 'project'; got {handling!r}.")
    if restarts < 0 or growth < 1:
        raise ValueError(
            f"restarts must be at least 0 and popsize_growth at least 1; "
            f"got {restarts} and {growth}."
        )
    if max_evals is not None and max_evals < 1:
        raise ValueError(f"max_evals must be positive; got {max_evals}.")
