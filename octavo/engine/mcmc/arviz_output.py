"""Draws of a posterior in the form that arviz reads."""

from __future__ import annotations

from typing import Any


def as_arviz(posterior: dict[str, Any]) -> Any:
    """Return draws as arviz keeps them.

    Parameters
    ----------
    posterior : dict of str to ndarray of shape (n_chains, n_draws, ...)
        The draws, by name.

    Returns
    -------
    data : arviz.InferenceData or xarray.DataTree
        With one group, the posterior; the type is that of the arviz that is installed.
    """
    try:
        import arviz
    except ImportError as error:
        raise ImportError("to_arviz needs the package arviz: pip install arviz.") from error
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict({"posterior": posterior})
    return arviz.from_dict(posterior=posterior)
