"""From a file to a problem: reading, cleaning, what rows depend on, the task."""
