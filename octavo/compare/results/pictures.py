"""The pictures of a comparison, drawn from its folds: figures in, nothing shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from octavo._outside_text import literal
from octavo.compare.judging.importance import column_importance
from octavo.compare.methods.hazards import kaplan_meier
from octavo.compare.running.folds import outer_split
from octavo.compare.running.scores import rarer_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from octavo.compare.workbench import Comparison

INK, SOFT, GRID = "#1c2330", "#5a6675", "#e6eaf0"
BLUE, GREY, GREEN, RED = "#2457a6", "#8b96a5", "#1a7f4b", "#b3261e"
ORIGIN = {"octavo": BLUE, "scikit-learn": GREY, "baseline": GREY}
FONT: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "axes.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "semibold",
    "axes.titlelocation": "left",
    "figure.facecolor": "white",
}


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")


def draw_intervals(comparison: Comparison, *, narrow: bool = False) -> tuple[Figure, str]:
    """Draw each method's mean with its interval and its folds, and the time that a fold takes."""
    import matplotlib.pyplot as plt

    board = comparison.leaderboard
    height = 1.25 + 0.34 * len(board)
    if narrow:
        fig, ax = plt.subplots(figsize=(4.3, height), layout="constrained")
        clock = None
    else:
        fig, (ax, clock) = plt.subplots(
            1,
            2,
            figsize=(10, height),
            width_ratios=(5, 1.4),
            sharey=True,
            layout="constrained",
        )
    best = board[0]
    if np.isfinite(best.low):
        ax.axvspan(best.low, best.high, color=GREEN, alpha=0.08, lw=0)
    left = _left_end(board)
    for place, s in enumerate(board):
        colour = ORIGIN.get(s.origin, GREY)
        if s.mean < left:  # far behind: its place is told, not drawn
            ax.annotate(f"  {s.mean:.3g}", (left, place), va="center", color=SOFT, fontsize=9)
            ax.plot([left], [place], "<", color=colour, ms=6, clip_on=False)
        else:
            ax.plot(s.scores, [place] * len(s.scores), "o", ms=4, mfc="white", mec=colour, mew=0.9)
            if np.isfinite(s.low):
                ax.plot(
                    [s.low, s.high],
                    [place, place],
                    "-",
                    color=colour,
                    lw=2.2,
                    solid_capstyle="round",
                    zorder=1,
                )
            ax.plot([s.mean], [place], "o", ms=8, color=colour, zorder=3)
        if clock is not None:
            clock.plot([s.seconds], [place], "o", ms=6, color=colour)
    names = [shortened(s.name, 20) if narrow else s.name for s in board]
    ax.set_yticks(range(len(board)), [literal(name) for name in names])
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.invert_yaxis()
    highs = [x for s in board for x in (s.high, *s.scores) if np.isfinite(x)]
    pad = 0.02 * (max(highs) - left) or 0.05
    ax.set_xlim(left - pad, max(highs) + pad)
    ax.set_xlabel(literal(comparison.score_name))
    if clock is not None:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        clock.set_xscale("log")
        first, last = clock.get_xlim()
        near = last < 30 * first  # labels between powers of ten would overlap else
        clock.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if near else (1.0,), numticks=5))
        clock.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        clock.xaxis.set_minor_formatter(NullFormatter())
        clock.set_xlabel("seconds a fold")
        clock.tick_params(which="both", labelleft=False)
        clock.margins(x=0.2)
    else:
        ax.locator_params(axis="x", nbins=4)
    for axes in fig.axes:
        axes.grid(axis="x", color=GRID)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, which="both")
    _origin_legend(ax)
    return fig, (
        "Mean of the folds with its 95 % interval; rings are folds. The shade is the best method's "
        "interval."
    )


def shortened(name: str, length: int) -> str:
    """Return a name that fits a narrow page: its middle goes."""
    if len(name) <= length:
        return name
    return name[: length - 7] + "…" + name[-6:]


def _left_end(board: list[Any]) -> float:
    """Where the axis begins: a method far behind must not press the others together."""
    lows = [min(x for x in (s.low, *s.scores) if np.isfinite(x)) for s in board]
    gap = board[0].mean - float(np.median([s.mean for s in board]))
    spread = max(
        s.high - s.low if np.isfinite(s.low) else 0 for s in board[: (len(board) + 1) // 2]
    )
    near = [low for s, low in zip(board, lows) if s.mean >= board[0].mean - 4 * max(gap, spread)]
    return min(near) if near else min(lows)


def _origin_legend(ax: Any) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", ls="-", color=BLUE, lw=2, label="octavo"),
        Line2D([], [], marker="o", ls="-", color=GREY, lw=2, label="baseline"),
        Line2D([], [], marker="o", ls="", mfc="white", mec=SOFT, ms=4, label="a fold"),
    ]
    ax.legend(
        handles=marks, frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), fontsize=9
    )


def draw_importance(comparison: Comparison) -> tuple[Figure, str] | None:
    """Draw what is lost when one column of the unseen rows is shuffled."""
    found = column_importance(comparison)
    if not found:
        return None
    shown = sorted(found, key=lambda entry: -float(np.mean(entry[1])))[:15]
    fig, ax = _figure(5.2, 1.0 + 0.27 * len(shown))
    for place, (_, falls) in enumerate(shown):
        ax.barh(place, np.mean(falls), color=BLUE, height=0.62)
        ax.plot(falls, [place] * len(falls), "|", color=INK, ms=6, mew=0.8)
    ax.set_yticks(range(len(shown)), [literal(str(name)[:28]) for name, _ in shown])
    ax.invert_yaxis()
    ax.axvline(0, color=SOFT, lw=0.8)
    ax.set_xlabel(f"fall of {literal(comparison.score_name)}")
    ax.grid(axis="x", color=GRID)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    more = f" The {len(shown)} largest of {len(found)}." if len(found) > len(shown) else ""
    return fig, (
        f"What {comparison.best.name} loses on unseen rows when one column is shuffled (five "
        f"times).{more} "
        "Of columns that say the same, neither seems to matter."
    )


def held_out(comparison: Comparison, name: str) -> tuple[np.ndarray, list[Any], list[float]]:
    """Return rows, and what the models that had not seen them said: predictions, margins."""
    problem, settings = comparison.problem, comparison.settings
    rows, predictions, margins = [], [], []
    for fold in comparison.board.folds[: settings.cv]:
        outcome = comparison.log.outcomes[name, fold]
        rows.append(outer_split(problem, settings, fold)[1][: len(outcome.predictions)])
        predictions += outcome.predictions
        margins += outcome.margins
    return np.concatenate(rows) if rows else np.empty(0, int), predictions, margins


def draw_winner(comparison: Comparison) -> tuple[Figure, str] | None:
    """Draw what the winner predicts for rows that it did not see, as fits the task."""
    draw = {
        "classification": _draw_confusion,
        "multilabel": _draw_labels,
        "regression": _draw_regression,
        "survival": _draw_survival,
        "clustering": _draw_clusters,
        "ranking": _draw_calibration,
    }[comparison.problem.task]
    rows, predictions, margins = held_out(comparison, comparison.best.name)
    return draw(comparison, rows, predictions, margins) if len(predictions) else None


def _draw_confusion(
    comparison: Comparison, rows: Any, predictions: Any, margins: Any
) -> tuple[Figure, str]:
    labels = comparison.problem.classes
    shown = labels if len(labels) <= 26 else labels[:26]
    place = {label: k for k, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)))
    for truth, guess in zip(comparison.problem.y[rows].tolist(), predictions):
        table[place[truth], place.get(guess, 0)] += 1
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    size = min(5.2, 2.6 + 0.3 * len(shown))
    fig, ax = _figure(size + 0.6, size)
    k = len(shown)
    ax.imshow(share[:k, :k], cmap="Blues", vmin=0, vmax=1)
    for i in range(k):
        for j in range(k):
            if k <= 12 or (i == j and k <= 26):
                ax.text(
                    j,
                    i,
                    f"{share[i, j]:.0%}",
                    ha="center",
                    va="center",
                    fontsize=9 if k <= 8 else 6,
                    color="white" if share[i, j] > 0.5 else INK,
                )
    names = [literal(str(label)[:14]) for label in shown]
    turn = 90 if max(map(len, names)) * k > 30 else 0
    ax.set_xticks(range(k), names, rotation=turn, fontsize=9 if k <= 12 else 7)
    ax.set_yticks(range(k), names, fontsize=9 if k <= 12 else 7)
    ax.tick_params(length=0)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    for side in ax.spines.values():
        side.set_visible(False)
    return fig, f"{comparison.best.name} on rows that it had not seen: what became of each class."


LABELS_DRAWN = 30


def _draw_labels(
    comparison: Comparison, rows: Any, predictions: Any, margins: Any
) -> tuple[Figure, str]:
    """Draw how often each label is there, and how often it is found and right."""
    y, guess = comparison.problem.y[rows], np.asarray(predictions)
    found = (y == 1) & (guess == 1)
    recall = found.sum(axis=0) / np.maximum((y == 1).sum(axis=0), 1)
    precision = found.sum(axis=0) / np.maximum((guess == 1).sum(axis=0), 1)
    order = np.argsort(-y.mean(axis=0), kind="stable")[:LABELS_DRAWN]
    fig, ax = _figure(6.4, 1.2 + 0.26 * len(order))
    places = np.arange(len(order))
    ax.barh(places, y.mean(axis=0)[order], color=GRID, height=0.7, label="share of the rows")
    ax.plot(recall[order], places, "o", color=BLUE, ms=6, label="found, of the rows that have it")
    ax.plot(precision[order], places, "D", color=GREEN, ms=5, label="right, of the rows given it")
    ax.set_yticks(places, [literal(comparison.problem.labels[k][:24]) for k in order])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.02)
    ax.tick_params(length=0)
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3)
    return fig, f"{comparison.best.name} on rows that it had not seen, label by label."


def draw_chances(comparison: Comparison) -> tuple[Figure, str] | None:
    """Draw whether the chances that are given to the rarer of two classes come true."""
    problem, settings, best = comparison.problem, comparison.settings, comparison.best
    if problem.task != "classification" or len(problem.classes) != 2:
        return None
    label, _ = rarer_class(problem.y)
    chance, truth = [], []
    for fold in comparison.board.folds[: settings.cv]:
        found = comparison.log.outcomes[best.name, fold].chances
        rows = outer_split(problem, settings, fold)[1][: len(found)]
        chance += found
        truth += (problem.y[rows] == label).tolist()
    if not chance:
        return None
    p, hit = np.array(chance), np.array(truth)
    edges = np.unique(np.quantile(p, np.linspace(0, 1, 11)))
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, max(len(edges) - 2, 0))
    fig, ax = _figure(4.6, 4.0)
    ax.plot([0, 1], [0, 1], color=GREEN, lw=1.2)
    for k in np.unique(place):
        part = place == k
        share, n = hit[part].mean(), part.sum()
        ax.errorbar(
            p[part].mean(),
            share,
            yerr=2 * np.sqrt(max(share * (1 - share), 0.25 / n) / n),
            fmt="o",
            color=BLUE,
            ms=5,
            lw=1,
        )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_xlabel(f"chance given to {literal(str(label)[:20])}")
    ax.set_ylabel("share that it was")
    ax.grid(color=GRID)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    brier = best.extras.get("brier")
    score = "" if brier is None else f" Brier score {brier:.4f}."
    weighted = comparison.candidate(best.name).balance == "weights"
    caution = (
        " Its classes are weighted, so its chances are of a world in which they are equally "
        "frequent."
        if weighted
        else ""
    )
    return fig, (
        f"Whether the chances that {best.name} gives come true on rows that it had not seen; on "
        f"the line, they do.{score}{caution}"
    )


def _draw_regression(
    comparison: Comparison, rows: Any, predictions: Any, margins: Any
) -> tuple[Figure, str]:
    fig, ax = _figure(4.6, 4.2)
    y, guess = comparison.problem.y[rows], np.asarray(predictions, dtype=float)
    low, high = min(y.min(), guess.min()), max(y.max(), guess.max())
    ax.plot([low, high], [low, high], color=GREEN, lw=1.2)
    ax.plot(guess, y, "o", ms=3, color=BLUE, alpha=min(0.6, 400 / len(y)), mec="none")
    ax.set_xlabel("predicted")
    ax.set_ylabel(f"true {literal(comparison.problem.target)}")
    ax.grid(color=GRID)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    return (
        fig,
        f"{comparison.best.name} on rows that it had not seen; on the line, all would be right.",
    )


def _draw_survival(
    comparison: Comparison, rows: Any, predictions: Any, margins: Any
) -> tuple[Figure, str]:
    fig, ax = _figure(5.2, 3.8)
    y, risk = comparison.problem.y[rows], np.asarray(predictions, dtype=float)
    edges = np.quantile(risk, [1 / 3, 2 / 3])
    third = np.digitize(risk, edges)
    for k, (name, colour) in enumerate((("low risk", GREEN), ("middle", GREY), ("high risk", RED))):
        part = y[third == k]
        if len(part) == 0:
            continue
        curve = kaplan_meier(part["event"], part["time"])
        ax.step(
            np.r_[0, curve.times],
            np.r_[1, curve.values],
            where="post",
            color=colour,
            lw=1.8,
            label=f"{name} ({len(part)})",
        )
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("time")
    ax.set_ylabel("without the event")
    ax.legend(frameon=False)
    ax.grid(color=GRID)
    ax.tick_params(length=0)
    return (
        fig,
        f"Kaplan-Meier curves of unseen rows, by thirds of the risk that {comparison.best.name} "
        "predicts.",
    )


def _draw_clusters(
    comparison: Comparison, rows: Any, predictions: Any, margins: Any
) -> tuple[Figure, str]:
    from sklearn.decomposition import PCA

    model = comparison.refit()
    points = model.encode(comparison.problem.X)
    flat = (
        PCA(2, random_state=0).fit_transform(points) if points.shape[1] > 2 else np.asarray(points)
    )
    if flat.shape[1] == 1:
        flat = np.column_stack([flat, np.zeros(len(flat))])
    shown = np.random.default_rng(0).permutation(len(flat))[:4000]
    fig, ax = _figure(5.2, 4.0)
    for label in np.unique(model.labels_):
        part = shown[model.labels_[shown] == label]
        name = (
            "outliers" if label < 0 else f"cluster {label + 1} ({(model.labels_ == label).sum():,})"
        )
        ax.plot(
            flat[part, 0],
            flat[part, 1],
            "o",
            ms=3.5,
            alpha=0.7,
            mec="none",
            label=name,
            **({"color": GREY} if label < 0 else {}),
        )
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_xlabel("first principal component")
    ax.set_ylabel("second")
    ax.tick_params(length=0, labelbottom=False, labelleft=False)
    return (
        fig,
        f"All rows in the clusters of {comparison.best.name}, in the plane in which they vary "
        "most.",
    )


def _draw_calibration(
    comparison: Comparison, rows: Any, predictions: Any, margins: Any
) -> tuple[Figure, str]:
    from octavo.compare.methods.rankers import pairs_of_games

    chance, won = [], []
    for fold in comparison.board.folds[: comparison.settings.cv]:
        found = comparison.log.outcomes[comparison.best.name, fold].predictions
        rows = outer_split(comparison.problem, comparison.settings, fold)[1]
        pairs = pairs_of_games([comparison.problem.X[i] for i in rows])
        chance += found
        won += [result for _, _, result in pairs[: len(found)]]
    p, w = np.array(chance), np.array(won)
    p, w = np.where(p < 0.5, 1 - p, p), np.where(p < 0.5, 1 - w, w)  # the favourite's
    bins = np.digitize(p, np.linspace(0.5, 1, 6)[1:-1])
    fig, ax = _figure(4.6, 4.0)
    ax.plot([0.5, 1], [0.5, 1], color=GREEN, lw=1.2)
    for k in range(5):
        if (bins == k).sum():
            ax.plot(
                p[bins == k].mean(),
                w[bins == k].mean(),
                "o",
                color=BLUE,
                ms=4 + 10 * (bins == k).mean(),
            )
    ax.set_xlabel("chance given to the favourite")
    ax.set_ylabel("share that the favourite won")
    ax.grid(color=GRID)
    ax.tick_params(length=0)
    return (
        fig,
        f"Whether the chances that {comparison.best.name} gives come true on games it had not "
        "seen.",
    )
