"""The oracle of every gradient is finite differences of the loss itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.kernels.gram import resolve_kernel
from octavo.kernel import KnowledgeKernelPCA, KnowledgeKernelPCACV
from octavo.kernel.steered.basis import exact_basis
from octavo.kernel.steered.components import Steering, SteeringSystem
from octavo.kernel.steered.constraints import read_constraints
from octavo.kernel.steered.cv import fold_loss, folds_of
from octavo.kernel.steered.gradients import kernel_slope, map_gradient

NAMES = ("lambda_place", "lambda_link", "lambda_label", "lambda_orth", "gamma")
START = {
    "lambda_place": 2.0,
    "lambda_link": 0.7,
    "lambda_label": 1.5,
    "lambda_orth": 3.0,
    "gamma": 0.4,
}


def setting(seed, kernel="rbf", n=16):
    rng = np.random.default_rng(seed)
    X, target = rng.standard_normal((n, 3)), rng.standard_normal((n, 2))
    known = read_constraints(
        ([0, 3, 7, 9], rng.standard_normal((4, 2)) * 0.3, [False, False, False, True]),
        [(1, 2, 1), (4, 5, -1)],
        {11: 1, 12: -1, 13: (1, 1)},
        n,
        2,
    )

    def loss(params, gradient=False, **options):
        gamma = params["gamma"]
        basis = exact_basis(resolve_kernel(kernel, X, gamma=gamma), X)
        strengths = {name: params[name] for name in NAMES[:4]}
        steering = Steering(2, n_neighbors=4, **strengths, **options)
        system = SteeringSystem(basis)
        solved = system.solve(known, steering)
        gap = np.zeros((n, 2))
        gap[[14, 15]] = solved.embedding[[14, 15]] - target[[14, 15]]
        value = float(np.sum(gap**2))
        if not gradient:
            return value
        slope = kernel_slope(basis, gamma, 4)
        return map_gradient(system, known, steering, solved, 2 * gap, slope)

    return loss


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("orthogonality", ["soft", "hard"])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("radius", ["auto", (1.4, 1.1)], ids=["auto", "given"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_differences(kernel, orthogonality, average, radius, name):
    loss = setting(0, kernel)
    options = {"orthogonality": orthogonality, "average": average, "radius": radius}
    found = loss(START, gradient=True, **options)[name]
    h = 1e-5
    up, down = (loss({**START, name: START[name] + step}, **options) for step in (h, -h))
    # Central differences: h² of truncation, and rounding of the loss over h.
    assert found == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("orthogonality", ["soft", "hard"])
def test_gradient_by_the_radii(orthogonality):
    loss = setting(1)
    radii = np.array([1.4, 1.1])
    found = loss(START, gradient=True, radius=radii, orthogonality=orthogonality)["radius"]
    for s in range(2):
        step = 1e-5 * np.eye(2)[s]
        up, down = (
            loss(START, radius=r, orthogonality=orthogonality) for r in (radii + step, radii - step)
        )
        assert found[s] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(2, 1000))
def test_gradients_hold_on_other_data(seed):
    loss = setting(seed)
    found = loss(START, gradient=True, orthogonality="soft")
    for name in NAMES:
        h = 1e-5 * START[name]
        up, down = (
            loss({**START, name: START[name] + step}, orthogonality="soft") for step in (h, -h)
        )
        assert found[name] == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("loss", ["mse", "sq_hinge"])
def test_slopes_of_the_losses(loss):
    rng = np.random.default_rng(0)
    values, targets = rng.standard_normal((5, 2)), np.sign(rng.standard_normal((5, 2)))
    targets[0, 1] = np.nan
    value, slope = fold_loss(values, targets, loss)
    known = ~np.isnan(targets)
    if loss == "mse":
        assert value == pytest.approx(np.mean((values - targets)[known] ** 2))
    else:
        assert value == pytest.approx(np.mean(np.maximum(0, 1 - (values * targets)[known]) ** 2))
    for i in range(5):
        for s in range(2):
            step = np.zeros((5, 2))
            step[i, s] = 1e-6
            up, down = (fold_loss(values + t, targets, loss)[0] for t in (step, -step))
            assert slope[i, s] == pytest.approx((up - down) / 2e-6, abs=1e-8)


def test_every_label_is_held_out_once_and_classes_are_spread():
    labels = {i: 1 if i < 10 else -1 for i in range(20)}
    known = read_constraints({30: (0.1, 0.1)}, None, labels, 40, 2)
    folds = folds_of(known, "sq_hinge", 5, 0)
    assert sorted(i for fold in folds for i in fold.points) == list(range(20))
    for fold in folds:
        assert sorted(np.nan_to_num(fold.targets[:, 0])) == [-1, -1, 1, 1]
        assert not set(fold.points) & set(fold.constraints.labels)
        assert len(fold.constraints.labels) == 16
        assert set(fold.constraints.placements) == {30}


def test_tuning_finds_the_scale_that_made_the_placements():
    # Points are placed by a smooth function of long range; gamma starts fifty times too large.
    X = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    at = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1]) - 0.8])
    placements = {i: tuple(at[i]) for i in range(40)}
    start = KnowledgeKernelPCA(gamma=20.0, radius=[5.0, 1.0], lambda_place=10.0)
    tuner = KnowledgeKernelPCACV(
        start, params=("gamma", "radius", "lambda_place"), random_state=0, max_iter=200
    ).fit(X, placements=placements)
    assert tuner.best_loss_ < 0.05 * tuner.initial_loss_
    assert tuner.best_params_["gamma"] < 2.0
    held_out = np.mean((tuner.embedding_[40:] - at[40:]) ** 2)
    untuned = start.fit(X, placements=placements)
    assert held_out < 0.1 * np.mean((untuned.embedding_[40:] - at[40:]) ** 2)
    assert all(b <= a + 1e-12 for a, b in zip(tuner.losses_, tuner.losses_[1:]))
    assert np.allclose(tuner.transform(X), tuner.embedding_, atol=1e-8)


def test_squared_hinge_of_labels():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) < 40, 1, -1)
    X = rng.standard_normal((80, 3)) + np.outer(y, [1.5, 0, 0])
    labels = {int(i): int(y[i]) for i in rng.permutation(80)[:30]}
    tuner = KnowledgeKernelPCACV(
        KnowledgeKernelPCA(1, gamma=0.1),
        params=("lambda_label", "radius"),
        loss="sq_hinge",
        random_state=0,
    ).fit(X, labels=labels)
    assert tuner.best_loss_ < tuner.initial_loss_
    assert np.mean(np.sign(tuner.embedding_[:, 0]) == y) > 0.9


def test_stopping_early_warns():
    X = np.random.default_rng(0).standard_normal((30, 3))
    placements = {i: (X[i, 0], X[i, 1]) for i in range(10)}
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        KnowledgeKernelPCACV(max_iter=1, tol=0.0).fit(X, placements=placements)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"params": ("alpha",)}, "must be some of"),
        ({"params": ()}, "must be some of"),
        ({"params": ("radius", "radius")}, "each once"),
        ({"params": ("lambda_orth",)}, "orthogonality='soft'"),
        ({"estimator": KnowledgeKernelPCA(variant="norm")}, "variant='norm'"),
        ({"estimator": KnowledgeKernelPCA(anchor=1.0)}, "anchor=1.0"),
        ({"estimator": KnowledgeKernelPCA(kernel="linear"), "params": ("gamma",)}, "rbf"),
        ({"estimator": KnowledgeKernelPCA(low_rank=5), "params": ("gamma",)}, "low_rank"),
        ({"estimator": KnowledgeKernelPCA(lambda_place=0.0)}, "must be positive to be tuned"),
        ({"cv": 9}, "cv=9 folds, and there are 5"),
        ({"loss": "sq_hinge"}, "holds out labels"),
    ],
)
def test_bad_input(params, words):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match=words):
        KnowledgeKernelPCACV(**params).fit(X, placements={i: (0.1 * i, 0.0) for i in range(5)})
