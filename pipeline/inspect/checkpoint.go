package inspect

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/pipeline/report"
)

// checkpointExplanation describes the state of a training run.
type checkpointExplanation struct {
	Format   int             `json:"format"`
	Kind     string          `json:"kind"`
	File     string          `json:"file"`
	Key      string          `json:"key"` // digest of data, settings and runtime: the run it belongs to
	Group    int             `json:"group"`
	Step     int             `json:"step"`
	Steps    int             `json:"steps"`
	Models   int             `json:"models"` // trained in lockstep
	Epochs   int             `json:"epochs"` // finished
	Loss     []float64       `json:"loss"`   // per model, surrogate loss of the last finished epoch
	Params   []string        `json:"params"` // names and shapes
	Settings json.RawMessage `json:"settings"`
}

func explainCheckpoint(ctx context.Context, at storage.Location, _ Options) (Explanation, error) {
	path, err := at.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	c, err := models.ReadCheckpoint(path)
	if err != nil {
		return nil, &costs.DataError{Err: err}
	}
	settings, err := json.Marshal(c.Settings)
	if err != nil {
		return nil, &costs.DataError{File: at.String(), Msg: "has settings without a JSON form", Err: err}
	}
	e := &checkpointExplanation{
		Format: 1, Kind: "checkpoint", File: at.String(), Key: c.Key, Group: c.Group, Step: c.Step, Steps: c.Steps,
		Models: len(c.Specs), Params: c.Params, Settings: settings,
	}
	for _, losses := range c.Losses {
		if n := len(losses); n > 0 {
			e.Epochs = n
			e.Loss = append(e.Loss, losses[n-1])
		}
	}
	return e, nil
}

// WriteText writes the explanation for a terminal.
func (e *checkpointExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "training checkpoint")
	b.Add("run", "%s, group %d", e.Key, e.Group)
	b.Add("progress", "step %d of %d, %d epochs finished", e.Step, e.Steps, e.Epochs)
	b.Add("models", "%d in lockstep", e.Models)
	b.Add("loss", "%s", safetext.List(e.Loss, func(v float64) string { return report.PlusMinus(&v, nil) }))
	b.Add("parameters", "%s", strings.Join(e.Params, ", "))
	flat := map[string]string{}
	var settings any
	if err := json.Unmarshal(e.Settings, &settings); err == nil {
		flatten(flat, "settings", settings)
	}
	b.AddPairs("metadata", flat)
	return b.WriteText(w)
}
