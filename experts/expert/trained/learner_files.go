package trained

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pipe/experts/builder/part"
	"pipe/experts/expert"
	"pipe/internal/atomicfile"
	"pipe/internal/textfile"
	"pipe/onnx"
)

const (
	trainingKey = "pipe.training" // digest of what a model depends on, in its file
	// trainedBatch bounds the rows of one call of a trained model.
	trainedBatch = 1 << 14
	// The probabilities of a file must be those of its trainer within parityLimit,
	// on parityRows of its training rows.
	parityLimit = 1e-5
	parityRows  = 4096
)

// Prepare reuses the models with matching files, and trains the others.
func (e *learner) Prepare(ctx context.Context, t *part.Preparation) error {
	if err := sweepTemps(t.Folder, e.name); err != nil {
		return err
	}
	e.models = make([]*expert.RowModel, e.folds.models())
	var missing []fit
	for model := range e.models {
		b, err := e.readFile(t.Folder, model)
		if err != nil {
			return err
		}
		if b == nil {
			missing = append(missing, fit{model: model, rows: e.folds.learns(model)})
			continue
		}
		if e.models[model], err = e.open(b); err != nil {
			return fmt.Errorf("%q: %w", e.file(t.Folder, model), err)
		}
	}
	if len(missing) == 0 {
		return ctx.Err()
	}
	set, err := e.gather(ctx, t)
	if err != nil {
		return err
	}
	return e.trainer.Train(ctx, set, missing, &training{
		Preparation: t, Name: e.name, Seed: e.Seed,
		Done: func(l fit, c *classifier) error { return e.accept(ctx, t.Folder, set, l.model, c) },
	})
}

// readFile returns the bytes of a model's file, nil if it is missing or was
// made from other inputs.
func (e *learner) readFile(folder string, model int) ([]byte, error) {
	b, err := textfile.ReadFile(e.file(folder, model), textfile.MaxModel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := onnx.Parse(b)
	if err != nil || m.Metadata()[trainingKey] != e.digest(model) {
		return nil, nil // will be trained again
	}
	return b, nil
}

func (e *learner) open(b []byte) (*expert.RowModel, error) {
	o := e.runtime.SessionOptions()
	o.Threads = 1 // shards run concurrently
	session, err := e.runtime.Session(b, o)
	if err != nil {
		return nil, err
	}
	return expert.NewRowModel(e.runtime, session, e.encoder.Width(), outputs(len(e.folds.Labels)), trainedBatch)
}

// accept opens a new classifier, compares it with its trainer, and stores its file.
func (e *learner) accept(ctx context.Context, folder string, set *trainingSet, model int, c *classifier) error {
	about := map[string]string{trainingKey: e.digest(model), "pipe.training_rows": strconv.Itoa(len(e.folds.learns(model)))}
	for k, v := range e.about {
		about[k] = v
	}
	if model > 0 {
		about["pipe.fold"] = fmt.Sprintf("%d of %d", model-1, e.folds.Folds)
	}
	c.Model.SetMetadata(about)
	b, err := c.Model.Marshal()
	if err != nil {
		return err
	}
	m, err := e.open(b)
	if err != nil {
		return fmt.Errorf("open the trained model: %w", err)
	}
	if err := checkParity(ctx, m, c, set); err != nil {
		return errors.Join(err, m.Close())
	}
	e.models[model] = m
	return atomicfile.WriteFile(e.file(folder, model), b)
}

// checkParity compares the probabilities of a file with the trainer's own.
func checkParity(ctx context.Context, m *expert.RowModel, c *classifier, set *trainingSet) error {
	rows := set.sample(parityRows)
	want, err := c.Probability(rows)
	if err != nil {
		return err
	}
	got, err := m.Probabilities(ctx, rows)
	if err != nil {
		return err
	}
	for i, p := range got {
		if d := math.Abs(float64(p) - want[i]); !(d <= parityLimit) {
			return fmt.Errorf("the ONNX file gives %v where its trainer gives %v", p, want[i])
		}
	}
	return nil
}

// sweepTemps removes incomplete files of an expert left by a killed run.
func sweepTemps(folder, name string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		stem, ok := strings.CutPrefix(strings.TrimRight(f.Name(), "0123456789"), "."+name)
		ours := ok && (stem == ".onnx" || strings.HasPrefix(stem, "-fold") && strings.HasSuffix(stem, ".onnx"))
		if !ours || strings.HasSuffix(f.Name(), ".onnx") {
			continue
		}
		if err := os.Remove(filepath.Join(folder, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
