"""A step on an accelerator, recorded once and replayed.

A contrastive step is some eighty small array operations; launching them one by one costs an
accelerator more than computing them. With torch on a CUDA device the step is recorded as a CUDA
graph and replayed as a whole. Anywhere else the step is called as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[..., Any]


def is_cuda_tensor(array: Any) -> bool:
    """Return whether an array is a torch tensor on a CUDA device."""
    return bool(getattr(array, "is_cuda", False)) and type(array).__module__.startswith("torch")


class ReplayedStep:
    """A step ``state, *inputs -> state`` on tensors of fixed shapes, as a CUDA graph.

    Parameters
    ----------
    step : callable
        The step; it must not read a tensor on the host.
    state : NamedTuple of tensors
        Where it starts.
    inputs : tuple of tensors
        Inputs of the shapes that all later inputs have.
    """

    def __init__(self, step: Step, state: Any, inputs: tuple[Any, ...]) -> None:
        import torch

        self._kind = type(state)
        self._state = [part.clone() for part in state]
        self._inputs = [part.clone() for part in inputs]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries settle their workspaces before the recording
            for _ in range(2):
                step(self._kind(*self._state), *self._inputs)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            fresh = step(self._kind(*self._state), *self._inputs)
            for old, new in zip(self._state, fresh, strict=True):
                old.copy_(new)

    def __call__(self, state: Any, *inputs: Any) -> Any:
        """Return the state after one step."""
        for old, new in zip(self._state, state, strict=True):
            if old is not new:
                old.copy_(new)
        for old, new in zip(self._inputs, inputs, strict=True):
            old.copy_(new)
        self._graph.replay()
        return self._kind(*self._state)
