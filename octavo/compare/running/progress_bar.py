"""The bar at the command line: folds done, the best method so far, the time left."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from octavo._outside_text import visible


def clock(seconds: float | None) -> str:
    """Return a duration as people say it."""
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class ComparisonBar:
    """A watcher that draws a bar while it is entered.

    Parameters
    ----------
    console : Console, optional
        Where to; by default standard error.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._bar = Progress(
            TextColumn("folds"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[best]}"),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._task: Any = None

    def __enter__(self) -> ComparisonBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._task is not None:  # a refusal comes before the first fold
            self._bar.stop()

    def begin(self, total: int, done: int) -> None:
        """Show the bar."""
        self._bar.start()
        self._task = self._bar.add_task("", total=total, completed=done, best="", left="")

    def grow(self, total: int) -> None:
        """Make room for more folds."""
        self._bar.update(self._task, total=total)

    def update(self, done: int, best: tuple[str, float] | None, left: float | None) -> None:
        """Move it."""
        text = (
            ""
            if best is None
            else f"best so far: [bold]{escape(visible(best[0]))}[/] {best[1]:.4g}"
        )
        ahead = "" if left is None else f"about {clock(left)} left"
        self._bar.update(self._task, completed=done, best=text, left=ahead)
