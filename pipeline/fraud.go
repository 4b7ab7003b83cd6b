package pipeline

// AlwaysLegitimate is the method that answers the negative label without asking an expert.
const AlwaysLegitimate = "always_legitimate"
