package storage

import (
	"errors"
	"testing"
	"time"
)

// What takes long is not tried as often as what fails at once.
func TestTriesEndInTime(t *testing.T) {
	p := policy{tries: 1000, first: time.Millisecond, most: time.Millisecond, long: 30 * time.Millisecond}
	tries := 0
	err := p.do(t.Context(), func(bool) error {
		tries++
		time.Sleep(10 * time.Millisecond)
		return &Fault{Msg: "no answer", Passing: true}
	})
	var fault *Fault
	if !errors.As(err, &fault) || tries < 2 || tries > 4 {
		t.Errorf("%d tries: %v", tries, err)
	}
}
