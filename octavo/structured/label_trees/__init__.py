"""Label sets from mixtures of spanning trees over the labels, learned and certified."""
