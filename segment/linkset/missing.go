package linkset

// Missing represents a missing value in slices of percentages.
const Missing = float32(-1)
