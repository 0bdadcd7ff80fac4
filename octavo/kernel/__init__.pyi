# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.kernel.a_la_carte import AlaCarteRegressor as AlaCarteRegressor
from octavo.kernel.fourier_bounds import greedy_rate_bound as greedy_rate_bound
from octavo.kernel.fourier_bounds import greedy_sample_size as greedy_sample_size
from octavo.kernel.fourier_bounds import pointwise_fourier_bound as pointwise_fourier_bound
from octavo.kernel.fourier_bounds import uniform_fourier_bound as uniform_fourier_bound
from octavo.kernel.greedy_fourier import GreedyFourierFeatures as GreedyFourierFeatures
from octavo.kernel.greedy_fourier import GreedyFourierRegressor as GreedyFourierRegressor
from octavo.kernel.landmark_report import NystroemReport as NystroemReport
from octavo.kernel.landmark_report import kdpp_bound as kdpp_bound
from octavo.kernel.landmark_report import kmeanspp_bound as kmeanspp_bound
from octavo.kernel.landmark_report import nystroem_report as nystroem_report
from octavo.kernel.landmarks import Landmarks as Landmarks
from octavo.kernel.landmarks import select_landmarks as select_landmarks
from octavo.kernel.nystroem_landmarks import NystroemLandmarks as NystroemLandmarks
from octavo.kernel.spectral_sampler import SpectralSampler as SpectralSampler
