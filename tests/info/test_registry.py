"""The registry by discovery, the functional forms, and what they say of bad input."""

import inspect

import numpy as np
import pytest

import octavo.info as info
from octavo._names import UnknownNameError
from octavo.info import EntropyEstimator, list_estimators

X = np.random.default_rng(0).normal(size=(80, 3))
Y = np.random.default_rng(1).normal(0.3, 1.0, size=(60, 3))


def test_list_tells_what_it_promises_for_each_kind():
    everything = list_estimators()
    for kind in ("entropy", "mutual_info", "divergence", "cross_entropy", "kernel"):
        records = list_estimators(kind)
        assert records
        assert {r.kind for r in records} == {kind}
        assert set(records) <= set(everything)
    for record in everything:
        assert all((record.name, record.estimates, record.cost, record.assumptions))


def test_table_prints_one_row_for_each_estimator_with_no_line_too_long():
    text = repr(list_estimators("entropy"))
    assert text.splitlines()[0].startswith("name")
    for record in list_estimators("entropy"):
        assert f"\n{record.name} " in text
    assert max(map(len, text.splitlines())) <= 165


def test_table_makes_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(list_estimators("divergence"))
    assert {"name", "cost", "assumptions"} <= set(frame.columns)


def test_functional_forms_equal_the_classes():
    pairs = [
        (info.entropy(X, n_neighbors=4), info.KnnShannonEntropy(n_neighbors=4).estimate(X)),
        (info.entropy(X, "renyi", "mst", alpha=0.5), info.MSTRenyiEntropy(0.5).estimate(X)),
        (info.mutual_info(X, groups=[[0, 1], [2]]), info.KSGMutualInformation().estimate(
            X[:, :2], X[:, 2])),
        (info.divergence(X, Y, "l2"), info.KnnL2Divergence().estimate(X, Y)),
        (info.cross_entropy(X, Y), info.KnnCrossEntropy().estimate(X, Y)),
        (info.distribution_kernel(X, Y), info.BhattacharyyaKernel().estimate(X, Y)),
    ]  # fmt: skip
    for functional, direct in pairs:
        assert functional == direct


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: info.entropy(X, "shanon"), "did you mean shannon"),
        (lambda: info.entropy(X, "shannon", "vasicec"), "did you mean vasicek"),
        (lambda: info.divergence(X, Y, "hellnger"), "did you mean hellinger"),
        (lambda: info.entropy(X, "renyi", alfa=0.5), "did you mean alpha"),
        (lambda: list_estimators("entropi"), "did you mean entropy"),
        (lambda: info.find_estimator("divergenc", "kl"), "did you mean divergence"),
    ],
)
def test_unknown_names_suggest_the_nearest(call, words):
    with pytest.raises(UnknownNameError, match=words):
        call()


def test_a_users_class_is_found_without_being_listed():
    class HalfEntropy(EntropyEstimator):
        measure, method = "half_of_shannon", "test"
        estimates, cost, assumptions = "H/2", "O(N log N)", "none"

        def _estimate(self, X):
            return 0.5 * info.KnnShannonEntropy().estimate(X)

    assert info.entropy(X, "half_of_shannon") == 0.5 * info.entropy(X)
    assert "HalfEntropy" in {record.name for record in list_estimators("entropy")}


def test_estimates_that_are_no_numbers_are_errors():
    class Broken(EntropyEstimator):
        measure, method = "broken", "test"
        estimates, cost, assumptions = "inf", "O(1)", "nothing works"

        def _estimate(self, X):
            return np.inf

    with pytest.raises(ValueError, match=r"Broken found inf .*nothing works"):
        Broken().estimate(X)


def test_overflow_is_an_error_in_words():
    near = 1e-120 * np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="KnnL2Divergence found inf"):
        info.divergence(near, near[::-1] + 1e-121, "l2")


# --- input ----------------------------------------------------------------------------------------


def test_complex_entropy_is_that_of_real_and_imaginary_parts():
    Z = X[:, 0] + 1j * X[:, 1]
    assert info.entropy(Z) == info.entropy(X[:, :2])
    W = X[:, :2] + 1j * np.random.default_rng(2).normal(size=(80, 2))
    parts = np.column_stack([W[:, 0].real, W[:, 0].imag, W[:, 1].real, W[:, 1].imag])
    assert info.mutual_info(W) == pytest.approx(
        info.mutual_info(parts, groups=[[0, 1], [2, 3]]), rel=1e-12
    )


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda: np.column_stack([X, np.ones(80)]), "column 3 is 1 throughout"),
        (lambda: np.column_stack([X, X[:, 0] - 2 * X[:, 1]]), r"linearly dependent \(rank 3\)"),
    ],
)
def test_samples_without_density_are_refused(spoil, words):
    with pytest.raises(ValueError, match=words):
        info.entropy(spoil())


def test_nearly_dependent_columns_pass_and_few_rows_are_not_called_dependent():
    nearly = np.column_stack([X, X[:, 0] + 1e-6 * np.random.default_rng(0).normal(size=80)])
    assert np.isfinite(info.entropy(nearly))
    assert np.isfinite(info.entropy(np.random.default_rng(0).normal(size=(10, 30))))


def test_sparse_input_is_refused_in_words():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="sparse"):
        info.entropy(csr_array(np.eye(5)))


def test_templates_are_abstract():
    for name in ("EntropyEstimator", "DivergenceEstimator", "DistributionKernel"):
        assert inspect.isabstract(getattr(info, name))
