"""Planted mixtures, principal components as a bound, and what the model must not depend on."""

import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from octavo.data import make_anechoic_mixture
from octavo.decomposition import AnechoicMixture, shift_fractional, shifted_match


def principal_error(X, n):
    return np.sqrt(np.sum(np.linalg.svd(X, compute_uv=False)[n:] ** 2))


@pytest.mark.parametrize("seed", range(200, 204))
def test_planted_mixtures_are_exact_as_the_best_of_the_starts(seed):
    sample = make_anechoic_mixture("smooth", random_state=seed)
    model = AnechoicMixture(2, random_state=seed).fit(sample.X)
    assert model.quality_ >= 0.999
    assert shifted_match(model.sources_, sample.sources) > 0.98
    assert len(model.start_qualities_) == 20
    assert np.all(np.diff(model.objectives_) <= 0)


def test_the_model_is_what_it_says():
    sample = make_anechoic_mixture("smooth", n_channels=6, n_times=96, noise=0.1, random_state=1)
    model = AnechoicMixture(2, n_init=5, random_state=0).fit(sample.X)
    direct = np.array(
        [
            sum(
                model.weights_[i, j] * shift_fractional(model.sources_[j], model.delays_[i, j])
                for j in range(2)
            )
            for i in range(6)
        ]
    )
    np.testing.assert_allclose(model.reconstruct(), direct, atol=1e-10)
    off = np.linalg.norm(sample.X - direct)
    assert model.quality_ == pytest.approx(1 - off / np.linalg.norm(sample.X))
    assert model.objective_ == pytest.approx(off**2, rel=1e-8)
    np.testing.assert_allclose(np.linalg.norm(model.sources_, axis=1), 1.0)
    turns = np.exp(2j * np.pi * model.delays_ / 96)
    mean = np.angle((np.abs(model.weights_) * turns).sum(axis=0)) * 96 / (2 * np.pi)
    assert np.all(np.abs(mean) <= 0.5 + 1e-9)


@pytest.mark.parametrize("n_sources", [1, 2, 3])
@pytest.mark.parametrize("kind", ["noise", "gait"])
def test_error_is_never_above_that_of_principal_components(n_sources, kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 31)) if kind == "noise" else make_anechoic_mixture(
        "gait", n_channels=5, n_times=40, noise=0.2, random_state=5
    ).X  # fmt: skip
    for settings in ({}, {"delays": "linear"}, {"domain": "fresnel"}, {"init": "random"}):
        model = AnechoicMixture(n_sources, n_init=1, max_iter=3, random_state=0, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        off = np.linalg.norm(X - model.reconstruct())
        assert off <= principal_error(X, n_sources) * (1 + 1e-9)


def test_mixtures_without_delays_keep_the_span():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 50))
    model = AnechoicMixture(2, max_delay=0, subsample=False, random_state=0).fit(X)
    assert not model.delays_.any()
    assert model.quality_ > 1 - 1e-3  # tol is 1e-7 of the energy: its root
    span = np.linalg.svd(X, full_matrices=False)[2][:2]
    # without delays sources are combinations of rows of X, wherever the iterations stop
    np.testing.assert_allclose(span.T @ (span @ model.sources_.T), model.sources_.T, atol=1e-12)


@pytest.mark.parametrize("domain", ["fourier", "fresnel", "frft"])
@pytest.mark.parametrize("inner", ["nmf", "anmf"])
def test_every_domain_finds_a_planted_mixture(domain, inner):
    sample = make_anechoic_mixture("smooth", n_times=128, random_state=210)
    model = AnechoicMixture(2, domain=domain, inner=inner, random_state=0).fit(sample.X)
    assert model.quality_ > 0.999


def test_random_starts_are_shifted_factor_analysis():
    sample = make_anechoic_mixture("smooth", n_times=128, random_state=211)
    model = AnechoicMixture(2, init="random", random_state=0).fit(sample.X)
    assert model.quality_ > 0.999


def test_published_phase_retrieval_runs_and_is_behind_least_squares():
    sample = make_anechoic_mixture("smooth", n_times=128, random_state=212)
    best = AnechoicMixture(2, random_state=0).fit(sample.X).quality_
    for phase_update in ("group_delay", "gerchberg_saxton"):
        model = AnechoicMixture(2, phase_update=phase_update, n_init=3, max_iter=60, random_state=0)
        assert 0 < model.fit(sample.X).quality_ <= best


def test_group_delay_separates_bands():
    """Sources that share no frequency, in short windows: where Eq. (33) holds."""
    t = np.arange(256)
    envelope = np.exp(-0.5 * ((t - 100) / 7) ** 2)
    sources = np.array([envelope * np.cos(0.3 * t), np.roll(envelope, 9) * np.cos(1.7 * t)])
    rng = np.random.default_rng(0)
    weights, delays = rng.uniform(0.5, 2, (6, 2)), rng.integers(-15, 16, (6, 2))
    X = np.array(
        [sum(weights[i, j] * np.roll(sources[j], delays[i, j]) for j in range(2)) for i in range(6)]
    )
    model = AnechoicMixture(2, phase_update="group_delay", max_delay=40, random_state=0).fit(X)
    assert shifted_match(model.sources_, sources) > 0.9


def test_linear_delays_do_not_wrap():
    rng = np.random.default_rng(3)
    t = np.arange(80)
    sources = np.array(
        [np.exp(-0.5 * ((t - 30) / 4) ** 2), np.exp(-0.5 * ((t - 40) / 2) ** 2) * np.cos(t)]
    )
    X = np.zeros((8, 80))
    for i in range(8):
        for s in sources:
            d, w = int(rng.integers(0, 30)), rng.uniform(0.5, 1.5)
            X[i, d:] += w * s[: 80 - d]
    model = AnechoicMixture(2, delays="linear", max_delay=30, random_state=0).fit(X)
    assert model.sources_.shape == (2, 110)
    assert model.reconstruct().shape == (8, 80)
    assert model.quality_ > 0.99
    assert np.abs(model.delays_).max() <= 55


@pytest.mark.parametrize("domain", ["fourier", "fresnel", "frft"])
def test_images(domain):
    sample = make_anechoic_mixture("sprites", n_channels=6, n_times=32, random_state=220)
    model = AnechoicMixture(2, domain=domain, nonneg_weights=True, n_init=10, random_state=0)
    model.fit(sample.X)
    assert model.sources_.shape == (2, 32, 32)
    assert model.delays_.shape == (6, 2, 2)
    assert (1 - model.quality_) ** 2 < 0.05  # 95 % of the energy, as Fig. 4
    assert model.weights_.min() >= 0
    assert model.transform(sample.X).shape == (6, 6)


def test_transform_finds_known_sources_in_new_channels():
    sample = make_anechoic_mixture("smooth", n_channels=8, n_times=128, random_state=230)
    model = AnechoicMixture(2, random_state=0).fit(sample.X)
    row = 1.5 * np.roll(model.sources_[0], 7) - 0.5 * np.roll(model.sources_[1], -11)
    found = model.transform(row[None])
    np.testing.assert_allclose(found, [[1.5, -0.5, 7, -11]], atol=1e-5)
    assert model.get_feature_names_out().tolist()[-1] == "anechoicmixture3"


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_units_do_not_matter(scale):
    X = make_anechoic_mixture("smooth", n_channels=6, n_times=64, random_state=2).X
    one = AnechoicMixture(2, n_init=3, random_state=0).fit(X)
    two = AnechoicMixture(2, n_init=3, random_state=0).fit(scale * X)
    np.testing.assert_allclose(two.quality_, one.quality_, atol=1e-6)
    np.testing.assert_allclose(two.reconstruct(), scale * one.reconstruct(), atol=1e-4 * scale)


def test_silent_channels_and_nothing_at_all():
    X = make_anechoic_mixture("smooth", n_channels=6, n_times=64, random_state=3).X
    X[2] = 0
    model = AnechoicMixture(2, n_init=3, random_state=0).fit(X)
    assert np.abs(model.weights_[2]).max() < 1e-6 * np.abs(model.weights_).max()
    nothing = AnechoicMixture(2, n_init=2, random_state=0).fit(np.zeros((3, 16)))
    assert nothing.quality_ == 1.0
    assert not nothing.weights_.any()


def test_bad_input():
    X = np.random.default_rng(0).normal(size=(3, 20))
    with pytest.warns(UserWarning, match="fewer channels"):
        AnechoicMixture(4, n_init=1, max_iter=3).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        AnechoicMixture(1).fit(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="multiple of π/2"):
        AnechoicMixture(1, domain="frft", theta=np.pi / 2).fit(X)
    with pytest.raises(ValueError, match="is for signals"):
        AnechoicMixture(1, phase_update="group_delay").fit(np.ones((2, 4, 4)))
    with pytest.raises(ValueError, match="height, width"):
        AnechoicMixture(1).fit(np.ones((2, 3, 4, 4)))
    model = AnechoicMixture(1, n_init=1).fit(np.random.default_rng(0).normal(size=(3, 4, 4)))
    with pytest.raises(ValueError, match="seen in fit"):
        model.transform(np.ones((2, 4, 5)))
    with pytest.raises(ValueError, match="entries of equal length"):
        AnechoicMixture(1).fit([[1.0, 2.0], [1.0]])


STRICT = """
    import warnings
    import numpy as np, array_api_strict as xp, sklearn
    from octavo.decomposition import AnechoicMixture
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    k = np.fft.fftfreq(16, 1 / 16)[:, None] ** 2 + np.fft.fftfreq(21, 1 / 21) ** 2
    sources = np.fft.ifft2(np.fft.fft2(rng.standard_normal((2, 16, 21))) * np.exp(-k / 32)).real
    X = np.zeros((5, 16, 21))
    for i in range(5):
        for source in sources:
            X[i] += rng.uniform(0.5, 2.0) * np.roll(source, rng.integers(16, size=2), (0, 1))
    cases = [{}, {"nonneg_weights": True}, {"delays": "linear", "max_delay": 3},
             {"init": "random", "subsample": False}]
    for case in cases:
        for given in (X, X[:, 3]):
            settings = {"n_init": 2, "max_iter": 12, "random_state": 0, **case}
            one = AnechoicMixture(2, **settings).fit(given)
            with sklearn.config_context(array_api_dispatch=True):
                S = xp.asarray(given.copy())
                other = AnechoicMixture(2, **settings).fit(S)
                found = other.transform(S)
                assert isinstance(other.reconstruct(), type(S))
            assert other.n_iter_ == one.n_iter_
            for name in ("sources_", "weights_", "delays_", "reconstruction_"):
                assert isinstance(getattr(other, name), type(S)), name
                a, b = getattr(one, name), np.asarray(getattr(other, name))
                np.testing.assert_allclose(b, a, atol=1e-8, err_msg=name)
            np.testing.assert_allclose(other.quality_, one.quality_, atol=1e-10)
            assert isinstance(found, type(S))
    with sklearn.config_context(array_api_dispatch=True):
        single = AnechoicMixture(2, random_state=0).fit(xp.asarray(X.astype("float32")))
        assert single.sources_.dtype == xp.float32 and single.quality_ > 0.999, single.quality_
        for option in ({"domain": "fresnel"}, {"inner": "anmf"}, {"phase_update": "group_delay"}):
            try:
                AnechoicMixture(2, **option).fit(xp.asarray(X))
            except ValueError as error:
                assert "takes NumPy arrays" in str(error)
            else:
                raise AssertionError(option)
    print("done")
"""


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_the_array_api_demixes_as_the_kernels_do(library):
    pytest.importorskip(library)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STRICT.replace("array_api_strict", library))],
        capture_output=True,
        text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
