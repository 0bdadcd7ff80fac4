"""What every estimator needs: arrays, samples, progress, classes, scikit-learn's helpers."""
