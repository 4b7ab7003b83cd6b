package learn

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decide"
	"pipe/pipeline/gate"
	"pipe/pipeline/stage"
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

// trialOf judges the candidate beside the deployed policy by the log; nil: the log has no decision of both yet.
func trialOf(log string, deployed, candidate *policyFile, s gate.Settings, now time.Time) (*gate.Status, error) {
	g, err := gate.Read(log, deployed.name, candidate.name, s)
	var none *costs.DataError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	t := g.Trial()
	if t.Live.Digest != deployed.digest || t.Candidate.Digest != candidate.digest {
		return nil, nil // of earlier versions
	}
	status := g.Status(now)
	return &status, nil
}

// replace puts a policy into the place of another one, with its description.
func replace(ctx context.Context, f *policyFile, at storage.Location) error {
	_, err := decide.WritePolicy(ctx, at, f.Model())
	return err
}
