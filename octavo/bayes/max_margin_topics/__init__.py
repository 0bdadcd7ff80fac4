"""Topics that know the label: max-margin supervised topic models by augment-and-collapse Gibbs."""
