"""Mixtures of discrete distributions, fitted by EM: latent classes and topics."""
