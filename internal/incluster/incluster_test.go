package incluster_test

import (
	"testing"

	"github.com/giverny/giverny/internal/incluster"
)

func TestTheAddressIsThatOfThePodsCluster(t *testing.T) {
	for _, c := range []struct{ host, port, want string }{
		{"10.0.0.1", "443", "https://10.0.0.1:443"},
		{"fd00::1", "6443", "https://[fd00::1]:6443"},
		{"", "443", ""},
		{"10.0.0.1", "", ""},
	} {
		t.Setenv("KUBERNETES_SERVICE_HOST", c.host)
		t.Setenv("KUBERNETES_SERVICE_PORT", c.port)
		if got, err := incluster.URL(); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("host %q, port %q: %q, %v, want %q", c.host, c.port, got, err, c.want)
		}
	}
}
