"""Bayesian optimisation of policies that reads the trajectories of what it has tried.

The return of a policy is modelled by a Gaussian process. Trajectories serve twice: they say which
policies act alike (the behaviour-based kernel), and they teach a simulator whose predictions are
the prior mean, as far as the evidence believes them.

Reference: Wilson, Fern and Tadepalli (2014), "Using trajectory data to improve Bayesian
optimization for reinforcement learning", JMLR 15:253-282; Algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import qmc
from sklearn.base import clone
from sklearn.utils import check_random_state

from octavo.engine.gaussian_process.improvement import improvement, log_improvement
from octavo.engine.gaussian_process.posterior import (
    Factor,
    jittered_factor,
    posterior_moments,
    profiled_evidence,
)
from octavo.rl.policy_search.acquisition import weight_from_factor
from octavo.rl.policy_search.maximisers import MAXIMISERS
from octavo.rl.policy_search.surfaces import make_surface
from octavo.rl.policy_search.world_model import LinearWorldModel
from octavo.rl.simulators.episodes import Episode, record_episode
from octavo.rl.simulators.policies import is_real

__all__ = ["TrajectoryBO"]

_MOST_DIRECT = 15  # parameters, beyond which DIRECT is poor (section 5.1)
_RATIOS = np.array([1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0])  # noise to amplitude
_FREE_OF_NOISE = 1e-8
_SMALLEST = 1e-12  # amplitude, as a share of the mean squared return
_ROLL_OUTS = 4  # of the simulator for each policy, at least


class Process(NamedTuple):
    """The fitted process: which kernel setting, amplitude, noise, factor, β, residuals."""

    setting: int
    amplitude: float
    noise: float
    factor: Factor
    beta: float
    residuals: np.ndarray


def check_box(bounds: Any, n_params: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends of the parameters."""
    try:
        box = np.asarray(bounds, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be pairs of numbers; got {bounds!r}.") from None
    box = np.tile(box, (n_params, 1)) if box.shape == (2,) else box
    if box.shape != (n_params, 2):
        raise ValueError(
            f"bounds must be one pair, or a pair for each of {n_params} parameters; got an array "
            f"of shape {box.shape}."
        )
    if not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
        raise ValueError("Each lower bound must be finite and lie below its upper bound.")
    return box[:, 0].copy(), box[:, 1].copy()


class TrajectoryBO:
    """Find the parameters of a policy in few episodes.

    Parameters
    ----------
    policy : object
        With ``n_params``, ``act(theta, state, rng)`` and, for the behaviour kernel,
        ``log_prob(theta, states, actions)``, such as `SoftmaxLinearPolicy`.
    bounds : array-like of shape (n_params, 2) or (2,)
        Lower and upper ends of the parameters.
    kernel : {"bbk", "se", "ard_linear"}, BehaviourKernel or kernel of scikit-learn, default="bbk"
        Similarity of policies: by what they do, by their parameters, or by a linear function of
        them with a relevance each. A kernel of scikit-learn is used as it stands; the amplitude of
        the others, the α of "bbk" and the width of "se" are chosen by the evidence. A
        `BehaviourKernel` keeps its own α.
    mean : {"zero", "model"}, LinearWorldModel or callable, default="zero"
        Prior mean of the return. "model" learns a simulator from all episodes and rolls policies
        out in it; a `LinearWorldModel` brings features of one's own; a function of theta (rows)
        is a simulator that is known. All but "zero" are weighted by `beta_`.
    n_episodes : int, default=1
        Episodes of each policy in `run`.
    acq : {"ei", "ei_mean"}, default="ei"
        Expected improvement over the best observed mean return, or over the best posterior mean of
        an evaluated policy, which noise misleads less.
    acq_optimizer : {"auto", "direct", "xnes", "multistart"}, default="auto"
        What maximises it: "auto" takes "direct" up to 15 parameters ("multistart", which rolls many
        policies out at once, where a simulator is the mean) and "xnes", the library's CMA-ES,
        above.
    n_init : int, default=5
        Policies of a Latin hypercube that come first.
    noise : "auto" or float, default="auto"
        Variance of the mean return of a policy's episodes. "auto" takes the variance within
        policies over their number of episodes, and lets the evidence choose where there is one
        episode each.
    random_state : int, RandomState instance or None, default=None
        Source of first policies, of maximisation and of episodes.

    Attributes
    ----------
    best_params_ : ndarray of shape (n_params,)
        Parameters with the best observed mean return.
    best_value_ : float
        That return.
    beta_ : float
        Weight of the prior mean, from 0 (ignored) to 1.
    gp_ : Process
        The fitted process: kernel setting, amplitude, noise, factor.
    history_ : list of dict
        One record per evaluated policy: ``theta``, ``value``, ``n_episodes``, ``best``, ``beta``
        and ``improvement``, what was expected of it.
    world_ : LinearWorldModel or None
        The simulator.

    See Also
    --------
    octavo.search.minimize_nes : Thousands of evaluations instead of dozens.
    OLPOMDP : Follows the gradient of the return.

    Notes
    -----
    The prior mean is zero, as in the paper: where all returns are negative, untried policies look
    better than tried ones, and the search explores. Add a constant to rewards, or give `mean`, to
    change that.

    Do not use it where episodes are cheap (evolution strategies and gradients scale further), nor
    "bbk" where policies are deterministic or where unlike actions have the same effect, as on a
    bicycle.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282.

    Examples
    --------
    >>> from octavo.rl import CartPole, TrajectoryBO
    >>> cart = CartPole(horizon=200)
    >>> search = TrajectoryBO(cart.make_policy(), (-1, 1), "se", "model", random_state=0)
    >>> print(search.run(cart, 8).best_value_ > 200)  # upright to the end
    True
    """

    def __init__(
        self,
        policy: Any,
        bounds: Any,
        kernel: Any = "bbk",
        mean: Any = "zero",
        n_episodes: Any = 1,
        acq: str = "ei",
        acq_optimizer: str = "auto",
        n_init: Any = 5,
        noise: Any = "auto",
        random_state: Any = None,
    ) -> None:
        if not hasattr(policy, "n_params") or not callable(getattr(policy, "act", None)):
            raise ValueError("policy must have n_params and act(theta, state, rng).")
        for name, count in (("n_episodes", n_episodes), ("n_init", n_init)):
            if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
                raise ValueError(f"{name} must be a whole number of at least 1; got {count!r}.")
        if acq not in ("ei", "ei_mean"):
            raise ValueError(f"acq must be 'ei' or 'ei_mean'; got {acq!r}.")
        if acq_optimizer not in ("auto", *MAXIMISERS):
            raise ValueError(
                f"acq_optimizer must be 'auto' or one of {tuple(MAXIMISERS)}; got "
                f"{acq_optimizer!r}."
            )
        automatic = isinstance(noise, str) and noise == "auto"
        if not automatic and (not is_real(noise) or not 0 <= noise < np.inf):
            raise ValueError(f"noise must be 'auto' or a variance of at least 0; got {noise!r}.")
        self.policy, self.bounds, self.kernel, self.mean = policy, bounds, kernel, mean
        self.n_episodes, self.n_init = int(n_episodes), int(n_init)
        self.acq, self.acq_optimizer = acq, acq_optimizer
        self.noise, self.random_state = noise, random_state
        self.low, self.high = check_box(bounds, policy.n_params)
        self._surface = make_surface(kernel, policy, self.low, self.high)
        self._rng = check_random_state(random_state)
        self._model_seed = int(self._rng.randint(2**31 - 1))
        self._design = self._first_policies()
        self.world_, self._function = self._read_mean(mean)
        self._thetas: list[np.ndarray] = []
        self._episodes: list[list[Episode]] = []
        self._values: list[float] = []
        self._process: Process | None = None
        self._expected = np.nan
        self.beta_ = 0.0
        self.history_: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return (
            f"TrajectoryBO({self.policy!r}, kernel={self.kernel!r}, mean={self.mean!r}, "
            f"n_evaluated={len(self._values)})"
        )

    def _first_policies(self) -> np.ndarray:
        seed = int(self._rng.randint(2**31 - 1))
        unit = qmc.LatinHypercube(len(self.low), rng=np.random.default_rng(seed))
        return self.low + (self.high - self.low) * unit.random(self.n_init)

    def _read_mean(self, mean: Any) -> tuple[LinearWorldModel | None, Callable | None]:
        if isinstance(mean, LinearWorldModel):
            return clone(mean), None
        if isinstance(mean, str) and mean == "model":
            return LinearWorldModel(), None
        if isinstance(mean, str) and mean == "zero":
            return None, None
        if callable(mean):
            return None, mean
        raise ValueError(
            f"mean must be 'zero', 'model', a LinearWorldModel or a function; got {mean!r}."
        )

    # -- what was seen -------------------------------------------------------------------------

    @property
    def best_value_(self) -> float:
        """The best observed mean return."""
        self._need_data()
        return float(np.max(self._values))

    @property
    def best_params_(self) -> np.ndarray:
        """Parameters with the best observed mean return."""
        self._need_data()
        return self._thetas[int(np.argmax(self._values))].copy()

    @property
    def gp_(self) -> Process:
        """The fitted process."""
        self._need_data()
        return self._fitted()

    def _need_data(self) -> None:
        if not self._values:
            raise ValueError("Nothing was told yet: evaluate a policy, then call tell.")

    def _check_theta(self, theta: Any) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (self.policy.n_params,):
            raise ValueError(
                f"theta must hold {self.policy.n_params} parameters; got shape {theta.shape}."
            )
        if not np.isfinite(theta).all():
            raise ValueError(f"theta must be finite; got {theta}.")
        return theta

    def tell(self, theta: Any, episodes: Any) -> Self:
        """Learn what episodes of a policy looked like.

        Parameters
        ----------
        theta : array-like of shape (n_params,)
            Its parameters, usually those of `ask`.
        episodes : list of Episode
            Its episodes; its value is the mean of their sums of rewards.

        Returns
        -------
        self : object
            The optimiser.
        """
        theta = self._check_theta(theta)
        runs = [episodes] if isinstance(episodes, Episode) else list(episodes)
        if not runs or not all(isinstance(run, Episode) for run in runs):
            raise ValueError("A policy is told with a list of at least one Episode.")
        self._thetas.append(theta.copy())
        self._episodes.append(runs)
        self._values.append(float(np.mean([run.total for run in runs])))
        self._process = None
        self.history_.append(
            {
                "theta": theta.copy(),
                "value": self._values[-1],
                "n_episodes": len(runs),
                "best": self.best_value_,
                "beta": self.beta_,
                "improvement": self._expected,
            }
        )
        self._expected = np.nan
        return self

    # -- the model -----------------------------------------------------------------------------

    def _prior_mean(self, thetas: np.ndarray) -> np.ndarray:
        """Return m(θ): roll-outs with common random numbers, or the user's function."""
        if self._function is not None:
            made = np.asarray(self._function(thetas), dtype=float).reshape(-1)
            if made.shape != (len(thetas),):
                raise ValueError(
                    f"mean must return one number a row of theta; got {made.shape} for "
                    f"{len(thetas)} rows."
                )
        elif self.world_ is not None:
            n = max(self.n_episodes, _ROLL_OUTS)
            horizon = max(len(run) for runs in self._episodes for run in runs)
            made = self.world_.rollout(
                self.policy, n, horizon, self._model_seed, thetas=thetas
            ).mean(axis=1)  # m(θ, D) of Section 4.3: the mean of E simulated returns
        else:
            return np.zeros(len(thetas))
        if not np.isfinite(made).all():
            raise ValueError("The prior mean must be finite; got NaN or infinity.")
        return made

    def _within(self) -> float | None:
        """Return the mean variance of a policy's mean return, where policies were repeated."""
        several = [[r.total for r in runs] for runs in self._episodes if len(runs) > 1]
        if not several:
            return None
        return float(np.mean([np.var(t, ddof=1) / len(t) for t in several]))

    def _settings(self, K: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
        """Return amplitude, noise and log evidence of zero-mean y for one kernel matrix."""
        known = self._within() if isinstance(self.noise, str) else float(self.noise)
        if not self._surface.scaled:
            return 1.0, _FREE_OF_NOISE if known is None else known, 0.0
        if known is None:
            return tuple(profiled_evidence(K, y, _RATIOS))  # type: ignore[return-value]
        # A known noise: the ratio whose best amplitude gives that noise, to a factor.
        grid = np.geomspace(1e-6, 10.0, 29) if known > 0 else np.array([_FREE_OF_NOISE])
        tried = [profiled_evidence(K, y, np.array([ratio])) for ratio in grid]
        amplitudes = np.array([max(t.amplitude, 1e-12) for t in tried])
        if known > 0:
            nearest = int(np.argmin(np.abs(np.log(amplitudes * grid / known))))
            return tried[nearest].amplitude, known, tried[nearest].log_evidence
        return tried[0].amplitude, 0.0, tried[0].log_evidence

    def _chosen(
        self, matrices: list[np.ndarray], residuals: np.ndarray, y: np.ndarray
    ) -> tuple[int, float, float]:
        """Return the kernel setting, amplitude and noise that the evidence prefers."""
        choices = [self._settings(K, residuals) for K in matrices]
        setting = int(np.argmax([choice[2] for choice in choices]))  # evidence maximisation
        smallest = _SMALLEST * float(np.mean(y**2)) + 1e-300  # where nothing is left to explain
        amplitude, noise, _ = choices[setting]
        return setting, max(amplitude, smallest), noise

    def _fitted(self) -> Process:
        """Fit the process to all that was told (lines 3 to 5 of Algorithm 2)."""
        if self._process is not None:
            return self._process
        thetas, y = np.array(self._thetas), np.array(self._values)
        self._surface.update(thetas, self._episodes, y)
        if self.world_ is not None:
            self.world_.fit([run for runs in self._episodes for run in runs])
        matrices = self._surface.matrices()
        setting, amplitude, noise = self._chosen(matrices, y, y)
        m, eye = self._prior_mean(thetas), np.eye(len(y))
        factor = jittered_factor(amplitude * matrices[setting] + noise * eye)
        beta = weight_from_factor(factor, y, m)  # β of Section 4.3
        if beta > 0.0:
            if self._surface.scaled:  # how far the model errs sets the scale of its errors
                setting, amplitude, noise = self._chosen(matrices, y - beta * m, y)
            else:  # η is GP(βm, c(β)k), c(β) = (1 − β)² + β²
                amplitude *= (1.0 - beta) ** 2 + beta**2
            factor = jittered_factor(amplitude * matrices[setting] + noise * eye)
        self.beta_ = beta
        self._process = Process(setting, amplitude, noise, factor, beta, y - beta * m)  # η - βm
        return self._process

    def _moments(self, thetas: np.ndarray, coarse: bool = False) -> tuple[np.ndarray, np.ndarray]:
        process = self._fitted()
        rows = process.amplitude * self._surface.rows(thetas, process.setting, coarse)
        prior = process.amplitude * self._surface.prior(thetas)
        shift, std = posterior_moments(process.factor, process.residuals, rows, prior)
        if process.beta == 0.0:
            return shift, std
        return process.beta * self._prior_mean(thetas) + shift, std  # βm + kᵀK⁻¹(η - βm)

    def posterior(self, thetas: Any, return_std: bool = False) -> Any:
        """Return what is believed of the returns of policies.

        Parameters
        ----------
        thetas : array-like of shape (n, n_params)
            Parameters, one policy a row.
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n,)
            Means.
        std : ndarray of shape (n,)
            Standard deviations of the expected return, without noise; only on request.
        """
        thetas = np.atleast_2d(np.asarray(thetas, dtype=float))
        if thetas.shape[1] != self.policy.n_params or not np.isfinite(thetas).all():
            raise ValueError(
                f"thetas must be finite rows of {self.policy.n_params} parameters; got shape "
                f"{thetas.shape}."
            )
        if not self._values:
            mean, std = np.zeros(len(thetas)), np.sqrt(self._surface.prior(thetas))
        else:
            mean, std = self._moments(thetas)
        return (mean, std) if return_std else mean

    # -- the search ----------------------------------------------------------------------------

    def _target(self) -> float:
        """Return the value that is to be improved on."""
        if self.acq == "ei":
            return self.best_value_  # η_max of Section 3.1, the best return observed
        # under noise the best observation is too good: the best posterior mean
        return float(np.max(self._moments(np.array(self._thetas))[0]))

    def _maximiser(self) -> Callable:
        if self.acq_optimizer != "auto":
            return MAXIMISERS[self.acq_optimizer]
        if self.policy.n_params > _MOST_DIRECT:
            return MAXIMISERS["xnes"]
        return MAXIMISERS["direct" if self.world_ is None else "multistart"]

    def ask(self) -> np.ndarray:
        """Return the parameters to evaluate next.

        Returns
        -------
        ndarray of shape (n_params,)
            A first policy, or the one with the largest expected improvement.
        """
        n = len(self._values)
        if n < self.n_init:
            return self._design[n].copy()
        best = self._target()
        top = np.argsort(-np.array(self._values), kind="stable")[:3]

        def merit(thetas: np.ndarray) -> np.ndarray:
            # the logarithm has slopes where the improvement itself is 0 to rounding
            return log_improvement(*self._moments(thetas, coarse=True), best)

        near = np.clip(np.array(self._thetas)[top], self.low, self.high)
        theta = self._maximiser()(merit, self.low, self.high, self._rng, near)
        self._expected = float(improvement(*self._moments(theta[None]), best)[0])
        return theta

    def _adopt(self, env: Any) -> None:
        """Take a simulator's features from an environment that has some."""
        plain = isinstance(self.mean, str) and self.mean == "model" and not self._values
        if plain and hasattr(env, "transition_features"):
            self.world_ = LinearWorldModel(
                env.transition_features, env.reward_features, terminal=env.is_terminal
            )

    def run(self, env: Any, n_iter: Any, *, tol: float = 0.0) -> Self:
        """Evaluate so many policies in an environment.

        Parameters
        ----------
        env : object
            Speaks gymnasium's ``reset`` and ``step``, as `MountainCar` does.
        n_iter : int
            Policies to evaluate, the first ones included.
        tol : float, default=0.0
            Stop when the largest expected improvement is below this.

        Returns
        -------
        self : object
            The optimiser.
        """
        if not isinstance(n_iter, Integral) or isinstance(n_iter, bool) or n_iter < 1:
            raise ValueError(f"n_iter must be a whole number of at least 1; got {n_iter!r}.")
        self._adopt(env)
        for _ in range(n_iter):
            theta = self.ask()
            if self._expected < tol:
                break
            self.tell(theta, self._episodes_of(env, theta))
        return self

    def _episodes_of(self, env: Any, theta: np.ndarray) -> list[Episode]:
        if hasattr(env, "episodes"):
            seed = self._rng.randint(2**31 - 1)
            return env.episodes(self.policy, theta, self.n_episodes, random_state=seed)[0]
        return [
            record_episode(env, self.policy, theta, random_state=self._rng)
            for _ in range(self.n_episodes)
        ]
