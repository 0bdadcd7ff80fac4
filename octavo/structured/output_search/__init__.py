"""Search in the space of complete outputs, guided by a learned cost."""
