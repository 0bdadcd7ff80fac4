# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.kernel.interactive_session import InteractiveSession as InteractiveSession
from octavo.kernel.interactive_session import SessionAction as SessionAction
from octavo.kernel.kernel_pca_tuner import KnowledgeKernelPCATuner as KnowledgeKernelPCATuner
from octavo.kernel.knowledge_kernel_pca import KnowledgeKernelPCA as KnowledgeKernelPCA
from octavo.kernel.knowledge_kernel_pca import RankOneEigen as RankOneEigen
from octavo.kernel.knowledge_kernel_pca import SphereMinimum as SphereMinimum
from octavo.kernel.knowledge_kernel_pca import make_g241 as make_g241
from octavo.kernel.knowledge_kernel_pca import make_hidden_clusters as make_hidden_clusters
from octavo.kernel.knowledge_kernel_pca import map_distortion as map_distortion
from octavo.kernel.knowledge_kernel_pca import minimize_quadratic_on_sphere as minimize_quadratic_on_sphere
from octavo.kernel.knowledge_kernel_pca import rank_one_eigh as rank_one_eigh
