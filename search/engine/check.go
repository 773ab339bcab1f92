package engine

import (
	"errors"
	"fmt"

	"github.com/giverny/giverny/search"
)

// Limits of an engine's answers.
const (
	maxDirections = 2 // and hosts: a pair has two
	// maxOverBound is how far a measured rate may exceed a bound of its description:
	// bounds are rounded, but no link carries four times its line rate.
	maxOverBound = 4
	maxSeconds   = 1e6 // of one measurement: twelve days
)

// CheckDescription reports invalid parts of an engine's description.
func CheckDescription(d *search.Description) error {
	_, err := search.NewSpace(d.Dimensions)
	return errors.Join(d.Check(), err)
}

// CheckMeasurement reports what is impossible for an engine with that description.
func CheckMeasurement(d *search.Description, m *search.Measurement) error {
	if err := m.Check(); err != nil {
		return err
	}
	if !(m.Seconds >= 0 && m.Seconds <= maxSeconds) { // written so that NaN fails
		return fmt.Errorf("seconds is %v: want 0 to %g", m.Seconds, float64(maxSeconds))
	}
	if len(m.Directions) > maxDirections || len(m.TxPausePercent) > maxDirections {
		return fmt.Errorf("%d directions and %d hosts: a pair has two", len(m.Directions), len(m.TxPausePercent))
	}
	if m.Status == search.OK && len(m.TxPausePercent) < len(m.Directions) {
		return fmt.Errorf("tx_pause_percent has %d values for %d directions: want one for each host", len(m.TxPausePercent), len(m.Directions))
	}
	for name, v := range m.Counters {
		if v < 0 {
			return fmt.Errorf("counter %q is %v: want 0 or more", name, v)
		}
	}
	for i, dir := range m.Directions {
		if dir.Gbps > maxOverBound*d.LineRateGbps || dir.Mpps > maxOverBound*d.MessageRateMpps {
			return fmt.Errorf("directions[%d]: %v Gb/s and %v million packets a second, of a link of %v and %v",
				i, dir.Gbps, dir.Mpps, d.LineRateGbps, d.MessageRateMpps)
		}
	}
	return nil
}
