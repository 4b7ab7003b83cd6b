package serve

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"pipe/pipeline/decisionlog"
)

// TestLogReporter checks that a full disk is reported once, and lost decisions not more often than every minute, but all of
// them.
func TestLogReporter(t *testing.T) {
	var b buffer
	r := &logReporter{log: slog.New(slog.NewJSONHandler(&b, nil))}
	began, full := time.Now(), "no space left on device"
	for second := range 200 {
		s := decisionlog.Stats{}
		if second >= 10 {
			s = decisionlog.Stats{Stopped: second < 150, LastError: full, Dropped: 7 * int64(min(second, 150)-10)}
		}
		r.report(s, began.Add(time.Duration(second)*time.Second), second == 199)
	}
	text := b.String()
	for line, times := range map[string]int{"has stopped": 1, "goes on": 1, "decisions were lost": 4, `"decisions":7,`: 1, `"decisions":420,`: 2, `"decisions":133,`: 1} {
		if strings.Count(text, line) != times {
			t.Errorf("%q is not there %d times:\n%s", line, times, text)
		}
	}
}
