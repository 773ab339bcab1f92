package topology

import "strings"

// HostOf returns the host of a channel adapter's name ("n1" of "n1 HCA-1"), otherwise the device itself: a host with
// several rails has a device for each.
func HostOf(device string) string {
	if host, adapter, ok := strings.Cut(device, " "); ok && isAdapter(adapter) {
		return host
	}
	return device
}

// isAdapter reports whether the second word of a node description is an adapter's name as written by drivers (HCA-1,
// mlx5_0, hfi1_0).
func isAdapter(word string) bool {
	for _, prefix := range []string{"HCA-", "mlx4_", "mlx5_", "hfi1_", "ibp"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && rest != "" && !strings.ContainsAny(rest, " \t,[]=") {
			return true
		}
	}
	return false
}

// CountHosts counts the distinct hosts of some devices.
func CountHosts(devices []string) int {
	hosts := make(map[string]bool, len(devices))
	for _, d := range devices {
		hosts[HostOf(d)] = true
	}
	return len(hosts)
}
