"""HighOrderCRF beside python-crfsuite."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import Contest
from octavo.data import load_dataset
from octavo.data.loaders.datasets import DatasetNotFoundError
from octavo.sequence import HighOrderCRF


def letters():
    """Return fold 0 of the handwritten words, as arrays and as crfsuite's items."""
    try:
        words = load_dataset("letters")
        chosen = words.folds == 0
        rows = np.repeat(chosen, words.lengths)
        X, y, lengths = words.data[rows].astype(float), words.target[rows], words.lengths[chosen]
    except DatasetNotFoundError:  # the same size, no content
        rng = np.random.default_rng(0)
        lengths = np.full(626, 7)
        y = rng.integers(0, 26, lengths.sum())
        X = (rng.uniform(size=(26, 128)) < 0.3)[y] ^ (rng.uniform(size=(y.size, 128)) < 0.1)
        X = X.astype(float)
    ends = np.cumsum(lengths)
    items = [
        [[*(str(j) for j in np.flatnonzero(row)), "bias"] for row in X[end - n : end]]
        for end, n in zip(ends, lengths)
    ]
    labels = [[str(c) for c in y[end - n : end]] for end, n in zip(ends, lengths)]
    return X, y, lengths, items, labels


def crfsuite_train(data, path=None):
    """Train with crfsuite's own stopping rule, the same features and the same objective."""
    import pycrfsuite

    _, _, _, items, labels = data
    trainer = pycrfsuite.Trainer(verbose=False)
    options = {
        "c1": 0.0,
        "c2": 0.5,  # -LL + c2 |w|² is sigma = 1
        "feature.possible_states": True,
        "feature.possible_transitions": False,
    }
    trainer.set_params(options)
    for x, y in zip(items, labels):
        trainer.append(x, y)
    with tempfile.TemporaryDirectory() as folder:
        target = path or str(Path(folder) / "model")
        trainer.train(target)
    return trainer.logparser.last_iteration["loss"]


def octavo_train(data, order=1, tol=1e-5, **options):
    X, y, lengths, *_ = data
    return HighOrderCRF(order, tol=tol, **options).fit(X, y, lengths)


def same_objective(_, answers):
    ours, theirs = answers["octavo"].objective_, answers["python-crfsuite"]
    gap = abs(ours - theirs) / theirs
    assert gap < 1e-5
    return f"The objectives are {ours:.3f} and {theirs:.3f}: they differ by {gap:.0e}."


def decoding():
    """Return trained first-order models of both, and the words to tag."""
    import pycrfsuite

    data = letters()
    path = str(Path(tempfile.mkdtemp()) / "model")
    crfsuite_train(data, path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return octavo_train(data), tagger, data


def octavo_tags(problem):
    model, _, (X, _, lengths, *_) = problem
    return [str(label) for label in model.predict(X, lengths)]


def crfsuite_tags(problem):
    _, tagger, (_, _, _, items, _) = problem
    return [label for x in items for label in tagger.tag(x)]


def same_tags(_, answers):
    ours, theirs = answers["octavo"], answers["python-crfsuite"]
    share = np.mean([a == b for a, b in zip(ours, theirs)])
    assert share > 0.995
    return f"{share:.2%} of the tags are the same."


def by_order(order):
    def solve(data):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return octavo_train(data, order)

    return solve


CONTESTS = [
    Contest(
        name="first-order training",
        problem="Train a first-order field on 626 handwritten words (4,617 letters of 128 pixels, "
        "26 labels, σ = 1), objective to a relative 1e-5",
        setup=letters,
        solvers={"octavo": octavo_train, "python-crfsuite": crfsuite_train},
        agree=same_objective,
        repeats=3,
        target="Aim: at most 3 times crfsuite's time. Reading crfsuite's items is in its time.",
        limit="exponentials and products: 26 x 26 transitions a letter and evaluation",
    ),
    Contest(
        name="first-order decoding",
        problem="Tag the 4,617 letters of those words with the trained first-order fields",
        setup=decoding,
        solvers={"octavo": octavo_tags, "python-crfsuite": crfsuite_tags},
        agree=same_tags,
        repeats=5,
        limit="exponentials and products: 26 x 26 transitions a letter and evaluation",
    ),
    Contest(
        name="training by order",
        problem="Train on the same words with all patterns up to order 1, 2, 3 and 4",
        setup=letters,
        solvers={f"octavo, order {order}": by_order(order) for order in (4, 3, 2, 1)},
        repeats=3,
        target="Aim: at most 30 s at order 4. crfsuite stops at order 1.",
        limit="exponentials and products: 26 x 26 transitions a letter and evaluation",
    ),
]
