"""Simulation, exact audit, contract checks, data sets."""
