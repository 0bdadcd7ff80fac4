# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.sequence.count_hmm import CountHMM as CountHMM
from octavo.sequence.hmm_model import simulate_hmm as simulate_hmm
from octavo.sequence.hybrid_decoding import HybridDecoder as HybridDecoder
from octavo.sequence.hybrid_decoding import HybridDecoderCV as HybridDecoderCV
from octavo.sequence.hybrid_decoding import asymptotic_risks as asymptotic_risks
from octavo.sequence.path_decoding import decode as decode
from octavo.sequence.path_decoding import decode_path_family as decode_path_family
from octavo.sequence.posterior_risks import Posteriors as Posteriors
from octavo.sequence.posterior_risks import hmm_posteriors as hmm_posteriors
from octavo.sequence.posterior_risks import path_risks as path_risks
from octavo.sequence.transform_decoding import TransformedVariables as TransformedVariables
from octavo.sequence.transform_decoding import transformed_variables as transformed_variables
