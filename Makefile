# `make run` and `make test` work in a fresh clone: they make .venv and install what they need.
PYTHON ?= python3
VENV ?= .venv
# What is installed. VENV=.venv-extras EXTRAS=dev,ray,slurm,postgres,optuna also tests the engines of many machines,
# and studies, and leaves the environment of `make test` as it is.
EXTRAS ?= dev
INSTALLED := $(VENV)/installed-$(EXTRAS)
# A run needs no extras: any environment will do, and a new one gets the package alone.
INSTALLED_FOR_RUN := $(firstword $(wildcard $(VENV)/installed-*) $(VENV)/installed-package)
BIN := $(VENV)/bin

# Tests run in three processes at once, which keep two processors busy while some wait for a server or a child process.
PROCESSES ?= 3
# Compiled modules are kept, which saves each of them ten seconds when tests run again.
PYTEST := PYTHONDONTWRITEBYTECODE= SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(PROCESSES)

.PHONY: run check lint unit test fuzz coverage figures docs site clean

run: $(INSTALLED_FOR_RUN)
	$(BIN)/bakeoff $(ARGS)

# Before each commit, in less than a minute.
check: lint unit

lint: $(INSTALLED)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/actionlint

unit: $(INSTALLED)
	$(PYTEST) --dist worksteal -m "not slow and not external" --ignore=tests/integration $(ARGS)

# Everything that the environment and the machine have packages and servers for; each test that is skipped says what it
# needs. Properties are tried on the same examples each time.
test: $(INSTALLED)
	$(PYTEST) --dist loadscope --no-loadscope-reorder $(ARGS)

# Properties on random examples, other ones at each call and twenty times as many.
fuzz: $(INSTALLED)
	$(PYTEST) --dist worksteal -m hypothesis --hypothesis-profile=random $(ARGS)

coverage: $(INSTALLED)
	$(PYTEST) --dist loadscope --no-loadscope-reorder --cov --cov-report=term:skip-covered --cov-report=html $(ARGS)

figures: $(INSTALLED)
	$(BIN)/python docs/figures.py

# The documentation, in site/: open site/index.html. It needs packages that nothing else needs.
docs:
	$(MAKE) --no-print-directory site EXTRAS=$(if $(findstring docs,$(EXTRAS)),$(EXTRAS),$(EXTRAS),docs)

site: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

define CHECK_PYTHON
import re, shutil, sys
limits = re.search('requires-python = ">=3[.]([0-9]+),<3[.]([0-9]+)"', open("pyproject.toml").read())
minors = range(int(limits.group(1)), int(limits.group(2)))
names = ["python3.%d" % minor for minor in reversed(minors)]
which = getattr(shutil, "which", lambda name: None)  # Python 2 lacks it
found = [name for name in names if which(name) and name != "python3.%d" % sys.version_info[1]]
cure = "make run PYTHON=" + (found or names)[0]
if sys.version_info[0] != 3 or sys.version_info[1] not in minors:
    sys.exit("bakeoff needs Python 3.%d to 3.%d; this is %s; %s" % (minors[0], minors[-1], sys.version.split()[0], cure))
packages = {"venv": "python3-venv", "ensurepip": "python3-venv", "sqlite3": "libpython3-stdlib"}
for module in packages:
    try:
        __import__(module)
    except ImportError:
        sys.exit("bakeoff needs the module %s, which %s lacks (Debian and Ubuntu: apt install %s); install it, or use another Python: %s" % (module, sys.executable, packages[module], cure))
endef
export CHECK_PYTHON

# The environment is made by the first command that needs it: the package, and the extras in the name of the target.
$(VENV)/installed-%: pyproject.toml constraints.txt
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@echo "Installing bakeoff and the packages it needs into $(VENV): about 1 GB, in one to five minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".$(if $(filter-out package,$*),[$*])"
	touch $@

clean:
	rm -rf $(VENV) .venv-extras .venv-ray .venv-next site build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* htmlcov
