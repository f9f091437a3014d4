"""What runs bertdata from a Dataflow Flex Template: its image, what it asks for, and what starts it."""
