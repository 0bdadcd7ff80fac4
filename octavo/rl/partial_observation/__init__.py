"""Models whose state is only partly seen, controllers with a finite memory, and planners."""
