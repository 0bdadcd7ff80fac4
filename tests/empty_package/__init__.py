"""A package without a module, for the test of discovery."""
