"""Few answers about pairs: rankings, clusterings and rules from questions that are chosen."""
