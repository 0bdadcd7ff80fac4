"""Entries that a class leaves out come from its bases; what it says itself stays."""

import inspect

from octavo.engine.estimators.shared_entries import complete_docstring
from octavo.online import AROW


def ours(cls):
    cls.__module__ = "octavo.somewhere"
    return cls


@ours
class Far:
    """Far.

    Parameters
    ----------
    tol : float
        Of the far base.
    seed : int
        A seed.
    other : int
        In no signature.
    """


@ours
class Near(Far):
    """Near.

    Parameters
    ----------
    tol : float
        Of the near base,
        in two lines.

    Attributes
    ----------
    coef_ : ndarray
        Coefficients.
    kind : str
        Not fitted.
    """


def test_what_is_left_out_comes_from_the_nearest_base_in_the_order_of_the_signature():
    @ours
    class Model(Near):
        """Fit something.

        In two paragraphs.

        Parameters
        ----------
        depth, width : int
            Sizes.

        Notes
        -----
        A note.
        """

        def __init__(self, seed, depth, tol, width):
            pass

    complete_docstring(Model)
    assert inspect.getdoc(Model) == inspect.cleandoc(
        """Fit something.

        In two paragraphs.

        Parameters
        ----------
        seed : int
            A seed.
        depth, width : int
            Sizes.
        tol : float
            Of the near base,
            in two lines.

        Attributes
        ----------
        coef_ : ndarray
            Coefficients.

        Notes
        -----
        A note.
        """
    )


def test_a_whole_docstring_and_a_missing_one_stay_as_they_are():
    class Whole(Near):
        """Whole.

        Parameters
        ----------
        tol : float
            My own.

        Attributes
        ----------
        coef_ : ndarray
            My own.
        """

        def __init__(self, tol):
            pass

    class Bare(Near):
        def __init__(self, tol):
            pass

    before = Whole.__doc__
    complete_docstring(Whole)
    complete_docstring(Bare)
    assert Whole.__doc__ is before
    assert Bare.__doc__ is None


def test_every_parameter_of_a_learner_is_told():
    text = inspect.getdoc(AROW)
    assert all(f"\n{name} : " in text for name in inspect.signature(AROW).parameters)
    assert text.index("r : float") < text.index("a : float") < text.index("covariance : {")
    assert "t_ : int\n    Rows seen." in text
