"""Texts written for patcache, short and long, by which a graph is compared with its model."""

from __future__ import annotations

GRAPH_TEXTS = (
    "Wheel",
    "A method for grinding wheels.",
    "Lithium battery cell with a ceramic separator between two electrodes.",
    "The invention relates to a seat belt for a vehicle. A buckle holds the tongue of the belt, "
    "and a sensor reports whether the tongue is locked.",
    "A process for making a polymer film is described. A melt is pressed through a slot, cooled "
    "on a roller at 15 to 25 °C and drawn to three times its length. The film then passes "
    "between two heated plates, where its thickness is made even to within 2 µm. It is wound up "
    "without creases and serves as an insulator in capacitors.",
    "An antenna for wireless devices, comprising a ground plane, a first radiating element of a "
    "quarter wavelength and a second radiating element that is coupled to the first one without "
    "contact. Because the gap between the elements can be set by a screw, the same antenna "
    "covers the bands from 698 MHz to 2.7 GHz. Measurements show a reflection below -10 dB over "
    "the whole range. In a further embodiment the second element carries a switch, by which a "
    "controller tunes the antenna while a call is running, so that a hand near the housing does "
    "not interrupt it.",
    "Pharmaceutical composition containing 0.1-5 % of a salt of the acid and a carrier; its use "
    "against inflammation of the skin.",
    "A computer-implemented method compares two images of a road. Edges are found in both, "
    "points are matched, and the speed of each vehicle follows from the time between the images.",
)
