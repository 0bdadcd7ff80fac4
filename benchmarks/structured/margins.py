"""Margins beside liblinear and a cone program; phrase pairs beside nltk."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from benchmarks.harness import Contest
from octavo.structured import (
    StructuredMarginClassifier,
    class_distance_from_tree,
    extract_phrase_pairs,
)

PRICES = class_distance_from_tree([[0, 1], 2, [3, 4]])


def sparse_rows():
    random = np.random.default_rng(0)
    n = 22_000
    columns = random.zipf(1.3, size=(n, 30)) % 5000
    X = sp.csr_matrix(
        (np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 30)),
        shape=(n, 5000),
    )
    X.sum_duplicates()
    X.data[:] = 1.0
    scores = X @ random.normal(size=(5000, 5)) + random.gumbel(size=(n, 5))
    return X, scores.argmax(axis=1)


def perceptron(problem):
    X, y = problem
    model = StructuredMarginClassifier(PRICES, random_state=0).fit(X[:20_000], y[:20_000])
    return model.predict(X[20_000:])


def liblinear(problem):
    X, y = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own limit of iterations
        model = LinearSVC(multi_class="crammer_singer", fit_intercept=False, random_state=0)
        return model.fit(X[:20_000], y[:20_000]).predict(X[20_000:])


def no_dearer(problem, answers):
    true = problem[1][20_000:]
    ours, theirs = (float(PRICES[true, found].mean()) for found in answers.values())
    assert ours <= theirs + 0.005
    return f"Mean prices on 2,000 new rows: {ours:.3f} and {theirs:.3f}."


def small_rows():
    random = np.random.default_rng(0)
    y = np.arange(150) % 5
    return random.normal(size=(150, 8)) + np.eye(8)[y], y


def dual_steps(problem):
    model = StructuredMarginClassifier(
        PRICES, solver="sdca", alpha=0.05, max_iter=2000, tol=1e-7, random_state=0
    )
    return model.fit(*problem).objective_


def cone_program(problem):
    import cvxpy as cp

    X, y = problem
    W = cp.Variable((5, X.shape[1]))
    scores = X @ W.T
    own = cp.reshape(cp.sum(cp.multiply(scores, np.eye(5)[y]), axis=1), (len(y), 1), order="C")
    losses = cp.max(PRICES[y] + scores - own @ np.ones((1, 5)), axis=1)
    program = cp.Problem(cp.Minimize(cp.sum(losses) / len(y) + 0.025 * cp.sum_squares(W)))
    return program.solve(solver="CLARABEL")


def same_optimum(_, answers):
    ours, theirs = answers.values()
    gap = abs(ours - theirs) / theirs
    assert gap < 1e-6
    return f"They agree to {gap:.1e}."


def aligned_sentence():
    random = np.random.default_rng(0)
    order = random.permutation(30)
    for start in range(0, 30, 5):  # local swaps, as in translation
        order[start : start + 5] = start + random.permutation(5)
    links = {(int(i), j) for j, i in enumerate(order) if j % 7}
    return [f"s{i}" for i in range(30)], [f"t{j}" for j in range(30)], links


def by_nltk(problem):
    from nltk.translate.phrase_based import phrase_extraction

    source, target, links = problem
    found = phrase_extraction(" ".join(source), " ".join(target), sorted(links), 8)
    spans = {(a, b) for a, b, _, _ in found}
    return sorted(pair for pair in spans if all(d - c <= 8 for c, d in pair))


def same_pairs(_, answers):
    ours, theirs = answers.values()
    assert [tuple(pair) for pair in ours] == theirs
    return f"The same {len(ours)} phrase pairs."


CONTESTS = [
    Contest(
        name="perceptron",
        problem="20,000 sparse rows of 30 features, five classes with a tree, to the same price",
        setup=sparse_rows,
        solvers={"octavo": perceptron, "scikit-learn (liblinear)": liblinear},
        agree=no_dearer,
        repeats=3,
        limit="memory latency: a row's weights of five classes",
    ),
    Contest(
        name="certified optimum",
        problem="150 rows, five classes with a tree, penalised, to a relative gap of 1e-7",
        setup=small_rows,
        solvers={"octavo": dual_steps, "cvxpy (Clarabel)": cone_program},
        agree=same_optimum,
        repeats=3,
        limit="coordinate steps: a dot product of a row each",
    ),
    Contest(
        name="phrase pairs",
        problem="Phrase pairs of up to 8 words of a sentence pair of 30 words",
        setup=aligned_sentence,
        solvers={"octavo": lambda p: extract_phrase_pairs(*p), "nltk": by_nltk},
        agree=same_pairs,
        repeats=3,
        limit="memory bandwidth: pairs of spans are written",
    ),
]
