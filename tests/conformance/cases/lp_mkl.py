"""Multiple kernel learning takes tables; a stack of kernels gives three axes."""

from octavo.kernel import KernelStack, LpMKLClassifierCV, SimpleMKLClassifier
from tests.conformance.discovery import Case

KERNELS_FIRST = "one matrix a kernel: the first axis of the output is the kernel, not the sample"

TWO = [("rbf", "rbf", {"gamma": 0.1}), ("linear", "linear", {})]

CASES = [
    Case(
        make=KernelStack,
        iterative=False,
        expected_failures={
            "check_methods_subset_invariance": KERNELS_FIRST,
            "check_methods_sample_order_invariance": KERNELS_FIRST,
            "check_transformer_general": KERNELS_FIRST,
            "check_transformer_data_not_an_array": KERNELS_FIRST,
        },
    ),
    # A small grid: every check fits several times, and what a fit does is checked elsewhere.
    Case(
        make=lambda: LpMKLClassifierCV(TWO, Cs=(1.0,), norms=(2, 4), cv=2, tol=1e-6),
        full=lambda: LpMKLClassifierCV(TWO, Cs=(1.0,), norms=(1, 2), cv=2, tol=1e-6),
    ),
    Case(make=lambda: SimpleMKLClassifier(C=1.0)),
]
