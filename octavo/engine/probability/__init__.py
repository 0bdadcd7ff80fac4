"""Normal laws, quadratic forms, copulas and nearest neighbours."""
