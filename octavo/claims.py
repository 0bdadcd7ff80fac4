"""Claims of a paper as data, and the verdict on each.

A claim says what the paper states and where, the published figure, what would count as
reproducing it (an `Expectation`, whose tolerance carries its justification) and a function
that measures ours. Seeds are listed with the claim, before anything is run. The rules of judgement
are written for readers in ``docs/claims.md``; `judge` is where they are code.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any, Literal, TypeVar, get_args

Verdict = Literal["reproduced", "refuted", "undecided", "not measurable here", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Kind = Literal["theorem", "figure", "ordering", "speed", "own"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Measured = TypeVar("Measured", bound=Callable[..., float])
# A t interval from fewer seeds says more about luck than about the method.
MIN_SEEDS = 5
# More seeds than this are no advice: the mean lies on the bound.
MAX_SEEDS = 100_000
# Where an object happens to lie in memory is no part of a claim.
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# An effect that is a smaller share of the published one is reported as "direction only".
DIRECTION_SHARE = 0.2


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


def leave_words(measure: Measured, words: dict[str, Any]) -> Measured:
    """Leave words with a measurement, for the claim that is declared in the decorator above."""
    left = vars(measure).setdefault("words_of_claim", {})
    for word in left.keys() & words.keys():
        raise TypeError(f"The claim on `{measure.__name__}` has two values of `{word}`.")
    left.update(words)
    return measure


def take_words(measure: Callable[..., float]) -> dict[str, Any]:
    """Return the words that were left with a measurement, and clear them."""
    left: dict[str, Any] = vars(measure).pop("words_of_claim", {})
    return left


@dataclass(frozen=True)
class Words:
    """Words of a claim, as a decorator below it; see `stated` and `measured`."""

    words: dict[str, Any]

    def __call__(self, measure: Measured) -> Measured:
        """Give the words to the claim that is declared in the decorator above."""
        return leave_words(measure, self.words)


def stated(published: Any = None, where: Any = None, **words: Any) -> Words:
    """Return the published figure, its place and its unit, for the claim declared above.

    ``@stated(46.5, "Table 4", unit="times")`` stands below ``@table.claim("GMS is faster")``; what
    is left out is the section's. See `Claim` for the other words.
    """
    spoken = {"published": published, "where": where}
    return Words({word: value for word, value in spoken.items() if value is not None} | words)


def measured(**words: Any) -> Words:
    """Return how ours is measured: seeds, a stand-in, the unit and other words of `Claim`."""
    return Words(words)


@dataclass(frozen=True)
class Expectation:
    """What would count as reproducing a claim; see `within`, `at_least`, `at_most`, `holds`.

    It is a word of the claim (``expect=``), or a decorator below it.

    Parameters
    ----------
    low, high : float
        The measured value must lie in this closed interval.
    because : str
        Why the interval is that wide.
    text : str
        The interval in words.
    every_seed : bool
        Every seed must lie inside, and one that does not refutes: a statement that is true or
        false. Otherwise the whole 95 % interval of the mean must lie inside to reproduce the
        claim and wholly outside to refute it.
    around_published : bool
        The interval is given around the published figure and is not placed yet.
    """

    low: float
    high: float
    because: str
    text: str
    every_seed: bool = False
    around_published: bool = False

    def __call__(self, measure: Measured) -> Measured:
        """Expect this of the claim that is declared in the decorator above."""
        return leave_words(measure, {"expect": self})

    def placed(self, published: float | str) -> Expectation:
        """Return the expectation with its interval around the published figure."""
        if not self.around_published:
            return self
        if isinstance(published, str):
            raise TypeError(
                "An expectation without a bound of its own needs a published number; the claim has "
                f"{published!r}."
            )
        return replace(
            self,
            low=published + self.low,
            high=published + self.high,
            text=self.text.format(published=published),
            around_published=False,
        )

    def judge(self, low: float, high: float) -> Verdict:
        """Return the verdict on an interval."""
        if self.low <= low and high <= self.high:
            return "reproduced"
        if high < self.low or low > self.high:
            return "refuted"
        return "undecided"


def within(tolerance: float, of: float | None = None, *, because: str) -> Expectation:
    """Expect the value within `tolerance` of `of`, which is the published figure by default."""
    if of is None:
        text = f"{{published:g}} ± {tolerance:g}"
        return Expectation(-tolerance, tolerance, because, text, around_published=True)
    return Expectation(of - tolerance, of + tolerance, because, f"{of:g} ± {tolerance:g}")


def at_least(bound: float | None = None, *, because: str) -> Expectation:
    """Expect no less than `bound`, which is the published figure by default."""
    if bound is None:
        return Expectation(0.0, math.inf, because, "≥ {published:g}", around_published=True)
    return Expectation(bound, math.inf, because, f"≥ {bound:g}")


def at_most(bound: float | None = None, *, because: str) -> Expectation:
    """Expect no more than `bound`, which is the published figure by default."""
    if bound is None:
        return Expectation(-math.inf, 0.0, because, "≤ {published:g}", around_published=True)
    return Expectation(-math.inf, bound, because, f"≤ {bound:g}")


def holds(*, because: str) -> Expectation:
    """Expect a statement to be true: the measurement returns 1.0 if it is, else 0.0."""
    return Expectation(1.0, 1.0, because, "holds", every_seed=True)


@dataclass(frozen=True)
class Claim:
    """One statement of a paper and how ours is measured.

    Parameters
    ----------
    name : str
        Its name on the command line.
    method : str
        The method that it is about.
    says, where : str
        What the paper states, and the place.
    published : float or str
        The published figure.
    expect : Expectation
        What would count as reproducing it.
    measure : callable
        Takes a `Run` and returns a number.
    seeds, full_seeds : tuple of int
        The repetitions of the quick and of the full form.
    unit : str
        The unit of the number.
    kind : {"theorem", "figure", "ordering", "speed", "own"}
        What the verdict is about. A claim of its own, which the paper does not make, is shown
        apart and never counted.
    stand_in : str
        What replaces the paper's data, or a setting that its text leaves open, where something
        does: it can support a claim and not refute it.
    random : bool
        Whether the number depends on the seed. Fewer than `MIN_SEEDS` seeds, or seeds that never
        vary, then decide nothing.
    """

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
    kind: Kind = "figure"
    stand_in: str = ""
    random: bool = False

    def seeds_of(self, full: bool) -> tuple[int, ...]:
        """Return the repetitions of the full or of the quick form."""
        return self.full_seeds if full else self.seeds

    @property
    def fingerprint(self) -> str:
        """A hash of all that the verdict rests on: expectation, seeds and the measuring code."""
        e = self.expect
        parts: list[Any] = [self.name, self.says, self.where, self.published]
        parts += [e.low, e.high, e.every_seed]
        parts += [self.seeds, self.full_seeds, self.kind, self.stand_in, self.random]
        parts += sorted(set(_sources(self.measure)))  # Pythons differ in the order of names
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _sources(function: Any, seen: set[str] | None = None) -> Iterator[str]:
    """Yield the source of a function and of what it uses from its own module, once each."""
    seen = set() if seen is None else seen
    function = inspect.unwrap(function)
    if not isinstance(function, FunctionType) or function.__qualname__ in seen:
        return
    seen.add(function.__qualname__)
    try:
        yield inspect.getsource(function)
    except OSError:  # typed at a prompt
        yield repr(function.__code__.co_code)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, FunctionType):
            yield from _sources(cell.cell_contents, seen)
        else:
            yield ADDRESS.sub("", repr(cell.cell_contents))
    for name in _names(function.__code__):
        used: Any = function.__globals__.get(name)
        if callable(used) and inspect.unwrap(used).__module__ == function.__module__:
            yield from _sources(used, seen)
        elif isinstance(used, (int, float, str, tuple, dict)):
            yield f"{name}={ADDRESS.sub('', repr(used))}"
            for part in used.values() if isinstance(used, dict) else ():
                yield from _sources(part, seen)


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
    def verdict_text(self) -> str:
        """The verdict, marked where the claim is octavo's own and so is not counted."""
        return f"{self.verdict} (own claim)" if self.claim.kind == "own" else self.verdict

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
            "kind": self.claim.kind,
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
            "fingerprint": self.claim.fingerprint,
            "seconds": round(self.seconds, 3),
        }


def mean_interval(values: list[float]) -> tuple[float, float, float]:
    """Return the lower end, the mean and the upper end of a 95 % t interval."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1 or not math.isfinite(mean):
        return mean, mean, mean
    from scipy.special import stdtrit

    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    half = float(stdtrit(n - 1, 0.975)) * spread
    return mean - half, mean, mean + half


def seeds_that_decide(expect: Expectation, values: list[float]) -> int | None:
    """Return how many seeds would decide, were mean and spread to stay; None if too many."""
    n, (low, mean, high) = len(values), mean_interval(values)
    bounds = [b for b in (expect.low, expect.high) if math.isfinite(b)]
    distance = min((abs(mean - b) for b in bounds), default=0.0)
    half = (high - low) / 2
    if n < 2 or distance == 0.0:
        return None
    from scipy.special import stdtrit

    # The half width is t(n - 1) s / √n; for many seeds t is 1.96.
    deviation = half * math.sqrt(n) / float(stdtrit(n - 1, 0.975))
    needed = (1.96 * deviation / distance) ** 2 + 2
    return max(math.ceil(needed), MIN_SEEDS) if needed < MAX_SEEDS else None


def judge(claim: Claim, values: list[float]) -> tuple[Verdict, tuple[float, float, float], str]:
    """Return the verdict on the measured values, their interval, and why."""
    expect, n = claim.expect, len(values)
    ends = mean_interval(values)
    low, mean, high = ends
    statement = expect.every_seed or claim.kind == "theorem"
    # A statement is true or false: what is judged is the range of the seeds.
    verdict = expect.judge(min(values), max(values)) if statement else expect.judge(low, high)
    verdict = "refuted" if statement and verdict == "undecided" else verdict
    wanted = f"expected {expect.text} ({expect.because})"
    if claim.random and not statement:
        if n < MIN_SEEDS:
            return "undecided", ends, f"{n} seeds decide nothing, {MIN_SEEDS} are needed; {wanted}"
        if low == high and math.isfinite(mean):
            return "undecided", ends, f"the {n} seeds never vary, so they are no sample; {wanted}"
    if verdict == "undecided":
        enough = seeds_that_decide(expect, values)
        more = f"; about {enough} seeds would decide" if enough else ""
        why = f"the 95 % interval [{low:.4g}, {high:.4g}] over {n} seeds straddles {expect.text}"
        return verdict, ends, why + more
    if verdict == "refuted" and claim.stand_in:
        return "undecided", ends, f"a stand-in does not refute; {wanted}"
    if verdict == "refuted":
        return verdict, ends, wanted
    published = claim.published
    if claim.kind == "ordering" and not isinstance(published, str) and not expect.every_seed:
        share = mean / published if published else 1.0
        if share < DIRECTION_SHARE:
            return verdict, ends, f"direction only: {share:.0%} of the published effect"
    return verdict, ends, ""


def _span(seeds: tuple[int, ...]) -> str:
    """Return "0 to 49" for seeds in a row, and a list for others."""
    if len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


@dataclass(frozen=True)
class SeedOutcome:
    """What one repetition gave: a number, or why there is none.

    Parameters
    ----------
    value : float or None
        The number.
    notes : tuple of str
        Its evidence.
    seconds : float
        How long it took.
    problem : {"", "not measurable here", "failed"}
        The verdict where there is no number.
    reason : str
        Why there is none.
    """

    value: float | None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    problem: Verdict | Literal[""] = ""
    reason: str = ""


def run_seed(claim: Claim, seed: int, *, full: bool = False) -> SeedOutcome:
    """Measure a claim once.

    A missing data set becomes "not measurable here", as `NotMeasurable` does; any other
    exception, and NaN, become "failed".
    """
    from octavo.data.loaders.datasets import DatasetNotFoundError  # numpy need not load with octavo

    run, start = Run(seed, full), time.perf_counter()
    value: float | None = None
    problem: Verdict | Literal[""] = ""
    reason = ""
    try:
        value = float(claim.measure(run))
    except (NotMeasurable, DatasetNotFoundError) as error:
        problem, reason = "not measurable here", str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        problem = "failed"
        reason = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
    if value is not None and math.isnan(value):
        value, problem, reason = None, "failed", f"the measurement returned NaN for seed {seed}"
    return SeedOutcome(value, tuple(run.notes), time.perf_counter() - start, problem, reason)


def judged(claim: Claim, outcomes: Sequence[SeedOutcome], *, full: bool = False) -> Result:
    """Return the result of a claim from the outcomes of its seeds, in their order."""
    seeds = claim.seeds_of(full)
    stand_in = [f"stand-in: {claim.stand_in}"] if claim.stand_in else []
    notes = [*stand_in, *dict.fromkeys(note for one in outcomes for note in one.notes)]
    seconds = math.fsum(one.seconds for one in outcomes)
    for one in outcomes:
        if one.problem:
            evidence = "; ".join([one.reason, *notes])
            return Result(claim, one.problem, None, None, evidence, seconds)
    values = [one.value for one in outcomes if one.value is not None]
    verdict, (low, mean, high), extra = judge(claim, values)
    listed = [f"seeds {_span(seeds)}"] if len(values) > 1 else []
    evidence = "; ".join([*([extra] if extra else []), *notes, *listed])
    return Result(claim, verdict, mean, (low, high), evidence, seconds)


def run_claim(claim: Claim, *, full: bool = False) -> Result:
    """Measure a claim over its seeds, up to the first that gives no number, and judge it."""
    outcomes: list[SeedOutcome] = []
    for seed in claim.seeds_of(full):
        outcomes.append(run_seed(claim, seed, full=full))
        if outcomes[-1].problem:
            break
    return judged(claim, outcomes, full=full)
