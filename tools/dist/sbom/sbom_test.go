package sbom_test

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"

	"pipe/tools/dist/sbom"
)

// TestWrite describes the program dist itself, which links the library for SBOMs.
func TestWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program, without the race detector")
	}
	binary := filepath.Join(t.TempDir(), "dist")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in := sbom.Input{
		Artifact: "pipe.tar.gz", SHA256: strings.Repeat("ab", 32), Version: "1.2.3", Binary: binary, Time: time.Unix(1e9, 0),
		Parts: []sbom.Part{
			{URL: packageurl.PackageURL{Type: packageurl.TypePyPi, Name: "onnxruntime", Version: "1.31.1"}, SHA256: strings.Repeat("cd", 32)},
			{URL: packageurl.PackageURL{Type: packageurl.TypeDebian, Namespace: "debian", Name: "libc6", Version: "2.36-9+deb12u14"}, SHA256: strings.Repeat("ef", 32)},
		},
	}
	var first, second bytes.Buffer
	if err := errors.Join(sbom.Write(&first, in), sbom.Write(&second, in)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same input gives other bytes")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(&first, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if m := bom.Metadata; m.Component.Version != "1.2.3" || m.Timestamp != "2001-09-09T01:46:40Z" {
		t.Errorf("it describes %+v at %s", m.Component, m.Timestamp)
	}
	for _, url := range []string{"pkg:pypi/onnxruntime@1.31.1", "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14", "pkg:golang/github.com/cyclonedx/cyclonedx-go@v", "pkg:generic/go@1."} {
		at := slices.IndexFunc(*bom.Components, func(c cdx.Component) bool { return strings.HasPrefix(c.PackageURL, url) })
		if at < 0 {
			t.Errorf("it does not have %s", url)
			continue
		}
		if c := (*bom.Components)[at]; c.Version == "" || c.Name != "go" && (c.Hashes == nil || len((*c.Hashes)[0].Value) != 64) {
			t.Errorf("%s: %+v", url, c)
		}
	}
	nameless := in
	nameless.Parts = []sbom.Part{{URL: packageurl.PackageURL{Type: packageurl.TypePyPi}}}
	if sbom.Write(&second, nameless) == nil {
		t.Error("a part without a name is no error")
	}
	in.Binary = "sbom_test.go"
	if sbom.Write(&second, in) == nil {
		t.Error("a text as the program is no error")
	}
}
