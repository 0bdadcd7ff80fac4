"""Anechoic demixing of images on an accelerator beside two cores and the compiled kernels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.accelerator import cannot_run, contest, hardware
from octavo.decomposition import AnechoicMixture

__all__ = ["CONTESTS", "cannot_run", "hardware"]

CHANNELS, SIDE, SOURCES, SWEEPS = 20, 256, 3, 30


def make_images() -> dict[str, Any]:
    """Return sums of shifted smooth pictures with a little noise, so that no sweep is the last."""
    rng = np.random.default_rng(0)
    k = np.fft.fftfreq(SIDE, 1.0 / SIDE)
    smooth = np.exp(-(k[:, None] ** 2 + k**2) / (2.0 * 20.0**2))
    sources = np.fft.ifft2(np.fft.fft2(rng.standard_normal((SOURCES, SIDE, SIDE))) * smooth).real
    X = 0.01 * sources.std() * rng.standard_normal((CHANNELS, SIDE, SIDE))
    for i in range(CHANNELS):
        for source in sources:
            X[i] += rng.uniform(0.5, 2.0) * np.roll(source, rng.integers(SIDE, size=2), (0, 1))
    return {"X": X}


def demixed(data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AnechoicMixture(SOURCES, n_init=1, max_iter=SWEEPS, tol=0.0, random_state=0)
        return model.fit(data["X"]).reconstruct()


def by_kernels(data: Any) -> Any:
    return demixed({"X": data["cpu"]["X"].numpy()})


on_card = contest(
    "image-demixing",
    f"{CHANNELS} images of {SIDE} x {SIDE}, {SOURCES} sources, {SWEEPS} sweeps, double precision",
    make_images,
    demixed,
    # a sweep reads or writes the spectra of all channels about 40 times a source
    moved=40.0 * SWEEPS * SOURCES * CHANNELS * SIDE * (SIDE // 2 + 1) * 16.0,
    tolerance=1e-6,
)
CONTESTS = [replace(on_card, solvers={**on_card.solvers, "compiled, one core": by_kernels})]
