"""The paper's learner: masked neural networks, three phases, Algorithm 1."""
