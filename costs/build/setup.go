package build

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/digest"
	"pipe/internal/textfile"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Setup is what a constructor may use: files, the runtime and the parts that
// were made before it.
type Setup struct {
	Source Source   // nil while the source itself is made
	Labels []string // all labels there are; nil if neither configuration nor instances tell
	Advice []string // names of the levels, in order

	cfg        *Config
	splits     []costs.Split // per instance; nil while source and split are made
	lessons    *Lessons      // nil until an expert asks for them
	dir        string
	folder     string // of trained experts; it need not exist
	open       func() (*ort.Runtime, error)
	inputs     inputs
	progress   Progress
	skipBad    bool                    // leave bad images out
	part       string                  // the part in the making, such as `expert "vit"`
	advice     map[string]Advice       // made so far
	experts    []namedExpert           // made so far
	embedders  map[string]*embedder    // by encoder
	retrievers map[string]*remembering // by settings
	asking     *asking
	held       *textfile.Held // memory of the tables that are read; nil: no limit
	slots      chan struct{}  // of the calls of models, one per worker
	usedEngine bool
	usedSplit  bool // something depends on which rows train

	expert      string   // name of the expert in the making
	unavailable []string // advice that the configuration denies it
}

// namedExpert is an expert with the advice it takes.
type namedExpert struct {
	Expert
	name  string
	takes []bool // per advice
}

// Settings decodes the settings of the part in the making over the defaults in
// dst and makes the outcome one of the build's inputs.
func (s *Setup) Settings(settings map[string]any, dst any) error {
	if err := decodeSettings(settings, dst); err != nil {
		return err
	}
	return s.inputs.settings(s.part, dst)
}

// Path returns where a path of the configuration lies.
func (s *Setup) Path(p Path) string {
	if p == "" || filepath.IsAbs(string(p)) {
		return string(p)
	}
	return filepath.Join(s.dir, string(p))
}

// named returns where a model lies that the configuration names by path, or as
// org/name in the local Hugging Face cache: then it is the name as it is written.
func (s *Setup) named(model Path) string {
	path := s.Path(model)
	if _, err := os.Stat(path); err != nil {
		return string(model)
	}
	return path
}

// File makes a file one of the build's inputs: a change of its bytes stops a
// resumed build. role says what the part uses it for.
func (s *Setup) File(ctx context.Context, role, path string) error {
	sum, err := costs.FileDigest(ctx, path)
	if err != nil {
		return err
	}
	s.inputs[role+" of "+s.part] = sum
	return nil
}

// Model makes an ONNX file and the files that it keeps data in inputs of the
// build.
func (s *Setup) Model(ctx context.Context, path string) error {
	_, err := s.readModel(ctx, path)
	return err
}

// readModel is Model for callers that want the graph, too. Data in other files
// stay there.
func (s *Setup) readModel(ctx context.Context, path string) (*onnx.Model, error) {
	b, err := textfile.ReadFile(path, textfile.MaxModel)
	if err != nil {
		return nil, err
	}
	s.inputs["model of "+s.part] = digest.Of(b)
	m, err := onnx.Parse(b)
	if err != nil {
		return nil, &costs.DataError{File: path, Err: err}
	}
	files, err := m.ExternalFiles()
	if err != nil {
		return nil, &costs.DataError{File: path, Err: err}
	}
	for _, name := range files {
		if err := s.File(ctx, "model data "+name, filepath.Join(filepath.Dir(path), filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// training returns the split of every instance, for a part whose outcome depends
// on which of them train.
func (s *Setup) training() []costs.Split {
	s.usedSplit = true
	return s.splits
}

// Runtime returns the ONNX Runtime of the build, opened on first use.
func (s *Setup) Runtime() (*ort.Runtime, error) {
	r, err := s.open()
	if err == nil && !s.usedEngine {
		s.usedEngine = true
		s.inputs["runtime"] = fmt.Sprintf("onnxruntime %s on %s", r.Version(), r.Device())
	}
	return r, err
}

// inputs maps everything that the result depends on to a digest, or to a short
// text that stands for itself.
type inputs map[string]string

// settingsPrefix starts the names of the inputs that are settings of a part.
const settingsPrefix = "settings of "

// settings adds the JSON form of v under the name of its part.
func (m inputs) settings(part string, v any) error {
	sum, err := digest.JSON(v)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	m[settingsPrefix+part] = sum
	return nil
}

// of returns the names of the inputs that belong to one of the parts, sorted.
func (m inputs) of(parts []string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		belongs := func(part string) bool { return strings.HasSuffix(name, " of "+part) }
		if slices.ContainsFunc(parts, belongs) {
			names = append(names, name)
		}
	}
	return names
}
