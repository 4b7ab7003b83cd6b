package learn

import (
	"context"
	"errors"
	"io/fs"
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

// trialOf judges the candidate beside the deployed policy by their last trial in the log. why says why they cannot be compared.
func trialOf(log string, deployed, candidate *policyFile, s gate.Settings, now time.Time) (_ *gate.Status, why string, _ error) {
	none, err := gate.New(gate.Trial{Live: deployed.about(), Candidate: candidate.about(), Share: 0.5, Started: now.UnixMicro()}, s)
	if err != nil {
		return nil, err.Error(), nil
	}
	g, err := gate.Read(log, deployed.name, candidate.name, s)
	switch {
	case errors.Is(err, gate.ErrMeasuredFees):
		return nil, err.Error(), nil
	case errors.Is(err, gate.ErrNoTrial):
		g = none
	case err != nil:
		return nil, "", err
	case g.Trial().Live.Digest != deployed.digest || g.Trial().Candidate.Digest != candidate.digest: // of other versions
		g = none
	}
	status := g.Status(now)
	return &status, "", nil
}

// replace puts a policy into the place of another one, with its description.
func replace(ctx context.Context, f *policyFile, at storage.Location) error {
	_, err := decide.WritePolicy(ctx, at, f.Model())
	return err
}
