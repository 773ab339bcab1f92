package topology

import "strings"

// HostOf is the host in front of a channel adapter's name ("n1" of "n1 HCA-1"), else the device itself: a host with
// several rails has a device for each.
func HostOf(device string) string {
	if host, adapter, ok := strings.Cut(device, " "); ok && isAdapter(adapter) {
		return host
	}
	return device
}

// isAdapter says whether the second word of a node description is an adapter's, as drivers write it (HCA-1, mlx5_0,
// hfi1_0).
func isAdapter(word string) bool {
	for _, prefix := range []string{"HCA-", "mlx4_", "mlx5_", "hfi1_", "ibp"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && rest != "" && !strings.ContainsAny(rest, " \t,[]=") {
			return true
		}
	}
	return false
}

// CountHosts is how many hosts some devices are, of which a host with several adapters counts once.
func CountHosts(devices []string) int {
	hosts := make(map[string]bool, len(devices))
	for _, d := range devices {
		hosts[HostOf(d)] = true
	}
	return len(hosts)
}
