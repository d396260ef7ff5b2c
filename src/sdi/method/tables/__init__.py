"""The same three phases with exact tables in place of networks."""
