"""Claims of a paper as data, and the verdict on each.

A claim says what the paper states and where, the published figure, what would count as
reproducing it (an `Expectation`, whose tolerance carries its justification) and a function
that measures ours. Seeds are listed with the claim, before anything is run.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["reproduced", "refuted", "not measurable here", "failed"]


class NotMeasurable(Exception):
    """Raised by a measurement that cannot be made here; the message says why."""


@dataclass
class Run:
    """What a measurement is told, and where it leaves its evidence.

    Parameters
    ----------
    seed : int
        The seed of this repetition.
    full : bool
        Whether to measure at the paper's size instead of in seconds.
    """

    seed: int
    full: bool
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a line of evidence that is printed beside the verdict."""
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True)
class Expectation:
    """What would count as reproducing a claim; see `within`, `at_least`, `at_most`, `holds`.

    Parameters
    ----------
    low, high : float
        The measured value must lie in this closed interval.
    because : str
        Why the interval is that wide.
    text : str
        The interval in words.
    by_mean : bool
        Judge the mean over seeds alone. Otherwise the whole 95 % interval of the mean must
        lie inside to reproduce the claim and outside to refute it.
    """

    low: float
    high: float
    because: str
    text: str
    by_mean: bool = False

    def judge(self, low: float, mean: float, high: float) -> Verdict:
        """Return the verdict on a mean with its interval."""
        if self.by_mean:
            return "reproduced" if self.low <= mean <= self.high else "refuted"
        if self.low <= low and high <= self.high:
            return "reproduced"
        if high < self.low or low > self.high:
            return "refuted"
        return "not measurable here"


def within(tolerance: float, of: float, *, because: str) -> Expectation:
    """Expect the mean within `tolerance` of the published value."""
    text = f"{of:g} ± {tolerance:g}"
    return Expectation(of - tolerance, of + tolerance, because, text, by_mean=True)


def at_least(bound: float, *, because: str) -> Expectation:
    """Expect no less than `bound`."""
    return Expectation(bound, math.inf, because, f"≥ {bound:g}")


def at_most(bound: float, *, because: str) -> Expectation:
    """Expect no more than `bound`."""
    return Expectation(-math.inf, bound, because, f"≤ {bound:g}")


def holds(*, because: str) -> Expectation:
    """Expect a statement to be true: the measurement returns 1.0 if it is, else 0.0."""
    return Expectation(1.0, 1.0, because, "holds", by_mean=True)


@dataclass(frozen=True)
class Claim:
    """One statement of a paper and how ours is measured."""

    name: str
    method: str
    says: str
    where: str
    published: float | str
    expect: Expectation
    measure: Callable[[Run], float]
    seeds: tuple[int, ...]
    full_seeds: tuple[int, ...]
    unit: str


@dataclass(frozen=True)
class Result:
    """A claim after it was run."""

    claim: Claim
    verdict: Verdict
    measured: float | None
    interval: tuple[float, float] | None
    evidence: str
    seconds: float

    @property
    def measured_text(self) -> str:
        """The measured value with its 95 % interval where several seeds were run."""
        if self.measured is None:
            return "-"
        if self.claim.expect.text == "holds":
            return "holds" if self.measured == 1.0 else f"holds in {self.measured:.0%}"
        text = f"{self.measured:.4g}"
        if self.interval is not None and self.interval[0] != self.interval[1]:
            text += f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"
        return f"{text} {self.claim.unit}".strip()

    @property
    def published_text(self) -> str:
        """The published value as the paper prints it."""
        published = self.claim.published
        if isinstance(published, str):
            return published
        return f"{published:g} {self.claim.unit}".strip()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "claim": self.claim.name,
            "method": self.claim.method,
            "says": self.claim.says,
            "where": self.claim.where,
            "published": self.published_text,
            "expected": self.claim.expect.text,
            "because": self.claim.expect.because,
            "measured": self.measured_text,
            "value": self.measured,
            "interval": self.interval,
            "verdict": self.verdict,
            "evidence": self.evidence,
            "seconds": round(self.seconds, 3),
        }


def mean_interval(values: list[float]) -> tuple[float, float, float]:
    """Return the lower end, the mean and the upper end of a 95 % t interval."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return mean, mean, mean
    from scipy.special import stdtrit

    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    half = float(stdtrit(n - 1, 0.975)) * spread
    return mean - half, mean, mean + half


def run_claim(claim: Claim, *, full: bool = False) -> Result:
    """Measure a claim over its seeds and judge it.

    A missing data set becomes the verdict "not measurable here", as `NotMeasurable` does;
    any other exception becomes "failed".
    """
    from octavo.data.loaders.datasets import DatasetNotFoundError  # numpy need not load with octavo

    seeds = claim.full_seeds if full else claim.seeds
    notes: list[str] = []
    values: list[float] = []
    start = time.perf_counter()

    def result(verdict: Verdict, mean: float | None, ends: Any, extra: str = "") -> Result:
        listed = [f"seeds {', '.join(map(str, seeds))}"] if len(values) > 1 else []
        evidence = "; ".join([*([extra] if extra else []), *notes, *listed])
        return Result(claim, verdict, mean, ends, evidence, time.perf_counter() - start)

    try:
        for seed in seeds:
            run = Run(seed, full)
            values.append(float(claim.measure(run)))
            notes += [note for note in run.notes if note not in notes]
    except (NotMeasurable, DatasetNotFoundError) as reason:
        return result("not measurable here", None, None, str(reason))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        return result("failed", None, None, message)
    if any(math.isnan(value) for value in values):
        return result("failed", None, None, f"the measurement returned NaN: {values}")
    low, mean, high = mean_interval(values)
    verdict = claim.expect.judge(low, mean, high)
    extra = ""
    if verdict == "refuted":
        extra = f"expected {claim.expect.text} ({claim.expect.because})"
    elif verdict == "not measurable here":
        extra = (
            f"the 95 % interval [{low:.4g}, {high:.4g}] over {len(values)} seeds straddles "
            f"the bound {claim.expect.text}"
        )
    return result(verdict, mean, (low, high), extra)
