package linkset

// Quantile returns the first bin of a histogram at which the cumulative count exceeds rank.
func Quantile(bins []int32, rank int32) int {
	for i, c := range bins {
		if rank -= c; rank < 0 {
			return i
		}
	}
	return len(bins) - 1
}
