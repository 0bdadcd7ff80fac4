"""Every public signature and fitted attribute uses the words of docs/vocabulary.md."""

import inspect
import re

import pytest
from sklearn.base import BaseEstimator

from tests.conformance.discovery import PACKAGE, estimators, public_objects

WORDS = PACKAGE.parent / "docs" / "vocabulary_words.txt"
# Word: where it may be used all the same, by the beginning of the dotted name.
BANNED = {
    "lam": (
        "rl.",
        "sequence.PPKSpectralClustering",
        "sequence.hmm_ppk",
        "kernel.eb_mse",
        "metric.FixedRankPSDRegressor",
        "metric.OnlineFixedRankPSD",
        "metric.LowRank",
        "metric.PSDPolar",
        "metric.simplex_distance",
        "kernel.pard_kkt",
        "kernel.group_lasso_kkt",
        "kernel.vskl_oracle",
        "structured.PosteriorProjection",
    ),
    "lam1": (),
    "lam2": (),
    "lambda_": (
        "kernel.GroupARDRegression",
        "kernel.GroupLassoEB",
        "kernel.ImpulseResponseSelector",
        "kernel.VSKL",
        "kernel.SimpleMKLClassifier",
    ),
    "lams": (),
    "reg": (
        # POT's word for the smoothing of transport, which is no penalty of a model
        "metric.GroundMetricLearner",
        "metric.OTNeighborsClassifier",
        "metric.transport_",
        # the ridge of correlations and discriminants, as their packages call it
        "decomposition.ExactCCA",
        "decomposition.KernelCCA",
        "kernel.KernelFisherDiscriminant",
    ),
    "reg2": (),
    "ridge": (),
    "l1": (),
    "l2": (),
    "sigma": (
        # the field's word for the strength of posterior regularisation
        "structured.DMV",
        "structured.L1LinfPosteriorRegularizer",
        "structured.SparseTagHMM",
        "structured.scale_sigma",
        # generators that `octavo.data` has as well: the width of a spectrum and of noise
        "decomposition.make_colored_noise",
        "network.make_autoregressive_graphs",
        "ranking.",
        "data.",
        "kernel.rank_one_eigh",
        "graphical.CDNTeamRanker",
        # the size of the noise in the calculators of early stopping
        "kernel.bias_variance",
        "kernel.critical_radius",
        "kernel.exact_risk",
        "kernel.finite_rank_rate",
        "kernel.polynomial_decay_rate",
        "kernel.population_radius",
        "kernel.ridge_exact_risk",
        "kernel.ridge_nu",
        "kernel.stopping_bounds",
        "kernel.stopping_time",
        "kernel.sure_curve",
    ),
    "C_grid": (),
    "ps": (),
    "base_estimator": (),
    "max_steps": ("search.DoublePole",),
    "n_passes": (),
    "n_sweeps": (),
    "algorithm": (),
    "centre": (),
    "standardise": (),
    "normalise": (),
    "width": ("rl.RBFGridFeatures", "kernel.SparseBayesKernel"),
    "dual_gap_": (),
    "gap_": (),
    "certificate_gap_": (),
    "objective_path_": (),
    "objective_trace_": (),
    "lower_bounds_history_": (),
    "k": (
        "rl.make_rock_sample",
        "sequence.",
        "ranking.",
        "kernel.ard_orthogonal",
        "kernel.group_sparse_study",
        "kernel.make_group_sparse",
        "kernel.orthogonal_mse",
        "kernel.zero_probability",
        "data.make_group_sparse",
        "linear.codelength",
        "search.KNNActiveSearch",  # the issue writes the signature out
        "search.central_composite",
        "search.fractional_factorial",
        "survival.MismatchOutlierDetector",
        "metric.GroundMetricLearner",
        "metric.ground_metric_criterion",
    ),
}
CLASSES = [(f"{p}.{n}", t) for p, n, t in public_objects() if p != "plot" and inspect.isclass(t)]


def parameters():
    """Yield (dotted name, parameter) of everything public but plots."""
    for package, name, thing in public_objects():
        if package == "plot":
            continue
        try:
            found = inspect.signature(thing).parameters.values()
        except (TypeError, ValueError):
            continue
        for parameter in found:
            yield f"{package}.{name}", parameter


def attributes():
    """Yield (dotted name, attribute) of what estimators document under Attributes."""
    for name, cls in CLASSES:
        if not issubclass(cls, BaseEstimator):
            continue
        text = inspect.getdoc(cls) or ""
        section = re.search(r"Attributes\n-+\n(.*?)(?:\n\n[A-Z][^\n]*\n-+\n|\Z)", text, re.DOTALL)
        for line in section[1].splitlines() if section else ():
            if match := re.match(r"([A-Za-z_0-9, ]+_)\s*:", line):
                for attribute in match[1].split(","):
                    yield name, attribute.strip()


def known_words():
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


# Taken before any test runs: what other tests do to modules is no word of octavo's.
USED = {p.name for _, p in parameters()} | {attribute for _, attribute in attributes()}


def used_words():
    return USED


def test_the_walk_finds_words():
    assert len(used_words()) > 500


def test_a_new_word_is_entered_on_purpose():
    new = used_words() - known_words()
    assert not new, f"see docs/vocabulary.md; if no word there serves, add to {WORDS.name}: {new}"


def test_the_list_holds_no_word_that_nothing_uses():
    unused = known_words() - used_words()
    assert not unused, f"remove from {WORDS.name}: {unused}"


def test_words_of_other_dialects_are_not_used():
    uses = [(name, p.name) for name, p in parameters()] + list(attributes())
    wrong = [
        f"{name}: {word}"
        for name, word in uses
        if word in BANNED and not name.startswith(BANNED[word] or ("nothing",))
    ]
    assert not wrong


def test_banned_words_are_not_excused_for_nothing():
    uses = {(name, p.name) for name, p in parameters()} | set(attributes())
    for word, places in BANNED.items():
        for place in places:
            assert any(name.startswith(place) and used == word for name, used in uses), (
                word,
                place,
            )


def test_no_process_is_started_unasked():
    for name, parameter in parameters():
        if parameter.name == "n_jobs":
            assert parameter.default in (None, inspect.Parameter.empty), name


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_classes_that_choose_by_cross_validation_say_so(cls):
    assert not re.search(r"(Grid|Tuner)$", cls.__name__)
