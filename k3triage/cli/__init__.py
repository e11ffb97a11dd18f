"""The command line: arguments to the public API to a renderer."""
