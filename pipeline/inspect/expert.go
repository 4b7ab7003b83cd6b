package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/onnx"
)

// expertExplanation describes the file of a trained expert.
type expertExplanation struct {
	Format       int             `json:"format"`
	Kind         string          `json:"kind"`
	File         string          `json:"file"`
	Expert       string          `json:"expert"` // its kind, as in the configuration of pipe costs
	Labels       []string        `json:"labels"` // the negative one first
	Settings     json.RawMessage `json:"settings"`
	TrainingRows string          `json:"training_rows"`
	Fold         string          `json:"fold,omitempty"` // fold that it was not trained on; empty: it was trained on all training rows
	Training     string          `json:"training"`       // digest of all that it depends on
	Inputs       []string        `json:"inputs"`         // names and shapes
	Outputs      []string        `json:"outputs"`
}

func explainExpert(path string, m *onnx.Model, about map[string]string) (Explanation, error) {
	e := &expertExplanation{
		Format: 1, Kind: "expert", File: path, Expert: about["pipe.expert"], Settings: asJSON(about["pipe.settings"]),
		TrainingRows: about["pipe.training_rows"], Fold: about["pipe.fold"], Training: about["pipe.training"],
	}
	if err := json.Unmarshal([]byte(about["pipe.labels"]), &e.Labels); err != nil {
		return nil, &costs.DataError{File: path, Msg: "metadata pipe.labels", Err: err}
	}
	e.Inputs, e.Outputs = Shapes(m.Inputs()), Shapes(m.Outputs())
	return e, nil
}

// WriteText writes the explanation for a terminal.
func (e *expertExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "trained expert")
	learned := "all " + e.TrainingRows + " training rows"
	if e.Fold != "" {
		learned = fmt.Sprintf("%s training rows: all but fold %s", e.TrainingRows, e.Fold)
	}
	b.Add("kind", "%s", e.Expert)
	b.Add("learned from", "%s", learned)
	b.Add("labels", "%s", strings.Join(e.Labels, ", "))
	b.Add("input", "%s", strings.Join(e.Inputs, ", "))
	b.Add("output", "%s", strings.Join(e.Outputs, ", "))
	b.Add("digest", "%s", e.Training)
	flat := map[string]string{}
	var settings any
	if err := json.Unmarshal(e.Settings, &settings); err == nil {
		flatten(flat, "settings", settings)
	}
	b.AddPairs("metadata", flat)
	return b.WriteText(w)
}
