package storage

import (
	"testing"
	"time"
)

// Hasten shortens the pauses between tries, for buckets that are open already too.
func Hasten(t *testing.T) {
	old := patient
	t.Cleanup(func() { patient = old })
	patient.first, patient.most = time.Millisecond, time.Millisecond
}
