package diagnose

import "github.com/giverny/giverny/schema"

// mitigation coalesces congestion protection events (CPE) into congestion mitigation events (CME).
type mitigation struct{}

func (m *mitigation) step(*schema.IntervalResult) []schema.Event { return nil }
