"""Intervals, tests and the leaderboard."""
