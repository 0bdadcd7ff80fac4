"""The Nyström factor: K ≈ ΨΨᵀ from the kernel of all rows with a few landmarks.

With landmarks Z, K_nZ K_ZZ⁺ K_Zn = ΨΨᵀ for Ψ = K_nZ W, where W = UΛ^(−1/2) comes from the
eigendecomposition K_ZZ = UΛUᵀ. Directions whose eigenvalue is rounding are left out, so that
duplicated landmarks do no harm.
"""

from __future__ import annotations

from typing import Any

from octavo.engine.kernels.namespaces import namespace_of

CUT = 1e-10


def nystroem_normalization(K_ZZ: Any, *, cut: float | None = None) -> Any:
    """Return W with WWᵀ = K_ZZ⁺, so that Ψ = K_nZ W.

    Parameters
    ----------
    K_ZZ : array of shape (n_landmarks, n_landmarks)
        Gram matrix of the landmarks, of any array namespace.
    cut : float, default=None
        Eigenvalues below `cut` times the largest count as zero; 1e-10, or what single precision
        can tell from zero.

    Returns
    -------
    W : array of shape (n_landmarks, rank)
        One column per direction that is kept, the largest eigenvalue first.
    """
    xp = namespace_of(K_ZZ).xp
    if cut is None:
        cut = max(CUT, K_ZZ.shape[0] * float(xp.finfo(K_ZZ.dtype).eps))
    values, vectors = xp.linalg.eigh((K_ZZ + K_ZZ.T) / 2.0)
    top = float(values[-1])
    if not top > 0.0:
        raise ValueError(
            "The Gram matrix of the landmarks has no positive eigenvalue; the largest is "
            f"{top:.3g}. Is the kernel positive semidefinite?"
        )
    rank = int(xp.sum(xp.astype(values > cut * top, xp.int64)))
    values, vectors = xp.flip(values, axis=0)[:rank], xp.flip(vectors, axis=1)[:, :rank]
    return vectors / xp.sqrt(values)


def nystroem_factor(K_nZ: Any, K_ZZ: Any, *, cut: float | None = None) -> Any:
    """Return Ψ of shape (n_samples, rank) with ΨΨᵀ = K_nZ K_ZZ⁺ K_Zn.

    Parameters
    ----------
    K_nZ : array of shape (n_samples, n_landmarks)
        Kernel of every row with every landmark.
    K_ZZ : array of shape (n_landmarks, n_landmarks)
        Gram matrix of the landmarks.
    cut : float, default=None
        See `nystroem_normalization`.

    Returns
    -------
    array of shape (n_samples, rank)
        The factor.
    """
    return K_nZ @ nystroem_normalization(K_ZZ, cut=cut)
