package linkset

// Missing stands for a value that was not measured, in slices of percentages.
const Missing = float32(-1)
