"""OutputSpaceSearchClassifier beside crfsuite, vowpal wabbit and HighOrderCRF on words."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import Contest
from octavo.data import load_dataset
from octavo.data.loaders.datasets import DatasetNotFoundError
from octavo.sequence import HighOrderCRF
from octavo.structured import OutputSpaceSearchClassifier


def letters():
    """Return fold 0 to learn from, and every third word of the other folds."""
    try:
        words = load_dataset("letters")
        X, y, lengths, folds = words.data.astype(float), words.target, words.lengths, words.folds
    except DatasetNotFoundError:  # the same size, no content
        rng = np.random.default_rng(0)
        lengths, folds = np.full(6_260, 7), np.arange(6_260) % 10
        y = rng.integers(0, 26, lengths.sum())
        X = (rng.uniform(size=(26, 128)) < 0.3)[y] ^ (rng.uniform(size=(y.size, 128)) < 0.1)
        X = X.astype(float)
    parts = []
    for chosen in (folds == 0, (folds != 0) & (np.arange(folds.size) % 3 == 0)):
        rows = np.repeat(chosen, lengths)
        parts.append((X[rows], y[rows], lengths[chosen]))
    return parts


def search(**options):
    def solve(parts):
        (X, y, lengths), (Xt, yt, test) = parts
        model = OutputSpaceSearchClassifier(random_state=0, **options).fit(X, y, lengths)
        return 100 * float(np.mean(model.predict(Xt, lengths=test) == yt))

    return solve


def field(order):
    def solve(parts):
        (X, y, lengths), test = parts
        return 100 * HighOrderCRF(order, tol=1e-4).fit(X, y, lengths).score(*test)

    return solve


def crfsuite(parts):
    """Train and tag with crfsuite: first order, c2 = 1, pixels and a constant."""
    import pycrfsuite

    (X, y, lengths), (Xt, yt, test) = parts
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 1.0, "feature.possible_states": True})
    for x, labels in zip(items(X, lengths), np.split(y, np.cumsum(lengths)[:-1])):
        trainer.append(x, [str(c) for c in labels])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [int(label) for x in items(Xt, test) for label in tagger.tag(x)]
    return 100 * float(np.mean(np.array(found) == yt))


def vowpal(parts):
    """Train and tag with vowpal wabbit's learning to search: 20 passes, one label of history."""
    from vowpalwabbit import Workspace

    (X, y, lengths), (Xt, yt, test) = parts
    searn = Workspace(
        "--search 26 --search_task sequence --search_history_length 1 -b 20 --random_seed 0 --quiet"
    )
    words = [
        [f"{label + 1} | {' '.join(item)}" for item, label in zip(word, labels)]
        for word, labels in zip(items(X, lengths), np.split(y, np.cumsum(lengths)[:-1]))
    ]
    for _ in range(20):
        for word in words:
            searn.learn(word)
    found = []
    for word in items(Xt, test):
        parsed = [searn.parse(f"| {' '.join(item)}")[0] for item in word]
        searn.predict(parsed)
        found += [example.get_multiclass_prediction() - 1 for example in parsed]
        searn.finish_example(parsed)
    searn.finish()
    return 100 * float(np.mean(np.array(found) == yt))


def items(X, lengths):
    """Return words as crfsuite's items."""
    return [
        [[*(str(j) for j in np.flatnonzero(row)), "bias"] for row in word]
        for word in np.split(X, np.cumsum(lengths)[:-1])
    ]


def who_wins(_, answers):
    ranked = sorted(answers.items(), key=lambda pair: -pair[1])
    return "Letters right: " + ", ".join(f"{name} {value:.1f} %" for name, value in ranked) + "."


CONTESTS = [
    Contest(
        name="handwritten words",
        problem="Learn from 626 handwritten words and tag every third word of the other nine folds "
        "(the time is that of both)",
        setup=letters,
        solvers={
            "octavo": search(),
            "octavo, third order": search(feature_order=3),
            "octavo HighOrderCRF, order 2": field(2),
            "octavo HighOrderCRF, order 4": field(4),
            "python-crfsuite": crfsuite,
            "vowpalwabbit --search": vowpal,
        },
        agree=who_wins,
        repeats=1,
        target="Aim: under 60 s of training on two cores. The high-order field is the one to beat "
        "here: the data have 55 distinct words.",
        limit="scores of 26 labels a letter and step of the search",
    ),
]
