package linkset

// Quantile is the first bin of a histogram with which more than rank have been counted.
func Quantile(bins []int32, rank int32) int {
	for i, c := range bins {
		if rank -= c; rank < 0 {
			return i
		}
	}
	return len(bins) - 1
}
