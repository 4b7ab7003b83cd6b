package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJoinIsUndoneByOf: a setting joined into a report of several renders as in a report of one.
func TestJoinIsUndoneByOf(t *testing.T) {
	if testing.Short() {
		t.Skip("many pictures, drawn in one goroutine: there are no races to find")
	}
	alone, whole := &Report{Benchmark: "sample"}, &Report{Benchmark: "sample"}
	alone.Join("own", sampleReport())
	whole.Join("own", sampleReport())
	whole.Join("other", sampleReport())
	if diff := cmp.Diff(alone.Of("own"), whole.Of("own")); diff != "" {
		t.Errorf("of(own) (-want +got):\n%s", diff)
	}
	if got, want := len(whole.Of("own").Rows), len(sampleReport().Rows); got != want {
		t.Errorf("%d rows, %d went in", got, want)
	}
	if got := whole.SettingNames(); !cmp.Equal(got, []string{"own", "other"}) {
		t.Errorf("settings %v", got)
	}
	full := whole.illustrated()
	var names []string
	for _, f := range full.Figures {
		names = append(names, f.Name)
	}
	if !cmp.Equal(names, []string{"excess_own", "loss_own", "calibration_own", "learning_own", "segments_lambda1_own", "flow_ours_own", "excess_other", "loss_other", "calibration_other", "learning_other", "segments_lambda1_other", "flow_ours_other"}) {
		t.Errorf("figures %v", names)
	}
}
