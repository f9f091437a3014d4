"""Run bertdata with Apache Beam: commands as modules, adapters for engines, and a Dataflow template."""
