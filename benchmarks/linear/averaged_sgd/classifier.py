"""AveragedSGDClassifier beside scikit-learn's averaged SGD."""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from benchmarks.harness import Contest
from octavo.linear import AveragedSGDClassifier

ROWS, COLUMNS, NONZEROS = 100_000, 65_536, 50
# Rows of the stream in constant memory; a smaller number makes a trial run.
STREAM_ROWS = int(os.environ.get("OCTAVO_BENCH_ROWS", "10000000"))
CHUNK, WIDTH = 100_000, 10
PLAIN = {"fit_intercept": False, "shuffle": False}


def text_like():
    """Return sparse rows of length 1 and labels of a noisy linear rule."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, COLUMNS, (ROWS, NONZEROS)), axis=1).astype(np.int32)
    pointer = np.arange(0, ROWS * NONZEROS + 1, NONZEROS, dtype=np.int32)
    X = sp.csr_matrix((rng.random(ROWS * NONZEROS), columns.ravel(), pointer), (ROWS, COLUMNS))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1).A1), np.diff(X.indptr))
    y = (X @ rng.normal(size=COLUMNS) + 0.3 * rng.normal(size=ROWS) > 0).astype(int)
    return X, y


def table_like():
    """Return dense rows of length 1 with labels of a noisy linear rule."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 50))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, (X @ rng.normal(size=50) + 0.3 * rng.normal(size=ROWS) > 0).astype(int)


def fresh(X):
    """Return a matrix of the same arrays, of which scipy has not yet checked anything."""
    return sp.csr_matrix((X.data, X.indices, X.indptr), X.shape) if sp.issparse(X) else X


def octavo_pass(data):
    return AveragedSGDClassifier(**PLAIN).fit(fresh(data[0]), data[1])


def scikit_learn_pass(data):
    model = SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="invscaling", power_t=0.5, eta0=2.0,
        average=True, max_iter=1, tol=None, **PLAIN,
    )  # fmt: skip
    return model.fit(fresh(data[0]), data[1])


def same_mean(data, answers):
    ours, theirs = answers["octavo"], answers["scikit-learn SGDClassifier, averaged"]
    mean = ours.coef_ + ours.last_coef_ / len(data[1])  # theirs has the newest iterate too
    gap = float(np.abs(mean - theirs.coef_).max() / np.abs(mean).max())
    assert gap < 1e-8
    return f"The means differ by {gap:.1e} at most, relative to the largest weight."


def chunks():
    """Yield rows that are drawn from one prepared chunk, each time in another rotation."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(CHUNK, WIDTH)) / np.sqrt(WIDTH)
    y = (X @ rng.normal(size=WIDTH) + 0.3 * rng.normal(size=CHUNK) > 0).astype(int)
    for k in range(STREAM_ROWS // CHUNK):
        shift = 997 * k % CHUNK
        yield np.roll(X, shift, axis=0), np.roll(y, shift)


def octavo_stream(_):
    return AveragedSGDClassifier(R=4.0, shuffle=False).fit(chunks())


def scikit_learn_stream(_):
    model = SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="invscaling", eta0=0.125, average=True
    )
    for X, y in chunks():
        model.partial_fit(X, y, classes=[0, 1])
    return model


def constant_memory(_, answers):
    import resource

    assert answers["octavo"].n_seen_ == STREAM_ROWS // CHUNK * CHUNK
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return f"Peak memory of the whole process {peak:.2f} GiB; the rows would take " + (
        f"{STREAM_ROWS * WIDTH * 8 / 2**30:.2f} GiB."
    )


NAMES = ("octavo", "scikit-learn SGDClassifier, averaged")
CONTESTS = [
    Contest(
        name="sparse rows",
        problem=f"One averaged pass over {ROWS:,} sparse rows, {COLUMNS:,} columns, {NONZEROS} "
        "nonzeros a row, validation included",
        setup=text_like,
        solvers=dict(zip(NAMES, (octavo_pass, scikit_learn_pass))),
        agree=same_mean,
        work=dict.fromkeys(NAMES, ROWS * NONZEROS),
        unit="nonzero",
        repeats=9,
        target="Aim: as many nonzeros a second as scikit-learn.",
        limit="memory: indices and values of rows, and a random weight each",
        traffic=5_000_000 * 12,
    ),
    Contest(
        name="dense rows",
        problem=f"One averaged pass over {ROWS:,} dense rows of 50 features, validation included",
        setup=table_like,
        solvers=dict(zip(NAMES, (octavo_pass, scikit_learn_pass))),
        agree=same_mean,
        work=dict.fromkeys(NAMES, ROWS * 50),
        unit="number",
        repeats=9,
        limit="memory bandwidth: the rows, and the weights in cache",
        traffic=100_000 * 50 * 8,
    ),
    Contest(
        name="a long stream",
        problem=f"{STREAM_ROWS:,} rows of {WIDTH} features in chunks of {CHUNK:,}, intercept",
        setup=lambda: None,
        solvers=dict(zip(NAMES, (octavo_stream, scikit_learn_stream))),
        agree=constant_memory,
        work=dict.fromkeys(NAMES, STREAM_ROWS),
        unit="row",
        repeats=1,
        warm=False,
        target="Aim: ten million rows in constant memory.",
        limit="memory bandwidth: the rows",
        traffic=10_000_000 * 10 * 8,
    ),
]
