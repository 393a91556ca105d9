# make test-ray: jobs as tasks of a real Ray, on two nodes of this machine, in a separate environment.
.PHONY: test-ray

test-ray: .venv-ray/.made
	RAY_AUTH_MODE=disabled PYTHONPATH=python:tests .venv-ray/bin/python -m pytest -rs --durations=0 -p no:cacheprovider tests/jobs/test_ray.py \
		tests/jobs/test_ray_cluster.py

.venv-ray/.made: tests/requirements-ray.txt .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-ray -r $<
	@touch $@
