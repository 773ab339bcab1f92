package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Headers of a delivery.
const (
	KeyHeader       = "Idempotency-Key"
	TimestampHeader = "Giverny-Timestamp" // Unix time in seconds of this attempt
	SignatureHeader = "Giverny-Signature" // v1= and the hexadecimal HMAC
)

// Sign returns the signature of a delivery: HMAC-SHA256 over the value of the timestamp
// header, a full stop and the body.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Verify is the receiver's check of the signature, and that the timestamp is within
// tolerance of now, which prevents replay of an intercepted delivery.
func Verify(secret, timestamp, signature string, body []byte, now time.Time, tolerance time.Duration) error {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", TimestampHeader, err)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age.Abs() > tolerance {
		return fmt.Errorf("%s: %v from now", TimestampHeader, age.Round(time.Second))
	}
	if !hmac.Equal([]byte(signature), []byte(Sign(secret, timestamp, body))) {
		return fmt.Errorf("%s: it does not match the body", SignatureHeader)
	}
	return nil
}
