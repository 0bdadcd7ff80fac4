"""`njit`: numba's compiler, with a cache on disk that is keyed by sources.

numba's own cache looks at the file of a kernel and not at what the kernel calls, so that an edit
of a called kernel leaves old machine code running. Here the name of a cache file is a hash of the
source of the kernel, of every function, constant and class that it reaches, of the types of its
arguments, of the compiler's options and versions, of the interpreter and of the processor. An edit
anywhere gives another name. Files are written under another name first and renamed, and carry a
checksum: two processes that fill the cache at once, a folder that cannot be written and a damaged
file all end in a compilation, never in an error or in wrong code.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import inspect
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.caching import CompileResultCacheImpl
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from octavo._interrupts import interrupts_heard
from octavo._places import cache_folder

# Releases whose inner workings `callees` and `quick_compiler` know; kernels of others are compiled
# as numba does it, more slowly.
KNOWN = ((0, 61), (0, 68))


def _is_known(version: str) -> bool:
    """Whether a release of numba lies between those that were tried."""
    major, minor = version.split(".")[:2]
    return KNOWN[0] <= (int(major), int(minor)) <= KNOWN[1] if minor.isdigit() else False


SUFFIX = ".kernel"
# Files that nobody has asked for in this many days are removed when others are written.
DAYS_KEPT = 60
# Machine code calls into the interpreter that compiled it: two versions of Python share a folder.
VERSIONS = (sys.implementation.cache_tag, numba.__version__, np.__version__)


def kernel_folder() -> Path:
    """Return where compiled kernels are kept: NUMBA_CACHE_DIR, else a part of octavo's cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named) / "octavo" if named else cache_folder() / "kernels"


# --- what a kernel depends on -----------------------------------------------------------------


def _code_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_names(constant)


def _own(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").startswith(("octavo", "tests", "__main__"))


@functools.cache
def _file_hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _text(thing: Any) -> str:
    """Return the source of a function or class, or the next best thing."""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        if code is None:
            return getattr(thing, "__qualname__", type(thing).__qualname__)
        plain = [c for c in code.co_consts if not isinstance(c, CodeType)]
        return f"{code.co_code!r}{plain!r}{code.co_names!r}"


def _parts(function: Any, seen: set[int]) -> Iterator[str]:
    """Yield the source of a function and of all that it reaches, each once."""
    if id(function) in seen:
        return
    seen.add(id(function))
    yield f"{function.__module__}.{function.__qualname__}"
    yield _text(function)
    for cell in function.__closure__ or ():
        yield from _value_parts(cell.cell_contents, seen)
    names = list(dict.fromkeys(_code_names(function.__code__)))
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            # `module.name`: the attribute is among the names as well.
            if value.__name__.startswith(("octavo", "tests")):
                for attribute in names:
                    if hasattr(value, attribute):
                        yield f"{value.__name__}.{attribute}"
                        yield from _value_parts(getattr(value, attribute), seen)
        elif value is not None:
            yield name
            yield from _value_parts(value, seen)


def _options_text(options: dict[str, Any]) -> str:
    """Return compiler options in an order that no process changes."""
    plain = {k: sorted(v) if isinstance(v, (set, frozenset)) else v for k, v in options.items()}
    return repr(sorted(plain.items(), key=lambda item: item[0]))


def _value_parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield what a global, a closed-over value or a default contributes."""
    if isinstance(value, CPUDispatcher):
        yield _options_text(value.targetoptions)
        yield from _parts(value.py_func, seen)
    elif isinstance(value, tuple):
        yield type(value).__name__
        for entry in value:
            yield from _value_parts(entry, seen)
    elif isinstance(value, np.ndarray):
        yield hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    elif isinstance(value, (bool, int, float, complex, str, bytes, np.generic, type(None))):
        yield repr(value)
    elif isinstance(value, FunctionType) and _own(value):
        # An interpreted function stands for an overload, which may be anywhere in its file.
        yield _file_hash(inspect.getfile(value))
        yield from _parts(value, seen)
    elif inspect.isclass(value) and _own(value):
        yield _text(value)
    elif isinstance(inner := getattr(value, "__wrapped__", None), FunctionType):  # an intrinsic's
        yield from _value_parts(inner, seen)


def _type_parts(kind: Any, seen: set[int]) -> Iterator[str]:
    """Yield what the type of an argument contributes beyond its name."""
    yield str(kind)
    if isinstance(kind, types.Dispatcher):
        yield from _value_parts(kind.dispatcher, seen)
    if (cls := getattr(kind, "instance_class", None)) is not None:
        yield f"{cls.__module__}.{cls.__qualname__}{getattr(cls, '_fields', ())}"
    if isinstance(kind, types.BaseTuple):
        for inner in iter(kind):  # type: ignore[call-overload]
            yield from _type_parts(inner, seen)


# --- the cache --------------------------------------------------------------------------------


class SourceKeyedCache:
    """The compiled overloads of one kernel on disk.

    Parameters
    ----------
    py_func : function
        The kernel as written.
    options : dict
        The options it is compiled with.
    """

    def __init__(self, py_func: Any, options: dict[str, Any]) -> None:
        self.py_func = py_func
        self.options = _options_text(options)
        self.impl: Any = None

    @property
    def cache_path(self) -> str:
        """The folder, as numba's statistics want it."""
        return str(kernel_folder())

    @functools.cached_property
    def source_key(self) -> str:
        """A hash of the kernel and of all that it reaches, made when it is first needed."""
        total = hashlib.sha256(self.options.encode())
        for part in _parts(self.py_func, set()):
            total.update(part.encode() + b"\0")
        return total.hexdigest()

    def path_of(self, signature: Any, codegen: Any) -> Path:
        """Return the file of one overload."""
        args = getattr(signature, "args", signature)
        parts = [self.source_key, repr(VERSIONS), repr(codegen.magic_tuple()), str(signature)]
        seen: set[int] = set()
        for kind in args:
            parts += list(_type_parts(kind, seen))
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return kernel_folder() / f"{self.py_func.__name__}-{key}{SUFFIX}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled overload, or None where there is none that is whole."""
        target_context.refresh()
        path = self.path_of(signature, target_context.codegen())
        payload = read_checked(path)
        if payload is None:
            return None
        try:
            return self._impl.rebuild(target_context, pickle.loads(payload))
        except Exception:  # written by another build of the compiler: as good as absent
            path.unlink(missing_ok=True)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled overload, where the folder can be written."""
        if self._impl.check_cachable(result):
            path = self.path_of(signature, result.codegen)
            write_checked(path, dumps(self._impl.reduce(result)))

    def flush(self) -> None:
        """Do as if nothing were kept; the files of other sources do not matter."""

    @property
    def _impl(self) -> Any:
        if self.impl is None:
            # Only its three ways of treating a result are used, none of its places.
            self.impl = object.__new__(CompileResultCacheImpl)
            self.impl._lineno = self.py_func.__code__.co_firstlineno
            self.impl._locator = _Located(self.py_func.__code__.co_filename)
        return self.impl


class _Located:
    """Where a warning of the compiler points to."""

    def __init__(self, py_file: str) -> None:
        self._py_file = py_file


def read_checked(path: Path) -> bytes | None:
    """Return what `write_checked` wrote, or None if it is absent or damaged."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    digest, payload = raw[:32], raw[32:]
    if hashlib.sha256(payload).digest() != digest:
        path.unlink(missing_ok=True)
        return None
    return payload


def write_checked(path: Path, payload: bytes) -> None:
    """Write a file in one step, or not at all where the folder cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _forget_old(path.parent)
    except OSError:
        return


@functools.cache
def _forget_old(folder: Path) -> None:
    """Remove kernels that were not read for a long time; once in the life of a process."""
    limit = time.time() - DAYS_KEPT * 86_400
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            if max(path.stat().st_atime, path.stat().st_mtime) < limit:
                path.unlink()
        except OSError:
            continue


# --- the decorator ----------------------------------------------------------------------------


@contextmanager
def collector_resting() -> Iterator[None]:
    """Keep the garbage collector from walking through the compiler's many small objects."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _undisturbed(compile_overload: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compilation of an overload without garbage collection; no Ctrl-C is lost."""

    @functools.wraps(compile_overload)
    def compiled(*args: Any, **options: Any) -> Any:
        with interrupts_heard(), collector_resting():
            return compile_overload(*args, **options)

    return compiled


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function as `numba.njit` does; with ``cache=True`` by sources.

    Parameters
    ----------
    function : callable, optional
        The kernel; without it a decorator is returned.
    **options : dict
        The options of `numba.njit`.

    Returns
    -------
    kernel : dispatcher or decorator
        What `numba.njit` returns.

    Examples
    --------
    >>> from octavo.engine.compilation.kernel_cache import njit
    >>> @njit
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    if function is None:
        return functools.partial(njit, **options)
    cached = options.pop("cache", False)
    dispatcher: Any = (_in_haste if _is_known(numba.__version__) else numba.njit)(**options)(
        function
    )
    if cached and hasattr(dispatcher, "py_func"):  # not where numba is switched off
        dispatcher._cache = SourceKeyedCache(dispatcher.py_func, options)
    if hasattr(dispatcher, "compile"):
        dispatcher.compile = _undisturbed(dispatcher.compile)
    return dispatcher


def _in_haste(**options: Any) -> Callable[..., Any]:
    """Return a decorator that compiles as `numba.njit` does, in less time."""
    from octavo.engine.compilation.quick_compiler import QuickCompiler, use_quick_flags

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options, pipeline_class=QuickCompiler)(function)
        if hasattr(dispatcher, "py_func"):
            # A kernel that calls itself must find itself at work.
            if options.get("inline", "never") == "never" and not _names_itself(dispatcher.py_func):
                _compile_lightly_for_kernels(dispatcher, options)
            use_quick_flags(dispatcher, no_cfunc_wrapper=True)
        return dispatcher

    return compiled


def _names_itself(function: Any) -> bool:
    return function.__name__ in function.__code__.co_names


def _plain_integer(kind: Any) -> Any:
    """Return the type of an argument without its value, where that is a whole number.

    A number that is written out in a call would make the compiler build the kernel once more for
    that number; True, False and None stay, because branches that depend on them are dropped.
    """
    if isinstance(kind, numba.types.IntegerLiteral):
        return numba.types.unliteral(kind)
    return kind


def _compile_lightly_for_kernels(dispatcher: Any, options: dict[str, Any]) -> None:
    """Let kernels that call this one compile it without what only Python needs."""
    from octavo.engine.compilation.callees import callee_of

    callee = callee_of(dispatcher.py_func, options)

    def call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return callee.get_call_template(tuple(map(_plain_integer, args)), kws)

    dispatcher.get_call_template = call_template
    dispatcher.get_overload = callee.get_overload
