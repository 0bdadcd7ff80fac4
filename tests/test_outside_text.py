"""Text of a user's data is shown, never obeyed: in code, in terminals, in pictures."""

import ast

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text

from octavo._outside_text import literal, quoted, visible

NASTY = [
    'a""";import os;b="""',
    "\x1b[2J",
    "\x9b31m",
    "$\\frac{1}$",
    "a\\",
    "\u202etxt",
    "'\n\"",
    "\r",
]


@given(st.text(st.characters(), max_size=30) | st.sampled_from(NASTY))
def test_a_literal_is_the_text_and_nothing_else(text):
    code = quoted(text)
    assert ast.literal_eval(code) == text
    assert code.isprintable()
    (statement,) = ast.parse(f"x = {code}").body
    assert isinstance(statement.value, ast.Constant)


@given(st.text(st.characters(), max_size=30) | st.sampled_from(NASTY))
def test_a_comment_and_a_terminal_get_one_printable_line(text):
    assert visible(text).isprintable()
    assert visible(text).splitlines() in ([], [visible(text)])
    if text.isprintable():
        assert visible(text) == text


@given(st.text(st.sampled_from("$\\ab{}^_"), max_size=12))
def test_no_text_becomes_a_formula_and_all_of_it_is_drawn(text):
    assert not is_math_text(literal(text))
    drawn, is_math = plt.Text(0, 0)._preprocess_math(literal(text))
    assert not is_math
    assert drawn == text


@pytest.mark.parametrize("text", NASTY)
def test_pictures_of_nasty_names_can_be_drawn(text):
    figure, ax = plt.subplots(figsize=(2, 1))
    ax.set_yticks([0], [literal(text)])
    ax.set_xlabel(literal(text))
    figure.canvas.draw()
    plt.close(figure)
