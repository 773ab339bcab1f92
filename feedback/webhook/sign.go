package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Headers of a delivery.
const (
	KeyHeader       = "Idempotency-Key"
	TimestampHeader = "Giverny-Timestamp" // Unix time in seconds of this attempt
	SignatureHeader = "Giverny-Signature" // v1= and the hexadecimal HMAC
)

// sign returns the signature of a delivery: HMAC-SHA256 over the value of the timestamp
// header, a full stop and the body.
func sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
