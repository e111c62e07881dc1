"""Builds the extension module with CMake, for `pip install .`; pyproject.toml has the rest."""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent.resolve()


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        package = Path(self.get_ext_fullpath(extension.name)).parent.resolve()
        build = Path(self.build_temp).resolve()
        subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DFACET_BUILD_TESTS=OFF", "-DFACET_BUILD_BENCH=OFF", f"-DPython_EXECUTABLE={sys.executable}",
                        f"-DFACET_PYTHON_FOLDER={package.parent}",
                        *os.environ.get("CMAKE_ARGS", "").split()], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "facet_python"], check=True)
        subprocess.run(["cmake", "--install", build, "--component", "python"], check=True)


version = re.search(r"project\(facet VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
setup(version=version, packages=["facet"], package_dir={"": "python"}, package_data={"facet": ["py.typed", "*.pyi"]},
      ext_modules=[Extension("facet._facet", sources=[])], cmdclass={"build_ext": CMakeBuild})
