"""Phrases and sentences are no tables; perceptron steps are random, exact solvers are not."""

import numpy as np

from octavo.data import make_reordering_corpus
from octavo.structured import (
    IBMAligner,
    LexicalizedReordering,
    MaximumMarginRegression,
    PhraseReorderingModel,
    StructuredMarginClassifier,
    phrase_examples,
)
from tests.conformance.discovery import Case

CORPUS = make_reordering_corpus(30, n_words=4, random_state=0)
EXAMPLES, _ = phrase_examples(*CORPUS, 2)
PHRASES = [example.phrases for example in EXAMPLES]
JUMPS = np.arange(len(PHRASES)) % 3
STEPS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "steps visit rows in random order and hold some out: a repeated row is two visits",
)

CASES = [
    Case(make=lambda: StructuredMarginClassifier(random_state=0), expected_failures=STEPS),
    Case(
        make=lambda: StructuredMarginClassifier(
            solver="sdca", alpha=0.1, max_iter=3000, tol=1e-12, random_state=0
        )
    ),
    Case(
        make=lambda: StructuredMarginClassifier(
            solver="extragradient", alpha=0.1, tol=1e-3, random_state=0
        ),
        expected_failures=dict.fromkeys(
            STEPS, "the solution is right to its tolerance, 1e-3 here, and rounding differs"
        ),
    ),
    Case(make=lambda: MaximumMarginRegression()),
    Case(make=lambda: MaximumMarginRegression(kernel="rbf", output_kernel="class_distance")),
    Case(
        make=lambda: LexicalizedReordering(),
        fit=lambda m: m.fit(PHRASES, JUMPS),
        query=lambda m: m.predict_proba(PHRASES),
        iterative=False,
        bad=[
            ("NaN", lambda m: m.fit([(np.nan, "a")], [0]), ValueError, "nan"),
            ("empty", lambda m: m.fit([], []), ValueError, "at least one"),
            ("shape", lambda m: m.fit(PHRASES, JUMPS[:3]), ValueError, "inconsistent"),
            ("type", lambda m: m.fit("words", [0]), ValueError, "pairs"),
            ("pair", lambda m: m.fit(["ab"], [0]), ValueError, "pair"),
            (
                "option",
                lambda m: m.set_params(smoothing=-1.0).fit(PHRASES, JUMPS),
                ValueError,
                "'smoothing'",
            ),
            ("classes", lambda m: m.fit(PHRASES, 0 * JUMPS), ValueError, "two classes"),
        ],
        unfitted=[lambda m: m.predict(PHRASES), lambda m: m.predict_proba(PHRASES)],
    ),
    Case(
        make=lambda: PhraseReorderingModel(max_phrase_len=2, min_cluster=10),
        fit=lambda m: m.fit(*CORPUS),
        query=lambda m: m.predict_proba(EXAMPLES),
        bad=[
            ("NaN", lambda m: m.fit([np.nan], ["A"], [{(0, 0)}]), ValueError, "nan"),
            ("empty", lambda m: m.fit([], [], []), ValueError, "at least one"),
            ("shape", lambda m: m.fit(CORPUS[0], CORPUS[1][:3], CORPUS[2]), ValueError, "as many"),
            ("type", lambda m: m.fit("words", "words", "0-0"), ValueError, "list"),
            ("links", lambda m: m.fit(["a"], ["A"], [{(4, 0)}]), ValueError, "beyond"),
            ("option", lambda m: m.set_params(n_classes=4).fit(*CORPUS), ValueError, "'n_classes'"),
        ],
        unfitted=[
            lambda m: m.predict(EXAMPLES),
            lambda m: m.predict_proba(EXAMPLES),
            lambda m: m.score(*CORPUS),
            lambda m: m.reordering_cost(EXAMPLES[:2]),
        ],
    ),
    Case(
        make=lambda: IBMAligner(n_iter=3),
        fit=lambda m: m.fit(*CORPUS[:2]),
        query=lambda m: m.log_likelihoods_,
        bad=[
            ("NaN", lambda m: m.fit([np.nan], ["A"]), ValueError, "nan"),
            ("empty", lambda m: m.fit([], []), ValueError, "at least one"),
            ("shape", lambda m: m.fit(["a"], ["A", "B"]), ValueError, "as many"),
            ("type", lambda m: m.fit("words", "words"), ValueError, "list"),
            ("sentence", lambda m: m.fit(["a", ""], ["A", "B"]), ValueError, "pair 1"),
            ("option", lambda m: m.set_params(model=3).fit(*CORPUS[:2]), ValueError, "'model'"),
        ],
        unfitted=[lambda m: m.predict(*CORPUS[:2])],
    ),
]
