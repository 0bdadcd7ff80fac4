"""What every estimator needs: progress, classes, scikit-learn's private helpers."""
