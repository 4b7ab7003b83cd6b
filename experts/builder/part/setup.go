package part

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Build is shared by the parts of one build. The builder fills it in while it makes the parts in this order: source,
// split, task loss, advice, experts, features. Close frees what was opened for them.
type Build struct {
	Source  Source        // nil while the source itself is made
	Labels  []string      // all known labels; nil while the source is made, or if nothing has a label
	Loss    TaskLoss      // nil until it is made
	Levels  []Level       // the levels of advice of the configuration, in order
	Experts []NamedExpert // those made so far, in order

	SourceKind, SplitKind string // as the configuration names them

	Dir      storage.Location             // where relative paths of the configuration start
	Folder   string                       // of trained experts and other files that later builds use; it need not exist
	Workers  int                          // goroutines that a build works with
	CrossFit int                          // folds for cross-fitting; 0: experts answer for their own training rows
	FoldSeed uint64                       // of the draw of the folds
	SkipBad  bool                         // leave bad images out
	Progress Progress                     // never nil
	Held     *textfile.MemoryBudget       // memory of the tables that are kept; nil: no limit
	Open     func() (*ort.Runtime, error) // opens the ONNX Runtime; parts call Setup.Runtime
	OpenText TextEncoders                 // opens encoders of texts; nil: featurize.OpenTextEncoder
	Inputs   Inputs                       // of the parts made so far
	Divide   Divider                      // shares a pass with the other workers of the build; nil: there are none

	splits     []costs.Split // per instance; nil while source and split are made
	shared     registry
	usedEngine bool
	usedSplit  bool // a part depends on which rows are training rows
}

// Level is a level of advice.
type Level struct {
	Name   string
	Kind   string // as the configuration names it
	Advice Advice // nil until it is made
}

// NamedExpert is an expert with its name and the advice that it takes.
type NamedExpert struct {
	Expert
	Name  string
	Takes []bool // per level of advice
}

// SetSplits sets the split of every instance.
func (b *Build) SetSplits(splits []costs.Split) { b.splits = splits }

// TrainingSplits returns the split of every instance, for a part whose result depends on the training rows.
func (b *Build) TrainingSplits() []costs.Split {
	b.usedSplit = true
	return b.splits
}

// DependsOnSplit reports whether a part called TrainingSplits.
func (b *Build) DependsOnSplit() bool { return b.usedSplit }

// LevelNamed returns the advice of a level that has been made, nil if there is none.
func (b *Build) LevelNamed(name string) Advice {
	for _, l := range b.Levels {
		if l.Name == name {
			return l.Advice
		}
	}
	return nil
}

// Setup is passed to the constructor of a part: the build, and the data of the part itself.
type Setup struct {
	*Build
	Part        string   // what is made, such as `expert "vit"`: errors and inputs name it
	Name        string   // of the expert or the advice that is made; "" for other parts
	Unavailable []string // levels of advice that the configuration denies the expert
}

// Setup returns the setup of a part.
func (b *Build) Setup(part string) *Setup { return &Setup{Build: b, Part: part} }

// Settings decodes the settings of the part into dst, a pointer to a struct that holds the defaults, and makes the
// outcome an input of the build. Keys are the JSON names of the fields. Unknown keys, keys without a value and wrong
// types are errors that name the key.
func (s *Setup) Settings(settings map[string]any, dst any) error {
	if err := DecodeSettings(settings, dst); err != nil {
		return err
	}
	return s.InputSettings(dst)
}

// InputSettings makes the JSON form of v the settings of the part among the inputs.
func (s *Setup) InputSettings(v any) error { return s.Inputs.SetJSON(SettingsRole, s.Part, v) }

// Input makes a digest, or a short text that stands for itself, an input of the build: a change stops a resumed build.
// role says what the part uses it for. Models behind features have a role that starts with "model".
func (s *Setup) Input(role, value string) { s.Inputs.Set(role, s.Part, value) }

// InputJSON makes the JSON form of v the settings of something within the part among the inputs, such as its prompt: that
// is the role.
func (s *Setup) InputJSON(role string, v any) error {
	return s.Inputs.SetJSON(SettingsRole, InputName(role, s.Part), v)
}

// Subpart returns the setup of something within the part: with the role "reformulator", errors and inputs name it
// `reformulator of advice "b"`.
func (s *Setup) Subpart(role string) *Setup {
	sub := *s
	sub.Part = InputName(role, s.Part)
	return &sub
}

// TakenLevels returns the indices of the levels of advice that the configuration lets the expert take. None is an error.
func (s *Setup) TakenLevels() ([]int, error) {
	var levels []int
	for k, l := range s.Levels {
		if !slices.Contains(s.Unavailable, l.Name) {
			levels = append(levels, k)
		}
	}
	if len(levels) == 0 {
		return nil, errors.New("unavailable: no advice remains")
	}
	return levels, nil
}

// LevelNames returns the names of the levels of advice, in order.
func (b *Build) LevelNames() []string {
	names := make([]string, len(b.Levels))
	for k, l := range b.Levels {
		names[k] = l.Name
	}
	return names
}

// Path resolves a path of the configuration.
func (b *Build) Path(p Path) storage.Location {
	if p == "" {
		return storage.Location{}
	}
	return config.Resolve(string(p), b.Dir)
}

// ModelPath resolves a model that the configuration names by path. It returns
// org/name, a name in the local Hugging Face cache, unchanged. Of a model in an object store it is a local copy, with
// what is beside it.
func (b *Build) ModelPath(ctx context.Context, model Path) string {
	path, err := b.Path(model).FetchBeside(ctx)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return string(model)
	}
	return path
}

// File makes a file one of the build's inputs: a change of its bytes stops a
// resumed build. role says what the part uses it for.
func (s *Setup) File(ctx context.Context, role string, path storage.Location) error {
	sum, err := costs.FileDigest(ctx, path)
	if err != nil {
		return err
	}
	s.Input(role, sum)
	return nil
}

// Model reads an ONNX file, and makes it and the files that it keeps data in inputs of the
// build. Data in other files stay there.
func (s *Setup) Model(ctx context.Context, path storage.Location) (*onnx.Model, error) {
	b, err := textfile.ReadFileAt(ctx, path, textfile.MaxModel)
	if err != nil {
		return nil, err
	}
	s.Input("model", digest.Of(b))
	m, err := onnx.Parse(b)
	if err != nil {
		return nil, &costs.DataError{File: path.String(), Err: err}
	}
	files, err := m.ExternalFiles()
	if err != nil {
		return nil, &costs.DataError{File: path.String(), Err: err}
	}
	for _, name := range files {
		if err := s.File(ctx, "model data "+name, path.Dir().Join(filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Runtime returns the ONNX Runtime of the build, opened on first use. The part does not close it.
func (b *Build) Runtime() (*ort.Runtime, error) {
	r, err := b.Open()
	if err == nil && !b.usedEngine {
		b.usedEngine = true
		b.Inputs["runtime"] = fmt.Sprintf("onnxruntime %s on %s", r.Version(), r.Device())
	}
	return r, err
}
