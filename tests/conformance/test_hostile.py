"""Everything public meets a wrong value by an answer or a sentence.

`make test` runs a fixed share of the cases of each function and estimator; `make fuzz` runs all
of them, and rounds in which two things are wrong at once.
"""

import random

import pytest

from octavo.engine.estimators.sound import SoundEstimator
from tests.conformance import hostile, hostile_estimators
from tests.conformance.hostile import chosen, rounds
from tests.conformance.hostile_estimators import ANY, run, spoilt_settings, spoilt_tables

FUNCTIONS = hostile.functions()
ESTIMATORS = hostile_estimators.estimator_classes()
EXTRAS = {"SuperpixelFeatures": "skimage"}  # estimators that do nothing without an extra
BASES = {"SampleEstimator": "a base for estimators of one's own, without a measure"}


def each(things):
    return pytest.mark.parametrize(
        ("package", "name", "thing"), things, ids=[f"{p}.{n}" for p, n, _ in things]
    )


@each(FUNCTIONS)
def test_functions(package, name, thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some functions write files, and "banana" is a fine name for one
    call = hostile.valid_call(package, name, thing)
    assert call is not None, "its docstring has no example that calls it"
    wrong = []
    for label, arguments in chosen(name, hostile.spoilt(call), one_in=5):
        if what := hostile.complaint(call, arguments):
            wrong.append(f"{label}: {what}")
    assert not wrong, "\n".join(wrong)


@each(ESTIMATORS)
def test_estimators(package, name, thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name in BASES:
        pytest.skip(BASES[name])
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    use = hostile_estimators.valid_use(package, name, thing)
    assert use is not None, "neither a table, a declared case nor its docstring's example works"
    assert issubclass(thing, SoundEstimator)
    plain = run(use)
    wrong = []
    for label, expected, spoilt in chosen(name, spoilt_tables(use), one_in=3):
        finite = not label.endswith(("NaN", "inf"))
        what = hostile_estimators.complaint(plain, run(spoilt), expected, finite=finite)
        wrong += [f"{label}: {what}"] if what else []
    for label, params in chosen(name, spoilt_settings(use), one_in=5):
        what = hostile_estimators.complaint(plain, run(use, params), ANY, finite=True)
        wrong += [f"{label}: {what}"] if what else []
    wrong += list(two_at_once(name, use, plain))
    assert not wrong, "\n".join(wrong)


def two_at_once(name, use, plain):
    """Spoil a table and a setting together, as often as was asked for."""
    chance = random.Random(name)
    tables, settings = list(spoilt_tables(use)), list(spoilt_settings(use))
    for _ in range(rounds() if settings else 0):
        (where, _, spoilt), (which, params) = chance.choice(tables), chance.choice(settings)
        finite = not where.endswith(("NaN", "inf"))
        what = hostile_estimators.complaint(plain, run(spoilt, params), ANY, finite=finite)
        if what:
            yield f"{where} and {which}: {what}"


def test_the_walks_find_everything():
    assert len(FUNCTIONS) > 200
    assert len(ESTIMATORS) > 200
