"""Single precision is no reason to call a kernel indefinite."""

import warnings

import numpy as np
import pytest

from octavo.engine.spectral.gram_path import Spectrum
from octavo.kernel import KernelGDRegressor


def spectrum(lowest, dtype):
    return Spectrum(np.array([0.5, 0.1]), 2, 0.6, 0.26, np.eye(2, dtype=dtype), lowest)


def test_rounding_of_single_precision_is_not_indefinite():
    check = KernelGDRegressor()._check_definite
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(spectrum(-1e-7, np.float32))
    for lowest, dtype in ((-1e-7, np.float64), (-1e-3, np.float32)):
        with pytest.warns(UserWarning, match="indefinite"):
            check(spectrum(lowest, dtype))
