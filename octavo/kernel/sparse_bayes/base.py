"""What the classifier and the regressor share: kernel, chains, traces and diagnostics.

Reference: Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian Generalized Kernel Mixed Models",
Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.arviz_output import as_arviz
from octavo.engine.mcmc.chains import Schedule, check_schedule, run_chains
from octavo.engine.mcmc.diagnostics import effective_sample_size, monte_carlo_error, split_rhat
from octavo.kernel.mkl.kernel_stack import KernelStack
from octavo.kernel.sparse_bayes.kernel_sources import (
    IN_MEMORY,
    FixedKernel,
    WeightedKernels,
    WidthKernel,
    mean_distance,
    rbf_block,
)
from octavo.kernel.sparse_bayes.latent_scores import starting_scores
from octavo.kernel.sparse_bayes.predictive import (
    chunks_of_rows,
    process_variances,
    scores_of_draws,
    scores_of_matrix,
)
from octavo.kernel.sparse_bayes.sampler import (
    JITTER,
    ChainDraws,
    Draw,
    FullModel,
    Priors,
    SparseModel,
    run_chain,
    starting_members,
)
from octavo.kernel.sparse_bayes.subset_walk import METHODS, check_k_max

SLAB = (4.0, 4.0)  # shape and rate, twice over, of a kernel's weight: mean one
RHAT_LIMIT = 1.1
AT_THE_LIMIT = 0.1  # share of draws with k_max active vectors that is worth a warning
STEPS_SHOWN = 20  # of a chain, to callbacks

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "model": [StrOptions({"fbgkm", "sgpc", "bgkm"})],
    "kernel": [StrOptions({"rbf", "precomputed"}), callable],
    "width": [StrOptions({"mean"}), Interval(Real, 0, None, closed="neither")],
    "sample_width": ["boolean"],
    "ard": ["boolean"],
    "k_max": [Interval(Integral, 1, None, closed="left")],
    "n_iter": [Interval(Integral, 1, None, closed="left")],
    "burn_in": [Interval(Integral, 0, None, closed="left")],
    "thin": [Interval(Integral, 1, None, closed="left")],
    "n_moves": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "a_g": [Interval(Real, 0, None, closed="neither")],
    "b_g": [Interval(Real, 0, None, closed="neither")],
    "a_eta": [Interval(Real, 0, None, closed="neither")],
    "b_eta": [Interval(Real, 0, None, closed="neither")],
    "a_alpha": [Interval(Real, 0, None, closed="neither")],
    "b_alpha": [Interval(Real, 0, None, closed="neither")],
    "n_chains": [Interval(Integral, 1, None, closed="left")],
    "kernels": [str, list, tuple, None],
    "spike": [Interval(Real, 0, 1, closed="neither")],
    "method": [StrOptions(set(METHODS))],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


class Problem(NamedTuple):
    """All that a chain needs beside its generator.

    Attributes
    ----------
    make_source : callable
        Returns a new kernel source; chains adapt their own.
    targets : ndarray of shape (n_samples, 1) or None
        What a regression observed.
    codes, contrasts : ndarray or None
        Labels of a classification.
    priors : Priors
        The hierarchy.
    schedule : Schedule
        Sweeps.
    model : str
        "fbgkm", "sgpc" or "bgkm".
    k_max, n_moves : int
        Most active vectors; moves in a sweep.
    jump : bool
        Reversible jump or stochastic search.
    tau : float
        Precision of the noise at the start.
    noise : bool
        Whether it is drawn.
    """

    make_source: Callable[[], FixedKernel]
    targets: Floats | None
    codes: Indices | None
    contrasts: Floats | None
    priors: Priors
    schedule: Schedule
    model: str
    k_max: int
    n_moves: int
    jump: bool
    tau: float
    noise: bool


def one_chain(
    rng: np.random.Generator, problem: Problem, step: Callable[[], Any] | None = None
) -> ChainDraws:
    """Start a chain from a few samples of each class and run it."""
    p, source = problem, problem.make_source()
    if p.targets is None:
        assert p.codes is not None
        assert p.contrasts is not None
        S = starting_scores(p.codes, p.contrasts, rng)
    else:
        S = p.targets.copy()
    model: SparseModel | FullModel
    if p.model == "bgkm":
        model = FullModel(source, S, p.priors, tau=p.tau)
    else:
        chosen = starting_members(p.codes, len(S), p.k_max, rng)
        model = SparseModel(
            source, S, p.priors, k_max=p.k_max, chosen=chosen, jump=p.jump, tau=p.tau
        )
    if p.targets is not None:  # start in the units of y: from far away g finds them too late
        spread, offset = float(np.var(S)), float(np.mean(S))
        model.g = 1.0 / spread if spread > 0.0 else 1.0
        model.eta = 1.0 / (offset**2 + spread) if offset or spread else 1.0
    return run_chain(
        model,
        rng,
        p.schedule,
        n_moves=p.n_moves,
        codes=p.codes,
        contrasts=p.contrasts,
        noise=p.noise,
        conditional_mean=p.model == "sgpc",
        step=step,
    )


def fixed_rbf(X: Floats, width: float) -> FixedKernel:
    """Return the Gaussian kernel of the rows: a matrix, or rows on demand where it is too large."""
    if len(X) > IN_MEMORY:
        return WidthKernel(X, width, ard=False, fixed=True)
    return FixedKernel(rbf_block(X, X, np.array([width])))


class SparseBayesKernelBase(CallbackSupportMixin, SoundEstimator):
    """What both estimators have in common."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_options(self) -> Schedule:
        """Refuse options that contradict each other; return the schedule."""
        drawn = "ard=True" if self.ard else "sample_width=True" if self.sample_width else None
        if drawn and (self.kernel != "rbf" or self.kernels is not None):
            raise ValueError(
                f"{drawn} needs kernel='rbf' and kernels=None, whose widths can be drawn; got "
                f"kernel={self.kernel!r} and kernels={self.kernels!r}."
            )
        if self.kernels is not None and self.kernel != "rbf":
            raise ValueError(
                f"Give kernels or kernel, not both; got kernel={self.kernel!r} beside kernels."
            )
        if isinstance(self.kernels, str) and self.kernels == "precomputed":
            raise ValueError(
                "kernels='precomputed' is not supported: give kernel='precomputed' with one "
                "matrix, or kernels as a list that KernelStack takes."
            )
        return check_schedule(self.n_iter, self.burn_in, self.thin)

    def _kernel_sources(self, X: Floats) -> Callable[[], FixedKernel]:
        """Settle the kernel on the training rows; return what makes a source for a chain."""
        self._X_fit = X
        self._stack = None
        if self.kernels is not None:
            self._stack = KernelStack(self.kernels)
            stack = self._stack.fit_transform(X)
            self._mean_diagonal = float(np.mean(np.diagonal(stack, axis1=1, axis2=2)))
            return partial(WeightedKernels, stack, self.spike, *SLAB)
        if self.kernel == "rbf":
            self._mean_diagonal = 1.0
            self.width_ = mean_distance(X) if self.width == "mean" else float(self.width)
            if self.ard or self.sample_width:
                return partial(WidthKernel, X, self.width_, ard=self.ard)
            source = fixed_rbf(X, self.width_)
        else:
            K = X if self.kernel == "precomputed" else self._called_kernel(X, X)
            if K.shape != (len(X), len(X)):
                raise ValueError(
                    f"The kernel matrix of {len(X)} samples must be square; got shape {K.shape}."
                )
            gap = float(np.abs(K - K.T).max())
            if gap > 1e-8 * max(1.0, float(np.abs(K).max())):
                i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
                raise ValueError(
                    f"The kernel matrix must be symmetric; entries ({i}, {j}) and ({j}, {i}) are "
                    f"{K[i, j]:.6g} and {K[j, i]:.6g}."
                )
            if np.diagonal(K).min() < 0.0 or not np.diagonal(K).max() > 0.0:
                raise ValueError(
                    "The kernel matrix must be positive semi-definite; its diagonal lies between "
                    f"{np.diagonal(K).min():.6g} and {np.diagonal(K).max():.6g}."
                )
            source = FixedKernel(0.5 * (K + K.T))
            self._mean_diagonal = source.mean_diagonal
        return lambda: source

    def _called_kernel(self, A: Any, B: Any) -> Floats:
        K = np.asarray(self.kernel(A, B), dtype=np.float64)
        if K.shape != (len(A), len(B)) or not np.all(np.isfinite(K)):
            raise ValueError(
                f"kernel must return finite numbers of shape {(len(A), len(B))}; got shape "
                f"{K.shape}."
            )
        return K

    def _problem(self, X: Floats, schedule: Schedule, **parts: Any) -> Problem:
        n = len(X)
        return Problem(
            self._kernel_sources(X),
            schedule=schedule,
            model=self.model,
            k_max=n if self.model == "bgkm" else check_k_max(self.k_max, n),
            n_moves=max(1, n // 50) if self.n_moves == "auto" else int(self.n_moves),
            jump=self.method == "reversible-jump",
            **parts,
        )

    def _priors(self, **more: float) -> Priors:
        names = ("a_g", "b_g", "a_eta", "b_eta", "a_alpha", "b_alpha")
        return Priors(**{name: float(getattr(self, name)) for name in names}, **more)

    def _run(self, problem: Problem, X: Any, y: Any) -> None:
        """Run the chains and store what they saw."""
        alone = effective_n_jobs(self.n_jobs) == 1 or self.n_chains == 1
        every = max(1, problem.schedule.n_iter // STEPS_SHOWN)
        total = self.n_chains * problem.schedule.n_iter // every if alone else self.n_chains
        with FitProgress(self, total, X, y, step_name="sweeps") as progress:
            count = 0

            def step() -> None:
                nonlocal count
                count += 1
                if count % every == 0:
                    progress.step()

            chains = run_chains(
                partial(one_chain, problem=problem, step=step if alone else None),
                self.n_chains,
                random_state=self.random_state,
                n_jobs=None if alone else self.n_jobs,
                finished=None if alone else progress.step,
            )
        self._store(chains, problem)

    def _store(self, chains: list[ChainDraws], problem: Problem) -> None:
        n, schedule = len(self._X_fit), problem.schedule
        self._draws: list[Draw] = [draw for chain in chains for draw in chain.draws]
        traces = {
            name: np.array([chain.traces[name] for chain in chains]) for name in chains[0].traces
        }
        parameters = traces.pop("parameters")
        if parameters.shape[-1]:
            name = "weight" if self.kernels is not None else "width"
            traces[name] = parameters if self.ard or name == "weight" else parameters[..., 0]
        elif self.kernel == "rbf":
            traces["width"] = np.full(traces["g"].shape, self.width_)
        if not problem.noise:
            del traces["noise_variance"]
        late = {name: trace[:, schedule.burn_in :] for name, trace in traces.items()}
        enough = schedule.n_iter - schedule.burn_in >= 4
        self.rhat_ = {name: split_rhat(t) if enough else np.nan for name, t in late.items()}
        self.ess_ = {
            name: effective_sample_size(t) if enough else np.nan for name, t in late.items()
        }
        one = self.n_chains == 1
        self.traces_ = {name: trace[0] if one else trace for name, trace in traces.items()}
        proposed = np.sum([chain.proposed for chain in chains], axis=0)
        accepted = np.sum([chain.accepted for chain in chains], axis=0)
        self.acceptance_ = {
            name: float(a / p) if p else np.nan
            for name, a, p in zip(("birth", "death", "swap"), accepted, proposed)
        }
        for name in chains[0].rates:
            self.acceptance_[name] = float(np.mean([chain.rates[name] for chain in chains]))
        self._store_inclusion(n, len(chains[0].draws))
        self._store_kernel(parameters[:, schedule.burn_in :])
        self._warn(late["n_active"], problem)

    def to_arviz(self) -> Any:
        """Return the traces of the chains as arviz keeps them; needs the package `arviz`.

        Returns
        -------
        data : arviz.InferenceData
            Its posterior group holds every entry of `traces_`.
        """
        check_is_fitted(self)
        one = np.ndim(self.traces_["n_active"]) == 1
        return as_arviz({name: t[None] if one else t for name, t in self.traces_.items()})

    def _store_inclusion(self, n: int, n_kept: int) -> None:
        inside = np.zeros((len(self._draws), n))
        for row, draw in zip(inside, self._draws):
            row[draw.indices] = 1.0
        self.inclusion_probs_ = inside.mean(axis=0)
        per_chain = inside.reshape(self.n_chains, n_kept, n)
        self.inclusion_errors_ = monte_carlo_error(per_chain) if n_kept >= 4 else np.full(n, np.nan)

    def _store_kernel(self, parameters: Floats) -> None:
        flat = np.concatenate(list(parameters))
        if self.kernels is not None:
            self.weights_ = np.square(flat).mean(axis=0)
            self.kernel_probs_ = (flat > 0.0).mean(axis=0)
        elif self.ard:
            self.width_ = flat.mean(axis=0)
            self.relevance_ = (1.0 / np.square(flat)).mean(axis=0)
        elif self.sample_width:
            self.width_ = float(flat.mean())

    def _warn(self, sizes: Floats, problem: Problem) -> None:
        full = float(np.mean(sizes == problem.k_max))
        if self.model != "bgkm" and problem.k_max < len(self._X_fit) and full > AT_THE_LIMIT:
            warnings.warn(
                f"{100 * full:.0f} % of the draws have k_max={problem.k_max} active vectors: the "
                "limit cuts the posterior off. Raise k_max.",
                UserWarning,
                stacklevel=4,
            )
        worst = max(float(np.nanmax(self.rhat_[name])) for name in ("n_active", "loglik"))
        if worst > RHAT_LIMIT:
            warnings.warn(
                f"The chains have not come to rest: R-hat is {worst:.3f}, where at most "
                f"{RHAT_LIMIT} is wanted. Raise n_iter and burn_in, or n_moves.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # --- prediction ---------------------------------------------------------------------------

    def _query(self, X: Any) -> Floats:
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X

    def _matrix(self, X: Floats) -> Floats | None:
        """Return kernel values with all training samples, where no draw changes them."""
        if self._stack is not None or self.ard or self.sample_width:
            return None
        if self.kernel == "precomputed":
            return X
        if self.kernel == "rbf":
            return rbf_block(X, self._X_fit, np.array([self.width_]))
        return self._called_kernel(X, self._X_fit)

    def _cross(self, rows: Any, draw: Draw) -> Floats:
        """Return kernel values of rows with the active vectors of a draw."""
        if self._stack is not None:
            return np.einsum("rln,l->rn", rows[:, :, draw.indices], np.square(draw.parameters))
        return rbf_block(rows, self._X_fit[draw.indices], draw.parameters)

    def _train_rows(self) -> Callable[[Draw], Floats]:
        """Return what gives the training kernel's rows of a draw's active vectors."""
        if self._stack is not None:
            stack = self._stack.transform(self._X_fit)
            return lambda draw: np.tensordot(np.square(draw.parameters), stack[:, draw.indices], 1)
        K = self._X_fit if self.kernel == "precomputed" else None
        if K is None and len(self._X_fit) <= IN_MEMORY:
            K = self._matrix(self._X_fit)
        if K is not None:
            return lambda draw: K[draw.indices]

        def rows(draw: Draw) -> Floats:
            widths = draw.parameters if len(draw.parameters) else np.array([self.width_])
            return rbf_block(self._X_fit[draw.indices], self._X_fit, widths)

        return rows

    def _scores(self, X: Any, n_classes: int = 1) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield rows, their scores by draw and the variances that noise adds to them."""
        X = self._query(X)
        draws = self._draws
        train = self._train_rows() if self.model == "sgpc" else None
        for rows in chunks_of_rows(len(X), len(draws), n_classes):
            part: Any = X[rows]
            K = self._matrix(part)
            cross: Any = self._cross
            if K is not None:
                part, cross = K, lambda block, draw: block[:, draw.indices]
                scores = scores_of_matrix(K, draws)
            else:
                if self._stack is not None:
                    part = np.moveaxis(self._stack.transform(part), 0, 1)
                scores = scores_of_draws(cross, part, draws)
            if train is None:
                noise = np.array([1.0 / draw.tau for draw in draws])
                variances = np.broadcast_to(noise, scores.shape[:2])
            else:
                jitter = JITTER * self._mean_diagonal
                variances = process_variances(cross, train, part, draws, jitter)
            yield rows, scores, variances
