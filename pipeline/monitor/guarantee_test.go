package monitor

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
)

// stream adds losses that are 1 with the given probability to a promise, and returns after how many the alarm rose; 0: it did not.
func stream(t *testing.T, random *rand.Rand, g policy.Guarantee, n int, p float64) int64 {
	t.Helper()
	w, err := newPromise(&g, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		o := Outcome{Accepted: new(true), Time: NoTime}
		if random.Float64() < p {
			o.Loss = g.Bound
		}
		w.add(o)
		w.add(Outcome{Accepted: new(false), Loss: g.Bound, Time: NoTime}) // nothing is promised about it
	}
	return w.alarm.Risen()
}

// Streams whose risk is the promised one hardly ever raise the alarm, at any time; streams with twice the risk all do.
func TestAlarmOfAGuarantee(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 7))
	const streams, values = 400, 3000
	g := policy.Guarantee{Risk: 0.2, Bound: 4} // a share of 5% of the largest loss
	held, broke := 0, []int64{}
	for range streams {
		if stream(t, random, g, values, 0.05) > 0 {
			held++
		}
		if at := stream(t, random, g, values, 0.1); at > 0 {
			broke = append(broke, at)
		}
	}
	slices.Sort(broke)
	if len(broke) != streams {
		t.Fatalf("the alarm rose in %d of %d streams with twice the risk", len(broke), streams)
	}
	t.Logf("promised 0.05: false alarms in %d of %d streams of %d decisions; at twice the risk all rise, the median after %d decisions, the last after %d", held, streams, values, broke[streams/2], broke[streams-1])
	if held > 33 { // 20 of 400, and three standard errors
		t.Errorf("%d of %d streams that hold raised the alarm", held, streams)
	}
}

// guaranteed is a lab whose policy promises a risk.
func guaranteed(t *testing.T, risk float64, joint bool) *lab {
	t.Helper()
	l := newLab(t)
	m := decidetest.Guarded(t, decidetest.AnyPrice(dim), func(g *policy.Guarantee) { g.Risk, g.Joint = risk, joint })
	l.policy = filepath.Join(t.TempDir(), "guarded.onnx")
	if _, err := decide.WritePolicy(t.Context(), storage.File(l.policy), m); err != nil {
		t.Fatal(err)
	}
	return l
}

// A monitor watches the accepted decisions alone, its state goes on, and its report says so. Measured fees do not count.
func TestMonitorOfAGuarantee(t *testing.T) {
	for _, joint := range []bool{false, true} {
		l := guaranteed(t, 0.5, joint)
		rows := world(rand.New(rand.NewPCG(2, 2)), l.actions, 900, 0, 0)
		m := l.open(t, DefaultOptions())
		addAll(t, m, rows)
		d, err := m.Decide(t.Context(), rows.Features, rows.Len())
		if err != nil {
			t.Fatal(err)
		}
		accepted, sum := int64(0), 0.0
		for n, ok := range d.Accepted {
			if ok {
				accepted++
				sum += float64(rows.Loss[n*l.actions.Len()+int(d.Action[n])])
			}
		}
		if accepted == 0 || accepted == 900 {
			t.Fatalf("%d of 900 accepted", accepted)
		}
		of := accepted
		if joint {
			of = 900
		}
		s := m.Status()
		if g := s.Guarantee; g == nil || g.Accepted != of || *g.Mean != sum/float64(of) || g.Verdict != OK || g.Risen != 0 {
			t.Errorf("joint %v: %+v, %d accepted with the sum %v", joint, g, accepted, sum)
		}
		var b bytes.Buffer
		if err := m.Save(&b); err != nil {
			t.Fatal(err)
		}
		again := l.open(t, DefaultOptions())
		if err := again.Restore(&b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.Status().Guarantee, again.Status().Guarantee); diff != "" {
			t.Error(diff)
		}
		worse := world(rand.New(rand.NewPCG(3, 3)), l.actions, 900, 0, 0.6)
		addAll(t, again, worse)
		s = again.Status()
		if s.Guarantee.Verdict != Alarm || !slices.Contains(s.Alarms(), "guarantee") || !again.Risen() {
			t.Errorf("much worse rows: %+v", s.Guarantee)
		}
		var text bytes.Buffer
		if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "Guarantee: alarm") || !strings.Contains(text.String(), "promised is at most 0.5") {
			t.Errorf("%v:\n%s", err, text.String())
		}
	}
}

// A log with another executed pair says nothing about the accepted decision, and the fee of a log is not part of the loss.
func TestGuaranteeOfALog(t *testing.T) {
	l := guaranteed(t, 0.5, false)
	rows := world(rand.New(rand.NewPCG(2, 2)), l.actions, 200, 0, 0)
	m := l.open(t, DefaultOptions())
	d, err := m.Decide(t.Context(), rows.Features, rows.Len())
	if err != nil {
		t.Fatal(err)
	}
	n := slices.Index(d.Accepted, true)
	decided, other := int(d.Action[n]), -1
	for i, ok := range l.actions.Mask() {
		if ok && i != decided {
			other = i
		}
	}
	log := &logRows{n: 3, features: slices.Repeat(rows.Features[n*dim:(n+1)*dim], 3), executed: []int{decided, other, decided}, loss: []float64{0.75, 1, 1}, fee: []float64{0.5, 0, 0}}
	if _, err := m.addRows(t.Context(), "log", log, false); err != nil {
		t.Fatal(err)
	}
	if g := m.Status().Guarantee; g.Accepted != 2 || *g.Mean != (0.25+1)/2 {
		t.Errorf("%+v", g)
	}
	joint := guaranteed(t, 0.5, true).open(t, DefaultOptions())
	if _, err := joint.addRows(t.Context(), "log", log, false); err != nil {
		t.Fatal(err)
	}
	if g := joint.Status().Guarantee; g.Accepted != 2 || *g.Mean != (0.25+1)/2 {
		t.Errorf("an accepted decision with an unknown loss counts as 0: %+v", g)
	}
	o := DefaultOptions()
	o.Prices.Lambda = new(4.0)
	at4 := l.open(t, o)
	if _, err := at4.addRows(t.Context(), "log", log, false); err != nil {
		t.Fatal(err)
	}
	if s := at4.Status(); s.Guarantee.Accepted != 0 || s.Guarantee.Mean != nil || s.Guarantee.Verdict != Untested || !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "at other prices") }) {
		t.Errorf("at prices without a promise: %+v %q", s.Guarantee, s.Notes)
	}
	if _, err := os.Stat(decide.DescriptionFile(storage.File(l.policy)).String()); err != nil {
		t.Error(err)
	}
}
