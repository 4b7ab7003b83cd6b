package learn

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"
	"time"

	"pipe/internal/storage"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/gate"
)

// policyFile is a policy file and its version.
type policyFile struct {
	*decide.PolicyFile
	name   string // as a server calls it
	digest string
}

// openPolicy reads a policy file.
func openPolicy(ctx context.Context, at storage.Location) (*policyFile, error) {
	f, err := decide.ReadPolicy(ctx, at)
	if err != nil {
		return nil, err
	}
	digest, err := f.Digest()
	return &policyFile{f, strings.TrimSuffix(at.Base(), ".onnx"), digest}, err
}

// openCandidate reads the candidate file; nil: there is none, or it is the deployed policy.
func openCandidate(ctx context.Context, at storage.Location, deployed *policyFile) (*policyFile, error) {
	f, err := openPolicy(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case f.digest == deployed.digest:
		return nil, nil
	}
	return f, nil
}

// about is what a log says of the policy in a file.
func (f *policyFile) about() *decisionlog.PolicyInfo {
	i := f.Info
	return &decisionlog.PolicyInfo{Name: f.name, Digest: f.digest, Actions: i.Actions, Lambda: i.Lambda, Dim: i.Dim, AnyPrice: i.Prices != nil, Meta: i.Shared()}
}

// trialOf judges the candidate beside the deployed policy by the decisions since the last ones of other versions. why says why they
// cannot be compared.
func trialOf(log string, deployed, candidate *policyFile, s gate.Settings, now time.Time) (_ *gate.Status, why string, _ error) {
	trial := gate.Trial{Live: deployed.about(), Candidate: candidate.about()}
	if err := begin(&trial, log); err != nil {
		return nil, "", err
	}
	g, err := gate.New(trial, s)
	if err != nil {
		return nil, err.Error(), nil
	}
	decisions, err := decisionlog.Read(log)
	if err == nil {
		err = g.Read(decisions)
	}
	if err != nil {
		return nil, "", err
	}
	status := g.Status(now)
	return &status, "", nil
}

// begin sets when a trial started, and with which share: at the first decision of the candidate after the last one of another version of
// it, or of the deployed policy. Before, what the deployed policy shared its users with was another policy. Without a decision it
// is the end of time.
func begin(t *gate.Trial, folder string) error {
	log, err := decisionlog.Read(folder)
	if err != nil {
		return err
	}
	const never, any = math.MaxInt64, 0.5
	t.Started, t.Share = never, any
	for d, err := range log.Decisions() {
		switch {
		case err != nil:
			return err
		case d.Canary && d.Digest != t.Candidate.Digest, !d.Canary && d.Policy == t.Live.Name && d.Digest != t.Live.Digest:
			t.Started, t.Share = never, any
		case d.Canary && t.Started == never:
			t.Started, t.Share = d.Time, d.Share
		}
	}
	return nil
}

// replace puts a policy into the place of another one, with its description.
func replace(ctx context.Context, f *policyFile, at storage.Location) error {
	_, err := decide.WritePolicy(ctx, at, f.Model())
	return err
}
