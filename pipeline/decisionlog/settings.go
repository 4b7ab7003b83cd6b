package decisionlog

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// What Settings.Features may be.
const (
	FullFeatures   = "full"   // the numbers
	DigestFeatures = "digest" // their digest only
	NoFeatures     = "none"
)

// What Settings.OnFull may be.
const (
	Continue = "continue" // records are dropped and counted
	Stop     = "stop"     // Add returns an error
)

// Settings of a log.
type Settings struct {
	// FlushInterval is the longest time between a record and its fsync, in normal work: what a power cut can lose.
	FlushInterval time.Duration `yaml:"flush_interval"`
	SegmentBytes  int64         `yaml:"segment_bytes"` // a segment is closed when it is larger
	SegmentAge    time.Duration `yaml:"segment_age"`   // or older
	Features      string        `yaml:"features"`      // full, digest or none
	Sample        float64       `yaml:"sample"`        // probability with which a decision is kept
	OnFull        string        `yaml:"on_full"`       // when nothing can be written: continue or stop
	QueueBytes    int           `yaml:"queue_bytes"`   // memory for records that wait for the disk
	MaxLoss       float64       `yaml:"max_loss"`      // outcomes with a larger loss, or one below its negative, are refused
	// KeepAge and KeepBytes bound the log: the oldest closed segments are removed. 0: no bound.
	KeepAge   time.Duration `yaml:"keep_age"`
	KeepBytes int64         `yaml:"keep_bytes"`
}

// DefaultSettings keeps everything, and goes on without a log when the disk is full.
func DefaultSettings() Settings {
	return Settings{
		FlushInterval: time.Second, SegmentBytes: 128 << 20, SegmentAge: time.Hour, Features: FullFeatures, Sample: 1,
		OnFull: Continue, QueueBytes: 64 << 20, MaxLoss: math.MaxFloat32,
	}
}

// Validate reports every setting that is wrong.
func (s Settings) Validate() error {
	var all []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	bad(s.FlushInterval <= 0 || s.FlushInterval > time.Hour, "flush_interval is %v; it is above 0 and at most 1h", s.FlushInterval)
	bad(s.SegmentBytes < 1<<10 || s.SegmentBytes > 1<<32, "segment_bytes is %d; it is 1024 to 4294967296", s.SegmentBytes)
	bad(s.SegmentAge <= 0, "segment_age is %v; it is above 0", s.SegmentAge)
	bad(s.Features != FullFeatures && s.Features != DigestFeatures && s.Features != NoFeatures,
		"features is %q; it is full, digest or none", s.Features)
	bad(!(s.Sample > 0 && s.Sample <= 1), "sample is %v; it is a probability above 0", s.Sample)
	bad(s.OnFull != Continue && s.OnFull != Stop, "on_full is %q; it is continue or stop", s.OnFull)
	bad(s.QueueBytes < 1<<16 || s.QueueBytes > 1<<32, "queue_bytes is %d; it is 65536 to 4294967296", s.QueueBytes)
	bad(!(s.MaxLoss > 0 && s.MaxLoss <= math.MaxFloat32), "max_loss is %v; it is above 0 and at most %v", s.MaxLoss, math.MaxFloat32)
	bad(s.KeepAge < 0, "keep_age is %v; it is not below 0", s.KeepAge)
	bad(s.KeepBytes < 0, "keep_bytes is %d; it is not below 0", s.KeepBytes)
	return errors.Join(all...)
}
