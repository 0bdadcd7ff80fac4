"""The simulators of the family, which live with the other generators of data."""

from octavo.data.graphical.causal_dags import (
    CausalData,
    make_confounded_dag,
    make_factor_data,
    make_linear_dag,
    make_nonlinear_dag,
)

__all__ = [
    "CausalData",
    "make_confounded_dag",
    "make_factor_data",
    "make_linear_dag",
    "make_nonlinear_dag",
]
