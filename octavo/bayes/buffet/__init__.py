"""Hidden features of rows by the Indian buffet process: categorical, mixed and real tables."""
