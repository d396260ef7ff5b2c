"""The machinery behind `python -m experiments compare`: the same rows for every method, each in its own process."""
