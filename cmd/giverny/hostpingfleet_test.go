package main

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/store/read"
)

// The head of a bandwidth in gigabits per second does not say gigabytes.
func TestOutliersNameTheirUnit(t *testing.T) {
	var text strings.Builder
	err := printOutliers(&text, []read.HostOutlier{{Agent: "n1", RNIC: "mlx5_0", Endpoint: "gpu0", Gbps: 121, FleetGbps: 198}})
	if err != nil || !strings.Contains(text.String(), "GBIT/S  MEDIAN") || !strings.Contains(text.String(), "121.0   198.0") {
		t.Errorf("%v: %s", err, text.String())
	}
}
