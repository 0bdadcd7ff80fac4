"""Sweeps of supervised and of plain topics beside tomotopy's, and answers beside two steps."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.bayes import GibbsLDA, GibbsMedLDAClassifier
from octavo.data import make_labelled_topics

TOPICS, SWEEPS = 20, 20


def documents():
    X, y = make_labelled_topics(4000, n_words=3000, doc_length=120, random_state=0)
    lists = [
        np.repeat(X.indices[a:b], X.data[a:b]).astype(str).tolist()
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    return X, y, lists


def supervised(problem):
    X, y, _ = problem
    return GibbsMedLDAClassifier(TOPICS, n_iter=SWEEPS, n_avg=1, random_state=0).fit(X, y)


def plain(problem):
    return GibbsLDA(TOPICS, n_iter=SWEEPS, n_avg=1, random_state=0).fit(problem[0])


def tomotopy_supervised(problem):
    import tomotopy

    _, y, lists = problem
    model = tomotopy.SLDAModel(k=TOPICS, vars="b", alpha=1 / TOPICS, eta=0.01, seed=0)
    for words, label in zip(lists, y, strict=True):
        model.add_doc(words, y=[float(label)])
    model.train(SWEEPS, workers=1)
    return model


def tomotopy_plain(problem):
    import tomotopy

    model = tomotopy.LDAModel(k=TOPICS, alpha=1 / TOPICS, eta=0.01, seed=0)
    for words in problem[2]:
        model.add_doc(words)
    model.train(SWEEPS, workers=1)
    return model


CONTESTS = [
    Contest(
        name="supervised-topic-sweeps",
        problem="20 sweeps over 480,000 words, 20 topics, two classes, one core",
        setup=documents,
        solvers={"octavo": supervised, "tomotopy SLDAModel": tomotopy_supervised},
        repeats=3,
        target="at most twice the time of tomotopy's likelihood-based model",
        limit="memory: a word's topics and a document's are read for every word",
    ),
    Contest(
        name="plain-topic-sweeps",
        problem="20 sweeps over 480,000 words, 20 topics, no label, one core",
        setup=documents,
        solvers={"octavo": plain, "tomotopy LDAModel": tomotopy_plain},
        repeats=3,
        target="at most twice the time of tomotopy",
        limit="memory: a word's topics and a document's are read for every word",
    ),
]
