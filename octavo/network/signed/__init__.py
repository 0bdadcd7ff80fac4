"""Networks whose links are friendly or hostile: balance, signs that are missing, groups."""
