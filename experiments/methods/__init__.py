"""Other ways to a causal graph, one file each; what the comparison calls is listed in comparison/registry.py."""
