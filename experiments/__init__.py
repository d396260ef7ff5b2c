"""Tables and figures of the paper, each a client of the public names."""
