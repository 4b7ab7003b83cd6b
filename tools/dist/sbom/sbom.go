// Package sbom writes which software an artifact contains, as CycloneDX.
package sbom

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"
)

// Part is a component that was not built here, such as a shared library.
type Part struct {
	URL    packageurl.PackageURL // its name, version, and where it comes from
	SHA256 string                // of the file; "" if it is a package of several files
}

// Input is what an SBOM is made of.
type Input struct {
	Artifact string // file name of the artifact
	SHA256   string // of the artifact
	Version  string
	Binary   string // path of the program in the artifact; it says which Go modules it links; "" if there is none
	Parts    []Part
	Time     time.Time
}

// Write writes an SBOM as JSON.
func Write(w io.Writer, in Input) error {
	components := []cdx.Component{}
	if in.Binary != "" {
		var err error
		if components, err = linked(in.Binary); err != nil {
			return fmt.Errorf("write SBOM of %s: %w", in.Artifact, err)
		}
	}
	for _, p := range in.Parts {
		c, err := library(p.URL.Name, p)
		if err != nil {
			return fmt.Errorf("write SBOM of %s: %w", in.Artifact, err)
		}
		components = append(components, c)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: in.Time.UTC().Format(time.RFC3339),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: in.Artifact, Name: "pipe", Version: in.Version, Hashes: hashes(in.SHA256),
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	bom.Components = &components
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// linked are Go and the modules that a program links.
func linked(binary string) ([]cdx.Component, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	toolchain, err := library("go", Part{URL: packageurl.PackageURL{Type: packageurl.TypeGeneric, Name: "go", Version: strings.TrimPrefix(info.GoVersion, "go")}})
	if err != nil {
		return nil, err
	}
	out := []cdx.Component{toolchain}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Version, "v0.0.0") && m.Sum == "" || m.Version == "(devel)" {
			continue // a module of this repository
		}
		namespace, name := path.Split(m.Path)
		url := packageurl.PackageURL{Type: packageurl.TypeGolang, Namespace: namespace, Name: name, Version: m.Version}
		c, err := library(m.Path, Part{URL: url, SHA256: moduleSum(m.Sum)})
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// library describes a part by its package URL in the standard form: a + of a version is escaped, and Go's modules are in lower case.
func library(name string, p Part) (cdx.Component, error) {
	if err := p.URL.Normalize(); err != nil {
		return cdx.Component{}, fmt.Errorf("%s: %w", name, err)
	}
	url := p.URL.ToString()
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: name, Version: p.URL.Version, PackageURL: url, Hashes: hashes(p.SHA256)}, nil
}

func hashes(sum string) *[]cdx.Hash {
	if sum == "" {
		return nil
	}
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}

// moduleSum is the SHA-256 in the line of go.sum, as hexadecimal, or "".
func moduleSum(line string) string {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "h1:"))
	if err != nil {
		return ""
	}
	return hex.EncodeToString(b)
}
