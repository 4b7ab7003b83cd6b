package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// decisionLog reads the decision log of a service. It reads the decisions of policies with the same pairs and the same number
// of features. Those of other policies and of cascades, and conversations on which no policy decided, are left out.
type decisionLog struct {
	path     string
	info     *policy.Info
	more     func() (decisionlog.Decision, error, bool)
	stop     func()
	taken    int
	cascades int // decisions of cascades
	fits     map[*decisionlog.PolicyInfo]bool
	names    []string // of policies that do not fit
}

func openDecisions(path string, info *policy.Info) (logSource, error) {
	l, err := decisionlog.Read(path)
	if err != nil {
		return nil, err
	}
	s := &decisionLog{path: path, info: info, fits: map[*decisionlog.PolicyInfo]bool{}}
	s.more, s.stop = iter.Pull2(l.Decisions())
	return s, nil
}

func (s *decisionLog) rows() int64 { return -1 }
func (s *decisionLog) timed() bool { return true }
func (s *decisionLog) close()      { s.stop() }

// next returns the next decisions of such policies.
func (s *decisionLog) next(ctx context.Context) (*logRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	first := s.taken
	r := &logRows{place: func(i int) int { return first + i + 1 }}
	for r.n < batchRows(s.info.Dim) {
		d, err, ok := s.more()
		switch {
		case err != nil:
			return nil, err
		case !ok && r.n > 0:
			return r, nil
		case !ok && s.taken == 0:
			return nil, &costs.DataError{File: s.path, Msg: fmt.Sprintf("has no decision of a policy with the same experts, advice and %d features%s", s.info.Dim, s.others())}
		case !ok:
			return nil, io.EOF
		}
		if d.IsFixed() || d.IsPanel() || !s.fit(d) {
			continue
		}
		if d.IsCascade() {
			s.cascades++
			continue
		}
		if err := s.add(r, d); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// fit reports whether the decisions of a policy can be compared.
func (s *decisionLog) fit(d decisionlog.Decision) bool {
	fits, known := s.fits[d.About]
	if !known {
		fits = s.info.Actions.SameSet(d.About.Actions) == nil && (d.About.Dim == 0 || d.About.Dim == s.info.Dim)
		s.fits[d.About] = fits
		if !fits {
			s.names = append(s.names, d.About.Name)
		}
	}
	return fits
}

func (s *decisionLog) others() string {
	switch {
	case s.cascades > 0:
		return fmt.Sprintf("; it has %d decisions of cascades, from which nothing can be estimated", s.cascades)
	case len(s.names) > 0:
		return fmt.Sprintf("; it has decisions of %q", s.names[0])
	}
	return ""
}

// add appends a decision: the pair that answered, and the loss of its outcome.
func (s *decisionLog) add(r *logRows, d decisionlog.Decision) error {
	s.taken++
	if len(d.Features) != s.info.Dim {
		err := errors.New("are not in the log; monitoring needs the setting features: full")
		if len(d.Features) > 0 {
			err = fmt.Errorf("are %d, the policy takes %d", len(d.Features), s.info.Dim)
		}
		return &costs.DataError{File: s.path, Row: s.taken, Column: colFeatures, Err: err}
	}
	executed, loss := d.Answered(), math.NaN()
	if d.Error != "" && d.Executed < 0 {
		executed = -1
	} else if v, ok := d.Outcome.LossOf(); ok {
		loss = v
	}
	r.n++
	r.features = append(r.features, d.Features...)
	r.times = append(r.times, d.Time)
	r.executed, r.loss = append(r.executed, executed), append(r.loss, loss)
	return nil
}
