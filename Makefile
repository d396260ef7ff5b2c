# Every target makes the virtual environment it needs, on a machine with Python 3.11 or newer and pip.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/
PIP := $(RUN)python -m pip --disable-pip-version-check

.PHONY: demo test check format lint types baselines clean

demo: $(VENV)/installed
	$(RUN)sdi demo --out demo

test: $(VENV)/installed-dev
	$(RUN)python -m pytest -n auto --dist worksteal -q

check: $(VENV)/installed-dev
	$(RUN)ruff format --check .
	$(RUN)ruff check .
	$(RUN)mypy
	$(RUN)python -m pytest -n auto --dist worksteal -q

format: $(VENV)/installed-dev
	$(RUN)ruff format .
	$(RUN)ruff check --fix .

# The last three ask for old copies of standard modules (typing, dataclasses) and for CUDA: what they use of the rest is in
# the extra. Torch first, so that a build for the CPU that is at hand is kept.
baselines: $(VENV)/installed-dev
	$(PIP) install --quiet -c constraints.txt torch==2.13.0
	$(PIP) install --quiet -c constraints.txt -e '.[dev,baselines]'
	$(PIP) install --quiet -c constraints.txt --no-deps graphical-model-learning graphical-models conditional-independence

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet -c constraints.txt -e '.[dev]'
	touch $(VENV)/installed $@

clean:
	rm -rf $(VENV) demo build src/*.egg-info
