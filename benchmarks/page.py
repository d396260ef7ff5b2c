"""Write the measured tables into docs/results.md, each between its two marks: python benchmarks/page.py."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import accuracy
import default
import tables

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
TABLES: dict[str, Callable[[], str]] = {
    "accuracy": lambda: accuracy.summary(accuracy.RESULTS),
    "default": default.summary,
    "tables": lambda: tables.summary(tables.RESULTS),
    "calibration": lambda: tables.calibration_summary(tables.CALIBRATION),
}


def main() -> None:
    text = PAGE.read_text()
    for name, make in TABLES.items():
        found = re.search(rf"<!-- {name} -->\n.*?\n<!-- end -->", text, re.DOTALL)
        if found is None:
            raise SystemExit(f"{PAGE}: expected the marks <!-- {name} --> and <!-- end -->; put them where it belongs")
        before, after = found.span()
        text = f"{text[:before]}<!-- {name} -->\n{make()}\n<!-- end -->{text[after:]}"
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
