"""Runs a tool of a Megatron-LM checkout, the working directory: megatron_tool.py tools/preprocess_data.py ARGUMENT…"""

import runpy
import sys
import typing

if __name__ == "__main__":
    vars(typing).setdefault("override", lambda call: call)  # in the standard library since Python 3.12
    sys.argv = sys.argv[1:]
    sys.path[0] = "."
    runpy.run_path(sys.argv[0], run_name="__main__")
