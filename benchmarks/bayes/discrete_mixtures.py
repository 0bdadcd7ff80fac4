"""Topics beside KL-NMF per iteration, and latent classes beside stepmix."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.decomposition import NMF

from benchmarks.harness import Contest
from octavo.bayes import PLSA, BernoulliMixture
from octavo.data import make_labelled_topics

N_ITER = 50


def documents():
    return make_labelled_topics(2000, n_topics=20, n_words=2000, random_state=0)[0]


def plsa(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PLSA(20, max_iter=N_ITER, tol=0.0, random_state=0).fit(X)
    return model.log_likelihood_


def nmf(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NMF(
            20, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=N_ITER, tol=0.0,
            random_state=0,
        )  # fmt: skip
        W = model.fit_transform(X)
    table = X.tocoo()
    P = np.einsum("ez,ez->e", W[table.coords[0]], model.components_.T[table.coords[1]])
    total = float(W.sum(axis=0) @ model.components_.sum(axis=1))
    return float(table.data @ np.log(P / total))


def close(X, answers):
    ours, theirs = answers["octavo"], answers["scikit-learn NMF, KL"]
    assert abs(ours - theirs) < 0.05 * abs(theirs)
    return f"log-likelihoods {ours:.0f} and {theirs:.0f} after {N_ITER} iterations."


def votes():
    rng = np.random.default_rng(0)
    return (
        rng.uniform(size=(2000, 30)) < rng.uniform(size=(4, 30))[rng.integers(4, size=2000)]
    ) * 1


def classes(X):
    model = BernoulliMixture(4, n_init=3, tol=1e-8, random_state=0).fit(X)
    return model.log_likelihood_


def stepmix(X):
    from stepmix.stepmix import StepMix

    model = StepMix(
        4, measurement="binary", n_init=3, abs_tol=1e-4, rel_tol=0.0, max_iter=500, random_state=0,
        progress_bar=0,
    )  # fmt: skip
    model.fit(X)
    return model.score(X) * len(X)


def same(X, answers):
    gap = abs(answers["octavo"] - answers["stepmix"]) / abs(answers["octavo"])
    assert gap < 1e-5
    return f"log-likelihoods differ by {gap:.1e}, relatively."


CONTESTS = [
    Contest(
        name="topics",
        problem=f"20 topics of 2,000 documents with 80 words each, {N_ITER} iterations",
        setup=documents,
        solvers={"octavo": plsa, "scikit-learn NMF, KL": nmf},
        agree=close,
        repeats=3,
        target="at least twice",
        limit="two passes of multiply and add a topic over each stored count",
    ),
    Contest(
        name="latent-classes",
        problem="4 classes of 2,000 rows of 30 answers, three starts",
        setup=votes,
        solvers={"octavo": classes, "stepmix": stepmix},
        agree=same,
        repeats=3,
        target="at least five times",
        limit="products of the rows with the components",
    ),
]
