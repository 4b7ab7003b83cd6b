package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/gate"
	"pipe/pipeline/ope"
)

const gateText = `

--gate judges a candidate as pipe serve does: by the latest versions of the candidate and of its live policy in the log, and
one decision of each user. Its interval holds however often this is run. It needs --log, --candidate and --range, which is
then that of costs: task loss plus fee. The exit code is 0 if the candidate costs less (promote), 5 if it costs more (stop),
and 6 if it is not known yet (go on); other codes are errors.`

// gateFlags are the flags of ope for a gate.
type gateFlags struct {
	on        bool
	candidate string
	live      string
}

func (g *gateFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&g.on, "gate", false, "judge a candidate of the log: promote, go on or stop")
	f.StringVar(&g.candidate, "candidate", "", "with --gate: `name` of the candidate")
	f.StringVar(&g.live, "live", "", "with --gate: `name` of the live policy (default: the only one that has a canary or candidate)")
}

// run judges the candidate and ends with the exit code of the verdict.
func (g *gateFlags) run(c *cobra.Command, a *app, o ope.Options) error {
	if err := required(c, "log", "candidate"); err != nil {
		return err
	}
	if o.Range == nil {
		return usage(c, "--gate needs --range: the smallest and the largest possible cost of a decision, such as 0,1")
	}
	for _, other := range []string{"policy", "costs", "out"} {
		if c.Flags().Changed(other) {
			return usage(c, "--gate and --%s do not belong together", other)
		}
	}
	if o.Log.IsRemote() {
		return usage(c, "--log: a decision log is a folder of this machine, not %s", o.Log)
	}
	s := gate.Settings{Costs: o.Range[:], Alpha: 1 - o.Level}
	if err := s.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	judged, err := gate.Read(o.Log.String(), g.live, g.candidate, s)
	if err != nil {
		return err
	}
	r := gateReport{judged.Status(time.Now())}
	if err := a.Print(&r); err != nil {
		return err
	}
	switch r.Verdict {
	case gate.Promote:
		return nil
	case gate.Stop:
		return &cli.Finding{Code: exitcode.Alarm, Label: "stop: ", Msg: r.Candidate.Policy + " costs more than " + r.Live.Policy}
	}
	return &cli.Finding{Code: exitcode.GoOn, Label: "go on: ", Msg: "it is not known yet whether " + r.Candidate.Policy + " costs less than " + r.Live.Policy}
}

// gateReport is a verdict for people.
type gateReport struct{ gate.Status }

// WriteText writes the verdict first, and then what it depends on.
func (r *gateReport) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-18s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("verdict", "%s", r.Verdict)
	if r.Gain != nil {
		line("gain", "%.4f [%.4f, %.4f] at %g%%, per decision on which they differ, however often looked at", r.Gain.Mean, r.Gain.Low, r.Gain.High, 100*(1-r.Alpha))
	}
	if r.Share != nil {
		line("decisions", "%d since %s; they differ on %.1f%%", r.Decisions, r.Started, 100**r.Share)
	}
	line("users", "%d with such a decision, %d outcomes, %.0f effective", r.Users, r.Outcomes, r.Effective)
	for _, arm := range []struct {
		name string
		gate.Arm
	}{{"live", r.Live}, {"candidate", r.Candidate}} {
		line(arm.name, "%s@%s: %d users, %s missing", arm.Policy, arm.Digest, arm.Users, percentOr(arm.Missing))
	}
	if r.MissingP != nil {
		line("missing alike", "p = %.2g", *r.MissingP)
	}
	line("next", "%s", r.Next)
	_, err := io.WriteString(w, b.String())
	return err
}

// percentOr formats a share that may be unknown.
func percentOr(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f%%", 100**v)
}
