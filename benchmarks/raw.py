"""Raw rows of a benchmark: kept as those of experiments are, which a script of this folder does not find by itself."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from experiments.comparison.raw import append, read, seeds_of

__all__ = ["append", "read", "seeds_of"]
