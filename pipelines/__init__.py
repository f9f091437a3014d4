"""Run bertdata with Apache Beam: commands as modules, adapters for engines, and a Dataflow template.

This folder is installed as `bertdata.pipelines`.
"""
