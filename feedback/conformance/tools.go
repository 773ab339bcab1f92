//go:build tools

package conformance

import _ "github.com/prometheus/alertmanager/cmd/alertmanager" // a test builds and starts it
