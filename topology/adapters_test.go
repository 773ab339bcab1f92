package topology

import "testing"

// A host counts once, with any number of rails; a name that only looks like an adapter's is a separate device.
func TestCountHosts(t *testing.T) {
	devices := []string{"n1 HCA-1", "n1 HCA-2", "n2 mlx5_0", "n2 mlx5_11", "n2 hfi1_0", "n3", "nid00012", "rack 1", "rack 2", "n4 mlx5_", "n4 mlx5_0 port 1"}
	if got, want := CountHosts(devices), 8; got != want {
		t.Errorf("%d hosts, want %d", got, want)
	}
	if got := HostOf("n2 mlx5_11"); got != "n2" {
		t.Errorf("the host of an adapter is %q", got)
	}
}
