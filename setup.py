"""Packages are found by search. `pipelines/` at the top is installed as `bertdata.pipelines`."""

from setuptools import find_namespace_packages, setup

packages = find_namespace_packages(include=["bertdata*"])  # folders of data files, too
setup(packages=[*packages, "bertdata.pipelines"], package_dir={"bertdata.pipelines": "pipelines"})
