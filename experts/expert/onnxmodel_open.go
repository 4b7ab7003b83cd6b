package expert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/experts/builder/part"
	"pipe/experts/classlist"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/rewrite"
)

// modelSettings are shared by the experts that are ONNX classifiers.
type modelSettings struct {
	Model  part.Path `json:"model"`
	Output string    `json:"output"` // name of the output; "": the only one
	Scores string    `json:"scores"` // logits or probabilities
	Labels []string  `json:"labels"` // in the order of the output; not set: those of labels_file, or else of the configuration
	Batch  int       `json:"batch"`  // rows per call of a graph that does not fix the batch

	LabelsFile   part.Path `json:"labels_file,omitempty"`   // classes in the order of the output
	LabelsBefore []string  `json:"labels_before,omitempty"` // labels of the outputs before those of labels_file
	Precision    string    `json:"precision,omitempty"`     // float32, the default, or float16
}

func defaultModelSettings() modelSettings { return modelSettings{Scores: "logits", Batch: 32} }

// openModel loads the graph and checks that it maps rows to one score per label.
func openModel(ctx context.Context, s *part.Setup, cfg *modelSettings) (*RowModel, error) {
	if err := cfg.readLabels(ctx, s); err != nil {
		return nil, err
	}
	if err := cfg.check(s); err != nil {
		return nil, err
	}
	path := s.Path(cfg.Model)
	if _, err := s.Model(ctx, path); err != nil {
		return nil, fmt.Errorf("load model: %w", err)
	}
	local, err := path.Fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("load model: %w", err)
	}
	if cfg.Precision == float16Precision {
		s.Input("model precision", cfg.Precision)
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	o := rt.SessionOptions()
	o.Threads = 1 // shards run concurrently, and one thread gives the same bits everywhere
	if cfg.Output != "" {
		o.Outputs = []string{cfg.Output}
	}
	session, err := cfg.open(rt, local, o)
	if err != nil {
		return nil, err
	}
	slots, err := part.Shared(s.Build, "slots", func() (callSlots, error) { return make(callSlots, s.Workers), nil })
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	m := &RowModel{runtime: rt, session: session, batch: cfg.Batch, logits: cfg.Scores == "logits", slots: slots}
	if err := m.bind(len(cfg.Labels)); err != nil {
		return nil, errors.Join(fmt.Errorf("model %q: %w", path, err), session.Close())
	}
	return m, nil
}

// open loads the graph in the precision of the settings.
func (cfg *modelSettings) open(rt *ort.Runtime, path string, o ort.SessionOptions) (*ort.Session, error) {
	if cfg.Precision != float16Precision {
		return rt.SessionFile(path, o)
	}
	m, err := onnx.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if m, err = rewrite.ToFloat16(m); err != nil {
		return nil, fmt.Errorf("model %q: %w", path, err)
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	return rt.Session(b, o)
}

// readLabels fills in the labels in the order of the output.
func (cfg *modelSettings) readLabels(ctx context.Context, s *part.Setup) error {
	switch {
	case len(cfg.Labels) > 0 && cfg.LabelsFile != "":
		return errors.New("labels and labels_file are both set; set only one")
	case cfg.LabelsFile != "":
		list, err := classlist.Open(ctx, s, "labels", cfg.LabelsFile)
		if err != nil {
			return err
		}
		cfg.Labels = list.IDs
	case len(cfg.Labels) == 0:
		cfg.Labels = s.Labels
	}
	cfg.Labels = slices.Concat(cfg.LabelsBefore, cfg.Labels)
	return nil
}

func (cfg *modelSettings) check(s *part.Setup) error {
	switch {
	case cfg.Model == "":
		return errors.New("model: not set")
	case cfg.Scores != "logits" && cfg.Scores != "probabilities":
		return fmt.Errorf("scores is %q; known are logits, probabilities", cfg.Scores)
	case cfg.Batch < 1:
		return fmt.Errorf("batch is %d; it must be positive", cfg.Batch)
	case len(cfg.Labels) == 0:
		return errors.New("labels: not set, here or for the whole configuration")
	}
	if err := checkPrecision(cmp.Or(cfg.Precision, float32Precision)); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, l := range cfg.Labels {
		if seen[l] {
			return fmt.Errorf("labels: %q is a duplicate", l)
		}
		seen[l] = true
	}
	for _, l := range s.Labels {
		if !seen[l] {
			return fmt.Errorf("labels: label %q of the instances is missing", l)
		}
	}
	return nil
}

// The precisions of a model's weights and arithmetic.
const (
	float32Precision = "float32"
	float16Precision = "float16"
)

func checkPrecision(p string) error {
	if p != float32Precision && p != float16Precision {
		return fmt.Errorf("precision is %q; known are %s, %s", p, float32Precision, float16Precision)
	}
	return nil
}
