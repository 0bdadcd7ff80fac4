"""AnchorTopics beside scikit-learn's NMF and latent Dirichlet allocation."""

from __future__ import annotations

import warnings

from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline

from benchmarks.harness import Contest
from octavo.data import make_anchor_corpus
from octavo.decomposition import AnchorTopics


def labels_of(model, corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(corpus.counts).argmax(axis=1)


def nmf(corpus):
    return labels_of(make_pipeline(TfidfTransformer(), NMF(6, init="nndsvd")), corpus)


def lda(corpus):
    return labels_of(LatentDirichletAllocation(6, random_state=0), corpus)


def quality(corpus, answers):
    scores = {
        name: normalized_mutual_info_score(corpus.labels, labels)
        for name, labels in answers.items()
    }
    assert scores["octavo AnchorTopics"] > 0.5
    told = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    return f"Normalised mutual information with the main topics: {told}. Three models, one task."


CONTESTS = [
    Contest(
        name="topics",
        problem="Six topics of 3,000 simulated documents, 3,000 words",
        setup=lambda: make_anchor_corpus(3_000, 3_000, random_state=0),
        solvers={
            "octavo AnchorTopics": lambda c: AnchorTopics(6).fit(c.counts).labels_,
            "scikit-learn NMF": nmf,
            "scikit-learn LDA": lda,
        },
        agree=quality,
        repeats=3,
        limit="memory bandwidth: products of the sparse counts",
    ),
]
