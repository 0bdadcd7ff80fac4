"""Duals of margin machines: SMO, working sets, simplex programs, cutting planes."""
