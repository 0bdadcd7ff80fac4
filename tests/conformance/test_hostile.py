"""Every public function meets a wrong value by an answer or a sentence."""

import pytest

from tests.conformance.hostile import complaint, functions, spoilt, valid_call

FUNCTIONS = functions()


@pytest.mark.parametrize(
    ("package", "name", "thing"), FUNCTIONS, ids=[f"{p}.{n}" for p, n, _ in FUNCTIONS]
)
def test_wrong_values_are_met_by_a_sentence(package, name, thing):
    call = valid_call(package, name, thing)
    assert call is not None, "its docstring has no example that calls it"
    assert complaint(call, call.arguments()) == "", "its own example fails"
    wrong = [f"{label}: {what}" for label, a in spoilt(call) if (what := complaint(call, a))]
    assert not wrong, "\n".join(wrong)


def test_the_walk_finds_functions():
    assert len(FUNCTIONS) > 200
