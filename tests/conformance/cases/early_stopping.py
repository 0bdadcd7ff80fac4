"""Early stopping: each way to compute the path, and each kind of rule."""

from octavo.kernel import KernelGDRegressor, StoppedKernelRidge
from tests.conformance.discovery import Case

CASES = [
    Case(make=KernelGDRegressor),
    Case(make=lambda: KernelGDRegressor(stopping="sure", solver="lanczos", max_iter=200)),
    Case(make=lambda: KernelGDRegressor(stopping=5, solver="iterate")),
    Case(make=StoppedKernelRidge),
]
