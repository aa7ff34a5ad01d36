"""Simulation, rivals, exact audit, contract checks, data sets."""
