"""Roots, rotations and files of motion capture."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from octavo.data import make_biped_motion, make_lorenz_series, make_oscillator_styles
from octavo.sequence import decode_root, encode_root, expmap_from_euler, read_bvh


def wander(seed, n=30):
    """Return a tilted, turning root that walks."""
    rng = np.random.RandomState(seed)
    yaw = np.cumsum(0.5 * rng.standard_normal(n))
    tilt = 0.3 * rng.standard_normal((n, 2))
    body = Rotation.from_euler("zyx", np.column_stack([yaw, tilt])).as_matrix()
    return body.transpose(0, 2, 1), np.cumsum(rng.standard_normal((n, 3)), axis=0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_round_trip(seed):
    R, xyz = wander(seed)
    heading = np.arctan2(R[0, 0, 1], R[0, 0, 0])
    found, places = decode_root(encode_root(R, xyz), heading, xyz[0, :2])
    np.testing.assert_allclose(found, R, atol=1e-10)
    np.testing.assert_allclose(places, xyz, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 6.3), st.floats(-50, 50), st.floats(-50, 50))
def test_code_does_not_know_place_and_heading(seed, angle, x, y):
    R, xyz = wander(seed)
    turn = Rotation.from_euler("z", angle).as_matrix()
    moved = xyz @ turn.T + [x, y, 0.0]
    np.testing.assert_allclose(encode_root(R @ turn.T, moved), encode_root(R, xyz), atol=1e-10)


def test_walking_straight_ahead():
    turn = Rotation.from_euler("z", np.pi / 2).as_matrix()
    code = encode_root(np.tile(turn.T, (3, 1, 1)), [[0, 0, 1], [0, 2, 1], [0, 4, 1]])
    np.testing.assert_allclose(code, [[2, 0, 1, np.pi / 2, np.pi / 2, 0]] * 3, atol=1e-12)


def test_upside_down_is_warned_of():
    with pytest.warns(UserWarning, match="upside down at frame 1"):
        encode_root([np.eye(3), np.diag([1.0, -1.0, -1.0])], np.zeros((2, 3)))


def test_no_rotation_is_refused():
    with pytest.raises(ValueError, match="frame 1 is no rotation"):
        encode_root([np.eye(3), np.diag([1.0, 1.0, -1.0])], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="shape"):
        encode_root(np.eye(3), np.zeros((1, 3)))


def test_exponential_maps_rotate_as_euler_angles_do():
    angles = np.random.RandomState(0).uniform(-90, 90, (20, 3))
    found = Rotation.from_rotvec(expmap_from_euler(angles)).as_matrix()
    z, x, y = (
        Rotation.from_euler(a, angles[:, i : i + 1], degrees=True).as_matrix()
        for i, a in enumerate("ZXY")
    )
    np.testing.assert_allclose(found, z @ x @ y, atol=1e-12)


def test_orders_and_paths_that_are_none_are_sentences():
    with pytest.raises(ValueError, match="twice in a row"):
        expmap_from_euler(np.zeros((2, 3)), "XXY")
    with pytest.raises(TypeError, match="path of a file"):
        read_bvh(None)


def test_unwrapped_maps_do_not_jump():
    angles = np.column_stack([np.arange(0, 900, 10.0), np.zeros(90), np.zeros(90)])
    found = expmap_from_euler(angles, unwrap=True)
    np.testing.assert_allclose(found[:, 2], np.deg2rad(angles[:, 0]), atol=1e-9)
    assert np.abs(expmap_from_euler(angles)).max() <= np.pi + 1e-12


TEXT = """HIERARCHY
ROOT Hips
{
  OFFSET 0.0 0.0 0.0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftLeg
  {
    OFFSET 1.0 -2.0 0.0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0.0 -3.0 0.0
    }
  }
  JOINT RightLeg
  {
    OFFSET -1.0 -2.0 0.0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0.0 -3.0 0.0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
"""


def test_bvh(tmp_path):
    rows = "\n".join(" ".join(str(12 * t + c) for c in range(12)) for t in range(2))
    path = tmp_path / "walk.bvh"
    path.write_text(TEXT + rows)
    motion = read_bvh(path)
    path.write_text(TEXT + rows, encoding="utf-8-sig")  # as Windows writes it
    assert (read_bvh(path).frames == motion.frames).all()
    assert motion.names == ("Hips", "LeftLeg", "RightLeg")
    assert motion.parents.tolist() == [-1, 0, 0]
    assert motion.offsets.tolist() == [[0, 0, 0], [1, -2, 0], [-1, -2, 0]]
    assert motion.channels[1] == ("Zrotation", "Xrotation", "Yrotation")
    np.testing.assert_array_equal(motion.frames, np.arange(24.0).reshape(2, 12))
    assert motion.frame_time == 0.0333333


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends too early"),
        ("HELLO", "expected HIERARCHY"),
        (TEXT + "1 2 3", "need 24 numbers, the file has 3"),
        (TEXT + "x " * 24, "no number"),
        (TEXT + "nan " * 24, "NaN or infinite"),
        (TEXT.replace("OFFSET 0.0 0.0 0.0", "OFFSET a b c"), "expected a number"),
    ],
)
def test_files_that_are_none(tmp_path, text, words):
    path = tmp_path / "bad.bvh"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_bvh(path)


def test_generators():
    made = make_oscillator_styles(3, 2, n_channels=4, length=30, random_state=0)
    assert made.styles.tolist() == [0, 0, 1, 1, 2, 2]
    assert made.speeds.tolist() == [0, 1] * 3
    again = make_oscillator_styles(3, 2, n_channels=4, length=30, random_state=0)
    np.testing.assert_array_equal(made.sequences[3], again.sequences[3])
    walk = make_biped_motion("limp", length=40, random_state=0)
    gap = walk.rotations @ walk.rotations.transpose(0, 2, 1) - np.eye(3)
    assert np.abs(gap).max() < 1e-12
    assert (np.linalg.det(walk.rotations) > 0).all()
    X = make_lorenz_series(400, step=0.01, random_state=0)
    # the equations themselves, by central differences of step 0.01: error h²/6 · x''' ~ 1e-1
    slope = (X[2:] - X[:-2]) / 0.02
    x, y, z = X[1:-1].T
    wanted = np.column_stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
    assert np.abs(slope - wanted).max() < 0.02 * np.abs(wanted).max()
