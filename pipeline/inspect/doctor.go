package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"pipe/internal/safetext"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Checkup is the result of Doctor. It is the JSON object of pipe doctor --json.
type Checkup struct {
	Format  int          `json:"format"`
	Version string       `json:"version"`
	Go      string       `json:"go"`
	OS      string       `json:"os"`
	Arch    string       `json:"arch"`
	CPU     string       `json:"cpu,omitempty"`
	Cores   int          `json:"cores"`
	Cache   string       `json:"cache"`
	Runtime RuntimeCheck `json:"runtime"`
	CUDA    DeviceCheck  `json:"cuda"`

	LightGBM TreesCheck `json:"lightgbm"`
	JPEG     JPEGCheck  `json:"libjpeg_turbo"`
}

// RuntimeCheck describes ONNX Runtime.
type RuntimeCheck struct {
	OK        bool     `json:"ok"`
	Library   string   `json:"library,omitempty"`
	Version   string   `json:"version,omitempty"`
	Needs     string   `json:"needs"`
	Providers []string `json:"providers,omitempty"`
	Tried     []string `json:"tried"`
	Run       string   `json:"run,omitempty"` // result of the trial run
	Error     string   `json:"error,omitempty"`
	Hint      string   `json:"hint,omitempty"`
	err       error
}

// DeviceCheck describes one device.
type DeviceCheck struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
	err   error
}

// Doctor examines the machine and tests the runtime by running a small graph. Problems are in the result, not an error:
// Err says whether cfg's device works.
func Doctor(ctx context.Context, cfg ort.Config) *Checkup {
	c := &Checkup{
		Format: 1, Version: Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: cpuModel(), Cores: runtime.NumCPU(), Cache: cacheFolder(),
	}
	c.checkTrees(ctx)
	c.checkJPEG()
	// A process can load only one library, so the requested device is checked first.
	if cfg.Device == ort.CUDA {
		c.checkCUDA(ctx, cfg)
		c.checkRuntime(ctx, cfg)
		return c
	}
	c.checkRuntime(ctx, cfg)
	c.checkCUDA(ctx, cfg)
	return c
}

// Err returns what keeps the device from working, or nil.
func (c *Checkup) Err(device string) error {
	if c.Runtime.err != nil && device != ort.CUDA {
		return c.Runtime.err
	}
	if device == ort.CUDA {
		return c.CUDA.err
	}
	return nil
}

func (c *Checkup) checkRuntime(ctx context.Context, cfg ort.Config) {
	r := &c.Runtime
	r.Needs = ort.MinVersion
	_, r.Tried, _ = ort.Locate(cfg.Library) // Open below reports the same error
	cfg.Device = ort.CPU
	r.fail(func() error {
		rt, err := ort.Open(cfg)
		if err != nil {
			return err
		}
		defer rt.Close()
		r.Library, r.Version, r.Providers = rt.Library(), rt.Version(), rt.Providers()
		r.Run, err = tryRun(ctx, rt)
		return err
	}())
}

func (r *RuntimeCheck) fail(err error) {
	r.OK, r.err = err == nil, err
	if err != nil {
		r.Error, r.Hint = err.Error(), hintOf(err)
	}
}

func (c *Checkup) checkCUDA(ctx context.Context, cfg ort.Config) {
	cfg.Device = ort.CUDA
	err := func() error {
		rt, err := ort.Open(cfg)
		if err != nil {
			return err
		}
		defer rt.Close()
		_, err = tryRun(ctx, rt)
		return err
	}()
	c.CUDA.OK, c.CUDA.err = err == nil, err
	var other *ort.LoadError
	switch {
	case c.Runtime.OK && errors.As(err, &other):
		c.CUDA.Error, c.CUDA.Hint = "not checked: this process has loaded the CPU library", "run: pipe doctor --device cuda"
	case err != nil:
		c.CUDA.Error, c.CUDA.Hint = err.Error(), hintOf(err)
	}
}

// tryRun multiplies a row by a matrix and compares the result with the known one.
func tryRun(ctx context.Context, rt *ort.Runtime) (string, error) {
	g := onnx.NewGraph("doctor")
	x := g.Input("x", onnx.Float32, onnx.Dims(1, 2))
	w := g.Const(onnx.Float32s([]int64{2, 2}, []float32{1, 2, 3, 4}))
	g.Output("y", g.MatMul(x, w))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return "", fmt.Errorf("trial run: %w", err)
	}
	model, err := m.Marshal()
	if err != nil {
		return "", fmt.Errorf("trial run: %w", err)
	}
	s, err := rt.Session(model, rt.SessionOptions())
	if err != nil {
		return "", fmt.Errorf("trial run: %w", err)
	}
	defer s.Close()
	out, err := s.Run(ctx, map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{1, 2}, []float32{5, 6})})
	if err != nil {
		return "", fmt.Errorf("trial run: %w", err)
	}
	if got := out["y"].Float32s(); !slices.Equal(got, []float32{23, 34}) {
		return "", fmt.Errorf("trial run: (5 6) x (1 2; 3 4) gave %v, not (23 34)", got)
	}
	return "(5 6) x (1 2; 3 4) = (23 34)", nil
}

// WriteText writes the checkup for a terminal.
func (c *Checkup) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("pipe", "%s (%s)", c.Version, c.Go)
	line("machine", "%s/%s, %d cores%s", c.OS, c.Arch, c.Cores, safetext.After(", ", c.CPU))
	line("cache", "%s", c.Cache)
	r := c.Runtime
	for i, place := range r.Tried {
		name, mark := "", "no "
		if i == 0 {
			name = "searched"
		}
		if r.Library != "" && i == len(r.Tried)-1 {
			mark = "yes"
		}
		line(name, "%s  %s", mark, place)
	}
	if r.Library != "" {
		line("ONNX Runtime", "%s (at least %s needed) at %s", r.Version, r.Needs, r.Library)
		line("providers", "%s", strings.Join(r.Providers, ", "))
	}
	if r.OK {
		line("trial run", "ok: %s", r.Run)
	} else {
		line("ONNX Runtime", "not usable: %s", r.Error)
		line("", "%s", r.Hint)
	}
	if c.CUDA.OK {
		line("cuda", "ok: trial run passed")
	} else {
		line("cuda", "not usable: %s", c.CUDA.Error)
		line("", "%s", c.CUDA.Hint)
	}
	for _, l := range slices.Concat(c.LightGBM.lines(), c.JPEG.lines()) {
		line(l[0], "%s", l[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// hintOf returns the hint of an error, or "".
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "none: " + err.Error()
	}
	return filepath.Join(dir, "pipe")
}

// cpuModel reads the name of the processor on Linux.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
