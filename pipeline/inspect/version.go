package inspect

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/onnx/ort"
)

// The linker sets these two in released programs (tools/dist).
var release, revision string

// Build says what a program was built from, and with which runtime library it would work. It is the JSON object of pipe
// version --json.
type Build struct {
	Format  int      `json:"format"`
	Version string   `json:"version"`
	Commit  string   `json:"commit,omitempty"` // missing: unknown
	Go      string   `json:"go"`
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	Stores  []string `json:"stores"` // schemes of the object stores that it has drivers of
	Runtime struct {
		Library string `json:"library,omitempty"`
		Version string `json:"version,omitempty"`
		Error   string `json:"error,omitempty"`
	} `json:"onnxruntime"`
}

// DescribeBuild looks for the runtime library of cfg and loads it. Problems with it are in the result.
func DescribeBuild(cfg ort.Config) *Build {
	b := &Build{
		Format: 1, Version: Version(), Commit: commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Stores: append([]string{}, storage.Schemes()...),
	}
	rt, err := ort.Open(cfg)
	if err != nil {
		b.Runtime.Error = err.Error()
		return b
	}
	defer rt.Close()
	b.Runtime.Library, b.Runtime.Version = rt.Library(), rt.Version()
	return b
}

// WriteText writes the description for a terminal.
func (b *Build) WriteText(w io.Writer) error {
	library := "not usable, see: pipe doctor"
	if b.Runtime.Error == "" {
		library = b.Runtime.Version + " at " + b.Runtime.Library
	}
	_, err := fmt.Fprintf(w, "pipe %s%s (%s, %s/%s)\nONNX Runtime %s\nobject stores: %s\n", b.Version, safetext.After(", commit ", b.Commit),
		b.Go, b.OS, b.Arch, library, cmp.Or(strings.Join(b.Stores, ", "), "none"))
	return err
}

// Version is the version or the commit that the program was built from.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if c := commit(); len(c) >= 12 {
		return c[:12]
	}
	return "development build"
}

// commit is the whole name of the commit, or "".
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if revision != "" || !ok {
		return revision
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
