"""Printed tables add up to the means that the paper prints."""

import numpy as np

from octavo.data import load_propofol_volunteers


def test_means_of_the_transitions():
    tables = load_propofol_volunteers()
    names = ("t_sp", "t_peak", "t_ss", "bis_peak")
    # printed to two digits from rows of two digits
    for name, printed in zip(names, (2.47, 3.95, 5.21, 8.25)):
        assert abs(tables.down[name].mean() - printed) < 0.01
    for name, printed in zip(names, (9.72, 10.71, 12.43, 8.87)):
        assert abs(tables.up[name].mean() - printed) < 0.01
    fast = tables.up["fast"]
    assert abs(tables.up["t_sp"][fast].mean() - 7.43) < 0.01
    assert abs(tables.up["t_sp"][~fast].mean() - 11.09) < 0.01


def test_body_mass_follows_from_weight_and_height():
    who = load_propofol_volunteers().volunteers
    found = who["weight"] / (who["height"] / 100) ** 2
    # weights printed to 0.1 kg, heights to 1 cm, which is 0.3 of the index
    assert np.abs(found - who["bmi"]).max() < 0.35
    assert (who["sex"] == "male").sum() == 11


def test_shapes_and_durations():
    tables = load_propofol_volunteers()
    both = tables.target_40["duration"] + tables.target_60["duration"]
    assert np.abs(both - tables.aggregate["duration"]).max() < 0.15
    assert all(len(column) == 15 for column in tables.aggregate.values())
