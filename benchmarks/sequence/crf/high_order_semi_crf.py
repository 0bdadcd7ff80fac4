"""HighOrderSemiCRF beside python-crfsuite on BIO tags."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.harness import Contest
from octavo.data import make_citations
from octavo.sequence import (
    HighOrderSemiCRF,
    bio_to_segments,
    segment_f1,
    segments_to_bio,
)

N_TRAIN = 300


def citations():
    return make_citations(500, random_state=0)


def octavo_segments(data, order):
    X, segments = data
    model = HighOrderSemiCRF(order, tol=1e-4).fit(X[:N_TRAIN], segments[:N_TRAIN])
    return model.predict(X[N_TRAIN:])


def crfsuite_segments(data):
    import pycrfsuite

    X, segments = data
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 0.5, "feature.possible_states": True})
    for x, part in zip(X[:N_TRAIN], segments[:N_TRAIN]):
        trainer.append(pycrfsuite.ItemSequence(x), segments_to_bio(part))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return [bio_to_segments(tagger.tag(pycrfsuite.ItemSequence(x))) for x in X[N_TRAIN:]]


def better(data, answers):
    _, segments = data
    f1 = {name: segment_f1(segments[N_TRAIN:], found) for name, found in answers.items()}
    assert f1["octavo, order 2"] > f1["python-crfsuite, BIO"]
    return "F1: " + ", ".join(f"{name} {100 * value:.2f}" for name, value in f1.items()) + "."


CONTESTS = [
    Contest(
        name="citations",
        problem="Train on 300 simulated citations (4,800 words, eight fields), segment 200 others",
        setup=citations,
        solvers={
            "octavo, order 2": lambda data: octavo_segments(data, 2),
            "octavo, order 1": lambda data: octavo_segments(data, 1),
            "python-crfsuite, BIO": crfsuite_segments,
        },
        agree=better,
        repeats=3,
        target="Aim: crfsuite's time. Another model, whose better F1 is what is bought: crfsuite "
        "tags words by BIO at first order; here a segment of each of 14 lengths and 8 fields is "
        "scored at every word, 316,000 an evaluation.",
        limit="exponentials: two a score and evaluation, of which forty are needed",
    ),
]
