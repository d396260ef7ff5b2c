"""Causal graphs from categorical data with unknown interventions."""
