"""Dense kernel algebra on an accelerator beside the same code on two cores.

The same functions get torch tensors, once on the host with two threads and once on the card.
Times on the card end with a synchronisation; the data lie there already, as they would in a
pipeline. What a step could reach is told in its own terms: multiplications and additions against
the card's peak in single precision outside the tensor cores, or bytes against its bandwidth.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Contest, duration

THREADS = 2
# Peaks of one NVIDIA H200 (data sheet): single precision without tensor cores, memory.
PEAK_FLOPS = 67e12
PEAK_BYTES = 4.8e12


def cannot_run() -> str:
    """Return why the contests cannot run here, or nothing."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        return "set SCIPY_ARRAY_API=1, which scikit-learn's array dispatch wants"
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return "" if torch.cuda.is_available() else "torch sees no accelerator"


def hardware() -> str:
    """Return what the page says beside the host."""
    import torch

    return f"{torch.cuda.get_device_name()}; torch {torch.__version__}; {THREADS} host threads"


def rows(n: int, d: int, seed: int) -> np.ndarray:
    """Return n points around a hundred centres, single precision."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * rng.standard_normal((100, d))
    return (centres[rng.integers(0, 100, n)] + rng.standard_normal((n, d))).astype(np.float32)


def on(device: str, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the work on the data of one device, under dispatch and until it is done."""

    def run(data: Any) -> Any:
        import sklearn
        import torch

        torch.set_num_threads(THREADS)
        with sklearn.config_context(array_api_dispatch=True):
            answer = work(data[device])
        if device == "cuda":
            torch.cuda.synchronize()
        return answer

    return run


def both(
    make: Callable[[], dict[str, Any]], prepare: Callable[[dict[str, Any]], None] | None
) -> Callable[[], dict[str, dict[str, Any]]]:
    """Return a setup that puts the arrays on both devices and prepares what they need there."""

    def setup() -> dict[str, dict[str, Any]]:
        import sklearn
        import torch

        made = make()
        data: dict[str, dict[str, Any]] = {
            device: {
                name: torch.as_tensor(value, device=device)
                if isinstance(value, np.ndarray)
                else value
                for name, value in made.items()
            }
            for device in ("cuda", "cpu")
        }
        with sklearn.config_context(array_api_dispatch=True):
            for part in data.values() if prepare else ():
                prepare(part)
        return data

    return setup


def achieved(seconds: float, flops: float, moved: float) -> str:
    """Return the sentence on the card's limits for one step."""
    parts = [f"{duration(seconds, '')} on the card"]
    if flops:
        rate = flops / seconds
        parts.append(f"{rate / 1e12:.1f} TFLOP/s, {rate / PEAK_FLOPS:.0%} of its peak")
    if moved:
        rate = moved / seconds
        parts.append(f"{rate / 1e12:.2f} TB/s, {rate / PEAK_BYTES:.0%} of its memory bandwidth")
    return "; ".join(parts) + "."


def timed_agreement(
    work: Callable[[Any], Any], flops: Any, moved: Any, tolerance: float
) -> Callable[[Any, dict[str, Any]], str]:
    """Return a check of both answers that also measures the card against its limits."""

    def agree(data: Any, answers: dict[str, Any]) -> str:
        import time

        card, host = (np.asarray(answers[name].cpu()) for name in ("H200", "2 cores"))
        gap = float(np.abs(card - host).max() / np.abs(host).max())
        assert gap <= tolerance, gap
        run, times = on("cuda", work), []
        for _ in range(10):
            start = time.perf_counter()
            run(data)
            times.append(time.perf_counter() - start)
        count = flops(data["cuda"]) if callable(flops) else flops
        carried = moved(data["cuda"]) if callable(moved) else moved
        told = achieved(float(np.median(times)), count, carried)
        return f"They differ by {gap:.1e} of the largest value; {told}"

    return agree


def contest(
    name: str,
    problem: str,
    make: Callable[[], dict[str, Any]],
    work: Callable[[Any], Any],
    *,
    prepare: Callable[[dict[str, Any]], None] | None = None,
    flops: float | Callable[[Any], float] = 0.0,
    moved: float | Callable[[Any], float] = 0.0,
    tolerance: float = 1e-3,
    repeats: int = 3,
) -> Contest:
    """Return one step as a contest of the card and two cores."""
    return Contest(
        name=name,
        problem=problem,
        setup=both(make, prepare),
        solvers={"H200": on("cuda", work), "2 cores": on("cpu", work)},
        agree=timed_agreement(work, flops, moved, tolerance),
        repeats=repeats,
        limit="the card's arithmetic or memory bandwidth: shares in the sentence on agreement",
    )


def gram_block(data: Any) -> Any:
    from octavo.engine.kernels.gram import Kernel

    return Kernel("rbf", 0.02).block(data["X"], data["Y"])


def landmark_potential(data: Any) -> Any:
    import torch

    from octavo.kernel import select_landmarks

    found = select_landmarks(
        data["X"], data["k"], "rbf", gamma=0.02, method="kmeans++", n_local=1, random_state=0
    )
    return torch.as_tensor([found.potential])


def nystroem_features(data: Any) -> Any:
    model = data["model"]
    return model.transform(data["X"])


def ensemble_values(data: Any) -> Any:
    return data["model"].base_decision_function(data["X"])


def ensemble_flops(data: Any) -> float:
    model = data["model"]
    pool = len(model.support_indices_)
    return 2.0 * N_PREDICT * pool * (10 + 2 + model.dual_coef_.shape[1])


def ensemble_bytes(data: Any) -> float:
    """Return what is moved: the product written, clip and exp, the check, the second product."""
    return 7 * 4.0 * N_PREDICT * len(data["model"].support_indices_)


def stopped_predictions(data: Any) -> Any:
    from octavo.kernel import KernelGDRegressor

    return KernelGDRegressor(kernel="rbf", gamma=0.02).fit(data["X"], data["y"]).predict(data["X"])


def make_smooth() -> dict[str, Any]:
    X = rows(N_STOPPED, 5, 0)
    noise = np.random.default_rng(1).standard_normal(N_STOPPED)
    return {"X": X, "y": (np.sin(X[:, 0]) + 0.3 * noise).astype(np.float32)}


def make_blocks() -> dict[str, Any]:
    return {"X": rows(N_BLOCK, D, 0), "Y": rows(N_BLOCK, D, 1)}


def make_landmarks() -> dict[str, Any]:
    return {"X": rows(N_LANDMARKS, D, 0), "k": K_LANDMARKS}


def make_features() -> dict[str, Any]:
    return {"X": rows(N_FEATURES, D, 0)}


def fit_features(data: dict[str, Any]) -> None:
    from octavo.kernel import NystroemLandmarks

    data["model"] = NystroemLandmarks(
        kernel="rbf", gamma=0.02, n_components=K_FEATURES, method="uniform", random_state=0
    ).fit(data["X"][:20_000])


def make_ensemble() -> dict[str, Any]:
    from octavo.svm import EnsembleSVC

    X = rows(N_PREDICT, 10, 0)
    y = (np.sin(X[:, 0]) + np.sin(X[:, 1]) > 0).astype(int)
    model = EnsembleSVC(
        n_estimators=50, max_samples=1000, gamma=0.1, batch_size=16_384, random_state=0
    )
    return {"X": X, "model": model.fit(X[:100_000], y[:100_000])}


N_BLOCK, D = 20_000, 50
N_LANDMARKS, K_LANDMARKS = 1_000_000, 1_000
N_FEATURES, K_FEATURES = 500_000, 1_000
N_PREDICT = 200_000
N_STOPPED = 4_000

CONTESTS = [
    contest(
        "gram",
        f"Gram block of {N_BLOCK:,} x {N_BLOCK:,} rows of {D} columns, Gaussian, float32",
        make_blocks,
        gram_block,
        flops=2.0 * N_BLOCK**2 * (D + 2),
        moved=5 * 4.0 * N_BLOCK**2,  # product written; clip and exp read and write it
    ),
    contest(
        "landmarks",
        f"{K_LANDMARKS:,} K-means++ landmarks of {N_LANDMARKS:,} x {D} rows, float32",
        make_landmarks,
        landmark_potential,
        moved=4.0 * N_LANDMARKS * D * K_LANDMARKS,  # if every landmark read all rows once
        tolerance=0.05,  # the draws part ways where a sum is rounded: two draws of one law
        repeats=1,
    ),
    contest(
        "features",
        f"Nyström features of {N_FEATURES:,} x {D} rows on {K_FEATURES:,} landmarks, float32",
        make_features,
        nystroem_features,
        prepare=fit_features,
        flops=2.0 * N_FEATURES * K_FEATURES * (D + 2 + K_FEATURES),
    ),
    contest(
        "ensemble",
        f"decision values of 50 machines for {N_PREDICT:,} x 10 rows, float32",
        make_ensemble,
        ensemble_values,
        flops=ensemble_flops,
        moved=ensemble_bytes,
    ),
    contest(
        "stopping",
        f"gradient descent in a kernel space, stopped by its rule, {N_STOPPED:,} rows, float32",
        make_smooth,
        stopped_predictions,
        # 9n³ for all eigenvectors of a symmetric matrix: the usual count of LAPACK's syevd
        flops=9.0 * N_STOPPED**3,
        tolerance=1e-2,  # the stopping time is a whole number and may fall on either side
        repeats=1,
    ),
]
