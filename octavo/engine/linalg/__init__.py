"""Dense linear algebra beyond LAPACK."""
