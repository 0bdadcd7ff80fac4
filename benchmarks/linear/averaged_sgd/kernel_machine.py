"""KernelAveragedSGD beside scikit-learn's SVC and a Nyström map."""

from __future__ import annotations

from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.harness import Contest
from octavo.linear import KernelAveragedSGD

ROWS = 6000


def moons():
    X, y = make_moons(2 * ROWS, noise=0.3, random_state=0)
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def octavo(data):
    return KernelAveragedSGD(gamma=4.0, random_state=0).fit(*data[:2])


def octavo_on_a_budget(data):
    return KernelAveragedSGD(gamma=4.0, random_state=0, budget=500).fit(*data[:2])


def machine(data):
    return SVC(gamma=4.0).fit(*data[:2])


def nystroem(data):
    steps = Nystroem(gamma=4.0, n_components=200, random_state=0), LogisticRegression(max_iter=1000)
    return make_pipeline(*steps).fit(*data[:2])


def similar_errors(data, answers):
    errors = {name: 1 - model.score(*data[2:]) for name, model in answers.items()}
    assert max(errors.values()) < min(errors.values()) + 0.02, errors
    return "Test errors: " + ", ".join(f"{name} {error:.3f}" for name, error in errors.items())


CONTESTS = [
    Contest(
        name="two moons",
        problem=f"{ROWS:,} rows of two features with much noise, rbf, test error within 0.02",
        setup=moons,
        solvers={
            "octavo": octavo,
            "octavo, budget 500": octavo_on_a_budget,
            "scikit-learn SVC": machine,
            "scikit-learn Nystroem + LogisticRegression": nystroem,
        },
        agree=similar_errors,
        repeats=3,
        limit="exponentials: one a support vector and row",
    )
]
