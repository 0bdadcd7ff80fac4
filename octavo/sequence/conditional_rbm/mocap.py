"""Motion capture as a series to be modelled: roots without place and heading, rotations, files.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), Appendix A.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["BVHMotion", "decode_root", "encode_root", "expmap_from_euler", "read_bvh"]


# --- roots ----------------------------------------------------------------------------------------


@checked
def encode_root(R: ArrayLike, xyz: ArrayLike) -> Floats:
    """Return a body-centred code of the root, without place on the ground and heading.

    Parameters
    ----------
    R : array-like of shape (T, 3, 3)
        Rotation matrices whose rows are the axes of the body in the world (forward, lateral, up),
        as in Appendix A.3.
    xyz : array-like of shape (T, 3)
        Positions, the third axis up.

    Returns
    -------
    code : ndarray of shape (T, 6)
        Forward and lateral velocity, height, pitch, roll and yaw velocity. Velocities are forward
        differences; the last frame repeats the one before.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import encode_root
    >>> still = np.tile(np.eye(3), (3, 1, 1))
    >>> encode_root(still, [[0, 0, 1], [2, 0, 1], [4, 0, 1]])[:, 0]  # two units forward a frame
    array([2., 2., 2.])
    """
    turns, places = _check_roots(R, xyz)
    u, v = turns[:, 0], turns[:, 1]
    if (np.cross(u, v)[:, 2] <= 0).any():
        frame = int(np.flatnonzero(np.cross(u, v)[:, 2] <= 0)[0])
        warnings.warn(
            f"The body is upside down at frame {frame}; pitch and roll do not tell this, so "
            "decode_root will return it upright.",
            UserWarning,
            stacklevel=3,
        )
    # Appendix A.3: angles of the body's axes to the vertical
    pitch = np.arccos(np.clip(-u[:, 2], -1.0, 1.0))
    roll = np.arccos(np.clip(-v[:, 2], -1.0, 1.0))
    yaw = np.unwrap(np.arctan2(u[:, 1], u[:, 0]))  # yaw of u on the ground, without jumps of 2π
    turning = _forward(yaw)  # Appendix A.4: incremental changes
    dx, dy = _forward(places[:, 0]), _forward(places[:, 1])
    speed, direction = np.hypot(dx, dy), np.arctan2(dy, dx)
    # the step in the body's own frame
    forward, lateral = speed * np.cos(yaw - direction), speed * np.sin(yaw - direction)
    return np.stack([forward, lateral, places[:, 2], pitch, roll, turning], axis=1)


def _check_roots(R: ArrayLike, xyz: ArrayLike) -> tuple[Floats, Floats]:
    turns, places = np.asarray(R, dtype=np.float64), np.asarray(xyz, dtype=np.float64)
    if turns.ndim != 3 or turns.shape[1:] != (3, 3) or places.shape != (len(turns), 3):
        raise ValueError(
            "R must have shape (T, 3, 3) and xyz shape (T, 3), got "
            f"{turns.shape} and {places.shape}."
        )
    if len(turns) == 0:
        raise ValueError("R and xyz are empty; a motion needs at least one frame.")
    if not (np.isfinite(turns).all() and np.isfinite(places).all()):
        raise ValueError("R and xyz must be finite numbers; fill gaps first.")
    gap = np.abs(turns @ turns.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    flipped = np.linalg.det(turns) < 0
    if (gap > 1e-6).any() or flipped.any():
        frame = int(np.flatnonzero((gap > 1e-6) | flipped)[0])
        raise ValueError(f"R at frame {frame} is no rotation matrix; its rows must be orthonormal.")
    return turns, places


def _forward(x: Floats) -> Floats:
    """Return forward differences, the last one repeated (constant velocity)."""
    steps = np.diff(x)
    return np.concatenate([steps, steps[-1:]]) if steps.size else np.zeros_like(x)


@checked
def decode_root(
    code: ArrayLike, heading: float = 0.0, position: ArrayLike = (0.0, 0.0)
) -> tuple[Floats, Floats]:
    """Return rotations and positions of a coded root, from a given start.

    Parameters
    ----------
    code : array-like of shape (T, 6)
        As `encode_root` returns it, or as a model generates it.
    heading : float, default=0.0
        Yaw of the first frame.
    position : array-like of shape (2,), default=(0.0, 0.0)
        Where on the ground the first frame stands.

    Returns
    -------
    R : ndarray of shape (T, 3, 3)
        Rotation matrices.
    xyz : ndarray of shape (T, 3)
        Positions.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import decode_root
    >>> code = np.array([[1.0, 0.0, 2.0, np.pi / 2, np.pi / 2, 0.0]] * 3)
    >>> decode_root(code)[1][-1]
    array([2., 0., 2.])
    """
    values = np.asarray(code, dtype=np.float64)
    start = np.asarray(position, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 6 or len(values) == 0:
        raise ValueError(f"code must have shape (T, 6) with T at least 1, got {values.shape}.")
    if start.shape != (2,):
        raise ValueError(f"position must be two numbers, got shape {start.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(start).all() and np.isfinite(heading)):
        raise ValueError("code, heading and position must be finite numbers.")
    forward, lateral, height, pitch, roll, turning = values.T
    yaw = heading + np.concatenate([[0.0], np.cumsum(turning[:-1])])
    speed = np.hypot(forward, lateral)
    # forward and lateral turned back into a direction
    direction = yaw - np.arctan2(lateral, forward)
    step = np.stack([speed * np.cos(direction), speed * np.sin(direction)], axis=1)[:-1]
    ground = start + np.concatenate([np.zeros((1, 2)), np.cumsum(step, axis=0)])
    return _rotation(pitch, roll, yaw), np.column_stack([ground, height])


def _rotation(pitch: Floats, roll: Floats, yaw: Floats) -> Floats:
    """Return the upright rotation with given angles of its axes to the vertical, and yaw."""
    uz, vz = -np.cos(pitch), -np.cos(roll)
    c = np.maximum(np.abs(np.sin(pitch)), 1e-150)  # the length of u on the ground
    along = -uz * vz / c  # v is orthogonal to u
    across = np.sqrt(np.maximum(1.0 - along**2 - vz**2, 0.0))  # upright: its sign is positive
    e = np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=1)
    f = np.stack([-np.sin(yaw), np.cos(yaw), np.zeros_like(yaw)], axis=1)
    up = np.array([0.0, 0.0, 1.0])
    u = c[:, None] * e + uz[:, None] * up
    v = along[:, None] * e + across[:, None] * f + vz[:, None] * up
    return np.stack([u, v, np.cross(u, v)], axis=1)


# --- joints ---------------------------------------------------------------------------------------


@checked
def expmap_from_euler(
    angles: ArrayLike, order: str = "ZXY", *, degrees: bool = True, unwrap: bool = False
) -> Floats:
    """Return exponential maps (axis times angle) of Euler angles.

    Parameters
    ----------
    angles : array-like of shape (..., 3)
        Angles in the order of `order`; with `unwrap` the first axis is time.
    order : str, default="ZXY"
        Axes; capitals rotate with the body (as BVH files do), small letters about fixed axes.
    degrees : bool, default=True
        Whether angles are degrees, as in BVH files.
    unwrap : bool, default=False
        Whether to choose, of the maps that differ by whole turns, the one nearest to the frame
        before, so that a series does not jump.

    Returns
    -------
    expmap : ndarray of shape (..., 3)
        Rotation vectors in radians.

    Examples
    --------
    >>> from octavo.sequence import expmap_from_euler
    >>> expmap_from_euler([90, 0, 0]).round(4)
    array([0.    , 0.    , 1.5708])
    """
    values = np.asarray(angles, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] != 3:
        raise ValueError(f"angles must have three entries in the last axis, got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("angles must be finite numbers; fill gaps first.")
    if not (isinstance(order, str) and len(order) == 3 and set(order.upper()) <= set("XYZ")):
        raise ValueError(f"order must be three of the letters X, Y and Z, got {order!r}.")
    if order[0].upper() == order[1].upper() or order[1].upper() == order[2].upper():
        raise ValueError(f"order must not turn twice in a row about one axis, got {order!r}.")
    turns = Rotation.from_euler(order, values.reshape(-1, 3), degrees=degrees)
    found = turns.as_rotvec().reshape(values.shape)
    return _unwrapped(found) if unwrap and values.ndim > 1 else found


def _unwrapped(maps: Floats) -> Floats:
    """Return maps that differ from those given by whole turns, each near the one before."""
    found = maps.copy()
    for t in range(1, len(found)):
        size = np.linalg.norm(found[t], axis=-1, keepdims=True)
        before = np.linalg.norm(found[t - 1], axis=-1, keepdims=True)
        # A map of no turn has no axis: that of the frame before serves.
        along = np.divide(found[t - 1], before, out=np.zeros_like(found[t]), where=before > 0)
        axis = np.divide(found[t], size, out=along, where=size > 1e-9)
        gap = (found[t - 1] * axis).sum(axis=-1, keepdims=True) - size
        found[t] += axis * 2 * np.pi * np.round(gap / (2 * np.pi))
    return found


# --- files ----------------------------------------------------------------------------------------


class BVHMotion(NamedTuple):
    """A motion of a BVH file.

    ``names`` and ``parents`` (-1 at the root) of the joints, ``offsets`` (J, 3), ``channels`` (a
    tuple of names for each joint), ``frames`` (T, number of channels) in the order of the file,
    and ``frame_time`` in seconds.
    """

    names: tuple[str, ...]
    parents: Any
    offsets: Any
    channels: tuple[tuple[str, ...], ...]
    frames: Any
    frame_time: float


@checked
def read_bvh(path: str | os.PathLike[str]) -> BVHMotion:
    """Read a motion from a BVH file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    motion : BVHMotion
        Skeleton and frames; end sites are left out.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from octavo.sequence import read_bvh
    >>> text = '''HIERARCHY
    ... ROOT hips { OFFSET 0 0 0 CHANNELS 3 Zrotation Xrotation Yrotation
    ... JOINT knee { OFFSET 0 -1 0 CHANNELS 1 Xrotation End Site { OFFSET 0 -1 0 } } }
    ... MOTION Frames: 2 Frame Time: 0.1
    ... 0 0 0 5
    ... 0 0 0 6'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "walk.bvh"
    ...     _ = file.write_text(text)
    ...     motion = read_bvh(file)
    >>> motion.names, motion.frames[:, 3]
    (('hips', 'knee'), array([5., 6.]))
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"Expected the path of a file, got {type(path).__name__}.")
    words = Path(path).read_text(encoding="utf-8-sig", errors="replace").split()
    return _Reader(words, str(path)).motion()


class _Reader:
    """A BVH file, word by word."""

    def __init__(self, words: list[str], path: str) -> None:
        self._words, self._place, self._path = words, 0, path
        self._names: list[str] = []
        self._parents: list[int] = []
        self._offsets: list[list[float]] = []
        self._channels: list[tuple[str, ...]] = []

    def motion(self) -> BVHMotion:
        """Return what the file holds."""
        self._expect("HIERARCHY")
        while self._peek().upper() == "ROOT":
            self._take()
            self._joint(-1)
        self._expect("MOTION")
        self._expect("FRAMES:")
        n_frames = int(self._number())
        self._expect("FRAME")
        self._expect("TIME:")
        time = self._number()
        width = sum(len(channels) for channels in self._channels)
        rest = self._words[self._place :]
        if n_frames < 0 or len(rest) != n_frames * width:
            self._fail(
                f"{n_frames} frames of {width} channels need {n_frames * width} numbers, the file "
                f"has {len(rest)}"
            )
        try:
            frames = np.array(rest, dtype=np.float64).reshape(n_frames, width)
        except ValueError:
            self._fail("a frame holds something that is no number")
        if not np.isfinite(frames).all():
            self._fail("a frame holds a value that is NaN or infinite")
        return BVHMotion(
            tuple(self._names),
            np.array(self._parents, dtype=np.int64),
            np.array(self._offsets, dtype=np.float64).reshape(-1, 3),
            tuple(self._channels),
            frames,
            time,
        )

    def _joint(self, parent: int) -> None:
        """Read a joint and those below it; a skeleton's depth is not that of the call stack."""
        stack = [self._open(parent)]
        while stack:
            word = self._take().upper()
            if word == "JOINT":
                stack.append(self._open(stack[-1]))
            elif word == "END":
                self._take()
                self._expect("{")
                self._expect("OFFSET")
                for _ in range(3):
                    self._number()
                self._expect("}")
            elif word == "}":
                stack.pop()
            else:
                self._fail(f"expected JOINT, End Site or a closing brace, got {word!r}")

    def _open(self, parent: int) -> int:
        self._names.append(self._take())
        while self._peek() != "{":  # a name of several words
            self._names[-1] += " " + self._take()
        self._expect("{")
        self._expect("OFFSET")
        self._offsets.append([self._number() for _ in range(3)])
        self._expect("CHANNELS")
        count = int(self._number())
        self._channels.append(tuple(self._take() for _ in range(count)))
        self._parents.append(parent)
        return len(self._names) - 1

    def _peek(self) -> str:
        if self._place >= len(self._words):
            self._fail("it ends too early")
        return self._words[self._place]

    def _take(self) -> str:
        word = self._peek()
        self._place += 1
        return word

    def _expect(self, wanted: str) -> None:
        word = self._take()
        if word.upper() != wanted:
            self._fail(f"expected {wanted}, got {word[:40]!r}")

    def _number(self) -> float:
        word = self._take()
        try:
            return float(word)
        except ValueError:
            self._fail(f"expected a number, got {word[:40]!r}")
            raise

    def _fail(self, why: str) -> None:
        raise ValueError(f"{self._path} is no BVH file that can be read: {why}.")
