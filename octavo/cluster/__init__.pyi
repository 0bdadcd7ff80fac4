# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.cluster.referee.agreement import classification_accuracy as classification_accuracy
from octavo.cluster.referee.agreement import classification_proportion as classification_proportion
from octavo.cluster.referee.agreement import variation_of_information as variation_of_information
from octavo.cluster.referee.mixtures import OverlapNotReached as OverlapNotReached
from octavo.cluster.referee.mixtures import make_overlap_blobs as make_overlap_blobs
from octavo.cluster.referee.mixtures import make_overlap_dataset as make_overlap_dataset
from octavo.cluster.referee.mixtures import make_overlap_mixture as make_overlap_mixture
from octavo.cluster.referee.overlap import GaussianMixtureSpec as GaussianMixtureSpec
from octavo.cluster.referee.overlap import OverlapMap as OverlapMap
from octavo.cluster.referee.overlap import gaussian_overlap as gaussian_overlap
from octavo.cluster.referee.overlap import overlap_of_clustering as overlap_of_clustering
from octavo.cluster.referee.overlap import overlap_of_fit as overlap_of_fit
from octavo.cluster.referee.studies import ClusteringReferee as ClusteringReferee
from octavo.cluster.referee.studies import ExternalClusterer as ExternalClusterer
from octavo.cluster.spectral.representatives import fast_spectral_clusters as fast_spectral_clusters
