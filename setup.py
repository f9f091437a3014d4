"""Packages are found by search. `pipelines/` at the top is installed as `bertdata.pipelines`."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["bertdata*"]), "bertdata.pipelines"], package_dir={"bertdata.pipelines": "pipelines"})
