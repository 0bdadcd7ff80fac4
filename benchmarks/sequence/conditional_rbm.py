"""CRBM beside scikit-learn's BernoulliRBM and statsmodels' VAR; FCRBM on a card beside two cores.

``python -m benchmarks sequence/conditional_rbm`` runs all contests; those of the card need torch
with CUDA and ``SCIPY_ARRAY_API=1``, and are left out otherwise. ``python -m
benchmarks.sequence.conditional_rbm`` prints the times of the card alone.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.accelerator import THREADS, both, cannot_run, on
from benchmarks.harness import Contest
from octavo.sequence import CRBM, FCRBM, GaussianBernoulliRBM, VectorAutoRegression

FRAMES, CHANNELS, HIDDEN = 2_813, 62, 200
EPOCHS = 10
CARD_FRAMES, CARD_EPOCHS = 30_000, 10


def walk(n: int = FRAMES, d: int = CHANNELS, seed: int = 0) -> np.ndarray:
    """Return smooth correlated channels, single precision."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None]
    waves = np.sin(t * rng.uniform(0.05, 0.3, 12) + rng.uniform(0, 6, 12))
    return (waves @ rng.normal(size=(12, d)) + 0.1 * rng.normal(size=(n, d))).astype(np.float32)


def octavo_epochs(X: Any) -> Any:
    return CRBM(HIDDEN, n_epochs=EPOCHS, random_state=0).fit(X).W_


def binary() -> np.ndarray:
    return (walk() > 0).astype(np.float32)


def octavo_rbm(X: Any) -> Any:
    model = GaussianBernoulliRBM(
        HIDDEN, "binary", learning_rate=0.05, n_epochs=EPOCHS, random_state=0
    )
    return model.fit(X).score_samples(X, exact=False)


def sklearn_rbm(X: Any) -> Any:
    from sklearn.neural_network import BernoulliRBM

    model = BernoulliRBM(HIDDEN, learning_rate=0.05, batch_size=100, n_iter=EPOCHS, random_state=0)
    return model.fit(X).score_samples(X)


def octavo_var(X: Any) -> Any:
    model = VectorAutoRegression(3).fit(X)
    return np.vstack([model.intercept_, model.coef_])


def statsmodels_var(X: Any) -> Any:
    from statsmodels.tsa.api import VAR

    return np.asarray(VAR(X).fit(3, trend="c").params)


def same_coefficients(_: Any, answers: dict[str, Any]) -> str:
    ours, theirs = (np.asarray(answer) for answer in answers.values())
    gap = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    assert gap < 1e-8, gap
    return f"Coefficients differ by {gap:.1e} of the largest."


def generator() -> tuple[Any, Any]:
    X = walk()
    return CRBM(HIDDEN, n_epochs=2, random_state=0).fit(X), X[:3]


def octavo_frames(data: tuple[Any, Any]) -> Any:
    model, start = data
    return model.sample(1_000, start, gibbs=30, random_state=0)


CONTESTS = [
    Contest(
        name="epochs",
        problem="CRBM, 62 channels, 200 hidden units, order 3, 2,813 frames, an epoch of CD-1",
        setup=walk,
        solvers={"octavo": octavo_epochs},
        work={"octavo": EPOCHS},
        unit="epoch",
        target="Aim: 0.05 s an epoch on two cores.",
        limit="BLAS: products of frames, history and hidden units",
        flops=2 * 2_813 * (62 * 200 * 5 + 186 * 62 * 2 + 186 * 200 * 2),
    ),
    Contest(
        name="static",
        problem="Binary RBM, 62 units, 200 hidden units, 2,813 rows, an epoch (octavo CD-1, "
        "scikit-learn persistent CD)",
        setup=binary,
        solvers={"octavo": octavo_rbm, "scikit-learn": sklearn_rbm},
        work={"octavo": EPOCHS, "scikit-learn": EPOCHS},
        unit="epoch",
        target="Aim: at most scikit-learn's time.",
        limit="BLAS: products of rows and hidden units",
        flops=2 * 2_813 * 62 * 200 * 5,
    ),
    Contest(
        name="var",
        problem="Vector autoregression of order 3, 62 channels, 2,813 frames",
        setup=lambda: walk().astype(np.float64),
        solvers={"octavo": octavo_var, "statsmodels": statsmodels_var},
        agree=same_coefficients,
        target="Aim: at most statsmodels' time.",
        limit="BLAS: normal equations of 187 columns",
        flops=2 * 2_813 * 187**2,
    ),
    Contest(
        name="generation",
        problem="CRBM, 62 channels, 200 hidden units, 1,000 frames of 30 Gibbs steps",
        setup=generator,
        solvers={"octavo": octavo_frames},
        work={"octavo": 1_000},
        unit="frame",
        target="Aim: at least 1,000 frames a second.",
        limit="exponentials and random numbers: 30 Gibbs steps a frame, in order",
    ),
]


# --- the card -------------------------------------------------------------------------------------


def styled() -> dict[str, Any]:
    return {"X": walk(CARD_FRAMES), "y": np.arange(CARD_FRAMES) % 10}


def factored_epochs(data: dict[str, Any]) -> Any:
    y = data["y"]
    # At the paper's rates, which are the defaults, these smooth channels diverge.
    rates = {"learning_rate": 1e-3, "ar_learning_rate": 1e-4}
    model = FCRBM(600, 200, 100, 12, n_epochs=CARD_EPOCHS, random_state=0, **rates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data["X"], y)
    assert len(model.history_) == CARD_EPOCHS, "learning diverged, so epochs are missing"
    return model.Wv_


if not cannot_run():
    CONTESTS.append(
        Contest(
            name="card",
            problem="FCRBM, 600 hidden units, 200 factors, 100 features, order 12, 62 channels, "
            "30,000 frames, an epoch of CD-1 in single precision",
            setup=both(styled, None),
            solvers={
                "one NVIDIA card": on("cuda", factored_epochs),
                f"{THREADS} cores": on("cpu", factored_epochs),
            },
            work={"one NVIDIA card": CARD_EPOCHS, f"{THREADS} cores": CARD_EPOCHS},
            unit="epoch",
            repeats=3,
            target="Aim: under 1 s, and at least 10 times the cores.",
            limit="the card's products of matrices",
        )
    )


def main() -> None:
    """Print the times of one epoch on the card and on the cores."""
    if why := cannot_run():
        print(why)
        return
    data = both(styled, None)()
    for device in ("cuda", "cpu"):
        run, times = on(device, factored_epochs), []
        for _ in range(3 if device == "cuda" else 1):
            start = time.perf_counter()
            run(data)
            times.append((time.perf_counter() - start) / CARD_EPOCHS)
        print(device, [round(t, 4) for t in times], "s an epoch")


if __name__ == "__main__":
    main()
