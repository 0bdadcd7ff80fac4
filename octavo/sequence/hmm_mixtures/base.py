"""What every fitted mixture of HMMs can say about sequences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.mixtures import log_sum, responsibilities, safe_log
from octavo.sequence.hmm.bank import check_rows, pack_hmms
from octavo.sequence.hmm.params import HMMParams, join_hmms
from octavo.sequence.hmm.sequence_sets import Mixture, SequenceSets, gather_sets, set_logliks


def warn_of_noise(reg_covar: float, variance: Floats) -> None:
    """Warn where the noise that is taken for granted hides the observations, as in other units."""
    widest = float(np.max(variance))
    if 0.0 < widest < reg_covar:
        warnings.warn(
            f"reg_covar={reg_covar:g} exceeds the largest variance of the observations, "
            f"{widest:.3g}: all that tells them apart is taken for noise. Lower reg_covar, or "
            "scale the observations.",
            UserWarning,
            stacklevel=4,
        )


class SequenceMixtureMixin:
    """What every fitted mixture of HMMs can say about sequences."""

    cluster_hmms_: list[HMMParams]
    weights_: Floats

    def _mixture(self) -> Mixture:
        check_is_fitted(self, "cluster_hmms_")
        return Mixture(np.asarray(self.weights_), pack_hmms(self.cluster_hmms_))

    def to_hmm(self) -> HMMParams:
        """Return the mixture as one HMM, to be decoded or drawn from.

        Returns
        -------
        hmm : HMMParams
            With the states of all components, in their order; those of one never lead to those of
            another, and it starts in component k with probability ``weights_[k]``.
        """
        check_is_fitted(self, "cluster_hmms_")
        return join_hmms(self.cluster_hmms_, self.weights_)

    def _logliks(self, X: Any, lengths: Any, groups: Any) -> tuple[Mixture, SequenceSets, Floats]:
        mixture = self._mixture()
        data = gather_sets(*check_rows(X, lengths, mixture.bank), groups)
        return mixture, data, set_logliks(mixture, data)

    def predict_proba(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Floats:
        """Return the probability of each component for each sequence, or each set of them.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        probability : ndarray of shape (n_sequences or n_groups, n_components)
            Rows add up to one; groups in the order of `numpy.unique`.
        """
        mixture, _, logliks = self._logliks(X, lengths, groups)
        return responsibilities(mixture.weights, logliks)[0]

    def predict(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> NDArray[np.intp]:
        """Return the most probable component of each sequence, or each set of them.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        labels : ndarray of int
            One entry a sequence, or a group in the order of `numpy.unique`.
        """
        mixture, _, logliks = self._logliks(X, lengths, groups)
        return np.argmax(safe_log(mixture.weights) + logliks, axis=1)

    def score_samples(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Floats:
        """Return the log-likelihood of each sequence, or each set of them.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        loglik : ndarray of float
            One entry a sequence, or a group in the order of `numpy.unique`.
        """
        mixture, _, logliks = self._logliks(X, lengths, groups)
        return log_sum(safe_log(mixture.weights) + logliks)  # the log of Eq. (4)

    def score(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> float:
        """Return the mean log-likelihood of a sequence, or of a set of them.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        loglik : float
            The mean of `score_samples`.
        """
        return float(self.score_samples(X, lengths, groups).mean())

    def _n_parameters(self) -> int:
        mixture = self._mixture()
        return mixture.weights.size - 1 + mixture.bank.n_parameters

    def bic(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> float:
        """Return the Bayesian information criterion on some sequences; lower is better.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        bic : float
            -2 log-likelihood + parameters · log(number of sequences or sets).
        """
        logliks = self.score_samples(X, lengths, groups)
        return float(-2 * logliks.sum() + self._n_parameters() * np.log(logliks.size))

    def aic(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> float:
        """Return the Akaike information criterion on some sequences; lower is better.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together.

        Returns
        -------
        aic : float
            -2 log-likelihood + 2 · parameters.
        """
        logliks = self.score_samples(X, lengths, groups)
        return float(-2 * logliks.sum() + 2 * self._n_parameters())
