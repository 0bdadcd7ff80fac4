"""Many partial, inconsistent rankings made into one."""
