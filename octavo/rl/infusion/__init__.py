"""Closed-loop infusion: a patient to simulate, controllers, trials and clinical measures.

Simulation, not a medical device.
"""
