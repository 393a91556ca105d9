# make test-llama: llama.cpp's own tokenizer reads toksmith's GGUF files, and gives the same ids; in a separate environment.
# llama.cpp's sources are in the source distribution of llama-cpp-python, which is downloaded from the package index, once. Only
# the library is compiled, without a GPU and for any processor: 3 minutes on two cores. The tests take 10.
.PHONY: test-llama

LLAMA := llama_cpp_python-0.3.36
LLAMA_DIR := $(CURDIR)/.venv-llama/$(LLAMA)
LLAMA_JOBS := 2

test-llama: .venv-llama/.built
	LLAMA_CPP_LIB_PATH=$(LLAMA_DIR)/build/bin TOKSMITH_LLAMA=1 PYTHONPATH=python:$(LLAMA_DIR) .venv-llama/bin/python -m pytest -rs -s \
		-p no:cacheprovider tests/formats/test_llama.py

.venv-llama/.built: .venv-llama/.made make/llama.mk
	@rm -rf .venv-llama/$(LLAMA)
	@.venv-llama/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
		--dest .venv-llama llama-cpp-python==$(lastword $(subst -, ,$(LLAMA)))
	@tar -xzf .venv-llama/$(LLAMA).tar.gz -C .venv-llama
	PATH=$(CURDIR)/.venv-llama/bin:$$PATH cmake -G Ninja -S $(LLAMA_DIR)/vendor/llama.cpp -B $(LLAMA_DIR)/build -DCMAKE_BUILD_TYPE=Release \
		-DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF \
		-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF
	PATH=$(CURDIR)/.venv-llama/bin:$$PATH nice cmake --build $(LLAMA_DIR)/build --target llama --parallel $(LLAMA_JOBS)
	@touch $@

.venv-llama/.made: tests/requirements-llama.txt .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-llama -r $<
	@touch $@
