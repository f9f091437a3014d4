"""Run bertdata from a Dataflow Flex Template: its image, its parameters, and its launcher."""
