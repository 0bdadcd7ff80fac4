"""Kernel Fisher discriminants beside kernel PCA with a linear discriminant on top."""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from benchmarks.harness import Contest
from octavo.kernel import KernelFisherDiscriminant


def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=0)


def ours(data):
    X, X_new, y, y_new = data
    return KernelFisherDiscriminant(reg=1e-2, gamma=1e-3).fit(X, y).score(X_new, y_new)


def two_steps(data):
    X, X_new, y, y_new = data
    model = make_pipeline(KernelPCA(300, kernel="rbf", gamma=1e-3), LinearDiscriminantAnalysis())
    return model.fit(X, y).score(X_new, y_new)


def accuracies(data, answers):
    assert min(answers.values()) > 0.9
    return "; ".join(f"{name}: accuracy {value:.3f}" for name, value in answers.items()) + "."


CONTESTS = [
    Contest(
        name="digits",
        problem="1,078 digits, ten classes: fit, and 719 predictions",
        setup=digits,
        solvers={"octavo": ours, "scikit-learn KernelPCA and LDA": two_steps},
        agree=accuracies,
        repeats=3,
        target="the same",
        limit="one Cholesky factor of n x n numbers",
    ),
]
