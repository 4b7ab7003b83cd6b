package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

// phase is a part of the work, with a count of its units.
type phase struct {
	what  string
	total int64 // negative: unknown
	done  int64
	begun time.Time
	bar   *progressbar.ProgressBar // nil if w is not a terminal
}

func (p *phase) add(n int64) {
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add64(n) // a failure to draw must not stop the work
	}
}

// describe reports the units done, the total, the rate and the time left at that rate: "rows: 500 of 2000, 25%, 50/s,
// 30s left". If the total is unknown, it says so.
func (p *phase) describe(now time.Time) string {
	seconds := now.Sub(p.begun).Seconds()
	parts := []string{fmt.Sprintf("%d done, total unknown", p.done)}
	switch {
	case p.total >= 0:
		parts = []string{fmt.Sprintf("%d of %d", p.done, p.total)}
	case p.done == 0:
		parts = []string{"total unknown"}
	}
	if p.total > 0 {
		parts = append(parts, fmt.Sprintf("%d%%", min(100, 100*p.done/p.total)))
	}
	if p.done > 0 && seconds > 0 {
		rate := float64(p.done) / seconds
		parts = append(parts, fmt.Sprintf("%.3g/s", rate))
		if p.total > p.done {
			parts = append(parts, span(time.Duration(float64(p.total-p.done)/rate*float64(time.Second)))+" left")
		}
	}
	return p.what + ": " + strings.Join(parts, ", ")
}

// span formats a duration in whole seconds: 45s, 3m20s, 2h5m0s.
func span(d time.Duration) string { return d.Round(time.Second).String() }
